"""Minimum cuts, against all cuts of small graphs, and on thousands of random ones against scipy and PyMaxflow."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from fwexp.oracles.max_flow import incidence, min_cut, scratch_size

KERNELS = {"compiled": min_cut, "python": min_cut.py_func}


def cut(terminal, edges, capacity, kernel="compiled"):
    """Return (flow, side); ``capacity`` has a row per edge, there and back; all buffers start as garbage."""
    arrays = [np.array(terminal, dtype=np.float64), np.array(capacity, dtype=np.float64).ravel()]
    ends = np.array(edges, dtype=np.int32).ravel()
    arrays += [ends, *incidence(ends, len(terminal))]
    before = [array.copy() for array in arrays]
    side = np.full(len(terminal), 99, dtype=np.int32)
    flow = KERNELS[kernel](*arrays, side, np.full(scratch_size(len(terminal), len(ends) // 2), np.nan))
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
    return flow, side


def value(side, terminal, edges, capacity):
    """Return the capacity of a cut."""
    side, terminal = np.asarray(side), np.asarray(terminal)
    total = np.maximum(terminal, 0.0) @ (1 - side) + np.maximum(-terminal, 0.0) @ side
    for (a, b), (there, back) in zip(edges, capacity, strict=True):
        total += there * (side[a] > side[b]) + back * (side[b] > side[a])
    return total


def check_all_cuts(graph, kernel):
    terminal, _, capacity = graph
    flow, side = cut(*graph, kernel)
    values = {y: value(y, *graph) for y in product((0, 1), repeat=len(terminal))}
    best = min(values.values())
    tolerance = 1e-12 * max(1.0, np.abs(terminal).sum() + np.sum(capacity))
    assert flow == pytest.approx(best, abs=tolerance)
    assert values[tuple(side.tolist())] == pytest.approx(best, abs=tolerance)
    return side, [y for y, total in values.items() if total == best]


def graphs(terminals, capacities):
    """Graphs of up to 7 nodes: several edges between two nodes, and nodes without one."""

    def graph(nodes):
        pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda pair: pair[0] != pair[1])
        edge = st.tuples(pairs, st.tuples(capacities, capacities))
        edges = st.lists(edge, max_size=12 if nodes > 1 else 0)
        return st.tuples(st.lists(terminals, min_size=nodes, max_size=nodes), edges).map(
            lambda pair: (pair[0], [edge for edge, _ in pair[1]], [capacity for _, capacity in pair[1]])
        )

    return st.integers(1, 7).flatmap(graph)


@pytest.mark.parametrize("kernel", KERNELS)
@given(graph=graphs(st.floats(-10, 10), st.floats(0, 10)))
def test_real_capacities(kernel, graph):
    check_all_cuts(graph, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@given(graph=graphs(st.integers(-2, 2), st.integers(0, 2)))
def test_of_tied_cuts_the_one_within_all_others(kernel, graph):
    side, best = check_all_cuts(graph, kernel)
    assert side.tolist() == np.min(best, axis=0).tolist()


def random_graph(rng, nodes, shape, low=-9, high=9):
    """Return a graph with integer capacities: a grid, a random one, or a chain of which every third edge is missing."""
    if shape == "grid":
        width = int(np.sqrt(nodes)) + 1
        edges = [(v, v + 1) for v in range(nodes - 1) if (v + 1) % width] + [(v, v + width) for v in range(nodes - width)]
    elif shape == "random":
        edges = [tuple(rng.choice(nodes, 2, replace=False)) for _ in range(3 * nodes)] if nodes > 1 else []
    else:
        edges = [(v, v + 1) for v in range(nodes - 1) if v % 3]
    capacity = rng.integers(0, high + 1, size=(len(edges), 2))
    capacity[rng.random(len(edges)) < 0.5, 1] = 0
    return rng.integers(low, high + 1, size=nodes), np.array(edges, dtype=np.int64).reshape(-1, 2), capacity


def scipy_cut(terminal, edges, capacity):
    """Return the flow by scipy, and the nodes that residual arcs reach from the source."""
    nodes = len(terminal)
    source, sink = np.flatnonzero(terminal > 0), np.flatnonzero(terminal < 0)
    rows = np.concatenate((edges[:, 0], edges[:, 1], np.full(len(source), nodes), sink))
    columns = np.concatenate((edges[:, 1], edges[:, 0], source, np.full(len(sink), nodes + 1)))
    values = np.concatenate((capacity[:, 0], capacity[:, 1], terminal[source], -terminal[sink]))
    places = np.array([rows, columns], dtype=np.int32)  # older releases of scipy take no others
    graph = sp.csr_array((values.astype(np.int32), tuple(places)), shape=(nodes + 2, nodes + 2))
    graph.sum_duplicates()
    graph.eliminate_zeros()
    result = maximum_flow(graph, nodes, nodes + 1)
    residual = sp.csr_array(graph - result.flow)
    residual.eliminate_zeros()
    side = np.zeros(nodes + 2, dtype=np.int64)
    side[breadth_first_order(residual, nodes, return_predecessors=False)] = 1
    return result.flow_value, side[:nodes]


@pytest.mark.parametrize("shape", ["grid", "random", "parts"])
def test_hundreds_of_random_graphs_have_the_flow_and_the_cut_of_scipy(shape):
    rng = np.random.default_rng(0)
    for k in range(300):
        high = (1, 9, 1000)[k % 3]  # ties, or hardly any
        graph = random_graph(rng, int(rng.integers(1, 60)), shape, -high, high)
        flow, side = cut(*graph)
        wanted, nodes = scipy_cut(*graph)
        assert flow == wanted
        np.testing.assert_array_equal(side, nodes)


def pymaxflow_cut(terminal, edges, capacity):
    """Return the flow by PyMaxflow and its nodes at the source."""
    maxflow = pytest.importorskip("maxflow")
    graph = maxflow.GraphFloat(len(terminal), len(edges))
    nodes = graph.add_grid_nodes(len(terminal))
    if len(edges):
        graph.add_edges(edges[:, 0], edges[:, 1], capacity[:, 0], capacity[:, 1])
    graph.add_grid_tedges(nodes, np.maximum(terminal, 0.0), np.maximum(-terminal, 0.0))
    return graph.maxflow(), 1 - graph.get_grid_segments(nodes).astype(np.int64)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("shape", ["grid", "random", "parts"])
def test_hundreds_of_random_graphs_with_real_capacities_have_the_flow_of_pymaxflow(shape, scale):
    rng = np.random.default_rng([3, len(shape), int(scale * 1e8)])
    for k in range(150):
        terminal, edges, capacity = random_graph(rng, int(rng.integers(1, 120)), shape)
        if k % 4:  # else whole numbers, of which many cuts are equal
            terminal, capacity = terminal * rng.random(len(terminal)), capacity * rng.random(capacity.shape)
        graph = scale * terminal, edges, scale * capacity
        flow, side = cut(*graph)
        wanted, nodes = pymaxflow_cut(*graph)
        assert flow == pytest.approx(wanted, rel=1e-11, abs=0.0)
        assert value(side, *graph) == pytest.approx(value(nodes, *graph), rel=1e-11, abs=0.0)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9])
def test_real_capacities_of_any_size_have_equal_flow_and_cut(scale):
    rng = np.random.default_rng(2)
    for _ in range(100):
        terminal, edges, capacity = random_graph(rng, 150, "grid")
        graph = scale * terminal * rng.random(150), edges, scale * capacity * rng.random(capacity.shape)
        flow, side = cut(*graph)
        assert flow == pytest.approx(value(side, *graph), rel=1e-12)  # so both are optimal


def test_negative_capacities_count_as_none():
    assert cut([1.0, -1.0], [(0, 1)], [(-5.0, -5.0)])[0] == 0.0
    assert cut([1.0, -1.0], [(0, 1)], [(0.5, -5.0)])[0] == 0.5
