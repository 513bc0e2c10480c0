"""Scheme ``oracles``, for costly ones: workers answer with labelings, and block steps are taken here.

    1  every part has up to ``in_flight`` messages of ``tau`` examples and a recent w
    2  for each answer y, whenever it comes: an exact line-search step of its block towards y, at the w of now
    3  while nothing comes: a step of a random block within its stored labelings (``replay``)

An old answer is a poor direction at worst: the step of the best length never lowers the dual. With one part, one
message in flight, ``tau`` = 1 and no ``replay`` this is ``bcfw``, step by step.
"""

import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwexp.blocks.block_loop import ORACLE_CALLS, STEPS_TAKEN
from fwexp.blocks.corners import StoringOracle
from fwexp.blocks.orders import Order
from fwexp.blocks.sampling import Draws, fixed_order_draws, order_draws
from fwexp.distributed.schemes import Scheme
from fwexp.distributed.worker import FAULTS
from fwexp.solvers.base import Budget, Stop
from fwexp.solvers.bcfw import State

MESSAGE = 0.1  # seconds of oracle calls in a message, which takes some milliseconds of work here
LONGEST_WAIT = 0.1  # seconds between two looks at messages that may be overdue
REPLAYS = 5  # steps with stored labelings per oracle call, at most
STEP_SECONDS = 1e-3  # of such steps, and then of none: this process also has the thread that listens, and workers on its cores


class Message(NamedTuple):
    """Examples that a part was asked for."""

    k: int
    examples: np.ndarray  # int64, numbers in the part
    since: float


@dataclass
class OraclesState(State):
    """The state of ``bcfw``, and the next examples in each part."""

    streams: list[Draws]
    replays: int
    lost: int  # messages that had to be sent again


class Oracles(Scheme):
    """Block-coordinate Frank-Wolfe whose oracle is answered by workers."""

    name = "bcfw"
    title = "block-coordinate Frank-Wolfe with oracles on workers"
    steps = ("fw", "corrective", "pairwise", "away")

    def start(self, seed, iterates, order, warm_start):
        super().start(seed, iterates, order, warm_start)
        sizes, kind = self.problem.sizes, self.options.sampling
        streams = [order_draws(kind, int(size), seed if k == 0 else [seed, k]) for k, size in enumerate(sizes)]
        self.state = OraclesState(**vars(self.state), streams=streams, replays=0, lost=0)
        self.state.order = Order(fixed_order_draws(np.empty(0, dtype=np.int64)))  # the examples whose answers have come
        self._messages: dict = {}  # by future
        self._replaying, self._rng = False, np.random.default_rng(seed)
        self.problem.queued.clear()
        seconds = np.mean([about.seconds for about in self.problem.about])
        largest = max(1, int(min(sizes)) // (2 * self.options.in_flight))
        self._tau = self.options.tau or int(np.clip(MESSAGE / max(seconds, 1e-9), 1, largest))

    def restore(self, state):
        super().restore(state)
        self._messages.clear()
        self.state.order.draws.drop(len(self.state.order.draws.rest))  # their answers were not saved
        self.problem.queued.clear()

    def advance(self, budget):
        state, counts, stop = self.state, self.state.iterate.counts, Stop()
        while counts[ORACLE_CALLS] < budget.calls and counts[STEPS_TAKEN] < budget.steps:
            if len(state.order.draws.rest) == 0:
                self._listen()
            stop = super().advance(budget)
        return stop

    # --- 1: messages ---

    def _ask(self, k: int, examples: np.ndarray) -> None:
        future = self.problem.ask(k, "answers", examples, self.state.iterate.w.copy(), self.problem.dense)
        self._messages[future] = Message(k, examples, time.monotonic())

    def _listen(self) -> None:
        """Ask, and wait for answers; queue those that came."""
        self._give_up_overdue()
        for k, stream in enumerate(self.state.streams):
            for _ in range(self.options.in_flight - sum(message.k == k for message in self._messages.values())):
                self._ask(k, stream.take(self._tau))
        while not (ready := [future for future in self._messages if future.done()]):
            if self._may_replay:
                end = time.monotonic() + STEP_SECONDS
                while self._may_replay and time.monotonic() < end:
                    self._step_among_stored()
                time.sleep(STEP_SECONDS)
            else:
                wait(list(self._messages), LONGEST_WAIT, FIRST_COMPLETED)
            self.problem.look(next(iter(self._messages.values())).k)
            self._give_up_overdue()
        for future in ready:
            self._take(future)

    def _take(self, future) -> None:
        """Queue the answers of a message, or send it again."""
        message = self._messages.pop(future, None)
        if message is None:  # it was asked for again, or has come before
            return
        try:
            answers = future.result()
        except FAULTS:
            self._send_again(message.k, [message])
            return
        examples = self.problem.index[message.k][message.examples]
        for i, answer in zip(examples.tolist(), answers):
            self.problem.queued.setdefault(i, deque()).append(answer)
        self.state.order.draws.rest = np.concatenate((self.state.order.draws.rest, examples))

    def _give_up_overdue(self) -> None:
        now = time.monotonic()
        overdue = {message.k for message in self._messages.values() if now - message.since > self.problem.patience}
        for k in overdue:
            self._send_again(k, [])

    def _send_again(self, k: int, messages: list) -> None:
        """Send all unanswered messages of a part to another worker."""
        for future in [future for future, message in self._messages.items() if message.k == k]:
            future.cancel()
            messages.append(self._messages.pop(future))
        self.problem.move(k)
        self.state.lost += len(messages)
        for message in messages:
            self._ask(k, message.examples)

    @property
    def lost(self):
        return {"messages": self.state.lost} if self.state.lost else {}

    # --- 3: steps within stored labelings ---

    @property
    def _may_replay(self) -> bool:
        return self.options.replay and not self.setting.keeps_parts and self.state.replays < REPLAYS * self.oracle_calls

    def corner(self):
        """Return the rule that finds corners: while replaying, among stored labelings."""
        return StoringOracle(True, 0.0, 0.0, self.setting.stored, self.sets) if self._replaying else super().corner()

    def _step_among_stored(self) -> None:
        """Take one step with stored labelings; if none is better than the truth, the step is towards the truth."""
        state, i = self.state, int(self._rng.integers(self.problem.n))
        counts, queue = state.iterate.counts, self.problem.queued
        calls, kept = int(counts[ORACLE_CALLS]), queue.get(i)
        queue[i] = deque([self.problem.y[i]])
        state.order.draws.rest, self._replaying = np.array([i]), True
        try:
            super().advance(Budget(calls + 1, int(counts[STEPS_TAKEN]) + 1))
        finally:
            self._replaying = False
            state.order.draws.drop(len(state.order.draws.rest))
            queue.pop(i)
            if kept:
                queue[i] = kept
        state.replays += 1
        counts[ORACLE_CALLS] = calls

    def extras(self):
        return super().extras() | {"cache_hits": float(self.state.replays)}
