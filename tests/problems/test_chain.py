"""Chains: oracles against brute force, features and arithmetic against explicit matrices, and what users can get wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems import protocol
from fwexp.problems.chain import ChainProblem, chain_from_arrays, with_costs
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures
from fwexp.testing import check_problem
from tests import reference as ref
from tests.small_problems import ARRAYS, as_form, inputs

CLASSES = {"dense": DenseFeatures, "csr": SparseFeatures, "binary": BinaryFeatures}


@st.composite
def cases(draw, labels=(1, 4)):
    """(form, X, y, K, public w): T 1 .. 5; integer inputs and weights, whose scores tie often, or Gaussian ones."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    form, K, p = draw(st.sampled_from(ARRAYS)), draw(st.integers(*labels)), draw(st.integers(1, 6))
    lengths = draw(st.lists(st.integers(1, 5 if K <= 4 else 2), min_size=1, max_size=3))
    X = [rng.random((T, p)) < 0.6 for T in lengths]
    integers = draw(st.booleans())
    if form != "binary":
        X = [x * (rng.integers(-2, 3, size=x.shape) if integers else rng.normal(size=x.shape)) for x in X]
    d = K * (p + 2 + K)
    # Losses are multiples of 1/T: with multiples of 1/2 as weights ties with losses occur, too, and are exact for T = 1, 2, 4.
    w = rng.integers(-2, 3, size=d) / 2.0 if integers else rng.normal(size=d)
    return form, [x * 1.0 for x in X], [rng.integers(K, size=T) for T in lengths], K, w, integers


def check_oracles(case):
    form, X, y, K, w, integers = case
    problem = as_form(form, X, y, K)
    assert isinstance(problem.x, CLASSES[form]) or (form == "csr" and all((x[x != 0] == 1).all() for x in X))
    predictions = fwexp.predict(problem, w)
    for i, (x, labels) in enumerate(zip(X, y)):
        T, truth = len(x), ref.chain_feature(x, labels, K) @ w
        exact = integers and T in (1, 2, 4)  # every sum is exact, so ties are ties
        labeling, value = fwexp.max_oracle(problem, i, w)
        wanted, best = ref.brute_force(*ref.chain_potentials(x, w, K, labels))
        assert value == pytest.approx(best - truth, abs=1e-11)
        own = np.mean(labeling != labels) - truth + ref.chain_feature(x, labeling, K) @ w
        assert own == pytest.approx(value, abs=1e-11)
        score = ref.chain_feature(x, predictions[i], K) @ w
        wanted_prediction, best = ref.brute_force(*ref.chain_potentials(x, w, K))
        assert score == pytest.approx(best, abs=1e-11)
        if exact:
            assert tuple(labeling) == wanted
        if integers:
            assert tuple(predictions[i]) == wanted_prediction


@given(cases())
def test_oracles_equal_brute_force(case):
    check_oracles(case)


@given(cases(labels=(5, 12)))
def test_oracles_equal_brute_force_with_padded_rows(case):
    check_oracles(case)


@given(cases())
def test_joint_feature_and_loss_equal_their_definitions(case):
    form, X, y, K, w, _ = case
    problem = as_form(form, X, y, K)
    assert (problem.n, problem.d) == (len(X), len(w))
    rng = np.random.default_rng(0)
    for i, x in enumerate(X):
        z = rng.integers(K, size=len(x))
        phi = fwexp.joint_feature(problem, i, z)
        assert isinstance(phi, sp.csr_array)
        assert phi.shape == (1, problem.d)
        np.testing.assert_allclose(phi.toarray()[0], ref.chain_feature(x, z, K), atol=1e-12)
        assert fwexp.loss(problem, i, z) == np.mean(z != y[i])
        assert fwexp.loss(problem, i, list(y[i])) == 0.0


@given(cases(labels=(1, 4)), st.integers(0, 100))
def test_with_costs_oracles_equal_brute_force(case, seed):
    form, X, y, K, w, _ = case
    costs = np.random.default_rng(seed).random((K, K)) * 2 * (1 - np.eye(K))
    problem = with_costs(as_form(form, X, y, K), costs)
    for i, (x, labels) in enumerate(zip(X, y)):
        labeling, value = oracle_in_python(problem, i, w)
        best = ref.brute_force(*ref.chain_potentials(x, w, K, labels, costs))[1]
        assert value == pytest.approx(best - ref.chain_feature(x, labels, K) @ w, abs=1e-11)
        loss = np.mean(costs[labels, labeling])
        assert protocol.loss(problem, i, labeling) == pytest.approx(loss, abs=1e-12)
        assert value == pytest.approx(loss + (ref.chain_feature(x, labeling, K) - ref.chain_feature(x, labels, K)) @ w, abs=1e-11)


def oracle_in_python(problem, i, w):
    """Return what `fwexp.max_oracle` does, of kernels that are not compiled."""
    work = protocol.workspace(problem)
    protocol.scores(problem, i, protocol.from_public(problem, w), work.theta)
    value = protocol.max_oracle(problem, i, work.theta, work.y, work.scratch)
    return protocol.public_labeling(problem, i, work.y), value


def test_expected_costs_are_those_of_all_labelings():
    X, y = inputs("dense", 0, K=3, p=2, lengths=(3, 1))
    costs = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, 0.0], [3.0, 0.25, 0.0]])
    problem = fwexp.chain_problem(X, y, 3, costs=costs)
    w = np.random.default_rng(1).normal(size=problem.d)
    work, scratch = protocol.workspace(problem), protocol.expectation_scratch(problem)
    for i, (x, labels) in enumerate(zip(X, y)):
        protocol.scores(problem, i, protocol.from_public(problem, w), work.theta)
        potentials = np.zeros(problem.part_ptr[i + 1] - problem.part_ptr[i])
        protocol.loss_augmented_scores(problem, i, work.theta, 1.0, 1.0, potentials)
        _, mean_loss, _ = protocol.expectation_oracle(problem, i, potentials, np.zeros_like(potentials), scratch)
        losses = np.array([np.mean(costs[labels, z]) for z in ref.chain_labelings(len(x), 3)])
        scores = losses + [ref.chain_feature(x, z, 3) @ w for z in ref.chain_labelings(len(x), 3)]
        weights = np.exp(scores - scores.max())
        assert mean_loss == pytest.approx(weights @ losses / weights.sum(), abs=1e-12)


def test_costs_of_labels_that_are_unknown_are_1():
    test = fwexp.chain_problem([np.eye(2)], [[0, -1]], num_states=2, costs=[[0, 3], [5, 0]])
    assert [fwexp.loss(test, 0, z) for z in ([0, 0], [1, 1])] == [0.5, 2.0]
    with pytest.raises(ParameterError, match=r"costs must have shape \(2, 2\), got \(3, 3\)"):
        fwexp.chain_problem([np.eye(2)], [[0, 1]], costs=np.zeros((3, 3)))


@pytest.mark.slow
@pytest.mark.parametrize("K", [3, 9])
@pytest.mark.parametrize("form", ARRAYS)
def test_family_keeps_the_promises_of_the_protocol(form, K):
    problem = as_form(form, *inputs(form, 0, K=K, p=5, lengths=(1, 2, 4)), K)
    costs = np.random.default_rng(0).random((K, K)) * (1 - np.eye(K))
    check_problem(problem)
    check_problem(with_costs(problem, costs))


@pytest.mark.parametrize("form", ARRAYS)
def test_blocks_are_averages_of_labelings_and_stay_small(form):
    """Expected parts after random steps against explicit weights of labelings; parts that vanish leave no entries behind."""
    X, y = inputs(form, 1, K=3, lengths=(3,))
    problem, tp = as_form(form, X, y, 3), ref.tiny_chain(X, y, 3)
    blocks, work = protocol.new_blocks(problem), protocol.workspace(problem)
    rng, alpha = np.random.default_rng(0), np.eye(27)[tp.truth[0]]
    for _ in range(50):
        j, gamma = rng.integers(27), rng.random()
        protocol.set_direction(problem, 0, np.array(tp.labelings[0][j]), blocks, work.direction)
        protocol.add_to_block(problem, 0, work.direction, gamma, blocks)
        alpha = (1 - gamma) * alpha + gamma * np.eye(27)[j]
        w = np.zeros(problem.num_weights)
        protocol.scatter_block(problem, 0, blocks, 1.0, w)
        np.testing.assert_allclose(protocol.to_public(problem, w), alpha @ tp.psi[0], atol=1e-12)
    assert blocks.count[0] <= 3 * 3 + 3 * 3  # one entry per part: T K unaries, K K transitions


@pytest.mark.parametrize("K", [2, 3, 9])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_labelings_add_up_as_they_do_one_by_one(K, length):
    rng = np.random.default_rng(K)
    problem = fwexp.chain_problem([rng.normal(size=(length, 3))], [rng.integers(K, size=length)], K)
    storage = rng.integers(K, size=(15, length)).astype(np.int32)
    storage[3] = problem.labels  # adds nothing
    c = rng.normal(size=15) * (np.arange(15) != 5)
    theta, w = rng.normal(size=problem.part_ptr[1]), rng.normal(size=problem.num_weights)
    theta.reshape(-1, problem.width)[:, K:] = 0.0
    work, found, places = protocol.workspace(problem), [], np.arange(15) * length
    for _ in range(2):  # what is left of a vector does not show in the next
        for at_once in (True, False):
            protocol.clear(problem, 0, work.direction)
            if at_once:
                protocol.add_labelings(problem, 0, storage.ravel(), places, c, work.direction)
            for a in range(0 if at_once else 15):
                protocol.add_psi(problem, 0, storage[a], c[a], work.direction)
            protocol.close(problem, 0, work.direction)
            image, (total,) = w.copy(), protocol.new_sums(problem, 1)
            protocol.scatter(problem, 0, work.direction, 0.5, image)
            protocol.accumulate(problem, 0, work.direction, 0.5, total)
            values = [protocol.dot(problem, 0, work.direction, theta), protocol.norm_sq(problem, 0, work.direction)]
            protocol.gram_scores(problem, 0, work.direction, theta_of := np.zeros_like(theta))
            found.append(np.concatenate([values, image, total, theta_of]))
        straight, scores = w.copy(), np.zeros(15)
        protocol.scatter_labelings(problem, 0, storage.ravel(), places, c, 0.5, work.direction, straight)
        np.testing.assert_allclose(straight, image, atol=1e-12)
        work.theta[:] = np.nan  # of a former example
        protocol.score_labelings(problem, 0, storage.ravel(), places, w, work, scores)
        protocol.complete_scores(problem, 0, w, work)
        protocol.scores(problem, 0, w, all_scores := np.zeros_like(work.theta))
        np.testing.assert_array_equal(work.theta, all_scores)
        np.testing.assert_allclose(scores, [protocol.psi_score(problem, 0, y, work.theta) for y in storage], atol=1e-12)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-12)
    assert abs(found[0][0]) > 1e-3


def test_public_order_of_weights_is_the_documented_one():
    """w[f*K + k], then first, last, then transitions [from*K + to]."""
    problem = fwexp.chain_problem([np.array([[2.0, 3.0], [5.0, 7.0]])], [[0, 1]], 3)
    phi = fwexp.joint_feature(problem, 0, [2, 1]).toarray()[0]
    wanted = np.zeros(2 * 3 + 3 + 3 + 9)
    wanted[[0 * 3 + 2, 1 * 3 + 2]] = 2.0, 3.0
    wanted[[0 * 3 + 1, 1 * 3 + 1]] = 5.0, 7.0
    wanted[[6 + 2, 9 + 1, 12 + 2 * 3 + 1]] = 1.0
    np.testing.assert_array_equal(phi, wanted)


def test_forms_of_the_same_inputs_give_the_same_numbers():
    X, y = inputs("binary", 2, K=4, p=5, lengths=(2, 5))
    w = np.random.default_rng(0).normal(size=4 * (5 + 2 + 4))
    values = []
    for stack in (X, [sp.csr_array(x) for x in X], [sp.csc_matrix(2.0 * x) for x in X]):
        problem = fwexp.chain_problem(stack, y, 4)
        scale = np.r_[np.full(20, 1.0 if stack[0].max() == 1.0 else 0.5), np.ones(24)]
        values.append(fwexp.evaluate(problem, scale * w)[::2])
    assert values[1:] == [pytest.approx(values[0], abs=1e-12)] * 2


@given(cases(), st.integers(0, 1000))
def test_shift_scale_and_permutation(case, seed):
    form, X, y, K, w, _ = case
    problem, rng = as_form(form, X, y, K), np.random.default_rng(seed)
    value = fwexp.evaluate(problem, w)
    # The order of examples does not matter.
    order = rng.permutation(len(X))
    shuffled = as_form(form, [X[i] for i in order], [y[i] for i in order], K)
    assert fwexp.evaluate(shuffled, w) == pytest.approx(value, abs=1e-11)
    # Neither do the names of labels (predictions may tie: hinge and norm only).
    names, p = rng.permutation(K), X[0].shape[1]
    unary, transitions = w[: K * (p + 2)].reshape(-1, K), w[K * (p + 2) :].reshape(K, K)
    renamed_w = np.concatenate([unary[:, names].ravel(), transitions[np.ix_(names, names)].ravel()])
    renamed = as_form(form, X, [np.argsort(names)[labels] for labels in y], K)
    assert fwexp.evaluate(renamed, renamed_w)[:2] == pytest.approx(value[:2], abs=1e-11)
    # The same score for all labels of a feature changes no difference of scores.
    shifted = w.copy()
    shifted[:K] += 0.75
    assert fwexp.evaluate(problem, shifted).hinge == pytest.approx(value.hinge, abs=1e-11)
    # Inputs times c, their weights divided by c.
    if form == "dense":
        scaled = np.concatenate([w[: K * p] / 4.0, w[K * p :]])
        assert fwexp.evaluate(as_form(form, [4.0 * x for x in X], y, K), scaled).hinge == pytest.approx(value.hinge, abs=1e-11)


def test_unknown_labels_of_test_sets_are_never_predicted_and_counted_wrong():
    X = [np.eye(2)[[0, 1]], np.eye(2)[[1]]]
    train = fwexp.chain_problem(X, [[0, 1], [1]])
    w = np.concatenate([[1.0, -1.0, -1.0, 1.0], np.zeros(8)])
    assert fwexp.evaluate(train, w).error == 0.0
    test = fwexp.chain_problem(X, [[0, -1], [-1]], num_states=2)
    value = fwexp.evaluate(test, w)
    assert value.error == pytest.approx((0.5 + 1.0) / 2)
    assert np.isnan(value.hinge)
    assert [list(y) for y in fwexp.predict(test, w)] == [[0, 1], [1]]
    assert fwexp.loss(test, 1, [1]) == 1.0
    for call in (lambda: fwexp.solve(test, lam=1.0), lambda: fwexp.max_oracle(test, 0, w)):
        with pytest.raises(ParameterError, match=r"labels of a training problem must be >= 0, got -1"):
            call()


def test_arrays_are_taken_as_they_are():
    """No constant is added, nothing is written to, and arrays that loaders pass are the problem's own."""
    x, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1], dtype=np.int32)
    problem = chain_from_arrays(x, y, np.array([0, 1, 3]), 2)
    assert isinstance(problem, ChainProblem)
    assert (problem.n, problem.d, problem.num_features) == (2, 2 * (2 + 2 + 2), 2)
    np.testing.assert_array_equal(problem.x.values, np.arange(6.0).reshape(3, 2))
    assert repr(problem) == "ChainProblem(n=2, d=12, K=2, positions=3)"
    same = fwexp.chain_problem([x[:1], x[1:]], [y[:1], y[1:]])
    for a, b in zip(list(problem)[:-2], list(same)[:-2]):
        np.testing.assert_array_equal(a, b)


X_OK, Y_OK = [np.ones((2, 3)), np.ones((1, 3))], [[0, 1], [1]]


@pytest.mark.parametrize(
    ("X", "y", "K", "message"),
    [
        ([], [], None, "n = 0"),
        (X_OK, Y_OK[:1], None, "X and y must have the same length, got 2 and 1"),
        ([np.ones((2, 3)), np.ones((0, 3))], [[0, 1], []], None, "length T >= 1, got 0"),
        (X_OK, [[0, 1, 1], [1]], None, r"X\[0\] and y\[0\] must have the same length T >= 1, got 2 and 3"),
        ([np.ones((2, 3)), np.ones((1, 2))], Y_OK, None, r"X\[1\] must have 3 features like X\[0\], got 2"),
        ([np.ones(3), np.ones((1, 3))], [[0], [1]], None, r"X\[0\] must have shape \(T, p\)"),
        ([np.full((2, 3), np.nan), np.ones((1, 3))], Y_OK, None, "X must be finite, got NaN or infinity"),
        ([sp.csr_array([[np.inf]]), sp.csr_array([[1.0]])], [[0], [1]], None, "X must be finite, got NaN or infinity"),
        (X_OK, [[0, 1], [-1]], None, r"labels in y must be in 0 .. 1, got -1"),
        (X_OK, [[0, 1], [-2]], 2, r"labels in y must be in 0 .. 1, got -2"),
        (X_OK, [[0, 1], [2]], 2, r"labels in y must be in 0 .. 1, got 2"),
        (X_OK, [[0, 1], [1.0]], None, r"y\[1\] must hold integers, got float64"),
        (X_OK, Y_OK, 0, "num_states must be an integer >= 1, got 0"),
        (X_OK, Y_OK, 2.0, "num_states must be an integer >= 1, got 2.0"),
        (X_OK, Y_OK, True, "num_states must be an integer >= 1, got True"),
    ],
)
def test_bad_arrays_are_named_on_one_line(X, y, K, message):
    with pytest.raises(ParameterError, match=message) as error:
        fwexp.chain_problem(X, y, K)
    assert isinstance(error.value, ValueError)
    assert "\n" not in str(error.value)
