"""The finding of a claim: parts that hold or do not, and the verdict that follows from them.

A part is True if the runs show it, and False if they contradict the sentence. It is ``NOT_REACHED`` if the runs are too short for
the statement, for example about the first of two methods at a gap that neither reached, and None if nothing was measured or the
seeds do not tell. Parts on data that stand in for the paper's decide nothing. One verdict of `VERDICTS` follows from the others.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

HOLDS, MEASURED, IN_PART, MOSTLY = "holds", "holds where measured", "in part", "mostly contradicted"
FAILS, UNDECIDED, MISPRINTS = "fails", "undecided", "lists misprints"
NOT_REACHED = "not reached"
VERDICTS = {
    HOLDS: "all parts of the claim hold",
    MEASURED: "some parts hold and none is contradicted; for the others, runs are missing, too short or do not tell",
    IN_PART: "some parts are contradicted; at least half of the decided parts hold",
    MOSTLY: "some parts hold; fewer than half of the decided parts do",
    FAILS: "no part holds, and at least one is contradicted",
    UNDECIDED: "no part is decided: runs are missing, too short or do not tell",
    MISPRINTS: "what is printed is wrong and the mended statement right; this is no result of the paper",
}
"""All verdicts, with their meanings."""
OPEN = (UNDECIDED, MISPRINTS)
"""The verdicts that say nothing for or against a result."""
WORDS = {True: "holds", False: "does not hold", NOT_REACHED: "is not reached within these runs", None: "is not told by these runs"}
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
        """One of `VERDICTS`."""
        outcomes = list(self.parts.values())
        held, contradicted = outcomes.count(True), outcomes.count(False)
        if contradicted:
            return FAILS if not held else IN_PART if held >= contradicted else MOSTLY
        return UNDECIDED if not held else HOLDS if held == len(outcomes) else MEASURED

    @property
    def why(self) -> str:
        """One sentence that explains a verdict other than ``holds``."""
        if self.verdict == HOLDS:
            return ""
        return told(self.parts)


def every(outcomes: Iterable[bool | str | None]) -> bool | str | None:
    """Return the outcome of a part that needs several to hold: a contradicted one decides it, an open one leaves it open."""
    found = list(outcomes)
    return False if False in found else next((outcome for outcome in found if outcome is not True), True)


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
