"""Shrinking (`sampling` shrinking): rounds, in random order, through the examples that are not settled.

An example is settled while its visits find no gap. It then waits for 2 rounds, then for 4, 8 and at most `LONGEST`; an example that
has a gap again is in every round. So no example is left out for good, as in Joachims (1999) and LIBLINEAR (Fan, Chang, Hsieh, Wang
and Lin, JMLR 2008) until the end, and every certificate rests on all examples.

Acceleration counts rounds instead of passes. It begins when rounds bring little: with the second one whose gaps sum to more than
`SLOW` times those of the round before. The kernel moves its centres between rounds (`centres`), because a round of a small problem
takes less time than a call from Python.
"""

from typing import NamedTuple

import numpy as np

from fwexp.blocks.block_loop import DRAWS_USED, following_block, has_ended, next_block, note_step
from fwexp.blocks.centres import NEXT, Centre, known_gap, move_centre
from fwexp.jit.compilation import register_jitable

LONGEST = 16  # rounds
SLOW = 0.65
VISITED, DUE, ENDED = 0, 1, 2  # places in `Rounds.progress`: examples visited in this round, its examples, rounds that have ended


class Rounds(NamedTuple):
    """The state of the rounds; part of a solver's state."""

    progress: np.ndarray  # int64 (3,)
    examples: np.ndarray  # int64 (n,): the examples of this round, the visited ones first
    wait: np.ndarray  # int64 (n,), rounds until an example is due
    pause: np.ndarray  # int64 (n,), rounds that it waited for last
    gaps: np.ndarray  # float64 (3,), the sums of the G_i found in this round, in the last one and in the one before


class Shrinking(NamedTuple):
    """The order of some steps."""

    rounds: Rounds
    centre: Centre
    uniforms: np.ndarray  # float64, a draw per step
    until: float  # number of rounds after which the series of steps ends
    ends_when_slow: bool  # whether the series ends with a round that brought little
    target_gap: float  # The series ends with a round after which the known gap is at most this.


def new_rounds(n: int) -> Rounds:
    """Return the state before the first round, in which all n examples are due."""
    progress, gaps = np.zeros(3, dtype=np.int64), np.zeros(3)
    return Rounds(progress, np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), np.ones(n, dtype=np.int64), gaps)


@register_jitable
def slows_down(rounds):
    """Return whether the last round brought little."""
    return rounds.progress[ENDED] >= 2 and rounds.gaps[1] > SLOW * rounds.gaps[2]


# --- in kernels -------------------------------------------------------------------------------------------------------


@register_jitable
def _begin_round(rounds):
    """Collect the examples that are due in the next round that has any."""
    due = 0
    while due == 0:
        for i in range(len(rounds.wait)):
            wait = rounds.wait[i] - 1
            rounds.wait[i] = wait
            # Branch-free, because a branch here would be unpredictable: the entry is overwritten unless the example is due.
            rounds.examples[due] = i
            due += wait <= 0
    rounds.progress[VISITED], rounds.progress[DUE] = 0, due


@register_jitable
def _drawn(rounds, uniform):
    """Return a random position among the examples that are left in this round."""
    left = rounds.progress[DUE] - rounds.progress[VISITED]
    return rounds.progress[VISITED] + min(int(uniform * left), left - 1)


@next_block.register(Shrinking)
def _(order, iterate):
    rounds = order.rounds
    if rounds.progress[VISITED] == rounds.progress[DUE]:
        if len(order.centre.z) > 0 and rounds.progress[ENDED] >= order.centre.times[NEXT]:
            move_centre(order.centre, iterate.gaps, iterate.w)
        _begin_round(rounds)
    position, first = _drawn(rounds, order.uniforms[iterate.counts[DRAWS_USED]]), rounds.progress[VISITED]
    i = rounds.examples[position]
    rounds.examples[position], rounds.examples[first] = rounds.examples[first], i
    rounds.progress[VISITED] = first + 1
    return i


@following_block.register(Shrinking)
def _(order, iterate):
    rounds, used = order.rounds, iterate.counts[DRAWS_USED] + 1
    if rounds.progress[VISITED] == rounds.progress[DUE] or used >= len(order.uniforms):
        return -1
    return rounds.examples[_drawn(rounds, order.uniforms[used])]


@note_step.register(Shrinking)
def _(order, i, gap, hit, iterate):
    rounds = order.rounds
    rounds.pause[i] = 1 if hit or gap > 0.0 else min(2 * rounds.pause[i], LONGEST)
    rounds.wait[i] = rounds.pause[i]
    rounds.gaps[0] += max(gap, 0.0)
    if rounds.progress[VISITED] == rounds.progress[DUE]:
        rounds.progress[ENDED] += 1
        rounds.gaps[2], rounds.gaps[1], rounds.gaps[0] = rounds.gaps[1], rounds.gaps[0], 0.0


@has_ended.register(Shrinking)
def _(order, iterate):  # only at the end of a round
    progress, gaps = order.rounds.progress, order.rounds.gaps
    if progress[VISITED] != progress[DUE]:
        return False
    if progress[ENDED] >= order.until or (order.ends_when_slow and slows_down(order.rounds)):
        return True
    # The sum of a round is a cheap test that comes before the gap at all examples.
    near = gaps[1] <= order.target_gap * len(iterate.gaps)
    return near and known_gap(order.centre, iterate.gaps, iterate.w) <= order.target_gap
