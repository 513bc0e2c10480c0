"""Rows of features of single examples, by scikit-learn's checks or by the vocabulary of `Vectorizer`; and the constant feature."""

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from fwexp.errors import ParameterError, shown
from fwexp.estimators.estimator import CertifiedSVM
from fwexp.estimators.example_weights import counted
from fwexp.estimators.feature_matrices import Vectorizer, by_name
from fwexp.estimators.learned_values import are_labels, are_names, are_texts, check_named, is_flag, is_size, or_none
from fwexp.problems.python_oracles import read_only


class ExampleModel(CertifiedSVM):
    """Base of the estimators whose examples are rows."""

    fit_intercept: bool
    min_count: int

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict_one(self, x: Any) -> Any:
        """Return the prediction for one example.

        Parameters
        ----------
        x : input
            One row of an X for `fit`, which may be sparse.

        Returns
        -------
        prediction
            The class, or the set of labels as 0 and 1.
        """
        return self.predict(x.reshape(1, -1) if sp.issparse(x) else [x])[0]

    def _learn_rows(self, X, y, sample_weight, **checks):
        """Return the weights, the rows and y, checked, of the examples that count; learn the features."""
        self.vectorizer_, self._has_constant = None, bool(self.fit_intercept)
        _check_rows(X)
        if not (isinstance(X, list | tuple) and by_name([X])):
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, **checks)
            return counted(_weights(sample_weight, X), X, y)
        return self._named_rows([], X, y, sample_weight)

    def _further_rows(self, X, y, sample_weight):
        """Return the weights, the rows and y, checked, of the examples that count; learn further features by name."""
        if "result_" not in vars(self):
            return self._learn_rows(X, y, sample_weight)
        self._has_constant = bool(self.fit_intercept)
        if self.vectorizer_ is None:
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=False)
            return counted(_weights(sample_weight, X), X, y)
        return self._named_rows(self.vectorizer_.names, X, y, sample_weight)

    def _named_rows(self, known: list[str], X, y, sample_weight):
        """Return what `_learn_rows` returns, of features by name; the known ones come first."""
        y = y if sp.issparse(y) else np.asarray(y)
        check_consistent_length(X, y)
        weights, X, y = counted(_weights(sample_weight, X), X, y)
        vectorizer = Vectorizer(self.min_count)
        vectorizer.restore(known, len(known))
        rows = vectorizer.extend_transform([X], weights)[0]
        self._name_features(vectorizer)
        return weights, rows, y

    def _rows(self, X):
        """Return the rows of inputs with the features that are known."""
        check_is_fitted(self)
        _check_rows(X)
        if self.vectorizer_ is not None:
            return self.vectorizer_.transform([X])[0]
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _with_constant(self, X):
        """Return rows with the constant feature as the last, if training has it."""
        if not self._has_constant:
            return X
        ones = np.ones((X.shape[0], 1))
        return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])

    def _name_features(self, vectorizer: Vectorizer) -> None:
        self.vectorizer_, self.n_features_in_ = vectorizer, vectorizer.num_features
        self.feature_names_in_ = np.array(vectorizer.names, dtype=object)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of features, a row per class or label."""
        return read_only(self._rows_of_weights[:, : self.n_features_in_])

    @property
    def intercept_(self) -> np.ndarray:
        """Weights of the constant feature."""
        weights = self._rows_of_weights
        return read_only(weights[:, -1] if self._has_constant else np.zeros(len(weights)))

    @property
    def _rows_of_weights(self) -> np.ndarray:
        """Weights of features, the constant feature's last, of every class."""
        return self.result_.w.reshape(-1, len(self.classes_)).T

    def _learned(self):
        names = None if self.vectorizer_ is None else self.vectorizer_.names
        columns = {"names": names, "num_features": self.n_features_in_, "columns": getattr(self, "feature_names_in_", None)}
        return {"classes": self.classes_, "has_constant": self._has_constant, **columns}

    _schema: ClassVar = {
        "classes": are_labels,
        "has_constant": is_flag,
        "names": or_none(are_names),
        "num_features": is_size,
        "columns": or_none(are_texts),
    }

    def _structure(self):
        check_named(getattr(self, "feature_names_in_", None), self.n_features_in_)
        p = self.n_features_in_ + self._has_constant
        return {"family": "MulticlassProblem", "d": len(self.classes_) * p, "num_classes": len(self.classes_), "num_features": p}

    def _restore(self, classes, has_constant, names, num_features, columns=None):
        self._has_constant = has_constant
        self.classes_, self.n_features_in_, self.vectorizer_ = classes, num_features, None
        if columns is not None:
            self.feature_names_in_ = columns
        if names is not None:
            vectorizer = Vectorizer(self.min_count)
            vectorizer.restore(names, num_features)
            self._name_features(vectorizer)


def _weights(sample_weight, X) -> np.ndarray | None:
    """Return weights of examples, checked as scikit-learn does."""
    return None if sample_weight is None else _check_sample_weight(sample_weight, X)


def _check_rows(X) -> None:
    """Refuse a value that is no sequence, or empty: scikit-learn would report an array of nan in four lines."""
    if X is None or np.isscalar(X) or (isinstance(X, list | tuple) and any(x is None for x in X)):
        raise ParameterError(f"X must be an array or sparse matrix (n, p), or a list of features by name, got {shown(X)}")
