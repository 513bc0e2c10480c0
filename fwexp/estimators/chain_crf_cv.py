"""Sequence labelling with probabilities, with lam chosen by cross-validation."""

from dataclasses import dataclass

from fwexp.estimators.chain_crf import CRFEncoding, ProbabilisticChains
from fwexp.estimators.chain_cv import ChainSearch, SearchEncoding


class CRFSearchEncoding(SearchEncoding, CRFEncoding):
    """An encoding for probabilities with the results of a search for lam."""


@dataclass(eq=False, repr=False)
class ChainCRFCV(ProbabilisticChains, ChainSearch):
    """Label sequences with a linear-chain conditional random field, with lam chosen by cross-validation.

    Every fold trains a `ChainCRF` at each lam, with at most ``max_passes`` each.

    Parameters
    ----------
    lams : int or array, default 12
        Values of lam to compare, or their number, as for `ChainSVMCV`.
    lam_min, cv, scoring, time_limit, callback, n_jobs
        The same as for `ChainSVMCV`. Functions for ``scoring`` may call ``predict_proba``.
    objective, costs, class_weight, solver, iterate, tol
        The same as for `ChainCRF`.
    features, transition_features, min_count, constraints, ignore_label, skip_ignored, fixed_weights, possible_states
        The same as for `ChainSVM`.
    max_passes, nonnegative, random_state, verbose
        The same as for `ChainSVM`.

    Attributes
    ----------
    lam_, cv_results_, best_score_
        The same as of `ChainSVMCV`.
    classes_, n_features_in_, feature_names_in_, class_weight_, coef_, start_, end_, transitions_
        The same as of `ChainSVM`.
    state_features_, transition_features_, feature_transitions_, dual_gap_, status_, n_passes_, trace_, result_
        The same as of `ChainSVM`.

    See Also
    --------
    ChainCRF : The estimator for a given ``lam``.
    ChainSVMCV : Labels without probabilities.

    Notes
    -----
    X and y are as for `ChainSVM`. All other attributes belong to the final training on all sequences at ``lam_``.

    Examples
    --------
    >>> from fwexp.estimators import ChainCRFCV
    >>> X = [["the", "dog", "barks"], ["a", "dog"]]
    >>> X += [["the", "cat"], ["a", "cat", "barks"]]
    >>> det, noun, verb = "DET", "NOUN", "VERB"
    >>> y = [[det, noun, verb], [det, noun], [det, noun], [det, noun, verb]]
    >>> documents = ["one", "one", "two", "two"]
    >>> tagger = ChainCRFCV(lams=[1.0, 0.1], cv=2, tol=1e-6)
    >>> tagger.fit(X, y, groups=documents).lam_
    1.0
    >>> tagger.predict_proba([["the", "dog"]])[0].round(2)
    array([[0.47, 0.27, 0.26],
           [0.26, 0.42, 0.32]])
    """

    _Encoding = CRFSearchEncoding
