"""Sum-product dynamic programming on a chain (forward-backward), in log space."""

import math

import numpy as np

from fwexp.jit.compilation import array_kernel

LOG2_E, LN_2 = 1.0 / math.log(2.0), math.log(2.0)
SMALLEST = -708.0  # exp of less is no normal number any more
# Taylor's series on |r| <= ln(2)/2: what is left out is below float64's precision.
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1.0 / math.factorial(j) for j in range(2, 14))
EXPONENT, MANTISSA, ONE = 52, (1 << 52) - 1, 1023 << 52  # how a float64 is laid out; ONE is 1.0


def scratch_size(length: int, num_labels: int, width: int) -> int:
    """Return how many numbers ``forward_backward`` needs as ``scratch``."""
    return (length * (num_labels + 1) + num_labels + 2) * width


@array_kernel("(f8[::1], f8[::1])")
def exponentials(x, power):
    """Replace ``x``, all of it <= 0, by exp(x), or by 0 below exp(-708).

    Unlike ``math.exp`` this runs at full vector width: exp(x) = 2^j exp(r) with |r| <= ln(2)/2, and 2^j is put down as the
    bits of a float. The relative error is that of rounding x. ``power``, as long as ``x``, is overwritten.
    """
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


@array_kernel("(f8[::1], f8[::1], i8, i8, f8[::1], f8[::1], f8[::1])")
def forward_backward(unary, transitions, num_labels, width, marginals, pairs, scratch):
    """Compute the distribution a(y) = exp(sum_t unary[t, y_t] + sum_t transitions[y_{t-1}, y_t]) / Z.

    The largest term is taken out of every sum, and the backward pass only multiplies conditional probabilities: scores of
    any size neither overflow nor cancel.

    Parameters
    ----------
    unary : float64 array (T * width,)
        Rows of scores, one per position; numbers past ``num_labels`` in a row are ignored.
    transitions : float64 array (num_labels * width,)
        Rows ``[from]`` of scores ``[to]``.
    num_labels, width : int
        K, and the length of a row.
    marginals : float64 array (T * width,)
        Overwritten with P(y_t = k), 0 past ``num_labels``.
    pairs : float64 array (num_labels * width,)
        Overwritten with the sums over t of P(y_{t-1} = r, y_t = k), 0 past ``num_labels``.
    scratch : float64 array (>= scratch_size(T, num_labels, width),)
        Overwritten.

    Returns
    -------
    float
        log Z.
    """
    length, size = len(unary) // width, num_labels * width
    # The sum over the beginnings of y that end in label k at position t is factor[k] exp(message[k]), 1 <= factor[k] < 2.
    message, factor, power = scratch[:width], scratch[width : 2 * width], scratch[2 * width : 2 * width + size]
    factor_bits = factor.view(np.int64)
    totals, joints = scratch[2 * width + size :], scratch[(length + 2) * width + size :]
    message[:] = unary[:width]
    factor[:] = 1.0
    for t in range(1, length):
        # joint[r, k] / total[k] = P(y_{t-1} = r | y_t = k), the largest term of every column being taken out.
        joint, total = joints[t * size : (t + 1) * size], totals[t * width : (t + 1) * width]
        top = total
        for k in range(width):
            top[k] = message[0] + transitions[k]
        for r in range(1, num_labels):
            m, row = message[r], transitions[r * width : (r + 1) * width]
            for k in range(width):
                top[k] = max(top[k], m + row[k])
        for r in range(num_labels):
            m, row, out = message[r], transitions[r * width : (r + 1) * width], joint[r * width : (r + 1) * width]
            for k in range(width):
                out[k] = m + row[k] - top[k]
        exponentials(joint, power)
        here = unary[t * width : (t + 1) * width]
        for k in range(width):
            message[k] = here[k] + top[k]
            total[k] = 0.0
        for r in range(num_labels):
            f, out = factor[r], joint[r * width : (r + 1) * width]
            for k in range(width):
                out[k] *= f
                total[k] += out[k]
        for k in range(width):  # total[k] = 2^j factor[k]
            factor[k] = total[k]
            j = (factor_bits[k] >> EXPONENT) - 1023
            message[k] += j * LN_2
            factor_bits[k] = (factor_bits[k] & MANTISSA) | ONE

    # The last position.
    last, highest, z = marginals[(length - 1) * width :], message[0], 0.0
    for k in range(1, num_labels):
        highest = max(highest, message[k])
    for k in range(width):
        last[k] = factor[k] * math.exp(message[k] - highest) if k < num_labels else 0.0
        z += last[k]
    for k in range(width):
        last[k] /= z
    # Backward: P(y_{t-1} = r, y_t = k) = P(y_{t-1} = r | y_t = k) P(y_t = k).
    pairs[:size] = 0.0
    for t in range(length - 1, 0, -1):
        joint, ratio = joints[t * size : (t + 1) * size], totals[t * width : (t + 1) * width]
        here, before = marginals[t * width : (t + 1) * width], marginals[(t - 1) * width : t * width]
        for k in range(width):
            ratio[k] = here[k] / ratio[k]
            before[k] = 0.0
        for r in range(num_labels):
            out, pair, probability = joint[r * width : (r + 1) * width], pairs[r * width : (r + 1) * width], 0.0
            for k in range(width):
                p = out[k] * ratio[k]
                pair[k] += p
                probability += p
            before[r] = probability
    return highest + math.log(z)
