"""Block steps on threads that share w, for runs that need not have equal bits (``deterministic=False``).

Thread t of P takes steps of the examples i with i % P = t. It has their blocks, their part of the order, and buffers of its own;
all threads read and change the same w without locks. A change may get lost, or be made at a w that lacks the latest steps of
others, so w drifts away from the blocks. It is computed anew from all blocks (`SharedSteps.settle`) after a pass at most, more
often if it drifts by more than the steps of the threads gain, and before anything else reads w: certificates and logged values
never depend on the drift. A run takes the rest of its steps on one thread

* from the start if oracle calls take too few operations, compared with the lines of w that a step changes, or if w has so few
  lines that threads always change the same ones (`new_sharing`);
* as soon as the dual objective falls between two such computations: the blocks then depend too much on each other;
* if w drifts too far even in a `SHORTEST` part of a pass.

Steps without locks follow Hogwild (Recht, Re, Wright and Niu, NIPS 2011) and asynchronous BCFW (Wang, Sadhanala, Dai, Neiswanger,
Sra and Xing, ICML 2016, AP-BCFW). The rule, the buffers and the safeguards are ours.
"""

import math
import weakref
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwexp.blocks import active_set, projections
from fwexp.blocks.active_set import ActiveSets
from fwexp.blocks.averaging import Averages
from fwexp.blocks.block_loop import (
    BLOCKS_FULL,
    CACHE_HITS,
    DONE,
    DRAWS_USED,
    GAPS_KNOWN,
    NUM_COUNTS,
    ORACLE_CALLS,
    ORDER_ENDED,
    SET_FULL,
    STEPS_TAKEN,
    Parts,
    change_weights,
    has_ended,
    run_steps,
)
from fwexp.blocks.centres import combination_norm_sq
from fwexp.blocks.corners import StoringOracle
from fwexp.jit import threads
from fwexp.jit.compilation import njit, specialise
from fwexp.problems.protocol import (
    divide_blocks,
    max_oracle,
    new_sums,
    new_weights,
    oracle_operations,
    product,
    scatter,
    scatter_psi,
    scores,
)

UNBOUNDED = 1 << 60
LINE = 8  # entries of w in a line of a cache
# Chosen on synthetic_lsp, HorseSeg (synthetic) and chains of 100 and 300 labels.
RATIO = 1000.0  # operations of an oracle call per line of w that a step changes, from which threads pay
CACHED = 8.0  # times as many with a cache, since most steps then call no oracle
LEAST = 1e6  # operations of all oracle calls of a pass, from which they pay
LINES = 64  # of w, from which they pay; chosen on Weizmann horses (28 lines) and matchings (1), where threads halved the speed
DENSE = 4.0  # A step that changes more than one of so many entries collects its changes before others see them.
SAMPLE = 4  # examples whose labelings at w = 0 show how many entries a step changes
ROUNDING = 1e-12  # A relative fall of the dual objective by less is not counted as one.
SHORTEST = 16  # A part of a pass that is this many times shorter is the shortest one between two computations of w.


class Shared(NamedTuple):
    """The map from v = A a to w for a thread, which adds the change of a step to w at once.

    No other thread sees weights that must not be negative before they are clipped.
    """

    index: np.ndarray  # int64, indices of weights that must not be negative
    common: np.ndarray  # float64, v there, of all threads
    v: np.ndarray  # float64, v there after the change of a step, and before
    before: np.ndarray
    change: np.ndarray  # float64 (num_weights,), of v by a step; 0 between steps


@change_weights.register(Shared)
def _(constraint, step, problem, i, gamma, loss_change, length_sq, lam_n, iterate, work):
    change, w, slope = constraint.change, iterate.w, projections.slope_of(step, problem, i, gamma, loss_change, work)
    scatter(problem, i, work.direction, gamma / lam_n, change)
    for k in range(len(constraint.index)):
        constraint.before[k] = constraint.common[k]
        constraint.v[k] = constraint.before[k] + change[constraint.index[k]]
    times = projections.extend_step(constraint, step, problem, i, gamma, slope, length_sq, lam_n, iterate, work)
    for k in range(len(constraint.index)):
        j = constraint.index[k]
        v = constraint.common[k] + times * change[j]
        constraint.common[k], change[j], w[j] = v, 0.0, max(v, 0.0)
    for j in range(len(change)):
        if change[j] != 0.0:
            w[j] += times * change[j]
            change[j] = 0.0
    return times * gamma, times * loss_change


@njit
def _add_example(problem, i, w, work):
    """Add psi_i of the labeling that the oracle finds at w = 0 to w."""
    scores(problem, i, w, work.theta)
    max_oracle(problem, i, work.theta, work.y, work.scratch)
    scatter_psi(problem, i, work.y, 1.0, w)


def changed_entries(problem, work) -> tuple[float, float]:
    """Return how many entries and lines of w a step changes, in the mean over the first labelings of some examples."""
    kernel, counts = specialise(_add_example, problem), []
    for i in np.linspace(0, problem.n - 1, min(SAMPLE, problem.n), dtype=int):
        w = new_weights(problem)
        kernel(problem, int(i), w, work)
        changed = np.flatnonzero(w)
        counts.append((len(changed), len(np.unique(changed // LINE))))
    entries, lines = np.mean(counts, axis=0)
    return float(entries), float(lines)


@dataclass
class Sharing:
    """The state of steps on threads; part of a solver's state."""

    threads: int  # 1 if the run takes its steps as any other
    collects: bool  # whether a step collects its changes before others see them
    period: int  # steps after which w is computed anew
    steps: int = 0  # on threads since then
    value: float = 0.0  # dual objective at that time, up to a constant


def new_sharing(problem, order, work, has_cache: bool = False) -> Sharing:
    """Return the state at the start of a run: several threads if that pays."""
    count, operations = min(threads.num_threads(), problem.n), oracle_operations(problem)
    one = Sharing(1, False, problem.n)
    if not isinstance(problem, tuple) or order.rounds is not None or count == 1:
        return one
    if operations * problem.n < LEAST or problem.num_weights < LINES * LINE:
        return one
    entries, lines = changed_entries(problem, work)
    collects = len(projections.constrained_indices(problem)) > 0 or problem.num_weights <= DENSE * entries
    pays = operations >= RATIO * lines * (CACHED if has_cache else 1.0)
    return Sharing(count, collects, problem.n) if pays else one


class Mate(NamedTuple):
    """The buffers, counts and sums of one thread."""

    work: tuple
    counts: np.ndarray
    mean_gap: np.ndarray
    ell: np.ndarray
    averages: Averages
    change: np.ndarray


class SharedSteps:
    """The steps of a block-coordinate run on threads; ``run.state.sharing`` is their state."""

    def __init__(self, run) -> None:
        self._run, self._mates, self.gap_tol = weakref.proxy(run), [], 0.0  # a circle would keep arrays of runs that have ended

    def _new_mate(self) -> Mate:
        problem, averages = self._run.problem, self._run.state.averages
        kinds = averages.kinds
        own = Averages(kinds, new_sums(problem, len(kinds)), np.zeros(len(kinds)), np.zeros(2, dtype=np.int64))
        change = new_weights(problem) if self._run.state.sharing.collects else np.empty(0)
        return Mate(self._run.new_work(problem), np.zeros(NUM_COUNTS, dtype=np.int64), np.zeros(1), np.zeros(1), own, change)

    def take_steps(self, draws: np.ndarray, target_gap: float, budget) -> int:
        """Take steps, one per draw at most, up to the next computation of w, or compile without draws; return what ended them."""
        run, state, sharing = self._run, self._run.state, self._run.state.sharing
        counts, parts, first, self.gap_tol = state.iterate.counts, sharing.threads, state.step, budget.gap_tol
        while len(self._mates) < parts:
            self._mates.append(self._new_mate())
        if sharing.steps == 0:
            sharing.value = self.value()
        most = min(budget.calls - counts[ORACLE_CALLS], budget.hits - counts[CACHE_HITS], sharing.period - sharing.steps)
        draws = draws[:most]
        shares = state.order.shares(draws, parts, state.step, state.iterate.gaps)
        total = sum(len(own) for _, own in shares)
        for mate, (_, own) in zip(self._mates, shares, strict=False):
            mate.counts[:], mate.counts[STEPS_TAKEN], mate.mean_gap[0], mate.ell[0] = 0, first, state.iterate.mean_gap[0], 0.0
            mate.counts[GAPS_KNOWN] = counts[GAPS_KNOWN]
            # Step s of a thread counts as step first + stride (s - 1) + 1 in averages, so numbers increase for every block.
            stride = max(total // max(len(own), 1), 1)
            mate.averages.clock[:] = (first + 1) - stride * (first + 1), stride
        todo = [t for t in range(parts) if len(shares[t][1])] or [0]
        while todo:
            self._divide()
            reasons = threads.parallel_map(lambda kernel: kernel(), [self._kernel(t, *shares[t]) for t in todo])
            if SET_FULL in reasons:
                run.grow_sets()
            if BLOCKS_FULL in reasons:
                run.grow_blocks()
            todo = [t for t, reason in zip(todo, reasons, strict=True) if reason != DONE]
        self._collect(first, total)
        if sharing.steps >= sharing.period:
            self.settle()
        if total == 0:
            return DONE
        state.order.note_gaps(state.iterate.gaps)
        return ORDER_ENDED if has_ended(state.order.kernel_order(run, draws, target_gap), state.iterate) else DONE

    def _divide(self) -> None:
        """Divide the room in which blocks and labelings are stored among the threads."""
        run, state = self._run, self._run.state
        dual, parts = state.iterate.dual, state.sharing.threads
        if run.sets is not None:
            run.sets = active_set.divided(run.problem, run.sets, parts)
        if isinstance(dual, Parts):
            state.iterate = state.iterate._replace(dual=Parts(divide_blocks(run.problem, dual.blocks, parts)))

    def _kernel(self, t: int, order, draws: np.ndarray):
        """Return the function that takes the steps of thread t that are left."""
        run, state, mate = self._run, self._run.state, self._mates[t]
        end, draws = state.step + len(draws), draws[mate.counts[STEPS_TAKEN] - state.step :]
        iterate, corner, constraint, dual = state.iterate, run.corner(), state.iterate.constraint, state.iterate.dual
        if state.sharing.collects:
            index = projections.constrained_indices(run.problem)
            common = constraint.v if len(index) else index.astype(float)
            constraint = Shared(index, common, np.zeros(len(index)), np.zeros(len(index)), mate.change)
        if isinstance(corner, StoringOracle):
            corner = corner._replace(sets=active_set.for_thread(corner.sets))
            dual = corner.sets if isinstance(dual, ActiveSets) else dual
        own = iterate._replace(
            constraint=constraint, dual=dual, ell=mate.ell, w_sq=np.zeros(1), mean_gap=mate.mean_gap, counts=mate.counts
        )
        values = run.problem, own, order(draws), corner, run.step_rule(), mate.averages, mate.work, run.inner_lam
        kernel = specialise(run_steps, run.problem)
        return lambda: kernel(*values, UNBOUNDED, end, UNBOUNDED)

    def _collect(self, first: int, total: int) -> None:
        """Add up the counts and sums of the threads."""
        state = self._run.state
        iterate, averages = state.iterate, state.averages
        for mate in self._mates:
            mate.counts[STEPS_TAKEN] -= first
            if not iterate.counts[GAPS_KNOWN]:
                iterate.mean_gap[0] = max(iterate.mean_gap[0], mate.mean_gap[0])
            mate.counts[GAPS_KNOWN] = 0
            iterate.counts[:] += mate.counts
            iterate.ell[0] += mate.ell[0]
            for j in range(len(averages.kinds)):
                averages.sums[j][:] += mate.averages.sums[j]
                averages.ell[j] += mate.averages.ell[j]
                mate.averages.sums[j][:] = 0.0
            mate.averages.ell[:] = 0.0
        iterate.counts[DRAWS_USED] = total
        state.sharing.steps += total

    def value(self) -> float:
        """Return the dual objective that the steps maximise, up to a constant."""
        iterate = self._run.state.iterate
        return float(iterate.ell[0] - 0.5 * self._run.inner_lam * product(iterate.w, iterate.w))

    def settle(self) -> None:
        """Compute w anew from the blocks if there were steps on threads; decide how the next ones go."""
        run, sharing = self._run, self._run.state.sharing
        if sharing.steps == 0:
            return
        before = run.state.iterate.w.copy()
        run.state.iterate.ell[0] = run.set_weights(run.state.centre)
        w, sharing.steps = run.state.iterate.w, 0
        gain = self.value() - sharing.value
        drift = run.inner_lam * math.sqrt(combination_norm_sq(1.0, w, 1.0, before) * product(w, w))
        allowed = max(gain, self.gap_tol)
        if drift > allowed:
            sharing.period = max(sharing.period // 2, 1)
        elif drift < 0.25 * allowed:
            sharing.period = min(2 * sharing.period, run.problem.n)
        has_fallen = run.setting.line_search and gain < -ROUNDING * abs(sharing.value)
        if has_fallen or SHORTEST * sharing.period < run.problem.n:
            sharing.threads = 1
