"""The base of all estimators: an encoding and weights with a certificate, and files without pickle."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from fwexp import estimators
from fwexp.errors import OptionError, ParameterError, shown
from fwexp.estimators import model_json
from fwexp.estimators.conventions import Conventions, check_fitted, parameters, subclasses
from fwexp.estimators.encoding import Encoding, carried
from fwexp.estimators.json_values import Unsaved, from_json, parameter_to_json
from fwexp.estimators.labels import classes_of_call, weighted
from fwexp.files.packed_weights import PackedWeights
from fwexp.options import check_flag
from fwexp.tasks import result_files
from fwexp.tasks.result import Result, stored_weights
from fwexp.types import AnyPath, ArrayLike, Callback, Iterate, SetOfExamples

NOT_KEPT = ("_decoder", "_in_numpy", "_done_in_numpy")  # attributes that follow from others, and are made at predictions
AnyIterate: TypeAlias = Iterate | Literal["best"] | None
Development: TypeAlias = tuple[Any, Any] | None  # inputs and labelings

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AnyIterate", "CertifiedSVM", "Development", "FitsFurther", "PartsScore"]


@dataclass(eq=False, repr=False, kw_only=True)
class CertifiedSVM(Conventions):
    """Base of the estimators, with the parameters of all: `fit` learns an encoding, and trains to a certified result."""

    solver: str = "auto"
    iterate: AnyIterate = None
    tol: float = 0.01
    max_passes: float = 50
    time_limit: float | None = None
    callback: Callback | None = None
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0

    _objective = "hinge"  # of `fwexp.solve`
    _relative_tol = False  # whether ``tol`` is a share of the objective
    averages = False  # whether the average of the iterates has the weights by default

    _Encoding: ClassVar[type[Encoding]]

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, dev: Development = None) -> Self:
        """Train on labelled examples.

        Ctrl-C ends training with a warning: the weights reached are kept, with their certificate, and ``status_`` is
        ``"interrupted"``. A second Ctrl-C raises KeyboardInterrupt, and so does the first one in a search or an ensemble.

        Parameters
        ----------
        X : sequence of n inputs
            In the form that the notes of the class describe.
        y : sequence of n labelings
            In the form that the notes of the class describe.
        sample_weight : array (n,), optional
            Weight of every example: 2 counts the example twice, 0 leaves it out. For graphs, also arrays of weights of nodes.
        dev : tuple (X_dev, y_dev), optional
            Development set. Its error is in the column ``validation_error`` of ``trace_``; training does not depend on it.

        Returns
        -------
        self
            The fitted estimator.
        """
        from fwexp.estimators.certified_fit import certified_fit  # Predictions need no solver, which takes a second to import.

        encoding = self._Encoding(self)
        problem, weights = encoding.learn(X, y, sample_weight)
        return self._fitted(encoding, certified_fit(self, encoding, problem, weights, **encoding.development(dev)))

    def _fitted(self, encoding: Encoding, result: Result) -> Self:
        """Set all that `fit` learns, at once: names and weights belong together."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            vars(self).pop(name)
        vars(self).update({name: value for name, value in vars(encoding).items() if name.endswith("_")})
        self.encoding_, self.result_ = encoding, result
        return self

    @property
    def result_(self) -> Result:
        """The result of `fwexp.solve`. Its weights are read-only, and so are their parts, because the certificate is about them."""
        if "result_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute result_ before fit")
        return vars(self)["result_"]

    @result_.setter
    def result_(self, result: Result) -> None:
        vars(self)["result_"] = result
        weights = stored_weights(result)
        (weights if isinstance(weights, PackedWeights) else weights.flags).writeable = False
        for name in NOT_KEPT:
            vars(self).pop(name, None)

    @cached_property
    def _decoder(self) -> Any:
        """Return the other parts that predictions need; the first prediction makes them."""
        return self.encoding_.decoder(self.result_.w)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in NOT_KEPT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "result_" in vars(self):
            self.result_ = self.result_  # Pickles and copies hold neither flags of arrays nor the decoder.

    def to_problem(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> SetOfExamples:
        """Return labelled examples as a problem for `fwexp.solve`.

        After `fit`, the problem has the features and labels that `fit` has learned. Before, it is the training problem of `fit`,
        and the estimator remains unfitted.

        Parameters
        ----------
        X, y, sample_weight
            The same as for `fit`. After it, unknown labels become -1 if test sets of the family may have that label.

        Returns
        -------
        problem
            A training or test set.
        """
        if "encoding_" in vars(self):
            return weighted(*self.encoding_.problem(X, y, sample_weight))
        return weighted(*self._Encoding(self).learn(X, y, sample_weight))

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """Return the labelings of highest score.

        Parameters
        ----------
        X : sequence of inputs
            As for `fit`.

        Returns
        -------
        sequence of labelings
            One per input: classes in an array (n,), or sets of labels as rows of 0 and 1 in an array (n, L); otherwise a list: of
            sequences with lists of labels, of graphs with arrays (V,) or (H, W), of pairs with their links (m, 2).
        """

    def predict_one(self, x: Any) -> Any:
        """Return the labeling of highest score of one input.

        Parameters
        ----------
        x : input
            One element of an X for `fit`.

        Returns
        -------
        labeling
            The labeling of highest score.
        """
        return self._prediction(x)

    def _prediction(self, x: Any) -> Any:
        return self.predict([x])[0]

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
        check_fitted(self)
        return result_files.save(self.result_, path, self._record())

    def _record(self) -> dict:
        """Return the content of a file of a fitted estimator next to its result, for JSON."""
        params = {name: parameter_to_json(name, value) for name, value in parameters(self.encoding_.params).items()}
        return {"name": type(self).__name__, "params": params, "learned": self.encoding_.to_json()}

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
        return cls._restored(*result_files.read(path, cls.__name__), params, f"path must be a file of {cls.__name__}.save")

    def to_json(self) -> str:
        """Return the fitted estimator as JSON, for tools in other languages.

        Returns
        -------
        str
            An object with ``weights``, a list of [feature, label, weight] without weights that are 0, for taggers and classifiers;
            for other estimators with ``w``, all weights. ``header`` and ``trace`` are the rest of the file of `save`. `from_json`
            restores every bit.
        """
        check_fitted(self)
        return model_json.as_text(self.result_, self._record(), self.encoding_.names())

    @classmethod
    def from_json(cls, text: str, **params: Any) -> Self:
        """Return the estimator that `to_json` wrote.

        Parameters
        ----------
        text : str
            The JSON.
        **params
            As for `load`.

        Returns
        -------
        estimator
            The fitted estimator.
        """
        wrong = f"text must be JSON of {cls.__name__}.to_json"
        try:
            fields, found, weights = model_json.fields_of(text)
        except Exception as error:  # Damaged texts fail anywhere.
            raise ParameterError(f"{wrong}, got {shown(text)} ({error or type(error).__name__})") from error
        return cls._restored(fields, found, params, wrong, weights)

    @classmethod
    def _restored(cls, fields: dict, found: dict | None, params: dict, wrong: str, weights: list | None = None) -> Self:
        """Return the estimator with the fields of a result, from what was written of it, and weights by name if these are given."""
        name = None if found is None else found.get("name")
        if name != cls.__name__:
            known = isinstance(name, str) and name in {*estimators.__all__, *(kind.__name__ for kind in subclasses(CertifiedSVM))}
            got = "that of a Result" if found is None else f"that of {shown(name)}" + (f"; use {name}.load" if known else "")
            raise ParameterError(f"{wrong}, got {got}")
        try:
            given = {name: from_json(value) for name, value in found["params"].items() if name not in params} | params
            for name, value in given.items():
                if isinstance(value, Unsaved):
                    raise OptionError(f"{name} was {value}, which files do not hold: pass it, load(path, {name}=...)")
            self, result = cls(**given), Result(**fields)
            encoding = cls._Encoding(self)
            encoding.from_json(found["learned"], result)
            if weights is not None:
                model_json.fill(result.w, encoding.names(), weights)
            return self._fitted(encoding, result)
        except OptionError:
            raise
        except Exception as error:  # Damaged files fail anywhere.
            why = str(error) or type(error).__name__
            raise ParameterError(f"{wrong}, got one that is damaged ({why})") from error


class FitsFurther:
    """Training in parts, of estimators whose weights have names."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Train on further labelled examples, close to the weights that earlier calls have learned.

        A call minimises the objective of `fit` on its own examples, with lam/2 ||w - w_0||^2 instead of lam/2 ||w||^2. Here w_0
        are the weights before the call, 0 for new features. ``dual_gap_`` and ``result_`` are about this objective. Larger values
        of ``lam`` keep more of what the earlier calls have learned. The first call is the same as `fit`.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. New features by name are added to those that are known.
        classes : sequence, optional
            All labels that any call will have. Needed at the first call, unless `fit` came before.

        Returns
        -------
        self
            The fitted estimator.
        """
        if check_flag("early_stopping", getattr(self, "early_stopping", False)):
            raise ParameterError("early_stopping must be False for partial_fit, got True")
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ParameterError(
                'class_weight must be None or a dict for partial_fit, got "balanced"; labels to come are not known'
            )
        encoding, former = self._Encoding(self), vars(self).get("encoding_")
        classes = classes_of_call(classes, None if former is None else former.classes_)
        return self._fitted(encoding, self._trained_further(encoding, X, y, sample_weight, classes, former))

    def _trained_further(self, encoding: Encoding, X, y, sample_weight, classes, former: Encoding | None) -> Result:
        from fwexp.estimators.certified_fit import certified_fit

        problem, weights = encoding.learn(X, y, sample_weight, classes, former)
        return certified_fit(self, encoding, problem, weights, origin=self._origin(encoding, former))

    def _origin(self, encoding: Encoding, former: Encoding | None) -> np.ndarray | None:
        return None if former is None else carried(self.result_.w, former.names(), encoding.names())


class PartsScore:
    """Score of estimators whose predictions have parts that are right or wrong."""

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of correct parts, such as positions or nodes; of matchings, 1 minus the mean loss.

        Parameters
        ----------
        X, y, sample_weight
            The same as for `fit`.

        Returns
        -------
        float
            Between 0 and 1.
        """
        check_fitted(self)
        right, weights = self._right(X, y, sample_weight)
        if not weights.sum():
            raise ParameterError("X must hold an example whose weight is not 0, to be scored, got none")
        return float(np.average(right, weights=weights))

    @abstractmethod
    def _right(self, X, y, sample_weight) -> tuple[np.ndarray, np.ndarray]:
        """Return how far every part is predicted right, from 0 to 1, and the weights of the parts: 0 without a label."""
