"""Sequence labelling with probabilities: a conditional random field on chains, which is trained to a certified gap."""

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fwexp.conversion import as_list
from fwexp.errors import ParameterError, shown
from fwexp.estimators import transition_inputs
from fwexp.estimators.chain_encoding import ChainEncoding
from fwexp.estimators.chain_model import ChainTagger
from fwexp.estimators.chains_in_numpy import check_found
from fwexp.estimators.decoding import EXCLUDED, FREE, marginals
from fwexp.estimators.json_values import names_of
from fwexp.estimators.labels import as_sequences, numbers_of
from fwexp.estimators.sequence_inputs import Inputs
from fwexp.options import check_choice
from fwexp.types import Lam

OBJECTIVES = ("log", "softmax_margin")


class CRFEncoding(ChainEncoding):
    """Sequences whose loss has no costs of positions if the objective is the log-likelihood."""

    def _from_arrays(self, rows, labels, ptr, sample_weight=None, z=None):
        if self.params.objective == "log":
            given = {"costs": self.params.costs, "class_weight": self.params.class_weight}
            given["sample_weight"] = sample_weight if isinstance(sample_weight, list) else None  # of positions
            for name, value in given.items():
                if value is not None:
                    accepted = "one number per sequence" if name == "sample_weight" else "None"
                    reason = 'which has no losses of positions; objective="softmax_margin" has'
                    raise ParameterError(f'{name} must be {accepted} with objective="log", {reason}, got {shown(value)}')
        return super()._from_arrays(rows, labels, ptr, sample_weight, z)


@dataclass(eq=False, repr=False)
class ChainCRF(ChainTagger):
    r"""Label sequences with a linear-chain conditional random field, trained to a certified gap.

    Use it if you need probabilities of labels.

    Parameters
    ----------
    lam : float or "1/n", default "1/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. n is the number of
        positions, which count as often as their weights say.
    costs, class_weight
        The same as for `ChainSVM`, with ``objective="softmax_margin"`` only.
    objective : {"log", "softmax_margin"}, default "log"
        ``"log"`` is the negative log-likelihood. ``"softmax_margin"`` (Gimpel and Smith, 2010) adds the number of wrong labels to
        the scores in training; it often makes fewer errors, but its probabilities are less well calibrated.
    solver : str, default "auto"
        A solver of `fwexp.solve` for the objective: ``auto``, ``block_entropic``, ``lbfgs``, ``sag`` or ``online_eg``.
    iterate : {"best", "last"}, optional
        Iterate of `fwexp.solve` that becomes the weights, by default the ``best`` logged one. ``dual_gap_`` certifies it.
    C, features, transition_features, min_count, constraints, ignore_label
        The same as for `ChainSVM`.
    tol, max_passes, nonnegative, warm_start, early_stopping, validation_fraction, n_jobs, random_state, verbose
        The same as for `ChainSVM`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, class_weight_, coef_, start_, end_, transitions_
        The same as of `ChainSVM`.
    state_features_, transition_features_, feature_transitions_, dual_gap_, status_, n_passes_, trace_, result_
        The same as of `ChainSVM`.

    See Also
    --------
    ChainSVM : Labels without probabilities, usually faster to train.
    MulticlassLogistic : Probabilities of classes, without sequences.

    Notes
    -----
    The objective is

    .. math:: \min_w \frac{\lambda}{2} \|w\|^2 - \frac{1}{N} \sum_i \log p(y_i | x_i),

    where N is the number of positions in all sequences. The coefficient c2 of CRFsuite corresponds to lam = 2 c2 / N. With the
    default ``lam="1/n"``, lam is 1/N: the weights then have the most probable values under a Gaussian prior of variance 1.

    X and y are as for `ChainSVM`. ``auto`` runs ``lbfgs`` if the sequences are few and long, and ``block_entropic`` otherwise.

    Examples
    --------
    >>> from fwexp.estimators import ChainCRF
    >>> X = [["the", "dog", "barks"], ["a", "cat"], ["the", "cat", "barks"]]
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["DET", "NOUN", "VERB"]]
    >>> tagger = ChainCRF(tol=1e-6).fit(X, y)
    >>> tagger.predict([["a", "dog"]])
    [['DET', 'NOUN']]
    >>> tagger.predict_proba([["a", "dog"]])[0].round(1)
    array([[0.7, 0.2, 0.1],
           [0.1, 0.6, 0.3]])
    """

    lam: Lam = "1/n"
    _: KW_ONLY
    objective: str = "log"

    loss = "errors"
    averages = False
    _Encoding = CRFEncoding

    def predict_proba(self, X: Any, *, partial: Any = None) -> list[np.ndarray]:
        """Return the probabilities of all labels at every position.

        Parameters
        ----------
        X : list of sequences
            As for `fit`.
        partial : list of lists, optional
            Known labels, with None at the other positions. Probabilities are then conditional on the known labels.

        Returns
        -------
        list of arrays (T, K)
            In the order of ``classes_``; every row sums to 1.
        """
        check_is_fitted(self)
        found, ptr, log_z = self._marginals(self.encoding_.features(X), partial)
        check_found(ptr, np.repeat(log_z < EXCLUDED, np.diff(ptr)))
        return [found[start:end] for start, end in pairwise(ptr.tolist())]

    def predict_marginals(self, X: Any, *, partial: Any = None) -> list[list[dict]]:
        """Return the probabilities of all labels at every position as dicts, as sklearn-crfsuite does.

        Parameters
        ----------
        X, partial
            The same as for `predict_proba`.

        Returns
        -------
        list of lists of dicts
            Per position a dict from labels to probabilities.
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
            One value per sequence; -inf if a labeling is forbidden or contains a label that `fit` has not seen.
        """
        check_is_fitted(self)
        X = self.encoding_.features(X)
        _, ptr, log_z = self._marginals(X, None)
        y = as_sequences(as_list("y", y, "sequences of labels"), np.diff(ptr))
        numbers = [numbers_of(labels, self.classes_) for labels in y]
        known = [i for i, of_one in enumerate(numbers) if (of_one >= 0).all()]
        found = np.full(len(numbers), -np.inf)
        if known:
            found[known] = self._marginals(X.at(known), [y[i] for i in known])[2] - log_z[known]
        return np.where(found < -1e200, -np.inf, found)

    def _marginals(self, X: Inputs, partial) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the probabilities of labels at all positions, where sequences begin and end, and log Z of the sequences."""
        vectorizer, weights = self._decoder
        K = len(self.classes_)
        if not X:
            return np.zeros((0, K)), np.zeros(1, dtype=np.int64), np.zeros(0)
        x, ptr = vectorizer.encode(X)
        z = transition_inputs.encode(self.edge_vectorizer_, X.edges, ptr)
        found, log_z = marginals(x, ptr, weights, K, FREE if partial is None else self.encoding_.given(partial, ptr), z)
        return found, ptr, log_z

    @property
    def _objective(self) -> str:
        return check_choice("objective", self.objective, OBJECTIVES)
