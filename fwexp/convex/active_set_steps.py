"""Steps inside the active set, which need no atom that is not known already."""

import math
from dataclasses import dataclass

import numpy as np

from fwexp.convex.frank_wolfe import Active
from fwexp.convex.method import State, StepOptions, View
from fwexp.driver.iteration import Reason, Stop
from fwexp.options import check_number, option


class BlendedPairwise(Active):
    """Blended pairwise Frank-Wolfe (Tsuji, Tanaka & Pokutta 2022, algorithm 1).

    With a and l = argmax and argmin <f'(x), .> over the active set, and s over the whole set: where <f'(x), a - l> is at least
    the gap <f'(x), x - s>, weight moves from a to l, and x goes towards s otherwise. So fewer atoms become active, and none are
    swapped.
    """

    name, title = "blended_pairwise", "blended pairwise Frank-Wolfe"

    def _take_step(self, view):
        dots = self.state.active.dots(view.g)
        k, j = int(np.argmax(dots)), int(np.argmin(dots))
        if k != j and dots[k] - dots[j] >= view.gap:
            self._step_between(k, float(dots[k]), self.state.active.copy_of(j), float(dots[j]), view)
        else:
            self._step_towards(view)


@dataclass(frozen=True)
class LazyOptions(StepOptions):
    """Options of `Lazy`.

    Attributes
    ----------
    K : float
        An atom is good enough if it gains phi/K, phi the last estimate of the gap.
    """

    K: float = option(2.0, check_number, "a finite number >= 1", least=1.0)


@dataclass
class LazyState(State):
    """State of `Lazy`."""

    phi: float = math.inf  # the last estimate of the gap


class Lazy(Active):
    """Lazy pairwise Frank-Wolfe (Braun, Pokutta & Zink 2019, section 4): few steps have a linear minimisation.

    With v = argmax <f'(x), .> over the active set, weight moves from v to any atom s with <f'(x), v - s> >= phi/K: an active one
    where there is one, and else the minimiser over the set; if that gains less, too, phi becomes what it gains, which bounds
    f(x) - min f. (The paper halves phi, knowing no more from its oracle.) Certificates are those of linear minimisations, or
    computed for the log, off the clock.
    """

    name, title = "lazy", "lazy pairwise Frank-Wolfe"
    Options, State = LazyOptions, LazyState

    def advance(self, budget):
        """Take steps, up to the first gap of a linear minimisation that may be small enough."""
        state, reason = self.state, Reason.BUDGET
        while state.step + 1 <= budget.steps:
            if not self._step_inside():
                if state.calls + self.size > budget.calls:
                    break
                self._view = self.look()
                state.calls += self.size
                state.inspected += self.set.inspected or 0
                if self._is_enough():
                    reason = Reason.ROW
                    break
                self._stalled = self._is_idle
                if not self._stalled:
                    self._take_step(self._view)
                if self._stalled:
                    reason = Reason.STALLED
                    break
            self._view = None
            self._count_step()
        return Stop(reason, calls_needed=self.size)

    def _step_inside(self) -> bool:
        """Take a step with active atoms only, if these gain enough; return whether one was taken."""
        state, f, active = self.state, self.f, self.state.active
        if active.size == 1 or self._is_idle:  # whether there is progress a linear minimisation shows
            return False
        g = f.gradient(state.x, state.z)
        dots = active.dots(g)
        k, j = int(np.argmax(dots)), int(np.argmin(dots))
        if k == j or dots[k] - dots[j] < state.phi / self.options.K:
            return False
        atom, gs = active.copy_of(j), float(dots[j])
        view = View(0.0 if self.line_search else f.value(state.x, state.z), g, float(g @ state.x), atom, gs)
        self._step_between(k, float(dots[k]), atom, gs, view)
        return not self._stalled

    def _take_step(self, view):
        k, gv = self._away(view)
        if gv - view.gs < self.state.phi / self.options.K:
            self.state.phi = gv - view.gs
        self._step_between(k, gv, view.atom, view.gs, view)
