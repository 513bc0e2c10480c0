"""Decoding of one chain whose scores are known, such as those of a neural network."""

import numpy as np

from fwexp.conversion import as_array
from fwexp.errors import ParameterError
from fwexp.options import check_integer
from fwexp.oracles.forward_backward import forward_backward, scratch_size
from fwexp.oracles.k_best_viterbi import k_best_viterbi
from fwexp.oracles.log_forward_backward import log_forward_backward
from fwexp.oracles.viterbi import viterbi
from fwexp.problems.chain import FORBIDDEN
from fwexp.types import ArrayLike

EXCLUDED = 0.5 * FORBIDDEN  # Labelings of lower scores have a score of -inf.


def decode_chain(
    unary: ArrayLike,
    transitions: ArrayLike,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    n_best: int | None = None,
) -> np.ndarray | list[tuple[np.ndarray, float]]:
    """Return the labels of highest score of a sequence whose scores are known.

    Use it for scores that another model has computed, such as the emissions of a neural network.

    Parameters
    ----------
    unary : (T, K) array
        Scores of the labels at every position; -inf excludes a label.
    transitions : (K, K) or (T - 1, K, K) array
        Scores of a label (column) after another (row), the same everywhere or for every position after the first; -inf excludes
        a transition.
    start, end : (K,) arrays, optional
        Scores of the first and of the last label, 0 by default.
    n_best : int, optional
        Return this many labelings, best first, as pairs (labels, score); fewer if no more exist.

    Returns
    -------
    int array (T,), or list of pairs
        Labels from 0, or with ``n_best`` pairs of labels and their score. Ties go to the smallest label, from the last position
        backwards.

    Raises
    ------
    ValueError
        If shapes do not fit, a score is NaN or inf, or all labelings are excluded.

    See Also
    --------
    chain_marginals : Probabilities of labels.
    fwexp.estimators.ChainSVM : Learns the scores.

    Examples
    --------
    >>> import fwexp
    >>> unary = [[1.0, 0.0], [0.0, 0.5], [0.2, 0.0]]
    >>> fwexp.decode_chain(unary, [[1.0, 0.0], [0.0, 1.0]])
    array([0, 0, 0])
    >>> for labels, score in fwexp.decode_chain(unary, [[1, 0], [0, 1]], n_best=2):
    ...     print(labels, score)
    [0 0 0] 3.2
    [0 1 1] 2.5
    """
    scores, tables = _scores(unary, transitions, start, end)
    T, K = scores.shape
    most = 1 if n_best is None else min(check_integer("n_best", n_best, 1), K**T)
    labels, values = np.zeros((most, T), dtype=np.int32), np.zeros(most)
    if T and n_best is None:
        values[0] = viterbi(scores.ravel(), tables, K, K, labels[0], np.empty(T * K))
    elif T:
        k_best_viterbi(scores.ravel(), tables, K, K, labels, values)
    _check_any(values[0])
    found = labels.astype(np.int64)
    return found[0] if n_best is None else [(one, float(value)) for one, value in zip(found, values) if value >= EXCLUDED]


def chain_marginals(
    unary: ArrayLike, transitions: ArrayLike, start: ArrayLike | None = None, end: ArrayLike | None = None
) -> tuple[np.ndarray, float]:
    """Return the probabilities of labels of a sequence whose scores are known.

    The probability of a labeling is proportional to the exponential of its score.

    Parameters
    ----------
    unary, transitions, start, end
        The same as of `decode_chain`.

    Returns
    -------
    marginals : array (T, K)
        Probabilities of the labels at every position.
    log_z : float
        Logarithm of the sum of the exponentials of the scores of all labelings.

    Raises
    ------
    ValueError
        If shapes do not fit, a score is NaN or inf, or all labelings are excluded.

    See Also
    --------
    decode_chain : The labels of highest score.

    Examples
    --------
    >>> import fwexp
    >>> unary = [[1.0, 0.0], [0.0, 0.5]]
    >>> p, log_z = fwexp.chain_marginals(unary, [[1.0, 0.0], [0.0, 1.0]])
    >>> p.round(2).tolist(), round(log_z, 2)
    ([[0.68, 0.32], [0.48, 0.52]], 2.85)
    """
    scores, tables = _scores(unary, transitions, start, end)
    T, K = scores.shape
    found, log_z = np.zeros(T * K), 0.0
    if T:
        sums = forward_backward if len(tables) == K * K else log_forward_backward  # which takes tables of every position
        log_z = sums(scores.ravel(), tables, K, K, found, np.empty(len(tables)), np.empty(scratch_size(T, K, K)))
    _check_any(log_z)
    return found.reshape(T, K), float(log_z)


def _scores(unary, transitions, start, end) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of positions, with both ends, and of transitions, as kernels take them."""
    scores = _finite_or_excluded("unary", unary)
    if scores.ndim != 2 or not scores.shape[1]:
        raise ParameterError(f"unary must have shape (T, K), got {scores.shape}")
    T, K = scores.shape
    tables = _finite_or_excluded("transitions", transitions)
    if tables.shape not in ((K, K), (T - 1, K, K)):
        raise ParameterError(f"transitions must have shape (K, K) = ({K}, {K}) or (T - 1, K, K), got {tables.shape}")
    for place, name, given in ((0, "start", start), (-1, "end", end)):
        if given is not None:
            of_end = _finite_or_excluded(name, given)
            if of_end.shape != (K,):
                raise ParameterError(f"{name} must have shape (K,) = ({K},), got {of_end.shape}")
            if T:
                scores[place] += of_end
    return scores, tables.ravel()


def _finite_or_excluded(name: str, value) -> np.ndarray:
    array = np.array(as_array(name, value, "fiub", "hold numbers"), dtype=np.float64)
    if np.isnan(array).any() or np.isposinf(array).any():
        raise ParameterError(f"{name} must hold finite numbers or -inf, got NaN or inf")
    return np.where(np.isneginf(array), FORBIDDEN, array)


def _check_any(value: float) -> None:
    if value < EXCLUDED:
        raise ParameterError("unary, transitions, start and end must leave a labeling, got -inf for all of them")
