"""Labelings of graphs whose edges have a score for every pair of labels: messages for a start, then moves by cuts and of nodes.

The start is the best labeling met by sequential tree-reweighted message passing (Kolmogorov, "Convergent tree-reweighted message
passing for energy minimization", PAMI 2006), which is a best one on chains whose nodes are in their order.

An expansion of label k lets every node keep its label or take k (``alpha_expansion``). With t_v = 1 where a node takes it, the
scores s of an edge (a, b) are s_00 + t_a (s_10 - s_00) + t_b (s_01 - s_00) + c t_a t_b, c = s_11 - s_10 - s_01 + s_00. Where c >= 0
that is a cut. Where c < 0, the edge not being submodular, c (t_a + t_b) / 2 takes the place of c t_a t_b: it is no larger, and the
same where both take k or neither, so that a move still gains at least what its cut says. Moves of single nodes find what this
misses. With two labels and c >= 0 everywhere the labeling is a best one.
"""

import numpy as np

from fwexp.jit.compilation import array_kernel, register_jitable
from fwexp.oracles import max_flow
from fwexp.oracles.alpha_expansion import MOST_MOVES, TOL, take
from fwexp.oracles.tree_max_product import pair_score

ROUNDS = 10  # of messages forth and back


def scratch_size(nodes: int, edges: int) -> int:
    """Return how many float64 numbers of scratch `expand_pairs` needs."""
    return 2 * nodes + 2 * edges + max_flow.scratch_size(nodes, edges)


@array_kernel("i8(f8[:,::1], f8[:,:,::1], i4[::1], i4[::1], i4[::1], i4[::1], f8[:,::1], f8[::1])")
def expand_pairs(score, pairs, ends, first, out, y, messages, scratch):
    """Find a labeling of high sum_v score[v, y_v] + sum_e pairs[e, y_a, y_b], e = (a, b), where no move gains; count the moves."""
    # ``score`` is (nodes, L), ``pairs`` (edges, L, L), ``messages`` (2 edges + 1, L); the others are those of `incidence`.
    _pass_messages(score, pairs, ends, first, out, y, messages, scratch[: len(y)].view(np.int32)[: len(y)])
    labels, moves, quiet, label = score.shape[1], 0, 0, 0
    while quiet <= labels and moves < MOST_MOVES * labels:
        if label < labels:
            moved = _expand(label, score, pairs, ends, first, out, y, scratch)
        else:
            moved = _change_nodes(score, pairs, ends, first, out, y)
        moves, quiet, label = moves + moved, 1 if moved else quiet + 1, (label + 1) % (labels + 1)
    return moves


@register_jitable
def _value(score, pairs, ends, y):
    total = 0.0
    for v in range(y.shape[0]):
        total += score[v, y[v]]
    for e in range(pairs.shape[0]):
        total += pairs[e, y[ends[2 * e]], y[ends[2 * e + 1]]]
    return total


@register_jitable
def _pass_messages(score, pairs, ends, first, out, y, messages, tried):
    """Write the labeling of highest score to y that rounds of messages meet; message k goes along arc k."""
    nodes, labels = score.shape
    belief, highest = messages[2 * pairs.shape[0]], 0.0
    messages[:] = 0.0
    for turn in range(2 * ROUNDS):
        for place in range(nodes):
            v = place if turn % 2 == 0 else nodes - 1 - place
            begin, end, ahead = first[v], first[v + 1], 0
            for k in range(labels):
                belief[k] = score[v, k]
                for j in range(begin, end):
                    arc = out[j]
                    belief[k] += messages[arc ^ 1, k]
            # Nodes behind have their labels already: these and the messages from ahead determine the label of this one.
            best, most = 0, 0.0
            for k in range(labels):
                total = score[v, k]
                for j in range(begin, end):
                    arc = out[j]
                    other = ends[arc ^ 1]
                    behind = other < v if turn % 2 == 0 else other > v
                    total += pair_score(pairs, arc, k, tried[other]) if behind else messages[arc ^ 1, k]
                if k == 0 or total > most:
                    best, most = k, total
            tried[v] = best
            for j in range(begin, end):
                arc = out[j]
                ahead += ends[arc ^ 1] > v
            share = 1.0 / max(ahead, end - begin - ahead, 1)
            for j in range(begin, end):
                arc = out[j]
                other = ends[arc ^ 1]
                if other > v if turn % 2 == 0 else other < v:
                    top = 0.0
                    for m in range(labels):
                        for k in range(labels):
                            through = share * belief[k] - messages[arc ^ 1, k] + pair_score(pairs, arc, k, m)
                            messages[arc, m] = through if k == 0 else max(messages[arc, m], through)
                        top = messages[arc, m] if m == 0 else max(top, messages[arc, m])
                    for m in range(labels):
                        messages[arc, m] -= top
        total = _value(score, pairs, ends, tried)
        if turn == 0 or total > highest:
            highest = total
            for v in range(nodes):
                y[v] = tried[v]


@register_jitable
def _expand(label, score, pairs, ends, first, out, y, scratch):
    """Make the best expansion of a label if it gains; return whether it does."""
    nodes, edges = y.shape[0], pairs.shape[0]
    gain, capacity = scratch[:nodes], scratch[nodes : nodes + 2 * edges]
    rest = nodes + 2 * edges
    taken = scratch[rest : rest + (nodes + 1) // 2].view(np.int32)[:nodes]
    size = 0.0  # of the terms that a gain is a sum of
    for v in range(nodes):
        gain[v] = score[v, label] - score[v, y[v]]
        size += abs(gain[v])
    for e in range(edges):
        a, b = ends[2 * e], ends[2 * e + 1]
        kept, a_takes, b_takes = pairs[e, y[a], y[b]], pairs[e, label, y[b]], pairs[e, y[a], label]
        half = 0.5 * (pairs[e, label, label] - a_takes - b_takes + kept)
        gain[a] += a_takes - kept + half
        gain[b] += b_takes - kept + half
        capacity[2 * e] = capacity[2 * e + 1] = max(half, 0.0)
        size += abs(kept) + abs(a_takes) + abs(b_takes) + abs(half)
    return take(label, gain, capacity, size, ends, first, out, y, taken, scratch[rest + (nodes + 1) // 2 :])


@register_jitable
def _change_nodes(score, pairs, ends, first, out, y):
    """Assign every node in turn its best label, given the labels of its neighbours; return whether any changes."""
    moved = False
    for v in range(y.shape[0]):
        best, highest, own, size = y[v], 0.0, 0.0, 0.0
        for k in range(-1, score.shape[1]):  # first the label that it has
            label = y[v] if k < 0 else k
            total = score[v, label]
            for j in range(first[v], first[v + 1]):
                arc = out[j]
                total += pair_score(pairs, arc, label, y[ends[arc ^ 1]])
            size += abs(total)
            if k < 0:
                own = highest = total
            elif total > highest:
                best, highest = label, total
        if highest - own > TOL * size:
            y[v], moved = best, True
    return moved
