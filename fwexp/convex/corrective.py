"""Fully corrective Frank-Wolfe, by a quadratic program over the weights of the atoms, or by pairwise steps among them."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwexp.convex.frank_wolfe import Active
from fwexp.convex.method import IDLE, PROGRESS, State, View
from fwexp.convex.watching import is_watched
from fwexp.solvers.growing_qp import SimplexQP

QUADRATIC = 1e-9  # of the terms: by how much two values may differ from those of a quadratic function


class Start(NamedTuple):
    """The point about which the quadratic program expands f."""

    x: np.ndarray
    value: float
    g: np.ndarray


class Correction(NamedTuple):
    """A step that is not complete: pairwise steps within the hull."""

    target: float  # of the gap over the hull
    idle: int  # `State.idle` before
    steps: int = 0
    least: float = math.inf  # the smallest gap over the hull so far
    since: int = 0  # the step that reached it


@dataclass
class CorrectiveState(State):
    """State of `Corrective`."""

    start: Start | None = None
    qp: SimplexQP | None = None  # over the weights of the active set, in its order
    is_curved: bool = False  # whether f is known not to be quadratic
    correction: Correction | None = None


class Corrective(Active):
    """Fully corrective Frank-Wolfe: after every linear minimisation f is minimised over the hull of all atoms so far.

    Of quadratics exactly, by an active-set method on the weights (atoms keep their place when their weight is 0); of other
    functions by pairwise steps, until the gap over the hull is a tenth of the one before. A function of a user's is quadratic as
    long as the values and gradients at its atoms are those of a quadratic function.
    """

    name, title = "corrective", "fully corrective Frank-Wolfe"
    INNER, SHARE = 1000, 0.1
    UNPAUSED = 10  # pairwise steps after which the driver may look at the clock
    State = CorrectiveState

    def compile(self):
        """Compile the solver of quadratic programs."""
        qp = SimplexQP()
        qp.add(np.zeros(0), 1.0, 0.0)
        qp.solve()

    def _take_step(self, view):
        target = self.SHARE * view.gap
        if self._is_quadratic(view) and self._solve(view, target):
            return
        self.state.active.row(view.atom)
        self.state.correction = Correction(target, self.state.idle)
        self._continue_step()

    @property
    def _is_within_step(self):
        return self.state.correction is not None

    def _continue_step(self):
        state, f = self.state, self.f
        (target, idle, k, least, since), state.correction = state.correction, None
        value, g = f.value(state.x, state.z), f.gradient(state.x, state.z)
        view = View(value, g, math.nan, None, math.nan)
        pause = k + self.UNPAUSED
        while k < self.INNER:
            if k == pause:
                state.correction = Correction(target, idle, k, least, since)
                return
            dots = state.active.dots(view.g)
            worst, best = int(np.argmax(dots)), int(np.argmin(dots))
            if dots[worst] - dots[best] <= target:
                break
            self._step_between(worst, float(dots[worst]), state.active.copy_of(best), float(dots[best]), view)
            spread = float(dots[worst] - dots[best])
            least, since = (spread, k) if spread < PROGRESS * least or state.idle == 0 else (least, since)
            if self._stalled or k - since > max(IDLE, k // 2):
                self._stalled = self._stalled and k == 0
                break
            view = view._replace(value=f.value(state.x, state.z), g=f.gradient(state.x, state.z))
            k += 1
        state.idle = min(state.idle, idle + 1)  # as one step
        state.active.drop_zeros()

    # -- quadratic functions

    def _is_quadratic(self, view: View) -> bool:
        """Return whether f is quadratic, as far as is known; the gradient of a user's function at an atom shows its curvature."""
        f, state = self.f, self.state
        if f.domain is not None or state.is_curved:
            return False
        if f.quadratic:
            return self.line_search
        if not f.gradient_is_free or self.options.step != "auto":
            return False
        if state.start is None:
            zero = np.zeros(f.dim)  # Near a large point digits would be lost; a user's set may have no ``contains``.
            start = zero if not is_watched(self.set) and self.set.contains(zero) else state.active.point()
            state.start = Start(start, f.value(start, start), f.gradient(start, start))
        start, value, g = state.start
        point = view.atom.dense(f.dim)
        there, slopes = f.value(point, point), np.array([g, f.gradient(point, point)]) @ (point - start)
        error = abs(there - value - slopes.mean())
        return error <= QUADRATIC * (abs(value) + abs(there) + np.abs(slopes).sum()) or self._leave_quadratic()

    def _leave_quadratic(self) -> bool:
        """Take f for a function that is not quadratic from now on; return False."""
        state = self.state
        state.is_curved = True
        if state.qp is not None:
            state.qp = None
            state.active.drop_zeros()
        return False

    def _solve(self, view: View, target: float) -> bool:
        """Minimise a quadratic function over the hull; return whether that brought the gap over the hull to the target."""
        state, f = self.state, self.f
        if state.qp is None:
            if f.quadratic:
                zero = np.zeros(f.dim)
                state.start = Start(zero, math.nan, f.gradient(zero, f.image(zero)))
            state.qp = SimplexQP()
            self._add(0)
        qp, k = state.qp, state.active.row(view.atom)
        if k == qp.size:
            self._add(k)
        qp.solve()
        state.active.weights[: qp.size] = qp.a[: qp.size]
        state.x = state.active.point()
        state.z = f.image(state.x)
        if f.quadratic:
            return True
        dots = state.active.dots(f.gradient(state.x, state.z))
        return float(dots[qp.a[: qp.size] > 0.0].max() - dots.min()) <= target or self._leave_quadratic()

    def _add(self, k: int) -> None:
        """Add row k of the active set to the quadratic program over the weights: f without a constant, about the start."""
        active, f = self.state.active, self.f
        start, _, g = self.state.start
        atom = active.atom(k)
        if f.quadratic:
            change = f.hessian_times(f.image_of(atom))
        else:  # The Hessian times s - start is a difference of gradients.
            point = atom.dense(f.dim)
            change = f.gradient(point, point) - g
        products = active.dots(change) - start @ change
        self.state.qp.add(products[:k], products[k], start @ g - atom.dot(g))
