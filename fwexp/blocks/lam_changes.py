"""Events of a run that goes through several values of lam: the step to the first corners, and a smaller lam with the same w."""

import numpy as np

from fwexp.blocks import projections
from fwexp.blocks.block_loop import block_has_room
from fwexp.blocks.counts import ORACLE_CALLS
from fwexp.blocks.duals import from_scratch, jump_to_best, shrink_block_towards_truth
from fwexp.blocks.events import Event
from fwexp.blocks.gap_refresh import note_exact_gaps
from fwexp.errors import ParameterError
from fwexp.jit.compilation import njit, specialise
from fwexp.problems.protocol import scores


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
def shrink_towards_truth(problem, iterate, work, gamma):
    """Move every dual block towards its true labeling, with step size gamma; w is not changed.

    G_i grows by gamma sum_y a_i(y) H_i(y; w), because the true labeling has H_i = 0.
    """
    for i in range(problem.n):
        scores(problem, i, iterate.w, work.theta)
        score = shrink_block_towards_truth(iterate.dual, problem, i, gamma, iterate, work)
        iterate.losses[i] *= 1.0 - gamma
        iterate.gaps[i] = max(iterate.gaps[i] + gamma * score, 0.0)


def move_towards_truth(run, gamma: float) -> None:
    """Move all blocks of a run towards their true labelings, with step size gamma; w is not changed."""
    iterate = run.state.iterate
    specialise(shrink_towards_truth, run.problem, iterate.dual)(run.problem, iterate, run.work, gamma)
    iterate.ell[0] = iterate.losses.mean()


class FullStep(Event):
    """The step of all blocks to the corners that the oracle finds at the present w; without acceleration only."""

    def apply(self, run):
        problem, done = run.problem, 0
        kernel = specialise(move_to_corners, problem, run.state.iterate.dual)
        while (done := kernel(problem, done, run.state.iterate, run.work)) < problem.n:
            run.grow_blocks()
        iterate = run.state.iterate
        iterate.ell[0] = iterate.losses.mean()
        v, _ = from_scratch(iterate.dual, problem, iterate.losses, 1.0 / (run.lam * problem.n))
        projections.set_weights(iterate.constraint, v, iterate.w)
        iterate.counts[ORACLE_CALLS] += problem.n


class LamChange(Event):
    """The change to a smaller lam, with the same w (Osokin et al., ICML 2016, Proposition 1).

    With rho = lam'/lam, a step of size 1 - rho towards the true labelings (psi = 0, L = 0) multiplies the contributions of all
    other labelings to w and ell by rho, and A' = A/rho. So w = A' a' is unchanged, ell' = rho ell, and
    gap_i' = gap_i + (1 - rho)(ell_i - lam <w_i, w>).
    """

    def __init__(self, lam: float) -> None:
        self.lam = lam

    def apply(self, run):
        gamma = 1.0 - self.lam / run.lam
        if not 0.0 <= gamma < 1.0:
            raise ParameterError(f"lam can be changed to positive values up to {run.lam!r} only, got {self.lam!r}")
        state, iterate = run.state, run.state.iterate
        move_towards_truth(run, gamma)
        if np.isfinite(iterate.gaps).all():
            note_exact_gaps(state)
        run.lam = state.lam = self.lam
        if state.centre is not None:
            state.centre.change_lam(self.lam)
        run.acceleration.schedule(run)
