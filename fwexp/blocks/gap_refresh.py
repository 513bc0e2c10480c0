"""All block gaps at once, by one oracle call per example: the ``refresh`` of Osokin et al. (ICML 2016, section 3.1)."""

import numpy as np

from fwexp.blocks.counts import GAPS_KNOWN, ORACLE_CALLS, steps_of
from fwexp.blocks.duals import block_gap
from fwexp.jit.compilation import njit, specialise
from fwexp.jit.threads import parallel_for
from fwexp.problems.evaluation import chunks_of
from fwexp.problems.protocol import ask_ahead, max_oracle, product, scores, workspace


@njit
def exact_gaps(problem, start, end, iterate, dual, work):
    """Set G_i of the examples start .. end to their exact values at w, one oracle call each."""
    for i in range(start, end):
        scores(problem, i, iterate.w, work.theta)
        value = max_oracle(problem, i, work.theta, work.y, work.scratch)
        iterate.gaps[i] = max(block_gap(dual, problem, i, value, iterate, work), 0.0)


class GapRefresh:
    """Exact block gaps, of a solver with the state of ``bcfw``."""

    _chunk_work = None

    @property
    def refresh_steps(self) -> float:
        """Steps between exact computations of all block gaps, infinitely many if there are none."""
        passes = self.options.refresh_passes
        return max(1, steps_of(passes, self.problem.n)) if passes else np.inf

    def _set_exact_gaps(self, iterate) -> None:
        """Set all G_i of an iterate to their values at w: one oracle call per example, in parallel."""
        problem, dual = self.problem, self.state.dual
        if self._chunk_work is None:
            self._chunk_work = [workspace(problem) for _ in range(chunks_of(problem))]
        kernel, work = specialise(exact_gaps, problem), self._chunk_work
        ask_ahead(problem, 0, problem.n, iterate.w, True, False)
        parallel_for(lambda k, start, end: kernel(problem, start, end, iterate, dual, work[k]), problem.n, len(work))

    def fresh_gaps(self) -> np.ndarray:
        """Return all G_i at w, exactly, by n oracle calls that are not counted; the run does not notice."""
        iterate = self.state.iterate._replace(gaps=np.zeros(self.problem.n))
        self._set_exact_gaps(iterate)
        return iterate.gaps

    def refresh(self) -> None:
        """Compute all block gaps exactly."""
        problem, state = self.problem, self.state
        self._set_exact_gaps(state.iterate)
        self.note_exact_gaps()
        state.iterate.counts[ORACLE_CALLS] += problem.n
        state.refreshed = self.step
        state.next_refresh = self.step + self.refresh_steps

    def note_exact_gaps(self) -> None:
        """Take note that the known gaps are exact."""
        iterate = self.state.iterate
        iterate.exact_gap[0], iterate.counts[GAPS_KNOWN] = iterate.gaps.mean(), 1
        self.set_worths()

    def exact_gap(self) -> float:
        """Compute all block gaps exactly, for n oracle calls, and return the gap P(w) - D(a)."""
        self.refresh()
        return self.known_gap

    @property
    def known_gap(self) -> float:
        """The gap P(w) - D(a) as the last known block gaps have it: exact if no step was taken since ``exact_gap``."""
        return self.total_gap(self.state.iterate.gaps)

    @property
    def known_hinge(self):
        """Exact block gaps sum up to P(w) - D(a) = H(w) - ell + lam <w, A a>."""
        if self.state.refreshed != self.step or self.state.centre is not None:
            return None
        v, losses = self._from_scratch()
        return float(self.state.iterate.gaps.mean() + losses.mean() - self.lam * product(v, self.state.iterate.w))
