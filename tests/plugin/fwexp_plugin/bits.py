"""``bits``: several yes/no labels per example, a family of problems of its own with the required functions only."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fwexp.data import Dataset
from fwexp.problems import protocol


class BitsProblem(NamedTuple):
    """Every example has bits y; psi_i(y) holds (y_i - y)_l x_i in row l, the loss is the share of wrong bits."""

    tiers = ("sets",)

    n: int
    d: int
    num_weights: int
    part_ptr: np.ndarray  # one part per bit
    label_ptr: np.ndarray
    labels: np.ndarray
    x: np.ndarray  # (n, p)


@protocol.scores.register(BitsProblem)
def _(problem, i, w, theta):
    p = problem.x.shape[1]
    for label in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        theta[label] = 0.0
        for f in range(p):
            theta[label] += w[label * p + f] * problem.x[i, f]


@protocol.scatter.register(BitsProblem)
def _(problem, i, direction, c, w):
    p = problem.x.shape[1]
    for label in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        for f in range(p):
            w[label * p + f] += c * direction[label] * problem.x[i, f]


@protocol.max_oracle.register(BitsProblem)
def _(problem, i, theta, y, scratch):
    start, value = problem.label_ptr[i], 0.0
    size = problem.label_ptr[i + 1] - start
    for label in range(size):
        true = problem.labels[start + label]
        gain = 1.0 / size - (2 * true - 1) * theta[label]
        y[label] = 1 - true if gain > 0.0 else true
        value += max(gain, 0.0)
    return value


@protocol.decode.register(BitsProblem)
def _(problem, i, theta, y, scratch):
    for label in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        y[label] = theta[label] > 0.0


@protocol.loss.register(BitsProblem)
def _(problem, i, y):
    start, wrong = problem.label_ptr[i], 0
    size = problem.label_ptr[i + 1] - start
    for label in range(size):
        wrong += y[label] != problem.labels[start + label]
    return wrong / size


@protocol.add_psi.register(BitsProblem)
def _(problem, i, y, c, direction):
    start = problem.label_ptr[i]
    for label in range(problem.label_ptr[i + 1] - start):
        direction[label] += c * (problem.labels[start + label] - y[label])


@protocol.joint_feature.register(BitsProblem)
def _(problem, i, y):
    return sp.csr_array(np.outer(y, problem.x[i]).reshape(1, -1))


@protocol.as_labeling.register(BitsProblem)
def _(problem, i, y):
    return np.array(y, dtype=np.int32)


@protocol.public_labeling.register(BitsProblem)
def _(problem, i, y):
    return np.array(y, dtype=np.int64)


def bits_problem(x, bits):
    """Return the problem of inputs (n, p) and bits (n, L)."""
    n, size = bits.shape
    d, ptr = size * x.shape[1], np.arange(n + 1) * size
    return BitsProblem(n, d, d, ptr, ptr, bits.ravel().astype(np.int32), np.ascontiguousarray(x, dtype=np.float64))


def read(options, data_dir):
    """Return the training and the test problem: which side of three lines a point is on."""
    rng = np.random.default_rng(0)
    x = np.column_stack((rng.normal(size=(60, 2)), np.ones(60)))
    bits = x @ rng.normal(size=(3, 3)) > 0
    return bits_problem(x[:40], bits[:40]), bits_problem(x[40:], bits[40:])


DATASET = Dataset(name="bits", title="points and three lines", shape="n = 40, d = 9", files=(), read=read)
