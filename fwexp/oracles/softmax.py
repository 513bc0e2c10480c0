"""The distribution in proportion to exp(score) over a few outputs."""

import math

from fwexp.jit.compilation import array_kernel


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
