"""Iterations through several values of lam: the regularisation path and grids (see ``path``)."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fwexp.blocks.events import MARGIN
from fwexp.driver.iteration import NO_BUDGET, Budget, Iteration, Point, Reason, Stop, Terms
from fwexp.driver.log import Log
from fwexp.driver.loop import drive
from fwexp.driver.progress import Progress, telling_of_compilation
from fwexp.driver.settings import RunSettings
from fwexp.driver.trace import Status
from fwexp.driver.values import Objective, Value
from fwexp.errors import OptionError
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.loss_terms import HINGE, Hinge, Softmax, make_objective
from fwexp.problems.protocol import costly_oracle, exact_oracle, original, to_public
from fwexp.problems.signature import check_problem_type, signature
from fwexp.solvers import check_needs, check_options, get_solver
from fwexp.solvers.auto import block_method, choose
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.choosing import check_objective, check_probabilities
from fwexp.solvers.lbfgs import LBFGS
from fwexp.tasks.objective import is_plausible
from fwexp.tasks.result import result_of_rows
from fwexp.tasks.task import Task

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("lam", "step", "oracle_calls", "passes", "time", "primal", "dual", "gap", "certified")
OPTIONS = [field.name for field in fields(BCFW.Options)]
MOST_PASSES = 1e5
CHECKS_PER_PASS = 10  # of the known gap
START_PASSES = 3  # oracle calls / n that a path needs before its first break point


def check_sequence(problem, options: Mapping, objective=HINGE) -> tuple[type[BCFW | LBFGS], BCFW.Options | LBFGS.Options]:
    """Return the solver for several lam, by default the choice of ``auto``, and its options; check that the problem allows them."""
    check_probabilities(problem, objective)
    cls, best = (block_method if options else choose)(problem, objective=objective)
    checked = check_options(cls, best | dict(options))
    check_needs(cls, problem, checked, objective=objective)
    if not exact_oracle(problem):
        family = type(original(problem)).__name__
        what = f"a way through several lam goes by certified gaps, and the oracle of {family} is not exact"
        raise OptionError(f"{what}; train at one lam instead, with fwexp.solve")
    if cls is BCFW and not checked.line_search:
        raise OptionError("solver bcfw: line_search=false has steps for one lam; accepted here: true")
    return cls, checked


class LamSequence(Iteration):
    """A solver on its way from a large lam to small ones, with rows at some of them."""

    # in addition to the solver
    changes: ClassVar[tuple[str, ...]] = (
        *("weights", "gap", "at_row", "finished"),
        *("_before", "_target", "_next_check", "_latest_row"),
    )

    def __init__(self, problem, options: dict, seed: int, exact: bool, objective=HINGE) -> None:
        check_problem_type(problem)
        self.method, self.options = check_sequence(problem, options, objective)
        self.objective = objective
        self.problem, self.exact, self.seed = problem, exact, seed
        # A gap across several lam is no certificate: the rows have gaps of their own.
        has_cache = bool(getattr(self.options, "cache", False))
        self.terms = Terms(problem.n, certifies=False, costly_oracle=costly_oracle(problem), has_cache=has_cache)
        self.solver: BCFW | LBFGS | None = None
        # The share of the gap asked for at which known gaps are worth an exact computation. With a centre they are often too large,
        # and no share from 0.8 to 1.1 saves calls: on 10 other problems their effects are within the spread.
        self.margin = MARGIN if self.method is not LBFGS and self.options.setting().accelerate is None else 1.0
        self.weights: list[np.ndarray] = []  # public ones, at the rows so far
        self.gap, self.at_row, self.finished = math.inf, False, False
        self._before = np.zeros(3, dtype=np.int64)  # steps, oracle calls and cache hits of solvers before this one
        self._target: float | None = None  # the gap to be reached at the present lam
        self._next_check = 0  # step at which the gap is checked next
        self._latest_row: tuple[int, int] | None = None  # step and oracle calls

    @property
    def state(self):
        solver = None if self.solver is None else (self.solver.lam, self.solver.state)
        return {name: getattr(self, name) for name in self.changes} | {"solver": solver}

    def restore(self, state):
        if state["solver"] is not None:
            lam, inner = state["solver"]
            self.solver = self._new(lam)
            self.solver.restore(inner)
        for name in self.changes:
            setattr(self, name, state[name])

    @abstractmethod
    def next_lam(self) -> None:
        """Go to the next lam with `reach`, or set ``finished``; called at the start and whenever the gap is reached."""

    def _total(self, k: int, name: str) -> int:
        return int(self._before[k]) + (getattr(self.solver, name) if self.solver is not None else 0)

    @property
    def step(self):
        return self._total(0, "step")

    @property
    def oracle_calls(self):
        return self._total(1, "oracle_calls")

    @property
    def cache_hits(self):
        return self._total(2, "cache_hits")

    def advance(self, budget):
        """Continue to the next row at most; the start may exceed the budget's calls."""
        self.at_row, has_room = False, budget.steps > 0
        while has_room and not (self.at_row or self.finished):
            if self._target is None:
                self.next_lam()
            else:
                has_room = self._reduce_gap(budget)
        reason = Reason.FINISHED if self.finished else Reason.ROW if self.at_row else Reason.BUDGET
        return Stop(reason, self._calls_needed)

    @property
    def _calls_needed(self) -> int:
        """Oracle calls with which the next step can be taken."""
        if self.solver is None:
            return START_PASSES * self.problem.n
        # At another lam the gap may be small enough at once, or a new centre may need all gaps.
        checks = self._target is None or (self.exact and self.solver.step >= self._next_check)
        return max(self.problem.n if checks else 1, self.solver.advance(NO_BUDGET).calls_needed)

    def _reduce_gap(self, budget: Budget) -> bool:
        """Take steps up to the next check of the gap, or check it; return whether there was room for it."""
        solver, before = self.solver, (self.step, self.oracle_calls)
        if solver.step >= self._next_check:
            self.gap, is_exact = solver.known_gap, self.margin < 1.0 and solver.state.refreshed == solver.step
            is_exact &= self._latest_row != before  # the log has one row of a place: one at another lam needs calls of its own
            if self.exact and not is_exact and self.gap <= self.margin * self._target:
                if self.oracle_calls + self.problem.n > budget.calls:
                    return False
                self.gap, is_exact = solver.exact_gap(), True
            self._next_check = solver.step + self._steps_between_checks
            if (is_exact or not self.exact) and self.gap <= (self._target if is_exact else self.margin * self._target):
                self._target = None
                self.arrive()
            return True
        before_steps, before_calls, before_hits = map(int, self._before)
        steps, calls, hits = budget.steps - before_steps, budget.calls - before_calls, budget.hits - before_hits
        if self._solver_stops:
            within = Budget(calls, steps, hits, until_known=True, target_gap=self.margin * self._target)
            if solver.advance(within).reason in (Reason.KNOWN, Reason.ROW):
                self._next_check = solver.step
        else:
            solver.advance(Budget(calls, min(steps, self._next_check), hits))
        return (self.step, self.oracle_calls) != before

    @property
    def _solver_stops(self) -> bool:
        """True if the solver stops by itself when the gap is worth a check."""
        return self.method is not LBFGS and self.solver.setting.ends_at_known_gap

    @property
    def _steps_between_checks(self) -> float:
        if self._solver_stops:
            return math.inf
        return 1 if self.method is LBFGS else -(-self.problem.n // CHECKS_PER_PASS)

    def reach(self, target: float) -> None:
        """Reduce the gap to ``target`` at the present lam from now on."""
        self._target, self._next_check = target, self.solver.step

    def arrive(self) -> None:
        """Keep the weights and stop for a row."""
        self.weights.append(to_public(self.problem, self.solver.point("last").w))
        self.at_row, self._latest_row = True, (self.step, self.oracle_calls)

    def begin(self, lam: float, options=None, warm_start: BCFW | LBFGS | None = None) -> None:
        """Continue with a new solver that starts at w = 0, or at the dual variables of ``warm_start``."""
        if self.solver is not None:
            self._before += [self.solver.step, self.solver.oracle_calls, self.solver.cache_hits]
        self.solver = self._new(lam, options, warm_start)

    def _new(self, lam: float, options=None, warm_start: BCFW | LBFGS | None = None) -> BCFW | LBFGS:
        how = {"warm_start": warm_start, "objective": self.objective}
        return self.method(self.problem, lam, options or self.options, self.seed, **how)

    def compile(self):
        """Take each kind of step once, off the clock."""
        solver = self._new(1.0)
        solver.compile()
        solver.exact_gap()
        solver.change_lam(0.5)
        solver.full_step()
        self._new(1.0, warm_start=solver)
        Evaluator(self.problem)(solver.point("last").w, error=False)

    def point(self, iterate):
        if self.solver is None:
            return Point(np.empty(0), math.nan)
        return self.solver.point("last")

    def extras(self):
        return {"lam": self.solver.lam if self.solver is not None else math.nan}


class GridSequence(LamSequence):
    """A grid of lam, the largest first, each from the w of the one before (``warm``) or from w = 0."""

    changes = (*LamSequence.changes, "left")

    def __init__(self, problem, options, seed, eps: float, lams: Sequence[float], warm: bool, objective=HINGE) -> None:
        super().__init__(problem, options, seed, exact=True, objective=objective)
        self.eps, self.warm = eps, warm
        self.left = sorted(lams)

    def next_lam(self):
        if not self.left:
            self.finished = True
        elif self.warm and self.solver is not None:
            self.solver.change_lam(self.left.pop())
            self.reach(self.eps)
        else:
            self.begin(self.left.pop())
            self.reach(self.eps)


class SequenceObjective(Objective):
    """The objective at the rows of a sequence, which has dual and gap itself, without an evaluation."""

    def __init__(self, sequence: LamSequence) -> None:
        self.sequence = sequence

    def __call__(self, point, stop=None):
        sequence = self.sequence
        if not sequence.at_row:
            return None
        primal = point.dual + sequence.gap
        return Value(primal, {"gap": sequence.gap, "certified": sequence.exact and is_plausible(sequence.problem, primal)})


def run_sequence(sequence: LamSequence, settings: RunSettings, label: str) -> tuple[Status, list[dict]]:
    """Run a sequence to one of its ends; return how it ended and its rows."""
    progress = Progress(None, settings.verbose, label)
    log = Log(sequence, SequenceObjective(sequence), progress=progress)
    with telling_of_compilation(settings.verbose):
        status = drive(sequence, log, settings, settings.schedule, progress, settings.checkpoint)
    progress.close(str(status))
    return status, log.rows


def sequence_settings(**given) -> RunSettings:
    """Return the checked settings of a sequence, which has gaps and rows of its own."""
    return RunSettings(gap_tol=0.0, schedule=(), **given)


def as_frame(rows: list[dict]) -> "pd.DataFrame":
    """Return the rows of a sequence."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS))


class SequenceTask(Task):
    """Training at several lam; its result has the rows of the sequence, and the last weights with their lam."""

    reads: ClassVar = {"seed": 0, "max_passes": MOST_PASSES, "time_limit": None, "objective": "hinge", "temperature": 1.0}
    added_later = ("objective", "temperature")

    @classmethod
    def check_problem(cls, problem, solver, options, given):
        term = make_objective(given.get("objective", "hinge"), given.get("temperature", 1.0))
        check_objective(get_solver(solver), problem, solver, term)
        check_sequence(problem, options, term)

    @abstractmethod
    def sequence(self, problem, options: dict, seed: int, objective: Hinge | Softmax) -> LamSequence:
        """Return the sequence at its start."""

    @property
    @abstractmethod
    def last_lam(self) -> float:
        """The lam to which the sequence goes."""

    def run(self, problem, solver, options, *, test=None, validation=None, metrics=None, verbose=False, checkpoint=None):
        given = {"objective": "hinge", "temperature": 1.0} | self.given
        term = make_objective(given.pop("objective"), given.pop("temperature"))
        settings = sequence_settings(**given, verbose=verbose, checkpoint=checkpoint)
        sequence = self.sequence(problem, dict(options), settings.seed, term)
        status, rows = run_sequence(sequence, settings, f"{self.name} to lam={self.last_lam:.3g}")
        lam = min((row["lam"] for row in rows), default=math.nan)
        for row in rows:
            row["at_lam"] = row.pop("lam")
            if not row.pop("certified"):  # A heuristic path has estimates only.
                row |= {"gap_estimate": row["gap"], "gap": math.nan, "primal": math.nan}
        w = sequence.weights[-1] if rows else np.zeros(problem.d)
        result = result_of_rows(rows, w, status, lam, solver, vars(sequence.options), settings.seed)
        result.structure = signature(problem)
        result.objective, result.temperature = term.name, term.temperature or 1.0
        return result
