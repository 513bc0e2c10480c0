"""The event that computes all block gaps, with one oracle call per example: `refresh` of Osokin et al. (ICML 2016, section 3.1)."""

import numpy as np

from fwexp.blocks.counts import GAPS_KNOWN, ORACLE_CALLS, steps_of
from fwexp.blocks.duals import block_gap
from fwexp.blocks.events import Event
from fwexp.jit.compilation import njit, specialise
from fwexp.jit.threads import parallel_for
from fwexp.problems.evaluation import chunks_of
from fwexp.problems.protocol import ask_ahead, scores, workspace


@njit
def exact_gaps(problem, start, end, iterate, work):
    """Set G_i of the examples start .. end to their exact values at w, with one oracle call each."""
    for i in range(start, end):
        scores(problem, i, iterate.w, work.theta)
        iterate.gaps[i] = max(block_gap(iterate.dual, problem, i, iterate, work), 0.0)


class GapRefresh(Event):
    """The exact computation of all block gaps, every ``passes`` passes; 0 is never. ``new_work`` returns the buffers of one."""

    def __init__(self, problem, passes: float, new_work=workspace) -> None:
        self.problem, self.calls, self._new_work = problem, problem.n, new_work
        self.period = max(1, steps_of(passes, problem.n)) if passes else np.inf  # steps
        self._work = None

    def due_step(self, run):
        return run.state.next_refresh

    def is_due(self, run):
        return run.step >= run.state.next_refresh

    def apply(self, run):
        state = run.state
        self.compute(state.iterate)
        note_exact_gaps(state)
        state.iterate.counts[ORACLE_CALLS] += self.problem.n
        state.refreshed, state.next_refresh = run.step, run.step + self.period

    def compute(self, iterate) -> None:
        """Set all G_i of an iterate to their exact values at w, in parallel."""
        problem = self.problem
        if self._work is None:
            self._work = [self._new_work(problem) for _ in range(chunks_of(problem))]
        kernel, work = specialise(exact_gaps, problem, iterate.dual), self._work
        ask_ahead(problem, 0, problem.n, iterate.w, True, False)
        parallel_for(lambda k, start, end: kernel(problem, start, end, iterate, work[k]), problem.n, len(work))


def steps_within(calls: int, n: int, passes: float) -> int:
    """Return how many steps so many oracle calls suffice for, without a cache and with a refresh every ``passes`` passes."""
    if not passes:
        return calls
    period = max(1, steps_of(passes, n))
    cycles, rest = divmod(calls, period + n)
    return cycles * period + min(rest, period)


def note_exact_gaps(state) -> None:
    """Record that the known gaps are exact."""
    iterate = state.iterate
    iterate.mean_gap[0], iterate.counts[GAPS_KNOWN] = iterate.gaps.mean(), 1
    state.order.use_gaps(iterate.gaps)
