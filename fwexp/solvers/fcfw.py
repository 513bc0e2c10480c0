"""Fully corrective Frank-Wolfe for structural SVMs (lecture note of Lacoste-Julien; Jaggi, ICML 2013, Algorithm 4).

Per iteration one max-oracle call for every example at the same w, then the best point in the convex hull of all corners
found so far:

    w_s = 1/(lam n) sum_i psi_i(y_i*),  ell_s = 1/n sum_i L_i(y_i*),
    (w, ell) <- argmax { ell - lam/2 ||w||^2 : (w, ell) in conv{(w_0, ell_0), ..., (w_k, ell_k)} }.

This is constraint generation for the 1-slack formulation (``one_slack``), seen from the dual: atoms are constraints,
their weights are multipliers, and the two visit the same objective values. The start, w = 0 and ell = 0, is the corner
of the true labelings; as an atom it corresponds to the constraint xi >= 0.

Memory: that of the hull (``hull``), one corner per iteration.
"""

from dataclasses import dataclass, field

import numpy as np

from fwexp.errors import OptionError
from fwexp.solvers.base import Point, Solver
from fwexp.solvers.fw import BatchOracle
from fwexp.solvers.hull import Hull
from fwexp.solvers.simplex_qp import check_share


@dataclass(frozen=True)
class Options:
    """Options of ``fcfw``.

    Attributes
    ----------
    start_atom : bool
        Whether the start is an atom.
    qp_tol : float
        The correction is exact to ``qp_tol`` times the largest ell_s.
    """

    start_atom: bool = field(default=True, metadata={"choices": (True, False)})
    qp_tol: float = field(default=1e-10, metadata={"check": check_share("solver fcfw: qp_tol")})


class FCFW(Solver):
    """Fully corrective Frank-Wolfe."""

    name = "fcfw"
    title = "fully corrective Frank-Wolfe"
    Options = Options
    needs = ("max_oracle",)

    def start(self, seed, iterates, order, warm_start):
        problem = self.problem
        self.oracle = BatchOracle(problem, self.lam)
        self.calls_per_step = problem.n
        if warm_start is None:
            self.hull = Hull(problem, self.lam, self.options.qp_tol)
            if self.options.start_atom:
                self.hull.add_start()
        elif isinstance(warm_start, FCFW):
            self.hull = warm_start.hull.rescaled(self.lam)
        else:
            raise OptionError(f"solver fcfw cannot start from the dual variables of {warm_start.name}; accepted: fcfw")

    def advance(self, calls, max_steps):
        hull = self.hull
        if max_steps == 0:
            self.oracle(np.zeros_like(hull.w))
            hull.compile()
        while self.oracle_calls + self.problem.n <= calls and self.step < max_steps:
            # the corner that minimises the linearisation at w
            w_s, ell_s = self.oracle(hull.w)
            # correction: the best point of the hull
            if hull.add(w_s, ell_s):
                hull.maximise()
            self.step += 1
            self.oracle_calls += self.problem.n

    def point(self, iterate):
        return Point(self.hull.w, self.hull.dual)

    def extras(self):
        return {"atoms": float(len(self.hull))}
