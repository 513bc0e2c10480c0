"""Events: changes of a run between two series of steps.

A run, such as one of `fwexp.solvers.bcfw`, calls its scheduled events one by one when they are due: `GapRefresh`, and those of
`acceleration`. Tasks make other changes when they need them: the step to the first corners, and a smaller lam with the same w.
All find what they change in ``run.state``.
"""

from abc import ABC, abstractmethod

import numpy as np

from fwexp.blocks import projections
from fwexp.blocks.block_loop import GAPS_KNOWN, ORACLE_CALLS, block_has_room, steps_of
from fwexp.blocks.corners import store_corners
from fwexp.blocks.duals import block_gap, from_scratch, jump_to_best, shrink_block_towards_truth
from fwexp.errors import ParameterError
from fwexp.jit.compilation import njit, specialise
from fwexp.jit.threads import chunks_of, parallel_for
from fwexp.problems.protocol import ask_ahead, scores, workspace


class Event(ABC):
    """Base class of events."""

    calls = 0  # oracle calls that `apply` makes

    def due_step(self, run) -> float:
        """Return the step at which the event is due, inf if it is not scheduled by steps."""
        return np.inf

    def is_due(self, run) -> bool:
        """Return whether the event comes before the next step."""
        return False

    def calls_ahead(self, run) -> int:
        """Return how many oracle calls the event leads to, if it is due."""
        return self.calls

    @abstractmethod
    def apply(self, run) -> None:
        """Change the run."""


# --- exact gaps -------------------------------------------------------------------------------------------------------


@njit
def exact_gaps(problem, start, end, iterate, work):
    """Set G_i of the examples start .. end to their exact values at w, with one oracle call each."""
    for i in range(start, end):
        scores(problem, i, iterate.w, work.theta)
        iterate.gaps[i] = max(block_gap(iterate.dual, problem, i, iterate, work), 0.0)


# All gaps are computed as soon as the known ones, which are those of earlier w and mostly too small, sum to this share of the
# gap asked for: published code of Osokin et al., ICML 2016.
MARGIN = 0.8


class GapRefresh(Event):
    """The exact computation of all block gaps, every ``passes`` passes; 0 is never. ``new_work`` returns the buffers of one.

    It comes early if the known gaps are as small as `target_gap`.
    """

    def __init__(self, problem, passes: float, new_work=workspace) -> None:
        self.problem, self.calls, self._new_work = problem, problem.n, new_work
        self.period = max(1, steps_of(passes, problem.n)) if passes else np.inf  # steps
        self._work = None

    def due_step(self, run):
        return run.state.next_refresh

    def is_due(self, run):
        return run.step >= run.state.next_refresh

    def target_gap(self, run, budget) -> float:
        """Return the known gap at which a series of steps ends: for the caller, or for this computation."""
        # If it has shown the gap asked for, and the run goes on, it would show nothing more.
        comes = run.setting.ends_at_known_gap and np.isfinite(self.period) and run.state.exact_gap > budget.gap_tol > 0.0
        return max(budget.target_gap, MARGIN * budget.gap_tol) if comes else budget.target_gap

    def apply(self, run):
        state = run.state
        self.compute(state.iterate)
        note_exact_gaps(state)
        state.iterate.counts[ORACLE_CALLS] += self.problem.n
        state.refreshed, state.next_refresh = run.step, run.step + self.period
        state.exact_gap = float(state.iterate.mean_gap[0])

    def compute(self, iterate) -> None:
        """Set all G_i of an iterate to their exact values at w, in parallel."""
        problem = self.problem
        if self._work is None:
            self._work = [self._new_work(problem) for _ in range(chunks_of(problem))]
        kernel, work = specialise(exact_gaps, problem, iterate.dual), self._work
        ask_ahead(problem, 0, problem.n, iterate.w, True, False)
        parallel_for(lambda k, start, end: kernel(problem, start, end, iterate, work[k]), problem.n, len(work))


def note_exact_gaps(state) -> None:
    """Record that the known gaps are exact."""
    iterate = state.iterate
    iterate.mean_gap[0], iterate.counts[GAPS_KNOWN] = iterate.gaps.mean(), 1
    state.order.use_gaps(iterate.gaps)


def use_estimates(state) -> None:
    """Record that the known gaps are estimates: the cache has no global criterion, which needs the exact total gap."""
    iterate = state.iterate
    iterate.mean_gap[0], iterate.counts[GAPS_KNOWN] = 0.0, 1
    state.order.use_gaps(iterate.gaps)


# --- changes of lam ---------------------------------------------------------------------------------------------------


@njit
def move_to_corners(problem, start, iterate, work):
    """Move blocks from ``start`` on to what the oracle finds at w, which stays; return the first without room for that, or n."""
    for i in range(start, problem.n):
        if not block_has_room(iterate.dual, problem, i):
            return i
        scores(problem, i, iterate.w, work.theta)
        iterate.losses[i] = jump_to_best(iterate.dual, problem, i, work)
    return problem.n


@njit
def shrink_towards_truth(problem, iterate, work, gamma, exact):
    """Move every dual block towards its true labeling, with step size gamma; w is not changed."""
    # G_i grows by gamma sum_y a_i(y) H_i(y; w), because the true labeling has H_i = 0. Gaps that are not ``exact`` never fall:
    # published code of Osokin et al.
    for i in range(problem.n):
        scores(problem, i, iterate.w, work.theta)
        score = shrink_block_towards_truth(iterate.dual, problem, i, gamma, iterate, work)
        if not exact:
            score = max(score, 0.0)
        iterate.losses[i] *= 1.0 - gamma
        iterate.gaps[i] = max(iterate.gaps[i] + gamma * score, 0.0)


def move_towards_truth(run, gamma: float) -> None:
    """Move all blocks of a run towards their true labelings, with step size gamma; w is not changed."""
    iterate, exact = run.state.iterate, run.state.refreshed == run.step
    specialise(shrink_towards_truth, run.problem, iterate.dual)(run.problem, iterate, run.work, gamma, exact)
    iterate.ell[0] = iterate.losses.mean()


def full_step(run) -> None:
    """Move all blocks to the corners that the oracle finds at the present w; without acceleration only."""
    problem, done = run.problem, 0
    if run.state.cache is not None:
        corner = run.corner()
        specialise(store_corners, problem, corner)(problem, corner, run.state.iterate, run.work)
        run.state.iterate.counts[ORACLE_CALLS] += problem.n
    kernel = specialise(move_to_corners, problem, run.state.iterate.dual)
    while (done := kernel(problem, done, run.state.iterate, run.work)) < problem.n:
        run.grow_blocks()
    iterate = run.state.iterate
    iterate.ell[0] = iterate.losses.mean()
    v, _ = from_scratch(iterate.dual, problem, iterate.losses, 1.0 / (run.lam * problem.n))
    projections.set_weights(iterate.constraint, v, iterate.w)
    iterate.counts[ORACLE_CALLS] += problem.n


def change_lam(run, lam: float) -> None:
    """Change to a smaller lam, with the same w (Osokin et al., ICML 2016, Proposition 1)."""
    # With rho = lam'/lam, a step of size 1 - rho towards the true labelings (psi = 0, L = 0) multiplies the contributions of all
    # other labelings to w and ell by rho, and A' = A/rho. So w = A' a' is unchanged, ell' = rho ell, and
    # gap_i' = gap_i + (1 - rho)(ell_i - lam <w_i, w>).
    gamma = 1.0 - lam / run.lam
    if not 0.0 <= gamma < 1.0:
        raise ParameterError(f"lam can be changed to positive values up to {run.lam!r} only, got {lam!r}")
    state, iterate = run.state, run.state.iterate
    move_towards_truth(run, gamma)
    if state.refreshed == run.step:
        note_exact_gaps(state)
    elif np.isfinite(iterate.gaps).all():
        use_estimates(state)
    state.exact_gap = np.inf
    run.lam = state.lam = lam
    if state.centre is not None:
        state.centre.change_lam(lam)
    run.acceleration.schedule(run)
