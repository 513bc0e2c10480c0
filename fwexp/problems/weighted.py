"""Problems whose examples count more or less than others: P(w) = lam/2 ||w||^2 + 1/n sum_i c_i H_i(w), with c_i >= 0 of mean 1.

`fwexp.problems.protocol.degrees` says how the weights enter the functions of the protocol.
"""

from typing import Any, NamedTuple

import numpy as np

from fwexp.conversion import as_floats
from fwexp.errors import ParameterError
from fwexp.problems import protocol
from fwexp.problems.protocol import WithWeights, original
from fwexp.problems.subsets import Examples, Sliceable
from fwexp.types import ArrayLike, Problem, SetOfExamples


class WeightedArrays(NamedTuple):
    """The fields of `Weighted`."""

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


class WeightedExamples(WithWeights, Examples):
    """A problem whose examples have weights; build it with ``fwexp.weighted_problem``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Weighted({self.unweighted!r})"

    def around(self, problem):
        """Return another problem with the same weights."""
        return _weighted(problem, self.c, self.total_weight)

    def _subset(self, indices):
        part = share(self, indices)
        return _weighted(part.unweighted, weighted_problem(part.unweighted, part.c).c, part.total_weight)


class Weighted(WeightedExamples, Sliceable, WeightedArrays):
    """A problem made of arrays, its examples weighted."""

    __slots__ = ()


class WeightedFunctions(WeightedExamples):
    """A problem given by Python functions, its examples weighted."""

    def __init__(self, problem, c: np.ndarray, total_weight: float) -> None:
        self.unweighted, self.c, self.total_weight = problem, c, total_weight
        self.arrays = problem, c, total_weight  # all that makes the problem
        self.n, self.d, self.num_weights, self.nonnegative = problem.n, problem.d, problem.num_weights, problem.nonnegative


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
    if isinstance(problem, WithWeights):
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


def share(problem, indices):
    """Return some examples of any problem, each with the weight that it has among all: the mean of these need not be 1."""
    if isinstance(problem, WithWeights):
        c = problem.c[indices]
        return _weighted(problem.unweighted.subset(indices), c, float(c.sum() * _mean_weight(problem)))
    return problem.subset(indices)
