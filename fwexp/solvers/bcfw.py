"""Block-coordinate Frank-Wolfe for structural SVMs and its variants.

The plain method is Algorithm 4 of Lacoste-Julien, Jaggi, Schmidt, Pletscher (ICML 2013). At step k, for the drawn i,

    y* = argmax_y H_i(y; w),  w_s = psi_i(y*)/(lam n),  ell_s = L_i(y*)/n,
    gamma = clip[0,1] (lam (w_i - w_s)'w - ell_i + ell_s) / (lam ||w_i - w_s||^2)   or   2n/(k + 2n),
    w_i <- (1 - gamma) w_i + gamma w_s,  ell_i alike,  w = sum_i w_i,  ell = sum_i ell_i.

Independent choices, after Osokin et al. (ICML 2016): which example is next (``sampling``), what is done with the corner
(``step``), whether stored labelings may answer for the oracle (``cache``), how often all block gaps are computed exactly
(``refresh``), and whether an outer acceleration runs (``accelerate``, see ``acceleration``). The steps are in ``block``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fwexp._jit import specialise
from fwexp._threads import for_shares
from fwexp.errors import OptionError, ParameterError
from fwexp.problems.evaluation import SHARES
from fwexp.problems.protocol import blocks_to_weights, copy_blocks, new_blocks, new_weights, radii_sq, workspace
from fwexp.solvers import active_set, gap_tree
from fwexp.solvers.acceleration import LATE_KAP, LATE_PASSES, AccelerateOptions, Centre, check_accelerate, chosen_kap
from fwexp.solvers.averaging import averaged, new_averages
from fwexp.solvers.base import Point, Solver, check_fields
from fwexp.solvers.block import (
    BY_GAP,
    CALLS,
    EXACT,
    HITS,
    IN_ORDER,
    LARGEST_GAP,
    SET_FULL,
    STEP,
    STEPS,
    USED,
    Cache,
    Rule,
    State,
    exact_gaps,
    full_step,
    run_steps,
    step_to_truth,
)
from fwexp.solvers.sampling import given_draws, lipschitz_draws, order_draws, uniform_draws

CORRECTIONS = 5  # pairwise steps among stored labelings per corrective step
STORED = 20  # labelings that an active set keeps without a cache, those with weight excepted
FIRST_ROOM = 8  # labelings that an active set has room for at first


@dataclass(frozen=True)
class CacheOptions:
    """Criteria and size of the oracle cache (G16, Algorithm 5)."""

    F: float = 0.25
    nu: float = 0.01
    size: int = 50


def check_cache(value) -> bool | dict:
    """Return false, true, or a full mapping of ``CacheOptions``."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        raise ParameterError(f"solver.cache of bcfw must be true, false or a mapping of F, nu, size; got {value!r}")
    given = check_fields("solver.cache of bcfw", CacheOptions, value)
    for name in ("F", "nu"):
        if not isinstance(given[name], (int, float)) or not 0 <= given[name] < float("inf"):
            raise ParameterError(f"solver.cache.{name} of bcfw must be a number >= 0, got {given[name]!r}")
    if isinstance(given["size"], bool) or not isinstance(given["size"], int) or given["size"] < 2:
        raise ParameterError(f"solver.cache.size of bcfw must be an integer >= 2, got {given['size']!r}")
    return given | {"F": float(given["F"]), "nu": float(given["nu"])}


def check_refresh(value) -> float | None:
    """Return a nonnegative number of passes, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise ParameterError(f"solver.refresh of bcfw must be a number of passes >= 0 (0 = never), got {value!r}")
    return float(value)


SAMPLING = ("uniform", "perm", "cyclic", "gap", "max_gap", "lipschitz")


@dataclass(frozen=True)
class Options:
    """Options of ``bcfw``."""

    sampling: str = field(default="uniform", metadata={"choices": SAMPLING})
    line_search: bool = field(default=True, metadata={"choices": (True, False)})
    step: str = field(default="fw", metadata={"choices": tuple(STEPS)})
    cache: Any = field(default=False, metadata={"check": check_cache})
    refresh: float | None = field(default=None, metadata={"check": check_refresh})
    accelerate: Any = field(default=False, metadata={"check": check_accelerate})

    def __post_init__(self) -> None:
        if not self.line_search and self.step != "fw":
            raise OptionError(f"solver.line_search=false of bcfw goes with step=fw only, got step={self.step}")

    @property
    def needs_gaps(self) -> bool:
        """Whether the last known block gaps steer the run."""
        return self.sampling in ("gap", "max_gap") or self.cache is not False

    @property
    def refresh_passes(self) -> float:
        """Passes between exact computations of all block gaps; 0 is never."""
        return self.refresh if self.refresh is not None else 10.0 if self.needs_gaps else 0.0


class BCFW(Solver):
    """Block-coordinate Frank-Wolfe."""

    name = "bcfw"
    title = "block-coordinate Frank-Wolfe"
    Options = Options
    needs = ("max_oracle",)
    iterates = ("last", "wavg", "tavg", "avg")
    stochastic = True
    takes_order = True

    @classmethod
    def available_iterates(cls, options):
        """Averages are not defined with acceleration."""
        return ("last",) if options.accelerate is not False else cls.iterates

    def start(self, seed, iterates, order, warm_start):
        problem, options = self.problem, self.options
        if warm_start is not None and not isinstance(warm_start, BCFW):
            raise OptionError(f"solver bcfw cannot start from the dual variables of {warm_start.name}; accepted: bcfw")
        self.steps = STEPS[options.step]
        self.cache = _cache(options)
        self.work = workspace(problem)
        self.averages = new_averages(problem, iterates)
        self._start_dual(warm_start)
        self._start_rule(seed, order)
        self.next_refresh = max(1, round(options.refresh_passes * problem.n)) if options.refresh_passes else np.inf
        self.centre = self._radii_sq = None
        self.late_start = np.inf  # step at which acceleration begins that seemed not to be needed
        self._choose_centre()
        self._share_work = None

    def _start_dual(self, warm_start) -> None:
        """Set up the dual variables: at the true labelings, or those of ``warm_start``."""
        problem, fw = self.problem, self.steps == STEPS["fw"]
        uses_sets = not fw or self.cache.on
        room = np.full(problem.n, min(FIRST_ROOM, self.cache.size) if uses_sets else 0, dtype=np.int64)
        self.sets = active_set.new_active_sets(problem, room)
        blocks, losses = new_blocks(problem), np.zeros(problem.n)
        if warm_start is not None:
            if fw != (warm_start.steps == STEPS["fw"]):
                raise OptionError("warm_start must be a result with step=fw if, and only if, this run has step=fw")
            if fw:
                blocks = copy_blocks(problem, warm_start.state.blocks)
            else:
                self.sets = active_set.copied(problem, warm_start.sets)
            losses = warm_start.state.losses.copy()
        self.state = State(
            w=new_weights(problem),
            blocks=blocks,
            losses=losses,
            ell=np.array([losses.mean()]),
            gaps=np.full(problem.n, np.inf),
            exact_gap=np.zeros(1),
            counts=np.zeros(5, dtype=np.int64),
        )
        if warm_start is not None:
            self.state.w[:] = self._from_scratch()[0]

    def _choose_centre(self) -> None:
        """Begin acceleration if that was asked for and pays at this lam, or begin it anew if a far larger kap does."""
        if self.options.accelerate is False:
            return
        kap = self._accelerate.kap
        if kap is None:
            self._radii_sq = _radii_sq(self.problem) if self._radii_sq is None else self._radii_sq
            kap = chosen_kap(self._radii_sq, self.lam)
        if kap is None:
            if self.centre is None:
                self.late_start = min(self.late_start, self.step + LATE_PASSES * self.problem.n)
        elif self.centre is None or kap >= 2.0 * self.centre.kap:
            self._begin_acceleration(kap)

    def _begin_acceleration(self, kap: float) -> None:
        """Make A a the centre."""
        if self.centre is not None:
            self.state.w[:] = self.centre.image(self.state.w)
        self.centre = Centre(self.problem.n, self.lam, kap, self._accelerate.period, self.state.w)
        self.centre.next_step += self.step
        self.late_start = np.inf

    @property
    def _accelerate(self) -> AccelerateOptions:
        given = self.options.accelerate
        return AccelerateOptions(**given) if isinstance(given, dict) else AccelerateOptions()

    def _start_rule(self, seed, order) -> None:
        """Set up the choice of examples; unknown gaps count as infinite, so gap rules visit all examples first."""
        problem, sampling = self.problem, self.options.sampling
        kind = {"gap": BY_GAP, "max_gap": LARGEST_GAP}.get(sampling, IN_ORDER)
        if order is not None:
            self.draws = given_draws(order, repeat=self.cache.on)  # cache hits use it up as well
        elif sampling == "lipschitz":
            self.draws = lipschitz_draws(_radii_sq(problem), seed)
        elif kind == IN_ORDER:
            self.draws = order_draws(sampling, problem.n, seed)
        else:
            self.draws = uniform_draws(seed)
        tree = gap_tree.new_tree(np.zeros(problem.n if kind != IN_ORDER else 1))
        self.rule = Rule(kind, np.arange(problem.n), np.empty(0), tree)

    def advance(self, calls, max_steps):
        if max_steps == 0:
            self._compile()
        counts = self.state.counts
        while counts[CALLS] < calls and counts[STEP] < max_steps:
            if counts[STEP] >= self.late_start:
                self._begin_acceleration(LATE_KAP)
            if self.centre is not None and counts[STEP] >= self.centre.next_step:
                self.centre.move(self.state.w, float(np.mean(self.state.gaps)))
                if self.options.needs_gaps:  # a new centre makes all that is known of them stale
                    self.next_refresh = counts[STEP]
            if counts[STEP] >= self.next_refresh:
                if counts[CALLS] + self.problem.n > calls:
                    return
                self._refresh()
            elif not self._run(calls, max_steps):
                return

    def _compile(self) -> None:
        """Have all kernels compiled that this run may need."""
        self._run(0, 0)
        if self.options.refresh_passes or self.options.needs_gaps:
            specialise(exact_gaps, self.problem)(self.problem, 0, 0, self.state, self.sets, self.work, self.steps)
        if len(self.sets.weight):
            active_set.copied(self.problem, self.sets)

    def _run(self, calls: int, max_steps: int) -> bool:
        """Take steps up to the next refresh or centre; return whether there was any draw left to use."""
        counts = self.state.counts
        event = min(self.next_refresh, self.late_start if self.centre is None else self.centre.next_step, max_steps)
        draws = self.draws.peek(int(min(event - counts[STEP], calls - counts[CALLS])))
        field = "order" if self.rule.kind == IN_ORDER else "uniforms"
        ended = specialise(run_steps, self.problem)(
            self.problem,
            self.state,
            self.sets,
            self.averages,
            self.work,
            self.rule._replace(**{field: draws}),
            self.steps,
            self.cache,
            self.lam if self.centre is None else self.centre.lam,
            self.options.line_search,
            CORRECTIONS,
            calls,
            counts[STEP] + len(draws),
        )
        self.draws.drop(int(counts[USED]))
        if ended == SET_FULL:
            self.sets = active_set.grown(self.problem, self.sets, self.cache.size)
        return len(draws) > 0

    def _refresh(self) -> None:
        """Compute all block gaps exactly: one oracle call per example, in parallel."""
        problem, state = self.problem, self.state
        if self._share_work is None:
            shares = min(SHARES, problem.n) if isinstance(problem, tuple) else 1
            self._share_work = [workspace(problem) for _ in range(shares)]
        kernel = specialise(exact_gaps, problem)

        def share(k: int, start: int, end: int) -> None:
            kernel(problem, start, end, state, self.sets, self._share_work[k], self.steps)

        for_shares(share, problem.n, len(self._share_work))
        state.exact_gap[0], state.counts[EXACT] = state.gaps.mean(), 1
        if self.rule.kind != IN_ORDER:
            gap_tree.fill(self.rule.tree, state.gaps)
        state.counts[CALLS] += problem.n
        self.next_refresh = np.inf
        if self.options.refresh_passes:
            self.next_refresh = state.counts[STEP] + max(1, round(self.options.refresh_passes * problem.n))

    def exact_gap(self) -> float:
        """Compute all block gaps exactly, for n oracle calls, and return the gap P(w) - D(a)."""
        self._refresh()
        return self.known_gap

    @property
    def known_gap(self) -> float:
        """The gap P(w) - D(a) as the last known block gaps have it: exact if no step was taken since ``exact_gap``."""
        gap = float(np.mean(self.state.gaps))
        if self.centre is not None:
            difference = self.state.w - self.centre.image(self.state.w)
            gap += 0.5 * self.lam * float(difference @ difference)
        return gap

    def full_step(self) -> None:
        """Move all blocks to the corners that the oracle finds at the present w; without acceleration only."""
        problem, state = self.problem, self.state
        specialise(full_step, problem)(problem, state, self.sets, self.work, self.steps, self.cache.size)
        state.ell[0] = state.losses.mean()
        state.w[:] = self._from_scratch()[0]
        state.counts[CALLS] += problem.n

    def change_lam(self, lam: float) -> None:
        """Go over to a smaller lam, with w as it is (Osokin et al., ICML 2016, Proposition 1).

        With rho = lam'/lam, a step of size 1 - rho towards the true labelings (psi = 0, L = 0) scales all that wrong
        labelings contribute to w and ell by rho, and A' = A/rho. So w = A' a' is what it was, ell' = rho ell, and
        gap_i' = gap_i + (1 - rho)(ell_i - lam <w_i, w>).
        """
        gamma = 1.0 - lam / self.lam
        if not 0.0 <= gamma < 1.0:
            raise ParameterError(f"lam can be changed to positive values up to {self.lam!r} only, got {lam!r}")
        problem, state = self.problem, self.state
        specialise(step_to_truth, problem)(problem, state, self.sets, self.work, self.steps, gamma)
        state.ell[0] = state.losses.mean()
        if np.isfinite(state.gaps).all():
            state.exact_gap[0], state.counts[EXACT] = state.gaps.mean(), 1
            if self.rule.kind != IN_ORDER:
                gap_tree.fill(self.rule.tree, state.gaps)
        self.lam = lam
        if self.centre is not None:
            self.centre.change_lam(lam)
        self._choose_centre()

    @property
    def step(self):
        return int(self.state.counts[STEP])

    @property
    def oracle_calls(self):
        return int(self.state.counts[CALLS])

    @property
    def has_cache(self):
        return self.cache.on

    @property
    def cache_hits(self):
        return int(self.state.counts[HITS])

    @property
    def calls_per_step(self):
        moves = self.centre is not None and self.step >= self.centre.next_step and self.options.needs_gaps
        return self.problem.n if moves or self.step >= self.next_refresh else 1

    def extras(self):
        known = {}
        if self.options.needs_gaps:
            known["gap_estimate"] = float(np.mean(self.state.gaps))
        if self.cache.on:
            known["cache_hits"] = self.cache_hits
        if self.steps != STEPS["fw"]:
            known["atoms"] = float(np.count_nonzero(self.sets.weight))
        return known

    def point(self, iterate):
        w, ell = self.state.w, self.state.ell[0]
        image = w
        if self.centre is not None:
            image = self.centre.image(w)
        elif iterate != "last":
            w, ell = averaged(self.problem, self.averages, iterate, w, ell, self.step)
            image = w
        return Point(w, ell - 0.5 * self.lam * (image @ image))

    def exact_dual(self):
        w, losses = self._from_scratch()
        return losses.mean() - 0.5 * self.lam * (w @ w)

    def _from_scratch(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A a and n ell_i, computed from the dual variables."""
        c = 1.0 / (self.lam * self.problem.n)
        if self.steps == STEPS["fw"]:
            return blocks_to_weights(self.problem, self.state.blocks, c), self.state.losses
        return active_set.from_scratch(self.problem, self.sets, c)


def _radii_sq(problem) -> np.ndarray:
    """Return the bounds on ||psi_i(y)||^2 that Lipschitz sampling and the choice of kap need."""
    if type(problem) not in radii_sq.implementations:
        name = type(problem).__name__
        raise OptionError(f"sampling=lipschitz and accelerate=true need radii_sq, which {name} does not have; give kap instead")
    return radii_sq(problem)


def _cache(options: Options) -> Cache:
    given = options.cache if isinstance(options.cache, dict) else {}
    chosen = CacheOptions(**given)
    return Cache(options.cache is not False, chosen.F, chosen.nu, chosen.size if options.cache is not False else STORED)
