"""Sentences in tables of text whose columns have names: comma-separated values."""

import csv
import dataclasses
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import ClassVar

from fwexp.data.readers.lines import Sentence, Source, TextFormat, check_separator, found_labels, text_lines
from fwexp.errors import DataError, ParameterError, see, shown, unknown
from fwexp.files.user_paths import check_path
from fwexp.types import AnyPath


def read_csv(
    path: AnyPath,
    label: str | None,
    *,
    columns: Sequence[str] | None = None,
    sequence: str | None = None,
    sep: str = ",",
) -> tuple[list[list[tuple[str, ...]]], list[list[str]] | None]:
    r"""Return the tokens and labels of sentences in a table with named columns.

    Parameters
    ----------
    path : path
        A text in UTF-8. Its first row has the names of the columns, and every other row is a token. ``.gz`` is unpacked.
    label : str or None
        The column of the labels. None: there are no labels.
    columns : sequence of str, optional
        The columns of tokens, in this order. By default all except ``label`` and ``sequence``, in the order of the file.
    sequence : str, optional
        A column that tells sentences apart: a new sentence begins where its value changes. An empty value continues the sentence.
        By default, and in addition, an empty row ends a sentence.
    sep : str, default ","
        One character that separates columns. Columns may stand in double quotes, except if they are separated by tabs: there a
        quote is an ordinary character.

    Returns
    -------
    X : list of lists of tuples of str
        These columns of every token of every sentence.
    y : list of lists of str, or None
        The labels.

    Raises
    ------
    ValueError
        If the file cannot be read, lacks a column, or has rows of another length than the first; the message names the line.

    See Also
    --------
    read_columns : Read columns without names.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fwexp.data import read_csv
    >>> path = Path(mkdtemp()) / "words.csv"
    >>> _ = path.write_text('no,word,tag\n1,"a, b",D\n1,cat,N\n2,it,P\n')
    >>> read_csv(path, "tag", sequence="no")
    ([[('a, b',), ('cat',)], [('it',)]], [['D', 'N'], ['P']])
    """
    columns = columns if columns is None or isinstance(columns, str) else tuple(columns)
    return Csv(label, columns, sequence, sep).read(check_path("path", path))


@dataclass(frozen=True)
class Csv(TextFormat):
    """The format of `read_csv`; tokens are dicts of all columns by name."""

    label: str | None = "label"
    columns: tuple[str, ...] | None = None
    sequence: str | None = None
    sep: str = ","

    name: ClassVar[str] = "csv"

    def __post_init__(self):
        check_separator(self.sep)
        named = isinstance(self.columns, tuple) and all(isinstance(name, str) for name in self.columns)
        if self.columns is not None and not (self.columns and named):
            raise ParameterError(f"columns must be names of columns, such as ['word'], got {shown(self.columns)}")
        for name in ("label", "sequence"):
            if not (getattr(self, name) is None or isinstance(getattr(self, name), str)):
                raise ParameterError(f"{name} must be the name of a column, got {shown(getattr(self, name))}")
        if self.label is not None and self.label in (self.sequence, *(self.columns or ())):
            raise ParameterError(f"label must be another column than the others, got {shown(self.label)} for two of them")

    def sentences(self, path: Source) -> Iterator[Sentence]:
        header, found, last = None, Sentence.at(1), ""
        for number, line, row in self._rows(path):
            blank = not any(text.strip(" \t") for text in row)
            if header is None and not blank:
                header = self._check_header(path, number, row)
                found.lines.append(line)
                continue
            if not blank and len(row) != len(header):
                raise DataError(f"{path}, line {number}: {len(row)} columns, expected {len(header)}: {', '.join(header)}")
            token = dict(zip(header or (), row))
            value = token.get(self.sequence, "")
            if found.tokens and not blank and value not in ("", last):
                yield found
                found = Sentence.at(number)
            found.lines.append(line)
            if blank:
                if found.tokens:
                    yield found
                    found = Sentence.at(number + line.count("\n") + 1)
                continue
            last = value or last
            found.rows.append(len(found.lines) - 1)
            found.tokens.append(token)
        if found.lines:
            yield found

    def inputs(self, found: Sentence) -> list[tuple[str, ...]]:
        names = self.columns or self._others(found)
        return [tuple(intern(token[name]) for name in names) for token in found.tokens]

    def labels(self, path: Source, found: Sentence) -> list[str]:
        if self.label not in found.tokens[0]:
            raise DataError(f"{path}: {unknown('column', self.label, found.tokens[0])}{see('tagging')}")
        return found_labels(path, found, [token[self.label] for token in found.tokens])

    def tagged(self, found: Sentence, labels: Sequence) -> list[str]:
        """Return the lines of a sentence with the labels in their column, which is the last one if the file lacks it."""
        lines = [*found.lines]
        if found.number == 1 and self.label not in found.tokens[0]:
            header = next(row for row, line in enumerate(lines) if line.strip(f" \t{self.sep}"))
            lines[header] = self._line([*found.tokens[0], self.label])
        for row, token, label in zip(found.rows, found.tokens, labels, strict=True):
            lines[row] = self._line((token | {self.label: str(label)}).values())
        return lines

    def with_columns_of(self, path: Source) -> "Csv":
        """Return the format with the columns of a file by name, so that other files may have them in another order."""
        found = next((found for found in self.sentences(path) if found.tokens), None)
        return self if self.columns or found is None else dataclasses.replace(self, columns=self._others(found))

    def _others(self, found: Sentence) -> tuple[str, ...]:
        """Return the names of the columns that hold neither labels nor sequences."""
        return tuple(name for name in found.tokens[0] if name not in (self.label, self.sequence))

    @property
    def _dialect(self) -> dict:
        return {"delimiter": self.sep, "quoting": csv.QUOTE_NONE if self.sep == "\t" else csv.QUOTE_MINIMAL, "strict": True}

    def _rows(self, path: Source) -> Iterator[tuple[int, str, list[str]]]:
        """Yield the number of the first line, the text and the columns of every row, which may have several lines."""
        taken: list[str] = []
        reader = csv.reader((taken.append(line) or f"{line}\n" for _, line in text_lines(path)), **self._dialect)
        number = 1
        try:
            for row in reader:
                yield number, "\n".join(taken), row
                number += len(taken)
                taken.clear()
        except csv.Error as error:
            raise DataError(f"{path}, line {number}: not a row of columns between {self.sep!r}: {error}") from error

    def _line(self, columns) -> str:
        """Return a row as text."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n", quotechar=None if self.sep == "\t" else '"', **self._dialect).writerow(columns)
        return text.getvalue()[:-1]

    def _check_header(self, path: Source, number: int, names: list[str]) -> list[str]:
        """Return the names of the columns if they are distinct and have those that tokens need."""
        if len({*names}) != len(names):
            raise DataError(f"{path}, line {number}: expected names of columns, got {shown(names)} with one name twice")
        for name in (*(self.columns or ()), *(() if self.sequence is None else (self.sequence,))):
            if name not in names:
                raise DataError(f"{path}, line {number}: {unknown('column', name, names)}")
        return names
