"""Methods for bilinear saddle points.

Dual extragradient (Nesterov 2007; Taskar, Lacoste-Julien & Jordan 2006; the review, algorithm 6) and saddle-point Frank-Wolfe
(Gidel, Jebara & Lacoste-Julien 2017; the review, algorithm 7, whose text has the signs of the gradient and of r_t wrong in 4.1).
"""

import copy
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from fwexp.convex.atoms import ActiveSet
from fwexp.convex.feasible_sets import ConvexSet
from fwexp.convex.games import Bilinear
from fwexp.convex.watching import is_watched, least_product, watched
from fwexp.driver.iteration import Iteration, Point, Reason, Stop, Terms
from fwexp.driver.values import Objective, Value
from fwexp.errors import OptionError
from fwexp.options import SADDLE, check_positive, choice, option


class Pair(NamedTuple):
    """An x, with what certifies the y that belongs to it: M y + p and q'y."""

    x: np.ndarray
    gx: np.ndarray
    qy: float


@dataclass
class State:
    """All that a method changes; a record. Every method has a subclass of it."""

    step: int = 0
    oracle_calls: int = 0  # linear minimisations or projections over X times Y


class SaddleMethod(Iteration):
    """A method for a game; a pass is one linear minimisation, or one projection, over X times Y."""

    name: ClassVar[str]
    title: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = (SADDLE,)
    Options: ClassVar[type]
    stochastic: ClassVar[bool] = False
    terms = Terms(size=1)
    calls_per_step: ClassVar[int]

    def __init__(self, game: Bilinear, options, gap_tol: float = 0.0) -> None:
        self.game, self.options, self.gap_tol = copy.copy(game), options, gap_tol
        self.game.X, self.game.Y = watched(game.X), watched(game.Y)
        self._at_row = False
        self._proof: tuple[float, Pair] | None = None  # the highest lower bound, and its pair
        self.state = self.start()

    def advance(self, budget):
        """Take steps, up to the first gap that may be small enough; after such a gap, take further steps."""
        state = self.state
        gap_tol, self._at_row = -np.inf if self._at_row else self.gap_tol, False
        while state.oracle_calls + self.calls_per_step <= budget.calls and state.step + 1 <= budget.steps:
            self._at_row = self._take_step(gap_tol) <= gap_tol
            if self._at_row:
                return Stop(Reason.ROW, self.calls_per_step)
            gap_tol = self.gap_tol
            state.step += 1
            state.oracle_calls += self.calls_per_step
        return Stop(calls_needed=self.calls_per_step)

    @abstractmethod
    def start(self) -> State:
        """Return the state at step 0."""

    @abstractmethod
    def _take_step(self, gap_tol: float) -> float:
        """Take a step and return the gap before it, infinity where it is not known; with a gap <= 0, or gap_tol, stay there."""

    @abstractmethod
    def pair(self) -> Pair:
        """Return the pair that the method has found."""

    @abstractmethod
    def y(self) -> np.ndarray | None:
        """Return the y of that pair, where it is kept."""

    def seen(self) -> dict[str, np.ndarray | None]:
        """Return copies of the pair, with None for a y that is not kept."""
        y = self.y()
        return {"x": self.pair().x.copy(), "y": None if y is None else y.copy()}

    def point(self, iterate):
        """Return the x of the pair, and min_x' L(x', y)."""
        pair = self.pair()
        dual = self.game.X.atom(pair.gx).dot(pair.gx) - pair.qy + self.game.constant
        if self._proof is None or dual > self._proof[0]:
            self._proof = dual, pair
        return Point(pair.x, dual)

    def check_end(self, best: np.ndarray) -> tuple[float, float]:
        """Return the least value and the highest lower bound that hold after some questions more to users' linear minimisations."""
        game, value, dual = self.game, -np.inf, np.inf
        if is_watched(game.Y):
            value = -least_product(game.Y, -game.gradient_y(best)) + float(game.p @ best) + game.constant
        if is_watched(game.X) and self._proof is not None:
            pair = self._proof[1]
            dual = least_product(game.X, pair.gx) - pair.qy + game.constant
        return value, dual


class WorstCase(Objective):
    """Value of x, for the log: max_y L(x, y)."""

    def __init__(self, game: Bilinear) -> None:
        self.game = game

    def __call__(self, point, stop=None):
        game = self.game
        gy = game.gradient_y(point.w)
        value = game.Y.atom(-gy).dot(gy) + float(game.p @ point.w) + game.constant
        return Value(value, magnitude=abs(value) + float(np.abs(game.p) @ np.abs(point.w)))

    def explain_negative_gap(self, best, last):
        return "lmo does not minimise over its set"


@dataclass(frozen=True)
class ExtragradientOptions:
    """Options of dual extragradient.

    Attributes
    ----------
    geometry : str
        ``euclidean``: projections (set.project) on both sides; ``entropic``: y, and x where its set can, by entropies
        (set.soften), the other by a projection.
    eta : float, optional
        The step; by default 1/L, L the norm of M in this geometry.
    ratio : float
        The steps of x and y are eta * sqrt(ratio) and eta / sqrt(ratio).
    memory : str
        ``full``, or ``efficient``: only vectors of the size of x are kept, and the last y is computed from them when needed.
    """

    geometry: str = choice("euclidean", "entropic")
    eta: float | None = option(None, check_positive, optional=True)
    ratio: float = option(1.0, check_positive)
    memory: str = choice("full", "efficient")


@dataclass(kw_only=True)
class ExtragradientState(State):
    """Sums over all u of x, of M y + p, of q'y, of M'x - q and of y."""

    x: np.ndarray
    gx: np.ndarray
    qy: float = 0.0
    gy: np.ndarray | None = None  # this and y with full memory only
    y: np.ndarray | None = None


class Player(NamedTuple):
    """A player of dual extragradient: T(s) is a projection about the centre, or an entropic one where there is none."""

    convex_set: ConvexSet
    centre: np.ndarray | None
    eta: float

    def first(self, s: np.ndarray) -> np.ndarray:
        """Return T(s)."""
        if self.centre is None:
            return self.convex_set.soften(self.eta * s)
        return self.convex_set.project(self.centre + self.eta * s)

    def second(self, s: np.ndarray, v: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return T(s + change), as a projection of v = T(s) and the change where T is Euclidean."""
        return self.first(s + change) if self.centre is None else self.convex_set.project(v + self.eta * change)

    def start(self) -> np.ndarray:
        """Return what minimises d."""
        return self.convex_set.soften(np.zeros(self.convex_set.dim)) if self.centre is None else self.centre


class DualExtragradient(SaddleMethod):
    """Algorithm 6: dual extragradient.

    With F(u) = (M y + p, q - M'x),

        v = T(s),  u = T(s - F(v)),  s <- s - F(u);    result: the mean of all u

    with T(s) = argmax_u <eta s, u> - d(u), d half the squared distance from a centre, or minus the entropy. Where d is
    Euclidean u is the projection of v - eta F(v), as in the review. s follows from the sums of all x and of all M y (without
    the surplus sum in the review's formula): the memory-efficient form keeps these alone.
    """

    name, title = "dual_extragradient", "dual extragradient"
    Options = ExtragradientOptions
    calls_per_step = 2

    def start(self):
        game, options = self.game, self.options
        entropic = options.geometry == "entropic"
        soft_x = entropic and game.X.softens
        if entropic and not game.Y.softens:
            game.Y.soften(np.zeros(game.Y.dim))  # raises an error if it cannot
        L = self._norm(soft_x, entropic)
        eta, root = options.eta or (1.0 / L if L > 0.0 else 1.0), np.sqrt(options.ratio)
        zero_x, zero_y = np.zeros(game.X.dim), np.zeros(game.Y.dim)
        self._x = Player(game.X, None if soft_x else game.X.project(zero_x), eta * root)
        self._y = Player(game.Y, None if entropic else game.Y.project(zero_y), eta / root)
        of_y = {"gy": zero_y, "y": zero_y} if options.memory == "full" else {}
        return ExtragradientState(x=zero_x, gx=zero_x, **of_y)

    def _norm(self, soft_x: bool, soft_y: bool) -> float:
        """Return the Lipschitz constant of F between the norms that belong to the two d, at most."""
        entries = self.game.matrix.columns(slice(None)) if soft_y else None
        if entries is None:
            return self.game.norm()
        if soft_x:
            return float(abs(entries).max()) * float(np.sqrt(self.game.X.mass * self.game.Y.mass))
        longest = np.asarray((entries * entries).sum(axis=0)).max()  # ||M y|| <= the longest column ||y||_1
        return float(np.sqrt(longest * self.game.Y.mass))

    def _take_step(self, gap_tol):
        game, state = self.game, self.state
        sx = -state.gx
        sy = state.gy if state.gy is not None else game.matrix.transposed_times(state.x) - state.step * game.q
        vx, vy = self._x.first(sx), self._y.first(sy)
        x, y = self._x.second(sx, vx, -game.gradient_x(vy)), self._y.second(sy, vy, game.gradient_y(vx))
        state.x = state.x + x
        state.gx = state.gx + game.gradient_x(y)
        state.qy += float(game.q @ y)
        if state.gy is not None:
            state.gy = state.gy + game.gradient_y(x)
            state.y = state.y + y
        return np.inf

    def pair(self):
        game, state, t = self.game, self.state, self.state.step
        if t == 0:
            y = self._y.start()
            return Pair(self._x.start(), game.gradient_x(y), float(game.q @ y))
        return Pair(state.x / t, state.gx / t, state.qy / t)

    def y(self):
        if self.options.memory == "efficient":
            return None
        return self.state.y / self.step if self.step else self._y.start()


LINEAR_RATE = {"step": ("linear_rate",)}


@dataclass(frozen=True)
class SaddleOptions:
    """Options of saddle-point Frank-Wolfe.

    Attributes
    ----------
    step : str
        ``open_loop``: 2/(t+2); ``adaptive``: min(1, nu g/(2 C)) with nu = 1 and C = L D^2, L the norm of M and D the diameter of X
        times Y (the review leaves both open); ``linear_rate``: g/(||s - z||^2 C_delta), C_delta = 2 L + 8 L^2/(beta delta), at
        most 1.
    beta, delta : float, optional
        Of ``linear_rate``: how strongly convex X and Y are (1/r for l2 balls of radius r), and a lower bound on the norms of both
        gradients.
    """

    step: str = choice("open_loop", "adaptive", "linear_rate")
    beta: float | None = option(None, check_positive, optional=True, needs=LINEAR_RATE)
    delta: float | None = option(None, check_positive, optional=True, needs=LINEAR_RATE)


@dataclass(frozen=True)
class SaddleAwayOptions:
    """Options of saddle-point away-step Frank-Wolfe.

    Attributes
    ----------
    step : str
        ``adaptive``, as for `SaddleFrankWolfe`.
    """

    step: str = choice("adaptive")


@dataclass(kw_only=True)
class SaddleState(State):
    """State of saddle-point Frank-Wolfe: the pair, with M y + p and M'x - q."""

    x: np.ndarray
    y: np.ndarray
    gx: np.ndarray
    gy: np.ndarray
    active: tuple[ActiveSet, ...] = ()  # of both players, where steps lead away from atoms
    drops: int = 0


class SaddleFrankWolfe(SaddleMethod):
    """Algorithm 7: s = argmin <r, s> over X times Y, r = (M y + p, q - M'x);  z <- (1 - gamma) z + gamma s."""

    name, title = "sp_fw", "saddle-point Frank-Wolfe"
    Options = SaddleOptions
    calls_per_step = 1
    keeps_atoms = False

    def start(self):
        game, step = self.game, self.options.step
        if step == "linear_rate":
            if self.options.beta is None or self.options.delta is None:
                raise OptionError("step linear_rate needs beta and delta, positive numbers")
            L = game.norm()
            self._C = 2.0 * L + 8.0 * L * L / (self.options.beta * self.options.delta)
        elif step == "adaptive":
            if lacking := [name for name in "XY" if not hasattr(getattr(game, name), "diameter")]:
                raise OptionError(f"step adaptive needs the diameter of both sets, which {lacking[0]} lacks")
            self._C = game.norm() * (game.X.diameter**2 + game.Y.diameter**2)
        atoms = game.X.atom(np.zeros(game.X.dim)), game.Y.atom(np.zeros(game.Y.dim))
        x, y = atoms[0].dense(game.X.dim), atoms[1].dense(game.Y.dim)
        sides = zip(atoms, (game.X.dim, game.Y.dim), strict=True)
        active = tuple(ActiveSet.of_atom(*pair) for pair in sides) if self.keeps_atoms else ()
        return SaddleState(x=x, y=y, gx=game.gradient_x(y), gy=game.gradient_y(x), active=active)

    def _corners(self):
        """Return the atoms of s, and the gap."""
        game, z = self.game, self.state
        sx, sy = game.X.atom(z.gx), game.Y.atom(-z.gy)
        return sx, sy, float(z.gx @ z.x) - sx.dot(z.gx) - float(z.gy @ z.y) + sy.dot(z.gy)

    def _take_step(self, gap_tol):
        sx, sy, gap = self._corners()
        if gap > max(gap_tol, 0.0):
            self._go(sx, sy, min(self._length(sx, sy, gap), 1.0))
        return gap

    def _length(self, sx, sy, gap: float) -> float:
        game, z = self.game, self.state
        if self.options.step == "open_loop":
            return 2.0 / (z.step + 2.0)
        if self.options.step == "adaptive":
            return gap / (2.0 * self._C) if self._C > 0.0 else 1.0
        distance_sq = ((sx.dense(game.X.dim) - z.x) ** 2).sum() + ((sy.dense(game.Y.dim) - z.y) ** 2).sum()
        return gap / (distance_sq * self._C)

    def _go(self, sx, sy, gamma: float) -> None:
        """Move to (1 - gamma) z + gamma s; gamma < 0 goes away from s."""
        game, z = self.game, self.state
        z.gy = (1.0 - gamma) * z.gy + gamma * game.gradient_y(sx.dense(game.X.dim))
        z.gx = (1.0 - gamma) * z.gx + gamma * game.gradient_x(sy.dense(game.Y.dim))
        z.x, z.y = (1.0 - gamma) * z.x, (1.0 - gamma) * z.y
        sx.add_to(z.x, gamma)
        sy.add_to(z.y, gamma)

    def pair(self):
        z = self.state
        return Pair(z.x, z.gx, float(self.game.q @ z.y))

    def y(self):
        return self.state.y.copy()


class SaddleAway(SaddleFrankWolfe):
    """Saddle-point away-step Frank-Wolfe: both players step towards s, or both away from their worst active atoms v."""

    name, title = "sp_away", "saddle-point away-step Frank-Wolfe"
    Options = SaddleAwayOptions
    keeps_atoms = True

    def _take_step(self, gap_tol):
        sx, sy, gap = self._corners()
        if gap <= max(gap_tol, 0.0):
            return gap
        z, (of_x, of_y) = self.state, self.state.active
        dots_x, dots_y = of_x.dots(z.gx), of_y.dots(-z.gy)
        j, k = int(np.argmax(dots_x)), int(np.argmax(dots_y))
        away = float(dots_x[j] + dots_y[k]) - float(z.gx @ z.x) + float(z.gy @ z.y)
        # A player with one active atom stays where it is: x - v = 0.
        moving = [(active, row) for active, row in ((of_x, j), (of_y, k)) if not active.alone(row)]
        if gap >= away or not moving:
            gamma = min(self._length(sx, sy, gap), 1.0)
            self._go(sx, sy, gamma)
            of_x.mix(of_x.row(sx), gamma)
            of_y.mix(of_y.row(sy), gamma)
            return gap
        gamma = min(self._length(sx, sy, away), *(active.longest_away(row) for active, row in moving))
        self._go(of_x.copy_of(j), of_y.copy_of(k), -gamma)
        for active, row in moving:
            self.state.drops += active.leave(row, gamma)
        return gap

    def extras(self):
        return {"atoms": float(sum(active.size for active in self.state.active))}
