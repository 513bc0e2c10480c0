"""From files to a training and a test problem.

A data set in ``fwexp/data``, or in a package of its own, is as short as this (the files lie in the data folder)::

    from fwexp.data import DataFile, Dataset
    from fwexp.data.readers.file_problems import from_columns

    def read(options, data_dir):
        train, test = DATASET.locate(data_dir).values()
        return from_columns(train, test).problems

    DATASET = Dataset(
        name="tags",
        title="words and their tags",
        shape="as the files have it",
        files=(DataFile("tags/train.txt"), DataFile("tags/test.txt")),
        read=read,
    )
"""

import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fwexp.data.data_files import npz_arrays
from fwexp.data.readers.columns import Columns
from fwexp.data.readers.lines import naming
from fwexp.data.readers.svmlight import add, matrix, numbers_or_texts, rows_of
from fwexp.errors import DataError, ParameterError, shown
from fwexp.files.user_paths import check_path
from fwexp.options import check_function, check_integer
from fwexp.templates import default_template
from fwexp.types import AnyPath, SetOfExamples


class Problems(NamedTuple):
    """Two problems from files, and the labels of the files."""

    train: SetOfExamples
    test: Any  # None without a test file; labels that the training file does not have are -1: never predicted, counted wrong
    labels: tuple[Any, ...]  # label k of the problems is labels[k] of the files

    @property
    def problems(self) -> tuple[SetOfExamples, Any]:
        """The training and the test problem."""
        return self.train, self.test


def from_columns(
    train: AnyPath,
    test: AnyPath | None = None,
    *,
    label: int = -1,
    features: Callable[[Sequence[Any]], Iterable[Any]] | None = None,
    min_count: int = 1,
) -> Problems:
    r"""Return problems of sequences from sentences in columns.

    Parameters
    ----------
    train, test : path
        Files as for `read_columns`.
    label : int, default -1
        The column of the labels, counted from 0, or from the end if negative.
    features : callable, optional
        ``features(tokens)`` returns the features of every token of a sentence, each a collection of strings, such as a
        `Template`. ``tokens`` are the tuples of the other columns. By default `default_template`.
    min_count : int, default 1
        Features that fewer tokens of the training file have are left out, and so are features that only the test file has.

    Returns
    -------
    Problems
        Labels are numbered in sorted order.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fwexp.data.readers.file_problems import from_columns
    >>> path = Path(mkdtemp()) / "tags.txt"
    >>> _ = path.write_text("the D\ncat N\nsleeps V\n\na D\ndog N\n")
    >>> train, test, labels = from_columns(path)
    >>> train.n, labels
    (2, ('D', 'N', 'V'))
    """
    from fwexp.problems.chain import chain_from_arrays

    check_function("features", features, optional=True)
    min_count = check_integer("min_count", min_count, 1)
    parts = [Columns(label).read(path) for path in _given(train, test)]
    features = features or default_template(len(parts[0][0][0][0]))
    known: dict[str, int] = {}
    rows = [_indicators(X, features, known, learn=number == 0) for number, (X, _) in enumerate(parts)]
    often = np.flatnonzero(np.bincount(rows[0].indices, minlength=len(known)) >= min_count)
    if not len(often):
        raise ParameterError(f"features must return a string that at least min_count={min_count} tokens have; lower min_count")
    names, labels = _numbered([[name for truth in y for name in truth] for _, y in parts])
    problems = []
    for (X, _), x, y in zip(parts, rows, labels, strict=True):
        ptr = np.concatenate(([0], np.cumsum([len(tokens) for tokens in X])))
        problems.append(chain_from_arrays(x[:, often], y, ptr, len(names)))
    return _result(problems, names)


def from_npz(train: AnyPath, test: AnyPath | None = None) -> Problems:
    """Return problems of sequences or classes from arrays.

    Parameters
    ----------
    train, test : path
        Files of ``numpy.savez`` with ``X`` (N, p), ``y`` (N,), which may be numbers or text, and for sequences ``ptr`` (n + 1,):
        sequence i has the rows ``ptr[i] .. ptr[i+1]``.

    Returns
    -------
    Problems
        Of sequences if the files have ``ptr``, otherwise of classes. Labels are numbered in sorted order.
    """
    paths = _given(train, test)
    parts = [_labelled_arrays(path) for path in paths]
    names, labels = _numbered([part["y"].tolist() for part in parts])
    return _result([_problem(path, part["X"], y, part.get("ptr"), names) for path, part, y in zip(paths, parts, labels)], names)


def from_svmlight(train: AnyPath, test: AnyPath | None = None) -> Problems:
    """Return problems of sequences or classes from sparse rows.

    Parameters
    ----------
    train, test : path
        Texts with rows ``label [qid:name] index:value ... # comment``, as for `read_svmlight`. Indices begin with 1, or with 0
        if an index is 0; features that only the test file has are left out.

    Returns
    -------
    Problems
        Of sequences if the rows have a ``qid``, otherwise of classes. Labels are numbered in sorted order.
    """
    paths = _given(train, test)
    parts = [_rows(path) for path in paths]
    indices = [np.asarray(rows[0]) for rows, _, _ in parts]
    if not len(indices[0]):
        raise DataError(f"{paths[0]}: no features")
    first = int(min(found.min(initial=1) for found in indices))
    size = int(indices[0].max()) + 1
    names, labels = _numbered([part[1] for part in parts])
    given = zip(paths, parts, labels, strict=True)
    return _result([_problem(path, matrix(*rows, size)[:, first:], y, ptr, names) for path, (rows, _, ptr), y in given], names)


def _rows(path: Path) -> tuple[tuple[array, array, array], list, np.ndarray | None]:
    """Return columns, values and ends of the rows of a file, their labels, and where sequences begin and end, if there are any."""
    columns, values, ends, labels, qids = array("q"), array("d"), array("q", [0]), [], []
    for _, _, row in rows_of(path):
        if row is not None:
            add([row], columns, values, ends)
            labels.append(row.label)
            qids.append(row.qid)
    if not labels:
        raise DataError(f"{path}: no rows")
    starts = [0, *(t for t in range(1, len(qids)) if qids[t] != qids[t - 1]), len(qids)]
    return (columns, values, ends), numbers_or_texts(labels), None if qids[0] is None else np.array(starts)


def _labelled_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays X (N, p), y (N,) and perhaps ptr (n + 1,) of a file, checked."""
    try:
        arrays = npz_arrays(path)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path}: cannot be read as npz: {error}") from error
    if not {"X", "y"} <= set(arrays):
        raise DataError(f"{path}: expected arrays X, y and perhaps ptr, got {', '.join(sorted(arrays)) or 'none'}")
    X, y, ptr = arrays["X"], arrays["y"], arrays.get("ptr")
    if y.ndim != 1 or X.ndim != 2 or len(X) != len(y):
        raise DataError(f"{path}: X must have shape (N, p) and y (N,), got {X.shape} and {y.shape}")
    if y.dtype.kind not in "biufU" or (y.dtype.kind == "f" and not np.isfinite(y).all()):
        raise DataError(f"{path}: y must hold finite numbers or text, got {shown(y)}")
    if ptr is not None:
        whole = ptr.ndim == 1 and ptr.dtype.kind in "iu" and len(ptr) > 1 and ptr[0] == 0 and ptr[-1] == len(y)
        if not whole or (np.diff(ptr.astype(np.int64)) <= 0).any():
            raise DataError(f"{path}: ptr must hold increasing whole numbers from 0 to {len(y)}, got {shown(ptr)}")
    return arrays


def _given(train, test) -> list[Path]:
    given = {"train": train} | ({} if test is None else {"test": test})
    return [check_path(name, path) for name, path in given.items()]


def _result(problems: list, names: tuple) -> Problems:
    return Problems(problems[0], problems[1] if len(problems) > 1 else None, names)


def _indicators(X: Sequence, features: Callable, known: dict[str, int], *, learn: bool):
    """Return a row of indicators for every token, of features with numbers in ``known``, to which new ones are added or not."""
    from scipy.sparse import csr_array

    columns, ends = array("i"), array("q", [0])
    for tokens in X:
        positions = list(features(tokens))
        if len(positions) != len(tokens):
            raise ParameterError(
                f"features must return a collection of strings per token, got {len(positions)} for {len(tokens)} tokens"
            )
        for position in positions:
            names = dict.fromkeys((position,) if isinstance(position, str) else position)
            if learn:
                columns.extend([known.setdefault(name, len(known)) for name in names])
            else:
                columns.extend([known[name] for name in names if name in known])
            ends.append(len(columns))
    indices = np.asarray(columns)
    return csr_array((np.ones(len(indices)), indices, np.asarray(ends)), shape=(len(ends) - 1, max(1, len(known))))


def _numbered(parts: list[list]) -> tuple[tuple, list[np.ndarray]]:
    """Return the labels of the first part in sorted order, and all as numbers, -1 for those that it does not have."""
    names = tuple(sorted(set(parts[0])))
    number = {name: k for k, name in enumerate(names)}
    return names, [np.array([number.get(name, -1) for name in part], dtype=np.int64) for part in parts]


def _problem(path: Path, x, y: np.ndarray, ptr, names: tuple):
    from fwexp.problems.chain import chain_problem
    from fwexp.problems.multiclass import multiclass_problem

    with naming(path):
        if ptr is None:
            return multiclass_problem(x, y, len(names))
        pieces = [slice(a, b) for a, b in zip(ptr[:-1].tolist(), ptr[1:].tolist())]
        return chain_problem([x[piece] for piece in pieces], [y[piece] for piece in pieces], len(names))
