"""Figures and tables of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

from fwexp.experiments.icml2013 import replay
from fwexp.papers.declarations import Figure
from fwexp.papers.figure_files import TABLE
from fwexp.plots import icml2013_table
from fwexp.plots import replay as replays
from fwexp.plots.curves import REFERENCE, Chart, Panel

LAMS = (0.01, 0.001, "1/n")
FIRST = {"left": 0.01, "full": 0.1}
"""Of panels of the first passes: where they begin, and where they show all of every curve."""


def _ocr(full: float, focus: bool = False) -> list[Panel]:
    return [Panel(key, f"OCR, λ = {lam}", "ocr", lam, full=full, focus=focus) for key, lam in zip("abc", LAMS)]


def _all_averages(dataset: str, title: str, error_scale: str = "", error: str = "", **settings) -> Chart:
    """Return a chart of all iterates of the stochastic solvers: suboptimality above, test error below."""
    panels = [
        Panel(
            key, f"{title}, λ = {lam}", dataset, lam, measure, yscale=scale, label=label, focus=measure == "test_error", **settings
        )
        for measure, keys, scale, label in (("suboptimality", "abc", "", ""), ("test_error", "def", error_scale, error))
        for key, lam in zip(keys, LAMS)
    ]
    return Chart(panels, hidden=[REFERENCE], height=1.9)


FIG1 = Figure.declared(
    name="icml2013/fig1",
    title="Primal suboptimality of all solvers on OCR, CoNLL-2000 and word alignment",
    caption="How far the objective is from its minimum after so many passes over the data. Lines are medians, bands lie between "
    "the quartiles; batch solvers are shown by their lowest value so far. Lines that coincide take turns. Word alignment is a "
    "stand-in: its training alignments and features are ours.",
    paper="The same panels. Caption of figure 1: batch solvers fall behind at large lam, the stochastic subgradient method at "
    "small lam, and on CoNLL few examples are enough. Section 6, last paragraph: the weighted average of BCFW is the best in most "
    "experiments.",
    chart=Chart(
        panels=[
            *_ocr(full=5.0),
            Panel("d", "CoNLL, λ = 1/n", "conll2000", "1/n", **FIRST),
            Panel("e", "CoNLL, λ = 1/n", "conll2000", "1/n", "test_error", yscale="log", **FIRST),
            Panel("f", "word alignment, λ = 0.001", "hansards", 0.001, **FIRST),
        ],
        hidden=[REFERENCE, "bcfw-tavg", "ssg-tavg", "ssg-avg"],  # averages that are logged for figures 3 to 5
        lowest=["fw", "one_slack", "n_slack", "fcfw"],
    ),
    note="(f): training alignments and features stand in for the paper's",
)
FIG2 = Figure.declared(
    name="icml2013/fig2",
    title="Line search against predefined steps, batch and block, on OCR",
    caption="Line search against predefined steps, for the batch and the block-coordinate method, next to SSG. Batch methods are "
    "drawn by the lowest value so far. Where predefined batch steps are far above all others, they leave the panel.",
    paper="Appendix F, paragraph 2: line search gains much for the block-coordinate method, which without it resembles SSG.",
    chart=Chart(
        _ocr(full=5.0, focus=True),
        hidden=[REFERENCE, "bcfw-wavg", "bcfw-tavg", "ssg-wavg", "ssg-tavg", "ssg-avg"],
        lowest=["fw"],
    ),
)
FIG3 = Figure.declared(
    name="icml2013/fig3",
    title="Suboptimality and test error of the stochastic solvers and their averages on OCR",
    caption="The stochastic solvers with all their averages on OCR: objective above, test error below. Panels of the test error "
    "clip online-EG, and bands, where they would squeeze the other lines.",
    paper="Caption of figure 3: BCFW has the best objective, averages have lower test errors, and at lam = 0.001 the test error "
    "rises again after an early minimum.",
    chart=_all_averages("ocr", "OCR", full=5.0),
)
FIG4 = Figure.declared(
    name="icml2013/fig4",
    title="Suboptimality and test error of the stochastic solvers and their averages on CoNLL-2000",
    caption="The stochastic solvers with all their averages on CoNLL-2000, from a hundredth of a pass on; no online-EG.",
    paper="Caption of figure 4: the axis is logarithmic, to show the first passes. Appendix F, paragraph 3, compares the averages "
    "on OCR and CoNLL together: SSG-avg has the worst objective of the methods drawn here, and BCFW-tavg fluctuates more than "
    "BCFW-wavg.",
    chart=_all_averages("conll2000", "CoNLL", "log", **FIRST),
)
FIG5 = Figure.declared(
    name="icml2013/fig5",
    title="Suboptimality and test error of the stochastic solvers and their averages on word alignment",
    caption="The stochastic solvers with all their averages on word alignment. Features and training alignments of the paper are "
    "not public; ours are stand-ins for them, made from the public part of the Hansards.",
    paper="The caption of figure 5 and appendix F, paragraph 4, name the data set and no result.",
    chart=_all_averages("hansards", "word alignment", "log", "alignment error rate", **FIRST),
    note="training alignments and features stand in for the paper's",
)
TABLE1 = Figure.declared(
    name="icml2013/table1",
    title="Oracle calls of all methods: what theory guarantees, what was measured on OCR, and the growth with n",
    caption="Oracle calls of all methods: what theory guarantees, and what was measured on OCR, also on samples of its words.",
    paper="Table 1 has the theory only; the measured columns are ours.",
    data=icml2013_table.data,
    draw=icml2013_table.draw,
    suffixes=TABLE,
)
ORIGINAL = Figure.declared(
    name="icml2013/original",
    title="The authors' published code and ours on the same sequence of examples",
    caption="Primal and dual objective after each pass over OCR-small, as the authors' MATLAB code printed them (rings, by GNU "
    "Octave 7.3) and as ours computes them on the same sequence of examples (lines): block-coordinate Frank-Wolfe and its weighted "
    "average (a), and batch Frank-Wolfe (b). The larger one of the two differences (c) is that of rounding to the ten digits that "
    "were printed.",
    **replays.figure_of(replays.OF_2013),
    shows=replay.replayed,
    has_runs=False,
)
