"""A run that is saved and killed, and restored in another process, goes on bit for bit.

These processes are ``python -m tests.test_resuming save FOLDER CASES`` and ``go-on FOLDER CASES``; cases are lists of a family, a
solver and its options.
"""

# ruff: noqa: T201

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fwexp import record
from fwexp.driver.iteration import Budget
from fwexp.errors import OptionError
from fwexp.problems.loss_terms import make_objective
from fwexp.solvers import check_needs, check_options, get_solver
from fwexp.solvers.choosing import start as new_solver
from fwexp.testing import small_chains
from tests.test_every_solver import CASES, FAMILIES

MANY_STEPS = 10**9


def start(family: str, name: str, options: dict, seed: int):
    """Return a solver at its start, None where the family does not serve it."""
    problem = small_chains() if family == "chains" else FAMILIES[family]()
    cls, lam = get_solver(name), options.get("lam", 0.1)
    objective = make_objective(options.get("objective", cls.objectives[0]))
    options = check_options(cls, {key: value for key, value in options.items() if key not in ("lam", "objective")})
    try:
        check_needs(cls, problem, options, objective=objective)
    except OptionError:
        return None
    return new_solver(cls, problem, lam, options, seed=seed, objective=objective)


def later(solver) -> str:
    """Go on and return what is reached, in bits."""
    solver.advance(Budget(solver.oracle_calls + 4 * solver.terms.size, MANY_STEPS))
    point = solver.point("last")
    return f"{solver.step} {solver.oracle_calls} {np.float64(point.dual).tobytes().hex()} {np.array(point.w).tobytes().hex()}"


def save(folder: Path, cases: list) -> None:
    """Save every solver after some passes, print what it would reach, and die in the middle of a run."""
    for k, case in enumerate(cases):
        solver = start(*case, seed=0)
        if solver is not None:
            solver.advance(Budget(2 * solver.terms.size, MANY_STEPS))
            np.savez(folder / f"{k}.npz", **record.to_arrays(solver.state))
        print("-" if solver is None else later(solver), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def go_on(folder: Path, cases: list) -> None:
    """Restore every solver and print what it reaches; its own seed is another one."""
    for k, case in enumerate(cases):
        solver = start(*case, seed=5)
        if solver is not None:
            with np.load(folder / f"{k}.npz", allow_pickle=False) as arrays:
                solver.restore(record.from_arrays(arrays))
        print("-" if solver is None else later(solver))


def check(folder, cases, **environment):
    """Return for how many cases there is no solver, if all others go on as they would have."""
    saved, restored = (
        subprocess.run(
            [sys.executable, "-m", "tests.test_resuming", role, str(folder), json.dumps(cases)],
            capture_output=True,
            text=True,
            cwd=Path(__file__).resolve().parents[1],
            env=os.environ | environment,
        )
        for role in ("save", "go-on")
    )
    assert (saved.returncode, restored.returncode) == (-signal.SIGKILL, 0), saved.stderr + restored.stderr
    wanted, reached = saved.stdout.splitlines(), restored.stdout.splitlines()
    assert [case for case, one, other in zip(cases, wanted, reached, strict=True) if one != other] == []
    return reached.count("-")


@pytest.mark.slow
def test_every_solver_goes_on_in_another_process(tmp_path):
    assert check(tmp_path, [["chains", name, options] for name, options in CASES]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_solver_goes_on_with_every_family(tmp_path, family):
    """In plain Python, which runs the same steps without compiling them for every family."""
    left_out = check(tmp_path, [[family, name, options] for name, options in CASES], NUMBA_DISABLE_JIT="1")
    assert left_out < 0.6 * len(CASES)  # Those of the log-loss need marginals.


if __name__ == "__main__":
    {"save": save, "go-on": go_on}[sys.argv[1]](Path(sys.argv[2]), json.loads(sys.argv[3]))
