"""Random choices of generated data: raw outputs of PCG64, whose stream numpy keeps for ever, modulo the number of choices."""

import numpy as np

SEED = 2016


def choices(stream: int):
    """Return ``choice(number of choices, *shape)``, which draws from a stream of random bits."""
    bits = np.random.PCG64([SEED, stream])

    def choice(choices: int, *shape: int) -> np.ndarray:
        return (bits.random_raw(int(np.prod(shape))) % np.uint64(choices)).astype(np.int64).reshape(shape)

    return choice
