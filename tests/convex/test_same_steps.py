"""Solvers of structural SVMs and methods on convex sets take the same steps where they are one method."""

import numpy as np
import pytest

import fwexp
from fwexp.convex import Product, Quadratic, Simplex, minimize

LAM = 0.05


def problem(n, seed=0):
    """Few examples of few labelings, the first of which is true, and the dual over all of them: min lam/2 ||A a||^2 - b'a."""
    rng = np.random.default_rng(seed)
    psi = [np.vstack((np.zeros(4), rng.standard_normal((3, 4)))) for _ in range(n)]
    losses = [np.r_[0.0, rng.uniform(0.2, 1.0, 3)] for _ in range(n)]
    A = np.vstack(psi).T / (LAM * n)
    return fwexp.enumerated_problem(psi, losses), A, Quadratic(LAM * A.T @ A, -np.concatenate(losses) / n)


PAIRS = [
    ("fw", {}, "frank_wolfe", {}, 4),
    ("fw", {"line_search": False}, "frank_wolfe", {"step": "open_loop"}, 4),
    ("bcfw", {"sampling": "cyclic"}, "block", {"rule": "cyclic"}, 4),
    ("bcfw", {"sampling": "cyclic", "line_search": False}, "block", {"rule": "cyclic", "step": "open_loop"}, 4),
    ("bcfw", {"sampling": "cyclic", "step": "pairwise"}, "block", {"rule": "cyclic", "direction": "pairwise"}, 4),
    ("bcfw", {"sampling": "cyclic", "step": "pairwise"}, "pairwise", {}, 1),
    # Not away steps: ``bcfw`` takes them if they increase the dual more, ``away`` if their gap is larger.
    ("fcfw", {}, "corrective", {}, 4),
]


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "options", "method", "settings", "n"), PAIRS)
def test_the_steps_are_the_same(solver, options, method, settings, n):
    svm, A, f = problem(n)
    simplices = Product([Simplex(4) for _ in range(n)]) if n > 1 else Simplex(4)
    for passes in (1, 2, 3, 7):
        run = fwexp.solve(svm, solver, lam=LAM, max_passes=passes, gap_tol=0.0, iterates=["last"], iterate="last", **options)
        # Methods that certify every point look at the last one, too: one linear minimisation more.
        more = 0 if method == "block" else 1
        same = minimize(f, simplices, method=method, max_iter=passes + more, gap_tol=0.0, schedule=float(passes + more), **settings)
        x = same.atoms.weights @ same.atoms.points if same.atoms is not None and method != "corrective" else same.x
        if method in ("frank_wolfe", "block") and "open_loop" in settings.values():
            x = None  # the best point is returned, which need not be the last one
        dual = -same.trace["primal"].iloc[-1]
        assert dual == pytest.approx(run.trace["dual"].iloc[-1], rel=1e-12, abs=1e-14)
        if x is not None:
            assert A @ x == pytest.approx(run.w, rel=1e-9, abs=1e-11)
