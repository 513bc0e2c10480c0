"""Methods, functions and sets refuse bad values in one line, which names the value and the accepted ones."""

import re

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import fwexp
from fwexp import convex
from fwexp.convex import (
    Bilinear,
    Box,
    Hull,
    L1Ball,
    L2Ball,
    LeastSquares,
    LinearSum,
    Logistic,
    Oracle,
    Product,
    Quadratic,
    Simplex,
    minimize,
    saddle_point,
    svm_game,
)
from fwexp.errors import CertificateError, OptionError, ParameterError
from fwexp.problems.chain import chain_from_arrays

EYE, PAIR, BALL = np.eye(2), Simplex(2), L2Ball(2)
GAME = Bilinear(EYE, BALL, BALL)
KNOWN = LeastSquares(EYE, [1, 2])
SOME = np.random.default_rng(0).standard_normal((60, 2))


def never(x):
    return 0.0, np.zeros(2)


def asked(fun, convex_set=PAIR, **options):
    """Return a function that minimises."""
    return lambda: minimize(fun, convex_set, **options)


def answered(answer, **options):
    """Return a function that minimises with a linear minimisation of this answer."""
    return asked(KNOWN, Oracle(lambda g: answer, 2, **options))


def game(*args, **options):
    """Return a function that makes the game of a problem of sequences with these arguments."""
    return lambda: svm_game(fwexp.chain_problem([EYE], *args, **options), 1.0)


VALUES = [
    # functions
    (asked(lambda x: (np.nan, x)), "fun(x) must return a finite value, got nan"),
    (asked(lambda x: (0.0, x * np.nan)), "the gradient that fun(x) returns must hold finite numbers"),
    (asked(lambda x: (0.0, x[:1])), "the gradient that fun(x) returns must be a vector of length 2, got an"),
    (asked(lambda x: (float(x @ x), x + 0j)), "the gradient that fun(x) returns must be a vector of real numbers"),
    (asked(lambda x: 0.0), "fun(x) must return the value and the gradient, got 0.0"),
    (asked(lambda x: ("a", x)), "fun(x) must return a number as its value, got 'a'"),
    (asked(lambda x: (x @ x + 0j, x)), "fun(x) must return a number as its value, got "),
    (asked(3), "f must be a function of fwexp.convex or fun(x) -> (value, gradient), got 3"),
    (asked(LinearSum(SOME, lambda z, terms: z)), "fun(z, terms) must return the values and the derivatives, got "),
    (
        asked(LinearSum(SOME, lambda z, terms: (z[1:], z))),
        "the values that fun(z, terms) returns must be a vector of length 60",
    ),
    (
        asked(LinearSum(SOME, lambda z, terms: (z, z * np.nan))),
        "the derivatives that fun(z, terms) returns must hold finite numbers",
    ),
    (asked(LinearSum(SOME, lambda z, terms: (z**2, -z))), "fun(x) returns a gradient that is not that of its value"),
    (asked(LinearSum(SOME, lambda z, terms: (-(z**2), -2 * z))), "f must be convex on the set"),
    # known functions
    (asked(LeastSquares(np.eye(3), np.ones(3))), "f and the set must have one dimension, got 3 and 2"),
    (lambda: LeastSquares(np.eye(3), np.ones(2)), "b must be a vector of length 3, got an array of shape (2,)"),
    (lambda: LeastSquares([[np.nan]], [1.0]), "A must hold finite numbers, got one that is not"),
    (lambda: LeastSquares(EYE * 1j, [1, 2]), "A must be a matrix of real numbers, got "),
    (lambda: LeastSquares(scipy.sparse.csr_array(EYE * 1j), [1, 2]), "A must be a matrix of real numbers, got complex128"),
    (lambda: LeastSquares(aslinearoperator(EYE * 1j), [1, 2]), "A must be a matrix of real numbers, got complex128"),
    (lambda: LeastSquares(EYE, ["1", "2"]), "b must be a vector of real numbers, got "),
    (
        lambda: LeastSquares(LinearOperator((2, 2), matvec=lambda x: 2 * x, rmatvec=lambda z: -2 * z), [1, 2]),
        "A must be an operator whose rmatvec is the adjoint of its matvec, got <A x, z> = ",
    ),
    (lambda: LeastSquares(LinearOperator((2, 2), matvec=lambda x: x), [1, 2]), "A must have transposed products, got an operator"),
    (lambda: Logistic(EYE, [0, 1]), "y must hold the labels -1 and 1, got 0"),
    (lambda: Logistic(EYE, np.array([1 + 0j, -1])), "y must be a vector of real numbers, got "),
    (lambda: Quadratic([[0, 1], [0, 0]]), "Q must be symmetric, got a matrix that is not"),
    (lambda: Quadratic([[1, 0], [0, -2]]), "Q must be positive semidefinite, got curvature -2 in some direction"),
    (lambda: Quadratic(np.ones((2, 3))), "Q must be a square matrix, got one of shape (2, 3)"),
    (
        asked(Quadratic(scipy.sparse.diags_array(np.append(np.ones(400), -3.0))), Simplex(401), max_iter=500),
        "Q must be positive semidefinite, got curvature -",
    ),
    # arguments
    (asked(never, 3), "set must be a convex set of fwexp.convex, got 3"),
    (asked(never, x0=[2.0, 2.0]), "x0 must lie in the set, got [2.0, 2.0]"),
    (asked(never, x0=[1.0]), "x0 must be a vector of length 2, got an array of shape (1,)"),
    (asked(never, x0=np.array([1 + 0j, 0])), "x0 must be a vector of real numbers"),
    (
        asked(never, domain=lambda x: (x > 0.0).all()),
        "the start must lie in the domain of f, got [1.0, 0.0]; pass a point",
    ),
    (asked(never, domain=lambda x: False, x0=[1.0, 0.0]), "x0 must lie in the domain of f, got [1.0, 0.0]"),
    (asked(never, method="pairwis"), "unknown method 'pairwis' (did you mean 'pairwise'?); accepted: "),
    (asked(never, max_iter=0), "max_iter must be a positive finite number, got 0"),
    (asked(never, gap_tol=-1), "gap_tol must be a finite number >= 0, got -1"),
    (asked(never, step="big"), "method pairwise: step must be one of auto, line_search, adaptive; got 'big'"),
    (asked(never, method="block"), "method block needs a Product of sets, got Simplex(2, radius=1)"),
    (asked(never, method="random_away", eta=0), "method random_away: eta must be a number > 0 and <= 1"),
    (asked(KNOWN, method="variance_reduced", batch=0), "method variance_reduced: batch must be an integer >= 1, got 0"),
    # linear minimisations of users
    (answered([5, 5], contains=PAIR.contains), "what lmo(g) returns must lie in the set, got [5"),
    (answered([5]), "what lmo(g) returns must be a vector of length 2, got an array"),
    (answered([1j, 0]), "what lmo(g) returns must be a vector of real"),
    (
        answered(scipy.sparse.csr_array(EYE)),
        "what lmo(g) returns must hold real numbers of shape (2,), (2,) or (1, 2), got float64",
    ),
    (
        answered(scipy.sparse.csr_array([[1j, 1j]])),
        "what lmo(g) returns must hold real numbers of shape (2,), (2,) or (1, 2)",
    ),
    (answered(scipy.sparse.csr_array([[np.nan, 0.0]])), "what lmo(g) returns must hold finite numbers, got NaN or infinity"),
    (lambda: Oracle(3, 2), "lmo must be a function, got 3"),
    # sets
    (lambda: Simplex(0), "dim must be an integer >= 1, got 0"),
    (lambda: Simplex(3).lmo([1, 2]), "g must be a vector of length 3, got an array of shape (2,)"),
    (lambda: Simplex(2).lmo([1, np.nan]), "g must hold finite numbers, got nan at index 1"),
    (lambda: L1Ball(3, -1), "radius must be a positive finite number, got -1"),
    (lambda: L2Ball(3, np.nan), "radius must be a positive finite number, got nan"),
    (lambda: Box([0, 2], [1, 1]), "lower must be <= upper, got 2 > 1 at index 1"),
    (lambda: Box([0], [1, 1]), "upper must be a vector of length 1, got an array of shape (2,)"),
    (lambda: convex.KSparse(3, 4), "k must be an integer <= dim = 3, got 4"),
    (lambda: Hull([]), "points must be a matrix with one row per point, got an array of shape (0,)"),
    (lambda: Hull([[0, np.inf]]), "points must hold finite numbers, got one that is not"),
    (lambda: Product([]), "factors must be convex sets, got none"),
    (lambda: Product([3]), "factors must be convex sets, got 3"),
    (lambda: convex.LpBall(3, 0.5), "p must be a number >= 1 or inf, got 0.5"),
    (lambda: convex.LpBall(3, np.nan), "p must be a number >= 1 or inf, got nan"),
    (lambda: convex.CappedSimplex(3, 3.5), "k must be <= dim cap = 3, got 3.5"),
    (
        lambda: convex.GroupBall([[0], [0, 1]]),
        "groups must be index lists that have every coordinate 0, 1, ... once, got [[0], [",
    ),
    (lambda: convex.GroupBall([]), "groups must be index lists that have every coordinate 0, 1, ... once, got []"),
    (lambda: convex.Permutahedron([]), "the number of values must be an integer >= 1, got 0"),
    (lambda: convex.UnitFlow([(0, 1)], 0, 2), "sink must be a node of some edge, and not the other end, got 2"),
    (lambda: convex.UnitFlow([(0, 1)], 1, 0), "sink must be reached from the source 1, got 0"),
    (lambda: convex.UnitFlow([(0, 1), 2], 0, 1), "edges must be pairs of nodes, got [(0, 1), 2]"),
    # saddle points
    (lambda: saddle_point(3), "game must be a Bilinear function, got 3"),
    (lambda: Bilinear(EYE, PAIR, Simplex(3)), "M must have the shape (X.dim, Y.dim) = (2, 3), got (2, 2)"),
    (lambda: Bilinear(EYE, 1, PAIR), "X must be a convex set of fwexp.convex, got 1"),
    (lambda: Bilinear(EYE, PAIR, PAIR, p=np.zeros(2) + 0j), "p must be a vector of real numbers, got "),
    (lambda: saddle_point(GAME, method="fw"), "unknown method 'fw'; accepted: dual_extragradient, sp_away, sp_fw"),
    (lambda: saddle_point(GAME, eta=0), "method dual_extragradient: eta must be a positive finite number, got 0"),
    (game([[0, -1]], 2), "labels of a training problem must be >= 0, got -1"),
    (lambda: svm_game(fwexp.chain_problem([EYE], [[0, 1]]), -1.0), "radius must be a positive finite number, got -1.0"),
]
BARE = "a saddle point takes no forbidden, position_weight or is_cut; build the problem without them"
OPTIONS = [
    (asked(never, eta=0.5), "method pairwise: unknown option 'eta'"),
    (asked(never, step="line_search"), "step line_search needs a quadratic function, got UserFunction; accepted: adaptive"),
    (asked(never, BALL, method="random_away"), "the atoms of L2Ball are not numbered; those of Simplex, L1Ball, Hull are"),
    (asked(never, Product([Simplex(1), Box([0.0], [1.0])]), method="random_away"), "the atoms of Box are not numbered"),
    (asked(never, Product([PAIR]), method="block_descent"), "UserFunction knows no Lipschitz constants"),
    (
        asked(KNOWN, Product([PAIR]), method="block_descent", domain=lambda x: True),
        "method block_descent takes no domain; accepted: block",
    ),
    (
        asked(KNOWN, Product([convex.KSparse(2, 1)]), method="block_descent"),
        "KSparse has no projection here; sets that have one:",
    ),
    (
        asked(never, Product([PAIR]), method="block", direction="pairwise", step="open_loop"),
        "direction pairwise excludes step",
    ),
    (
        asked(Quadratic(EYE), method="stochastic"),
        "Quadratic is no sum of terms; accepted: LeastSquares, Logistic, LinearSum",
    ),
    (asked(never, method="variance_reduced"), "UserFunction is no sum of terms; accepted: LeastSquares, Logistic, LinearSum"),
    (
        asked(convex.FiniteSum(never, 3, 2), method="variance_reduced", variant="mhk"),
        "variant mhk needs terms of <a_i, x>, got a FiniteSum; accepted: svrf, or a LinearSum",
    ),
    (
        lambda: saddle_point(GAME, geometry="entropic"),
        "L2Ball has no entropic projection; sets that have one: Simplex",
    ),
    (lambda: saddle_point(GAME, method="sp_fw", step="linear_rate"), "step linear_rate needs beta and delta"),
    (lambda: svm_game(fwexp.multiclass_problem(EYE, [0, 1]), 1.0), "problem has no polytope of parts here"),
    (
        lambda: svm_game(fwexp.matching_problem([np.ones((1, 1, 2))], [[]], nonnegative=[0]), 1.0),
        "a saddle point keeps no weights nonnegative",
    ),
    (game([[0, 1]], forbidden=[(1, 1)]), BARE),
    (game([[0, 1]], position_weight=[[1.0, 2.0]]), BARE),
    (lambda: svm_game(chain_from_arrays(EYE, [0, 1], [0, 2], 2, is_cut=[[True, False]]), 1.0), BARE),
]
ALL = [*((ParameterError, *row) for row in VALUES), *((OptionError, *row) for row in OPTIONS)]


@pytest.mark.parametrize(("error", "call", "message"), ALL, ids=[message[:40] for _, _, message in ALL])
def test_a_mistake_is_one_line(error, call, message):
    with pytest.raises((error, CertificateError), match="^" + re.escape(message)):
        call()
