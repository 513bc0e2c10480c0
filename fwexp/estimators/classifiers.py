"""Classification: the SVM of Crammer and Singer, and multinomial logistic regression; both are trained to a certified gap."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from fwexp.errors import ParameterError, shown
from fwexp.estimators.encoding import Names, feature_rows
from fwexp.estimators.estimator import FitsFurther
from fwexp.estimators.json_values import names_of
from fwexp.estimators.labels import check_among, example_labels, numbers_of, weights_of
from fwexp.estimators.row_encoding import ClassifierMixin, ExampleModel, RowEncoding
from fwexp.problems.multiclass import multiclass_problem
from fwexp.types import AnyArray, ArrayLike, FloatArray, Lam, Rescaling, Weights

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

    def structure(self):
        K = len(self.classes_)
        return {"family": "MulticlassProblem", "d": self.size, "num_classes": K, "num_features": self.size // K}


@dataclass(eq=False, repr=False, kw_only=True)
class MulticlassModel(FitsFurther, ClassifierMixin, ExampleModel):
    """Base of the estimators that classify."""

    nonnegative: Weights | None = None

    _Encoding = ClassEncoding

    def decision_function(self, X: Any) -> FloatArray:
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

    def predict(self, X: Any) -> AnyArray:
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @property
    def _rows_of_weights(self) -> FloatArray:
        weights = super()._rows_of_weights
        return weights[1:] - weights[:1] if len(weights) == 2 else weights


@dataclass(eq=False, repr=False)
class MulticlassSVM(MulticlassModel):
    r"""Classify with the linear SVM of Crammer and Singer, trained to a certified gap.

    Parameters
    ----------
    lam : float or "c/n", default "1/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. A text such as "1/n" is a
        number divided by n, the number of examples, which count as often as their weights say. The default was chosen by
        validation.
    C : float, optional
        Strength of the losses, > 0. If given, it replaces ``lam``: lam = 1/(C n), with the n of ``lam``. For two classes it is half
        of the C of tools that have one vector of weights, such as scikit-learn's ``LogisticRegression`` and ``SVC``.
    fit_intercept : bool, default True
        Whether to add a constant feature. Its weights are regularised like all others.
    min_count : int, default 1
        Features by name that fewer examples have are left out, where an example of weight 2 counts twice; 1 keeps all features.
    class_weight : dict or "balanced", optional
        Weights of the examples of each class.
    costs : (K, K) array, optional
        ``costs[true, predicted]`` >= 0, in the order of ``classes_``; by default 1 for every wrong class.
    rescaling : {"margin", "slack"}, default "margin"
        Quantity that the cost rescales: the margin, or the slack of an example. Both are the same if all costs are 1.
    solver : str, default "auto"
        A solver or method of `fwexp.solve`, except those with kernels.
    iterate : {"best", "last", "wavg", "tavg", "avg"}, optional
        Iterate of `fwexp.solve` that becomes the weights, by default the ``best`` logged one. ``dual_gap_`` certifies it.
    tol : float, default 0.01
        Certified gap at which training stops, in units of the objective. Smaller values take longer.
    max_passes : float, default 50
        Bound on passes over the data. Training that reaches it with a gap above ``tol`` ends with a ConvergenceWarning.
    time_limit, callback
        The same as for `ChainSVM`.
    nonnegative : mask, slice or int array, optional
        Weights that must not be negative, by their places in ``result_.w``, which the constructor of the problem documents.
    warm_start : bool, default False
        Whether `fit` starts from the last one: for the same data, which are kept, from its dual variables; otherwise near its
        weights, by the names of features and labels; or, with a warning, from zero. The certificate is about the data of this call.
    n_jobs : int, optional
        Threads that call oracles, as joblib counts them; by default one per processor. They do not change what is learned.
    random_state : int, RandomState or None, default 0
        Seed of the random choices; None draws a new seed for each call.
    verbose : int, default 0
        If positive, print progress to standard error: objective and gap, the gap at which training ends, and estimates of the
        passes and seconds until then; and a line while kernels are compiled (about 15 s, once per machine).

    Attributes
    ----------
    classes_ : ndarray (K,)
        The classes.
    coef_ : ndarray (K, p)
        Weights of the classes; for two classes (1, p), the weights of the second minus the weights of the first.
    intercept_ : ndarray (K,) or (1,)
        Weights of the constant feature, in the same form.
    n_features_in_ : int
        p, the number of features.
    feature_names_in_ : ndarray (p,)
        Their names, where X has names.
    dual_gap_ : float
        The certified gap: the objective is at most this far above its minimum. NaN if nothing is certified.
    status_, n_passes_, trace_ : str, float, DataFrame
        How training ended (``converged``, ``max_passes``, ..., ``interrupted``), oracle calls divided by n, and the log.
    result_ : Result
        The result of `fwexp.solve`, in units of the estimator's objective. All arrays of weights are read-only.

    See Also
    --------
    MulticlassLogistic : The log-loss, with probabilities of classes.
    fwexp.multiclass_problem : The training problem, for `fwexp.solve`.

    Notes
    -----
    The objective is

    .. math::
        \min_w \frac{\lambda}{2} \|w\|^2 + \frac{1}{n} \sum_i \max_y
        \left( L(y_i, y) - \langle w_{y_i} - w_y, x_i \rangle \right).

    X is an array or sparse matrix (n, p), or a list with the features of every example by name, in the form of one position for
    `ChainSVM`. Missing classes are rejected: None, NaN, masked entries and "". The number -1 is a class like any other.

    Examples
    --------
    >>> from fwexp.estimators import MulticlassSVM
    >>> X = [
    ...     {"colour": "red", "size": 2},
    ...     {"colour": "red", "size": 3},
    ...     {"colour": "green", "size": 2},
    ... ]
    >>> model = MulticlassSVM(lam=0.1).fit(X, ["apple", "apple", "lime"])
    >>> model.predict([{"colour": "green"}]).tolist()
    ['lime']
    """

    lam: Lam = "1/n"
    _: KW_ONLY
    costs: ArrayLike | None = None
    rescaling: Rescaling = "margin"


@dataclass(eq=False, repr=False)
class MulticlassLogistic(MulticlassModel):
    r"""Classify with multinomial logistic regression, trained to a certified gap.

    Use it if you need probabilities of classes.

    Parameters
    ----------
    lam : float or "c/n", default "0.125/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. A text such as "0.125/n" is
        a number divided by n, the number of examples, which count as often as their weights say. The default was chosen by
        validation.
    solver : str, default "auto"
        A solver of `fwexp.solve` for the log-loss: ``auto``, ``block_entropic``, ``lbfgs``, ``sag`` or ``online_eg``.
    C, fit_intercept, min_count, class_weight, iterate, tol, max_passes, time_limit, callback
        The same as for `MulticlassSVM`.
    nonnegative, warm_start, n_jobs, random_state, verbose
        The same as for `MulticlassSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_, dual_gap_, status_, n_passes_, trace_, result_
        The same as of `MulticlassSVM`.

    See Also
    --------
    MulticlassSVM : The hinge loss, without probabilities.
    ChainCRF : Probabilities of labels in sequences.

    Notes
    -----
    The objective is

    .. math::
        \min_w \frac{\lambda}{2} \|w\|^2 - \frac{1}{n} \sum_i \log p(y_i | x_i),
        \quad p(y | x) \propto e^{\langle w_y, x \rangle}.

    It equals the one of scikit-learn's ``LogisticRegression`` with C = 1/(lam n) for three or more classes, and with C = 2/(lam n)
    for two, where ``LogisticRegression`` has one vector of weights; except that the weight of the constant feature is regularised
    like all others. With ``lam="1/n"`` the weights have the most probable values under a Gaussian prior of
    variance 1. X is as for `MulticlassSVM`.

    Examples
    --------
    >>> from fwexp.estimators import MulticlassLogistic
    >>> X, y = [[0.0], [0.4], [1.0], [1.6]], ["low", "low", "high", "high"]
    >>> model = MulticlassLogistic(lam="1/n", tol=1e-6).fit(X, y)
    >>> model.predict([[2.0]]).tolist()
    ['high']
    >>> model.predict_proba([[2.0]]).round(1)
    array([[0.8, 0.2]])
    """

    lam: Lam = "0.125/n"

    _objective = "log"

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : sequence of inputs
            As for `fit`.

        Returns
        -------
        ndarray (n, K)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        scores = scores - scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : sequence of inputs
            As for `fit`.

        Returns
        -------
        ndarray (n, K)
            In the order of ``classes_``; every row sums to 1.
        """
        return np.exp(self.predict_log_proba(X))
