"""Final numbers of stored runs, of the weights that they returned."""

import math

from fwexp import store
from fwexp.driver.trace import TRACE_COLUMNS
from fwexp.store.stored_run import StoredRun

AXES = ("step", "oracle_calls", "passes", "time")


def measures(run: StoredRun) -> dict[str, float]:
    """Return primal, dual, gap and errors of the weights that a run returned, and its costs, by the columns of a trace."""
    trace = store.read_results([run])
    trace = trace[trace["iterate"] == run.record["iterate"]]
    if trace.empty:
        return {}
    # A heuristic path has no objective, and that of a diverged run may not be finite: such runs return their last weights.
    primal = run.record["primal"]
    row = trace.iloc[-1] if primal is None else trace.loc[(trace["primal"] - primal).abs().fillna(math.inf).idxmin()]
    own = list(dict.fromkeys([*TRACE_COLUMNS, *trace.columns[: trace.columns.get_loc("dataset")]]))
    found = {name: row[name] for name in own if name != "iterate" and name in trace}
    return found | {name: run.record[name] for name in (*AXES, "primal", "dual", "gap") if run.record.get(name) is not None}
