"""Block steps whose oracle calls come in batches, for threads: several examples at one w, then their steps in order.

Three batches are on their way at any time. While threads call the oracle for one, at the w of when it was complete, the loop

    1  takes the steps of the batch before, towards the labelings that the oracle found, each at the w of now;
    2  draws examples for the batch behind, until it is full. One whose stored labeling may replace the oracle (the cache) takes
       its step at once, as without batches; the others join the batch.

So the oracle answers at a w that is at most two batches old. An old answer is a poor direction at worst: the best step towards it
never lowers the dual. An example waits in one batch at a time: drawn again, it ends the batch early. All of this follows
from ``batch``, the size, and not from the number of threads, which only say when the work is done.
"""

import time
from typing import NamedTuple

import numpy as np

from fwexp.blocks import active_set
from fwexp.blocks.averaging import update_averages
from fwexp.blocks.block_loop import (
    BLOCKS_FULL,
    DONE,
    NO_ROOM,
    ORDER_ENDED,
    SET_FULL,
    UNSTORED,
    Oracle,
    block_has_room,
    has_ended,
    next_block,
    note_step,
    take_step,
)
from fwexp.blocks.corners import StoringOracle, find_serving, note_loss, score_stored
from fwexp.blocks.counts import CACHE_HITS, DRAWS_USED, MET_GLOBAL, MET_LOCAL, ORACLE_CALLS, STEPS_TAKEN, WAITING
from fwexp.blocks.duals import block_gap
from fwexp.jit.compilation import dispatched, inlined, njit, specialise
from fwexp.jit.threads import parallel_for
from fwexp.problems.evaluation import chunks_of
from fwexp.problems.protocol import (
    loss,
    new_labelings,
    new_weights,
    score_labelings,
    scores,
    store_labeling,
    stored_labeling,
)

WORTH = 3e-4  # seconds of oracle calls in a batch below which other threads would come too late
BATCH_FULL = 4  # A reason why a series of steps ended, next to those of `block_loop`.
STEPPED, ANSWERED, ASKED, COLLECTED, OPEN = 0, 1, 2, 3, 4  # Places in the counts of batches.


class Batches(NamedTuple):
    """The examples that wait, in the order in which they were drawn."""

    answered: np.ndarray  # int64 (batch,), those whose labelings have come
    asked: np.ndarray  # int64 (batch,), those that the oracle is called for
    collected: np.ndarray  # int64 (batch,), those drawn for the batch behind
    counts: np.ndarray  # int64 (5,): steps taken of the answered; sizes of the three; 1 while the asked have no answer
    waits: np.ndarray  # bool (n,), whether the example is in one of the three
    labelings: np.ndarray  # what the oracle found, by example
    gaps: np.ndarray  # float64 (n,), G_i at the w of the call: block i does not change while the example waits
    w: np.ndarray  # the weights at which the oracle is called for those asked for


def new_batches(problem, size: int) -> Batches:
    """Return empty batches."""
    n, three = problem.n, (np.zeros(size, dtype=np.int64) for _ in range(3))
    found = np.zeros(n, dtype=bool), new_labelings(problem), np.zeros(n), new_weights(problem)
    return Batches(*three, np.zeros(5, dtype=np.int64), *found)


def advanced(batches: Batches, w: np.ndarray) -> Batches:
    """Return the batches one place further, after all steps of those answered: what was collected is asked for, at w."""
    counts, batches.w[:] = batches.counts, w
    counts[:] = 0, counts[ASKED], counts[COLLECTED], 0, counts[COLLECTED] > 0
    return batches._replace(answered=batches.asked, asked=batches.collected, collected=batches.answered)


@njit
def answer(problem, start, end, batches, iterate, work):
    """Call the max-oracle for the examples at the places start .. end of those asked for."""
    for k in range(start, end):
        i = batches.asked[k]
        scores(problem, i, batches.w, work.theta)
        batches.gaps[i] = max(block_gap(iterate.dual, problem, i, iterate, work), 0.0)
        store_labeling(problem, i, work.y, batches.labelings)


@njit
def run_batches(problem, iterate, order, corner, step, averages, batches, draws, work, lam, max_calls, max_steps, max_hits):
    """Take steps as `block_loop.run_steps` does, of examples that were answered and of those that need no answer.

    Returns ``BATCH_FULL`` where the batch behind has all examples that it gets, also if there are no ``draws`` any more.
    """
    n, counts, places = problem.n, iterate.counts, batches.counts
    lam_n = lam * n
    counts[DRAWS_USED] = 0
    while counts[ORACLE_CALLS] < max_calls and counts[STEPS_TAKEN] < max_steps and counts[CACHE_HITS] < max_hits:
        is_answered = places[STEPPED] < places[ANSWERED]
        if is_answered:
            i = batches.answered[places[STEPPED]]
        else:
            if places[COLLECTED] == len(batches.collected) or draws == 0:
                return BATCH_FULL
            if counts[DRAWS_USED] == draws:
                return DONE
            i = next_block(order, iterate)
            if batches.waits[i]:
                return BATCH_FULL
        if not block_has_room(iterate.dual, problem, i):
            return BLOCKS_FULL
        if is_answered:
            y = stored_labeling(problem, i, batches.labelings)
            for t in range(len(y)):
                work.y[t] = y[t]
            slot = answered_corner(corner, problem, i, iterate, work)
            if slot == NO_ROOM:
                return SET_FULL
            places[STEPPED] += 1
            counts[WAITING] -= 1
            batches.waits[i] = False
        else:
            counts[DRAWS_USED] += 1
            slot = cached_corner(corner, problem, i, iterate, work)
            if slot == UNSTORED:
                batches.collected[places[COLLECTED]] = i
                places[COLLECTED] += 1
                counts[WAITING] += 1
                batches.waits[i] = True
                continue
        gap, c, loss_change = take_step(step, problem, i, slot, lam_n, iterate, work)
        iterate.losses[i] += loss_change
        iterate.ell[0] += loss_change / n
        counts[ORACLE_CALLS if is_answered else CACHE_HITS] += 1
        counts[STEPS_TAKEN] += 1
        if is_answered:
            iterate.gaps[i] = batches.gaps[i]
        note_step(order, i, gap, not is_answered, iterate)
        update_averages(problem, averages, i, work.direction, c, loss_change / n, counts[STEPS_TAKEN])
        if has_ended(order, iterate):
            return ORDER_ENDED
    return DONE


class BatchCalls:
    """Calls the oracle for one batch, in threads, while the loop takes the steps of another and draws a third.

    ``new_work`` returns the buffers of a thread.
    """

    def __init__(self, problem, new_work) -> None:
        self.problem, self._new_work = problem, new_work
        self._work, self._seconds = [], np.inf  # seconds of a call, the latest

    def run(self, loop, values: tuple, batches: Batches, draws: int, *bounds) -> tuple[int, Batches]:
        """Run `run_batches`, compiled as ``loop`` for its ``values``; return why it ended, and the batches that come next."""
        problem, iterate, ended = self.problem, values[0], DONE
        asked = int(batches.counts[OPEN] * batches.counts[ASKED])
        kernel = specialise(answer, problem, iterate.dual)
        self._work = self._work or [self._new_work(problem) for _ in range(chunks_of(problem))]

        def take_steps() -> None:
            nonlocal ended
            ended = loop(problem, *values, batches, draws, *bounds)

        def call_oracle(k: int, start: int, end: int) -> None:
            begun = time.perf_counter()
            kernel(problem, start, end, batches, iterate, self._work[k])
            self._seconds = (time.perf_counter() - begun) / max(end - start, 1)

        if asked * self._seconds < WORTH:
            take_steps()
            call_oracle(0, 0, asked)
        else:
            parallel_for(call_oracle, asked, min(len(self._work), asked), take_steps)
        batches.counts[OPEN] = 0
        return ended, advanced(batches, iterate.w) if ended == BATCH_FULL else batches

    def compile(self, batches: Batches, iterate) -> None:
        """Compile what calls the oracle."""
        specialise(answer, self.problem, iterate.dual)(self.problem, 0, 0, batches, iterate, self._new_work(self.problem))


# --- corners ----------------------------------------------------------------------------------------------------------


@dispatched(fastmath=False)
def answered_corner(corner, problem, i, iterate, work):
    """Return the slot of the labeling in ``work.y``, which the oracle found before, as `block_loop.find_corner` does."""


@dispatched(fastmath=False)
def cached_corner(corner, problem, i, iterate, work):
    """Return the slot of a stored labeling that replaces an oracle call, or ``UNSTORED`` where none does."""


@answered_corner.register(Oracle)
def _(corner, problem, i, iterate, work):
    scores(problem, i, iterate.w, work.theta)
    return UNSTORED


@cached_corner.register(Oracle)
def _(corner, problem, i, iterate, work):
    return UNSTORED


@answered_corner.register(StoringOracle)
def _(corner, problem, i, iterate, work):
    sets = corner.sets
    if not active_set.has_room(i, corner.size, sets):
        return NO_ROOM
    score_stored(corner, problem, i, iterate, work)
    slot = active_set.store(problem, i, work.y, loss(problem, i, work.y), work.theta, corner.size, sets, work)
    if corner.skips_scores:  # Then it was stored with a score that means nothing.
        _score_from_weights(problem, i, slot, iterate.w, work, sets)
    note_loss(sets, i, slot, iterate)
    return slot


@inlined
def _score_from_weights(problem, i, slot, w, work, sets):
    """Score one stored labeling other than the true one from w."""
    place = sets.first[i] + slot
    if slot > 0:
        score_labelings(problem, i, sets.storage, sets.place[place : place + 1], w, work, sets.score[slot : slot + 1])
        sets.score[slot] = sets.loss[place] - sets.score[slot]


@cached_corner.register(StoringOracle)
def _(corner, problem, i, iterate, work):
    if not corner.serves:
        return UNSTORED
    score_stored(corner, problem, i, iterate, work)
    slot, met_local, met_global = find_serving(corner, problem, i, iterate, work)
    iterate.counts[MET_LOCAL] += met_local
    iterate.counts[MET_GLOBAL] += met_global
    return slot
