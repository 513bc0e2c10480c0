"""Results of fitted estimators: the certificate, saving and loading without pickle."""

from abc import abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fwexp.errors import OptionError, ParameterError, shown
from fwexp.estimators.base_classes import BaseEstimator
from fwexp.estimators.json_values import Unsaved, from_json, parameter_to_json, to_json
from fwexp.estimators.learned_values import Check
from fwexp.tasks import result_files
from fwexp.tasks.result import Result
from fwexp.types import AnyPath

if TYPE_CHECKING:
    import pandas as pd


CONTAINERS = (list, tuple, set, dict, np.ndarray)


def subclasses(kind: type) -> Iterator[type]:
    """Yield all classes below a class."""
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


class FittedEstimator(BaseEstimator):
    """Base of `CertifiedSVM`: the certificate of the last training, saving and loading."""

    @property
    def result_(self) -> Result:
        """The result of `fwexp.solve`. Its weights are read-only, and so are their parts, because the certificate is about them."""
        try:
            result = vars(self)["result_"]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no attribute result_ before fit") from None
        return result

    @result_.setter
    def result_(self, result: Result) -> None:
        vars(self)["result_"] = result
        result.w.flags.writeable = False
        if "_trained_with" not in vars(self):
            self._keep_parameters()
        self._complete()

    def _complete(self) -> None:
        """Derive from the learned attributes all that predictions need, so that threads can share the estimator."""

    def __setstate__(self, state):
        super().__setstate__(state)
        if "result_" in vars(self):
            self.result_ = self.result_  # Pickles and copies hold neither flags of arrays nor what `_complete` derives.

    @property
    def _used(self) -> Self:
        """An estimator with the parameters of the last training, which predictions, scores and files follow until the next one."""
        return vars(self).get("_trained_with", self)

    def _keep_parameters(self) -> None:
        """Set `_used` to the present parameters; containers are copied, because users may change them in place."""
        params = self.get_params(deep=False).items()
        kept = {name: deepcopy(value) if isinstance(value, CONTAINERS) else value for name, value in params}
        self._trained_with = type(self)(**kept)

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
        """Status of training; ``result_.reason`` is the same as a sentence."""
        return self.result_.status

    @property
    def trace_(self) -> "pd.DataFrame":
        """The log of training, a DataFrame."""
        return self.result_.trace

    def save(self, path: AnyPath) -> Path:
        """Write the fitted estimator to a file without pickle, from which `load` returns it; return its path.

        Parameters
        ----------
        path : path
            The file, in numpy's format npz, which `fwexp.load` reads as well: as a `Result`.

        Returns
        -------
        Path
            Path of the file.
        """
        check_is_fitted(self)
        return result_files.save(self.result_, path, self._record())

    def _record(self) -> dict:
        """Return the content of a file of a fitted estimator next to its result, for JSON."""
        params = {name: parameter_to_json(name, value) for name, value in self._used.get_params(deep=False).items()}
        learned = {name: to_json(name, value) for name, value in self._learned().items()}
        return {"name": type(self).__name__, "params": params, "learned": learned}

    @classmethod
    def load(cls, path: AnyPath, **params: Any) -> Self:
        """Return an estimator that `save` wrote, without executing the file.

        Parameters
        ----------
        path : path
            The file.
        **params
            Parameters to take the place of those in the file, such as functions and other objects, which it cannot hold.

        Returns
        -------
        estimator
            The fitted estimator.
        """
        fields, found = result_files.read(path, cls.__name__)
        name = None if found is None else found.get("name")
        if name != cls.__name__:
            known = isinstance(name, str) and name in {kind.__name__ for kind in subclasses(FittedEstimator)}
            got = "that of a Result" if found is None else f"that of {shown(name)}" + (f"; use {name}.load" if known else "")
            raise ParameterError(f"path must be a file of {cls.__name__}.save, got {got}")
        try:
            return cls._from_file(Result(**fields), found, params)
        except OptionError:
            raise
        except Exception as error:  # Damaged files fail anywhere.
            why = str(error) or type(error).__name__
            raise ParameterError(f"path must be a file of {cls.__name__}.save, got one that is damaged ({why})") from error

    @classmethod
    def _from_file(cls, result: Result, found: dict, params: dict) -> Self:
        """Return the estimator of a file; ``params`` replace parameters in the file."""
        given = {name: from_json(value) for name, value in found["params"].items() if name not in params} | params
        for name, value in given.items():
            if isinstance(value, Unsaved):
                raise OptionError(f"{name} was {value}, which files do not hold: pass it, load(path, {name}=...)")
        learned = {name: from_json(value) for name, value in found["learned"].items()}
        for name, value in learned.items():
            if name not in cls._schema or not cls._schema[name](value):
                raise ValueError(f"{name} is {shown(value)}")
        self = cls(**given)
        self._keep_parameters()
        vars(self)["result_"] = result
        self._restore(**learned)
        for name, size in self._structure().items():
            if result.structure.get(name) != size:
                raise ValueError(f"{name} is {shown(result.structure.get(name))}, which does not fit to the learned values")
        self.result_ = result
        self._check_parameters()
        return self

    def _check_parameters(self) -> None:
        """Reject parameters with which predictions fail."""

    _schema: ClassVar[dict[str, Check]] = {}  # of the values that `_learned` returns

    def _structure(self) -> dict[str, Any]:
        """Return entries of the result's structure that follow from the learned values."""
        return {}

    @abstractmethod
    def _learned(self) -> dict:
        """Return the learned attributes to save in addition to the parameters and the result."""

    @abstractmethod
    def _restore(self, **learned) -> None:
        """Restore the attributes that `_learned` returned."""
