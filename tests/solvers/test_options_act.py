"""Every option of every solver changes the run on a problem where it should, or is rejected."""

import dataclasses
import re
from functools import cache

import numpy as np
import pytest

import fwexp
from fwexp.blocks.acceleration import AccelerateOptions
from fwexp.convex import Bilinear, L1Ball, LeastSquares, Product, Simplex, minimize, saddle_point
from fwexp.errors import OptionError
from fwexp.solvers import SOLVERS
from fwexp.solvers.bcfw_options import CacheOptions
from fwexp.testing import small_chains

# Values other than the defaults, of options without choices; then those of some solvers, and the options that others need.
VALUES = {
    "cache": True,
    "accelerate": True,
    "refresh": 1,
    "nu": 0.5,
    "delta": 0.5,
    "qp_tol": 0.5,
    "scale": 0.1,
    "degree": 2,
    "gamma": 0.5,
    "coef0": 1.0,
    "memory": 1,
    "batch": 2,
    "blocks": 2,
    "skip": 2,
    "size": 1,
    "qp_share": 0.0,
    "qp_visits": 1.0,
    "certify": True,
    "removal": 1,
    "pull": 0.0,
    "K": 5.0,
    "ell": 4.0,
    "momentum": 0.3,
    "eta": 0.5,
    "ratio": 4.0,
    "cache.F": 4.0,
    "cache.nu": 4.0,
    "cache.size": 2,
    "accelerate.kap": 1.0,
    "accelerate.period": 1.0,
    "accelerate.start": 4.0,
    "accelerate.early": 8.0,
    "accelerate.refresh": False,
}
OF_SOLVER = {("one_slack", "cache"): (0, 5), ("sp_fw", "beta"): (1.0, 2.0), ("sp_fw", "delta"): (1.0, 2.0)}
SWITCHES = {"cache": CacheOptions, "accelerate": AccelerateOptions}
LINEAR_RATE = {"beta": 1.0, "delta": 1.0}
NEEDED = {
    ("auto", "line_search"): {"step": "fw"},
    ("bcfw", "accelerate.early"): {"accelerate.start": 12.0},
    ("bcfw", "accelerate.refresh"): {"sampling": "gap"},
    ("n_slack", "certify"): {"batch": 2},
    ("sp_fw", "beta"): LINEAR_RATE,
    ("sp_fw", "delta"): LINEAR_RATE,
    ("sp_fw", "step", "linear_rate"): LINEAR_RATE,
}
SAME = {"auto"}  # which chooses another one
OPTIONS = {(name, field.name): field for name in SOLVERS for field in dataclasses.fields(SOLVERS[name].Options)}
for _name in ("bcfw", "auto"):  # tests/blocks/test_shared_steps.py tests the option, which has no effect on a small problem
    OPTIONS.pop((_name, "deterministic"))
OPTIONS |= {("bcfw", f"{of}.{field.name}"): field for of, kind in SWITCHES.items() for field in dataclasses.fields(kind)}


def structured(name, special, **options):
    """Return the log of a run on classes, or on chains, which have many labelings."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=12)
    X = (np.eye(4)[y] + rng.normal(size=(12, 4))) * rng.uniform(0.5, 2.0, size=(12, 1))
    problem = (
        small_chains()
        if special == "size"
        else fwexp.multiclass_problem(X, y, 4, nonnegative=slice(0, 8) if special == "constrained_search" else None)
    )
    bounds = {"lam": 0.02, "max_passes": 15, "gap_tol": 0.0, "schedule": 1.0}
    return fwexp.solve(problem, name, objective=SOLVERS[name].objectives[0], **bounds, **options).trace


def convex(name, special, **options):
    """Return the log of a minimisation or of a game; line searches need a quadratic function."""
    rng, bounds = np.random.default_rng(0), {"max_iter": 40, "gap_tol": 0.0, "schedule": 1}
    if "saddle" in SOLVERS[name].kinds:
        game = Bilinear(rng.normal(size=(5, 4)), Simplex(5), Simplex(4))
        return saddle_point(game, method=name, **bounds, **options).trace
    f = LeastSquares(rng.normal(size=(40, 12)), rng.normal(size=40))
    over = Product([Simplex(4)] * 3) if name.startswith("block") and name != "blended_pairwise" else L1Ball(12)
    return minimize(f, over, method=name, **bounds, **options).trace


SPECIAL = {"size", "constrained_search"}  # options that act on problems of their own


def run(name, option, *options):
    """Return the log of a run, which is the same for all options that have their defaults."""
    defaults = {key: OPTIONS[name, key].default for key, _ in options if "." not in key}
    options = [(key, value) for key, value in options if "." in key or value != defaults[key]]
    return logged(name, option if option in SPECIAL else "", *options)


@cache
def logged(name, special, *options):
    given = {}
    for key, value in options:
        of, _, inner = key.partition(".")
        given |= {of: given.get(of, {}) | {inner: value}} if inner else {key: value}
    trace = (structured if "structured" in SOLVERS[name].kinds else convex)(name, special, **given)
    return trace[["passes" if "passes" in trace else "iterations", "primal", "dual"]].to_numpy().tobytes()


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_options_act_or_are_rejected(name, option):
    field = OPTIONS[name, option]
    values = field.metadata.get("choices") or OF_SOLVER.get((name, option)) or (field.default, VALUES[option])
    needs = {other: accepted[0] for other, accepted in field.metadata.get("needs", {}).items()}
    runs = {}
    for value in set(values) - SAME:
        given = NEEDED.get((name, option), {}) | NEEDED.get((name, option, value), {}) | needs | {option: value}
        runs.setdefault(run(name, option, *given.items()), []).append(value)
    assert [equal for equal in runs.values() if len(equal) > 1] == []
    if needs and name not in ("stochastic", "later_bcfw"):  # whose defaults are what is needed
        with pytest.raises(OptionError, match=rf"{option} goes with {next(iter(needs))}=.* only, got "):
            logged(name, "", (option, values[1]))


ONLY_BY_GAPS = "accelerate.refresh goes with sampling=gap or gap_perm or max_gap or max_gain or a cache only, got sampling="
NOT_IN_ROUNDS = "goes with other orders than sampling=shrinking only, got sampling=shrinking"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bcfw", {"constrained_search": "published"}, "goes with problems that have nonnegative weights only, got one without"),
        ("bcfw", {"constrained_search": "published", "line_search": False}, "constrained_search goes with line_search=true only"),
        ("bcfw", {"accelerate.refresh": False}, f"solver bcfw: {ONLY_BY_GAPS}uniform"),
        ("auto", {"accelerate.refresh": False, "sampling": "perm", "cache": False}, f"{ONLY_BY_GAPS}perm"),
        ("block_entropic", {"accelerate.refresh": False, "sampling": "cyclic"}, f"solver block_entropic: {ONLY_BY_GAPS}cyclic"),
        ("bcfw", {"accelerate.start": 4.0, "sampling": "shrinking"}, f"accelerate.start {NOT_IN_ROUNDS}"),
        ("bcfw", {"accelerate.early": 4.0, "sampling": "shrinking"}, f"accelerate.early {NOT_IN_ROUNDS}"),
    ],
)
def test_options_without_effect_are_rejected(name, options, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        run(name, "", *options.items())


@pytest.mark.parametrize("options", [{"sampling": "gap"}, {"cache": True}, {"sampling": "shrinking"}], ids=str)
def test_acceleration_need_not_refresh_gaps_that_a_run_uses(options):
    run("bcfw", "", *options.items(), ("accelerate.refresh", False))
