"""The references of the other methods: each reaches the certified optimum, and identities between methods hold."""

import numpy as np
import pytest

from tests import reference as ref
from tests.reference.examples import chain, multiclass, order_of

LAMS = (1.0, 0.1, 0.01)


# Cutting planes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", LAMS)
def test_cutting_planes_reach_the_optimum(lam):
    for tp in (chain(0), ref.tiny_multiclass(*multiclass(0), 3)):
        best = ref.qp_optimum(tp, lam)
        for cuts in (ref.one_slack(tp, lam), ref.n_slack(tp, lam), ref.fcfw(tp, lam, 60)):
            assert cuts.dual[-1] == pytest.approx(best.dual, abs=1e-7)
            assert cuts.primal[-1] == pytest.approx(best.dual, abs=1e-7)
            assert np.diff(cuts.dual).min() >= -1e-11


def test_epsilon_bounds_the_gap_and_is_reached_early():
    tp, lam, eps = chain(0, n=10), 1.0, 0.1
    for method in (ref.one_slack, ref.n_slack):
        rough, fine = method(tp, lam, eps), method(tp, lam, 1e-8)
        assert 1e-8 < rough.primal[-1] - rough.dual[-1] <= eps
        assert len(rough.w) < len(fine.w)


@pytest.mark.parametrize("lam", LAMS)
def test_fully_corrective_frank_wolfe_is_the_one_slack_method(lam):
    tp = chain(0)
    for convention in (True, False):
        cuts = ref.one_slack(tp, lam, xi_nonnegative=convention)
        fcfw = ref.fcfw(tp, lam, len(cuts.w) - 1, start_is_atom=convention)
        for name in ("dual", "primal", "w", "calls"):
            np.testing.assert_allclose(getattr(fcfw, name), getattr(cuts, name), atol=1e-8)


def test_mixed_conventions_differ_early_on():
    tp = chain(0)
    cuts, fcfw = ref.one_slack(tp, 0.01), ref.fcfw(tp, 0.01, 5, start_is_atom=False)
    assert abs(cuts.dual[1] - fcfw.dual[1]) > 0.1


def test_one_slack_qp_satisfies_its_constraints():
    tp, lam = chain(0), 0.1
    cuts, planes, losses = ref.one_slack(tp, lam), [np.zeros(tp.d)], [0.0]
    for w, value, xi in zip(cuts.w, cuts.dual, cuts.xi, strict=True):
        slack = np.array(losses) - np.array(planes) @ w
        assert slack.max() == pytest.approx(xi, abs=1e-9)
        assert lam / 2 * w @ w + xi == pytest.approx(value, abs=1e-9)  # the QP's own primal equals its dual
        labels = [tp.argmax(i, w) for i in range(tp.n)]
        planes.append(np.mean([psi[j] for psi, j in zip(tp.psi, labels, strict=True)], axis=0))
        losses.append(np.mean([L[j] for L, j in zip(tp.loss, labels, strict=True)]))


def test_fully_corrective_beats_plain_frank_wolfe_per_call():
    tp, lam = chain(0), 0.1
    plain, cuts = ref.fw(tp, lam, 30), ref.fcfw(tp, lam, 30)
    duals = [ref.dual_value(w, ell, lam) for w, ell in zip(plain.last.w, plain.last.ell, strict=True)]
    assert np.all(cuts.dual[:2] >= np.array(duals[:2]) - 1e-12)
    assert cuts.dual[-1] > duals[-1] + 1e-5


# Kernels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line_search", [True, False])
def test_the_linear_kernel_is_the_plain_method(line_search):
    X, y = ref.random_chains(np.random.default_rng(0))
    tp, lam = ref.tiny_chain(X, y, 3), 0.1
    order, kernel = order_of(tp, 5), ref.chain_kernel(tp, X, np.dot)
    gram = np.vstack(tp.psi) @ np.vstack(tp.psi).T
    np.testing.assert_allclose(ref.psi_gram(tp, kernel), gram, atol=1e-12)
    for run, plain in (
        (ref.kernel_bcfw(tp, lam, order, kernel, line_search), ref.bcfw(tp, lam, order, line_search)),
        (ref.kernel_fw(tp, lam, 25, kernel, line_search), ref.fw(tp, lam, 25, line_search)),
    ):
        A = ref.dual_matrices(tp, lam)[0]
        np.testing.assert_allclose(run.alpha @ A.T, plain.last.w, atol=1e-10)
        np.testing.assert_allclose(run.wavg @ A.T, plain.wavg.w, atol=1e-10)
        objectives = [
            (ref.dual_value(w, ell, lam), ref.primal(tp, w, lam)) for w, ell in zip(plain.last.w, plain.last.ell, strict=True)
        ]
        np.testing.assert_allclose(np.stack([run.dual, run.primal], axis=1), objectives, atol=1e-10)


def test_a_polynomial_kernel_is_the_linear_one_on_its_features():
    X, y = multiclass(0)
    features = np.array([[1, *(np.sqrt(2) * x), x[0] ** 2, x[1] ** 2, np.sqrt(2) * x[0] * x[1]] for x in X])
    tp, expanded = ref.tiny_multiclass(X, y, 3), ref.tiny_multiclass(features, y, 3)
    order, lam = order_of(tp, 5), 0.1
    run = ref.kernel_bcfw(tp, lam, order, ref.multiclass_kernel(X, lambda a, b: (1 + a @ b) ** 2))
    plain = ref.bcfw(expanded, lam, order)
    np.testing.assert_allclose(run.alpha @ ref.dual_matrices(expanded, lam)[0].T, plain.last.w, atol=1e-10)


def test_support_vectors_are_at_most_the_steps_and_exclude_the_truth():
    X, y = multiclass(1)
    tp = ref.tiny_multiclass(X, y, 3)
    run = ref.kernel_bcfw(tp, 1.0, order_of(tp, 3), ref.multiclass_kernel(X, np.dot))
    assert np.all(run.support <= np.arange(len(run.support)))
    for alpha, count in zip(run.alpha, run.support, strict=True):
        assert count == sum(alpha[3 * i + k] > 0 for i in range(tp.n) for k in range(3) if k != y[i])


# Exponentiated gradient --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [1.0, 0.1])
def test_online_eg_climbs_to_the_optimum(lam):
    tp = chain(0)
    result = ref.online_eg(tp, lam, order_of(tp, 200))
    duals = [ref.dual_value(w, ell, lam) for w, ell in zip(result.run.last.w, result.run.last.ell, strict=True)]
    assert np.diff(duals).min() >= 0
    assert 0 <= ref.qp_optimum(tp, lam).dual - duals[-1] <= 1e-3
    assert all(a.sum() == pytest.approx(1) for a in result.alpha)
    np.testing.assert_allclose(ref.weights(tp, result.alpha, lam), result.run.last.w[-1], atol=1e-9)


def test_online_eg_starts_uniform_and_counts_every_trial():
    tp, lam = chain(0), 1e-4
    order = order_of(tp, 40)
    result = ref.online_eg(tp, lam, order)
    uniform = [np.full(len(L), 1 / len(L)) for L in tp.loss]
    np.testing.assert_allclose(result.run.last.w[0], ref.weights(tp, uniform, lam), atol=1e-12)
    trials = np.diff(result.calls)
    assert trials.min() == 1
    assert trials[: tp.n].max() == 3  # two halvings at most in the first pass,
    assert trials[tp.n : 2 * tp.n].max() > 3
    assert trials.max() == 6  # five later
    eta = np.full(tp.n, 0.5)
    for i, count in zip(order, trials, strict=True):  # a halving per repeated trial, then 1.05
        eta[i] *= 1.05 * 0.5 ** (count - 1)
    np.testing.assert_allclose(result.eta, eta, rtol=1e-12)


def test_the_first_eg_update_is_the_formula():
    tp, lam = chain(0), 10.0
    result = ref.online_eg(tp, lam, [2])
    scores = tp.scores(2, result.run.last.w[0])
    expected = np.exp(0.5 * scores) / np.exp(0.5 * scores).sum()
    assert result.calls[-1] == 1
    np.testing.assert_allclose(result.alpha[2], expected, rtol=1e-12)


# Binary SVM --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", LAMS)
def test_bcfw_is_dual_coordinate_descent_and_prox_sdca(lam):
    X, labels = multiclass(0, n=10, K=2)
    y = 2 * labels - 1
    tp = ref.tiny_binary(X, y)
    order = order_of(tp, 20)
    run = ref.bcfw(tp, lam, order)
    np.testing.assert_allclose(ref.dual_coordinate_descent(X, y, 1 / (lam * tp.n), order), run.last.w, atol=1e-10)
    np.testing.assert_allclose(ref.prox_sdca(X, y, lam, order), run.last.w, atol=1e-10)
    # two classes of the multiclass problem: w_1 - w_0 solves the binary one with lam/2
    two = ref.bcfw(ref.tiny_multiclass(X, labels, 2), lam, order).last.w.reshape(-1, X.shape[1], 2)
    np.testing.assert_allclose(two[..., 1] - two[..., 0], ref.bcfw(tp, lam / 2, order).last.w, atol=1e-10)


# Non-uniformity and the path ---------------------------------------------------------------------------------------


def test_chi_between_uniform_and_concentrated():
    assert ref.chi(np.ones(7)) == pytest.approx(1)
    assert ref.chi(np.eye(7)[2]) == pytest.approx(np.sqrt(7))
    x = np.array([1.0, 2.0, 5.0])
    assert ref.chi(3 * x) == pytest.approx(np.sqrt(3 * np.sum((x / 8) ** 2)))
    assert ref.improvement_factor(np.eye(4)[0], np.ones(4)) == pytest.approx(8)


def test_a_new_lam_keeps_w_and_moves_the_gap_along_a_line():
    tp, lam, rho = chain(0), 0.5, 0.7
    alpha = ref.block_fw(tp, lam, 20, "order", order_of(tp, 4), "pairwise").alpha
    new, w = ref.change_lam(tp, alpha, rho), ref.weights(tp, alpha, lam)
    np.testing.assert_allclose(ref.weights(tp, new, rho * lam), w, atol=1e-13)
    np.testing.assert_allclose([a.sum() for a in new], 1, atol=1e-13)
    old_gap, new_gap = ref.block_gaps(tp, alpha, lam).sum(), ref.block_gaps(tp, new, rho * lam).sum()
    slope = ref.gap_slope(tp, alpha, w)
    assert new_gap == pytest.approx(old_gap + (1 - rho) * slope, abs=1e-13)
    assert slope == pytest.approx(ref.loss_term(tp, alpha) - lam * w @ w, abs=1e-13)


@pytest.mark.parametrize("eps", [1.0, 0.1])
def test_the_first_break_point_is_valid_from_there_up(eps):
    tp = chain(0)
    lam, alpha = ref.lam_infinity(tp, eps)
    for factor in (1.0, 2.0, 100.0):
        assert ref.block_gaps(tp, alpha, factor * lam).sum() <= eps + 1e-12
