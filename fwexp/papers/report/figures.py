"""The figures of the report: which files there are of each, and its curves as the page draws them."""

import io
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from fwexp.driver.progress import print_line
from fwexp.errors import DataError
from fwexp.papers.catalogue import FIGURES, Figure
from fwexp.papers.files import paths, read_file, read_record
from fwexp.plots import style
from fwexp.plots.frames import AXES, MEASURES, POSITIONS
from fwexp.store.records import Damaged

POINTS = 300  # of a curve on a page; its CSV has all
COLUMNS = ("x", *POSITIONS, "median", "best", "worst")
READ = {"panel", "variant", "measure", "axis", "runs", *COLUMNS}
DASHES = {"-": "solid"}
SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "D": "diamond",
    "d": "diamond-tall",
    "p": "pentagon",
    "h": "hexagon",
    "H": "hexagon2",
    "8": "octagon",
    "P": "cross",
    "X": "x",
    "*": "star",
}


@dataclass(frozen=True)
class Drawn:
    """A figure of the catalogue with the files that were drawn of it.

    Attributes
    ----------
    figure : Figure
    stem : Path or None
        The files' path without suffix; None if it is not drawn yet.
    preset : str
        Which runs it shows.
    record : dict
        What its JSON says.
    """

    figure: Figure
    stem: Path | None = None
    preset: str = ""
    record: dict = field(default_factory=dict)

    @property
    def id(self) -> str:
        """A name that is one in HTML, too."""
        return self.figure.name.replace("/", "-")

    def read(self, suffix: str) -> bytes:
        """What one of its files holds.

        Raises
        ------
        DataError
            Somebody is changing it, or drawing the figure again.
        """
        try:
            return read_file(self.stem, suffix, self.record)
        except Damaged as error:
            raise DataError(damage(self.figure.name, error, self.preset)) from error


def damage(name: str, error: Damaged, preset: str = "full") -> str:
    """The line that says what is wrong with the files of a figure, and how to mend it."""
    again = f"fwexp figure {name}" + (f" --preset {preset}" if preset != "full" else "")
    return f"figure {name} is damaged: {error}; draw it again with {again}"


def drawn(results_dir: Path) -> list[Drawn]:
    """All figures of the catalogue; of one that is drawn from full and from short runs, the full one; damaged ones are none."""
    FIGURES.load_all()
    return [_files(figure, results_dir) for _, figure in sorted(FIGURES.items())]


def _files(figure, results_dir):
    for preset in ("full", "smoke"):
        stem = results_dir / "figures" / (figure.name if preset == "full" else f"{figure.name}-{preset}")
        if not any(path.exists() for path in paths(stem, figure.suffixes)):
            continue
        try:
            return Drawn(figure, stem, preset, read_record(stem, figure.suffixes, figure.name, preset))
        except Damaged as error:
            print_line(damage(figure.name, error, preset))
    return Drawn(figure)


def curves(pictured: Drawn) -> dict:
    """The panels of a figure with all curves, from its CSV, as plain data."""
    frame = pd.read_csv(io.BytesIO(pictured.read(".csv")), dtype={"variant": str, "panel": str}, usecols=lambda name: name in READ)
    lines = style.lines(frame["variant"])
    axes = pictured.record.get("axes") or {}  # figures drawn before that was recorded have none: their scales are chosen here
    panels = []
    for key, panel in frame.groupby("panel", sort=False):
        measure, axis, drawn = panel["measure"].iloc[0], panel["axis"].iloc[0], axes.get(key, {})
        panels.append(
            {
                "key": key,
                "title": f"({key}) {drawn.get('title', '')}".strip(),
                "measure": MEASURES.get(measure, (measure,))[0],
                "axis": AXES.get(axis, axis),
                "x": drawn.get("x") or ["log" if panel["x"].min() > 0 else "linear", None, None],
                "y": drawn.get("y") or [MEASURES.get(measure, ("", "linear"))[1], None, None],
                "curves": _curves(panel),
            }
        )
    methods = [
        {
            "name": name,
            "label": line.label,
            "color": line.color,
            "dash": _dash(line.dashes),
            "symbol": SYMBOLS.get(line.marker, "circle"),
        }
        for name, line in lines.items()
    ]
    return {"panels": panels, "methods": methods}


def _curves(panel) -> list[dict]:
    rows = dict(list(panel.sort_values("x", kind="stable").groupby("variant", sort=False)))
    return [_curve(variant, rows[variant]) for variant in style.in_table_order(rows)]


def _curve(variant, rows) -> dict:
    kept = np.unique(np.linspace(0, len(rows) - 1, min(POINTS, len(rows))).round().astype(int))
    columns = {name: rows[name].to_numpy(float)[kept].tolist() for name in COLUMNS if name in rows}
    return {"name": variant, "runs": int(rows["runs"].iloc[kept].max()), **columns}


def _dash(dashes) -> str:
    return DASHES[dashes] if isinstance(dashes, str) else ",".join(f"{2 * length:g}px" for length in dashes[1])
