"""Final numbers of stored runs: of the returned weights, and the value that a search minimises."""

import math
import re

from fwexp import store
from fwexp.driver.trace import TRACE_COLUMNS
from fwexp.errors import ParameterError
from fwexp.store.stored_run import StoredRun

TIME_TO_GAP = "time_to_gap"
QUANTITIES = ("primal", "gap", "train_error", "validation_error", "test_error")
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


def check_quantity(quantity) -> str:
    """Return the name of something to minimise.

    Raises
    ------
    ParameterError
        It is none.
    """
    name, equals, level = quantity.partition("=") if isinstance(quantity, str) else (None, "", "")
    if name == TIME_TO_GAP and re.fullmatch(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", level, re.IGNORECASE) and float(level) > 0:
        return quantity
    if equals or name not in QUANTITIES:
        raise ParameterError(f"objective_value must be {', '.join(QUANTITIES)} or {TIME_TO_GAP}=GAP with GAP > 0, got {quantity!r}")
    return quantity


def value_of(run: StoredRun, quantity: str) -> float:
    """Return the value of a run to minimise: infinite if it diverged, or never reached the gap.

    Raises
    ------
    ParameterError
        The run has no such number.
    """
    if run.status == "diverged":
        return math.inf
    name, _, level = quantity.partition("=")
    if name == TIME_TO_GAP:
        value = _time_to(run, float(level))
    else:
        value = float(measures(run).get(name, math.nan))
    if math.isnan(value):
        cure = {"train_error": "; set train_error=true", "validation_error": "; set dataset.validation=0.2, for example"}
        solver, dataset = run.config["solver"]["name"], run.config["dataset"]["name"]
        raise ParameterError(
            f"objective_value={quantity} needs runs that measure it, got none from solver {solver} on dataset {dataset}"
            + cure.get(name, "")
        )
    return value


def _time_to(run: StoredRun, level: float) -> float:
    """Return the solver seconds after which a gap is certified; NaN without a dual."""
    trace = store.read_results([run], ("step", "time", "primal", "dual")).sort_values("step", kind="stable")
    gaps = trace["primal"].cummin() - trace["dual"].cummax()
    if gaps.isna().all():
        return math.nan
    return float(trace["time"][gaps <= level].min()) if (gaps <= level).any() else math.inf
