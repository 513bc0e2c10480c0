"""A complete binary tree over n nonnegative numbers: draw in proportion to them, or find the largest, in O(log n)."""

from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import njit, register_jitable

TOTAL, LARGEST = 0, 1


class Tree(NamedTuple):
    """Leaves ``size + i``; the parent of node j is j // 2; every inner node holds the sum and the largest of its leaves."""

    size: int
    nodes: np.ndarray  # float64 (2 * size, 2): sum and largest, side by side in memory, as they are updated


def new_tree(values: np.ndarray) -> Tree:
    """Return a tree over ``values``."""
    size = 1 << max(len(values) - 1, 0).bit_length()
    tree = Tree(size, np.zeros((2 * size, 2)))
    tree.nodes[:, LARGEST] = -1.0
    fill(tree, values)
    return tree


@njit
def fill(tree, values):
    """Set all leaves, O(n)."""
    for i in range(len(values)):
        tree.nodes[tree.size + i, TOTAL] = tree.nodes[tree.size + i, LARGEST] = values[i]
    for j in range(tree.size - 1, 0, -1):
        tree.nodes[j, TOTAL] = tree.nodes[2 * j, TOTAL] + tree.nodes[2 * j + 1, TOTAL]
        tree.nodes[j, LARGEST] = max(tree.nodes[2 * j, LARGEST], tree.nodes[2 * j + 1, LARGEST])


@register_jitable
def update(tree, i, value):
    """Set one leaf. Sums are formed anew on the way up, so rounding errors do not pile up."""
    j = tree.size + i
    total = largest = value
    tree.nodes[j, TOTAL] = tree.nodes[j, LARGEST] = value
    while j > 1:
        sibling = j ^ 1
        total += tree.nodes[sibling, TOTAL]
        largest = max(largest, tree.nodes[sibling, LARGEST])
        j //= 2
        tree.nodes[j, TOTAL], tree.nodes[j, LARGEST] = total, largest


@register_jitable
def draw(tree, uniform):
    """Return i with probability value_i / sum, given a uniform number in [0, 1)."""
    target = uniform * tree.nodes[1, TOTAL]
    j = 1
    while j < tree.size:
        j *= 2
        left = tree.nodes[j, TOTAL]
        # Never step into a subtree of zeros: rounding can leave target at or above the sum of the left one. (No branches:
        # the way down cannot be predicted.)
        right = int(target >= left) & int(tree.nodes[j + 1, TOTAL] > 0.0)
        target -= right * left
        j += right
    return j - tree.size


@register_jitable
def argmax(tree):
    """Return the smallest i whose value is the largest."""
    j = 1
    while j < tree.size:
        j *= 2
        if tree.nodes[j + 1, LARGEST] > tree.nodes[j, LARGEST]:
            j += 1
    return j - tree.size
