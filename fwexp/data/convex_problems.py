"""Convex problems and saddle points to compare methods on, in the experiments for the review: computed from options."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fwexp.data.dataset import Dataset
from fwexp.options import CONVEX, SADDLE, check_integer, check_number, check_positive, choice, option


def count(default: int, least: int = 1):
    """Return the field of an option that is a number of something."""
    return option(default, check_integer, least)


def positive(default: float):
    """Return the field of an option that is a positive number."""
    return option(default, check_positive)


@dataclass(frozen=True)
class LassoOptions:
    """Gaussian A, sparse coefficients, noise of size 0.1.

    Attributes
    ----------
    n : int
        Rows of A.
    d : int
        Columns of A.
    nonzeros : int
        Coefficients that are not 0.
    radius : float
        Of the ball, in multiples of the l1 norm of the coefficients.
    instance : int
        The seed of the random numbers.
    """

    n: int = count(500)
    d: int = count(200)
    nonzeros: int = count(20)
    radius: float = positive(0.9)
    instance: int = count(0, 0)


def _lasso(o):
    from fwexp.convex.objectives import LeastSquares, Minimisation
    from fwexp.convex.simple_sets import L1Ball

    rng = np.random.default_rng(o.instance)
    A, x = rng.standard_normal((o.n, o.d)), np.zeros(o.d)
    x[rng.choice(o.d, min(o.nonzeros, o.d), replace=False)] = rng.standard_normal(min(o.nonzeros, o.d))
    return Minimisation(LeastSquares(A, A @ x + 0.1 * rng.standard_normal(o.n)), L1Ball(o.d, o.radius * np.abs(x).sum()))


@dataclass(frozen=True)
class TriangleOptions:
    """Corners (0, 0), (-1, 0), (cos t, sin t).

    Attributes
    ----------
    divisor : float
        t is pi over this.
    optimum : str
        Whether it lies on an ``edge`` or ``inside``.
    """

    divisor: float = positive(4.0)
    optimum: str = choice("edge", "inside")


def _triangle(o):
    from fwexp.convex.objectives import LeastSquares, Minimisation
    from fwexp.convex.polytopes import Hull

    t = math.pi / o.divisor
    corners = np.array([[0.0, 0.0], [-1.0, 0.0], [math.cos(t), math.sin(t)]])
    edge = corners[2] - corners[1]
    normal = np.array([-edge[1], edge[0]]) / np.linalg.norm(edge)
    target = corners[1] + 0.3 * edge + 0.5 * normal if o.optimum == "edge" else corners.mean(axis=0)
    return Minimisation(LeastSquares(np.eye(2), target), Hull(corners))


@dataclass(frozen=True)
class NormOptions:
    """||x||^2 over the simplex.

    Attributes
    ----------
    d : int
        The dimension.
    """

    d: int = count(100)


def _norm(o):
    from fwexp.convex.objectives import Minimisation, Quadratic
    from fwexp.convex.simple_sets import Simplex

    return Minimisation(Quadratic(2.0 * np.eye(o.d)), Simplex(o.d))


@dataclass(frozen=True)
class BlockOptions:
    """A random strongly convex quadratic on simplices and as many boxes.

    Attributes
    ----------
    blocks : int
        Simplices.
    d : int
        Coordinates of each block.
    instance : int
        The seed of the random numbers.
    """

    blocks: int = count(5)
    d: int = count(5)
    instance: int = count(0, 0)


def _blocks(o):
    from fwexp.convex.feasible_sets import Product
    from fwexp.convex.objectives import Minimisation, Quadratic
    from fwexp.convex.simple_sets import Box, Simplex

    rng = np.random.default_rng(o.instance)
    dim = 2 * o.blocks * o.d
    A = rng.standard_normal((2 * dim, dim)) / math.sqrt(dim)
    ones = np.ones(o.d)
    product = Product([factor for _ in range(o.blocks) for factor in (Simplex(o.d), Box(-ones, ones))])
    return Minimisation(Quadratic(A.T @ A, rng.standard_normal(dim)), product)


@dataclass(frozen=True)
class ChainOptions:
    """Noisy sequences of hidden states.

    Attributes
    ----------
    n : int
        Sequences.
    length : int
        Positions of each.
    num_states : int
        Labels of a position.
    features : int
        Inputs of a position.
    lam : float
        Regularization of the SVM.
    instance : int
        The seed of the random numbers.
    """

    n: int = count(20)
    length: int = count(4)
    num_states: int = count(3)
    features: int = count(4)
    lam: float = positive(0.05)
    instance: int = count(0, 0)


def _chains(o):
    from fwexp.problems.chain import chain_problem

    rng = np.random.default_rng(o.instance)
    centres, sticky = rng.standard_normal((o.num_states, o.features)), np.eye(o.num_states) + 0.5
    X, y = [], []
    for _ in range(o.n):
        labels = [int(rng.integers(o.num_states))]
        while len(labels) < o.length:
            row = sticky[labels[-1]]
            labels.append(int(rng.choice(o.num_states, p=row / row.sum())))
        y.append(labels)
        X.append(centres[labels] + rng.standard_normal((o.length, o.features)))
    return chain_problem(X, y, o.num_states)


def _chain_dual(o):
    """Return the dual of the structural SVM over all labelings: lam/2 ||A a||^2 - b'a on a product of simplices."""
    from fwexp.convex.feasible_sets import Product
    from fwexp.convex.objectives import Minimisation, Quadratic
    from fwexp.convex.simple_sets import Simplex
    from fwexp.convex.structured import svm_game

    problem = _chains(o)
    game = svm_game(problem, 1.0)
    columns, losses, factors = [], [], []
    F = game.matrix.A.toarray() * problem.n
    for polytope, block in zip(game.Y.factors, game.Y.blocks, strict=True):
        K, T = polytope.num_states, polytope.length
        labelings = np.array(np.unravel_index(np.arange(K**T), (K,) * T)).T
        parts = np.zeros((len(labelings), polytope.dim))
        for t in range(T):
            parts[np.arange(len(labelings)), K * K + t * K + labelings[:, t]] = 1.0
            if t:
                np.add.at(parts, (np.arange(len(labelings)), labelings[:, t - 1] * K + labelings[:, t]), 1.0)
        features, cost = parts @ F[:, block].T, parts @ (-game.q[block] * problem.n)
        right = int(np.argmin(cost))  # the true labeling alone loses nothing
        order = np.r_[right, np.delete(np.arange(len(cost)), right)]
        columns.append((features[right] - features[order]) / (o.lam * problem.n))
        losses.append(cost[order] / problem.n)
        factors.append(Simplex(len(cost)))
    A = np.vstack(columns).T
    return Minimisation(Quadratic(o.lam * A.T @ A, -np.concatenate(losses)), Product(factors))


@dataclass(frozen=True)
class ChainGameOptions(ChainOptions):
    """The same sequences with ||w|| bounded, instead of a regulariser.

    Attributes
    ----------
    radius : float
        The bound.
    """

    radius: float = positive(2.0)


def _chain_game(o):
    from fwexp.convex.structured import svm_game

    return svm_game(_chains(o), o.radius)


@dataclass(frozen=True)
class GameOptions:
    """A square matrix, uniform in [-1, 1], on two simplices.

    Attributes
    ----------
    d : int
        Its rows.
    instance : int
        The seed of the random numbers.
    """

    d: int = count(100)
    instance: int = count(0, 0)


def _matrix_game(o):
    from fwexp.convex.games import Bilinear
    from fwexp.convex.simple_sets import Simplex

    return Bilinear(np.random.default_rng(o.instance).uniform(-1.0, 1.0, (o.d, o.d)), Simplex(o.d), Simplex(o.d))


@dataclass(frozen=True)
class BallOptions:
    """A rotation on two unit balls, plus offset (x_1 - y_1).

    Attributes
    ----------
    d : int
        Dimension of the balls.
    offset : float
        Above 1 gradients are at least offset - 1 long; below, the saddle point is inside both balls.
    instance : int
        The seed of the random numbers.
    """

    d: int = count(20)
    offset: float = option(3.0, check_number, "a number >= 0", least=0.0)
    instance: int = count(0, 0)


def _ball_game(o):
    from fwexp.convex.games import Bilinear
    from fwexp.convex.simple_sets import L2Ball

    M = np.linalg.qr(np.random.default_rng(o.instance).standard_normal((o.d, o.d)))[0]
    p = np.zeros(o.d)
    p[0] = o.offset
    return Bilinear(M, L2Ball(o.d), L2Ball(o.d), p, p)


def _dataset(kind: str, name: str, title: str, shape: str, make: Callable, options: type) -> Dataset:
    """Return a data set without files, whose problem ``make(options)`` computes."""
    return Dataset(name, title, shape, files=(), read=lambda values, _: (make(values), None), Options=options, kind=kind)


LASSO = _dataset(CONVEX, "lasso", "least squares on the l1 ball", "d = 200", _lasso, LassoOptions)
TRIANGLE = _dataset(CONVEX, "triangle", "the distance to a point, on a triangle", "d = 2", _triangle, TriangleOptions)
NORM = _dataset(CONVEX, "norm", "||x||^2 on the simplex", "d = 100", _norm, NormOptions)
BLOCKS = _dataset(CONVEX, "blocks", "a quadratic on a product of simplices and boxes", "d = 50", _blocks, BlockOptions)
CHAIN_DUAL = _dataset(CONVEX, "chain_dual", "the dual of a chain SVM, enumerated", "20 simplices", _chain_dual, ChainOptions)
CHAIN_GAME = _dataset(SADDLE, "chain_game", "a chain SVM as a saddle point", "n = 20", _chain_game, ChainGameOptions)
MATRIX_GAME = _dataset(SADDLE, "matrix_game", "a matrix game", "100 x 100", _matrix_game, GameOptions)
BALL_GAME = _dataset(SADDLE, "ball_game", "a bilinear game on two balls", "20 x 20", _ball_game, BallOptions)
