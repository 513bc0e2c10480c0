"""Fully corrective Frank-Wolfe for structural SVMs (lecture note of Lacoste-Julien; Jaggi, ICML 2013, Algorithm 4).

Per iteration one max-oracle call for every example at the same w, then the best point in the convex hull of all corners
found so far:

    w_s = 1/(lam n) sum_i psi_i(y_i*),  ell_s = 1/n sum_i L_i(y_i*),
    (w, ell) <- argmax { ell - lam/2 ||w||^2 : (w, ell) in conv{(w_0, ell_0), ..., (w_k, ell_k)} }.

This is constraint generation for the 1-slack formulation (``one_slack``), seen from the dual: corners are constraints,
their weights are multipliers, and the two visit the same objective values. The start, w = 0 and ell = 0, is the corner
of the true labelings; it corresponds to the constraint xi >= 0.

Memory: that of the hull (``hull``), one corner per iteration.
"""

from dataclasses import dataclass

import numpy as np

from fwexp.options import check_fraction, choice, option
from fwexp.solvers.base import Point, Reason, Solver, Stop
from fwexp.solvers.fw import BatchOracle
from fwexp.solvers.hull import Corners, Hull, new_corners


@dataclass(frozen=True)
class Options:
    """Options of ``fcfw``.

    Attributes
    ----------
    start_atom : bool
        Whether the start is a corner of the hull.
    qp_tol : float
        The correction is exact to ``qp_tol`` times the largest ell_s.
    """

    start_atom: bool = choice(True, False)
    qp_tol: float = option(1e-10, check_fraction)


@dataclass
class State:
    """All that a run changes."""

    corners: Corners
    step: int = 0
    oracle_calls: int = 0


class FCFW(Solver):
    """Fully corrective Frank-Wolfe."""

    name = "fcfw"
    title = "fully corrective Frank-Wolfe"
    takes_warm_start = True
    Options = Options
    constraints = True

    def prepare(self):
        self.oracle = BatchOracle(self.problem, self.lam)

    def start(self, seed, iterates, order, warm_start):
        if warm_start is None:
            hull = Hull(self.problem, self.lam, new_corners(self.problem, self.options.qp_tol))
            if self.options.start_atom:
                hull.add_start()
        else:
            self.check_warm_start(warm_start)
            hull = warm_start.hull.rescaled(self.lam)
        self.state = State(hull.corners)

    @property
    def hull(self) -> Hull:
        """The hull of all corners so far."""
        return Hull(self.problem, self.lam, self.state.corners)

    def compile(self):
        self.oracle(np.zeros_like(self.hull.w))
        self.hull.compile()

    def advance(self, budget):
        state, hull, n, stalled = self.state, self.hull, self.problem.n, False
        while not stalled and state.oracle_calls + n <= budget.calls and state.step < budget.steps:
            # the corner that minimises the linearisation at w
            w_s, ell_s = self.oracle(hull.w)
            # correction: the best point of the hull
            if hull.add(w_s, ell_s):
                hull.maximise()
            else:
                stalled = hull.rounds  # All further steps would be the same again.
            state.step += 1
            state.oracle_calls += n
        return Stop(Reason.STALLED if stalled else Reason.BUDGET, calls_needed=n)

    def point(self, iterate):
        return Point(self.hull.w, self.hull.dual)

    def extras(self):
        return {"atoms": float(len(self.hull))}
