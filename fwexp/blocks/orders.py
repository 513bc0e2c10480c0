"""The order in which block steps visit the examples (`sampling`): records that last through a run, and their values in kernels.

The record of a run is an `Order`. Its random choices, ``draws``, are made outside the kernels. The order gap is the one of the
published code (Osokin et al., ICML 2016, section 3.1), whose first pass follows the order of the data; that is a bad order if
similar examples stand together. Our gap_perm visits all examples in random order: at first, after each new centre, and, unless
``refresh`` is 0, as soon as the known gaps have all but vanished. Block gaps are kept times n: G_i = n gap_i.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from fwexp.blocks import gap_tree, shrinking
from fwexp.blocks.block_loop import DRAWS_USED, GAPS_KNOWN, STEPS_TAKEN, InOrder, following_block, has_ended, next_block, note_step
from fwexp.blocks.centres import NO_CENTRE, Centre
from fwexp.blocks.sampling import Draws, at_least_some, fixed_order_draws, lipschitz_draws, order_draws, uniform_draws
from fwexp.jit.compilation import inlined
from fwexp.problems.protocol import radii_sq

BY_GAPS = ("gap", "gap_perm", "max_gap", "max_gain")
SAMPLING = ("uniform", "perm", "cyclic", *BY_GAPS, "lipschitz", "shrinking")
WITHOUT_SUM = ("max_gain", "shrinking")  # orders that keep no sum of the known gaps
RESTART_BELOW = 1e-3  # ``gap_perm`` visits all examples anew if less than this share of the sum of all gaps is left.


# --- in kernels -------------------------------------------------------------------------------------------------------


class ByGap(NamedTuple):
    """Examples by priority, which follows from the known gaps, after a pass that ignores the gaps."""

    compiled = ("curvature",)

    largest: bool  # whether the example of the largest priority is next; otherwise it is drawn in proportion
    ordered: np.ndarray  # int64 (n,), the examples of the pass that ignores the gaps
    ordered_since: int  # step at which that pass began
    uniforms: np.ndarray  # float64, a draw per step
    tree: gap_tree.Tree  # over the priorities
    curvature: np.ndarray  # float64 (n,), C_i up to a factor if the priority is G_i^2/C_i; empty if it is G_i
    refreshed: int  # step at which all gaps were last computed, -1 if they never were
    restart_below: float  # share of the sum of all gaps below which the order ends the series; 0 if it never does
    target: float  # sum of all G_i at which the order ends the series; negative if it does not


class ByOwnGap(NamedTuple):
    """The order `ByGap` of a thread with examples of its own; other examples have no priority."""

    compiled = ("curvature",)

    largest: bool
    own: np.ndarray  # int64, its examples
    uniforms: np.ndarray
    tree: gap_tree.Tree
    curvature: np.ndarray


class InOrderToGap(NamedTuple):
    """Examples in an order that was drawn before; the order ends the series as soon as the known gaps are small."""

    given: InOrder
    tree: gap_tree.Tree  # over the known gaps, inf where one is unknown
    target: float  # as of `ByGap`


@inlined
def priority(curvature, i, gap):
    """Return the priority of example i."""
    return gap * gap / curvature[i] if len(curvature) > 0 else gap


@next_block.register(ByGap)
def _(order, iterate):
    k = iterate.counts[STEPS_TAKEN]
    if k < order.ordered_since + len(order.ordered):
        return order.ordered[k - order.ordered_since]
    if order.largest:
        return gap_tree.argmax(order.tree)
    uniform = order.uniforms[iterate.counts[DRAWS_USED]]
    if order.tree.nodes[1, gap_tree.TOTAL] > 0.0:
        return gap_tree.draw(order.tree, uniform)
    return int(uniform * len(order.ordered))


@following_block.register(ByGap)
def _(order, iterate):  # a step that changes a gap may change it
    position, used = iterate.counts[STEPS_TAKEN] + 1 - order.ordered_since, iterate.counts[DRAWS_USED] + 1
    if position < len(order.ordered):
        return order.ordered[position]
    if not order.largest and used < len(order.uniforms) and 0.0 < order.tree.nodes[1, gap_tree.TOTAL] < np.inf:
        return gap_tree.draw(order.tree, order.uniforms[used])
    return -1


@note_step.register(ByGap, ByOwnGap)
def _(order, i, gap, hit, iterate):
    if not hit:
        gap_tree.update(order.tree, i, priority(order.curvature, i, iterate.gaps[i]))


@has_ended.register(ByGap)
def _(order, iterate):
    k, n, total = iterate.counts[STEPS_TAKEN], len(iterate.gaps), order.tree.nodes[1, gap_tree.TOTAL]
    if total <= order.target:
        return True
    if order.restart_below == 0.0:
        return False
    if k == order.ordered_since + n:  # The pass that ignores the gaps has ended, so all gaps are known.
        iterate.mean_gap[0], iterate.counts[GAPS_KNOWN] = total / n, 1
    # A restart comes at least n steps after all gaps were known, so it costs no more than the steps in between. Otherwise a few
    # examples with nearly all of the gap could cause one restart after the other.
    return k >= max(order.ordered_since, order.refreshed) + n and total < order.restart_below * n * iterate.mean_gap[0]


@next_block.register(ByOwnGap)
def _(order, iterate):
    uniform = order.uniforms[iterate.counts[DRAWS_USED]]
    if order.tree.nodes[1, gap_tree.TOTAL] > 0.0:
        return gap_tree.argmax(order.tree) if order.largest else gap_tree.draw(order.tree, uniform)
    return order.own[int(uniform * len(order.own))]


@next_block.register(InOrderToGap)
def _(order, iterate):
    return next_block(order.given, iterate)


@following_block.register(InOrderToGap)
def _(order, iterate):
    return following_block(order.given, iterate)


@note_step.register(InOrderToGap)
def _(order, i, gap, hit, iterate):
    if not hit:
        gap_tree.update(order.tree, i, iterate.gaps[i])


@has_ended.register(InOrderToGap)
def _(order, iterate):
    return order.tree.nodes[1, gap_tree.TOTAL] <= order.target


# --- in Python --------------------------------------------------------------------------------------------------------


@dataclass
class Order:
    """An order that is drawn beforehand: uniform, perm, cyclic, lipschitz, or given by the caller."""

    draws: Draws
    rounds: ClassVar[None] = None

    def kernel_order(self, run, draws: np.ndarray, target_gap: float):
        """Return the order of the next steps, one per draw at most; the series may end at a known gap of ``target_gap``."""
        if not run.setting.ends_at_known_gap:
            return InOrder(draws)
        return InOrderToGap(InOrder(draws), gap_tree.new_tree(run.state.iterate.gaps), target_gap * run.problem.n)

    def shares(self, draws: np.ndarray, parts: int, step: int, gaps: np.ndarray) -> list[tuple[Callable, np.ndarray]]:
        """Return the order of each thread t for the next steps, which has the examples i with i % parts = t.

        An order is a function of draws, and the draws themselves, one per step.
        """
        if self.draws.rule != "uniform":
            return [(InOrder, draws[draws % parts == t]) for t in range(parts)]
        # As many for each thread: example t of those that were drawn together with i.
        own = [draws[t::parts] // parts * parts + t for t in range(parts)]
        return [(InOrder, np.where(i < len(gaps), i, i - parts)) for i in own]

    def note_gaps(self, gaps: np.ndarray) -> None:
        """Use block gaps that steps on threads have found."""

    def use_gaps(self, gaps: np.ndarray) -> None:
        """Use block gaps that were computed outside of steps."""

    def note_new_centre(self, drawn: int) -> None:
        """Account for a new centre, which has changed w, after so many draws."""

    def resume(self, run, target_gap: float) -> bool:
        """Prepare the next series of steps after this order has ended one; return whether the known gap has reached the target."""
        return run.setting.ends_at_known_gap


@dataclass
class GapOrder(Order):
    """The orders gap, gap_perm, max_gap and max_gain."""

    tree: gap_tree.Tree
    passes: Draws  # the examples of passes that ignore the gaps
    curvature: np.ndarray  # this and the following as in `ByGap`
    largest: bool
    restart_below: float
    ordered: np.ndarray
    ordered_since: int = 0

    def kernel_order(self, run, draws, target_gap):
        target = target_gap * run.problem.n if run.setting.ends_at_known_gap else -1.0
        fields = self.tree, self.curvature, run.state.refreshed, self.restart_below, target
        return ByGap(self.largest, self.ordered, self.ordered_since, draws, *fields)

    def shares(self, draws, parts, step, gaps):
        if (left := self.ordered_since + len(gaps) - step) > 0:
            examples = self.ordered[len(gaps) - left :][: len(draws)]
            return [(InOrder, examples[examples % parts == t]) for t in range(parts)]
        orders = []
        for t in range(parts):
            own = np.arange(t, len(gaps), parts)
            priorities = np.zeros(len(gaps))
            priorities[own] = self._priorities(gaps)[own]
            tree = gap_tree.new_tree(priorities)
            orders.append((partial(ByOwnGap, self.largest, own, tree=tree, curvature=self.curvature), draws[t::parts].copy()))
        return orders

    def _priorities(self, gaps: np.ndarray) -> np.ndarray:
        return gaps**2 / self.curvature if len(self.curvature) else gaps

    def note_gaps(self, gaps):
        gap_tree.fill(self.tree, self._priorities(gaps))

    def use_gaps(self, gaps):
        self.note_gaps(gaps)
        if self.passes.rule == "cyclic":  # Only unknown gaps come in the order of the data.
            self.ordered_since = -len(gaps)

    def begin_pass(self, drawn: int) -> None:
        """Visit all examples once, regardless of their gaps, after so many draws."""
        self.ordered, self.ordered_since = self.passes.take(len(self.ordered)), drawn

    def note_new_centre(self, drawn):
        if self.passes.rule == "perm":
            self.begin_pass(drawn)

    def resume(self, run, target_gap):
        if run.setting.ends_at_known_gap and self.tree.nodes[1, gap_tree.TOTAL] <= target_gap * run.problem.n:
            return True
        # Visiting all examples costs at most as many calls as a refresh, and takes a step for each.
        if run.state.centre is None:
            self.begin_pass(run.step)
        else:
            run.state.centre.next_step = run.step
        return False


@dataclass
class RoundsOrder(Order):
    """The order shrinking."""

    rounds: shrinking.Rounds

    def kernel_order(self, run, draws, target_gap):
        state, acceleration, centre = run.state, run.acceleration, NO_CENTRE
        until = acceleration.next_centre(state)
        if acceleration.kernels_move_centres(state):
            own = state.centre
            centre, until = Centre(own.z, own.w_old, own.times, own.watched, own.kap, own.lam), np.inf  # with the safeguard
        return shrinking.Shrinking(self.rounds, centre, draws, until, acceleration.waits_for_slow_round(state), target_gap)

    def resume(self, run, target_gap):
        if run.acceleration.waits_for_slow_round(run.state) and shrinking.slows_down(self.rounds):
            run.acceleration.begin(run)
        is_near = self.rounds.gaps[1] <= target_gap * run.problem.n
        return bool(is_near and run.estimated_gap() <= target_gap)


def new_order(sampling: str, problem, seed, given: np.ndarray | None, repeats: bool, refreshes: bool) -> Order:
    """Return the order of a run at its start; ``given`` examples replace any other, again and again if it ``repeats``."""
    # Unknown gaps count as infinite, so orders by gap visit all examples first. ``refreshes``: the run computes all gaps at times.
    n = problem.n
    if given is not None:
        return Order(fixed_order_draws(given, repeat=repeats))
    if sampling == "shrinking":
        return RoundsOrder(uniform_draws(seed), shrinking.new_rounds(n))
    if sampling == "lipschitz":
        return Order(lipschitz_draws(radii_sq(problem), seed))
    if sampling not in BY_GAPS:
        return Order(order_draws(sampling, n, seed))
    # C_i is proportional to R_i^2, and the largest G_i^2/C_i is the ideal rule of Osokin et al., section 3.1.
    curvature = at_least_some(radii_sq(problem)) if sampling == "max_gain" else np.empty(0)
    passes = order_draws("perm" if sampling == "gap_perm" else "cyclic", n, seed)
    restart_below = RESTART_BELOW if sampling == "gap_perm" and refreshes else 0.0
    tree, ordered = gap_tree.new_tree(np.full(n, np.inf)), passes.take(n)
    return GapOrder(uniform_draws(seed), tree, passes, curvature, sampling.startswith("max"), restart_below, ordered)
