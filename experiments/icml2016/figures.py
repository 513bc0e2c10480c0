"""Figures of "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs" (ICML 2016)."""

from fwexp.experiments.icml2016 import oracle_costs
from fwexp.papers.figure import TABLE, Figure
from fwexp.plots import icml2016, icml2016_gaps, icml2016_paths, icml2016_table

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
_STAR = "*: synthetic data of that size"
_SCALE = "the paper lets methods run for 0.5 to 48 hours; here runs end after"
_ONE = "one seed where n > 25,000"
FIG3 = Figure(
    name="icml2016/fig3",
    title="Duality gap of eight block methods on four data sets, against passes and time",
    data=icml2016_gaps.FIG3.data,
    draw=icml2016_gaps.FIG3.draw,
    timed=True,
    note=f"{_SCALE} 50 or 60 passes, which take seconds; {_ONE}; {_STAR}",
)
FIG4 = Figure(
    name="icml2016/fig4",
    title="Cost of the regularisation path and of grids of lam on HorseSeg-small (synthetic), exact and heuristic, warm and cold",
    data=icml2016_paths.FIG4.data,
    draw=icml2016_paths.FIG4.draw,
    timed=True,
    note=_STAR,
)
FIG5 = Figure(
    name="icml2016/fig5",
    title="Duality gap of eight block methods on OCR and CoNLL-2000 at three regularization strengths each",
    data=icml2016_gaps.FIG5.data,
    draw=icml2016_gaps.FIG5.draw,
    claims=("G16-1", "G16-2", "G16-3", "G16-10", "G16-11"),
    timed=True,
    places=icml2016_gaps.IN_FIG5,
    note=f"{_SCALE} 50 to 100 passes, which take seconds",
)
FIG6 = Figure(
    name="icml2016/fig6",
    title="Duality gap of eight block methods on horses and poses, real and synthetic, at three regularization strengths each",
    data=icml2016_gaps.FIG6.data,
    draw=icml2016_gaps.FIG6.draw,
    timed=True,
    places=icml2016_gaps.IN_FIG6,
    note=f"{_SCALE} 50 or 60 passes, which take seconds; {_ONE}; {_STAR}",
)
AUTO = Figure(
    name="icml2016/auto",
    title="Duality gap of auto and of accelerated corrective steps against methods of the paper, on all its data sets",
    data=icml2016_gaps.AUTO.data,
    draw=icml2016_gaps.AUTO.draw,
    timed=True,
    note=f"{_SCALE} 50 to 100 passes, which take seconds; {_ONE}; {_STAR}",
)
FIG8 = Figure(
    name="icml2016/fig8",
    title="Cost of the regularisation path and of grids of lam on OCR and HorseSeg (synthetic), exact and heuristic, warm and cold",
    data=icml2016_paths.FIG8.data,
    draw=icml2016_paths.FIG8.draw,
    claims=("G16-7", "G16-8"),
    timed=True,
    note=f"{_ONE}; {_STAR}",
)
TABLE1 = Figure(
    name="icml2016/table1",
    title="Data sets of the paper and ours, what a call of the oracle costs on each, and its share of the time of runs",
    data=icml2016_table.data,
    draw=icml2016_table.draw,
    suffixes=TABLE,
    shows=oracle_costs.costs,
    timed=True,
)
