"""Frank-Wolfe with estimates of gradients: averages of former ones, of samples of a sum, and variance reduction, which is exact.

Most variants of `VarianceReduced` need terms phi_i(<a_i, x>). They keep a slope w_i of each term, and r = A'w, which costs
products with the rows of a batch alone. In step t = 0, 1, ... (s is the minimiser of <r, s> over the set, and x <- (1 - gamma) x
+ gamma s):

* ``sag``: w_i <- phi'_i(<a_i, x>), gamma = 2/(t+2) (Negiar et al. 2020, algorithm 1);
* ``saga``: the same, but s minimises <r + (n/b - 1) (the change of r), s>, an unbiased estimate, for batches of b (copt);
* ``mhk``: w_i <- (1 - rho) w_i + rho phi'_i(<a_i, x>), gamma = 2/(t+8), rho = gamma^(2/3) (copt, after Mokhtari et al. 2020, whose
  own method is `Stochastic`: there all w_i shrink);
* ``lf``: w_i <- phi'_i(z_i), z_i <- (1 - rho) z_i + rho <a_i, s>, with s from before, and with m = n/b:
  rho = 2m/(2m+t+1), gamma = 2(2m+t)/((t+1)(4m+t+1)) (Lu & Freund 2021, substitute gradients);
* ``svrf`` is for any sum: snapshots x~ with their gradients, and between them, in step k = 1, ..., 2^(epoch+3) - 2,
  g = f'(x~) + the mean of f'_i(x) - f'_i(x~) over 96 (k+1) terms, gamma = 2/(k+1) (Hazan & Luo 2016, algorithm 1).

The terms of a batch differ. Batches are independent: with every term once in a pass, ``sag`` was three times further from the
minimum on rough problems (2000 x 500, 10 passes).
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.frank_wolfe import FrankWolfe, Uncertified
from fwexp.convex.method import OpenLoopOptions, State, View
from fwexp.convex.steps import STEPS
from fwexp.driver.iteration import Stop
from fwexp.errors import OptionError
from fwexp.jit.compilation import njit
from fwexp.options import check_fraction, check_integer, check_number, choice, option

BATCH = 32
SAMPLES = 96  # of svrf, times k + 1
DRAWN = 64  # batches that are drawn at once
LARGE = 500  # terms of a batch, whose draw is a small part of a step; numpy draws larger ones by another algorithm


@dataclass
class AveragedState(State):
    """State of `Averaged`."""

    m: np.ndarray | None = None  # None before the first step


class Averaged(Uncertified, FrankWolfe):
    """m <- (1 - rho) m + rho g, g a gradient at x;  x <- (1 - gamma) x + gamma s, s a minimiser of <m, s> over the set."""

    State = AveragedState

    def _estimate(self):
        state, g = self.state, self._gradient()
        rho = self._rho() if state.step else 1.0
        m = state.m = rho * g + (1.0 - rho) * state.m if state.step else g
        atom = self.set.atom(m)
        state.inspected += self.set.inspected or 0
        value = 0.0 if self.line_search or self.options.step == "open_loop" else self.f.value(state.x, state.z)
        return View(value, g, float(g @ state.x), atom, atom.dot(g))

    @abstractmethod
    def _gradient(self) -> np.ndarray:
        """Return a gradient at x."""

    @abstractmethod
    def _rho(self) -> float:
        """Return the weight of the new gradient."""


@dataclass(frozen=True)
class MomentumOptions(OpenLoopOptions):
    """Options of `Momentum`.

    Attributes
    ----------
    step : str or callable
        ``open_loop``, or as for Frank-Wolfe; these stay where they are while s lies uphill.
    momentum : float, optional
        A constant weight of the former average; by default t/(t+l).
    """

    step: str = choice("open_loop", *STEPS[:3], function=True)
    ell: float = option(2.0, check_number, "a finite number >= 1", least=1.0, added_later=True)  # of all steps
    momentum: float | None = option(None, check_fraction, optional=True)


class Momentum(Averaged):
    """Frank-Wolfe with heavy-ball momentum (Li, Sadeghi & Giannakis 2021, algorithm 1): averages of all gradients so far.

    rho is l/(t+l), the step of the open loop, or 1 - ``momentum``.
    """

    name, title = "momentum", "Frank-Wolfe with momentum"
    Options = MomentumOptions

    def _gradient(self):
        return self.f.gradient(self.state.x, self.state.z)

    def _rho(self):
        return self._open_loop() if self.options.momentum is None else 1.0 - self.options.momentum


@dataclass(frozen=True)
class StochasticOptions(OpenLoopOptions):
    """Options of `Stochastic`.

    Attributes
    ----------
    step : str
        ``open_loop``: l/(t+l), l = ``ell``.
    batch : int
        How many terms are drawn for each step.
    """

    step: str = choice("open_loop")
    batch: int = option(32, check_integer, 1)


class Stochastic(Averaged):
    """Stochastic Frank-Wolfe (Mokhtari, Hassani & Karbasi 2020): f is a sum, g is its gradient on a sample of the terms.

    rho = 4/(t+8)^(2/3), so that the variance of m vanishes while samples keep their size.
    """

    name, title = "stochastic", "stochastic Frank-Wolfe"
    Options = StochasticOptions
    stochastic, keeps_image = True, False

    def __init__(self, f, *args, **named):
        super().__init__(f, *args, **named)
        if f.terms is None:
            f.sampled(self.state.x, np.zeros(0, dtype=np.int64))  # raises an error: there are none

    def _gradient(self):
        state, f = self.state, self.f
        terms = state.rng.choice(f.terms, min(self.options.batch, f.terms), replace=False)
        return f.sampled(state.x, np.sort(terms))

    def _rho(self):
        return 4.0 / (self.state.step + 8.0) ** (2.0 / 3.0)


@dataclass(frozen=True)
class VarianceReducedOptions:
    """Options of `VarianceReduced`.

    Attributes
    ----------
    variant : str
        ``auto`` is ``sag`` for `LeastSquares`, `Logistic` and `LinearSum`, and ``svrf`` for a `FiniteSum`. Others are ``saga``,
        ``mhk`` and ``lf``.
    batch : int, optional
        Terms of each step; by default 32, and for ``svrf`` 96 (k+1) in step k after a snapshot.
    step : str
        ``auto``: the predefined steps of the variant.
    """

    variant: str = choice("auto", "sag", "saga", "mhk", "lf", "svrf")
    batch: int | None = option(None, check_integer, 1, optional=True)
    step: str = choice("auto")


@dataclass
class VarianceReducedState(State):
    """State of `VarianceReduced`."""

    terms: int = 0  # slopes or gradients of terms that were computed
    w: np.ndarray | None = None  # the slopes, of all variants but ``svrf``
    r: np.ndarray | None = None  # A'w
    products: np.ndarray | None = None  # the z of ``lf``
    epoch: int = 0  # snapshots of ``svrf``
    k: int = 0  # steps since the last one
    snapshot: np.ndarray | None = None
    full: np.ndarray | None = None  # the gradient there


@njit
def _make_distinct(terms, last, seen):
    """Replace each term that its batch has already by the last one that was possible there (Floyd's algorithm)."""
    for row in range(len(terms)):
        for k in range(len(last)):
            if seen[terms[row, k]]:
                terms[row, k] = last[k]
            seen[terms[row, k]] = True
        for k in range(len(last)):
            seen[terms[row, k]] = False


class VarianceReduced(FrankWolfe):
    """Variance-reduced stochastic Frank-Wolfe (Negiar et al. 2020, Hazan & Luo 2016, Lu & Freund 2021): f is a sum.

    Certificates use the gradient of all terms, computed for the log, off the clock.
    """

    name, title = "variance_reduced", "variance-reduced stochastic Frank-Wolfe"
    Options, State = VarianceReducedOptions, VarianceReducedState
    stochastic, keeps_image = True, False

    def __init__(self, f, convex_set, options, *args, **named):
        super().__init__(f, convex_set, options, *args, **named)
        variant = options.variant
        self.variant = variant if variant != "auto" else "sag" if f.linear else "svrf"
        none = np.zeros(0, dtype=np.int64)
        if f.terms is None:
            f.sampled(self.state.x, none)  # raises the error that names functions which are sums
        if self.variant != "svrf" and not f.linear:
            accepted = "svrf, or a LinearSum, LeastSquares or Logistic"
            raise OptionError(f"variant {variant} needs terms of <a_i, x>, got a {type(f).__name__}; accepted: {accepted}")
        self.batch = min(options.batch or BATCH, f.terms)
        if self.variant != "svrf":
            self._remember()

    def _remember(self) -> None:
        """Start the memory of slopes: at 0 as in the paper, and for ``lf`` at x."""
        state, f = self.state, self.f
        if self.variant == "lf":
            state.products = state.z.copy()
            state.w = np.array(f.term_slopes(state.z, np.arange(f.terms)))
            state.r = f.gradient(state.x, state.z)
            state.terms = f.terms
        else:
            state.w, state.r = np.zeros(f.terms), np.zeros(f.dim)

    def advance(self, budget):
        state, inspected = self.state, self.set.inspected or 0
        for terms in self._drawn(min((budget.calls - state.oracle_calls) // self.size, budget.steps - state.step)):
            self._view = None
            self._take_step(terms)
            state.inspected += inspected
            state.oracle_calls += self.size
            self._count_step()
        return Stop(calls_needed=self.size)

    def _take_step(self, terms):
        state = self.state
        # Substitute gradients are updated by the products with s itself.
        atom = self.set.atom(state.r) if self.variant == "lf" else None
        g = self._snapshot_gradient() if self.variant == "svrf" else self._remembered_gradient(terms, atom)
        atom = atom or self.set.atom(g)
        self._mix(atom, None, self._inside(self._lengths()[0], lambda: atom.direction_from(state.x)))

    def _lengths(self) -> tuple[float, float]:
        """Return gamma and rho."""
        t = self.state.step
        match self.variant:
            case "mhk":
                return 2.0 / (t + 8.0), (2.0 / (t + 8.0)) ** (2.0 / 3.0)
            case "lf":
                m = self.f.terms / self.batch
                return 2.0 * (2.0 * m + t) / ((t + 1.0) * (4.0 * m + t + 1.0)), 2.0 * m / (2.0 * m + t + 1.0)
            case "svrf":
                return 2.0 / (self.state.k + 1.0), 1.0
        return 2.0 / (t + 2.0), 1.0

    def _draw(self, size: int) -> np.ndarray:
        """Return the terms of a batch."""
        return self.state.rng.choice(self.f.terms, size, replace=False, shuffle=False)

    def _drawn(self, count: int) -> Iterator[np.ndarray | None]:
        """Yield the batches of some steps, None if a step draws its own; `_draw` would take ten times as long for the same."""
        n, size = self.f.terms, self.batch
        if self.variant == "svrf" or size > LARGE:
            yield from repeat(None, count)
            return
        last, seen = np.arange(n - size, n), np.zeros(n, dtype=np.bool_)
        for start in range(0, count, DRAWN):
            terms = self.state.rng.integers(0, np.tile(last, (min(DRAWN, count - start), 1)), endpoint=True)
            _make_distinct(terms, last, seen)
            yield from terms

    def _remembered_gradient(self, terms: np.ndarray | None, atom: Atom | None) -> np.ndarray:
        """Return r after the slopes of a batch have changed; ``atom`` is the s of ``lf``."""
        f, state, rho = self.f, self.state, self._lengths()[1]
        terms = self._draw(self.batch) if terms is None else terms
        rows, w, r = f.rows(terms), state.w, state.r
        if atom is not None:
            state.products[terms] += rho * (rows.dot(atom.dense(f.dim)) - state.products[terms])
            slopes = f.term_slopes(state.products[terms], terms)
        else:
            slopes = f.term_slopes(rows.dot(state.x), terms)
        before = w[terms]
        change = rho * (slopes - before) if self.variant == "mhk" else slopes - before
        w[terms] = before + change
        difference = rows.T.dot(change)
        r += difference
        state.terms += len(terms)
        return r + (f.terms / len(terms) - 1.0) * difference if self.variant == "saga" else r

    def _snapshot_gradient(self) -> np.ndarray:
        """Return the gradient at the snapshot, corrected by a sample of terms; take a snapshot when one is due."""
        f, state = self.f, self.state
        if not state.step or state.k == 2 ** (state.epoch + 3) - 2:
            state.epoch, state.k, state.snapshot = state.epoch + 1, 0, state.x.copy()
            state.full = f.gradient(state.x, f.image(state.x))
            state.terms += f.terms
        state.k += 1
        size = self.options.batch or SAMPLES * (state.k + 1)
        state.terms += min(size, f.terms)
        if size >= f.terms:
            return f.gradient(state.x, f.image(state.x))
        terms = self._draw(size)
        return state.full + f.sampled(state.x, terms) - f.sampled(state.snapshot, terms)

    def extras(self):
        return super().extras() | {"terms": float(self.state.terms)}
