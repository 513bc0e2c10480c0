"""Sequence labelling with lam chosen by cross-validation, with a certified gap at every lam in every fold."""

import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from fwexp.conversion import as_floats
from fwexp.driver.clock import interrupted_by, on_interrupt
from fwexp.errors import ParameterError, shown
from fwexp.estimators import transition_inputs
from fwexp.estimators.certified_fit import as_seed, certified_fit, positions_per_example, solve, warn_of_convergence
from fwexp.estimators.chain_encoding import ChainEncoding, check_whole, classes_in
from fwexp.estimators.chain_model import ChainModel
from fwexp.estimators.chains_in_numpy import check_found
from fwexp.estimators.decoding import Chains, decode, padded_weights
from fwexp.estimators.encoding import are_names
from fwexp.estimators.json_values import names_of
from fwexp.estimators.labels import at_positions, labels_of, numbers_of, some, weighted
from fwexp.options import check_integer, check_positive_scale, is_integer
from fwexp.problems.features import as_features
from fwexp.tasks.path import largest_lam
from fwexp.types import ArrayLike, FloatArray, Loss

ROUNDING = 1e-12  # of mean scores, relative to the largest score
START_GAP = 0.02  # of the weights 0 at the largest lam


class SearchEncoding(ChainEncoding):
    """An encoding with the results of a search for lam."""

    schema: ClassVar = ChainEncoding.schema | {"columns": are_names, "values": lambda value: isinstance(value, list)}

    def note(self, lams: np.ndarray, scores: np.ndarray, gaps: np.ndarray) -> None:
        """Set the scores and gaps of every lam, from a row per fold, and choose one."""
        mean, ranks = scores.mean(axis=0), _ranks(scores)
        with np.errstate(invalid="ignore"):
            deviations = scores.std(axis=0)  # NaN with infinite scores
        splits = {f"split{k}_test_score": of_fold for k, of_fold in enumerate(scores)}
        summary = {"mean_test_score": mean, "std_test_score": deviations, "rank_test_score": ranks}
        self.cv_results_ = {"param_lam": lams} | splits | summary | {"gap": gaps.max(axis=0)}
        best = ranks.argmin()  # the largest lam among equals
        if np.isnan(mean[best]):
            raise ParameterError(f"scoring must return a number in all folds at some lam, got NaN at each of {len(lams)}")
        self.lam_, self.best_score_ = float(lams[best]), float(mean[best])

    def learned(self):
        found = {name: values.tolist() for name, values in self.cv_results_.items()}
        return super().learned() | {"columns": list(found), "values": list(found.values())}

    def restore(self, w, columns, values, **learned):
        super().restore(w, **learned)
        self.cv_results_ = {name: np.array(numbers) for name, numbers in zip(columns, values, strict=True)}
        lams, best = self.cv_results_["param_lam"], self.cv_results_["rank_test_score"].argmin()
        if {found.shape for found in self.cv_results_.values()} != {lams.shape}:
            raise ValueError("the columns of cv_results_ have several lengths")
        self.lam_, self.best_score_ = float(lams[best]), float(self.cv_results_["mean_test_score"][best])


@dataclass(eq=False, repr=False)
class ChainSVMCV(ChainModel):
    """Label sequences with a linear SVM on chains, with lam chosen by cross-validation.

    Every fold trains a `ChainSVM` at each lam, with at most ``max_passes`` each.

    Parameters
    ----------
    lams : int or array, default 12
        Values of lam to compare, or their number: they are then spaced from the largest lam at which weights start to matter down
        to ``lam_min``.
    lam_min : float, default 1e-05
        Smallest value of lam. Ignored if ``lams`` lists values.
    cv : int, splitter or iterable
        Folds, as in scikit-learn; None means 5 folds. A number of folds divides the sequences whose weight is not 0. Indices of
        splitters and lists count all sequences.
    scoring : str or callable, optional
        Score that chooses lam, larger is better; by default the share of correct labels. A name of scikit-learn, such as
        ``"f1_macro"``, is the score of all labels of a fold in one list. A function ``scoring(tagger, X, y)`` receives those
        sequences of a fold that are neither empty nor of weight 0, as `fit` takes them. Their positions without a label have
        ``ignore_label``.
    n_jobs : int, optional
        Number of folds that run at once, in threads, counted as in joblib; by default 1.
    features, transition_features, min_count, loss, costs, class_weight, constraints, ignore_label, skip_ignored, fixed_weights
        The same as for `ChainSVM`.
    solver, iterate, tol, max_passes, nonnegative, random_state, verbose
        The same as for `ChainSVM`.

    Attributes
    ----------
    lam_ : float
        The chosen lam, with the highest mean score; the largest one among equals.
    cv_results_ : dict of ndarrays
        ``param_lam``, ``split0_test_score``, ..., ``mean_test_score``, ``std_test_score`` and ``rank_test_score``, and
        ``gap``: the largest certified gap of a fold, which is above ``tol`` if ``max_passes`` did not suffice.
    best_score_ : float
        The highest mean score.
    classes_, n_features_in_, feature_names_in_, class_weight_, coef_, start_, end_, transitions_
        The same as of `ChainSVM`.
    state_features_, transition_features_, feature_transitions_, dual_gap_, status_, n_passes_, trace_, result_
        The same as of `ChainSVM`.

    See Also
    --------
    ChainSVM : The estimator for a given ``lam``.

    Notes
    -----
    X and y are as for `ChainSVM`. All other attributes belong to the final training on all sequences at ``lam_``.

    Examples
    --------
    >>> from fwexp.estimators import ChainSVMCV
    >>> X = [["the", "dog", "barks"], ["a", "dog"]]
    >>> X += [["the", "cat"], ["a", "cat", "barks"]]
    >>> det, noun, verb = "DET", "NOUN", "VERB"
    >>> y = [[det, noun, verb], [det, noun], [det, noun], [det, noun, verb]]
    >>> tagger = ChainSVMCV(lams=[1.0, 0.1, 0.01], cv=2).fit(X, y)
    >>> tagger.predict([["the", "dog"]])
    [['DET', 'NOUN']]
    >>> tagger.cv_results_["param_lam"].tolist()
    [1.0, 0.1, 0.01]
    """

    _: KW_ONLY
    loss: Loss = "errors"
    lams: Any = 12
    lam_min: float = 1e-5
    cv: Any = None
    scoring: Any = None

    _Encoding = SearchEncoding

    if TYPE_CHECKING:  # `fit` sets these, which are no fields

        @property
        def lam_(self) -> float:
            """The chosen lam, with the highest mean score."""

        @property
        def best_score_(self) -> float:
            """The highest mean score."""

        @property
        def cv_results_(self) -> dict[str, FloatArray]:
            """Scores and gaps of every lam, by the names of their columns."""

    @on_interrupt("raise")
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Choose lam by cross-validation, then train on all sequences with it.

        Parameters
        ----------
        X, y, sample_weight
            The same as for `ChainSVM`. Weights count in training and in scores, except those of a function.

        Returns
        -------
        self
            The fitted estimator.
        """
        encoding = self._Encoding(self)
        X, y, weights, full = encoding.examples(X, y, sample_weight)
        check_whole(y, "ChainSVMCV")
        scorer, classes = self._scorer(weights), classes_in(X, y)  # Parameters may name labels that a fold lacks.
        lowest, place = self._lowest(), np.cumsum(full) - 1
        # Indices of the user count all sequences; a number of folds divides those whose weight is not 0.
        splitter, places = check_cv(self.cv), np.arange(len(full))
        if (self.cv is None or is_integer(self.cv)) and isinstance(weights, np.ndarray):
            places = np.flatnonzero(sample_weight)
        given = [places[np.asarray(part)] for split in splitter.split(places) for part in split]
        parts = [place[part][full[part]] for part in given]
        if not all(map(len, parts)):
            left_out = "; sequences of weight 0 are left out" if isinstance(weights, np.ndarray) else ""
            got = f"got a part without one{left_out}"
            raise ParameterError(f"cv must leave a sequence with a position in every part of a split, {got}")
        folds = [(X.at(part), some(y, part), some(weights, part)) for part in parts]
        workers = Parallel(n_jobs=self.n_jobs, prefer="threads")  # kernels hold no lock
        learned = workers(delayed(self._learn_fold)(*train, classes) for train in folds[::2])
        lams = self._values(lowest, [problem for _, problem in learned])
        over = threading.Event()
        try:
            found = workers(delayed(_scores)(over, *fold, *test, lams, scorer) for fold, test in zip(learned, folds[1::2]))
        finally:
            over.set()  # threads, which do not hear of Ctrl-C, go no further
        encoding.note(lams, *map(np.array, zip(*found)))
        far = encoding.cv_results_["gap"] > self.tol
        if far.any():
            message = f"training in the folds stopped after max_passes={self.max_passes:g} with gaps > tol={self.tol:g} at "
            message += f'{far.sum()} of {len(lams)} values of lam, up to lam={lams[far].max():.2g}; see cv_results_["gap"]'
            warn_of_convergence(message)
        problem, weights = encoding.learn_from(X, y, weights)
        return self._fitted(encoding, certified_fit(self, encoding, problem, weights, lam=encoding.lam_))

    def _scorer(self, weights) -> Callable | None:
        """Return the scorer of scikit-learn if ``scoring`` is its name."""
        if self.scoring is None or callable(self.scoring):
            return None
        try:
            scorer = get_scorer(self.scoring)
        except (ValueError, TypeError) as error:
            accepted = "None, a function of a tagger, X and y, or a name of scikit-learn's scorers"
            raise ParameterError(f"scoring must be {accepted}, got {shown(self.scoring)}") from error
        if weights is not None and "sample_weight" not in signature(scorer._score_func).parameters:
            raise ParameterError(f"scoring must be a score with weights if sample_weight is given, got {shown(self.scoring)}")
        return scorer

    def _lowest(self) -> float:
        """Return the least of the values of lam."""
        if is_integer(self.lams):
            check_integer("lams", self.lams, 1)
            return check_positive_scale("lam_min", self.lam_min)
        values = as_floats("lams", self.lams, "be a number of values, or hold values of lam")
        if values.ndim != 1 or len(values) == 0:
            raise ParameterError(f"lams must be a number of values, or hold values of lam, got shape {values.shape}")
        return check_positive_scale("lams", float(values.min()))

    def _values(self, lowest: float, problems: list) -> np.ndarray:
        """Return the values of lam, the largest first."""
        if not is_integer(self.lams):
            return np.sort(np.asarray(self.lams, dtype=np.float64))[::-1]
        scales = [(problem, positions_per_example(problem)) for problem in problems]
        seed = as_seed(self.random_state)
        start = max(largest_lam(problem, START_GAP * per, seed, lowest * per) / per for problem, per in scales)
        return np.geomspace(lowest, max(lowest, start), self.lams)[::-1]

    def _learn_fold(self, X, y, weights, classes):
        """Return a tagger that has learned the names of features of a fold, and the problem there."""
        own = {"random_state": deepcopy(self.random_state)}  # Others are shared: cv and scoring may allow no copies.
        if self.n_jobs is not None:
            own["n_jobs"] = 1  # The threads of the folds are all that there are.
        tagger = type(self)(**self.get_params(deep=False) | own)
        tagger.encoding_ = self._Encoding(tagger)
        return tagger, weighted(*tagger.encoding_.learn_from(X, y, weights, classes))


def _ranks(scores: np.ndarray) -> np.ndarray:
    """Return the ranks of the mean scores of a row per fold: means that differ by rounding are equal, and NaN is the last."""
    mean = scores.mean(axis=0)
    room = ROUNDING * np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    return np.where(np.isnan(mean), 1 + np.count_nonzero(~np.isnan(mean)), 1 + (mean > mean[:, None] + room).sum(axis=1))


def _scores(over: threading.Event, tagger, problem, X, y, weights, lams: np.ndarray, scorer) -> tuple[list[float], list[float]]:
    """Return the scores in the rest of a fold at every lam, and the certified gaps there; stop when it is over."""
    score = _score_of_function(tagger, X, y) if callable(tagger.scoring) else _score_of_labels(tagger, X, y, weights, scorer)
    scores, gaps = [], []
    with interrupted_by(over.is_set):
        for lam in lams.tolist():
            result = solve(tagger, problem, lam)
            scores.append(float(score(result)))
            gaps.append(result.gap)
            if over.is_set():
                break
    return scores, gaps


def _score_of_function(tagger, X, y) -> Callable:
    """Return the score of a tagger in a part of the data, by the user's function, as a function of a result."""
    y = [[tagger.ignore_label if label is None else label for label in labels] for labels in y]

    def score(result):
        tagger._fitted(tagger.encoding_, result)
        return tagger.scoring(tagger, X.given, y)

    return score


def _score_of_labels(tagger, X, y, weights, scorer) -> Callable:
    """Return the score of the labels in a part of the data, by a scorer or the share of correct ones, as a function of a result."""
    encoding = tagger.encoding_
    rows, ptr = encoding.vectorizer_.transform(X)
    z, K = transition_inputs.encode(encoding.edge_vectorizer_, X.edges, ptr), len(encoding.classes_)
    chains, labels = Chains(as_features(rows, copy=False), z, ptr, np.zeros(0), K), labels_of(y, ptr, tagger.ignore_label)
    known = np.array([label is not None for label in labels], dtype=np.bool_)
    counts = known * (1.0 if weights is None else at_positions(weights, np.diff(ptr)))
    if tagger.skip_ignored:
        chains, labels, counts = chains.at(known), [*compress(labels, known)], counts[known]
    truth, forbidden = numbers_of(labels, encoding.classes_), encoding.forbidden
    counted = counts > 0.0
    if not counted.any():
        raise ParameterError("cv must leave a label of weight > 0 in every test part, got a part without one")
    true, of_true = list(compress(labels, counted.tolist())), None if weights is None else counts[counted]

    def score(result):
        found = decode(chains._replace(weights=padded_weights(encoding.complete(result.w).reshape(-1, K), forbidden)))
        if scorer is None:
            return np.average(found == truth, weights=counts)
        check_found(chains.ptr, found < 0)
        return scorer(_Labels(encoding.classes_), found[counted], true, sample_weight=of_true)

    return score


class _Labels(ClassifierMixin, BaseEstimator):
    """A classifier for scikit-learn's scorers, whose inputs are the numbers of the labels that it returns."""

    def __init__(self, classes: np.ndarray) -> None:
        self.classes = self.classes_ = classes

    def predict(self, X) -> list:
        """Return the labels with the given numbers."""
        names = names_of(self.classes_)
        return [names[k] for k in X.tolist()]
