"""Frank-Wolfe methods whose iterates are mixtures of atoms (Lacoste-Julien & Jaggi 2015; the review, algorithms 1, 2 and 5)."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import Product
from fwexp.convex.method import IDLE, PROGRESS, Method, OpenLoopOptions, StepOptions, View
from fwexp.convex.objectives import EVERYWHERE
from fwexp.convex.steps import STEPS
from fwexp.convex.watching import is_watched
from fwexp.driver.iteration import Reason, Stop
from fwexp.options import check_number, choice, option
from fwexp.solvers.growing_qp import SimplexQP

QUADRATIC = 1e-9  # of the terms: by how much two values may differ from those of a quadratic function


class LinearMinimisation(Method):
    """A method whose every step ends with a linear minimisation at the new point, which certifies it."""

    def advance(self, budget):
        """Take steps, up to the first gap that may be small enough."""
        state, reason = self.state, Reason.BUDGET
        while reason is Reason.BUDGET and state.calls + self.size <= budget.calls:
            if state.calls:  # The start itself needs a linear minimisation before the first step.
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
            self._view = self.look()
            state.calls += self.size
            state.inspected += self.set.inspected or 0
            if self._is_enough():
                reason = Reason.ROW
        return Stop(reason, calls_needed=self.size)

    def _is_enough(self) -> bool:
        """Return whether the gap may be small enough, also without the rounding errors of running sums."""
        state = self.state
        self._note_gap(self._view.gap)
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
        weight, atom = active.weights[k], active.atom(k)
        most, image = weight / (1.0 - weight), self.f.image_of(atom)
        gamma = self._gamma(gv - view.gx, most, lambda: -atom.direction_from(state.x), state.z - image, view)
        self._mix(atom, image, -gamma)
        active.mix(k, -gamma)
        if gamma == most:
            active.drop(k)
            state.drops += 1

    def _step_between(self, k: int, gv: float, atom: Atom, gs: float, view: View) -> None:
        """Move weight from atom k to another one."""
        active, state = self.state.active, self.state
        worst, weight = active.atom(k), float(active.weights[k])
        dz = self.f.image_of(atom) - self.f.image_of(worst)
        gamma = self._gamma(gv - gs, weight, lambda: atom.direction_from(worst.dense(self.f.dim)), dz, view)
        best = active.row(atom) if gamma > 0.0 else k
        if best == k:  # rounding errors alone make a slope from an atom to itself
            return
        atom.add_to(state.x, gamma)
        worst.add_to(state.x, -gamma)
        state.z += gamma * dz
        active.move(best, k, gamma)
        if gamma == weight:
            active.drop(k)
            state.drops += 1


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


class Corrective(Active):
    """Fully corrective Frank-Wolfe: after every linear minimisation f is minimised over the hull of all atoms so far.

    Of quadratics exactly, by an active-set method on the weights (atoms keep their place when their weight is 0); of other
    functions by pairwise steps, until the gap over the hull is a tenth of the one before. A function of a user's is quadratic as
    long as the values and gradients at its atoms are those of a quadratic function.
    """

    name, title = "corrective", "fully corrective Frank-Wolfe"
    INNER, SHARE = 1000, 0.1
    UNPAUSED = 10  # pairwise steps after which the driver may look at the clock
    CORRECTION = "correction"  # state of an incomplete step: its target, its steps, and their progress

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
        self.state.more[self.CORRECTION] = target, 0, math.inf, 0, self.state.idle
        self._continue_step()

    @property
    def _is_within_step(self):
        return self.CORRECTION in self.state.more

    def _continue_step(self):
        state, f = self.state, self.f
        value, g = f.value(state.x, state.z), f.gradient(state.x, state.z)
        self._correct(View(value, g, math.nan, None, math.nan), *state.more.pop(self.CORRECTION))

    # -- quadratic functions

    def _is_quadratic(self, view: View) -> bool:
        """Return whether f is quadratic, as far as is known; the gradient of a user's function at an atom shows its curvature."""
        f, more = self.f, self.state.more
        if f.domain is not None or "curved" in more:
            return False
        if f.quadratic:
            return self.line_search
        if not f.gradient_is_free or self.options.step != "auto":
            return False
        if "start" not in more:
            zero = np.zeros(f.dim)  # Near a large point digits would be lost; a user's set may have no ``contains``.
            start = zero if not is_watched(self.set) and self.set.contains(zero) else self.state.active.point()
            more["start"] = start, f.value(start, start), f.gradient(start, start)
        start, value, g = more["start"]
        point = view.atom.dense(f.dim)
        there, slopes = f.value(point, point), np.array([g, f.gradient(point, point)]) @ (point - start)
        error = abs(there - value - slopes.mean())
        return error <= QUADRATIC * (abs(value) + abs(there) + np.abs(slopes).sum()) or self._leave_quadratic()

    def _leave_quadratic(self) -> bool:
        """Take f for a function that is not quadratic from now on; return False."""
        more = self.state.more
        more["curved"] = True
        if more.pop("qp", None) is not None:
            self.state.active.drop_zeros()
        return False

    def _solve(self, view: View, target: float) -> bool:
        """Minimise a quadratic function over the hull; return whether that brought the gap over the hull to the target."""
        state, f = self.state, self.f
        if "qp" not in state.more:
            if f.quadratic:
                zero = np.zeros(f.dim)
                state.more["start"] = zero, math.nan, f.gradient(zero, f.image(zero))
            state.more["qp"] = SimplexQP()
            self._add(0)
        k = state.active.row(view.atom)
        if k == state.more["qp"].size:
            self._add(k)
        qp = state.more["qp"]
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
        start, _, g = self.state.more["start"]
        atom = active.atom(k)
        if f.quadratic:
            change = f.hessian_times(f.image_of(atom))
        else:  # The Hessian times s - start is a difference of gradients.
            point = atom.dense(f.dim)
            change = f.gradient(point, point) - g
        products = active.dots(change) - start @ change
        self.state.more["qp"].add(products[:k], products[k], start @ g - atom.dot(g))

    # -- other functions

    def _correct(self, view: View, target: float, k: int, least: float, since: int, idle: int) -> None:
        """Take pairwise steps within the hull from step k on; stop, to continue later, after `UNPAUSED` of them."""
        state, f = self.state, self.f
        pause = k + self.UNPAUSED
        while k < self.INNER:
            if k == pause:
                state.more[self.CORRECTION] = target, k, least, since, idle
                return
            dots = state.active.dots(view.g)
            worst, best = int(np.argmax(dots)), int(np.argmin(dots))
            if dots[worst] - dots[best] <= target:
                break
            self._step_between(worst, float(dots[worst]), state.active.copy_of(best), float(dots[best]), view)
            spread = dots[worst] - dots[best]
            least, since = (spread, k) if spread < PROGRESS * least or self.state.idle == 0 else (least, since)
            if self._stalled or k - since > max(IDLE, k // 2):
                self._stalled = self._stalled and k == 0
                break
            view = view._replace(value=f.value(state.x, state.z), g=f.gradient(state.x, state.z))
            k += 1
        state.idle = min(state.idle, idle + 1)  # as one step
        state.active.drop_zeros()


class Uncertified(LinearMinimisation):
    """A method that estimates gradients, so its steps certify nothing; the log computes certificates, off the clock."""

    def advance(self, budget):
        """Take steps, one estimate each."""
        state = self.state
        while state.calls + self.size <= budget.calls and state.step + 1 <= budget.steps:
            self._view = None
            self._take_step(self._estimate())
            state.calls += self.size
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

    Of the gradient only the coordinates that the sample needs are computed where atoms have few nonzeros.
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
