"""Times of minimum cuts next to those of PyMaxflow (GPL, so never used by the package): ``python -m benchmarks.min_cuts``."""

import statistics
import time

import maxflow
import numpy as np

import fwexp
from fwexp.oracles.max_flow import min_cut, scratch_size
from fwexp.problems.protocol import from_public, scores, workspace
from fwexp.problems.rows import row_product

ROUNDS = 5


def seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def cuts(passes: int = 5) -> None:
    """Print the times of a minimum cut of loss-augmented decoding, by our own oracle and by PyMaxflow.

    Ours includes setting the capacities up; PyMaxflow builds a new graph for every cut, which is timed apart.
    """
    train, _ = fwexp.load_dataset("synthetic_horseseg")
    for name, w in (("start", np.zeros(train.d)), ("learned", fwexp.solve(train, lam=0.01, max_passes=passes).w)):
        graphs = [energy(train, i, from_public(train, w)) for i in range(train.n)]
        rounds_of_times = [cut_times(graphs) for _ in range(ROUNDS)]
        mine, theirs, built = (
            f"{statistics.median(of_one) / train.n * 1e6:.1f} us" for of_one in zip(*rounds_of_times, strict=True)
        )
        ratio = statistics.median(ours / other for ours, other, _ in rounds_of_times)
        label = f"minimum cut, synthetic_horseseg, weights: {name}"
        print(f"{label:53}{mine}, PyMaxflow {theirs} (+ {built} to build), ratio {ratio:.2f}")


def cut_times(graphs: list[tuple]) -> tuple[float, float, float]:
    """Return how long all cuts take by our oracle and by PyMaxflow, and how long the latter's graphs take to build."""
    others, flows = [], {}
    built = seconds(lambda: others.extend(as_pymaxflow(graph) for graph in graphs))
    mine = seconds(lambda: flows.update(mine=[min_cut(*graph) for graph in graphs]))
    theirs = seconds(lambda: flows.update(theirs=[graph.maxflow() for graph in others]))
    if not np.allclose(flows["mine"], flows["theirs"]):
        raise AssertionError("the flows differ from those of PyMaxflow")
    return mine, theirs, built


def energy(problem, i: int, w: np.ndarray) -> tuple:
    """Return the arguments of `min_cut` for the loss-augmented decoding of example i at internal weights w."""
    work = workspace(problem)
    scores(problem, i, w, work.theta)
    nodes, edges = (int(ptr[i + 1] - ptr[i]) for ptr in (problem.label_ptr, problem.edge_ptr))
    of_nodes, arcs = slice(*problem.label_ptr[i : i + 2]), slice(*(2 * problem.edge_ptr[i : i + 2]))
    cost = problem.node_loss[of_nodes] * np.where(problem.labels[of_nodes] == 0, 1.0, -1.0)
    u = work.theta[nodes : nodes + problem.num_pairwise]
    capacity = np.repeat([row_product(problem.z, e, u) for e in range(*problem.edge_ptr[i : i + 2])], 2)
    first = problem.first[problem.label_ptr[i] + i :][: nodes + 1]
    side, scratch = np.zeros(nodes, dtype=np.int32), np.zeros(scratch_size(nodes, edges))
    return work.theta[:nodes] + cost, capacity, problem.ends[arcs], first, problem.out[arcs], side, scratch


def as_pymaxflow(graph: tuple):
    """Return the same graph for PyMaxflow."""
    terminal, capacity, ends = graph[:3]
    built = maxflow.GraphFloat(len(terminal), len(ends) // 2)
    nodes = built.add_grid_nodes(len(terminal))
    built.add_edges(ends[0::2], ends[1::2], capacity[0::2], capacity[1::2])
    built.add_grid_tedges(nodes, np.maximum(terminal, 0.0), np.maximum(-terminal, 0.0))
    return built


if __name__ == "__main__":
    cuts()
