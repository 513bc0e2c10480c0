"""Checks of linear minimisations that users bring: all answers are points of one set, so that they can be compared.

An answer s to g is wrong if another answer s' has a smaller product, <g, s'> < <g, s>. Every answer is compared with those
remembered, in both directions. Before the first answer the oracle is called with -g as well, because an oracle that maximises
contradicts itself there.
"""

import copy

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import ConvexSet, Product
from fwexp.errors import CertificateError, ParameterError

TOLERANCE = 1e-6  # of products, relative to the lengths; oracles in single precision may hand over numbers in double precision
ROUNDING = 64.0  # rounding errors of the oracle's own precision that are tolerated
HALF = 1e-4  # precisions above this belong to half precision
LEAST, REMEMBERED, NUMBERS = 4, 16, 2**18  # answers at least and at most, and numbers in them
QUESTIONS = 4  # to random gradients, and to the same one, at the end of a run


def watched(convex_set: ConvexSet) -> ConvexSet:
    """Return a set whose linear minimisation is checked if a user brings it; sets of the package are returned as they are."""
    if isinstance(convex_set, Product):
        factors = [watched(factor) for factor in convex_set.factors]
        if all(one is other for one, other in zip(factors, convex_set.factors, strict=True)):
            return convex_set
        new = copy.copy(convex_set)
        new.factors = factors
        return new
    if type(convex_set).__module__.startswith("fwexp.") and not convex_set.calls_users_lmo:
        return convex_set
    new = copy.copy(convex_set)
    new.atom = watch = Watch(new)
    new.lmo_error = watch.error
    return new


def is_watched(convex_set: ConvexSet) -> bool:
    """Return whether some linear minimisation is checked."""
    if isinstance(convex_set, Product):
        return any(is_watched(factor) for factor in convex_set.factors)
    return isinstance(vars(convex_set).get("atom"), Watch)


def least_product(convex_set: ConvexSet, g: np.ndarray) -> float:
    """Return the least <g, s> over the set that is known after some more questions to watched oracles."""
    if isinstance(convex_set, Product):
        return sum(least_product(factor, g[block]) for factor, block in zip(convex_set.factors, convex_set.blocks, strict=True))
    watch = vars(convex_set).get("atom")
    return watch.least_product(g) if isinstance(watch, Watch) else convex_set.atom(g).dot(g)


class Watch:
    """The linear minimisation of a set, which it replaces, with its checks."""

    def __init__(self, convex_set: ConvexSet) -> None:
        self._set, self._ask = convex_set, type(convex_set).atom
        self._most = max(LEAST, min(REMEMBERED, NUMBERS // convex_set.dim))
        self._gradients, self._points = (np.zeros((self._most, convex_set.dim)) for _ in range(2))
        self._products, self._steepness, self._sizes = np.zeros((3, self._most))  # of the answers, and lengths of g and s
        self._count, self._turned = 0, False

    def __call__(self, g: np.ndarray) -> Atom:
        """Return the answer to g."""
        turned = None
        if not self._turned and g.any():
            self._turned, (_, turned) = True, self._answer(-g)
        atom, s = self._answer(g)
        if turned is not None:
            own, other = float(g @ s), float(g @ turned)
            if own - other > self.error(g) * max(np.linalg.norm(s), np.linalg.norm(turned)):
                raise CertificateError(_message(own, other, "the answer to -g", "the sign looks reversed, as if it maximised"))
            self._check(-g, turned)
        self._check(g, s)
        return atom

    def least_product(self, g: np.ndarray) -> float:
        """Return the least <g, s> of the answers remembered, to g again, to gradients near g, and to random ones."""
        rng = np.random.default_rng(0)
        size = np.linalg.norm(g) / np.sqrt(len(g))
        found = []
        for _ in range(QUESTIONS):
            noise = rng.standard_normal(len(g))
            for question in (g, noise, g + 0.1 * size * noise):
                found.append(self(question).dot(g))
        return min(*found, float((self._points[: self._count] @ g).min()))

    def error(self, g: np.ndarray) -> float:
        """Return by how much the minimum of <g, s> may be wrong, relative to the length of s."""
        return float(self._errors(np.linalg.norm(g)))

    def _errors(self, lengths):
        """Return the same for gradients of these lengths; smaller numbers than there are in the oracle's precision are 0 there."""
        epsilon = getattr(self._set, "epsilon", 0.0)
        smallest = np.finfo(np.float16 if epsilon > HALF else np.float32).tiny
        return max(TOLERANCE, ROUNDING * epsilon) * lengths + float(smallest) * np.sqrt(self._set.dim)

    def _answer(self, g: np.ndarray) -> tuple[Atom, np.ndarray]:
        atom = self._ask(self._set, g)
        try:
            s = atom.dense(self._set.dim)
        except (AttributeError, IndexError, TypeError, ValueError):
            raise ParameterError(f"atom(g) of {type(self._set).__name__} must return an Atom of dim = {self._set.dim}") from None
        if not np.isfinite(s).all():
            raise ParameterError(f"atom(g) of {type(self._set).__name__} must return finite numbers, got NaN or infinity")
        return atom, s

    def _check(self, g: np.ndarray, s: np.ndarray) -> None:
        """Compare the answer s to g with all remembered answers, and remember it."""
        k = self._count
        gradients, points, own = self._gradients[:k], self._points[:k], float(g @ s)
        if k:
            sizes = np.maximum(self._sizes[:k], np.linalg.norm(s))
            for products, least, errors in (
                (own + np.zeros(k), points @ g, self.error(g)),
                (self._products[:k], gradients @ s, self._errors(self._steepness[:k])),
            ):
                if (faulty := products - least > sizes * errors).any():
                    j = int(np.argmax(faulty))
                    likely = "it looks noisy, inexact or outside the set"
                    raise CertificateError(_message(products[j], least[j], "another answer", likely))
        if k == self._most:  # forget every second one of the older half
            kept = np.r_[0 : k // 2 : 2, k // 2 : k]
            for array in (self._gradients, self._points, self._products, self._steepness, self._sizes):
                array[: len(kept)] = array[kept]
            k = len(kept)
        self._gradients[k], self._points[k], self._products[k] = g, s, own
        self._steepness[k], self._sizes[k] = np.linalg.norm(g), np.linalg.norm(s)
        self._count = k + 1


def _message(own: float, other: float, what: str, likely: str) -> str:
    """Return the message on an answer with the product ``own``, if another answer has the product ``other``."""
    return f"lmo(g) must minimise <g, s>, got an answer with {own:.6g}, although {what} has {other:.6g}: {likely}"
