"""Classification with probabilities: multinomial logistic regression, which is trained to a certified gap."""

from dataclasses import field
from typing import Any

import numpy as np

from fwexp.estimators.multiclass_model import MulticlassModel
from fwexp.types import Lam


class MulticlassLogistic(MulticlassModel):
    r"""Classify with multinomial logistic regression, trained to a certified gap.

    Use it if you need probabilities of classes.

    Parameters
    ----------
    solver : str
        A solver of `fwexp.solve` for the log-loss: ``auto``, ``block_entropic``, ``lbfgs``, ``sag`` or ``online_eg``.

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

    lam: Lam = field(default="1/n", kw_only=False)

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
