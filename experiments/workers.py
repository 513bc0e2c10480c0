"""The figure of training over workers: what ``make bench-scale`` measured and simulated, from its table in the repository."""

from pathlib import Path

from fwexp.papers.declarations import Figure
from fwexp.plots import scaling

TABLE = Path(__file__).resolve().parents[1] / "results/bench/scale.csv"


def measured(_, __):
    """Return the table."""
    import pandas as pd

    from fwexp.errors import DataError

    if not TABLE.is_file():
        raise DataError(f"there is no {TABLE}: it is part of a clone of the repository, where make bench-scale measures it")
    return pd.read_csv(TABLE).fillna({"bottleneck": ""})


FIG1 = Figure.declared(
    name="scale/fig1",
    title="Training over workers: 1 to 8 measured, up to 10,000 simulated, with cheap and costly oracles, few and many weights",
    caption="Oracle calls per second, and progress: these over the passes that a gap takes relative to one worker. Points were "
    "measured on one machine; dotted curves simulate that, the others a cluster with a core for every process and ten million "
    "examples. Passes of more than 8 workers are extrapolated. Panels name what the simulation finds busy with 10,000 workers.",
    data=scaling.data,
    draw=scaling.draw,
    shows=measured,
    has_runs=False,
)
