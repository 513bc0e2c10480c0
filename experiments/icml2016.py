"""Figures of "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs" (ICML 2016)."""

from fwexp.experiments.figure import Figure
from fwexp.plots import icml2016

FIG1 = Figure(
    name="icml2016/fig1",
    title="Gap sampling on OCR with gaps refreshed more or less often, and what theory predicts of it",
    data=icml2016.fig1_data,
    draw=icml2016.fig1_draw,
    claims=("B13-11", "G16-4", "G16-5"),
)
FIG2 = Figure(
    name="icml2016/fig2",
    title="What the parameters F and nu of the oracle cache do, on OCR",
    data=icml2016.fig2_data,
    draw=icml2016.fig2_draw,
    claims=("G16-6",),
)
FIG3 = Figure(
    name="icml2016/fig3",
    title="Duality gap of eight block methods on OCR, horses and synthetic poses, against passes and time",
    data=icml2016.fig3_data,
    draw=icml2016.fig3_draw,
    timed=True,
)
FIG5 = Figure(
    name="icml2016/fig5",
    title="Duality gap of eight block methods on OCR and CoNLL-2000 at three regularization strengths each",
    data=icml2016.fig5_data,
    draw=icml2016.fig5_draw,
    claims=("G16-1", "G16-2", "G16-3", "G16-10", "G16-11"),
    timed=True,
)
FIG8 = Figure(
    name="icml2016/fig8",
    title="Cost of the regularisation path and of grids of lam on OCR, exact and heuristic, warm and cold",
    data=icml2016.fig8_data,
    draw=icml2016.fig8_draw,
    claims=("G16-7", "G16-8"),
    timed=True,
)
