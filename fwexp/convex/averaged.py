"""Frank-Wolfe with averages of gradients: of those at former points, or of those on samples of the terms of a sum."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from fwexp.convex.frank_wolfe import FrankWolfe, Uncertified
from fwexp.convex.method import OpenLoopOptions, State, View
from fwexp.convex.steps import STEPS
from fwexp.options import check_fraction, check_integer, check_number, choice, option


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
    """Frank-Wolfe with heavy-ball momentum (Li, Sadeghi & Giannakis 2021, algorithm 1): rho is l/(t+l), or 1 - ``momentum``."""

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
