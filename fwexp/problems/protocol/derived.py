"""Functions that follow from the functions of the tiers for every family: a family registers one only for speed.

Those without a default here have one in ``fwexp.problems.labelings`` or ``fwexp.problems.dense_parts``. Families with a walk
(``fwexp.problems.walk``) have most of them from it.
"""

from typing import NamedTuple

import numpy as np

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


@degree(0)
def example(problem):
    """Return a problem in this process of the same structure: the problem, unless its examples are elsewhere (plain Python)."""


@example.register(object)
def _(problem):
    return problem


# --- examples -------------------------------------------------------------------------------------------------------


@degree(1)
def largest_losses(problem):
    """Return max_y L_i(y) of every example, float64 (n,), which are H_i(0); None if only the oracle finds it (plain Python)."""


@largest_losses.register(object)
def _(problem):
    return None


@degree(0)
def workspace(problem):
    """Return a fresh ``Workspace``, large enough for every example (plain Python, not for kernels)."""


@degree(0)
def rescale(problem, i, c, theta):
    """Multiply ``theta`` by c: the part scores under c w."""


@degree(0)
def prefetch_example(problem, i):
    """Prefetch the data of example i, which is next; only the time depends on it."""


@prefetch_example.register(object)
def _(problem, i):
    pass


@degree(0)
def prefetch_vector(problem, i, blocks):
    """Prefetch block i."""


@prefetch_vector.register(object)
def _(problem, i, blocks):
    pass


@degree(0)
def prefetch_labelings(problem, i, storage, places):
    """Prefetch the data that `score_labelings` reads for the labelings at ``places`` of the ``storage``."""


@prefetch_labelings.register(object)
def _(problem, i, storage, places):
    pass


@degree(0)
def costly_oracle(problem):
    """Return whether oracle calls cost so much more than steps that a run should save them (plain Python).

    Then the log evaluates rarely by default, and time limits are in wall time.
    """


@costly_oracle.register(object)
def _(problem):
    return False


@degree(0)
def cheap_oracle(problem):
    """Return whether oracle calls cost no more than steps on stored labelings, which then save nothing (plain Python)."""


@cheap_oracle.register(object)
def _(problem):
    return False


@degree(0)
def exact_oracle(problem):
    """Return whether ``max_oracle`` finds the maximum, up to rounding (plain Python).

    With an inexact oracle the dual objective is still a lower bound on the optimum, since the labelings found are labelings;
    but what it returns as H_i(w) is none on H_i(w), so that primal and gap are too low and certify nothing.
    """


@exact_oracle.register(object)
def _(problem):
    return True


@degree(1)
def counted_positions(problem):
    """Return how many positions the losses of every example count, float64 (n,): 1 for a loss that is a share (plain Python)."""


@counted_positions.register(object)
def _(problem):
    return getattr(problem, "counts", np.ones(problem.n))


@degree(0)
def num_positions(problem, i):
    """Return how many variables a labeling of example i has."""


@num_positions.register(object)
def _(problem, i):
    return 1


@degree(0)
def loss_weight(problem, i, y):
    """Return how much L_i(y) counts in the mean loss of predictions: 1, unless the error of a set is a ratio of two sums."""


@loss_weight.register(object)
def _(problem, i, y):
    return 1.0


@degree(1)
def example_weight(problem, i):
    """Return the factor of H_i(w) in the objective, which is in losses and features of example i already."""


@example_weight.register(object)
def _(problem, i):
    return 1.0


@degree(0)
def forget(problem):
    """Forget the answers of a former run on a problem (plain Python)."""


@forget.register(object)
def _(problem):
    pass


@degree(0)
def ask_ahead(problem, start, end, w, augmented, plain):
    """Announce calls of the max-oracle or ``decode`` for the examples start .. end at w (plain Python).

    If one call for all of them takes less time, the family makes it now and keeps the labelings: ``augmented`` of the max-oracle,
    ``plain`` of ``decode``.
    """


@ask_ahead.register(object)
def _(problem, start, end, w, augmented, plain):
    pass


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


@degree(by=lambda function: lambda problem: ViewAround(function(problem.unweighted), problem.around))
def kernel_view(problem):
    """Return the problem as kernels see it that call no oracle, and how labelings look there, a `KernelView` (plain Python)."""


@kernel_view.register(object)
def _(problem):
    return KernelView(problem)


# --- labelings ------------------------------------------------------------------------------------------------------


@degree(0)
def true_labeling(problem, i, y):
    """Write the true labeling of example i to y."""


@degree(0)
def new_labelings(problem):
    """Return storage for one labeling per example (plain Python)."""


@degree(0)
def store_labeling(problem, i, y, labelings):
    """Copy y to position i of ``labelings``."""


@degree(0)
def stored_labeling(problem, i, labelings):
    """Return position i of ``labelings``, usable as a y."""


# --- vectors of parts -----------------------------------------------------------------------------------------------


@degree(0)
def new_blocks(problem):
    """Return zero part vectors of all examples, the start of a dual variable (plain Python)."""


@degree(0)
def copy_blocks(problem, blocks):
    """Return a copy that has room for a step of every example (plain Python)."""


@degree(0)
def has_room(problem, i, blocks):
    """Return whether a step of example i towards any corner fits; otherwise ``copy_blocks`` comes first."""


@has_room.register(object)
def _(problem, i, blocks):
    return True


@degree(0)
def set_direction(problem, i, y, blocks, direction):
    """Set ``direction`` to p_i(y) minus block i: the way from the block to the labeling y."""


@degree(0)
def clear(problem, i, direction):
    """Set a vector of parts of example i to 0; finish it with ``close`` before other functions see it."""


@degree(0)
def close(problem, i, direction):
    """Finish a vector that was begun with ``clear``."""


@degree(1)
def dot(problem, i, direction, theta):
    """Return <direction, theta>, that is <F_i' direction, w>."""


@degree(2)
def norm_sq(problem, i, direction):
    """Return ||F_i' direction||^2."""


@degree(0)
def add_to_block(problem, i, direction, c, blocks):
    """Add c times ``direction`` to block i."""


@degree("c")
def scatter_psi(problem, i, y, c, w):
    """Add c psi_i(y) to the internal weights w."""


@degree("c")
def scatter_block(problem, i, blocks, c, w):
    """Add c times F_i' (block i) to the internal weights w."""


# --- running sums of psi vectors, for averaged iterates ---------------------------------------------------------------


@degree(0)
def new_sums(problem, count):
    """Return ``count`` empty sums of vectors F_i' direction, a sequence of float64 arrays (plain Python)."""


@degree("c")
def accumulate(problem, i, direction, c, total):
    """Add c F_i' direction to the sum, at a cost that does not depend on the number of features."""


@degree("c")
def accumulate_psi(problem, i, y, c, total):
    """Add c psi_i(y) to the sum."""


@degree(0)
def scatter_sum(problem, total, c, w):
    """Add c times the sum to the internal weights w; O(size of the data)."""
