"""The distance transform against brute force, and its cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fwexp.oracles.distance_transform import distance_transform

NUMBERS = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 1e-12, 1e8]), st.floats(-10, 10, allow_nan=False))


def transform(f, shift, quadratic, linear, start=0, stride=1):
    length = (len(f) - start - 1) // stride + 1
    target, argmax = np.full(len(f), np.nan), np.full(len(f), np.nan)
    distance_transform(f, start, stride, length, shift, quadratic, linear, target, argmax, np.empty(2 * length))
    return target[start::stride], argmax[start::stride]


def brute_force(f, shift, quadratic, linear):
    offset = np.arange(len(f))[None, :] - np.arange(len(f))[:, None] - shift
    return f[None, :] - quadratic * offset**2 - linear * offset  # [p, q]


@given(st.lists(NUMBERS, min_size=1, max_size=12), NUMBERS, NUMBERS, NUMBERS)
def test_equals_brute_force(f, shift, quadratic, linear):
    f = np.array(f)
    target, argmax = transform(f, shift, quadratic, linear)
    values = brute_force(f, shift, quadratic, linear)
    size = np.abs(values).max(initial=1.0)
    np.testing.assert_allclose(target, values.max(axis=1), rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(values[np.arange(len(f)), argmax.astype(int)], target, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("quadratic", [0.3, 0.0, -0.2])
def test_lines_of_an_array(quadratic):
    grid = np.random.default_rng(0).normal(size=(5, 7))
    for column in range(7):
        target, argmax = transform(grid.ravel(), 0.5, quadratic, 0.1, start=column, stride=7)
        expected, expected_argmax = transform(np.ascontiguousarray(grid[:, column]), 0.5, quadratic, 0.1)
        assert np.array_equal(target, expected)
        assert np.array_equal(argmax, expected_argmax)


def test_ties_and_constants_are_in_range():
    for quadratic in (0.0, 1.0, -1.0):
        _, argmax = transform(np.zeros(9), 0.0, quadratic, 0.0)
        assert ((argmax >= 0) & (argmax < 9)).all()
