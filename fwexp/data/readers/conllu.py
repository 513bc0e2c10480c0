"""Sentences in the format CoNLL-U of Universal Dependencies, with columns by name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import ClassVar

from fwexp.data.readers.lines import Sentence, Source, TextFormat, found_labels, text_lines
from fwexp.errors import DataError, ParameterError, see, shown, unknown
from fwexp.files.user_paths import check_path
from fwexp.types import AnyPath

NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
NO_LABEL = "_"
ALWAYS_GIVEN = ("UPOS", "XPOS", "HEAD", "DEPREL")  # of annotated words; elsewhere "_" says that a word has no such value


def read_conllu(
    path: AnyPath, label: str | None = "UPOS", *, columns: Sequence[str] = ("FORM",), ignore_label: str | None = None
) -> tuple[list[list[tuple[str, ...]]], list[list[str]] | None]:
    r"""Return the tokens and labels of sentences in CoNLL-U.

    Comments, multiword tokens (``1-2``) and empty nodes (``1.1``) are left out.

    Parameters
    ----------
    path : path
        A text in UTF-8 with ten columns between tabs and an empty line after each sentence. ``.gz`` is unpacked.
    label : str or None, default "UPOS"
        The column of the labels: ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS or MISC. None: there are no labels.
    columns : sequence of str, default ("FORM",)
        The columns of tokens, in this order. The default excludes all annotations, which new sentences do not have.
    ignore_label : "_", optional
        Accept words without a label, whose label is then ``"_"``. Pass ``ignore_label="_"`` to the estimator, too: it leaves these
        positions out. By default such a word is an error.

    Returns
    -------
    X : list of lists of tuples of str
        These columns of every word of every sentence.
    y : list of lists of str, or None
        The labels.

    Raises
    ------
    ValueError
        If the file cannot be read or is not CoNLL-U. The message names the line.
    ValueError
        If a label is ``_`` in UPOS, XPOS, HEAD or DEPREL, which means that it is unknown, and ``ignore_label`` is not ``"_"``.

    See Also
    --------
    read_columns, read_svmlight, read_template

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fwexp.data import read_conllu
    >>> path = Path(mkdtemp()) / "tags.conllu"
    >>> rest = "\t_" * 6
    >>> words = [f"1\tDogs\tdog\tNOUN{rest}", f"2\tbark\tbark\tVERB{rest}"]
    >>> _ = path.write_text("\n".join(["# text = Dogs bark", *words, "", ""]))
    >>> read_conllu(path, columns=("FORM", "LEMMA"))
    ([[('Dogs', 'dog'), ('bark', 'bark')]], [['NOUN', 'VERB']])
    """
    names = columns if isinstance(columns, str) else tuple(columns)
    return Conllu(label, names, ignore_label).read(check_path("path", path))


@dataclass(frozen=True)
class Conllu(TextFormat):
    """The format of `read_conllu`."""

    label: str | None = "UPOS"
    columns: tuple[str, ...] = ("FORM",)
    ignore_label: str | None = None

    name: ClassVar[str] = "conllu"

    def __post_init__(self):
        if isinstance(self.columns, str) or not self.columns:
            raise ParameterError(f"columns must be names of columns, such as FORM, got {shown(self.columns)}")
        for name in (*self.columns, *(() if self.label is None else (self.label,))):
            if name not in NAMES:
                raise ParameterError(unknown("column of CoNLL-U", name, NAMES))
        if self.label in self.columns:
            raise ParameterError(f"columns must be others than the label, got {self.label} for both")
        if self.ignore_label not in (None, NO_LABEL):
            raise ParameterError(f"ignore_label must be {NO_LABEL!r} or None for CoNLL-U, got {shown(self.ignore_label)}")

    def sentences(self, path: Source) -> Iterator[Sentence]:
        found = Sentence.at(1)
        for number, line in text_lines(path):
            blank = not line.strip(" \t")
            if not blank and not line.startswith("#"):
                columns = line.split("\t")
                if len(columns) != len(NAMES):
                    counted = f"{len(columns)} column{'s' * (len(columns) != 1)} between tabs"
                    raise DataError(f"{path}, line {number}: {counted}, expected the {len(NAMES)} of CoNLL-U")
                if columns[0] == str(len(found.tokens) + 1):
                    found.rows.append(len(found.lines))
                    found.tokens.append(columns)
                elif not _is_no_word(columns[0]):
                    expected = f"the ID {len(found.tokens) + 1}, or one such as 1-2 or 1.1"
                    raise DataError(f"{path}, line {number}: expected {expected}, got {shown(columns[0])}")
            found.lines.append(line)
            if blank:
                yield found
                found = Sentence.at(number + 1)
        if found.lines:
            yield found

    def inputs(self, found: Sentence) -> list[tuple[str, ...]]:
        places = [NAMES.index(name) for name in self.columns]
        return [tuple(intern(columns[place]) for place in places) for columns in found.tokens]

    def labels(self, path: Source, found: Sentence) -> list[str]:
        labels = [columns[NAMES.index(self.label)] for columns in found.tokens]
        if self.label in ALWAYS_GIVEN and NO_LABEL in labels and self.ignore_label is None:
            line = found.line_of(labels.index(NO_LABEL))
            cure = 'label it, or pass ignore_label="_" to leave it out'
            raise DataError(
                f"{path}, line {line}: expected a label in the column {self.label}, got '_', which is none; {cure}{see('tagging')}"
            )
        return found_labels(path, found, labels)

    def tagged(self, found: Sentence, labels: Sequence) -> list[str]:
        """Return the lines of a sentence with the labels in their column."""
        lines = [*found.lines]
        for row, columns, label in zip(found.rows, found.tokens, labels, strict=True):
            columns = [*columns]
            columns[NAMES.index(self.label)] = str(label)
            lines[row] = "\t".join(columns)
        return lines


def _is_no_word(text: str) -> bool:
    """Return whether an ID belongs to a multiword token or to an empty node."""
    numbers = text.split("-") if "-" in text else text.split(".")
    return len(numbers) == 2 and all(number.isascii() and number.isdigit() for number in numbers)
