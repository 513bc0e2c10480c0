"""Poses: parts that are not annotated, and offsets; the rest is in tests/problems/test_definitions.py."""

from itertools import product

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems.constraints import public_indices

X, Y = [np.ones((3, 1, 2)), np.ones((2, 3, 2))], [np.array([(0, 0), (2, 0), (1, 0)]), np.array([(1, 2), (0, 1), (1, 1)])]


def build(y=Y, **options):
    return fwexp.pose_problem(X, y, (1, -1, 1), features=([0], [0, 1], [1]), reach=1.5, **options)


def test_parts_that_are_not_annotated_do_not_count():
    problem = build([np.array([(0, 0), (-1, -1), (1, 0)]), Y[1]], offsets=np.zeros((3, 2)))
    for rows in product(range(3), repeat=3):
        away = [abs(rows[0] - 0), abs(rows[2] - 1)]
        assert fwexp.loss(problem, 0, [(row, 0) for row in rows]) == pytest.approx(np.mean(np.minimum(1.0, np.divide(away, 1.5))))
    with pytest.raises(ParameterError, match="labels of a training problem"):
        fwexp.solve(problem, lam=1.0)


def test_offsets_are_means():
    np.testing.assert_allclose(build().offsets[0], np.mean([pose[0] - pose[1] for pose in Y], axis=0))
    assert public_indices(build()).tolist() == [4, 6, 8, 10]
    assert public_indices(build(nonnegative=[])).tolist() == []
