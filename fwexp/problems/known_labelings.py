"""Losses and features of labelings that Python functions returned, kept for later steps: in Python, and as arrays for kernels.

Kernels see the problem as `StoredRows`, a family of its own without an oracle: a labeling is the number of its row psi_i(y), and
part scores and vectors of parts go over the rows of an example, which are linked lists. Row i is the true labeling of example i.
The family has no ``part_ptr``, because no function derived for it takes vectors of parts for arrays.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fwexp.jit.compilation import inlined
from fwexp.jit.prefetch import prefetch
from fwexp.problems import protocol
from fwexp.problems.python_labelings import Index
from fwexp.problems.sparse_vector import SparseVector, values_of

NBYTES = 64 << 20  # of numbers that a problem keeps; all else (labelings, the entries) is small or kept anyway
ROW_BYTES = 512 << 20  # of rows; where these would take more, steps run in plain Python, which computes features anew
NO_ROW = -1


@dataclass(slots=True, eq=False)
class Known:
    """An immutable labeling, its loss and its psi."""

    y: Any
    loss: float
    psi: Any  # a SparseVector, or an array (d,) where that is no longer


class KnownLabelings(Index):
    """Labelings by example.

    Copies and pickles begin empty. Threads may share one: an entry that another thread drops is computed again.
    """

    def __init__(self, key: Callable[[Any], Hashable]) -> None:
        super().__init__(key)
        self._truths: dict[int, Any] = {}
        self._nbytes = 0

    def __reduce__(self):
        return KnownLabelings, (self._key,)

    def add(self, i: int, y: Any, value: Known) -> None:
        """Keep the loss and features of a labeling."""
        self._make_room(value.psi)
        super().add(i, y, value)

    def true_features(self, i: int, compute):
        """Return phi(x_i, y_i), which ``compute`` returns at first."""
        phi = self._truths.get(i)
        if phi is None:
            phi = compute()
            self._make_room(phi)
            self._truths[i] = phi
        return phi

    def _make_room(self, vector) -> None:
        if isinstance(vector, SparseVector):
            size = vector.indices.nbytes + vector.values.nbytes
        else:
            vector.flags.writeable = False
            size = vector.nbytes
        if self._nbytes + size > NBYTES:
            self._by_identity, self._by_key, self._truths, self._nbytes = {}, {}, {}, 0
        self._nbytes += size


class StoredRows(NamedTuple):
    """The labelings that a method has stored of a problem given by Python functions, as kernels see it."""

    n: int
    d: int
    num_weights: int
    label_ptr: np.ndarray  # int64 (n + 1,), a labeling is one number
    nonnegative: np.ndarray
    row_ptr: np.ndarray  # int64 (rows + 1,): psi has the entries row_ptr[r] .. row_ptr[r + 1]
    indices: np.ndarray  # unsigned integers, as short as all fit, ascending in a row; QPs take as long as to read these
    values: np.ndarray  # float64
    latest: np.ndarray  # int64 (n,), the latest row of every example
    before: np.ndarray  # int64 (rows,), the one that came before; -1 at the true labeling
    vector: np.ndarray  # float64 (num_weights,), zeros between calls


class Rows:
    """Labelings of a problem as numbers of rows, for as long as a method runs; see `protocol.kernel_view`."""

    def __init__(self, problem) -> None:
        self._functions, self._index = problem, Index(problem.key)
        self._labelings, self._packed = list(problem.y), np.empty(problem.n, dtype=np.int64)
        self._count, self._used = problem.n, 0
        self._rows = StoredRows(
            n=problem.n,
            d=problem.d,
            num_weights=problem.num_weights,
            label_ptr=problem.label_ptr,
            nonnegative=problem.nonnegative,
            row_ptr=np.zeros(problem.n + 1, dtype=np.int64),
            indices=np.zeros(0, dtype=np.min_scalar_type(max(problem.num_weights, 2**15))),
            values=np.zeros(0),
            latest=np.arange(problem.n),
            before=np.full(problem.n, NO_ROW),
            vector=np.zeros(problem.num_weights),
        )
        for i, y in enumerate(problem.y):
            self._index.add(i, y, i)

    @property
    def problem(self) -> StoredRows:
        """The problem as kernels see it now."""
        return self._rows

    @property
    def too_large(self) -> bool:
        """True if the rows take more than `ROW_BYTES`."""
        return (self._rows.indices.itemsize + self._rows.values.itemsize) * self._used > ROW_BYTES

    def pack(self, labelings: list, start: int, end: int) -> np.ndarray:
        for i in range(start, end):
            self._packed[i] = self._row(i, labelings[i])
        return self._packed

    def pack_storage(self, storage: list, owners) -> np.ndarray:
        rows = (NO_ROW if i < 0 else self._row(i, y) for i, y in zip(owners().tolist(), storage, strict=True))
        return np.fromiter(rows, dtype=np.int64, count=len(storage))

    def unpack_storage(self, storage: np.ndarray) -> list:
        return [None if row < 0 else self._labelings[row] for row in storage.tolist()]

    def _row(self, i: int, y) -> int:
        row = self._index.find(i, y)
        return self._append(i, y) if row is None else row

    def _append(self, i: int, y) -> int:
        psi = self._functions.known(i, y).psi
        indices = psi.indices if isinstance(psi, SparseVector) else np.flatnonzero(psi != 0.0)
        values = values_of(psi) if isinstance(psi, SparseVector) else psi[indices]
        row, start, end = self._count, self._used, self._used + len(values)
        if row + 1 >= len(self._rows.row_ptr) or end > len(self._rows.values):
            self._grow(row + 2, end)
        rows = self._rows
        rows.indices[start:end], rows.values[start:end] = indices, values
        rows.row_ptr[row + 1] = end
        rows.before[row], rows.latest[i] = rows.latest[i], row
        self._count, self._used = row + 1, end
        self._labelings.append(y)
        self._index.add(i, y, row)
        return row

    def _grow(self, rows: int, entries: int) -> None:
        """Make room for so many rows and entries, and for as many again."""
        old = self._rows
        self._rows = old._replace(
            row_ptr=_longer(old.row_ptr, 2 * rows + 1),
            before=_longer(old.before, 2 * rows),
            indices=_longer(old.indices, 2 * entries),
            values=_longer(old.values, 2 * entries),
        )


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    longer = np.zeros(max(size, len(array)), dtype=array.dtype)  # untouched memory takes no time
    longer[: len(array)] = array
    return longer


@protocol.workspace.register(StoredRows)
def _(problem):
    rows = len(problem.before)
    return protocol.Workspace(
        theta=np.zeros(rows),
        direction=np.zeros(2 * rows + 1),  # how many rows, the rows, and from the middle on their factors
        image=np.zeros(rows),
        y=np.zeros(1, dtype=np.int64),
        scratch=np.zeros(0),
    )


@protocol.new_storage.register(StoredRows)
def _(problem, size):
    return np.full(size, NO_ROW)


@protocol.true_labeling.register(StoredRows)
def _(problem, i, y):
    y[0] = i


@protocol.scores.register(StoredRows)
def _(problem, i, w, theta):
    row = problem.latest[i]
    while row >= 0:
        theta[row] = _score(problem, row, w)
        row = problem.before[row]


@inlined
def _score(problem, row, w):
    """Return <w, psi> of a row."""
    start, end = problem.row_ptr[row], problem.row_ptr[row + 1]
    indices, values = problem.indices[start:end], problem.values[start:end]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums at once: none waits for the addition before
    for k in range(len(values) // 4):
        a += values[4 * k] * w[indices[4 * k]]
        b += values[4 * k + 1] * w[indices[4 * k + 1]]
        c += values[4 * k + 2] * w[indices[4 * k + 2]]
        d += values[4 * k + 3] * w[indices[4 * k + 3]]
    for k in range(len(values) // 4 * 4, len(values)):
        a += values[k] * w[indices[k]]
    return (a + b) + (c + d)


@protocol.score_labelings.register(StoredRows)
def _(problem, i, storage, places, w, work, out):
    for a in range(len(places)):
        if a + 1 < len(places):  # rows of an example are far apart
            start, end = problem.row_ptr[storage[places[a + 1]]], problem.row_ptr[storage[places[a + 1]] + 1]
            prefetch(problem.indices, start, end)
            prefetch(problem.values, start, end)
        out[a] = _score(problem, storage[places[a]], w)


@protocol.complete_scores.register(StoredRows)
def _(problem, i, w, work):
    protocol.scores(problem, i, w, work.theta)


@protocol.rescale.register(StoredRows)
def _(problem, i, c, theta):
    row = problem.latest[i]
    while row >= 0:
        theta[row] *= c
        row = problem.before[row]


@protocol.psi_score.register(StoredRows)
def _(problem, i, y, theta):
    return theta[y[0]]


@protocol.clear.register(StoredRows)
def _(problem, i, direction):
    direction[0] = 0.0


@protocol.add_psi.register(StoredRows)
def _(problem, i, y, c, direction):
    k = int(direction[0])
    direction[1 + k] = y[0]
    direction[1 + len(direction) // 2 + k] = c
    direction[0] = k + 1


@protocol.close.register(StoredRows)
def _(problem, i, direction):
    pass


@protocol.gram_scores.register(StoredRows)
def _(problem, i, direction, theta):
    protocol.scatter(problem, i, direction, 1.0, problem.vector)
    protocol.scores(problem, i, problem.vector, theta)
    for k in range(int(direction[0])):
        row = int(direction[1 + k])
        for j in range(problem.row_ptr[row], problem.row_ptr[row + 1]):
            problem.vector[problem.indices[j]] = 0.0


@protocol.norm_sq.register(StoredRows)
def _(problem, i, direction):  # of one row, as steps on labelings ask for
    row, c, total = int(direction[1]), direction[1 + len(direction) // 2], 0.0
    for k in range(problem.row_ptr[row], problem.row_ptr[row + 1]):
        total += problem.values[k] * problem.values[k]
    return c * c * total


@protocol.scatter.register(StoredRows)
def _(problem, i, direction, c, w):
    for k in range(int(direction[0])):
        row, factor = int(direction[1 + k]), c * direction[1 + len(direction) // 2 + k]
        start, end = problem.row_ptr[row], problem.row_ptr[row + 1]
        indices, values = problem.indices[start:end], problem.values[start:end]
        for j in range(len(values)):
            w[indices[j]] += factor * values[j]
