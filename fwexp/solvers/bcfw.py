"""Block-coordinate Frank-Wolfe for structural SVMs: Algorithm 4 of Lacoste-Julien, Jaggi, Schmidt, Pletscher (ICML 2013).

    1  w = w_i = 0, ell = ell_i = 0
    2  for k = 0, 1, ...
    3      pick i at random
    4      y* = argmax_y H_i(y; w)
    5      w_s = psi_i(y*)/(lam n),  ell_s = L_i(y*)/n
    6      gamma = clip[0,1] (lam (w_i - w_s)'w - ell_i + ell_s) / (lam ||w_i - w_s||^2)   or   2n/(k + 2n)
    7      w_i <- (1 - gamma) w_i + gamma w_s,  ell_i alike
    8      w = sum_i w_i,  ell = sum_i ell_i
    9      (optionally: averages of w)

`run_steps` is this loop; lines 5 to 7 are `step_towards` in ``duals``, which keeps the w_i by their parts. All else is a choice
that is made elsewhere, and by default none of it takes part; most are of Osokin et al. (ICML 2016):

* which example is next (``sampling``): ``sampling_rule``;
* whether stored labelings may answer for the oracle (``cache``): ``corners``;
* what is done with the corner (``step``): ``duals`` and ``active_set``; or in its place, the best of the whole block: ``duals``;
* how often all block gaps are computed exactly (``refresh``): ``gap_refresh``;
* an outer acceleration (``accelerate``): ``acceleration``;
* weights that must not be negative, w = max(v, 0) where v is the sum above: ``projections``; the published step, exact for the
  unclipped v, falls short of the maximum of the dual there, and by default the line search goes on (``constrained_search``);
* another lam on the way: ``lam_changes``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwexp.blocks import active_set, corners, duals, gap_tree, projections
from fwexp.blocks.acceleration import Acceleration, ProximalCentre
from fwexp.blocks.active_set import ActiveSets
from fwexp.blocks.averaging import Averages, averaged, new_averages, update_averages
from fwexp.blocks.constrained_search import extend_step
from fwexp.blocks.corners import NO_ROOM, find_corner
from fwexp.blocks.counts import CACHE_HITS, DRAWS_USED, MET_GLOBAL, MET_LOCAL, ORACLE_CALLS, STEPS_TAKEN
from fwexp.blocks.duals import block_has_room, change_weights, prefetch_block, step_towards
from fwexp.blocks.gap_refresh import GapRefresh, exact_gaps
from fwexp.blocks.lam_changes import LamChanges
from fwexp.blocks.sampling import Draws
from fwexp.blocks.sampling_rule import Sampling, example_after, gaps_are_spent, next_example, note_gap, note_pass
from fwexp.blocks.shrinking import Rounds
from fwexp.errors import OptionError, WarmStartError
from fwexp.jit.compilation import njit, specialise
from fwexp.problems.protocol import has_best_block, inner, new_weights, original, prefetch_example, product, workspace
from fwexp.solvers.base import Point, Solver
from fwexp.solvers.bcfw_options import CacheOptions, Options

CORRECTIONS = 5  # pairwise steps among stored labelings per corrective step
MAX_STORED = 20  # labelings that an active set keeps without a cache, those with weight excepted
FIRST_ROOM = 8  # labelings that an active set has room for at first

# How a series of steps ended.
DONE, SET_FULL, BLOCKS_FULL, GAPS_SPENT = 0, 1, 2, 3


class Iterate(NamedTuple):
    """Where the method is: w (shifted if accelerated), ell and what is known of the gaps, G_i = n gap_i."""

    w: np.ndarray  # internal weights
    losses: np.ndarray  # float64 (n,), n ell_i
    ell: np.ndarray  # float64 (1,), the sum of ell_i
    w_sq: np.ndarray  # float64 (1,), ||w||^2, kept up to date by Frank-Wolfe steps on active sets
    gaps: np.ndarray  # float64 (n,), the last known G_i
    exact_gap: np.ndarray  # float64 (1,), mean known G_i when all were last computed or visited; before, the largest loss met
    counts: np.ndarray  # int64 (7,), see `fwexp.blocks.counts`


@njit
def run_steps(problem, iterate, dual, projection, corners, step_rule, rule, averages, work, lam, max_calls, max_steps):
    """Take steps until the next would exceed ``max_calls`` or ``max_steps``; modifies all that is mutable.

    Returns ``SET_FULL`` before a step whose labeling might find no room in its active set, ``BLOCKS_FULL`` before one that
    might find none in the blocks, ``GAPS_SPENT`` after one that leaves nothing to choose by, else ``DONE``.
    """
    n, counts = problem.n, iterate.counts
    lam_n = lam * n
    counts[DRAWS_USED], expected = 0, -1
    # 2: for k
    while counts[ORACLE_CALLS] < max_calls and counts[STEPS_TAKEN] < max_steps:
        k = counts[STEPS_TAKEN]
        # 3: the example i
        i = next_example(rule, k, counts[DRAWS_USED], expected, iterate)
        if not block_has_room(dual, problem, i):
            return BLOCKS_FULL
        following = example_after(rule, k, counts[DRAWS_USED])
        if following >= 0:  # its data are on their way while the oracle works
            prefetch_example(problem, following)
            prefetch_block(dual, problem, following)
        # 4: y* = argmax_y H_i(y; w)
        slot, hit = find_corner(corners, dual, problem, i, k, iterate, work)
        if slot == NO_ROOM:
            return SET_FULL
        # 5, 6, 7: gamma, w_i, and the changes of w and ell
        gap, gamma, loss_change, length_sq = step_towards(dual, problem, i, slot, step_rule, k, lam_n, iterate, work)
        note_gap(rule, i, gap, hit, iterate)
        expected = following if hit else -1  # a gap that is known anew changes what is drawn
        # 8: w and ell
        change_weights(dual, projection, problem, i, step_rule, gamma / lam_n, work, iterate.w)
        gamma, loss_change = extend_step(
            projection, dual, problem, i, gamma, loss_change, length_sq, step_rule, lam_n, iterate, work
        )
        iterate.losses[i] += loss_change
        iterate.ell[0] += loss_change / n
        counts[STEPS_TAKEN] = k + 1
        counts[DRAWS_USED] += 1
        # 9: averages
        update_averages(problem, averages, i, work.direction, gamma / lam_n, loss_change / n, k + 1)
        note_pass(rule, k + 1, n, iterate)
        if gaps_are_spent(rule, k + 1, n, iterate):
            return GAPS_SPENT
    return DONE


@dataclass
class State:
    """All that a run changes."""

    lam: float
    iterate: Iterate
    dual: duals.Parts | ActiveSets
    cache: ActiveSets | None  # stored labelings, where the dual variables are vectors of parts and there is a cache
    projection: projections.Unconstrained | projections.Nonnegative
    averages: Averages
    draws: Draws
    tree: gap_tree.Tree  # over the last known gaps, for rules that look at them
    next_refresh: float  # step of the next exact computation of all gaps
    refreshed: int  # step of the latest one, -1 if there was none
    centre: ProximalCentre | None
    first_centre: float  # step at which acceleration begins
    rounds: Rounds  # through the examples that are not settled; of other rules empty
    passes: Draws | None  # orders of the examples for passes in which rules that look at gaps do not
    ordered: np.ndarray  # int64 (n,), the latest of them; of other rules empty
    ordered_since: int  # step at which that pass began


class BCFW(Sampling, GapRefresh, Acceleration, LamChanges, Solver):
    """Block-coordinate Frank-Wolfe."""

    name = "bcfw"
    title = "block-coordinate Frank-Wolfe"
    takes_warm_start = True
    Options = Options
    iterates = ("last", "wavg", "tavg", "avg")
    stochastic = True
    takes_order = True
    constraints = True

    @classmethod
    def needs(cls, options):
        """Steps but ``fw`` and ``exact``, and the cache, store labelings; rules with curvatures, and kap, bound their features."""
        accelerate = options.accelerate
        kap_is_open = accelerate is not False and (accelerate is True or accelerate.get("kap") is None)
        sets = options.step not in duals.OF_PARTS or options.cache is not False
        exact, bounds = options.step == duals.EXACT, options.sampling in ("lipschitz", "max_gain") or kap_is_open
        return ("sets",) * sets + ("exact",) * exact + ("bounds",) * bounds

    @classmethod
    def available_iterates(cls, options):
        """Averages are not defined with acceleration."""
        return ("last",) if options.accelerate is not False else cls.iterates

    def start(self, seed, iterates, order, warm_start):
        problem, options = self.problem, self.options
        if warm_start is None:
            dual, losses = self.new_dual(), np.zeros(problem.n)
        else:
            self.check_warm_start(warm_start)
            previous = warm_start.state
            if isinstance(previous.dual, duals.Parts) != self.keeps_parts:
                steps = " or ".join(duals.OF_PARTS)
                raise WarmStartError(f"warm_start must be a result with step={steps} if, and only if, this run has step={steps}")
            dual, losses = duals.copied(previous.dual, problem), previous.iterate.losses.copy()
        iterate = Iterate(
            w=new_weights(problem),
            losses=losses,
            ell=np.array([losses.mean()]),
            w_sq=np.zeros(1),
            gaps=np.full(problem.n, np.inf),
            exact_gap=np.zeros(1),
            counts=np.zeros(7, dtype=np.int64),
        )
        self.state = State(
            lam=self.lam,
            iterate=iterate,
            dual=dual,
            cache=self.new_sets() if options.cache is not False and self.keeps_parts else None,
            projection=projections.new_projection(problem),
            averages=new_averages(problem, iterates),
            draws=self.new_draws(seed, order),
            tree=self.new_tree(),
            next_refresh=self.refresh_steps,
            refreshed=-1,
            centre=None,
            first_centre=np.inf,
            rounds=self.new_rounds(),
            passes=self.new_passes(seed),
            ordered=np.empty(0, dtype=np.int64),
            ordered_since=0,
        )
        if self.looks_at_gaps:
            self.begin_ordered_pass()
        if warm_start is not None:
            v, _ = self._from_scratch()
            projections.set_weights(self.state.projection, v, iterate.w)
            iterate.w_sq[0] = inner(problem, iterate.w, iterate.w)
        self.choose_centre()

    def prepare(self):
        if self.options.step == duals.EXACT and not has_best_block(self.problem):
            why = f"{type(original(self.problem)).__name__} knows no best block with slack rescaling, edges, many outputs or w >= 0"
            raise OptionError(f"solver.step=exact of {self.name}: {why}; accepted here: {', '.join(duals.STEP_KINDS)}")
        self.work, self._take_steps = workspace(self.problem), specialise(run_steps, self.problem)
        self.prepare_sampling()

    def new_dual(self):
        """Return the dual variables of the start, all blocks at their true labelings."""
        return duals.new_parts(self.problem) if self.keeps_parts else self.new_sets()

    @classmethod
    def memory(cls, problem, options, iterates):
        stores = options.step not in duals.OF_PARTS or options.cache is not False
        return super().memory(problem, options, iterates) + stores * active_set.least_memory(problem, FIRST_ROOM)

    @property
    def keeps_parts(self) -> bool:
        """Whether the dual variables are vectors of parts."""
        return self.options.step in duals.OF_PARTS

    def new_sets(self) -> ActiveSets:
        """Return active sets that hold the true labelings, with weight 1."""
        return active_set.new_active_sets(self.problem, np.full(self.problem.n, min(FIRST_ROOM, self.stored), dtype=np.int64))

    def restore(self, state):
        super().restore(state)
        self.lam = state.lam

    @property
    def sets(self) -> ActiveSets | None:
        """The stored labelings, if there are any: the dual variables or the cache."""
        return self.state.dual if isinstance(self.state.dual, ActiveSets) else self.state.cache

    @property
    def stored(self) -> int:
        """How many labelings are stored per example, those with weight excepted."""
        return self._cache.size if self.options.cache is not False else MAX_STORED

    @property
    def _cache(self) -> CacheOptions:
        chosen = self.options.cache
        return CacheOptions(**chosen) if isinstance(chosen, dict) else CacheOptions()

    # --- steps ---

    def advance(self, calls, max_steps):
        if max_steps == 0:
            self._compile()
        state, counts, self.event = self.state, self.state.iterate.counts, False
        while not self.event and counts[ORACLE_CALLS] < calls and counts[STEPS_TAKEN] < max_steps:
            if self.ticks >= state.first_centre:
                self.begin_acceleration()
            if self.centre_is_due:
                self.move_centre()
            if counts[STEPS_TAKEN] >= state.next_refresh:
                if counts[ORACLE_CALLS] + self.problem.n > calls:
                    return
                self.refresh()
                if self.pauses:
                    return
            elif not self._run(calls, max_steps):
                return

    def _compile(self) -> None:
        """Have all kernels compiled that this run may need."""
        self._run(0, 0)
        if self.options.refresh_passes or self.options.needs_gaps:
            specialise(exact_gaps, self.problem)(self.problem, 0, 0, self.state.iterate, self.state.dual, self.work)
        if self.sets is not None:
            active_set.copied(self.problem, self.sets)

    def corners(self):
        """Return the rule that finds corners."""
        if self.sets is None:
            return corners.Unneeded() if self.options.step == duals.EXACT else corners.Oracle()
        cache = self._cache
        on = self.options.cache is not False
        return corners.Cache(on, cache.F, cache.nu, self.stored, self.sets, on and self._direct)

    @property
    def _step_rule(self) -> duals.StepRule | duals.WholeBlock:
        options = self.options
        if options.step == duals.EXACT:
            return duals.WholeBlock()
        constrained = isinstance(self.state.projection, projections.Nonnegative)
        extends = constrained and options.line_search and options.constrained_search == "exact"
        kind = duals.STEP_KINDS[options.step]
        return duals.StepRule(kind, options.line_search, CORRECTIONS, options.nu, extends, self._direct)

    @property
    def _direct(self) -> bool:
        """Whether nobody needs the change of a step as a vector of parts."""
        constrained = isinstance(self.state.projection, projections.Nonnegative)
        return not (self.options.step in duals.OF_PARTS or constrained or len(self.state.averages.kinds))

    def _run(self, calls: int, max_steps: int) -> bool:
        """Take steps up to the next refresh or centre; return whether there was any draw left to use."""
        state, counts = self.state, self.state.iterate.counts
        event = min(state.next_refresh, np.inf if self.shrinks else self.next_centre, max_steps)
        # What is stored may answer for the oracle again and again: for a few calls, nobody knows how many steps it takes.
        ahead = max(calls - counts[ORACLE_CALLS], self.problem.n * self.has_cache)
        draws = state.draws.peek(int(min(event - counts[STEPS_TAKEN], ahead)))
        ended = self._take_steps(
            self.problem,
            state.iterate,
            state.dual,
            state.projection,
            self.corners(),
            self._step_rule,
            self.sampling_rule(draws),
            state.averages,
            self.work,
            self.inner_lam,
            calls,
            counts[STEPS_TAKEN] + len(draws),
        )
        state.draws.drop(int(counts[DRAWS_USED]))
        if ended == SET_FULL:
            self._grow_sets()
        elif ended == BLOCKS_FULL:
            self.grow_blocks()
        elif ended == GAPS_SPENT:
            self.look_anew()
        return len(draws) > 0

    def _grow_sets(self) -> None:
        grown = active_set.grown(self.problem, self.sets, self.stored)
        if isinstance(self.state.dual, ActiveSets):
            self.state.dual = grown
        else:
            self.state.cache = grown

    def grow_blocks(self) -> None:
        """Make room in the blocks for a step of every example."""
        self.state.dual = duals.copied(self.state.dual, self.problem)

    # --- what is seen from outside ---

    @property
    def step(self):
        return int(self.state.iterate.counts[STEPS_TAKEN])

    @property
    def oracle_calls(self):
        return int(self.state.iterate.counts[ORACLE_CALLS])

    @property
    def has_cache(self):
        return self.options.cache is not False

    @property
    def cache_hits(self):
        return int(self.state.iterate.counts[CACHE_HITS])

    @property
    def brief(self):
        return self.shrinks

    def estimated_gap(self):
        return self.known_gap if self.shrinks else np.nan

    @property
    def calls_per_step(self):
        anew = (self.centre_is_due and self.centre_refreshes) or self.step >= self.state.next_refresh
        return self.problem.n if anew else 1

    def extras(self):
        known = {}
        if self.options.needs_gaps:
            known["gap_estimate"] = float(np.mean(self.state.iterate.gaps))
        if self.has_cache:
            counts = self.state.iterate.counts
            known["cache_hits"] = self.cache_hits
            known |= {"cache_local": int(counts[MET_LOCAL]), "cache_global": int(counts[MET_GLOBAL])}
        if isinstance(self.state.dual, ActiveSets):
            known["atoms"] = float(np.count_nonzero(self.state.dual.weight))
        return known

    def point(self, iterate):
        last = self.state.iterate
        ell = last.ell[0]
        if iterate != "last":
            v = projections.unclipped(self.state.projection, last.w)
            v, ell = averaged(self.problem, self.state.averages, iterate, v, ell, self.step)
            w = self.clip(v)
            return Point(w, self.dual_objective(ell, w))
        return Point(last.w, self.dual_objective(ell, self.clip(self.image())))

    def exact_dual(self):
        v, losses = self._from_scratch()
        return self.dual_objective(losses.mean(), self.clip(v))

    def dual_objective(self, ell: float, w: np.ndarray) -> float:
        """Return D = ell - lam/2 ||w||^2 for the w that belongs to the dual variables."""
        return ell - 0.5 * self.lam * product(w, w)

    def clip(self, v: np.ndarray) -> np.ndarray:
        """Return the w that belongs to v."""
        return projections.clip(projections.constrained_indices(self.problem), v)

    def _from_scratch(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A a and n ell_i, computed from the dual variables."""
        return duals.from_scratch(self.state.dual, self.problem, self.state.iterate.losses, 1.0 / (self.lam * self.problem.n))
