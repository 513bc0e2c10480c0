"""The state of block-coordinate runs, and their points with the objectives that certify them."""

from dataclasses import dataclass

import numpy as np

from fwexp.blocks import duals, projections
from fwexp.blocks.acceleration import image, total_gap
from fwexp.blocks.active_set import ActiveSets
from fwexp.blocks.averaging import Averages, averaged
from fwexp.blocks.block_loop import MET_GLOBAL, MET_LOCAL, Iterate
from fwexp.blocks.centres import ProximalCentre
from fwexp.blocks.orders import Order
from fwexp.blocks.shared_steps import Sharing
from fwexp.problems.loss_terms import HINGE
from fwexp.problems.protocol import product
from fwexp.solvers.base import Counted, Point, Solver


@dataclass
class State(Counted):
    """All that changes during a run."""

    lam: float
    iterate: Iterate
    order: Order
    cache: ActiveSets | None  # stored labelings, if there is a cache and the dual variables are vectors of parts
    averages: Averages
    next_refresh: float  # step of the next exact computation of all gaps
    refreshed: int  # step of the latest one, -1 if there was none
    exact_gap: float  # the gap P(w) - D(a) that it found; inf if there was none, or if lam has changed since
    centre: ProximalCentre | None
    first_centre: float  # when acceleration begins, in steps or rounds
    next_look: float  # step at which the run looks whether acceleration begins early, inf if it does not look
    norm_seen: float  # ||A a||^2 at the look before, 0 if there was none
    origin: np.ndarray | None  # w_0 if the objective has lam/2 ||w - w_0||^2; then w = w_0 + A a
    sharing: Sharing | None  # of steps on threads; None for a run of equal bits


class BlockPoints(Solver):
    """Base class of `BCFW`: its points and what is known of them."""

    state: State

    def settle(self) -> None:
        """Compute w anew if there were steps on threads."""

    @property
    def known_gap(self) -> float:
        """The gap P(w) - D(a) that the last known block gaps give: exact if no step was taken since `exact_gap`."""
        return total_gap(self, self.state.iterate.gaps)

    def estimated_gap(self):
        return self.known_gap if self.terms.cheap_passes or self.terms.estimates_gap else np.nan

    @property
    def known_hinge(self):
        """Exact block gaps sum to P(w) - D(a) = H(w) - ell + lam <w, A a>."""
        if self.state.refreshed != self.step or self.state.centre is not None:
            return None
        (v, losses), iterate = self._from_scratch(), self.state.iterate
        v = v if self.origin is None else v - self.origin
        return float(iterate.gaps.mean() + losses.mean() - self.lam * product(v, iterate.w))

    def saved(self):
        self.settle()
        return super().saved()

    def restore(self, state):
        super().restore(state)
        self.lam = state.lam

    def extras(self):
        known, iterate = {}, self.state.iterate
        if self.sharing is not None:
            known["threads"] = float(self.sharing.threads)
        if self.setting.needs_gaps:
            known["gap_estimate"] = float(np.mean(iterate.gaps))
        if self.has_cache:
            known["cache_hits"] = self.cache_hits
            known |= {"cache_local": int(iterate.counts[MET_LOCAL]), "cache_global": int(iterate.counts[MET_GLOBAL])}
        if isinstance(iterate.dual, ActiveSets):
            known["atoms"] = float(np.count_nonzero(iterate.dual.weight))
        return known

    def point(self, iterate):
        self.settle()
        last = self.state.iterate
        if iterate != "last":
            v = projections.unclipped(last.constraint, last.w)
            v, ell = averaged(self.problem, self.state.averages, iterate, v, last.ell[0], self.step)
            w = self.clip(v)
            return Point(w, self.dual_objective(ell, w))
        constrained = isinstance(last.constraint, projections.Nonnegative)
        if self.state.centre is not None and self.origin is None and not constrained:
            return Point(last.w, self.dual_value(last.ell[0], self.state.centre.image_norm_sq(last.w)))
        return Point(last.w, self.dual_objective(last.ell[0], self.dual_weights()))

    def dual_weights(self) -> np.ndarray:
        """Return the w that belongs to the dual variables."""
        return self.clip(image(self.state))

    def exact_dual(self):
        v, losses = self._from_scratch()
        return self.dual_objective(losses.mean(), self.clip(v))

    def dual_objective(self, ell: float, w: np.ndarray) -> float:
        """Return D = ell - lam/2 ||w||^2 (+ lam/2 ||w_0||^2) for the w that belongs to the dual variables."""
        if self.origin is None:
            return self.dual_value(ell, product(w, w))
        dual = ell - 0.5 * self.lam * product(w - self.origin, w + self.origin)
        return dual if self.objective == HINGE else dual - self.rounding(ell, product(w, w) + product(self.origin, self.origin))

    def clip(self, v: np.ndarray) -> np.ndarray:
        """Return the w that belongs to v."""
        return projections.clip(projections.constrained_indices(self.problem), v)

    def _from_scratch(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A a (+ w_0) and n ell_i, computed from the dual variables."""
        iterate = self.state.iterate
        v, losses = duals.from_scratch(iterate.dual, self.problem, iterate.losses, 1.0 / (self.lam * self.problem.n))
        return v if self.origin is None else v + self.origin, losses
