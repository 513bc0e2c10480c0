"""Every option and every setting of every task changes the result on a problem where it should, or is rejected."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from fwexp.convex import L1Ball, LeastSquares, Minimisation
from fwexp.tasks import TASKS
from fwexp.testing import small_chains

VALUES = {
    "lam": 0.3,
    "seed": 5,
    "max_passes": 1,
    "gap_tol": 1.0,
    "time_limit": 1e-9,
    "iterates": ("wavg",),
    "iterate": "wavg",
    "schedule": (0.0, 3.0),
    "train_error": True,
    "objective": "log",
    "temperature": 2.0,
    "eps": 0.5,
    "lam_max": 0.5,
    "lam_min": 0.5,
    "warm": False,
    "exact": False,
    "kappa": 0.2,
    "two_sided": True,
    "check": True,
}
START = {
    "train": {"lam": 0.1, "max_passes": 5.0},
    "improvement": {"lam": 0.1, "max_passes": 5.0},
    "grid": {"eps": 0.3, "lam_max": 1.0, "lam_min": 0.125},
    "path": {"eps": 0.3, "lam_min": 0.02},
    "convex": {"max_passes": 20.0},
}
NEEDED = {"temperature": {"objective": "log"}}
RANDOM = {"convex": "random_away"}  # for seeds
TIMES = ("time", "wall_time", "eval_time")
CASES = [(name, key) for name, cls in TASKS.items() for key in (*cls.reads, *(f.name for f in dataclasses.fields(cls.Options)))]


@cache
def problem_of(name):
    if name != "convex":
        return small_chains()
    rng = np.random.default_rng(0)
    return Minimisation(LeastSquares(rng.normal(size=(40, 12)), rng.normal(size=40)), L1Ball(12))


@cache
def done(name, solver, *given):
    """Return what a task returns, without times."""
    cls = TASKS[name]
    own = {field.name for field in dataclasses.fields(cls.Options)}
    options = cls.check_options({key: value for key, value in given if key in own})
    settings = cls.check_settings({key: value for key, value in given if key not in own}, solver, {})
    result = cls(options, settings).run(problem_of(name), solver, {})
    trace = result.trace.drop(columns=list(result.trace.columns.intersection(TIMES)))
    return trace.to_csv(), result.w.tolist(), result.status, result.iterate


@pytest.mark.parametrize(("name", "key"), CASES)
def test_parameters_act_or_are_rejected(name, key):
    given, cls = START[name] | NEEDED.get(key, {}), TASKS[name]
    solver = next(iter(cls.kinds.values())) if key != "seed" else RANDOM.get(name, "bcfw")
    assert done(name, solver, *given.items()) != done(name, solver, *(given | {key: VALUES[key]}).items())
