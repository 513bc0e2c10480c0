"""Checks of learned values that `load` reads: a file may come from anywhere, and a damaged one is rejected before it is used."""

from collections.abc import Callable

import numpy as np

from fwexp.estimators.labels import names_of
from fwexp.options import is_integer

Check = Callable[[object], bool]


def is_size(value) -> bool:
    """Return whether a value is a number of features."""
    return is_integer(value) and value >= 0


def is_flag(value) -> bool:
    """Return whether a value is true or false."""
    return isinstance(value, bool)


def are_labels(value) -> bool:
    """Return whether a value is an array of different labels."""
    return isinstance(value, np.ndarray) and value.ndim == 1 and 0 < len(value) == len(set(names_of(value)))


def are_names(value) -> bool:
    """Return whether a value is a list of different names."""
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


def are_texts(value) -> bool:
    """Return whether a value is an array of different names."""
    return isinstance(value, np.ndarray) and value.ndim == 1 and are_names(value.tolist())


def are_factors(value) -> bool:
    """Return whether a value is an array of numbers >= 0."""
    return isinstance(value, np.ndarray) and value.dtype == np.float64 and bool((np.isfinite(value) & (value >= 0)).all())


def check_factors(value: np.ndarray | None, shape: tuple[int, ...]) -> None:
    """Reject factors of another shape."""
    if value is not None and value.shape != shape:
        raise ValueError(f"class_weight has shape {value.shape}")


def check_named(names, num_features: int) -> None:
    """Reject names that are not as many as the features."""
    if names is not None and len(names) != num_features:
        raise ValueError(f"{len(names)} names are those of {num_features} features")


def are_pairs(value) -> bool:
    """Return whether a value is an array of pairs of numbers of labels."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu" and (not value.size or value.shape[1:] == (2,))


def or_none(check: Check) -> Check:
    """Return the check of a value that may be missing."""
    return lambda value: value is None or check(value)


def one_of(*accepted) -> Check:
    """Return the check of a value among the accepted ones."""
    return lambda value: isinstance(value, str) and value in accepted
