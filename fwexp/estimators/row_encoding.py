"""Rows of features of single examples, by scikit-learn's checks or by the vocabulary of `Vectorizer`; and the constant feature."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, validate_data

from fwexp.errors import ParameterError, shown
from fwexp.estimators.conventions import adopt, check_fitted
from fwexp.estimators.encoding import Encoding, are_labels, are_names, is_size
from fwexp.estimators.estimator import CertifiedSVM
from fwexp.estimators.feature_matrices import Vectorizer, by_name, check_named
from fwexp.estimators.labels import counted
from fwexp.problems.python_labelings import read_only
from fwexp.types import AnyArray, ArrayLike, FloatArray

adopt()  # Tables are checked by scikit-learn, in predictions as well.

if TYPE_CHECKING:

    class ClassifierMixin:  # with types, which scikit-learn does not declare
        def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float: ...

else:
    from sklearn.base import ClassifierMixin

__all__ = ["ClassifierMixin", "ExampleModel", "RowEncoding"]


class RowEncoding(Encoding):
    """Columns of features, and classes or labels."""

    classes_: AnyArray
    vectorizer_: Vectorizer | None
    n_features_in_: int
    schema: ClassVar = {
        "classes": are_labels,
        "has_constant": lambda value: isinstance(value, bool),
        "names": are_names,
        "num_features": is_size,
        "columns": lambda value: value is None or (isinstance(value, np.ndarray) and value.ndim == 1 and are_names(value.tolist())),
    }

    def __init__(self, estimator) -> None:
        super().__init__(estimator)
        self.has_constant = bool(self.params.fit_intercept)

    def learn_rows(self, X, y, sample_weight, former: "RowEncoding | None" = None, **checks) -> tuple:
        """Return the weights, the rows and y, checked, of the examples that count; learn the features."""
        check_rows(X)
        names = former.vectorizer_ and former.vectorizer_.names if former else []
        if names is None or not (former or (isinstance(X, list | tuple) and by_name([X]))):
            if former:
                self._set_columns(former.n_features_in_, getattr(former, "feature_names_in_", None))
            X, y = validate_data(self.params, X, y, accept_sparse="csr", dtype=np.float64, reset=not former, **checks)
            self._set_columns(self.params.n_features_in_, getattr(self.params, "feature_names_in_", None))
            return counted(_weights(sample_weight, X), X, y)
        y = y if sp.issparse(y) else np.asarray(y)
        check_consistent_length(X, y)
        weights, X, y = counted(_weights(sample_weight, X), X, y)
        self._set_names(names)
        rows = self.vectorizer_.fit_transform([X], weights, self.vectorizer_)[0]
        self._set_names(self.vectorizer_.names)
        return weights, rows, y

    def rows(self, X):
        """Return the rows of inputs with the features that are known."""
        check_rows(X)
        if self.vectorizer_ is not None:
            return self.vectorizer_.transform([X])[0]
        return validate_data(self.params, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def with_constant(self, X):
        """Return rows with the constant feature as the last, if training has it."""
        if not self.has_constant:
            return X
        ones = np.ones((X.shape[0], 1))
        return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])

    def _set_columns(self, num_features: int, names) -> None:
        """Set the columns of numbers, and their names in a DataFrame; scikit-learn looks for them at an estimator."""
        self.vectorizer_, self.n_features_in_ = None, num_features
        self.params.n_features_in_ = num_features
        if names is not None:
            self.params.feature_names_in_ = self.feature_names_in_ = names

    def _set_names(self, names: Sequence[str]) -> None:
        """Set the features by name."""
        self.vectorizer_, self.n_features_in_ = Vectorizer(self.params.min_count), len(names)
        self.vectorizer_.restore(names, len(names))
        self.feature_names_in_ = np.array([*names], dtype=object)

    @property
    def size(self) -> int:
        """The number of weights of the features of all classes or labels."""
        return len(self.classes_) * (self.n_features_in_ + self.has_constant)

    def learned(self):
        names = None if self.vectorizer_ is None else self.vectorizer_.names
        columns = {"names": names, "num_features": self.n_features_in_, "columns": getattr(self, "feature_names_in_", None)}
        return {"classes": self.classes_, "has_constant": self.has_constant, **columns}

    def restore(self, d, classes, has_constant, names, num_features, columns=None):
        self.classes_, self.has_constant = classes, has_constant
        check_named(columns, num_features)
        self._set_columns(num_features, columns)
        if names is not None:
            check_named(names, num_features)
            self._set_names(names)


@dataclass(eq=False, repr=False, kw_only=True)
class ExampleModel(CertifiedSVM):
    """Base of the estimators whose examples are rows."""

    C: float | None = None
    fit_intercept: bool = True
    min_count: int = 1
    class_weight: Any = None
    warm_start: bool = False

    if TYPE_CHECKING:  # `fit` sets these, which are no parameters
        classes_: AnyArray = field(init=False)
        n_features_in_: int = field(init=False)
        feature_names_in_: AnyArray = field(init=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict_one(self, x: Any) -> Any:
        return self.predict(x.reshape(1, -1) if sp.issparse(x) else [x])[0]

    @property
    def coef_(self) -> FloatArray:
        """Weights of features, a row per class or label."""
        return read_only(self._rows_of_weights[:, : self.n_features_in_])

    @property
    def intercept_(self) -> FloatArray:
        """Weights of the constant feature."""
        weights = self._rows_of_weights
        return read_only(weights[:, -1] if self.encoding_.has_constant else np.zeros(len(weights)))

    @property
    def _rows_of_weights(self) -> FloatArray:
        """Weights of features, the constant feature's last, of every class."""
        return self.result_.w.reshape(-1, len(self.classes_)).T

    def _rows(self, X):
        """Return the rows of inputs with the features that are known."""
        check_fitted(self)
        return self.encoding_.rows(X)


def _weights(sample_weight, X) -> FloatArray | None:
    """Return weights of examples, checked as scikit-learn does."""
    return None if sample_weight is None else _check_sample_weight(sample_weight, X)


def check_rows(X) -> None:
    """Refuse a value that is no sequence, or empty: scikit-learn would report an array of nan in four lines."""
    if X is None or np.isscalar(X) or (isinstance(X, list | tuple) and any(x is None for x in X)):
        raise ParameterError(f"X must be an array or sparse matrix (n, p), or a list of features by name, got {shown(X)}")
