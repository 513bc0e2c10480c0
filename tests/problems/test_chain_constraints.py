"""Chains with forbidden labels, weights of positions, and cuts, against enumeration."""

from itertools import pairwise, product

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems import protocol
from fwexp.problems.chain import chain_from_arrays, with_costs, with_forbidden, with_position_weight
from fwexp.testing import check_problem

K, P, LENGTHS = 3, 2, (3, 1, 4, 2)
FORBIDDEN = [(0, 1), (2, 2), (None, 2), (1, None)]
CUTS = np.array([[False, False], [True, True], [False, True], [True, False]])
COSTS = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, 3.0], [4.0, 0.25, 0.0]])
Y = [[0, 2, 0], [2], [1, 2, 1, 0], [2, 0]]


def is_allowed(y, cuts=(False, False)):
    pairs = [*pairwise(y), *([] if cuts[0] else [(None, y[0])]), *([] if cuts[1] else [(y[-1], None)])]
    return not any(pair in FORBIDDEN for pair in pairs)


ALLOWED = [[np.array(y) for y in product(range(K), repeat=T) if is_allowed(y, cuts)] for T, cuts in zip(LENGTHS, CUTS)]
X = [np.random.default_rng(3).normal(size=(T, P)) for T in LENGTHS]
WEIGHTS = [np.random.default_rng(4).random(T) * 2 for T in LENGTHS]


def problem(loss="errors", costs=True):
    ptr = np.concatenate(([0], np.cumsum(LENGTHS)))
    plain = chain_from_arrays(np.concatenate(X), np.concatenate(Y), ptr, K, loss, CUTS)
    plain = with_forbidden(with_position_weight(plain, np.concatenate(WEIGHTS)), FORBIDDEN)
    return with_costs(plain, COSTS) if costs else plain


def feature(i, y):
    """Return phi by its definition."""
    w = np.zeros((P + 2 + K, K))
    for x, label in zip(X[i], y):
        w[:P, label] += x
    w[P, y[0]] += not CUTS[i, 0]
    w[P + 1, y[-1]] += not CUTS[i, 1]
    for a, b in pairwise(y):
        w[P + 2 + a, b] += 1.0
    return w.ravel()


def loss(i, y, kind="errors", costs=True):
    each = [c * (COSTS[a, b] if costs else a != b) for c, a, b in zip(WEIGHTS[i], Y[i], y)]
    return np.sum(each) if kind == "errors" else np.mean(each)


@pytest.mark.parametrize("kind", ["errors", "share"])
@pytest.mark.parametrize("costs", [True, False])
def test_oracles_losses_and_features_are_those_of_the_allowed_labelings(kind, costs):
    chains = problem(kind, costs)
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=chains.d)
        for i, allowed in enumerate(ALLOWED):
            scores = np.array([feature(i, y) @ w for y in allowed])
            losses = np.array([loss(i, y, kind, costs) for y in allowed])
            np.testing.assert_allclose([fwexp.loss(chains, i, y) for y in allowed], losses, atol=1e-14)
            y, value = fwexp.max_oracle(chains, i, w)
            assert value == pytest.approx((scores + losses).max() - feature(i, Y[i]) @ w, abs=1e-12)
            assert is_allowed(tuple(y), CUTS[i])
            np.testing.assert_array_equal(fwexp.predict(chains, w)[i], allowed[int(scores.argmax())])
            phi = fwexp.joint_feature(chains, i, allowed[0]).toarray()[0]
            np.testing.assert_allclose(phi, feature(i, allowed[0]))
            assert len(protocol.all_labelings(chains, i, 100)) == len(allowed)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_expectations_are_over_the_allowed_labelings(scale):
    chains = problem()
    w = scale * np.random.default_rng(1).normal(size=chains.d)
    work, scratch = protocol.workspace(chains), protocol.expectation_scratch(chains)
    for i, allowed in enumerate(ALLOWED):
        protocol.scores(chains, i, protocol.from_public(chains, w), work.theta)
        potentials = np.zeros(chains.part_ptr[i + 1] - chains.part_ptr[i])
        protocol.loss_augmented_scores(chains, i, work.theta, 1.0, 1.0, potentials)
        kept = potentials.copy()
        mean = np.zeros_like(potentials)
        _, mean_loss, _ = protocol.expectation_oracle(chains, i, potentials, mean, scratch)
        np.testing.assert_array_equal(potentials, kept)
        losses = np.array([loss(i, y) for y in allowed])
        scores = losses + [feature(i, y) @ w for y in allowed]
        probability = np.exp(scores - scores.max())
        probability /= probability.sum()
        assert mean_loss == pytest.approx(probability @ losses, abs=1e-10)
        marginals = np.zeros((len(X[i]), K))
        for p, y in zip(probability, allowed):
            marginals[np.arange(len(y)), y] += p
        found = -mean[K * chains.width :].reshape(-1, chains.width)[: len(X[i]), :K]
        found[np.arange(len(X[i])), Y[i]] += 1.0
        np.testing.assert_allclose(found, marginals, atol=1e-10)


def test_weights_of_a_cut_sequence_are_not_those_of_ends():
    """A sequence cut in two has the scores of the whole, without the transition in between."""
    x, labels = np.random.default_rng(0).normal(size=(5, P)), [0, 1, 2, 0, 1]
    whole = fwexp.chain_problem([x], [labels], K)
    halves = chain_from_arrays(x, labels, [0, 2, 5], K, is_cut=[[False, True], [True, False]])
    phi = sum(fwexp.joint_feature(halves, i, y).toarray()[0] for i, y in enumerate((labels[:2], labels[2:])))
    missing = np.zeros((P + 2 + K, K))
    missing[P + 2 + labels[1], labels[2]] = 1.0
    np.testing.assert_allclose(phi + missing.ravel(), fwexp.joint_feature(whole, 0, labels).toarray()[0])


@pytest.mark.parametrize("solver", ["auto", "bcfw", "one_slack", "online_eg"])
def test_training_is_certified(solver):
    chains = problem()
    result = fwexp.solve(chains, solver, lam=0.1, max_passes=3000, gap_tol=1e-3)
    found = np.mean(
        [max(loss(i, y) - (feature(i, Y[i]) - feature(i, y)) @ result.w for y in allowed) for i, allowed in enumerate(ALLOWED)]
    )
    assert result.primal == pytest.approx(0.05 * result.w @ result.w + found, abs=1e-9)
    assert result.status == "converged"


def test_long_sequences_have_cuts_too():
    """Sequences without a Gram matrix take another way to norms."""
    rng, lengths = np.random.default_rng(0), (200, 150)
    x, y = rng.normal(size=(350, P)), rng.integers(K, size=350)
    y[[0, 199, 200, 349]] = 0
    chains = chain_from_arrays(x, y, [0, 200, 350], K, "errors", [[False, True], [True, False]])
    check_problem(chains)
    assert len(lengths) == chains.n
    result = fwexp.solve(chains, "bcfw", lam=1.0, max_passes=20)
    assert result.status != "diverged"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["errors", "share"])
def test_family_keeps_the_promises_of_the_protocol(kind):
    check_problem(problem(kind))
    check_problem(problem(kind, costs=False))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"forbidden": [(0, 3)]}, r"forbidden must hold pairs \(from, to\) of labels 0 .. 2 or one None, got \(0, 3\)"),
        ({"forbidden": [(None, None)]}, r"forbidden must hold pairs .*, got \(None, None\)"),
        ({"forbidden": [3]}, "forbidden must hold pairs .*, got 3"),
        ({"forbidden": [(0, 2)]}, r"y must hold no forbidden labels, got some in y\[0\] at position 1"),
        ({"forbidden": [(None, 2)]}, r"y must hold no forbidden labels, got some in y\[1\] at position 0"),
        ({"position_weight": [[1.0]] * 4}, r"position_weight must hold one array \(T,\) per sequence, like y"),
        ({"position_weight": [-np.ones(T) for T in LENGTHS]}, "position_weight must be >= 0, got -1.0"),
        ({"position_weight": [np.full(T, np.nan) for T in LENGTHS]}, "position_weight must be finite"),
    ],
)
def test_mistakes_are_one_line(more, message):
    with pytest.raises(ParameterError, match=message):
        fwexp.chain_problem(X, Y, K, **more)


def test_subsets_keep_what_belongs_to_their_sequences():
    chains = problem()
    part = chains[[2, 0]]
    w = np.random.default_rng(0).normal(size=chains.d)
    assert [fwexp.max_oracle(part, k, w)[1] for k in (0, 1)] == [fwexp.max_oracle(chains, i, w)[1] for i in (2, 0)]
