"""Parameters and learned values as JSON: numbers, text, arrays, and containers of these."""

from typing import Any

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.files.text_table import TextTable
from fwexp.templates import Template


class Unsaved(str):
    """The name of a parameter that was a function, or something else that a file does not hold."""


def parameter_to_json(name: str, value) -> Any:
    """Return the value of a parameter for JSON, or the name of an object that a file does not hold."""
    try:
        return to_json(name, value)
    except ParameterError:
        return {"object": getattr(value, "__name__", type(value).__name__)}


def to_json(name: str, value) -> Any:
    """Return a value for JSON, from which `from_json` restores it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.bool_ | np.number) and not isinstance(value.item(), np.generic):
        return to_json(name, value.item())
    if isinstance(value, TextTable):
        return [*value]
    if isinstance(value, list):
        return [to_json(name, item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_json(name, item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[to_json(name, item) for item in pair] for pair in value.items()]}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, np.ndarray):
        numbers = value.view(np.int64) if value.dtype.kind in "mM" else value  # times
        return {"array": to_json(name, numbers.tolist()), "dtype": value.dtype.str}
    if isinstance(value, Template):
        return {"template": value.text}
    raise ParameterError(f"{name} must be made of numbers and text to be saved, got {type(value).__name__} {shown(value)}")


def from_json(value) -> Any:
    """Return the value that `to_json` wrote."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array", "dtype"}:
        return _array(from_json(value["array"]), np.dtype(value["dtype"]))
    ((kind, held),) = value.items()
    kinds = {"tuple": tuple, "dict": dict, "slice": lambda held: slice(*held), "object": Unsaved, "template": Template}
    return kinds[kind](from_json(held))


def _array(values: list, dtype: np.dtype) -> np.ndarray:
    """Return the array of a file, whose type must be a plain one that takes no more memory than its values."""
    if dtype.kind in "US" and dtype.itemsize > np.array(values or [""]).dtype.itemsize:
        raise ValueError(f"texts of type {dtype} are longer than they are")
    if dtype.kind not in "?biufcmMOUS":
        raise ValueError(f"{dtype} is no type of arrays")
    return as_array_of(values, dtype)


def as_array_of(values: list, dtype=None) -> np.ndarray:
    """Return a list of anything as an array; of objects one-dimensional, also where these are sequences."""
    if dtype is not None and dtype.kind != "O":
        return np.array(values, dtype=dtype)
    array = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        array[k] = value
    return array


def names_of(labels: np.ndarray) -> list:
    """Return an array of labels as a list of Python's numbers and texts; of times and long numbers, which it lacks, as numpy's."""
    return list(labels) if labels.dtype.kind in "mM" or labels.dtype == np.longdouble else labels.tolist()
