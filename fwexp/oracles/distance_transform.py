"""Generalised distance transform: the best place of a part for every place of its parent, in linear time.

Source: Felzenszwalb and Huttenlocher, "Distance transforms of sampled functions", Theory of Computing 8 (2012): the upper
envelope of parabolas that differ by a shift only. Here the parabolas may open either way, or be lines.
"""

from fwexp.jit.compilation import array_kernel


@array_kernel("none(f8[::1], i8, i8, i8, f8, f8, f8, f8[::1], f8[::1], f8[::1])")
def distance_transform(source, start, stride, length, shift, quadratic, linear, target, argmax, stack):
    """Set target[p] = max_q source[q] - quadratic (q - p - shift)^2 - linear (q - p - shift) along a line of an array."""
    # The line is ``[start + stride * q]``, q < length, in all arrays; ``argmax`` gets the best q. ``stack``: room for 2 * length.
    # The difference of two parabolas is linear in p: the later q, in the order of the loop, wins from some p on. On the
    # stack are those that win somewhere so far, and the first p at which each does.
    wins_from = stack[length : 2 * length]
    curvature = 2.0 * abs(quadratic)
    top = -1
    for step in range(length):
        q = step if quadratic >= 0.0 else length - 1 - step
        first = 0
        while top >= 0:
            other = int(stack[top])
            slope = (source[start + stride * q] - source[start + stride * other]) / (q - other)
            bound = quadratic * (q + other - 2.0 * shift) + linear - slope
            if quadratic < 0.0:
                bound = -bound
            if bound < 0.0:
                first = 0
            elif bound >= curvature * length:  # also where the parabolas are lines
                first = length
            else:
                first = int(bound / curvature) + 1
            if first > wins_from[top]:
                break
            top -= 1
            first = 0
        if first < length:
            top += 1
            stack[top] = q
            wins_from[top] = first
    k = top
    for p in range(length - 1, -1, -1):
        while wins_from[k] > p:
            k -= 1
        q = stack[k]
        offset = q - p - shift
        target[start + stride * p] = source[start + stride * int(q)] - (quadratic * offset + linear) * offset
        argmax[start + stride * p] = q
