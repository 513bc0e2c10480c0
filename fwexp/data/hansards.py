"""``hansards``: English-French word alignment on the Canadian Hansards, the shared task of NAACL 2003 (Mihalcea and Pedersen).

``hansards/test.e``, ``test.f`` and ``test.wa`` hold 447 sentence pairs with links made by hand, ``train.25000.e.gz`` and
``train.25000.f.gz`` hold pairs without links. An example is a sentence pair; its output is a matching of words, as in
``fwexp.matching_problem``, with English words as rows.

The training pairs of the papers, their links and features are not public. Here, of the 25,000 pairs those with a sentence
of more than `LONGEST` words and repeated ones (in lower case) are dropped. On what remains (19,434) an aligner is run
without supervision in both directions, and words are counted for the features. Examples for training are the first 5000 of
these pairs that are not among the test pairs and have a link; their true links are those found in both directions.

Of the test pairs the first 100 are set aside; the other 347 are the test set (ICML 2013, appendix F). Its links are sure or
possible, and its error is the alignment error rate.

The features are indicators, see ``fwexp.data.alignment.edge_features``; weight j belongs to the j-th name of `feature_names`.
The aligner is the HMM of ``fwexp.data.alignment.hmm``, or eflomal where that is installed and asked for; eflomal
reads the test sentences, too (without links).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fwexp.data.data_files import check_content, printable, read_lines, resolve_data_dir
from fwexp.data.dataset import DataFile, Dataset
from fwexp.data.parsed import parsed_arrays
from fwexp.errors import DataError
from fwexp.options import choice

LONGEST = 60  # words
NUM_TRAIN = 5000
SET_ASIDE = 100

FORMAT = 1  # of the parsed form; to be raised when the same text gives other arrays

LINK = re.compile(rb"(\d{1,9}) (\d{1,9}) (\d{1,9}) ([SP])")


@dataclass(frozen=True)
class Options:
    """The options of ``hansards``.

    Attributes
    ----------
    aligner : str
        Aligner of the training text: the HMM of this package, or ``eflomal`` if that is installed.
    """

    aligner: str = choice("hmm", "eflomal")


class Gold(NamedTuple):
    """Sentence pairs with links made by hand, from 0; possible ones include the sure ones."""

    pairs: list[tuple[list[str], list[str]]]
    sure: list[np.ndarray]
    possible: list[np.ndarray]


def read(options: Options, data_dir: Path):
    """Return the training and the test problem."""
    return problems(_parsed(options, data_dir))


def problems(arrays: dict[str, np.ndarray]):
    """Return the training and the test problem of a result of `prepare`."""
    from fwexp.problems.matching import matching_from_arrays

    both = []
    for part, links, possible in (("train", "links", None), ("test", "sure", "possible")):
        x, num_features = _indicators(arrays[f"{part}_columns"])
        truth = _split(arrays, f"{part}_{links}")
        more = None if possible is None else _split(arrays, f"{part}_{possible}")
        both.append(matching_from_arrays(x, num_features, arrays[f"{part}_shapes"], truth, possible=more))
    return tuple(both)


def feature_names() -> tuple[str, ...]:
    """Return the names of the features, such as ``"dice 3"`` for the third bin of the Dice coefficient."""
    from fwexp.data.alignment.edge_features import SIZES

    return tuple(f"{name} {value}" for name, size in SIZES.items() for value in range(1, size + 1))


def scorer(data_dir: str | Path | None = None) -> Callable[[Sequence], dict[str, float]]:
    """Return the function of predictions, links per test sentence, that computes the measures of the shared task."""
    from fwexp.data.metrics import alignment_scores

    gold = read_gold(resolve_data_dir(data_dir))
    sure, possible = gold.sure[SET_ASIDE:], gold.possible[SET_ASIDE:]
    return lambda predictions: alignment_scores(sure, possible, predictions)._asdict()


def read_sentences(path: Path) -> list[list[str]]:
    """Read a text, one sentence per line with spaces between its words."""
    sentences = []
    for number, line in read_lines(path):
        try:
            words = line.decode("utf-8").split()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}, line {number}: byte {error.start + 1} is not UTF-8") from error
        if not words:
            raise DataError(f"{path}, line {number}: an empty line, expected a sentence")
        sentences.append(words)
    return sentences


def read_pairs(e_path: Path, f_path: Path) -> list[tuple[list[str], list[str]]]:
    """Read two texts of which equal lines belong together."""
    e, f = read_sentences(e_path), read_sentences(f_path)
    if len(e) != len(f):
        raise DataError(f"{e_path} and {f_path} must have the same number of lines, got {len(e)} and {len(f)}")
    if not e:
        raise DataError(f"{e_path}: the file is empty, expected one sentence per line")
    return list(zip(e, f, strict=True))


def read_gold(data_dir: Path) -> Gold:
    """Read the sentence pairs that have links."""
    e_path, f_path, path = list(DATASET.locate(data_dir).values())[:3]
    pairs = read_pairs(e_path, f_path)
    if len(pairs) <= SET_ASIDE:
        raise DataError(f"{e_path}: {len(pairs)} sentences, expected more than the {SET_ASIDE} that are set aside")
    sure, possible = [[] for _ in pairs], [[] for _ in pairs]
    for number, line in read_lines(path):
        link = LINK.fullmatch(line.rstrip(b"\r\n"))
        if link is None:
            shown = printable(line.rstrip(b"\r\n"), 40)
            raise DataError(f"{path}, line {number}: {shown}, expected 'SENTENCE E F S' or 'SENTENCE E F P', as in '0001 1 1 S'")
        s, i, j = (int(part) for part in link.groups()[:3])
        if not 1 <= s <= len(pairs):
            raise DataError(f"{path}, line {number}: sentence is {s}, expected 1 .. {len(pairs)}")
        for name, value, words in (("English", i, pairs[s - 1][0]), ("French", j, pairs[s - 1][1])):
            if not 1 <= value <= len(words):
                raise DataError(f"{path}, line {number}: {name} position is {value}, sentence {s} has 1 .. {len(words)}")
        possible[s - 1].append((i - 1, j - 1))
        if link.group(4) == b"S":
            sure[s - 1].append((i - 1, j - 1))
    for kind, links in (("sure link ('... S')", sure), ("possible link", possible)):
        if not any(links[SET_ASIDE:]):
            raise DataError(f"{path}: no {kind} in a sentence after the {SET_ASIDE} that are set aside, expected some")
    as_arrays = ([np.array(links, dtype=np.int64).reshape(-1, 2) for links in side] for side in (sure, possible))
    return Gold(pairs, *as_arrays)


def prepare(options: Options, pairs, gold: Gold) -> dict[str, np.ndarray]:
    """Align, count and describe; return the arrays of the problems, links as int16 (m, 2) with their numbers per sentence pair."""
    from fwexp.data.alignment import bitext, edge_features, hmm

    text = _distinct(pairs)
    tests = [_lower(pair) for pair in gold.pairs]
    lexicon, numbered = bitext.number(text)
    if options.aligner == "eflomal":
        from fwexp.data.alignment import eflomal

        found = [side[: len(text)] for side in eflomal.align(text + tests)]
    else:
        found = hmm.align(lexicon, numbered)

    links = [hmm.intersect(*both) for both in zip(*found, strict=True)]
    known = set(tests)
    chosen = [s for s, pair in enumerate(text) if pair not in known and len(links[s])][:NUM_TRAIN]
    if not chosen:
        raise DataError(f"hansards: no training pair of sentences with at most {LONGEST} words has a link, expected at least one")
    statistics = edge_features.count(lexicon, numbered)
    arrays = {}
    for part, these in (("train", [text[s] for s in chosen]), ("test", tests[SET_ASIDE:])):
        arrays[f"{part}_columns"] = edge_features.attributes(statistics, these, bitext.look_up(lexicon, these))
        arrays[f"{part}_shapes"] = np.array([(len(e), len(f)) for e, f in these], dtype=np.int64)
    train_links = [links[s] for s in chosen]
    sets = {"train_links": train_links, "test_sure": gold.sure[SET_ASIDE:], "test_possible": gold.possible[SET_ASIDE:]}
    for name, of_sentences in sets.items():
        arrays[name] = np.concatenate(of_sentences).astype(np.int16)
        arrays[f"{name} counts"] = np.array([len(pairs) for pairs in of_sentences])
    return arrays


def _parsed(options: Options, data_dir: Path) -> dict[str, np.ndarray]:
    paths = tuple(DATASET.locate(data_dir).values())
    name = f"hansards-{options.aligner}"
    return parsed_arrays(name, FORMAT, paths, lambda: prepare(options, _read_text(*paths[3:]), read_gold(data_dir)))


def _read_text(e_path: Path, f_path: Path) -> list[tuple[list[str], list[str]]]:
    pairs = read_pairs(e_path, f_path)
    if not _distinct(pairs):
        raise DataError(f"{e_path} and {f_path}: no pair of sentences with at most {LONGEST} words")
    return pairs


def _lower(pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(tuple(word.lower() for word in words) for words in pair)


def _distinct(pairs) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the sentence pairs in lower case without repeated and overlong ones."""
    return list(dict.fromkeys(_lower(pair) for pair in pairs if max(map(len, pair)) <= LONGEST))


def _split(arrays, name: str) -> list[np.ndarray]:
    """Return the links of every sentence pair."""
    return np.split(arrays[name].astype(np.int64), np.cumsum(arrays[f"{name} counts"])[:-1])


def _indicators(columns: np.ndarray):
    """Return the features of all edges, one for every attribute that has a value, and their number."""
    from fwexp.data.alignment.edge_features import SIZES
    from fwexp.problems.features import BinaryFeatures

    sizes = np.array(list(SIZES.values()))
    first = np.concatenate(([0], np.cumsum(sizes[:-1]))).astype(np.int16)
    present = columns > 0
    indptr = np.concatenate(([0], np.cumsum(np.count_nonzero(present, axis=1))))
    return BinaryFeatures(indptr, (columns + (first - 1))[present].astype(np.int32)), int(sizes.sum())


def _file(name: str, upstream: str, size: int, sha256: str, skip: int = 0) -> DataFile:
    # A copy of the shared task's texts, in UTF-8 and cut to 25,000 pairs; its own archives hold 1.1 million in Latin-1.
    url = f"https://raw.githubusercontent.com/pdekker12/nlp2/master/data/{upstream}"
    return DataFile(f"hansards/{name}", url, size, partial(check_content, size=size, sha256=sha256), skip)


DATASET = Dataset(
    name="hansards",
    title="word alignment, English and French (NAACL 2003)",
    shape="n 5000 + 347, d 95",
    files=(
        _file("test.e", "test.e", 36939, "d73d6edcf34615f9f9489d0c234a44eadb3294635d10c9ceb77c22afca46bb39"),
        _file("test.f", "test.f", 42709, "7aece2a76346cd3e36a43d6e2958bf08bd22a24469e50c7e21da90fe49e0402d"),
        _file("test.wa", "test.wa.nonullalign", 209027, "eedb9a219cb672a79130557fd4a4bc698565078c6a64abe8d9b18c3bb3ec0651"),
        # Upstream put the 447 test sentences first.
        _file(
            "train.25000.e.gz",
            "combination25000.e",
            2407926,
            "8f02119a6c8fefc3242fac9f8d793b1a9495a333cbdb980134976fdf85965d70",
            skip=447,
        ),
        _file(
            "train.25000.f.gz",
            "combination25000.f",
            2905917,
            "a2db728a3479cd96815592d9ef7b7e1fef798fe702ae95dd74bc22dc17e02da8",
            skip=447,
        ),
    ),
    read=read,
    Options=Options,
    scorer=scorer,
    metrics=("aer", "precision", "recall"),
)
