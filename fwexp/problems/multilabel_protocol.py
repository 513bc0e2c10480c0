"""Protocol of segmentations into more than two classes: the walk through a labeling, the oracle and the losses.

The shared parts are the edge features, of which a vector holds how much more of each is cut than by the truth. Each node is a row.
"""

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.jit.compilation import oracle_part, register_jitable
from fwexp.oracles.alpha_expansion import expand_labels, scratch_size
from fwexp.oracles.tree_max_product import label_forest
from fwexp.problems import dense_parts, protocol, walk
from fwexp.problems.features import row_entries
from fwexp.problems.graph_protocol import (
    cut_change,
    cuts,
    forest_expectations,
    forest_tables,
    graph,
    product_bounds,
    room_for_forest,
)
from fwexp.problems.graphs import check_labels
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.rows import row_dot, row_product
from fwexp.problems.simplex_blocks import to_best_shares

dense_parts.register(MultiLabelProblem)


@walk.parts.register(MultiLabelProblem)
def _(problem, i, y, c, visitor):
    start, total = problem.label_ptr[i], 0.0
    for v in range(problem.label_ptr[i + 1] - start):
        total += walk.swap_row(visitor, v, problem.labels[start + v], y[v], c)
    for e in range(problem.edge_ptr[i], problem.edge_ptr[i + 1]):
        change = cut_change(problem, i, y, e)
        if change != 0:
            total += walk.add_shared_row(visitor, problem.z, e, c * change)
    return total


@walk.num_shared.register(MultiLabelProblem)
def _(problem):
    return problem.num_pairwise


@walk.scratch_size.register(MultiLabelProblem)
def _(problem):
    nodes, edges = (int(np.diff(ptr).max()) for ptr in (problem.label_ptr, problem.edge_ptr))
    return nodes * problem.width + max(edges + scratch_size(nodes, edges), nodes * problem.num_labels + room_for_forest(problem))


@oracle_part
def _cost(problem, v, label):
    """Return by how much a label of node v, counted over all examples, adds to the loss."""
    return 0.0 if label == problem.labels[v] else problem.node_loss[v]


protocol.exact_oracle.register(MultiLabelProblem)(lambda problem: problem.is_forest)


@register_jitable
def _expand(problem, i, theta, y, scratch):
    """Write a labeling of high sum_v score[v, y_v] - sum_e <u, z_e> [y_a != y_b], the scores being those in scratch."""
    nodes, edges = problem.label_ptr[i + 1] - problem.label_ptr[i], problem.edge_ptr[i + 1] - problem.edge_ptr[i]
    start, (ends, first, out) = problem.edge_ptr[i], graph(problem, i)
    size, L, u = nodes * problem.width, problem.num_labels, theta[: problem.num_pairwise]
    if problem.is_forest:
        score = scratch[size : size + nodes * L].reshape((nodes, L))
        for v in range(nodes):
            score[v] = scratch[v * problem.width : v * problem.width + L]
        pairs, order, up, _ = forest_tables(problem, i, u, scratch[size + nodes * L :])
        label_forest(score, pairs, ends, first, out, y[:nodes], order, up)
        return
    weight = scratch[size : size + edges]
    for e in range(edges):
        weight[e] = row_product(problem.z, start + e, u)
    rest = scratch[size + edges :]
    expand_labels(scratch[:size], problem.width, problem.num_labels, weight, ends, first, out, y[:nodes], rest)


@protocol.max_oracle.register(MultiLabelProblem)
def _(problem, i, theta, y, scratch):
    start, width, rows = problem.label_ptr[i], problem.width, theta[problem.num_pairwise :]
    for v in range(problem.label_ptr[i + 1] - start):
        for k in range(problem.num_labels):
            scratch[v * width + k] = rows[v * width + k] + _cost(problem, start + v, k)
    _expand(problem, i, theta, y, scratch)
    value = protocol.loss(problem, i, y) - protocol.psi_score(problem, i, y, theta)
    if value > 0.0:
        return value
    protocol.true_labeling(problem, i, y)
    return 0.0


@protocol.decode.register(MultiLabelProblem)
def _(problem, i, theta, y, scratch):
    for j in range((problem.label_ptr[i + 1] - problem.label_ptr[i]) * problem.width):
        scratch[j] = theta[problem.num_pairwise + j]
    _expand(problem, i, theta, y, scratch)


@protocol.loss_augmented_scores.register(MultiLabelProblem)
def _(problem, i, theta, c, cost, potentials):
    start, rows = problem.label_ptr[i], potentials[problem.num_pairwise :]
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        potentials[j] += c * theta[j]
    for v in range(problem.label_ptr[i + 1] - start):
        for k in range(problem.num_labels):
            rows[v * problem.width + k] += c * cost * _cost(problem, start + v, k)


@protocol.expectation_oracle.register(MultiLabelProblem)
def _(problem, i, potentials, mean, scratch):
    start, L, width, mean_loss = problem.label_ptr[i], problem.num_labels, problem.width, 0.0
    nodes, q = problem.label_ptr[i + 1] - start, problem.num_pairwise
    score = scratch[: nodes * L].reshape((nodes, L))
    for v in range(nodes):
        score[v] = potentials[q + v * width : q + v * width + L]
    mean[: q + nodes * width] = 0.0
    log_z, mean_score = forest_expectations(problem, i, potentials[:q], score, mean[:q], scratch[nodes * L :])
    for v in range(nodes):
        wrong, truth = 0.0, problem.labels[start + v]
        for k in range(L):
            if k != truth:
                wrong += score[v, k]
                mean[q + v * width + k] = -score[v, k]
        mean[q + v * width + truth] = wrong
        mean_loss += problem.node_loss[start + v] * wrong
    return log_z, mean_loss, max(log_z - mean_score, 0.0)


@protocol.distance.register(MultiLabelProblem)
def _(problem, i, direction):
    largest = 0.0
    for v in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
        row, total = problem.num_pairwise + v * problem.width, 0.0
        for k in range(problem.num_labels):
            total += abs(direction[row + k])
        largest = max(largest, total)
    return largest


@protocol.best_block.register(MultiLabelProblem)
def _(problem, i, theta, c, blocks, direction, scratch):
    start, first, width, mean_loss = problem.label_ptr[i], problem.part_ptr[i], problem.width, 0.0
    direction[: problem.part_ptr[i + 1] - first] = 0.0
    for v in range(start, problem.label_ptr[i + 1]):
        truth, mass = problem.labels[v], c * row_dot(problem.x, v, problem.x, v)
        row = problem.num_pairwise + (v - start) * width
        for k in range(problem.num_labels):
            scratch[k] = _cost(problem, v, k) + theta[row + k] - mass * blocks[first + row + k]
        to_best_shares(scratch, problem.num_labels, truth, mass)
        mean_loss += problem.node_loss[v] * scratch[truth]
        for k in range(problem.num_labels):
            direction[row + k] = (scratch[k] if k == truth else -scratch[k]) - blocks[first + row + k]
    return mean_loss


@protocol.loss.register(MultiLabelProblem)
def _(problem, i, y):
    start, total = problem.label_ptr[i], 0.0
    for v in range(problem.label_ptr[i + 1] - start):
        total += _cost(problem, start + v, y[v])
    return total


@protocol.as_labeling.register(MultiLabelProblem)
def _(problem, i, y):
    return check_labels("y", y, int(problem.label_ptr[i + 1] - problem.label_ptr[i]), problem.num_labels)


@protocol.public_labeling.register(MultiLabelProblem)
def _(problem, i, y):
    return np.array(y[: problem.label_ptr[i + 1] - problem.label_ptr[i]], dtype=np.int64)


@protocol.radii_sq.register(MultiLabelProblem)
def _(problem):
    of_nodes, of_edges = product_bounds(problem)
    return 2.0 * of_nodes + of_edges  # every node is in the sums of two labels, so all in the same two is the most


@protocol.to_public.register(MultiLabelProblem)
def _(problem, w):
    own = problem.num_features * problem.width
    return np.concatenate((w[:own].reshape(-1, problem.width)[:, : problem.num_labels].ravel(), w[own:]))


@protocol.from_public.register(MultiLabelProblem)
def _(problem, w):
    rows, w = np.zeros((problem.num_features, problem.width)), np.asarray(w, dtype=np.float64)
    own = problem.num_features * problem.num_labels
    rows[:, : problem.num_labels] = w[:own].reshape(-1, problem.num_labels)
    return np.concatenate((rows.ravel(), w[own:]))


@protocol.joint_feature.register(MultiLabelProblem)
def _(problem, i, y):
    phi, L = np.zeros(problem.d), problem.num_labels
    for v, label in enumerate(y):
        columns, values = row_entries(problem.x, problem.label_ptr[i] + v)
        phi[columns * L + label] += values
    phi[len(phi) - problem.num_pairwise :] = -cuts(problem, i, np.asarray(y))
    return sp.csr_array(phi[np.newaxis])
