"""A check of oracles: their labelings are compared with true and random labelings while a run lasts."""

import numpy as np

from fwexp.problems import protocol
from fwexp.problems.constraints import feasible
from fwexp.problems.evaluation import TOL, Evaluator
from fwexp.problems.python_labelings import same_form, snapshot

# Looked at: examples of a problem; and of each, in addition to answers of oracles, true labelings of others and random ones.
EXAMPLES, OTHERS, NEIGHBOURS = 20, 5, 10


def random_neighbour(rng: np.random.Generator, labelings: list) -> np.ndarray | None:
    """Return one of several labelings with a random place as in another one, or as another place there; None of no vectors."""
    a, b = (np.array(labelings[k]) for k in rng.integers(len(labelings), size=2))
    if a.ndim != 1 or a.dtype.hasobject or len(a) == 0:
        return None
    place = rng.integers(len(a))
    a[place] = b[place] if rng.random() < 0.5 else b[rng.integers(len(b))]
    return a


class OracleCheck:
    """Compares the max-oracle of a problem with true labelings, also of other examples, random ones, and what it returns elsewhere.

    One that is declared inexact only has to be as good as the truth.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator, self._problem = evaluator, evaluator.problem
        self._work = protocol.workspace(evaluator.problem)

    def __call__(self, w: np.ndarray) -> str:
        """Return the fault of the oracle at the internal weights w, or an empty text."""
        problem = self._problem
        rng = np.random.default_rng(self._evaluator.calls)
        exact = protocol.exact_oracle(problem)
        elsewhere = self._elsewhere(rng, w) if exact else []
        for i in rng.choice(problem.n, min(problem.n, EXAMPLES), replace=False):
            returned = self._evaluator.oracle(i, w)
            labelings = [self._truth(i), self._latest(i)]
            for other in elsewhere:
                self._evaluator.oracle(i, other)
                labelings.append(self._latest(i))
            labelings += self._others(rng, i) if exact else []
            labelings += self._neighbours(rng, i, labelings) if exact else []
            values, scale = self._values(i, w, labelings)
            best = int(np.argmax(values))
            if values[best] - returned > TOL * scale:
                return (
                    f"max_oracle of example {i} returned a labeling of value {returned:.6g}, but {labelings[best]!r} "
                    f"has {values[best]:.6g}"
                )
        return ""

    def _elsewhere(self, rng, w: np.ndarray) -> list[np.ndarray]:
        """Return other weights, at which the oracle finds other labelings: its own opposite, and random ones."""
        size = np.abs(w).max(initial=0.0) or 1.0
        return [feasible(self._problem, other) for other in (-w, size * rng.normal(size=len(w)))]

    def _truth(self, i: int):
        protocol.true_labeling(self._problem, i, self._work.y)
        return snapshot(protocol.public_labeling(self._problem, i, self._work.y))

    def _latest(self, i: int):
        y = protocol.stored_labeling(self._problem, i, self._evaluator.labelings)
        return snapshot(protocol.public_labeling(self._problem, i, y))

    def _others(self, rng, i: int) -> list:
        truth, others = self._truth(i), [self._truth(j) for j in rng.integers(self._problem.n, size=OTHERS)]
        return [y for y in others if same_form(y, truth) and self._is_labeling(i, y)]

    def _neighbours(self, rng, i: int, labelings: list) -> list:
        if not isinstance(protocol.original(self._problem), tuple):
            return []  # users' own objects
        neighbours = [random_neighbour(rng, labelings) for _ in range(NEIGHBOURS)]
        return [y for y in neighbours if y is not None and self._is_labeling(i, y)]

    def _is_labeling(self, i: int, y) -> bool:
        problem = self._problem
        try:
            y = protocol.as_labeling(problem, i, y)
            protocol.loss(problem, i, y)
            protocol.joint_feature(problem, i, y)
        except Exception:  # a user's functions may reject it in any way
            return False
        return True

    def _values(self, i: int, w: np.ndarray, labelings: list) -> tuple[np.ndarray, float]:
        """Return L_i(y) - <w, psi_i(y)> of labelings, and the size of the numbers that these are sums of."""
        problem, work = self._problem, self._work
        protocol.scores(problem, i, w, work.theta)
        values, scale = np.empty(len(labelings)), 1.0
        for k, public in enumerate(labelings):
            y = protocol.as_labeling(problem, i, public)
            protocol.clear(problem, i, work.direction)
            protocol.add_psi(problem, i, y, 1.0, work.direction)
            protocol.close(problem, i, work.direction)
            loss, score = protocol.loss(problem, i, y), protocol.dot(problem, i, work.direction, work.theta)
            values[k], scale = loss - score, max(scale, loss + abs(score))
        return values, scale
