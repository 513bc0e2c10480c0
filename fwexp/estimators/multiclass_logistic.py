"""Classification with probabilities: multinomial logistic regression, which is trained to a certified gap."""

from typing import Any

import numpy as np

from fwexp.estimators.base_classes import AnyIterate
from fwexp.estimators.multiclass_model import MulticlassModel
from fwexp.types import Lam, Weights


class MulticlassLogistic(MulticlassModel):
    r"""Classify with multinomial logistic regression, trained to a certified gap.

    Use it if you need probabilities of classes.

    Parameters
    ----------
    lam : float or "1/n", default "1/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. n is the number of
        examples, which count as often as their weights say.
    C : float, optional
        Strength of the losses, > 0. If given, it replaces ``lam``: lam = 1/(C n), with the n of ``lam``. For two classes it is half
        of the C of tools that have one vector of weights, such as scikit-learn's ``LogisticRegression`` and ``SVC``.
    solver : str, default "auto"
        A solver of `fwexp.solve` for the log-loss: ``auto``, ``block_entropic``, ``lbfgs``, ``sag`` or ``online_eg``.
    fit_intercept, min_count, class_weight, iterate, tol, max_passes, nonnegative, warm_start, n_jobs, random_state, verbose
        The same as for `MulticlassSVM`.

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
    like all others. With the default ``lam="1/n"`` the weights have the most probable values under a Gaussian prior of
    variance 1. X is as for `MulticlassSVM`.

    Examples
    --------
    >>> from fwexp.estimators import MulticlassLogistic
    >>> X, y = [[0.0], [0.4], [1.0], [1.6]], ["low", "low", "high", "high"]
    >>> model = MulticlassLogistic(tol=1e-6).fit(X, y)
    >>> model.predict([[2.0]]).tolist()
    ['high']
    >>> model.predict_proba([[2.0]]).round(1)
    array([[0.8, 0.2]])
    """

    def __init__(
        self,
        lam: Lam = "1/n",
        *,
        C: float | None = None,
        fit_intercept: bool = True,
        min_count: int = 1,
        class_weight: Any = None,
        solver: str = "auto",
        iterate: AnyIterate = None,
        tol: float = 0.01,
        max_passes: float = 50,
        nonnegative: Weights | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.C = C
        self.fit_intercept = fit_intercept
        self.min_count = min_count
        self.class_weight = class_weight
        self.solver = solver
        self.iterate = iterate
        self.tol = tol
        self.max_passes = max_passes
        self.nonnegative = nonnegative
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _objective = "log"

    def predict_log_proba(self, X: Any) -> np.ndarray:
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

    def predict_proba(self, X: Any) -> np.ndarray:
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
