"""What a claim finds: parts that hold or do not, and the verdict that follows from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

HOLDS, IN_PART, FAILS, UNDECIDED = VERDICTS = ("holds", "holds in part", "fails", "undecided")


class Undecided(Exception):
    """What a criterion looks at is not in the runs; the message says what."""


@dataclass(frozen=True)
class Finding:
    """What the criterion of a claim says of the runs.

    Attributes
    ----------
    parts : mapping
        The statements that make up the claim, in words, and whether each holds; None where no run can tell.
    numbers : mapping
        What was measured, by its name.
    """

    parts: Mapping[str, bool | None]
    numbers: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """``holds`` if all parts do, ``fails`` if none of those that could be looked at does."""
        decided = [bool(held) for held in self.parts.values() if held is not None]
        if not decided:
            return UNDECIDED
        if not any(decided):
            return FAILS
        return HOLDS if len(decided) == len(self.parts) and all(decided) else IN_PART

    @property
    def why(self) -> str:
        """One sentence that explains a verdict other than ``holds``."""
        if self.verdict == HOLDS:
            return ""
        words = {True: "holds", False: "does not hold", None: "is not measured"}
        groups = {word: [part for part, held in self.parts.items() if words[_flag(held)] == word] for word in words.values()}
        return ". ".join(f"{word}: {'; '.join(found)}" for word, found in groups.items() if found)


def _flag(held) -> bool | None:
    return None if held is None else bool(held)


def plain(value) -> float | int | str | None:
    """A measured value as JSON has it: four digits, and words where a number is none."""
    if isinstance(value, str):
        return value
    value = float(value)
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "never" if value > 0 else "-inf"
    return int(value) if value.is_integer() and abs(value) < 1e15 else float(f"{value:.4g}")
