"""Graphs without cycles: marginals, the log-loss and its solvers, and labelings of more than two labels, against enumeration."""

from itertools import product

import numpy as np
import pytest
import scipy.optimize

import fwexp
from fwexp.errors import OptionError
from fwexp.oracles.forward_backward import forward_backward, scratch_size
from fwexp.oracles.max_flow import incidence
from fwexp.oracles.tree_sum_product import forest_marginals
from fwexp.problems import protocol, tiers
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.loss_terms import make_objective
from fwexp.solvers import SOLVERS, check_options
from fwexp.solvers.base import Budget
from fwexp.solvers.marginal_oracle import MarginalOracle
from fwexp.testing import check_problem
from tests import reference as ref
from tests import small_graphs
from tests.oracles.test_tree_max_product import random_forest
from tests.solvers.test_block_entropic import Enumerated

LAM = 0.1
FORMS = {
    "two labels": {},
    "foreground": {"foreground_only": True},
    "errors": {"loss": "errors"},
    "three labels": {"num_labels": 3},
    "three labels, balanced": {"num_labels": 3, "loss": "balanced"},
}


def marginals(kernel, score, pairs, edges):
    """Return what the kernel computes: log Z, and the marginals of nodes and of edges."""
    nodes, ends = len(score), edges.astype(np.int32).ravel()
    score, pairs, order, up = score.copy(), pairs.copy(), *np.zeros((2, nodes), dtype=np.int32)
    log_z = kernel(score, pairs, ends, *incidence(ends, nodes), order, up, np.zeros_like(score), np.zeros(score.shape[1]))
    return log_z, score, pairs


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("L", [1, 2, 3])
def test_marginals_are_sums_over_all_labelings(L, scale):
    rng = np.random.default_rng(L)
    for _ in range(20):
        score, edges, pairs = random_forest(rng, L)
        score, pairs = scale * score, scale * pairs
        every = np.array(list(product(range(L), repeat=len(score))))
        values = score[np.arange(len(score)), every].sum(axis=1)
        values += sum((pairs[e, every[:, a], every[:, b]] for e, (a, b) in enumerate(edges)), start=np.zeros(len(every)))
        log_z = np.logaddexp.reduce(values)
        share = np.exp(values - log_z)
        of_nodes = [[share[every[:, v] == k].sum() for k in range(L)] for v in range(len(score))]
        of_pairs = [[[share[(every[:, a] == k) & (every[:, b] == m)].sum() for m in range(L)] for k in range(L)] for a, b in edges]
        for kernel in (forest_marginals, forest_marginals.py_func):
            found = marginals(kernel, score, pairs, edges)
            assert found[0] == pytest.approx(log_z, rel=1e-13)
            np.testing.assert_allclose(found[1], of_nodes, atol=1e-14 * max(scale, 10.0))
            np.testing.assert_allclose(found[2], np.reshape(of_pairs, pairs.shape), atol=1e-14 * max(scale, 10.0))


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_path_is_a_chain(scale):
    T, K, width = 2000, 3, 8
    rng = np.random.default_rng(0)
    score, transitions = scale * rng.normal(size=(T, K)), scale * rng.normal(size=(K, K))
    edges = np.column_stack([np.arange(T - 1), np.arange(1, T)])
    log_z, nodes, pairs = marginals(forest_marginals, score, np.repeat(transitions[None], T - 1, axis=0), edges)
    unary, table, of_nodes = np.zeros((T, width)), np.zeros((K, width)), np.zeros(T * width)
    unary[:, :K], table[:, :K], of_pairs = score, transitions, np.zeros(K * width)
    found = forward_backward(unary.ravel(), table.ravel(), K, width, of_nodes, of_pairs, np.zeros(scratch_size(T, K, width)))
    assert log_z == pytest.approx(found, rel=1e-12)
    np.testing.assert_allclose(nodes, of_nodes.reshape(T, width)[:, :K], atol=1e-10)
    np.testing.assert_allclose(pairs.sum(axis=0), of_pairs.reshape(K, width)[:, :K], atol=1e-8)


def forests(seed=0, num_labels=2, n=5, **options):
    """Return random forests twice: enumerated, and compiled; some have no edge, in one all nodes are in one tree."""
    rng = np.random.default_rng(seed)
    X, edges, Z, y, sizes = small_graphs.random_arrays(rng, n, num_labels=num_labels)
    for i, x in enumerate(X):
        joined = [(v, int(rng.integers(v)))[:: rng.choice([-1, 1])] for v in range(1, len(x)) if i == 0 or rng.random() < 0.8]
        edges[i], Z[i] = joined, rng.random((len(joined), small_graphs.Q))
    problem = small_graphs.build(X, edges, Z, y, sizes, num_labels=num_labels, **options)
    psi, losses, labelings = [], [], []
    for i in range(n):
        every = list(product(range(num_labels), repeat=len(X[i])))
        only = options.get("foreground_only", False)
        phi = [small_graphs.phi(X[i], edges[i], Z[i], labels, num_labels, only) for labels in (y[i], *every)]
        psi.append(phi[0] - np.array(phi[1:]))
        losses.append(np.array([protocol.loss(problem, i, protocol.as_labeling(problem, i, np.array(one))) for one in every]))
        labelings.append(every)
    return ref.TinyProblem(tuple(psi), tuple(losses), tuple(labelings), tuple(tuple(one) for one in y)), problem


def constrained_optimum(enumerated, problem):
    """Return the minimum of P where weights of edge features are not negative."""
    d = problem.d
    bounds = [(None, None)] * (d - problem.num_pairwise) + [(0.0, None)] * problem.num_pairwise
    options = {"ftol": 0.0, "gtol": 1e-13, "maxiter": 10_000, "maxfun": 100_000, "maxls": 50}
    how = {"jac": enumerated.gradient, "method": "L-BFGS-B", "bounds": bounds, "options": options}
    return scipy.optimize.minimize(enumerated.primal, np.zeros(d), **how).fun


@pytest.mark.parametrize("objective", ["log", "softmax_margin"])
@pytest.mark.parametrize("form", FORMS)
def test_values_and_gradients(form, objective):
    tp, problem = forests(1, **FORMS[form])
    term, rng = make_objective(objective, 0.7), np.random.default_rng(2)
    enumerated = Enumerated(tp, LAM, term)
    for scale in (0.0, 1e-3, 1.0, 100.0):
        w = small_graphs.feasible(problem, scale * rng.normal(size=problem.d))
        internal = protocol.from_public(problem, w)
        value = Evaluator(problem, term)(internal, error=False)
        assert 0.5 * LAM * value.norm_sq + value.hinge == pytest.approx(enumerated.primal(w), rel=1e-12)
        point = MarginalOracle(problem, LAM, term)(internal)
        assert point.primal == pytest.approx(enumerated.primal(w), rel=1e-11)
        gradient = protocol.to_public(problem, point.gradient)
        np.testing.assert_allclose(gradient, enumerated.gradient(w), atol=1e-11 * (1 + scale))
        image = protocol.to_public(problem, point.image)
        dual = enumerated.dual([enumerated.distribution(i, w) for i in range(tp.n)])
        assert point.ell - 0.5 * LAM * image @ image == pytest.approx(dual, abs=1e-10 * (1 + scale))


@pytest.mark.parametrize("objective", ["log", "softmax_margin"])
@pytest.mark.parametrize("form", ["two labels", "foreground", "three labels"])
@pytest.mark.parametrize("solver", ["block_entropic", "lbfgs"])
def test_solvers_reach_the_optimum_with_valid_duals(solver, form, objective):
    tp, problem = forests(3, **FORMS[form])
    term, cls = make_objective(objective), SOLVERS[solver]
    enumerated = Enumerated(tp, LAM, term)
    best = constrained_optimum(enumerated, problem)
    run = cls(problem, LAM, check_options(cls, {}), objective=term)
    for step in range(1, 100):
        run.advance(Budget(10**9, step))
        assert run.point("last").dual <= best + 1e-10
    run.advance(Budget(3000 * problem.n, 10**9))
    point = run.point("last")
    w = protocol.to_public(problem, point.w)
    assert abs(enumerated.primal(w) - best) <= 1e-10
    assert enumerated.primal(w) - point.dual == pytest.approx(run.exact_gap(), abs=1e-10)
    assert run.exact_gap() <= 1e-7


def test_weights_at_zero_are_held():
    """With features of edges that are cut by the truth, the best weights of edges are 0."""
    rng = np.random.default_rng(4)
    X, edges = [rng.normal(size=(4, 2)) for _ in range(6)], [[(0, 1), (1, 2), (2, 3)]] * 6
    problem = fwexp.segmentation_problem(X, edges, [np.ones((3, 1))] * 6, [[0, 1, 0, 1]] * 6)
    for solver in ("lbfgs", "block_entropic"):
        result = fwexp.solve(problem, solver, lam=0.1, objective="log", gap_tol=1e-8, max_passes=2000)
        assert result.status == "converged"
        assert result.w[-1] == 0.0


@pytest.mark.parametrize("form", FORMS)
def test_families_keep_their_promises_on_forests(form):
    _, problem = forests(5, **FORMS[form])
    assert "expectations" in tiers.tiers_of(problem)
    check_problem(problem)


def test_more_labels_are_certified_on_forests():
    tp, problem = forests(6, num_labels=3)
    result = fwexp.solve(problem, lam=LAM, gap_tol=1e-8, max_passes=5000)
    assert result.status == "converged"
    assert result.gap <= 1e-8
    for i in range(tp.n):
        scores = -tp.psi[i] @ result.w
        found = tuple(fwexp.predict(problem, result.w)[i].tolist())
        assert scores[tp.labelings[i].index(found)] == pytest.approx(scores.max(), abs=1e-12)


@pytest.mark.parametrize("num_labels", [2, 3])
def test_graphs_with_cycles_are_rejected(num_labels):
    rng = np.random.default_rng(7)
    cycle, double = [(0, 1), (1, 2), (0, 2)], [(0, 1), (0, 1)]
    for edges in (cycle, double):
        Z, y = [np.ones((len(edges), 1))], [[0, 1, 1]]
        problem = fwexp.segmentation_problem([rng.normal(size=(3, 2))], [edges], Z, y, num_labels=num_labels)
        assert "expectations" not in tiers.tiers_of(problem)
        message = r"which \w+ has for graphs without cycles only; accepted here: hinge"
        for solver in ("auto", "block_entropic", "lbfgs"):
            with pytest.raises(OptionError, match=message):
                fwexp.solve(problem, solver, lam=0.1, objective="log")
        with pytest.raises(OptionError, match=message):
            fwexp.evaluate(problem, np.zeros(problem.d), objective="log")
        with pytest.raises(OptionError, match=message):
            fwexp.regularization_path(problem, lam_min=0.1, objective="log")
        with pytest.raises(OptionError, match="has for graphs without cycles only"):
            fwexp.solve(problem, "online_eg", lam=0.1)
