"""Figures and tables of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

from fwexp.papers.figure import TABLE, Figure
from fwexp.plots import icml2013, icml2013_table

FIG1 = Figure(
    name="icml2013/fig1",
    title="Primal suboptimality of all solvers on OCR, CoNLL-2000 and word alignment",
    data=icml2013.fig1_data,
    draw=icml2013.fig1_draw,
    claims=("B13-1", "B13-2", "B13-3", "B13-4", "L-4"),
)
FIG2 = Figure(
    name="icml2013/fig2",
    title="Line search against predefined steps, batch and block, on OCR",
    data=icml2013.fig2_data,
    draw=icml2013.fig2_draw,
    claims=("B13-6", "B13-16", "B13-21"),
)
FIG3 = Figure(
    name="icml2013/fig3",
    title="Suboptimality and test error of the stochastic solvers and their averages on OCR",
    data=icml2013.all_averages_data(icml2013.FIG3),
    draw=icml2013.all_averages_draw(icml2013.FIG3),
    claims=("B13-5", "B13-7", "B13-8", "B13-9", "B13-10", "B13-20", "B13-22"),
)
FIG4 = Figure(
    name="icml2013/fig4",
    title="Suboptimality and test error of the stochastic solvers and their averages on CoNLL-2000",
    data=icml2013.all_averages_data(icml2013.FIG4),
    draw=icml2013.all_averages_draw(icml2013.FIG4),
)
FIG5 = Figure(
    name="icml2013/fig5",
    title="Suboptimality and test error of the stochastic solvers and their averages on word alignment",
    data=icml2013.all_averages_data(icml2013.FIG5),
    draw=icml2013.all_averages_draw(icml2013.FIG5),
)
TABLE1 = Figure(
    name="icml2013/table1",
    title="Oracle calls of all methods: what theory guarantees, what was measured on OCR, and the growth with n",
    data=icml2013_table.data,
    draw=icml2013_table.draw,
    suffixes=TABLE,
)
