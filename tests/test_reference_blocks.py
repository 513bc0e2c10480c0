"""The reference of the block solver: orders, away steps and the cache by their definitions."""

import numpy as np
import pytest

from tests import reference as ref
from tests.reference.examples import chain, draws_of, order_of

STEPS = ("fw", "pairwise", "away", "corrective")


# Block solver: orders, steps, cache, refresh -----------------------------------------------------------------------


def test_the_block_solver_in_its_plain_setting_is_bcfw():
    tp, lam = chain(0), 0.1
    order = order_of(tp, 8)
    plain = ref.bcfw(tp, lam, order)
    ours = ref.block_fw(tp, lam, len(order), "order", order, refresh=3)
    np.testing.assert_allclose(ours.run.last.w, plain.last.w, atol=1e-12)
    np.testing.assert_allclose(ours.run.gaps, plain.gaps, atol=1e-12)
    np.testing.assert_array_equal(ours.calls[::15], [1, 16 + tp.n, 31 + 2 * tp.n])


def test_an_away_step_takes_the_larger_gap_and_stays_feasible():
    tp, lam, kinds = chain(3), 1.0, []
    state = ref.State(tp, lam)
    for i in order_of(tp, 20):
        j = tp.argmax(i, state.w)
        state.store(i, j)
        before, gap, active = state.alpha()[i], state.corner_gap(i, j), state.active(i)
        gap_away = -min(tp.scores(i, state.w)[active]) / tp.n + before @ tp.scores(i, state.w) / tp.n
        ref.STEP_FUNCTIONS["away"](state, i, j)
        after = state.alpha()[i]
        assert after.min() >= 0
        assert after.sum() == pytest.approx(1, abs=1e-13)
        worst = active[int(np.argmin(tp.scores(i, state.w)[active]))]
        if len(active) > 1 and gap_away > gap + 1e-9:
            kinds.append("away")
            others = np.delete(np.arange(len(after)), active)
            assert not after[others].any()  # no new labeling
        elif gap > gap_away + 1e-9:
            kinds.append("fw")
            assert after[j] >= before[j]
        assert worst in active
    assert set(kinds) == {"away", "fw"}


def test_gap_sampling_visits_all_first_and_then_follows_the_estimates():
    tp, lam = chain(0), 0.1
    u = draws_of(tp, 12)
    result = ref.block_fw(tp, lam, len(u), "gap", u, refresh=4)
    np.testing.assert_array_equal(result.blocks[: tp.n], np.arange(tp.n))
    w, ell, n = result.run.last.w, result.run.last.ell, tp.n
    for k in range(n, len(u)):
        share = np.cumsum(result.estimates[k]) / result.estimates[k].sum()
        i = result.blocks[k]
        assert (share[i - 1] if i else 0) <= u[k] < share[i] + 1e-15
        after = result.estimates[k + 1] if k + 1 < len(u) else result.estimates[k]
        if k + 1 < len(u) and (k + 1) % (4 * n):
            expected = result.estimates[k].copy()
            expected[i] = result.run.gaps[k]  # the gap before the step
            np.testing.assert_allclose(after, expected, atol=1e-15)
        elif k + 1 < len(u):  # exact gaps sum to the duality gap
            exact = ref.primal(tp, w[k + 1], lam) - ref.dual_value(w[k + 1], ell[k + 1], lam)
            assert after.sum() == pytest.approx(exact, abs=1e-12)
    assert result.calls[-1] == 12 * n + 3 * n


@pytest.mark.parametrize("step", STEPS)
def test_cache_hits_are_free_and_leave_the_estimates_alone(step):
    tp, lam, F, nu = chain(0), 0.1, 0.25, 0.01
    order, size = order_of(tp, 60), 6
    result = ref.block_fw(tp, lam, len(order), "order", order, step, (F, nu), size, refresh=5)
    assert 0 < result.hits.sum() < len(order)
    total, refreshes = 1.0, 0
    for k in range(len(order) - 1):
        gap, threshold = result.run.gaps[k], max(F * result.estimates[k][order[k]], nu / tp.n * total)
        refreshed = (k + 1) % (5 * tp.n) == 0
        refreshes += refreshed
        if result.hits[k]:
            assert gap >= threshold
            assert refreshed or np.array_equal(result.estimates[k + 1], result.estimates[k])
        elif not refreshed:
            assert result.estimates[k + 1][order[k]] == max(gap, 0)
        total = result.estimates[k + 1].sum() if refreshed else total
        assert result.calls[k] == np.count_nonzero(~result.hits[: k + 1]) + refreshes * tp.n
    assert max(len(stored) for stored in result.stored) <= size


def test_a_cache_hit_needs_the_local_and_the_global_threshold():
    tp, lam = chain(0), 0.1
    state = ref.State(tp, lam)
    for i in order_of(tp, 10):
        j = tp.argmax(i, state.w)
        state.store(i, j)
        ref.STEP_FUNCTIONS["pairwise"](state, i, j)
    i = max(range(tp.n), key=lambda i: state.corner_gap(i, state.best(i, list(state.stored[i]))))
    gap = state.corner_gap(i, state.best(i, list(state.stored[i])))
    assert gap > 1e-6
    for margin, hit in ((1 - 1e-9, True), (1 + 1e-9, False)):
        local = ref.cached_corner(state, i, (0.25, 0.01), margin * gap / 0.25, 0.0)
        shared = ref.cached_corner(state, i, (0.25, 0.01), 0.0, margin * gap * tp.n / 0.01)
        assert (local is not None, shared is not None) == (hit, hit)
        if hit:
            assert local == shared == max(state.stored[i], key=lambda j: tp.scores(i, state.w)[j])


def test_a_full_store_drops_the_worst_inactive_labeling_first():
    tp = chain(0, n=1, lengths=(2,))
    state = ref.State(tp, 1.0, size=3)
    others = [j for j in range(9) if j != tp.truth[0]]
    state.store(0, others[0]), state.store(0, others[1])
    state.w = np.random.default_rng(0).normal(size=tp.d)
    scores = tp.scores(0, state.w)
    worst, better = sorted(others[:2], key=lambda j: scores[j])
    state.store(0, others[2])
    assert set(state.stored[0]) == {tp.truth[0], better, others[2]}
    state.stored[0] = dict.fromkeys([tp.truth[0], better, others[2]], 1 / 3)
    state.store(0, worst)  # all active: the limit gives way ...
    assert len(state.stored[0]) == 4
    free = ref.State(tp, 1.0, size=3, drop_active=True)
    free.stored[0] = dict.fromkeys([tp.truth[0], better, others[2]], 1 / 3)
    free.store(0, worst)  # ... except for Frank-Wolfe steps
    assert len(free.stored[0]) == 3
