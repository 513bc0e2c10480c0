"""Sparse rows in the format of SVM^light, and with ``qid`` sequences of them, as SVM^hmm reads them."""

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from sys import intern
from typing import Any, ClassVar, NamedTuple

from fwexp.data.readers.lines import Sentence, Source, split, text_lines
from fwexp.errors import DataError, shown
from fwexp.files.user_paths import check_path
from fwexp.options import check_integer
from fwexp.types import AnyPath

LARGEST_INDEX = 2**31 - 1  # of a feature, as in other programs that read this format
PAIR = re.compile(r"(\d+):([^\s_]+)")
FORM = "label [qid:number] index:value ..."


class Row(NamedTuple):
    """A row of a file."""

    label: str
    qid: str | None
    indices: list[int]
    values: list[float]


def read_svmlight(path: AnyPath, *, num_features: int | None = None) -> tuple[list[Any], list[list[Any]]]:
    r"""Return sequences of sparse rows, in the format of SVM^light with ``qid`` or of SVM^hmm.

    Parameters
    ----------
    path : path
        A text with rows ``label qid:name index:value ... # comment``. Consecutive rows with the same ``qid`` are a sequence.
        ``.gz`` is unpacked.
    num_features : int, optional
        The number of columns of X: features with an index >= ``num_features`` are left out. Pass ``X[0].shape[1]`` of the
        training file to read a test file. By default the largest index + 1.

    Returns
    -------
    X : list of sparse arrays (T, num_features)
        Feature j is column j, so that column 0 is empty if indices begin with 1.
    y : list of lists
        The labels: numbers if all are numbers, otherwise text.

    Raises
    ------
    ValueError
        If the file cannot be read, has no ``qid``, or has another form; the message names the line.

    See Also
    --------
    read_columns, read_conllu

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fwexp.data import read_svmlight
    >>> path = Path(mkdtemp()) / "rows.txt"
    >>> _ = path.write_text("2 qid:1 1:1 4:0.5 # the\n1 qid:1 2:1\n2 qid:2 3:1\n")
    >>> X, y = read_svmlight(path)
    >>> [x.shape for x in X], y
    ([(2, 5), (1, 5)], [[2, 1], [2]])
    """
    if num_features is not None:
        check_integer("num_features", num_features, 1)
    return Svmlight(num_features).read(check_path("path", path))


@dataclass(frozen=True)
class Svmlight:
    """The format of `read_svmlight`, with labels as `numbers_or_texts` returns them."""

    num_features: int | None = None
    numeric: bool | None = None

    name: ClassVar[str] = "svmhmm"
    has_features: ClassVar[bool] = True

    def sentences(self, path: Source) -> Iterator[Sentence]:
        """Yield all lines of a file, sequence by sequence; tokens are rows."""
        found = Sentence.at(1)
        for number, line, row in rows_of(path):
            if row is not None:
                if row.qid is None:
                    raise DataError(f"{path}, line {number}: expected qid:number after the label, as rows are those of sequences")
                if found.tokens and row.qid != found.tokens[-1].qid:
                    yield found
                    found = Sentence.at(number)
                found.rows.append(len(found.lines))
                found.tokens.append(row)
            found.lines.append(line)
        if found.lines:
            yield found

    def read(self, path: Source) -> tuple[list, list]:
        """Return matrices and labels of all sequences."""
        columns, values, ends, ptr, labels = array("q"), array("d"), array("q", [0]), [0], []
        for found in self.sentences(path):
            if found.tokens:
                add(found.tokens, columns, values, ends)
                labels += [intern(row.label) for row in found.tokens]
                ptr.append(len(labels))
        if not labels:
            raise DataError(f"{path}: no rows")
        X, y = matrix(columns, values, ends, self.num_features), numbers_or_texts(labels, self.numeric)
        pieces = [slice(start, end) for start, end in pairwise(ptr)]
        return [X[piece] for piece in pieces], [y[piece] for piece in pieces]

    def inputs(self, found: Sentence) -> Any:
        """Return the matrix of a sequence."""
        columns, values, ends = array("q"), array("d"), array("q", [0])
        add(found.tokens, columns, values, ends)
        return matrix(columns, values, ends, self.num_features)

    def tagged(self, found: Sentence, labels: Sequence) -> list[str]:
        """Return the lines of a sequence with the labels as their first words."""
        lines = [*found.lines]
        for row, label in zip(found.rows, labels, strict=True):
            lines[row] = re.sub(r"[^ \t]+", str(label).replace("\\", r"\\"), lines[row], count=1)
        return lines


def rows_of(path: Source) -> Iterator[tuple[int, str, Row | None]]:
    """Yield the number, the text and the row of every line; None for lines that are empty or a comment."""
    last, seen = None, set()
    for number, line in text_lines(path):
        words = split(line.partition("#")[0])
        if not words:
            yield number, line, None
            continue
        label, *pairs = words
        qid = pairs.pop(0)[4:] if pairs and pairs[0].startswith("qid:") else None
        found = [PAIR.fullmatch(pair) for pair in pairs]
        try:
            if qid == "" or (qid is None and as_number(label) is None):  # Tags of sequences may be text.
                raise ValueError(label)
            row = Row(label, qid, [int(match[1]) for match in found], [float(match[2]) for match in found])
        except (TypeError, ValueError) as error:
            raise DataError(f"{path}, line {number}: expected {FORM}, got {shown(' '.join(words))}") from error
        if max(row.indices, default=0) > LARGEST_INDEX:
            raise DataError(f"{path}, line {number}: index {shown(max(row.indices))}, expected at most {LARGEST_INDEX}")
        if not all(map(math.isfinite, row.values)):
            raise DataError(f"{path}, line {number}: expected finite values, got {shown(' '.join(pairs))}")
        if last is not None and (row.qid is None) != (last.qid is None):
            raise DataError(f"{path}, line {number}: some rows have a qid and some have none")
        if row.qid is not None and (last is None or row.qid != last.qid):
            if row.qid in seen:
                raise DataError(f"{path}, line {number}: {shown(f'qid:{row.qid}')} again, expected its rows one after another")
            seen.add(row.qid)
        last = row
        yield number, line, row


def add(rows: Sequence[Row], columns: array, values: array, ends: array) -> None:
    """Append rows to a sparse matrix."""
    for row in rows:
        columns.extend(row.indices)
        values.extend(row.values)
        ends.append(len(columns))


def matrix(columns: array, values: array, ends: array, num_features: int | None):
    """Return rows as a sparse array, without the columns from ``num_features`` on."""
    import numpy as np
    from scipy.sparse import csr_array

    columns, values, ends = (np.asarray(part) for part in (columns, values, ends))
    size = num_features or 1 + int(columns.max(initial=0))
    kept = columns < size
    if not kept.all():
        columns, values, ends = columns[kept], values[kept], np.concatenate(([0], np.cumsum(kept)))[ends]
    rows = csr_array((values, columns, ends), shape=(len(ends) - 1, size))
    rows.sum_duplicates()
    return rows


def as_number(text: str) -> float | None:
    """Return the finite number that a text is, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return None if not math.isfinite(value) or "_" in text else int(value) if value.is_integer() else value


def numbers_or_texts(labels: list[str], numeric: bool | None = None) -> list:
    """Return labels as numbers if all are (or ``numeric`` says so: those that are none stay texts), otherwise as texts."""
    numbers = {label: as_number(label) for label in set(labels)}
    if numeric is None:
        numeric = None not in numbers.values()
    return [label if numbers[label] is None else numbers[label] for label in labels] if numeric else labels
