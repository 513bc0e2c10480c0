"""Figures of curves against passes or time: a `Chart` has its panels, and says what they show of its runs.

``data`` makes a tidy frame, see `fwexp.plots.frames`, and ``draw`` reads that frame and nothing else, see `fwexp.plots.drawing`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fwexp.errors import OptionError, unknown
from fwexp.methods import of_results, variant_of
from fwexp.plots import drawing, frames, style
from fwexp.plots.frames import Panel

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

REFERENCE = "bccfw_accelerated"
"""The method of the run that presets name to bound the optimum from below."""


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
    columns : int
        Panels to a row.
    height, width : float
        Of a row of panels and of the figure, in inches.
    """

    panels: Sequence[Panel]
    hidden: Sequence[str] = ()
    lowest: Sequence[str] = ()
    split_by: Sequence[str] = ()
    variants: "Callable[[pd.DataFrame], pd.Series] | None" = None
    derive: "Callable[[pd.DataFrame], pd.DataFrame] | None" = None
    columns: int = 3
    height: float = 1.75
    width: float = style.TEXT

    def data(self, results: "pd.DataFrame") -> "pd.DataFrame":
        """Return the tidy frame: `frames.COLUMNS`, one row per panel, variant and position.

        Parameters
        ----------
        results : DataFrame
            As from ``load_results``: all runs of the figure, and no other.

        Raises
        ------
        OptionError
            A name in `hidden`, `lowest` or `split_by` is that of nothing.
        """
        results = self.derive(results) if self.derive else results
        names = of_results(results, self.split_by)
        variants = self.variants(results) if self.variants else names + results["iterate"].map(lambda one: variant_of("", one))
        _check_names("method or variant to hide", self.hidden, {*style.LINES, *names, *variants})
        _check_names("solver", self.lowest, {*style.METHODS, *results["solver"]})
        results = frames.envelope(frames.suboptimality(results), "suboptimality", self.lowest)
        results = results.assign(variant=variants, method=names)
        results = results[~(names.isin(self.hidden) | variants.isin(self.hidden))]
        return frames.joined(frame for panel in self.panels for frame in frames.curves_of(results, panel))

    def draw(self, frame: "pd.DataFrame") -> "Figure":
        """Draw all panels with one legend for all; return the matplotlib Figure."""
        from matplotlib.figure import Figure

        rows = -(-len(self.panels) // self.columns)
        with style.context():
            figure = Figure(figsize=(self.width, self.height * rows + 0.5), layout="constrained")
            grid = figure.subplots(rows, self.columns, squeeze=False)
            for panel, ax in zip(self.panels, grid.flat):
                drawing.draw_panel(frame, panel, ax)
            for ax in grid.flat[len(self.panels) :]:
                ax.set_axis_off()
            drawing.share_labels(grid)
            drawing.legend(figure, frame, self.width)
        return figure


def _check_names(kind, names, known):
    """Refuse a misspelt name, which would silently change nothing."""
    for name in names:
        if name not in known:
            raise OptionError(unknown(kind, name, known))
