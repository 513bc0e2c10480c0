"""Figures and tables of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

from fwexp.papers.declarations import Figure
from fwexp.papers.figure_files import TABLE
from fwexp.plots import icml2013_table
from fwexp.plots.curves import REFERENCE, Chart, Panel

LAMS = (0.01, 0.001, "1/n")
FIRST = {"left": 0.01, "full": 0.1}
"""Of panels of the first passes: where they begin, and where they show all of every curve."""


def _ocr(full: float) -> list[Panel]:
    return [Panel(key, f"OCR, λ = {lam}", "ocr", lam, full=full) for key, lam in zip("abc", LAMS)]


def _all_averages(dataset: str, title: str, error_scale: str = "", **settings) -> Chart:
    """Return a chart of all iterates of the stochastic solvers: suboptimality above, test error below."""
    panels = [
        Panel(key, f"{title}, λ = {lam}", dataset, lam, measure, yscale=scale, focus=measure == "test_error", **settings)
        for measure, keys, scale in (("suboptimality", "abc", ""), ("test_error", "def", error_scale))
        for key, lam in zip(keys, LAMS)
    ]
    return Chart(panels, hidden=[REFERENCE], height=1.9)


FIG1 = Figure.declared(
    name="icml2013/fig1",
    title="Primal suboptimality of all solvers on OCR, CoNLL-2000 and word alignment",
    caption="How far the objective is from its minimum after so many passes over the data. Bands go from the best to the worst "
    "seed, lines are medians; of the batch solvers the lowest value so far is drawn.",
    paper="The same panels: the block-coordinate method and its weighted average were the lowest nearly everywhere, batch solvers "
    "fell behind at large lam, and stochastic subgradient suffered at lam = 1/n. On CoNLL a fraction of a pass was enough.",
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
)
FIG2 = Figure.declared(
    name="icml2013/fig2",
    title="Line search against predefined steps, batch and block, on OCR",
    caption="Line search against predefined steps, for the batch and the block-coordinate method.",
    paper="Line search gained much for the block-coordinate method, which without it resembled the subgradient method.",
    chart=Chart(_ocr(full=10.0), hidden=[REFERENCE, "bcfw-wavg", "bcfw-tavg"]),  # predefined batch steps start far out
)
FIG3 = Figure.declared(
    name="icml2013/fig3",
    title="Suboptimality and test error of the stochastic solvers and their averages on OCR",
    caption="The stochastic solvers with all their averages on OCR: objective above, test error below.",
    paper="Weighted averages helped in test error; uniform averages were slow; at small lam the test error rose again after an "
    "early minimum.",
    chart=_all_averages("ocr", "OCR", full=5.0),
)
FIG4 = Figure.declared(
    name="icml2013/fig4",
    title="Suboptimality and test error of the stochastic solvers and their averages on CoNLL-2000",
    caption="The stochastic solvers with all their averages on CoNLL-2000, from a hundredth of a pass on; no online-EG.",
    paper="The order of the solvers was that of OCR, already within the first pass.",
    chart=_all_averages("conll2000", "CoNLL", "log", **FIRST),
)
FIG5 = Figure.declared(
    name="icml2013/fig5",
    title="Suboptimality and test error of the stochastic solvers and their averages on word alignment",
    caption="The stochastic solvers with all their averages on word alignment. Features and training alignments of the paper are "
    "not public; ours are stand-ins for them, made from the public part of the Hansards.",
    paper="The order of the solvers was the same; the paper shows one lam in its figure 1.",
    chart=_all_averages("hansards", "word alignment", "log", **FIRST),
)
TABLE1 = Figure.declared(
    name="icml2013/table1",
    title="Oracle calls of all methods: what theory guarantees, what was measured on OCR, and the growth with n",
    caption="Oracle calls of all methods: what theory guarantees, and what was measured on OCR, also on samples of its words.",
    paper="The paper's table has the theory only; the measured columns are ours.",
    data=icml2013_table.data,
    draw=icml2013_table.draw,
    suffixes=TABLE,
)
