"""Classification: the SVM of Crammer and Singer, which is trained to a certified gap."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from fwexp.errors import ParameterError, shown
from fwexp.estimators.examples import ExampleModel
from fwexp.problems.multiclass import multiclass_problem


class MulticlassSVM(ClassifierMixin, ExampleModel):
    """Classify: the linear SVM of Crammer and Singer, trained to a certified gap.

    It minimises lam/2 ||w||^2 + 1/n sum_i max_y (L(y_i, y) - <w_{y_i} - w_y, x_i>).

    Parameters
    ----------
    lam : float or "1/n"
        Regularisation.
    C : float, optional
        Regularisation as elsewhere, instead of ``lam``: lam = 1/(C n), n examples (or the sum of their weights).
    fit_intercept : bool
        Whether a constant feature is added. Its weights are regularised like all others.
    min_count : int
        Features by name that fewer examples have are left out.
    costs : (K, K) array, optional
        ``costs[true, predicted]`` >= 0, in the order of ``classes_``; by default 0/1.
    rescaling : {"margin", "slack"}
        What the cost rescales; the same for 0/1.
    class_weight : dict or "balanced", optional
        Weights of the examples of each class.
    solver : str
        A solver or method of `fwexp.solve`, but none with a kernel.
    tol : float
        Certified gap, in units of the objective, at which training stops.
    max_passes : float
        Bound on passes over the data.
    warm_start : bool
        Whether `fit` goes on from the last one where the data are the same, at whatever lam. Keeps the data.
    random_state : int, RandomState or None
        Seed; None is another one each time.
    verbose : int
        Whether to show progress on standard error.

    Attributes
    ----------
    classes_ : ndarray (K,)
        The classes.
    coef_ : ndarray (K, p)
        Weights; (1, p) of two classes: those of the second minus those of the first.
    intercept_ : ndarray (K,) or (1,)
        Weights of the constant feature, likewise.
    n_features_in_ : int
        p.
    feature_names_in_ : ndarray (p,)
        Names of the features, where X has names.
    dual_gap_, n_passes_, status_, trace_, result_
        The certificate and the log, as of `ChainSVM`.

    Notes
    -----
    X is an array or sparse matrix (n, p), or a list with the features of every example by name, as those of a position in
    `ChainSVM`.

    Examples
    --------
    >>> from fwexp.estimators import MulticlassSVM
    >>> X = [{"colour": "red", "size": 2}, {"colour": "red", "size": 3}, {"colour": "green", "size": 2}]
    >>> MulticlassSVM(lam=0.1).fit(X, ["apple", "apple", "lime"]).predict([{"colour": "green"}]).tolist()
    ['lime']
    """

    def __init__(
        self,
        lam=0.01,
        *,
        C=None,
        fit_intercept=True,
        min_count=1,
        costs=None,
        rescaling="margin",
        class_weight=None,
        solver="auto",
        tol=1e-2,
        max_passes=50,
        warm_start=False,
        random_state=0,
        verbose=0,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None):
        """Train on classified examples.

        Parameters
        ----------
        X : (n, p) array, sparse matrix, or list of n dicts, strings or lists of strings
            Inputs.
        y : array (n,)
            Classes.
        sample_weight : array (n,), optional
            How much every example counts: 2 is the example twice, 0 its absence.

        Returns
        -------
        self
        """
        X, y = self._learn_rows(X, y)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ParameterError(f"y must hold at least two classes, got one class: {shown(self.classes_.item(0))}")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        if self.class_weight is not None:
            weights = compute_sample_weight(self.class_weight, y)
            sample_weight = weights if sample_weight is None else weights * sample_weight
        self._train(self._problem(X, numbers), sample_weight)
        self._set_weights()
        return self

    def to_problem(self, X, y):
        """Return classified examples as a problem for `fwexp.solve` and all else, with the features and classes learned.

        Parameters
        ----------
        X, y
            As for `fit`. Classes that are not known become -1, as in the test sets of `fwexp.multiclass_problem`.

        Returns
        -------
        MulticlassProblem
        """
        places = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        return self._problem(self._rows(X), np.where(self.classes_[places] == y, places, -1))

    def decision_function(self, X):
        """Return the scores of the classes.

        Parameters
        ----------
        X : (n, p) array, sparse matrix, or list of n dicts, strings or lists of strings
            Inputs, as for `fit`.

        Returns
        -------
        ndarray (n, K)
            Of two classes (n,): the score of the second above the first.
        """
        scores = self._rows(X) @ self.coef_.T + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Return the class of highest score of every example.

        Parameters
        ----------
        X : (n, p) array, sparse matrix, or list of n dicts, strings or lists of strings
            Inputs, as for `fit`.

        Returns
        -------
        ndarray (n,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _problem(self, X, numbers):
        X, K = self._with_constant(X), len(self.classes_)
        return multiclass_problem(X, numbers, K, costs=self.costs, rescaling=self.rescaling)

    def _set_weights(self) -> None:
        weights = self.result_.w.reshape(-1, len(self.classes_)).T
        self._split_weights(weights[1:] - weights[:1] if len(weights) == 2 else weights)
