"""Examples that count more or less than others: P(w) = lam/2 ||w||^2 + 1/n sum_i c_i H_i(w), with c_i >= 0 of mean 1.

c_i H_i(w) = max_y c_i L_i(y) - <w, c_i psi_i(y)>, so this is the problem with losses c_i L_i and features c_i psi_i: what
all solvers make of it follows. With psi_i(y) = F_i' p_i(y), the weight is put on F_i'. Vectors of parts, part scores theta
and labelings are those of the problem itself, and functions on them alone are passed on; losses, and all that goes through
F_i', are multiplied by c_i.
"""

from typing import Any, NamedTuple

import numpy as np

from fwexp.errors import ParameterError
from fwexp.problems import protocol
from fwexp.problems.arrays import as_floats
from fwexp.problems.protocol import (
    accumulate,
    accumulate_psi,
    best_block,
    counted_positions,
    dot,
    example_weight,
    expectation_oracle,
    gram_scores,
    joint_feature,
    kernel_view,
    largest_losses,
    loss,
    loss_augmented_scores,
    max_oracle,
    maximise_block,
    norm_sq,
    original,
    psi_score,
    radii_sq,
    rescale,
    scatter,
    scatter_block,
    scatter_labelings,
    scatter_psi,
    score_labelings,
    with_inputs,
)
from fwexp.problems.subsets import Examples, sliceable
from fwexp.types import ArrayLike, Problem, SetOfExamples


@sliceable()
class Weighted(NamedTuple):
    """A problem made of arrays, its examples weighted; build it with ``fwexp.weighted_problem``."""

    n: int
    d: int
    num_weights: int
    part_ptr: np.ndarray | None
    label_ptr: np.ndarray
    labels: np.ndarray | None
    nonnegative: np.ndarray
    unweighted: Any  # the problem
    c: np.ndarray  # float64 (n,), >= 0, of mean 1
    total_weight: float  # the sum of the weights as they were given

    def __repr__(self) -> str:
        return f"Weighted({self.unweighted!r})"


class WeightedFunctions(Examples):
    """A problem given by Python functions, its examples weighted."""

    def __init__(self, problem, c: np.ndarray, total_weight: float) -> None:
        self.unweighted, self.c, self.total_weight = problem, c, total_weight
        self.arrays = problem, c, total_weight  # all that makes the problem
        self.n, self.d, self.num_weights, self.nonnegative = problem.n, problem.d, problem.num_weights, problem.nonnegative

    def __repr__(self) -> str:
        return f"Weighted({self.unweighted!r})"


def weighted_problem(problem: Problem, weights: ArrayLike) -> SetOfExamples:
    r"""Return a problem whose examples have weights.

    Use it if some examples matter more, or stand for several.

    Parameters
    ----------
    problem : problem
        From any constructor.
    weights : array (n,)
        Weights >= 0, not all 0. c_i is ``weights[i]`` divided by their mean, so 2 counts the example twice and 0 leaves it out.
        Weights of a weighted problem are multiplied. The n of ``lam="1/n"`` is the sum of the weights.

    Returns
    -------
    problem
        For ``solve`` and all other functions. ``evaluate`` and the traces have weighted means: ``hinge`` is
        1/n sum_i c_i H_i(w), and errors (``error``, ``train_error``, ``test_error``) are 1/n sum_i c_i L_i of the
        predictions; for problems with ``loss="errors"`` they are sum_i c_i L_i / sum_i c_i T_i, with T_i positions in example i.
        Functions of one example (``predict``, ``loss``, ``joint_feature``, ``max_oracle``) ignore the weights.

    Raises
    ------
    ValueError
        If the weights are not one finite number >= 0 per example, or all are 0; or if the problem is a test set with sure and
        possible links, whose error is no mean.

    Notes
    -----
    Training minimises

    .. math:: \min_w \frac{\lambda}{2} \|w\|^2 + \frac{1}{n} \sum_i c_i H_i(w).

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.multiclass_problem(np.eye(3), [0, 1, 1])
    >>> result = fwexp.solve(fwexp.weighted_problem(problem, [1, 1, 0]), lam=0.1)
    >>> result.predict(problem)[:2]
    [0, 1]
    """
    if protocol.scores.find(type(problem)) is None:
        raise ParameterError(f"problem must come from a constructor such as fwexp.chain_problem, got {type(problem).__name__}")
    weights = as_floats("weights", weights, "hold one number per example")
    if weights.shape != (problem.n,):
        raise ParameterError(f"weights must have shape ({problem.n},), one per example, got {weights.shape}")
    if weights.min() < 0.0 or weights.max() == 0.0:
        got = f"weights[{weights.argmin()}] = {weights.min():g}" if weights.min() < 0.0 else "only 0"
        raise ParameterError(f"weights must be >= 0, and one at least > 0, got {got}")
    if len(getattr(original(problem), "marks", ())):
        raise ParameterError("problem must have an error that is a mean over examples, got one with sure and possible links")
    c, former = weights / weights.max(), problem
    if isinstance(problem, WEIGHTED_FAMILIES):
        c, weights, problem = c * problem.c, weights * problem.c, problem.unweighted
        if c.max() == 0.0:
            raise ParameterError("weights must leave an example that had a weight before, got 0 for all of these")
    with np.errstate(over="ignore"):
        return _weighted(problem, c / c.mean(), float(weights.sum() * _mean_weight(former)))


def total_weight(problem) -> float:
    """Return the n of ``lam="1/n"``: the sum of the weights of the examples, or their number."""
    return getattr(problem, "total_weight", problem.n)


def _mean_weight(problem) -> float:
    """Return the mean of the weights as they were given, by which c was divided."""
    return total_weight(problem) / problem.n


def _weighted(problem, c: np.ndarray, total_weight: float):
    if not isinstance(problem, tuple):
        return WeightedFunctions(problem, c, total_weight)
    return Weighted(
        n=problem.n,
        d=problem.d,
        num_weights=problem.num_weights,
        part_ptr=getattr(problem, "part_ptr", None),
        label_ptr=problem.label_ptr,
        labels=getattr(problem, "labels", None),
        nonnegative=getattr(problem, "nonnegative", protocol.UNCONSTRAINED),
        unweighted=problem,
        c=c,
        total_weight=total_weight,
    )


WEIGHTED_FAMILIES = (Weighted, WeightedFunctions)


def share(problem, indices):
    """Return some examples of any problem, each with the weight that it has among all: the mean of these need not be 1."""
    if isinstance(problem, WEIGHTED_FAMILIES):
        c = problem.c[indices]
        return _weighted(problem.unweighted.subset(indices), c, float(c.sum() * _mean_weight(problem)))
    return problem.subset(indices)


def _subset(problem, indices):
    part = share(problem, indices)
    return _weighted(part.unweighted, weighted_problem(part.unweighted, part.c).c, part.total_weight)


Weighted._subset = WeightedFunctions._subset = _subset


def _pass_on(function):
    """Return the implementation that asks the problem itself."""

    def call_unweighted(problem, *args):
        return function(problem.unweighted, *args)

    return call_unweighted


for _function in [value for value in vars(protocol).values() if hasattr(value, "implementations")]:
    _function.register(*WEIGHTED_FAMILIES)(_pass_on(_function))


@with_inputs.register(*WEIGHTED_FAMILIES)
def _(problem, x, num_features):
    return _weighted(with_inputs(problem.unweighted, x, num_features), problem.c, problem.total_weight)


@kernel_view.register(Weighted)
def _(problem):
    return protocol.KernelView(problem)


@kernel_view.register(WeightedFunctions)
def _(problem):
    return protocol.ViewAround(kernel_view(problem.unweighted), lambda rows: _weighted(rows, problem.c, problem.total_weight))


# --- losses ---------------------------------------------------------------------------------------------------------


@max_oracle.register(*WEIGHTED_FAMILIES)
def _(problem, i, theta, y, scratch):
    return problem.c[i] * max_oracle(problem.unweighted, i, theta, y, scratch)


@loss.register(*WEIGHTED_FAMILIES)
def _(problem, i, y):
    return problem.c[i] * loss(problem.unweighted, i, y)


@counted_positions.register(*WEIGHTED_FAMILIES)
def _(problem):
    return problem.c * counted_positions(problem.unweighted)


@largest_losses.register(*WEIGHTED_FAMILIES)
def _(problem):
    losses = largest_losses(problem.unweighted)
    return None if losses is None else problem.c * losses


@loss_augmented_scores.register(*WEIGHTED_FAMILIES)
def _(problem, i, theta, c, cost, potentials):
    loss_augmented_scores(problem.unweighted, i, theta, c * problem.c[i], cost, potentials)


@expectation_oracle.register(*WEIGHTED_FAMILIES)
def _(problem, i, potentials, mean, scratch):
    log_z, mean_loss, entropy = expectation_oracle(problem.unweighted, i, potentials, mean, scratch)
    return log_z, problem.c[i] * mean_loss, entropy


@example_weight.register(*WEIGHTED_FAMILIES)
def _(problem, i):
    return problem.c[i]


@best_block.register(*WEIGHTED_FAMILIES)
def _(problem, i, theta, c, blocks, direction, scratch):
    return problem.c[i] * best_block(problem.unweighted, i, theta, c * problem.c[i], blocks, direction, scratch)


@maximise_block.register(*WEIGHTED_FAMILIES)
def _(problem, i, theta, c, mean_loss, blocks, work):
    weight = problem.c[i]
    if weight == 0.0:
        return 0.0, mean_loss
    gap, best = maximise_block(problem.unweighted, i, theta, c * weight, mean_loss / weight, blocks, work)
    return weight * gap, weight * best


# --- through F_i' -----------------------------------------------------------------------------------------------------


@joint_feature.register(*WEIGHTED_FAMILIES)
def _(problem, i, y):
    return problem.c[i] * joint_feature(problem.unweighted, i, y)


@radii_sq.register(*WEIGHTED_FAMILIES)
def _(problem):
    return problem.c**2 * radii_sq(problem.unweighted)


@psi_score.register(*WEIGHTED_FAMILIES)
def _(problem, i, y, theta):
    return problem.c[i] * psi_score(problem.unweighted, i, y, theta)


@score_labelings.register(*WEIGHTED_FAMILIES)
def _(problem, i, storage, places, w, work, out):
    score_labelings(problem.unweighted, i, storage, places, w, work, out)
    for a in range(len(out)):
        out[a] *= problem.c[i]


@gram_scores.register(*WEIGHTED_FAMILIES)
def _(problem, i, direction, theta):
    gram_scores(problem.unweighted, i, direction, theta)
    rescale(problem.unweighted, i, problem.c[i], theta)  # the other c_i comes with ``psi_score``


@dot.register(*WEIGHTED_FAMILIES)
def _(problem, i, direction, theta):
    return problem.c[i] * dot(problem.unweighted, i, direction, theta)


@norm_sq.register(*WEIGHTED_FAMILIES)
def _(problem, i, direction):
    return problem.c[i] ** 2 * norm_sq(problem.unweighted, i, direction)


@scatter.register(*WEIGHTED_FAMILIES)
def _(problem, i, direction, c, w):
    scatter(problem.unweighted, i, direction, c * problem.c[i], w)


@scatter_labelings.register(*WEIGHTED_FAMILIES)
def _(problem, i, storage, places, c, factor, direction, w):
    scatter_labelings(problem.unweighted, i, storage, places, c, factor * problem.c[i], direction, w)


@scatter_psi.register(*WEIGHTED_FAMILIES)
def _(problem, i, y, c, w):
    scatter_psi(problem.unweighted, i, y, c * problem.c[i], w)


@scatter_block.register(*WEIGHTED_FAMILIES)
def _(problem, i, blocks, c, w):
    scatter_block(problem.unweighted, i, blocks, c * problem.c[i], w)


@accumulate.register(*WEIGHTED_FAMILIES)
def _(problem, i, direction, c, total):
    accumulate(problem.unweighted, i, direction, c * problem.c[i], total)


@accumulate_psi.register(*WEIGHTED_FAMILIES)
def _(problem, i, y, c, total):
    accumulate_psi(problem.unweighted, i, y, c * problem.c[i], total)
