"""Generated texts in the formats of CoNLL-2003 and Universal Dependencies, where the real ones cannot be distributed.

The first has names of persons, organisations, places and rarer kinds, in the scheme BIO: names consist of capitalised words that
partly serve several kinds, words before and after a name hint at its kind, and every tenth name is new. The second has words of an
inflected language in CoNLL-U: endings tell case, number and person, but several of them share an ending, so that words nearby
decide. A text is the same each time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

ONSETS, VOWELS, CODAS = (*"bcdfghklmnprstvwz", "br", "cl", "dr", "gr", "pl", "st", "tr"), "aeiou", ("", "", *"nrlst")
KINDS = {"PER": 0.38, "ORG": 0.28, "LOC": 0.25, "MISC": 0.07, "EVENT": 0.02}  # and how frequent they are
HINTS = {
    "PER": ("mr said told by", "said told was"),
    "ORG": ("at by from the", "said reported shares"),
    "LOC": ("in at from near", "on was where"),
    "MISC": ("the a in", "man team"),
    "EVENT": ("the at won", "in on final"),
}
SHARED, NEW, NOISE = 0.25, 0.1, 0.01  # names of several kinds, names that occur once, names without a label
ENDINGS = {  # of nouns and adjectives by number and case; several are ambiguous
    (case, number): ending
    for number, endings in (("Sing", "o a i u"), ("Plur", "i o un im"))
    for case, ending in zip(("Nom", "Acc", "Gen", "Dat"), endings.split(), strict=True)
}
VERB_ENDINGS = {
    (person, number): ending
    for number, endings in (("Sing", "am as at"), ("Plur", "em as at"))
    for person, ending in zip("123", endings.split(), strict=True)
}
GOVERNED = {"Acc": ("per", "na"), "Gen": ("de", "sen"), "Dat": ("na", "kon")}  # prepositions; "na" is ambiguous


def write_names(folder: Path, sizes: Sequence[int] = (2000, 800), seed: int = 0) -> list[Path]:
    """Write a training and a test text with columns for word, part of speech and label, as CoNLL-2003 has; return their paths."""
    draw = _Names(np.random.default_rng(seed))
    return _written(folder, "names.{}.txt", sizes, lambda: map(" ".join, draw.sentence()))


def write_morphology(folder: Path, sizes: Sequence[int] = (1500, 700), seed: int = 0) -> list[Path]:
    """Write a training and a test text in CoNLL-U, with parts of speech and morphological features; return their paths."""
    draw = _Clauses(np.random.default_rng(seed))
    row = "{}\t{}\t_\t{}\t_\t{}\t_\t_\t_\t_".format
    return _written(folder, "morphology.{}.conllu", sizes, lambda: (row(k, *token) for k, token in enumerate(draw.sentence(), 1)))


def _written(folder: Path, name: str, sizes: Sequence[int], lines: Callable[[], Iterable[str]]) -> list[Path]:
    """Write two texts of sentences, whose ``lines`` are drawn one sentence after the other; return their paths."""
    paths = [folder / name.format(part) for part in ("train", "test")]
    for path, size in zip(paths, sizes, strict=True):
        path.write_text("\n".join("".join(f"{line}\n" for line in lines()) for _ in range(size)))
    return paths


class _Words:
    """Draws made-up words, and indices by Zipf's law."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def word(self, syllables: int) -> str:
        """Return a new word."""
        pick = self.rng.integers
        parts = ((ONSETS[pick(len(ONSETS))], VOWELS[pick(5)], CODAS[pick(len(CODAS))]) for _ in range(syllables))
        return "".join(map("".join, parts))

    def words(self, count: int, syllables: int) -> list[str]:
        """Return some new words."""
        return [self.word(syllables) for _ in range(count)]

    def one_of(self, words: Sequence, power: float = 1.0):
        """Return one of some words, the first ones more often."""
        weights = 1.0 / (np.arange(len(words)) + 3.0) ** power
        return words[int(np.searchsorted(np.cumsum(weights / weights.sum())[:-1], self.rng.random()))]


class _Names(_Words):
    """Draws sentences with names."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.fillers = [(word, self.one_of(("NN", "VB", "JJ", "IN", "DT", "RB"))) for word in self.words(2500, 2)]
        self.common = [word.capitalize() for word in self.words(250, 2)]
        self.names = {kind: [word.capitalize() for word in self.words(500, 2)] for kind in KINDS}
        self.ends = {"ORG": ("Corp", "Bank", "United"), "EVENT": ("Cup", "Games", "Prize"), "LOC": ("City", "Bay")}

    def sentence(self) -> list[tuple[str, str, str]]:
        """Return the words of a sentence, with parts of speech and labels."""
        tokens: list[tuple[str, str, str]] = []
        for _ in range(self.rng.integers(1, 4)):
            tokens += self._filled(self.rng.integers(2, 7))
            tokens += self._entity()
        tokens += [*self._filled(self.rng.integers(1, 4)), (".", ".", "O")]
        return tokens

    def _filled(self, count: int) -> list[tuple[str, str, str]]:
        found = [self.one_of(self.fillers) for _ in range(count)]
        return [(word.capitalize() if self.rng.random() < 0.08 else word, tag, "O") for word, tag in found]

    def _entity(self) -> Iterator[tuple[str, str, str]]:
        """Yield a name with the words that hint at its kind."""
        kind = list(KINDS)[int(np.searchsorted(np.cumsum(list(KINDS.values()))[:-1], self.rng.random()))]
        before, after = (text.split() for text in HINTS[kind])
        if self.rng.random() < 0.6:
            yield self.one_of(before), "IN", "O"
        words = [self._name(kind) for _ in range(self.rng.integers(1, 3))]
        if kind in self.ends and self.rng.random() < 0.4:
            words.append(self.one_of(self.ends[kind]))
        is_labelled = self.rng.random() >= NOISE
        for k, word in enumerate(words):
            yield word, "NNP", f"{'I' if k else 'B'}-{kind}" if is_labelled else "O"
        if self.rng.random() < 0.35:
            yield self.one_of(after), "VB", "O"

    def _name(self, kind: str) -> str:
        chance = self.rng.random()
        if chance < NEW:
            return self.word(2).capitalize()
        return self.one_of(self.common if chance < NEW + SHARED else self.names[kind], 0.7)


class _Clauses(_Words):
    """Draws clauses of an inflected language: words, parts of speech and features."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.stems = {"NOUN": self.words(900, 2), "ADJ": self.words(300, 2), "VERB": self.words(500, 2), "ADV": self.words(80, 2)}
        self.pronouns = {key: self.word(1) for key in VERB_ENDINGS}

    def sentence(self) -> Iterator[tuple[str, str, str]]:
        """Yield the words of a sentence."""
        for clause in range(self.rng.integers(1, 3)):
            if clause:
                yield "et", "CCONJ", "_"
            number = self.one_of(("Sing", "Plur"))
            person = "3"
            if self.rng.random() < 0.35:
                person, number = self.one_of(list(VERB_ENDINGS))
                yield self.pronouns[person, number], "PRON", f"Case=Nom|Number={number}|Person={person}"
            else:
                yield from self._phrase("Nom", number)
            if self.rng.random() < 0.3:
                yield self._stem("ADV"), "ADV", "_"
            yield self._stem("VERB") + VERB_ENDINGS[person, number], "VERB", f"Number={number}|Person={person}"
            if self.rng.random() < 0.7:
                yield from self._phrase("Acc", self.one_of(("Sing", "Plur")))
            if self.rng.random() < 0.5:
                case = self.one_of(("Gen", "Dat", "Acc"))
                yield self.one_of(GOVERNED[case]), "ADP", "_"
                yield from self._phrase(case, self.one_of(("Sing", "Plur")))
        yield ".", "PUNCT", "_"

    def _phrase(self, case: str, number: str) -> Iterator[tuple[str, str, str]]:
        features = f"Case={case}|Number={number}"
        if self.rng.random() < 0.45:  # adjectives have endings of their own where nouns share one
            end = {("Gen", "Sing"): "e", ("Acc", "Plur"): "os"}.get((case, number), ENDINGS[case, number])
            yield self._stem("ADJ") + end, "ADJ", features
        yield self._stem("NOUN") + ENDINGS[case, number], "NOUN", features

    def _stem(self, tag: str) -> str:
        return self.word(2) if self.rng.random() < NEW else self.one_of(self.stems[tag])
