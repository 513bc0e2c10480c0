"""The choice of lam by validation, alike for all tools."""

from collections.abc import Callable

SHARE, SEED = 0.2, 0  # of the training examples for validation
RATIO, MOST = 10.0**0.5, 7  # of one lam to the next, and how many are tried at most


def choose(error_at: Callable[[float], float], start: float) -> tuple[float, float]:
    """Return the lam of the fewest errors, and these; of several the largest.

    The grid starts with three values around ``start`` and grows, to at most `MOST`, while the best one is at its end.
    """
    errors = {k: error_at(start * RATIO**k) for k in (1, 0, -1)}
    while True:
        best = min(errors, key=lambda k: (errors[k], -k))
        beyond = {max(errors): best + 1, min(errors): best - 1}.get(best)
        if beyond is None or len(errors) == MOST:
            return start * RATIO**best, errors[best]
        errors[beyond] = error_at(start * RATIO**beyond)
