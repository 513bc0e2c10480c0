"""Encodings: how an estimator's inputs and labelings become a problem, and what of that `fit` learns and files hold."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.estimators.conventions import parameters
from fwexp.estimators.json_values import from_json, names_of, to_json
from fwexp.files.text_table import TextTable
from fwexp.options import is_integer

CONTAINERS = (list, tuple, set, dict, np.ndarray)
Check = Callable[[Any], bool]


class Names(NamedTuple):
    """Names of the weights of an estimator, a table with a row per feature (or score of an end or transition)."""

    rows: list[Hashable]
    columns: list[Hashable]  # the labels


class Encoding(ABC):
    """Facts that training learns about inputs and labelings, with the parameters of that training.

    Attributes whose names end with ``_`` are those of the fitted estimator, too. Parameters that are containers are copied, because
    users may change these in place: predictions, scores and files follow the parameters of the last training.
    """

    schema: ClassVar[dict[str, Check]] = {}  # of the learned values in files

    def __init__(self, estimator) -> None:
        self.params = object.__new__(type(estimator))  # A constructor of a subclass may take fewer parameters.
        for name, value in parameters(estimator).items():
            setattr(self.params, name, deepcopy(value) if isinstance(value, CONTAINERS) else value)

    @abstractmethod
    def learn(self, X, y, sample_weight=None, classes: np.ndarray | None = None, former: Any = None) -> tuple:
        """Learn from labelled examples; return the training problem and the weights of its examples, which are > 0."""
        # For `partial_fit`, ``classes`` are all labels, and ``former`` is the encoding of the call before, if there was one.

    @abstractmethod
    def problem(self, X, y, sample_weight=None) -> tuple:
        """Return a problem with the features and labels of training, and the weights of its examples."""

    def development(self, dev) -> dict:
        """Return the arguments of `fwexp.solve` for a development set of the user, after training has learned its features."""
        if dev is None:
            return {}
        if not isinstance(dev, tuple | list) or len(dev) != 2:
            raise ParameterError(f"dev must be a pair (X_dev, y_dev), got {shown(dev)}")
        return {"validation": self.problem(*dev)[0]}

    def names(self) -> Names | None:
        """Return the names of the weights, or None where they have none."""
        return None

    def decoder(self, w: np.ndarray) -> Any:
        """Return what predictions with the weights need, so that they change nothing and threads can share the estimator."""
        return None

    def learned(self) -> dict:
        """Return the learned values to save."""
        return {}

    def structure(self) -> dict:
        """Return entries of the structure of a result, after a check of the learned values."""
        return {}

    def restore(self, d: int) -> None:
        """Restore what `learned` returned, with d weights."""
        return

    def to_json(self) -> dict:
        """Return the learned values for JSON."""
        return {name: to_json(name, value) for name, value in self.learned().items()}

    def from_json(self, found: dict, result) -> None:
        """Restore the learned values of a file with a result; raise an error if they are damaged."""
        learned = {name: from_json(value) for name, value in found.items()}
        for name, value in learned.items():
            if name not in self.schema or not self.schema[name](value):
                raise ValueError(f"{name} is {shown(value)}")
        self.restore(result.structure["d"], **learned)
        for name, size in self.structure().items():
            if result.structure.get(name) != size:
                raise ValueError(f"{name} is {shown(result.structure.get(name))}, which does not fit to the learned values")


def feature_rows(names: Sequence[str] | None, num_features: int) -> list[Hashable]:
    """Return the names of the rows of features; columns of numbers have their place among as many."""
    return [*names] if names is not None else [(k, num_features) for k in range(num_features)]


def carried(weights: np.ndarray, names: Names, wanted: Names) -> np.ndarray:
    """Return weights under other names: the known rows and columns, and 0 elsewhere."""
    found = np.zeros((len(wanted.rows), len(wanted.columns)))
    old_rows, new_rows = _places(names.rows, wanted.rows)
    old_columns, new_columns = _places(names.columns, wanted.columns)
    table = weights.reshape(len(names.rows), len(names.columns))
    found[np.ix_(new_rows, new_columns)] = table[np.ix_(old_rows, old_columns)]
    return found.ravel()


def _places(names: list, wanted: list) -> tuple[list[int], list[int]]:
    """Return where the common names are in both lists."""
    place = {name: k for k, name in enumerate(names)}
    pairs = [(place[name], k) for k, name in enumerate(wanted) if name in place]
    return [old for old, _ in pairs], [new for _, new in pairs]


# -- checks of learned values: a file may come from anywhere, and a damaged one is rejected before it is used


def is_size(value) -> bool:
    """Return whether a value is a number of features."""
    return is_integer(value) and value >= 0


def are_labels(value) -> bool:
    """Return whether a value is an array of different labels."""
    return isinstance(value, np.ndarray) and value.ndim == 1 and 0 < len(value) == len(set(names_of(value)))


def are_names(value) -> bool:
    """Return whether a value is missing, or holds different names."""
    if value is None:
        return True
    if isinstance(value, TextTable):
        return value.are_different()
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


def are_factors(value) -> bool:
    """Return whether a value is missing, or an array of numbers >= 0."""
    if value is None:
        return True
    return isinstance(value, np.ndarray) and value.dtype == np.float64 and bool((np.isfinite(value) & (value >= 0)).all())


def check_factors(value: np.ndarray | None, shape: tuple[int, ...]) -> None:
    """Reject factors of another shape."""
    if value is not None and value.shape != shape:
        raise ValueError(f"class_weight has shape {value.shape}")
