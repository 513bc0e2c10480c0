"""Decoding of chains straight from rows of features, without a problem around them: a sentence in microseconds."""

import numpy as np

from fwexp.jit.kernels import njit
from fwexp.oracles.viterbi import viterbi
from fwexp.problems.features import row_scores


@njit
def decode_chains(x, ptr, w, num_states, width, y):
    """Write the labels of highest score of all positions to y; w and width are as in ``fwexp.problems.chain``."""
    first = len(w) - (2 + num_states) * width
    transitions = w[first + 2 * width :]
    longest = 0
    for i in range(len(ptr) - 1):
        longest = max(longest, ptr[i + 1] - ptr[i])
    unary, messages = np.empty(longest * width), np.empty(longest * width)
    for i in range(len(ptr) - 1):
        start, length = ptr[i], ptr[i + 1] - ptr[i]
        for t in range(length):
            row_scores(x, start + t, w, width, unary[t * width : (t + 1) * width])
        last = (length - 1) * width
        for k in range(width):
            unary[k] += w[first + k]
            unary[last + k] += w[first + width + k]
        viterbi(unary[: length * width], transitions, num_states, width, y[start : start + length], messages)
