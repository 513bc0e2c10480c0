"""exp of many numbers at full vector width."""

import math

import numpy as np

from fwexp.jit.compilation import array_kernel

LOG2_E, LN_2 = 1.0 / math.log(2.0), math.log(2.0)
SMALLEST = -708.0  # exp of less is no normal number any more
# Taylor's series on |r| <= ln(2)/2: the remainder is below float64's precision.
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1.0 / math.factorial(j) for j in range(2, 14))
EXPONENT, MANTISSA, ONE = 52, (1 << 52) - 1, 1023 << 52  # how a float64 is laid out; ONE is 1.0


@array_kernel("none(f8[::1], f8[::1])")
def exponentials(x, power):
    """Replace ``x``, all of it <= 0, by exp(x), or by 0 below exp(-708); overwrites ``power``, as long as ``x``."""
    # Unlike ``math.exp`` this runs at full vector width: exp(x) = 2^j exp(r) with |r| <= ln(2)/2, and 2^j is written as
    # the bits of a float. The relative error equals the error of rounding x.
    bits = power.view(np.int64)
    for k in range(len(x)):
        clipped = max(x[k], SMALLEST)
        j = math.floor(clipped * LOG2_E + 0.5)
        r = clipped - j * LN_2
        s = C10 + r * (C11 + r * (C12 + r * C13))
        s = C6 + r * (C7 + r * (C8 + r * (C9 + r * s)))
        s = C2 + r * (C3 + r * (C4 + r * (C5 + r * s)))
        x[k] = 1.0 + r * (1.0 + r * s) if x[k] >= SMALLEST else 0.0
        bits[k] = (np.int64(j) << EXPONENT) + ONE
    for k in range(len(x)):
        x[k] *= power[k]
