"""Minimisation over convex sets, and saddle points: the methods of `fwexp.convex` on its instances, run as solvers are on data.

``dataset`` names an instance, ``solver`` a method. A pass is a linear minimisation (or a projection) over the whole set.
"""

import math
from typing import ClassVar

from fwexp.convex import METHODS, SADDLE_METHODS, Bilinear, minimize, saddle_point
from fwexp.convex.instances import INSTANCES
from fwexp.convex.minimize import new_method, new_saddle_method
from fwexp.errors import OptionError
from fwexp.tasks.base import Task
from fwexp.tasks.result import Result


class Convex(Task):
    """One method on one instance."""

    name = "convex"
    title = "a method on a convex set, or for a saddle point"
    reads: ClassVar = {"seed": 0, "max_passes": 1000, "gap_tol": 1e-6, "time_limit": None, "schedule": "default"}
    methods: ClassVar = {**METHODS, **SADDLE_METHODS}
    instances = INSTANCES

    @classmethod
    def check_problem(cls, problem, solver, options):
        is_game = isinstance(problem, Bilinear)
        kind, accepted = ("a saddle point", SADDLE_METHODS) if is_game else ("a function on a set", METHODS)
        if solver not in accepted:
            raise OptionError(f"solver {solver} cannot do with {kind}; accepted: {', '.join(accepted)}")
        if is_game:
            new_saddle_method(problem, solver, 0.0, options)
        else:
            new_method(problem.f, problem.set, solver, None, 0, 0.0, options)

    def run(self, problem, solver, options, *, test=None, metrics=None, verbose=False, checkpoint=None):
        """Run the method to one of its ends."""
        self.check_problem(problem, solver, options)
        given = dict(self.given)
        seed, max_iter = given.pop("seed"), given.pop("max_passes")
        how = given | {"max_iter": max_iter, "verbose": verbose, "checkpoint": checkpoint} | dict(options)
        if isinstance(problem, Bilinear):
            found = saddle_point(problem, method=solver, **how)
        else:
            found = minimize(problem.f, problem.set, method=solver, seed=seed, **how)
        return Result(
            w=found.x,
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
