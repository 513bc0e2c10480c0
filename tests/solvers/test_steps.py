"""bcfw, fw and ssg against the literal transcriptions: every iterate after every step, for given orders."""

import numpy as np
import pytest

from fwexp.driver.iteration import Budget
from fwexp.problems.protocol import blocks_to_weights, to_public
from fwexp.solvers import SOLVERS, check_options
from tests import reference as ref
from tests.small_problems import FORMS, chain, relative_error, steps_before_a_tie

pytestmark = pytest.mark.compiled  # they take many steps

BIG = 10**9
LAM = 0.2
ITERATES = ("last", "wavg", "tavg", "avg")

# solver, its options, the transcription, passes per step
METHODS = {
    "bcfw": ("bcfw", {}, lambda tp, order: ref.bcfw(tp, LAM, order)),
    "bcfw 2n/(k+2n)": ("bcfw", {"line_search": False}, lambda tp, order: ref.bcfw(tp, LAM, order, line_search=False)),
    "fw": ("fw", {}, lambda tp, order: ref.fw(tp, LAM, len(order))),
    "fw 2/(k+2)": ("fw", {"line_search": False}, lambda tp, order: ref.fw(tp, LAM, len(order), line_search=False)),
    "ssg": ("ssg", {}, lambda tp, order: ref.ssg(tp, LAM, order)),
}


def start(problem, solver, options=None, order=None, iterates=ITERATES, lam=LAM, seed=0):
    cls = SOLVERS[solver]
    return cls(problem, lam, check_options(cls, options or {}), seed, iterates, order if cls.takes_order else None)


def assert_equal_steps(method, tp, problem, order):
    """Compare all iterates of all steps before the first tie; return how many."""
    solver, options, transcription = METHODS[method]
    wanted = transcription(tp, order)
    running = start(problem, solver, options, order)
    visits = [range(tp.n)] * len(order) if solver == "fw" else order[:, None]
    steps = steps_before_a_tie(tp, wanted.last.w, visits)
    for k in range(steps + 1):
        running.advance(Budget(BIG, k))
        assert running.step == k
        assert running.oracle_calls == k * (tp.n if solver == "fw" else 1)
        for name in ITERATES:
            point, path = running.point(name), getattr(wanted, name)
            if k == 0:
                assert not point.w.any()
            else:
                assert relative_error(to_public(problem, point.w), path.w[k]) <= 1e-12, (name, k)
            if path.ell is None:
                assert np.isnan(point.dual)
            else:
                dual = ref.dual_value(path.w[k], path.ell[k], LAM)
                assert abs(point.dual - dual) <= 1e-12 * max(1.0, abs(dual)), (name, k)
    return steps


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", METHODS)
def test_all_iterates_equal_the_transcription(method, form):
    # Scores of binary inputs tie often.
    seeds, p = (range(8), 6) if form == "binary" else (range(3), 2)
    compared = 0
    for seed in seeds:
        tp, problem = chain(form, seed, p=p)
        order = np.random.default_rng(seed).integers(tp.n, size=70)
        compared += assert_equal_steps(method, tp, problem, order)
    assert compared >= 140


@pytest.mark.parametrize("K", [1, 2, 9])  # 9 labels are rows of 16 numbers, 7 of them padding
def test_other_numbers_of_labels(K):
    compared = 0
    for seed in range(3):
        tp, problem = chain("dense", seed, n=8, K=K, lengths=(1, 2))
        order = np.random.default_rng(seed).integers(tp.n, size=40)
        compared += sum(assert_equal_steps(method, tp, problem, order) for method in METHODS)
    assert compared >= 300


@pytest.mark.parametrize("form", FORMS)
def test_weights_stay_the_sum_of_the_blocks(form):
    """After many steps w = sum_i w_i and the dual of running sums is the one computed from scratch."""
    tp, problem = chain(form, 6, n=6, lengths=(2, 3))
    running = start(problem, "bcfw", iterates=("last",))
    running.advance(Budget(BIG, 50_000 if isinstance(problem, tuple) else 500))
    w = blocks_to_weights(problem, running.state.iterate.dual.blocks, 1.0 / (LAM * tp.n))
    assert relative_error(running.state.iterate.w, w) <= 1e-11
    assert running.exact_dual() == pytest.approx(running.point("last").dual, abs=1e-12)
    assert running.state.iterate.ell[0] == pytest.approx(running.state.iterate.losses.mean(), abs=1e-12)
