"""Decoding of chains straight from rows of features, without a problem around them: a sentence in microseconds."""

from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fwexp.estimators.named_features import Tables, at_once
from fwexp.jit import c_functions
from fwexp.jit.compilation import ArrayKernel, array_kernel, njit, register_jitable, specialise
from fwexp.oracles.forward_backward import scratch_size
from fwexp.oracles.k_best_viterbi import k_best_viterbi
from fwexp.oracles.viterbi import viterbi
from fwexp.problems import transitions
from fwexp.problems.chain import FORBIDDEN, Pair, add_forbidden
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures, padded_width
from fwexp.problems.rows import row_scores
from fwexp.problems.subsets import take_rows
from fwexp.problems.transitions import Shared, Transitions

FREE = np.empty((0, 0), dtype=np.bool_)  # All positions may have all labels.
AT_ONCE = 4096  # rows of weights that are copied at once
EXCLUDED = 0.5 * FORBIDDEN  # Labelings of lower scores are not allowed.


_kernels: dict[tuple, Callable] = {}  # of rows of each class, as they are looked up once only


def padded_weights(rows: np.ndarray, forbidden: Sequence[Pair] = (), used: np.ndarray | None = None) -> np.ndarray:
    """Return weights of chains, rows of K numbers, in rows as long as kernels want them; forbidden pairs have `FORBIDDEN`."""
    # Of rows that are ``used``, bool, there are those alone, after a row of zeros. Weights may be large: no copy of all is made.
    num_states, place = rows.shape[1], 0 if used is None else 1
    padded = np.zeros((place + (len(rows) if used is None else np.count_nonzero(used)), padded_width(num_states)))
    for start in range(0, len(rows), AT_ONCE):
        several = slice(start, start + AT_ONCE)
        chosen = rows[several] if used is None else rows[several][used[several]]
        padded[place : place + len(chosen), :num_states] = chosen
        place += len(chosen)
    add_forbidden(padded[len(padded) - 2 - num_states :], forbidden)
    return padded.ravel()


class Chains(NamedTuple):
    """Chains with what their scores need, as kernels take them."""

    x: DenseFeatures | SparseFeatures | BinaryFeatures  # one row per position
    z: Transitions  # features of transitions, if there are any
    ptr: np.ndarray  # int64 (n + 1,), where chains begin and end
    weights: np.ndarray  # of `padded_weights`
    num_states: int

    def at(self, kept: np.ndarray) -> "Chains":
        """Return the chains of the positions that are ``kept``, bool (N,): what is before and what is after others is joined."""
        places = np.flatnonzero(kept)
        ptr = np.concatenate(([0], np.cumsum(kept)))[self.ptr]
        return self._replace(x=take_rows(self.x, places), z=take_rows(self.z, places), ptr=ptr)


def decode(chains: Chains, allowed: np.ndarray = FREE) -> np.ndarray:
    """Return the labels of highest score of all positions, of those ``allowed``, bool (N, K); -1 if no labeling is allowed."""
    x, z, ptr, weights, num_states = chains
    labels = np.empty(ptr[-1], dtype=np.int32)
    _kernel(_decode_chains, x, z)(x, z, ptr, weights, num_states, padded_width(num_states), allowed, labels)
    return labels


ONE = array("i", [0])  # a label


class NamedDecoder:
    """Decoding of sequences whose features have names: what does not change between calls is looked up once.

    It reads single sequences with ``tables``, if their features are what users pass.
    """

    def __init__(self, weights: np.ndarray, labels: list, tables: Tables | None) -> None:
        self._fixed = weights.ctypes.data, len(weights), len(labels), padded_width(len(labels))
        self._weights, self._labels, self._tables, self._function = weights, labels, tables, None

    def labels_of(self, x: list) -> list | None:
        """Return the labels of a sequence, None if it must be read feature by feature, or has no labels."""
        if self._tables is None or (columns := at_once(x, self._tables)) is None:
            return None
        numbers, missing = self._run(array("i", [*columns]), array("q", (0, len(x), *map(len, x))), 1, len(x))
        return None if missing else [*map(self._labels.__getitem__, numbers)]

    def __call__(self, rows: Sequence) -> tuple[array, int]:
        """Return the labels of highest score of all positions, and how many sequences have none, whose labels are -1."""
        columns, lengths, ptr = rows[:3]
        return self._run(columns, ptr + lengths, len(ptr) - 1, len(lengths))

    def _run(self, columns: array, spans: array, n: int, size: int) -> tuple[array, int]:
        """Return the same of n sequences with ``size`` positions; ``spans`` has their bounds, and then the lengths of rows."""
        labels = ONE * size
        if self._function is None:
            if not isinstance(_decode_named, ArrayKernel):  # plain Python
                given = map(np.asarray, (spans, columns))
                return labels, _decode_named(*given, self._weights, *self._fixed[2:], n, np.asarray(labels))
            self._function = _decode_named.c_function.in_ctypes()(_decode_named.c_function.load())
        given = *spans.buffer_info(), *columns.buffer_info(), *self._fixed, n, *labels.buffer_info()
        return labels, c_functions.run(self._function, *given)


@array_kernel("i8(i8[::1], i4[::1], f8[::1], i8, i8, i8, i4[::1])", fastmath=False)
def _decode_named(spans, columns, w, num_states, width, n, y):
    """Write the labels of highest score of all positions to y; return how many of n sequences have none."""
    ptr, lengths = spans[: n + 1], spans[n + 1 :]
    ends, allowed = np.zeros(len(lengths) + 1, dtype=np.int64), np.empty((0, 0), dtype=np.bool_)
    for t in range(len(lengths)):
        ends[t + 1] = ends[t] + lengths[t]
    _decode_rows(BinaryFeatures(ends, columns), Shared(), ptr, w, num_states, width, allowed, y)
    missing = 0
    for i in range(len(ptr) - 1):
        missing += ptr[i + 1] > ptr[i] and y[ptr[i]] < 0
    return missing


def decode_several(chains: Chains, n_best: int, allowed: np.ndarray = FREE):
    """Return the ``n_best`` labelings (n_best, N) of highest score of every chain, and their scores (n, n_best), -inf of none."""
    x, z, ptr, weights, num_states = chains
    labels = np.empty((n_best, ptr[-1]), dtype=np.int32)
    values = np.full((len(ptr) - 1, n_best), -np.inf)
    _kernel(_decode_chains_several, x, z)(x, z, ptr, weights, num_states, padded_width(num_states), allowed, labels, values)
    values[values < EXCLUDED] = -np.inf
    return labels, values


def marginals(chains: Chains, allowed: np.ndarray = FREE) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities (N, K) of the labels of all positions, and the logarithms of the normalisers of all chains, (n,)."""
    x, z, ptr, weights, num_states = chains
    width, longest = padded_width(num_states), int(np.diff(ptr).max(initial=0))
    found, log_z = np.empty((ptr[-1], width)), np.zeros(len(ptr) - 1)
    scratch = np.empty(scratch_size(longest, num_states, width))
    _kernel(_marginals_of_chains, x, z)(x, z, ptr, weights, num_states, width, allowed, found, log_z, scratch)
    return found[:, :num_states], log_z


def _kernel(function: Callable, x, z) -> Callable:
    key = function, type(x), *map(type, z)
    if key not in _kernels:
        _kernels[key] = specialise(function, x, z)
    return _kernels[key]


@njit
def _decode_chains(x, z, ptr, w, num_states, width, allowed, y):
    """Write the labels of highest score of all positions to y; w and width are as in ``fwexp.problems.chain``."""
    _decode_rows(x, z, ptr, w, num_states, width, allowed, y)


@register_jitable
def _decode_rows(x, z, ptr, w, num_states, width, allowed, y):
    longest = _longest(ptr)
    unary, messages = np.empty(longest * width), np.empty(longest * width)
    for i in range(len(ptr) - 1):
        if ptr[i + 1] > ptr[i]:
            scores = unary[: (ptr[i + 1] - ptr[i]) * width]
            tables = _chain_scores(x, z, ptr[i], ptr[i + 1], w, num_states, width, allowed, scores)
            labels = y[ptr[i] : ptr[i + 1]]
            if viterbi(scores, tables, num_states, width, labels, messages) < EXCLUDED:
                labels[:] = -1


@njit
def _decode_chains_several(x, z, ptr, w, num_states, width, allowed, y, values):
    """Write the labelings of highest score of every chain to y, and their scores to values."""
    longest, several = _longest(ptr), len(y)
    unary = np.empty(longest * width)
    for i in range(len(ptr) - 1):
        length = ptr[i + 1] - ptr[i]
        if length > 0:
            scores, labelings = unary[: length * width], np.empty((several, length), dtype=np.int32)
            tables = _chain_scores(x, z, ptr[i], ptr[i + 1], w, num_states, width, allowed, scores)
            k_best_viterbi(scores, tables, num_states, width, labelings, values[i])
            y[:, ptr[i] : ptr[i + 1]] = labelings
        else:
            values[i, 0] = 0.0


@njit
def _marginals_of_chains(x, z, ptr, w, num_states, width, allowed, found, log_z, scratch):
    """Write the probabilities of labels at all positions to found, and the logarithms of normalisers to log_z."""
    unary, probabilities = np.empty(_longest(ptr) * width), found.ravel()
    for i in range(len(ptr) - 1):
        if ptr[i + 1] > ptr[i]:
            scores, out = unary[: (ptr[i + 1] - ptr[i]) * width], probabilities[ptr[i] * width : ptr[i + 1] * width]
            tables = _chain_scores(x, z, ptr[i], ptr[i + 1], w, num_states, width, allowed, scores)
            log_z[i] = transitions.marginals(z, scores, tables, num_states, width, out, np.empty(len(tables)), scratch)


@register_jitable
def _longest(ptr):
    longest = 0
    for i in range(len(ptr) - 1):
        longest = max(longest, ptr[i + 1] - ptr[i])
    return longest


@register_jitable
def _chain_scores(x, z, start, end, w, num_states, width, allowed, unary):
    """Write the scores of the labels of a chain's positions; return the scores of transitions."""
    first = len(w) - (2 + num_states) * width
    for t in range(end - start):
        row_scores(x, start + t, w, width, unary[t * width : (t + 1) * width])
    last = (end - start - 1) * width
    for k in range(num_states):
        unary[k] += w[first + k]
        unary[last + k] += w[first + width + k]
    if len(allowed):
        for t in range(end - start):
            for k in range(num_states):
                if not allowed[start + t, k]:
                    unary[t * width + k] = FORBIDDEN
    return transitions.tables(z, start, end, w, num_states, width)
