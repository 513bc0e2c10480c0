"""Distributions over labelings of graphs without cycles whose edges have a score for every pair of labels: sum-product.

All is done with logarithms, so scores of any size are fine. A node tells the one above it, for each label m of that one, the
logarithm of the sum over its own labels and those of all below it; then marginals are found from the roots down.
"""

import math

from fwexp.jit.compilation import array_kernel, register_jitable
from fwexp.oracles.tree_max_product import order_forest, pair_score


@register_jitable
def log_sum(values, count):
    """Return log sum exp of the first ``count`` values."""
    highest, total = values[0], 0.0
    for k in range(1, count):
        highest = max(highest, values[k])
    for k in range(count):
        total += math.exp(values[k] - highest)
    return highest + math.log(total)


@array_kernel("f8(f8[:,::1], f8[:,:,::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1], f8[:,::1], f8[::1])", fastmath=False)
def forest_marginals(score, pairs, ends, first, out, order, up, messages, terms):
    """Turn ``score`` and ``pairs``, as in `label_forest`, into marginals of nodes and of edges, and return log Z."""
    nodes, labels = score.shape
    log_z = 0.0
    order_forest(ends, first, out, order, up)
    for place in range(nodes - 1, -1, -1):
        v = order[place]
        if up[v] >= 0:
            above = ends[up[v] ^ 1]
            for m in range(labels):
                for k in range(labels):
                    terms[k] = score[v, k] + pair_score(pairs, up[v], k, m)
                messages[v, m] = log_sum(terms, labels)
                score[above, m] += messages[v, m]
    # From here on scores are logarithms of marginals, up to their normalisation.
    for place in range(nodes):
        v = order[place]
        arc = up[v]
        if arc >= 0:
            above = ends[arc ^ 1]
            for k in range(labels):
                for m in range(labels):
                    terms[m] = pair_score(pairs, arc, k, m) + score[above, m] - messages[v, m]
                rest = log_sum(terms, labels)
                score[v, k] += rest
                for m in range(labels):  # P(y_above = m | y_v = k)
                    if arc % 2 == 0:
                        pairs[arc // 2, k, m] = math.exp(terms[m] - rest)
                    else:
                        pairs[arc // 2, m, k] = math.exp(terms[m] - rest)
        total = log_sum(score[v], labels)
        if arc < 0:
            log_z += total
        for k in range(labels):
            score[v, k] -= total
    for v in range(nodes):
        for k in range(labels):
            score[v, k] = math.exp(score[v, k])
    for v in range(nodes):
        if up[v] >= 0:
            for k in range(labels):
                for m in range(labels):
                    if up[v] % 2 == 0:
                        pairs[up[v] // 2, k, m] *= score[v, k]
                    else:
                        pairs[up[v] // 2, m, k] *= score[v, k]
    return log_z
