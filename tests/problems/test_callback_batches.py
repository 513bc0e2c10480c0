"""Oracles in Python that processes ask for many examples at once, what is asked only once, and cutting planes on what is known."""

import sys
from collections import Counter
from functools import partial

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp import record
from fwexp.driver.iteration import Budget, Reason
from fwexp.errors import MissingPackage, ParameterError
from fwexp.problems import known_labelings
from fwexp.solvers.n_slack import UNCERTIFIED, _bring_forward
from tests.small_problems import FUNCTIONS, at_start, chain

BIG = 10**9


def classes(n=30, seed=0, **changes):
    """Three classes, with functions that count what they are asked."""
    rng = np.random.default_rng(seed)
    X, truth, calls = rng.normal(size=(n, 2)), rng.integers(3, size=n), Counter()

    def max_oracle(i, w):
        calls["max_oracle"] += 1
        return int(np.argmax(w.reshape(3, 2) @ X[i] + (np.arange(3) != truth[i])))

    def features(i, y):
        calls["features", i, y] += 1
        return np.kron(np.eye(3)[y], X[i])

    def loss(i, y):
        calls["loss", i, y] += 1
        return float(y != truth[i])

    given = {"features": features, "loss": loss, "max_oracle": max_oracle}
    given["decode"] = lambda i, w: int(np.argmax(w.reshape(3, 2) @ X[i]))
    given["inference"] = lambda x, w: int(np.argmax(w.reshape(3, 2) @ x))
    return fwexp.CallbackProblem(truth.tolist(), **given | changes), calls


def test_answers_that_a_failed_evaluation_left_are_not_given_at_other_weights():
    broken, (w, other) = [True], np.random.default_rng(1).normal(size=(2, 6))

    def loss(i, y):
        if broken[0] and i == 5:
            raise ZeroDivisionError
        return float(y != problem.y[i])

    problem = classes(loss=loss, n_jobs=2)[0]
    with joblib.parallel_config(backend="threading"), pytest.raises(ZeroDivisionError):
        fwexp.evaluate(problem, w)
    broken[0] = False
    problem.forget()  # as every start does
    wanted = [classes()[0].augmented(i, other) for i in range(6, 30)]
    assert [problem.augmented(i, other) for i in range(6, 30)] == wanted


@pytest.mark.parametrize("solver", ["auto", "bcfw", "fw"])
def test_functions_are_asked_once_for_each_labeling(solver):
    problem, calls = classes()
    problem._compared[:] = True
    fwexp.solve(problem, solver, lam=0.01, max_passes=6, gap_tol=0)
    truth = {(i, y) for i, y in enumerate(problem.y)}
    for name, *key in [key for key in calls if key[0] in ("features", "loss")]:
        # The truth is looked at before, and the first example when the problem was made.
        assert calls[name, *key] <= (1 if tuple(key) not in truth else 5), (name, key)


@pytest.mark.parametrize("solver", ["fw", "n_slack"])
def test_workers_give_what_one_process_gives(solver):
    common = {"lam": 0.1, "max_passes": 4, "gap_tol": 0, "train_error": True}
    wanted = fwexp.solve(classes()[0], solver, **common)
    with joblib.parallel_config(backend="threading"):
        got = fwexp.solve(classes(n_jobs=2)[0], solver, **common)
    np.testing.assert_array_equal(wanted.w, got.w)
    assert wanted.trace.drop(columns="time").equals(got.trace.drop(columns="time"))
    with pytest.raises(ParameterError, match="n_jobs must be an integer other than 0, or None, got 0"):
        classes(n_jobs=0)


def test_without_joblib_one_line_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(MissingPackage, match=r"^n_jobs needs joblib, .*'\.\[estimators\]'"):
        fwexp.evaluate(classes(n_jobs=2)[0], np.zeros(6))


def test_new_inputs_are_predicted_by_inference(tmp_path):
    problem, _ = classes()
    result = fwexp.solve(problem, lam=0.1)
    inputs = [np.array([1.0, 2.0]), np.array([-3.0, 0.5])]
    assert result.predict(inputs) == fwexp.predict(inputs, result) == [problem.inference(x, result.w) for x in inputs]
    assert fwexp.solve(fwexp.weighted_problem(problem, np.ones(30)), lam=0.1, max_passes=2).predict(inputs)
    saved = fwexp.load(result.save(tmp_path / "model.npz"))
    for other in (saved, fwexp.solve(classes(inference=None)[0], lam=0.1, max_passes=1)):
        with pytest.raises(ParameterError, match="predicted by the function inference of CallbackProblem"):
            other.predict(inputs)


# --- cutting planes on what is known ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FUNCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_quadratic_programs_on_rows_are_those_in_plain_python(form, weighted, monkeypatch):
    results = []
    for most in (known_labelings.ROW_BYTES, -1):
        monkeypatch.setattr(known_labelings, "ROW_BYTES", most)
        problem = chain(form, 3, n=8)[1]
        problem = fwexp.weighted_problem(problem, np.arange(1, 9)) if weighted else problem
        results.append(fwexp.solve(problem, "n_slack", lam=0.1, max_passes=15, gap_tol=0, size=9, qp_share=0.1))
    np.testing.assert_allclose(results[0].w, results[1].w, atol=1e-6)
    assert max(result.gap for result in results) < 1e-3


def test_auto_takes_cutting_planes_and_says_so():
    problem, calls = classes()
    result = fwexp.solve(problem, lam=0.05, gap_tol=1e-3)
    assert (result.solver, result.status, result.options["batch"]) == ("auto", "converged", 1)
    spent = calls["max_oracle"]
    again = fwexp.solve(problem, "n_slack", lam=0.05, gap_tol=1e-3, **result.options)
    np.testing.assert_array_equal(result.w, again.w)
    fwexp.solve(problem, "bcfw", lam=0.05, gap_tol=1e-3)
    assert 2 * spent < calls["max_oracle"] - spent
    for changes in ({"iterates": ["last", "wavg"]}, {"step": "pairwise"}, {"order": np.arange(300) % 30}):
        assert "step" in fwexp.solve(problem, lam=0.05, max_passes=2, **changes).options
    constrained = classes(nonnegative=[0])[0]
    assert "step" in fwexp.solve(constrained, lam=0.05, max_passes=2).options


@pytest.mark.parametrize("visits", [1.0, 1.3])
def test_quadratic_programs_take_no_more_visits_than_they_may(visits):
    """And none is left out for ever, however few these are."""
    result = fwexp.solve(classes()[0], "n_slack", lam=0.1, max_passes=60, gap_tol=0, batch=4, qp_share=0, qp_visits=visits)
    taken = result.trace["cache_hits"] - visits * result.trace["oracle_calls"]
    assert taken.max() < 1.0 + result.trace["oracle_calls"].max() / 4  # each program may round up
    assert result.trace["cache_hits"].iloc[-1] > 30
    assert -1e-12 < result.gap < 1e-3


# --- calls that are constraints and certificates at once ---------------------------------------------------------------

certifying = partial(at_start, "n_slack", lam=0.02, batch=4, certify=True)


def visits_of(problem):
    """Return a list that receives example and weights of every call of the max-oracle."""
    visits, plain = [], problem.max_oracle

    def max_oracle(i, w):
        visits.append((i, w.tobytes()))
        return plain(i, w)

    problem.max_oracle = max_oracle
    return visits


def test_one_call_per_example_is_constraint_and_certificate():
    """Two examples of two classes: the calls at w = 0 give the optimum, and those at the optimum its certificate."""
    problem = fwexp.CallbackProblem(
        [0, 1],
        features=lambda i, y: np.eye(2)[y] * (1.0 if i == 0 else 2.0),
        loss=lambda i, y: float(y != i),
        max_oracle=lambda i, w: int(np.argmax(w * (1.0, 2.0)[i] + (np.arange(2) != i))),
    )
    problem._compared[:] = True
    visits = visits_of(problem)
    result = fwexp.solve(problem, lam=10.0, gap_tol=1e-6)
    assert [i for i, _ in visits] == [0, 1, 0, 1]
    assert result.status == "converged"
    assert result.trace["oracle_calls"].tolist() == [2, 4]
    assert result.trace["evaluation_calls"].tolist() == [0, 0]
    assert result.trace["primal"][0] == 1.0
    # Both duals are at their bounds: w = (psi_0 + psi_1)/(lam n), D = 1 - lam/2 ||w||^2.
    np.testing.assert_allclose(result.w, (np.array([1.0, -1.0]) + np.array([-2.0, 2.0])) / 20.0)
    assert result.dual == pytest.approx(1.0 - 5.0 * (result.w @ result.w))


@pytest.mark.parametrize("gap_tol", [0.1, 1e-2, 1e-4])
def test_all_calls_of_a_run_are_its_own(gap_tol):
    problem, calls = classes(n=50)
    result = fwexp.solve(problem, lam=0.02, gap_tol=gap_tol)
    end = result.trace.iloc[-1]
    assert (result.status, end["evaluation_calls"], end["oracle_calls"]) == ("converged", 0, calls["max_oracle"])
    value = fwexp.evaluate(classes(n=50)[0], result.w)
    assert result.primal == pytest.approx(0.01 * value.norm_sq + value.hinge, abs=1e-14)
    assert result.dual == pytest.approx(result.state.exact_dual(), abs=1e-12)
    assert result.gap == result.primal - result.dual <= gap_tol


@pytest.mark.compiled  # the optimum takes many steps
@pytest.mark.parametrize("form", FUNCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("accelerate", [False, True])
def test_what_calls_have_shown_is_the_objective(form, weighted, accelerate):
    """P(w) and D of every row are those of the enumerated problem, on both sides of its optimum."""
    lam, given = 0.02, (chain(each, seed=4, n=15)[1] for each in (form, {"functions": "dense"}.get(form, "csr")))
    problem, arrays = (fwexp.weighted_problem(each, np.linspace(0.5, 2.0, 15)) if weighted else each for each in given)
    optimum = fwexp.solve(arrays, lam=lam, gap_tol=1e-9, max_passes=5000).dual
    running, known = certifying(problem, lam=lam, accelerate=accelerate), []
    while running.oracle_calls < 40 * problem.n:
        before = running.oracle_calls, running.cache_hits
        stop = running.advance(Budget(40 * problem.n, BIG, until_known=True, gap_tol=1e-3))
        if stop.reason is Reason.KNOWN:
            point = running.point("last")
            value = fwexp.evaluate(problem, fwexp.problems.protocol.to_public(problem, point.w))
            assert running.known_hinge == pytest.approx(value.hinge, abs=1e-13)
            assert point.dual == pytest.approx(running.exact_dual(), abs=1e-12)
            assert point.dual <= optimum + 1e-9 <= 0.5 * lam * value.norm_sq + value.hinge + 2e-9
            known.append((running.oracle_calls, 0.5 * lam * value.norm_sq + value.hinge - point.dual))
        elif before == (running.oracle_calls, running.cache_hits):
            break
    calls, gaps = np.array(known).T
    assert calls[0] == problem.n
    assert np.diff(calls).max() <= (UNCERTIFIED + 2) * problem.n  # the last of these w may stay for nearly a pass
    assert gaps[-1] < 1e-3 < gaps[0]


@pytest.mark.parametrize("gap_tol", [0.0, 1e-2])
def test_weights_stay_until_they_cannot_end_the_run(gap_tol):
    """The rule, from the calls alone: in order, and a QP only where batches have shown a gap, or all examples the objective."""
    n, problem = 30, classes(n=30)[0]
    visits = visits_of(problem)
    running = certifying(problem)
    lengths, known = [], -UNCERTIFIED * n
    while running.oracle_calls < 20 * n:
        running.advance(Budget(20 * n, running.step + 4, gap_tol=gap_tol))
        if running.state.qp is not None and len(visits) > sum(lengths):
            lengths.append(len(visits) - sum(lengths))
    assert [i for i, _ in visits] == [k % n for k in range(len(visits))]
    start = 0
    for length in lengths:
        at_w = visits[start : start + length]
        assert len({w for _, w in at_w}) == 1
        assert length == n or length % 4 == 0
        if start - known >= UNCERTIFIED * n:
            assert length == n
        known = start + length if length == n else known
        start += length
    assert lengths[0] == n
    assert min(lengths) == 4


def test_an_oracle_that_raises_loses_nothing():
    wanted = certifying(classes()[0])
    wanted.advance(Budget(300, BIG))
    for fails_at in (0, 1, 17, 29, 30, 31, 77, 150):
        problem, _ = classes()
        plain, asked = problem.max_oracle, []

        def max_oracle(i, w, plain=plain, asked=asked, fails_at=fails_at):
            asked.append(i)
            if len(asked) == fails_at + 1:
                raise ZeroDivisionError
            return plain(i, w)

        problem.max_oracle = max_oracle
        running = certifying(problem)
        with pytest.raises(ZeroDivisionError):
            running.advance(Budget(300, BIG))
        assert fails_at - 4 < running.oracle_calls <= fails_at
        assert not running.point("last").dual > wanted.point("last").dual
        running.advance(Budget(300, BIG))
        np.testing.assert_array_equal(running.point("last").w, wanted.point("last").w)
        assert running.known_hinge == wanted.known_hinge
        assert len(asked) <= 300 + 4


def test_rows_with_errors_and_short_runs_are_evaluated():
    problem, _ = classes()
    trace = fwexp.solve(problem, lam=0.02, gap_tol=1e-3, train_error=True).trace
    assert trace["oracle_calls"][0] == 0
    assert np.isfinite(trace["train_error"][[0, len(trace) - 1]]).all()
    short = fwexp.solve(problem, lam=0.02, gap_tol=1e-3, max_passes=0.5)
    assert short.status == "max_passes"
    assert short.trace[["oracle_calls", "evaluation_calls"]].to_numpy().tolist() == [[15, 30]]
    assert 0.0 <= short.gap == short.primal - short.dual
    stopped = fwexp.solve(problem, lam=0.02, gap_tol=1e-9, callback=lambda row: True)
    assert (stopped.status, len(stopped.trace)) == ("interrupted", 1)


def test_examples_that_come_first_are_those_asked_for():
    rng = np.random.default_rng(0)
    for position in (0, 3, 9, 10):
        before = rng.permutation(10)
        order, examples = before.copy(), np.array([2, 5, 8])
        start = _bring_forward(examples, order, position)
        assert set(order[start : start + 3]) == set(examples)
        assert list(order[:start]) == [i for i in before[:position] if i not in examples]
        assert list(order[start + 3 :]) == [i for i in before[position:] if i not in examples]


@pytest.mark.parametrize("solver", ["auto", "bcfw"])
@pytest.mark.parametrize("first_is_sparse", [False, True])
def test_features_may_be_sparse_for_some_labelings_only(solver, first_is_sparse):
    def features(i, y):
        phi = np.kron(np.eye(3)[y], X[i])
        return sp.csr_array(phi[None]) if (i % 2 == 0) == first_is_sparse else phi

    X = np.random.default_rng(0).normal(size=(30, 2))  # those of `classes`
    problems = (classes(**changes)[0] for changes in ({}, {"features": features}))
    wanted, got = (fwexp.solve(problem, solver, lam=0.1, max_passes=5, gap_tol=0) for problem in problems)
    np.testing.assert_allclose(got.w, wanted.w, atol=1e-9)


def test_labelings_stay_numbers_while_a_method_runs(monkeypatch):
    unpacked = []
    plain = known_labelings.Rows.unpack_storage
    monkeypatch.setattr(known_labelings.Rows, "unpack_storage", lambda *given: unpacked.append(given) or plain(*given))
    result = fwexp.solve(classes()[0], "n_slack", lam=0.1, gap_tol=0, max_passes=4, batch=4)
    assert not unpacked
    assert set(result.state.state.sets.storage) == {None, 0, 1, 2}  # which are no numbers of rows
    assert len(unpacked) == 1


def test_a_view_whose_functions_fail_leaves_the_state_readable(monkeypatch):
    """Rows that have grown too large are begun anew, for which functions are asked; the first that raises ends the run."""
    problem = classes()[0]
    running = at_start("n_slack", problem, 0.1, batch=4)
    running.advance(Budget(2 * problem.n, 10_000))
    before = record.copy(running.state)
    monkeypatch.setattr(known_labelings, "ROW_BYTES", 0)
    monkeypatch.setattr(problem, "psi", lambda i, y: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        running.advance(Budget(10 * problem.n, 10_000))
    after = running.state
    assert after.sets.storage == before.sets.storage
    np.testing.assert_array_equal(after.sets.weight, before.sets.weight)
