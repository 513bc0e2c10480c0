"""Shares of the time of a pass, for every family and three solvers.

A solver runs on a problem whose functions are timed (``fwexp.problems.timed``), under Python's profiler, which knows compiled
kernels; with functions in Python it would take most of the time itself, so there "Python" is all that is not timed. The parts are
disjoint and make up the whole pass. "Steps" are the functions of the protocol that change blocks and weights; "rest" is compiled
code of the solver outside the protocol (weights of labelings, averages), less sampling, which is timed by a kernel of its own on
the same tree of gaps; "Python" all that is not compiled, numpy's included. Evaluation, for the log, comes on top of the pass and
is given as a share of it.
"""

import cProfile
import statistics
import sys
from collections.abc import Callable

import numpy as np

from fwexp.bench.families import problems
from fwexp.bench.yardstick import Measured, best, summary, wall
from fwexp.blocks import gap_tree
from fwexp.driver.iteration import Budget
from fwexp.errors import UserError
from fwexp.jit.compilation import njit
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.timed import FUNCTIONS, cycles_per_second, timed
from fwexp.solvers import SOLVERS, check_options
from fwexp.solvers.base import check_needs

PASSES, WARM = 5, 8
PROFILED = ("bcfw", "auto", "one_slack")
KINDS = {
    "oracle": ("max_oracle", "best_block", "loss", "decode"),
    "scores": ("scores", "complete_scores", "rescale"),
    "products": ("dot", "norm_sq", "gram_scores", "psi_score", "inner"),
}
COLUMNS = (*KINDS, "steps", "sampling", "rest", "Python", "evaluation")


@njit
def _sample(tree, uniforms):
    for uniform in uniforms:
        i = gap_tree.draw(tree, uniform)
        gap_tree.update(tree, i, tree.nodes[tree.size + i, gap_tree.TOTAL])


def advance(solver, passes: float) -> None:
    """Advance a solver by so many passes of oracle calls."""
    solver.advance(Budget(solver.oracle_calls + int(passes * solver.problem.n), sys.maxsize))


def new_solver(problem, name: str, lam: float, **options):
    """Return a solver of the last iterate at its start."""
    cls = SOLVERS[name]
    chosen, settled = cls.choose(check_options(cls, options), problem, lam, ("last",))
    check_needs(chosen, problem, settled)
    return chosen(problem, lam, settled, 0, ("last",))


def shares(problem, name: str, lam: float, rate: float) -> tuple[list[float], dict[str, float]]:
    """Return the seconds of some passes of a solver, after others, and the median shares of them that each part takes."""
    problem = timed(problem)
    solver = new_solver(problem, name, lam)
    advance(solver, WARM)
    tree = getattr(getattr(getattr(solver, "state", None), "order", None), "tree", None)
    totals, found = [], []
    for _ in range(PASSES):
        problem.cycles[:] = 0
        steps = solver.step
        total, compiled = _profiled(solver) if isinstance(problem, tuple) else (wall(lambda: advance(solver, 1)), None)
        seconds_of = dict(zip(FUNCTIONS, problem.cycles / rate, strict=True))
        parts = {kind: sum(seconds_of.pop(function) for function in names) for kind, names in KINDS.items()}
        parts["steps"] = sum(seconds_of.values())
        parts["sampling"] = 0.0
        if tree is not None:
            uniforms = np.random.default_rng(0).random(solver.step - steps)
            _sample(tree, uniforms[:0])
            parts["sampling"] = best(lambda uniforms=uniforms: _sample(tree, uniforms), 3)
        known = sum(parts.values())
        compiled = known if compiled is None else compiled
        parts["rest"], parts["Python"] = compiled - known, total - compiled
        evaluate, w = Evaluator(problem.unweighted), solver.point("last").w
        evaluate(w, error=False)
        parts["evaluation"] = best(lambda evaluate=evaluate, w=w: evaluate(w, error=False), 3)
        totals.append(total)
        found.append({part: value / total for part, value in parts.items()})
    return totals, {part: statistics.median(each[part] for each in found) for part in COLUMNS}


def _profiled(solver) -> tuple[float, float]:
    """Return the seconds of a pass, and those in compiled kernels."""
    profiler = cProfile.Profile()
    profiler.runcall(advance, solver, 1)
    entries = [entry for entry in profiler.getstats() if hasattr(entry.code, "co_filename")]
    return max(entry.totaltime for entry in entries), sum(entry.inlinetime for entry in entries if _is_kernel(entry.code))


def _is_kernel(code) -> bool:
    """Return whether code is that of a function which is compiled."""
    modules = (module for name, module in [*sys.modules.items()] if name.startswith("fwexp."))
    home = next((module for module in modules if getattr(module, "__file__", None) == code.co_filename), None)
    return hasattr(getattr(home, code.co_name, None), "py_func")


def where_passes_go(unit: str, floor: Callable[[], float]) -> list[Measured]:
    """Print the shares of every family and solver; return the times of their passes."""
    rate, measured = cycles_per_second(), []
    print(f"\n{'a pass, and per cent of it':28}{unit:>8}" + "".join(f"{part:>11}" for part in COLUMNS))
    for name, problem, *_ in problems():
        base = floor()
        for solver in PROFILED:
            try:
                totals, parts = shares(problem, solver, 1 / problem.n if name == "conll2000" else 0.01, rate)
            except UserError as error:
                print(f"{name}, {solver}: {error}")
                continue
            measured.append(summary(f"pass, {name}, {solver}", unit, [total / base for total in totals]))
            numbers = "".join(f"{100 * parts[part]:11.1f}" for part in COLUMNS)
            print(f"{name + ', ' + solver:28}{measured[-1].median:8.3f}{numbers}", flush=True)
    return measured
