"""Probes of a problem: some examples, weights and labelings to try, and the protocol's answers as vectors in R^d."""

from functools import cached_property

import numpy as np

from fwexp.errors import ParameterError
from fwexp.problems import protocol
from fwexp.problems.callback import CallbackProblem
from fwexp.problems.constraints import public_indices
from fwexp.problems.oracle_check import random_neighbour
from fwexp.problems.python_labelings import PythonProblem, can_be_kept, equal_labelings, key_of, snapshot

TOL = 1e-9  # relative; sums may be taken in any order


class CheckFailed(AssertionError):
    """A promise that a problem or a solver does not keep."""


def require(condition, message: str) -> None:
    """Raise ``CheckFailed`` unless ``condition`` holds."""
    if not condition:
        raise CheckFailed(message)


def close(a, b, scale: float = 1.0) -> bool:
    """Return whether two numbers or vectors are equal up to rounding of sums whose terms are of size ``scale``."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    size = max(scale, np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return bool(np.isfinite(size)) and a.shape == b.shape and bool(np.abs(a - b).max(initial=0.0) <= TOL * size)


def value_of(loss: float, psi: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Return L - <w, psi>, and the size of its terms."""
    return loss - float(psi @ w), loss + float(np.abs(psi) @ np.abs(w)) + 1.0


class ProblemProbe:
    """Some examples of a problem, weights and labelings to try on them, and the protocol's answers as vectors in R^d."""

    def __init__(self, problem, seed: int, examples: int) -> None:
        self.problem, self.seed = problem, seed
        rng = np.random.default_rng(seed)
        self.examples = sorted(int(i) for i in rng.choice(problem.n, min(problem.n, examples), replace=False))
        self.random_weights = dict(enumerate((0.1, 0.1, 1.0, 1.0, 1.0, 10.0, 10.0), start=1))  # place in weights: size
        self.exact = protocol.exact_oracle(problem)  # others need not find the best, nor the same one of several
        # a CallbackProblem may go without
        self.decodes = getattr(protocol.original(problem), "decode", protocol.decode) is not None

    @cached_property
    def work(self):
        """Buffers."""
        return protocol.workspace(self.problem)

    @cached_property
    def key(self):
        """The function that makes labelings hashable."""
        problem = protocol.original(self.problem)
        return problem.key if isinstance(problem, PythonProblem) else key_of

    def same(self, y, other) -> bool:
        """Return whether two labelings are equal."""
        return equal_labelings(y, other, self.key)

    def raw(self, i: int, y):
        """Return a labeling as the oracle writes it."""
        return protocol.as_labeling(self.problem, i, y)

    def truth(self, i: int):
        """Return the true labeling."""
        protocol.true_labeling(self.problem, i, self.work.y)
        return protocol.public_labeling(self.problem, i, self.work.y)

    def loss(self, i: int, y) -> float:
        """Return L_i(y)."""
        return float(protocol.loss(self.problem, i, self.raw(i, y)))

    def psi(self, i: int, y) -> np.ndarray:
        """Return psi_i(y), by ``scatter_psi``."""
        return self.psi_of(i, self.raw(i, y))

    def psi_of(self, i: int, raw) -> np.ndarray:
        """Return psi_i(y), y as the family keeps it."""
        w = np.zeros(self.problem.num_weights)
        protocol.scatter_psi(self.problem, i, raw, 1.0, w)
        return protocol.to_public(self.problem, w)

    def theta(self, i: int, w: np.ndarray):
        """Return the part scores of example i at the public w: a buffer."""
        protocol.scores(self.problem, i, protocol.from_public(self.problem, w), self.work.theta)
        return self.work.theta

    def parts(self, i: int, y, c: float = 1.0):
        """Return c p_i(y): a buffer."""
        direction = self.work.direction
        protocol.clear(self.problem, i, direction)
        protocol.add_psi(self.problem, i, self.raw(i, y), c, direction)
        protocol.close(self.problem, i, direction)
        return direction

    def oracle(self, i: int, w: np.ndarray):
        """Return the labeling and the value of the max-oracle at the public w."""
        theta = self.theta(i, w)
        value = protocol.max_oracle(self.problem, i, theta, self.work.y, self.work.scratch)
        return protocol.public_labeling(self.problem, i, self.work.y), float(value)

    def decode(self, i: int, w: np.ndarray):
        """Return the prediction at the public w."""
        protocol.decode(self.problem, i, self.theta(i, w), self.work.y, self.work.scratch)
        return protocol.public_labeling(self.problem, i, self.work.y)

    @property
    def functions(self) -> list[str]:
        """The names of the oracles that people gave as functions of (i, w)."""
        given = ("max_oracle", "decode") if isinstance(self.problem, CallbackProblem) else ()
        return [name for name in given if getattr(self.problem, name) is not None]

    def answers(self, i: int, w: np.ndarray) -> list:
        """Return the labelings that oracles find at the public w: those of functions, even if something else is wrong with them."""
        if self.functions:
            answers = [snapshot(getattr(self.problem, name)(i, w.copy())) for name in self.functions]
            require(all(map(can_be_kept, answers)), f"oracles of example {i} must return labelings, got {answers}")
            return answers
        return [self.oracle(i, w)[0], *([self.decode(i, w)] if self.decodes else [])]

    def image(self, i: int, direction) -> np.ndarray:
        """Return F_i' direction."""
        w = np.zeros(self.problem.num_weights)
        protocol.scatter(self.problem, i, direction, 1.0, w)
        return protocol.to_public(self.problem, w)

    def feasible(self, w: np.ndarray) -> np.ndarray:
        """Return the public w with 0 for negative weights that must not be negative."""
        w[public_indices(self.problem)] = np.maximum(w[public_indices(self.problem)], 0.0)
        return w

    @cached_property
    def weights(self) -> list[np.ndarray]:
        """Public weights: 0, random ones that matter little, as much as, and more than the loss, and learned ones."""
        rng, d = np.random.default_rng(self.seed), self.problem.d
        zero = np.zeros(d)
        first = [self.psi(i, self.answers(i, zero)[0]) for i in self.examples]
        size = max(max(float(np.linalg.norm(psi)) for psi in first), 1e-6)
        weights = [zero, *(self.feasible(rng.normal(size=d) * scale / size) for scale in self.random_weights.values())]
        w = zero
        for _ in range(3):
            for i in self.examples:
                w = self.feasible(w + self.psi(i, self.answers(i, w)[0]) / size**2)
            weights.append(w)
        return weights

    @cached_property
    def labelings(self) -> dict[int, list]:
        """Labelings of every example: the true one, all that oracles return, and neighbours of these."""
        rng, labelings = np.random.default_rng(self.seed), {}
        for i in self.examples:
            labelings[i] = [self.truth(i), *(y for answers in zip(*(self.answers(i, w) for w in self.weights)) for y in answers)]
            for _ in range(40 if isinstance(self.problem, tuple) else 0):  # else labelings are the user's own objects
                y = random_neighbour(rng, labelings[i])
                if y is not None and self.is_labeling(i, y):
                    labelings[i].append(y)
            found = labelings[i]
            labelings[i] = [y for k, y in enumerate(found) if not any(self.same(y, other) for other in found[:k])]
        return labelings

    def is_labeling(self, i: int, y) -> bool:
        """Return whether the family accepts y."""
        try:
            self.raw(i, y)
        except ParameterError:
            return False
        return True

    def pairs(self):
        """Yield every example with each of its labelings."""
        for i in self.examples:
            for y in self.labelings[i]:
                yield i, y

    def value(self, i: int, y, w: np.ndarray) -> tuple[float, float]:
        """Return L_i(y) - <w, psi_i(y)>, and the size of its terms."""
        return value_of(self.loss(i, y), self.psi(i, y), w)
