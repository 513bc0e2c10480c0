"""Which example a block step takes: the rules of ``sampling``, on random choices that are drawn outside the kernels.

``sampling`` gap is that of the published code (Osokin et al., ICML 2016, section 3.1), whose first pass goes through the data in
their order: a bad one where examples that are alike stand together. Ours, ``gap_perm``, goes through them in random order: at
first, after each new centre, and, unless ``refresh`` is 0, as soon as what is known of the gaps has all but vanished.
Block gaps are kept times n: G_i = n gap_i.
"""

from typing import NamedTuple

import numpy as np

from fwexp.blocks import gap_tree, shrinking
from fwexp.blocks.counts import CACHE_HITS, GAPS_KNOWN, ORACLE_CALLS
from fwexp.blocks.sampling import Draws, at_least_some, fixed_order_draws, lipschitz_draws, order_draws, uniform_draws
from fwexp.jit.compilation import dispatched, inlined
from fwexp.problems.protocol import radii_sq

# Kinds of rules, as numbers for kernels.
IN_ORDER, BY_GAP, LARGEST_GAP = 0, 1, 2
KINDS = {"gap": BY_GAP, "gap_perm": BY_GAP, "max_gap": LARGEST_GAP, "max_gain": LARGEST_GAP}

SPENT = 1e-3  # of the sum of all gaps when last looked at: what is less is a reason for ``gap_perm`` to visit all examples


class SamplingRule(NamedTuple):
    """Which example comes next."""

    kind: int
    order: np.ndarray  # int64, IN_ORDER: the examples to visit; else those of a pass that looks at no gaps, from step ``since`` on
    since: int  # of no meaning where IN_ORDER
    uniforms: np.ndarray  # float64, draws for BY_GAP
    tree: gap_tree.Tree  # over what each example is worth
    curvature: np.ndarray  # float64 (n,), C_i up to a factor where an example is worth G_i^2/C_i; empty where it is worth G_i
    refreshed: int  # step at which all gaps were last computed, -1 if they were not
    spent: float  # share of the sum of all gaps below which nothing is left to choose by; 0 to go on whatever is left


@inlined
def worth(curvature, i, gap):
    """Return what the example counts in a rule that looks at gaps."""
    return gap * gap / curvature[i] if len(curvature) > 0 else gap


@dispatched(fastmath=False)
def gaps_are_spent(rule, k, n, iterate):
    """Return whether after k steps the known gaps leave nothing to choose by, or whatever else ends a series of steps."""


@dispatched(fastmath=False)
def next_example(rule, k, used, expected, iterate):
    """Return the example of step k, the ``used``-th of this series; ``expected`` is it where that is known, else -1."""


@dispatched(fastmath=False)
def example_after(rule, k, used):
    """Return the example of the step after step k where it is known already, else -1."""


@dispatched(fastmath=False)
def note_gap(rule, i, gap, hit, iterate):
    """Take note of the gap that a step found, which is G_i if the oracle was called for it."""


@dispatched(fastmath=False)
def note_pass(rule, k, n, iterate):
    """Take note of the sum of all gaps if the first k steps end a pass that looks at none."""


@gaps_are_spent.register(SamplingRule)
def _(rule, k, n, iterate):
    # It is asked only n steps after all gaps were computed or all examples visited in order: so that to visit all anew costs no
    # more than the steps in between, where a few examples have nearly all of the gap as well.
    if rule.spent == 0.0 or k < max(rule.since, rule.refreshed) + n:
        return False
    return rule.tree.nodes[1, gap_tree.TOTAL] < rule.spent * n * iterate.exact_gap[0]


@next_example.register(SamplingRule)
def _(rule, k, used, expected, iterate):
    if expected >= 0:
        return expected
    if rule.kind == IN_ORDER:
        return rule.order[used]
    if k < rule.since + len(rule.order):
        return rule.order[k - rule.since]
    if rule.kind == LARGEST_GAP:
        return gap_tree.argmax(rule.tree)
    if rule.tree.nodes[1, gap_tree.TOTAL] > 0.0:
        return gap_tree.draw(rule.tree, rule.uniforms[used])
    return int(rule.uniforms[used] * len(rule.order))


@example_after.register(SamplingRule)
def _(rule, k, used):
    place = used + 1 if rule.kind == IN_ORDER else k + 1 - rule.since
    if place < len(rule.order):
        return rule.order[place]
    if rule.kind == BY_GAP and used + 1 < len(rule.uniforms) and rule.tree.nodes[1, gap_tree.TOTAL] > 0.0:
        return gap_tree.draw(rule.tree, rule.uniforms[used + 1])
    return -1


@note_gap.register(SamplingRule)
def _(rule, i, gap, hit, iterate):
    if hit:
        iterate.counts[CACHE_HITS] += 1
        return
    iterate.counts[ORACLE_CALLS] += 1
    iterate.gaps[i] = max(gap, 0.0)
    if rule.kind != IN_ORDER:
        gap_tree.update(rule.tree, i, worth(rule.curvature, i, iterate.gaps[i]))


@note_pass.register(SamplingRule)
def _(rule, k, n, iterate):
    if rule.spent > 0.0 and k == rule.since + n:
        iterate.exact_gap[0], iterate.counts[GAPS_KNOWN] = rule.tree.nodes[1, gap_tree.TOTAL] / n, 1


for _of_any, _of_rounds in (
    (gaps_are_spent, shrinking.round_ends),
    (next_example, shrinking.next_example),
    (example_after, shrinking.example_after),
    (note_gap, shrinking.note_gap),
    (note_pass, shrinking.note_pass),
):
    _of_any.register(shrinking.Shrinking)(_of_rounds)


class Sampling:
    """Choice of examples, of a solver with the state of ``bcfw``."""

    def prepare_sampling(self) -> None:
        """Set up what is no state."""
        # C_i is in proportion to R_i^2: the examples of largest G_i^2/C_i are the ideal rule of G16, section 3.1.
        self._curvature = at_least_some(radii_sq(self.problem)) if self.options.sampling == "max_gain" else np.empty(0)

    @property
    def looks_at_gaps(self) -> bool:
        """Whether the rule does."""
        return self.options.sampling in KINDS

    def new_draws(self, seed, order) -> Draws:
        """Set up the choice of examples; unknown gaps count as infinite, so gap rules visit all examples first."""
        if order is not None:
            return fixed_order_draws(order, repeat=self.has_cache)  # cache hits use it up as well
        if self.looks_at_gaps or self.shrinks:
            return uniform_draws(seed)
        if self.options.sampling == "lipschitz":
            return lipschitz_draws(radii_sq(self.problem), seed)
        return order_draws(self.options.sampling, self.problem.n, seed)

    @property
    def shrinks(self) -> bool:
        """Whether there are rounds."""
        return self.options.sampling == "shrinking"

    @property
    def ticks(self) -> int:
        """What acceleration counts: rounds where there are some, else steps."""
        return int(self.state.rounds.at[shrinking.ENDED]) if self.shrinks else self.step

    @property
    def watches(self) -> bool:
        """Whether the rounds have to say when acceleration begins."""
        return self.shrinks and self.options.accelerate is not False and self.state.centre is None

    def new_rounds(self) -> shrinking.Rounds:
        """Set up the rounds, which have no examples where there are none."""
        return shrinking.new_rounds(self.problem.n if self.shrinks else 0)

    def new_passes(self, seed) -> Draws | None:
        """Set up the passes in which a rule that looks at gaps does not: in random order, or in that of the data."""
        if not self.looks_at_gaps:
            return None
        return order_draws("perm" if self.options.sampling == "gap_perm" else "cyclic", self.problem.n, seed)

    def new_tree(self) -> gap_tree.Tree:
        """Set up the tree over what examples are worth, of which there is one leaf where nobody looks."""
        return gap_tree.new_tree(np.zeros(self.problem.n if self.looks_at_gaps else 1))

    def sampling_rule(self, draws: np.ndarray) -> SamplingRule | shrinking.Shrinking:
        """Return the rule for the next steps, one for each of ``draws`` at most."""
        state, kind = self.state, KINDS.get(self.options.sampling, IN_ORDER)
        if self.shrinks:
            centre, until = shrinking.NO_CENTRE, self.next_centre
            if self.kernels_move_centres and state.centre is not None:
                centre, until = state.centre.for_kernels, np.inf
            return shrinking.Shrinking(state.rounds, centre, draws, until, self.watches, self.aim)
        spent = SPENT if self.options.sampling == "gap_perm" and self.options.refresh_passes else 0.0
        order, uniforms = (draws, np.empty(0)) if kind == IN_ORDER else (state.ordered, draws)
        return SamplingRule(kind, order, state.ordered_since, uniforms, state.tree, self._curvature, state.refreshed, spent)

    def set_worths(self) -> None:
        """Have the tree hold what the known gaps make examples worth."""
        gaps = self.state.iterate.gaps
        if self.looks_at_gaps:
            gap_tree.fill(self.state.tree, gaps**2 / self._curvature if len(self._curvature) else gaps)

    def begin_ordered_pass(self) -> None:
        """Visit all examples once: in the order of the data, as the published code does in its first pass, or in a random one."""
        self.state.ordered, self.state.ordered_since = self.state.passes.take(self.problem.n), self.step

    def look_anew(self) -> None:
        """Where the known gaps leave nothing to choose by, visit all examples anew, at a new centre if there is one.

        That costs at most the calls of a refresh, and takes a step for each. Of rounds there are always more.
        """
        if self.shrinks:
            if self.watches and shrinking.slows_down(self.state.rounds):
                self.begin_acceleration()
            promised = self.state.rounds.gaps[1] <= self.aim * self.problem.n
            self.event = bool(promised and self.estimated_gap() <= self.aim)
        elif self.state.centre is None:
            self.begin_ordered_pass()
        else:
            self.state.centre.next_step = self.step
