"""Sum-product dynamic programming on a chain (forward-backward), in the domain of scaled exponentials.

Every factor of a labeling is the exponential of a score minus the largest one of its row, raised to exp(-SPREAD) where it is
smaller. With factors between exp(-SPREAD) and 1, no message leaves the range exp(-3 SPREAD) .. exp(3 SPREAD), so nothing
underflows or overflows. Raised factors only add probability, and only to labelings that have them: if the marginals of all raised
factors sum to less than `NEGLIGIBLE`, the others are right to that precision. Otherwise the log-domain kernel, which is several
times slower, computes the example anew.
"""

import math

from fwexp.jit.compilation import array_kernel, oracle_part
from fwexp.jit.vectors import EIGHT, full8, load8, store8, sum8
from fwexp.oracles.exponentials import exponentials
from fwexp.oracles.log_forward_backward import log_forward_backward, log_scratch_size

SPREAD = 200.0  # of scores in a row: three times as much is below the range of float64
NEGLIGIBLE = 1e-17  # of a probability
SMALL, LARGE = 1e-100, 1e100  # A product of scales beyond is replaced by its logarithm.


def scratch_size(length: int, num_labels: int, width: int) -> int:
    """Return how many numbers ``forward_backward`` needs as ``scratch``."""
    row = -(-num_labels // EIGHT) * EIGHT
    return max(row * (2 * row + 3 * length) + length, log_scratch_size(length, num_labels, width))


@oracle_part
def _row_times(vector, start, matrix, row, count, k):
    """Return eight entries from ``k`` on of a row vector times a matrix whose rows beyond ``count`` count as 0."""
    a = b = c = d = full8(0.0)
    for r in range(0, count, 4):
        o = r * row + k
        a = a + full8(vector[start + r]) * load8(matrix, o)
        b = b + full8(vector[start + r + 1]) * load8(matrix, o + row)
        c = c + full8(vector[start + r + 2]) * load8(matrix, o + 2 * row)
        d = d + full8(vector[start + r + 3]) * load8(matrix, o + 3 * row)
    return (a + b) + (c + d)


@oracle_part
def _drop_raised(unary, transitions, num_labels, width, highest, marginals, pairs):
    """Set the marginals of raised factors to 0; return whether they were negligible."""
    mass = 0.0
    for t in range(len(unary) // width):
        top = unary[t * width]
        for k in range(num_labels):
            top = max(top, unary[t * width + k])
        for k in range(num_labels):
            if unary[t * width + k] - top < -SPREAD:
                mass += marginals[t * width + k]
                marginals[t * width + k] = 0.0
    for r in range(num_labels):
        for k in range(num_labels):
            if transitions[r * width + k] - highest < -SPREAD:
                mass += pairs[r * width + k]
                pairs[r * width + k] = 0.0
    return mass < NEGLIGIBLE


@oracle_part
def scaled_forward_backward(unary, transitions, num_labels, width, marginals, pairs, scratch):
    """Compute the same as `forward_backward`; return log Z, and whether the scores were close enough to each other for that."""
    row, length = -(-num_labels // EIGHT) * EIGHT, len(unary) // width
    block, size = row * row, length * row
    factors, u = scratch[:block], scratch[block : block + size]
    # The buffer of the exponentials is free afterwards.
    power, messages = scratch[block + size : 2 * (block + size)], scratch[2 * (block + size) : 2 * (block + size) + size]
    count = -(-num_labels // 4) * 4

    # Factors of transitions, and of labels.
    highest, lowest = transitions[0], transitions[0]
    for r in range(num_labels):
        for k in range(num_labels):
            highest, lowest = max(highest, transitions[r * width + k]), min(lowest, transitions[r * width + k])
    raised, log_z = length > 1 and highest - lowest > SPREAD, (length - 1) * highest
    for r in range(row):
        for k in range(row):
            inside = r < num_labels and k < num_labels
            factors[r * row + k] = max(transitions[r * width + k] - highest, -SPREAD) if inside else 0.0
    for t in range(length):
        here, out = unary[t * width : (t + 1) * width], u[t * row : (t + 1) * row]
        top, low = here[0], here[0]
        for k in range(num_labels):
            top, low = max(top, here[k]), min(low, here[k])
        raised |= top - low > SPREAD
        log_z += top
        for k in range(row):
            out[k] = max(here[k] - top, -SPREAD) if k < num_labels else 0.0
    exponentials(scratch[: block + size], power)
    for r in range(row):
        for k in range(row):
            factors[r * row + k] = factors[r * row + k] if r < num_labels and k < num_labels else 0.0
    for t in range(length):
        for k in range(num_labels, row):
            u[t * row + k] = 0.0
    backwards, a, b = power[:block], power[block:], messages  # transposed factors; messages of both directions
    for r in range(row):
        for k in range(row):
            backwards[k * row + r] = factors[r * row + k]

    # Forward. Sums of messages are divided out a position later, so that no position waits for the sum of its own.
    product, scale = 1.0, 1.0
    for t in range(length):
        o, total = t * row, full8(0.0)
        for k in range(0, row, EIGHT):
            v = load8(u, o + k) * full8(scale)
            store8(u, o + k, v)
            if t > 0:
                v = v * _row_times(a, o - row, factors, row, count, k)
            store8(a, o + k, v)
            total = total + v
        s = sum8(total)
        scale = 1.0 / s
        product *= s
        if product < SMALL or product > LARGE:
            log_z += math.log(product)
            product = 1.0
    log_z += math.log(product)

    # Backward; the marginals replace the factors of labels.
    for t in range(length - 1, -1, -1):
        o = t * row
        for k in range(0, row, EIGHT):
            v = _row_times(b, o + row, backwards, row, count, k) if t < length - 1 else full8(scale)
            store8(b, o + k, load8(u, o + k) * v)
            store8(u, o + k, load8(a, o + k) * v)
    for t in range(length):
        for k in range(width):
            marginals[t * width + k] = u[t * row + k] if k < num_labels else 0.0

    # Pairs: the factor of a transition times the sum over positions of both messages.
    for r in range(0, row, EIGHT):
        for k in range(0, row, EIGHT):
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = full8(0.0)
            for t in range(1, length):
                v, o = load8(b, t * row + k), (t - 1) * row + r
                s0 = s0 + full8(a[o]) * v
                s1 = s1 + full8(a[o + 1]) * v
                s2 = s2 + full8(a[o + 2]) * v
                s3 = s3 + full8(a[o + 3]) * v
                s4 = s4 + full8(a[o + 4]) * v
                s5 = s5 + full8(a[o + 5]) * v
                s6 = s6 + full8(a[o + 6]) * v
                s7 = s7 + full8(a[o + 7]) * v
            o = r * row + k
            store8(factors, o, load8(factors, o) * s0)
            store8(factors, o + row, load8(factors, o + row) * s1)
            store8(factors, o + 2 * row, load8(factors, o + 2 * row) * s2)
            store8(factors, o + 3 * row, load8(factors, o + 3 * row) * s3)
            store8(factors, o + 4 * row, load8(factors, o + 4 * row) * s4)
            store8(factors, o + 5 * row, load8(factors, o + 5 * row) * s5)
            store8(factors, o + 6 * row, load8(factors, o + 6 * row) * s6)
            store8(factors, o + 7 * row, load8(factors, o + 7 * row) * s7)
    for r in range(num_labels):
        for k in range(width):
            pairs[r * width + k] = factors[r * row + k] if k < num_labels else 0.0
    return log_z, not raised or _drop_raised(unary, transitions, num_labels, width, highest, marginals, pairs)


@array_kernel("f8(f8[::1], f8[::1], i8, i8, f8[::1], f8[::1], f8[::1])")
def forward_backward(unary, transitions, num_labels, width, marginals, pairs, scratch):
    """Compute the distribution a(y) = exp(sum_t unary[t, y_t] + sum_t transitions[y_{t-1}, y_t]) / Z, and return log Z."""
    # Arrays have rows of ``width``, of which ``num_labels`` count. ``marginals`` gets P(y_t = k), and ``pairs`` the sums over t of
    # P(y_{t-1} = r, y_t = k).
    log_z, valid = scaled_forward_backward(unary, transitions, num_labels, width, marginals, pairs, scratch)
    if valid:
        return log_z
    return log_forward_backward(unary, transitions, num_labels, width, marginals, pairs, scratch)
