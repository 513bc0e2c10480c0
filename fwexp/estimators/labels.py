"""Labels of any hashable type as numbers from 0, and back."""

import contextlib
import itertools
import math
from collections.abc import Iterable, Mapping

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.estimators.base import as_array_of
from fwexp.options import check_number


def classes_of(labels: list) -> np.ndarray:
    """Return the labels that occur: sorted, or where they cannot be, as they first occur; objects unless of one simple type."""
    try:
        found = list(dict.fromkeys(labels))
    except TypeError:
        label = next(itertools.filterfalse(_can_be_hashed, labels))
        raise ParameterError(f"labels in y must be hashable, got {type(label).__name__} {shown(label)}") from None
    if any(isinstance(label, float) and math.isnan(label) for label in found):
        raise ParameterError("labels in y must be known, got nan")
    with contextlib.suppress(TypeError):  # not all kinds of labels have an order
        found.sort()
    kinds = {type(label) for label in found}
    simple = len(kinds) == 1 and issubclass(kinds.pop(), str | bool | int | float | np.generic)
    return np.array(found) if simple else as_array_of(found)


def _can_be_hashed(label) -> bool:
    with contextlib.suppress(TypeError):
        hash(label)
        return True
    return False


def numbers_of(labels: Iterable, classes: np.ndarray) -> np.ndarray:
    """Return the number of every label, -1 for those that are not among the classes."""
    index = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([index.get(label, -1) for label in labels], dtype=np.int64)


def weights_of(class_weight, classes: np.ndarray, labels: list) -> np.ndarray | None:
    """Return the weight of every class, of a parameter as scikit-learn has it: None, "balanced" or a dict."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return len(labels) / (len(classes) * np.bincount(numbers_of(labels, classes), minlength=len(classes)))
    names = classes.tolist()
    if not isinstance(class_weight, Mapping) or not set(class_weight) <= set(names):
        raise ParameterError(f'class_weight must be None, "balanced" or a dict of labels in y, got {shown(class_weight)}')
    return np.array(
        [check_number(f"class_weight[{name!r}]", class_weight.get(name, 1.0), "a number >= 0", least=0.0) for name in names]
    )


def costs_of(loss, classes: np.ndarray):
    """Return what labels cost where others are true, of a parameter: None for "hamming", a (K, K) array as it is, or of a dict."""
    if isinstance(loss, str) and loss == "hamming":
        return None
    if not isinstance(loss, Mapping):
        if isinstance(loss, str) or loss is None:
            raise ParameterError(f'loss must be "hamming", a (K, K) array or a dict of pairs of labels, got {shown(loss)}')
        return loss
    numbers = {label: k for k, label in enumerate(classes.tolist())}
    costs = 1.0 - np.eye(len(classes))
    for pair, cost in loss.items():
        if not (isinstance(pair, tuple) and len(pair) == 2 and set(pair) <= set(numbers)):
            raise ParameterError(f"loss must be of pairs (true, predicted) of labels in y, got {shown(pair)}")
        costs[numbers[pair[0]], numbers[pair[1]]] = check_number(f"loss[{pair!r}]", cost, "a number >= 0", least=0.0)
    return costs


def as_sequences(y, lengths: np.ndarray) -> list[list]:
    """Return the labels of sequences as lists, if they have the lengths of their inputs."""
    sequences = []
    for i, labels in enumerate(y):
        if not isinstance(labels, Iterable):
            raise ParameterError(f"y[{i}] must be a sequence of labels, got {type(labels).__name__} {shown(labels)}")
        sequences.append(labels.tolist() if isinstance(labels, np.ndarray) else list(labels))
    if len(sequences) != len(lengths):
        raise ParameterError(f"X and y must have the same length, got {len(lengths)} and {len(sequences)}")
    for i, (labels, length) in enumerate(zip(sequences, lengths.tolist())):
        if len(labels) != length:
            raise ParameterError(f"X[{i}] and y[{i}] must have the same length, got {length} and {len(labels)}")
    return sequences
