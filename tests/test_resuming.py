"""A state that is read from a file, with a problem that is built anew, goes on bit for bit: every solver with every family."""

import io

import numpy as np
import pytest

from fwexp import record
from fwexp.driver.iteration import Budget
from fwexp.errors import OptionError
from fwexp.problems.loss_terms import make_objective
from fwexp.solvers import check_needs, check_options, get_solver
from fwexp.solvers.choosing import start as new_solver
from tests.plain_python import all_in_plain_python  # noqa: F401 (of compiled solvers `check_solver` sees it)
from tests.test_every_solver import CASES, FAMILIES, SOLVER_OPTIONS

MANY_STEPS = 10**9
FIRST = [(name, rows[0]) for name, rows in SOLVER_OPTIONS.items()]


def start(family: str, name: str, options: dict, seed: int):
    """Return a solver at its start, None where the family does not serve it."""
    problem, cls, lam = FAMILIES[family](), get_solver(name), options.get("lam", 0.1)
    objective = make_objective(options.get("objective", cls.objectives[0]))
    options = check_options(cls, {key: value for key, value in options.items() if key not in ("lam", "objective")})
    try:
        check_needs(cls, problem, options, objective=objective)
    except OptionError:
        return None
    return new_solver(cls, problem, lam, options, seed=seed, objective=objective)


def later(solver) -> tuple:
    """Go on and return what is reached, in bits."""
    solver.advance(Budget(solver.oracle_calls + 4 * solver.terms.size, MANY_STEPS))
    point = solver.point("last")
    return solver.step, solver.oracle_calls, np.float64(point.dual).tobytes(), np.array(point.w).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_solver_goes_on_with_every_family(family):
    """Of chains with all options, which change what the state of a solver holds."""
    served, cases = 0, CASES if family == "chain" else FIRST
    for name, options in cases:
        solver, again, file = start(family, name, options, 0), start(family, name, options, 5), io.BytesIO()
        if solver is not None:
            solver.advance(Budget(2 * solver.terms.size, MANY_STEPS))
            np.savez(file, **record.to_arrays(solver.state))
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                again.restore(record.from_arrays(arrays))
            assert later(again) == later(solver), (name, options)
            served += 1
    assert served > 0.4 * len(cases)  # The others need marginals, for the log-loss.
