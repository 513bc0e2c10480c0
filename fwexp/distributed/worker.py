"""The tasks of a worker: a part of the examples, and in the scheme ``local`` their dual blocks.

A `Part` is the value of a Dask future. Dask may make it anew at any time, on another worker, from the data: then it has no dual
blocks, and says so (`Lost`) when it is asked for what needs them. Every such call names the ``place`` where the blocks have to
be, (run, rounds so far), and a round that was taken already is answered again, not taken again: however often a message
comes, it counts once.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError as CancelledFuture
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from distributed import KilledWorker
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.comm.core import CommClosedError

from fwexp import record
from fwexp.blocks import active_set, duals, projections
from fwexp.blocks.block_loop import ORACLE_CALLS
from fwexp.driver.log import quiet
from fwexp.jit.compilation import njit, specialise
from fwexp.problems import tiers
from fwexp.problems.evaluation import Evaluator, Totals
from fwexp.problems.protocol import (
    costly_oracle,
    exact_oracle,
    loss,
    max_oracle,
    radii_sq,
    scatter_psi,
    scores,
    workspace,
)
from fwexp.problems.signature import check_labels, check_problem_type
from fwexp.problems.sparse_vector import SparseVector
from fwexp.problems.weighted import share, total_weight
from fwexp.solvers import auto
from fwexp.solvers.base import Budget
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.choosing import check_needs, check_options

TIMED = 5  # examples whose oracle calls are timed
SPARSE = 0.25  # of the entries: vectors with fewer nonzero ones travel as sparse ones


# Raised by Dask if a worker was lost, or does not answer in time.
FAULTS = (KilledWorker, CancelledFuture, FutureCancelledError, FuturesCancelledError, CommClosedError, TimeoutError)


class Lost(Exception):
    """The dual blocks are not where they have to be."""


class FunctionFailed(Exception):
    """A function of the user raised one of `FAULTS`, such as a TimeoutError; the message has its type and its text."""


@contextmanager
def _marked() -> Iterator[None]:
    """Raise `FunctionFailed` for errors in this context that would pass for the loss of a worker."""
    try:
        yield
    except FAULTS as error:
        raise FunctionFailed(f"{type(error).__name__}: {error}") from error


class About(NamedTuple):
    """The facts of a part that the main process needs."""

    n: int
    total_weight: float
    example: object  # one of its examples, as a problem
    costly: bool
    exact: bool
    seconds: float  # of an oracle call
    dense: bool  # whether psi_i(y) has few zeros
    step: str  # the kind of step that measures best
    radii_sq: np.ndarray  # float64 (n,), bounds on ||psi_i(y)||^2; NaN where the family has none


class Answer(NamedTuple):
    """A labeling, by all that a dual step needs of it."""

    loss: float
    psi: np.ndarray | SparseVector  # of internal weights


class Round(NamedTuple):
    """The effect of a round on the blocks of some parts."""

    # By part: steps, oracle calls, n ell_i and G_i, each summed, the mean ||psi_i(y)||^2 of labelings met, and bytes of the change.
    taken: dict[int, tuple]
    change: np.ndarray | SparseVector  # of v, as if no other part had changed anything, times the number of parts


@njit
def _answers(problem, examples, w, buffers, losses, psi):
    """Call the max-oracle of some examples at w; set ``losses`` and the rows of ``psi``."""
    for k in range(len(examples)):
        i = examples[k]
        scores(problem, i, w, buffers.theta)
        max_oracle(problem, i, buffers.theta, buffers.y, buffers.scratch)
        losses[k] = loss(problem, i, buffers.y)
        scatter_psi(problem, i, buffers.y, 1.0, psi[k])


def packed(vector: np.ndarray) -> np.ndarray | SparseVector:
    """Return a vector in the form that takes less room."""
    indices = np.flatnonzero(vector)
    return SparseVector(indices, vector[indices]) if len(indices) < SPARSE * len(vector) else vector


class Part:
    """A part of the examples of a problem, which ``read(source)`` returns."""

    def __init__(self, read, source) -> None:
        self._read, self._source = read, source
        with _marked():
            self.problem = read(source)
        check_problem_type(self.problem, "each part")
        check_labels(self.problem)
        self._lock, self._solver, self._evaluator, self._place, self._latest = threading.Lock(), None, None, None, None

    def __reduce__(self):
        return Part, (self._read, self._source)  # blocks are in one place only

    def call(self, name: str, *args):
        """Return the result of a method, one call at a time."""
        with self._lock, quiet():
            return getattr(self, name)(*args)

    # --- methods that do not depend on dual blocks ---

    def about(self) -> About:
        """Describe the part; this measures its oracle."""
        problem = self.problem
        examples = np.arange(min(TIMED, problem.n))
        self.answers(examples[:1], np.zeros(problem.num_weights), True)  # which compiles
        start = time.perf_counter()
        found = self.answers(examples, np.zeros(problem.num_weights), True)
        seconds = (time.perf_counter() - start) / len(examples)
        nonzero = sum(np.count_nonzero(answer.psi) for answer in found)
        return About(
            n=problem.n,
            total_weight=total_weight(problem),
            example=share(problem, examples[:1]),
            costly=costly_oracle(problem),
            exact=exact_oracle(problem),
            seconds=seconds,
            dense=nonzero >= SPARSE * problem.num_weights * len(found),
            step=auto.best_options(problem)["step"],
            radii_sq=radii_sq(problem) if tiers.has(problem, "bounds") else np.full(problem.n, np.nan),
        )

    def answers(self, examples: np.ndarray, w: np.ndarray, dense: bool) -> list[Answer]:
        """Return the labelings of the max-oracle of some examples at w."""
        losses, psi = np.empty(len(examples)), np.zeros((len(examples), len(w)))
        specialise(_answers, self.problem)(self.problem, examples, w, workspace(self.problem), losses, psi)
        if dense:
            return list(map(Answer, losses.tolist(), psi))
        indices = [np.flatnonzero(row) for row in psi]
        return [Answer(float(x), SparseVector(index, row[index])) for x, row, index in zip(losses, psi, indices)]

    def totals(self, w: np.ndarray, hinge: bool, error: bool) -> Totals:
        """Return the sums of an evaluation at w."""
        return self._evaluate.totals(w, hinge, error)

    def predict(self, w: np.ndarray) -> list:
        """Return the predictions at w."""
        return self._evaluate.predict(w)

    def contradiction(self, *args):
        """Return the example whose max-oracle fails most, as `Evaluator.contradiction` does."""
        return self._evaluate.contradiction(*args)

    @property
    def _evaluate(self) -> Evaluator:
        if self._evaluator is None:
            self._evaluator = Evaluator(self.problem)
        return self._evaluator

    # --- the scheme ``local`` ---

    def start(self, place: tuple, options: dict, seed, blocks) -> None:
        """Start a run, or continue one at ``place``, whose ``blocks`` come from `state` at that place."""
        options = check_options(BCFW, options)
        check_needs(BCFW, self.problem, options)
        self._solver, self._latest = BCFW(self.problem, 1.0, options, seed), None
        self._solver.compile()
        if blocks is not None:
            self._solver.restore(record.from_arrays(blocks))
        self._place = place

    def _at(self, place: tuple) -> BCFW:
        if self._place != place:
            raise Lost(place)
        return self._solver

    def round(self, place: tuple, k: int, v: np.ndarray, lam: float, steps: int) -> Round:
        """Take ``steps`` steps of part k around v, which belongs to the blocks of all parts, with the curvature of ``lam``."""
        following = (place[0], place[1] + 1)
        if self._place == following and self._latest is not None:
            return self._latest
        solver = self._at(place)
        state, iterate = solver.state, solver.state.iterate
        solver.lam = state.lam = lam
        projections.set_weights(iterate.constraint, v, iterate.w)
        calls = int(iterate.counts[ORACLE_CALLS])
        solver.advance(Budget(calls + 2**50, solver.step + steps))
        change = projections.unclipped(iterate.constraint, iterate.w) - v
        gaps = float(np.minimum(iterate.gaps, np.finfo(float).max / self.problem.n).sum())
        met = 0.0 if solver.sets is None else float(specialise(active_set.mean_norm_sq, self.problem)(solver.sets))
        change = packed(change)
        sent = change.nbytes if isinstance(change, np.ndarray) else change.indices.nbytes + change.values.nbytes
        taken = steps, int(iterate.counts[ORACLE_CALLS]) - calls, float(iterate.losses.sum()), gaps, met, sent
        self._place, self._latest = following, Round({k: taken}, change)
        return self._latest

    def state(self, place: tuple) -> dict:
        """Return the dual blocks and the rest of the state of a run, as arrays."""
        return record.to_arrays(self._at(place).state)

    def image(self, place: tuple, c: float) -> tuple[np.ndarray, float]:
        """Return c sum_i F_i' (block i) and the sum of n ell_i, computed from the blocks."""
        state = self._at(place).state
        v, losses = duals.from_scratch(state.iterate.dual, self.problem, state.iterate.losses, c)
        return v, float(losses.sum())


def call(part: Part, name: str, *args):
    """Call a method of a part, on a worker. It returns `Lost`, which is no failure of the worker."""
    try:
        with _marked():
            return part.call(name, *args)
    except Lost as lost:
        return lost


async def answer(key: str, name: str, args: tuple, dask_worker) -> tuple:
    """Call a method of the part of that key, in a thread of this worker; return nothing where the part is not here."""
    if key not in dask_worker.data:
        return ()
    executor = dask_worker.executors["default"]
    return (await asyncio.get_running_loop().run_in_executor(executor, call, dask_worker.data[key], name, *args),)


def merge(rounds: list[Round | Lost]) -> Round | Lost:
    """Return the sum of the effects of several rounds; lost ones are left out."""
    rounds = [one for one in rounds if not isinstance(one, Lost)]
    if not rounds:
        return Lost()
    taken = {k: what for one in rounds for k, what in one.taken.items()}
    changes = [one.change for one in rounds]
    if all(isinstance(change, SparseVector) for change in changes):
        return Round(taken, sum(changes[1:], changes[0]))
    total = np.zeros(next(len(change) for change in changes if not isinstance(change, SparseVector)))
    for change in changes:
        if isinstance(change, SparseVector):
            total[change.indices] += change.values
        else:
            total += change
    return Round(taken, total)
