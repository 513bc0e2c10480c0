"""The finding of a claim: parts that hold or do not, and the verdict that follows from them.

A part is True if the runs show it, and False if they contradict the sentence. It is ``NOT_REACHED`` if the runs are too short for
the statement, for example about the first of two methods at a gap that neither reached, and None if nothing was measured. Parts
on data that stand in for the paper's decide nothing. One verdict follows from the others:

==================  ==================================================================
``holds``           all parts do
``holds in part``   some parts hold, and others do not, or were not reached or measured
``fails``           no part holds, and at least one is contradicted
``not reached``     no part holds or is contradicted, and at least one was not reached
``undecided``       nothing was measured, or runs are missing
==================  ==================================================================
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

HOLDS, IN_PART, FAILS, NOT_REACHED, UNDECIDED = VERDICTS = ("holds", "holds in part", "fails", "not reached", "undecided")
OPEN = (NOT_REACHED, UNDECIDED)
"""The verdicts on claims that these runs neither bear out nor contradict."""
WORDS = {True: "holds", False: "does not hold", NOT_REACHED: "is not reached within these runs", None: "is not measured"}
"""What is said of a part."""
MOST_NAMED = 6
"""Of so many parts that hold, a sentence names each."""


class Undecided(Exception):
    """The runs lack data that a criterion needs; the message names them."""


@dataclass(frozen=True)
class Finding:
    """The result of a claim's criterion on the runs.

    Attributes
    ----------
    parts : mapping
        The statements that make up the claim, in words, and their results: True, False, ``NOT_REACHED`` or None.
    numbers : mapping
        Measured numbers, by name.
    stand_ins : mapping
        The same statements on data that stand in for the paper's; the verdict does not depend on them.
    """

    parts: Mapping[str, bool | str | None]
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    stand_ins: Mapping[str, bool | str | None] = field(default_factory=dict)

    def __post_init__(self):
        for name in ("parts", "stand_ins"):
            object.__setattr__(self, name, {part: _plain(outcome) for part, outcome in getattr(self, name).items()})

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`, by the table above."""
        outcomes = set(self.parts.values())
        if True in outcomes:
            return HOLDS if outcomes == {True} else IN_PART
        return FAILS if False in outcomes else NOT_REACHED if NOT_REACHED in outcomes else UNDECIDED

    @property
    def why(self) -> str:
        """One sentence that explains a verdict other than ``holds``."""
        if self.verdict == HOLDS:
            return ""
        return told(self.parts)


def within(ratios: Mapping[str, Sequence[float]], ratio: str, rounding: float = 0.0) -> Finding:
    """Return a part for each name: all its ratios of a value to its bound are at most 1, up to rounding."""
    parts = {name: max(found) <= 1 + rounding for name, found in ratios.items()}
    return Finding(parts, {f"{name}: {ratio}, most": max(found) for name, found in ratios.items()})


def _plain(outcome) -> bool | str | None:
    return outcome if outcome is None or isinstance(outcome, str) else bool(outcome)


def told(parts: Mapping[str, bool | str | None]) -> str:
    """Return one sentence per outcome that names its parts; of many parts that hold, how many they are."""
    groups = {word: [part for part, outcome in parts.items() if outcome == kind] for kind, word in WORDS.items()}
    if len(held := groups[WORDS[True]]) > MOST_NAMED:
        groups[WORDS[True]] = [f"{len(held)} of {len(parts)} parts"]
    return ". ".join(f"{word}: {'; '.join(named)}" for word, named in groups.items() if named)


def for_json(value) -> float | int | str | None:
    """Return a measured value for JSON: a number of four digits, or a word if it is not finite."""
    if isinstance(value, str):
        return value
    value = float(value)
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "never" if value > 0 else "-inf"
    return int(value) if value.is_integer() and abs(value) < 1e15 else float(f"{value:.4g}")
