"""Shrinking (``sampling`` shrinking): rounds, in random order, through the examples that are not settled.

An example is settled while its visits find no gap: it waits for 2 rounds, then for 4, 8 and at most `LONGEST`, and one that has a
gap again is in every round. So nothing is put away for good, as it is until the end in Joachims (1999) and LIBLINEAR (Fan, Chang,
Hsieh, Wang and Lin, JMLR 2008); and every certificate rests on all examples.

Acceleration counts rounds instead of passes, and begins when they bring little: with the second whose gaps sum up to more than
`SLOW` of those of the round before. Its centres move between rounds in the kernel, as `fwexp.blocks.acceleration` says: of small
problems a round takes less time than a call from Python.
"""

import math
from typing import NamedTuple

import numpy as np

from fwexp.blocks.counts import CACHE_HITS, ORACLE_CALLS
from fwexp.jit.compilation import register_jitable

LONGEST = 16  # rounds
SLOW = 0.5
VISITED, DUE, ENDED = 0, 1, 2  # places in `Rounds.at`: examples visited in this round, those that it has, rounds that have ended


class Rounds(NamedTuple):
    """Where the rounds are; belongs to a solver's state."""

    at: np.ndarray  # int64 (3,)
    examples: np.ndarray  # int64 (n,): those of this round, the visited ones first
    wait: np.ndarray  # int64 (n,), rounds until an example is due
    pause: np.ndarray  # int64 (n,), rounds that it waited for last
    gaps: np.ndarray  # float64 (3,), the sums of the G_i that this round, the last and the one before it have found


class Centre(NamedTuple):
    """The centre of acceleration, for kernels that move it."""

    z: np.ndarray  # internal weights; empty where there is no centre, or kernels do not move it
    w_old: np.ndarray
    times: np.ndarray  # int64 (3,): at the places below
    watched: np.ndarray  # float64 (1,)
    kap: float
    lam: float


PERIOD, NEXT, MOVES = 0, 1, 2  # rounds between new centres, round of the next one, moves so far
WATCH_CENTRES, WATCH_FACTOR = 10, 0.7
NO_CENTRE = Centre(np.empty(0), np.empty(0), np.zeros(3, dtype=np.int64), np.zeros(1), 0.0, 0.0)


class Shrinking(NamedTuple):
    """The rule, for some steps."""

    rounds: Rounds
    centre: Centre
    uniforms: np.ndarray  # float64, a draw per step
    until: float  # rounds after which the series of steps ends
    watches: bool  # whether it ends with a round that brought little
    aim: float  # with one after which the gap seems to be at most this, it ends as well


def new_rounds(n: int) -> Rounds:
    """Return the state before the first round, in which all are due; n is 0 for rules without rounds."""
    at, gaps = np.zeros(3, dtype=np.int64), np.zeros(3)
    return Rounds(at, np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), np.ones(n, dtype=np.int64), gaps)


@register_jitable
def slows_down(rounds):
    """Return whether the last round brought little."""
    return rounds.at[ENDED] >= 2 and rounds.gaps[1] > SLOW * rounds.gaps[2]


# --- in kernels, by the functions of ``sampling_rule`` ------------------------------------------------------------------


@register_jitable
def _begin_round(rounds):
    due = 0
    while due == 0:
        for i in range(len(rounds.wait)):
            wait = rounds.wait[i] - 1
            rounds.wait[i] = wait
            rounds.examples[due] = i  # without a branch, which nobody could predict; of no account unless another one follows
            due += wait <= 0
    rounds.at[VISITED], rounds.at[DUE] = 0, due


@register_jitable
def _drawn(rounds, uniform):
    """Return a place among the examples that are left."""
    left = rounds.at[DUE] - rounds.at[VISITED]
    return rounds.at[VISITED] + min(int(uniform * left), left - 1)


@register_jitable
def momentum(kap):
    """Return beta."""
    root = math.sqrt(1.0 / (1.0 + kap))
    return (1.0 - root) / (1.0 + root)


@register_jitable
def plan_next(times, watched, gap):
    """Say when the next centre is chosen; ``gap`` is that of the original problem, inf if it is not watched."""
    times[MOVES] += 1
    if times[MOVES] % WATCH_CENTRES == 0:
        if gap > WATCH_FACTOR * watched[0]:
            times[PERIOD] *= 2
        watched[0] = gap
    times[NEXT] += times[PERIOD]


@register_jitable
def _known_gap(centre, gaps, w):
    """Return the gap of the original problem as the last known ones have it; at least so much if Python moves the centre."""
    gap, away = 0.0, 0.0
    for i in range(len(gaps)):
        gap += gaps[i]
    for j in range(len(centre.z)):
        away += (w[j] - centre.z[j]) ** 2
    return gap / len(gaps) + 0.5 * centre.lam * centre.kap**2 * away


@register_jitable
def _move(centre, gaps, w):
    """Choose a new centre and shift w; what is known of the gaps is watched."""
    watches = (centre.times[MOVES] + 1) % WATCH_CENTRES == 0
    gap = _known_gap(centre, gaps, w) if watches else 0.0
    beta, share = momentum(centre.kap), centre.kap / (1.0 + centre.kap)
    for j in range(len(w)):
        z = w[j] + beta * (w[j] - centre.w_old[j])
        centre.w_old[j] = w[j]
        w[j] += share * (z - centre.z[j])
        centre.z[j] = z
    plan_next(centre.times, centre.watched, gap)


def next_example(rule, k, used, expected, iterate):
    """Return the example of step k, the ``used``-th of this series: any of those that are left."""
    rounds = rule.rounds
    if rounds.at[VISITED] == rounds.at[DUE]:
        if len(rule.centre.z) > 0 and rounds.at[ENDED] >= rule.centre.times[NEXT]:
            _move(rule.centre, iterate.gaps, iterate.w)
        _begin_round(rounds)
    place, first = _drawn(rounds, rule.uniforms[used]), rounds.at[VISITED]
    i = rounds.examples[place]
    rounds.examples[place], rounds.examples[first] = rounds.examples[first], i
    rounds.at[VISITED] = first + 1
    return i


def example_after(rule, k, used):
    """Return the example of the step after, -1 where it is in the next round or series."""
    rounds = rule.rounds
    if rounds.at[VISITED] < rounds.at[DUE] and used + 1 < len(rule.uniforms):
        return rounds.examples[_drawn(rounds, rule.uniforms[used + 1])]
    return -1


def note_gap(rule, i, gap, hit, iterate):
    """Take note of the gap that a step found, and of the end of a round."""
    rounds = rule.rounds
    iterate.counts[CACHE_HITS if hit else ORACLE_CALLS] += 1
    if not hit:
        iterate.gaps[i] = max(gap, 0.0)
    rounds.pause[i] = 1 if hit or gap > 0.0 else min(2 * rounds.pause[i], LONGEST)
    rounds.wait[i] = rounds.pause[i]
    rounds.gaps[0] += max(gap, 0.0)
    if rounds.at[VISITED] == rounds.at[DUE]:
        rounds.at[ENDED] += 1
        rounds.gaps[2], rounds.gaps[1], rounds.gaps[0] = rounds.gaps[1], rounds.gaps[0], 0.0


def note_pass(rule, k, n, iterate):
    """Passes do not matter here."""


def round_ends(rule, k, n, iterate):
    """Return whether a round has ended that ends a series of steps."""
    at, gaps = rule.rounds.at, rule.rounds.gaps
    if at[VISITED] != at[DUE]:
        return False
    if at[ENDED] >= rule.until or (rule.watches and slows_down(rule.rounds)):
        return True
    return gaps[1] <= rule.aim * n and _known_gap(rule.centre, iterate.gaps, iterate.w) <= rule.aim
