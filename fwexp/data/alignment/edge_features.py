"""Features of word pairs for learned alignment, in the spirit of Taskar, Lacoste-Julien and Klein (2005).

Every feature is an indicator: an attribute of the pair (word i of E, word j of F) has one of a few values or none. Words
are compared in lower case and without accents, and counted in lower case in the training text.

    bias            always
    dice            Dice coefficient of the two words, in steps
    rare            the same, coarsely, if one of the words occurs in at most two sentences
    best            whether the Dice coefficient is the highest of both words' in the sentence, of the first's, the second's, or not
    distance        of the positions, |i - j|
    relative        distance of the relative positions, |(i + 1/2)/E - (j + 1/2)/F|
    relative, dice  both, coarsely
    before, after   Dice coefficient of the words before (after) both, coarsely; or both are the first (last) words
    crossed         the larger one of the two of the word before one and the word after the other
    equal           equal words, short or long
    prefix, suffix  length of what different words begin (end) with together
    subsequence     length of the longest common subsequence over the length of the longer word, words of at least four letters
    rank e, rank f  place of the word when words are sorted by frequency
    ranks           difference of the two on a logarithmic scale
    frequent        both are among the most frequent words: the relative distance
    kind            punctuation or numbers: both and equal, both and different, only one
"""

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fwexp.data.alignment.bitext import Bitext, Lexicon, Pairs, dice, sentence_counts
from fwexp.jit.compilation import njit

# Lower ends of the bins after the first.
DICE = (0.001, 0.01, 0.03, 0.06, 0.1, 0.15, 0.22, 0.33, 0.5)
COARSE_DICE = (0.02, 0.1, 0.25)
DISTANCE = (1, 2, 3, 5, 9)
RELATIVE = (0.03, 0.07, 0.12, 0.2, 0.3, 0.5)
COARSE_RELATIVE = (0.06, 0.15, 0.3)
SUBSEQUENCE = (0.4, 0.55, 0.7, 0.85)
RANK = (10, 60, 500)
RANK_RATIO = (1.0, 2.0, 3.5)  # powers of two
FREQUENT = 60
RARE = 2
LONGEST = 24  # letters of a word that are looked at

SIZES = {
    "bias": 1,
    "dice": len(DICE) + 1,
    "rare": len(COARSE_DICE) + 1,
    "best": 4,
    "distance": len(DISTANCE) + 1,
    "relative": len(RELATIVE) + 1,
    "relative, dice": (len(COARSE_RELATIVE) + 1) * (len(COARSE_DICE) + 1),
    "before": len(COARSE_DICE) + 2,
    "after": len(COARSE_DICE) + 2,
    "crossed": len(COARSE_DICE) + 1,
    "equal": 2,
    "prefix": 3,
    "suffix": 2,
    "subsequence": len(SUBSEQUENCE),
    "rank e": len(RANK) + 1,
    "rank f": len(RANK) + 1,
    "ranks": len(RANK_RATIO) + 1,
    "frequent": len(COARSE_RELATIVE) + 1,
    "kind": 6,
}


class Statistics(NamedTuple):
    """Statistics of words in the training text."""

    lexicon: Lexicon
    dice: np.ndarray  # float64, of every word pair
    e_rank: np.ndarray  # int64, 1 for the most frequent word; the last number is for unknown words
    f_rank: np.ndarray
    e_rare: np.ndarray  # bool, the same for words f
    f_rare: np.ndarray


def count(lexicon: Lexicon, train: Bitext) -> Statistics:
    """Return the statistics of a text."""
    ranks, rare = [], []
    for words, ptr, size in ((train.e, train.e_ptr, len(lexicon.e_words)), (train.f, train.f_ptr, len(lexicon.f_words))):
        frequency = np.bincount(words, minlength=size)
        rank = np.full(size + 1, size + 1)
        rank[np.argsort(-frequency, kind="stable")] = np.arange(1, size + 1)
        ranks.append(rank)
        rare.append(np.append(sentence_counts(words, ptr, size) <= RARE, True))
    return Statistics(lexicon, dice(lexicon, train), *ranks, *rare)


def attributes(statistics: Statistics, pairs: Pairs, text: Bitext) -> np.ndarray:
    """Return the attributes of all word pairs, uint8 (edges, len(SIZES)), 0 for none, by sentence pair, word of E, word of F."""
    out = np.empty((text.cell_ptr[-1], len(SIZES)), dtype=np.uint8)
    strings = [_Strings(words for words, _ in pairs), _Strings(words for _, words in pairs)]
    for s, (e, f) in enumerate(pairs):
        cells = text.cells[text.cell_ptr[s] : text.cell_ptr[s + 1]].reshape(len(e), len(f))
        coefficients = np.where(cells >= 0, statistics.dice[cells], 0.0)
        ids = text.e[text.e_ptr[s] : text.e_ptr[s + 1]], text.f[text.f_ptr[s] : text.f_ptr[s + 1]]
        columns = [
            *_by_dice(coefficients, statistics.e_rare[ids[0]][:, None] | statistics.f_rare[ids[1]]),
            *_by_strings(*(side.rows(words) for side, words in zip(strings, (e, f), strict=True))),
            *_by_frequency(statistics.e_rank[ids[0]][:, None], statistics.f_rank[ids[1]], _relative(len(e), len(f))),
            _kinds(e, f),
        ]
        for column, values in enumerate(columns):
            out[text.cell_ptr[s] : text.cell_ptr[s + 1], column] = np.broadcast_to(values, cells.shape).ravel()
    return out


def _bin(values, edges) -> np.ndarray:
    """Return 1 + the number of ``edges`` that a value reaches."""
    return np.searchsorted(edges, values, side="right") + 1


def _relative(num_e: int, num_f: int) -> np.ndarray:
    return np.abs((np.arange(num_e)[:, None] + 0.5) / num_e - (np.arange(num_f) + 0.5) / num_f)


def _by_dice(coefficients: np.ndarray, rare: np.ndarray) -> Iterator[np.ndarray]:
    num_e, num_f = coefficients.shape
    coarse, relative = _bin(coefficients, COARSE_DICE), _relative(num_e, num_f)
    yield np.ones((1, 1))
    yield _bin(coefficients, DICE)
    yield np.where(rare, coarse, 0)
    not_best_of_e = coefficients < coefficients.max(axis=1, keepdims=True)
    not_best_of_f = coefficients < coefficients.max(axis=0)
    yield np.where(coefficients > 0, 1 + 2 * not_best_of_e + not_best_of_f, 4)
    yield _bin(np.abs(np.arange(num_e)[:, None] - np.arange(num_f)), DISTANCE)
    yield _bin(relative, RELATIVE)
    yield (_bin(relative, COARSE_RELATIVE) - 1) * (len(COARSE_DICE) + 1) + coarse
    # around[1 + i, 1 + j] is the coefficient of the words i and j, with a margin of zeros.
    around = np.pad(coefficients, 1)
    before, after = _bin(around[:-2, :-2], COARSE_DICE), _bin(around[2:, 2:], COARSE_DICE)
    before[0, 0] = after[-1, -1] = len(COARSE_DICE) + 2
    yield before
    yield after
    yield _bin(np.maximum(around[:-2, 2:], around[2:, :-2]), COARSE_DICE)


def _by_strings(e: tuple[np.ndarray, np.ndarray], f: tuple[np.ndarray, np.ndarray]) -> Iterator[np.ndarray]:
    shape = len(e[1]), len(f[1])
    prefix, suffix, subsequence = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    _compare(*e, *f, prefix, suffix, subsequence)
    length = np.maximum(e[1][:, None], f[1])
    equal = prefix == length
    yield np.where(equal, 1 + (length >= 4), 0)
    yield np.where(equal, 0, np.clip(prefix - 2, 0, 3))
    yield np.where(equal, 0, np.clip(suffix - 2, 0, 2))
    long_enough = np.minimum(e[1][:, None], f[1]) >= 4
    yield np.where(long_enough, _bin(subsequence / length, SUBSEQUENCE) - 1, 0)


def _by_frequency(e_rank, f_rank, relative: np.ndarray) -> Iterator[np.ndarray]:
    yield _bin(e_rank - 1, RANK)
    yield _bin(f_rank - 1, RANK)
    yield _bin(np.abs(np.log2(e_rank) - np.log2(f_rank)), RANK_RATIO)
    yield np.where((e_rank <= FREQUENT) & (f_rank <= FREQUENT), _bin(relative, COARSE_RELATIVE), 0)


def _kinds(e, f) -> np.ndarray:
    equal = np.array(e)[:, None] == np.array(f)
    kinds = np.zeros(equal.shape, dtype=np.int64)
    for first, belongs in ((1, _is_punctuation), (4, _is_number)):
        a, b = np.array([belongs(word) for word in e])[:, None], np.array([belongs(word) for word in f])
        kinds[a & b] = first + 1
        kinds[a & b & equal] = first
        kinds[a ^ b] = first + 2
    return kinds


def _is_punctuation(word: str) -> bool:
    return not any(letter.isalnum() for letter in word)


def _is_number(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


class _Strings:
    """Words as rows of letters, lower-cased and without accents."""

    def __init__(self, sentences) -> None:
        self._row = {word: row for row, word in enumerate(dict.fromkeys(word for words in sentences for word in words))}
        self._letters = np.zeros((len(self._row), LONGEST), dtype=np.int32)
        self._lengths = np.zeros(len(self._row), dtype=np.int64)
        for word, row in self._row.items():
            plain = [c for c in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(c)][:LONGEST]
            self._letters[row, : len(plain)] = [ord(c) for c in plain]
            self._lengths[row] = len(plain)

    def rows(self, words) -> tuple[np.ndarray, np.ndarray]:
        """Return the letters (words, LONGEST) and the lengths (words,)."""
        rows = [self._row[word] for word in words]
        return self._letters[rows], self._lengths[rows]


@njit
def _compare(e, e_length, f, f_length, prefix, suffix, subsequence):
    """Fill in the lengths of the common prefix, suffix and longest common subsequence of all pairs of words."""
    row = np.zeros(f.shape[1] + 1, dtype=np.int64)
    for i in range(len(e_length)):
        for j in range(len(f_length)):
            m, n = e_length[i], f_length[j]
            length = 0
            while length < min(m, n) and e[i, length] == f[j, length]:
                length += 1
            prefix[i, j] = length
            length = 0
            while length < min(m, n) and e[i, m - 1 - length] == f[j, n - 1 - length]:
                length += 1
            suffix[i, j] = length
            row[: n + 1] = 0  # row[b + 1]: of the letters so far and the first b + 1 letters of the other word
            for a in range(m):
                diagonal = 0
                for b in range(n):
                    above = row[b + 1]
                    row[b + 1] = diagonal + 1 if e[i, a] == f[j, b] else max(above, row[b])
                    diagonal = above
            subsequence[i, j] = row[n]
