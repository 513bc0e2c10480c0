"""Taggers that are trained at one lam, on whole labels or on sets of them; training may stop early by validation."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fwexp.errors import ParameterError
from fwexp.estimators import model_json
from fwexp.estimators.chain_encoding import END, FROM, START, ChainEncoding, classes_in
from fwexp.estimators.chain_model import ChainModel
from fwexp.estimators.estimator import Development, FitsFurther
from fwexp.estimators.labels import classes_of, has_sets, some, weighted
from fwexp.memory import release_free_memory
from fwexp.options import check_flag, check_number, plain
from fwexp.tasks.result import Result
from fwexp.types import ArrayLike, Callback, IntArray

ROUNDING = 1e-12  # of sums of weights, relative
PATIENCE = 5  # passes without fewer errors of validation, after which training stops early


@dataclass(eq=False, repr=False, kw_only=True)
class ChainTagger(FitsFurther, ChainModel):
    """Base of the taggers that are trained at one lam."""

    C: float | None = None
    warm_start: bool = False
    early_stopping: bool = False
    validation_fraction: float = 0.1

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, dev: Development = None) -> Self:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of n sequences
            In a form that the notes of the class name.
        y : list of n lists of labels
            One per position. It may be a set of labels, one of which is right; then None is any label. The objective is not convex
            if there are sets: training minimises one convex bound after the other, and ``dual_gap_`` is NaN. See
            ``result_.reason``.
        sample_weight : array (n,) or list of arrays (T,), optional
            How much every sequence counts: 2 is the sequence twice, 0 its absence; or by how much more an error at every position
            costs.
        dev : tuple (X_dev, y_dev), optional
            Development set, whose y_dev may hold sets. Its error is in the column ``validation_error`` of ``trace_``. With
            ``early_stopping`` it decides when training stops, and all sequences of X are trained on.

        Returns
        -------
        self
            The fitted estimator.
        """
        from fwexp.estimators.certified_fit import chosen_iterate  # Predictions need no solver.

        encoding, held_out = self._Encoding(self), None
        X, y, sample_weight, _ = encoding.examples(X, y, sample_weight)
        stops_early, classes = check_flag("early_stopping", self.early_stopping), None
        if stops_early and self.fixed_weights:
            raise ParameterError("early_stopping must be False with fixed_weights, got True")
        if stops_early and dev is None:
            left_out = self._validation(len(X))
            kept = np.setdiff1d(np.arange(len(X)), left_out)
            encoding.held_out_ = np.array([X.places[i] for i in left_out], dtype=np.int64)
            held_out, classes = (X.at(left_out), some(y, left_out), some(sample_weight, left_out)), classes_in(X, y)
            if classes is not None and all(label is None for labels in held_out[1] for label in labels):
                advice = "raise validation_fraction or change random_state"
                raise ParameterError(f"early_stopping must set aside a sequence with a label, got none; {advice}")
            X, y, sample_weight = X.at(kept), some(y, kept), some(sample_weight, kept)
        problem, weights = encoding.learn_from(X, y, sample_weight, classes)
        more = encoding.development(dev)
        if held_out is not None:
            more, held_out = {"validation": weighted(*encoding.problem_from(*held_out))}, None
        if stops_early:
            iterate = chosen_iterate(self, problem)
            more |= {"callback": Patience(self.callback), "iterates": ["last" if iterate == "best" else iterate]}
        X = X if has_sets(y) else None  # Only training on sets reads features again, which take more memory than the problem.
        return self._fitted(encoding, self._result(encoding, problem, weights, X, y, **more))

    def _trained_further(self, encoding, X, y, sample_weight, classes, former):
        encoding.has_all_states = True  # Later calls may have other pairs of features and labels.
        X, y, sample_weight, _ = encoding.examples(X, y, sample_weight)
        problem, weights = encoding.learn_from(X, y, sample_weight, classes, former)
        return self._result(encoding, problem, weights, X, y, origin=self._origin(encoding, former))

    def _result(self, encoding: ChainEncoding, problem, weights, X, y, **more) -> Result:
        from fwexp.estimators.certified_fit import certified_fit

        release_free_memory()  # Names of features as Python's objects took more of it than the problem.
        if not has_sets(y):
            return certified_fit(self, encoding, problem, weights, **more)
        from fwexp.estimators.label_sets import fit_of_sets  # which imports pandas, and that takes as much memory as numba

        if self.fixed_weights:
            raise ParameterError("fixed_weights must be None if y holds sets of labels, got weights")
        return fit_of_sets(self, encoding, problem, weights, X, y, **more)

    @classmethod
    def from_weights(
        cls,
        state_features: Mapping[tuple[str, Hashable], float],
        transitions: Mapping[tuple[Hashable, Hashable], float] | None = None,
        *,
        start: Mapping[Hashable, float] | None = None,
        end: Mapping[Hashable, float] | None = None,
        classes: Sequence[Hashable] | None = None,
        **params: Any,
    ) -> Self:
        """Return a tagger with given weights, such as those of another tool; all others are 0, and nothing is certified.

        Parameters
        ----------
        state_features : mapping
            Weights of pairs (feature, label), as ``state_features_``.
        transitions : mapping, optional
            Scores of pairs of labels (from, to), as ``transition_features_``.
        start, end : mapping, optional
            Scores of the first and of the last label.
        classes : sequence, optional
            The labels, by default those with a weight, sorted.
        **params
            Parameters of the estimator.

        Returns
        -------
        tagger
            A fitted estimator, which `partial_fit` trains further.

        See Also
        --------
        fwexp.data.read_crfsuite : Read the weights of a model of CRFsuite.

        Examples
        --------
        >>> from fwexp.estimators import ChainCRF
        >>> weights = {("the", "D"): 2.0, ("dog", "N"): 1.0}
        >>> ChainCRF.from_weights(weights, {("D", "N"): 0.5}).predict([["the", "dog"]])
        [['D', 'N']]
        """
        weights = [(feature, label, weight) for (feature, label), weight in state_features.items()]
        names = dict.fromkeys(feature for feature, _, _ in weights)
        weights += [((FROM, one), other, weight) for (one, other), weight in (transitions or {}).items()]
        for row, of_end in ((START, start), (END, end)):
            weights += [((row,), label, weight) for label, weight in (of_end or {}).items()]
        if not all(isinstance(name, str) for name in names):
            raise ParameterError("state_features must be weights of pairs (feature, label) whose features are strings")
        labels = [label for _, label, _ in weights] + [one for one, _ in transitions or ()]
        encoding = cls._Encoding(cls(**params))
        encoding.restore(None, classes_of(labels if classes is None else list(classes)), [*names], len(names))
        w = np.zeros(encoding.structure()["d"])
        model_json.fill(w, encoding.names(), weights)
        self = cls(**params)
        return self._fitted(encoding, model_json.untrained(w, self._objective, self.lam, encoding.structure()))

    def _validation(self, n: int) -> IntArray:
        """Return the sequences that are set aside."""
        from fwexp.estimators.certified_fit import as_seed

        part = check_number("validation_fraction", self.validation_fraction, "a number > 0 and < 1", above=0.0, below=1.0)
        size = max(1, round(part * n))
        if size >= n:
            raise ParameterError(f"early_stopping needs at least one sequence in addition to the {size} set aside, got n = {n}")
        return np.sort(np.random.default_rng(as_seed(self.random_state)).permutation(n)[:size])


class Patience:
    """Ends a run, as its callback, once validation has not had fewer errors for some passes, or if the user's callback does."""

    def __init__(self, then: Callback | None) -> None:
        self.fewest, self.passes, self.then = math.inf, 0.0, then

    def __call__(self, row) -> bool:
        if row["validation_error"] < self.fewest * (1.0 - ROUNDING):
            self.fewest, self.passes = row["validation_error"], row["passes"]
        told = self.then is not None and plain(self.then(row)) is True
        return told or row["passes"] >= self.passes + PATIENCE
