"""Classifiers of single examples: their classes, weights of examples and predictions."""

from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from fwexp.errors import ParameterError, shown
from fwexp.estimators.base_classes import ClassifierMixin
from fwexp.estimators.encoding import Names, feature_rows
from fwexp.estimators.labels import check_among, example_labels, names_of, numbers_of, weights_of
from fwexp.estimators.row_encoding import ExampleModel, RowEncoding
from fwexp.problems.multiclass import multiclass_problem
from fwexp.types import ArrayLike

CONSTANT = "constant"  # in names of weights, in a tuple, which features by name are not


class ClassEncoding(RowEncoding):
    """Columns of features, and classes."""

    def learn(self, X, y, sample_weight=None, classes=None, former=None):
        weights, X, y = self.learn_rows(X, example_labels(y), sample_weight, former)
        if classes is None:
            if y.dtype.kind not in "OmM":
                check_classification_targets(y)
            try:
                self.classes_, numbers = np.unique(y, return_inverse=True)
            except TypeError:
                kinds = " and ".join(sorted({type(label).__name__ for label in y}))
                raise ParameterError(f"labels in y must be all numbers or all texts, got {kinds}") from None
        else:
            check_among(names_of(y), classes)
            self.classes_, numbers = classes, numbers_of(names_of(y), classes)
        if len(self.classes_) < 2:
            name = "y" if classes is None else "classes"
            raise ParameterError(f"{name} must hold at least two classes, got one class: {shown(self.classes_.item(0))}")
        of_classes = weights_of(self.params.class_weight, self.classes_, names_of(self.classes_[numbers]), weights)
        if of_classes is not None:
            weights = of_classes[numbers] if weights is None else of_classes[numbers] * weights
        return self._from_rows(X, numbers), weights

    def problem(self, X, y, sample_weight=None):
        labels = names_of(np.ravel(np.asarray(example_labels(y))))
        return self._from_rows(self.rows(X), numbers_of(labels, self.classes_)), sample_weight

    def _from_rows(self, X, numbers):
        params = self.params
        losses = {name: getattr(params, name) for name in ("costs", "rescaling") if hasattr(params, name)}
        return multiclass_problem(self.with_constant(X), numbers, len(self.classes_), nonnegative=params.nonnegative, **losses)

    def names(self):
        names = getattr(self, "feature_names_in_", None)
        rows = feature_rows(names, self.n_features_in_)
        return Names([*rows, (CONSTANT,)] if self.has_constant else rows, names_of(self.classes_))

    def structure(self, w):
        K = len(self.classes_)
        return {"family": "MulticlassProblem", "d": self.size, "num_classes": K, "num_features": self.size // K}


class MulticlassModel(ClassifierMixin, ExampleModel):
    """Base of the estimators that classify."""

    _Encoding = ClassEncoding

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

    @property
    def _rows_of_weights(self) -> np.ndarray:
        weights = super()._rows_of_weights
        return weights[1:] - weights[:1] if len(weights) == 2 else weights
