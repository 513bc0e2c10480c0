"""The distribution in proportion to exp(score) over a few outputs."""

import math

from fwexp.jit.compilation import array_kernel

SHARE = 0.9  # of a probability that it loses at most


@array_kernel("f8(f8[::1], i8, f8[::1])")
def softmax(scores, count, probabilities):
    """Set the first ``count`` of ``probabilities`` to exp(score)/Z and return log Z; scores of any size are fine."""
    highest, total = scores[0], 0.0
    for k in range(1, count):
        highest = max(highest, scores[k])
    for k in range(count):
        probabilities[k] = math.exp(scores[k] - highest)
        total += probabilities[k]
    for k in range(count):
        probabilities[k] /= total
    return highest + math.log(total)


@array_kernel("f8(f8[::1], i8, f8, f8, f8[::1], f8[::1], f8[::1])", fastmath=False)
def raised(scores, count, q, gap, before, after, logs):
    """Set ``after`` to about the distribution a of highest <a, scores> + Ent(a) - q/2 ||a - before||^2; return Ent(a).

    It is at least as high as the step of `fwexp.blocks.duals` towards ``after``, which is the softmax of the scores, with the gap
    given, and is one step of Newton's method ahead of that, which stays inside of the simplex.
    """
    square, distance = 0.0, 0.0
    for k in range(count):
        after[k] -= before[k]
        square += after[k] * after[k]
        distance += abs(after[k])
    curvature = q * square + distance * distance
    gamma = min(1.0, (gap + 0.5 * distance * distance) / curvature) if curvature > 0.0 else 1.0
    entropy, value, slope, weight = 0.0, -0.5 * q * gamma * gamma * square, 0.0, 0.0
    for k in range(count):
        after[k] = before[k] + gamma * after[k]
        if after[k] > 0.0:
            logs[k] = math.log(after[k])
            entropy -= after[k] * logs[k]
            value += after[k] * scores[k]
            share = after[k] / (1.0 + q * after[k])
            logs[k] -= scores[k] - q * (after[k] - before[k])
            slope, weight = slope + share * logs[k], weight + share
    value, level, longest = value + entropy, slope / weight, 1.0
    for k in range(count):
        logs[k] = (logs[k] - level) / (1.0 + q * after[k]) if after[k] > 0.0 else 0.0  # the share of itself that a_k loses
        longest = min(longest, SHARE / logs[k]) if logs[k] > SHARE else longest
    best, other = 0.0, 0.0
    for k in range(count):
        a = after[k] * (1.0 - longest * logs[k])
        logs[k] = a
        if a > 0.0:
            best -= a * math.log(a)
        other += a * scores[k] - 0.5 * q * (a - before[k]) ** 2
    if best + other <= value:
        return entropy
    for k in range(count):
        after[k] = logs[k]
    return best
