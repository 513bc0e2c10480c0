"""Block-coordinate Frank-Wolfe for structural SVMs: Algorithm 4 of Lacoste-Julien, Jaggi, Schmidt, Pletscher (ICML 2013).

With default options this is the method of that paper; most options are those of Osokin et al. (ICML 2016). The loop is `run_steps`
of `fwexp.blocks.block_loop`, where the numbered lines of the algorithm stand. Four values define it, which a run makes from the
`Setting` of its options (`bcfw_options`):

* the order (`sampling`): `fwexp.blocks.orders`, `fwexp.blocks.shrinking`;
* the corner (`cache`): `fwexp.blocks.corners`;
* the step (`step`): `fwexp.blocks.block_loop`, `fwexp.blocks.block_steps`;
* the iterate: `State.iterate`; its constraint keeps weights nonnegative (`constrained_search`): `fwexp.blocks.projections`.

Between two series of steps come events: the exact gaps of all blocks (`refresh`) and, if a task applies one, a new lam:
`fwexp.blocks.events`; new centres (`accelerate`): `fwexp.blocks.acceleration`.
"""

from functools import cached_property

import numpy as np

from fwexp.blocks import active_set, duals, projections
from fwexp.blocks.acceleration import Acceleration, EarlyBegin, RoundsAcceleration
from fwexp.blocks.active_set import ActiveSets
from fwexp.blocks.averaging import new_averages
from fwexp.blocks.block_loop import (
    BLOCKS_FULL,
    CACHE_HITS,
    DRAWS_USED,
    ORACLE_CALLS,
    ORDER_ENDED,
    SET_FULL,
    STEPS_TAKEN,
    FrankWolfe,
    Oracle,
    Parts,
    clipped_step,
    new_iterate,
    run_steps,
    steps_of,
)
from fwexp.blocks.block_steps import KINDS, ExactStep, LabelingFrankWolfe, LabelingStep, NoCorner
from fwexp.blocks.centres import ProximalCentre
from fwexp.blocks.corners import StoringOracle
from fwexp.blocks.events import GapRefresh, change_lam, exact_gaps, full_step, move_towards_truth, use_estimates
from fwexp.blocks.orders import Order, new_order
from fwexp.blocks.shared_steps import SharedSteps, Sharing, new_sharing
from fwexp.errors import OptionError, WarmStartError
from fwexp.jit.compilation import specialise
from fwexp.problems.protocol import has_best_block, inner, new_blocks, original, product, workspace
from fwexp.solvers.base import NO_BUDGET, Budget, Reason, Stop
from fwexp.solvers.bcfw_options import CONSTRAINED_SEARCHES, OF_PARTS, STEPS, CacheOptions, Options
from fwexp.solvers.bcfw_points import BlockPoints, State

FIRST_ROOM = 8  # labelings that an active set has room for at first
DRAWN_PASSES = 4  # of draws that a kernel gets at least if there is a cache


class BCFW(BlockPoints):
    """Block-coordinate Frank-Wolfe."""

    name = "bcfw"
    title = "block-coordinate Frank-Wolfe"
    takes_warm_start = True
    Options = Options
    iterates = ("last", "wavg", "tavg", "avg")
    made_anew = ("wavg", "tavg", "avg")
    stochastic = True
    takes_order = True
    constraints = True

    @classmethod
    def needs(cls, options):
        """Return ``sets`` for steps between labelings and the cache, ``exact`` for exact steps, ``bounds`` for curvatures."""
        setting = options.setting()
        kap_is_open = setting.accelerate is not None and setting.accelerate.kap is None
        sets, bounds = setting.stores_labelings, setting.sampling in ("lipschitz", "max_gain") or kap_is_open
        return ("sets",) * sets + ("exact",) * (setting.step == "exact") + ("bounds",) * bounds

    @classmethod
    def available_iterates(cls, options):
        """Return the iterates; averages are not defined with acceleration, and tavg not for steps on threads."""
        setting = options.setting()
        if setting.accelerate is not None:
            return ("last",)
        return cls.iterates if setting.deterministic else tuple(name for name in cls.iterates if name != "tavg")

    @classmethod
    def steps_within(cls, options, n, calls):
        """Count a call per step, and n for each refresh of the gaps."""
        if not (passes := getattr(options, "refresh", 0.0)):
            return calls
        period = max(1, steps_of(passes, n))
        cycles, rest = divmod(calls, period + n)
        return cycles * period + min(rest, period)

    @classmethod
    def memory(cls, problem, options, iterates):
        sets = active_set.least_memory(problem, FIRST_ROOM) if options.setting().stores_labelings else 0
        return super().memory(problem, options, iterates) + sets

    # --- the values of the loop ---

    def prepare(self):
        problem, setting = self.problem, self.options.setting()
        if setting.step == "exact" and not has_best_block(problem):
            why = f"{type(original(problem)).__name__} knows no best block with slack rescaling, edges, many outputs or w >= 0"
            raise OptionError(f"solver.step=exact of {self.name}: {why}; accepted here: {', '.join(STEPS[:-1])}")
        search = getattr(self.options, "constrained_search", CONSTRAINED_SEARCHES[0])
        if search != CONSTRAINED_SEARCHES[0] and not len(projections.constrained_indices(problem)):
            raise OptionError(f"constrained_search={search} goes with problems that have nonnegative weights only, got one without")
        self.setting, self.work = setting, self.new_work(problem)
        self.refresh = GapRefresh(problem, setting.refresh, self.new_work)
        clocked = RoundsAcceleration if setting.sampling == "shrinking" else Acceleration
        self.acceleration = clocked(problem, setting.accelerate, setting.needs_gaps)
        self.early = EarlyBegin(self.acceleration)
        self.events = (self.early, self.acceleration, self.refresh)

    def start(self, seed, iterates, order, warm_start):
        problem, setting, losses, order = self.problem, self.setting, None, self.new_order(seed, order)
        if warm_start is None:
            dual = self.new_dual()
        else:
            self.check_warm_start(warm_start)
            previous = warm_start.state.iterate
            dual, losses = duals.copied(previous.dual, problem), previous.losses.copy()
        self.state = State(
            lam=self.lam,
            iterate=new_iterate(problem, dual, projections.new_projection(problem), losses),
            order=order,
            cache=self._new_cache(warm_start) if self.has_cache and setting.keeps_parts else None,
            averages=new_averages(problem, iterates),
            next_refresh=self.refresh.period,
            refreshed=-1,
            exact_gap=np.inf,
            centre=None,
            first_centre=np.inf,
            next_look=self.early.first_look() if warm_start is None else np.inf,
            norm_seen=0.0,
            origin=None,
            sharing=None if setting.deterministic else new_sharing(problem, order, self.work, self.has_cache),
        )
        self.shared = SharedSteps(self)
        if warm_start is not None:
            self.set_weights()
        self.acceleration.schedule(self)

    def set_weights(self, centre: ProximalCentre | None = None) -> float:
        """Set w from the dual variables, and from the centre if there is one; return the mean of the n ell_i."""
        iterate, (v, losses) = self.state.iterate, self._from_scratch()
        projections.set_weights(iterate.constraint, v if centre is None else centre.shifted(v), iterate.w)
        iterate.w_sq[0] = inner(self.problem, iterate.w, iterate.w)
        return losses.mean()

    def start_near(self, w):
        # The best point between the truth and the corners that the oracle finds at w.
        iterate = self.state.iterate
        projections.set_weights(iterate.constraint, w, iterate.w)
        self.full_step()
        move_towards_truth(self, 1.0 - clipped_step(iterate.ell[0], self.lam * product(iterate.w, iterate.w)))
        self._restart()

    def _restart(self) -> None:
        """Continue from the dual variables as from a start."""
        self.set_weights()
        self.state.centre, self.state.first_centre, self.state.next_look = None, np.inf, np.inf
        self.acceleration.schedule(self)

    @property
    def origin(self):
        return self.state.origin

    @origin.setter
    def origin(self, w):
        self.state.origin = w
        self._restart()

    def new_order(self, seed, given: np.ndarray | None) -> Order:
        """Return the order of the examples, which is ``given`` if that is not None."""
        return new_order(self.setting.sampling, self.problem, seed, given, self.has_cache, self.setting.refresh > 0.0)

    @staticmethod
    def new_work(problem):
        """Return the buffers of one thread."""
        return workspace(problem)

    def new_dual(self):
        """Return dual variables that are at the true labelings."""
        return Parts(new_blocks(self.problem)) if self.setting.keeps_parts else self.new_sets()

    def check_warm_start(self, other):
        super().check_warm_start(other)
        if isinstance(other.state.iterate.dual, Parts) != self.setting.keeps_parts:
            steps = " or ".join(OF_PARTS)
            raise WarmStartError(f"warm_start must be a result with step={steps} if, and only if, this run has step={steps}")

    def _new_cache(self, warm_start) -> ActiveSets:
        """Return a cache with the labelings of the run before, or with the true ones."""
        known = None if warm_start is None else warm_start.state.cache
        return self.new_sets() if known is None else active_set.copied(self.problem, known)

    def new_sets(self) -> ActiveSets:
        """Return active sets that hold the true labelings, with weight 1."""
        room = min(FIRST_ROOM, self.setting.stored)
        return active_set.new_active_sets(self.problem, np.full(self.problem.n, room, dtype=np.int64))

    @property
    def sets(self) -> ActiveSets | None:
        """The stored labelings, if there are any: the dual variables or the cache."""
        dual = self.state.iterate.dual
        return dual if isinstance(dual, ActiveSets) else self.state.cache

    @sets.setter
    def sets(self, sets: ActiveSets) -> None:
        if self.state.cache is None:
            self.state.iterate = self.state.iterate._replace(dual=sets)
        else:
            self.state.cache = sets

    def corner(self):
        """Return the value that finds the corners of steps."""
        setting = self.setting
        if self.sets is None:
            return NoCorner() if setting.step == "exact" else Oracle()
        cache = setting.cache or CacheOptions()  # without a cache, its criteria are not used
        return StoringOracle(self.has_cache, cache.F, cache.nu, setting.stored, self.sets, self.has_cache and self._is_direct)

    def step_rule(self):
        """Return the value that takes the steps."""
        setting = self.setting
        extends = setting.extends_search and isinstance(self.state.iterate.constraint, projections.Nonnegative)
        if setting.step == "exact":
            return ExactStep()
        if setting.step == "fw":
            return (FrankWolfe if setting.keeps_parts else LabelingFrankWolfe)(setting.line_search, setting.nu, extends)
        return LabelingStep(KINDS[setting.step], extends_search=extends, direct=self._is_direct)

    @property
    def _is_direct(self) -> bool:
        """Return whether neither the step nor averages nor constraints need the change of a step as a vector of parts."""
        constrained = isinstance(self.state.iterate.constraint, projections.Nonnegative)
        collects = self.sharing is not None and self.sharing.collects
        return not (self.setting.step in OF_PARTS or constrained or collects or len(self.state.averages.kinds))

    @property
    def sharing(self) -> Sharing | None:
        """The state of steps on threads, None for a run of equal bits."""
        return None if self.setting.deterministic else self.state.sharing

    @cached_property
    def _take_steps(self):
        """The loop, compiled for the classes of its values."""
        return specialise(run_steps, self.problem, *self._values(np.empty(0, dtype=np.int64), NO_BUDGET.target_gap))

    def _values(self, draws: np.ndarray, target_gap: float) -> tuple:
        """Return the values of the loop, for at most as many steps as there are ``draws``."""
        state = self.state
        return state.iterate, state.order.kernel_order(self, draws, target_gap), self.corner(), self.step_rule(), state.averages

    # --- steps and events ---

    def advance(self, budget):
        counts, reason = self.state.iterate.counts, None
        while reason is None and self._has_room(budget):
            event = next((event for event in self.events if event.is_due(self)), None)
            if event is None:
                reason = self._run(budget)
            elif counts[ORACLE_CALLS] + event.calls > budget.calls:
                break
            else:
                self.settle()
                event.apply(self)
                reason = self._shown(budget) if event is self.refresh else None
        ahead = [event.calls_ahead(self) for event in self.events if event.is_due(self)]
        return Stop(reason or Reason.BUDGET, max([*ahead, 1]))

    def _shown(self, budget: Budget) -> Reason | None:
        """Return why the run pauses after all gaps were computed, None if it does not."""
        if budget.until_known:
            return Reason.KNOWN
        return Reason.ROW if self.setting.ends_at_known_gap and self.state.exact_gap <= budget.gap_tol > 0.0 else None

    def _has_room(self, budget: Budget) -> bool:
        """Return whether the budget allows a step."""
        counts = self.state.iterate.counts
        return counts[ORACLE_CALLS] < budget.calls and counts[STEPS_TAKEN] < budget.steps and counts[CACHE_HITS] < budget.hits

    def _run(self, budget: Budget) -> Reason | None:
        """Take steps up to the next event; return why the run pauses after them, None if it does not."""
        state, counts = self.state, self.state.iterate.counts
        end = min(budget.steps, *(event.due_step(self) for event in self.events))
        # With a cache, the steps that a few calls take are not known in advance: some passes of draws avoid very short series.
        series = DRAWN_PASSES * self.problem.n * self.has_cache
        count = min(end - counts[STEPS_TAKEN], max(budget.calls - counts[ORACLE_CALLS], series))
        draws, target_gap = state.order.draws.peek(int(count)), self.refresh.target_gap(self, budget)
        if self.sharing is not None and self.sharing.threads > 1:
            ended = self.shared.take_steps(draws, target_gap, budget)
        else:
            last = counts[STEPS_TAKEN] + len(draws)
            limits = self.inner_lam, budget.calls, last, budget.hits
            # No variable holds the values, so that the labelings are freed when they are moved.
            ended = self._take_steps(self.problem, *self._values(draws, target_gap), self.work, *limits)
        state.order.draws.drop(int(counts[DRAWS_USED]))
        if ended == SET_FULL:
            self.grow_sets()
        elif ended == BLOCKS_FULL:
            self.grow_blocks()
        elif ended == ORDER_ENDED and state.order.resume(self, target_gap):
            if target_gap == budget.target_gap:
                return Reason.ROW
            state.next_refresh = self.step
        return None if len(draws) else Reason.BUDGET

    def compile(self):
        self._run(NO_BUDGET)
        if self.setting.refresh or self.setting.needs_gaps:
            specialise(exact_gaps, self.problem, self.state.iterate.dual)(self.problem, 0, 0, self.state.iterate, self.work)
        if self.sets is not None:
            active_set.copied(self.problem, self.sets)

    def grow_sets(self) -> None:
        """Make room in the active sets for a labeling of every example."""
        room = active_set.more_room(self.sets, self.setting.stored)
        self.sets = active_set.with_places(self.problem, self.sets, room)  # which frees the former storage
        self.sets = active_set.with_room(self.sets, room)

    def grow_blocks(self) -> None:
        """Make room in the blocks for a step of every example."""
        iterate = self.state.iterate
        self.state.iterate = iterate._replace(dual=duals.copied(iterate.dual, self.problem))

    def settle(self) -> None:
        """Compute w anew if there were steps on threads."""
        if self.sharing is not None:
            self.shared.settle()

    def note_new_centre(self) -> None:
        """Account for a new centre, which has changed w."""
        self.state.order.note_new_centre(self.step)
        if self.acceleration.refreshes:
            self.state.next_refresh = self.step

    # --- for tasks ---

    def exact_gap(self) -> float:
        """Compute all block gaps exactly, with n oracle calls, and return the gap P(w) - D(a)."""
        self.settle()
        self.refresh.apply(self)
        return self.known_gap

    def fresh_gaps(self, scale: float = 1.0) -> np.ndarray:
        """Return all G_i at ``scale`` times w, exactly, with n oracle calls that are not counted; the run is not changed."""
        self.settle()
        iterate = self.state.iterate._replace(w=scale * self.state.iterate.w, gaps=np.zeros(self.problem.n))
        self.refresh.compute(iterate)
        return iterate.gaps

    def use_gap_bounds(self, bounds: np.ndarray) -> None:
        """Replace the known gaps by upper bounds of all G_i."""
        self.state.iterate.gaps[:], self.state.refreshed = bounds, -1
        use_estimates(self.state)

    def full_step(self) -> np.ndarray:
        """Move all blocks to the corners of the oracle at w; return the new w."""
        self.settle()
        full_step(self)
        return self.point("last").w

    def change_lam(self, lam: float) -> None:
        """Change lam to a smaller value, with w as it is."""
        self.settle()
        change_lam(self, lam)

    # --- for the driver ---

    @cached_property
    def terms(self):
        return super().terms._replace(
            has_cache=self.has_cache,
            cheap_passes=self.acceleration.by_rounds,
            estimates_gap=self.setting.needs_gaps and self.setting.accelerate is not None,
        )

    @property
    def has_cache(self) -> bool:
        """Whether the run keeps labelings that can replace an oracle call."""
        return self.setting.cache is not None

    @property
    def cache_hits(self):
        return int(self.state.iterate.counts[CACHE_HITS])

    @property
    def inner_lam(self) -> float:
        """lam of block steps."""
        return self.lam if self.state.centre is None else self.state.centre.inner_lam
