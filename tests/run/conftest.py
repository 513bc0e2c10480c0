"""Fixtures for tests of runs: a small configuration, a made-up result, and the keys of the runs that were run."""

import numpy as np
import pandas as pd
import pytest

from fwexp.driver.trace import TRACE_COLUMNS
from fwexp.run import runner
from fwexp.run.config import canonical, run_key
from fwexp.tasks.result import Result


@pytest.fixture
def config():
    return canonical({"dataset": {"name": "digits"}, "solver": {"name": "bcfw"}, "lam": 0.01})


@pytest.fixture
def solved(monkeypatch):
    """Return the keys of the runs that were run; ``plan`` has what the next ones raise, their statuses, or None."""
    calls, plan, solve = [], [], runner.solve

    def watched(config, *problems, **options):
        calls.append(run_key(config))
        event = plan.pop(0) if plan else None
        if isinstance(event, BaseException):
            raise event
        result = solve(config, *problems, **options)
        if event:
            result.status = event
        return result

    monkeypatch.setattr(runner, "solve", watched)
    watched.calls, watched.plan = calls, plan
    return watched


@pytest.fixture(scope="session")
def make_result():
    """Return a function that makes up results; ``level`` tells them apart."""

    def make(status="max_passes", *, level=0.5, seed=0):
        trace = pd.DataFrame(np.full((4, len(TRACE_COLUMNS)), level), columns=list(TRACE_COLUMNS))
        trace["iterate"] = ["last", "wavg"] * 2
        trace["step"] = trace["oracle_calls"] = [0, 0, 1000, 1000]
        trace["gap_estimate"] = np.nan
        return Result(
            w=np.arange(3) * level,
            primal=level,
            dual=np.nan,
            gap=np.nan,
            status=status,
            reason="made up",
            trace=trace,
            iterate="last",
            solver="bcfw",
            options={},
            lam=0.01,
            seed=seed,
        )

    return make
