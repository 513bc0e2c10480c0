"""A classifier of single examples once it is trained, and its labels and weights of examples."""

from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from fwexp.errors import ParameterError, shown
from fwexp.estimators.base_classes import ClassifierMixin
from fwexp.estimators.carried_weights import Names, feature_rows
from fwexp.estimators.examples import ExampleModel
from fwexp.estimators.labels import check_among, example_labels, names_of, numbers_of, weights_of
from fwexp.problems.multiclass import multiclass_problem
from fwexp.types import ArrayLike, Weights

CONSTANT = "constant"  # in names of weights, in a tuple, which features by name are not


class MulticlassModel(ClassifierMixin, ExampleModel):
    """Base of the estimators that classify."""

    class_weight: Any
    nonnegative: Weights | None

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the classes.

        Parameters
        ----------
        X : sequence of inputs
            As for `fit`.

        Returns
        -------
        ndarray (n, K)
            Of two classes (n,): the score of the second above the first.
        """
        scores = self._rows(X) @ self.coef_.T + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of highest score of every example.

        Parameters
        ----------
        X : sequence of inputs
            As for `fit`.

        Returns
        -------
        ndarray (n,)
            A class per input.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @property
    def _rows_of_weights(self) -> np.ndarray:
        weights = super()._rows_of_weights
        return weights[1:] - weights[:1] if len(weights) == 2 else weights

    def _names(self):
        names = getattr(self, "feature_names_in_", None)
        rows = feature_rows(names, self.n_features_in_)
        return Names([*rows, (CONSTANT,)] if self._has_constant else rows, names_of(self.classes_))

    def _learn(self, X, y, sample_weight):
        weights, X, y = self._learn_rows(X, example_labels(y), sample_weight)
        if y.dtype.kind not in "OmM":
            check_classification_targets(y)
        try:
            self.classes_, numbers = np.unique(y, return_inverse=True)
        except TypeError:
            kinds = " and ".join(sorted({type(label).__name__ for label in y}))
            raise ParameterError(f"labels in y must be all numbers or all texts, got {kinds}") from None
        if len(self.classes_) < 2:
            raise ParameterError(f"y must hold at least two classes, got one class: {shown(self.classes_.item(0))}")
        return self._from_rows(X, numbers), self._of_classes(numbers, weights)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Train on further labelled examples, close to the weights that earlier calls have learned.

        A call minimises the objective of `fit` on its own examples, with lam/2 ||w - w_0||^2 instead of lam/2 ||w||^2. Here w_0
        are the weights before the call, 0 for new features. ``dual_gap_`` and ``result_`` are about this objective. Larger values
        of ``lam`` keep more of what the earlier calls have learned. The first call is the same as `fit`.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. New features by name are added to those that are known.
        classes : sequence, optional
            All classes that any call will have. Needed at the first call, unless `fit` came before.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit_further(X, y, classes, sample_weight)

    def _learn_further(self, X, y, classes, sample_weight):
        weights, rows, labels = self._further_rows(X, example_labels(y), sample_weight)
        check_among(names_of(labels), classes)
        if len(classes) < 2:
            raise ParameterError(f"classes must hold at least two classes, got one: {shown(classes.item(0))}")
        self.classes_ = classes
        numbers = numbers_of(names_of(labels), classes)
        return self._from_rows(rows, numbers), self._of_classes(numbers, weights)

    def _of_classes(self, numbers: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Return the weights of examples times the weights of their classes."""
        if self.class_weight is None:
            return weights
        found = weights_of(self.class_weight, self.classes_, names_of(self.classes_[numbers]), weights)[numbers]
        return found if weights is None else found * weights

    def _problem(self, X, y):
        labels = names_of(np.ravel(np.asarray(example_labels(y))))
        return self._from_rows(self._rows(X), numbers_of(labels, self.classes_))

    def _from_rows(self, X, numbers, **more):
        return multiclass_problem(self._with_constant(X), numbers, len(self.classes_), nonnegative=self._used.nonnegative, **more)
