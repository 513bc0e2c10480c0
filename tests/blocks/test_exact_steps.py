"""``step=exact``: every visit maximises the dual over a whole block, which a block gap of 0 after it shows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import fwexp
from fwexp.driver.iteration import Budget
from fwexp.errors import OptionError
from fwexp.methods import methods
from fwexp.problems import protocol
from fwexp.problems.enumerated import MOST_OUTPUTS
from fwexp.problems.protocol import blocks_to_weights, to_public
from fwexp.solvers import SOLVERS, check_options
from fwexp.solvers.auto import best_options
from fwexp.testing import check_solver, small_chains
from tests import reference as ref
from tests.small_problems import relative_error

BIG = 10**9
LAM = 0.05
GAPS = ("uniform", "perm", "cyclic", "gap", "gap_perm", "max_gap", "max_gain", "lipschitz")
ACCELERATE = {"kap": None, "period": None, "start": 2.0}


def multiclass(seed, n=8, K=4, p=3, form="dense", zero=True):
    """Return inputs, some of them zero, classes, costs and the problem."""
    rng = np.random.default_rng(seed)
    X, y, costs = rng.normal(size=(n, p)), rng.integers(K, size=n), rng.uniform(0.2, 2.0, size=(K, K))
    if form != "dense":
        X = X * (rng.random(X.shape) < 0.6) if form == "csr" else (rng.random(X.shape) < 0.6).astype(float)
    if form == "float32":
        X = X.astype(np.float32)
    X[: int(zero)] = 0.0
    np.fill_diagonal(costs, 0.0)
    return X, y, costs, fwexp.multiclass_problem(sp.csr_array(X) if form in ("csr", "binary") else X, y, K, costs=costs)


def several_labels(seed, n=6, labels=3, p=2, num_labels=2, **options):
    """Several labels for one input each, with weights of their own: nodes without edges."""
    rng = np.random.default_rng(seed)
    X = [np.kron(np.eye(labels), rng.normal(size=p)) for _ in range(n)]
    none = [np.zeros((0, 2), dtype=int)] * n
    y, weights = [rng.integers(num_labels, size=labels) for _ in range(n)], [rng.uniform(0.1, 1.0, size=labels) for _ in range(n)]
    return fwexp.segmentation_problem(X, none, [np.zeros((0, 1))] * n, y, weights, num_labels, **options)


def enumerated(seed, n=5, m=6, d=3, rescaling="margin"):
    """Return outputs of which some repeat or are 0, with losses of which some are 0."""
    rng = np.random.default_rng(seed)
    psi, losses = [], []
    for _ in range(n):
        rows, values = rng.normal(size=(rng.integers(1, m + 1), d)), rng.uniform(size=m)
        for k in range(1, len(rows)):
            kind = rng.integers(5)
            if kind < 2:
                rows[k] = rows[k - 1] * kind
        values[rng.random(m) < 0.2] = 0.0
        rows[0], values[0] = 0.0, 0.0
        psi.append(rows)
        losses.append(values[: len(rows)])
    return fwexp.enumerated_problem(psi, losses, rescaling=rescaling)


FAMILIES = {
    "multiclass": lambda seed: multiclass(seed)[-1],
    "weighted": lambda seed: fwexp.weighted_problem(multiclass(seed)[-1], [0, 1, 3, 1, 1, 0.5, 2, 1]),
    "one class": lambda seed: multiclass(seed, K=1)[-1],
    "two classes": lambda seed: multiclass(seed, K=2)[-1],
    "ties": lambda seed: fwexp.multiclass_problem(np.repeat(np.eye(2), 3, axis=0), [0, 1, 2, 2, 1, 0], 9),
    "slack of 0-1 losses": lambda seed: fwexp.multiclass_problem(*multiclass(seed)[:2], 4, rescaling="slack"),
    "several labels": several_labels,
    "labels of the foreground": lambda seed: several_labels(seed, foreground_only=True),
    "several labels of five": lambda seed: several_labels(seed, num_labels=5),
    "enumerated": enumerated,
    "enumerated, slack": lambda seed: enumerated(seed, rescaling="slack"),
    "enumerated, weighted": lambda seed: fwexp.weighted_problem(enumerated(seed), [1, 2, 0, 0.5, 1]),
}


def start(problem, order=None, lam=LAM, **options):
    options = check_options(SOLVERS["bcfw"], {"step": "exact"} | options)
    return SOLVERS["bcfw"](problem, lam, options, 0, ("last", "wavg") if options.accelerate is False else ("last",), order)


# --- against the transcription ------------------------------------------------------------------------------------------


def assert_equal_steps(X, y, costs, problem, weights=None, steps=60):
    order = np.random.default_rng(0).integers(len(y), size=steps)
    wanted, running = ref.exact_ascent(X, y, costs, LAM, order, weights), start(problem, order)
    for k in range(steps + 1):
        running.advance(Budget(BIG, k))
        point = running.point("last")
        assert relative_error(to_public(problem, point.w), wanted.W[k].ravel()) <= 1e-11 or not wanted.W[k].any(), k
        assert point.dual == pytest.approx(wanted.dual[k], rel=1e-11, abs=1e-13)
        if k:
            assert running.state.iterate.gaps[order[k - 1]] == pytest.approx(max(wanted.gaps[k - 1], 0.0), abs=1e-11)


@pytest.mark.parametrize("K", [1, 2, 3, 9])
def test_every_step_equals_the_transcription(K):
    for seed in range(3):
        assert_equal_steps(*multiclass(seed, K=K))


@pytest.mark.parametrize("form", ["csr", "binary", "float32"])
def test_all_kinds_of_inputs_equal_the_transcription(form):
    assert_equal_steps(*multiclass(1, form=form))


def test_weighted_examples_equal_the_transcription():
    X, y, costs, problem = multiclass(2)
    weights = np.array([0.0, 1.0, 3.0, 1.0, 0.0, 0.5, 2.0, 1.0])
    assert_equal_steps(X, y, costs, fwexp.weighted_problem(problem, weights), weights)


# --- each visit ---------------------------------------------------------------------------------------------------------


def visit(problem, i, w, losses, blocks, work, lam):
    """Take one exact step by functions of the protocol; return the block gap before it, and after it relative to its terms."""
    c = 1.0 / (lam * problem.n)
    before = block_gap(problem, i, w, losses, blocks, work)
    losses[i] = protocol.best_block(problem, i, work.theta, c, blocks, work.direction, work.scratch)
    protocol.add_to_block(problem, i, work.direction, 1.0, blocks)
    protocol.scatter(problem, i, work.direction, c, w)
    return before, block_gap(problem, i, w, losses, blocks, work)


def block_gap(problem, i, w, losses, blocks, work):
    """Return n times the Frank-Wolfe gap of block i."""
    protocol.scores(problem, i, w, work.theta)
    protocol.max_oracle(problem, i, work.theta, work.y, work.scratch)
    protocol.set_direction(problem, i, work.y, blocks, work.direction)
    return protocol.loss(problem, i, work.y) - losses[i] - protocol.dot(problem, i, work.direction, work.theta)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), power=st.integers(-6, 6))
def test_nothing_is_left_of_the_gap_of_a_block_that_was_visited(family, seed, power):
    problem, lam = FAMILIES[family](seed), 10.0**power
    rng, work, blocks = np.random.default_rng(seed), protocol.workspace(problem), protocol.new_blocks(problem)
    w, losses, dual = np.zeros(problem.num_weights), np.zeros(problem.n), 0.0
    for i in rng.integers(problem.n, size=4 * problem.n):
        before, after = visit(problem, i, w, losses, blocks, work, lam)
        assert before >= -1e-12
        assert abs(after) <= 1e-11 * (1.0 + before)
        assert 0.0 <= losses[i] <= 10.0
        new = losses.mean() - 0.5 * lam * w @ w
        assert new >= dual - 1e-12
        dual = new
    assert relative_error(w + 1.0, blocks_to_weights(problem, blocks, 1.0 / (lam * problem.n)) + 1.0) <= 1e-11


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-10, 1e-3, 1e4, 1e8]), long=st.booleans())
def test_scales_of_costs_and_inputs_do_not_matter(seed, scale, long):
    X, y, costs, _ = multiclass(seed)
    X, costs = (X * scale, costs) if long else (X, costs * scale)
    problem = fwexp.multiclass_problem(X, y, len(costs), costs=costs)
    work, blocks = protocol.workspace(problem), protocol.new_blocks(problem)
    w, losses = np.zeros(problem.num_weights), np.zeros(problem.n)
    for i in np.random.default_rng(seed).integers(problem.n, size=5 * problem.n):
        before, after = visit(problem, i, w, losses, blocks, work, LAM)
        assert abs(after) <= 1e-11 * (costs.max() + before)


# --- whole runs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", GAPS)
@pytest.mark.parametrize("accelerate", [False, ACCELERATE], ids=["plain", "accelerated"])
def test_every_order_reaches_the_optimum_with_a_true_certificate(sampling, accelerate):
    X, y, _, _ = multiclass(4, n=12)
    problem = fwexp.multiclass_problem(X, y, 4)
    best = ref.qp_optimum(ref.tiny_multiclass(X, y, 4), LAM)
    result = fwexp.solve(
        problem, "bcfw", lam=LAM, step="exact", sampling=sampling, accelerate=accelerate, gap_tol=1e-8, max_passes=5000
    )
    value = fwexp.evaluate(problem, result.w)
    assert result.status == "converged"
    assert result.primal == pytest.approx(0.5 * LAM * value.norm_sq + value.hinge, rel=1e-12)
    assert best.dual == pytest.approx(result.dual, abs=2e-8)
    assert result.gap == pytest.approx(result.primal - result.dual, abs=1e-12)


def test_graphs_of_one_node_take_exact_steps():
    """They have a constraint, on the weights of edges, that concerns no example."""
    problem = several_labels(0, labels=1)
    result = fwexp.solve(problem, "bcfw", lam=LAM, step="exact", sampling="perm", gap_tol=1e-9, max_passes=500)
    assert (result.status, len(problem.nonnegative)) == ("converged", 1)
    assert result.primal == pytest.approx(fwexp.solve(problem, "one_slack", lam=LAM, gap_tol=1e-6, max_passes=500).primal, abs=2e-6)


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("multiclass", {"sampling": "gap_perm", "accelerate": ACCELERATE}),
        ("enumerated, slack", {"sampling": "cyclic"}),
    ],
)
def test_exact_steps_keep_the_promises_of_a_solver(family, options):
    check_solver("bcfw", FAMILIES[family](5), step="exact", **options)


def test_runs_continue_from_frank_wolfe_steps_and_back():
    problem = multiclass(6)[-1]
    for first, then in (("fw", "exact"), ("exact", "fw")):
        before = fwexp.solve(problem, "bcfw", lam=LAM, step=first, max_passes=5, gap_tol=0)
        after = fwexp.solve(problem, "bcfw", lam=LAM, step=then, max_passes=5, gap_tol=0, warm_start=before)
        assert after.dual > before.dual


# --- auto ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_auto_takes_exact_steps_where_they_cost_no_more_than_the_oracle(family):
    chosen = check_options(SOLVERS["bcfw"], best_options(FAMILIES[family](0), LAM))
    if family.startswith("enumerated"):
        assert chosen.step == "corrective"
    else:
        assert chosen == check_options(SOLVERS["bcfw"], methods()["bcfw_exact_shrinking"].options)


@pytest.mark.parametrize("problem", ["slack", "nonnegative", "edges"])
def test_auto_takes_corrective_steps_where_there_are_no_exact_ones(problem):
    assert best_options(REFUSED[problem](), LAM)["step"] == "corrective"


def test_paths_and_averages_take_exact_steps():
    problem = multiclass(8)[-1]
    assert best_options(problem)["step"] == "exact"
    path = fwexp.regularization_path(problem, eps=0.1, lam_min=0.1)
    for lam in (1.0, 0.3):
        value = fwexp.evaluate(problem, path.w_at(lam))
        best = fwexp.solve(problem, lam=lam, gap_tol=1e-6, max_passes=1000)
        assert 0.5 * lam * value.norm_sq + value.hinge - best.dual <= 0.1 + 2e-6
    result = fwexp.solve(problem, lam=LAM, iterate="wavg", max_passes=400, gap_tol=1e-2)
    assert (result.options["step"], result.status) == ("exact", "converged")


# --- what is refused ----------------------------------------------------------------------------------------------------


def many_outputs():
    return fwexp.enumerated_problem([np.zeros((MOST_OUTPUTS + 1, 1))], [np.append(0.0, np.ones(MOST_OUTPUTS))])


def joined(edges, features):
    return fwexp.segmentation_problem([features], [edges], [np.ones((len(edges), 1))], [[0, 1]])


REFUSED = {
    "slack": lambda: fwexp.multiclass_problem(np.eye(3), [0, 1, 2], costs=2 - 2 * np.eye(3), rescaling="slack"),
    "nonnegative": lambda: fwexp.multiclass_problem(np.eye(3), [0, 1, 2], nonnegative=[0]),
    "many outputs": many_outputs,
    "edges": lambda: joined([(0, 1)], np.eye(2)),
    "weights that nodes share": lambda: joined([], np.ones((2, 1))),
}


@pytest.mark.parametrize("problem", REFUSED)
def test_blocks_without_a_known_maximum_are_refused(problem):
    why = r"solver.step=exact of bcfw: \w+Problem knows no best block .*; accepted here: fw, pairwise, away, corrective$"
    with pytest.raises(OptionError, match=why):
        fwexp.solve(REFUSED[problem](), "bcfw", lam=LAM, step="exact")


def test_families_without_the_tier_are_refused():
    with pytest.raises(OptionError, match=r"needs the tier exact \(has_best_block, best_block\), which ChainProblem does not have"):
        fwexp.solve(small_chains(), "bcfw", lam=LAM, step="exact")
