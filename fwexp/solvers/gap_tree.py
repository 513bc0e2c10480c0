"""A complete binary tree over n nonnegative numbers: draw in proportion to them, or find the largest, in O(log n)."""

from typing import NamedTuple

import numpy as np

from fwexp._jit import njit, register_jitable


class Tree(NamedTuple):
    """Leaves ``size + i``; the parent of node j is j // 2; every inner node holds the sum and the largest of its leaves."""

    size: int
    total: np.ndarray  # float64 (2 * size,)
    largest: np.ndarray  # float64 (2 * size,)


def new_tree(values: np.ndarray) -> Tree:
    """Return a tree over ``values``."""
    size = 1 << max(len(values) - 1, 0).bit_length()
    tree = Tree(size, np.zeros(2 * size), np.full(2 * size, -1.0))
    fill(tree, values)
    return tree


@njit
def fill(tree, values):
    """Set all leaves, O(n)."""
    for i in range(len(values)):
        tree.total[tree.size + i] = tree.largest[tree.size + i] = values[i]
    for j in range(tree.size - 1, 0, -1):
        tree.total[j] = tree.total[2 * j] + tree.total[2 * j + 1]
        tree.largest[j] = max(tree.largest[2 * j], tree.largest[2 * j + 1])


@register_jitable
def update(tree, i, value):
    """Set one leaf. Sums are formed anew on the way up, so rounding errors do not pile up."""
    j = tree.size + i
    tree.total[j] = tree.largest[j] = value
    j //= 2
    while j > 0:
        tree.total[j] = tree.total[2 * j] + tree.total[2 * j + 1]
        tree.largest[j] = max(tree.largest[2 * j], tree.largest[2 * j + 1])
        j //= 2


@register_jitable
def draw(tree, uniform):
    """Return i with probability value_i / sum, given a uniform number in [0, 1)."""
    target = uniform * tree.total[1]
    j = 1
    while j < tree.size:
        j *= 2
        # Never step into a subtree of zeros: rounding can leave target at or above the sum of the left one.
        if target >= tree.total[j] and tree.total[j + 1] > 0.0:
            target -= tree.total[j]
            j += 1
    return j - tree.size


@register_jitable
def argmax(tree):
    """Return the smallest i whose value is the largest."""
    j = 1
    while j < tree.size:
        j *= 2
        if tree.largest[j + 1] > tree.largest[j]:
            j += 1
    return j - tree.size
