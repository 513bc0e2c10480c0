"""Atoms, the extreme points that linear minimisation returns, and active sets: the atoms that an iterate is a mixture of."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse


class Atom(NamedTuple):
    """A point with few nonzeros, or any point where ``indices`` is None."""

    indices: np.ndarray | None  # int64, without repetition
    values: np.ndarray  # float64

    def dot(self, g: np.ndarray) -> float:
        """Return <atom, g>."""
        return float(self.values @ (g if self.indices is None else g[self.indices]))

    def add_to(self, x: np.ndarray, scale: float = 1.0) -> None:
        """Add ``scale`` times the atom to x, in place."""
        if self.indices is None:
            x += scale * self.values
        elif len(self.indices) == 1:  # which takes a third of the time
            x[self.indices[0]] += scale * self.values[0]
        else:
            x[self.indices] += scale * self.values

    def dense(self, dim: int) -> np.ndarray:
        """Return the atom as a vector of its own."""
        x = np.zeros(dim)
        self.add_to(x)
        return x

    def direction_from(self, x: np.ndarray) -> np.ndarray:
        """Return the direction from x to the atom."""
        d = -x
        self.add_to(d)
        return d

    @property
    def key(self) -> bytes:
        """Identity among the atoms of a set."""
        return (b"" if self.indices is None else self.indices.tobytes()) + (self.values + 0.0).tobytes()  # -0.0 is 0.0


@lru_cache(maxsize=4096)  # as methods move towards few atoms again and again
def single(index: int, value: float) -> Atom:
    """Return the atom with one nonzero, which callers share."""
    atom = Atom(np.array([index]), np.array([value]))
    for array in atom:
        array.setflags(write=False)
    return atom


@dataclass
class ActiveSet:
    """Atoms with positive weights that sum to 1, in the first ``size`` rows of the arrays; a record."""

    dim: int
    size: int
    weights: np.ndarray
    values: np.ndarray  # (capacity, support)
    indices: np.ndarray | None  # (capacity, support); None where atoms are dense
    lengths: np.ndarray  # int64 (capacity,): how many of ``support`` entries each sparse atom has; the rest is 0
    start: np.ndarray | None = None  # an atom that may have more nonzeros than the others, in row ``start_at``
    start_at: int = -1

    @classmethod
    def of_atom(cls, atom: Atom, dim: int) -> "ActiveSet":
        """Return the active set of one atom."""
        indices = None if atom.indices is None else np.zeros((8, len(atom.values)), dtype=np.int64)
        new = cls(dim, 0, np.zeros(8), np.zeros((8, len(atom.values))), indices, np.zeros(8, dtype=np.int64))
        new.weights[new.row(atom)] = 1.0
        return new

    @classmethod
    def of_point(cls, x: np.ndarray, like: Atom) -> "ActiveSet":
        """Return the active set of a point that counts as an atom, in addition to others of the form of ``like``."""
        new = cls.of_atom(like, len(x))
        new.start, new.start_at = x.copy(), 0
        new.values[0] = 0.0
        new._rows.clear()
        return new

    @cached_property
    def _rows(self) -> dict[bytes, int]:
        """Where atoms are, by their keys; no part of the record."""
        return {self.atom(k).key: k for k in range(self.size) if k != self.start_at}

    def atom(self, k: int) -> Atom:
        """Return an atom."""
        if k == self.start_at:
            return Atom(None, self.start)
        if self.indices is None:
            return Atom(None, self.values[k])
        length = self.lengths[k]
        return Atom(self.indices[k, :length], self.values[k, :length])

    def copy_of(self, k: int) -> Atom:
        """Return an atom that stays as it is when rows move."""
        indices, values = self.atom(k)
        return Atom(indices, values) if k == self.start_at else Atom(None if indices is None else indices.copy(), values.copy())

    def row(self, atom: Atom) -> int:
        """Return the row of an atom, which enters with weight 0 if it is new."""
        if self.start is not None and atom.values is self.start:
            return self.start_at
        if (atom.indices is None) != (self.indices is None):  # an oracle of a user may return both kinds
            dense = atom.dense(self.dim)
            atom = Atom(None, dense) if self.indices is None else Atom(where := np.flatnonzero(dense), dense[where])
        k = self._rows.setdefault(atom.key, self.size)
        if k == self.size:
            if k == len(self.weights):
                self._grow()
            length = len(atom.values)
            if length > (support := self.values.shape[1]):  # a sparse atom with more nonzeros than all before
                more = ((0, 0), (0, max(length, 2 * support) - support))
                self.values, self.indices = np.pad(self.values, more), np.pad(self.indices, more)
            self.weights[k], self.values[k], self.lengths[k] = 0.0, 0.0, length
            self.values[k, :length] = atom.values
            if self.indices is not None:
                self.indices[k] = 0
                self.indices[k, :length] = atom.indices
            self.size += 1
        return k

    def drop(self, k: int) -> None:
        """Remove an atom; the last one takes its row."""
        last = self.size - 1
        if k == self.start_at:
            self.start, self.start_at = None, -1
        else:
            del self._rows[self.atom(k).key]
        if k != last:
            if last == self.start_at:
                self.start_at = k
            else:
                self._rows[self.atom(last).key] = k
            self.weights[k], self.values[k], self.lengths[k] = self.weights[last], self.values[last], self.lengths[last]
            if self.indices is not None:
                self.indices[k] = self.indices[last]
        self.size = last

    def drop_zeros(self) -> None:
        """Remove the atoms without weight."""
        for k in range(self.size - 1, -1, -1):
            if self.weights[k] <= 0.0:
                self.drop(k)

    def alone(self, k: int) -> bool:
        """Return whether an atom has all the weight, up to rounding: no step leads away from it then."""
        return self.size == 1 or self.weights[k] >= 1.0

    def dots(self, g: np.ndarray) -> np.ndarray:
        """Return <atom, g> of each atom."""
        values = self.values[: self.size]
        dots = values @ g if self.indices is None else np.einsum("ks,ks->k", values, g[self.indices[: self.size]])
        if self.start is not None:
            dots[self.start_at] = self.start @ g
        return dots

    def point(self) -> np.ndarray:
        """Return the mixture, recomputed."""
        weights, x = self.weights[: self.size], np.zeros(self.dim)
        if self.indices is None:
            x += weights @ self.values[: self.size]
        else:
            np.add.at(x, self.indices[: self.size].ravel(), (weights[:, None] * self.values[: self.size]).ravel())
        if self.start is not None:
            x += weights[self.start_at] * self.start
        return x

    def normalise(self) -> None:
        """Scale the weights to the sum 1, which rounding errors change."""
        self.weights[: self.size] /= self.weights[: self.size].sum()

    def mix(self, k: int, gamma: float) -> None:
        """Move to (1 - gamma) x + gamma atom k."""
        if gamma == 1.0:  # exactly that atom
            self.weights[: self.size] = 0.0
            self.weights[k] = 1.0
            self.drop_zeros()
            return
        self.weights[: self.size] *= 1.0 - gamma
        self.weights[k] += gamma

    def longest_away(self, k: int) -> float:
        """Return the longest step away from an atom, which leaves it no weight."""
        return self.weights[k] / (1.0 - self.weights[k])

    def leave(self, k: int, gamma: float) -> bool:
        """Move to (1 + gamma) x - gamma atom k; drop the atom after the longest step, and return whether it was dropped."""
        is_dropped = bool(gamma == self.longest_away(k))
        self.mix(k, -gamma)
        if is_dropped:
            self.drop(k)
        return is_dropped

    def move(self, k: int, j: int, gamma: float) -> bool:
        """Move weight from atom j to atom k; drop j where none is left, and return whether it was dropped."""
        is_dropped = bool(gamma == self.weights[j])
        self.weights[k] += gamma
        self.weights[j] -= gamma
        if is_dropped:
            self.drop(j)
        return is_dropped

    def to_arrays(self):
        """Return the atoms as rows of a matrix, which is sparse where they are, and their weights."""
        weights = self.weights[: self.size].copy()
        if self.indices is None:
            points = self.values[: self.size].copy()
            if self.start is not None:
                points[self.start_at] = self.start
            return points, weights
        atoms = [self.atom(k) for k in range(self.size)]
        indices = [np.arange(self.dim) if atom.indices is None else atom.indices for atom in atoms]
        ends = np.cumsum([0, *(len(row) for row in indices)])
        values = np.concatenate([atom.values for atom in atoms])
        return scipy.sparse.csr_array((values, np.concatenate(indices), ends), shape=(self.size, self.dim)), weights

    def _grow(self) -> None:
        for name in ("weights", "values", "indices", "lengths"):
            array = getattr(self, name)
            if array is not None:
                setattr(self, name, np.concatenate((array, np.zeros_like(array))))
