"""Messages over all pairs of cells, and poses that are decoded with them."""

import numpy as np
import pytest

import fwexp
from fwexp.oracles.exhaustive_messages import exhaustive_message


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 5), (4, 1), (3, 4)])
def test_a_message_is_the_maximum_over_all_cells(rows, columns):
    rng = np.random.default_rng(0)
    source, (down, right), weights = rng.normal(size=(rows, columns)), rng.normal(size=2), rng.normal(size=4)
    message, best = np.empty(rows * columns), np.empty(rows * columns)
    exhaustive_message(source.ravel(), rows, columns, down, right, *weights, message, best, np.empty(2 * columns))
    for k, (row, column) in enumerate(np.ndindex(rows, columns)):
        r = np.arange(rows)[:, None] - row - down
        s = np.arange(columns)[None, :] - column - right
        values = source - (weights[0] * r + weights[1]) * r - (weights[2] * s + weights[3]) * s
        assert message[k] == pytest.approx(values.max(), abs=1e-12)
        assert values.ravel()[int(best[k])] == pytest.approx(values.max(), abs=1e-12)


def test_poses_are_the_same_with_both_messages():
    rng = np.random.default_rng(0)
    images = [rng.normal(size=(5, 6, 3)) for _ in range(4)]
    problem = fwexp.pose_problem(images, rng.integers(5, size=(4, 3, 2)), [-1, 0, 1], unit=2.0)
    for _ in range(5):
        w = rng.normal(size=problem.d)
        w[problem.nonnegative] = np.abs(w[problem.nonnegative])
        fast, slow = (fwexp.predict(one, w) for one in (problem, problem._replace(exhaustive=True)))
        assert all(np.array_equal(one, other) for one, other in zip(fast, slow, strict=True))
