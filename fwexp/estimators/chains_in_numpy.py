"""Decoding of chains with numpy alone, many at once: for processes that are to answer before numba is imported."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from fwexp.errors import ParameterError

AT_ONCE = 256  # chains, whose tables of pairs of labels stay in the cache


class Chains(NamedTuple):
    """Scores of chains: of labels (N, K), of transitions (K, K), or (N, K, K) from the position before; -inf excludes."""

    unary: np.ndarray
    transitions: np.ndarray
    ptr: np.ndarray  # where chains begin and end, (n + 1,)


class Block(NamedTuple):
    """Some chains, the longest first: where they begin, how many have a position t, and their numbers."""

    starts: np.ndarray
    counts: np.ndarray
    numbers: np.ndarray


def blocks(ptr: np.ndarray) -> Iterator[Block]:
    """Yield all chains that have positions, in blocks."""
    lengths = np.diff(ptr)
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    for k in range(0, len(order), AT_ONCE):
        chosen = order[k : k + AT_ONCE]
        yield Block(ptr[chosen], np.count_nonzero(lengths[chosen] > np.arange(lengths[chosen[0]])[:, None], axis=1), chosen)


def _pairs(chains: Chains, places: np.ndarray) -> np.ndarray:
    """Return the scores of transitions to positions."""
    return chains.transitions if chains.transitions.ndim == 2 else chains.transitions[places]


def best(chains: Chains) -> np.ndarray:
    """Return the labels of highest score of all positions, -1 in chains that have none."""
    labels = np.empty(len(chains.unary), dtype=np.int64)
    for starts, counts, _ in blocks(chains.ptr):
        scores, origins = chains.unary[starts], []
        for t, m in enumerate(counts.tolist()[1:], 1):
            sums = scores[:m, :, None] + _pairs(chains, starts[:m] + t)
            origins.append(sums.argmax(axis=1))
            scores[:m] = np.take_along_axis(sums, origins[-1][:, None], axis=1)[:, 0] + chains.unary[starts[:m] + t]
        here = scores.argmax(axis=1)
        excluded = np.isneginf(scores[np.arange(len(here)), here])
        for t in range(len(counts) - 1, -1, -1):
            m = counts[t]
            labels[starts[:m] + t] = np.where(excluded[:m], -1, here[:m])
            if t:
                here[:m] = origins[t - 1][np.arange(m), here[:m]]
    return labels


def several_best(chains: Chains, n_best: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labelings of highest score (n_best, N), the best first, and their scores (n, n_best), -inf where there are no more."""
    K = chains.unary.shape[1]
    labels = np.zeros((n_best, len(chains.unary)), dtype=np.int64)
    values = np.full((len(chains.ptr) - 1, n_best), -np.inf)
    values[np.diff(chains.ptr) == 0, 0] = 0.0
    for starts, counts, numbers in blocks(chains.ptr):
        scores, origins = np.full((len(starts), K, n_best), -np.inf), []  # of beginnings that end with a label, by rank
        scores[:, :, 0] = chains.unary[starts]
        for t, m in enumerate(counts.tolist()[1:], 1):
            sums = scores[:m, :, None, :] + _pairs(chains, starts[:m] + t)[..., None]
            sums = sums.transpose(0, 2, 1, 3).reshape(m, K, K * n_best)
            origins.append(np.argsort(-sums, axis=2, kind="stable")[:, :, :n_best])
            scores[:m] = np.take_along_axis(sums, origins[-1], axis=2) + chains.unary[starts[:m] + t][..., None]
        ends = scores.reshape(len(starts), -1)
        here = np.argsort(-ends, axis=1, kind="stable")[:, :n_best]
        values[numbers] = np.take_along_axis(ends, here, axis=1)
        for t in range(len(counts) - 1, -1, -1):
            m = counts[t]
            label, rank = np.divmod(here[:m], n_best)
            labels[:, starts[:m] + t] = label.T
            if t:
                here[:m] = origins[t - 1][np.arange(m)[:, None], label, rank]
    return labels, values


def marginals(chains: Chains) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities (N, K) of the labels of all positions, and the logarithms of the normalisers of all chains, (n,)."""
    scores, log_z = through_labels(chains, _log_sum)
    scores -= np.repeat(np.where(np.isneginf(log_z), 0.0, log_z), np.diff(chains.ptr))[:, None]
    return np.exp(scores, out=scores), log_z


def through_labels(chains: Chains, combined: Callable) -> tuple[np.ndarray, np.ndarray]:
    """Return the combined scores of the labelings that have a label at a position, (N, K), and of all labelings, (n,)."""
    # What combines scores along an axis is a maximum, or the logarithm of a sum of exponentials.
    found, totals = np.empty_like(chains.unary), np.zeros(len(chains.ptr) - 1)
    for starts, counts, numbers in blocks(chains.ptr):
        found[starts] = chains.unary[starts]
        for t, m in enumerate(counts.tolist()[1:], 1):
            here = starts[:m] + t
            found[here] = chains.unary[here] + combined(found[here - 1][:, :, None] + _pairs(chains, here), 1)
        totals[numbers] = combined(found[chains.ptr[numbers + 1] - 1], 1)
        after = np.zeros((len(starts), found.shape[1]))
        for t in range(len(counts) - 1, -1, -1):
            m = counts[t]
            here = starts[:m] + t
            found[here] += after[:m]
            if t:
                after[:m] = combined(_pairs(chains, here) + (chains.unary[here] + after[:m])[:, None, :], 2)
    return found, totals


def _log_sum(scores: np.ndarray, axis: int) -> np.ndarray:
    """Return the logarithm of the sum of exponentials along an axis."""
    top = scores.max(axis=axis, keepdims=True)
    top[np.isneginf(top)] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(np.exp(scores - top).sum(axis=axis)) + top.squeeze(axis)


def check_found(ptr: np.ndarray, missing: np.ndarray) -> None:
    """Reject sequences without a labeling that is allowed."""
    if missing.any():
        i = int(np.searchsorted(ptr, missing.argmax(), side="right")) - 1
        raise ParameterError(f"X[{i}] must have labels that constraints and partial allow, got a sequence of {ptr[i + 1] - ptr[i]}")
