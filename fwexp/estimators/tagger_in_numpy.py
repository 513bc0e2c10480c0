"""Scores of features and taggers with numpy alone: for processes without numba, and until its import is worth its time."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_floats
from fwexp.errors import ParameterError
from fwexp.estimators import chains_in_numpy
from fwexp.estimators.chains_in_numpy import Chains, check_found
from fwexp.estimators.json_values import names_of
from fwexp.estimators.labels import by_sequence, partial_labels
from fwexp.estimators.named_features import NONE, Known, encoded
from fwexp.estimators.sequence_inputs import Inputs, length
from fwexp.estimators.tag_schemes import forbidden_pairs
from fwexp.files.packed_weights import PackedWeights, SparseRows
from fwexp.options import check_integer


class FeatureScores:
    """Columns of features, by name or by number, and the scores that rows of weights (p, K) give to rows of features."""

    def __init__(self, names: Iterable[str] | None, num_features: int, source: str = "X") -> None:
        self._tables, self.size, self._source = None if names is None else Known(names), num_features, source
        if names is not None and len(self._tables.names) != num_features:
            raise ValueError(f"{len(self._tables.names)} names are those of {num_features} features")

    def scores(self, X: list, weights: np.ndarray | SparseRows) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores (N, K) of all positions of sequences, and where sequences begin and end."""
        if self._tables is None:
            found = [self._matrix(x) @ weights for x in X]
            scores = np.concatenate([np.zeros((0, weights.shape[1])), *map(np.asarray, found)])
            return scores, np.cumsum([0, *map(len, found)])
        ends, columns, values, ptr = encoded(X, self._tables)
        entries = weights.take(np.maximum(columns - 1, 0), axis=0)  # Column 0 has any row.
        entries *= (columns != NONE)[:, None] if values is None else np.where(columns != NONE, values, 0.0)[:, None]
        scores, has = np.zeros((len(ends) - 1, weights.shape[1])), np.diff(ends) > 0
        if has.any():
            scores[has] = np.add.reduceat(entries, ends[:-1][has], axis=0)
        return scores, ptr

    def _matrix(self, x):
        """Return the rows of a sequence as a matrix."""
        if isinstance(x, list) and not x:
            return np.zeros((0, self.size))
        matrix = x if sp.issparse(x) else as_floats(self._source, x, "be an array of numbers (T, p)")
        if matrix.ndim != 2 or matrix.shape[1] != self.size:
            got = matrix.shape[1] if matrix.ndim == 2 else f"shape {matrix.shape}"
            raise ParameterError(f"{self._source} must have {self.size} features per position, as in fit, got {got}")
        return matrix


class Query(NamedTuple):
    """Chains of the positions of sequences that are kept, as numpy or kernels take them, and what leads back to the sequences."""

    chains: Any
    ptr: np.ndarray  # where the sequences begin and end
    kept: np.ndarray | None  # bool (N,), or None for all
    allowed: tuple = ()  # the labels of the positions that are kept, for kernels

    def labelings(self, names: list, mark: Any, n_best: int | None, best: Callable, several: Callable) -> list[list[Any]]:
        """Return the labels of sequences, ``mark`` at skipped positions, or ``n_best`` pairs (labels, score) for each."""
        ptr = self.chains.ptr
        if n_best is None:
            numbers = best(self.chains, *self.allowed)
            check_found(ptr, numbers < 0)
            return by_sequence([names[k] for k in numbers.tolist()], self.ptr, self.kept, mark)
        most = len(names) ** int(np.diff(ptr).max(initial=0))
        numbers, scores = several(self.chains, min(check_integer("n_best", n_best, 1), most), *self.allowed)
        check_found(ptr, np.repeat(np.isneginf(scores[:, 0]), np.diff(ptr)))
        found = [by_sequence([names[k] for k in of_all], self.ptr, self.kept, mark) for of_all in numbers.tolist()]
        return [
            [(found[r][i], score) for r, score in enumerate(of_one) if score > -np.inf] for i, of_one in enumerate(scores.tolist())
        ]

    def split(self, found: np.ndarray) -> list[np.ndarray]:
        """Return rows of the positions that are kept as an array for each sequence, NaN at others."""
        if self.kept is not None:
            found, of_kept = np.full((len(self.kept), found.shape[1]), np.nan), found
            found[self.kept] = of_kept
        return [found[start:end] for start, end in pairwise(self.ptr.tolist())]


class NumpyTagger:
    """A tagger, from the parameters of its training, from what `ChainEncoding.learned` returns, and from all weights."""

    def __init__(self, params: dict[str, Any], learned: dict[str, Any], w: np.ndarray | PackedWeights) -> None:
        self._params, self._classes, K = params, learned["classes"], len(learned["classes"])
        self._names = names_of(self._classes)
        self._rows, self._edges = FeatureScores(learned["names"], learned["num_features"]), None
        if learned.get("num_edge_features") is not None:
            self._edges = FeatureScores(learned["edge_names"], learned["num_edge_features"], "transition_features")
        if isinstance(w, PackedWeights):
            w = w.unpacked() if learned["names"] is None else w.rows(K)
        rows, p = w if isinstance(w, SparseRows) else w.reshape(-1, K), self._rows.size
        first = p + (0 if self._edges is None else K * self._edges.size)
        if rows.shape[0] != first + 2 + K:
            raise ValueError(f"{rows.shape[0]} rows of weights are those of {first + 2 + K}")
        self._weights = rows if isinstance(rows, SparseRows) else rows[:p]
        others = rows.take(np.arange(p, rows.shape[0]), axis=0)
        self._of_edges, ends = others[: first - p].reshape(-1, K * K), others[first - p :]
        for one, other in forbidden_pairs(params.get("constraints"), self._classes):
            ends[0 if one is None else 1 if other is None else 2 + one, one if other is None else other] = -np.inf
        self._start, self._end, self._transitions = ends[0], ends[1], ends[2:]

    def predict(self, X: Inputs, partial=None, n_best: int | None = None) -> list[list[Any]]:
        """Return the labels of sequences, or ``n_best`` pairs (labels, score) for each."""
        decoders = chains_in_numpy.best, chains_in_numpy.several_best
        return self.query(X, partial).labelings(self._names, self._params.get("ignore_label"), n_best, *decoders)

    def predict_proba(self, X: Inputs, partial=None) -> list[np.ndarray]:
        """Return the probabilities (T, K) of labels for each sequence, NaN at positions that are skipped."""
        query = self.query(X, partial)
        found, log_z = chains_in_numpy.marginals(query.chains)
        check_found(query.chains.ptr, np.repeat(np.isneginf(log_z), np.diff(query.chains.ptr)))
        return query.split(found)

    def query(self, X: Inputs, partial=None) -> Query:
        """Return the scores of sequences, -inf for labels that do not agree with what is known."""
        (unary, ptr), kept = self._rows.scores(X, self._weights), None
        has_edges = self._edges is not None and X.edges is not None
        transitions = self._transitions_at(self._edges, X.edges, ptr) if has_edges else self._transitions
        ends = ptr
        if partial is not None:
            skips = bool(self._params.get("skip_ignored"))
            allowed, kept = partial_labels(partial, ptr, self._classes, skips, self._params.get("ignore_label"))
            if kept is not None:
                unary, ends = unary[kept], np.concatenate(([0], np.cumsum(kept)))[ptr]
                transitions = transitions[kept] if has_edges else transitions
            unary[~allowed] = -np.inf
        full = np.diff(ends) > 0
        unary[ends[:-1][full]] += self._start
        unary[ends[1:][full] - 1] += self._end
        return Query(Chains(unary, transitions, ends), ptr, kept)

    def _transitions_at(self, rows: FeatureScores, edges: list, ptr: np.ndarray) -> np.ndarray:
        """Return the scores of the transitions to all positions, (N, K, K), 0 for first ones."""
        K, follows = len(self._names), np.ones(int(ptr[-1]), dtype=bool)
        follows[ptr[:-1][np.diff(ptr) > 0]] = False
        found = np.zeros((len(follows), K, K))
        several = [x for x in edges if length(x)]
        found[follows] = rows.scores(several, self._of_edges)[0].reshape(-1, K, K) + self._transitions
        return found
