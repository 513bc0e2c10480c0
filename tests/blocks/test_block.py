"""Sampling, steps, cache, refresh and acceleration of bcfw against the literal transcription, step by step, and the optimum."""

import mmap
import sys
import weakref
from functools import partial

import numpy as np
import pytest

import fwexp
from fwexp.blocks import active_set, gap_tree, orders, weight_steps
from fwexp.blocks.acceleration import LATE_PASSES, LATE_STRENGTH
from fwexp.blocks.centres import PIECE, new_centre
from fwexp.driver.iteration import Budget
from fwexp.memory import releasable_zeros, release
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.protocol import radii_sq, to_public, workspace
from tests import reference as ref
from tests.small_problems import at_start, chain, steps_before_a_tie

BIG = 10**9
LAM = 0.2
tiny, start = partial(chain, "dense", n=6), partial(at_start, "bcfw", lam=LAM)


def order_without_repeats(n, steps, seed):
    """Random blocks, never the same twice in a row.

    After an exact pairwise step the scores of both labelings are equal; visited again at once, rounding would decide.
    """
    rng = np.random.default_rng(seed)
    order = [int(rng.integers(n))]
    while len(order) < steps:
        order.append(int((order[-1] + rng.integers(1, n)) % n))
    return np.array(order)


def steps_without_ties(blocks, step):
    """How many steps of the transcription can be compared: for steps that leave ties, up to an immediate repetition."""
    repeats = np.flatnonzero(np.diff(blocks) == 0)
    return len(blocks) if step in ("fw", "away") or len(repeats) == 0 else int(repeats[0]) + 1


def both(seed, sampling, step, cache, **options):
    """Return a problem in two forms, 20 passes of the transcription over it, and the solver that is to take the same steps."""
    tp, problem = tiny(seed=seed)
    steps = 20 * tp.n
    order = order_without_repeats(tp.n, steps, seed) if sampling == "order" else None
    draws = np.random.default_rng(seed).random(steps) if order is None else order
    rule = (cache["F"], cache["nu"]) if cache else None
    radii = radii_sq(problem)
    wanted = ref.block_fw(
        tp, LAM, steps, sampling=sampling, draws=draws, step=step, cache=rule, refresh=3, curvature=radii, **options
    )
    choice = {} if sampling == "order" else {"sampling": sampling}
    return tp, problem, wanted, start(problem, seed=seed, order=order, step=step, cache=cache, refresh=3, **choice)


@pytest.mark.parametrize("step", ["fw", "pairwise", "away", "corrective"])
@pytest.mark.parametrize("sampling", ["order", "gap", "max_gap", "max_gain"])
@pytest.mark.parametrize("cache", [False, {"F": 0.25, "nu": 0.01, "size": 50}])
def test_steps_equal_the_transcription(step, sampling, cache):
    compared = hits = 0
    for seed in (0, 2, 3, 4):  # with 1 the oracle's best labelings tie early, and rounding decides
        if compared >= 200:
            break
        tp, problem, wanted, solver = both(seed, sampling, step, cache)
        last = steps_without_ties(wanted.blocks, step)
        tie = steps_before_a_tie(tp, wanted.run.last.w, wanted.blocks[:, None])  # from there on rounding may part the two
        for k in range(1, last + 1):
            solver.advance(Budget(BIG, k))
            assert solver.step == k
            w = to_public(problem, solver.point("last").w)
            if k > tie and not np.allclose(w, wanted.run.last.w[k], rtol=1e-9, atol=1e-10):
                last = k - 1
                break
            np.testing.assert_allclose(w, wanted.run.last.w[k], rtol=1e-9, atol=1e-10)
            assert solver.state.iterate.ell[0] == pytest.approx(wanted.run.last.ell[k], abs=1e-10)
        else:
            assert solver.cache_hits == wanted.hits[:last].sum()
            # A refresh that is due after the last step has not happened here.
            assert solver.oracle_calls == wanted.calls[last - 1] - (tp.n if last % (3 * tp.n) == 0 else 0)
        compared, hits = compared + last, hits + solver.cache_hits
    assert compared >= (100 if step in ("fw", "away") or sampling == "order" else 4 * 6)
    if not cache:
        assert hits == 0
    elif compared >= 100:  # long enough for the cache to be asked
        assert hits > 0


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("step", ["fw", "corrective"])
def test_acceleration_equals_the_transcription(step, first):
    tp, problem = tiny(seed=2)
    steps, period = 18 * tp.n, 2
    order = order_without_repeats(tp.n, steps, 5)
    wanted = ref.block_fw(tp, LAM, steps, sampling="order", draws=order, step=step, accelerate=(3.0, period, first))
    solver = start(problem, order=order, step=step, accelerate={"kap": 3.0, "period": period, "start": first})
    for k in range(1, steps + 1):
        solver.advance(Budget(BIG, k))
        point = solver.point("last")
        # The transcription shifts w at the end of a period, the solver before the next step.
        if k <= first * tp.n or (k - first * tp.n) % (period * tp.n):
            np.testing.assert_allclose(to_public(problem, point.w), wanted.run.last.w[k], rtol=1e-9, atol=1e-10)
        image = wanted.point[k]
        assert point.dual == pytest.approx(wanted.run.last.ell[k] - 0.5 * LAM * (image @ image), abs=1e-10)
        assert solver.exact_dual() == pytest.approx(point.dual, abs=1e-10)


@pytest.mark.parametrize("cache", [False, {"F": 0.25, "nu": 0.01, "size": 50}])
@pytest.mark.parametrize(
    ("step", "sampling"), [("fw", "order"), ("fw", "gap"), ("fw", "max_gap"), ("away", "order"), ("away", "gap")]
)
def test_a_series_of_steps_ends_as_soon_as_the_known_gaps_are_small(step, sampling, cache):
    early, late, tol = 0, 0, 0.2
    for seed in (0, 2, 3):
        tp, problem, wanted, solver = both(seed, sampling, step, cache, tol=tol)
        for k in range(1, 20 * tp.n + 1):
            while solver.step < k:  # It stops where all gaps show that the gap is reached.
                solver.advance(Budget(BIG, k, gap_tol=tol))
            np.testing.assert_allclose(to_public(problem, solver.point("last").w), wanted.run.last.w[k], rtol=1e-9, atol=1e-10)
            pending = tp.n if solver.state.next_refresh <= k else 0
            assert solver.oracle_calls == wanted.calls[k - 1] - pending
            early += pending > 0 and k - max(solver.state.refreshed, 0) < 3 * tp.n
            late += pending > 0 and k - max(solver.state.refreshed, 0) == 3 * tp.n
    assert min(early, late) > 0


def test_a_run_ends_where_all_gaps_show_that_the_gap_is_reached():
    """Without a point of the schedule there; and all gaps are not computed again and again if they show no more."""
    _, problem = tiny(seed=2)
    settings = {"lam": 1.0, "gap_tol": 0.05, "max_passes": 500, "schedule": (400.0,), "sampling": "gap"}
    result = fwexp.solve(problem, "bcfw", iterates=["last"], **settings)
    end = result.trace.iloc[-1]
    assert result.status == "converged"
    assert end["passes"] < 100
    assert end["gap"] == pytest.approx(end["gap_estimate"], abs=1e-14)  # They were computed here.
    solver = start(problem, lam=1.0, sampling="gap")
    while solver.state.exact_gap > 0.05:
        solver.advance(Budget(BIG, BIG, gap_tol=0.05))
    calls, step = solver.oracle_calls, solver.step
    solver.advance(Budget(BIG, step + 9 * problem.n, gap_tol=0.05))
    assert solver.oracle_calls == calls + 9 * problem.n


def permutations(n, seed):
    rng = np.random.default_rng(seed)
    while True:
        yield rng.permutation(n)


@pytest.mark.parametrize("step", ["fw", "corrective"])
@pytest.mark.parametrize(
    ("lam", "accelerated", "spent"),
    [
        *((lam, True, spent) for lam in (0.02, 0.2, 20.0) for spent in (orders.RESTART_BELOW, 0.3)),  # strengths of 10, 4 and 1
        (0.2, False, 0.3),
    ],
)
def test_what_auto_does_equals_the_transcription(step, lam, accelerated, spent, monkeypatch):
    monkeypatch.setattr(orders, "RESTART_BELOW", spent)
    compared, enough, strengths = 0, 500 if step == "fw" else 60, set()
    for seed in (0, 2, 3, 4, 5, 6, 7, 8):
        if compared >= enough:
            break
        tp, problem = tiny(seed=seed)
        steps = 20 * tp.n
        wanted = ref.block_fw(
            tp,
            lam,
            steps,
            sampling="gap",
            draws=np.random.default_rng(seed).random(steps),
            step=step,
            cache=(0.4, 0.01),
            size=8,
            refresh=5,
            accelerate=("observed", None, 2) if accelerated else None,
            passes=permutations(tp.n, seed),
            spent=spent,
        )
        accelerate = accelerated and {"kap": "observed", "period": None, "start": 2, "refresh": False}
        cache = {"F": 0.4, "nu": 0.01, "size": 8}
        solver = start(problem, seed=seed, lam=lam, sampling="gap_perm", step=step, cache=cache, refresh=5, accelerate=accelerate)
        last = steps_without_ties(wanted.blocks, step)
        tie = steps_before_a_tie(tp, wanted.run.last.w, wanted.blocks[:, None])
        for k in range(1, last + 1):
            if wanted.estimates[k - 1].sum() < 1e-13:  # the cache answers by rounding errors
                break
            solver.advance(Budget(BIG, k))
            ell, image = wanted.run.last.ell[k], wanted.point[k]
            known, wanted_now = (solver.state.iterate.ell[0], solver.exact_dual()), (ell, ell - 0.5 * lam * (image @ image))
            if k > tie and known != pytest.approx(wanted_now, abs=1e-9):
                break
            assert known == pytest.approx(wanted_now, abs=1e-9)
            # A refresh that is due after this step has not happened here.
            assert solver.oracle_calls == wanted.calls[k - 1] - (tp.n if solver.state.next_refresh <= k else 0)
            compared += 1
        if solver.state.centre is not None:
            strengths.add(round(solver.state.centre.kap, 3))
    assert compared >= enough
    if accelerated:
        least, most = min(strengths), max(strengths)
        assert {0.02: least == 10.0, 0.2: 1.0 < least <= most < 10.0, 20.0: most == 1.0}[lam]


@pytest.mark.parametrize(("refresh", "anew"), [(0, False), (None, True)])
def test_examples_are_not_all_visited_anew_where_that_is_refused(refresh, anew):
    _, problem = tiny(seed=2)
    solver = start(problem, lam=20.0, sampling="gap_perm", step="corrective", refresh=refresh)
    solver.advance(Budget(BIG, 9 * problem.n))  # less than the 10 passes after which all gaps are computed in any case
    assert solver.state.refreshed == -1
    assert (solver.state.order.ordered_since > 0) == anew


def test_strength_is_observed_of_labelings_that_are_stored():
    _, problem = tiny(seed=2)
    bare = start(problem, lam=1e-3, accelerate={"kap": "observed", "start": 1})
    bare.advance(Budget(BIG, 2 * problem.n))
    assert bare.state.centre.kap == 1.0  # none are stored: nothing is known
    sets = start(problem, lam=1e-3, accelerate={"kap": "observed", "start": 1}, step="pairwise")
    sets.advance(Budget(BIG, 2 * problem.n))
    assert sets.state.centre.kap == 10.0


def contrary(n, shared):
    """Return classes whose labels are noise; all examples have the same feature (``shared``), or each has its own."""
    X = np.ones((n, 1)) if shared else np.eye(n)
    return fwexp.multiclass_problem(X, np.random.default_rng(1).integers(2, size=n), 2)


EARLY = {"kap": "observed", "period": None, "start": 1, "early": 0.25}


def test_acceleration_begins_early_if_few_blocks_determine_the_weights():
    problem, lam = contrary(80, shared=True), 1e-3
    solver = start(problem, lam=lam, sampling="perm", step="corrective", accelerate=EARLY)
    solver.advance(Budget(BIG, 20))
    assert (solver.state.centre, solver.state.next_look) == (None, 20)
    w, dual = solver.state.iterate.w.copy(), solver.point("last").dual
    solver.events[0].apply(solver)
    centre = solver.state.centre
    assert centre.kap == 10.0  # at most
    assert centre.times[0] == 2 * problem.n
    assert not centre.z.any()
    np.testing.assert_allclose(solver.state.iterate.w, w / 11.0)
    assert solver.point("last").dual == pytest.approx(dual, abs=1e-12)
    assert np.isinf(solver.state.next_look)
    known = solver.exact_gap()
    value = Evaluator(problem)(solver.point("last").w, error=False)
    assert known == pytest.approx(0.5 * lam * value.norm_sq + value.hinge - dual, abs=1e-10)


@pytest.mark.parametrize(("shared", "early", "begins"), [(True, 0.25, 20), (False, 0.25, 80), (True, 0.0, 80)])
def test_when_acceleration_begins(shared, early, begins):
    solver = start(contrary(80, shared), lam=1e-3, sampling="perm", step="corrective", accelerate=EARLY | {"early": early})
    solver.advance(Budget(BIG, begins))
    assert solver.state.centre is None
    solver.advance(Budget(BIG, begins + 1))
    assert solver.state.centre is not None


def test_passes_may_be_more_than_anyone_takes():
    _, problem = tiny(seed=2)
    solver = start(problem, sampling="gap", refresh=1e308, accelerate={"kap": 1.0, "period": 1e308})
    late = start(problem, accelerate={"kap": 1.0, "start": 1e308})
    assert solver.state.next_refresh == solver.state.centre.next_step == late.state.first_centre == 2**52


def test_where_it_seems_not_to_pay_acceleration_begins_late():
    tp, problem = tiny(seed=2)
    lam, best = 5.0, ref.qp_optimum(tp, 5.0)
    order = order_without_repeats(tp.n, 400 * tp.n, 5)
    plain, solver = (start(problem, lam=lam, order=order, step="corrective", accelerate=on) for on in (False, True))
    for one in (plain, solver):
        one.advance(Budget(BIG, LATE_PASSES * tp.n))
    np.testing.assert_array_equal(solver.point("last").w, plain.point("last").w)
    assert solver.state.centre is None
    solver.advance(Budget(BIG, LATE_PASSES * tp.n + 1))
    assert solver.state.centre.kap == LATE_STRENGTH
    assert solver.state.centre.next_step == (LATE_PASSES + 3) * tp.n
    for k in range(LATE_PASSES * tp.n + 1, 60 * tp.n):
        solver.advance(Budget(BIG, k))
        point = solver.point("last")
        assert point.dual <= best.dual + 1e-12
        assert point.dual == pytest.approx(solver.exact_dual(), abs=1e-12)
        assert ref.primal(tp, to_public(problem, point.w), lam) >= best.primal - 1e-12
    solver.advance(Budget(BIG, 400 * tp.n))
    assert solver.exact_gap() == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("constrained", [False, True])
def test_a_centre_moves_as_the_formula_says_where_w_is_taken_in_pieces(constrained):
    rng, kap = np.random.default_rng(5), 3.0
    v = rng.standard_normal(2 * PIECE + 5)
    w = np.maximum(v, 0.0) if constrained else v  # without constraints they are one array
    z, w_old, centre = v.copy(), w.copy(), new_centre(kap, 0.1, 7, 0, v, w)
    share, beta = kap / (1.0 + kap), (1.0 - np.sqrt(1.0 / (1.0 + kap))) / (1.0 + np.sqrt(1.0 / (1.0 + kap)))
    for move in range(1, 4):
        v += rng.standard_normal(len(v))  # steps
        if constrained:
            w[:] = np.maximum(v, 0.0)
        z_new = w + beta * (w - w_old)
        w_old, v_new = w.copy(), v + share * (z_new - z)
        z = z_new
        centre.move(w, v, lambda: 1.0)
        np.testing.assert_allclose(centre.z, z, rtol=1e-14)
        np.testing.assert_array_equal(centre.w_old, w_old)
        np.testing.assert_allclose(v, v_new, rtol=1e-13, atol=1e-13)
        assert centre.next_step == 7 * (move + 1)


def test_lam_may_change_at_the_very_step_at_which_acceleration_begins():
    tp, problem = tiny(seed=2)
    solver = start(problem, lam=5.0, step="corrective", accelerate=True)
    solver.advance(Budget(BIG, LATE_PASSES * tp.n))
    solver.change_lam(4.5)
    assert solver.state.centre.kap == LATE_STRENGTH
    solver.advance(Budget(BIG, 60 * tp.n))
    assert solver.point("last").dual <= ref.qp_optimum(tp, 4.5).dual + 1e-12


STEPS = "fw", "pairwise", "away", "corrective"
SAMPLINGS = "uniform", "perm", "cyclic", "gap", "gap_perm", "max_gap", "max_gain", "lipschitz"
CACHED = (False, False), (True, True), (True, {"kap": "observed", "period": None, "refresh": False}), (True, False), (False, True)
# Every step goes with every order and every cache, and every order with four of the five.
COMBINATIONS = [
    (step, sampling, *CACHED[(j + k) % len(CACHED)]) for j, step in enumerate(STEPS) for k, sampling in enumerate(SAMPLINGS)
]


@pytest.mark.parametrize(("step", "sampling", "cache", "accelerate"), COMBINATIONS)
def test_every_combination_reaches_the_optimum(step, sampling, cache, accelerate):
    tp, problem = tiny(seed=2)
    lam, gap_tol = (1.0, 1e-2) if step == "fw" else (0.3, 1e-4)
    best = ref.qp_optimum(tp, lam)
    rows = []
    result = fwexp.solve(
        problem,
        "bcfw",
        lam=lam,
        sampling=sampling,
        step=step,
        cache=cache,
        accelerate=accelerate,
        max_passes=8000,
        gap_tol=gap_tol,
        schedule=25,
        iterates=["last"],  # averages are for tests/solvers/test_steps.py
        callback=rows.append,
    )
    assert result.status == "converged"
    assert result.primal == pytest.approx(best.primal, abs=1.01 * gap_tol)
    duals = np.array([row["dual"] for row in rows])
    primals = np.array([row["primal"] for row in rows])
    assert duals.max() <= best.dual + 1e-10
    assert primals.min() >= best.primal - 1e-10
    if not accelerate:
        assert np.diff(duals).min(initial=0.0) >= -1e-12


def test_scores_are_compared_on_the_scale_of_all_losses_that_are_stored():
    """Of two scores that differ by rounding of a large loss, the first is the best."""
    _, problem = tiny(seed=2)
    sets, work = active_set.new_active_sets(problem, np.full(problem.n, 4)), workspace(problem)
    active_set.score_all(problem, 0, work.theta, sets)
    assert active_set.store(problem, 0, np.full_like(work.y, 1), 1e8, work.theta, 4, sets, work) == 1
    sets.score[:2] = 0.0, 1e-9
    assert weight_steps.best_and_worst(0, sets)[0] == 0


@pytest.mark.parametrize("steps", [2000, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.compiled])])
@pytest.mark.parametrize("step", ["pairwise", "away", "corrective"])
def test_active_sets_stay_consistent_over_many_steps(step, steps):
    _, problem = tiny(seed=4, n=5, K=3, lengths=(2, 3))
    solver = start(problem, step=step, sampling="uniform", cache={"F": 0.25, "nu": 0.01, "size": 4}, lam=0.05)
    solver.advance(Budget(BIG, steps))
    sets = solver.sets
    w, losses = active_set.from_scratch(problem, sets, 1.0 / (0.05 * problem.n))
    scale = np.abs(w).max()
    np.testing.assert_allclose(solver.state.iterate.w, w, atol=1e-10 * scale)
    np.testing.assert_allclose(solver.state.iterate.losses, losses, atol=1e-10)
    assert sets.weight.min() >= 0.0
    totals = [sets.weight[a : a + count].sum() for a, count in zip(sets.first, sets.count)]
    np.testing.assert_allclose(totals, 1.0, atol=1e-10)


def test_active_sets_are_bounded_by_the_setting_except_for_weight():
    _, problem = tiny(seed=5, n=6, K=4, lengths=(3, 4))
    solver = start(problem, step="corrective", cache={"F": 0.25, "nu": 0.01, "size": 5}, lam=0.01)
    most_active = np.zeros(problem.n)
    for steps in range(1, 60 * problem.n):
        solver.advance(Budget(BIG, steps))
        sets = solver.sets
        for i in range(problem.n):
            active = np.count_nonzero(sets.weight[sets.first[i] : sets.first[i] + sets.count[i]])
            most_active[i] = max(most_active[i], active)
            assert sets.count[i] <= max(5, most_active[i] + 1)
    assert sets.count.max() >= 5  # the bound was reached


def test_more_room_goes_to_full_sets_and_past_the_size_to_those_that_weights_fill():
    _, problem = tiny(seed=2)
    sets = active_set.new_active_sets(problem, np.full(problem.n, 8))
    sets.count[:] = 8, 6, *[5] * (problem.n - 2)
    assert active_set.more_room(sets, 12).tolist() == [12, 12, *[8] * (problem.n - 2)]
    for i, first in enumerate(sets.first[:-1]):
        sets.weight[first : first + 8 - i] = 1.0
    sets.weight[sets.first[1]] = 0.0  # The true labeling stays, all the same.
    assert active_set.more_room(sets, 8).tolist() == [12, 12, 12, *[8] * (problem.n - 3)]


def gram_of(sets):
    """Return the inner products of the labelings of each example."""
    pairs = [[(a, b) for a in range(count) for b in range(count)] for count in sets.count]
    return [
        np.array([active_set.gram_entry(i, a, b, sets) for a, b in of_one]).reshape(-1, sets.count[i])
        for i, of_one in enumerate(pairs)
    ]


def test_labelings_take_half_of_a_matrix_and_growing_frees_the_former_ones(monkeypatch):
    _, problem = tiny(seed=6)
    solver, former, grown = start(problem, step="corrective", lam=0.01), [], []
    with_places, with_room = active_set.with_places, active_set.with_room

    def places(problem, sets, room):
        former.append(weakref.ref(sets.storage))
        return with_places(problem, sets, room)

    def room(sets, room):
        grown.append(former[-1]() is None)
        return with_room(sets, room)

    monkeypatch.setattr(active_set, "with_places", places)
    monkeypatch.setattr(active_set, "with_room", room)
    solver.advance(Budget(100, BIG))
    assert grown
    assert all(grown)
    room = np.diff(solver.sets.first)
    assert solver.sets.gram.nbytes == 4 * (room * (room + 1)).sum()


@pytest.mark.parametrize("keep", [True, False])
def test_sets_with_more_room_hold_the_same(keep, monkeypatch):
    monkeypatch.setattr(active_set, "AT_ONCE", 2)
    monkeypatch.setattr(active_set, "PLACES", 3)
    monkeypatch.setattr(active_set, "release", lambda array, start, end: array[start:end].fill(-1))
    _, problem = tiny(seed=6)
    solver = start(problem, step="corrective", lam=0.01)
    solver.advance(Budget(100, BIG))
    sets = active_set.copied(problem, solver.sets)
    w, losses = active_set.from_scratch(problem, sets, 1.0)
    first, gram, former = sets.first.copy(), sets.gram.copy(), gram_of(sets)
    room = np.diff(first) + np.arange(problem.n) % 3
    more = active_set.with_room(active_set.with_places(problem, sets, room, keep=keep), room, keep=keep)
    found = active_set.from_scratch(problem, more, 1.0)
    assert np.diff(more.first).tolist() == room.tolist()
    np.testing.assert_array_equal(found[0], w)
    np.testing.assert_array_equal(found[1], losses)
    for old, new in zip(former, gram_of(more), strict=True):
        np.testing.assert_array_equal(old, new)
    if keep:
        np.testing.assert_array_equal(sets.gram, gram)
    else:
        for array in (sets.gram, sets.weight, sets.loss, sets.place, sets.storage[: sets.taken[0]]):
            assert (array == -1).all()


@pytest.mark.parametrize("size", [1 << 50, 1 << 62])
def test_arrays_without_room_raise_a_memory_error(size):
    with pytest.raises(MemoryError, match=f"no room for an array of {8 * size} bytes"):
        releasable_zeros(size)


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_arrays_give_up_whole_pages_within_what_is_released(dtype):
    size = mmap.PAGESIZE // np.dtype(dtype).itemsize
    numbers = releasable_zeros(3 * size, dtype)
    assert numbers.dtype == releasable_zeros(0, dtype).dtype == dtype
    assert releasable_zeros(0).tolist() == []
    numbers[:] = 1.0
    release(numbers, 1, 2 * size + 1)
    assert (numbers[:size] == 1.0).all()
    assert (numbers[2 * size :] == 1.0).all()
    assert (numbers[size : 2 * size] == (0.0 if sys.platform == "linux" else numbers[size])).all()
    release(np.ones(3 * size), 0, 3 * size)  # Arrays that others made stay as they are.


def test_stored_inner_products_are_those_of_the_features():
    tp, problem = tiny(seed=6)
    solver = start(problem, step="corrective")
    solver.advance(Budget(200, BIG))
    sets = solver.sets
    for i, gram in enumerate(gram_of(sets)):
        count = sets.count[i]
        labels = [tuple(active_set.labeling_at(sets, i, a)) for a in range(count)]
        assert len(set(labels)) == count
        rows = np.array([tp.psi[i][[tuple(y) for y in tp.labelings[i]].index(y)] for y in labels])
        np.testing.assert_allclose(gram, rows @ rows.T, atol=1e-12)


def test_tree_draws_like_the_cumulative_sum_and_finds_the_largest():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 7, 64, 100):
        values = rng.random(n) * (rng.random(n) < 0.6)
        values[rng.integers(n)] = 0.5
        tree = gap_tree.new_tree(values)
        for i in rng.integers(n, size=20):
            values[i] = rng.random() * (rng.random() < 0.5)
            gap_tree.update(tree, i, values[i])
        if values.sum() > 0:
            for uniform in rng.random(200):
                drawn = gap_tree.draw(tree, uniform)
                assert values[drawn] > 0
                assert drawn == np.searchsorted(np.cumsum(values), uniform * values.sum(), side="right")
        assert values[gap_tree.argmax(tree)] == values.max()


@pytest.mark.slow
@pytest.mark.compiled
def test_auto_evaluates_rarely_unless_other_sets_or_a_schedule_are_given():
    problem = chain("dense", 0, n=120)[1]
    rare, often = fwexp.solve(problem, lam=1e-3, gap_tol=1e-4), fwexp.solve(problem, lam=1e-3, gap_tol=1e-4, test=problem)
    assert rare.status == often.status == "converged"
    assert rare.gap <= 1e-4
    calls = rare.trace.evaluation_calls.iloc[-1] - problem.n
    assert calls <= 0.1 * rare.trace.oracle_calls.iloc[-1] + 3 * problem.n
    assert len(often.trace) > 2 * len(rare.trace)
    again = fwexp.solve(problem, lam=1e-3, gap_tol=1e-4)
    assert again.trace.drop(columns="time").equals(rare.trace.drop(columns="time"))
