"""Training of taggers on labelled sequences, which may stop early by validation."""

import math
from typing import Any, Self

import numpy as np

from fwexp.errors import ParameterError
from fwexp.estimators.certified_fit import as_seed, certified_fit, chosen_iterate
from fwexp.estimators.chain_encoding import classes_in
from fwexp.estimators.chain_model import ChainModel
from fwexp.estimators.example_weights import some, weighted
from fwexp.options import check_flag, check_number
from fwexp.types import ArrayLike

ROUNDING = 1e-12  # of sums of weights, relative
PATIENCE = 5  # passes without fewer errors of validation, after which training stops early


class ChainTagger(ChainModel):
    """Base of the taggers that are trained at one lam."""

    early_stopping: bool
    validation_fraction: float

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of n sequences
            In a form that the notes of the class name.
        y : list of n lists of labels
            One per position.
        sample_weight : array (n,) or list of arrays (T,), optional
            How much every sequence counts: 2 is the sequence twice, 0 its absence; or by how much more an error at every position
            costs.

        Returns
        -------
        self
            The fitted estimator.
        """
        encoding, more = self._Encoding(self), {}
        X, y, sample_weight, _ = encoding.examples(X, y, sample_weight)
        if check_flag("early_stopping", self.early_stopping):
            left_out = self._validation(len(X))
            kept = np.setdiff1d(np.arange(len(X)), left_out)
            parts = [(X.at(part), some(y, part), some(sample_weight, part)) for part in (kept, left_out)]
            classes = classes_in(X, y)
            if classes is not None and all(label is None for labels in parts[1][1] for label in labels):
                advice = "raise validation_fraction or change random_state"
                raise ParameterError(f"early_stopping must set aside a sequence with a label, got none; {advice}")
            problem, weights = encoding.learn_from(*parts[0], classes)
            iterate = chosen_iterate(self, problem)
            logged = {"iterates": ["last" if iterate == "best" else iterate]}
            more = {"test": weighted(*encoding.problem_from(*parts[1])), "callback": Patience(), **logged}
        else:
            problem, weights = encoding.learn_from(X, y, sample_weight)
        return self._fitted(encoding, certified_fit(self, encoding, problem, weights, **more))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Train on further labelled sequences, close to the weights that earlier calls have learned.

        A call minimises the objective of `fit` on its own sequences, with lam/2 ||w - w_0||^2 instead of lam/2 ||w||^2. Here w_0
        are the weights before the call, 0 for new features. ``dual_gap_`` and ``result_`` are about this objective. Larger values
        of ``lam`` keep more of what the earlier calls have learned. The first call is the same as `fit`.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. New features are added to those that are known.
        classes : sequence, optional
            All labels that any call will have. Needed at the first call, unless `fit` came before.

        Returns
        -------
        self
            The fitted estimator.
        """
        if check_flag("early_stopping", self.early_stopping):
            raise ParameterError("early_stopping must be False for partial_fit, got True")
        return self._fit_further(X, y, classes, sample_weight)

    def _validation(self, n: int) -> np.ndarray:
        """Return the sequences that are set aside."""
        part = check_number("validation_fraction", self.validation_fraction, "a number > 0 and < 1", above=0.0, below=1.0)
        size = max(1, round(part * n))
        if size >= n:
            raise ParameterError(f"early_stopping needs at least one sequence in addition to the {size} set aside, got n = {n}")
        return np.sort(np.random.default_rng(as_seed(self.random_state)).permutation(n)[:size])


class Patience:
    """Ends a run, as its callback, once validation has not had fewer errors for some passes."""

    def __init__(self) -> None:
        self.fewest, self.passes = math.inf, 0.0

    def __call__(self, row) -> bool:
        if row["test_error"] < self.fewest * (1.0 - ROUNDING):
            self.fewest, self.passes = row["test_error"], row["passes"]
        return row["passes"] >= self.passes + PATIENCE
