"""Frank-Wolfe methods whose iterates are mixtures of atoms (Lacoste-Julien & Jaggi 2015; the review, algorithms 1, 2 and 5)."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import Product
from fwexp.convex.functions import EVERYWHERE
from fwexp.convex.method import PROGRESS, Method, OpenLoopOptions, State, StepOptions, View
from fwexp.convex.steps import STEPS
from fwexp.driver.iteration import Reason, Stop
from fwexp.options import check_number, choice, option


class LinearMinimisation(Method):
    """A method whose every step ends with a linear minimisation at the new point, which certifies it."""

    def advance(self, budget):
        """Take steps, up to the first gap that may be small enough."""
        state, reason = self.state, Reason.BUDGET
        while reason is Reason.BUDGET and state.oracle_calls + self.size <= budget.calls:
            if state.oracle_calls:  # The start itself needs a linear minimisation before the first step.
                if state.step + 1 > budget.steps:
                    break
                if self._is_within_step:
                    self._continue_step()
                else:
                    self._stalled = self._is_idle
                    if not self._stalled:
                        self._take_step(self.certificate())
                if self._stalled:
                    reason = Reason.STALLED
                    break
                if self._is_within_step:
                    self._view, reason = None, Reason.PAUSE
                    break
                self._count_step()
            if self._look_is_enough():
                reason = Reason.ROW
        return Stop(reason, calls_needed=self.size)

    def _look_is_enough(self) -> bool:
        """Minimise linearly; return whether the gap may be small enough, also without the rounding errors of running sums."""
        state = self.state
        self._view = self.look()
        state.oracle_calls += self.size
        state.inspected += self.set.inspected or 0
        if self._view.gap < PROGRESS * state.least:
            state.least, state.idle = self._view.gap, 0
        if self._view.bound <= self.gap_tol and not np.array_equal(image := self.f.image(state.x), state.z):
            state.z = image
            self._view = self.look()
        return self._view.bound <= self.gap_tol

    @property
    def _is_within_step(self) -> bool:
        """Return whether the latest step is not complete yet."""
        return False

    @abstractmethod
    def _take_step(self, view: View) -> None:
        """Move x and its image."""

    def _continue_step(self) -> None:
        """Continue a step that is not complete."""
        raise NotImplementedError

    # -- the three directions

    def _towards(self, atom: Atom, slope: float, view: View, most: float = 1.0) -> float:
        """Step towards an atom; return the length of the step."""
        image = self.f.image_of(atom)
        gamma = self._gamma(slope, most, lambda: atom.direction_from(self.state.x), image - self.state.z, view)
        self._mix(atom, image, gamma)
        return gamma

    def _mix(self, atom: Atom, image: np.ndarray | None, gamma: float) -> None:
        """Move to (1 - gamma) x + gamma s; gamma < 0 goes away from s."""
        state = self.state
        state.x *= 1.0 - gamma
        atom.add_to(state.x, gamma)
        if self.keeps_image:
            state.z *= 1.0 - gamma
            state.z += gamma * image


@dataclass(frozen=True)
class FrankWolfeOptions(OpenLoopOptions):
    """Options of `FrankWolfe`.

    Attributes
    ----------
    step : str or callable
        ``auto``, ``line_search``, ``adaptive``, ``open_loop``, ``monotonic``, or a function of a `Line`.
    """

    step: str = choice(*STEPS, function=True)


class FrankWolfe(LinearMinimisation):
    """Algorithm 1: x <- (1 - gamma) x + gamma s, s a minimiser of <f'(x), s> over the set."""

    name, title = "frank_wolfe", "Frank-Wolfe"
    Options = FrankWolfeOptions

    def _take_step(self, view):
        if self.options.step == "open_loop":
            gamma = self._inside(self._open_loop(), lambda: view.atom.direction_from(self.state.x))
            self._mix(view.atom, self.f.image_of(view.atom) if self.keeps_image else None, gamma)
        else:
            self._towards(view.atom, view.gap, view)


class Active(LinearMinimisation):
    """A method that keeps the atoms that its iterate is a mixture of."""

    keeps_atoms = True

    def _away(self, view: View) -> tuple[int, float]:
        """Return the row of the worst atom, v = argmax <g, v> over the active set, and <g, v>."""
        dots = self.state.active.dots(view.g)
        k = int(np.argmax(dots))
        return k, float(dots[k])

    def _step_towards(self, view: View) -> None:
        """Step towards s, which becomes active."""
        active, before = self.state.active, self.state.active.size
        gamma = self._towards(view.atom, view.gap, view)
        if gamma > 0.0:
            active.mix(active.row(view.atom), gamma)
            self.state.drops += gamma == 1.0 and before > 1

    def _step_away(self, k: int, gv: float, view: View) -> None:
        """Step away from atom k, and drop it if the step is the longest one."""
        active, state = self.state.active, self.state
        atom = active.atom(k)
        image = self.f.image_of(atom)
        gamma = self._gamma(gv - view.gx, active.longest_away(k), lambda: -atom.direction_from(state.x), state.z - image, view)
        self._mix(atom, image, -gamma)
        state.drops += active.leave(k, gamma)

    def _step_between(self, k: int, gv: float, atom: Atom, gs: float, view: View) -> None:
        """Move weight from atom k to another one."""
        active, state = self.state.active, self.state
        worst = active.atom(k)
        dz = self.f.image_of(atom) - self.f.image_of(worst)
        gamma = self._gamma(gv - gs, float(active.weights[k]), lambda: atom.direction_from(worst.dense(self.f.dim)), dz, view)
        best = active.row(atom) if gamma > 0.0 else k
        if best == k:  # rounding errors alone make a slope from an atom to itself
            return
        atom.add_to(state.x, gamma)
        worst.add_to(state.x, -gamma)
        state.z += gamma * dz
        state.drops += active.move(best, k, gamma)


class Away(Active):
    """Algorithm 2: towards s, or away from the worst active atom v, whichever has the larger slope."""

    name, title = "away", "away-step Frank-Wolfe"

    def _take_step(self, view):
        k, gv = self._away(view)
        if view.gap >= gv - view.gx or self.state.active.alone(k):
            self._step_towards(view)
        else:
            self._step_away(k, gv, view)


class Pairwise(Active):
    """Pairwise Frank-Wolfe: weight moves from the worst active atom v to s (Lacoste-Julien & Jaggi 2015, algorithm 2)."""

    name, title = "pairwise", "pairwise Frank-Wolfe"

    def _take_step(self, view):
        self._step_between(*self._away(view), view.atom, view.gs, view)


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
                if state.oracle_calls + self.size > budget.calls:
                    break
                if self._look_is_enough():
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


class Uncertified(LinearMinimisation):
    """A method that estimates gradients, so its steps certify nothing; the log computes certificates, off the clock."""

    def advance(self, budget):
        state = self.state
        while state.oracle_calls + self.size <= budget.calls and state.step + 1 <= budget.steps:
            self._view = None
            self._take_step(self._estimate())
            state.oracle_calls += self.size
            self._count_step()
        return Stop(calls_needed=self.size)  # never stalled, because the next estimate may be another one

    @abstractmethod
    def _estimate(self) -> View:
        """Return the answer of a linear minimisation that replaces one at x."""


@dataclass(frozen=True)
class RandomOptions(StepOptions):
    """Options of `RandomAway`.

    Attributes
    ----------
    eta : float
        The part of all atoms that is inspected in each iteration, in addition to the active ones.
    """

    eta: float = option(0.1, check_number, "a number > 0 and <= 1", above=0.0, most=1.0)


class RandomAway(Uncertified, Away):
    """Algorithm 5: away-step Frank-Wolfe whose linear minimisation is over a sample of the atoms and the active set.

    The atoms of a product are too many to draw from. There the sample is a product: in every factor of some of its atoms and of
    the pieces of the active ones, so that a factor whose best atom is not among them loses nothing.
    """

    name, title = "random_away", "randomised away-step Frank-Wolfe"
    Options = RandomOptions
    stochastic = True

    def __init__(self, f, convex_set, *args, **named):
        product = isinstance(convex_set, Product)
        self._factors = convex_set.factors if product else [convex_set]
        self._blocks = convex_set.blocks if product else [EVERYWHERE]
        for factor in self._factors:
            if factor.num_atoms is None:
                factor.atoms(np.zeros(0, dtype=np.int64))  # raises an error: there are none
        super().__init__(f, convex_set, *args, **named)

    def _estimate(self):
        """Minimise linearly over a sample of the atoms and the active set."""
        state, f, active = self.state, self.f, self.state.active
        samples = self._draw()
        if active.indices is None or active.start is not None:
            g = f.gradient(state.x, state.z)
            gx = float(g @ state.x)
        else:  # the coordinates of the sample, and those where x is not 0
            drawn = [indices.ravel() + (block.start or 0) for block, (indices, _) in zip(self._blocks, samples, strict=True)]
            where = np.unique(np.concatenate((*drawn, active.indices[: active.size].ravel())))
            g = np.zeros(f.dim)
            g[where] = f.partial(state.x, state.z, where)
            gx = float(g[where] @ state.x[where])
        pieces = [_best(g[block], *sample) for block, sample in zip(self._blocks, samples, strict=True)]
        atom = self.set.join(pieces) if isinstance(self.set, Product) else pieces[0]
        known, gs = active.dots(g), atom.dot(g)
        value = 0.0 if self.line_search else f.value(state.x, state.z)
        k = int(np.argmin(known))
        if known[k] < gs:
            atom, gs = active.copy_of(k), float(known[k])
        return View(value, g, gx, atom, gs)

    def _draw(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return indices and values of atoms of every factor, one row each: a sample, and of a product the active ones."""
        state, active, samples, column = self.state, self.state.active, [], 0
        rows = np.delete(np.arange(active.size), active.start_at) if active.start is not None else slice(active.size)
        for factor, block in zip(self._factors, self._blocks, strict=True):
            count = factor.num_atoms
            indices, values = factor.atoms(state.rng.choice(count, math.ceil(self.options.eta * count), replace=False))
            if len(self._factors) == 1:
                state.inspected += active.size
            elif active.indices is None:
                values = _distinct(np.concatenate((_dense(indices, values, factor.dim), active.values[rows, block])))
                indices = None
            else:
                width = values.shape[1]
                columns = slice(column, column := column + width)
                present = np.hstack((active.indices[rows, columns] - block.start, active.values[rows, columns]))
                both = _distinct(np.concatenate((np.hstack((indices, values)), present)))
                indices, values = both[:, :width].astype(np.int64), both[:, width:]
            state.inspected += len(values)
            samples.append((indices, values))
        return samples


def _dense(indices: np.ndarray | None, values: np.ndarray, dim: int) -> np.ndarray:
    if indices is None:
        return values
    dense = np.zeros((len(values), dim))
    np.put_along_axis(dense, indices, values, axis=1)
    return dense


def _distinct(rows: np.ndarray) -> np.ndarray:
    """Return every row once; np.unique takes four times as long."""
    rows = rows[np.lexsort(rows.T)]
    return rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))]


def _best(g: np.ndarray, indices: np.ndarray | None, values: np.ndarray) -> Atom:
    """Return the atom of the smallest <g, s>."""
    j = int(np.argmin(values @ g if indices is None else (values * g[indices]).sum(axis=1)))
    return Atom(None if indices is None else indices[j], values[j])
