"""Figures of "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs" (ICML 2016), and one of ours next to them."""

from fwexp.experiments.icml2016 import oracle_costs
from fwexp.papers.declarations import Figure
from fwexp.papers.figure_files import TABLE
from fwexp.plots import icml2016, icml2016_table, style
from fwexp.plots.curves import Chart, Panel
from fwexp.plots.icml2016 import DATA_SETTINGS, LAM, LAM_MIN

FULL = {"passes": 1.0, "time": 0.1}
"""The axes of gaps, and from where on panels show all of every curve."""

IN_FIG5, IN_FIG6 = tuple(DATA_SETTINGS)[:3], tuple(DATA_SETTINGS)[3:]
_STAR = "*: synthetic data of that size"
_SCALE = "the paper lets methods run for 0.5 to 48 hours; here runs end after"
_ONE = "one seed where n > 25,000"


def _short(name: str) -> str:
    """Return a name of `DATA_SETTINGS` for titles, with a star for "synth."; a note explains the star."""
    return f"{name.removeprefix('synth. ')}*" if name.startswith("synth. ") else name


def _gap(key: str, name: str, lam: float, axis: str) -> Panel:
    place = DATA_SETTINGS[name]
    return Panel(key, f"{_short(name)}, λ = {lam:g}", place.dataset, lam, "gap", axis, full=FULL[axis], options=place.options)


def _gaps(rows: list[list[tuple]]) -> Chart:
    """Return rows of panels, each given as (name, lam, axis); panels are as large in all these figures."""
    panels = [_gap(f"{letter}{k}", *panel) for k, row in enumerate(rows, 1) for letter, panel in zip("abcdef", row)]
    return Chart(panels, columns=len(rows[0]), width=style.TEXT * len(rows[0]) / 3)


def _at_all_lam(*names: str) -> Chart:
    """Return a row of panels for each data set: three lam against passes, then the same against time."""
    return _gaps([[(name, lam, axis) for axis in FULL for lam in DATA_SETTINGS[name].lams] for name in names])


def _ways(*names: str, columns: int) -> Chart:
    """Return panels of passes, then time, to smaller lam with both methods, for one data set after the other."""
    shown = [(*pair, method) for name in names for pair in ((name, "passes"), (name, "time")) for method in icml2016.WALKERS]
    panels = [
        Panel(
            key,
            f"{_short(name)}, {style.METHODS[method].label}",
            DATA_SETTINGS[name].dataset,
            measure=measure,
            axis="at_lam",
            left=LAM_MIN[name],
            full=0.0,
            options=DATA_SETTINGS[name].options,
            task="",
            method=method,
        )
        for key, (name, measure, method) in zip("abcdefghijklmnop", shown)
    ]
    return Chart(panels, variants=icml2016.ways, columns=columns, width=style.TEXT * columns / 2)


FIG1 = Figure.declared(
    name="icml2016/fig1",
    title="Gap sampling on OCR with gaps refreshed more or less often, and what theory predicts of it",
    caption="Gap sampling with the block gaps recomputed more or less often: the gap, how far the estimate of it is off (true "
    "over estimate), and the improvement that theory predicts.",
    paper="Never refreshing stalled, refreshing in each pass wasted calls, and everything between was alike.",
    chart=Chart(
        panels=[
            Panel("a", f"OCR, λ = {LAM}", "ocr", LAM, "gap"),
            Panel("b", f"OCR, λ = {LAM}", "ocr", LAM, "gap_ratio"),
            Panel("c", f"OCR, λ = {LAM}", "ocr", LAM, "improvement", task="improvement"),
        ],
        split_by=["refresh"],
        derive=icml2016.with_gap_ratio,
        height=2.0,
    ),
)
FIG2 = Figure.declared(
    name="icml2016/fig2",
    title="What the parameters F and nu of the oracle cache do, on OCR",
    caption="What the two thresholds of the oracle cache do: the share of steps that it answers, and the gap in four regimes.",
    paper="Large thresholds gave no hits, small ones starved the oracle; the local criterion did the work in the best regime.",
    data=icml2016.fig2_data,
    draw=icml2016.fig2_draw,
)
FIG3 = Figure.declared(
    name="icml2016/fig3",
    title="Duality gap of eight block methods on four data sets, against passes and time",
    caption="Eight block methods on four data sets: gap against passes and against time. HorseSeg and LSP are synthetic data of "
    "their size here; Weizmann horses are real images.",
    paper="Gap sampling always helped, pairwise steps reached smaller gaps, and caching saved passes, and time where the oracle "
    "was slow.",
    chart=_gaps(
        [
            [
                (name, DATA_SETTINGS[name].lams[1], axis)
                for name in ("OCR-large", "synth. HorseSeg-large", "Weizmann horses", "synth. LSP")
            ]
            for axis in FULL
        ]
    ),
    note=f"{_SCALE} 50 or 60 passes, which take seconds; {_ONE}; {_STAR}",
)
FIG4 = Figure.declared(
    name="icml2016/fig4",
    title="Cost of the regularisation path and of grids of lam on HorseSeg-small (synthetic), exact and heuristic, warm and cold",
    caption="Passes and time to follow the solutions from large to small lam on synthetic data of the size of HorseSeg-small: "
    "certified and heuristic paths, and grids with warm and cold starts. The last point of a path serves for all smaller lam.",
    paper="Warm starts made the grid faster, and a path to the end of the grid cost about as much as a grid.",
    chart=_ways("synth. HorseSeg-small", columns=2),
    note=_STAR,
)
FIG5 = Figure.declared(
    name="icml2016/fig5",
    title="Duality gap of eight block methods on OCR and CoNLL-2000 at three regularization strengths each",
    caption="The eight block methods on OCR and CoNLL-2000 at three strengths of the regularisation each; every method checks its "
    "gap each 10 passes.",
    paper="Six data sets; the larger the data, the more gap sampling gained.",
    chart=_at_all_lam(*IN_FIG5),
    places=IN_FIG5,
    note=f"{_SCALE} 50 to 100 passes, which take seconds",
)
FIG6 = Figure.declared(
    name="icml2016/fig6",
    title="Duality gap of eight block methods on horses and poses, real and synthetic, at three regularization strengths each",
    caption="The eight block methods on horses and on synthetic data of the sizes of HorseSeg and LSP, at three strengths of the "
    "regularisation each. Gaps are computed anew each 10 passes: where gap sampling has spent what it knows of them, it stands "
    "still until then.",
    paper="The order of the methods was that of OCR; with the slow oracle of LSP the cache paid in time, too.",
    chart=_at_all_lam(*IN_FIG6),
    places=IN_FIG6,
    note=f"{_SCALE} 50 or 60 passes, which take seconds; {_ONE}; {_STAR}",
)
AUTO = Figure.declared(
    name="icml2016/auto",
    title="Duality gap of auto and of accelerated corrective steps against methods of the paper, on all its data sets",
    caption="What the solver auto chooses, and accelerated corrective steps, next to the best method of the paper and plain gap "
    "sampling, on all data sets of figures 5 and 6.",
    chart=_at_all_lam(*DATA_SETTINGS),
    note=f"{_SCALE} 50 to 100 passes, which take seconds; {_ONE}; {_STAR}",
)
FIG8 = Figure.declared(
    name="icml2016/fig8",
    title="Cost of the regularisation path and of grids of lam on OCR and HorseSeg (synthetic), exact and heuristic, warm and cold",
    caption="Passes and time to follow the solutions from large to small lam: certified and heuristic paths, and grids with warm "
    "and cold starts. The last point of a path serves for all smaller lam.",
    paper="A path cost about as much as a grid; warm starts made the grid faster.",
    chart=_ways(*LAM_MIN, columns=4),
    note=f"{_ONE}; {_STAR}",
)
TABLE1 = Figure.declared(
    name="icml2016/table1",
    title="Data sets of the paper and ours, what a call of the oracle costs on each, and its share of the time of runs",
    caption="The data sets: examples, dimension, oracle, what a call of it costs here, and its share of a run.",
    paper="The same columns for the paper's data, with costs from below a millisecond to seconds.",
    data=icml2016_table.data,
    draw=icml2016_table.draw,
    suffixes=TABLE,
    shows=oracle_costs.costs,
    timed=True,
)
