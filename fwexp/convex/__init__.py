"""Frank-Wolfe methods on convex sets, beyond structural SVMs: `minimize`, its sets and functions."""

from fwexp.convex.balls import CappedSimplex, GroupBall, LpBall, Permutahedron
from fwexp.convex.feasible_sets import Box, ConvexSet, L1Ball, L2Ball, LInfBall, Product, Simplex
from fwexp.convex.games import Bilinear
from fwexp.convex.minimize import METHODS, SADDLE_METHODS, Atoms, Minimum, SaddlePoint, minimize, saddle_point
from fwexp.convex.objectives import Function, LeastSquares, Logistic, Minimisation, Quadratic
from fwexp.convex.polytopes import Birkhoff, Hull, KSparse, Oracle, UnitFlow
from fwexp.convex.spectral import NuclearBall, Spectrahedron
from fwexp.convex.steps import Line
from fwexp.convex.structured import ChainPolytope, MatchingPolytope, svm_game
from fwexp.convex.user_functions import FiniteSum, LinearSum

__all__ = [
    "METHODS",
    "SADDLE_METHODS",
    "Atoms",
    "Bilinear",
    "Birkhoff",
    "Box",
    "CappedSimplex",
    "ChainPolytope",
    "ConvexSet",
    "FiniteSum",
    "Function",
    "GroupBall",
    "Hull",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "LInfBall",
    "LeastSquares",
    "Line",
    "LinearSum",
    "Logistic",
    "LpBall",
    "MatchingPolytope",
    "Minimisation",
    "Minimum",
    "NuclearBall",
    "Oracle",
    "Permutahedron",
    "Product",
    "Quadratic",
    "SaddlePoint",
    "Simplex",
    "Spectrahedron",
    "UnitFlow",
    "minimize",
    "saddle_point",
    "svm_game",
]
