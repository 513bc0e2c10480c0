"""Best labelings of graphs without cycles whose edges have a score for every pair of labels: max-product, from leaves to roots.

A node tells the one above it, for each label of that one, the most that it and all below it can add; then labels are chosen from
the roots down.
"""

import numpy as np

from fwexp.jit.compilation import array_kernel, register_jitable


def is_forest(edges: np.ndarray, nodes: int) -> bool:
    """Return whether a graph has no cycle and no double edge; edges (E, 2)."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    graph = sp.coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(nodes, nodes))
    return len(edges) == nodes - connected_components(graph, directed=False)[0]  # each edge joins two parts


@register_jitable
def pair_score(pairs, arc, label, other):
    """Return the score of the edge of an arc, of the labels of the node that it leaves and of the other one."""
    return pairs[arc // 2, label, other] if arc % 2 == 0 else pairs[arc // 2, other, label]


@register_jitable
def order_forest(ends, first, out, order, up):
    """Set ``order`` to the nodes, each after the one above it, and ``up`` to the arc from each to that one, -1 of roots."""
    count = 0
    up[:] = -2
    for root in range(len(order)):
        if up[root] != -2:
            continue
        up[root], order[count] = -1, root
        seen, count = count, count + 1
        while seen < count:
            v = order[seen]
            seen += 1
            for j in range(first[v], first[v + 1]):
                arc = out[j]
                if arc != up[v]:
                    below = ends[arc ^ 1]
                    up[below], order[count] = arc ^ 1, below
                    count += 1


@array_kernel("none(f8[:,::1], f8[:,:,::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1])")
def label_forest(score, pairs, ends, first, out, y, order, up):
    """Find a labeling of highest sum_v score[v, y_v] + sum_e pairs[e, y_a, y_b], e = (a, b), if there is no cycle."""
    # ``score`` (nodes, L) is overwritten; ``pairs`` is (edges, L, L). ``order`` gets the nodes, each after the one above it, and
    # ``up`` the arc from a node to that one. The others are those of `fwexp.oracles.max_flow.incidence`.
    nodes, labels = score.shape
    order_forest(ends, first, out, order, up)
    for place in range(nodes - 1, -1, -1):
        v = order[place]
        if up[v] >= 0:
            above = ends[up[v] ^ 1]
            for m in range(labels):
                most = score[v, 0] + pair_score(pairs, up[v], 0, m)
                for k in range(1, labels):
                    most = max(most, score[v, k] + pair_score(pairs, up[v], k, m))
                score[above, m] += most
    for place in range(nodes):
        v = order[place]
        best, most = 0, 0.0
        for k in range(labels):
            total = score[v, k] + (pair_score(pairs, up[v], k, y[ends[up[v] ^ 1]]) if up[v] >= 0 else 0.0)
            if k == 0 or total > most:
                best, most = k, total
        y[v] = best
