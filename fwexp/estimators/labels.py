"""Labels of any hashable type as numbers from 0, and back; weights of examples or of their parts (positions, nodes)."""

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_floats, as_list
from fwexp.errors import ParameterError, shown
from fwexp.estimators.json_values import as_array_of, names_of
from fwexp.options import check_number

OPEN = object()  # marks positions of which nothing is known, next to None


def classes_of(labels: list) -> np.ndarray:
    """Return the labels that occur: sorted, or where they cannot be, as they first occur; objects unless of one simple type."""
    try:
        found = list(dict.fromkeys(labels))
    except TypeError:
        label = next(itertools.filterfalse(_can_be_hashed, labels))
        raise ParameterError(f"labels in y must be hashable, got {type(label).__name__} {shown(label)}") from None
    with contextlib.suppress(TypeError):  # not all kinds of labels have an order
        found.sort()
    kinds = {type(label) for label in found}
    simple = len(kinds) == 1 and issubclass(kinds.pop(), str | bool | int | float | np.generic)
    return exact_array(found) if simple else as_array_of(found)


def _can_be_hashed(label) -> bool:
    with contextlib.suppress(TypeError):
        hash(label)
        return True
    return False


def exact_array(labels: list) -> np.ndarray:
    """Return labels as an array of which `names_of` returns the same ones: of objects where numpy would change them."""
    array = np.array(labels)
    kept = all(one == other and hash(one) == hash(other) for one, other in zip(names_of(array), labels))
    return array if kept else as_array_of(labels)


def numbers_of(labels: Iterable, classes: np.ndarray) -> np.ndarray:
    """Return the number of every label, -1 for those that are not among the classes."""
    index = {label: k for k, label in enumerate(names_of(classes))}
    return np.array([index.get(label, -1) for label in labels], dtype=np.int64)


def is_among(label, names: set) -> bool:
    """Return whether a label is among some; one that has no hash is not."""
    with contextlib.suppress(TypeError):
        return label in names
    return False


def allowed_labels(entries: list, classes: np.ndarray) -> np.ndarray:
    """Return the labels that positions may have, bool (N, K), given a label, a set of labels or None, which is any, for each."""
    index = {label: k for k, label in enumerate(names_of(classes))}
    allowed = np.zeros((len(entries), len(classes)), dtype=np.bool_)
    for row, entry in zip(allowed, entries):
        if entry is None:
            row[:] = True
        else:
            row[[index[label] for label in (entry if isinstance(entry, set) else (entry,)) if label in index]] = True
    return allowed


def partial_labels(partial, ptr: np.ndarray, classes: np.ndarray, skips: bool, ignore_label) -> tuple:
    """Return what is known of positions of sequences that begin and end at ``ptr``: a label, a set of labels, or None, for each."""
    # The values are the labels that positions may have, bool (N, K), and None. If training ``skips`` positions, these are marked by
    # ``ignore_label``; then the first value is that of the other positions, and the second says which these are.
    accepted, kept, names = "labels, sets of labels and None", None, set(names_of(classes))
    sequences = [
        as_list(f"partial[{i}]", of_one, accepted) for i, of_one in enumerate(as_list("partial", partial, f"lists of {accepted}"))
    ]
    lengths, entries = [*map(len, sequences)], [*itertools.chain.from_iterable(sequences)]
    if lengths != np.diff(ptr).tolist():
        raise ParameterError(f"partial must have one entry per position of X, got lengths {shown(lengths)}")
    if skips:
        kept = np.array([entry is None or not is_mark(entry, ignore_label) for entry in entries], dtype=np.bool_)
        entries = [*itertools.compress(entries, kept)]
    for entry in entries:
        if entry is not None and not (entry and entry <= names if isinstance(entry, set) else is_among(entry, names)):
            raise ParameterError(f"partial must hold labels in classes_, sets of these and None, got {shown(entry)}")
    return allowed_labels(entries, classes), kept


def by_sequence(labels: list, ptr: np.ndarray, kept: np.ndarray | None, ignore_label) -> list[list]:
    """Return the labels of positions as a list for each sequence; positions that are not ``kept`` have ``ignore_label``."""
    if kept is not None:
        rest = iter(labels)
        labels = [next(rest) if is_kept else ignore_label for is_kept in kept.tolist()]
    return [labels[start:end] for start, end in itertools.pairwise(ptr.tolist())]


def check_known(labels: list, place: Callable[[int], str], example: str) -> None:
    """Reject labels that are missing; messages name the place of label k, and the example to leave out."""
    try:
        distinct = dict.fromkeys(labels)  # which are few
    except TypeError:
        distinct = labels
    if any(map(_is_missing, distinct)):
        k = next(k for k, label in enumerate(labels) if _is_missing(label))
        raise ParameterError(f"{place(k)} must be a label, got {shown(labels[k])}; label it, or leave {example} out")


def known_or_none(labels: list, ignore_label, place: Callable[[int], str], example: str) -> list:
    """Return labels, with None for those that ``ignore_label`` or None marks if it is not None itself; reject missing ones."""
    if ignore_label is None:
        check_known(labels, place, example)
        return labels
    ignored = [is_mark(label, ignore_label) for label in labels]
    places = [k for k, missing in enumerate(ignored) if not missing]
    check_known([labels[k] for k in places], lambda k: place(places[k]), example)
    return [None if missing else label for label, missing in zip(labels, ignored)]


def labels_in(entries: list) -> list:
    """Return the labels of entries that are labels or sets of these, those in sets last."""
    in_sets = {label for entry in entries if isinstance(entry, set) for label in entry}
    return [entry for entry in entries if not isinstance(entry, set)] + sorted(in_sets, key=repr)


def has_sets(sequences: list[list]) -> bool:
    """Return whether some position has a set of labels."""
    checked = (labels for labels in sequences if isinstance(labels, list))  # Others are rejected elsewhere.
    return any(isinstance(label, set) for labels in checked for label in labels)


def is_mark(label, ignore_label) -> bool:
    """Return whether a label marks a position without one."""
    return label is None or label is ignore_label or label == ignore_label


def _is_missing(label) -> bool:
    if isinstance(label, str):
        return not label
    if isinstance(label, set):
        return not label or any(map(_is_missing, label))
    if label is None or label is np.ma.masked:
        return True
    pd = sys.modules.get("pandas")  # Without it there are no missing values of its own.
    if pd is not None:
        return pd.api.types.is_scalar(label) and bool(pd.isna(label))
    return isinstance(label, Number | np.generic) and bool(label != label)


def check_among(labels: list, classes: np.ndarray) -> None:
    """Reject labels that are not among the classes of `partial_fit`."""
    known = set(names_of(classes))
    if unknown := [label for label in dict.fromkeys(labels) if label not in known]:
        raise ParameterError(f"y must hold labels in classes, got {shown(unknown[0])}; name all labels at the first partial_fit")


def classes_of_call(given, known: np.ndarray | None) -> np.ndarray:
    """Return the classes of a call of `partial_fit`, given its argument and the classes of former calls, if there are any."""
    if given is None:
        if known is None:
            raise ParameterError("classes must hold all labels at the first call of partial_fit, got None")
        return known
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(f"classes must hold all labels, got {shown(given)}")
    found = classes_of(names_of(given) if isinstance(given, np.ndarray) else list(given))
    if not len(found):
        raise ParameterError("classes must hold all labels, got none")
    if known is not None and set(names_of(found)) != set(names_of(known)):
        raise ParameterError(f"classes must be those of the first call, {shown(names_of(known))}, got {shown(names_of(found))}")
    return found if known is None else known


def check_counted(classes: np.ndarray, void: tuple[int, ...]) -> None:
    """Reject numbers that mark missing labels if labels count from 0."""
    found = set(names_of(classes))
    if {0, 1} <= found and (found := found.intersection(void)):
        code = f"{min(found)}, which marks missing labels where labels are 0, 1, ..."
        raise ParameterError(f"labels in y must be known, got {code}; leave these examples out, or write labels as texts")


def example_labels(y):
    """Return the labels of examples, one each, as an array that has them unchanged, or as they are for scikit-learn to check."""
    if isinstance(y, list | tuple) or (isinstance(y, np.ma.MaskedArray) and y.ndim == 1):
        labels = list(y)
        if any(isinstance(label, list | tuple | np.ndarray) and label is not np.ma.masked for label in labels):
            return y
        check_known(labels, "y[{}]".format, "this example")
        return exact_array(labels)
    if y is not None and not np.isscalar(y) and not sp.issparse(y):
        check_known(names_of(np.ravel(np.asarray(y))), "y[{}]".format, "this example")
    return y


def weights_of(class_weight, classes: np.ndarray, labels: list, weights: np.ndarray | None = None) -> np.ndarray | None:
    """Return the weight of every class, of a parameter as scikit-learn has it: None, "balanced" or a dict."""
    # For "balanced" weights, a label counts as often as ``weights`` say, and a class that none of the labels has counts once.
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(numbers_of(labels, classes), weights, minlength=len(classes))
        return counts.sum() / (len(classes) * np.where(counts == 0, 1, counts))
    names = names_of(classes)
    if not isinstance(class_weight, Mapping) or not set(class_weight) <= set(names):
        raise ParameterError(f'class_weight must be None, "balanced" or a dict of labels in y, got {shown(class_weight)}')
    return np.array(
        [check_number(f"class_weight[{name!r}]", class_weight.get(name, 1.0), "a number >= 0", least=0.0) for name in names]
    )


def costs_of(given, classes: np.ndarray):
    """Return the costs of wrong labels from a parameter: None, a (K, K) array as it is, or the array of a dict."""
    if not isinstance(given, Mapping):
        if isinstance(given, str):
            raise ParameterError(f"costs must be None, a (K, K) array or a dict of pairs of labels, got {shown(given)}")
        return given
    numbers = {label: k for k, label in enumerate(names_of(classes))}
    costs = 1.0 - np.eye(len(classes))
    for pair, cost in given.items():
        if not (isinstance(pair, tuple) and len(pair) == 2 and set(pair) <= set(numbers)):
            raise ParameterError(f"costs must be of pairs (true, predicted) of labels in y, got {shown(pair)}")
        costs[numbers[pair[0]], numbers[pair[1]]] = check_number(f"costs[{pair!r}]", cost, "a number >= 0", least=0.0)
    return costs


def check_same_length(X, y) -> None:
    """Reject inputs that are not as many as their labelings."""
    if len(X) != len(y):
        raise ParameterError(f"X and y must have the same length, got {len(X)} and {len(y)}")


def as_sequences(y, lengths: np.ndarray, ignore_label=None) -> list[list]:
    """Return the labels of sequences as lists, if they are known and have the lengths of their inputs."""
    # Where ``ignore_label`` is not None, it and None mark positions without a label, which are None in the lists. Where some
    # positions have sets of labels, None is any label.
    sequences = []
    for i, labels in enumerate(y):
        if not isinstance(labels, Iterable):
            raise ParameterError(f"y[{i}] must be a sequence of labels, got {type(labels).__name__} {shown(labels)}")
        is_array = isinstance(labels, np.ndarray) and not np.ma.is_masked(labels)
        sequences.append(names_of(labels) if is_array else list(labels))
    if ignore_label is None and has_sets(sequences):
        ignore_label = OPEN
    sequences = [known_or_none(of_one, ignore_label, f"y[{i}][{{}}]".format, "this sequence") for i, of_one in enumerate(sequences)]
    check_same_length(lengths, sequences)
    for i, (labels, length) in enumerate(zip(sequences, lengths.tolist())):
        if len(labels) != length:
            raise ParameterError(f"X[{i}] and y[{i}] must have the same length, got {length} and {len(labels)}")
    return sequences


def labels_of(y, ptr: np.ndarray, ignore_label=None) -> list:
    """Return the labels of all positions, of sequences that begin and end at ``ptr``."""
    sequences = as_sequences(as_list("y", y, "sequences of labels"), np.diff(ptr), ignore_label)
    return list(itertools.chain.from_iterable(sequences))


# -- weights, as ``sample_weight`` gives them


def check_weights(weights, n: int) -> np.ndarray:
    """Return the weights of n examples as an array."""
    weights = as_floats("sample_weight", weights, "hold one number per example")
    if weights.shape != (n,):
        raise ParameterError(f"sample_weight must have shape ({n},), one per example, got {weights.shape}")
    return weights


def part_weights(given: Any, lengths: np.ndarray) -> np.ndarray | list[np.ndarray] | None:
    """Return weights of sequences, an array, or of their positions, an array per sequence; None if none are given."""
    if given is None:
        return None
    if not isinstance(given, list | tuple) or not given or any(np.ndim(weights) != 1 for weights in given):
        return check_weights(given, len(lengths))
    found = [as_floats(f"sample_weight[{i}]", weights, "hold a number per position") for i, weights in enumerate(given)]
    if [len(weights) for weights in found] != lengths.tolist():
        raise ParameterError("sample_weight must hold a number per sequence, or an array (T,) per sequence, like y")
    return found


def right_parts(wanted: list[list], predicted: list[list], weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the labels of parts are predicted right, and the weights of the parts: 0 where a label is None."""
    pairs = [pair for labels in zip(wanted, predicted) for pair in zip(*labels)]
    right = [b in a if isinstance(a, set) else a is not None and a == b for a, b in pairs]
    known = np.array([label is not None for labels in wanted for label in labels], dtype=np.float64)
    return np.array(right, dtype=bool), known if weights is None else known * weights


def at_positions(weights, lengths: np.ndarray) -> np.ndarray:
    """Return the weights of all positions, of checked weights of sequences or of their positions."""
    return np.concatenate(weights) if isinstance(weights, list) else np.repeat(weights, lengths)


def counted(weights: np.ndarray | None, *rows) -> tuple:
    """Return the weights that are not 0, and of each of ``rows`` those of the same examples: 0 leaves an example out."""
    if weights is None or weights.min(initial=1.0) > 0.0:
        return weights, *rows
    if weights.min() < 0.0:
        raise ParameterError(f"sample_weight must be >= 0, got sample_weight[{weights.argmin()}] = {weights.min():g}")
    if not (kept := np.flatnonzero(weights)).size:
        raise ParameterError("sample_weight must be > 0 for one example at least, got only 0")
    return weights[kept], *(some(of_one, kept) for of_one in rows)


def some(values, indices: np.ndarray) -> Any:
    """Return the elements of an array, a matrix or a sequence at the indices, as one of its kind; None of None."""
    if values is None:
        return None
    return values[indices] if hasattr(values, "shape") else [values[i] for i in indices]


def weighted(problem, weights: np.ndarray | None):
    """Return a problem whose examples have weights, if there are any."""
    if weights is None:
        return problem
    from fwexp.problems.weighted import weighted_problem  # Predictions need no problem.

    return weighted_problem(problem, weights)
