"""Evaluating weights on a whole problem: oracle calls of all examples, in parallel, one score pass for both decodings."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fwexp.errors import Stopped
from fwexp.jit.compilation import dispatched, njit, specialise
from fwexp.jit.threads import chunks_of, parallel_for
from fwexp.problems import protocol
from fwexp.problems.loss_terms import HINGE, new_work, term
from fwexp.problems.protocol import loss

TOL = 1e-9  # relative, of values that are equal
MOST_PER_CALL = 10_000  # examples per call of users' functions that take several

_NOT_WANTED = np.empty(0)


class Evaluation(NamedTuple):
    """Means over the examples of a problem at given weights."""

    hinge: float  # 1/n sum_i H_i(w), the loss term of P(w); NaN if not asked for
    norm_sq: float  # ||w||^2
    error: float  # loss of the predictions per example, or per position if losses count positions; NaN if not asked for


class Totals(NamedTuple):
    """Sums over examples at given weights; 0 for sums that were not requested."""

    hinge: float  # of H_i(w)
    loss: float  # of the losses of the labelings of the max-oracle
    error: float = 0.0  # of the losses of predictions times their weights
    weight: float = 0.0  # of these weights times the positions that the losses count


@dispatched(default=())
def evaluator(problem, objective=HINGE) -> "Evaluator":
    """Return the evaluator of weights on a problem; a problem that is spread out has its own."""
    return Evaluator(problem, objective)


@njit
def _decode_range(problem, objective, start, end, w, buffers, hinge, losses, error, weight, labelings):
    """Decode the examples start .. end at w: with loss for ``hinge``, without for ``error``, or both."""
    theta, y, scratch = buffers.theta, buffers.y, buffers.scratch
    for i in range(start, end):
        protocol.scores(problem, i, w, theta)
        if len(error) > 0:
            protocol.decode(problem, i, theta, y, scratch)
            error[i] = loss(problem, i, y)
            weight[i] = protocol.loss_weight(problem, i, y)
        if len(hinge) > 0:
            hinge[i], losses[i] = term(objective, problem, i, buffers)
        protocol.store_labeling(problem, i, y, labelings)


@njit
def _values_at(problem, w, buffers, labelings, values):
    """Set ``values`` to L_i(y) - <w, psi_i(y)> of the labelings y."""
    for i in range(problem.n):
        protocol.scores(problem, i, w, buffers.theta)
        y = protocol.stored_labeling(problem, i, labelings)
        values[i] = loss(problem, i, y) - protocol.psi_score(problem, i, y, buffers.theta)


class Evaluator:
    """Evaluates weights on one problem again and again, reusing its buffers; ``calls`` counts calls of its oracles."""

    def __init__(self, problem, objective=HINGE) -> None:
        protocol.forget(problem)
        self.problem, self.objective = problem, objective
        self.calls, self.mean_loss = 0, 0.0
        self._costly, self._positions = protocol.costly_oracle(problem), protocol.counted_positions(problem)
        self._kernel = specialise(_decode_range, problem, objective)
        self._buffers = [new_work(objective, problem) for _ in range(chunks_of(problem))]
        self.labelings = protocol.new_labelings(problem)

    def __call__(
        self,
        w: np.ndarray,
        *,
        hinge: bool = True,
        error: bool = True,
        norm_sq: float | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Evaluation:
        """Return the means at internal weights w; ``labelings`` then holds the labelings of the last decoding."""
        # Where oracles are costly, ``stop`` is asked before every example whether to give up, by raising ``Stopped``.
        total = self.totals(w, hinge, error, stop)
        if hinge:
            self.mean_loss = total.loss / self.problem.n
        return Evaluation(
            hinge=total.hinge / self.problem.n if hinge else np.nan,
            norm_sq=protocol.inner(self.problem, w, w) if norm_sq is None else norm_sq,
            error=total.error / total.weight if error else np.nan,
        )

    def totals(self, w: np.ndarray, hinge: bool, error: bool, stop: Callable[[], bool] | None = None) -> Totals:
        """Return the sums over the examples that the means are made of."""
        n = self.problem.n
        errors = np.empty(n if error else 0)
        hinges = np.empty(n if hinge else 0)
        losses = np.empty_like(hinges)
        weights = np.empty_like(errors)
        self._decode(w, hinges, losses, errors, weights, stop)
        wanted = (hinges, losses, errors * weights, weights * self._positions) if error else (hinges, losses)
        return Totals(*(float(np.add.reduce(values)) for values in wanted))

    def oracles(self, w: np.ndarray, errors: np.ndarray = _NOT_WANTED) -> tuple[np.ndarray, np.ndarray]:
        """Call the max-oracle of every example at w; return H_i and L_i, each (n,), and keep the ``labelings``."""
        hinges, losses = np.empty(self.problem.n), np.empty(self.problem.n)
        self._decode(w, hinges, losses, errors)
        return hinges, losses

    def oracle(self, i: int, w: np.ndarray) -> float:
        """Return H_i(w) and keep the labeling of the max-oracle of example i."""
        hinges, losses = np.zeros(self.problem.n), np.zeros(self.problem.n)
        self.oracles_in_range(i, i + 1, w, hinges, losses)
        return float(hinges[i])

    def oracles_in_range(self, start: int, end: int, w: np.ndarray, hinges: np.ndarray, losses: np.ndarray) -> None:
        """Set H_i(w) and L_i of the examples start .. end, and keep the labelings of the max-oracle."""
        protocol.ask_ahead(self.problem, start, end, w, True, False)

        def run_chunk(k: int, first: int, last: int) -> None:
            examples = start + first, start + last
            self._kernel(
                self.problem, self.objective, *examples, w, self._buffers[k], hinges, losses, *2 * [_NOT_WANTED], self.labelings
            )

        parallel_for(run_chunk, end - start, min(len(self._buffers), end - start))
        self.calls += end - start

    def contradiction(self, w: np.ndarray, others: Sequence[np.ndarray]) -> tuple[int, float, float] | None:
        """Return the example whose max-oracle fails most at w, its value and the better one of a labeling of ``others``, if any."""
        hinges, losses = self.oracles(w)
        best, values = hinges.copy(), np.empty_like(hinges)
        for other in others:
            self.oracles(other)
            specialise(_values_at, self.problem)(self.problem, w, self._buffers[0], self.labelings, values)
            np.fmax(best, values, out=best)
        i = int(np.argmax(best - hinges))
        beaten = best[i] - hinges[i] > TOL * (abs(best[i]) + losses[i])
        return (i, float(hinges[i]), float(best[i])) if beaten else None

    def predict(self, w: np.ndarray) -> list:
        """Return the predictions at w, and keep them as ``labelings``."""
        self._decode(w, _NOT_WANTED, _NOT_WANTED, np.empty(self.problem.n))
        return self.public_labelings()

    def public_labelings(self) -> list:
        """Return ``labelings`` in the public form, one per example."""
        problem = self.problem
        return [
            protocol.public_labeling(problem, i, protocol.stored_labeling(problem, i, self.labelings)) for i in range(problem.n)
        ]

    def _decode(self, w, hinges, losses, errors, weights=None, stop=None) -> None:
        weights = np.empty_like(errors) if weights is None else weights
        calls = int(len(hinges) > 0) + int(len(errors) > 0)

        def run_chunk(k: int, start: int, end: int) -> None:
            self._kernel(
                self.problem, self.objective, start, end, w, self._buffers[k], hinges, losses, errors, weights, self.labelings
            )

        if not self._costly:
            parallel_for(run_chunk, self.problem.n, len(self._buffers))
            self.calls += calls * self.problem.n
            return
        for start in range(0, self.problem.n, MOST_PER_CALL):
            end = min(start + MOST_PER_CALL, self.problem.n)
            protocol.ask_ahead(self.problem, start, end, w, len(hinges) > 0, len(errors) > 0)
            for i in range(start, end):
                if stop is not None and stop():
                    raise Stopped
                run_chunk(0, i, i + 1)
                self.calls += calls
