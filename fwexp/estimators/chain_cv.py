"""Sequence labelling with lam chosen by cross-validation, with a certified gap at every lam in every fold."""

import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from inspect import signature
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed

from fwexp.conversion import as_floats
from fwexp.driver.clock import interrupted_by, on_interrupt
from fwexp.errors import ParameterError, shown
from fwexp.estimators import transition_inputs
from fwexp.estimators.certified_fit import (
    UNFINISHED,
    as_seed,
    certified_fit,
    positions_per_example,
    solve,
    wanted_gap,
    warn_of_convergence,
)
from fwexp.estimators.chain_encoding import ChainEncoding, check_whole, classes_in
from fwexp.estimators.chain_model import ChainModel
from fwexp.estimators.chains_in_numpy import check_found
from fwexp.estimators.decoding import Chains, decode, padded_weights
from fwexp.estimators.encoding import are_names
from fwexp.estimators.estimator import Development
from fwexp.estimators.json_values import names_of
from fwexp.estimators.label_sets import fit_of_sets
from fwexp.estimators.labels import allowed_labels, at_positions, has_sets, labels_of, some, weighted
from fwexp.estimators.sequence_inputs import Inputs
from fwexp.options import check_integer, check_positive_scale, is_integer
from fwexp.problems.features import as_features
from fwexp.problems.loss_terms import make_objective
from fwexp.tasks.path import largest_lam
from fwexp.tasks.result import Result
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

    def restore(self, d, columns, values, **learned):
        super().restore(d, **learned)
        self.cv_results_ = {name: np.array(numbers) for name, numbers in zip(columns, values, strict=True)}
        lams, best = self.cv_results_["param_lam"], self.cv_results_["rank_test_score"].argmin()
        if {found.shape for found in self.cv_results_.values()} != {lams.shape}:
            raise ValueError("the columns of cv_results_ have several lengths")
        self.lam_, self.best_score_ = float(lams[best]), float(self.cv_results_["mean_test_score"][best])


@dataclass(eq=False, repr=False, kw_only=True)
class ChainSearch(ChainModel):
    """Base of the taggers that choose lam by cross-validation."""

    lams: Any = 12
    lam_min: float = 1e-5
    cv: Any = None
    scoring: Any = None

    _Encoding = SearchEncoding

    if TYPE_CHECKING:  # `fit` sets these, which are no parameters
        lam_: float = field(init=False)
        best_score_: float = field(init=False)
        cv_results_: dict[str, FloatArray] = field(init=False)

    @on_interrupt("raise")
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None, dev: Development = None) -> Self:
        """Choose lam by cross-validation, then train on all sequences with it.

        Parameters
        ----------
        X, y, sample_weight
            The same as for `ChainSVM`. Weights count in training and in scores, except those of a function. A position with a set
            of labels is right if the predicted label is in the set.
        groups : sequence of n labels, optional
            Group of each sequence, such as its document or author, for the splitter. A number of folds then divides the groups, as
            ``GroupKFold`` of scikit-learn does.
        dev : tuple (X_dev, y_dev), optional
            Development set. Its error is in the column ``validation_error`` of ``trace_``, for the final training.

        Returns
        -------
        self
            The fitted estimator.
        """
        encoding = self._Encoding(self)
        X, y, weights, full = encoding.examples(X, y, sample_weight)
        if isinstance(self.scoring, str):
            check_whole(y, f"scoring={self.scoring!r}")
        scorer, classes = self._scorer(weights), classes_in(X, y)  # Parameters may name labels that a fold lacks.
        lowest, place = self._lowest(), np.cumsum(full) - 1
        # Indices of the user count all sequences; a number of folds divides those whose weight is not 0.
        splitter, places = check_cv(self.cv), np.arange(len(full))
        if groups is not None:
            groups = np.asarray(groups)
            if groups.shape != full.shape:
                raise ParameterError(f"groups must have shape {full.shape}, one per sequence, got {groups.shape}")
        if self.cv is None or is_integer(self.cv):
            places = np.flatnonzero(sample_weight) if isinstance(weights, np.ndarray) else places
            splitter = splitter if groups is None else GroupKFold(splitter.get_n_splits())
        splits = splitter.split(places, groups=some(groups, places))
        given = [places[np.asarray(part)] for split in splits for part in split]
        parts = [place[part][full[part]] for part in given]
        if not all(map(len, parts)):
            left_out = "; sequences of weight 0 are left out" if isinstance(weights, np.ndarray) else ""
            got = f"got a part without one{left_out}"
            raise ParameterError(f"cv must leave a sequence with a position in every part of a split, {got}")
        folds = [(X.at(part), some(y, part), some(weights, part)) for part in parts]
        workers = Parallel(n_jobs=self.n_jobs, prefer="threads")  # kernels hold no lock
        learned = workers(delayed(self._learn_fold)(*train, classes) for train in folds[::2])
        lams = self._values(lowest, [fold.whole for fold in learned])
        over = threading.Event()
        try:
            found = workers(delayed(_scores)(over, fold, *test, lams, scorer) for fold, test in zip(learned, folds[1::2]))
        finally:
            over.set()  # threads, which do not hear of Ctrl-C, go no further
        scores, gaps, ended = map(np.array, zip(*found))
        encoding.note(lams, scores, gaps)
        far = ~ended.all(axis=0)
        if far.any():
            message = f"training in the folds stopped after max_passes={self.max_passes:g} with gaps > tol={self.tol:g} at "
            message += f'{far.sum()} of {len(lams)} values of lam, up to lam={lams[far].max():.2g}; see cv_results_["gap"]'
            warn_of_convergence(message)
        problem, weights = encoding.learn_from(X, y, weights)
        train = partial(fit_of_sets, X=X, y=y) if has_sets(y) else certified_fit
        more = encoding.development(dev)
        return self._fitted(encoding, train(self, encoding, problem, weights, lam=encoding.lam_, **more))

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
        term = make_objective(self._objective, 1.0)
        start = max(largest_lam(problem, START_GAP * per, seed, lowest * per, term) / per for problem, per in scales)
        return np.geomspace(lowest, max(lowest, start), self.lams)[::-1]

    def _learn_fold(self, X, y, weights, classes) -> "_Fold":
        """Return a fold, of which a tagger has learned the names of features."""
        # Other parameters are shared: cv and scoring may allow no copies.
        own = {"random_state": deepcopy(self.random_state), "callback": None}
        if self.n_jobs is not None:
            own["n_jobs"] = 1  # The threads of the folds are all that there are.
        tagger = type(self)(**self.get_params(deep=False) | own)
        tagger.encoding_ = self._Encoding(tagger)
        return _Fold(tagger, *tagger.encoding_.learn_from(X, y, weights, classes), X, y)


@dataclass(eq=False, repr=False)
class ChainSVMCV(ChainSearch):
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
        Folds, as in scikit-learn; None means 5 folds. A number of folds divides the sequences whose weight is not 0, or their
        ``groups`` if `fit` receives these. Indices of splitters and lists count all sequences.
    scoring : str or callable, optional
        Score that chooses lam, larger is better; by default the share of correct labels. A name of scikit-learn, such as
        ``"f1_macro"``, is the score of all labels of a fold in one list. A function ``scoring(tagger, X, y)`` receives those
        sequences of a fold that are neither empty nor of weight 0, as `fit` takes them. Their positions without a label have
        ``ignore_label``.
    time_limit : float, optional
        Bound on solver seconds of each training, in the folds and at the end.
    callback : callable, optional
        The same as for `ChainSVM`, for the final training.
    n_jobs : int, optional
        Number of folds that run at once, in threads, counted as in joblib; by default 1.
    features, transition_features, min_count, loss, costs, class_weight, constraints, ignore_label, skip_ignored, fixed_weights
        The same as for `ChainSVM`.
    possible_states, solver, iterate, tol, max_passes, nonnegative, random_state, verbose
        The same as for `ChainSVM`.

    Attributes
    ----------
    lam_ : float
        The chosen lam, with the highest mean score; the largest one among equals.
    cv_results_ : dict of ndarrays
        ``param_lam``, ``split0_test_score``, ..., ``mean_test_score``, ``std_test_score`` and ``rank_test_score``, and
        ``gap``: the largest certified gap of a fold, which is above ``tol`` if ``max_passes`` did not suffice, and NaN if labels
        are sets.
    best_score_ : float
        The highest mean score.
    classes_, n_features_in_, feature_names_in_, class_weight_, coef_, start_, end_, transitions_
        The same as of `ChainSVM`.
    state_features_, transition_features_, feature_transitions_, dual_gap_, status_, n_passes_, trace_, result_
        The same as of `ChainSVM`.

    See Also
    --------
    ChainSVM : The estimator for a given ``lam``.
    ChainCRFCV : Labels with probabilities.

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


def _ranks(scores: np.ndarray) -> np.ndarray:
    """Return the ranks of the mean scores of a row per fold: means that differ by rounding are equal, and NaN is the last."""
    mean = scores.mean(axis=0)
    room = ROUNDING * np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    return np.where(np.isnan(mean), 1 + np.count_nonzero(~np.isnan(mean)), 1 + (mean > mean[:, None] + room).sum(axis=1))


class _Fold(NamedTuple):
    """The sequences of a fold to train on, their problem, and a tagger that has learned the names of its features."""

    tagger: ChainSearch
    problem: Any
    weights: Any  # of its examples
    X: Inputs
    y: list

    @property
    def whole(self) -> Any:
        """The problem with the weights of its examples."""
        return weighted(self.problem, self.weights)

    def trained(self, lam: float) -> Result:
        """Return the result of training at a lam."""
        if not has_sets(self.y):
            return solve(self.tagger, self.whole, lam)
        tagger = self.tagger
        return fit_of_sets(tagger, tagger.encoding_, self.problem, self.weights, self.X, self.y, lam=lam, warns=False)


def _scores(over: threading.Event, fold: _Fold, X, y, weights, lams: np.ndarray, scorer) -> tuple[list, list, list]:
    """Return the scores in the rest of a fold, the certified gaps, and whether these are small enough; stop when it is over."""
    tagger, found = fold.tagger, []
    score = _score_of_function(tagger, X, y) if callable(tagger.scoring) else _score_of_labels(tagger, X, y, weights, scorer)
    with interrupted_by(over.is_set):
        for lam in lams.tolist():
            result = fold.trained(lam)
            is_far = result.status in UNFINISHED and not result.gap <= wanted_gap(tagger, result)
            found.append((float(score(result)), result.gap, not is_far))
            if over.is_set():
                break
    scores, gaps, ended = map(list, zip(*found))
    return scores, gaps, ended


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
    truth, forbidden = allowed_labels([set() if one is None else one for one in labels], encoding.classes_), encoding.forbidden
    counted = counts > 0.0
    if not counted.any():
        raise ParameterError("cv must leave a label of weight > 0 in every test part, got a part without one")
    true, of_true = list(compress(labels, counted.tolist())), None if weights is None else counts[counted]

    def score(result):
        found = decode(chains._replace(weights=padded_weights(encoding.complete(result.w).reshape(-1, K), forbidden)))
        if scorer is None:
            return np.average(truth[np.arange(len(found)), found] & (found >= 0), weights=counts)
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
