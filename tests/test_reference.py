"""The transcriptions where the package's own tests, which take their steps and reach their optima, show nothing of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from fwexp.experiments.theory import small
from tests import reference as ref
from tests.reference.examples import chain, multiclass


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


def test_qp_optimum_agrees_with_a_general_solver():
    tp, lam = ref.tiny_multiclass(*multiclass(0, n=3), 3), 0.2
    A, b, blocks = ref.dual_matrices(tp, lam)
    sums = [{"type": "eq", "fun": lambda a, block=block: a[block].sum() - 1} for block in blocks]
    objective = lambda a: lam / 2 * (A @ a) @ (A @ a) - b @ a  # noqa: E731
    found = minimize(objective, np.full(9, 1 / 3), bounds=[(0, 1)] * 9, constraints=sums, tol=1e-12)
    assert found.success
    best = ref.qp_optimum(tp, lam)
    assert -found.fun == pytest.approx(best.dual, abs=1e-8)
    assert abs(best.gap) <= 1e-10
    np.testing.assert_allclose(best.w, ref.weights(tp, best.alpha, lam))


def test_a_wrong_point_does_not_pass_as_optimum():
    tp = chain(0)
    with pytest.raises(AssertionError, match="not solved"):
        ref.simplex_qp(*ref.dual_matrices(tp, 0.1), 0.1, max_steps=1)


def test_averages_equal_their_other_forms():
    x = np.random.default_rng(0).normal(size=(40, 3))
    delta = np.diff(x, axis=0, prepend=x[:1])  # x_k = x_0 + sum_{s <= k} delta_s
    for k in range(1, 40):
        s, K0 = np.arange(k + 1), 2 ** int(np.log2(k))
        np.testing.assert_allclose(ref.wavg(x)[k], x[k] - 2 / (k * (k + 1)) * ((s * (s - 1) / 2) @ delta[: k + 1]), atol=1e-13)
        late = sum((s - K0) * delta[s] for s in range(K0 + 1, k + 1))
        np.testing.assert_allclose(ref.tavg(x)[k], x[k] - late / (k - K0 + 1), atol=1e-13)
        np.testing.assert_allclose(ref.avg(x)[k], sum(x[1 : k + 1]) / k, atol=1e-13)


def test_batch_frank_wolfe_is_the_subgradient_method():
    tp, lam = ref.tiny_multiclass(*multiclass(0), 3), 0.1
    run = ref.fw(tp, lam, 20, line_search=False)
    betas = [2 / (k + 2) / lam for k in range(20)]
    outputs = small.Outputs(np.array(tp.psi), np.array(tp.loss))
    np.testing.assert_allclose(small.subgradients(outputs, lam, betas), run.last.w, atol=1e-12)


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
