"""Results of fitted estimators: the certificate, saving and loading without pickle."""

from abc import abstractmethod
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fwexp.errors import OptionError, ParameterError, shown
from fwexp.estimators.base_classes import BaseEstimator
from fwexp.estimators.json_values import Unsaved, from_json, parameter_to_json, to_json
from fwexp.tasks import result_files
from fwexp.tasks.result import Result
from fwexp.types import AnyPath

if TYPE_CHECKING:
    import pandas as pd


CONTAINERS = (list, tuple, set, dict, np.ndarray)


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
        if found is None or found.get("name") != cls.__name__:
            got = "that of a Result" if found is None else f"that of {shown(found.get('name'))}"
            raise ParameterError(f"path must be a file of {cls.__name__}.save, got {got}")
        try:
            params = {name: from_json(value) for name, value in found["params"].items() if name not in params} | params
            learned = {name: from_json(value) for name, value in found["learned"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ParameterError(f"path must be a file of {cls.__name__}.save, got one that is damaged ({error})") from error
        for name, value in params.items():
            if isinstance(value, Unsaved):
                raise OptionError(f"{name} was {value}, which files do not hold: pass it, load(path, {name}=...)")
        self = cls(**params)
        self._keep_parameters()
        vars(self)["result_"] = result = Result(**fields)
        self._restore(**learned)
        self.result_ = result
        return self

    @abstractmethod
    def _learned(self) -> dict:
        """Return the learned attributes to save in addition to the parameters and the result."""

    @abstractmethod
    def _restore(self, **learned) -> None:
        """Restore the attributes that `_learned` returned."""
