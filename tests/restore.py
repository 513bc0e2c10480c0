"""A process that saves solvers on their way and is killed, or that restores them and goes on; see ``test_restore``.

``python -m tests.restore save FOLDER CASES`` or ``go-on FOLDER CASES``; cases are lists of a family, a solver and its options.
"""

# ruff: noqa: T201

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

from fwexp import record
from fwexp.errors import OptionError
from fwexp.solvers import check_needs, check_options, get_solver
from fwexp.testing import small_chains
from tests.test_every_solver import FAMILIES

MANY_STEPS = 10**9


def start(family: str, name: str, options: dict, seed: int):
    """Return a solver at its start, None where the family does not serve it."""
    problem = small_chains() if family == "chains" else FAMILIES[family]()
    cls, lam = get_solver(name), options.get("lam", 0.1)
    options = check_options(cls, {key: value for key, value in options.items() if key != "lam"})
    try:
        check_needs(cls, problem, options)
    except OptionError:
        return None
    return cls(problem, lam, options, seed=seed)


def later(solver) -> str:
    """Go on and return what is reached, in bits."""
    solver.advance(solver.oracle_calls + 4 * solver.size, MANY_STEPS)
    point = solver.point("last")
    return f"{solver.step} {solver.oracle_calls} {np.float64(point.dual).tobytes().hex()} {np.array(point.w).tobytes().hex()}"


def save(folder: Path, cases: list) -> None:
    """Save every solver after some passes, note what it would reach, and die in the middle of a run."""
    for k, case in enumerate(cases):
        if solver := start(*case, seed=0):
            solver.advance(2 * solver.size, MANY_STEPS)
            np.savez(folder / f"{k}.npz", **record.to_arrays(solver.state))
            (folder / f"{k}.wanted").write_text(later(solver))
    os.kill(os.getpid(), signal.SIGKILL)


def go_on(folder: Path, cases: list) -> None:
    """Restore every solver and print what it reaches; its own seed is another one."""
    for k, case in enumerate(cases):
        solver = start(*case, seed=5)
        if solver is None:
            print("-")
            continue
        with np.load(folder / f"{k}.npz", allow_pickle=False) as arrays:
            solver.restore(record.from_arrays(arrays))
        print(later(solver))


if __name__ == "__main__":
    {"save": save, "go-on": go_on}[sys.argv[1]](Path(sys.argv[2]), json.loads(sys.argv[3]))
