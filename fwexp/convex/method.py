"""Base class of the methods: the iterate with its image, the certificate that belongs to it, and how the driver sees both.

At every point the minimiser s of <g, s>, g = f'(x), gives the Frank-Wolfe gap <g, x - s> >= f(x) - min f. So f(x) minus the
gap is a lower bound, which is logged as the dual objective.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.linalg import norm

from fwexp.convex import steps
from fwexp.convex.atoms import ActiveSet, Atom
from fwexp.convex.feasible_sets import ConvexSet, Product, vector
from fwexp.convex.objectives import Function
from fwexp.driver.iteration import Iteration, Objective, Point, Value
from fwexp.driver.log import quiet
from fwexp.errors import CertificateError, OptionError, ParameterError, shown
from fwexp.options import check_number, choice, option
from fwexp.plugins import CONVEX

REFRESH = 500  # steps after which running sums are computed anew
ROUNDING = 1e-9  # of a gap, relative to its terms; below -ROUNDING it is none


@dataclass(frozen=True)
class StepOptions:
    """Options of methods that go along directions.

    Attributes
    ----------
    step : str or callable
        ``auto`` is ``line_search`` for quadratic functions and ``adaptive`` for others; or a function of a `Line`.
    """

    step: str = choice(*steps.STEPS[:3], function=True)


@dataclass(frozen=True)
class OpenLoopOptions:
    """Options of methods that have predefined steps, too.

    Attributes
    ----------
    step : str or callable
        ``auto``, ``line_search``, ``adaptive`` or ``open_loop``: l/(t+l), for n blocks nl/(t+nl); or a function of a `Line`.
    ell : float
        The l of ``open_loop``.
    """

    step: str = choice(*steps.STEPS, function=True)
    ell: float = option(2.0, check_number, "a finite number >= 1", least=1.0, added_later=True)


@dataclass
class State:
    """All that a method changes; a record."""

    x: np.ndarray
    z: np.ndarray  # the image of x
    active: ActiveSet | None = None
    rng: np.random.Generator | None = None
    step: int = 0
    calls: int = 0
    inspected: int = 0  # atoms
    drops: int = 0  # steps that end at a face
    M: float = 0.0  # the estimate of a Lipschitz constant
    more: dict = field(default_factory=dict)  # what a method has besides


class View(NamedTuple):
    """Answer of a linear minimisation at x."""

    value: float
    g: np.ndarray
    gx: float  # <g, x>
    atom: Atom
    gs: float  # <g, s>

    @property
    def gap(self) -> float:
        """<g, x - s>."""
        return self.gx - self.gs


class Method(Iteration):
    """Minimisation of a function over a set; a subclass with a ``name`` in a module of this folder is found.

    Parameters
    ----------
    f : Function
    convex_set : ConvexSet
    options : Options
    x0 : ndarray, optional
        The start, by default a vertex of the set's choice.
    seed : int
    gap_tol : float
        Where to let the driver look: a gap that may be small enough.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = (CONVEX,)
    Options: ClassVar[type] = StepOptions
    keeps_atoms: ClassVar[bool] = False
    stochastic: ClassVar[bool] = False  # whether the seed matters

    def __init__(self, f: Function, convex_set: ConvexSet, options, x0=None, seed: int = 0, gap_tol: float = 0.0) -> None:
        self.f, self.set, self.options, self.gap_tol = f, convex_set, options, gap_tol
        self.size = len(convex_set.factors) if isinstance(convex_set, Product) else 1
        self.calls_per_step = self.size
        self.line_search = f.quadratic if options.step == "auto" else options.step == "line_search"
        if self.line_search and not f.quadratic:
            raise OptionError(f"step line_search needs a quadratic function, got {type(f).__name__}; accepted: adaptive")
        first = convex_set.atom(np.zeros(convex_set.dim)) if x0 is None or self.keeps_atoms else None
        if x0 is None:
            x = first.dense(convex_set.dim)
        else:
            x = vector("x0", x0, convex_set.dim, convex_set.shape).copy()
            if not convex_set.contains(x):
                raise ParameterError(f"x0 must lie in the set, got {shown(x.tolist())}")
        self.at_vertex = x0 is None
        self.state = State(x, f.image(x), rng=np.random.default_rng(seed))
        if self.keeps_atoms:
            self.state.active = ActiveSet.of_atom(first, len(x)) if x0 is None else ActiveSet.of_point(x, first)
        self._view: View | None = None

    @property
    def step(self) -> int:
        """Steps so far."""
        return self.state.step

    @property
    def oracle_calls(self) -> int:
        """Calls of linear minimisation so far; a product of n sets makes n."""
        return self.state.calls

    def restore(self, state) -> None:
        """Go on from a state that an equal method had."""
        self.state, self._view = state, None

    def point(self, iterate: str) -> Point:
        """Return the iterate and its lower bound."""
        view = self.certificate()
        return Point(self.state.x, view.value - max(view.gap, 0.0))

    def certificate(self) -> View:
        """Return what is known at x, or find it out."""
        return self.look() if self._view is None else self._view

    def look(self) -> View:
        """Minimise linearly over the whole set at x."""
        x, z = self.state.x, self.state.z
        value, g = self.f.value(x, z), self.f.gradient(x, z)
        atom = self.set.atom(g)
        view = View(value, g, float(g @ x), atom, atom.dot(g))
        if view.gap < -ROUNDING * max(abs(view.gx), abs(view.gs)) and view.gap < -ROUNDING * norm(g) * norm(x):
            raise CertificateError(
                f"lmo(g) returned a point with <g, s> = {view.gs:.6g}, above <g, x> = {view.gx:.6g} at a member x"
            )
        return view

    def exact_dual(self) -> float:
        """Return the lower bound at x, recomputed."""
        state = self.state
        state.z, self._view = self.f.image(state.x), None
        return self.point("last").dual

    def extras(self) -> dict[str, float]:
        """Return the size of the active set, the atoms inspected and the drop steps."""
        state = self.state
        atoms = {} if state.active is None else {"atoms": float(state.active.size), "drops": float(state.drops)}
        return atoms | ({"inspected": float(state.inspected)} if self.set.inspected else {})

    def check_gradient(self) -> None:
        """Refuse a gradient that the values around x contradict, towards s and two other points of the set."""
        rng, view = np.random.default_rng(0), self.certificate()
        others = [view.atom.dense(self.f.dim), self.set.random(rng), self.set.random(rng)]
        with quiet():
            self.f.check_gradient(self.state.x, others)

    @abstractmethod
    def advance(self, calls: int, max_steps: int) -> None:
        """Take steps."""

    def _count_step(self) -> None:
        """End a step; now and then compute the running sums anew."""
        state = self.state
        state.step += 1
        if state.step % REFRESH == 0:
            if state.active is not None:
                state.active.normalise()
                state.x = state.active.point()
            state.z = self.f.image(state.x)

    def _open_loop(self, n: int = 1) -> float:
        """Return the predefined step, of one block of n."""
        return self.options.ell * n / (self.state.step + self.options.ell * n)

    def _gamma(self, slope: float, most: float, d, dz: np.ndarray, view: View, block: slice | None = None) -> float:
        """Return the step along a direction, by line search or adaptively; ``d()`` returns the direction."""
        f, state = self.f, self.state
        if self.line_search:
            direction = d() if f.needs_direction else None
            where = () if block is None else (block,)
            return steps.exact(slope, f.curvature(direction, dz, *where), most)
        direction, x, z = d(), state.x, state.z
        if block is not None:
            direction, inside = np.zeros(f.dim), direction
            direction[block] = inside

        def value_at(gamma: float) -> float:
            return f.value(x + gamma * direction if f.reads_point else x, z + gamma * dz)

        line = steps.Line(state.step, x, direction, slope, most, None, value_at)
        if callable(rule := self.options.step):
            curvature = f.curvature(direction, dz) if f.quadratic else None
            return steps.asked(rule, replace(line, x=x.copy(), curvature=curvature)) if direction.any() else 0.0
        gamma, state.M = steps.adaptive(line, view.value, state.M)
        self.stalled = gamma == 0.0 < slope
        return gamma


class Evaluation(Objective):
    """Value of a point, for the log."""

    def __init__(self, method: Method) -> None:
        self.method = method

    def __call__(self, point: Point, stop=None) -> Value:
        """Return f at the iterate."""
        method = self.method
        value = method.f.value(method.state.x, method.state.z)
        return Value(value, scale=abs(value))

    def exact(self, point: Point, value: Value) -> float:
        """Return f at a point, recomputed."""
        return self.method.f.value(point.w, self.method.f.image(point.w))

    def explain_negative_gap(self, best, last) -> str:
        """Return what a negative gap means."""
        return "f is not convex, the gradient is not that of the value, or lmo does not minimise over the set"
