"""Frank-Wolfe methods on convex sets, beyond structural SVMs: `minimize`, its sets and functions."""

from fwexp.convex.minimize import METHODS, Atoms, Minimum, minimize
from fwexp.convex.objectives import Function, LeastSquares, Logistic, Quadratic
from fwexp.convex.sets import Birkhoff, Box, ConvexSet, Hull, KSparse, L1Ball, L2Ball, LInfBall, Oracle, Product, Simplex
from fwexp.convex.spectral import NuclearBall, Spectrahedron

__all__ = [
    "METHODS",
    "Atoms",
    "Birkhoff",
    "Box",
    "ConvexSet",
    "Function",
    "Hull",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "LInfBall",
    "LeastSquares",
    "Logistic",
    "Minimum",
    "NuclearBall",
    "Oracle",
    "Product",
    "Quadratic",
    "Simplex",
    "Spectrahedron",
    "minimize",
]
