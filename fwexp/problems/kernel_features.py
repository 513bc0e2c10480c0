"""Inputs seen through a kernel, for structured kernels that are sums over parts.

The kernel between two structures is sum_{t,t'} k(x_t, x'_t') [y_t = y'_t'] plus that of the parts without inputs (for chains:
equal first labels, equal last labels, equal transitions). So w has, instead of a row of K weights per feature, a row of K
coefficients per input of the training set,

    <w, x_t e_k> = sum_u c[u, k] k(x_t, x_u),

and a problem whose inputs are ``KernelFeatures`` is kernelised: scores are sums over the support, and steps change the
coefficients of one example. Kernel values are computed when needed, never stored.

Such weights have the inner product ``protocol.inner``, not the plain one.
"""

import math
from typing import NamedTuple

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.errors import OptionError
from fwexp.jit.compilation import njit, register_jitable
from fwexp.jit.threads import parallel_for
from fwexp.oracles.exponentials import exponentials
from fwexp.problems import protocol
from fwexp.problems.chain import ChainProblem
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures
from fwexp.problems.multiclass import MulticlassProblem
from fwexp.problems.rows import product_bound, renumbered, row_dot, row_norms_sq, row_scatter, row_scatter_label, row_scores

KINDS = ("linear", "poly", "rbf")
LINEAR, POLY, RBF = range(3)
DENSE_SHARE = 0.1  # inputs with at least this share of nonzeros are kept as dense rows
BLOCK = 64  # kernel values that are computed together
CHUNKS = 8  # of the training inputs, dealt out to the threads


class Kernel(NamedTuple):
    """linear <x, z>, poly (gamma <x, z> + coef0)^degree, or rbf exp(-gamma ||x - z||^2)."""

    kind: int
    degree: int
    gamma: float
    coef0: float


class KernelFeatures(NamedTuple):
    """Inputs of a problem, and inputs of the training set that weights refer to."""

    x: DenseFeatures | SparseFeatures
    x_sq: np.ndarray  # float64, ||x_t||^2
    base: DenseFeatures | SparseFeatures  # of the class of x
    base_sq: np.ndarray
    kernel: Kernel


def kernelised(problem, train, kernel: Kernel):
    """Return ``problem`` with its inputs seen through a kernel, on weights that refer to the inputs of ``train``."""
    train, inputs = protocol.original(train), protocol.original(problem)
    if len(train.nonnegative):
        raise OptionError("kernels have no weights of features that could be kept nonnegative; solve without nonnegative")
    columns, rows = train.num_features, _num_rows(train.x)
    entries = train.x.values.size if isinstance(train.x, DenseFeatures) else int(train.x.indptr[-1])
    dense = entries >= DENSE_SHARE * rows * columns
    base = _converted(train.x, columns, dense)
    x = base if inputs is train else _converted(inputs.x, columns, dense)
    base_sq = row_norms_sq(base, rows)
    x_sq = base_sq if inputs is train else row_norms_sq(x, _num_rows(x))
    return protocol.with_inputs(problem, KernelFeatures(x, x_sq, base, base_sq, kernel), rows)


def _num_rows(x) -> int:
    return len(x.values) if isinstance(x, DenseFeatures) else len(x.indptr) - 1


def _converted(x, columns: int, dense: bool):
    """Return inputs as dense rows or as sparse ones."""
    if isinstance(x, DenseFeatures) == dense and not isinstance(x, BinaryFeatures):
        return x
    if isinstance(x, DenseFeatures):
        rows = sp.csr_array(x.values)
        return SparseFeatures(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)
    values = np.ones(len(x.indices)) if isinstance(x, BinaryFeatures) else x.values
    if not dense:
        return SparseFeatures(x.indptr, x.indices, values)
    return DenseFeatures(sp.csr_array((values, x.indices, x.indptr), shape=(len(x.indptr) - 1, columns)).toarray())


@register_jitable
def exponent(kernel, product, a_sq, b_sq):
    """Return k(a, b), of rbf its logarithm, given <a, b>, ||a||^2 and ||b||^2."""
    if kernel.kind == LINEAR:
        return product
    if kernel.kind == POLY:
        return (kernel.gamma * product + kernel.coef0) ** kernel.degree
    return -kernel.gamma * max(a_sq + b_sq - 2.0 * product, 0.0)


@register_jitable
def _any(row):
    """Return whether a row of coefficients is not zero."""
    nonzero = 0
    for k in range(len(row)):
        nonzero += row[k] != 0.0
    return nonzero > 0


@row_scores.register(KernelFeatures)
def _(x, t, weights, width, out):
    out[:] = 0.0
    places, values, power = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, len(x.base_sq), BLOCK):
        count = 0
        for u in range(start, min(start + BLOCK, len(x.base_sq))):
            if _any(weights[u * width : (u + 1) * width]):
                places[count] = u
                values[count] = exponent(x.kernel, row_dot(x.x, t, x.base, u), x.x_sq[t], x.base_sq[u])
                count += 1
        if x.kernel.kind == RBF:
            exponentials(values[:count], power)
        for j in range(count):
            value, row = values[j], weights[places[j] * width : (places[j] + 1) * width]
            for k in range(width):
                out[k] += value * row[k]


@row_scatter.register(KernelFeatures)
def _(x, t, row, c, width, weights):
    for k in range(width):
        weights[t * width + k] += c * row[k]


@row_scatter_label.register(KernelFeatures)
def _(x, t, label, c, width, weights):
    weights[t * width + label] += c


@row_dot.register(KernelFeatures)
def _(x, t, z, u):
    value = exponent(x.kernel, row_dot(x.x, t, z.x, u), x.x_sq[t], z.x_sq[u])
    return math.exp(value) if x.kernel.kind == RBF else value


@renumbered.register(KernelFeatures)
def _(x, spans, num_features):
    return x, np.full(len(spans), num_features, dtype=np.int64)  # one column per training input


product_bound.register(KernelFeatures)(lambda x, start, end: float(np.sqrt(_norms_sq(x, start, end)).sum() ** 2))


@njit
def _norms_sq(x, start, end):
    out = np.empty(end - start)
    for t in range(start, end):
        out[t - start] = row_dot(x, t, x, t)
    return out


@njit
def _inner_range(x, start, end, u, v, width, totals):
    """Add sum_s k(x_t, x_s) <u_t, v_s> to the totals of t from start to end."""
    scores = np.empty(width)
    for t in range(start, end):
        row = u[t * width : (t + 1) * width]
        if _any(row):
            row_scores(x, t, v, width, scores)
            for k in range(width):
                totals[t] += row[k] * scores[k]


@protocol.inner.register(ChainProblem, MulticlassProblem)
def _(problem, u, v):
    x, size = problem.x, problem.num_features * problem.width
    if not isinstance(x, KernelFeatures):
        return protocol.product(u, v)
    x = x._replace(x=x.base, x_sq=x.base_sq)
    totals = np.zeros(problem.num_features)

    def run_chunk(k: int, start: int, end: int) -> None:
        _inner_range(x, start, end, u, v, problem.width, totals)

    parallel_for(run_chunk, problem.num_features, min(CHUNKS, problem.num_features))
    return float(totals.sum() + protocol.product(u[size:], v[size:]))
