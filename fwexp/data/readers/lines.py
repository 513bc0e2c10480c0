"""Lines of text files, and of standard input, with errors that name file and line; templates of CRF++."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from sys import intern
from typing import ClassVar, NamedTuple

from fwexp.data.data_files import read_lines
from fwexp.errors import DataError, ParameterError, shown
from fwexp.files.user_paths import check_path
from fwexp.templates import Template
from fwexp.types import AnyPath

BOM = b"\xef\xbb\xbf"


class StandardInput:
    """Standard input, as far as `read_lines` looks at a path."""

    suffix = ""

    def __str__(self) -> str:
        return "standard input"

    def open(self, mode: str) -> contextlib.AbstractContextManager:
        """Return the stream, which stays open."""
        return contextlib.nullcontext(sys.stdin.buffer)


Source = Path | StandardInput


class Sentence(NamedTuple):
    """The lines of a file that belong to a sentence, those without tokens included."""

    number: int  # of the first line in the file, from 1
    lines: list[str]  # without their ends
    rows: list[int]  # of the lines that have tokens
    tokens: list  # of these lines, in the form of the format

    @classmethod
    def at(cls, number: int) -> "Sentence":
        """Return a sentence without lines, to be filled, that begins at a line of the file."""
        return cls(number, [], [], [])

    def line_of(self, place: int) -> int:
        """Return the number of the line that has a token."""
        return self.number + sum(1 + line.count("\n") for line in self.lines[: self.rows[place]])


class TextFormat:
    """A format whose tokens have texts in columns, with the label in one of them.

    A format has ``sentences(path)``, which yields all lines of a file as `Sentence`, ``inputs(sentence)``, ``labels(path,
    sentence)``, and ``tagged(sentence, labels)``, which returns the lines of a sentence with other labels.
    """

    has_features: ClassVar[bool] = False  # Tokens need a template.

    def read(self, path: Source) -> tuple[list, list | None]:
        """Return tokens and labels of all sentences."""
        X, y = [], []
        for found in self.sentences(path):
            if found.tokens:
                X.append(self.inputs(found))
                if self.label is not None:
                    y.append(self.labels(path, found))
        if not X:
            raise DataError(f"{path}: no sequences")
        return X, None if self.label is None else y


def text_lines(path: Source) -> Iterator[tuple[int, str]]:
    """Yield the number from 1 and the text of every line, without its end and without a byte order mark."""
    for number, line in read_lines(path):
        try:
            yield number, (line.removeprefix(BOM) if number == 1 else line).decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(f"{path}, line {number}: not UTF-8") from error


def split(line: str, sep: str | None = None) -> list[str]:
    """Return the texts between separators, which may be empty, or by default between runs of spaces and tabs."""
    # `str.split` would split at many other characters as well.
    if sep is not None:
        return line.split(sep)
    words = line.replace("\t", " ").split(" ")
    return [*filter(None, words)] if "" in words else words


def found_labels(path: Source, found: Sentence, labels: list[str]) -> list[str]:
    """Return the labels of a sentence, which are not empty."""
    if "" in labels:
        raise DataError(f"{path}, line {found.line_of(labels.index(''))}: expected a label, got an empty column")
    return [*map(intern, labels)]


def check_separator(sep: object, *, optional: bool = False) -> None:
    """Reject what cannot separate the columns of a line."""
    if not ((optional and sep is None) or (isinstance(sep, str) and len(sep) == 1 and sep not in '\r\n"')):
        raise ParameterError(f"sep must be one character, such as ',' or a tab, got {shown(sep)}")


@contextlib.contextmanager
def naming(path: Source | str) -> Iterator[None]:
    """Raise a ParameterError about the content of a file as an error of the file."""
    try:
        yield
    except ParameterError as error:
        raise DataError(f"{path}: {error}") from error


def read_template(path: AnyPath) -> Template:
    """Return the template in a file of CRF++.

    Parameters
    ----------
    path : path
        A text in UTF-8, as `Template` describes it.

    Returns
    -------
    Template
        A function of a sentence, for the parameter ``features`` of estimators.

    Raises
    ------
    ValueError
        If the file cannot be read or is not a template; the message names the line.

    See Also
    --------
    read_columns, read_conllu
    """
    path = check_path("path", path)
    with naming(path):
        return Template("".join(f"{line}\n" for _, line in text_lines(path)))
