"""The two schemes as a discrete-event simulation, by SimPy: the speed of clusters of any size, at measured costs.

The main process, with Dask's scheduler in it, is one resource: it does one thing at a time. Cores are another, which processes
of one machine share by turns; in an ideal cluster each process has one. Nothing is random, no worker is slower than another, and
links between machines are as fast as the main process can fill them. How many passes a run needs is no part of it.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import simpy

from fwexp.distributed.local import FAN_IN
from fwexp.distributed.oracles import STEP_SECONDS

SLICE = 1e-3  # seconds for which a process has a core, where several want it


@dataclass(frozen=True)
class Costs:
    """Seconds of processors, except ``call`` and ``latency``, which are seconds of waiting."""

    call: float = 0.0  # an oracle call where it waits, and needs no core here
    work: float = 0.0  # a call, or a step of ``local``, on a worker's core
    aside: float = 0.0  # work of a worker's core during a call that waits
    step: float = 0.0  # of ``oracles`` in the main process
    message: float = 0.0  # there and back in the main process, without its numbers
    worker_message: float = 0.0  # and its answer on the worker, without its numbers
    exchange: float = 0.0  # work of the main process once in a round of ``local``
    latency: float = 0.0  # a message and its answer on the way, without work of any process
    byte: float = 0.0  # of these numbers
    worker_byte: float = 0.0
    copy: float = 0.0  # the dual block of an example in a copy of all
    worker_copy: float = 0.0


@dataclass(frozen=True)
class Load:
    """Messages and steps of a run: in ``oracles`` with ``tau`` examples, in ``local`` with steps of ``round`` passes."""

    scheme: str
    n: int
    sent: float  # bytes of numbers in a message to a worker
    returned: float  # and in its answer
    tau: int = 10  # this and those below as of `fwexp.distributed.schemes.Options`
    in_flight: int = 2
    round: float = 0.5
    snapshot: float = 10.0


class Machine(NamedTuple):
    """One machine where all processes are, and share its cores."""

    cores: int
    idle: float = 0.0  # the share of a core that an idle Dask takes, in all
    alone: float = 1.0  # seconds per second of processor time where a core is free
    crowded: float = 1.0  # factor if all cores work, which share caches and memory
    turns: float = 1.0  # factor if processes take turns, and each finds the cache of another one


class Simulated(NamedTuple):
    """Results of a simulation."""

    calls_per_second: float
    busy: dict[str, float]  # shares of the time: of the main process by activity, and the mean of the workers

    @property
    def bottleneck(self) -> str:
        """The resource that is busy for the most time; if none is for half of it, the run waits for answers."""
        what, share = max(self.busy.items(), key=lambda item: item[1])
        return what if share >= 0.5 else "rounds"


class Cluster:
    """A main process and workers, at some instant; without a machine every process has a core of its own."""

    def __init__(self, costs: Costs, load: Load, workers: int, machine: Machine | None = None) -> None:
        self.costs, self.load, self.workers, self.machine = costs, load, workers, machine
        self.env = simpy.Environment()
        self.main = simpy.Resource(self.env)
        if machine is not None:
            self.cores = simpy.Resource(self.env, machine.cores)
            self.env.process(self._idle())
        self.busy, self.calls, self.history = Counter(), 0.0, [(0.0, 0.0)]
        self.enough = self.env.event()

    def run(self, calls: float, skip: float = 0.0) -> Simulated:
        """Simulate until so many oracle calls are done, and measure after those to be skipped."""
        self.needed = calls
        if self.load.scheme == "local":
            self.env.process(self._rounds())
        else:
            for _ in range(self.workers):
                self.env.process(self._answer())
            self.env.process(self._replay())
        self.env.run(self.enough)
        end, done = self.history[-1]
        start, before = next(row for row in self.history if row[1] >= skip)
        if before == done:
            start, before = 0.0, 0.0
        shares = {what: seconds / end / (self.workers if what == "workers" else 1) for what, seconds in self.busy.items()}
        return Simulated((done - before) / (end - start), shares)

    # --- the resources ---

    def _compute(self, seconds: float):
        """Use a core for so many seconds, in turns with other processes."""
        if self.machine is None:
            yield self.env.timeout(seconds)
            return
        while seconds > 0:
            with self.cores.request() as core:
                yield core
                yield self.env.timeout(min(seconds, SLICE) * self._slowness)
            seconds -= SLICE

    @property
    def _slowness(self) -> float:
        """Seconds per second of processor time, for a process that has a core."""
        machine, cores = self.machine, self.cores
        return (
            machine.turns
            if len(cores.queue) >= machine.cores
            else machine.crowded
            if cores.count == machine.cores
            else machine.alone
        )

    def _idle(self):
        """Use a core for the background work of an idle process."""
        while True:
            next_one = self.env.timeout(10 * SLICE)
            yield from self._compute(10 * SLICE * self.machine.idle)
            yield next_one

    def _work(self, calls: float):
        """Call the oracle on a worker, or take steps there."""
        self.busy["workers"] += calls * (self.costs.call + self.costs.work)
        if self.costs.aside:
            self.env.process(self._compute(calls * self.costs.aside))
        yield self.env.timeout(calls * self.costs.call)
        yield from self._compute(calls * self.costs.work)

    def _in_main(self, **seconds: float):
        """Use the main process for some tasks, after those that wait already."""
        with self.main.request() as turn:
            yield turn
            for what, needed in seconds.items():
                yield from self._compute(needed)
                self.busy[what] += needed

    def _count(self, calls: float) -> None:
        self.calls += calls
        self.history.append((self.env.now, self.calls))
        if self.calls >= self.needed and not self.enough.triggered:
            self.enough.succeed()

    # --- oracles ---

    def _answer(self):
        """Answer the messages of a worker one after the other, for ever."""
        arrived = simpy.Store(self.env)
        for _ in range(self.load.in_flight):
            self.env.process(self._ask(arrived))
        while True:
            yield arrived.get()
            yield from self._work(self.load.tau)
            self.env.process(self._take(arrived))

    def _ask(self, arrived):
        yield from self._in_main(messages=self.costs.message / 2, bytes=self.load.sent * self.costs.byte)
        yield from self._travel(arrived)

    def _travel(self, arrived):
        yield self.env.timeout(self.costs.latency / 2)
        yield from self._compute(self.costs.worker_message + self.load.sent * self.costs.worker_byte)
        arrived.put(True)

    def _take(self, arrived):
        """Take an answer, and send the next message."""
        costs, load = self.costs, self.load
        yield from self._compute(load.returned * costs.worker_byte)
        yield self.env.timeout(costs.latency / 2)
        size = load.sent + load.returned
        yield from self._in_main(messages=costs.message, bytes=size * costs.byte, steps=load.tau * costs.step)
        self._count(load.tau)
        yield from self._travel(arrived)

    def _replay(self):
        """Take steps with stored labelings while the main process has nothing else to do."""
        while True:
            if self.main.count == 0:
                with self.main.request() as turn:
                    yield turn
                    yield from self._compute(STEP_SECONDS)
            yield self.env.timeout(STEP_SECONDS)

    # --- local ---

    def _rounds(self):
        costs = self.costs
        while True:
            yield self.env.all_of([self.env.process(self._part()) for _ in range(self.workers)])
            counts = [self.workers]
            while counts[-1] > FAN_IN:  # changes are summed by eights on workers
                counts.append(-(-counts[-1] // FAN_IN))
            for below, above in pairwise(counts):
                yield self.env.all_of([self.env.process(self._merge(min(FAN_IN, below))) for _ in range(above)])
            yield from self._in_main(
                bytes=min(counts[-1], FAN_IN) * self.load.returned * costs.byte,
                exchanges=costs.exchange,
                copies=self._copied * costs.copy,
            )
            self._count(self.load.round * self.load.n)

    @property
    def _copied(self) -> float:
        """Examples whose blocks are copied, in the mean of rounds."""
        return self.load.n * self.load.round / self.load.snapshot

    def _part(self):
        costs, load = self.costs, self.load
        yield from self._in_main(messages=costs.message, bytes=load.sent * costs.byte)
        yield self.env.timeout(costs.latency)
        yield from self._compute(costs.worker_message + (load.sent + load.returned) * costs.worker_byte)
        yield from self._work(load.round * load.n / self.workers)
        yield from self._compute(self._copied / self.workers * costs.worker_copy)

    def _merge(self, changes: int):
        costs, load = self.costs, self.load
        yield from self._in_main(messages=costs.message)
        yield self.env.timeout(costs.latency)
        yield from self._compute(costs.worker_message + changes * load.returned * costs.worker_byte)


def simulate(costs: Costs, load: Load, workers: int, machine: Machine | None = None) -> Simulated:
    """Return the speed of a cluster in its steady state, such as of ten workers with calls of 10 ms and an idle main process.

    >>> simulated = simulate(Costs(call=0.01), Load("oracles", 1000, 0, 0), 10)
    >>> round(simulated.calls_per_second), simulated.bottleneck
    (1000, 'workers')
    """
    cluster = Cluster(costs, load, workers, machine)
    if load.scheme == "local":
        return cluster.run(4 * load.round * load.n)
    first = workers * load.in_flight * load.tau
    return cluster.run(first + min(4000, 200 * workers) * load.tau, first)
