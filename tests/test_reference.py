"""The references are checked against definitions and certificates; the package itself is not involved.

What the package's own tests show of it is not shown again of the transcriptions whose steps it takes.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from fwexp.experiments.theory import small
from tests import reference as ref
from tests.reference.examples import chain, multiclass

SEEDS = range(3)
LAMS = (1.0, 0.1, 0.01)


def random_dual(tp, rng):
    return [rng.dirichlet(np.full(len(L), 0.3)) for L in tp.loss]


# Decoding and problems ---------------------------------------------------------------------------------------------


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
    for average in (ref.wavg, ref.tavg, ref.avg):
        np.testing.assert_array_equal(average(x)[0], x[0])


# Frank-Wolfe -------------------------------------------------------------------------------------------------------


def test_batch_frank_wolfe_is_the_subgradient_method():
    tp, lam = ref.tiny_multiclass(*multiclass(0), 3), 0.1
    run = ref.fw(tp, lam, 20, line_search=False)
    betas = [2 / (k + 2) / lam for k in range(20)]
    outputs = small.Outputs(np.array(tp.psi), np.array(tp.loss))
    np.testing.assert_allclose(small.subgradients(outputs, lam, betas), run.last.w, atol=1e-12)


# Other methods -----------------------------------------------------------------------------------------------------


def test_the_first_eg_update_is_the_formula():
    tp, lam = chain(0), 10.0
    result = ref.online_eg(tp, lam, [2])
    scores = tp.scores(2, result.run.last.w[0])
    expected = np.exp(0.5 * scores) / np.exp(0.5 * scores).sum()
    assert result.calls[-1] == 1
    np.testing.assert_allclose(result.alpha[2], expected, rtol=1e-12)
