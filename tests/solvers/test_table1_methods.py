"""BMRM, excessive gap reduction and dual extragradient: their own properties. ``test_same_optimum`` has their optimum."""

import numpy as np
import pytest

import fwexp
from fwexp.driver.iteration import Budget
from tests import reference as ref
from tests.reference.problem import dual_matrices
from tests.small_problems import chain


def smoothed(tp, w, lam, mu):
    """lam/2 ||w||^2 + mean_i mu log mean_y exp(H_i(y; w)/mu), over all labelings."""
    A, b, blocks = dual_matrices(tp, lam)
    scores = (b - lam * A.T @ w) * len(blocks)  # H_i(y; w)
    soft = [mu * np.log(np.mean(np.exp((scores[block] - scores[block].max()) / mu))) + scores[block].max() for block in blocks]
    return 0.5 * lam * w @ w + np.mean(soft)


def test_the_gap_is_excessive_in_every_step():
    """P_mu(w_k) <= D(a_k), and mu falls as 1/k^2."""
    from fwexp.problems.protocol import to_public
    from fwexp.solvers.excessive_gap import ExcessiveGap

    tp, problem = chain("dense", 3, n=4)
    solver = ExcessiveGap(problem, 0.3, ExcessiveGap.Options())
    first = solver.state.mu
    for step in range(1, 40):
        solver.advance(Budget(2 * problem.n * step, step))
        assert solver.step == step
        w = to_public(problem, solver.state.w)
        assert smoothed(tp, w, 0.3, solver.state.mu) <= solver.point("last").dual + 1e-10
    assert solver.state.mu == pytest.approx(first * 6.0 / ((39 + 1) * (39 + 2)))


def test_bmrm_is_the_plain_cutting_plane():
    _, problem = chain("dense", 5, n=5)
    run = {"lam": 0.2, "max_passes": 12, "gap_tol": 0.0}
    plain = fwexp.solve(problem, "one_slack", cache=0, pull=0.0, removal=0, nonnegative=False, **run)
    bundle = fwexp.solve(problem, "bmrm", **run)
    assert bundle.trace["primal"].tolist() == plain.trace["primal"].tolist()
    assert bundle.w.tolist() == plain.w.tolist()


def test_the_mean_of_extragradient_is_as_good_as_theory_says():
    """The gap is at most (D_w/eta_w + D_a/eta_a)/t."""
    tp, problem = chain("dense", 7, n=4)
    lam = 0.5
    best = ref.qp_optimum(tp, lam)
    for passes in (40, 400):
        result = fwexp.solve(problem, "extragradient", lam=lam, gap_tol=0.0, max_passes=passes)
        solver = result.state
        labelings = max(len(block) for block in dual_matrices(tp, lam)[2])
        bound = (0.5 * best.w @ best.w / solver.eta_w + np.log(labelings) / solver.eta_a) / (passes / 2)
        assert result.trace["dual"].iloc[-1] >= best.dual - bound
