"""Methods on products of sets that change one block at a time (Lacoste-Julien et al. 2013, algorithms 3 and C.1)."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from fwexp.blocks.sampling import Draws
from fwexp.convex.atoms import ActiveSet
from fwexp.convex.feasible_sets import ConvexSet, Product
from fwexp.convex.method import Method, OpenLoopOptions, State, View
from fwexp.driver.iteration import Stop
from fwexp.errors import OptionError, ParameterError
from fwexp.options import check_integer, choice, option

DRAWN = {"uniform": "uniform", "permuted": "perm", "cyclic": "cyclic"}
"""The rules that look at no gap, with the names that they have where blocks are examples."""

RULES = (*DRAWN, "gap", "greedy")


@dataclass(frozen=True)
class BlockOptions(OpenLoopOptions):
    """Options of block-coordinate Frank-Wolfe.

    Attributes
    ----------
    rule : str
        Which block is next: ``uniform``, ``permuted`` (every pass anew), ``cyclic``, ``gap`` (with a probability proportional to
        the last known gap of the block) or ``greedy`` (the largest gap; all are computed before every step).
    direction : str
        ``fw``, or ``pairwise`` with an active set for each block.
    refresh : int
        Passes after which all gaps are computed anew, with rule ``gap``; 0 for never.
    """

    rule: str = choice(*RULES)
    direction: str = choice("fw", "pairwise")
    refresh: int = option(10, check_integer, 0, needs={"rule": ("gap",)})


@dataclass(frozen=True)
class DescentOptions:
    """Options of block descent.

    Attributes
    ----------
    rule : str
        ``uniform``, ``permuted`` or ``cyclic``.
    step : str
        ``auto``: 1/L_i.
    """

    rule: str = choice(*DRAWN)
    step: str = choice("auto")


@dataclass
class BlockState(State):
    """State of methods that change one block at a time."""

    draws: Draws | None = None  # of blocks, with ``rng``; None where gaps choose them
    atoms: list[ActiveSet] = field(default_factory=list)  # the active sets of the blocks, of pairwise steps
    gaps: np.ndarray | None = None  # the last known ones, of rule ``gap``
    since: int = 0  # steps since all of them were known


class BlockMethod(Method):
    """A method that changes one block of a product at a time; its certificates are computed for the log, off the clock."""

    stochastic, State = True, BlockState

    def __init__(self, f, convex_set, *args, **named):
        if not isinstance(convex_set, Product):
            raise ParameterError(f"method {self.name} needs a Product of sets, got {convex_set!r}")
        super().__init__(f, convex_set, *args, **named)
        self.calls_per_step = 1
        if rule := DRAWN.get(self.options.rule):
            self.state.draws, self.state.rng = Draws(rule, self.size, self.state.rng), None

    def advance(self, budget):
        state = self.state
        while state.oracle_calls + self.calls_per_step <= budget.calls and state.step + 1 <= budget.steps:
            i = self._next()
            self._view = None
            self._change(i, self.set.blocks[i])
            self._count_step()
        return Stop(calls_needed=self.calls_per_step)  # never stalled, because the next block may gain

    def _next(self) -> int:
        """Return the next block."""
        return int(self.state.draws.take(1)[0])

    @abstractmethod
    def _change(self, i: int, block: slice) -> None:
        """Change a block."""

    def _move(self, d: np.ndarray, dz: np.ndarray, block: slice, gamma: float = 1.0) -> None:
        self.state.x[block] += gamma * d
        self.state.z += gamma * dz


class Block(BlockMethod):
    """Algorithm 3: x_i <- (1 - gamma) x_i + gamma s_i, s_i a minimiser of <f'_i(x), s> over the set of the block.

    Pairwise steps move weight from the worst active atom of the block to s_i instead.
    """

    name, title = "block", "block-coordinate Frank-Wolfe"
    Options = BlockOptions

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        if self.pairwise:
            if self.options.step == "open_loop":
                raise OptionError("direction pairwise excludes step open_loop; accepted: auto, line_search, adaptive")
            self.state.atoms = [self._active(*pair) for pair in zip(self.set.factors, self.set.blocks, strict=True)]
        if self.options.rule == "greedy":
            self.calls_per_step = self.size + 1
        if self.options.rule == "gap":
            self.calls_per_step = self.size + 1 if self.options.refresh else 1
            self.state.gaps = np.full(self.size, np.inf)

    def _active(self, factor: ConvexSet, block: slice) -> ActiveSet:
        """Return the active set of a block at the start."""
        atom = factor.atom(np.zeros(factor.dim))
        return ActiveSet.of_atom(atom, factor.dim) if self.starts_at_atom else ActiveSet.of_point(self.state.x[block], atom)

    @property
    def pairwise(self) -> bool:
        """True if steps are pairwise."""
        return self.options.direction == "pairwise"

    def _next(self):
        state, n = self.state, self.size
        if self.options.rule == "greedy":
            state.oracle_calls += n
            return int(np.argmax(self._gaps()))
        if self.options.rule != "gap":
            return super()._next()
        gaps = state.gaps
        unknown = np.flatnonzero(gaps == np.inf)
        if len(unknown):
            return int(unknown[0])
        if self.options.refresh and state.since >= self.options.refresh * n:
            gaps[:] = self._gaps()
            state.oracle_calls += n
            state.since = 0
        ends = np.cumsum(gaps)
        if not ends[-1] > 0.0:
            return int(state.rng.integers(n))
        return int(np.searchsorted(ends, state.rng.random() * ends[-1], side="right").clip(0, n - 1))

    def _gaps(self) -> np.ndarray:
        """Return the gaps of all blocks."""
        state = self.state
        g = self.f.gradient(state.x, state.z)
        state.inspected += self.set.inspected or 0
        pairs = zip(self.set.factors, self.set.blocks, strict=True)
        return np.array([max(g[block] @ state.x[block] - factor.atom(g[block]).dot(g[block]), 0.0) for factor, block in pairs])

    def _change(self, i, block):
        state, f, n = self.state, self.f, self.size
        g = f.partial(state.x, state.z, block)
        atom = self.set.factors[i].atom(g)
        gap = float(g @ state.x[block]) - atom.dot(g)
        most = 1.0
        if self.pairwise:
            active = state.atoms[i]
            k = int(np.argmax(active.dots(g)))
            most, d = float(active.weights[k]), atom.dense(len(g)) - active.atom(k).dense(len(g))
        else:
            d = atom.dense(len(g)) - state.x[block]
        dz = f.image_at(d, block)
        if self.options.step == "open_loop":
            gamma = self._inside(self._open_loop(n), lambda: d, block)
        else:
            value = 0.0 if self.line_search else f.value(state.x, state.z)
            gamma = self._gamma(-float(g @ d), most, lambda: d, dz, View(value, g, 0.0, atom, 0.0), block)
        self._move(d, dz, block, gamma)
        if self.pairwise and gamma > 0.0:
            state.drops += active.move(active.row(atom), k, gamma)
        state.oracle_calls += 1
        state.inspected += self.set.factors[i].inspected or 0
        if state.gaps is not None:
            state.gaps[i] = max(gap, 0.0)
            state.since += 1


class BlockDescent(BlockMethod):
    """Algorithm C.1: x_i <- the projection of x_i - f'_i(x)/L_i, L_i a Lipschitz constant of f'_i (Nesterov 2012, section 4)."""

    name, title = "block_descent", "uniform block-coordinate descent"
    Options = DescentOptions

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        if self.f.domain is not None:
            raise OptionError("method block_descent takes no domain; accepted: block")
        self._lipschitz = [self.f.lipschitz(block) for block in self.set.blocks]
        for factor in self.set.factors:
            factor.project(factor.random(np.random.default_rng(0)))  # raises an error if there is no projection

    def _change(self, i, block):
        state, L = self.state, self._lipschitz[i]
        g = self.f.partial(state.x, state.z, block)
        if L > 0.0:
            s = self.set.factors[i].project(state.x[block] - g / L)
        else:  # linear in this block
            s = self.set.factors[i].atom(g).dense(len(g))
        d = s - state.x[block]
        self._move(d, self.f.image_at(d, block), block)
        state.oracle_calls += 1

    def extras(self):
        """Return nothing: projections look at no atoms."""
        return {}
