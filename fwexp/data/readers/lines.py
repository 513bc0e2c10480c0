"""Lines of text files, and of standard input, with errors that name file and line; templates of CRF++."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fwexp.data.data_files import read_lines
from fwexp.errors import DataError, ParameterError
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

    lines: list[str]  # without their ends
    rows: list[int]  # of the lines that have tokens
    tokens: list  # of these lines, in the form of the format


def text_lines(path: Source) -> Iterator[tuple[int, str]]:
    """Yield the number from 1 and the text of every line, without its end and without a byte order mark."""
    for number, line in read_lines(path):
        try:
            yield number, (line.removeprefix(BOM) if number == 1 else line).decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(f"{path}, line {number}: not UTF-8") from error


def split(line: str) -> list[str]:
    """Return the texts between spaces and tabs; `str.split` would split at many other characters as well."""
    words = line.replace("\t", " ").split(" ")
    return [*filter(None, words)] if "" in words else words


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
