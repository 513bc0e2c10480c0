"""What Python functions have said of labelings, kept for steps that need it again: in Python, and as arrays for kernels.

Kernels see the problem as `StoredRows`, a family of its own without an oracle: a labeling is the number of its row psi_i(y), and
part scores and vectors of parts go over the rows of an example, which are linked lists. Row i is the true labeling of example i.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fwexp.problems import protocol
from fwexp.problems.python_labelings import Index
from fwexp.problems.sparse_vector import SparseVector, values_of

NBYTES = 64 << 20  # of numbers that a problem keeps; what is beside them (labelings, the entries) is small or is there anyway
ROW_BYTES = 512 << 20  # of rows; where these would take more, steps run in plain Python, which computes features anew
NO_ROW = -1


@dataclass(slots=True, eq=False)
class Known:
    """A labeling, of which nobody changes anything, its loss and its psi."""

    y: Any
    loss: float
    psi: Any  # an array (d,) or a SparseVector


class KnownLabelings:
    """Labelings by example.

    Copies and pickles begin empty. Threads may share one: an entry that another thread drops is computed again.
    """

    def __init__(self) -> None:
        self._known = Index()
        self._truths: dict[int, Any] = {}
        self._nbytes = 0

    def __reduce__(self):
        return KnownLabelings, ()

    def find(self, i: int, y: Any) -> Known | None:
        """Return what is known of a labeling of example i."""
        return self._known.find(i, y)

    def add(self, i: int, known: Known) -> Known:
        """Keep what is known now."""
        self._make_room(known.psi)
        self._known.add(i, known.y, known)
        return known

    def true_features(self, i: int, compute):
        """Return phi(x_i, y_i), which ``compute`` returns at first."""
        phi = self._truths.get(i)
        if phi is None:
            phi = compute()
            self._make_room(phi)
            self._truths[i] = phi
        return phi

    def _make_room(self, vector) -> None:
        arrays = (vector.indices, vector.values) if isinstance(vector, SparseVector) else (vector,)
        for array in arrays:
            array.flags.writeable = False
        size = sum(array.nbytes for array in arrays)
        if self._nbytes + size > NBYTES:
            self._known, self._truths, self._nbytes = Index(), {}, 0
        self._nbytes += size


class StoredRows(NamedTuple):
    """The labelings that a method has stored of a problem given by Python functions, as kernels see it."""

    n: int
    d: int
    num_weights: int
    part_ptr: np.ndarray  # int64 (n + 1,)
    label_ptr: np.ndarray  # int64 (n + 1,), a labeling is one number
    nonnegative: np.ndarray
    row_ptr: np.ndarray  # int64 (rows + 1,): psi has the entries row_ptr[r] .. row_ptr[r + 1]
    indices: np.ndarray  # uint32 where all fit, ascending in a row: half the memory to read, and no sign to look at
    values: np.ndarray  # float64
    latest: np.ndarray  # int64 (n,), the latest row of every example
    before: np.ndarray  # int64 (rows,), the one that came before; -1 at the true labeling


class Rows:
    """Labelings of a problem as numbers of rows, for as long as a method runs; see `protocol.kernel_view`.

    Attributes
    ----------
    problem : StoredRows
    work : Workspace
    """

    def __init__(self, problem) -> None:
        self._functions, self._index = problem, Index()
        self._labelings, self._packed = list(problem.y), np.empty(problem.n, dtype=np.int64)
        self._count, self._used = problem.n, 0
        self._rows = StoredRows(
            n=problem.n,
            d=problem.d,
            num_weights=problem.num_weights,
            part_ptr=np.zeros(problem.n + 1, dtype=np.int64),
            label_ptr=problem.label_ptr,
            nonnegative=problem.nonnegative,
            row_ptr=np.zeros(problem.n + 1, dtype=np.int64),
            indices=np.zeros(0, dtype=np.uint32 if problem.d <= 2**32 else np.int64),
            values=np.zeros(0),
            latest=np.arange(problem.n),
            before=np.full(problem.n, NO_ROW),
        )
        for i, y in enumerate(problem.y):
            self._index.add(i, y, i)

    @property
    def problem(self) -> StoredRows:
        """The problem as kernels see it now."""
        return self._rows

    @property
    def too_large(self) -> bool:
        """Whether the rows take more than `ROW_BYTES`."""
        return 12 * self._used > ROW_BYTES

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
        psi = self._functions.psi(i, y)
        indices = psi.indices if isinstance(psi, SparseVector) else np.flatnonzero(psi)
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
    return np.concatenate((array, np.zeros(max(size - len(array), 0), dtype=array.dtype)))


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
        k, end = problem.row_ptr[row], problem.row_ptr[row + 1]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums at once: none waits for the addition before
        while k + 4 <= end:
            a += problem.values[k] * w[problem.indices[k]]
            b += problem.values[k + 1] * w[problem.indices[k + 1]]
            c += problem.values[k + 2] * w[problem.indices[k + 2]]
            d += problem.values[k + 3] * w[problem.indices[k + 3]]
            k += 4
        while k < end:
            a += problem.values[k] * w[problem.indices[k]]
            k += 1
        theta[row] = (a + b) + (c + d)
        row = problem.before[row]


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
    row = problem.latest[i]
    while row >= 0:
        total = 0.0
        for k in range(int(direction[0])):
            other, product = int(direction[1 + k]), 0.0
            a, b = problem.row_ptr[row], problem.row_ptr[other]
            while a < problem.row_ptr[row + 1] and b < problem.row_ptr[other + 1]:
                if problem.indices[a] == problem.indices[b]:
                    product += problem.values[a] * problem.values[b]
                    a, b = a + 1, b + 1
                elif problem.indices[a] < problem.indices[b]:
                    a += 1
                else:
                    b += 1
            total += direction[1 + len(direction) // 2 + k] * product
        theta[row] = total
        row = problem.before[row]


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
        for j in range(problem.row_ptr[row], problem.row_ptr[row + 1]):
            w[problem.indices[j]] += factor * problem.values[j]
