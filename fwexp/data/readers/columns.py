"""Sentences in columns, as in the CoNLL tasks and for CRF++: a token per line, an empty line after each sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import ClassVar

from fwexp.data.readers.lines import Sentence, Source, TextFormat, check_separator, found_labels, split, text_lines
from fwexp.errors import DataError, ParameterError, shown
from fwexp.files.user_paths import check_path
from fwexp.options import is_integer
from fwexp.types import AnyPath

DOCUMENT = "-DOCSTART-"  # the first column of lines that separate documents, in files of CoNLL-2003


def read_columns(
    path: AnyPath, label: int | None = -1, *, comment: str | None = None, sep: str | None = None
) -> tuple[list[list[tuple[str, ...]]], list[list[str]] | None]:
    r"""Return the tokens and labels of sentences in columns.

    By default columns stand between spaces and tabs; every other character belongs to a token. Lines whose first column is
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
    sep : str, optional
        One character that separates columns, such as ``"\t"``. Columns may then contain blanks or be empty. By default any number
        of spaces and tabs separates them.

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
    read_csv : Read columns that have names.
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
    >>> _ = path.write_text("New York\tLOC\n")
    >>> read_columns(path, sep="\t")
    ([[('New York',)]], [['LOC']])
    """
    return Columns(label, comment, sep).read(check_path("path", path))


@dataclass(frozen=True)
class Columns(TextFormat):
    """The format of `read_columns`."""

    label: int | None = -1
    comment: str | None = None
    sep: str | None = None

    name: ClassVar[str] = "columns"

    def __post_init__(self):
        if not (self.label is None or is_integer(self.label)):
            raise ParameterError(f"label must be the number of a column, got {shown(self.label)}")
        if not (self.comment is None or (isinstance(self.comment, str) and self.comment)):
            raise ParameterError(f"comment must be a text with which lines begin, got {shown(self.comment)}")
        check_separator(self.sep, optional=True)

    def sentences(self, path: Source) -> Iterator[Sentence]:
        width, found = None, Sentence.at(1)
        for number, line in text_lines(path):
            columns = split(line, self.sep)
            found.lines.append(line)
            if self.comment and line.startswith(self.comment):
                continue
            if not line.strip(f" \t{self.sep or ''}") or columns[0] == DOCUMENT:
                yield found
                found = Sentence.at(number + 1)
                continue
            if len(columns) != width:
                width = width or self._check_width(path, number, len(columns))
                if len(columns) != width:
                    raise DataError(f"{path}, line {number}: {_counted(len(columns))}, expected {width}")
            found.rows.append(len(found.lines) - 1)
            found.tokens.append(columns)
        if found.lines:
            yield found

    def inputs(self, found: Sentence) -> list[tuple[str, ...]]:
        # A word that occurs again takes no memory.
        rows = [[*map(intern, columns)] for columns in found.tokens]
        if self.label is not None:
            for columns in rows:
                del columns[self.label]
        return [*map(tuple, rows)]

    def labels(self, path: Source, found: Sentence) -> list[str]:
        return found_labels(path, found, [columns[self.label] for columns in found.tokens])

    def tagged(self, found: Sentence, labels: Sequence) -> list[str]:
        """Return the lines of a sentence with the labels as their last column."""
        lines = [*found.lines]
        for row, label in zip(found.rows, labels, strict=True):
            sign = self.sep or ("\t" if "\t" in lines[row] else " ")
            lines[row] = (lines[row] if self.sep else lines[row].rstrip(" \t")) + sign + str(label)
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
