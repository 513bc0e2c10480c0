"""Block steps with entropic duals against enumeration, and against a transcription of the algorithm in numpy."""

from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.optimize

import fwexp
from fwexp.errors import OptionError, ParameterError, WarmStartError
from fwexp.problems import protocol
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.loss_terms import HINGE, make_objective
from fwexp.solvers.base import Budget
from fwexp.solvers.block_entropic import BlockEntropic
from fwexp.tasks.grid import Grid
from fwexp.tasks.path import Path
from tests import reference as ref
from tests.small_problems import at_start, run_in_plain_python

pytestmark = pytest.mark.compiled  # they take many steps

new = partial(at_start, "block_entropic")
OBJECTIVES = [("log", 1.0), ("softmax_margin", 1.0), ("log", 0.3), ("softmax_margin", 3.0)]
IDS = [f"{name}-{temperature:g}" for name, temperature in OBJECTIVES]


def chains(seed=1, lengths=(1, 2, 3, 4), n=5, K=3, **options):
    rng = np.random.default_rng(seed)
    X, y = ref.random_chains(rng, n, K, 4, lengths)
    return ref.tiny_chain(X, y, K), fwexp.chain_problem(X, y, K, **options), (X, y)


def classes(seed=2):
    rng = np.random.default_rng(seed)
    inputs, labels, costs = rng.normal(size=(7, 3)), rng.integers(4, size=7), rng.random((4, 4)) * (1.0 - np.eye(4))
    tp = ref.tiny_multiclass(inputs, labels, 4)
    tp = ref.TinyProblem(tp.psi, tuple(costs[label] for label in labels), tp.labelings, tp.truth)
    return tp, fwexp.multiclass_problem(inputs, labels, 4, costs=costs)


def listed():
    tp, _, _ = chains(3)
    slack = ref.slack_rescaled(tp)
    return slack, fwexp.enumerated_problem(tp.psi, tp.loss, rescaling="slack")


def listed_margin():
    tp, _, _ = chains(3)
    return tp, fwexp.enumerated_problem(tp.psi, tp.loss)


FAMILIES = {"listed, margin": listed_margin, "chains": lambda: chains()[:2], "classes": classes, "listed": listed}


class Enumerated:
    """P, its gradient and D, by sums over all labelings."""

    def __init__(self, tp, lam, objective):
        self.tp, self.lam, self.cost, self.temperature = tp, lam, objective.cost, objective.temperature

    def scores(self, i, w):
        return self.cost * self.tp.loss[i] - self.tp.psi[i] @ w

    def distribution(self, i, w):
        scores = self.scores(i, w) / self.temperature
        return np.exp(scores - np.logaddexp.reduce(scores))

    def term(self, i, w):
        return self.temperature * np.logaddexp.reduce(self.scores(i, w) / self.temperature)

    def primal(self, w):
        return 0.5 * self.lam * w @ w + np.mean([self.term(i, w) for i in range(self.tp.n)])

    def gradient(self, w):
        return self.lam * (w - self.image([self.distribution(i, w) for i in range(self.tp.n)]))

    def image(self, a):
        return np.sum([a_i @ psi for a_i, psi in zip(a, self.tp.psi, strict=True)], axis=0) / (self.lam * self.tp.n)

    def dual(self, a):
        w = self.image(a)
        ell = [self.cost * a_i @ L + self.temperature * entropy(a_i) for a_i, L in zip(a, self.tp.loss)]
        return np.mean(ell) - 0.5 * self.lam * w @ w

    def optimum(self):
        start = np.zeros(self.tp.psi[0].shape[1])
        options = {"gtol": 1e-11, "maxiter": 10_000}
        found = scipy.optimize.minimize(self.primal, start, jac=self.gradient, method="BFGS", options=options)
        # Strong convexity: P(w) - P* <= ||grad||^2 / (2 lam).
        return found.fun - np.sum(self.gradient(found.x) ** 2) / (2 * self.lam), found.fun


def entropy(a):
    positive = a[a > 0.0]
    return -positive @ np.log(positive)


@pytest.mark.parametrize("objective", [make_objective(*one) for one in OBJECTIVES], ids=IDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_against_enumeration(family, objective):
    tp, problem = FAMILIES[family]()
    lam = 0.1
    low, high = Enumerated(tp, lam, objective).optimum()
    assert high - low < 1e-11
    for options in ({"sampling": "perm"}, {"sampling": "gap", "refresh": 5.0}, {"accelerate": {"kap": 2.0}}):
        solver = new(problem, lam, objective=objective, **options)
        before = -np.inf
        for step in range(1, 40 * problem.n):
            solver.advance(Budget(10**9, step))
            dual = solver.point("last").dual
            assert dual <= high + 1e-12
            assert dual >= before - 1e-12 or "accelerate" in options
            before = dual
        solver.advance(Budget(1500 * problem.n, 10**9))
        point = solver.point("last")
        value = Evaluator(problem, objective)(point.w, error=False)
        primal = 0.5 * lam * value.norm_sq + value.hinge
        assert abs(primal - high) <= 1e-10
        assert point.dual == pytest.approx(high, abs=1e-10)
        assert point.dual <= high + 1e-12
        # The gap from scratch, the one of the block gaps, and the running one.
        assert primal - solver.exact_dual() == pytest.approx(solver.exact_gap(), abs=1e-12)
        assert solver.exact_dual() == pytest.approx(point.dual, abs=1e-12)


@pytest.mark.parametrize("objective", [make_objective(*one) for one in OBJECTIVES], ids=IDS)
def test_a_full_step_ends_at_the_distributions(objective):
    """Then w - A a is the gradient over lam."""
    tp, problem = FAMILIES["chains"]()
    enumerated, w = Enumerated(tp, 0.3, objective), np.random.default_rng(4).normal(size=tp.d)
    solver = new(problem, 0.3, objective=objective)
    solver.state.iterate.w[:] = protocol.from_public(problem, w)
    image = protocol.to_public(problem, solver.full_step())
    np.testing.assert_allclose(0.3 * (w - image), enumerated.gradient(w), atol=1e-11)
    dual = enumerated.dual([enumerated.distribution(i, w) for i in range(tp.n)])
    assert solver.point("last").dual == pytest.approx(dual, abs=1e-11)


def transcription(X, y, K, lam, order, objective):
    """Yield (w, D) after every step on chains: marginals by enumeration, everything else by formulas (`fwexp.blocks.duals`)."""
    n, p, tau = len(X), X[0].shape[1], objective.temperature
    truth = [parts(labels, K) for labels in y]
    mu, ell, w = [(m.copy(), q.copy()) for m, q in truth], np.zeros(n), np.zeros((p + 2 + K, K))
    for i in order:
        x = np.zeros((len(X[i]), p + 2))
        x[:, :p], x[0, p], x[-1, p + 1] = X[i], 1.0, 1.0
        labelings = list(product(range(K), repeat=len(x)))
        unary, pair = x @ w[: p + 2], w[p + 2 :]
        scores = np.array([sum(unary[t, k] for t, k in enumerate(z)) + sum(pair[a, b] for a, b in pairwise(z)) for z in labelings])
        loss = np.mean(np.array(labelings) != np.array(y[i]), axis=1)
        scores = (scores + objective.cost * loss) / tau
        a = np.exp(scores - np.logaddexp.reduce(scores))
        m, q = (sum(c * part for c, part in zip(a, kind)) for kind in zip(*(parts(z, K) for z in labelings)))
        d, e, h = m - mu[i][0], q - mu[i][1], objective.cost * a @ loss + tau * entropy(a)
        g = h - ell[i] + (unary * d).sum() + (pair * e).sum()
        change = np.concatenate((x.T @ d, e))
        curvature, nu = (change**2).sum() / (lam * n), tau * np.abs(d).sum(axis=1).max() ** 2
        gamma = np.clip((g + nu / 2) / (curvature + nu), 0.0, 1.0)
        mu[i] = mu[i][0] + gamma * d, mu[i][1] + gamma * e
        ell[i] += gamma * (h - ell[i]) + gamma * (1 - gamma) * nu / 2
        w = w - gamma * change / (lam * n)
        yield w.ravel(), ell.mean() - 0.5 * lam * (w**2).sum()


def parts(labels, K):
    """Return the indicators of labels (T, K), and the counts of transitions (K, K)."""
    counts = np.zeros((K, K))
    np.add.at(counts, (labels[:-1], labels[1:]), 1.0)
    return np.eye(K)[np.array(labels)], counts


@pytest.mark.parametrize("lam", [0.02, 0.5])
@pytest.mark.parametrize("objective", [make_objective(*one) for one in OBJECTIVES], ids=IDS)
def test_steps_equal_the_transcription(objective, lam):
    _, problem, (X, y) = chains(6)
    order = np.random.default_rng(7).integers(problem.n, size=40)
    solver = new(problem, lam, sampling="uniform", order=order, objective=objective)
    for step, (w, dual) in enumerate(transcription(X, y, 3, lam, order, objective), 1):
        solver.advance(Budget(10**9, step))
        np.testing.assert_allclose(protocol.to_public(problem, solver.point("last").w), w, atol=1e-10)
        assert solver.point("last").dual == pytest.approx(dual, abs=1e-10)


@pytest.mark.parametrize(("name", "loss"), [("log", "share"), ("softmax_margin", "errors")])
def test_weights_of_examples_are_duplicates(name, loss, monkeypatch):
    run_in_plain_python(monkeypatch)  # weights have machine code of their own
    _, once, (X, y) = chains(8, loss=loss)
    weights = np.array([1, 2, 0, 3, 1])
    twice = fwexp.chain_problem(
        [x for x, c in zip(X, weights) for _ in range(c)], np.repeat(np.array(y, object), weights), 3, loss=loss
    )
    weighted = fwexp.weighted_problem(once, weights)
    options = {"objective": name, "lam": 0.1, "gap_tol": 1e-7, "max_passes": 3000}
    one, other = (fwexp.solve(problem, **options) for problem in (weighted, twice))
    assert one.status == other.status == "converged"
    assert one.primal == pytest.approx(other.primal, abs=2e-7)
    np.testing.assert_allclose(one.w, other.w, atol=5e-3)
    at = np.random.default_rng(1).normal(size=once.d)
    values = [fwexp.evaluate(problem, at, objective=name).hinge for problem in (weighted, twice)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_long_sequences_without_gram_matrices():
    rng = np.random.default_rng(9)
    X = [rng.normal(size=(T, 3)) for T in (150, 2, 129)]
    problem = fwexp.chain_problem(X, [rng.integers(3, size=len(x)) for x in X], 3)
    result = fwexp.solve(problem, objective="log", lam=1.0, gap_tol=1e-6, max_passes=2000)
    assert result.status == "converged"


def test_the_hinge_is_the_limit():
    _, problem, _ = chains(10)
    hinge = fwexp.solve(problem, lam=0.1, gap_tol=1e-8, max_passes=5000)
    for temperature in (1e-1, 1e-2, 1e-3):
        soft = fwexp.solve(problem, lam=0.1, objective="softmax_margin", temperature=temperature, gap_tol=1e-6, max_passes=50_000)
        # The largest entropy is that of the uniform distribution over 3^T labelings.
        assert hinge.primal - 1e-6 <= soft.primal <= hinge.primal + temperature * 4 * np.log(3.0)
        assert soft.temperature == temperature


def test_the_path_is_certified_at_every_lam():
    tp, problem, _ = chains(11)
    for name in ("log", "softmax_margin"):
        path = fwexp.regularization_path(problem, eps=0.1, lam_min=0.05, objective=name)
        assert path.status == "converged"
        for lam in np.geomspace(0.05, 2 * path.lam[0], 15):
            enumerated = Enumerated(tp, lam, make_objective(name))
            low, _ = enumerated.optimum()
            w = path.w_at(lam)
            assert enumerated.primal(w) - low <= path.gap_at(lam) + 1e-9 <= 0.1 + 2e-9


@pytest.mark.parametrize(("task", "own"), [(Path, {"lam_min": 0.05}), (Grid, {"lam_max": 1.0, "lam_min": 0.25})])
def test_tasks_go_through_several_lam(task, own):
    _, problem, _ = chains(11)
    given = {"seed": 0, "max_passes": 1e5, "time_limit": None, "objective": "log"}  # as configurations leave out defaults
    result = task(task.check_options(own), given).run(problem, "auto", {})
    assert (result.status, result.objective, result.temperature) == ("converged", "log", 1.0)
    assert (result.trace["gap"] <= 0.1).all()


def test_saved_results_know_their_objective(tmp_path):
    _, problem, _ = chains(12)
    result = fwexp.solve(problem, lam=0.1, objective="softmax_margin", temperature=0.5)
    loaded = fwexp.load(result.save(tmp_path / "model.npz"))
    assert (loaded.objective, loaded.temperature) == ("softmax_margin", 0.5)
    assert fwexp.evaluate(problem, loaded) == fwexp.evaluate(problem, result)
    explicit = fwexp.evaluate(problem, result.w, objective="softmax_margin", temperature=0.5)
    assert explicit == fwexp.evaluate(problem, result)
    assert 0.05 * explicit.norm_sq + explicit.hinge == pytest.approx(result.primal, abs=1e-12)


def test_warm_starts_keep_the_dual_and_the_objective():
    _, problem, _ = chains(13)
    first = fwexp.solve(problem, "block_entropic", lam=0.1, objective="log", max_passes=20, gap_tol=0)
    again = fwexp.solve(problem, "block_entropic", lam=0.1, objective="log", max_passes=1, gap_tol=0, warm_start=first)
    duals = [result.trace[result.trace["iterate"] == "last"]["dual"] for result in (first, again)]
    assert duals[1].iloc[0] == pytest.approx(duals[0].iloc[-1], abs=1e-12)
    with pytest.raises(WarmStartError, match="objective softmax_margin at temperature 1, got log at temperature 1"):
        fwexp.solve(problem, "block_entropic", lam=0.1, objective="softmax_margin", warm_start=first)


@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e3])
@pytest.mark.parametrize("accelerate", [False, True])
def test_single_precision_certifies_less_but_nothing_wrong(scale, accelerate):
    _, _, (X, y) = chains(n=20)
    problem = fwexp.chain_problem([scale * x for x in X], y, 3)
    given = {"lam": 0.05 * max(scale**2, 1.0), "objective": "log", "gap_tol": 1e-12, "max_passes": 200, "accelerate": accelerate}
    best, found = (fwexp.solve(problem, "block_entropic", precision=name, **given) for name in ("double", "single"))
    assert found.dual <= best.primal + 1e-12
    assert found.primal == pytest.approx(best.primal, rel=1e-6)
    assert found.gap < 1e-5 * found.primal


def test_blocks_of_single_precision_take_half_of_the_memory_and_w_is_theirs():
    _, problem, _ = chains(n=20)
    starts = [new(problem, 0.1, objective=make_objective("log"), precision=name) for name in ("double", "single")]
    for solver in starts:
        solver.advance(Budget(500, 10**9))
        iterate = solver.state.iterate
        w = solver._from_scratch()[0]
        np.testing.assert_allclose(iterate.w, w, rtol=0.0, atol=1e-12 * np.abs(w).max())
    double, single = (solver.state.iterate.dual.means.nbytes for solver in starts)
    assert double == 2 * single
    memory = [BlockEntropic.memory(problem, solver.options, ("last",)) for solver in starts]
    assert memory[0] - memory[1] == single


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"solver": "bcfw", "objective": "log"},
            OptionError,
            "solver bcfw does not minimise the objective log; accepted: auto, block",
        ),
        ({"solver": "block_entropic"}, OptionError, "does not minimise the objective hinge; accepted: approx_bcfw"),
        ({"objective": "crf"}, ParameterError, "unknown objective 'crf'; accepted: hinge, log, softmax_margin"),
        ({"objective": "log", "temperature": 0.0}, ParameterError, "temperature must be a positive finite number, got 0"),
        ({"temperature": 2.0}, OptionError, "temperature goes with objective=log or softmax_margin, got 2.0 with hinge"),
        ({"objective": "log", "check": True}, OptionError, "check must be False with objective=log"),
    ],
)
def test_what_does_not_fit_is_one_line(arguments, error, message):
    with pytest.raises(error, match=message):
        fwexp.solve(chains()[1], lam=0.1, **arguments)


def check_that_log_is_rejected(problem, which):
    """Also for tests/problems/test_graphs.py."""
    message = rf"objective log needs probabilities of labelings .*, which {which}; accepted here: hinge"
    for solver in ("auto", "block_entropic", "bcfw", "lbfgs"):
        with pytest.raises(OptionError, match=message):
            fwexp.solve(problem, solver, lam=0.1, objective="log")
    with pytest.raises(OptionError, match=message):
        fwexp.evaluate(problem, np.zeros(problem.d), objective="log")
    with pytest.raises(OptionError, match=message):
        fwexp.regularization_path(problem, lam_min=0.1, objective="log")


def test_families_without_probabilities_are_rejected():
    rng = np.random.default_rng(14)
    matching = fwexp.matching_problem([rng.normal(size=(2, 2, 3))], [[(0, 1)]])
    check_that_log_is_rejected(matching, "MatchingProblem does not have")
    assert make_objective() == HINGE


def test_the_objective_at_the_start_of_classes_costs_no_calls():
    _, problem = classes()
    for weighted in (problem, fwexp.weighted_problem(problem, np.arange(problem.n))):
        trace = fwexp.solve(weighted, lam=0.1, objective="log", temperature=0.7, gap_tol=1e-3).trace
        wanted = fwexp.evaluate(weighted, np.zeros(problem.d), objective="log", temperature=0.7).hinge
        assert trace["primal"].iloc[0] == pytest.approx(wanted, rel=1e-13)
        assert trace["evaluation_calls"].iloc[0] == 0 < trace["evaluation_calls"].iloc[1]
    soft = fwexp.solve(problem, lam=0.1, objective="softmax_margin", gap_tol=1e-3).trace
    assert soft["evaluation_calls"].iloc[0] == problem.n
