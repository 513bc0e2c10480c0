"""Decoding of chains straight from rows of features, without a problem around them: a sentence in microseconds."""

from collections.abc import Callable

import numpy as np

from fwexp.jit.compilation import njit, specialise
from fwexp.oracles.viterbi import viterbi
from fwexp.problems.features import padded_width
from fwexp.problems.rows import row_scores

_kernels: dict[type, Callable] = {}  # of rows of each class, as they are looked up once only


def padded_weights(rows: np.ndarray) -> np.ndarray:
    """Return weights of chains, rows of K numbers, in rows as long as kernels want them."""
    num_states = rows.shape[1]
    return np.pad(rows, ((0, 0), (0, padded_width(num_states) - num_states))).ravel()


def decode(x, ptr: np.ndarray, weights: np.ndarray, num_states: int) -> np.ndarray:
    """Return the labels of highest score of all positions: rows of features x, with `padded_weights`."""
    labels = np.empty(ptr[-1], dtype=np.int32)
    kind = type(x)
    if kind not in _kernels:
        _kernels[kind] = specialise(_decode_chains, x)
    _kernels[kind](x, ptr, weights, num_states, padded_width(num_states), labels)
    return labels


@njit
def _decode_chains(x, ptr, w, num_states, width, y):
    """Write the labels of highest score of all positions to y; w and width are as in ``fwexp.problems.chain``."""
    first = len(w) - (2 + num_states) * width
    transitions = w[first + 2 * width :]
    longest = 0
    for i in range(len(ptr) - 1):
        longest = max(longest, ptr[i + 1] - ptr[i])
    unary, messages = np.empty(longest * width), np.empty(longest * width)
    for i in range(len(ptr) - 1):
        start, length = ptr[i], ptr[i + 1] - ptr[i]
        if length == 0:
            continue
        for t in range(length):
            row_scores(x, start + t, w, width, unary[t * width : (t + 1) * width])
        last = (length - 1) * width
        for k in range(width):
            unary[k] += w[first + k]
            unary[last + k] += w[first + width + k]
        viterbi(unary[: length * width], transitions, num_states, width, y[start : start + length], messages)
