"""Eight numbers at once: compiled code and plain Python agree, to the bit where nothing is fused."""

import numpy as np

from fwexp.jit.compilation import njit
from fwexp.jit.vectors import any8, full8, larger8, load8, store8, sum8


@njit
def _all(a, b, out):
    u, v = load8(a, 1), load8(b, 0)
    store8(out, 0, u + v)
    store8(out, 8, u * v)
    store8(out, 16, larger8(u, v))
    store8(out, 24, full8(a[3]))
    out[32] = sum8(u)
    return any8(u), any8(full8(0.0) * v)


def test_compiled_code_and_plain_python_agree():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=9), rng.normal(size=8)
    compiled, plain = np.zeros((2, 33))
    assert _all(a, b, compiled) == _all.py_func(a, b, plain) == (True, False)
    np.testing.assert_array_equal(compiled, plain)
    np.testing.assert_array_equal(plain[:24].reshape(3, 8), [a[1:] + b, a[1:] * b, np.maximum(a[1:], b)])
    assert abs(plain[32] - a[1:].sum()) < 1e-14
    only = np.zeros(9)
    only[8] = 1e-300
    assert _all(only, b, compiled)[0]
    assert _all.py_func(only, b, plain)[0]
