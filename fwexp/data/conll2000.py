"""``conll2000``: text chunking, the shared task of CoNLL-2000 (Tjong Kim Sang and Buchholz), with the papers' features.

``conll2000/train.txt.gz`` and ``test.txt.gz``, or unpacked, hold one token per line, ``word POS chunk`` with one space
between, and an empty line after each sentence. A sequence is a sentence, its labels are the chunk tags O, B-TYPE, I-TYPE.

Features of a token are a constant 1 and indicators of 19 attributes: words and POS tags of the token and up to two
neighbours on either side, single and combined by `TEMPLATE`. Words are lower-cased; a position outside the sentence
has one symbol of its own. Per attribute, values that occur at least `MIN_COUNT` times in the training text have ids 1, 2,
and so on in the order of first occurrence, and all others have 0: no feature. On the whole text that makes 1 + 74658 features,
K = 22 and d = 22 * 74659 + 22 + 22 + 22^2 = 1643026.

Labels are the chunk tags in the order of first occurrence in the training text; a tag that only the test text has
(``I-LST``, 2 tokens) is -1 there: never predicted, counted wrong.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fwexp.data.data_files import check_content, printable, read_lines, resolve_data_dir
from fwexp.data.dataset import DataFile, Dataset
from fwexp.data.parsed import parsed_arrays
from fwexp.data.validation import sample
from fwexp.errors import DataError, ParameterError
from fwexp.options import check_integer, option

# Attributes that features are made of, and their positions relative to the token.
TEMPLATE = (
    *(("word", at) for at in range(-2, 3)),
    *(("word", at, at + 1) for at in (-1, 0)),
    *(("pos", at) for at in range(-2, 3)),
    *(("pos", at, at + 1) for at in range(-2, 2)),
    *(("pos", at, at + 1, at + 2) for at in range(-2, 1)),
)
REACH = 2  # the largest distance in the template
MIN_COUNT = 3
METRICS = ("token_accuracy", "chunk_precision", "chunk_recall", "chunk_f1")

FORMAT = 1  # of the parsed form; to be raised when the same text gives other arrays

TOKEN = re.compile(rb"([!-~]+) ([!-~]+) (O|[BI]-[!-~]+)")


class Text(NamedTuple):
    """The content of a file; sentence i has the tokens ``ptr[i] .. ptr[i+1]``."""

    words: list[bytes]  # lower-cased
    pos: list[bytes]
    tags: list[bytes]
    ptr: np.ndarray  # int64 (sentences + 1,)


@dataclass(frozen=True)
class Options:
    """The options of ``conll2000``.

    Attributes
    ----------
    n : int, optional
        Train on a random sample of so many sentences, with the features of all.
    """

    n: int | None = option(None, check_integer, 1, optional=True, added_later=True)


def read(options: Options, data_dir: Path):
    """Return the training and the test problem."""
    from fwexp.problems.chain import chain_from_arrays

    arrays = _parsed(data_dir)
    num_states = int(arrays["num_labels"])
    problems = []
    for part in ("train", "test"):
        labels, columns, ptr = (arrays[f"{part}_{name}"] for name in ("labels", "columns", "ptr"))
        if part == "train" and options.n is not None:
            lengths = np.diff(ptr)
            chosen = sample(np.ones(len(lengths), dtype=bool), options.n, "conll2000", "sentences")
            tokens = np.repeat(chosen, lengths)
            labels, columns, ptr = labels[tokens], columns[tokens], np.concatenate(([0], np.cumsum(lengths[chosen])))
        labels = np.where(labels < num_states, labels, -1)
        problems.append(chain_from_arrays(indicators(columns, arrays["sizes"]), labels, ptr, num_states))
    return tuple(problems)


def label_names(data_dir: str | Path | None = None) -> tuple[str, ...]:
    """Return the chunk tags of the labels 0, 1, ... of the problems."""
    arrays = _parsed(resolve_data_dir(data_dir))
    return tuple(arrays["tags"][: arrays["num_labels"]].tolist())


def true_tags(data_dir: str | Path | None = None) -> list[list[str]]:
    """Return the true chunk tags of every test sentence, those included that are -1 in the test problem."""
    arrays = _parsed(resolve_data_dir(data_dir))
    tags = arrays["tags"][arrays["test_labels"]].tolist()
    return [tags[start:end] for start, end in pairwise(arrays["test_ptr"].tolist())]


def scorer(data_dir: str | Path | None = None) -> Callable[[Sequence], dict[str, float]]:
    """Return the function of predictions, a labeling per test sentence, that computes the measures of the shared task."""
    from fwexp.data.metrics import chunk_scores

    names, true = label_names(data_dir), true_tags(data_dir)

    def score(predictions: Sequence) -> dict[str, float]:
        tags = []
        for labels in map(np.asarray, predictions):
            if len(labels) and not 0 <= labels.min() <= labels.max() < len(names):
                raise ParameterError(f"labels in predictions must be in 0 .. {len(names) - 1}, got {labels.tolist()}")
            tags.append([names[label] for label in labels.tolist()])
        scores = chunk_scores(true, tags)
        return dict(zip(METRICS, scores[: len(METRICS)], strict=True))

    return score


def read_text(path: Path) -> Text:
    """Read and validate a file."""
    words, pos, tags, ptr = [], [], [], [0]
    for number, line in read_lines(path):
        line = line.rstrip(b"\r\n")
        if token := TOKEN.fullmatch(line):
            word, tag, chunk = token.groups()
            words.append(word.lower())
            pos.append(tag)
            tags.append(chunk)
        elif line:
            raise DataError(f"{path}, line {number}: {_describe(line)}")
        elif len(words) == ptr[-1]:
            before = "at the start of the file" if number == 1 else "after an empty line"
            raise DataError(f"{path}, line {number}: an empty sentence (an empty line {before}), expected a token")
        else:
            ptr.append(len(words))
    if not words:
        raise DataError(f"{path}: the file is empty, expected one token per line")
    if len(words) > ptr[-1]:  # the empty line after the last sentence may be missing
        ptr.append(len(words))
    return Text(words, pos, tags, np.array(ptr, dtype=np.int64))


def parse(train: Text, test: Text) -> dict[str, np.ndarray]:
    """Return the arrays: ids of attributes (0 is none), their numbers, labels as indices into ``tags``, and ends."""
    tags = list(dict.fromkeys((*train.tags, *test.tags)))
    number = {tag: k for k, tag in enumerate(tags)}
    arrays = {"train_ptr": train.ptr, "test_ptr": test.ptr, "tags": np.array([tag.decode("ascii") for tag in tags])}
    arrays["num_labels"] = np.array(len(set(train.tags)))
    arrays["train_labels"], arrays["test_labels"] = (
        np.array([number[tag] for tag in text.tags], np.int32) for text in (train, test)
    )
    columns, sizes = ([], []), []
    for attribute in TEMPLATE:
        values = [_values(text, *attribute) for text in (train, test)]
        often = (value for value, count in Counter(values[0]).items() if count >= MIN_COUNT)  # in the order of first occurrence
        ids = {value: k for k, value in enumerate(often, 1)}
        sizes.append(len(ids))
        for column, of_text in zip(columns, values, strict=True):
            column.append(np.array([ids.get(value, 0) for value in of_text], np.int32))
    arrays["sizes"] = np.array(sizes, dtype=np.int64)
    arrays["train_columns"], arrays["test_columns"] = (np.column_stack(column) for column in columns)
    return arrays


def _values(text: Text, name: str, *offsets: int) -> list[tuple]:
    """Return the value of an attribute at every token: words or POS tags, with None for places outside the sentence."""
    found, margin, known = [], [None] * REACH, {"word": text.words, "pos": text.pos}[name]
    for start, end in pairwise(text.ptr.tolist()):
        padded = [*margin, *known[start:end], *margin]
        found += zip(*(padded[REACH + at : REACH + at + end - start] for at in offsets), strict=True)
    return found


def indicators(columns: np.ndarray, sizes: np.ndarray):
    """Return the features as ``csr_array`` of ones: a constant, then a block of ``sizes[c]`` for every column c of ids from 1."""
    from scipy.sparse import csr_array

    starts = np.concatenate(([0], 1 + np.cumsum([0, *sizes[:-1]])))
    ids = np.pad(columns, ((0, 0), (1, 0)), constant_values=1)
    present = ids > 0
    indices = (ids + (starts - 1).astype(np.int32))[present]
    indptr = np.concatenate(([0], np.cumsum(present.sum(axis=1)))).astype(np.int32)
    return csr_array((np.ones(len(indices)), indices, indptr), shape=(len(columns), 1 + int(sizes.sum())))


def _parsed(data_dir: Path) -> dict[str, np.ndarray]:
    train, test = paths = tuple(DATASET.locate(data_dir).values())
    return parsed_arrays("conll2000", FORMAT, paths, lambda: parse(read_text(train), read_text(test)))


def _describe(line: bytes) -> str:
    """Return the fault of a line that `read_text` rejected."""
    if bad := re.search(rb"[^ -~]", line):
        return f"byte {printable(bad.group(), 1)} at column {bad.start() + 1}, expected printable ASCII"
    columns = line.split(b" ")
    if len(columns) != 3 or not all(columns):
        return f"{printable(line, 40)}, expected 'word POS chunk' with one space between"
    return f"chunk tag is {printable(columns[2], 40)}, expected O, B-TYPE or I-TYPE"


def _file(name: str, size: int, sha256: str) -> DataFile:
    url = f"https://www.clips.uantwerpen.be/conll2000/chunking/{name}"
    return DataFile(f"conll2000/{name}", url, size, partial(check_content, size=size, sha256=sha256))


DATASET = Dataset(
    name="conll2000",
    title="text chunking (CoNLL-2000)",
    shape="n 8936 + 2012, d 1643026",
    files=(
        _file("train.txt.gz", 2842164, "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea"),
        _file("test.txt.gz", 639396, "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628"),
    ),
    read=read,
    Options=Options,
    scorer=scorer,
    metrics=METRICS,
)
