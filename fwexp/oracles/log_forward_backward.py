"""Sum-product dynamic programming on a chain (forward-backward), in the log domain, for scores of any size."""

import math

import numpy as np

from fwexp.jit.compilation import array_kernel
from fwexp.oracles.exponentials import EXPONENT, LN_2, MANTISSA, ONE, exponentials


def log_scratch_size(length: int, num_labels: int, width: int) -> int:
    """Return how many numbers ``log_forward_backward`` needs as ``scratch``."""
    return (length * (num_labels + 1) + num_labels + 2) * width


@array_kernel("f8(f8[::1], f8[::1], i8, i8, f8[::1], f8[::1], f8[::1])")
def log_forward_backward(unary, transitions, num_labels, width, marginals, pairs, scratch):
    """Compute what `forward_backward` does, for scores of any size."""
    # The largest term is taken out of every sum, and the backward pass only multiplies conditional probabilities, which do not
    # cancel. If ``transitions`` has scores for every position after the first, ``pairs`` gets the probabilities for each of these.
    length, size = len(unary) // width, num_labels * width
    stride = size if len(transitions) > size else 0
    # The sum over the beginnings of y that end in label k at position t is factor[k] exp(message[k]), 1 <= factor[k] < 2.
    message, factor, power = scratch[:width], scratch[width : 2 * width], scratch[2 * width : 2 * width + size]
    factor_bits = factor.view(np.int64)
    totals, joints = scratch[2 * width + size :], scratch[(length + 2) * width + size :]
    message[:] = unary[:width]
    factor[:] = 1.0
    for t in range(1, length):
        # joint[r, k] / total[k] = P(y_{t-1} = r | y_t = k), the largest term of every column being taken out.
        joint, total = joints[t * size : (t + 1) * size], totals[t * width : (t + 1) * width]
        top, o = total, (t - 1) * stride
        for k in range(width):
            top[k] = message[0] + transitions[o + k]
        for r in range(1, num_labels):
            m, row = message[r], transitions[o + r * width : o + (r + 1) * width]
            for k in range(width):
                top[k] = max(top[k], m + row[k])
        for r in range(num_labels):
            row, out = transitions[o + r * width : o + (r + 1) * width], joint[r * width : (r + 1) * width]
            m = message[r]
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
    pairs[:] = 0.0
    for t in range(length - 1, 0, -1):
        joint, ratio = joints[t * size : (t + 1) * size], totals[t * width : (t + 1) * width]
        here, before = marginals[t * width : (t + 1) * width], marginals[(t - 1) * width : t * width]
        o = (t - 1) * stride
        for k in range(width):
            ratio[k] = here[k] / ratio[k]
            before[k] = 0.0
        for r in range(num_labels):
            out, pair, probability = joint[r * width : (r + 1) * width], pairs[o + r * width : o + (r + 1) * width], 0.0
            for k in range(width):
                p = out[k] * ratio[k]
                pair[k] += p
                probability += p
            before[r] = probability
    return highest + math.log(z)
