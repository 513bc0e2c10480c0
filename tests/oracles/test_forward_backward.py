"""Forward-backward and softmax against sums over all labelings."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fwexp.oracles.exponentials import exponentials
from fwexp.oracles.forward_backward import SPREAD, forward_backward, scaled_forward_backward, scratch_size
from fwexp.oracles.log_forward_backward import log_forward_backward
from fwexp.oracles.softmax import softmax
from fwexp.problems.features import padded_width

KERNELS = {
    "compiled": forward_backward,
    "python": forward_backward.py_func,
    "scaled python": lambda *args: scaled_or_log(*args),
    "log": log_forward_backward,
    "log python": log_forward_backward.py_func,
}


def scaled_or_log(*args):
    """`forward_backward` with its first kernel as plain Python."""
    log_z, valid = scaled_forward_backward(*args)
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
