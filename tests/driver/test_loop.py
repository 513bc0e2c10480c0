"""The loop that runs solvers: schedule, clock, stopping, certificates, interrupts."""

import math
import os
import signal
import threading
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import fwexp
from fwexp.driver.clock import on_interrupt
from fwexp.driver.iteration import NO_BUDGET, Budget, Stop
from fwexp.driver.log import Log
from fwexp.driver.loop import Bounds, drive
from fwexp.driver.progress import Progress
from fwexp.driver.schedule import log_points
from fwexp.driver.trace import TRACE_COLUMNS
from fwexp.options import NoOptions
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.features import DenseFeatures
from fwexp.problems.protocol import costly_oracle
from fwexp.solvers import get_solver
from fwexp.solvers.base import Point, Solver
from fwexp.tasks.objective import SVMObjective
from fwexp.tasks.train import as_result
from fwexp.testing import small_chains
from tests.small_problems import at_any_speed, chain, counting

pytestmark = pytest.mark.portable  # they compare numbers of small runs, which must not depend on the CPU

LAM = 0.1


# --- when to log ----------------------------------------------------------------------------------------------------


def test_default_schedule_is_the_documented_one():
    n = 128
    points = list(log_points("default", n, 80 * n))
    whole = [*range(1, 51), 55, 61, 68, 75, 80]  # 1.1 times as much, rounded up; then the end
    assert points == [1, 2, 4, 8, 16, 32, 64] + [n * passes for passes in whole]


@pytest.mark.parametrize(
    ("schedule", "max_calls", "points"),
    [
        (2.0, 35, [20, 35]),
        (0.1, 5, [1, 2, 3, 4, 5]),  # 3 * 0.1 passes of 10 are 3 calls, although 3 * 0.1 * 10 > 3
        (0.25, 10, [3, 5, 8, 10]),
        ((0.0, 0.5, 2.0, 9.0), 30, [5, 20, 30]),
        ((), 30, [30]),
        ("default", 3, [1, 2, 3]),
        ("default", 0, []),
        (1e-9, 3, [1, 2, 3]),  # at once, not after a thousand million numbers
    ],
)
def test_other_schedules(schedule, max_calls, points):
    assert list(log_points(schedule, 10, max_calls)) == points


# --- a solver that follows a script ---------------------------------------------------------------------------------


class Script(Solver):
    """Takes a step per oracle call; after k of them w is (ws[k],) and the dual is duals[k]."""

    name, title = "script", "script"
    iterates = ("last", "wavg")
    ws = (0.0,)
    duals = (0.0,)
    calls_per_pass_step = 1
    hits = False  # whether steps after the first need no oracle call

    def start(self, seed, iterates, order, warm_start):
        self.compiled = 0
        self.advances = []
        self.state = SimpleNamespace(step=0, oracle_calls=0)

    def compile(self):
        self.compiled += 1

    def advance(self, budget):
        if budget == NO_BUDGET:
            return Stop()
        self.advances.append(budget.calls)
        if self.hits:
            self.state.step += 7
            self.cache_hits += 7
            self.state.oracle_calls = min(self.oracle_calls + (self.step % 70 == 0), budget.calls)
            return Stop()
        self.state.step += budget.calls - self.oracle_calls
        self.state.oracle_calls = budget.calls
        return Stop()

    def point(self, iterate):
        k = min(self.step, len(self.ws) - 1)
        w = self.ws[k] if iterate == "last" else self.ws[k] + 1.0
        return Point(np.array([w]), self.duals[min(self.step, len(self.duals) - 1)] - (iterate != "last"))

    def exact_dual(self):
        return self.point("last").dual + 1e-13


class Cheap(fwexp.CallbackProblem):
    """Given by functions, but timed like compiled families."""


costly_oracle.register(Cheap)(lambda problem: False)


def constant(cls=fwexp.CallbackProblem):
    """P(w) = lam/2 w^2 + 1, four examples."""
    return cls(
        [0] * 4, features=lambda i, y: np.zeros(1), loss=lambda i, y: float(y), max_oracle=lambda i, w: 1, decode=lambda i, w: 1
    )


@pytest.fixture
def problem():
    return constant(Cheap)


def scripted(problem, *, lam=2.0, iterates=("last",), iterate="best", test=None, callback=None, **class_attributes):
    """Return a script and its log."""
    cls = type("Script", (Script,), class_attributes)
    solver = cls(problem, lam, NoOptions(), 0, iterates)
    progress = Progress(10, False)
    return solver, Log(solver, SVMObjective(solver, test), iterates, iterate, callback, progress)


def run(solver, log, *, max_passes=3.0, gap_tol=0.0, time_limit=None, schedule=1.0):
    status = drive(solver, log, Bounds(max_passes, gap_tol, time_limit), schedule)
    return as_result(solver, log, status, 0, gap_tol)


def test_best_iterate_is_the_logged_one_with_the_lowest_primal(problem):
    """And its gap is to the highest dual of any logged iterate."""
    solver, log = scripted(
        problem, iterates=("last", "wavg"), ws=[5, 4, 3, 2, 1, 1, 1, 1, -1, 0, 0, 0, 3], duals=[0, 0.1, 0.2, 0.3, 0.7]
    )
    result = run(solver, log)
    # Logged at 0, 4, 8, 12: w = 5, 1, -1, 3, and wavg one more: 0 after 8 steps.
    assert result.w.tolist() == [0.0]
    assert (result.primal, result.iterate, result.status) == (1.0, "wavg", "max_passes")
    assert result.dual == 0.7
    assert result.gap == result.primal - result.dual
    assert result.trace.primal.tolist() == [26.0, 37.0, 2.0, 5.0, 2.0, 1.0, 10.0, 17.0]


@pytest.mark.parametrize(("iterate", "w"), [("last", 3.0), ("wavg", 4.0)])
def test_fixed_iterate_is_the_final_one(problem, iterate, w):
    solver, log = scripted(problem, iterates=("last", "wavg"), iterate=iterate, ws=[5, 0, 0, 0, 3], duals=[0.5, 0, 0, 0, 0.25])
    result = run(solver, log, max_passes=1)
    assert (result.w.tolist(), result.iterate, result.primal) == ([w], iterate, 1.0 + w * w)
    assert result.dual == 0.5  # of the start: a certificate is not forgotten


@pytest.mark.parametrize(("iterate", "passes"), [("best", 2), ("last", 3)])
def test_stops_when_the_certificate_of_the_result_reaches_the_tolerance(problem, iterate, passes):
    """For ``best`` at step 8 with the primal of step 4, where the gap is 0.1; the last iterate gets there at step 12."""
    ws, duals = [9] * 4 + [0] * 4 + [2] * 4 + [0.1], [0] * 4 + [0.9] * 4 + [0.95] * 5
    solver, log = scripted(problem, ws=ws, duals=duals, iterate=iterate)
    result = run(solver, log, max_passes=50, gap_tol=0.07)
    assert (result.status, result.trace.passes.iloc[-1]) == ("converged", passes)
    assert result.gap <= 0.07
    assert result.reason == "the certified gap reached gap_tol"


def test_converged_at_the_start_takes_no_step(problem):
    solver, log = scripted(problem, duals=[0.999])
    result = run(solver, log, gap_tol=0.01)
    assert (result.status, len(result.trace), solver.advances) == ("converged", 1, [])


def test_without_a_dual_or_a_tolerance_runs_go_to_the_end(problem):
    without = run(*scripted(problem, has_dual=False, duals=[math.nan]), gap_tol=100.0)
    at_the_optimum = run(*scripted(problem, duals=[1.0]))
    assert without.status == at_the_optimum.status == "max_passes"
    assert np.isnan([without.gap, without.dual]).all()
    assert at_the_optimum.gap == pytest.approx(0.0, abs=1e-12)


def test_dual_of_the_last_iterate_is_computed_from_scratch(problem):
    """Where it is the highest one; values of earlier iterates and of averages cannot be."""
    for duals, offset in (([0.0] * 12 + [0.5], 1e-13), ([0.0] * 4 + [0.6] * 8 + [0.5], 0.0)):
        result = run(*scripted(problem, duals=duals))
        assert result.dual - max(duals) == pytest.approx(offset, rel=0.01)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e200])
def test_diverges_when_an_objective_is_not_finite(problem, bad):
    solver, log = scripted(problem, ws=[0.0] * 5 + [bad] * 50)
    result = run(solver, log)
    assert (result.status, result.trace.passes.iloc[-1]) == ("diverged", 2)
    assert (result.w.tolist(), result.primal) == ([0.0], 1.0)


@pytest.mark.parametrize(("schedule", "first"), [(1.0, [0, 7, 14, 21, 28, 35]), ((1.0,), [0, 7, 14, 28, 56])])
def test_steps_without_oracle_calls_are_logged_every_n_or_ever_less_and_capped(problem, schedule, first):
    solver, log = scripted(problem, hits=True)
    result = run(solver, log, max_passes=1, schedule=schedule)
    steps = result.trace.step.tolist()
    assert steps == sorted(set(steps))
    assert steps[: len(first)] == first  # n = 4 hits or more since the last row, or twice as many since the point of the schedule
    assert solver.oracle_calls == 4
    assert solver.step < 100 * 4 + 7


def test_steps_are_capped_at_100_per_call(problem):
    """A cache that always answers does not run for ever."""
    solver, log = scripted(problem, hits=True)

    def fifty(budget):
        solver.state.step = min(solver.step + 50, budget.steps)
        return Stop()

    solver.advance = fifty
    result = run(solver, log, max_passes=2)
    assert (result.status, solver.step) == ("max_passes", 100 * 8)


def test_rows_have_all_columns_in_order(problem):
    rows = []
    solver, log = scripted(problem, iterates=("last", "wavg"), test=problem, callback=rows.append)
    result = run(solver, log, max_passes=2)
    assert tuple(result.trace.columns) == TRACE_COLUMNS
    assert [tuple(row) for row in rows] == [TRACE_COLUMNS] * len(result.trace)
    assert result.trace.iterate.tolist() == ["last", "wavg"] * 3
    assert result.trace.passes.tolist() == [0, 0, 1, 1, 2, 2]
    assert result.trace.test_error.tolist() == [1.0] * 6
    assert result.trace[["train_error", "gap_estimate", "cache_hits", "atoms"]].isna().all(axis=None)
    np.testing.assert_array_equal(result.trace.gap, result.trace.primal - result.trace.dual)
    rows[0]["primal"] = -1.0  # a callback gets a copy
    assert result.trace.primal[0] == 1.0


@pytest.fixture
def now(monkeypatch):
    """Yield the time."""
    seconds = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: seconds[0])
    return seconds


def takes(solver, now, seconds):
    """Have ``advance`` take some seconds, or as many as a function of its budget says."""
    advance = solver.advance

    def slow(budget):
        if budget != NO_BUDGET:
            now[0] += seconds(budget) if callable(seconds) else seconds
        return advance(budget)

    solver.advance = slow


def test_clock_runs_only_while_the_solver_takes_steps(problem, now, monkeypatch):
    """Compiling, evaluating, callbacks cost nothing; a step costs a second here."""

    def costs(seconds, function):
        def slow(*args, **kwargs):
            now[0] += seconds
            return function(*args, **kwargs)

        return slow

    solver, log = scripted(problem, test=problem, callback=costs(1000.0, lambda row: None))
    solver.compile = costs(1e6, solver.compile)
    takes(solver, now, 1.0)
    monkeypatch.setattr(Evaluator, "__call__", costs(1e5, Evaluator.__call__))
    result = run(solver, log)
    assert result.trace.time.tolist()[0] == 0.0
    # A step per second is less than one in a tenth of a second, so every call of advance takes one.
    assert result.trace.time.tolist() == [0.0, 4.0, 8.0, 12.0]
    assert now[0] > 1e6


def test_time_limit_is_in_solver_seconds(problem, now):
    solver, log = scripted(problem, callback=lambda row: now.__setitem__(0, now[0] + 1e9))
    takes(solver, now, 1.0)
    result = run(solver, log, max_passes=1000, time_limit=6.0)
    assert (result.status, solver.oracle_calls) == ("time_limit", 6)
    assert result.trace.passes.tolist() == [0.0, 1.0, 1.5]  # what was reached is logged


@pytest.mark.parametrize(
    ("seconds", "limit", "rows", "most"), [(0.5, 100.0, 100, 152), (10.0, 100.0, 12, 240), (10.0, None, 200, 2220)]
)
def test_rows_are_left_out_while_evaluation_takes_longer_than_steps(problem, now, seconds, limit, rows, most):
    """A step takes a second, and rows are due at every step."""
    solver, log = scripted(problem, callback=lambda row: now.__setitem__(0, now[0] + seconds))
    takes(solver, now, 1.0)
    result = run(solver, log, max_passes=50, time_limit=limit, schedule=0.25)
    assert solver.oracle_calls == (limit or 200)
    assert now[0] <= most
    assert rows <= len(result.trace) <= rows + 2
    assert result.trace.oracle_calls.iloc[-1] == solver.oracle_calls
    assert np.diff(result.trace.oracle_calls).max() <= max(1.0, 2.0 * seconds)  # evenly


def test_looks_at_the_clock_about_ten_times_a_second(problem, now):
    """Portions grow with the rate of oracle calls, so that a fast solver is not held up."""
    solver, log = scripted(problem)
    takes(solver, now, lambda budget: (budget.calls - solver.oracle_calls) / 1000.0)
    run(solver, log, max_passes=1000, schedule=())
    assert np.diff(solver.advances)[1:-1].tolist() == pytest.approx([100] * (len(solver.advances) - 3), abs=1)


# --- Ctrl-C ---------------------------------------------------------------------------------------------------------


def interrupt_at(passes, times=1):
    """Return a callback that sends SIGINT when it sees a row at so many passes."""

    def callback(row):
        if row["passes"] == passes and row["iterate"] == "last":
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    return callback


@pytest.mark.parametrize("solver", ["bcfw", "fw", "ssg"])
def test_first_interrupt_ends_the_run_with_a_result(solver):
    _, problem = chain("dense", 0)
    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(RuntimeWarning) as warned:
        result = fwexp.solve(problem, solver, lam=LAM, gap_tol=0, callback=interrupt_at(2), schedule=1)
    assert result.status == "interrupted"
    (warning,) = warned
    ended = f"Ctrl-C ended the run at pass {result.trace.passes.iloc[-1]:.4g}: the result is what was reached; "
    assert str(warning.message) == ended + "the next Ctrl-C raises KeyboardInterrupt"
    assert warning.filename == __file__
    assert result.reason == "the run was interrupted"
    assert 2 <= result.trace.passes.iloc[-1] < 10
    assert result.primal == pytest.approx(result.trace.primal.min(), rel=1e-12)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("solver", ["bcfw", "fw", "ssg"])
@pytest.mark.parametrize(("kind", "passes"), [(bool, 2), (np.bool_, 2), (lambda late: True, 0)])
def test_a_callback_that_returns_true_ends_the_run(solver, kind, passes):
    _, problem = chain("dense", 0)
    result = fwexp.solve(problem, solver, lam=LAM, gap_tol=0, callback=lambda row: kind(row["passes"] >= 2), schedule=1)
    assert (result.status, result.reason) == ("interrupted", "the run was stopped by the callback")
    assert (result.trace.passes.iloc[-1], set(result.trace.iterate)) == (passes, set(result.trace.iterate.iloc[-2:]))
    assert "interrupted after" in repr(result)


@pytest.mark.parametrize("answer", [None, False, 1, 0.5, "yes"])
def test_any_other_answer_of_a_callback_does_not(problem, answer):
    assert run(*scripted(problem, callback=lambda row: answer)).status == "max_passes"


def test_interrupt_from_outside_while_steps_are_taken():
    _, problem = chain("dense", 0)
    fwexp.solve(problem, "bcfw", lam=LAM, max_passes=1)  # compiles
    before, is_over = signal.getsignal(signal.SIGINT), threading.Event()

    def interrupt():
        while not is_over.wait(0.01):
            if signal.getsignal(signal.SIGINT) is not before:  # The run listens, so the signal ends it instead of the tests.
                os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.warns(RuntimeWarning, match="Ctrl-C ended the run at pass"):
            result = fwexp.solve(problem, "bcfw", lam=LAM, gap_tol=0, max_passes=1e9, schedule=())
    finally:
        is_over.set()
        thread.join()
    assert result.status == "interrupted"
    assert len(result.trace) == 4  # start and end, last and wavg


@pytest.mark.parametrize(
    "before", [signal.default_int_handler, signal.SIG_IGN, signal.SIG_DFL], ids=["python", "ignore", "default"]
)
def test_second_interrupt_acts_as_always(before):
    """Also where the parent ignores the signal, as in the background of a script."""
    _, problem = chain("dense", 0)
    outside = signal.signal(signal.SIGINT, before)
    try:
        with pytest.raises(KeyboardInterrupt):
            fwexp.solve(problem, "bcfw", lam=LAM, gap_tol=0, callback=interrupt_at(2, times=2), schedule=1)
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, outside)


def interrupted_twice():
    """Yield from a loop of runs each of which hears Ctrl-C."""
    _, problem = chain("dense", 0)
    for _ in range(2):
        yield fwexp.solve(problem, "bcfw", lam=LAM, gap_tol=0, callback=interrupt_at(2), schedule=1).status


@pytest.mark.parametrize("before", [signal.default_int_handler, signal.SIG_IGN], ids=["python", "ignore"])
def test_an_interrupt_in_a_later_run_raises(before):
    """Otherwise a loop could not be left. Once it is left, the next loop starts afresh."""
    outside = signal.signal(signal.SIGINT, before)
    try:
        for _ in range(2):
            runs = interrupted_twice()
            with pytest.warns(RuntimeWarning, match="Ctrl-C"):
                assert next(runs) == "interrupted"
            with pytest.raises(KeyboardInterrupt):
                next(runs)
            assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, outside)


def test_every_cell_of_a_session_has_a_first_interrupt():
    """Reading a result and training on is no request to leave a loop."""
    given = {"runs": interrupted_twice()}
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="Ctrl-C"):
            exec(compile("status = next(runs)", "cell", "exec"), given)
        assert given["status"] == "interrupted"


@pytest.mark.parametrize("how", ["raise", "keep"])
def test_callers_choose_what_an_interrupt_does(how):
    with on_interrupt(how):
        if how == "keep":
            assert [*interrupted_twice()] == ["interrupted"] * 2
        else:
            with pytest.raises(KeyboardInterrupt):
                next(interrupted_twice())


def test_other_threads_leave_interrupts_alone():
    _, problem = chain("dense", 0)
    results, handlers = [], []

    def work():
        callback = lambda row: handlers.append(signal.getsignal(signal.SIGINT))  # noqa: E731
        results.append(fwexp.solve(problem, "bcfw", lam=LAM, max_passes=2, gap_tol=0, callback=callback))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results[0].status == "max_passes"
    assert set(handlers) == {before}


# --- real solvers ---------------------------------------------------------------------------------------------------

SOLVERS = [
    ("bcfw", {}),
    ("bcfw", {"sampling": "perm", "line_search": False}),
    ("bcfw", {"sampling": "gap", "step": "pairwise", "cache": True}),
    ("bcfw", {"sampling": "perm", "step": "corrective", "accelerate": True}),
    ("fw", {}),
    ("ssg", {}),
]


@dataclass
class Way:
    """A way to watch a run, which must not change it."""

    name: str
    arguments: dict


def ways(test):
    everything = ("last", "wavg", "tavg", "avg")
    return [
        Way("nothing", {"schedule": []}),
        Way("period", {"schedule": 0.3}),
        Way("steps", {"schedule": "steps"}),
        Way("list", {"schedule": [0.1, 0.11, 2.5, 3]}),
        Way("test set", {"test": test, "train_error": True}),
        Way("verbose", {"verbose": True}),
        Way("callback", {"callback": lambda row: np.random.default_rng().random()}),
        Way("all iterates", {"iterates": everything}),
        Way("time limit", {"time_limit": 1e6}),
    ]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("solver", "options", "rows"),
    [("auto", {}, 4), ("bcfw", {"sampling": "gap", "step": "pairwise", "cache": True}, 11), ("one_slack", {}, 11)],
)
def test_a_slow_machine_logs_the_same_rows(solver, options, rows, monkeypatch):
    """Where the loop looks at the clock depends on the machine; where it logs, and so where a run ends, does not."""
    train, _ = fwexp.load_dataset("digits")
    how = {"lam": 0.01, "max_passes": 12, "gap_tol": 0.01, **options}
    assert len(at_any_speed(monkeypatch, lambda: fwexp.solve(train, solver, **how).trace, (1e-4, 0.02, 10.0))) >= rows


@pytest.mark.parametrize("lam", [0.1, 10.0])
@pytest.mark.parametrize("options", [{}, {"accelerate": False}], ids=["accelerated", "plain"])
def test_gaps_that_are_spent_do_not_end_a_run(lam, options, monkeypatch):
    """A step that leaves nothing to choose by makes the next one cost n calls, which the loop has to know."""
    how = {"lam": lam, "max_passes": 40, "gap_tol": 0, "schedule": [], **options}
    assert at_any_speed(monkeypatch, lambda: fwexp.solve(small_chains(10), "auto", **how).trace).oracle_calls.max() > 390


@pytest.mark.parametrize("seconds", [0.0, 10.0])
@pytest.mark.parametrize("options", [{"cache": True, "refresh": 2.0}, {"step": "corrective", "accelerate": True}, {}])
def test_rows_can_follow_numbers_of_steps(seconds, options, monkeypatch):
    """With a cache, a pass through a given order is no pass of oracle calls."""
    monkeypatch.setattr("fwexp.driver.loop.CHUNK_SECONDS", seconds)
    problem = small_chains(10)
    order = np.random.default_rng(0).permuted(np.tile(np.arange(10), (60, 1)), axis=1).ravel()
    how = {"lam": 0.1, "order": order, "max_passes": 20, "gap_tol": 0, "iterates": ["last"], **options}
    trace = fwexp.solve(problem, "bcfw", schedule="steps", **how).trace
    *ends, last = trace.step.tolist()
    assert ends == list(range(0, 10 * len(ends), 10))
    assert 0 < last - ends[-1] <= 10
    assert len(ends) > 20 if "cache" in options else len(ends) == 20


@pytest.mark.parametrize("seconds", [1e-4, 10.0])
def test_steps_without_oracle_calls_are_taken_to_their_end_before_a_row(seconds, monkeypatch):
    """A row at a bound on oracle calls comes when the next step needs one, however the run was cut into portions."""
    monkeypatch.setattr("fwexp.driver.loop.CHUNK_SECONDS", seconds)
    running = get_solver("n_slack")(small_chains(40), 1e-4, get_solver("n_slack").Options())
    log = Log(running, SVMObjective(running))
    drive(running, log, Bounds(2), (2.0,))
    before = running.step
    running.advance(Budget(running.oracle_calls, before + 10**6))
    assert running.step == before


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
def test_watching_does_not_change_a_run(solver, options):
    """Weights after 6 passes, and all that was logged at the same steps, are the same bits."""
    _, problem = chain("dense", 1, n=7)
    _, test = chain("dense", 2, n=3)
    common = {"lam": LAM, "max_passes": 6, "gap_tol": 0, "seed": 3, "iterate": "last", **options}
    plain = fwexp.solve(problem, solver, **common)
    columns = ["iterate", "step", "oracle_calls", "passes", "primal", "dual"]
    rows = plain.trace[columns].set_index(["iterate", "step", "oracle_calls"])
    for way in ways(test):
        if way.name == "all iterates" and "accelerate" in options:
            continue
        watched = fwexp.solve(problem, solver, **common, **way.arguments)
        assert watched.w.tobytes() == plain.w.tobytes(), way.name
        assert watched.primal == plain.primal
        others = watched.trace[columns].set_index(["iterate", "step", "oracle_calls"])
        both = rows.index.intersection(others.index)
        assert len(both) >= 2
        for name in ("passes", "primal", "dual"):
            np.testing.assert_array_equal(rows.loc[both, name], others.loc[both, name], err_msg=way.name)
        if way.name == "test set":
            assert watched.trace[["test_error", "train_error"]].notna().all(axis=None)
        else:
            assert watched.trace[["test_error", "train_error"]].isna().all(axis=None)


@pytest.mark.parametrize(("solver", "options"), [("bcfw", {"line_search": False}), ("fw", {"line_search": False}), ("ssg", {})])
def test_a_norm_that_overflows_has_diverged(solver, options):
    """Weights have entries of 1e200; `fwexp.testing.check_solver` sees that all other statuses are reached."""
    assert fwexp.solve(huge(), solver, lam=LAM, schedule=1, gap_tol=0, **options).status == "diverged"


def huge():
    """Return inputs that no constructor accepts, whose psi do not cancel."""
    problem = fwexp.multiclass_problem(np.array([[1.0], [3.0]]), [0, 1])
    return problem._replace(x=DenseFeatures(problem.x.values * 1e200), norm_sq=problem.norm_sq * np.inf)


# --- costly oracles -------------------------------------------------------------------------------------------------


COSTLY = [
    ("auto", {}),
    ("bcfw", {"train_error": True}),
    ("bcfw", {"sampling": "gap", "step": "pairwise", "cache": True, "refresh": 3, "iterates": ["last"]}),
    ("fw", {}),
    ("ssg", {"test": True}),
    ("one_slack", {}),
    ("approx_bcfw", {"iterates": ["last"]}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "options"), COSTLY)
def test_all_oracle_calls_are_counted_and_few_are_for_the_log(solver, options):
    """By default at most a quarter of the solver's, and start and end; with any schedule the same iterates."""
    results = []
    for schedule in ("default", 1):
        problem, calls = counting()
        test = {"test": problem} if "test" in options else {}
        result = fwexp.solve(
            problem, solver, lam=0.01, max_passes=24, gap_tol=0, iterate="last", schedule=schedule, **options | test
        )
        end = result.trace.iloc[-1]
        assert calls.total() == end.oracle_calls + end.evaluation_calls
        assert 23 * problem.n < end.oracle_calls <= 24 * problem.n
        assert (np.diff(result.trace.evaluation_calls) >= 0).all()
        results.append(result)
    calls_per_example = 1 + ("train_error" in options) + ("test" in options) + (solver == "approx_bcfw")  # its certificate
    point = result.trace.iterate.nunique() * problem.n * calls_per_example
    rare, often = (result.trace.evaluation_calls.iloc[-1] for result in results)
    assert rare <= 24 * problem.n / 4 + 2 * point
    if solver != "one_slack":  # whose best w may stay what it was
        assert often > rare
    assert results[0].w.tobytes() == results[1].w.tobytes()
    assert results[0].primal == pytest.approx(results[1].primal, rel=1e-12)


def test_trace_of_compiled_problems_counts_evaluations_too():
    _, problem = chain("dense", 0, n=5)
    _, test = chain("dense", 1, n=3)
    result = fwexp.solve(problem, "bcfw", lam=LAM, max_passes=2, gap_tol=0, schedule=1, train_error=True, test=test)
    # The two iterates are the same at the start.
    assert result.trace.evaluation_calls.tolist() == [13, 13, 26, 39, 52, 65]


def test_refreshes_certify_for_nothing():
    """The exact gaps that the solver computes for itself are the objective of the last iterate, to rounding."""
    problem, _ = counting()
    options = {"sampling": "gap", "refresh": 1, "iterates": ["last"]}
    trace = fwexp.solve(problem, "bcfw", lam=LAM, max_passes=20, gap_tol=0, **options).trace
    free = trace[trace.evaluation_calls.diff() == 0]
    assert len(free) >= 5
    schedule = (free.oracle_calls / problem.n).tolist()
    evaluated = fwexp.solve(problem, "bcfw", lam=LAM, max_passes=20, gap_tol=0, schedule=schedule, **options).trace
    evaluated = evaluated.set_index("oracle_calls").loc[free.oracle_calls]
    np.testing.assert_allclose(free.primal, evaluated.primal, rtol=1e-12)
    np.testing.assert_array_equal(free.dual, evaluated.dual)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "one_slack"])
def test_costly_runs_do_not_depend_on_the_clock(monkeypatch, solver):
    how = {"lam": 0.01, "max_passes": 60, "gap_tol": 1e-2}
    trace = at_any_speed(monkeypatch, lambda: fwexp.solve(counting(n=40)[0], solver, **how).trace, (1e-5, 0.003, 10.0))
    assert trace.gap.iloc[-1] <= 1e-2


@pytest.mark.parametrize(
    ("solver", "options"), [("auto", {}), ("fw", {}), ("bcfw", {"schedule": 0.1}), ("ssg", {"train_error": True})]
)
def test_time_limit_of_costly_oracles_is_in_wall_time(solver, options, monkeypatch):
    """On a clock that calls of the oracle move on: one each."""
    problem, calls = counting()
    monkeypatch.setattr("time.perf_counter", lambda: float(calls.total()))
    for limit in (1.0, 50.0, 200.0, 1000.0):
        calls.clear()
        result = fwexp.solve(problem, solver, lam=LAM, max_passes=1000, gap_tol=0, time_limit=limit, **options)
        assert result.status == "time_limit"
        one_evaluation = problem.n * (1 + ("train_error" in options))
        assert calls.total() <= limit + one_evaluation
        assert calls.total() >= 0.5 * limit
        end = result.trace[result.trace.iterate == "last"].iloc[-1]
        assert end.time == end.oracle_calls  # solver seconds, as ever
        if limit == 1000.0 and "schedule" not in options:
            assert end.oracle_calls > 0.4 * limit  # what was reached is logged


def test_nothing_is_compiled_by_calling_a_costly_oracle():
    problem, calls = counting()
    frame = fwexp.grid_search(problem, 0.5, lams=[1.0, 0.1])
    assert calls.total() == frame.oracle_calls.iloc[-1]
