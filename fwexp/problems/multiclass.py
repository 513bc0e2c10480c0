"""Multiclass classification: the SVM of Crammer and Singer (2001), with margin or slack rescaling.

phi(x, y) puts x into the block of class y: the public w holds ``w[f*K + k]`` for feature f and class k, d = K p. The loss
is 0/1, or a matrix of costs L(y_i, y). Slack rescaling multiplies the margin violation by the loss (ICML 2013,
section 2): psi_i(y) is replaced by L_i(y) psi_i(y), so H_i(w) = max_y L_i(y) (1 - <w, psi_i(y)>).

With two classes this is the binary SVM: its weights are u = w_1 - w_0, and since the optimal w_0 = -w_1 its regularisation
lam/2 ||w||^2 is (lam/2)/2 ||u||^2.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.errors import ParameterError, shown
from fwexp.jit.compilation import oracle_part
from fwexp.options import check_choice
from fwexp.oracles.softmax import raised, softmax
from fwexp.problems import class_weights, dense_parts, features, protocol, walk
from fwexp.problems.arrays import as_labels, as_matrix, check_costs, check_labels, check_num_labels
from fwexp.problems.class_weights import class_scatter, class_scatter_one, class_scores
from fwexp.problems.constraints import constrained
from fwexp.problems.features import Features, as_features, padded_width, row_entries
from fwexp.problems.loss_terms import ROUNDING as ENTROPY_ROUNDING
from fwexp.problems.rows import prefetch_rows, row_norms_sq
from fwexp.problems.simplex_blocks import to_best_shares
from fwexp.problems.subsets import PER_EXAMPLE, Sliceable
from fwexp.types import ArrayLike, Rescaling, SetOfExamples, Weights

RESCALING = ("margin", "slack")
ROUNDING = 1e-15  # of scores: a smaller gap of a block is none


class MulticlassArrays(NamedTuple):
    """The fields of `MulticlassProblem`."""

    n: int
    d: int  # K p
    num_classes: int  # K
    width: int  # length of a vector of parts, K padded
    num_features: int  # p
    num_weights: int  # see `class_weights`
    part_ptr: np.ndarray  # int64 (n + 1,): the parts of an example are its classes, padded
    label_ptr: np.ndarray  # int64 (n + 1,)
    labels: np.ndarray  # int32 (n,)
    x: Features
    norm_sq: np.ndarray  # float64 (n,), ||x_i||^2
    costs: np.ndarray  # float64 (K, K), L(true, predicted)
    scale: np.ndarray  # float64 (K, K), by which psi is multiplied: 1, or the costs for slack rescaling
    nonnegative: np.ndarray = protocol.UNCONSTRAINED  # int64, indices of internal weights that must not be negative


class MulticlassProblem(Sliceable, MulticlassArrays):
    """A set of labelled vectors; build it with ``fwexp.multiclass_problem``."""

    __slots__ = ()
    tiers = ("sets", "expectations", "kernels", "bounds", "enumeration", "exact")
    small = True  # A step takes 100 ns: what it calls is compiled as one.
    rows: ClassVar = {"labels": PER_EXAMPLE, "x": PER_EXAMPLE, "norm_sq": PER_EXAMPLE}

    def __repr__(self) -> str:
        return f"MulticlassProblem(n={self.n}, d={self.d}, K={self.num_classes})"


def multiclass_problem(
    X: Any,
    y: ArrayLike,
    num_classes: int | None = None,
    *,
    costs: ArrayLike | None = None,
    rescaling: Rescaling = "margin",
    nonnegative: Weights | None = None,
) -> SetOfExamples:
    """Build a multiclass problem from your own arrays.

    Parameters
    ----------
    X : (n, p) array or scipy.sparse matrix
        Inputs, used as given: no constant is added.
    y : int array (n,)
        Classes from 0. With ``num_classes`` given, -1 is allowed and marks examples of a test set whose class is none of
        them: never predicted, counted wrong; such a problem cannot be trained on.
    num_classes : int, optional
        Number of classes K; by default the largest class plus one.
    costs : (K, K) array, optional
        ``costs[true, predicted]`` >= 0 with zeros on the diagonal; by default 1 for every wrong class.
    rescaling : {"margin", "slack"}, default "margin"
        Quantity that the cost rescales: the margin, or the slack of an example. Both are the same if all costs are 1.
    nonnegative : mask, slice or int array, optional
        Weights that must not be negative: a mask of length d, a slice, or indices from 0.

    Returns
    -------
    MulticlassProblem
        Its fields include ``n`` and ``d = K p``.

    Raises
    ------
    ValueError
        If there are no examples, lengths differ, features are not finite, sparse matrices are malformed, features or costs are out
        of the scales 1e-50 .. 1e50, classes or ``nonnegative`` are out of range, or costs are not as above.

    See Also
    --------
    fwexp.estimators.MulticlassSVM : The estimator, for classes and features of any type.

    Notes
    -----
    w has the weights of K classifiers, ``w[f*K + k]``, trained as one (Crammer and Singer, "On the algorithmic implementation of
    multiclass kernel-based vector machines", JMLR 2001; with costs and slack rescaling as in Tsochantaridis et al., JMLR 2005).

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.multiclass_problem(np.eye(3), [0, 1, 1])
    >>> problem.n, problem.d
    (3, 6)
    """
    x, labels = as_matrix("X", X, "hold numbers, shape (n, p)"), as_labels("y", y)
    if x.ndim != 2 or labels.ndim != 1:
        raise ParameterError(f"X must have shape (n, p) and y (n,), got {x.shape} and {labels.shape}")
    if x.shape[0] != labels.shape[0]:
        raise ParameterError(f"X and y must have the same length, got {x.shape[0]} and {labels.shape[0]}")
    if x.shape[0] == 0:
        raise ParameterError("X must hold at least one example, got n = 0")
    n, p = x.shape
    lowest = 0 if num_classes is None else -1
    num_classes = check_num_labels("num_classes", num_classes, labels, lambda K: K * max(p, K))
    check_labels("classes", labels, lowest, num_classes)
    rescaling = check_choice("rescaling", rescaling, RESCALING)
    costs = check_costs(costs, num_classes)
    features, width = as_features(x), padded_width(num_classes)
    problem = MulticlassProblem(
        n=n,
        d=num_classes * p,
        num_classes=num_classes,
        width=width,
        num_features=p,
        num_weights=class_weights.count(features, p, num_classes, width),
        part_ptr=np.arange(n + 1, dtype=np.int64) * width,
        label_ptr=np.arange(n + 1, dtype=np.int64),
        labels=labels.astype(np.int32),
        x=features,
        norm_sq=row_norms_sq(features, n),
        costs=costs,
        scale=costs.copy() if rescaling == "slack" else np.ones_like(costs),
    )
    return constrained(problem, nonnegative)


# --- the walk: an example is a row --------------------------------------------------------------------------------------

dense_parts.register(MulticlassProblem)


@walk.parts.register(MulticlassProblem)
def _(problem, i, y, c, visitor):
    truth = problem.labels[i]
    return walk.swap_row(visitor, 0, truth, y[0], c * problem.scale[truth, y[0]])


@walk.first_row.register(MulticlassProblem)
def _(problem, i):
    return i


@walk.scores_at.register(MulticlassProblem)
def _(problem, i, r, w, out):
    class_scores(problem.x, i, w, problem.num_classes, problem.width, out)


@walk.scatter_at.register(MulticlassProblem)
def _(problem, i, r, row, c, w):
    class_scatter(problem.x, i, row, c, problem.num_classes, problem.width, w)


@walk.scatter_one.register(MulticlassProblem)
def _(problem, i, r, label, c, w):
    class_scatter_one(problem.x, i, label, c, problem.width, w)


@protocol.gram_scores.register(MulticlassProblem)
def _(problem, i, direction, theta):
    for k in range(problem.width):
        theta[k] = problem.norm_sq[i] * direction[k]


@protocol.norm_sq.register(MulticlassProblem)
def _(problem, i, direction):
    total = 0.0
    for k in range(problem.width):
        total += problem.norm_sq[i] * direction[k] * direction[k]
    return total


# --- oracles and losses --------------------------------------------------------------------------------------------------


@protocol.max_oracle.register(MulticlassProblem)
def _(problem, i, theta, y, scratch):
    truth = problem.labels[i]
    best, value = 0, -1.0  # below the value of the true class, 0
    for k in range(problem.num_classes):
        violation = problem.costs[truth, k] - problem.scale[truth, k] * (theta[truth] - theta[k])
        if violation > value:
            best, value = k, violation
    y[0] = best
    return value


@protocol.decode.register(MulticlassProblem)
def _(problem, i, theta, y, scratch):
    best = 0
    for k in range(1, problem.num_classes):
        if theta[k] > theta[best]:
            best = k
    y[0] = best


@protocol.loss_augmented_scores.register(MulticlassProblem)
def _(problem, i, theta, c, cost, potentials):
    truth = problem.labels[i]
    for k in range(problem.num_classes):
        potentials[k] += c * (cost * problem.costs[truth, k] - problem.scale[truth, k] * (theta[truth] - theta[k]))


@protocol.expectation_oracle.register(MulticlassProblem)
def _(problem, i, potentials, mean, scratch):
    truth = problem.labels[i]
    log_z = softmax(potentials, problem.num_classes, scratch)
    mean_loss, total, score = 0.0, 0.0, 0.0
    for k in range(problem.num_classes):
        score += potentials[k] * scratch[k]
        mean[k] = -problem.scale[truth, k] * scratch[k]
        total -= mean[k]
        mean_loss += problem.costs[truth, k] * scratch[k]
    mean[truth] += total
    for k in range(problem.num_classes, problem.width):
        mean[k] = 0.0
    return log_z, mean_loss, max(log_z - score, 0.0)


@protocol.distance.register(MulticlassProblem)
def _(problem, i, direction):
    truth, total, rest = problem.labels[i], 0.0, 0.0
    for k in range(problem.num_classes):
        if k != truth and problem.scale[truth, k] > 0.0:
            difference = direction[k] / problem.scale[truth, k]
            total += abs(difference)
            rest -= difference
    return total + abs(rest)


protocol.expectation_scratch.register(MulticlassProblem)(lambda problem: np.zeros(problem.width))
protocol.unevenness.register(MulticlassProblem)(lambda problem: features.unevenness(problem.x, problem.num_features))
protocol.public_labeling.register(MulticlassProblem)(lambda problem, i, y: int(y[0]))


@protocol.has_best_block.register(MulticlassProblem)
def _(problem):
    margin = problem.scale == 1.0
    np.fill_diagonal(margin, True)
    return bool(margin.all()) and len(problem.nonnegative) == 0


@oracle_part
def _best_block(problem, i, theta, c, block, direction, z):
    """Set ``direction`` to the way from the block to the best one, which is returned, in ``z``, with its mean loss."""
    truth, mass, mean_loss = np.int64(problem.labels[i]), c * problem.norm_sq[i], 0.0
    for k in range(problem.num_classes):
        z[k] = problem.costs[truth, k] + theta[k] - mass * block[k]
    to_best_shares(z, problem.num_classes, truth, mass)
    for k in range(problem.num_classes):
        mean_loss += problem.costs[truth, k] * z[k]
        z[k] = -z[k]
    z[truth] = -z[truth]
    for k in range(problem.num_classes):
        direction[k] = z[k] - block[k]
    for k in range(problem.num_classes, problem.width):
        direction[k] = 0.0
    return mean_loss


@protocol.best_block.register(MulticlassProblem)
def _(problem, i, theta, c, blocks, direction, scratch):
    block = blocks[problem.part_ptr[i] : problem.part_ptr[i + 1]]
    return _best_block(problem, i, theta, c, block, direction, scratch)


@protocol.maximise_block.register(MulticlassProblem)
def _(problem, i, theta, c, mean_loss, blocks, work):
    truth = np.int64(problem.labels[i])
    own, best = theta[truth], theta[truth]
    for k in range(problem.num_classes):
        best = max(best, problem.costs[truth, k] + theta[k])
    block = blocks[problem.part_ptr[i] : problem.part_ptr[i + 1]]
    mean = own
    if block[truth] != 0.0:  # else it is at the truth, as most are
        mean += mean_loss
        for k in range(problem.num_classes):
            mean -= theta[k] * block[k]
    gap = best - mean
    if gap <= ROUNDING * (abs(best) + abs(mean)):
        return 0.0, mean_loss
    mean_loss = _best_block(problem, i, theta, c, block, work.direction, work.scratch)
    for k in range(problem.num_classes):
        block[k] = work.scratch[k]
    return gap, mean_loss


protocol.has_distributions.register(MulticlassProblem)(lambda problem: bool(protocol.has_best_block(problem)))


@protocol.raise_distribution.register(MulticlassProblem)
def _(problem, i, theta, c, mean_loss, cost, temperature, means, work):
    truth, start, largest, gap = np.int64(problem.labels[i]), problem.part_ptr[i], 0.0, -mean_loss / temperature
    scores, before, after = work.scratch, work.image, work.direction
    for k in range(problem.num_classes):
        score = (theta[k] - theta[truth]) / temperature
        before[k] = (1.0 if k == truth else 0.0) - means[start + k]
        gap -= before[k] * score
        scores[k] = score + cost / temperature * problem.costs[truth, k]
        largest = max(largest, abs(scores[k]))
    log_z = softmax(scores, problem.num_classes, after)
    rounding = 2.0 * ENTROPY_ROUNDING * (abs(log_z) + largest)
    gap += log_z - rounding
    if gap <= 0.0:
        return 0.0, mean_loss
    ell = raised(scores, problem.num_classes, c * problem.norm_sq[i] / temperature, gap, before, after, theta) - rounding
    for k in range(problem.num_classes):
        ell += cost / temperature * problem.costs[truth, k] * after[k]
        after[k] = before[k] - after[k]
        means[start + k] += after[k]
    for k in range(problem.num_classes, problem.width):
        after[k] = 0.0
    return temperature * gap, temperature * ell


@protocol.loss.register(MulticlassProblem)
def _(problem, i, y):
    truth = problem.labels[i]
    return problem.costs[truth, y[0]] if truth >= 0 else 1.0


@protocol.prefetch_example.register(MulticlassProblem)
def _(problem, i):
    prefetch_rows(problem.x, i, i + 1)


@protocol.radii_sq.register(MulticlassProblem)
def _(problem):
    return 2.0 * problem.norm_sq * (problem.scale.max(axis=1) ** 2)[problem.labels]


protocol.to_public.register(MulticlassProblem)(class_weights.to_public)
protocol.from_public.register(MulticlassProblem)(class_weights.from_public)
protocol.order_of_weights.register(MulticlassProblem)(lambda problem: class_weights.by_class(problem.x))


@protocol.as_labeling.register(MulticlassProblem)
def _(problem, i, y):
    label = as_labels("y", y, f"be a class 0 .. {problem.num_classes - 1}")
    if label.shape not in ((), (1,)) or not 0 <= label.item() < problem.num_classes:
        raise ParameterError(f"y must be a class 0 .. {problem.num_classes - 1}, got {shown(y)}")
    return np.array([label.item()], dtype=np.int32)


@protocol.all_labelings.register(MulticlassProblem)
def _(problem, i, limit):
    if problem.num_classes > limit:
        raise ParameterError(f"example {i} has {problem.num_classes} classes, more than the {limit} that can be written out")
    return np.arange(problem.num_classes, dtype=np.int32)[:, None]


@protocol.with_inputs.register(MulticlassProblem)
def _(problem, x, num_features):
    return problem._replace(
        d=problem.num_classes * num_features,
        num_features=num_features,
        num_weights=class_weights.count(x, num_features, problem.num_classes, problem.width),
        x=x,
        norm_sq=row_norms_sq(x, problem.n),
    )


@protocol.curvatures.register(MulticlassProblem)
def _(problem):
    K = problem.num_classes
    return class_weights.from_public(problem, np.repeat(features.spreads(problem.x, problem.num_features), K)) * (K - 1) / K**2


@protocol.joint_feature.register(MulticlassProblem)
def _(problem, i, y):
    columns, values = row_entries(problem.x, i)
    columns = columns * problem.num_classes + y[0]
    return sp.csr_array((values, (np.zeros_like(columns), columns)), shape=(1, problem.d))
