"""Sentences in columns, as in the CoNLL tasks and for CRF++: a token per line, an empty line after each sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import ClassVar

from fwexp.data.readers.lines import Sentence, Source, split, text_lines
from fwexp.errors import DataError, ParameterError, shown
from fwexp.files.user_paths import check_path
from fwexp.options import is_integer
from fwexp.types import AnyPath

DOCUMENT = "-DOCSTART-"  # the first column of lines that separate documents, in files of CoNLL-2003


def read_columns(
    path: AnyPath, label: int | None = -1, *, comment: str | None = None
) -> tuple[list[list[tuple[str, ...]]], list[list[str]] | None]:
    r"""Return the tokens and labels of sentences in columns.

    Columns stand between spaces and tabs; every other character belongs to a token. Lines whose first column is
    ``-DOCSTART-`` separate documents and are left out. Estimators take the result with ``features=``, a function of a
    sentence such as a `Template`.

    Parameters
    ----------
    path : path
        A text in UTF-8, one token per line and an empty line after each sentence. ``.gz`` is unpacked.
    label : int or None, default -1
        The column of the labels, counted from 0, or from the end if negative. None: there are no labels.
    comment : str, optional
        Lines that begin with this text are left out. By default no line is a comment, because ``#`` may be a token.

    Returns
    -------
    X : list of lists of tuples of str
        The other columns of every token of every sentence.
    y : list of lists of str, or None
        The labels.

    Raises
    ------
    ValueError
        If the file cannot be read, has no tokens, or has lines with different numbers of columns; the message names the line.

    See Also
    --------
    read_conllu, read_svmlight, read_template

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fwexp.data import read_columns
    >>> path = Path(mkdtemp()) / "tags.txt"
    >>> _ = path.write_text("the D\ncat N\n\na D\n")
    >>> read_columns(path)
    ([[('the',), ('cat',)], [('a',)]], [['D', 'N'], ['D']])
    """
    return Columns(label, comment).read(check_path("path", path))


@dataclass(frozen=True)
class Columns:
    """The format of `read_columns`."""

    label: int | None = -1
    comment: str | None = None

    name: ClassVar[str] = "columns"

    def __post_init__(self):
        if not (self.label is None or is_integer(self.label)):
            raise ParameterError(f"label must be the number of a column, got {shown(self.label)}")
        if not (self.comment is None or (isinstance(self.comment, str) and self.comment)):
            raise ParameterError(f"comment must be a text with which lines begin, got {shown(self.comment)}")

    def sentences(self, path: Source) -> Iterator[Sentence]:
        """Yield all lines of a file, sentence by sentence; tokens are the lists of their columns."""
        width, found = None, Sentence([], [], [])
        for number, line in text_lines(path):
            columns = split(line)
            found.lines.append(line)
            if self.comment and line.startswith(self.comment):
                continue
            if not columns or columns[0] == DOCUMENT:
                yield found
                found = Sentence([], [], [])
                continue
            if len(columns) != width:
                width = width or self._check_width(path, number, len(columns))
                if len(columns) != width:
                    raise DataError(f"{path}, line {number}: {_counted(len(columns))}, expected {width}")
            found.rows.append(len(found.lines) - 1)
            found.tokens.append(columns)
        if found.lines:
            yield found

    def read(self, path: Source) -> tuple[list, list | None]:
        """Return tokens and labels of all sentences."""
        X, y = [], []
        for found in self.sentences(path):
            if found.tokens:
                tokens = [[*map(intern, columns)] for columns in found.tokens]  # a word that comes back takes no memory
                if self.label is not None:
                    y.append([columns.pop(self.label) for columns in tokens])
                X.append([*map(tuple, tokens)])
        if not X:
            raise DataError(f"{path}: no sequences")
        return X, None if self.label is None else y

    def inputs(self, found: Sentence) -> list[tuple[str, ...]]:
        """Return the tokens of a sentence without labels."""
        return [*map(tuple, found.tokens)]

    def tagged(self, found: Sentence, labels: Sequence) -> list[str]:
        """Return the lines of a sentence with the labels as their last column."""
        lines = [*found.lines]
        for row, label in zip(found.rows, labels, strict=True):
            sign = "\t" if "\t" in lines[row] else " "
            lines[row] = lines[row].rstrip(" \t") + sign + str(label)
        return lines

    def _check_width(self, path: Source, number: int, width: int) -> int:
        """Return the number of columns if one of them may have the labels."""
        if self.label is not None and not -width <= self.label < width:
            raise DataError(f"{path}, line {number}: {_counted(width)}, expected more, as label is {self.label}")
        if self.label is not None and width == 1:
            raise DataError(f"{path}, line {number}: 1 column, expected at least 2, a token and its label")
        return width


def _counted(size: int) -> str:
    return f"{size} column{'s' * (size != 1)}"
