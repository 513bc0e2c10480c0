"""Forward-backward and the expectation oracles against sums over all labelings."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.oracles.exponentials import exponentials
from fwexp.oracles.forward_backward import SPREAD, forward_backward, scaled_forward_backward, scratch_size
from fwexp.oracles.log_forward_backward import log_forward_backward
from fwexp.oracles.softmax import softmax
from fwexp.problems import protocol
from fwexp.problems.features import padded_width
from tests import reference as ref

KERNELS = {
    "compiled": forward_backward,
    "python": forward_backward.py_func,
    "scaled python": lambda *args: scaled_or_log(*args),
    "log": log_forward_backward,
    "log python": log_forward_backward.py_func,
}


def scaled_or_log(*args):
    """`forward_backward` with its first kernel as plain Python."""
    log_z, valid = scaled_forward_backward.py_func(*args)
    return log_z if valid else log_forward_backward(*args)


def padded(rows, width):
    """Rows of scores with rubbish behind, as one flat array."""
    out = np.full((len(rows), width), 3.0)
    out[:, : rows.shape[1]] = rows
    return out.ravel()


def run(unary, transitions, kernel="compiled"):
    """Return (log Z, marginals (T, K), pairs (K, K)); all buffers start as garbage, and the padding must be 0."""
    T, K = unary.shape
    width = padded_width(K)
    marginals, pairs = np.full(T * width, np.nan), np.full(K * width, np.nan)
    scratch = np.full(scratch_size(T, K, width), np.nan)
    log_z = KERNELS[kernel](padded(unary, width), padded(transitions, width), K, width, marginals, pairs, scratch)
    marginals, pairs = marginals.reshape(T, width), pairs.reshape(K, width)
    assert not marginals[:, K:].any()
    assert not pairs[:, K:].any()
    return log_z, marginals[:, :K], pairs[:, :K]


def enumerated(unary, transitions):
    """Return the same by summing over all labelings."""
    T, K = unary.shape
    labelings = np.array(list(product(range(K), repeat=T)))
    scores = unary[np.arange(T), labelings].sum(axis=1) + transitions[labelings[:, :-1], labelings[:, 1:]].sum(axis=1)
    log_z = np.logaddexp.reduce(scores)
    marginals, pairs = np.zeros((T, K)), np.zeros((K, K))
    for y, p in zip(labelings, np.exp(scores - log_z), strict=True):
        marginals[np.arange(T), y] += p
        np.add.at(pairs, (y[:-1], y[1:]), p)
    return log_z, marginals, pairs


def check(unary, transitions, kernel):
    # Scores of size s are known up to s eps, and probabilities relatively to as much.
    tolerance = 1e-14 * max(100.0, np.abs(unary).sum() + len(unary) * np.abs(transitions).max())
    for got, wanted in zip(run(unary, transitions, kernel), enumerated(unary, transitions), strict=True):
        np.testing.assert_allclose(got, wanted, atol=tolerance)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0, 1e4])
@pytest.mark.parametrize(("T", "K"), [(1, 1), (1, 3), (5, 1), (2, 2), (4, 3), (3, 5), (6, 4)])
def test_sizes_and_scales(T, K, scale, kernel):
    rng = np.random.default_rng(T + K)
    check(scale * rng.normal(size=(T, K)), scale * rng.normal(size=(K, K)), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@given(data=st.data())
def test_any_scores(kernel, data):
    T, K = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    scores = data.draw(st.lists(st.floats(-1e4, 1e4), min_size=(T + K) * K, max_size=(T + K) * K))
    scores = np.reshape(scores, (T + K, K))
    check(scores[:T], scores[T:], kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_large_scores_that_mix(kernel):
    # differences of order 1 on top of 1e4, which sums of plain exponentials cannot represent
    rng = np.random.default_rng(0)
    check(1e4 + rng.normal(size=(4, 3)), 1e4 + rng.normal(size=(3, 3)), kernel)
    check(-1e4 + rng.normal(size=(4, 3)), 1e4 * rng.integers(-1, 2, size=(3, 3)) + rng.normal(size=(3, 3)), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_transitions_may_forbid_the_best_beginning(kernel):
    # label 0 is the best one so far, by far, but all its transitions lead nowhere
    unary = np.array([[0.0, -5000.0, -5001.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    transitions = np.zeros((3, 3))
    transitions[0] = -9000.0
    check(unary, transitions, kernel)


def reference(unary, transitions):
    """Log Z, marginals and sums of pair marginals in the log domain, by numpy."""
    T, K = unary.shape
    forward, backward, scale = unary.copy(), np.zeros((T, K)), np.empty(T)
    for t in range(T):  # Rows are normalised, because their rounding errors would grow with T otherwise.
        if t > 0:
            forward[t] += np.logaddexp.reduce(forward[t - 1][:, None] + transitions, axis=0)
        scale[t] = np.logaddexp.reduce(forward[t])
        forward[t] -= scale[t]
    for t in range(T - 2, -1, -1):
        backward[t] = np.logaddexp.reduce(transitions + unary[t + 1] + backward[t + 1], axis=1) - scale[t + 1]
    pairs = np.zeros((K, K))
    for t in range(1, T):
        pairs += np.exp(forward[t - 1][:, None] + transitions + unary[t] + backward[t] - scale[t])
    return math.fsum(scale), np.exp(forward + backward), pairs


def check_against_reference(unary, transitions, kernel="compiled"):
    T, K = unary.shape
    size = 1.0 + np.log(K) + np.abs(unary).max() + np.abs(transitions).max()
    log_z, marginals, pairs = run(unary, transitions, kernel)
    wanted = reference(unary, transitions)
    assert log_z == pytest.approx(wanted[0], abs=1e-14 * T * size)
    # The reference itself knows probabilities up to the rounding of log Z.
    np.testing.assert_allclose(marginals, wanted[1], atol=1e-14 * T * size)
    np.testing.assert_allclose(pairs, wanted[2], atol=1e-14 * T * size * T)


@given(
    T=st.one_of(st.integers(1, 40), st.integers(1, 2000)),
    K=st.integers(1, 33),
    sizes=st.tuples(st.floats(-300, 3), st.floats(-300, 3)),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_size_against_the_log_domain(T, K, sizes, seed):
    rng, (unary, pair) = np.random.default_rng(seed), 10.0 ** np.array(sizes)
    check_against_reference(unary * rng.uniform(-1, 1, (T, K)), pair * rng.uniform(-1, 1, (K, K)))


@pytest.mark.parametrize(("T", "K"), [(1, 1), (2000, 1), (2000, 33), (300, 26), (1, 33), (2, 8), (7, 9)])
@pytest.mark.parametrize("size", [1e-300, 1.0, SPREAD / 2.001, 1e3])
def test_long_and_wide_chains(T, K, size):
    rng = np.random.default_rng(T + K)
    check_against_reference(size * rng.uniform(-1, 1, (T, K)), size * rng.uniform(-1, 1, (K, K)))


def is_scaled(unary, transitions):
    """Return whether the kernel in the domain of exponentials says that its results are right."""
    T, K = unary.shape
    width = padded_width(K)
    out = np.empty(T * width), np.empty(K * width), np.empty(scratch_size(T, K, width))
    return scaled_forward_backward(padded(unary, width), padded(transitions, width), K, width, *out)[1]


def test_the_domain_is_chosen_by_the_example():
    rng = np.random.default_rng(7)
    unary, transitions = rng.uniform(-99, 99, (50, 5)), rng.uniform(-99, 99, (5, 5))
    assert is_scaled(unary, transitions)
    # Excluded transitions cost nothing as long as no labeling needs them.
    transitions[0, 1:3] = unary[3, 0] = -1e30
    assert is_scaled(unary, transitions)
    _, marginals, pairs = run(unary, transitions)
    assert marginals[3, 0] == pairs[0, 1] == 0.0  # exactly, because entropies multiply them by such scores
    # Every labeling has to take one transition that is much worse than others.
    transitions[:, 3] = -5000.0
    unary[25] = [-1e4, -1e4, -1e4, 0.0, -1e4]
    assert not is_scaled(unary, transitions)
    check(unary[23:27], transitions, "compiled")


@given(gap=st.floats(SPREAD - 50.0, SPREAD + 50.0), seed=st.integers(0, 1000))
def test_raised_factors_change_nothing(gap, seed):
    # Scores about as far apart as the kernel can represent, of which labelings have to take some.
    rng = np.random.default_rng(seed)
    unary, transitions = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    unary[rng.random((4, 3)) < 0.4] -= gap
    transitions[rng.random((3, 3)) < 0.4] -= gap
    check(unary, transitions, "compiled")


def test_marginals_are_the_gradient_of_log_z():
    rng = np.random.default_rng(8)
    unary, transitions = rng.normal(size=(9, 5)), rng.normal(size=(5, 5))
    _, marginals, pairs = run(unary, transitions)
    for _ in range(5):
        u, v, h = rng.normal(size=(9, 5)), rng.normal(size=(5, 5)), 1e-5
        rise = run(unary + h * u, transitions + h * v)[0] - run(unary - h * u, transitions - h * v)[0]
        assert rise / (2 * h) == pytest.approx((u * marginals).sum() + (v * pairs).sum(), abs=1e-8)


def test_reversed_chains():
    rng = np.random.default_rng(1)
    unary, transitions = 50.0 * rng.normal(size=(300, 26)), 10.0 * rng.normal(size=(26, 26))
    log_z, marginals, pairs = run(unary, transitions)
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(pairs.sum(axis=0), marginals[1:].sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(pairs.sum(axis=1), marginals[:-1].sum(axis=0), atol=1e-9)
    reverse = run(unary[::-1], transitions.T.copy())
    assert reverse[0] == pytest.approx(log_z, rel=1e-13)
    np.testing.assert_allclose(reverse[1][::-1], marginals, atol=1e-9)
    np.testing.assert_allclose(reverse[2].T, pairs, atol=1e-9)


def test_shifts_change_log_z_only():
    rng = np.random.default_rng(2)
    unary, transitions = rng.normal(size=(5, 4)), rng.normal(size=(4, 4))
    shifts = rng.normal(size=(5, 1))
    one, other = run(unary, transitions), run(unary + shifts, transitions - 2.0)
    assert other[0] == pytest.approx(one[0] + shifts.sum() - 8.0, abs=1e-12)
    for k in (1, 2):
        np.testing.assert_allclose(other[k], one[k], atol=1e-13)


@pytest.mark.parametrize("kernel", [exponentials, exponentials.py_func])
def test_exponentials(kernel):
    x = -np.concatenate(([0.0], np.logspace(-300, 0, 200), np.linspace(0.0, 800.0, 4001)))
    y = x.copy()
    kernel(y, np.empty_like(y))
    normal = x >= -708.0
    np.testing.assert_allclose(y[normal], np.exp(x[normal]), rtol=1e-13)
    assert not y[~normal].any()


def test_softmax():
    rng = np.random.default_rng(3)
    for scale in (1e-3, 1.0, 1e4):
        scores, p = scale * rng.normal(size=7), np.full(7, np.nan)
        log_z = softmax(scores, 5, p)
        assert log_z == pytest.approx(np.logaddexp.reduce(scores[:5]), rel=1e-14)
        np.testing.assert_allclose(p[:5], np.exp(scores[:5] - log_z), rtol=1e-11)
        assert np.isnan(p[5:]).all()


# The expectation oracles of the families ----------------------------------------------------------------------------


def families():
    """Yield (enumerated problem, fwexp problem) of every family that has an expectation oracle."""
    rng = np.random.default_rng(4)
    X, y = ref.random_chains(rng, 4, 3, 2, (1, 2, 3))
    tp = ref.tiny_chain(X, y, 3)
    yield "chain", tp, fwexp.chain_problem(X, y, 3)
    yield "enumerated", tp, fwexp.enumerated_problem(tp.psi, tp.loss)
    slack = ref.slack_rescaled(tp)
    yield "enumerated, slack", slack, fwexp.enumerated_problem(tp.psi, tp.loss, rescaling="slack")
    inputs, labels = rng.normal(size=(5, 3)), rng.integers(4, size=5)
    multi = ref.tiny_multiclass(inputs, labels, 4)
    yield "multiclass", multi, fwexp.multiclass_problem(inputs, labels, 4)
    costs = rng.random((4, 4)) * (1.0 - np.eye(4))
    multi = ref.TinyProblem(multi.psi, tuple(costs[label] for label in labels), multi.labelings, multi.truth)
    yield "multiclass, costs", multi, fwexp.multiclass_problem(inputs, labels, 4, costs=costs)
    slack = ref.slack_rescaled(multi)
    yield "multiclass, slack", slack, fwexp.multiclass_problem(inputs, labels, 4, costs=costs, rescaling="slack")


@pytest.mark.parametrize(("tp", "problem"), [pytest.param(tp, p, id=name) for name, tp, p in families()])
def test_expectations_after_two_updates(tp, problem):
    rng = np.random.default_rng(5)
    work, scratch = protocol.workspace(problem), protocol.expectation_scratch(problem)
    for i in range(tp.n):
        parts = problem.part_ptr[i + 1] - problem.part_ptr[i]
        potentials, mean, log_a = np.zeros(parts), np.full(parts, np.nan), np.zeros(len(tp.loss[i]))
        for c in (0.7, 2.0):
            w = rng.normal(size=tp.d)
            protocol.scores(problem, i, protocol.from_public(problem, w), work.theta)
            protocol.loss_augmented_scores(problem, i, work.theta, c, 1.0, potentials)
            log_a += c * tp.scores(i, w)
        a = np.exp(log_a - np.logaddexp.reduce(log_a))
        _, loss, entropy = protocol.expectation_oracle(problem, i, potentials, mean, scratch)
        assert entropy == pytest.approx(-a @ np.log(a), abs=1e-12)
        assert loss == pytest.approx(a @ tp.loss[i], abs=1e-13)
        protocol.set_dense(problem, i, mean, work.direction)
        image = np.zeros(problem.num_weights)
        protocol.scatter(problem, i, work.direction, 1.0, image)
        np.testing.assert_allclose(protocol.to_public(problem, image), a @ tp.psi[i], atol=1e-12)
        # as a vector of parts like any other
        assert protocol.norm_sq(problem, i, work.direction) == pytest.approx(image @ image, abs=1e-12)
        assert protocol.dot(problem, i, work.direction, work.theta) == pytest.approx(a @ tp.psi[i] @ w, abs=1e-12)


def test_zero_potentials_are_the_uniform_distribution():
    for _, tp, problem in families():
        scratch = protocol.expectation_scratch(problem)
        for i in range(tp.n):
            parts = problem.part_ptr[i + 1] - problem.part_ptr[i]
            log_z, loss, entropy = protocol.expectation_oracle(problem, i, np.zeros(parts), np.empty(parts), scratch)
            assert loss == pytest.approx(tp.loss[i].mean(), abs=1e-14)
            assert log_z == pytest.approx(np.log(len(tp.loss[i])), abs=1e-13)
            assert entropy == pytest.approx(log_z, abs=1e-13)
