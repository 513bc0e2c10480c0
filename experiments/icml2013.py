"""Figures and tables of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

from fwexp.experiments.figure import TABLE, Figure
from fwexp.plots import icml2013, icml2013_table

_APPENDIX = (
    ("fig3", "Suboptimality and test error of the stochastic solvers and their averages on OCR", icml2013.FIG3),
    ("fig4", "The same on CoNLL-2000", icml2013.FIG4),
    ("fig5", "The same on word alignment", icml2013.FIG5),
)

FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            name="icml2013/fig1",
            title="Primal suboptimality of all solvers on OCR, CoNLL-2000 and word alignment",
            data=icml2013.fig1_data,
            draw=icml2013.fig1_draw,
        ),
        Figure(
            name="icml2013/fig2",
            title="Line search against predefined steps, batch and block, on OCR",
            data=icml2013.fig2_data,
            draw=icml2013.fig2_draw,
        ),
        *(
            Figure(f"icml2013/{name}", title, icml2013.all_averages_data(panels), icml2013.all_averages_draw(panels))
            for name, title, panels in _APPENDIX
        ),
        Figure(
            name="icml2013/table1",
            title="Oracle calls of all methods: what theory guarantees, what was measured on OCR, and the growth with n",
            data=icml2013_table.data,
            draw=icml2013_table.draw,
            suffixes=TABLE,
        ),
    )
}
