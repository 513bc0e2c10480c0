"""``ocr``: handwritten words of Rob Kassel, as cleaned and cut into letters by Ben Taskar (NIPS 2003).

``ocr/letter.data.gz``, or unpacked ``ocr/letter.data``, holds one letter per line in 134 tab-separated columns (and a
tab at the end): id, letter a-z, next_id (-1 at the end of a word), word_id, position, fold 0-9, and 16 x 8 pixels 0/1
row by row. A word is a run of lines, as in the published loader: it ends where next_id is -1, and its fold is that of
its first letter; word_id and position are not used. A part of the file is read like the whole; where it breaks off
inside a word, the word ends there.

Features of a letter are its 128 pixels and a constant 1; K = 26 and d = 26 * 129 + 26 + 26 + 26^2 = 4082.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fwexp.data.data_files import printable, read_lines
from fwexp.data.dataset import DataFile, Dataset
from fwexp.data.validation import sample
from fwexp.errors import DataError
from fwexp.options import check_integer, choice, option

NUM_PIXELS = 128
NUM_STATES = 26

# Facts of the whole file, and a checksum of all that is read.
COUNTS = "52152 letters in 6877 words"
CONTENT_SHA256 = "e1893877b3b4c905f73dd9d2eb93dc3e34a271a9f270042acfa67ba81e8a0fed"

COLUMNS = [
    ("id", rb"\d+", "a whole number"),
    ("letter", rb"[a-z]", "a letter a-z"),
    ("next_id", rb"-1|\d+", "the id of the next letter, or -1 at the end of a word"),
    ("word_id", rb"\d+", "a whole number"),
    ("position", rb"\d+", "a whole number"),
    ("fold", rb"[0-9]", "a fold 0-9"),
    *((f"pixel p_{i}_{j}", rb"[01]", "0 or 1") for i in range(16) for j in range(8)),
]
HEAD = re.compile(rb"(\d+)\t([a-z])\t(-1|\d+)\t\d+\t\d+\t([0-9])\t")
TABS = b"\t" * (NUM_PIXELS - 1)


@dataclass(frozen=True)
class Options:
    """Options of ``ocr``.

    Attributes
    ----------
    split : {"ocr2", "ocr"}
        ``ocr2`` trains on folds 1-9 and tests on fold 0; ``ocr`` trains on fold 0 and tests on folds 1-9.
    n : int, optional
        Train on a random sample of this many words, in the order of the file; a larger sample contains the smaller ones.
    """

    split: str = choice("ocr2", "ocr")
    n: int | None = option(None, check_integer, 1, optional=True, added_later=True)


class Letters(NamedTuple):
    """The content of the file; word i has the letters ``ptr[i] .. ptr[i+1]``."""

    labels: np.ndarray  # uint8 (letters,), 0 = a
    pixels: np.ndarray  # uint8 (letters, 128), 0 or 1
    ptr: np.ndarray  # int64 (words + 1,)
    folds: np.ndarray  # uint8 (words,)


def read(options: Options, data_dir: Path):
    """Return the training and the test problem."""
    from fwexp.problems.chain import chain_from_arrays

    (path,) = DATASET.locate(data_dir).values()
    letters = read_letters(path)
    first = letters.folds == 0
    train, test = (first, ~first) if options.split == "ocr" else (~first, first)
    for part, words in (("training", train), ("test", test)):
        if not words.any():
            folds = ", ".join(map(str, np.unique(letters.folds)))
            raise DataError(f"{path}: no {part} words for split {options.split}; the folds in the file are {folds}")
    if options.n is not None:
        train = sample(train, options.n, "ocr", "words")
    return tuple(chain_from_arrays(*chain_arrays(letters, words), NUM_STATES) for words in (train, test))


def read_letters(path: Path) -> Letters:
    """Read and validate a file.

    Raises
    ------
    DataError
        Names the file, the first bad line and the expected content.
    """
    labels, pixels, folds, starts = bytearray(), bytearray(), bytearray(), []
    next_id = b"-1"
    for number, line in read_lines(path):
        line = line.rstrip(b"\r\n").removesuffix(b"\t")
        head = HEAD.match(line)
        image = line[head.end() :] if head else b""
        # Pixels are at even places and tabs between them.
        if len(image) != 2 * NUM_PIXELS - 1 or image[1::2] != TABS or image[::2].strip(b"01"):
            raise DataError(f"{path}, line {number}: {_describe(line)}")
        letter_id, letter, following, fold = head.groups()
        if next_id == b"-1":
            starts.append(number - 1)
            folds += fold
        elif next_id != letter_id:
            expected = f"expected the id of the next line, {printable(letter_id, 20)}, or -1 at the end of a word"
            raise DataError(f"{path}, line {number - 1}: next_id is {printable(next_id, 20)}, {expected}")
        labels += letter
        pixels += image[::2]
        next_id = following
    if not labels:
        raise DataError(f"{path}: the file is empty, expected one letter per line")
    return Letters(
        labels=np.frombuffer(labels, np.uint8) - np.uint8(ord("a")),
        pixels=np.frombuffer(pixels, np.uint8).reshape(-1, NUM_PIXELS) - np.uint8(ord("0")),
        ptr=np.array([*starts, len(labels)], dtype=np.int64),
        folds=np.frombuffer(folds, np.uint8) - np.uint8(ord("0")),
    )


def chain_arrays(letters: Letters, words: np.ndarray):
    """Return (x, y, ptr) of the words where the mask ``words`` is true, for ``chain_from_arrays``."""
    from scipy.sparse import csr_array

    lengths = np.diff(letters.ptr)
    chosen = np.repeat(words, lengths)
    ones = np.pad(letters.pixels[chosen], ((0, 0), (0, 1)), constant_values=1).astype(bool)
    indices = np.broadcast_to(np.arange(NUM_PIXELS + 1, dtype=np.int32), ones.shape)[ones]
    indptr = np.concatenate(([0], np.cumsum(ones.sum(axis=1)))).astype(np.int32)
    x = csr_array((np.ones(len(indices)), indices, indptr), shape=ones.shape)
    ptr = np.concatenate(([0], np.cumsum(lengths[words])))
    return x, letters.labels[chosen].astype(np.int32), ptr


def check(path: Path) -> str:
    """Check that ``path`` is the whole file; see `fwexp.data.data_files.check_content`."""
    letters = read_letters(path)
    found = f"{len(letters.labels)} letters in {len(letters.folds)} words"
    if found != COUNTS:
        raise DataError(f"{path}: {found}, expected {COUNTS}")
    if content_sha256(letters) != CONTENT_SHA256:
        raise DataError(f"{path}: {found} as expected, but letters, pixels or folds are not the published ones")
    return f"{found}, checksum of the content as recorded"


def content_sha256(letters: Letters) -> str:
    """Return a checksum of labels, pixels, words and folds that depends neither on packing nor on ids."""
    digest = hashlib.sha256()
    for array, dtype in zip(letters, ("u1", "u1", "<i8", "u1"), strict=True):
        digest.update(array.astype(dtype).tobytes())
    return digest.hexdigest()


def _describe(line: bytes) -> str:
    """Return the fault of a line that `read_letters` rejected."""
    columns = line.split(b"\t")
    if len(columns) != len(COLUMNS):
        found = f"{len(columns)} column{'s' * (len(columns) > 1)}" if line else "an empty line"
        return f"{found}, expected {len(COLUMNS)} tab-separated columns (6 and {NUM_PIXELS} pixels)"
    for value, (name, pattern, expected) in zip(columns, COLUMNS, strict=True):
        if not re.fullmatch(pattern, value):
            return f"{name} is {printable(value, 20)}, expected {expected}"
    raise AssertionError("the line has no fault")


DATASET = Dataset(
    name="ocr",
    title="handwritten words (Taskar et al. 2003)",
    shape="n 6251 + 626, d 4082",
    files=(DataFile("ocr/letter.data.gz", "http://ai.stanford.edu/~btaskar/ocr/letter.data.gz", size=14557249, check=check),),
    read=read,
    Options=Options,
)
