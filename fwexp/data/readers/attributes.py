"""Sequences in the text format of CRFsuite: a label and any number of attributes per line."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import ClassVar, NamedTuple, TypeAlias

from fwexp.data.readers.lines import Sentence, Source, TextFormat, found_labels, text_lines
from fwexp.errors import DataError, see, shown
from fwexp.files.user_paths import check_path
from fwexp.types import AnyPath

Features: TypeAlias = list[str] | dict[str, float]
FIELD = re.compile(r"((?:\\[:\\]|[^:])*)(?::(.*))?", re.DOTALL)  # a name, in which \: and \\ are escapes, and a value
ESCAPE, SPECIAL = re.compile(r"\\([:\\])"), re.compile(r"([:\\])")


class Item(NamedTuple):
    """A line of a file."""

    label: str
    features: Features


def read_attributes(path: AnyPath) -> tuple[list[list[Features]], list[list[str]]]:
    r"""Return sequences in the text format of CRFsuite, which ``crfsuite learn`` and ``crfsuite tag`` read.

    A line is ``LABEL<TAB>NAME[:VALUE]<TAB>NAME[:VALUE]...``, and an empty line ends a sequence. In labels and names, ``\:`` stands
    for a colon and ``\\`` for a backslash. An attribute without a value has the value 1.

    Parameters
    ----------
    path : path
        A text in UTF-8. ``.gz`` is unpacked.

    Returns
    -------
    X : list of lists
        For every position the list of its attributes if all have the value 1, otherwise a dict of their values. Values of an
        attribute that occurs twice are added.
    y : list of lists of str
        The labels.

    Raises
    ------
    ValueError
        If the file cannot be read, a value is not a finite number, or a line is a declaration such as ``@weight:2``, because X and
        y hold no weights; the message names the line.

    See Also
    --------
    read_crfsuite : Read the weights of a model of CRFsuite.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fwexp.data import read_attributes
    >>> path = Path(mkdtemp()) / "train.crfsuite"
    >>> _ = path.write_text("D\tw=the\tfirst\nN\tw=10\\:30\tlength:5\n")
    >>> read_attributes(path)
    ([[['w=the', 'first'], {'w=10:30': 1.0, 'length': 5.0}]], [['D', 'N']])
    """
    return Attributes().read(check_path("path", path))


@dataclass(frozen=True)
class Attributes(TextFormat):
    """The format of `read_attributes`."""

    name: ClassVar[str] = "crfsuite"
    label: ClassVar[str] = "the first field"
    has_features: ClassVar[bool] = True

    def sentences(self, path: Source) -> Iterator[Sentence]:
        found = Sentence.at(1)
        for number, line in text_lines(path):
            found.lines.append(line)
            if not line:
                yield found
                found = Sentence.at(number + 1)
                continue
            label, *fields = line.split("\t")
            if label.startswith("@"):
                cure = "pass weights of sequences as sample_weight"
                raise DataError(f"{path}, line {number}: expected a label, got the declaration {shown(label)}; {cure}")
            found.rows.append(len(found.lines) - 1)
            found.tokens.append(Item(_unescaped(label), _features(path, number, filter(None, fields))))
        if found.lines:
            yield found

    def inputs(self, found: Sentence) -> list[Features]:
        return [item.features for item in found.tokens]

    def labels(self, path: Source, found: Sentence) -> list[str]:
        return found_labels(path, found, [item.label for item in found.tokens])

    def tagged(self, found: Sentence, labels: Sequence) -> list[str]:
        """Return the lines of a sequence with the labels as their first fields."""
        lines = [*found.lines]
        for row, label in zip(found.rows, labels, strict=True):
            _, tab, rest = lines[row].partition("\t")
            lines[row] = SPECIAL.sub(r"\\\1", str(label)) + tab + rest
        return lines


def _features(path: Source, number: int, fields) -> Features:
    """Return the attributes of a line: their names if all values are 1, otherwise a dict."""
    found: dict[str, float] = {}
    for field in fields:
        name, text = FIELD.fullmatch(field).groups()
        try:
            value = float(text) if text else 1.0
        except ValueError:
            value = math.nan
        if not name or not math.isfinite(value):
            cure = r"write a colon in a name as \:" if text and ":" in text else "a value is a finite number"
            raise DataError(f"{path}, line {number}: expected NAME or NAME:VALUE, got {shown(field)}; {cure}{see('tagging')}")
        name = intern(_unescaped(name))
        found[name] = found.get(name, 0.0) + value
    return [*found] if set(found.values()) <= {1.0} else found


def _unescaped(text: str) -> str:
    return ESCAPE.sub(r"\1", text) if "\\" in text else text
