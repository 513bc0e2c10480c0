"""Checks of a solver, one short function per promise; the public face is ``fwexp.testing``."""

import math
import signal
import threading
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cached_property

import numpy as np

from fwexp import record
from fwexp.driver.clock import on_interrupt
from fwexp.driver.settings import ITERATES, RunSettings
from fwexp.errors import OptionError
from fwexp.problems import protocol, tiers
from fwexp.problems.callback import CallbackProblem
from fwexp.problems.constraints import public_indices
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.loss_terms import HINGE
from fwexp.solvers import SOLVERS, Solver, check_needs, check_options
from fwexp.solvers.base import NO_BUDGET, Budget, Stop
from fwexp.solvers.choosing import start
from fwexp.tasks.result import Result
from fwexp.tasks.train import run_solver
from fwexp.testing.probe import close, require

NO_LIMIT = 10**9
PASSES = 12  # of the runs that are compared
CONVERGENCE_PASSES = 100  # passes after which the objective must be near the optimum


class SolverProbe:
    """A solver class with options, and a problem and an objective to run it on."""

    def __init__(self, cls: type[Solver], problem, lam: float, options, objective=HINGE) -> None:
        self.cls, self.problem, self.lam, self.options, self.objective = cls, problem, lam, options, objective
        self.asked: list[int] = []

    @property
    def iterates(self) -> tuple[str, ...]:
        """The iterates that exist with these options."""
        return self.cls.available_iterates(self.options)

    def new(self, *, seed: int = 0, order=None, warm_start=None, problem=None, lam: float | None = None) -> Solver:
        """Return a solver at step 0 that keeps all its iterates."""
        problem, options = self.problem if problem is None else problem, self.options
        if order is not None and hasattr(options, "sampling"):  # an order excludes other rules
            options = replace(options, sampling=self.cls.Options().sampling)
        return start(self.cls, problem, lam or self.lam, options, seed, self.iterates, order, warm_start, self.objective)

    def ran(self, passes: float = PASSES, **arguments) -> Solver:
        """Return a solver after so many passes."""
        solver = self.new(**arguments)
        solver.compile()
        self.go_on(solver, math.floor(passes * self.problem.n))
        return solver

    def go_on(self, solver: Solver, calls: int) -> None:
        """Advance a solver to ``calls`` oracle calls, as the driver does."""
        before = -1
        while before < solver.oracle_calls < calls and solver.step < 100 * calls:
            before = solver.oracle_calls
            solver.advance(Budget(calls, 100 * calls))

    def weights(self, solver: Solver, iterate: str = "last") -> np.ndarray:
        """Return public weights."""
        return protocol.to_public(solver.problem, np.array(solver.point(iterate).w))

    def primal(self, solver: Solver, iterate: str = "last") -> float:
        """Return P at an iterate."""
        point = solver.point(iterate)
        value = Evaluator(solver.problem, self.objective)(np.array(point.w), error=False, norm_sq=point.norm_sq)
        return 0.5 * self.lam * value.norm_sq + value.hinge

    @cached_property
    def optimum(self) -> float:
        """An upper bound on the optimum, nearly tight: by pairwise steps, or of a solver with its own view by itself."""
        if self.new().problem is not self.problem:
            solver = self.ran(3 * CONVERGENCE_PASSES)
            return min(self.primal(solver, name) for name in self.iterates)
        cls = SOLVERS["bcfw" if self.objective == HINGE else "block_entropic"]
        step = {"step": "pairwise"} if self.objective == HINGE and tiers.has(self.problem, "sets") else {}
        options = check_options(cls, {"sampling": "perm", **step})
        reference = cls(self.problem, self.lam, options, objective=self.objective)
        reference.advance(Budget(3 * CONVERGENCE_PASSES * self.problem.n, NO_LIMIT))
        return self.primal(reference)

    def solve(self, *, callback=None, max_passes: float = PASSES, gap_tol: float = 0.0, time_limit=None) -> Result:
        """Run the solver as ``fwexp.solve`` does; the class need not be registered."""
        bounds = {"max_passes": max_passes, "gap_tol": gap_tol, "time_limit": time_limit}
        return run_solver(self.new(), RunSettings(**bounds, schedule=1.0, callback=callback), self.iterates)

    def plain(self, **arguments) -> Solver | None:
        """Return a solver on the same problem given by Python functions, or None if it needs more than these."""
        try:
            check_needs(self.cls, self.in_plain_python, self.options, objective=self.objective)
            return self.new(problem=self.in_plain_python, **arguments)
        except OptionError:
            return None

    @cached_property
    def in_plain_python(self) -> CallbackProblem:
        """The same problem given by Python functions; ``asked`` notes the examples of oracle calls."""
        problem, work = self.problem, protocol.workspace(self.problem)

        def truth(i):
            protocol.true_labeling(problem, i, work.y)
            return protocol.public_labeling(problem, i, work.y)

        def max_oracle(i, w):
            self.asked.append(int(i))
            protocol.scores(problem, i, protocol.from_public(problem, w), work.theta)
            protocol.max_oracle(problem, i, work.theta, work.y, work.scratch)
            return protocol.public_labeling(problem, i, work.y)

        return CallbackProblem(
            [truth(i) for i in range(problem.n)],
            features=lambda i, y: protocol.joint_feature(problem, i, protocol.as_labeling(problem, i, y)),
            loss=lambda i, y: protocol.loss(problem, i, protocol.as_labeling(problem, i, y)),
            max_oracle=max_oracle,
            nonnegative=public_indices(problem),
        )


def state_of(solver: Solver, iterates) -> tuple:
    """Return all that is seen of a solver from outside, for comparison bit by bit."""
    points = [solver.point(name) for name in iterates]
    return (solver.step, solver.oracle_calls, *((np.array(p.w).tobytes(), np.float64(p.dual).tobytes()) for p in points))


# --- the checks -----------------------------------------------------------------------------------------------------


def declares_what_it_is(probe):
    """Check the name, title, options and iterates, which the interface, the command line and the plots need."""
    cls = probe.cls
    require(isinstance(cls.name, str) and cls.name.isidentifier(), f"name must be an identifier, got {cls.name!r}")
    require(isinstance(cls.title, str) and cls.title, "title must be a text for legends")
    frozen = is_dataclass(cls.Options) and cls.Options.__dataclass_params__.frozen
    require(frozen, "Options must be a frozen dataclass")
    bare = [f.name for f in fields(cls.Options) if f.default is MISSING and f.default_factory is MISSING]
    require(not bare, f"every option must have a default, but {', '.join(bare)} has none")
    require(callable(cls.needs), f"needs must be a function of the options that returns names of tiers, got {cls.needs!r}")
    known = [tier for tier in tiers.TIERS if tier != tiers.REQUIRED]
    for tier in cls.needs(probe.options):
        require(tier in known, f"needs must return tiers, accepted: {', '.join(known)}; got {tier!r}")
    require("last" in cls.iterates, "iterates must contain last")
    require(set(cls.iterates) <= set(ITERATES), f"iterates must be among {', '.join(ITERATES)}, got {cls.iterates}")


def refuses_unknown_options(probe):
    """Check that an option that does not exist is an error."""
    try:
        check_options(probe.cls, {"no_such_option": 1})
    except OptionError:
        return
    require(False, "an unknown option must be refused")


def starts_at_step_0(probe):
    """Check that a new solver has taken no step, compiling takes none, and all iterates are the start."""
    solver = probe.new()
    before = state_of(solver, probe.iterates)
    for name, act in (("compile()", solver.compile), ("advance(NO_BUDGET)", lambda: solver.advance(NO_BUDGET))):
        act()
        require(solver.step == 0 and solver.oracle_calls == 0, f"{name} must take no step")
        require(state_of(solver, probe.iterates) == before, f"{name} must not change the iterates")
    for name in probe.iterates:
        require(np.array_equal(probe.weights(solver, name), probe.weights(solver)), f"{name} must be the start at step 0")


def keeps_its_bounds(probe):
    """Check that ``advance`` keeps its budget, and takes a step if the budget allows ``calls_needed`` calls."""
    solver = probe.new()
    solver.compile()
    stop = solver.advance(NO_BUDGET)
    for _ in range(5 * probe.problem.n):
        require(isinstance(stop, Stop), f"advance must return a Stop, got {stop!r}")
        step, calls, need = solver.step, solver.oracle_calls, stop.calls_needed
        require(need >= 1, f"calls_needed must be at least 1, got {need}")
        budget = Budget(calls + need, step + 3)
        stop = solver.advance(budget)
        require(solver.oracle_calls <= budget.calls, f"advance must keep to {budget.calls} calls, got {solver.oracle_calls}")
        require(solver.step <= budget.steps, f"advance must keep to {budget.steps} steps, got {solver.step}")
        require((solver.step, solver.oracle_calls) != (step, calls), "advance must move if calls_needed calls are allowed")


def portions_do_not_matter(probe):
    """Check that many short calls of ``advance``, with looks at the iterates, give the same bits as one long call."""
    whole, portions, calls = probe.ran(), probe.new(), PASSES * probe.problem.n
    stop = portions.advance(NO_BUDGET)
    while portions.oracle_calls < calls:
        before, target = (portions.step, portions.oracle_calls), portions.oracle_calls + stop.calls_needed
        stop = portions.advance(Budget(min(target, calls), NO_LIMIT))
        state_of(portions, probe.iterates)
        portions.extras()
        if (portions.step, portions.oracle_calls) == before:
            require(target > calls, "advance must move if calls_needed calls are allowed")
            break
    require(state_of(portions, probe.iterates) == state_of(whole, probe.iterates), "a run in portions must equal a run at once")


def continues_from_its_state(probe):
    """Check that a solver continues from a saved state to the same bits, at any point of a run."""
    for calls in (0, probe.problem.n // 2, 2 * probe.problem.n + 1, 5 * probe.problem.n):
        first = probe.new()
        first.compile()
        probe.go_on(first, calls)
        saved = record.to_arrays(first.state)
        before = state_of(first, probe.iterates)
        probe.go_on(first, PASSES * probe.problem.n)
        second = probe.new(seed=1)
        second.restore(record.from_arrays(saved))
        require(state_of(second, probe.iterates) == before, "a restored solver must be where the saved one was")
        probe.go_on(second, PASSES * probe.problem.n)
        equal = state_of(second, probe.iterates) == state_of(first, probe.iterates)
        require(equal, f"a run that is restored after {calls} oracle calls must go on as if nothing had happened")


def the_seed_decides(probe):
    """Check that runs with the same seed are equal, and that another seed matters only if ``stochastic`` is true."""
    runs = [state_of(probe.ran(seed=seed), probe.iterates) for seed in (0, 0, 1)]
    require(runs[0] == runs[1], "two runs with the same seed must be the same")
    options = vars(probe.options)
    if not probe.cls.stochastic:
        require(runs[0] == runs[2], "the seed must not matter where stochastic is False")
    elif options.get("sampling") not in ("cyclic", "max_gap", "max_gain"):
        require(runs[0] != runs[2], "the seed must matter where stochastic is True")


def follows_the_order(probe):
    """Check that a given order decides which examples are visited, for any seed."""
    if not probe.cls.takes_order:
        return
    n, length = probe.problem.n, 200 * PASSES * probe.problem.n
    forth, back, first = (np.resize(order, length).astype(np.int64) for order in (np.arange(n), np.arange(n)[::-1], [0]))
    runs = [state_of(probe.ran(order=order, seed=s), probe.iterates) for order, s in ((forth, 0), (forth, 1), (back, 0))]
    require(runs[0] == runs[1], "with a given order the seed must not matter")
    require(n == 1 or runs[0] != runs[2], "another order must give another run")
    plain = probe.plain(order=first)
    if plain is not None:
        probe.asked.clear()
        plain.advance(Budget(1, 1))
        require(probe.asked == [0], f"the first step of order = 0, 0, ... must call the oracle of example 0, not {probe.asked}")


def averages_are_averages(probe):
    """Check that wavg weighs w_j by j, and avg and tavg are means of w_j; so are the duals' b'a."""
    if len(public_indices(probe.problem)):
        return  # then they are those of A a, which is not seen from outside
    solver = probe.new()
    solver.compile()
    path = [(probe.weights(solver), dual_loss(probe, solver, "last"))]
    for k in range(1, 3 * probe.problem.n):
        solver.advance(Budget(NO_LIMIT, k))
        require(solver.step == k, f"advance must go to step {k} if its budget has {k} steps, got {solver.step}")
        path.append((probe.weights(solver), dual_loss(probe, solver, "last")))
        steps, first = np.arange(k + 1.0), 1 << (k.bit_length() - 1)
        kinds = {"wavg": steps, "avg": 1.0 * (steps > 0), "tavg": 1.0 * (steps >= first), "last": 1.0 * (steps == k)}
        for name in probe.iterates:
            weights = kinds[name] / kinds[name].sum()
            wanted = [sum(c * point[which] for c, point in zip(weights, path, strict=True)) for which in range(2)]
            require(close(probe.weights(solver, name), wanted[0]), f"{name} at step {k} is not the average it should be")
            if probe.cls.has_dual:
                got = dual_loss(probe, solver, name)
                require(close(got, wanted[1]), f"b'a of {name} at step {k} must be {wanted[1]}, got {got}")


def dual_loss(probe, solver: Solver, iterate: str) -> float:
    """Return b'a = D + lam/2 ||w||^2, where w is A a."""
    point = solver.point(iterate)
    norm_sq = protocol.inner(solver.problem, point.w, point.w) if point.norm_sq is None else point.norm_sq
    return point.dual + 0.5 * probe.lam * norm_sq


def dual_points_are_lower_bounds(probe):
    """Check that no dual value exceeds the optimum or is missing, and that exact_dual agrees with ``last``."""
    solver = probe.new()
    solver.compile()
    for passes in range(PASSES + 1):
        probe.go_on(solver, passes * probe.problem.n)
        for name in probe.iterates:
            dual = solver.point(name).dual
            if not probe.cls.has_dual:
                require(math.isnan(dual), f"the dual must be NaN where has_dual is False, got {dual}")
                continue
            bound = probe.optimum + 1e-9 * (1 + abs(probe.optimum))
            require(dual <= bound, f"the dual of {name} must be a number <= the optimum {probe.optimum}, got {dual}")
        exact, running = solver.exact_dual(), solver.point("last").dual
        require(not probe.cls.has_dual or close(exact, running), f"exact_dual must be the dual {running} of last, got {exact}")


def comes_near_the_optimum(probe):
    """Check that 100 passes bring primal and dual values to a quarter of their first distance from the optimum."""
    start, solver = probe.new(), probe.ran(CONVERGENCE_PASSES)
    where = [(start, "last"), *((solver, name) for name in probe.iterates)]
    distances = {"P(w)": [probe.primal(*place) - probe.optimum for place in where]}
    if probe.cls.has_dual:
        distances["D"] = [probe.optimum - running.point(name).dual for running, name in where]
    for name, (before, *after) in distances.items():
        near = min(after) <= 0.25 * before + 1e-9
        require(near, f"{name} must come from a distance {before} of the optimum to a quarter, got {min(after)}")


def leaves_the_problem_alone(probe):
    """Check that no array of the problem is changed."""

    def arrays(value):
        return [a for v in value for a in arrays(v)] if isinstance(value, tuple) else [np.array(value)]

    if isinstance(probe.problem, tuple):
        before = arrays(probe.problem)
        probe.ran()
        require(all(map(np.array_equal, before, arrays(probe.problem))), "the arrays of the problem must not be changed")


def runs_in_plain_python(probe):
    """Check that the solver takes the same steps on the same problem given by Python functions."""
    plain = probe.plain()
    if plain is None:
        return
    compiled = probe.ran(4)
    probe.go_on(plain, 4 * probe.problem.n)
    require(plain.step == compiled.step, f"{compiled.step} steps on the problem, {plain.step} on its functions")
    for name in probe.iterates:
        equal = close(probe.weights(plain, name), probe.weights(compiled, name))
        require(equal, f"{name} must be the same on the problem and on its functions")


def starts_from_a_result(probe):
    """Check that a warm start keeps the dual variables at any lam, or is rejected with an ``OptionError``."""
    first, duals, scales = probe.ran(), [], (1.0, 2.0, 4.0)
    before, dual = state_of(first, probe.iterates), first.exact_dual()
    for scale in scales:
        try:
            again = probe.new(warm_start=first, lam=scale * probe.lam)
        except OptionError:
            return
        require(again.step == 0, "a warm start must begin at step 0")
        duals.append(again.point("last").dual)
        again.advance(Budget(5 * probe.problem.n, NO_LIMIT))
    unchanged = state_of(first, probe.iterates) == before and first.exact_dual() == dual
    require(unchanged, "a warm start must not change the run that it comes from")
    require(close(duals[0], dual), f"a warm start must have the dual {dual}, got {duals[0]}")
    # A a is proportional to 1/lam, so the dual objective b'a - lam/2 ||A a||^2 of the same a is affine in 1/lam; it is
    # convex in 1/lam if the start is the best among several a.
    wanted = duals[1] + (duals[1] - duals[0]) * (1 / scales[2] - 1 / scales[1]) / (1 / scales[1] - 1 / scales[0])
    enough = duals[2] >= wanted - 1e-9 * (1 + abs(wanted))
    require(enough, f"a warm start at another lam must have at least the dual {wanted}, got {duals[2]}")


@on_interrupt("keep")
def ends_in_every_status(probe):
    """Check that runs end as max_passes, time_limit, converged (with a dual) and, in the main thread, interrupted."""
    result = probe.solve()
    require(result.status == "max_passes", f"status must be max_passes, got {result.status}")
    passes = result.trace["passes"].iloc[-1]
    require(PASSES - 1 < passes <= PASSES, f"a run of {PASSES} passes must not end at {passes}")
    status = probe.solve(time_limit=1e-9, max_passes=1e6).status
    require(status == "time_limit", f"status must be time_limit, got {status}")
    if probe.cls.has_dual:
        result = probe.solve(gap_tol=0.5, max_passes=1e4)
        require(result.status == "converged" and result.gap <= 0.5 + 1e-9, f"status must be converged, got {result.status}")
    if threading.current_thread() is threading.main_thread():

        def interrupt(row):
            if row["step"] > 0 and row["iterate"] == "last" and signal.getsignal(signal.SIGINT) is not before:
                signal.raise_signal(signal.SIGINT)

        before = signal.getsignal(signal.SIGINT)
        status = probe.solve(callback=interrupt).status
        require(status == "interrupted", f"status must be interrupted, got {status}")


SOLVER_CHECKS = (
    declares_what_it_is,
    refuses_unknown_options,
    starts_at_step_0,
    keeps_its_bounds,
    portions_do_not_matter,
    continues_from_its_state,
    the_seed_decides,
    follows_the_order,
    dual_points_are_lower_bounds,
    averages_are_averages,
    comes_near_the_optimum,
    leaves_the_problem_alone,
    runs_in_plain_python,
    starts_from_a_result,
    ends_in_every_status,
)
