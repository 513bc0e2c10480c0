"""What the tests of runs share: a small configuration and a made-up result."""

import numpy as np
import pandas as pd
import pytest

from fwexp.driver.trace import TRACE_COLUMNS
from fwexp.run.config import canonical
from fwexp.tasks.result import Result


@pytest.fixture
def config():
    return canonical({"dataset": {"name": "digits"}, "solver": {"name": "bcfw"}, "lam": 0.01})


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
