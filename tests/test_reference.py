"""The references are checked against definitions, certificates and each other; the package itself is not involved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from tests import reference as ref
from tests.reference.examples import chain, multiclass, order_of

SEEDS = range(3)
LAMS = (1.0, 0.1, 0.01)


def random_dual(tp, rng):
    return [rng.dirichlet(np.full(len(L), 0.3)) for L in tp.loss]


def dual_path(run, lam):
    return np.array([ref.dual_value(w, ell, lam) for w, ell in zip(run.last.w, run.last.ell, strict=True)])


# Decoding and problems ---------------------------------------------------------------------------------------------

shapes = st.tuples(st.integers(1, 5), st.integers(1, 4))


@given(
    shapes.flatmap(
        lambda s: st.tuples(arrays(int, s, elements=st.integers(-1, 1)), arrays(int, (s[1], s[1]), elements=st.integers(-1, 1)))
    )
)
def test_viterbi_breaks_ties_like_brute_force(potentials):
    unary, transitions = (p.astype(float) for p in potentials)
    assert ref.viterbi(unary, transitions) == ref.brute_force(unary, transitions)


@given(shapes, st.integers(0, 2**32 - 1))
def test_viterbi_value_is_the_maximum(shape, seed):
    rng = np.random.default_rng(seed)
    unary, transitions = rng.normal(size=shape), rng.normal(size=(shape[1], shape[1]))
    assert ref.viterbi(unary, transitions) == ref.brute_force(unary, transitions)


@given(st.sampled_from([1, 2, 4]), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_enumerated_argmax_is_loss_augmented_viterbi(T, K, seed):
    rng = np.random.default_rng(seed)  # small integers and 1/T a power of two: all sums exact, many ties
    x, y, w = rng.integers(-1, 2, size=(T, 2)), rng.integers(K, size=T), rng.integers(-1, 2, size=4 * K + K * K)
    tp = ref.tiny_chain([x], [y], K)
    labels, value = ref.viterbi(*ref.chain_potentials(x, w.astype(float), K, y))
    assert tp.labelings[0][tp.argmax(0, w)] == labels
    assert value - w @ ref.chain_feature(x, y, K) == tp.scores(0, w).max()
    plain = ref.viterbi(*ref.chain_potentials(x, w.astype(float), K))[0]
    assert tp.labelings[0][tp.decode(0, w)] == plain


def test_chain_features_in_the_order_of_the_project():
    phi = ref.chain_feature([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]], [1, 0, 1], K=2)
    np.testing.assert_array_equal(phi, [10, 101, 20, 202, 0, 1, 0, 1, 0, 1, 1, 0])
    tp = ref.tiny_chain([np.ones((3, 2))], [[1, 0, 1]], 2)
    assert (tp.n, tp.d, len(tp.labelings[0])) == (1, 12, 8)
    assert tp.loss[0][tp.labelings[0].index((1, 1, 0))] == pytest.approx(2 / 3)
    assert tp.loss[0][tp.truth[0]] == 0
    assert not tp.psi[0][tp.truth[0]].any()


def test_multiclass_and_binary_scores():
    tp = ref.tiny_multiclass([[1.0, 2.0]], [1], 3)
    w = np.arange(6.0)  # w[f*K + k]
    np.testing.assert_allclose(tp.scores(0, w), [1 - 9 + 6, 0, 1 - 9 + 12])
    X, y = np.array([[1.0, -1.0], [2.0, 0.5]]), [1, -1]
    tp, w = ref.tiny_binary(X, y), np.array([0.3, 0.2])
    hinge = np.maximum(0, 1 - np.array(y) * (X @ w))
    np.testing.assert_allclose([tp.scores(i, w).max() for i in range(2)], hinge)


def test_slack_rescaling_multiplies_psi_by_the_loss():
    tp = chain(0)
    scaled, w = ref.slack_rescaled(tp), np.random.default_rng(0).normal(size=tp.d)
    for i in range(tp.n):
        np.testing.assert_allclose(scaled.scores(i, w), tp.loss[i] * (1 - tp.psi[i] @ w))


# Objectives and the optimum ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_linearisation_gap_is_the_lagrangian_gap(seed):
    tp, rng = chain(seed), np.random.default_rng(seed)
    A, b, _ = ref.dual_matrices(tp, 0.1)
    for _ in range(5):
        alpha = random_dual(tp, rng)
        w, a = ref.weights(tp, alpha, 0.1), np.concatenate(alpha)
        gaps = ref.block_gaps(tp, alpha, 0.1)
        np.testing.assert_allclose(gaps.sum(), ref.primal(tp, w, 0.1) - ref.dual(tp, alpha, 0.1), rtol=1e-12)
        assert gaps.min() >= 0
        np.testing.assert_allclose(w, A @ a, atol=1e-12)
        np.testing.assert_allclose(ref.dual(tp, alpha, 0.1), b @ a - 0.05 * (A @ a) @ (A @ a), rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lam", [*LAMS, 1e-4])
def test_qp_optimum_is_certified(seed, lam):
    for tp in (chain(seed), ref.tiny_multiclass(*multiclass(seed), 3)):
        best = ref.qp_optimum(tp, lam)
        assert abs(best.gap) <= 1e-10
        assert best.gap == pytest.approx(ref.block_gaps(tp, best.alpha, lam).sum(), abs=1e-12)
        assert all(a.min() >= 0 and a.sum() == pytest.approx(1, abs=1e-14) for a in best.alpha)
        np.testing.assert_allclose(best.w, ref.weights(tp, best.alpha, lam))


def test_qp_optimum_agrees_with_a_general_solver():
    tp, lam = ref.tiny_multiclass(*multiclass(0, n=3), 3), 0.2
    A, b, blocks = ref.dual_matrices(tp, lam)
    sums = [{"type": "eq", "fun": lambda a, block=block: a[block].sum() - 1} for block in blocks]
    objective = lambda a: lam / 2 * (A @ a) @ (A @ a) - b @ a  # noqa: E731
    found = minimize(objective, np.full(9, 1 / 3), bounds=[(0, 1)] * 9, constraints=sums, tol=1e-12)
    assert found.success
    assert -found.fun == pytest.approx(ref.qp_optimum(tp, lam).dual, abs=1e-8)


def test_a_wrong_point_does_not_pass_as_optimum():
    tp = chain(0)
    with pytest.raises(AssertionError, match="not solved"):
        ref.simplex_qp(*ref.dual_matrices(tp, 0.1), 0.1, max_steps=1)


def test_curvature_is_the_largest_deviation_from_the_linearisation():
    tp, lam, rng = chain(1), 0.1, np.random.default_rng(0)
    A, _, blocks = ref.dual_matrices(tp, lam)
    curvature = ref.block_curvature(tp, lam)
    assert np.all(curvature <= ref.curvature_bound(tp, lam) + 1e-12)
    for i, block in enumerate(blocks):  # f is quadratic: 2/gamma^2 (deviation) = lam ||A (s - x)||^2
        corners = [lam * np.sum((A[:, j] - A[:, k]) ** 2) for j in block for k in block]
        assert max(corners) == pytest.approx(curvature[i])
        inside = A[:, block] @ (rng.dirichlet(np.ones(len(block))) - rng.dirichlet(np.ones(len(block))))
        assert lam * inside @ inside <= curvature[i]


# Averages ----------------------------------------------------------------------------------------------------------


def test_averages_equal_their_other_forms():
    x = np.random.default_rng(0).normal(size=(40, 3))
    np.testing.assert_allclose(ref.wavg(x), ref.wavg_explicit(x), atol=1e-13)
    delta = np.diff(x, axis=0, prepend=x[:1])  # x_k = x_0 + sum_{s <= k} delta_s
    for k in range(1, 40):
        s = np.arange(k + 1)
        lazy = x[k] - 2 / (k * (k + 1)) * ((s * (s - 1) / 2) @ delta[: k + 1])
        np.testing.assert_allclose(ref.wavg(x)[k], lazy, atol=1e-13)
        K0 = 2 ** int(np.log2(k))
        lazy = x[k] - sum((s - K0) * delta[s] for s in range(K0 + 1, k + 1)) / (k - K0 + 1)
        np.testing.assert_allclose(ref.tavg(x)[k], lazy, atol=1e-13)
        np.testing.assert_allclose(ref.avg(x)[k], sum(x[1 : k + 1]) / k, atol=1e-13)
    assert [ref.last_power_of_two(k) for k in (0, 1, 2, 3, 4, 7, 8, 9)] == [0, 1, 2, 2, 4, 4, 8, 8]
    for average in (ref.wavg, ref.tavg, ref.avg, ref.suffix):
        np.testing.assert_array_equal(average(x)[0], x[0])
    np.testing.assert_allclose(ref.suffix(x)[5], x[3:6].mean(axis=0))


def test_ssg_is_a_sum_of_subgradients_and_its_averages_follow():
    tp, lam = chain(0), 0.1
    order = order_of(tp, 6)
    run = ref.ssg(tp, lam, order)
    psi = np.array([tp.psi[i][tp.argmax(i, w)] for i, w in zip(order, run.last.w, strict=False)])
    S, U, K = np.zeros(tp.d), np.zeros(tp.d), len(order)
    H = np.concatenate([[0], np.cumsum(1 / np.arange(1, K + 1))])
    for k in range(1, K + 1):
        S, U = S + psi[k - 1], U + k * psi[k - 1]
        np.testing.assert_allclose(run.last.w[k], S / (lam * k), atol=1e-11)
        np.testing.assert_allclose(run.wavg.w[k], 2 * ((k + 1) * S - U) / (lam * k * (k + 1)), atol=1e-11)
        np.testing.assert_allclose(run.avg.w[k], (H[k] * S - H[:k] @ psi[:k]) / (lam * k), atol=1e-11)
        K0 = ref.last_power_of_two(k)
        tail = sum(((H[k] - H[s - 1]) * psi[s - 1] for s in range(K0 + 1, k + 1)), np.zeros(tp.d))
        tavg = ((H[k] - H[K0 - 1]) * psi[:K0].sum(axis=0) + tail) / (lam * (k - K0 + 1))
        np.testing.assert_allclose(run.tavg.w[k], tavg, atol=1e-11)


# Frank-Wolfe -------------------------------------------------------------------------------------------------------


def test_batch_frank_wolfe_is_the_subgradient_method():
    tp, lam = chain(0), 0.1
    run = ref.fw(tp, lam, 20, line_search=False)
    betas = [2 / (k + 2) / lam for k in range(20)]
    np.testing.assert_allclose(ref.subgradient(tp, lam, betas), run.last.w, atol=1e-12)


@pytest.mark.parametrize("line_search", [True, False])
@pytest.mark.parametrize("lam", LAMS)
def test_algorithm_4_is_algorithm_3(lam, line_search):
    tp = chain(2)
    order = order_of(tp, 6)
    run = ref.bcfw(tp, lam, order, line_search)
    for k, alpha in enumerate(ref.bcfw_dual(tp, lam, order, line_search)):
        np.testing.assert_allclose(run.last.w[k], ref.weights(tp, alpha, lam), atol=1e-11)
        assert run.last.ell[k] == pytest.approx(ref.loss_term(tp, alpha), abs=1e-12)
        if k < len(order):
            assert run.gaps[k] == pytest.approx(ref.block_gaps(tp, alpha, lam)[order[k]], abs=1e-11)


@pytest.mark.parametrize("lam", LAMS)
def test_line_search_never_decreases_the_dual_and_gaps_certify(lam):
    tp = chain(0)
    for run in (ref.fw(tp, lam, 40), ref.bcfw(tp, lam, order_of(tp, 10))):
        assert np.diff(dual_path(run, lam)).min() >= -1e-14
        best = ref.qp_optimum(tp, lam)
        for path in (run.last, run.wavg, run.tavg, run.avg):  # averages of dual points are dual points
            for w, ell in zip(path.w, path.ell, strict=True):
                assert ref.dual_value(w, ell, lam) <= best.dual + 1e-12 <= ref.primal(tp, w, lam) + 2e-12
    batch = ref.fw(tp, lam, 40)
    gaps = [ref.primal(tp, w, lam) - dual for w, dual in zip(batch.last.w, dual_path(batch, lam), strict=True)]
    np.testing.assert_allclose(batch.gaps, gaps[:-1], atol=1e-12)
    assert gaps[0] == pytest.approx(np.mean([L.max() for L in tp.loss]))  # P(0) - D(a_0), D(a_0) = 0


def test_one_example_makes_block_and_batch_the_same():
    tp = chain(0, n=1, lengths=(3,))
    for line_search in (True, False):
        block, batch = ref.bcfw(tp, 0.1, np.zeros(30, int), line_search), ref.fw(tp, 0.1, 30, line_search)
        np.testing.assert_allclose(block.last.w, batch.last.w, atol=1e-12)
        np.testing.assert_allclose(block.wavg.ell, batch.wavg.ell, atol=1e-12)


def test_the_degraded_oracle_is_exact_without_error():
    tp = chain(0)
    order = order_of(tp, 20)
    same = ref.bcfw(tp, 0.5, order, oracle=ref.degraded_oracle())
    np.testing.assert_allclose(same.last.w, ref.bcfw(tp, 0.5, order).last.w, atol=1e-12)


@pytest.mark.parametrize(("nu", "delta"), [(0.5, 0.0), (1.0, 2.0), (0.7, 1.0)])
def test_the_degraded_oracle_is_as_bad_as_allowed_and_still_converges(nu, delta):
    tp, lam, worse = chain(0), 0.5, []
    curvature, oracle = ref.block_curvature(tp, lam), ref.degraded_oracle(nu, delta, ref.block_curvature(tp, lam))

    def checked(tp, query):
        j, n = oracle(tp, query), tp.n
        gaps = np.array(
            [
                query.lam * (query.w_i - tp.corner(query.i, c, lam)[0]) @ query.w - query.ell_i + tp.corner(query.i, c, lam)[1]
                for c in range(len(tp.loss[query.i]))
            ]
        )
        gamma = 2 * n / (nu * query.k + 2 * n)
        least = nu * gaps.max() - delta * gamma * curvature[query.i] / 2  # eq. (13)
        assert gaps[j] == pytest.approx(min(gap for gap in gaps if gap >= least - 1e-13), abs=1e-12)
        worse.append(gaps[j] < gaps.max() - 1e-6)
        return j

    run = ref.bcfw(tp, lam, order_of(tp, 100), oracle=checked, nu=nu)
    assert any(worse)
    best, k = ref.qp_optimum(tp, lam).dual, np.arange(len(run.last.w))
    bound = 2 * tp.n / (nu * k + 2 * tp.n) * (curvature.sum() * (1 + delta) / nu + best)  # Theorem C.1, h_0 = D*
    assert np.all(best - dual_path(run, lam) <= bound)


def test_predefined_steps_grow_with_a_multiplicative_error():
    tp = chain(0, n=2)
    w = ref.bcfw(tp, 1.0, [0, 0], line_search=False, nu=0.5).last.w
    w_s = tp.corner(0, tp.argmax(0, w[1]), 1.0)[0]
    gamma = 2 * 2 / (0.5 * 1 + 2 * 2)
    np.testing.assert_allclose(w[2], (1 - gamma) * w[1] + gamma * w_s)
