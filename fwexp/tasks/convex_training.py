"""Training on convex problems and saddle points: a method of `fwexp.convex` to one of its ends.

A pass is a linear minimisation (or a projection) over the whole set.
"""

import math
from typing import ClassVar

from fwexp.convex import Bilinear, Minimisation, minimize, saddle_point
from fwexp.convex.minimize import new_method, new_saddle_method
from fwexp.errors import ParameterError
from fwexp.options import CONVEX, SADDLE
from fwexp.tasks.result import Result
from fwexp.tasks.task import Task


class Convex(Task):
    """Training, where there is no lam. It has a name of its own since that is in the keys of stored runs."""

    name = "convex"
    title = "a method on a convex set, or for a saddle point"
    kinds: ClassVar = {CONVEX: "pairwise", SADDLE: "dual_extragradient"}
    solvers = None  # every one
    reads: ClassVar = {"seed": 0, "max_passes": 1000, "gap_tol": 1e-6, "time_limit": None, "schedule": "default"}

    @classmethod
    def check_problem(cls, problem, solver, options, given):
        match problem:
            case Minimisation():
                new_method(problem.f, problem.set, solver, None, 0, 0.0, options)
            case Bilinear():
                new_saddle_method(problem, solver, 0.0, options)
            case _:
                raise ParameterError(f"task convex needs a Minimisation or Bilinear of fwexp.convex, got {type(problem).__name__}")

    def run(self, problem, solver, options, *, test=None, validation=None, metrics=None, verbose=False, checkpoint=None):
        """Run the method to one of its ends."""
        given = dict(self.given)
        seed, max_iter = given.pop("seed"), given.pop("max_passes")
        how = given | {"max_iter": max_iter, "verbose": verbose, "checkpoint": checkpoint} | dict(options)
        if isinstance(problem, Bilinear):
            found = saddle_point(problem, method=solver, **how)
        else:
            found = minimize(problem.f, problem.set, method=solver, seed=seed, **how)
        return Result(
            w=found.x.ravel(),
            primal=found.value,
            dual=found.value - found.gap,
            gap=found.gap,
            status=found.status,
            reason=found.reason,
            trace=found.trace,
            iterate="last",
            solver=solver,
            options=dict(options),
            lam=math.nan,
            seed=seed,
        )
