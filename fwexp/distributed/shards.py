"""Problems whose examples are with the workers of a Dask cluster, in parts.

A part is a Dask future (`fwexp.distributed.worker.Part`): Dask keeps it, and creates it again from its data if a worker dies. A
part that does not answer in time is created again on another worker, which gets the same messages. Messages about the data can
be answered any number of times. Dual blocks are lost with the worker, and the answer to a message about them says so.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import dask
import numpy as np
from distributed import Client
from distributed.comm.core import CommClosedError

from fwexp.distributed import worker
from fwexp.distributed.cluster import Watch
from fwexp.distributed.local import Local
from fwexp.distributed.oracles import Oracles
from fwexp.errors import OptionError, ParameterError, Stopped, WorkersLost, shown
from fwexp.options import check_choice, check_integer, check_positive
from fwexp.problems import protocol
from fwexp.problems.evaluation import Evaluator, Totals, evaluator
from fwexp.problems.python_labelings import PythonProblem
from fwexp.problems.signature import check_problem_type, check_signature, signature
from fwexp.problems.sparse_vector import SparseVector
from fwexp.problems.weighted import share
from fwexp.solvers import choose_method, get_method
from fwexp.types import Problem

PATIENCE = 300.0  # seconds
ATTEMPTS = 8  # at one question
LOOK_INTERVAL = 0.2  # seconds between two looks at whether to stop
ROLL_CALL = 1.0  # seconds between two looks at whether a worker is still there


class Shards(PythonProblem):
    """A problem whose ``n`` examples are with workers, in ``k`` parts of ``sizes``: see `shard`, `from_parts`.

    For solvers that are not made for workers its oracle is a function as any other: a labeling is a `worker.Answer`.
    """

    tiers = ("sets",)

    def __init__(
        self,
        client: Client,
        read: Callable,
        sources: Sequence,
        index: "np.ndarray | None" = None,
        patience: float = PATIENCE,
        setting: str = "patience",
    ) -> None:
        if not isinstance(client, Client) or client.asynchronous:
            raise ParameterError(f"client must be a dask.distributed.Client that is not asynchronous, got {shown(client)}")
        self.client, self.patience, self.k = client, check_positive("patience", patience), len(sources)
        self._watch = Watch(client, setting)
        self._read, self._sources, self._avoided = read, list(sources), set()
        self._parts, self._places = {}, {}
        for k in range(self.k):
            self._load(k)
        self.about = [about for _, about in sorted(self.gather("about", lambda k: ()).items())]
        self.example = self.about[0].example
        for k, about in enumerate(self.about):
            check_signature(f"part {k}", signature(about.example), "part 0", signature(self.example))
            if protocol.order_of_weights(about.example) != protocol.order_of_weights(self.example):
                raise ParameterError(f"part {k} must have inputs like part 0, both dense or both sparse, got one of each kind")
        self.sizes = np.array([about.n for about in self.about])
        self.n, self.d, self.num_weights = int(self.sizes.sum()), self.example.d, self.example.num_weights
        self.total_weight = sum(about.total_weight for about in self.about)
        self.nonnegative = getattr(self.example, "nonnegative", protocol.UNCONSTRAINED)
        ends = np.cumsum(self.sizes)
        self.index = [np.arange(end - size, end) for end, size in zip(ends, self.sizes)] if index is None else index
        self.part, self.place = np.empty(self.n, dtype=np.int64), np.empty(self.n, dtype=np.int64)
        for k, own in enumerate(self.index):
            self.part[own], self.place[own] = k, np.arange(len(own))
        self.label_ptr, self.dense = np.arange(self.n + 1), any(about.dense for about in self.about)
        empty = np.empty(0, dtype=np.int64)
        zero = np.zeros(self.num_weights) if self.dense else SparseVector(empty, np.empty(0))
        self.y = [worker.Answer(0.0, zero)] * self.n
        self.queued: dict[int, deque] = {}  # answers that came already, by example
        self._w, self._answers = None, {}  # the weights asked for latest, and the answers of all examples there

    def __repr__(self) -> str:
        return f"Shards(n={self.n}, d={self.d}, k={self.k})"

    # --- messages ---

    def _load(self, k: int) -> None:
        """Create a part on the worker with the fewest parts per thread."""
        while not (threads := self._threads()):
            self.look(k)
            time.sleep(LOOK_INTERVAL)
        used = Counter(self._places.values())
        fit = [address for address in threads if address not in self._avoided] or list(threads)
        self._places[k] = min(fit, key=lambda address: (used[address] / threads[address], address))
        self._parts[k] = self._send(k, worker.Part, self._read, self._sources[k])

    def _threads(self) -> dict[str, int]:
        """Return how many threads each worker has; nothing where the scheduler does not answer."""
        try:
            return self.client.nthreads()
        except (OSError, RuntimeError, *worker.FAULTS):
            return {}

    def look(self, k: int) -> None:
        """Check that there are workers while the answer of a part is awaited."""
        try:
            self._watch.look(self.patience)
        except WorkersLost as lost:
            raise self._lost(k, str(lost)) from None

    def _lost(self, k: int, why: str) -> WorkersLost:
        return WorkersLost(f"part {k} of {self.k} is lost: {why}; the latest checkpoint, where the run has one, is as it was")

    def move(self, k: int) -> None:
        """Make a part anew, on another worker: it does not answer."""
        self._avoided.add(self._places.pop(k))
        if self._avoided >= set(self._threads()):
            self._avoided.clear()
        self._parts.pop(k).release()
        self._load(k)

    def ask(self, k: int, name: str, *args: Any) -> "Future":
        """Ask a part; return the future of its answer."""
        answer = self._answer_or_fault(self._answer(k, self._parts[k], self._places[k], name, args))
        return asyncio.run_coroutine_threadsafe(answer, self.client.loop.asyncio_loop)

    async def _answer_or_fault(self, answer):
        """Return an answer; a fault where the scheduler is gone, of which Dask says one thing or another."""
        try:
            return await answer
        except (OSError, RuntimeError) as error:
            if self.client.status == "running":
                raise
            raise CommClosedError(str(error)) from error

    async def _answer(self, k: int, part, place: str, name: str, args: tuple):
        """Ask the worker where the part was last, with no task to be scheduled, which would take several times as long.

        Where that is gone, or has it no more, a task goes wherever Dask has made it anew.
        """
        message = asyncio.ensure_future(self.client.run(worker.answer, part.key, name, args, workers=[place]))
        try:
            while not (await asyncio.wait({message}, timeout=ROLL_CALL))[0]:
                if place not in await self.client.nthreads():
                    break
            else:
                with suppress(OSError):
                    found = message.result()[place]
                    if found:
                        return found[0]
        finally:
            message.cancel()
        answer = await self._send(k, worker.call, part, name, *args)
        for place in (await self.client.who_has([part]))[part.key]:
            if self._parts.get(k) is part:
                self._places[k] = place
        return answer

    def submit(self, k: int, name: str, *args: Any) -> Any:
        """Ask a part by a task; return its Dask future, which other tasks can take."""
        return self._send(k, worker.call, self._parts[k], name, *args)

    def _send(self, k: int, function: Callable, *args):
        """Submit a task to the worker of a part, or to another one where that is gone."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):  # examples and w have to be sent
            return self.client.submit(function, *args, workers=[self._places[k]], allow_other_workers=True, pure=False)

    def gather(
        self, name: str, args: Callable[[int], tuple], parts: Iterable[int] | None = None, stop: Callable[[], bool] | None = None
    ) -> dict:
        """Call a method of `worker.Part` with ``args(k)`` for (all) parts; return the answers, if no dual blocks are lost."""
        parts = range(self.k) if parts is None else parts
        asked, answers = {k: self.ask(k, name, *args(k)) for k in parts}, {}
        for k, future in asked.items():
            for attempt in range(ATTEMPTS):
                try:
                    answers[k] = self.result(k, future, stop)
                except worker.FAULTS as fault:
                    if attempt + 1 == ATTEMPTS:
                        raise self._lost(k, f"{ATTEMPTS} times no worker answered ({type(fault).__name__})") from fault
                    future.cancel()
                    self.move(k)
                    future = self.ask(k, name, *args(k))
                    continue
                break
        return {k: answer for k, answer in answers.items() if not isinstance(answer, worker.Lost)}

    def result(self, k: int, future: "Future", stop: Callable[[], bool] | None = None) -> Any:
        """Return an answer of a part, a TimeoutError after patience."""
        end = time.monotonic() + self.patience
        while True:
            if stop is not None and stop():
                raise Stopped
            try:
                return future.result(timeout=LOOK_INTERVAL)
            except TimeoutError as error:
                if time.monotonic() > end or (future.done() and future.exception() is error):
                    raise
            self.look(k)

    # --- functions that solvers call ---

    def method(self, solver: str, options: dict) -> tuple[type, dict]:
        """Return the solver class that runs, and its options: one of the two schemes for ``auto`` and ``bcfw``."""
        scheme = options.get("scheme")
        if scheme is not None:
            check_choice("scheme", scheme, ("oracles", "local"))
        if solver not in ("auto", "bcfw"):
            if scheme is not None:
                raise OptionError(f"scheme goes with solver auto or bcfw, got {shown(solver)}")
            return get_method(solver, {name: value for name, value in options.items() if name != "scheme"})
        if scheme is None:
            costly = any(about.costly for about in self.about) or np.mean([about.seconds for about in self.about]) > COSTLY
            scheme = "oracles" if costly else "local"
        # Options left open, and options with one possible value in both schemes, may be given all the same.
        options = {name: value for name, value in options.items() if value is not None and (name, value) not in ONLY}
        return (Oracles if scheme == "oracles" else Local), {**options, "scheme": scheme}

    def __deepcopy__(self, memo):
        return self  # the examples are elsewhere

    def forget(self) -> None:
        """Ask anew from here on."""
        self._w, self._answers = None, {}

    def _subset(self, indices):
        """Refuse: they would have to move."""
        raise ParameterError("problem must be in this process to choose examples of it, got Shards")

    def phi(self, i: int, y: Any) -> Any:
        """Refuse: features stay where the examples are."""
        raise ParameterError("problem must be in this process to tell features and losses of a labeling, got Shards")

    def known(self, i: int, y: Any) -> Any:
        """Return an answer, which has L_i(y) and psi_i(y)."""
        return y if isinstance(y, worker.Answer) else self.phi(i, y)

    def predicted(self, i: int, w: np.ndarray) -> Any:
        """Refuse: workers predict, all examples at once."""
        return self.phi(i, None)

    def augmented(self, i: int, w: np.ndarray) -> tuple[Any, float]:
        """Return an answer, queued or else at w, and its value; when a second example is asked for at one w, so will be all."""
        queue = self.queued.get(i)
        if queue:
            answer = queue.popleft()
        else:
            again = self._w is not None and np.array_equal(self._w, w)
            if not again:
                self._w, self._answers = w.copy(), {}
            if i not in self._answers:
                wanted = self.index if again else [np.array([i])] * self.k
                parts = range(self.k) if again else [int(self.part[i])]
                found = self.gather("answers", lambda k: (self.place[wanted[k]], self._w, self.dense), parts)
                self._answers = {int(j): answer for k in parts for j, answer in zip(wanted[k], found[k])}
            answer = self._answers[i]
        return answer, answer.loss - float(answer.psi @ w)


ONLY = (("line_search", True), ("cache", False), ("refresh", 0), ("constrained_search", "exact"))  # options of ``bcfw``
COSTLY = 2e-3  # seconds of an oracle call, ten times the seconds of a step here


class ShardsEvaluator(Evaluator):
    """Evaluates weights on all parts at once."""

    def __init__(self, shards: Shards) -> None:
        self.problem, self.calls, self.mean_loss = shards, 0, 0.0

    def totals(self, w, hinge, error, stop=None):
        found = self.problem.gather("totals", lambda k: (w, hinge, error), stop=stop)
        self.calls += (int(hinge) + int(error)) * self.problem.n
        return Totals(*np.sum([found[k] for k in sorted(found)], axis=0).tolist())

    def oracles_in_range(self, *args):
        """Refuse: labelings stay where the examples are."""
        raise OptionError("check looks at labelings, which are with workers here: it goes with problems in one process")

    def predict(self, w):
        predictions = [None] * self.problem.n
        for k, found in self.problem.gather("predict", lambda k: (w,)).items():
            for i, prediction in zip(self.problem.index[k], found):
                predictions[i] = prediction
        return predictions

    def contradiction(self, w, others):
        found = self.problem.gather("contradiction", lambda k: (w, others)).items()
        worst = [(int(self.problem.index[k][one[0]]), *one[1:]) for k, one in found if one is not None]
        return max(worst, key=lambda one: one[2] - one[1], default=None)


choose_method.register(Shards, Shards.method)


@evaluator.register(Shards)
def _(shards, objective=None):
    return ShardsEvaluator(shards)


# Functions that concern no single example are those of one example.
for _name in ("example", "to_public", "from_public", "check_weights", "order_of_weights", "inner"):
    _function = getattr(protocol, _name)
    _function.register(Shards)(lambda shards, *args, of=_function: of(shards.example, *args))
protocol.costly_oracle.register(Shards)(lambda shards: any(about.costly for about in shards.about))
protocol.exact_oracle.register(Shards)(lambda shards: all(about.exact for about in shards.about))


@protocol.radii_sq.register(Shards)
def _(shards):
    radii = np.empty(shards.n)
    for own, about in zip(shards.index, shards.about):
        radii[own] = about.radii_sq
    return radii


@protocol.same_labeling.register(Shards)
def _(shards, i, y, storage, start):
    a, b = storage[start], y[0]
    if a is b:
        return True
    if a is None or a.loss != b.loss:
        return False
    if shards.dense:
        return np.array_equal(a.psi, b.psi)
    return np.array_equal(a.psi.indices, b.psi.indices) and np.array_equal(a.psi.values, b.psi.values)


def _same(source):
    return source


def shard(problem: Problem, client: Client, k: int, *, patience: float = PATIENCE, setting: str = "patience") -> Shards:
    """Deal out the examples of a problem to the workers of a Dask cluster.

    Parameters
    ----------
    problem : problem
        From a constructor such as ``fwexp.chain_problem``; functions of a ``CallbackProblem`` are sent along.
    client : dask.distributed.Client
        Of the cluster.
    k : int
        Parts, as a rule one per worker; example i goes to part i mod k.
    patience : float
        Seconds to wait for an answer before the part is given to another worker: far more than an answer takes. Where no worker
        is left, and none comes for as long, a run ends with ``fwexp.errors.WorkersLost``.
    setting : str
        Name of ``patience`` in messages.

    Returns
    -------
    Shards
        For `fwexp.solve`, ``evaluate`` and ``predict``.

    Raises
    ------
    ValueError
        No problem, or one of a family that cannot be divided; k out of 1 .. n.

    Examples
    --------
    >>> import fwexp.distributed
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     X, y = [[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]], [0, 1, 1]
    ...     problem = fwexp.multiclass_problem(X, y)
    ...     shards = fwexp.distributed.shard(problem, client, 2)
    ...     fwexp.solve(shards, lam=0.1).status
    'converged'
    """
    check_problem_type(problem)
    if check_integer("k", k, 1) > problem.n:
        raise ParameterError(f"k must be an integer in 1 .. {problem.n}, got {k}")
    index = [np.arange(part, problem.n, k) for part in range(k)]
    return Shards(client, _same, [share(problem, own) for own in index], index, patience, setting)


def from_parts(read: Callable, parts: Sequence, client: Client, *, patience: float = PATIENCE) -> Shards:
    """Read and keep parts of the examples on the workers, so that no process holds them all.

    Parameters
    ----------
    read : callable
        ``read(part)`` returns these examples as a problem; all have the same features and labels. It is called again where a
        worker was lost, and has to return the same then.
    parts : sequence
        Keys of the data to read: names of files, for instance.
    client : dask.distributed.Client
        Of the cluster.
    patience : float
        As for `shard`.

    Returns
    -------
    Shards
        Its examples are the examples of the first part, then of the second, ...

    Raises
    ------
    ValueError
        No parts, or parts that do not fit together.
    """
    if not callable(read):
        raise ParameterError(f"read must be a function, got {shown(read)}")
    if len(parts) == 0:
        raise ParameterError("parts must hold at least one part, got none")
    return Shards(client, read, parts, patience=patience)
