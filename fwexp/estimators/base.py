"""What all estimators share: from their parameters to a certified result, and to files without pickle."""

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fwexp.driver.trace import ending
from fwexp.errors import OptionError, ParameterError, shown
from fwexp.options import check_positive, is_integer
from fwexp.problems.arrays import as_floats
from fwexp.problems.weighted import weighted_problem
from fwexp.solvers import get_method
from fwexp.tasks import saving
from fwexp.tasks.result import Result
from fwexp.tasks.train import solve


class CertifiedSVM(BaseEstimator):
    """Base of the estimators."""

    C, class_weight, nonnegative, warm_start = None, None, None, False  # of those that have no such parameters

    def _take(self, given) -> None:
        """Set the parameters to what ``__init__`` was given, its ``locals()``: unchecked, as scikit-learn wants it."""
        vars(self).update({name: given[name] for name in self._get_param_names()})

    def _train(self, problem, sample_weight=None, *, lam=None, **more) -> None:
        """Set ``result_`` to that of a problem, at lam if it is not the parameter; ``more`` goes to `fwexp.solve`."""
        if get_method(self.solver, {})[0].refers_to_inputs:
            raise ParameterError(f"solver must be one whose weights are of features, got {self.solver!r}")
        size = problem.n
        if sample_weight is not None:
            weights = check_weights(sample_weight, problem.n)
            problem, size = weighted_problem(problem, weights), weights.sum()
        if self.warm_start and getattr(self, "result_", None) is not None and self.result_.state is not None:
            before = self.result_.state.user_problem
            if _same(before, problem):
                problem, more = before, {"warm_start": self.result_, **more}
        if lam is None:
            lam = self.lam if self.C is None else 1.0 / (check_positive("C", self.C) * size)
        result = solve(
            problem,
            self.solver,
            lam=lam,
            max_passes=self.max_passes,
            gap_tol=self.tol,
            seed=as_seed(self.random_state),
            verbose=bool(self.verbose),
            **more,
        )
        if result.status == "max_passes" and result.gap > self.tol:
            end = ending(result.status, result.trace["passes"].iloc[-1], result.gap)
            warnings.warn(f"{end}: raise max_passes, lam or tol", ConvergenceWarning, stacklevel=3)
        if not self.warm_start:
            result.state = None  # which holds the training data
        self.result_ = result

    @property
    def dual_gap_(self) -> float:
        """The certificate: the objective is at most so far above its minimum."""
        return self.result_.gap

    @property
    def n_passes_(self) -> float:
        """Oracle calls / n."""
        return float(self.trace_["passes"].iloc[-1])

    @property
    def status_(self) -> str:
        """How training ended; ``result_.reason`` says it as a sentence."""
        return self.result_.status

    @property
    def trace_(self):
        """The log of training, a DataFrame."""
        return self.result_.trace

    def save(self, path):
        """Write the fitted estimator to a file without pickle, from which `load` returns it; return its path.

        Parameters
        ----------
        path : path
            The file, in numpy's format npz, which `fwexp.load` reads as well: as a `Result`.

        Returns
        -------
        Path
        """
        check_is_fitted(self)
        params = {name: _parameter(name, value) for name, value in self.get_params(deep=False).items()}
        learned = {name: _as_text(name, value) for name, value in self._learned().items()}
        return saving.save(self.result_, path, {"name": type(self).__name__, "params": params, "learned": learned})

    @classmethod
    def load(cls, path, **params):
        """Return an estimator that `save` wrote; nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        **params
            Parameters to take the place of those in the file, such as functions and other objects, which it cannot hold.

        Returns
        -------
        estimator
        """
        fields, found = saving.read(path)
        if found is None or found.get("name") != cls.__name__:
            got = "that of a Result" if found is None else f"that of {shown(found.get('name'))}"
            raise ParameterError(f"path must be a file of {cls.__name__}.save, got {got}")
        try:
            params = {name: _from_text(value) for name, value in found["params"].items() if name not in params} | params
            learned = {name: _from_text(value) for name, value in found["learned"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ParameterError(f"path must be a file of {cls.__name__}.save, got one that is damaged ({error})") from error
        for name, value in params.items():
            if isinstance(value, _Object):
                raise OptionError(f"{name} was {value}, which files do not hold: pass it, load(path, {name}=...)")
        self = cls(**params)
        self.result_ = Result(**fields)
        self._restore(**learned)
        return self

    @abstractmethod
    def _learned(self) -> dict:
        """Return what a file holds beside the parameters and the result."""

    @abstractmethod
    def _restore(self, **learned) -> None:
        """Take what `_learned` returned."""


class _Object(str):
    """The name of a parameter that was a function, or something else that a file does not hold."""


def _parameter(name: str, value) -> Any:
    try:
        return _as_text(name, value)
    except ParameterError:
        return {"object": getattr(value, "__name__", type(value).__name__)}


def _as_text(name: str, value) -> Any:
    """Return a value for JSON, from which `_from_text` makes one like it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _as_text(name, value.item())
    if isinstance(value, list):
        return [_as_text(name, item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_as_text(name, item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_as_text(name, item) for item in pair] for pair in value.items()]}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, np.ndarray):
        return {"array": _as_text(name, value.tolist()), "dtype": value.dtype.str}
    raise ParameterError(f"{name} must be made of numbers and text to be saved, got {type(value).__name__} {shown(value)}")


def _from_text(value) -> Any:
    if isinstance(value, list):
        return [_from_text(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return as_array_of(_from_text(value["array"]), np.dtype(value["dtype"]))
    ((kind, held),) = value.items()
    return {"tuple": tuple, "dict": dict, "slice": lambda held: slice(*held), "object": _Object}[kind](_from_text(held))


def as_array_of(values: list, dtype=None) -> np.ndarray:
    """Return a list of anything as an array; of objects one-dimensional, also where these are sequences."""
    if dtype is not None and dtype.kind != "O":
        return np.array(values, dtype=dtype)
    array = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        array[k] = value
    return array


def check_weights(weights, n: int) -> np.ndarray:
    """Return the weights of n examples as an array."""
    weights = as_floats("sample_weight", weights, "hold one number per example")
    if weights.shape != (n,):
        raise ParameterError(f"sample_weight must have shape ({n},), one per example, got {weights.shape}")
    return weights


def as_seed(random_state) -> int:
    """Return the seed that a parameter ``random_state`` means."""
    return int(random_state) if is_integer(random_state) else int(check_random_state(random_state).randint(2**31))


def _same(one, other) -> bool:
    """Whether two problems made of arrays are equal."""
    if isinstance(one, tuple):
        return type(one) is type(other) and all(map(_same, one, other))
    return one is other or np.array_equal(one, other)
