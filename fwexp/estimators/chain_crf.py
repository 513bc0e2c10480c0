"""Sequence labelling with probabilities: a conditional random field on chains, which is trained to a certified gap."""

from dataclasses import field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from fwexp.estimators import transition_inputs
from fwexp.estimators.chain_training import ChainTagger
from fwexp.estimators.decoding import EXCLUDED, FREE, check_found, marginals
from fwexp.estimators.labels import as_sequences, names_of, numbers_of
from fwexp.options import check_choice
from fwexp.problems.arrays import as_list
from fwexp.types import Lam

OBJECTIVES = ("log", "softmax_margin")


class ChainCRF(ChainTagger):
    """Label sequences with probabilities: a linear-chain conditional random field, trained to a certified gap.

    It minimises lam/2 ||w||^2 - 1/N sum_i log p(y_i | x_i), where N is the number of positions in all sequences:
    lam = 2 c2 / N corresponds to the coefficient c2 of CRFsuite.

    Parameters
    ----------
    objective : {"log", "softmax_margin"}
        The negative log-likelihood, or softmax-margin (Gimpel and Smith, 2010), which adds the number of wrong labels to the scores
        in training. Softmax-margin often makes fewer errors, but its probabilities are less well calibrated.
    costs : (K, K) array or dict, optional
        For ``objective="softmax_margin"``, what a wrong label costs, by default 1: ``costs[true, predicted]`` in the order of
        ``classes_``, or what a dict holds for pairs (true, predicted), and 1 for other pairs.
    class_weight : dict or "balanced", optional
        For ``objective="softmax_margin"``, by how much errors at positions of a label cost more, by default 1; ``"balanced"``:
        inversely to how often labels occur.
    iterate : {"best", "last"}, optional
        Which iterate of `fwexp.solve` has the weights, by default the ``best`` logged one. ``dual_gap_`` certifies this iterate.
    solver : str
        A solver of `fwexp.solve` for the objective: ``auto``, ``block_entropic``, ``lbfgs``, ``sag`` or ``online_eg``.

    Notes
    -----
    X and y are as for `ChainSVM`. ``auto`` runs ``lbfgs`` if there are few long sequences, and ``block_entropic`` otherwise. With
    the default ``lam="1/n"``, lam is 1/N: the weights then have the most probable values under a Gaussian prior of variance 1.

    Examples
    --------
    >>> from fwexp.estimators import ChainCRF
    >>> X = [["the", "dog", "barks"], ["a", "cat"], ["the", "cat", "barks"]]
    >>> tagger = ChainCRF().fit(X, [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["DET", "NOUN", "VERB"]])
    >>> tagger.predict([["a", "dog"]])
    [['DET', 'NOUN']]
    >>> probabilities = tagger.predict_proba([["a", "dog"]])[0]
    >>> probabilities.shape, bool(probabilities[1, 1] > 0.5)
    ((2, 3), True)
    """

    lam: Lam = field(default="1/n", kw_only=False)
    C: float | None = None
    objective: str = "log"

    loss: ClassVar[str] = "errors"
    averages = False

    def predict_proba(self, X: Any, *, partial: Any = None) -> list[np.ndarray]:
        """Return the probabilities of all labels at every position.

        Parameters
        ----------
        X : list of sequences
            As for `fit`.
        partial : list of lists, optional
            Labels that are known, and None elsewhere: probabilities are then given these.

        Returns
        -------
        list of arrays (T, K)
            In the order of ``classes_``; every row sums to 1.
        """
        found, ptr, log_z = self._marginals(X, partial)
        check_found(ptr, np.repeat(log_z < EXCLUDED, np.diff(ptr)))
        return [found[start:end] for start, end in pairwise(ptr.tolist())]

    def predict_marginals(self, X: Any, *, partial: Any = None) -> list[list[dict]]:
        """Return the probabilities of all labels at every position as dicts, as sklearn-crfsuite does.

        Parameters
        ----------
        X, partial
            As for `predict_proba`.

        Returns
        -------
        list of lists of dicts
            From labels to probabilities.
        """
        names = names_of(self.classes_)
        return [[dict(zip(names, row)) for row in of_one.tolist()] for of_one in self.predict_proba(X, partial=partial)]

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """Return log p(y_i | x_i), the logarithm of the probability of a whole labeling.

        Parameters
        ----------
        X : list of n sequences
            As for `fit`.
        y : list of n lists of labels
            One per position.

        Returns
        -------
        ndarray (n,)
            -inf where a labeling is forbidden or has a label that `fit` has not seen.
        """
        _, ptr, log_z = self._marginals(X, None)
        y = as_sequences(as_list("y", y, "sequences of labels"), np.diff(ptr))
        numbers = [numbers_of(labels, self.classes_) for labels in y]
        known = [i for i, of_one in enumerate(numbers) if (of_one >= 0).all()]
        found = np.full(len(numbers), -np.inf)
        if known:
            X = as_list("X", X, "sequences")
            found[known] = self._marginals([X[i] for i in known], [y[i] for i in known])[2] - log_z[known]
        return np.where(found < -1e200, -np.inf, found)

    def _marginals(self, X, partial) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the probabilities of labels at all positions, where sequences begin and end, and log Z of the sequences."""
        vectorizer, weights = self._ready()
        X, K = self._features(X), len(self.classes_)
        if not X:
            return np.zeros((0, K)), np.zeros(1, dtype=np.int64), np.zeros(0)
        x, ptr = vectorizer.encode(X)
        z = transition_inputs.encode(self.edge_vectorizer_, X.edges, ptr)
        found, log_z = marginals(x, ptr, weights, K, FREE if partial is None else self._given(partial, ptr), z)
        return found, ptr, log_z

    @property
    def _objective(self) -> str:
        return check_choice("objective", self.objective, OBJECTIVES)
