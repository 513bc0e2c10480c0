"""Compiled code chooses the slots of stored labelings that plain Python does, and moves the same scores."""

import numpy as np
import pytest

from fwexp.blocks.active_set import ActiveSets
from fwexp.blocks.weight_steps import best_and_worst, move_weight, slots_at
from fwexp.jit.compilation import njit

ROOM = 24


@njit
def _choose(i, sets):
    return best_and_worst(i, sets)


@njit
def _move(i, a, b, amount, lam_n, sets):
    return slots_at(i, *move_weight(i, a, b, amount, lam_n, sets), sets)


def sets_of(count: int, rng) -> ActiveSets:
    """Return sets of three examples, with scores that tie except for rounding, between more extreme ones."""
    slots, pairs = 3 * ROOM, ROOM * (ROOM + 1) // 2
    weight = rng.random(slots + 8) * (rng.random(slots + 8) < 0.5)
    weight[ROOM + rng.integers(count)] = 1.0
    score = rng.integers(-2, 3, size=ROOM + 8) * (1.0 + 1e-14 * rng.random(ROOM + 8))
    score[count:] = rng.choice([-9.0, 9.0], size=ROOM + 8 - count)
    return ActiveSets(
        first=ROOM * np.arange(4),
        count=np.full(3, count),
        weight=weight,
        loss=np.zeros(slots),
        length=np.ones(3, dtype=np.int64),
        place=np.zeros(slots, dtype=np.int64),
        storage=np.zeros(slots, dtype=np.int32),
        taken=np.zeros(1, dtype=np.int64),
        gram_first=pairs * np.arange(4),
        gram=rng.normal(size=3 * pairs + 8),
        score=score,
        change=np.zeros(ROOM),
        product=np.zeros(ROOM),
        scale=np.array([rng.choice([0.0, 1.0])]),
    )


@pytest.mark.compiled
@pytest.mark.parametrize("count", [1, 3, 7, 8, 9, 16, 19, ROOM])
def test_compiled_code_chooses_and_moves_as_plain_python_does(count):
    rng, seen = np.random.default_rng(count), set()
    for _ in range(200):
        sets = sets_of(count, rng)
        assert _choose(1, sets) == _choose.py_func(1, sets)
        seen.add(_choose(1, sets))
        copy = ActiveSets(*(array.copy() for array in sets))
        a, b = rng.integers(count, size=2)
        assert _move(1, a, b, 0.3, 0.7, sets) == _move.py_func(1, a, b, 0.3, 0.7, copy) == _choose(1, copy)
        for name in ("weight", "change"):
            np.testing.assert_array_equal(getattr(sets, name), getattr(copy, name))
        np.testing.assert_array_equal(sets.score[:count], copy.score[:count])
    assert len(seen) >= min(count, 20)
