"""Chains whose transitions have features, against enumeration."""

from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.problems import protocol
from fwexp.testing import check_problem

P, Q = 2, 3
KINDS = {"dense": np.asarray, "sparse": sp.csr_array, "binary": lambda z: sp.csr_array((np.asarray(z) > 0.5).astype(float))}


class Chains:
    """A problem, and the same by its definition."""

    def __init__(self, K=3, lengths=(3, 1, 4, 2), kind="dense", seed=0, forbidden=(), loss="errors"):
        rng = np.random.default_rng(seed)
        self.K, self.kind, self.forbidden, self.loss = K, loss, [*forbidden], loss
        self.X = [rng.normal(size=(T, P)) for T in lengths]
        self.Z = [KINDS[kind](rng.normal(size=(T - 1, Q)) * (rng.random((T - 1, Q)) < 0.7)) for T in lengths]
        self.allowed = [[np.array(y) for y in product(range(K), repeat=T) if self.is_allowed(y)] for T in lengths]
        self.y = [allowed[rng.integers(len(allowed))] for allowed in self.allowed]
        more = {"forbidden": self.forbidden} if forbidden else {}
        self.problem = fwexp.chain_problem(self.X, self.y, K, Z=self.Z, loss=loss, **more)

    def is_allowed(self, y):
        return not any(pair in self.forbidden for pair in [*pairwise(map(int, y)), (None, int(y[0])), (int(y[-1]), None)])

    def feature(self, i, y):
        K = self.K
        rows, edges, ends = np.zeros((P, K)), np.zeros((Q, K, K)), np.zeros((2 + K, K))
        z = self.Z[i].toarray() if sp.issparse(self.Z[i]) else self.Z[i]
        for x, label in zip(self.X[i], y):
            rows[:, label] += x
        for t, (a, b) in enumerate(pairwise(y)):
            edges[:, a, b] += z[t]
            ends[2 + a, b] += 1.0
        ends[0, y[0]] += 1.0
        ends[1, y[-1]] += 1.0
        return np.concatenate([rows.ravel(), edges.ravel(), ends.ravel()])

    def values(self, i, w):
        """Return <w, phi(y)> and the losses of all labelings."""
        wrong = [np.sum(y != self.y[i]) for y in self.allowed[i]]
        losses = np.array(wrong) / (1 if self.loss == "errors" else len(self.y[i]))
        return np.array([self.feature(i, y) @ w for y in self.allowed[i]]), losses


def check_oracles(chains, scale=1.0):
    problem, K, width = chains.problem, chains.K, chains.problem.width
    w = scale * np.random.default_rng(5).normal(size=problem.d)
    internal = protocol.from_public(problem, w)
    np.testing.assert_array_equal(protocol.to_public(problem, internal), w)
    work, scratch = protocol.workspace(problem), protocol.expectation_scratch(problem)
    for i, allowed in enumerate(chains.allowed):
        scores, losses = chains.values(i, w)
        truth, T = chains.feature(i, chains.y[i]) @ w, len(chains.y[i])
        close = {"rtol": 1e-12, "atol": 1e-11 * scale}
        y, value = fwexp.max_oracle(problem, i, w)
        np.testing.assert_allclose(value, (scores + losses).max() - truth, **close)
        assert chains.is_allowed(y)
        np.testing.assert_allclose(
            scores[[(a == y).all() for a in allowed]] + fwexp.loss(problem, i, y), (scores + losses).max(), **close
        )
        np.testing.assert_array_equal(fwexp.predict(problem, w)[i], allowed[int(scores.argmax())])
        for y in allowed[:4]:
            np.testing.assert_allclose(fwexp.joint_feature(problem, i, y).toarray()[0], chains.feature(i, y), atol=1e-14)

        # Marginals, also of transitions at every position, the gradient and the entropy.
        protocol.scores(problem, i, internal, work.theta)
        potentials = np.zeros(problem.part_ptr[i + 1] - problem.part_ptr[i])
        protocol.loss_augmented_scores(problem, i, work.theta, 1.0, 1.0, potentials)
        mean = np.zeros_like(potentials)
        _, mean_loss, entropy = protocol.expectation_oracle(problem, i, potentials, mean, scratch)
        p = np.exp(scores + losses - (scores + losses).max())
        p /= p.sum()
        np.testing.assert_allclose(mean_loss, p @ losses, atol=1e-10)
        np.testing.assert_allclose(entropy, -np.sum(p[p > 0] * np.log(p[p > 0])), atol=1e-9 * max(1.0, scale))
        edges = np.zeros((max(T - 1, 0), K, width))
        for share, y in zip(p, allowed):
            for t, (a, b) in enumerate(pairwise(y)):
                edges[t, a, b] += share
        found = -mean[T * width :].reshape(T - 1, K, width)
        for t, (a, b) in enumerate(pairwise(chains.y[i])):
            found[t, a, b] += 1.0
        np.testing.assert_allclose(found, edges, atol=1e-10)
        protocol.set_dense(problem, i, mean, work.direction)
        image = np.zeros_like(internal)
        protocol.scatter(problem, i, work.direction, 1.0, image)
        expected = chains.feature(i, chains.y[i]) - sum(share * chains.feature(i, y) for share, y in zip(p, allowed))
        np.testing.assert_allclose(protocol.to_public(problem, image), expected, atol=1e-10)
        np.testing.assert_allclose(protocol.norm_sq(problem, i, work.direction), expected @ expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(protocol.dot(problem, i, work.direction, work.theta), expected @ w, rtol=1e-9, atol=1e-9 * scale)
        radius = max((d := chains.feature(i, chains.y[i]) - chains.feature(i, y)) @ d for y in allowed)
        assert radius <= protocol.radii_sq(problem)[i] + 1e-12


@settings(max_examples=25, deadline=None)
@given(
    K=st.integers(1, 4),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    seed=st.integers(0, 99),
    kind=st.sampled_from([*KINDS]),
    loss=st.sampled_from(["errors", "share"]),
    scale=st.sampled_from([1e-10, 1.0, 300.0]),
)
def test_oracles_are_right(K, lengths, seed, kind, loss, scale):
    check_oracles(Chains(K, lengths, kind, seed, loss=loss), scale)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_oracles_with_forbidden_pairs_are_right(scale):
    check_oracles(Chains(forbidden=[(0, 1), (2, 2), (None, 2), (1, None)]), scale)


def test_many_labels_fill_whole_registers():
    check_oracles(Chains(K=17, lengths=(2, 3)))
    check_oracles(Chains(K=33, lengths=(2, 1)))


def test_features_that_are_0_leave_a_plain_chain():
    chains = Chains()
    plain = fwexp.chain_problem(chains.X, chains.y, 3)
    edges = fwexp.chain_problem(chains.X, chains.y, 3, Z=[0.0 * z for z in chains.Z])
    results = [fwexp.solve(one, lam=0.1, gap_tol=1e-6, max_passes=2000) for one in (plain, edges)]
    assert results[0].primal == pytest.approx(results[1].primal, abs=1e-6)
    assert not results[1].w[3 * P : 3 * P + 9 * Q].any()


@pytest.mark.parametrize(
    ("solver", "objective", "options", "tol"),
    [
        ("auto", "hinge", {}, 1e-4),
        ("bcfw", "hinge", {"iterates": ["last", "wavg"], "iterate": "wavg"}, 5e-3),
        ("one_slack", "hinge", {}, 1e-4),
        ("auto", "log", {}, 1e-4),
        ("lbfgs", "softmax_margin", {}, 1e-4),
    ],
)
def test_training_reaches_the_optimum(solver, objective, options, tol):
    chains = Chains(lengths=(3, 1, 2))
    result = fwexp.solve(chains.problem, solver, lam=0.2, objective=objective, gap_tol=tol, max_passes=5000, **options)
    assert result.status == "converged"
    cost = float(objective != "log")

    def primal(w):
        total = 0.0
        for i in range(3):
            scores, losses = chains.values(i, w)
            values = scores + cost * losses - chains.feature(i, chains.y[i]) @ w
            total += values.max() if objective == "hinge" else np.logaddexp.reduce(values)
        return 0.1 * w @ w + total / 3

    assert result.primal == pytest.approx(primal(result.w), abs=1e-9)
    optimum = chains.optimum(0.2) if objective == "hinge" else result.primal - result.gap
    assert result.dual <= optimum + 1e-9
    assert result.primal - optimum <= tol + 1e-9
    rng = np.random.default_rng(0)
    assert all(result.dual <= primal(result.w + 0.1 * rng.normal(size=len(result.w))) for _ in range(5))


def optimum(self, lam):
    """Return the optimum of the dual quadratic program over all labelings."""
    from scipy.optimize import minimize

    n, columns, losses, owner = len(self.y), [], [], []
    for i, allowed in enumerate(self.allowed):
        for y in allowed:
            columns.append((self.feature(i, self.y[i]) - self.feature(i, y)) / (lam * n))
            losses.append(np.sum(y != self.y[i]) / n)
            owner.append(i)
    A, b, owner = np.array(columns).T, np.array(losses), np.array(owner)
    start = np.array([float((y == self.y[i]).all()) for i, allowed in enumerate(self.allowed) for y in allowed])
    sums = {
        "type": "eq",
        "fun": lambda a: np.bincount(owner, a) - 1.0,
        "jac": lambda a: (owner == np.arange(n)[:, None]).astype(float),
    }
    found = minimize(
        lambda a: (0.5 * lam * (A @ a) @ (A @ a) - b @ a, lam * A.T @ (A @ a) - b),
        start,
        jac=True,
        bounds=[(0.0, 1.0)] * len(b),
        constraints=[sums],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return -found.fun


Chains.optimum = optimum


@pytest.mark.parametrize("kind", [*KINDS])
def test_family_keeps_the_promises_of_the_protocol(kind):
    check_problem(Chains(kind=kind).problem)


def test_subsets_and_predictions_have_their_transitions():
    chains = Chains(kind="sparse")
    w = np.random.default_rng(0).normal(size=chains.problem.d)
    part = chains.problem[[2, 0]]
    assert [fwexp.max_oracle(part, k, w)[1] for k in (0, 1)] == [fwexp.max_oracle(chains.problem, i, w)[1] for i in (2, 0)]
    result = fwexp.solve(chains.problem, lam=0.1, max_passes=5)
    for one, other in zip(result.predict(chains.X, Z=chains.Z), result.predict(chains.problem)):
        np.testing.assert_array_equal(one, other)


def test_mistakes_are_one_line():
    chains = Chains()
    for Z, message in (
        (chains.Z[:2], "Z must have one array per sequence, 4, got 2"),
        ([chains.X[0], *chains.Z[1:]], r"Z\[0\] must have shape \(T - 1, q\) = \(2, 2\), got \(3, 2\)"),
        ([*chains.Z[:3], np.ones((1, 4))], r"Z\[3\] must have shape \(T - 1, q\) = \(1, 3\), got \(1, 4\)"),
        ([np.full((2, 3), np.nan), *chains.Z[1:]], "Z must be finite, got NaN"),
        (3, r"Z must be a list of arrays \(T - 1, q\), one per sequence, got 3|Z must"),
    ):
        with pytest.raises(ParameterError, match=message):
            fwexp.chain_problem(chains.X, chains.y, 3, Z=Z)
    with pytest.raises(OptionError, match="kernels take problems without features of transitions"):
        fwexp.solve(chains.problem, "kernel_bcfw", lam=0.1)
    with pytest.raises(ParameterError, match="X must have d = 48 like"):
        fwexp.solve(chains.problem, lam=0.1, max_passes=1).predict(chains.X)
