"""Functions that follow from the functions of the tiers for every family, which registers one only for speed; the tier ``exact``.

The defaults are for vectors of parts that are plain float64 arrays, as long as theta. Blocks and running sums hold those of all
examples one after the other: 8 bytes per part of every example each. `scatter_psi` and `norm_sq` allocate; `norm_sq`
goes through R^d. Families with a walk (``fwexp.problems.walk``) have most functions from it.
"""

from typing import NamedTuple

import numpy as np

from fwexp.problems.protocol.declared import add_psi, loss, max_oracle, scatter, scores
from fwexp.problems.protocol.degrees import WithWeights, degree


class Workspace(NamedTuple):
    """Buffers of one thread. The family defines its vectors of parts, and the buffers of its oracle."""

    theta: np.ndarray  # float64, part scores F_i w
    direction: np.ndarray  # a vector of parts: a float64 array, or the family's own type
    image: np.ndarray  # float64, part scores of a vector of parts (``gram_scores``)
    y: np.ndarray  # a labeling: int32, or the family's own type
    scratch: np.ndarray  # float64


def original(problem):
    """Return the problem without weights of examples; any other as it is."""
    return problem.unweighted if isinstance(problem, WithWeights) else problem


@degree(0, default=())
def example(problem):
    """Return a problem in this process of the same structure: the problem, unless its examples are elsewhere (plain Python)."""
    return problem


# --- examples -------------------------------------------------------------------------------------------------------


@degree(0, default=("part_ptr", "label_ptr"))
def workspace(problem):
    """Return a fresh ``Workspace``, large enough for every example (plain Python, not for kernels)."""
    size = int(np.diff(problem.part_ptr).max())
    return Workspace(
        theta=np.zeros(size),
        direction=np.zeros(size),
        image=np.zeros(size),
        y=np.zeros(int(np.diff(problem.label_ptr).max()), dtype=np.int32),
        scratch=np.zeros(size),
    )


@degree(0, default=("part_ptr",))
def rescale(problem, i, c, theta):
    """Multiply ``theta`` by c: the part scores under c w."""
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        theta[j] *= c


@degree(0, fastmath=False, default=())
def prefetch_example(problem, i):
    """Prefetch the data of example i, which is next; only the time depends on it."""


@degree(0, default=())
def costly_oracle(problem):
    """Return whether oracle calls cost so much more than steps that a run should save them (plain Python).

    Then the log evaluates rarely by default, and time limits are in wall time.
    """
    return False


@degree(0, default=())
def cheap_oracle(problem):
    """Return whether oracle calls cost no more than steps on stored labelings, which then save nothing (plain Python)."""
    return False


@degree(0, default=())
def oracle_operations(problem):
    """Return about how many operations a call of the oracle takes in the mean, scores included; 0 if unknown (plain Python)."""
    return 0.0


@degree(0, default=())
def exact_oracle(problem):
    """Return whether ``max_oracle`` finds the maximum, up to rounding (plain Python).

    With an inexact oracle the dual objective is still a lower bound on the optimum, since the labelings found are labelings;
    but what it returns as H_i(w) is none on H_i(w), so that primal and gap are too low and certify nothing.
    """
    return True


@degree(1, default=())
def counted_positions(problem):
    """Return how many positions the losses of every example count, float64 (n,): 1 for a loss that is a share (plain Python)."""
    return getattr(problem, "counts", np.ones(problem.n))


@degree(0, default=())
def num_positions(problem, i) -> int:
    """Return how many variables a labeling of example i has."""
    return 1


@degree(0, default=())
def loss_weight(problem, i, y) -> float:
    """Return how much L_i(y) counts in the mean loss of predictions: 1, unless the error of a set is a ratio of two sums."""
    return 1.0


@degree(1, default=())
def example_weight(problem, i) -> float:
    """Return the factor of H_i(w) in the objective, which is in losses and features of example i already."""
    return 1.0


@degree(0, default=())
def forget(problem):
    """Forget the answers of a former run on a problem (plain Python)."""


@degree(0, default=())
def ask_ahead(problem, start, end, w, augmented, plain):
    """Announce calls of the max-oracle or ``decode`` for the examples start .. end at w (plain Python).

    If one call for all of them takes less time, the family makes it now and keeps the labelings: ``augmented`` of the max-oracle,
    ``plain`` of ``decode``.
    """


class KernelView:
    """A problem made of arrays as kernels see it: as it is; see `kernel_view`."""

    too_large = False

    def __init__(self, problem) -> None:
        self.problem = problem

    def pack(self, labelings, start, end):
        """Return ``labelings``, of which kernels will read the labelings of the examples start .. end."""
        return labelings

    def pack_storage(self, storage, owners):
        """Return storage of labelings; ``owners()`` are the examples of its places, -1 where there is no labeling."""
        return storage

    def unpack_storage(self, storage):
        """Return storage of labelings in the form that the problem itself has it."""
        return storage


class ViewAround:
    """A `KernelView` whose problem has something around it, as ``around(problem)`` returns it."""

    def __init__(self, view, around) -> None:
        self._view, self._around, self._seen, self._problem = view, around, None, None
        self.pack, self.pack_storage, self.unpack_storage = view.pack, view.pack_storage, view.unpack_storage

    @property
    def problem(self):
        if self._view.problem is not self._seen:
            self._seen = self._view.problem
            self._problem = self._around(self._seen)
        return self._problem

    @property
    def too_large(self) -> bool:
        return self._view.too_large


@degree(by=lambda function: lambda problem: ViewAround(function(problem.unweighted), problem.around), default=())
def kernel_view(problem):
    """Return the problem as kernels see it that call no oracle, and how labelings look there, a `KernelView` (plain Python)."""
    return KernelView(problem)


# --- vectors of parts -----------------------------------------------------------------------------------------------


@degree(0, default=("part_ptr",))
def new_blocks(problem):
    """Return zero part vectors of all examples, the start of a dual variable (plain Python)."""
    return np.zeros(problem.part_ptr[-1])


@degree(0, default=())
def copy_blocks(problem, blocks):
    """Return a copy that has room for a step of every example (plain Python)."""
    return blocks.copy()


@degree(0, default=())
def divide_blocks(problem, blocks, parts):
    """Return the blocks for threads, of which thread t changes the blocks i with i % parts = t only (plain Python)."""
    return blocks


@degree(0, default=())
def has_room(problem, i, blocks) -> bool:
    """Return whether a step of example i towards any corner fits; otherwise ``copy_blocks`` comes first."""
    return True


@degree(0, default=("part_ptr",))
def set_direction(problem, i, y, blocks, direction):
    """Set ``direction`` to p_i(y) minus block i: the way from the block to the labeling y."""
    clear(problem, i, direction)
    add_psi(problem, i, y, 1.0, direction)
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        direction[j] -= blocks[start + j]


@degree(0, default=("part_ptr",))
def clear(problem, i, direction):
    """Set a vector of parts of example i to 0; finish it with ``close`` before other functions see it."""
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        direction[j] = 0.0


@degree(0, default=())
def close(problem, i, direction):
    """Finish a vector that was begun with ``clear``."""


@degree(1, default=("part_ptr",))
def dot(problem, i, direction, theta) -> float:
    """Return <direction, theta>, that is <F_i' direction, w>."""
    total = 0.0
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        total += direction[j] * theta[j]
    return total


@degree(2, default=())
def norm_sq(problem, i, direction) -> float:
    """Return ||F_i' direction||^2."""
    vector = np.zeros(problem.num_weights)
    scatter(problem, i, direction, 1.0, vector)
    total = 0.0
    for j in range(len(vector)):
        total += vector[j] * vector[j]
    return total


@degree(0, fastmath=False, default=("part_ptr",))
def add_to_block(problem, i, direction, c, blocks):
    """Add c times ``direction`` to block i."""
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        blocks[start + j] += c * direction[j]


@degree("composed")
def approach(problem, i, y, theta, blocks, direction) -> tuple[float, float, float]:
    """Set ``direction`` as `set_direction` does; return L_i(y), <F_i' direction, w> and ||F_i' direction||^2."""
    set_direction(problem, i, y, blocks, direction)
    return loss(problem, i, y), dot(problem, i, direction, theta), norm_sq(problem, i, direction)


@degree("composed", fastmath=False)
def ask_oracle(problem, i, w, work) -> float:
    """Set ``work.theta`` to the part scores at w, and ``work.y`` to the labeling of the max-oracle; return H_i(w)."""
    scores(problem, i, w, work.theta)
    return max_oracle(problem, i, work.theta, work.y, work.scratch)


@degree("c", fastmath=False, default=("part_ptr",))
def scatter_psi(problem, i, y, c, w):
    """Add c psi_i(y) to the internal weights w."""
    psi = np.zeros(problem.part_ptr[i + 1] - problem.part_ptr[i])
    add_psi(problem, i, y, 1.0, psi)
    scatter(problem, i, psi, c, w)


@degree("c", fastmath=False, default=("part_ptr",))
def scatter_block(problem, i, blocks, c, w):
    """Add c times F_i' (block i) to the internal weights w."""
    scatter(problem, i, blocks[problem.part_ptr[i] : problem.part_ptr[i + 1]], c, w)


# --- running sums of psi vectors, for averaged iterates ---------------------------------------------------------------


@degree(0, default=("part_ptr",))
def new_sums(problem, count):
    """Return ``count`` empty sums of vectors F_i' direction, a sequence of float64 arrays (plain Python)."""
    return np.zeros((count, problem.part_ptr[-1]))


@degree("c", fastmath=False, default=("part_ptr",))
def accumulate(problem, i, direction, c, total):
    """Add c F_i' direction to the sum, at a cost that does not depend on the number of features."""
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        total[start + j] += c * direction[j]


@degree("c", fastmath=False, default=("part_ptr",))
def accumulate_psi(problem, i, y, c, total):
    """Add c psi_i(y) to the sum."""
    add_psi(problem, i, y, c, total[problem.part_ptr[i] : problem.part_ptr[i + 1]])


@degree(0, fastmath=False, default=("part_ptr",))
def scatter_sum(problem, total, c, w):
    """Add c times the sum to the internal weights w; O(size of the data)."""
    for i in range(problem.n):
        scatter(problem, i, total[problem.part_ptr[i] : problem.part_ptr[i + 1]], c, w)


# --- exact: the maximum of the dual over a whole block, where blocks are small or have structure


@degree(0, tier="exact")
def has_best_block(problem):
    """Return whether ``best_block`` is exact for this problem of the family (plain Python)."""


@degree(0, tier="exact", default=())
def costly_block(problem):
    """Return whether ``best_block`` costs much more than the oracle (plain Python)."""
    return False


def _best_with_weight(function):
    def of_weighted(problem, i, theta, c, blocks, direction, scratch):
        return problem.c[i] * function(problem.unweighted, i, theta, c * problem.c[i], blocks, direction, scratch)

    return of_weighted


@degree(by=_best_with_weight, fastmath=False, tier="exact")
def best_block(problem, i, theta, c, blocks, direction, scratch) -> float:
    """Set ``direction`` to the way from block i to where the dual is highest while all other blocks stay, and return n ell_i there.

    The part scores are those at the weights that the blocks make; c is 1/(lam n).
    """


def _maximum_with_weight(function):
    def of_weighted(problem, i, theta, c, mean_loss, *args):
        weight = problem.c[i]
        if weight == 0.0:
            return 0.0, mean_loss
        gap, best = function(problem.unweighted, i, theta, c * weight, mean_loss / weight, *args)
        return weight * gap, weight * best

    return of_weighted


@degree(by=_maximum_with_weight, fastmath=False, tier="exact", default=())
def maximise_block(problem, i, theta, c, mean_loss, blocks, work) -> tuple[float, float]:
    """Move block i to the maximum of the dual over this block; ``mean_loss`` is n ell_i before the move.

    Returns n times the Frank-Wolfe gap before the move, 0 if the block stays, and n ell_i after it; sets ``work.direction`` to the
    change of the block.
    """
    max_oracle(problem, i, theta, work.y, work.scratch)
    set_direction(problem, i, work.y, blocks, work.direction)
    gap = loss(problem, i, work.y) - mean_loss - dot(problem, i, work.direction, theta)
    if gap <= 0.0:
        return 0.0, mean_loss
    best = best_block(problem, i, theta, c, blocks, work.direction, work.scratch)
    add_to_block(problem, i, work.direction, 1.0, blocks)
    return gap, best


@degree(0, default=())
def has_distributions(problem):
    """Return whether expected parts determine the distribution, so that ``raise_distribution`` moves it (plain Python)."""
    return False


@degree(by=_maximum_with_weight, fastmath=False, default=())
def raise_distribution(problem, i, theta, c, mean_loss, cost, temperature, means, work) -> tuple[float, float]:
    """Move distribution i to about the maximum of the dual over it, for the objective of this cost and temperature.

    ``means`` are the expected parts of all examples. ``mean_loss``, n ell_i before the move, ``work``, and what is returned are
    those of `maximise_block`. It overwrites ``theta``.
    """
    return 0.0, mean_loss
