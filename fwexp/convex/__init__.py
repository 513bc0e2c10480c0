"""Frank-Wolfe methods on convex sets, beyond structural SVMs: `minimize`, its sets and functions."""

from fwexp.convex.balls import CappedSimplex, GroupBall, LpBall, Permutahedron
from fwexp.convex.feasible_sets import ConvexSet, Product
from fwexp.convex.functions import Function
from fwexp.convex.games import Bilinear
from fwexp.convex.minimize import METHODS, SADDLE_METHODS, Atoms, Minimum, SaddlePoint, minimize, saddle_point
from fwexp.convex.objectives import LeastSquares, LinearSum, Logistic, Minimisation, Quadratic
from fwexp.convex.polytopes import Birkhoff, Hull, KSparse, Oracle, UnitFlow
from fwexp.convex.simple_sets import Box, L1Ball, L2Ball, LInfBall, Simplex
from fwexp.convex.spectral import NuclearBall, Spectrahedron
from fwexp.convex.steps import Line
from fwexp.convex.structured import ChainPolytope, MatchingPolytope, svm_game
from fwexp.convex.user_functions import FiniteSum

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
