"""Block-coordinate Frank-Wolfe for structural SVMs and its variants.

The plain method is Algorithm 4 of Lacoste-Julien, Jaggi, Schmidt, Pletscher (ICML 2013). At step k, for the drawn i,

    y* = argmax_y H_i(y; w),  w_s = psi_i(y*)/(lam n),  ell_s = L_i(y*)/n,
    gamma = clip[0,1] (lam (w_i - w_s)'w - ell_i + ell_s) / (lam ||w_i - w_s||^2)   or   2n/(k + 2n),
    w_i <- (1 - gamma) w_i + gamma w_s,  ell_i alike,  w = sum_i w_i,  ell = sum_i ell_i.

Independent choices, after Osokin et al. (ICML 2016): which example is next (``sampling``), what is done with the corner
(``step``), whether stored labelings may answer for the oracle (``cache``), how often all block gaps are computed exactly
(``refresh``), and whether an outer acceleration runs (``accelerate``, see ``acceleration``). The steps are in ``block``.

``sampling`` gap is that of the published code, whose first pass goes through the data in their order: a bad one where examples
that are alike stand together. Ours, ``gap_perm``, goes through them in random order: at first, after each new centre, and, unless
``refresh`` is 0, as soon as what is known of the gaps has all but vanished.

Weights that must not be negative are those of w = max(v, 0), where v is the sum above (``projections``); averages are those of v.
There the published step, exact for the unclipped v, falls short of the maximum of the dual; by default the line search goes on
to it, along the way of the step (``constrained_search``).
"""

from dataclasses import dataclass

import numpy as np

from fwexp.errors import OptionError, ParameterError
from fwexp.jit.kernels import specialise
from fwexp.jit.threads import parallel_for
from fwexp.problems.evaluation import CHUNKS
from fwexp.problems.protocol import inner, new_weights, radii_sq, workspace
from fwexp.solvers import active_set, block, corners, duals, gap_tree, projections
from fwexp.solvers.acceleration import (
    LATE_PASSES,
    LATE_STRENGTH,
    OBSERVED,
    AccelerateOptions,
    ProximalCentre,
    acceleration_strength,
    new_centre,
    observed_strength,
    period_for,
)
from fwexp.solvers.active_set import ActiveSets
from fwexp.solvers.averaging import Averages, averaged, new_averages
from fwexp.solvers.base import Point, Solver
from fwexp.solvers.bcfw_options import CacheOptions, Options
from fwexp.solvers.counts import CACHE_HITS, DRAWS_USED, GAPS_KNOWN, MET_GLOBAL, MET_LOCAL, ORACLE_CALLS, STEPS_TAKEN
from fwexp.solvers.sampling import Draws, at_least_some, fixed_order_draws, lipschitz_draws, order_draws, uniform_draws

CORRECTIONS = 5  # pairwise steps among stored labelings per corrective step
MAX_STORED = 20  # labelings that an active set keeps without a cache, those with weight excepted
FIRST_ROOM = 8  # labelings that an active set has room for at first
SPENT = 1e-3  # of the sum of all gaps when last looked at: what is less is a reason for ``gap_perm`` to visit all examples


@dataclass
class State:
    """All that a run changes."""

    lam: float
    iterate: block.Iterate
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
    passes: Draws  # orders of the examples for passes in which rules that look at gaps do not
    ordered: np.ndarray  # int64 (n,), the latest of them; of other rules empty
    ordered_since: int  # step at which that pass began


class BCFW(Solver):
    """Block-coordinate Frank-Wolfe."""

    name = "bcfw"
    title = "block-coordinate Frank-Wolfe"
    Options = Options
    iterates = ("last", "wavg", "tavg", "avg")
    stochastic = True
    takes_order = True
    constraints = True

    @classmethod
    def needs(cls, options):
        """Steps other than ``fw`` and the cache store labelings; rules with curvatures, and kap, bound their features."""
        accelerate = options.accelerate
        kap_is_open = accelerate is not False and (accelerate is True or accelerate.get("kap") is None)
        sets = options.step != "fw" or options.cache is not False
        return ("sets",) * sets + ("bounds",) * (options.sampling in ("lipschitz", "max_gain") or kap_is_open)

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
                raise OptionError("warm_start must be a result with step=fw if, and only if, this run has step=fw")
            dual, losses = duals.copied(previous.dual, problem), previous.iterate.losses.copy()
        iterate = block.Iterate(
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
            draws=self._draws(seed, order),
            tree=gap_tree.new_tree(np.zeros(problem.n if self._rule_kind != block.IN_ORDER else 1)),
            next_refresh=max(1, round(options.refresh_passes * problem.n)) if options.refresh_passes else np.inf,
            refreshed=-1,
            centre=None,
            first_centre=np.inf,
            passes=order_draws("perm" if options.sampling == "gap_perm" else "cyclic", problem.n, seed),
            ordered=np.empty(0, dtype=np.int64),
            ordered_since=0,
        )
        if self._rule_kind != block.IN_ORDER:
            self._begin_ordered_pass()
        if warm_start is not None:
            v, _ = self._from_scratch()
            projections.set_weights(self.state.projection, v, iterate.w)
            iterate.w_sq[0] = inner(problem, iterate.w, iterate.w)
        self._choose_centre()

    def prepare(self):
        self.work = workspace(self.problem)
        self._chunk_work = self._radii_sq = None
        # C_i is in proportion to R_i^2: the examples of largest G_i^2/C_i are the ideal rule of G16, section 3.1.
        self._curvature = at_least_some(radii_sq(self.problem)) if self.options.sampling == "max_gain" else np.empty(0)

    def new_dual(self):
        """Return the dual variables of the start, all blocks at their true labelings."""
        return duals.new_parts(self.problem) if self.keeps_parts else self.new_sets()

    @property
    def keeps_parts(self) -> bool:
        """Whether the dual variables are vectors of parts."""
        return self.options.step == "fw"

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

    @property
    def _accelerate(self) -> AccelerateOptions:
        chosen = self.options.accelerate
        return AccelerateOptions(**chosen) if isinstance(chosen, dict) else AccelerateOptions()

    @property
    def _rule_kind(self) -> int:
        rules = {"gap": block.BY_GAP, "gap_perm": block.BY_GAP, "max_gap": block.LARGEST_GAP, "max_gain": block.LARGEST_GAP}
        return rules.get(self.options.sampling, block.IN_ORDER)

    def _draws(self, seed, order) -> Draws:
        """Set up the choice of examples; unknown gaps count as infinite, so gap rules visit all examples first."""
        if order is not None:
            return fixed_order_draws(order, repeat=self.has_cache)  # cache hits use it up as well
        if self._rule_kind != block.IN_ORDER:
            return uniform_draws(seed)
        if self.options.sampling == "lipschitz":
            return lipschitz_draws(radii_sq(self.problem), seed)
        return order_draws(self.options.sampling, self.problem.n, seed)

    def _begin_ordered_pass(self) -> None:
        """Visit all examples once: in the order of the data, as the published code does in its first pass, or in a random one."""
        self.state.ordered, self.state.ordered_since = self.state.passes.take(self.problem.n), self.step

    # --- acceleration ---

    def _choose_centre(self) -> None:
        """Say when acceleration begins, if that was asked for, or begin it anew if a far larger kap pays at this lam."""
        if self.options.accelerate is False:
            return
        state, kap = self.state, self._strength()
        if state.centre is None:
            passes = self._accelerate.start if kap is not None else max(LATE_PASSES, self._accelerate.start)
            state.first_centre = min(state.first_centre, self.step + round(passes * self.problem.n))
            if self.step >= state.first_centre:
                self._begin_acceleration()
        elif kap is not None and kap >= 2.0 * state.centre.kap:
            self._begin_acceleration()

    def _strength(self) -> float | None:
        """Return kap, or None where acceleration seems not to pay at this lam."""
        kap = self._accelerate.kap
        if kap == OBSERVED:
            met = 0.0 if self.sets is None else specialise(active_set.mean_norm_sq, self.problem)(self.sets)
            return observed_strength(met, self.problem.n, self.lam)
        if kap is None:
            self._radii_sq = radii_sq(self.problem) if self._radii_sq is None else self._radii_sq
            kap = acceleration_strength(self._radii_sq, self.lam)
        return kap

    @property
    def _centre_refreshes(self) -> bool:
        """Whether a new centre, which makes all that is known of the gaps stale, has them computed anew."""
        return self.options.needs_gaps and self._accelerate.refresh

    def _begin_acceleration(self) -> None:
        """Make A a the centre."""
        state, image = self.state, self.image()
        kap, period = self._strength() or LATE_STRENGTH, self._accelerate.period
        period = max(1, round((period_for(kap) if period is None else period) * self.problem.n))
        projections.set_weights(state.projection, image, state.iterate.w)
        state.centre = new_centre(kap, self.lam, period, self.step, image, state.iterate.w)
        state.first_centre = np.inf

    def image(self) -> np.ndarray:
        """Return A a."""
        v = projections.unclipped(self.state.projection, self.state.iterate.w)
        return v if self.state.centre is None else self.state.centre.image(v)

    def _move_centre(self) -> None:
        state = self.state
        v = projections.unclipped(state.projection, state.iterate.w)
        state.centre.move(state.iterate.w, v, lambda: self.total_gap(state.iterate.gaps))
        projections.set_weights(state.projection, v, state.iterate.w)
        if self.options.sampling == "gap_perm":
            self._begin_ordered_pass()
        if self._centre_refreshes:
            state.next_refresh = self.step

    # --- steps ---

    def advance(self, calls, max_steps):
        if max_steps == 0:
            self._compile()
        state, counts = self.state, self.state.iterate.counts
        while counts[ORACLE_CALLS] < calls and counts[STEPS_TAKEN] < max_steps:
            if counts[STEPS_TAKEN] >= state.first_centre:
                self._begin_acceleration()
            if state.centre is not None and counts[STEPS_TAKEN] >= state.centre.next_step:
                self._move_centre()
            if counts[STEPS_TAKEN] >= state.next_refresh:
                if counts[ORACLE_CALLS] + self.problem.n > calls:
                    return
                self._refresh()
                if self.pauses:
                    return
            elif not self._run(calls, max_steps):
                return

    def _compile(self) -> None:
        """Have all kernels compiled that this run may need."""
        self._run(0, 0)
        if self.options.refresh_passes or self.options.needs_gaps:
            specialise(block.exact_gaps, self.problem)(self.problem, 0, 0, self.state.iterate, self.state.dual, self.work)
        if self.sets is not None:
            active_set.copied(self.problem, self.sets)

    def corners(self):
        """Return the rule that finds corners."""
        if self.sets is None:
            return corners.Oracle()
        cache = self._cache
        return corners.Cache(self.options.cache is not False, cache.F, cache.nu, self.stored, self.sets)

    @property
    def _step_rule(self) -> duals.StepRule:
        options = self.options
        constrained = isinstance(self.state.projection, projections.Nonnegative)
        stretches = constrained and options.line_search and options.constrained_search == "exact"
        return duals.StepRule(duals.STEP_KINDS[options.step], options.line_search, CORRECTIONS, options.nu, stretches)

    def _run(self, calls: int, max_steps: int) -> bool:
        """Take steps up to the next refresh or centre; return whether there was any draw left to use."""
        state, counts = self.state, self.state.iterate.counts
        event = min(state.next_refresh, state.first_centre if state.centre is None else state.centre.next_step, max_steps)
        draws = state.draws.peek(int(min(event - counts[STEPS_TAKEN], calls - counts[ORACLE_CALLS])))
        spent = SPENT if self.options.sampling == "gap_perm" and self.options.refresh_passes else 0.0
        rule = block.SamplingRule(
            self._rule_kind, state.ordered, state.ordered_since, np.empty(0), state.tree, self._curvature, state.refreshed, spent
        )
        ended = specialise(block.run_steps, self.problem)(
            self.problem,
            state.iterate,
            state.dual,
            state.projection,
            self.corners(),
            self._step_rule,
            rule._replace(**{"order" if rule.kind == block.IN_ORDER else "uniforms": draws}),
            state.averages,
            self.work,
            self.lam if state.centre is None else state.centre.inner_lam,
            calls,
            counts[STEPS_TAKEN] + len(draws),
        )
        state.draws.drop(int(counts[DRAWS_USED]))
        if ended == block.SET_FULL:
            self._grow_sets()
        elif ended == block.BLOCKS_FULL:
            self._grow_blocks()
        elif ended == block.GAPS_SPENT:
            self._look_anew()
        return len(draws) > 0

    def _grow_sets(self) -> None:
        grown = active_set.grown(self.problem, self.sets, self.stored)
        if isinstance(self.state.dual, ActiveSets):
            self.state.dual = grown
        else:
            self.state.cache = grown

    def _grow_blocks(self) -> None:
        self.state.dual = duals.copied(self.state.dual, self.problem)

    def _look_anew(self) -> None:
        """Where the known gaps leave nothing to choose by, visit all examples anew, at a new centre if there is one.

        That costs at most the calls of a refresh, and takes a step for each.
        """
        if self.state.centre is None:
            self._begin_ordered_pass()
        else:
            self.state.centre.next_step = self.step

    # --- gaps ---

    def _set_exact_gaps(self, iterate) -> None:
        """Set all G_i of an iterate to their values at w: one oracle call per example, in parallel."""
        problem, dual = self.problem, self.state.dual
        if self._chunk_work is None:
            chunks = min(CHUNKS, problem.n) if isinstance(problem, tuple) else 1
            self._chunk_work = [workspace(problem) for _ in range(chunks)]
        kernel, work = specialise(block.exact_gaps, problem), self._chunk_work
        parallel_for(lambda k, start, end: kernel(problem, start, end, iterate, dual, work[k]), problem.n, len(work))

    def fresh_gaps(self) -> np.ndarray:
        """Return all G_i at w, exactly, by n oracle calls that are not counted; the run does not notice."""
        iterate = self.state.iterate._replace(gaps=np.zeros(self.problem.n))
        self._set_exact_gaps(iterate)
        return iterate.gaps

    def _refresh(self) -> None:
        """Compute all block gaps exactly."""
        problem, state = self.problem, self.state
        self._set_exact_gaps(state.iterate)
        self._note_exact_gaps()
        state.iterate.counts[ORACLE_CALLS] += problem.n
        state.refreshed = self.step
        state.next_refresh = np.inf
        if self.options.refresh_passes:
            state.next_refresh = self.step + max(1, round(self.options.refresh_passes * problem.n))

    def _note_exact_gaps(self) -> None:
        iterate = self.state.iterate
        iterate.exact_gap[0], iterate.counts[GAPS_KNOWN] = iterate.gaps.mean(), 1
        if self._rule_kind != block.IN_ORDER:
            worth = iterate.gaps**2 / self._curvature if len(self._curvature) else iterate.gaps
            gap_tree.fill(self.state.tree, worth)

    def exact_gap(self) -> float:
        """Compute all block gaps exactly, for n oracle calls, and return the gap P(w) - D(a)."""
        self._refresh()
        return self.known_gap

    @property
    def known_gap(self) -> float:
        """The gap P(w) - D(a) as the last known block gaps have it: exact if no step was taken since ``exact_gap``."""
        return self.total_gap(self.state.iterate.gaps)

    def total_gap(self, gaps: np.ndarray) -> float:
        """Return P(w) - D(a), given the block gaps (times n) at w; with acceleration they sum to that of the centred problem."""
        gap = float(np.mean(gaps))
        if self.state.centre is not None:
            w, image = self.state.iterate.w, self.image()
            w_a = self.clip(image)  # the w that belongs to a
            difference = w - w_a
            gap += 0.5 * self.lam * float(difference @ difference)
            if w_a is not image:
                gap += self.lam * float(w @ (w_a - image))
        return gap

    # --- for paths ---

    def full_step(self) -> None:
        """Move all blocks to the corners that the oracle finds at the present w; without acceleration only."""
        problem, state, done = self.problem, self.state, 0
        while (done := specialise(block.full_step, problem)(problem, done, state.iterate, state.dual, self.work)) < problem.n:
            self._grow_blocks()
        state.iterate.ell[0] = state.iterate.losses.mean()
        projections.set_weights(state.projection, self._from_scratch()[0], state.iterate.w)
        state.iterate.counts[ORACLE_CALLS] += problem.n

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
        specialise(block.shrink_towards_truth, problem)(problem, state.iterate, state.dual, self.work, gamma)
        state.iterate.ell[0] = state.iterate.losses.mean()
        if np.isfinite(state.iterate.gaps).all():
            self._note_exact_gaps()
        self.lam = state.lam = lam
        if state.centre is not None:
            state.centre.change_lam(lam)
        self._choose_centre()

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
    def calls_per_step(self):
        state = self.state
        moves = state.centre is not None and self.step >= state.centre.next_step and self._centre_refreshes
        return self.problem.n if moves or self.step >= state.next_refresh else 1

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

    @property
    def known_hinge(self):
        """Exact block gaps sum up to P(w) - D(a) = H(w) - ell + lam <w, A a>."""
        if self.state.refreshed != self.step or self.state.centre is not None:
            return None
        v, losses = self._from_scratch()
        return float(self.state.iterate.gaps.mean() + losses.mean() - self.lam * (v @ self.state.iterate.w))

    def exact_dual(self):
        v, losses = self._from_scratch()
        return self.dual_objective(losses.mean(), self.clip(v))

    def dual_objective(self, ell: float, w: np.ndarray) -> float:
        """Return D = ell - lam/2 ||w||^2 for the w that belongs to the dual variables."""
        return ell - 0.5 * self.lam * (w @ w)

    def clip(self, v: np.ndarray) -> np.ndarray:
        """Return the w that belongs to v."""
        return projections.clip(projections.constrained_indices(self.problem), v)

    def _from_scratch(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A a and n ell_i, computed from the dual variables."""
        return duals.from_scratch(self.state.dual, self.problem, self.state.iterate.losses, 1.0 / (self.lam * self.problem.n))
