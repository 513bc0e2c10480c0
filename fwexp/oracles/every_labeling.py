"""Best labelings of small graphs whose edges have a score for every pair of labels: all labelings are tried."""

import math

import numpy as np

from fwexp.jit.compilation import array_kernel
from fwexp.oracles.tree_max_product import pair_score

MOST = 1 << 16  # labelings; to try them takes about a millisecond


def are_few(nodes: int, num_labels: int) -> bool:
    """Return whether a graph has so few labelings that all can be tried."""
    return nodes * math.log2(num_labels) <= math.log2(MOST)


@array_kernel("none(f8[:,::1], f8[:,:,::1], i4[::1], i4[::1], i4[::1], i4[::1])", fastmath=False)
def best_of_all(score, pairs, ends, first, out, y):
    """Find a labeling of highest sum_v score[v, y_v] + sum_e pairs[e, y_a, y_b], e = (a, b), the first one of several."""
    # ``score`` is (nodes, L), ``pairs`` (edges, L, L); the other arguments are those of `fwexp.oracles.max_flow.incidence`.
    nodes, labels = score.shape
    tried, sums, highest = np.full(nodes, -1, dtype=np.int32), np.zeros(nodes + 1), -np.inf
    v = 0
    while 0 <= v < nodes:  # Depth first: sums[v] is the sum over the nodes before v, and the edges among them.
        tried[v] += 1
        if tried[v] == labels:
            v -= 1
            continue
        total = sums[v] + score[v, tried[v]]
        for j in range(first[v], first[v + 1]):
            arc = out[j]
            if ends[arc ^ 1] < v:
                total += pair_score(pairs, arc, tried[v], tried[ends[arc ^ 1]])
        if v < nodes - 1:
            v += 1
            sums[v], tried[v] = total, -1
        elif total > highest:
            highest = total
            y[:] = tried
