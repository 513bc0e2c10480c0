"""Base class of the methods: the iterate with its image, the certificate that belongs to it, and how the driver sees both.

At every point the minimiser s of <g, s>, g = f'(x), gives the Frank-Wolfe gap <g, x - s> >= f(x) - min f. So f(x) minus the
gap is a lower bound, which is logged as the dual objective.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.linalg import norm

from fwexp.convex import steps
from fwexp.convex.atoms import ActiveSet, Atom
from fwexp.convex.differences import check_convexity, check_gradient
from fwexp.convex.feasible_sets import EPSILON, ConvexSet, Product, vector
from fwexp.convex.functions import Function
from fwexp.convex.watching import is_watched, least_product, watched
from fwexp.driver.iteration import Iteration, Point, Terms
from fwexp.driver.log import ROUNDING as LOGGED
from fwexp.driver.log import quiet
from fwexp.driver.values import Objective, Value
from fwexp.errors import CertificateError, OptionError, ParameterError, shown
from fwexp.options import CONVEX, check_number, choice, option

REFRESH = 500  # steps after which running sums are computed anew
ROUNDING = 1e-9  # of <g, x - s>, relative to its terms
SCALE = 32.0 / LOGGED  # rounding errors by which logged objectives may be wrong, as the log counts them
SMALLEST = float(np.finfo(np.float32).tiny)  # length of a gradient below which an lmo in single precision sees zeros
NEAR = 1e-12  # of a value: where a decrease is this near to the promised one the slope decides
PROGRESS, IDLE = 0.9, 30  # share of the smallest gap that counts as smaller, and steps without that before a run may have stalled
TESTED_ATOMS = 4  # atoms of the active set at which a function is tested


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
        ``auto``, ``line_search``, ``adaptive`` or ``open_loop``: l/(t+l), for n blocks nl/(t+nl); or a function of a `Line`. Of
        ``frank_wolfe`` also ``monotonic``: 2/(t+2), without the steps that increase f.
    ell : float
        The l of ``open_loop``.
    """

    step: str = choice(*steps.STEPS[:4], function=True)
    ell: float = option(2.0, check_number, "a finite number >= 1", least=1.0, added_later=True, needs={"step": ("open_loop",)})


@dataclass
class State:
    """All that a method changes; a record. Methods that change more have a subclass of it."""

    x: np.ndarray
    z: np.ndarray  # the image of x
    active: ActiveSet | None = None
    rng: np.random.Generator | None = None
    step: int = 0
    oracle_calls: int = 0  # of linear minimisation; a product of n sets makes n
    inspected: int = 0  # atoms
    drops: int = 0  # steps that end at a face
    M: float = 0.0  # the estimate of a Lipschitz constant
    least: float = math.inf  # the smallest gap so far, up to a tenth
    idle: int = 0  # steps since then that no value shows to be a decrease
    precision: tuple = ()  # precisions that the function states
    waited: int = 0  # iterations without a step, of ``monotonic``


class View(NamedTuple):
    """Answer of a linear minimisation at x."""

    value: float
    g: np.ndarray
    gx: float  # <g, x>
    atom: Atom
    gs: float  # <g, s>
    rounding: float = 0.0  # of the gap, where numbers are of less than double precision

    @property
    def gap(self) -> float:
        """<g, x - s>."""
        return self.gx - self.gs

    @property
    def bound(self) -> float:
        """Upper bound on f(x) minus the minimum."""
        return max(self.gap, 0.0) + self.rounding

    @property
    def dual(self) -> float:
        """The lower bound on the minimum; rounded down where it would equal f(x) without being it."""
        dual = self.value - self.bound
        return dual if self.value - dual >= 0.5 * self.bound else math.nextafter(dual, -math.inf)


class Method(Iteration):
    """Minimisation of a function over a set; a subclass with a ``name`` in a module of this folder is found."""

    name: ClassVar[str]
    title: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = (CONVEX,)
    Options: ClassVar[type] = StepOptions
    State: ClassVar[type[State]] = State
    keeps_atoms: ClassVar[bool] = False
    keeps_image: ClassVar[bool] = True  # whether steps change the image, too; otherwise it is computed for the log
    stochastic: ClassVar[bool] = False  # whether the seed matters

    def __init__(self, f: Function, convex_set: ConvexSet, options, x0=None, seed: int = 0, gap_tol: float = 0.0) -> None:
        convex_set = watched(convex_set)
        self.f, self.set, self.options, self.gap_tol = f, convex_set, options, gap_tol
        self.size = len(convex_set.factors) if isinstance(convex_set, Product) else 1
        self._stalled = False  # whether the latest step was lost in rounding errors
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
        if not f.is_defined(x):
            where = "x0 must lie in the domain of f" if x0 is not None else "the start must lie in the domain of f"
            raise ParameterError(f"{where}, got {shown(x.tolist())}; pass a point of the domain as x0")
        self.starts_at_atom = x0 is None
        self.state = self.State(x, f.image(x), rng=np.random.default_rng(seed))
        if self.keeps_atoms:
            self.state.active = ActiveSet.of_atom(first, len(x)) if x0 is None else ActiveSet.of_point(x, first)
        self._view: View | None = None
        self._proof: View | None = None  # of the highest lower bound

    @property
    def terms(self) -> Terms:
        return Terms(self.size)

    def restore(self, state) -> None:
        self.state, self._view = state, None
        if state.precision:
            self.f.precision = state.precision

    def point(self, iterate: str) -> Point:
        view = self.certificate()
        if self._proof is None or view.dual > self._proof.dual:
            self._proof = view
        return Point(self.state.x, view.dual)

    def certificate(self) -> View:
        """Return the view at x, computed at most once."""
        if self._view is None:
            if not self.keeps_image:
                self.state.z = self.f.image(self.state.x)
            self._view = self.look()
        return self._view

    def look(self) -> View:
        """Minimise linearly over the whole set at x."""
        x, z = self.state.x, self.state.z
        value, g = self.f.value(x, z), self.f.gradient(x, z)
        atom = self.set.atom(g)
        gx, gs = float(g @ x), atom.dot(g)
        rounding = max(ROUNDING * max(abs(gx), abs(gs)), self.set.lmo_error(g) * norm(x))
        if gx < gs and gs - gx > rounding and norm(g) > SMALLEST:
            found = f"got an answer with {gs:.6g}, although x has {gx:.6g}"
            raise CertificateError(f"lmo(g) must minimise <g, s>, {found}: it does not minimise, or x is outside the set")
        return View(value, g, gx, atom, gs, self._rounding(g, atom))

    def _rounding(self, g: np.ndarray, atom: Atom) -> float:
        """Return the rounding error of the gap, which in double precision does not count."""
        if self.f.epsilon <= EPSILON:
            return 0.0
        return steps.ROUNDINGS * self.f.epsilon * float(np.abs(g) @ np.abs(atom.direction_from(self.state.x)))

    def seen(self) -> dict[str, np.ndarray]:
        """Return copies of x and of the vertex that certifies it, in the shape of the set."""
        vertex = self.certificate().atom.dense(self.f.dim)
        return {"x": self.state.x.reshape(self.set.shape).copy(), "vertex": vertex.reshape(self.set.shape)}

    def exact_dual(self) -> float:
        state = self.state
        state.z, self._view = self.f.image(state.x), None
        return self.point("last").dual

    def extras(self) -> dict[str, float]:
        state = self.state
        atoms = {} if state.active is None else {"atoms": float(state.active.size), "drops": float(state.drops)}
        return atoms | ({"inspected": float(state.inspected)} if self.set.inspected else {})

    def check_start(self) -> None:
        """Refuse a gradient that values contradict in the first direction."""
        if self.f.doubtful:
            with quiet():
                check_gradient(self.f, self.state.x, [self.certificate().atom.dense(self.f.dim)])

    def check_end(self, best: np.ndarray) -> float:
        """Check function and linear minimisation with some evaluations more; return a lower bound that holds then, or infinity."""
        rng, f, view = np.random.default_rng(0), self.f, self.certificate()
        if f.doubtful:
            others = [view.atom.dense(f.dim), self.set.random(rng), self.set.random(rng)]
            opposite = self.set.atom(-view.g).dense(f.dim)
            active = self.state.active
            atoms = [] if active is None else [active.atom(k).dense(f.dim) for k in range(min(active.size, TESTED_ATOMS))]
            with quiet():
                check_gradient(f, self.state.x, others)
                check_convexity(f, [best, self.state.x, *others, opposite, *atoms])
        proof = self._proof or view
        if not is_watched(self.set):
            return math.inf
        missing = proof.gs - least_product(self.set, proof.g)
        if missing > self.set.lmo_error(proof.g) * max(norm(best), norm(proof.atom.values)):
            found = f"got another answer to the same g with {proof.gs - missing:.6g} instead of {proof.gs:.6g}"
            raise CertificateError(f"lmo(g) must minimise <g, s>, {found}: it looks noisy")
        return proof.dual - missing if missing > 0.0 else math.inf

    def _count_step(self) -> None:
        """End a step; now and then compute the running sums anew."""
        state = self.state
        state.step += 1
        state.precision = self.f.precision
        if state.step % REFRESH == 0:
            if state.active is not None:
                state.active.normalise()
                state.x = state.active.point()
            if self.keeps_image:
                state.z = self.f.image(state.x)

    def _open_loop(self, n: int = 1) -> float:
        """Return the predefined step, of one block of n."""
        return self.options.ell * n / (self.state.step + self.options.ell * n)

    def _inside(self, gamma: float, d: Callable[[], np.ndarray], block: slice | None = None) -> float:
        """Return a step along ``d()`` halved until it ends in the domain of f."""
        if self.f.domain is None:
            return gamma
        direction = self._whole(d(), block)
        return steps.inside(gamma, lambda gamma: self.f.is_defined(self.state.x + gamma * direction))

    def _whole(self, d: np.ndarray, block: slice | None) -> np.ndarray:
        """Return a direction that is 0 outside of its block."""
        if block is None:
            return d
        whole = np.zeros(self.f.dim)
        whole[block] = d
        return whole

    def _gamma(self, slope: float, most: float, d, dz: np.ndarray, view: View, block: slice | None = None) -> float:
        """Return the step along a direction, by line search or adaptively; ``d()`` returns the direction."""
        f, state = self.f, self.state
        if self.line_search:
            direction = d() if f.needs_direction else None
            where = () if block is None else (block,)
            gamma = self._inside(best := steps.exact(slope, f.curvature(direction, dz, *where), most), d, block)
            state.idle += gamma < best  # at the border of the domain steps may shrink for ever
            return gamma
        direction, x, z = self._whole(d(), block), state.x, state.z

        def value_at(gamma: float) -> float:
            if not f.is_defined(x + gamma * direction):
                return math.inf
            return f.value(x + gamma * direction if f.reads_point else x, z + gamma * dz)

        def slope_at(gamma: float) -> float:
            return -float(f.gradient(x + gamma * direction, z + gamma * dz) @ direction)

        line = steps.Line(state.step, x, direction, slope, most, None, value_at)
        if callable(rule := self.options.step):
            curvature = f.curvature(direction, dz) if f.quadratic else None
            may_fall = slope > 0.0 and direction.any()
            gamma = steps.asked(rule, replace(line, x=x.copy(), curvature=curvature)) if may_fall else 0.0
            return self._inside(gamma, lambda: direction)
        if rule == "monotonic":
            gamma, longer = steps.monotonic(state.step + state.waited, view.value, value_at)
            state.waited += longer
            self._stalled = gamma == 0.0
            return gamma
        rounding = steps.ROUNDINGS * f.epsilon * float(np.abs(view.g) @ np.abs(direction[block or slice(None)]))
        gamma, measured = 0.0, False
        if slope > rounding:
            noise = math.inf if f.gradient_is_free else NEAR * abs(view.value)
            gamma, state.M, measured = steps.adaptive(line, view.value, state.M, slope_at, noise, f.epsilon)
        self._stalled = gamma == 0.0 < slope
        state.idle = 0 if measured else state.idle + (gamma > 0.0)
        return gamma

    @property
    def _is_idle(self) -> bool:
        """Return whether neither values nor gaps have shown progress for long."""
        return self.state.idle > max(IDLE, self.state.step // 2)


class Evaluation(Objective):
    """Value of a point, for the log."""

    def __init__(self, method: Method) -> None:
        self.method = method

    def __call__(self, point: Point, stop=None) -> Value:
        method, view = self.method, self.method.certificate()
        value = method.f.value(method.state.x, method.state.z)
        terms = abs(value) + float(np.abs(view.g) @ np.abs(method.state.x))
        return Value(value, magnitude=max(abs(value), terms * SCALE * method.f.epsilon))

    def exact(self, point: Point, value: Value) -> float:
        return self.method.f.value(point.w, self.method.f.image(point.w))

    def explain_negative_gap(self, best, last) -> str:
        return "f is not convex, the gradient is not that of the value, or lmo does not minimise over the set"
