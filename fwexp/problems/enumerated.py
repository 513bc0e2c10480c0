"""Problems with a few explicit outputs per example: the psi vectors and losses are given as matrices.

Small enough for textbook examples, constructed counterexamples, and to write any tiny problem out. The parts of an example
are its outputs themselves: F_i' has the columns psi_i(y), and a dual block is kept as its weights on the simplex.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_floats, as_list
from fwexp.errors import ParameterError, shown
from fwexp.options import check_choice, is_integer
from fwexp.oracles.simplex_qp import maximise
from fwexp.oracles.softmax import softmax
from fwexp.problems import dense_parts, protocol, walk
from fwexp.problems.arrays import check_scale_of, pointer
from fwexp.problems.constraints import constrained
from fwexp.problems.features import DenseFeatures
from fwexp.problems.multiclass import RESCALING
from fwexp.problems.subsets import PER_EXAMPLE, Sliceable
from fwexp.types import Rescaling, SetOfExamples, Weights

MOST_OUTPUTS = 64  # of an example whose block is maximised at once
ROUNDING = 1e-15  # of the largest linear term: a gap there is 0


class EnumeratedArrays(NamedTuple):
    """The fields of `EnumeratedProblem`."""

    n: int
    d: int
    num_weights: int  # d
    part_ptr: np.ndarray  # int64 (n + 1,): outputs part_ptr[i] .. part_ptr[i+1] belong to example i
    label_ptr: np.ndarray  # int64 (n + 1,): a labeling is the number of an output
    labels: np.ndarray  # int32 (n,), the true output
    psi: np.ndarray  # float64 (outputs, d), psi_i(y)
    scale: np.ndarray  # float64 (outputs,), by which psi is multiplied: 1, or the losses for slack rescaling
    losses: np.ndarray  # float64 (outputs,), L_i(y)
    nonnegative: np.ndarray = protocol.UNCONSTRAINED  # int64, indices of weights that must not be negative


class EnumeratedProblem(Sliceable, EnumeratedArrays):
    """A problem given by matrices; build it with ``fwexp.enumerated_problem``."""

    __slots__ = ()
    tiers = ("sets", "expectations", "bounds", "enumeration", "exact")
    rows: ClassVar = {"psi": "part_ptr", "scale": "part_ptr", "losses": "part_ptr", "labels": PER_EXAMPLE}

    def __repr__(self) -> str:
        return f"EnumeratedProblem(n={self.n}, d={self.d}, outputs={len(self.losses)})"


def enumerated_problem(
    psi: Sequence[Any], losses: Sequence[Any], *, rescaling: Rescaling = "margin", nonnegative: Weights | None = None
) -> SetOfExamples:
    """Build a problem from explicit outputs.

    Use it if the outputs of every example can be listed.

    Parameters
    ----------
    psi : list of (m_i, d) arrays
        Rows psi_i(y) = phi(x_i, y_i) - phi(x_i, y), the row of the true output being 0.
    losses : list of (m_i,) arrays
        L_i(y) >= 0, 0 for the true output.
    rescaling : {"margin", "slack"}, default "margin"
        Quantity that the loss rescales: with ``"slack"``, psi_i(y) is replaced by L_i(y) psi_i(y).
    nonnegative : mask, slice or int array, optional
        Weights that must not be negative: a mask of length d, a slice, or indices from 0.

    Returns
    -------
    EnumeratedProblem
        With ``n`` and ``d``: w holds one weight per column of ``psi``, in their order.

    Raises
    ------
    ValueError
        If there are no examples, shapes do not fit, numbers are not finite or out of the scales 1e-50 .. 1e50, a loss is negative,
        an example has no true output, or ``nonnegative`` is out of range.

    See Also
    --------
    CallbackProblem : Outputs that are found by a function.

    Examples
    --------
    >>> import fwexp
    >>> psi = [[[0.0, 0.0], [1.0, -1.0]]]  # the first output is the true one
    >>> problem = fwexp.enumerated_problem(psi, [[0.0, 1.0]])
    >>> problem.n, problem.d, fwexp.loss(problem, 0, 1)
    (1, 2, 1.0)
    """
    psi = [np.atleast_2d(as_floats(f"psi[{i}]", rows, "hold numbers, shape (m, d)")) for i, rows in enumerate(_list("psi", psi))]
    losses = [as_floats(f"losses[{i}]", values, "hold numbers, shape (m,)") for i, values in enumerate(_list("losses", losses))]
    if not psi or len(psi) != len(losses):
        raise ParameterError(f"psi and losses must have the same length n >= 1, got {len(psi)} and {len(losses)}")
    labels = np.zeros(len(psi), dtype=np.int32)
    for i, (rows, values) in enumerate(zip(psi, losses, strict=True)):
        d = psi[0].shape[-1]
        if rows.ndim != 2 or values.shape != rows.shape[:1] or rows.shape[1] != d:
            raise ParameterError(f"psi[{i}] must have shape (m, {d}) and losses[{i}] (m,), got {rows.shape} and {values.shape}")
        if len(values) and values.min() < 0:
            raise ParameterError(f"losses[{i}] must be finite, and losses >= 0, got {values.min():g}")
        true = np.flatnonzero((values == 0) & ~rows.any(axis=1))
        if len(true) == 0:
            raise ParameterError(f"one output of example {i} must be the true one, with loss 0 and psi = 0")
        labels[i] = true[0]
    rescaling = check_choice("rescaling", rescaling, RESCALING)
    all_losses, all_psi = np.concatenate(losses), np.ascontiguousarray(np.concatenate(psi))
    check_scale_of("psi", all_psi)
    check_scale_of("losses", all_losses)
    n, d = len(psi), all_psi.shape[1]
    problem = EnumeratedProblem(
        n=n,
        d=d,
        num_weights=d,
        part_ptr=pointer([len(values) for values in losses]),
        label_ptr=np.arange(n + 1, dtype=np.int64),
        labels=labels,
        psi=all_psi,
        scale=all_losses.copy() if rescaling == "slack" else np.ones_like(all_losses),
        losses=all_losses,
    )
    return constrained(problem, nonnegative)


def _list(name: str, value) -> list:
    return as_list(name, value, "arrays, one per example")


# --- the walk: each output is a row of its own, of one label -------------------------------------------------------------

dense_parts.register(EnumeratedProblem)


@walk.parts.register(EnumeratedProblem)
def _(problem, i, y, c, visitor):
    return walk.add_row(visitor, y[0], 0, c * problem.scale[problem.part_ptr[i] + y[0]])


@walk.inputs.register(EnumeratedProblem)
def _(problem):
    return DenseFeatures(problem.psi)


@walk.first_row.register(EnumeratedProblem)
def _(problem, i):
    return problem.part_ptr[i]


@walk.row_width.register(EnumeratedProblem)
def _(problem):
    return 1


@walk.scratch_size.register(EnumeratedProblem)
def _(problem):
    small = min(int(np.diff(problem.part_ptr).max()), MOST_OUTPUTS)
    return (2 * small + 5) * small


# --- oracles and losses --------------------------------------------------------------------------------------------------


@protocol.max_oracle.register(EnumeratedProblem)
def _(problem, i, theta, y, scratch):
    start = problem.part_ptr[i]
    value = -1.0  # below the value of the true output, 0
    for k in range(problem.part_ptr[i + 1] - start):
        violation = problem.losses[start + k] - problem.scale[start + k] * theta[k]
        if violation > value:
            value = violation
            y[0] = k
    return value


@protocol.decode.register(EnumeratedProblem)
def _(problem, i, theta, y, scratch):
    y[0] = 0
    for k in range(1, problem.part_ptr[i + 1] - problem.part_ptr[i]):
        if theta[k] < theta[y[0]]:  # the score is the score of the truth minus theta
            y[0] = k


@protocol.loss_augmented_scores.register(EnumeratedProblem)
def _(problem, i, theta, c, cost, potentials):
    start = problem.part_ptr[i]
    for k in range(problem.part_ptr[i + 1] - start):
        potentials[k] += c * (cost * problem.losses[start + k] - problem.scale[start + k] * theta[k])


@protocol.expectation_oracle.register(EnumeratedProblem)
def _(problem, i, potentials, mean, scratch):
    start, count = problem.part_ptr[i], problem.part_ptr[i + 1] - problem.part_ptr[i]
    log_z = softmax(potentials, count, scratch)
    mean_loss, score = 0.0, 0.0
    for k in range(count):
        score += potentials[k] * scratch[k]
        mean[k] = problem.scale[start + k] * scratch[k]
        mean_loss += problem.losses[start + k] * scratch[k]
    return log_z, mean_loss, max(log_z - score, 0.0)


@protocol.distance.register(EnumeratedProblem)
def _(problem, i, direction):
    start, total, rest = problem.part_ptr[i], 0.0, 0.0
    for k in range(problem.part_ptr[i + 1] - start):
        if k != problem.labels[i] and problem.scale[start + k] > 0.0:  # The part of the truth is arbitrary: its psi is 0.
            difference = direction[k] / problem.scale[start + k]
            total += abs(difference)
            rest -= difference
    return total + abs(rest)


protocol.expectation_scratch.register(EnumeratedProblem)(lambda problem: np.zeros(int(np.diff(problem.part_ptr).max())))
protocol.costly_block.register(EnumeratedProblem)(lambda problem: True)
protocol.public_labeling.register(EnumeratedProblem)(lambda problem, i, y: int(y[0]))


@protocol.has_best_block.register(EnumeratedProblem)
def _(problem):
    return bool(np.diff(problem.part_ptr).max() <= MOST_OUTPUTS) and len(problem.nonnegative) == 0


@protocol.best_block.register(EnumeratedProblem)
def _(problem, i, theta, c, blocks, direction, scratch):
    start, size = problem.part_ptr[i], problem.part_ptr[i + 1] - problem.part_ptr[i]
    matrices = scratch[: 2 * size * size].reshape((2, size, size))
    vectors = scratch[2 * size * size : (2 * size + 5) * size].reshape((5, size))
    gram, b, a = matrices[0], vectors[0], vectors[1]
    largest = 0.0
    for k in range(size):  # scores as they are without the block, and products of all psi
        b[k] = problem.losses[start + k] - problem.scale[start + k] * theta[k]
        for j in range(k + 1):
            product = 0.0
            for f in range(problem.d):
                product += problem.psi[start + k, f] * problem.psi[start + j, f]
            gram[k, j] = gram[j, k] = c * product * problem.scale[start + k] * problem.scale[start + j]
    for k in range(size):
        for j in range(size):
            if problem.scale[start + j] > 0.0:  # else its psi is 0
                b[k] += gram[k, j] * (blocks[start + j] / problem.scale[start + j])
        largest = max(largest, abs(b[k]))
    maximise(gram, b, a, vectors[2], size, matrices[1], vectors[3].view(np.int64), vectors[4], ROUNDING * largest)
    mean_loss = 0.0
    for k in range(size):
        direction[k] = problem.scale[start + k] * a[k] - blocks[start + k]
        mean_loss += problem.losses[start + k] * a[k]
    return mean_loss


@protocol.loss.register(EnumeratedProblem)
def _(problem, i, y):
    return problem.losses[problem.part_ptr[i] + y[0]]


@protocol.radii_sq.register(EnumeratedProblem)
def _(problem):
    return np.maximum.reduceat(problem.scale**2 * (problem.psi**2).sum(axis=1), problem.part_ptr[:-1])


@protocol.as_labeling.register(EnumeratedProblem)
def _(problem, i, y):
    count = problem.part_ptr[i + 1] - problem.part_ptr[i]
    if not is_integer(y) or not 0 <= y < count:
        raise ParameterError(f"y must be an output 0 .. {count - 1} of example {i}, got {shown(y)}")
    return np.array([y], dtype=np.int32)


@protocol.all_labelings.register(EnumeratedProblem)
def _(problem, i, limit):
    count = int(problem.part_ptr[i + 1] - problem.part_ptr[i])
    if count > limit:
        raise ParameterError(f"example {i} has {count} outputs, more than the {limit} that can be written out")
    return np.arange(count, dtype=np.int32)[:, None]


@protocol.joint_feature.register(EnumeratedProblem)
def _(problem, i, y):
    # Only differences are known: phi is taken relative to the true output.
    row = problem.part_ptr[i] + y[0]
    return sp.csr_array(-problem.psi[row : row + 1])
