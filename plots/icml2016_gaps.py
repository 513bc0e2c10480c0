"""Figures 3, 5 and 6 of the ICML 2016 paper, and one of ours beside them: gaps of block methods against passes and time.

The paper's HorseSeg and LSP are replaced by synthetic data of their sizes, and by Weizmann horses; OCR and CoNLL are the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fwexp.plots import curves, style
from fwexp.plots.curves import Panel

AXES = ("passes", "time")
FULL = {"passes": 1.0, "time": 0.1}  # from here on panels show all of every curve


class Place(NamedTuple):
    """A data set, with its options, and the three lam at which methods are compared there."""

    dataset: str
    lams: tuple[float, float, float]
    options: Mapping[str, str] = {}

    def among(self, results):
        """Return the rows of results that are on this data."""
        return curves.on_data(results, self.dataset, self.options)


PLACES = {
    "OCR-large": Place("ocr", (0.1, 0.001, 0.0001), {"split": "ocr2"}),
    "OCR-small": Place("ocr", (0.1, 0.001, 0.0001), {"split": "ocr"}),
    "CoNLL": Place("conll2000", (0.1, 0.01, 0.0001)),
    "synth. HorseSeg-small": Place("synthetic_horseseg", (1000.0, 100.0, 0.1), {"size": "small"}),
    "synth. HorseSeg-medium": Place("synthetic_horseseg", (10.0, 1.0, 0.1), {"size": "medium"}),
    "synth. HorseSeg-large": Place("synthetic_horseseg", (10.0, 1.0, 0.1), {"size": "large"}),
    "Weizmann horses": Place("horses", (10.0, 1.0, 0.1)),
    "synth. LSP": Place("synthetic_lsp", (1.0, 0.1, 0.01)),
}
"""By what panels call them. The lam are the paper's; for horses those of its larger HorseSeg, for LSP smaller ones, as fit features
about as long as 1."""


@dataclass(frozen=True)
class Gaps:
    """A figure of the gap against passes and time, `columns` panels to a row."""

    panels: tuple[Panel, ...]
    columns: int

    def data(self, results):
        """Return the tidy frame: the gap of all methods among the runs."""
        return curves.data(results, self.panels)

    def draw(self, frame):
        """Draw the tidy frame; panels are as large in all these figures."""
        return curves.draw(frame, self.panels, columns=self.columns, width=style.TEXT * self.columns / 3)


def short(name: str) -> str:
    """Return a name of `PLACES` as titles have it, with a star instead of a word; a note says what that means."""
    return f"{name.removeprefix('synth. ')}*" if name.startswith("synth. ") else name


def _panel(key, name, lam, axis):
    place = PLACES[name]
    return Panel(key, f"{short(name)}, λ = {lam:g}", place.dataset, lam, "gap", axis, full=FULL[axis], options=place.options)


def _at_middle_lam(*names):
    """A row of panels for each axis, a column for each data set."""
    return Gaps(
        tuple(
            _panel(f"{letter}{row}", name, PLACES[name].lams[1], axis)
            for row, axis in enumerate(AXES, 1)
            for letter, name in zip("abcdef", names)
        ),
        columns=len(names),
    )


def _at_all_lam(*names):
    """A row of panels for each data set: three lam against passes, then the same against time."""
    return Gaps(
        tuple(
            _panel(f"{letter}{row}", name, lam, axis)
            for row, name in enumerate(names, 1)
            for letter, (axis, lam) in zip("abcdef", [(axis, lam) for axis in AXES for lam in PLACES[name].lams], strict=True)
        ),
        columns=6,
    )


IN_FIG5, IN_FIG6 = tuple(PLACES)[:3], tuple(PLACES)[3:]
FIG3 = _at_middle_lam("OCR-large", "synth. HorseSeg-large", "Weizmann horses", "synth. LSP")
FIG5 = _at_all_lam(*IN_FIG5)
FIG6 = _at_all_lam(*IN_FIG6)
AUTO = _at_all_lam(*PLACES)
