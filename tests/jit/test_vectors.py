"""Vectors of eight numbers act like arrays of eight, compiled and in plain Python."""

import numpy as np
import pytest

from fwexp.jit.kernels import njit
from fwexp.jit.vectors import EIGHT, add, add_to, is_zero, load, plus, store, zeros


@njit
def _all(a, b, c, out, sums):
    v = plus(add(zeros(), c, a, 3), load(b, 1))
    store(out, 2, v)
    add_to(sums, 5, c, v)
    return is_zero(v), is_zero(add(zeros(), 0.0, a, 0))


@pytest.mark.parametrize("kernel", [_all, _all.py_func], ids=["compiled", "plain"])
def test_vectors_act_like_arrays(kernel):
    a, b, out, sums = (np.random.default_rng(k).normal(size=16) for k in range(4))
    v = 0.5 * a[3 : 3 + EIGHT] + b[1 : 1 + EIGHT]
    wanted, total = out.copy(), sums.copy()
    wanted[2 : 2 + EIGHT] = v
    total[5 : 5 + EIGHT] += 0.5 * v
    assert kernel(a, b, 0.5, out, sums) == (False, True)
    np.testing.assert_allclose(out, wanted, rtol=1e-15)
    np.testing.assert_allclose(sums, total, rtol=1e-15)


@pytest.mark.parametrize("place", range(EIGHT))
def test_one_number_suffices_not_to_be_zero(place):
    a = np.zeros(16)
    a[3 + place] = -1e-300
    assert _all(a, np.zeros(16), 1.0, np.zeros(16), np.zeros(16)) == (False, True)
