"""Problems given by Python functions: the interface of the published code (BCFWstruct), for people with an oracle of theirs.

There are no parts to keep: theta is w itself, a vector of parts is a vector of features, and solvers run the same steps
uncompiled. Features may be dense vectors or scipy.sparse rows; sparse ones cost what they hold.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from fwexp.errors import ParameterError
from fwexp.problems import protocol


class CallbackProblem:
    """A structural SVM problem given by functions.

    Parameters
    ----------
    y : sequence
        The true labelings; of any type, handed back to the functions as they are.
    features : callable
        ``features(i, y)`` returns phi(x_i, y): an array (d,) or a scipy.sparse row (1, d).
    loss : callable
        ``loss(i, y)`` returns L_i(y) >= 0, which is 0 at the truth.
    max_oracle : callable
        ``max_oracle(i, w)`` returns a labeling that maximises L_i(y) + <w, phi(x_i, y)>. w must not be modified.
    decode : callable, optional
        ``decode(i, w)`` returns a labeling that maximises <w, phi(x_i, y)>; needed for predictions and errors.

    Raises
    ------
    ValueError
        No examples, features of different lengths or not finite.

    Notes
    -----
    ``fwexp.testing.check_problem`` checks such functions for consistency.
    """

    def __init__(
        self,
        y: Sequence[Any],
        *,
        features: Callable[[int, Any], Any],
        loss: Callable[[int, Any], float],
        max_oracle: Callable[[int, np.ndarray], Any],
        decode: Callable[[int, np.ndarray], Any] | None = None,
    ) -> None:
        if len(y) == 0:
            raise ParameterError("y must hold at least one labeling, got n = 0")
        self.y, self.features, self.loss, self.max_oracle, self.decode = y, features, loss, max_oracle, decode
        first = _row(features(0, y[0]))
        if first.ndim not in (1, 2) or first.shape[-1] == 0 or (first.ndim == 2 and first.shape[0] != 1):
            raise ParameterError(f"features(0, y) must be a vector (d,) or a sparse row (1, d), got shape {first.shape}")
        self.n, self.d = len(y), int(first.shape[-1])
        self.num_weights = self.d

    def __repr__(self) -> str:
        return f"CallbackProblem(n={self.n}, d={self.d})"

    def phi(self, i: int, y: Any):
        """Return phi(x_i, y) as an array or a ``SparseVector``, checked."""
        phi = _row(self.features(i, y))
        if phi.shape not in ((self.d,), (1, self.d)):
            raise ParameterError(f"features({i}, y) must have length d = {self.d}, got shape {phi.shape}")
        if sp.issparse(phi):
            phi = SparseVector.from_row(phi)
            finite = np.isfinite(phi.values).all()
        else:
            phi = phi.reshape(self.d)
            finite = np.isfinite(phi).all()
        if not finite:
            raise ParameterError(f"features({i}, y) must be finite, got NaN or infinity")
        return phi

    def psi(self, i: int, y: Any):
        """Return psi_i(y) = phi(x_i, y_i) - phi(x_i, y)."""
        return self.phi(i, self.y[i]) - self.phi(i, y)


def _row(features):
    return features if sp.issparse(features) else np.asarray(features, dtype=np.float64)


class SparseVector:
    """A vector as sorted distinct int64 ``indices`` and float64 ``values``, with just the arithmetic that steps need."""

    __slots__ = ("indices", "values")

    def __init__(self, indices: np.ndarray, values: np.ndarray) -> None:
        self.indices, self.values = indices, values

    @classmethod
    def from_row(cls, row) -> "SparseVector":
        """Make one from a scipy.sparse row."""
        row = sp.csr_array(row, dtype=np.float64)
        if not row.has_canonical_format:
            row = row.copy()  # the caller's own may be at hand
            row.sum_duplicates()
        return cls(row.indices.astype(np.int64), row.data)

    def __add__(self, other: "SparseVector") -> "SparseVector":
        indices, place = np.unique(np.concatenate((self.indices, other.indices)), return_inverse=True)
        return SparseVector(indices, np.bincount(place, np.concatenate((self.values, other.values)), len(indices)))

    def __rmul__(self, c: float) -> "SparseVector":
        return SparseVector(self.indices, c * self.values)

    def __sub__(self, other: "SparseVector") -> "SparseVector":
        return self + -1.0 * other

    def __matmul__(self, dense: np.ndarray) -> float:
        return float(self.values @ dense[self.indices])


def _add_to(w: np.ndarray, c: float, vector) -> None:
    if isinstance(vector, SparseVector):
        w[vector.indices] += c * vector.values
    else:
        w += c * vector


# Buffers are lists with one place, for objects cannot be written into.


@protocol.workspace.register(CallbackProblem)
def _(problem):
    return protocol.Workspace(theta=[None], direction=[None], image=[None], y=[None], scratch=None)


@protocol.scores.register(CallbackProblem)
def _(problem, i, w, theta):
    theta[0] = w


@protocol.rescale.register(CallbackProblem)
def _(problem, i, c, theta):
    theta[0] = c * theta[0]


@protocol.max_oracle.register(CallbackProblem)
def _(problem, i, theta, y, scratch):
    y[0] = problem.max_oracle(i, theta[0])
    return problem.loss(i, y[0]) - problem.psi(i, y[0]) @ theta[0]


@protocol.decode.register(CallbackProblem)
def _(problem, i, theta, y, scratch):
    if problem.decode is None:
        raise ParameterError("predictions need a decode function, but CallbackProblem was built with decode=None")
    y[0] = problem.decode(i, theta[0])


@protocol.loss.register(CallbackProblem)
def _(problem, i, y):
    return problem.loss(i, y[0])


@protocol.loss_weight.register(CallbackProblem)
def _(problem, i, y):
    return 1.0


@protocol.true_labeling.register(CallbackProblem)
def _(problem, i, y):
    y[0] = problem.y[i]


@protocol.new_labelings.register(CallbackProblem)
def _(problem):
    return [None] * problem.n


@protocol.store_labeling.register(CallbackProblem)
def _(problem, i, y, labelings):
    labelings[i] = y[0]


@protocol.stored_labeling.register(CallbackProblem)
def _(problem, i, labelings):
    return [labelings[i]]


@protocol.labeling_lengths.register(CallbackProblem)
def _(problem):
    return np.ones(problem.n, dtype=np.int64)


@protocol.new_storage.register(CallbackProblem)
def _(problem, places):
    return [None] * places


@protocol.same_labeling.register(CallbackProblem)
def _(problem, i, y, storage, start):
    return bool(np.array_equal(storage[start], y[0]))


@protocol.as_labeling.register(CallbackProblem)
def _(problem, i, y):
    return [y]


@protocol.public_labeling.register(CallbackProblem)
def _(problem, i, y):
    return y[0]


@protocol.new_blocks.register(CallbackProblem)
def _(problem):
    return [None] * problem.n  # None is 0


@protocol.copy_blocks.register(CallbackProblem)
def _(problem, blocks):
    return list(blocks)


@protocol.clear.register(CallbackProblem)
def _(problem, i, direction):
    direction[0] = None


@protocol.add_psi.register(CallbackProblem)
def _(problem, i, y, c, direction):
    change = c * problem.psi(i, y[0])
    direction[0] = change if direction[0] is None else direction[0] + change


@protocol.close.register(CallbackProblem)
def _(problem, i, direction):
    if direction[0] is None:
        direction[0] = np.zeros(problem.d)


@protocol.psi_score.register(CallbackProblem)
def _(problem, i, y, theta):
    return float(problem.psi(i, y[0]) @ theta[0])


@protocol.gram_scores.register(CallbackProblem)
def _(problem, i, direction, theta):
    theta[0] = np.zeros(problem.d)
    _add_to(theta[0], 1.0, direction[0])


@protocol.set_direction.register(CallbackProblem)
def _(problem, i, y, blocks, direction):
    psi = problem.psi(i, y[0])
    direction[0] = psi if blocks[i] is None else psi - blocks[i]


@protocol.dot.register(CallbackProblem)
def _(problem, i, direction, theta):
    return float(direction[0] @ theta[0])


@protocol.norm_sq.register(CallbackProblem)
def _(problem, i, direction):
    vector = direction[0].values if isinstance(direction[0], SparseVector) else direction[0]
    return float(vector @ vector)


@protocol.add_to_block.register(CallbackProblem)
def _(problem, i, direction, c, blocks):
    change = c * direction[0]
    blocks[i] = change if blocks[i] is None else blocks[i] + change


@protocol.scatter.register(CallbackProblem)
def _(problem, i, direction, c, w):
    _add_to(w, c, direction[0])


@protocol.scatter_psi.register(CallbackProblem)
def _(problem, i, y, c, w):
    _add_to(w, c, problem.psi(i, y[0]))


@protocol.scatter_block.register(CallbackProblem)
def _(problem, i, blocks, c, w):
    if blocks[i] is not None:
        _add_to(w, c, blocks[i])


@protocol.new_sums.register(CallbackProblem)
def _(problem, count):
    return np.zeros((count, problem.d))


@protocol.accumulate.register(CallbackProblem)
def _(problem, i, direction, c, total):
    _add_to(total, c, direction[0])


@protocol.accumulate_psi.register(CallbackProblem)
def _(problem, i, y, c, total):
    _add_to(total, c, problem.psi(i, y[0]))


@protocol.scatter_sum.register(CallbackProblem)
def _(problem, total, c, w):
    w += c * total


@protocol.to_public.register(CallbackProblem)
def _(problem, w):
    return w.copy()


@protocol.from_public.register(CallbackProblem)
def _(problem, w):
    return np.array(w, dtype=np.float64)


@protocol.joint_feature.register(CallbackProblem)
def _(problem, i, y):
    return sp.csr_array(_row(problem.features(i, y[0])).reshape(1, problem.d), dtype=np.float64)
