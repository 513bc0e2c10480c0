"""Classification with probabilities: multinomial logistic regression, which is trained to a certified gap."""

from dataclasses import field
from typing import Any

import numpy as np

from fwexp.estimators.multiclass_model import MulticlassModel
from fwexp.types import Lam


class MulticlassLogistic(MulticlassModel):
    """Classify with probabilities: multinomial logistic regression, trained to a certified gap.

    It minimises lam/2 ||w||^2 - 1/n sum_i log p(y_i | x_i), with p(y | x) in proportion to exp(<w_y, x>): scikit-learn's
    ``LogisticRegression`` with C = 1/(lam n), but that the weight of the constant feature is regularised like all others.

    Parameters
    ----------
    solver : str
        A solver of `fwexp.solve` for the log-loss: ``auto``, ``block_entropic``, ``lbfgs``, ``sag`` or ``online_eg``.

    Notes
    -----
    X is as for `MulticlassSVM`. With the default ``lam="1/n"`` the weights have the most probable values under a Gaussian prior of
    variance 1.

    Examples
    --------
    >>> from fwexp.estimators import MulticlassLogistic
    >>> model = MulticlassLogistic().fit([[0.0], [0.4], [1.0], [1.6]], ["low", "low", "high", "high"])
    >>> model.predict([[2.0]]).tolist(), bool(model.predict_proba([[2.0]])[0, 0] > 0.5)
    (['high'], True)
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
