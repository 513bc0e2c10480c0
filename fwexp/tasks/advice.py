"""Which method reaches a gap first: trials on more and more examples, and what they predict for all examples.

All methods are tried on few examples at the same lam. The best go on with four times as many, as long as there is time. A trial
ends when its certified gap is small enough, or when it has taken much longer than the best method. `predict` has the rule of the
predictions, which was chosen on digits and OCR and compared with full runs on other data sets.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fwexp.driver.clock import on_interrupt, stopwatch
from fwexp.driver.trace import Status
from fwexp.problems import tiers
from fwexp.problems.evaluation import evaluator
from fwexp.problems.protocol import costly_oracle, radii_sq
from fwexp.solvers.bcfw import BCFW
from fwexp.tasks.improvement import chi, curvature_bounds, predicted_improvement
from fwexp.tasks.task import Task

FIRST = 128  # examples of the first trials; more than the few for which ``auto`` chooses batch methods
GROWTH, LEAST_GROWTH = 4.0, 1.5  # how many times as many examples the next trials have
KEEP, ALWAYS = 10.0, 2  # methods that go on: within this factor of the best prediction, and at least so many
FIRST_SHARE, PASSES, FEW = 0.25, 20, 4  # of the time, for the first trials; passes and examples that these should have
WARM_UP = 0.2  # seconds of a run before the first trial, which compiles its kernels
SLOWEST = 0.01  # part of a gap that goes in all passes of a trial, below which it does not show when a smaller one is reached
TAIL = 0.25  # a gap that was not reached is extrapolated from the passes after this share of them
POWER, STEEPEST = -0.5, -1.0  # of the number of examples by which passes change, and its bound
UNLIMITED = 1e6  # passes of a trial, which its time bounds
EVALUATION = 2.0  # times the seconds of the steps that a trial takes with its evaluations, at most


class Candidate(NamedTuple):
    """A method to try: its name, and the solver with options that trials run."""

    name: str
    solver: str
    options: Mapping[str, Any]


class Trial(NamedTuple):
    """A run on some of the examples.

    Attributes
    ----------
    size : int
        Number of examples.
    passes, seconds : float
        Passes and solver seconds to the wanted gap; infinite if the gaps of the run do not show when it is reached.
    gap : float
        The gap at the end.
    ended, took : float
        Passes and solver seconds at the end.
    per_call : float
        Solver seconds per oracle call.
    """

    size: int
    passes: float
    seconds: float
    gap: float
    ended: float
    took: float
    per_call: float

    @property
    def is_measured(self) -> bool:
        """True if the run reached the wanted gap."""
        return self.passes <= self.ended


class Prediction(NamedTuple):
    """The trials of a method, and the passes and solver seconds that they predict for n examples."""

    candidate: Candidate
    trials: list[Trial]
    n: int
    passes: float
    seconds: float

    @property
    def last(self) -> Trial:
        """The trial on most examples."""
        return self.trials[-1]

    @property
    def least_seconds(self) -> float:
        """The predicted seconds; if the gaps do not show when they are small enough, those that the trial took, for n examples."""
        return self.seconds if self.seconds < math.inf else self.last.took * (self.n / self.last.size) ** (1.0 + POWER)


@dataclass
class Advice:
    """Results of the trials.

    Attributes
    ----------
    predictions : list of Prediction
        By the predicted seconds.
    failures : dict
        Why trials failed, by the name of the method.
    is_interrupted : bool
        Whether Ctrl-C ended the trials.
    chi, improvement : float
        How uneven the block gaps of ``bcfw`` were at the end of its last trial, and by which factor theory expects gap sampling
        to gain; NaN if they are not known.
    """

    predictions: list[Prediction] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    is_interrupted: bool = False
    chi: float = math.nan
    improvement: float = math.nan


def advise(
    problem,
    candidates: Sequence[Candidate],
    task: Callable[..., Task],
    gap_tol: float,
    seconds: float,
    tell: Callable[[Candidate, Trial], object] = lambda *_: None,
) -> Advice:
    """Try methods on more and more examples of a problem, and predict when each reaches a gap on all examples.

    Parameters
    ----------
    problem : problem, or what `fwexp.convex` minimises
    candidates : sequence of Candidate
        Methods that fit the problem.
    task : callable
        ``task(max_passes=..., time_limit=...)`` returns the task of a trial.
    gap_tol : float
        The wanted gap, > 0.
    seconds : float
        Seconds of all trials, without the compilation of kernels.
    tell : callable, optional
        Called after each trial.

    Returns
    -------
    Advice
    """
    return _Race(problem, candidates, task, gap_tol, seconds, tell).run()


class _Race:
    """Trials of methods, as of `advise`."""

    def __init__(self, problem, candidates, task, gap_tol, seconds, tell) -> None:
        self._problem, self._task, self._gap_tol, self._tell = problem, task, gap_tol, tell
        self._n, self._left = getattr(problem, "n", 1), seconds
        self._order = np.random.default_rng(0).permutation(self._n)
        self._candidates = self._running = tuple(candidates)
        self._walls: dict[str, float] = {}  # seconds of the last trial with its evaluations
        self._trials: dict[str, list[Trial]] = {}
        self._advice = Advice()

    def run(self) -> Advice:
        """Try all methods, and return what the trials showed."""
        advice = self._advice
        try:
            with on_interrupt("keep"):
                size = self._first_size()
                self._try_all(size, FIRST_SHARE if size < self._n else 1.0)
                while self._running and (size := self._next_size(size)):
                    self._try_all(size)
        except KeyboardInterrupt:
            advice.is_interrupted = True
        advice.predictions = self._ranked(self._candidates)
        return advice

    def _ranked(self, candidates: Sequence[Candidate]) -> list[Prediction]:
        """Return the predictions for those of some methods that have been tried, the fastest first."""
        tried = [candidate for candidate in candidates if candidate.name in self._trials]
        found = [predict(candidate, self._trials[candidate.name], self._n) for candidate in tried]
        return sorted(found, key=lambda prediction: prediction.seconds)

    def _part(self, size: int):
        """Return so many examples of the problem; larger parts contain the smaller ones."""
        return self._problem if size >= self._n else self._problem.subset(np.sort(self._order[:size]))

    def _first_size(self) -> int:
        """Return how many examples the first trials have: fewer than `FIRST` if calls of the oracle take long."""
        if not hasattr(self._problem, "subset"):
            return self._n
        size, least = min(FIRST, self._n), min(FEW, self._n)
        if costly_oracle(self._problem):
            few = self._part(least)
            passed = stopwatch()
            evaluator(few).oracles(np.zeros(few.num_weights))
            spent = passed()
            self._left -= spent
            size = max(least, min(size, int(FIRST_SHARE * self._left / len(self._running) / PASSES / spent * least)))
        return size

    def _next_size(self, size: int) -> int:
        """Leave out methods that are slow; return how many examples the next trials have, 0 if there is no time for more."""
        ranked = self._ranked(self._running)
        self._running = [p.candidate for k, p in enumerate(ranked) if k < ALWAYS or p.least_seconds <= KEEP * ranked[0].seconds]
        growth = min(GROWTH, self._left / sum(self._walls[candidate.name] for candidate in self._running))
        larger = min(self._n, int(growth * size))
        return larger if larger > size and (larger == self._n or larger >= LEAST_GROWTH * size) else 0

    def _try_all(self, size: int, share: float = 1.0) -> None:
        """Try the methods that are left on so many examples, the best first, in a share of the time that is left."""
        part, reserve, best = self._part(size), (1.0 - share) * self._left, math.inf
        for k, candidate in enumerate(self._running):
            limit = min((self._left - reserve) / (len(self._running) - k) / EVALUATION, KEEP * best)
            try:
                if candidate.name not in self._trials and not costly_oracle(part):
                    self._run(part, candidate, min(limit, WARM_UP))
                passed = stopwatch()
                result = self._run(part, candidate, limit)
                self._walls[candidate.name] = passed()
            except Exception as error:
                self._advice.failures[candidate.name] = " ".join(str(error).split()) or type(error).__name__
                self._trials.pop(candidate.name, None)
                continue
            self._left -= self._walls[candidate.name]
            if result.status == Status.INTERRUPTED:
                raise KeyboardInterrupt
            trial = as_trial(result, size, self._gap_tol)
            self._trials.setdefault(candidate.name, []).append(trial)
            self._tell(candidate, trial)
            best = min(best, trial.seconds)
            self._look_at_gaps(result)
        self._running = [candidate for candidate in self._running if candidate.name in self._trials]

    def _run(self, part, candidate: Candidate, seconds: float):
        task = self._task(max_passes=UNLIMITED, time_limit=max(seconds, 1e-3), gap_tol=self._gap_tol)
        return task.run(part, candidate.solver, candidate.options)

    def _look_at_gaps(self, result) -> None:
        """Record how uneven the block gaps are at the end of a run of ``bcfw``."""
        solver = result.state
        if type(solver) is not BCFW or solver.name != BCFW.name or costly_oracle(solver.problem):
            return
        gaps = np.maximum(solver.fresh_gaps(), 0.0)
        self._advice.chi = chi(gaps)
        if tiers.has(solver.problem, "bounds"):
            bounds = curvature_bounds(radii_sq(solver.problem), solver.lam)
            self._advice.improvement = predicted_improvement(gaps, bounds)


def as_trial(result, size: int, gap_tol: float) -> Trial:
    """Return what a run on so many examples shows of the passes and seconds to a gap."""
    rows = result.trace
    gaps = (rows["primal"].cummin() - rows["dual"].cummax()).to_numpy()
    passes, seconds = rows["passes"].to_numpy(), rows["time"].to_numpy()
    ended, took = float(passes[-1]), float(seconds[-1])
    calls = max(float(rows["oracle_calls"].iloc[-1]), 1.0)
    reached = np.flatnonzero(gaps <= gap_tol)
    if len(reached):
        to_gap = float(passes[reached[0]]), float(seconds[reached[0]])
    else:
        factor = _factor_to(passes, gaps, gap_tol) if ended else math.inf
        to_gap = (ended * factor, took * factor) if factor < math.inf else (math.inf, math.inf)
    return Trial(size, *to_gap, float(gaps[-1]), ended, took, took / calls)


def _factor_to(passes: np.ndarray, gaps: np.ndarray, gap_tol: float) -> float:
    """Return by what to multiply the passes of a run that did not reach a gap; gaps fall at the rate of the last passes.

    That is right within a factor of 3 on digits and OCR, after a fifth of the passes. A power of the passes, as in bounds, is up
    to 10,000 times too pessimistic there.
    """
    tail = (passes >= TAIL * passes[-1]) & (passes > 0) & np.isfinite(gaps) & (gaps > 0)
    if tail.sum() < 2 or np.ptp(passes[tail]) <= 0:
        return math.inf
    rate = -np.polyfit(passes[tail], np.log(gaps[tail]), 1)[0]
    return float(1.0 + np.log(gaps[-1] / gap_tol) / (rate * passes[-1])) if rate * passes[-1] > SLOWEST else math.inf


def predict(candidate: Candidate, trials: Sequence[Trial], n: int) -> Prediction:
    """Return the passes and seconds to a gap that trials on some of the examples predict for all of them.

    The more examples there are, the fewer passes a gap takes at the same lam. Passes are taken to fall as a power of the number of
    examples: the power between the last two trials if both reached the gap after the start, and `POWER` otherwise. They do not fall
    below one, unless the gap at the start is small enough.
    """
    last, power = trials[-1], POWER
    if len(trials) > 1 and last.is_measured and (before := trials[-2]).is_measured and min(last.passes, before.passes) > 0.0:
        power = math.log(last.passes / before.passes) / math.log(last.size / before.size)
    passes = max(last.passes * (n / last.size) ** min(max(power, STEEPEST), 0.0), min(last.passes, 1.0))
    seconds = last.seconds * n / last.size * (passes / last.passes if 0.0 < last.passes < math.inf else 1.0)
    return Prediction(candidate, list(trials), n, passes, seconds)
