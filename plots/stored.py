"""Curves of stored runs, without a declared figure: a panel for each problem, a line for each method."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fwexp.errors import ParameterError, unknown
from fwexp.methods import of_results
from fwexp.plots import drawing, style
from fwexp.plots.curves import Chart, Problem
from fwexp.plots.frames import AXES, MEASURES, Panel
from fwexp.problem_names import problem_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def chart_of(results: "pd.DataFrame", x: str = "passes", y: str = "gap") -> tuple[Chart, "pd.DataFrame"]:
    """Return a chart of all problems in results, and the results that it shows: the longest run of each method and seed."""
    for name, value, known in (("x", x, AXES), ("y", y, MEASURES)):
        if value not in known:
            raise ParameterError(unknown(name, value, known))
    runs = results["key"] + " " + results["status"]  # an interrupted repetition has the key of the run that it repeats
    heads = results.assign(run=runs).drop_duplicates("run").set_index("run")
    names = runs.map(problem_names(heads)) if len(heads) else runs
    results = results.assign(run=runs, dataset=names, figure_method=of_results(results) if len(heads) else names)
    ends = results.groupby(["dataset", "figure_method", "seed", "run"], dropna=False)["passes"].max().reset_index()
    longest = ends.sort_values(["passes", "run"]).drop_duplicates(["dataset", "figure_method", "seed"], keep="last")
    results = results[results["run"].isin(longest["run"])].drop(columns=["run", "figure_method"])
    for name in (x, y):
        if name != "suboptimality" and (name not in results or not results[name].notna().any()):
            raise ParameterError(f"{name} must be in the traces of the runs, which have it nowhere")
    problems = [Problem(name) for name in sorted(set(results["dataset"]))]
    chart = Chart([Panel("a", "", "", measure=y, axis=x, task="")], width=style.COLUMN if len(problems) == 1 else style.TEXT)
    return chart.on(problems), results


def draw_results(
    results: "pd.DataFrame",
    x: str = "passes",
    y: str = "gap",
    *,
    ax: "Axes | None" = None,
    width: float | None = None,
    style_file: str | Path | None = None,
) -> "Sequence[Axes]":
    """Draw the traces of stored runs against passes or time, one panel for each problem; matplotlib's settings stay as they are.

    Lines are medians over the seeds. Bands go from the lower to the upper quartile, or with fewer than five seeds from the best to
    the worst. If a method has several runs with one seed on a problem, the longest one is drawn. Runs that read data files of
    another content (column ``content``) are on another problem.

    Parameters
    ----------
    results : DataFrame
        From `fwexp.load_results`.
    x, y : str
        Columns for the axes: ``passes`` or ``time`` against ``gap``, ``primal``, ``test_error`` or another one; ``suboptimality``
        is the primal objective minus the highest dual objective of all runs on the same problem.
    ax : Axes, optional
        Axes to draw the only problem on; by default a new figure, whose ``figure.savefig`` writes it.
    width : float, optional
        Width of the new figure in inches; by default 3.25 for one problem and 6.75 for several.
    style_file : str or Path, optional
        Style file of matplotlib, or the name of a style, that is added to the style of all figures.

    Returns
    -------
    list of Axes
        The axes, one for each problem in the order of their names.

    Raises
    ------
    ParameterError
        A column does not exist, ``ax`` is given for several problems, or the dual of a run exceeds the primal of another one.

    Examples
    --------
    >>> import fwexp
    >>> from fwexp.plots import draw_results
    >>> solvers = ["bcfw", "fw"]
    >>> runs = fwexp.sweep(solver=solvers, dataset="digits", lam=0.1, max_passes=2)
    >>> axes = draw_results(fwexp.load_results(solver=solvers), y="primal")
    >>> len(axes), axes[0].get_ylabel()
    (1, 'primal objective')
    """
    chart, results = chart_of(results, x, y)
    frame = chart.data(results)
    with style.using(style_file):
        if ax is None:
            return chart.resized(width or chart.width).draw(frame).axes
        if len(chart.panels) != 1:
            raise ParameterError(f"ax must be given for one problem, got {len(chart.panels)}; filter the results")
        (panel,) = chart.panels
        return [drawing.draw_panel(frame, panel, ax)]
