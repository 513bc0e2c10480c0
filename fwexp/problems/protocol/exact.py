"""The maximum of the dual over a whole block, where blocks are small or have structure."""

from fwexp.jit.kernels import dispatched


@dispatched
def has_best_block(problem):
    """Whether ``best_block`` is exact for this problem of the family (plain Python)."""


@dispatched
def costly_block(problem):
    """Whether ``best_block`` costs much more than the oracle (plain Python)."""


@costly_block.register(object)
def _(problem):
    return False


@dispatched(fastmath=False)
def best_block(problem, i, theta, c, blocks, direction, scratch):
    """Set ``direction`` to the way from block i to where the dual is highest while all other blocks stay, and return n ell_i there.

    The part scores are those at the weights that the blocks make; c is 1/(lam n).
    """
