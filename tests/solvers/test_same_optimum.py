"""All methods, one optimum: that of the quadratic program with every labeling enumerated."""

import numpy as np
import pytest

import fwexp
from tests import reference as ref
from tests.small_problems import chain, classes

pytestmark = pytest.mark.compiled  # they take many steps

CUTTING, ANY = 1e-6, (0.01, 0.3, 10.0)  # times 1/n: their QP is solved exactly, at any lam
FRANK_WOLFE, LARGE = 1e-4, (10.0, 40.0)  # sublinear: smaller lam n needs millions of passes
INTERIOR = 1e-3

# solver, options, iterate, tolerance, lam n
METHODS = [
    *(("one_slack", options, "last", CUTTING, ANY) for options in ({}, {"removal": 0}, {"pull": 0.0}, {"removal": 5, "cache": 4})),
    ("n_slack", {}, "last", CUTTING, ANY),
    ("fcfw", {}, "last", CUTTING, ANY),
    ("bcfw", {}, "last", FRANK_WOLFE, LARGE),
    ("bcfw", {"sampling": "perm"}, "wavg", FRANK_WOLFE, LARGE),
    ("bcfw", {"step": "corrective", "accelerate": True}, "last", FRANK_WOLFE, LARGE),
    ("fw", {}, "last", FRANK_WOLFE, LARGE),
    ("kernel_bcfw", {"kernel": "linear"}, "last", FRANK_WOLFE, LARGE),
    ("online_eg", {}, "last", INTERIOR, LARGE),
    ("ssg", {}, "wavg", INTERIOR, LARGE),
    ("bmrm", {}, "last", CUTTING, ANY),
    ("excessive_gap", {}, "last", FRANK_WOLFE, LARGE),
    ("extragradient", {}, "last", FRANK_WOLFE, LARGE),
]


# Methods see a family through the protocol alone, so one with corners and one with an oracle for each example do for classes. On
# chains, kernel_bcfw takes long to compile; of classes, its steps are those of bcfw (tests/solvers/test_kernel_bcfw.py).
ON_CLASSES = ("bcfw", "fcfw")
CASES = [
    pytest.param(make, *method, id=f"{name}-{method[0]}-{method[2]}-{k}", marks=[pytest.mark.slow] * (method[0] == "kernel_bcfw"))
    for name, make in {"chain": lambda: chain("dense", 11, n=6), "multiclass": lambda: classes(12)}.items()
    for k, method in enumerate(METHODS)
    if name == "chain" or method[0] in ON_CLASSES
]


@pytest.mark.portable
@pytest.mark.parametrize(("make", "solver", "options", "iterate", "tol", "lam_n"), CASES)
def test_every_method_reaches_the_enumerated_optimum(make, solver, options, iterate, tol, lam_n):
    tp, problem = make()
    for lam in np.array(lam_n) / tp.n:
        best = ref.qp_optimum(tp, lam)
        passes = 5000 if solver == "ssg" else 60_000  # without a certificate it takes them all
        run = {"max_passes": passes, "schedule": 1 if tol == CUTTING else 100, "iterates": (iterate,), "iterate": iterate}
        result = fwexp.solve(problem, solver, lam=lam, gap_tol=0.9 * tol, **run, **options)
        if solver != "ssg":
            assert result.status == "converged"
            assert best.dual - tol <= result.dual
            assert (result.trace["dual"] <= best.dual + 1e-10).all()
        assert (result.trace["primal"] >= best.primal - 1e-10).all()
        assert result.primal <= best.primal + (tol if solver in ("ssg", "online_eg") else 1e-3)
        if tol == CUTTING:
            first = int(solver == "bmrm")  # whose start is no point of its hull
            assert result.trace.dual.iloc[first:].diff().min() >= -1e-9
        if solver == "one_slack":
            assert result.trace.primal.diff().max() <= 1e-12  # the lower envelope
        if solver != "kernel_bcfw":  # its weights are those of support vectors
            assert result.primal == pytest.approx(ref.primal(tp, result.w, lam), abs=1e-10)
