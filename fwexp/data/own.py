"""People's own files: columns as in the CoNLL tasks, numpy's npz, svmlight. From a file or two to problems.

A data set in ``fwexp/data``, or in a package of one's own, is as short as this (the files lie in the data folder)::

    from fwexp.data import DataFile, Dataset
    from fwexp.data.own import from_columns

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

import math
import re
import zipfile
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fwexp.data.data_files import npz_arrays, read_lines
from fwexp.errors import DataError, ParameterError, shown
from fwexp.options import check_function, check_integer, check_path, is_integer

LARGEST_INDEX = 2**31 - 1  # of a feature, as in other programs that read svmlight's format
SVMLIGHT = re.compile(r"(\d+):(\S+)")


class Own(NamedTuple):
    """What was made of files: two problems, and what their labels stand for."""

    train: Any
    test: Any  # None without a test file; labels that the training file does not have are -1: never predicted, counted wrong
    labels: tuple  # label k of the problems is labels[k] of the files

    @property
    def problems(self) -> tuple:
        """The training and the test problem."""
        return self.train, self.test


def neighbours(tokens: Sequence[tuple[str, ...]], t: int) -> Iterator[str]:
    """Yield the columns of the token at position ``t`` and of those before and after it, and a constant."""
    yield "1"
    for offset in (-1, 0, 1):
        if 0 <= t + offset < len(tokens):
            for column, value in enumerate(tokens[t + offset]):
                yield f"{offset}:{column}={value}"


def read_columns(path, label: int = -1) -> tuple[list[list[tuple[str, ...]]], list[list[str]]]:
    r"""Read sequences as they are, for the estimators: one token per line, an empty line after each sequence.

    Parameters
    ----------
    path : path
        A text in UTF-8, packed (``.gz``) or not.
    label : int
        Which column is the label, from 0, or from the end if negative.

    Returns
    -------
    X : list of lists of tuples
        The other columns of every token of every sequence.
    y : list of lists of str
        Their labels.

    Raises
    ------
    ValueError
        A file that is missing or has lines of other lengths; the message names the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "tags.txt"
    >>> _ = path.write_text("the D\ncat N\n\na D\n")
    >>> read_columns(path)
    ([[('the',), ('cat',)], [('a',)]], [['D', 'N'], ['D']])
    """
    if not is_integer(label):
        raise ParameterError(f"label must be the number of a column, got {shown(label)}")
    path, X, y, width = check_path("path", path), [], [], None
    begins = True
    for number, words in _words(path):
        if words:
            width = width or len(words)
            if len(words) != width or not -width <= label < width:
                expected = width if len(words) != width else f"more, as label is {label}"
                raise DataError(f"{path}, line {number}: {len(words)} columns, expected {expected}")
            if begins:
                X.append([])
                y.append([])
            y[-1].append(words.pop(label))
            X[-1].append(tuple(words))
        begins = not words
    if not X:
        raise DataError(f"{path}: no sequences")
    return X, y


def from_columns(train, test=None, *, label: int = -1, features: Callable = neighbours, min_count: int = 1) -> Own:
    r"""Read sequences: one token per line in columns between blanks, an empty line after each sequence.

    Parameters
    ----------
    train, test : path
        Texts in UTF-8, packed (``.gz``) or not.
    label : int
        Which column is the label, from 0, or from the end if negative.
    features : callable
        ``features(tokens, t)`` gives the features of position t as strings; each is an indicator. ``tokens`` are the tuples
        of the other columns.
    min_count : int
        Features that are rarer in the training file are left out, and so are those that only the test file has.

    Returns
    -------
    Own
        With problems of sequences; labels are numbered in sorted order.

    Raises
    ------
    ValueError
        A file that is missing or not as described; the message names the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "tags.txt"
    >>> _ = path.write_text("the D\ncat N\nsleeps V\n\na D\ndog N\n")
    >>> train, test, labels = from_columns(path)
    >>> train.n, labels
    (2, ('D', 'N', 'V'))
    """
    from scipy.sparse import csr_array

    from fwexp.problems.chain import chain_from_arrays

    check_function("features", features)
    min_count = check_integer("min_count", min_count, 1)
    parts = [list(zip(*read_columns(path, label))) for path in _given(train, test)]
    rows = [[dict.fromkeys(features(tokens, t)) for tokens, _ in part for t in range(len(tokens))] for part in parts]
    counts: dict[Hashable, int] = {}
    for row in rows[0]:
        for name in row:
            counts[name] = counts.get(name, 0) + 1
    known = {name: j for j, name in enumerate(name for name, count in counts.items() if count >= min_count)}
    if not known:
        raise ParameterError(f"features must give something at least {min_count} times (min_count), got nothing")
    values = [[value for _, truth in part for value in truth] for part in parts]
    names, labels = _numbered(values)
    problems = []
    for part, found, y in zip(parts, rows, labels, strict=True):
        indices = [[known[name] for name in row if name in known] for row in found]
        indptr = np.concatenate(([0], np.cumsum([len(row) for row in indices])))
        columns = np.array([j for row in indices for j in row], dtype=np.int32)
        x = csr_array((np.ones(len(columns)), columns, indptr), shape=(len(found), len(known)))
        ptr = np.concatenate(([0], np.cumsum([len(tokens) for tokens, _ in part])))
        problems.append(chain_from_arrays(x, y, ptr, len(names)))
    return _own(problems, names)


def from_npz(train, test=None) -> Own:
    """Read arrays ``X`` (N, p) and ``y`` (N,), and for sequences ``ptr`` (n + 1,): sequence i is ``ptr[i] .. ptr[i+1]``.

    Parameters
    ----------
    train, test : path
        Files of ``numpy.savez``. Labels may be numbers or text.

    Returns
    -------
    Own
        With problems of sequences where there is ``ptr``, else of classes; labels are numbered in sorted order.

    Raises
    ------
    ValueError
        A file that is missing or damaged, or has other arrays.
    """
    paths = _given(train, test)
    parts = [_arrays(path) for path in paths]
    names, labels = _numbered([part["y"].tolist() for part in parts])
    return _own([_problem(path, part["X"], y, part.get("ptr"), names) for path, part, y in zip(paths, parts, labels)], names)


def from_svmlight(train, test=None) -> Own:
    """Read sparse rows ``label index:value ... # comment``; with ``qid:number`` after the label a run of rows is a sequence.

    Parameters
    ----------
    train, test : path
        Texts, packed (``.gz``) or not. Indices begin with 1, or with 0 if one is 0; features that only the test file has are
        left out.

    Returns
    -------
    Own
        With problems of sequences where there are qids, else of classes; labels are numbered in sorted order.

    Raises
    ------
    ValueError
        A file that is missing or not as described; the message names the line.
    """
    from scipy.sparse import csr_array

    paths = _given(train, test)
    parts = [_rows(path) for path in paths]
    indices = [[j for row in part for j in row.indices] for part in parts]
    if not indices[0]:
        raise DataError(f"{paths[0]}: no features")
    first = 0 if any(0 in found for found in indices) else 1
    size = max(indices[0]) + 1 - first
    names, labels = _numbered([[row.label for row in part] for part in parts])
    problems = []
    for path, part, found, y in zip(paths, parts, indices, labels, strict=True):
        columns, values = np.array(found, dtype=np.int64) - first, np.array([v for row in part for v in row.values])
        counts = np.repeat(np.arange(len(part)), [len(row.indices) for row in part])
        kept = columns < size
        x = csr_array((values[kept], (counts[kept], columns[kept])), shape=(len(part), size))
        problems.append(_problem(path, x, y, _runs(path, [row.qid for row in part]), names))
    return _own(problems, names)


class _Row(NamedTuple):
    label: float
    qid: str | None
    indices: list[int]
    values: list[float]


def _given(train, test) -> list[Path]:
    given = {"train": train} | ({} if test is None else {"test": test})
    return [check_path(name, path) for name, path in given.items()]


def _own(problems: list, names: tuple) -> Own:
    return Own(problems[0], problems[1] if len(problems) > 1 else None, names)


def _numbered(parts: list[list]) -> tuple[tuple, list[np.ndarray]]:
    """Return the labels of the first part in sorted order, and all as numbers, -1 for those that it does not have."""
    names = tuple(sorted(set(parts[0])))
    number = {name: k for k, name in enumerate(names)}
    return names, [np.array([number.get(name, -1) for name in part], dtype=np.int64) for part in parts]


def _problem(path: Path, x, y: np.ndarray, ptr, names: tuple):
    from fwexp.problems.chain import chain_problem
    from fwexp.problems.multiclass import multiclass_problem

    try:
        if ptr is None:
            return multiclass_problem(x, y, len(names))
        pieces = [slice(a, b) for a, b in zip(ptr[:-1].tolist(), ptr[1:].tolist())]
        return chain_problem([x[piece] for piece in pieces], [y[piece] for piece in pieces], len(names))
    except ParameterError as error:
        raise DataError(f"{path}: {error}") from error


def _rows(path: Path) -> list[_Row]:
    """Return the rows of a text in svmlight's format."""
    rows = []
    for number, words in _words(path, comment="#"):
        if words:
            label, *pairs = words
            qid = pairs.pop(0)[4:] if pairs and pairs[0].startswith("qid:") else None
            found = [SVMLIGHT.fullmatch(pair) for pair in pairs]
            try:
                indices, values = [int(match[1]) for match in found], [float(match[2]) for match in found]
                rows.append(_Row(_number(label), qid, indices, values))
            except (TypeError, ValueError) as error:
                form = "label [qid:number] index:value ..."
                raise DataError(f"{path}, line {number}: expected {form}, got {shown(' '.join(words))}") from error
            if max(indices, default=0) > LARGEST_INDEX:
                raise DataError(f"{path}, line {number}: index {shown(max(indices))}, expected at most {LARGEST_INDEX}")
    if not rows:
        raise DataError(f"{path}: no rows")
    return rows


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return int(value) if value.is_integer() else value


def _runs(path: Path, qids: list[str | None]) -> np.ndarray | None:
    """Return where runs of equal qids begin, and the end; None if there are no qids."""
    if None in qids:
        if any(qid is not None for qid in qids):
            raise DataError(f"{path}: some rows have a qid and some have none")
        return None
    return np.array([0, *(t for t in range(1, len(qids)) if qids[t] != qids[t - 1]), len(qids)])


def _words(path: Path, comment: str | None = None) -> Iterable[tuple[int, list[str]]]:
    for number, line in read_lines(path):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}, line {number}: not UTF-8") from error
        yield number, (text.partition(comment)[0] if comment else text).split()


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file, checked."""
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
