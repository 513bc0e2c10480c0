"""Sentence pairs as numbers, and how often words of both sides occur together."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Pairs = Sequence[tuple[Sequence[str], Sequence[str]]]  # sentence pairs, as lists of words


class Lexicon(NamedTuple):
    """The words of a text, and the word pairs that occur together in a sentence pair."""

    e_words: dict[str, int]
    f_words: dict[str, int]
    codes: np.ndarray  # int64, ascending: e * len(f_words) + f of every word pair

    @property
    def e_of(self) -> np.ndarray:
        """The first word of every word pair."""
        return self.codes // len(self.f_words)

    @property
    def f_of(self) -> np.ndarray:
        """The second word of every word pair."""
        return self.codes % len(self.f_words)


class Bitext(NamedTuple):
    """Sentence pairs whose words are numbered by a lexicon; -1 marks words that it does not have."""

    e: np.ndarray  # int32, the words of all sentences
    f: np.ndarray
    e_ptr: np.ndarray  # int64 (pairs + 1,): sentence s has the words e_ptr[s] .. e_ptr[s+1]
    f_ptr: np.ndarray
    cells: np.ndarray  # int32: of every sentence pair the E x F word pairs, row after row
    cell_ptr: np.ndarray  # int64 (pairs + 1,)


def number(pairs: Pairs) -> tuple[Lexicon, Bitext]:
    """Return the lexicon of a text, and the text in its numbers."""
    lexicon = Lexicon({}, {}, np.zeros(0, dtype=np.int64))
    for e, f in pairs:
        for word in e:
            lexicon.e_words.setdefault(word, len(lexicon.e_words))
        for word in f:
            lexicon.f_words.setdefault(word, len(lexicon.f_words))
    text = _words(lexicon, pairs)
    codes, cells = np.unique(_codes(lexicon, text), return_inverse=True)
    return lexicon._replace(codes=codes), text._replace(cells=cells.astype(np.int32))


def look_up(lexicon: Lexicon, pairs: Pairs) -> Bitext:
    """Return sentence pairs in the numbers of a lexicon."""
    text = _words(lexicon, pairs)
    codes = _codes(lexicon, text)
    place = np.minimum(np.searchsorted(lexicon.codes, codes), len(lexicon.codes) - 1)
    return text._replace(cells=np.where(lexicon.codes[place] == codes, place, -1).astype(np.int32))


def _words(lexicon: Lexicon, pairs: Pairs) -> Bitext:
    lengths = np.array([(len(e), len(f)) for e, f in pairs], dtype=np.int64)
    e_ptr, f_ptr, cell_ptr = (np.concatenate(([0], np.cumsum(n))) for n in (lengths[:, 0], lengths[:, 1], lengths.prod(axis=1)))
    e = np.array([lexicon.e_words.get(word, -1) for pair in pairs for word in pair[0]], dtype=np.int32)
    f = np.array([lexicon.f_words.get(word, -1) for pair in pairs for word in pair[1]], dtype=np.int32)
    return Bitext(e, f, e_ptr, f_ptr, np.zeros(0, dtype=np.int32), cell_ptr)


def _places(text: Bitext) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sentence pair of every cell, and the positions of its two words there."""
    s = np.repeat(np.arange(len(text.cell_ptr) - 1), np.diff(text.cell_ptr))
    return s, *np.divmod(np.arange(len(s)) - text.cell_ptr[s], np.diff(text.f_ptr)[s])


def _codes(lexicon: Lexicon, text: Bitext) -> np.ndarray:
    s, i, j = _places(text)
    e, f = text.e[text.e_ptr[s] + i].astype(np.int64), text.f[text.f_ptr[s] + j]
    return np.where((e >= 0) & (f >= 0), e * len(lexicon.f_words) + f, -1)


def swapped(text: Bitext) -> Bitext:
    """Return a text with e and f exchanged; cells keep the numbers of their word pairs."""
    other = Bitext(text.f, text.e, text.f_ptr, text.e_ptr, text.cells, text.cell_ptr)
    s, j, i = _places(other)
    return other._replace(cells=text.cells[text.cell_ptr[s] + i * np.diff(text.f_ptr)[s] + j])


def sentence_counts(items: np.ndarray, ptr: np.ndarray, size: int) -> np.ndarray:
    """Return in how many sentences each of ``size`` items occurs."""
    sentence = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    return np.bincount(np.unique(sentence * size + items) % size, minlength=size)


def dice(lexicon: Lexicon, text: Bitext) -> np.ndarray:
    """Return the Dice coefficient of every word pair: 2 C(e, f) / (C(e) + C(f)), where C counts sentence pairs."""
    together = sentence_counts(text.cells, text.cell_ptr, len(lexicon.codes))
    e_count = sentence_counts(text.e, text.e_ptr, len(lexicon.e_words))
    f_count = sentence_counts(text.f, text.f_ptr, len(lexicon.f_words))
    return 2.0 * together / (e_count[lexicon.e_of] + f_count[lexicon.f_of])
