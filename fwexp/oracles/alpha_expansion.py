"""Labelings of graphs with Potts terms by expansion moves: each is a minimum cut, and together they are a local search.

Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001. An expansion of label a lets
every node keep its label or take a; a cut finds the best one. Where no expansion of any label is better, the energy of the
labels is at most that of the best labeling with its Potts terms counted twice; with two labels it is the best one.
"""

import numpy as np

from fwexp.jit.compilation import array_kernel, register_jitable
from fwexp.oracles import max_flow
from fwexp.oracles.max_flow import min_cut

TOL = 1e-12  # relative: moves that gain less are rounding, and might go around in circles
MOST_MOVES = 100  # per label; a few are usual


def scratch_size(nodes: int, edges: int) -> int:
    """Return how many float64 numbers of scratch `expand_labels` needs."""
    return nodes + 2 * edges + (nodes + 1) // 2 + max_flow.scratch_size(nodes, edges)


@array_kernel("i8(f8[::1], i8, i8, f8[::1], i4[::1], i4[::1], i4[::1], i4[::1], f8[::1])")
def expand_labels(score, width, num_labels, weight, ends, first, out, y, scratch):
    """Find a labeling of high sum_v score[v, y_v] - sum_e weight[e] [y_a != y_b], e = (a, b), and return the number of moves."""
    # Node v has the scores ``score[v * width : v * width + num_labels]``; ``ends``, ``first`` and ``out`` are those of `incidence`.
    # Labels are expanded in turn, from the best one of every node by itself, until none gains.
    for v in range(y.shape[0]):
        best = 0
        for k in range(1, num_labels):
            if score[v * width + k] > score[v * width + best]:
                best = k
        y[v] = best
    moves, label, quiet = 0, 0, 0
    while quiet < num_labels and moves < MOST_MOVES * num_labels and weight.shape[0] > 0:
        if _expand(label, score, width, weight, ends, first, out, y, scratch):
            moves += 1
            quiet = 1  # no other expansion of this label is better
        else:
            quiet += 1
        label = (label + 1) % num_labels
    return moves


@register_jitable
def _expand(label, score, width, weight, ends, first, out, y, scratch):
    """Make the best expansion of a label if it gains; return whether it does."""
    nodes, edges = y.shape[0], weight.shape[0]
    gain, capacity = scratch[:nodes], scratch[nodes : nodes + 2 * edges]
    rest = nodes + 2 * edges
    taken = scratch[rest : rest + (nodes + 1) // 2].view(np.int32)[:nodes]
    size = 0.0  # of the terms that a gain is a sum of
    for v in range(nodes):
        gain[v] = score[v * width + label] - score[v * width + y[v]]
        size += abs(gain[v])
    for e in range(edges):
        a, b, lost = ends[2 * e], ends[2 * e + 1], max(weight[e], 0.0)
        size += lost
        between = 0.0
        if y[a] == y[b]:
            between = lost if y[a] != label else 0.0
        elif y[a] == label:
            gain[b] += lost
        elif y[b] == label:
            gain[a] += lost
        else:  # the edge is cut unless both nodes take the label
            between = 0.5 * lost
            gain[a] += between
            gain[b] += between
        capacity[2 * e] = capacity[2 * e + 1] = between
    return take(label, gain, capacity, size, ends, first, out, y, taken, scratch[rest + (nodes + 1) // 2 :])


@register_jitable
def take(label, gain, capacity, size, ends, first, out, y, taken, scratch):
    """Assign a label to the nodes that a cut names, if that gains more than rounding; return whether it does."""
    min_cut(gain, capacity, ends, first, out, taken, scratch)
    total = 0.0
    for v in range(len(y)):
        if taken[v] == 1:
            total += gain[v]
    for arc in range(0, len(ends), 2):
        if taken[ends[arc]] != taken[ends[arc + 1]]:
            total -= capacity[arc]
    if total <= TOL * size:
        return False
    for v in range(len(y)):
        if taken[v] == 1:
            y[v] = label
    return True
