"""Features of the transitions between the labels of a sequence, as rows for problems and kernels."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from fwexp.estimators.feature_matrices import Vectorizer
from fwexp.estimators.sequence_inputs import length
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures, as_features
from fwexp.problems.transitions import ByPosition, Shared, Transitions


def learn(vectorizer: Vectorizer, edges: list, ptr: np.ndarray, weights: np.ndarray | None, former: Vectorizer | None):
    """Learn the columns and return `rows`; positions count as often as ``weights`` say, and columns of ``former`` stay."""
    if former is not None:
        vectorizer.restore(former.names, former.num_features)
    elif not any(hasattr(x, "shape") for x in edges):
        vectorizer.restore([], 0)  # Names are expected, though there may be none.
        former = vectorizer
    of_rows = None if weights is None else weights[_follows(ptr)]
    return rows(vectorizer, edges, ptr, lambda several: vectorizer.fit_transform(several, of_rows, former))


def encode(vectorizer: Vectorizer | None, edges: list | None, ptr: np.ndarray) -> Transitions:
    """Return the features of the transitions of further sequences, as kernels take them."""
    if vectorizer is None or edges is None:
        return Shared()
    found = as_features(rows(vectorizer, edges, ptr), copy=False)
    # Few classes of rows mean few kernels.
    if not isinstance(found, DenseFeatures):
        values = np.ones(len(found.indices)) if isinstance(found, BinaryFeatures) else found.values
        found = SparseFeatures(found.indptr, found.indices, values)
    return ByPosition(found, vectorizer.num_features)


def rows(vectorizer: Vectorizer, edges: list, ptr: np.ndarray, transform: Callable | None = None):
    """Return a row for every position, 0 for the first ones, as a matrix; sequences begin and end at ``ptr``."""
    several = [x for x in edges if length(x)]
    if not several:
        return sp.csr_array((int(ptr[-1]), vectorizer.num_features))
    found = (transform or vectorizer.transform)(several)[0]
    follows = _follows(ptr)
    if not sp.issparse(found):
        spread = np.zeros((len(follows), found.shape[1]))
        spread[follows] = found
        return spread
    found = sp.csr_array(found)
    ends = found.indptr[np.concatenate(([0], np.cumsum(follows)))]
    return sp.csr_array((found.data, found.indices, ends), shape=(len(follows), found.shape[1]))


def _follows(ptr: np.ndarray) -> np.ndarray:
    """Return whether a position comes after another one of its sequence, bool (positions,)."""
    follows = np.ones(int(ptr[-1]), dtype=bool)
    follows[ptr[:-1][np.diff(ptr) > 0]] = False
    return follows
