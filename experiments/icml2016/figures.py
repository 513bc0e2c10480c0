"""Figures of "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs" (ICML 2016), and one of ours next to them."""

from fwexp.experiments.icml2016 import oracle_costs, replay
from fwexp.papers.declarations import Figure
from fwexp.papers.figure_files import TABLE
from fwexp.plots import frames, icml2016, icml2016_table, style
from fwexp.plots import replay as replays
from fwexp.plots.curves import Chart, Panel
from fwexp.plots.icml2016 import DATA_SETTINGS, LAM, LAM_MIN, SLOW, SLOW_SETTING, WALKED

FULL = {"passes": 1.0, "time": 0.1}
"""The axes of gaps, and from where on panels show all of every curve."""

IN_FIG5, IN_FIG6 = tuple(DATA_SETTINGS)[:3], tuple(DATA_SETTINGS)[3:]
_STAR = "*: synthetic data of that size"
_OTHER = "Weizmann horses are other images than the paper's"
_SMALL = "OCR-small is not among the paper's six data sets"


def _short(name: str) -> str:
    """Return a name of `DATA_SETTINGS` for titles, with a star for "synth."; a note explains the star."""
    return f"{name.removeprefix('synth. ')}*" if name.startswith("synth. ") else f"{name}*" if name == SLOW else name


def _gap(key: str, name: str, lam: float, axis: str) -> Panel:
    place = SLOW_SETTING if name == SLOW else DATA_SETTINGS[name]
    return Panel(key, f"{_short(name)}, λ = {lam:g}", place.dataset, lam, "gap", axis, full=FULL[axis], options=place.options)


def _gaps(panels: list[Panel], columns: int, height: float) -> Chart:
    return Chart(panels, variants=icml2016.steps, budgeted=True, columns=columns, height=height)


def _at_all_lam(*names: str) -> Chart:
    """Return two rows of panels for each data set: three lam against passes, then the same against time."""
    shown = [[(name, lam, axis) for axis in FULL for lam in DATA_SETTINGS[name].lams] for name in names]
    panels = [_gap(f"{letter}{k}", *panel) for k, of_one in enumerate(shown, 1) for letter, panel in zip("abcdef", of_one)]
    return _gaps(panels, columns=3, height=1.3)


def _ways(*names: str) -> Chart:
    """Return panels of passes, then time, to smaller lam with both methods, for one data set after the other."""
    shown = [(*pair, method) for name in names for pair in ((name, "passes"), (name, "time")) for method in icml2016.WALKERS]
    panels = [
        Panel(
            key,
            f"{_short(name)}, {style.METHODS[method].label}",
            DATA_SETTINGS[name].dataset,
            measure=measure,
            axis="at_lam",
            left=LAM_MIN,
            full=0.0,
            options=DATA_SETTINGS[name].options,
            task="",
            method=method,
        )
        for key, (name, measure, method) in zip("abcdefghijklmnop", shown)
    ]
    return Chart(panels, variants=icml2016.ways, columns=2)


FIG1 = Figure.declared(
    name="icml2016/fig1",
    title="Gap sampling on OCR with gaps refreshed more or less often, and what theory predicts of it",
    caption="Gap sampling with the block gaps recomputed more or less often, and uniform sampling that checks its gap every 10 "
    "passes, the cost of these checks included: the gap, how far the estimate of it is off (true over estimated gap), and the "
    "improvement that theory predicts along runs of uniform and of gap sampling.",
    paper="Section 3.1, on exploitation versus staleness: without refreshes gap sampling stalls, with one in each pass it wastes"
    " calls, and 5 to 50 passes make little difference. The section and the caption of figure 1 name inverse ratios for panel (b).",
    chart=Chart(
        panels=[
            Panel("a", f"OCR, λ = {LAM}", "ocr", LAM, "gap"),
            Panel("b", f"OCR, λ = {LAM}", "ocr", LAM, "gap_ratio"),
            Panel("c", f"OCR, λ = {LAM}", "ocr", LAM, "improvement", task="improvement", label="predicted factor"),
        ],
        variants=icml2016.refreshes,
        derive=icml2016.with_gap_ratio,
        height=2.0,
    ),
)
FIG2 = Figure.declared(
    name="icml2016/fig2",
    title="What the parameters F and nu of the oracle cache do, on OCR",
    caption="What the two thresholds of the oracle cache do: the share of steps that it answers, and the gap in four regimes and"
    " without cache.",
    paper="Section 3.3, on the effect of F and nu: with a large threshold there are hardly any hits, with two small ones hardly "
    "any oracle calls, and the local criterion does best.",
    data=icml2016.fig2_data,
    draw=icml2016.fig2_draw,
)
FIG3 = Figure.declared(
    name="icml2016/fig3",
    title="Duality gap of eight block methods on five data sets, against passes and time",
    caption="Eight block methods with equal solver time on each data set: gap against passes and against time. HorseSeg and LSP "
    "are synthetic data of their size here, slow LSP has an oracle of about 50 ms a call (table 1), and Weizmann horses are "
    "real images. Where weights must not be negative, the step is the paper's; two methods are drawn with our line "
    "search, too. All gaps are computed anew each 10 passes; in between, curves of gap sampling become flat once the gaps that"
    " it knows are used up. Runs on HorseSeg-large and slow LSP end before the tenth pass.",
    paper="Section 5.1, paragraph 3: gap sampling is always faster, caching saves passes and is free where the oracle is slow, "
    "pairwise steps reach smaller gaps. Figure 3 has three data sets.",
    chart=_gaps(
        [
            _gap(f"{letter}{k}", name, SLOW_SETTING.lams[1] if name == SLOW else DATA_SETTINGS[name].lams[1], axis)
            for letter, name in zip("abcde", ("OCR-large", "synth. HorseSeg-large", "Weizmann horses", "synth. LSP", SLOW))
            for k, axis in enumerate(FULL, 1)
        ],
        columns=2,
        height=1.5,
    ),
    note=f"{_STAR}; {_OTHER}",
)
FIG4 = Figure.declared(
    name="icml2016/fig4",
    title="Cost of the regularisation path and of grids of lam on HorseSeg-small (synthetic), exact and heuristic, warm and cold",
    caption="Passes and time to follow the solutions from large to small lam on synthetic data of the size of HorseSeg-small: "
    "certified and heuristic paths, and grids of the paper's 31 values with warm and cold starts. A path ends where its "
    "last weights serve for all smaller lam.",
    paper="Section 5.2, on interpretation: warm starts make the grid faster, and a whole path costs about as much as a grid.",
    chart=_ways("synth. HorseSeg-small"),
    note=_STAR,
)
FIG5 = Figure.declared(
    name="icml2016/fig5",
    title="Duality gap of eight block methods on OCR and CoNLL-2000 at three regularization strengths each",
    caption="The eight block methods on OCR and CoNLL-2000 at three strengths of the regularisation each, with equal solver time"
    " on each data set, which ends the lines at different passes; every method checks its gap each 10 passes. The last two rows, "
    "OCR-small, are not in the paper's figure.",
    paper="We had no appendix J with the paper's figure (section 5.1, paragraph 2). Section 5.1, paragraph 3, sums it up: gap "
    "sampling gains more the larger n is.",
    chart=_at_all_lam(*IN_FIG5),
    places=IN_FIG5,
    note=_SMALL,
)
FIG6 = Figure.declared(
    name="icml2016/fig6",
    title="Duality gap of eight block methods on horses and poses, real and synthetic, at three regularization strengths each",
    caption="The eight block methods on horses and on synthetic data of the sizes of HorseSeg and LSP, at three strengths of the"
    " regularisation each, with equal solver time on each data set. All gaps are computed anew each 10 passes; in between, "
    "curves of gap sampling become flat once the gaps that it knows are used up. On HorseSeg-large most runs end before. The "
    "step is the paper's; two methods are drawn with our line search, too, on HorseSeg-large in figure 3 alone.",
    paper="We had no appendix J with the paper's figure (section 5.1, paragraph 2). Section 5.1, paragraph 3, sums it up: "
    "where the oracle is expensive the cache costs no time.",
    chart=_at_all_lam(*IN_FIG6),
    places=IN_FIG6,
    note=f"{_STAR}; {_OTHER}",
)
AUTO = Figure.declared(
    name="icml2016/auto",
    title="Duality gap of auto and of accelerated corrective steps against methods of the paper, on all its data sets",
    caption="What the solver auto chooses, and accelerated corrective steps, next to gap sampling of the paper with FW and "
    "pairwise steps, cached and not, on all data sets of figures 5 and 6, with equal solver time on each.",
    chart=_at_all_lam(*DATA_SETTINGS),
    note=f"{_STAR}; {_OTHER}; {_SMALL}",
)
FIG8 = Figure.declared(
    name="icml2016/fig8",
    title="Cost of the regularisation path and of grids of lam on OCR and HorseSeg (synthetic), exact and heuristic, warm and cold",
    caption="Passes and time to follow the solutions from large to small lam: certified and heuristic paths, and grids of the "
    "paper's 31 values with warm and cold starts. A path ends where its last weights serve for all smaller lam: a heuristic "
    "one may go on longer, because old gaps do not show that. On HorseSeg-medium runs end after 250 passes at the latest.",
    paper="We had no appendix K with the paper's further paths (section 5.2, paragraph 1). Section 5.2, on interpretation, "
    "says of figure 4 that warm starts make the grid faster and that a path costs about as much.",
    chart=_ways(*WALKED),
    note=_STAR,
)
_ORDERS = ("bcfw_perm", "bcfw_cyclic", "bcfw_lipschitz", "bcfw_gap", "bcfw_max_gap", "bcfw_max_gain")
_STEPS = ("bcafw", "bcpfw", "bccfw")
ORDERS = Figure.declared(
    name="icml2016/orders",
    title="Orders of the examples and kinds of steps that the papers do not draw",
    caption="On OCR-small, which example is next (a): at random, permuted, cyclic, in proportion to curvatures or gaps, the "
    "largest gap, or the largest gap^2 over curvature; and which step is taken (b): towards the corner of the oracle, "
    "away, pairwise, or corrective. Block and batch Frank-Wolfe with kernels on digits (c); and block Frank-Wolfe next "
    "to projected block descent on the dual of a chain SVM (d). Section 3.1 of the 2016 paper names the orders by gaps and by "
    "curvatures and the cyclic one, section 3.2 away and pairwise steps; appendices B.5 and C of the 2013 paper have kernels and "
    "projections. The permuted order, that of the largest gap, and corrective steps of a block are in neither paper.",
    chart=Chart(
        [
            Panel("a", f"OCR-small, λ = {LAM}: orders", "ocr", LAM, "gap", options={"split": "ocr"}, left=1.0, without=_STEPS),
            Panel("b", f"OCR-small, λ = {LAM}: steps", "ocr", LAM, "gap", options={"split": "ocr"}, left=1.0, without=_ORDERS),
            Panel("c", "digits, λ = 0.1: kernels", "digits", 0.1, "gap", left=1.0),
            Panel("d", "chain SVM, dual: projections", "chain_dual", "", "gap", "calls", 1.0, task="convex", early=False),
        ],
        derive=frames.with_certified_gaps,
        own_legends=True,
        columns=2,
        height=2.9,
    ),
)
TABLE1 = Figure.declared(
    name="icml2016/table1",
    title="Data sets of the paper and ours, what a call of the oracle costs on each, and its share of the time of runs",
    caption="The data sets: examples, dimension, oracle, what a call of it costs here, and its share of a run.",
    paper="We had no appendix I with the paper's table. Section 5, paragraph 3, names the ranges: n from 100 to 25,000, d "
    "from 100 to a million, calls from 0.1 ms to 2 s.",
    data=icml2016_table.data,
    draw=icml2016_table.draw,
    suffixes=TABLE,
    shows=oracle_costs.costs,
    timed=True,
)
ORIGINAL = Figure.declared(
    name="icml2016/original",
    title="The authors' published code of gap sampling, caches, pairwise and away steps, and ours on the same sequence of examples",
    caption="Primal and dual objective after each n steps on OCR-small, as the authors' MATLAB code printed them (rings, by GNU "
    "Octave 7.3) and as ours computes them on the same sequence of examples (lines): Frank-Wolfe steps with gap sampling, without "
    "and with the cache (a), pairwise steps without and with it, and away steps (b). A pass is n oracle calls: cached runs end "
    "sooner. The larger one of the two differences (c) is that of rounding to the twelve digits that were printed. All cache hits "
    "and clipped steps are equal, too, and so are all kinds of steps, except 4 of 715 ties of steps to the same point, and two "
    "regularisation paths.",
    **replays.figure_of(replays.OF_2016),
    shows=replay.replayed,
    has_runs=False,
)
