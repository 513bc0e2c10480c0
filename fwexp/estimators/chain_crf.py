"""Sequence labelling with probabilities: a conditional random field on chains, which is trained to a certified gap."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from fwexp.conversion import as_list
from fwexp.errors import ParameterError, shown
from fwexp.estimators.chain_encoding import ChainEncoding
from fwexp.estimators.chain_model import ChainModel
from fwexp.estimators.chain_tagger import ChainTagger
from fwexp.estimators.chains_in_numpy import check_found
from fwexp.estimators.conventions import check_fitted
from fwexp.estimators.joinable_lists import Labelings
from fwexp.estimators.json_values import names_of
from fwexp.estimators.labels import OPEN, allowed_labels, check_same_length
from fwexp.estimators.tag_schemes import span_tags, tags_in
from fwexp.options import check_choice
from fwexp.types import FloatArray, Lam

OBJECTIVES = ("log", "softmax_margin")


class CRFEncoding(ChainEncoding):
    """Sequences whose loss has no costs of positions if the objective is the log-likelihood."""

    def _from_arrays(self, rows, labels, ptr, sample_weight=None, z=None, known_scores=None, is_test=False):
        if self.params.objective == "log":
            given = {"costs": self.params.costs, "class_weight": self.params.class_weight}
            given["sample_weight"] = sample_weight if isinstance(sample_weight, list) else None  # of positions
            for name, value in given.items():
                if value is not None:
                    accepted = "one number per sequence" if name == "sample_weight" else "None"
                    reason = 'which has no losses of positions; objective="softmax_margin" has'
                    raise ParameterError(f'{name} must be {accepted} with objective="log", {reason}, got {shown(value)}')
        return super()._from_arrays(rows, labels, ptr, sample_weight, z, known_scores, is_test)


@dataclass(eq=False, repr=False, kw_only=True)
class ProbabilisticChains(ChainModel):
    """Base of the taggers with probabilities of labels."""

    objective: str = "log"

    loss = "errors"
    averages = False
    _relative_tol = True
    _Encoding = CRFEncoding

    def predict_proba(self, X: Any, *, partial: Any = None) -> list[FloatArray]:
        """Return the probabilities of all labels at every position.

        Parameters
        ----------
        X : list of sequences
            As for `fit`.
        partial : list of lists, optional
            What is known of every position: its label, a set of labels of which it has one, or None. Probabilities are then
            conditional on this.

        Returns
        -------
        list of arrays (T, K)
            In the order of ``classes_``; every row sums to 1, or is NaN at positions that are skipped.
        """
        check_fitted(self)
        from fwexp.estimators.decoding import EXCLUDED, marginals

        if not (X := self.encoding_.features(X)):
            return []
        query = self._query(X, partial)
        found, log_z = marginals(query.chains, *query.allowed)
        check_found(query.chains.ptr, np.repeat(log_z < EXCLUDED, np.diff(query.chains.ptr)))
        return query.split(found)

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
        return Labelings([dict(zip(names, row)) for row in of_one.tolist()] for of_one in self.predict_proba(X, partial=partial))

    def log_proba(self, X: Any, y: Any) -> FloatArray:
        """Return log p(y_i | x_i), the logarithm of the probability of a labeling, whole or in part.

        Parameters
        ----------
        X : list of n sequences
            As for `fit`.
        y : list of n lists
            A label, a set of labels or None (any label) for every position. With sets or None, the value is the logarithm of the
            sum of the probabilities of all labelings that agree with y.

        Returns
        -------
        ndarray (n,)
            One value per sequence; -inf if all such labelings are forbidden or contain a label that `fit` has not seen.
        """
        check_fitted(self)
        from fwexp.estimators.decoding import EXCLUDED, marginals

        X, y = self.encoding_.features(X), as_list("y", y, "sequences of labels")
        check_same_length(X, y)
        if not X:
            return np.zeros(0)
        params, chains = self.encoding_.params, self._query(X).chains
        y = self.encoding_.sequences(y, np.diff(chains.ptr), OPEN if params.ignore_label is None else None)
        entries = list(itertools.chain.from_iterable(y))
        if params.skip_ignored:
            kept = np.array([entry is not None for entry in entries], dtype=np.bool_)
            chains, entries = chains.at(kept), [*itertools.compress(entries, kept)]
        allowed = allowed_labels(entries, self.classes_)
        unknown = ~allowed.any(axis=1)
        allowed[unknown] = True
        found = marginals(chains, allowed)[1] - marginals(chains)[1]
        found[np.repeat(np.arange(len(y)), np.diff(chains.ptr))[unknown]] = -np.inf
        return np.where(found < EXCLUDED, -np.inf, found)

    def span_proba(self, X: Any, spans: Any) -> list[np.ndarray]:
        """Return the probabilities that spans are entities of a kind: that both ends and the kind are right.

        Labels must be tags of one of the schemes that ``constraints`` names.

        Parameters
        ----------
        X : list of n sequences
            As for `fit`.
        spans : list of n lists of triples
            The spans (start, end, kind) of every sequence, which have the positions start .. end - 1, such as (0, 2, "PER").

        Returns
        -------
        list of n arrays
            A probability for every span.

        Examples
        --------
        >>> from fwexp.estimators import ChainCRF
        >>> X, y = [["Ann", "Lee", "sees", "Bo"]], [["B-PER", "I-PER", "O", "B-PER"]]
        >>> crf = ChainCRF(constraints="BIO", tol=1e-6).fit(X, y)
        >>> spans = [(0, 2, "PER"), (0, 1, "PER")]
        >>> crf.span_proba([["Ann", "Lee"]], [spans])[0].round(2)
        array([0.42, 0.33])
        """
        check_fitted(self)
        from fwexp.estimators.decoding import marginals

        X, spans = self.encoding_.features(X), as_list("spans", spans, "lists of triples (start, end, kind)")
        if len(spans) != len(X):
            raise ParameterError(f"spans must hold a list for each of {len(X)} sequences, got {len(spans)}")
        counts = [len(of_one) for of_one in spans]
        if not sum(counts):
            return [np.zeros(0) for _ in X]
        tags, chains = tags_in(self.encoding_.params.constraints, names_of(self.classes_)), self._query(X).chains
        lengths = np.diff(chains.ptr).tolist()
        allowed = [span_tags(tags, length, span) for length, of_one in zip(lengths, spans) for span in of_one]
        of_spans = np.repeat(np.arange(len(X)), counts)
        log_p = marginals(self._query(X.at(of_spans)).chains, np.concatenate(allowed))[1] - marginals(chains)[1][of_spans]
        return np.split(np.exp(log_p), np.cumsum(counts)[:-1])

    @property
    def _objective(self) -> str:
        objective = check_choice("objective", self.objective, OBJECTIVES)
        return "softmax_margin" if self.fixed_weights else objective  # The scores of these weights are losses.


@dataclass(eq=False, repr=False)
class ChainCRF(ProbabilisticChains, ChainTagger):
    r"""Label sequences with a linear-chain conditional random field, trained to a certified gap.

    Use it if you need probabilities of labels.

    Parameters
    ----------
    lam : float or "c/n", default "1/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. A text such as "1/n" is a
        number divided by n, the number of labelled positions, which count as often as their weights say. The default was chosen by
        validation.
    costs, class_weight
        The same as for `ChainSVM`, with ``objective="softmax_margin"`` only.
    objective : {"log", "softmax_margin"}, default "log"
        ``"log"`` is the negative log-likelihood. ``"softmax_margin"`` (Gimpel and Smith, 2010) adds the number of wrong labels to
        the scores in training; it often makes fewer errors, but its probabilities are less well calibrated.
    solver : str, default "auto"
        A solver of `fwexp.solve` for the objective: ``auto``, ``block_entropic``, ``lbfgs``, ``sag`` or ``online_eg``.
    iterate : {"best", "last"}, optional
        Iterate of `fwexp.solve` that becomes the weights, by default the ``best`` logged one. ``dual_gap_`` certifies it.
    C, features, transition_features, min_count, constraints, ignore_label, skip_ignored, fixed_weights, possible_states
        The same as for `ChainSVM`.
    tol : float, default 0.01
        Certified gap at which training stops, as a share of the objective: with 0.01, the objective is at most 1 % above its
        minimum. Smaller values take longer.
    max_passes, time_limit, callback, nonnegative, warm_start, early_stopping, validation_fraction, n_jobs, random_state, verbose
        The same as for `ChainSVM`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, class_weight_, coef_, start_, end_, transitions_, held_out_
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

    where N is the number of labelled positions in all sequences. The coefficient c2 of CRFsuite corresponds to lam = 2 c2 / N, so
    that "1/n" is c2 = 1/2, or C = 1. With the default ``lam="1/n"``, the weights have the most probable values under a Gaussian
    prior of variance 1.

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
