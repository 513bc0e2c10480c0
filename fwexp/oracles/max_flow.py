"""Minimum cut by maximum flow, with search trees that are kept from one augmenting path to the next.

Boykov and Kolmogorov, "An experimental comparison of min-cut/max-flow algorithms for energy minimization in vision", PAMI
2004. Two trees of residual arcs grow from the source and from the sink. Where they touch there is a path; after it has
taken its flow, nodes behind a saturated arc are orphans, which look for another parent in their tree or leave it.

Graphs are undirected in form: edge e is the arcs 2e and 2e + 1, each the reverse of the other, with a capacity each.
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import array_kernel, inlined

# Numbers of nodes and arcs are unsigned: an index with a sign is looked at on every access, for it might count from the end.
ONE = np.uint32(1)
NONE = np.uint32(2**32 - 1)  # instead of a node or an arc

# Parents of nodes are arcs, from the node to its parent, or one of these; ``ORPHAN`` is the least of them.
FREE, TERMINAL, ORPHAN = NONE, np.uint32(2**32 - 2), np.uint32(2**32 - 3)

UNREACHABLE = 2**31 - 1  # a distance


class Graph(NamedTuple):
    """The arcs, with the capacity that each has left."""

    residual: np.ndarray
    ends: np.ndarray
    first: np.ndarray
    out: np.ndarray


class Trees(NamedTuple):
    """The two search trees, by node.

    Nodes that may touch the other tree wait in a list: ``following`` is the next one, the node itself at the end.
    """

    excess: np.ndarray  # capacity left from the source, if positive, otherwise minus that to the sink
    parent: np.ndarray
    at_source: np.ndarray  # in which tree
    stamp: np.ndarray  # when ``depth`` was right
    depth: np.ndarray  # nodes from here to the terminal
    following: np.ndarray
    orphans: np.ndarray


def scratch_size(nodes: int, edges: int) -> int:
    """Return how many float64 numbers of scratch `min_cut` needs."""
    return 4 * nodes + 2 * edges


def incidence(ends: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (first, out): arcs k from v to ``ends[k ^ 1]`` are ``out[first[v]] .. out[first[v + 1] - 1]`` (plain Python)."""
    first = np.zeros(nodes + 1, dtype=np.int32)
    np.cumsum(np.bincount(ends, minlength=nodes), out=first[1:])
    return first, np.argsort(ends, kind="stable").astype(np.int32)


@array_kernel("f8(f8[::1], f8[::1], i4[::1], i4[::1], i4[::1], i4[::1], f8[::1])")
def min_cut(terminal, capacity, ends, first, out, side, scratch):
    """Find the least cut between a source and a sink, of several the one with fewest nodes at the source, and return the flow."""
    # The nodes at the source of that cut are in every other least cut as well, so that it is unique: in exact arithmetic it depends
    # on neither the order of nodes nor the order of edges. ``terminal[v]`` is the capacity from the source to v, or minus that to
    # the sink; ``capacity[k]`` that of arc k, where one that is not positive counts as 0. ``side`` gets 1 at the source.
    nodes, arcs = side.shape[0], ends.shape[0]
    numbers = scratch[nodes + arcs : 4 * nodes + arcs].view(np.uint32)
    parent, following, orphans = numbers[:nodes], numbers[nodes : 2 * nodes], numbers[2 * nodes : 3 * nodes]
    stamp, depth = numbers[3 * nodes : 4 * nodes], numbers[4 * nodes : 5 * nodes]
    graph = Graph(scratch[nodes : nodes + arcs], ends.view(np.uint32), first.view(np.uint32), out.view(np.uint32))
    trees = Trees(scratch[:nodes], parent, side, stamp, depth, following, orphans)
    flow = _push_along_arcs(terminal, capacity, graph, trees)
    head, tail = _plant(trees)
    time, current = 0, NONE
    while True:
        while current == NONE and head != NONE:  # the next node that is in a tree
            current = head
            head = following[current] if following[current] != current else NONE
            tail = tail if head != NONE else NONE
            following[current] = NONE
            if parent[current] == FREE:
                current = NONE
        if current == NONE:
            break
        bridge, head, tail = _grow(current, graph, trees, head, tail)
        if bridge == NONE:
            current = NONE
            continue
        time += 1
        amount, waiting = _augment(bridge, graph, trees)
        flow += amount
        head, tail = _adopt(waiting, time, graph, trees, head, tail)
        if parent[current] == FREE:
            current = NONE
    for v in range(nodes):
        side[v] = parent[v] != FREE and side[v] == 1
    return flow


@inlined
def _push_along_arcs(terminal, capacity, graph, trees):
    """Set excess and residual capacities, after flow along paths of one arc, the most frequent ones; return that flow."""
    excess, residual, ends = trees.excess, graph.residual, graph.ends
    for v in range(excess.shape[0]):
        excess[v] = terminal[v]
    flow = 0.0
    for arc in range(0, ends.shape[0], 2):
        forward, backward = max(capacity[arc], 0.0), max(capacity[arc + 1], 0.0)
        v, u = ends[arc], ends[arc + 1]
        amount = 0.0
        if excess[v] > 0.0 > excess[u]:
            amount = min(excess[v], -excess[u], forward)
        elif excess[v] < 0.0 < excess[u]:
            amount = -min(-excess[v], excess[u], backward)
        excess[v] -= amount
        excess[u] += amount
        residual[arc] = forward - amount
        residual[arc + 1] = backward + amount
        flow += abs(amount)
    return flow


@inlined
def _plant(trees):
    """Start both trees with the nodes that have excess; return the ends of the list of waiting nodes."""
    head = tail = NONE
    for v in range(trees.excess.shape[0]):
        trees.stamp[v] = 0
        trees.depth[v] = 1
        trees.following[v] = NONE
        trees.parent[v] = FREE
        trees.at_source[v] = 0
        if trees.excess[v] != 0.0:
            trees.at_source[v] = trees.excess[v] > 0.0
            trees.parent[v] = TERMINAL
            head, tail = _enqueue(np.uint32(v), head, tail, trees.following)
    return head, tail


@inlined
def _grow(v, graph, trees, head, tail):
    """Add the free neighbours of v to its tree, until v meets the other; return the arc between, or `NONE`, and the list's ends."""
    residual, ends, first, out = graph.residual, graph.ends, graph.first, graph.out
    parent, at_source, stamp, depth = trees.parent, trees.at_source, trees.stamp, trees.depth
    for k in range(first[v], first[v + ONE]):
        arc = out[k]
        if residual[arc if at_source[v] else arc ^ ONE] > 0.0:
            u = ends[arc ^ ONE]
            if parent[u] == FREE:
                at_source[u] = at_source[v]
                parent[u] = arc ^ ONE
                stamp[u] = stamp[v]
                depth[u] = depth[v] + 1
                head, tail = _enqueue(u, head, tail, trees.following)
            elif at_source[u] != at_source[v]:
                return (arc if at_source[v] else arc ^ ONE), head, tail
            elif stamp[u] <= stamp[v] and depth[u] > depth[v]:
                parent[u] = arc ^ ONE  # a shorter way
                stamp[u] = stamp[v]
                depth[u] = depth[v] + 1
    return NONE, head, tail


@inlined
def _augment(bridge, graph, trees):
    """Push as much flow along the path through an arc as it can take; return that flow and the number of orphans."""
    residual, ends = graph.residual, graph.ends
    excess, parent, orphans = trees.excess, trees.parent, trees.orphans
    amount = residual[bridge]
    v = ends[bridge]
    while parent[v] < ORPHAN:
        amount = min(amount, residual[parent[v] ^ ONE])
        v = ends[parent[v] ^ ONE]
    amount = min(amount, excess[v])
    v = ends[bridge ^ ONE]
    while parent[v] < ORPHAN:
        amount = min(amount, residual[parent[v]])
        v = ends[parent[v] ^ ONE]
    amount = min(amount, -excess[v])
    residual[bridge] -= amount
    residual[bridge ^ ONE] += amount
    waiting = 0
    v = ends[bridge]
    while parent[v] < ORPHAN:
        arc = parent[v]
        residual[arc] += amount
        residual[arc ^ ONE] -= amount
        if residual[arc ^ ONE] <= 0.0:
            parent[v] = ORPHAN
            orphans[waiting] = v
            waiting += 1
        v = ends[arc ^ ONE]
    excess[v] -= amount
    if excess[v] == 0.0:
        parent[v] = ORPHAN
        orphans[waiting] = v
        waiting += 1
    v = ends[bridge ^ ONE]
    while parent[v] < ORPHAN:
        arc = parent[v]
        residual[arc ^ ONE] += amount
        residual[arc] -= amount
        if residual[arc] <= 0.0:
            parent[v] = ORPHAN
            orphans[waiting] = v
            waiting += 1
        v = ends[arc ^ ONE]
    excess[v] += amount
    if excess[v] == 0.0:
        parent[v] = ORPHAN
        orphans[waiting] = v
        waiting += 1
    return amount, waiting


@inlined
def _adopt(waiting, time, graph, trees, head, tail):
    """Assign every orphan the nearest parent that leads to the terminal, or free its children; return the ends of the list."""
    residual, ends, first, out = graph.residual, graph.ends, graph.first, graph.out
    parent, at_source, stamp, depth, orphans = trees.parent, trees.at_source, trees.stamp, trees.depth, trees.orphans
    done = 0
    while done < waiting:
        v = orphans[done]
        done += 1
        nearest, best = UNREACHABLE, FREE
        for k in range(first[v], first[v + ONE]):
            arc = out[k]
            u = ends[arc ^ ONE]
            if parent[u] != FREE and at_source[u] == at_source[v] and residual[arc ^ ONE if at_source[v] else arc] > 0.0:
                distance = _distance(u, time, parent, stamp, depth, ends)
                if distance < nearest:
                    nearest, best = distance, arc
        parent[v] = best
        if best != FREE:
            stamp[v] = time
            depth[v] = nearest + 1
            continue
        for k in range(first[v], first[v + ONE]):
            arc = out[k]
            u = ends[arc ^ ONE]
            if parent[u] != FREE and at_source[u] == at_source[v]:
                if residual[arc ^ ONE if at_source[v] else arc] > 0.0:
                    head, tail = _enqueue(u, head, tail, trees.following)
                if parent[u] == arc ^ ONE:
                    parent[u] = ORPHAN
                    orphans[waiting] = u
                    waiting += 1
    return head, tail


@inlined
def _enqueue(v, head, tail, following):
    """Append v to the waiting nodes unless it is among them; return the new ends of the list."""
    if following[v] != NONE:
        return head, tail
    following[v] = v
    if tail == NONE:
        return v, v
    following[tail] = v
    return head, v


@inlined
def _distance(u, time, parent, stamp, depth, ends):
    """Return the number of nodes from u to the terminal of its tree, ``UNREACHABLE`` if there is an orphan on the way."""
    distance, v = 0, u
    while stamp[v] != time:
        if parent[v] == ORPHAN:
            return UNREACHABLE
        distance += 1
        if parent[v] == TERMINAL:
            stamp[v] = time
            depth[v] = 1
            distance -= 1
            break
        v = ends[parent[v] ^ ONE]
    distance += depth[v]
    # The nodes on the way store it from now on.
    v, left = u, distance
    while stamp[v] != time:
        stamp[v] = time
        depth[v] = left
        left -= 1
        v = ends[parent[v] ^ ONE]
    return distance
