"""One table: every solver with its main options keeps the promises of a solver, every family those of a problem."""

import gc
from functools import partial

import numpy as np
import pytest

import fwexp
from fwexp.driver.log import Log
from fwexp.problems import tiers
from fwexp.solvers import Solver, get_solver, of_kind
from fwexp.solvers.auto import best_options
from fwexp.testing import check_problem, check_solver, small_chains
from tests.problems.definitions import build
from tests.small_problems import chain, run_in_plain_python

AUTO = best_options(small_chains(), 10.0)
SOLVER_OPTIONS = {
    "auto": [{"lam": 10.0}, {"step": "pairwise"}],
    "bcfw": [
        {},
        {"line_search": False, "sampling": "perm"},
        {"sampling": "gap", "step": "pairwise", "cache": True},
        {"sampling": "max_gap", "step": "away", "refresh": 3},
        {"sampling": "lipschitz", "step": "corrective", "accelerate": True},
        {"sampling": "cyclic", "cache": {"F": 0.25, "nu": 0.01, "size": 4}},
        {"sampling": "gap_perm", "lam": 10.0},
        {"lam": 10.0, **AUTO},
    ],
    "fw": [{}, {"line_search": False}],
    "ssg": [{}, {"sampling": "perm"}],
    "one_slack": [{}, {"removal": 0, "cache": 0, "pull": 0.0}, {"nonnegative": False}],
    "n_slack": [{}, {"batch": 1, "accelerate": False}, {"batch": 4, "certify": True, "qp_visits": 1.7}],
    "fcfw": [{}, {"start_atom": False}],
    "online_eg": [{}, {"sampling": "perm"}, {"objective": "log"}],
    "lbfgs": [{}, {"memory": 2, "objective": "softmax_margin"}, {"scaled": True}],
    "entropic_turns": [{}, {"objective": "softmax_margin", "sampling": "gap", "accelerate": True, "lam": 1e-5}],
    "sag": [{}, {"sampling": "uniform"}],
    "kernel_bcfw": [{}, {"kernel": "rbf"}],
    "kernel_fw": [{"lam": 0.3}, {"kernel": "rbf"}],
    "bmrm": [{}],
    "excessive_gap": [{"lam": 1.0}],
    "extragradient": [{"lam": 1.0}],
    "block_entropic": [
        {},
        {"objective": "softmax_margin", "sampling": "perm"},
        {"sampling": "gap", "refresh": 3, "accelerate": True},
        {"sampling": "uniform", "accelerate": {"kap": 2.0}},
        {"sampling": "max_gap"},
        {"sampling": "cyclic", "precision": "single"},
    ],
    "later_bcfw": [{}, {"step": "pairwise"}, {"step": "away"}, {"step": "wss2"}, {"blocks": 3}],  # ``skip`` goes by labels
    "approx_bcfw": [{}],  # degraded, it depends on which labelings are known, and so on the family
}
CASES = [(name, options) for name, rows in SOLVER_OPTIONS.items() for options in rows]
KERNELISED = ("kernel_bcfw", "kernel_fw")
# They take long to compile.
SLOW = [*(case for case in CASES if case[0] in KERNELISED), *(("bcfw", SOLVER_OPTIONS["bcfw"][k]) for k in (4, 6, 7))]
SLOW_FAMILIES = ("dense graphs of three labels", "forests of three labels")
# These have machine code of their own, too, of a step alone: tests/jit/test_linker.py compares its text with plain Python.
IN_PLAIN_PYTHON = [("bcfw", "away"), *(("later_bcfw", step) for step in ("pairwise", "away", "wss2"))]


def test_no_solver_is_missing():
    assert set(SOLVER_OPTIONS) == set(of_kind("structured"))


@pytest.mark.parametrize(
    ("name", "options"),
    [pytest.param(*case, marks=[pytest.mark.slow] if case in SLOW else []) for case in CASES],
    ids=[f"{name}-{k}" for k, (name, _) in enumerate(CASES)],
)
def test_solvers_keep_their_promises(name, options, monkeypatch):
    if (name, options.get("step")) in IN_PLAIN_PYTHON:
        run_in_plain_python(monkeypatch)
    check_solver(name, small_chains(), **options)


@pytest.mark.parametrize("name", [name for name in SOLVER_OPTIONS if name not in KERNELISED])
def test_a_run_leaves_its_arrays_to_no_collector(name):
    """Circles keep the arrays of run after run, because the collector counts objects, and not their bytes."""
    problem, objective = small_chains(), get_solver(name).objectives[0]
    given = {"lam": 0.1, "max_passes": 2, "objective": objective, **SOLVER_OPTIONS[name][0]}
    fwexp.solve(problem, name, **given)
    gc.collect()
    gc.freeze()  # What there was before is looked through once for all solvers.
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        fwexp.solve(problem, name, **given)
        gc.collect()
        assert not [kept for kept in gc.garbage if isinstance(kept, Log | Solver)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize(
    ("name", "compiled"),
    [
        *((name, False) for name in SOLVER_OPTIONS),
        *(pytest.param(name, True, marks=pytest.mark.slow) for name in ("bcfw", "fw", "online_eg")),
    ],
)
def test_without_features_there_is_nothing_to_learn(name, compiled, monkeypatch):
    if not compiled:  # Classes have machine code of their own, which these methods call alike.
        run_in_plain_python(monkeypatch)
    for problem in (fwexp.multiclass_problem(np.zeros((4, p)), [0, 1, 0, 1]) for p in (0, 2)):
        objective = get_solver(name).objectives[0]
        result = fwexp.solve(problem, name, lam=1.0, max_passes=3, objective=objective)
        assert result.primal == pytest.approx(1.0 if objective == "hinge" else np.log(2.0))
        assert not result.w.any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bcfw", "ssg"])
def test_solvers_keep_their_promises_on_functions(name):
    check_solver(name, chain("sparse functions", 0, n=3)[1], lam="1/n")


def small_problem(form):
    return build(form, 2).problem


FAMILIES = {  # problems whose functions have machine code of their own
    "chain": small_chains,
    **{form: partial(small_problem, form) for form in ("sparse chain", "dense classes", "dense matchings", "dense graphs")},
    **{form: partial(small_problem, form) for form in ("dense graphs of three labels", "forests", "forests of three labels")},
    **{form: partial(small_problem, form) for form in ("outputs", "poses", "functions", "sparse functions")},
}


def test_no_family_is_missing():
    assert {type(make()) for make in FAMILIES.values()} == set(tiers.families())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW_FAMILIES else []) for name in FAMILIES]
)
def test_families_keep_their_promises(name):
    check_problem(FAMILIES[name]())


@pytest.mark.parametrize(
    ("family", "weights", "solver", "options"),
    [
        ("dense classes", (0.5, 2.0), "bcfw", {"step": "exact", "sampling": "shrinking", "iterates": ["last"]}),
        pytest.param("dense matchings", (0.5, 2.0), "bcfw", {}, marks=pytest.mark.slow),
        pytest.param("dense graphs", None, "auto", {}, marks=pytest.mark.slow),
        ("forests of three labels", None, "fw", {}),
        ("poses", None, "bcfw", {}),
    ],
    ids=str,
)
def test_machine_code_does_what_plain_python_does(family, weights, solver, options, monkeypatch):
    """Of families, some with weights of examples; `check_solver` compares the methods on chains."""
    problem = FAMILIES[family]()
    if weights:
        problem = fwexp.weighted_problem(problem, np.linspace(*weights, problem.n))
    given = {"lam": 0.1, "max_passes": 6, "gap_tol": 0, "test": problem, **options}
    compiled = fwexp.solve(problem, solver, **given)
    run_in_plain_python(monkeypatch)
    plain = fwexp.solve(problem, solver, **given)
    np.testing.assert_allclose(compiled.w, plain.w, rtol=1e-9, atol=1e-12)
    for column in ("primal", "dual", "test_error"):
        np.testing.assert_allclose(compiled.trace[column], plain.trace[column], rtol=1e-9, atol=1e-12)
