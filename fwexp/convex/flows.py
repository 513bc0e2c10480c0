"""Flows in a network: linear minimisation is a shortest path."""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import ROUNDING, ConvexSet
from fwexp.errors import ParameterError, shown


class UnitFlow(ConvexSet):
    """The flows of one unit from a source to a sink along edges of capacity 1: without cycles, the convex hull of the paths.

    A linear minimisation is a shortest path (Bellman-Ford), also where costs are negative; a cycle of negative cost is refused.

    Parameters
    ----------
    edges : sequence of pairs
        Where each edge begins and ends; x has one coordinate for each.
    source, sink : hashable
        Two of the nodes.

    Examples
    --------
    >>> from fwexp.convex import UnitFlow
    >>> UnitFlow([("a", "b"), ("b", "c"), ("a", "c")], "a", "c").lmo([1.0, 1.0, 3.0])
    array([1., 1., 0.])
    """

    def __init__(self, edges: Sequence[tuple[Hashable, Hashable]], source: Hashable, sink: Hashable) -> None:
        try:
            pairs = [(tail, head) for tail, head in edges]
            numbers = {node: k for k, node in enumerate(dict.fromkeys(node for pair in pairs for node in pair))}
        except (TypeError, ValueError):
            raise ParameterError(f"edges must be pairs of nodes, got {shown(edges)}") from None
        for name, node in (("source", source), ("sink", sink)):
            if node not in numbers or source == sink:
                raise ParameterError(f"{name} must be a node of some edge, and not the other end, got {shown(node)}")
        self.dim, self._source, self._sink = len(pairs), numbers[source], numbers[sink]
        self._tail, self._head = (np.array([numbers[pair[end]] for pair in pairs]) for end in (0, 1))
        self._nodes = len(numbers)
        if self._distances(np.ones(self.dim))[0][self._sink] == np.inf:
            raise ParameterError(f"sink must be reached from the source {shown(source)}, got {shown(sink)}")

    def _distances(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances of the nodes from the source, and the last edge of a shortest path to each."""
        distance, last = np.full(self._nodes, np.inf), np.full(self._nodes, -1)
        distance[self._source] = 0.0
        for _ in range(self._nodes):
            through, best = distance[self._tail] + g, distance.copy()
            np.minimum.at(best, self._head, through)
            better = np.flatnonzero((through == best[self._head]) & (through < distance[self._head]))
            if not len(better):
                return distance, last
            last[self._head[better[::-1]]] = better[::-1]  # of equal edges the first
            distance = best
        raise ParameterError("g must have no cycle of negative cost, got one: negative costs need edges without cycles")

    def atom(self, g: np.ndarray) -> Atom:
        last, node, s = self._distances(g)[1], self._sink, np.zeros(self.dim)
        while node != self._source:
            s[last[node]] = 1.0
            node = self._tail[last[node]]
        return Atom(None, s)

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        slack = ROUNDING * self.dim
        if x is None or x.min() < -slack or x.max() > 1.0 + slack:
            return False
        net = np.bincount(self._tail, x, self._nodes) - np.bincount(self._head, x, self._nodes)
        net[self._source] -= 1.0
        net[self._sink] += 1.0
        return bool(np.abs(net).max() <= slack)

    def random(self, rng: "np.random.Generator") -> np.ndarray:
        return sum(weight * self.atom(rng.random(self.dim)).values for weight in rng.dirichlet(np.ones(5)))

    @property
    def diameter(self) -> float:
        """An upper bound: the diameter of the cube."""
        return math.sqrt(self.dim)
