"""Block methods on their way through several lam: the first corners, and lam that falls while w stays as it is."""

import numpy as np

from fwexp.blocks import projections
from fwexp.blocks.counts import ORACLE_CALLS
from fwexp.blocks.duals import block_has_room, jump_to, shrink_block_towards_truth
from fwexp.errors import ParameterError
from fwexp.jit.compilation import njit, specialise
from fwexp.problems.protocol import loss, max_oracle, scores


@njit
def move_to_corners(problem, start, iterate, dual, work):
    """Move every dual block from ``start`` on to the corner that the oracle finds at w, with step size 1; w stays as it is.

    Returns the first example whose block has no room for that, n if there is none.
    """
    for i in range(start, problem.n):
        if not block_has_room(dual, problem, i):
            return i
        scores(problem, i, iterate.w, work.theta)
        max_oracle(problem, i, work.theta, work.y, work.scratch)
        iterate.losses[i] = loss(problem, i, work.y)
        jump_to(dual, problem, i, iterate.losses[i], work)
    return problem.n


@njit
def shrink_towards_truth(problem, iterate, dual, work, gamma):
    """Move every dual block to its true labeling, with step size gamma; w stays as it is.

    G_i grows by gamma sum_y a_i(y) H_i(y; w), for the true labeling has H_i = 0.
    """
    for i in range(problem.n):
        scores(problem, i, iterate.w, work.theta)
        score = shrink_block_towards_truth(dual, problem, i, gamma, iterate, work)
        iterate.losses[i] *= 1.0 - gamma
        iterate.gaps[i] = max(iterate.gaps[i] + gamma * score, 0.0)


class LamChanges:
    """Steps of all blocks at once, of a solver with the state of ``bcfw``."""

    def full_step(self) -> None:
        """Move all blocks to the corners that the oracle finds at the present w; without acceleration only."""
        problem, state, done = self.problem, self.state, 0
        while (done := specialise(move_to_corners, problem)(problem, done, state.iterate, state.dual, self.work)) < problem.n:
            self.grow_blocks()
        state.iterate.ell[0] = state.iterate.losses.mean()
        projections.set_weights(state.projection, self._from_scratch()[0], state.iterate.w)
        state.iterate.counts[ORACLE_CALLS] += problem.n

    def change_lam(self, lam: float) -> None:
        """Go over to a smaller lam, with w as it is (Osokin et al., ICML 2016, Proposition 1).

        With rho = lam'/lam, a step of size 1 - rho towards the true labelings (psi = 0, L = 0) scales all that wrong
        labelings contribute to w and ell by rho, and A' = A/rho. So w = A' a' is what it was, ell' = rho ell, and
        gap_i' = gap_i + (1 - rho)(ell_i - lam <w_i, w>).
        """
        gamma = 1.0 - lam / self.lam
        if not 0.0 <= gamma < 1.0:
            raise ParameterError(f"lam can be changed to positive values up to {self.lam!r} only, got {lam!r}")
        problem, state = self.problem, self.state
        specialise(shrink_towards_truth, problem)(problem, state.iterate, state.dual, self.work, gamma)
        state.iterate.ell[0] = state.iterate.losses.mean()
        if np.isfinite(state.iterate.gaps).all():
            self.note_exact_gaps()
        self.lam = state.lam = lam
        if state.centre is not None:
            state.centre.change_lam(lam)
        self.choose_centre()
