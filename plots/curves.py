"""Figures of curves against passes or time: a `Chart` has its panels, and says what they show of its runs.

``data`` makes a tidy frame, see `fwexp.plots.frames`, and ``draw`` reads that frame and nothing else, see `fwexp.plots.drawing`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from fwexp.errors import OptionError, unknown
from fwexp.methods import of_results, variant_of
from fwexp.plots import drawing, frames, style
from fwexp.plots.frames import Panel as Panel  # plugins import it from here, too

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

REFERENCE = "bccfw_accelerated"  # the method of the run that presets name to bound the optimum from below
NARROWEST = 2.25  # width of a panel, in inches, below which fewer of them stand in a row
TALLEST, BELOW, LINE = 9.0, 0.9, 0.2  # heights in inches of a page, of its legend and labels, and of a line of a legend


class Problem(NamedTuple):
    """A data set, with the options that tell it apart, and lam: what the panels of a figure are about."""

    dataset: str
    lam: float | str = ""
    options: Mapping[str, Any] = MappingProxyType({})

    @property
    def title(self) -> str:
        """The words above a panel."""
        options = "".join(f", {name} = {value}" for name, value in self.options.items() if value is not None)
        return f"{self.dataset}{options}" + (f", λ = {self.lam}" if self.lam != "" else "")


def _key(number: int) -> str:
    """Return the letter of a panel; beyond z, letters with a number."""
    return "abcdefghijklmnopqrstuvwxyz"[number % 26] + (str(number // 26) if number >= 26 else "")


@dataclass(frozen=True)
class Chart:
    """A figure of curves.

    Attributes
    ----------
    panels : sequence of Panel
    hidden : sequence of str
        Methods, in every iterate, and single variants that are not drawn: they serve as reference, or are in the runs
        because another figure draws them. All others are drawn, in every iterate that was logged.
    lowest : sequence of str
        Solvers drawn as the lower envelope of their suboptimality.
    split_by : sequence of str
        Options in which methods differ in this figure, see `fwexp.methods.method_of`.
    variants : callable, optional
        From results to the variant of every row, where these are not methods and iterates.
    derive : callable, optional
        From results to results with the columns that panels show in addition to those of a trace.
    budgeted : bool
        Whether all runs have the same time limit on a data set: where it ends them, they were not stopped early.
    own_legends : bool
        Whether each panel has a legend below it, because panels compare different methods; otherwise one legend serves all.
    columns : int
        Panels to a row.
    height, width : float
        Of a row of panels and of the figure, in inches. More rows than a page has space for go on on further pages.
    """

    panels: Sequence[Panel]
    hidden: Sequence[str] = ()
    lowest: Sequence[str] = ()
    split_by: Sequence[str] = ()
    variants: "Callable[[pd.DataFrame], pd.Series] | None" = None
    derive: "Callable[[pd.DataFrame], pd.DataFrame] | None" = None
    budgeted: bool = False
    own_legends: bool = False
    columns: int = 3
    height: float = 1.75
    width: float = style.TEXT

    def resized(self, width: float) -> "Chart":
        """Return this chart ``width`` inches wide, with fewer panels to a row if they would get narrow."""
        columns = min(self.columns, max(1, round(width / NARROWEST)))
        return replace(self, width=width, columns=columns)

    def on(self, problems: "Iterable[Problem]") -> "Chart":
        """Return this chart with one panel for each problem and each kind of panel, with the settings of the first of its kind."""
        kinds: dict[tuple[str, ...], Panel] = {}
        for panel in self.panels:
            kinds.setdefault((panel.measure, panel.axis, panel.task, panel.method), panel)
        chosen = []
        for panel in kinds.values():
            places = {str(place): place for one in problems if (place := one if panel.lam != "" else one._replace(lam=""))}
            chosen += [replace(panel, title=place.title, **place._asdict()) for place in places.values()]
        panels = [replace(panel, key=_key(k)) for k, panel in enumerate(chosen)]
        return replace(self, panels=panels, columns=max(1, min(self.columns, len(panels))))

    def data(self, results: "pd.DataFrame") -> "pd.DataFrame":
        """Return the tidy frame of all runs of the figure: `frames.COLUMNS`, one row per panel, variant and position."""
        if self.budgeted:
            results = results.assign(status=results["status"].replace("time_limit", "max_passes"))
        results = self.derive(results) if self.derive else results
        names = of_results(results, self.split_by)
        variants = self.variants(results) if self.variants else names + results["iterate"].map(lambda one: variant_of("", one))
        _check_names("method or variant to hide", self.hidden, {*style.LINES, *names, *variants})
        _check_names("solver", self.lowest, {*style.METHODS, *results["solver"]})
        results = frames.envelope(frames.suboptimality(results), "suboptimality", self.lowest)
        results = results.assign(variant=variants, method=names)
        results = results[~(names.isin(self.hidden) | variants.isin(self.hidden))]
        return frames.joined(frame for panel in self.panels for frame in frames.curves_of(results, panel))

    @property
    def pages(self) -> "list[Chart]":
        """Charts of the panels that fit a page each."""
        count = self.columns * max(1, int((TALLEST - BELOW) / self.height))
        return [replace(self, panels=self.panels[start : start + count]) for start in range(0, len(self.panels), count)]

    def draw_pages(self, frame: "pd.DataFrame") -> "Figure | list[Figure]":
        """Draw the panels on as many pages as they need; return a matplotlib Figure, or a list of one for each page."""
        pages = [page.draw(frame) for page in self.pages]
        return pages if len(pages) > 1 else pages[0]

    def draw(self, frame: "pd.DataFrame") -> "Figure":
        """Draw all panels with their legend, or legends; return the matplotlib Figure."""
        from matplotlib.figure import Figure

        rows = -(-len(self.panels) // self.columns)
        shown = frame[frame["panel"].isin([panel.key for panel in self.panels])]
        with style.context():
            figure = Figure(figsize=(self.width, self.height * rows + 0.5), layout="constrained")
            grid = figure.subplots(rows, self.columns, squeeze=False)
            drawing.draw_panels(frame, self.panels, grid)
            if self.own_legends:
                drawing.legends(grid, self.panels, shown, self.width / self.columns)
            else:
                drawing.share_labels(grid)
                lines = style.lines(frame["variant"])
                if grid.size > len(self.panels) and shown["variant"].nunique() <= self.height / LINE:
                    drawing.legend_in(grid.flat[-1], shown, lines)
                else:
                    drawing.legend(figure, shown, self.width, lines)
        return figure


def _check_names(kind, names, known):
    """Refuse a misspelt name, which would silently change nothing."""
    for name in names:
        if name not in known:
            raise OptionError(unknown(kind, name, known))
