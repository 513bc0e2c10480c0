"""Every form of every compiled family against its definition: joint features, losses, both oracles, expectations, optima.

In plain Python, because every form would take machine code of its own: what kernels are compiled for, `check_problem` compiles
in tests/test_every_solver.py, which compares methods with plain Python, too; tests/jit/test_linker.py does so for every family.
"""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import fwexp
from fwexp.driver.iteration import Budget
from fwexp.problems import protocol, tiers
from fwexp.problems.constraints import public_indices
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.features import BinaryFeatures, DenseFeatures
from fwexp.problems.loss_terms import make_objective
from fwexp.solvers import SOLVERS, check_options
from fwexp.solvers.marginal_oracle import MarginalOracle
from fwexp.testing import CheckFailed, check_problem
from tests.blocks.test_constraints import METHODS, optimum
from tests.problems.definitions import CLASSES, FORMS, Defined, build, feasible
from tests.solvers.test_block_entropic import Enumerated

LAM = 0.2


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), integers=st.booleans(), scale=st.sampled_from([1e-10, 1.0, 300.0]))
def test_features_losses_and_oracles_are_those_of_all_labelings(form, seed, integers, scale):
    defined, rng = build(form, seed, integers), np.random.default_rng(seed)
    problem = defined.problem
    # Losses are multiples of 1/T: with multiples of 1/2 as weights ties with losses occur, too, and are exact.
    w = rng.integers(-2, 3, size=problem.d) / 2.0 if integers else scale * rng.normal(size=problem.d)
    w = feasible(problem, w)
    np.testing.assert_array_equal(protocol.to_public(problem, protocol.from_public(problem, w)), w)
    predictions, radii = fwexp.predict(problem, w), protocol.radii_sq(problem)
    for i, labelings in enumerate(defined.labelings):
        losses, psi = defined.of_all(i)
        margins, close = defined.phi(i, defined.truth[i]) @ w, {"rel": 1e-11, "abs": 1e-11 * max(1.0, scale)}
        scores, gains = np.array([defined.phi(i, y) @ w for y in labelings]) - margins, losses - psi @ w
        for k in rng.choice(len(labelings), size=min(6, len(labelings)), replace=False):
            phi = fwexp.joint_feature(problem, i, labelings[k])
            assert isinstance(phi, sp.csr_array)
            assert phi.shape == (1, problem.d)
            np.testing.assert_allclose(phi.toarray()[0], defined.phi(i, labelings[k]), atol=1e-12)
            assert fwexp.loss(problem, i, labelings[k]) == pytest.approx(losses[k], abs=1e-14)
        assert fwexp.loss(problem, i, defined.truth[i]) == 0.0
        assert radii[i] >= (psi**2).sum(axis=1).max() * (1 - 1e-12)
        if protocol.all_labelings.find(type(problem)):
            assert len(protocol.all_labelings(problem, i, 1000)) == len(labelings)

        check_sets(problem, i, labelings, psi, w)

        def number(y, labelings=labelings):
            return next(k for k, other in enumerate(labelings) if np.array_equal(y, other))

        y, value = fwexp.max_oracle(problem, i, w)
        found, predicted = number(y), number(predictions[i])
        assert value == pytest.approx(gains[found], **close)
        if not protocol.exact_oracle(problem):
            assert value >= -1e-12
            continue
        assert value == pytest.approx(gains.max(), **close)
        assert scores[predicted] == pytest.approx(scores.max(), **close)
        if integers and defined.ties:
            assert predicted == scores.argmax()
        if integers and defined.ties == "both":
            assert found == gains.argmax()
        if tiers.has(problem, "expectations"):
            check_expectations(defined, i, w, losses, psi)


def check_sets(problem, i, labelings, psi, w):
    """Look at many labelings at once, as active sets do."""
    ptr, work, internal = protocol.labeling_ptr(problem), protocol.workspace(problem), protocol.from_public(problem, w)
    length, count, size = ptr[i + 1] - ptr[i], min(15, len(labelings)), max(1.0, np.abs(psi @ w).max())
    storage, places, out = protocol.new_storage(problem, length * count), np.arange(count) * length, np.empty(count)
    for place, y in zip(places, labelings):
        storage[place : place + length] = protocol.as_labeling(problem, i, y)[:length]
    protocol.score_labelings(problem, i, storage, places, internal, work, out)
    np.testing.assert_allclose(out, psi[:count] @ w, atol=1e-11 * size)
    c, image = np.cos(np.arange(count)) * (np.arange(count) != 5), np.zeros(problem.num_weights)
    protocol.scatter_labelings(problem, i, storage, places, c, 0.5, work.direction, image)
    np.testing.assert_allclose(protocol.to_public(problem, image), 0.5 * c @ psi[:count], atol=1e-11)
    protocol.clear(problem, i, work.direction)
    protocol.add_labelings(problem, i, storage, places, c, work.direction)
    protocol.close(problem, i, work.direction)
    assert protocol.norm_sq(problem, i, work.direction) == pytest.approx(np.sum((c @ psi[:count]) ** 2), rel=1e-9, abs=1e-12)


def check_expectations(defined: Defined, i, w, losses, psi):
    problem, internal = defined.problem, protocol.from_public(defined.problem, w)
    work, scratch = protocol.workspace(problem), protocol.expectation_scratch(problem)
    potentials = np.zeros(problem.part_ptr[i + 1] - problem.part_ptr[i])
    log_z, mean_loss, entropy = protocol.expectation_oracle(problem, i, potentials.copy(), np.zeros_like(potentials), scratch)
    assert log_z == pytest.approx(np.log(len(losses)), abs=1e-12)
    assert entropy == pytest.approx(log_z, abs=1e-12)
    assert mean_loss == pytest.approx(losses.mean(), abs=1e-12)
    protocol.scores(problem, i, internal, work.theta)
    for c in (0.25, 0.75):  # potentials add up
        protocol.loss_augmented_scores(problem, i, work.theta, c, 1.0, potentials)
    kept, mean, size = potentials.copy(), np.full_like(potentials, np.nan), max(1.0, np.abs(psi @ w).max())
    _, mean_loss, entropy = protocol.expectation_oracle(problem, i, potentials, mean, scratch)
    np.testing.assert_array_equal(potentials, kept)
    gains = losses - psi @ w
    log_p = gains - np.logaddexp.reduce(gains)
    p = np.exp(log_p)
    assert mean_loss == pytest.approx(p @ losses, abs=1e-11 * size)
    assert entropy == pytest.approx(-p[p > 0] @ log_p[p > 0], abs=1e-11 * size)
    protocol.set_dense(problem, i, mean, work.direction)
    image, wanted = np.zeros(problem.num_weights), p @ psi
    protocol.scatter(problem, i, work.direction, 1.0, image)
    np.testing.assert_allclose(protocol.to_public(problem, image), wanted, atol=1e-11 * size)
    assert protocol.norm_sq(problem, i, work.direction) == pytest.approx(wanted @ wanted, rel=1e-9, abs=1e-11 * size)
    assert protocol.dot(problem, i, work.direction, work.theta) == pytest.approx(wanted @ w, abs=1e-11 * size**2)


@pytest.mark.parametrize(("field", "form"), [("x", "{} chain"), ("z", "{} graphs"), ("x", "{} matchings"), ("x", "{} classes")])
def test_inputs_are_kept_as_what_they_are(field, form):
    for kind, cls in CLASSES.items():
        kept = getattr(build(form.format(kind)).problem, field)
        assert isinstance(kept, cls) or (kind, type(kept)) == ("sparse", DenseFeatures if "classes" in form else BinaryFeatures)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("form", [form for form in FORMS if form != "chain of one label"])  # which knows H = 0 up to rounding
def test_families_keep_their_promises(form):
    """tests/test_every_solver.py has a form of each family among the quick tests."""
    check_problem(build(form).problem)


@pytest.mark.parametrize("function", ["store_labeling", "true_labeling"])
@pytest.mark.parametrize("form", ["dense graphs", "graphs of which the foreground counts", "balanced graphs"])
def test_labelings_of_which_only_the_nodes_are_written_are_found(form, function, monkeypatch):
    """The checks of families see the edge features in what is kept of a labeling."""
    problem = build(form, 3).problem
    original = getattr(protocol, function).find(type(problem))

    def nodes_only(problem, i, y, *rest):
        where = slice(problem.label_ptr[i + 1] - problem.label_ptr[i], problem.part_ptr[i + 1] - problem.part_ptr[i])
        out, start = (rest[0], problem.part_ptr[i]) if rest else (y, 0)
        kept = out[start:][where].copy()
        original(problem, i, y, *rest)
        out[start:][where] = kept

    monkeypatch.setitem(getattr(protocol, function).implementations, type(problem), nodes_only)
    with pytest.raises(CheckFailed, match=r"the psi of the one that was stored|whose psi is 0"):
        check_problem(problem)


# --- optima -------------------------------------------------------------------------------------------------------------

EXACT = {"step": "pairwise"}
RUNS = [  # forms, solvers, and how near they come
    *(("cut chain with costs", solver, options, 1e-3) for solver, options in (("auto", {}), ("one_slack", {}), ("online_eg", {}))),
    *(("chain with dense edges", solver, {}, 1e-3) for solver in ("auto", "one_slack")),
    ("chain with dense edges", "bcfw", {"iterates": ["last", "wavg"], "iterate": "wavg"}, 5e-3),
    *((form, "bcfw", EXACT, 1e-6) for form in ("dense classes", "classes with slack", "outputs", "outputs with slack")),
    *(
        ("binary matchings", "bcfw", options, 1e-2)
        for options in ({}, {"line_search": False}, {"sampling": "lipschitz"}, EXACT, {"step": "corrective"}, {"cache": True})
    ),
    ("binary matchings", "fw", {}, 1e-2),
    ("binary matchings", "ssg", {}, 2e-2),
    ("forests of three labels", "auto", {}, 1e-6),
    ("graphs of three labels without edges", "bcfw", EXACT, 1e-6),
]


@pytest.mark.parametrize(("form", "solver", "options", "tol"), RUNS, ids=str)
def test_solvers_certify_the_optimum(form, solver, options, tol):
    check_run(build(form, 5), solver, options, tol)


def check_run(defined: Defined, solver, options, tol, max_passes=3000):
    """Compare with the optimum of the quadratic program of all labelings."""
    problem = defined.problem
    psi, losses = defined.written_out().psi, defined.written_out().loss
    best = optimum(psi, losses, LAM, public_indices(problem))[1]
    result = fwexp.solve(problem, solver, lam=LAM, gap_tol=tol, max_passes=max_passes, schedule=20, **options)
    hinges = [(values - rows @ result.w).max() for rows, values in zip(psi, losses)]
    assert result.primal == pytest.approx(0.5 * LAM * result.w @ result.w + np.mean(hinges), abs=1e-9)
    assert best - 1e-7 <= result.primal <= best + tol + 1e-7
    assert (result.w[public_indices(problem)] >= 0.0).all()
    if solver != "ssg":
        assert result.status == "converged"
        assert result.dual <= best + 1e-7


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "options"), METHODS, ids=str)
def test_every_solver_keeps_the_bounds_of_poses(solver, options):
    check_run(build("poses", 5), solver, options, 0.02 if solver in ("ssg", "fw") else 1e-4)


# --- log-loss and softmax-margin ----------------------------------------------------------------------------------------

SMOOTH = [form for form in FORMS if "forests" in form or "edges" in form]


@pytest.mark.parametrize("objective", ["log", "softmax_margin"])
@pytest.mark.parametrize("form", SMOOTH)
def test_values_and_gradients_of_smooth_objectives(form, objective):
    defined, term, rng = build(form, 1), make_objective(objective, 0.7), np.random.default_rng(2)
    problem, tp = defined.problem, defined.written_out()
    enumerated = Enumerated(tp, LAM, term)
    for scale in (0.0, 1e-3, 1.0, 100.0):
        w = feasible(problem, scale * rng.normal(size=problem.d))
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


@pytest.mark.parametrize(
    ("form", "solver", "objective"),
    [
        ("forests", "lbfgs", "log"),
        ("forests of three labels", "lbfgs", "softmax_margin"),
        ("forests", "block_entropic", "softmax_margin"),
        ("forests of which the foreground counts", "block_entropic", "log"),
        ("forests of three labels", "block_entropic", "log"),
        ("chain with dense edges", "lbfgs", "softmax_margin"),
        ("chain with sparse edges", "block_entropic", "log"),
    ],
)
def test_smooth_optima_are_reached_with_valid_duals(form, solver, objective):
    defined, term, cls = build(form, 3), make_objective(objective), SOLVERS[solver]
    problem, enumerated = defined.problem, Enumerated(defined.written_out(), LAM, term)
    low = np.full(problem.d, -np.inf)
    low[public_indices(problem)] = 0.0
    options = {"ftol": 0.0, "gtol": 1e-13, "maxiter": 10_000, "maxfun": 100_000, "maxls": 50}
    how = {"jac": enumerated.gradient, "method": "L-BFGS-B", "bounds": [(each, None) for each in low], "options": options}
    best = scipy.optimize.minimize(enumerated.primal, np.zeros(problem.d), **how).fun
    run = cls(problem, LAM, check_options(cls, {}), objective=term)
    for step in range(1, 40):
        run.advance(Budget(10**9, step))
        assert run.point("last").dual <= best + 1e-10
    run.advance(Budget(600 * problem.n, 10**9))
    point = run.point("last")
    primal = enumerated.primal(protocol.to_public(problem, point.w))
    assert abs(primal - best) <= 1e-9
    assert primal - point.dual == pytest.approx(run.exact_gap(), abs=1e-9)
    assert run.exact_gap() <= 1e-6
