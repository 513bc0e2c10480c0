"""Protocol of segmentations into more than two classes: the oracle, the losses, and vectors of parts.

A vector of parts holds, per node, 1 at the true label less the share of every label, then for every edge feature how much
more of it is cut than by the truth (``graph_protocol``). Inner products of node features go through R^{p x L}, as examples
have many nodes.
"""

import numpy as np

from fwexp.jit.compilation import register_jitable
from fwexp.oracles.alpha_expansion import expand_labels, scratch_size
from fwexp.oracles.max_flow import min_cut
from fwexp.problems import lazy_sparse as sp
from fwexp.problems import protocol
from fwexp.problems.features import row_entries
from fwexp.problems.graph_protocol import add_cuts, cut_change, cuts, graph, product_bounds
from fwexp.problems.graphs import check_labels
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.rows import row_dot, row_product, row_scatter, row_scatter_label, row_scores
from fwexp.problems.simplex_blocks import to_best_shares


@protocol.workspace.register(MultiLabelProblem)
def _(problem):
    size, nodes, edges = (int(np.diff(ptr).max()) for ptr in (problem.part_ptr, problem.label_ptr, problem.edge_ptr))
    return protocol.Workspace(
        theta=np.zeros(size),
        direction=np.zeros(size + problem.num_features * problem.width),  # after the vector there is room for its image
        image=np.zeros(size),
        y=np.zeros(nodes, dtype=np.int32),
        scratch=np.zeros(nodes * problem.width + edges + scratch_size(nodes, edges)),
    )


@protocol.exact_oracle.register(MultiLabelProblem)
def _(problem):
    return bool(problem.edge_ptr[-1] == 0)


@protocol.scores.register(MultiLabelProblem)
def _(problem, i, w, theta):
    start, width = problem.label_ptr[i], problem.width
    own = problem.num_features * width
    nodes = problem.label_ptr[i + 1] - start
    for v in range(nodes):
        row_scores(problem.x, start + v, w[:own], width, theta[v * width : (v + 1) * width])
    for j in range(problem.num_pairwise):
        theta[nodes * width + j] = w[own + j]


@register_jitable
def _expand(problem, i, theta, y, scratch):
    """Write a labeling of high sum_v score[v, y_v] - sum_e <u, z_e> [y_a != y_b], the scores being those in scratch."""
    nodes, edges = problem.label_ptr[i + 1] - problem.label_ptr[i], problem.edge_ptr[i + 1] - problem.edge_ptr[i]
    start, (ends, first, out) = problem.edge_ptr[i], graph(problem, i)
    size = nodes * problem.width
    weight, u = scratch[size : size + edges], theta[size : size + problem.num_pairwise]
    for e in range(edges):
        weight[e] = row_product(problem.z, start + e, u)
    rest = scratch[size + edges :]
    expand_labels(scratch[:size], problem.width, problem.num_labels, weight, ends, first, out, y[:nodes], rest)


@protocol.max_oracle.register(MultiLabelProblem, calls=[min_cut, expand_labels])
def _(problem, i, theta, y, scratch):
    start, width = problem.label_ptr[i], problem.width
    nodes = problem.label_ptr[i + 1] - start
    for v in range(nodes):
        for k in range(problem.num_labels):
            cost = 0.0 if k == problem.labels[start + v] else problem.node_loss[start + v]
            scratch[v * width + k] = theta[v * width + k] + cost
    _expand(problem, i, theta, y, scratch)
    value = protocol.loss(problem, i, y) - protocol.psi_score(problem, i, y, theta)
    if value > 0.0:
        return value
    for v in range(nodes):
        y[v] = problem.labels[start + v]
    return 0.0


@protocol.decode.register(MultiLabelProblem, calls=[min_cut, expand_labels])
def _(problem, i, theta, y, scratch):
    for j in range((problem.label_ptr[i + 1] - problem.label_ptr[i]) * problem.width):
        scratch[j] = theta[j]
    _expand(problem, i, theta, y, scratch)


@protocol.best_block.register(MultiLabelProblem)
def _(problem, i, theta, c, blocks, direction, scratch):
    start, first, width, mean_loss = problem.label_ptr[i], problem.part_ptr[i], problem.width, 0.0
    nodes = problem.label_ptr[i + 1] - start
    direction[: problem.part_ptr[i + 1] - first] = 0.0
    for v in range(nodes):
        truth, mass = problem.labels[start + v], c * row_dot(problem.x, start + v, problem.x, start + v)
        for k in range(problem.num_labels):
            cost = 0.0 if k == truth else problem.node_loss[start + v]
            scratch[k] = cost + theta[v * width + k] - mass * blocks[first + v * width + k]
        to_best_shares(scratch, problem.num_labels, truth, mass)
        mean_loss += problem.node_loss[start + v] * scratch[truth]
        for k in range(problem.num_labels):
            direction[v * width + k] = (scratch[k] if k == truth else -scratch[k]) - blocks[first + v * width + k]
    return mean_loss


@protocol.loss.register(MultiLabelProblem)
def _(problem, i, y):
    start, total = problem.label_ptr[i], 0.0
    for v in range(problem.label_ptr[i + 1] - start):
        if y[v] != problem.labels[start + v]:
            total += problem.node_loss[start + v]
    return total


@protocol.as_labeling.register(MultiLabelProblem)
def _(problem, i, y):
    return check_labels("y", y, int(problem.label_ptr[i + 1] - problem.label_ptr[i]), problem.num_labels)


@protocol.public_labeling.register(MultiLabelProblem)
def _(problem, i, y):
    return np.array(y[: problem.label_ptr[i + 1] - problem.label_ptr[i]], dtype=np.int64)


@protocol.add_psi.register(MultiLabelProblem)
def _(problem, i, y, c, direction):
    start, width = problem.label_ptr[i], problem.width
    nodes = problem.label_ptr[i + 1] - start
    for v in range(nodes):
        direction[v * width + problem.labels[start + v]] += c
        direction[v * width + y[v]] -= c
    add_cuts(problem, i, y, c, direction[nodes * width : nodes * width + problem.num_pairwise])


@protocol.psi_score.register(MultiLabelProblem)
def _(problem, i, y, theta):
    start, width, total = problem.label_ptr[i], problem.width, 0.0
    nodes = problem.label_ptr[i + 1] - start
    for v in range(nodes):
        total += theta[v * width + problem.labels[start + v]] - theta[v * width + y[v]]
    u = theta[nodes * width : nodes * width + problem.num_pairwise]
    for e in range(problem.edge_ptr[i], problem.edge_ptr[i + 1]):
        change = cut_change(problem, i, y, e)
        if change != 0:
            total += change * row_product(problem.z, e, u)
    return total


@register_jitable
def _scatter_nodes(problem, i, direction, c, weights):
    """Add c sum_v x_v direction_v' to rows of weights."""
    start, width = problem.label_ptr[i], problem.width
    for v in range(problem.label_ptr[i + 1] - start):
        row = direction[v * width : (v + 1) * width]
        if np.any(row):
            row_scatter(problem.x, start + v, row, c, width, weights)


@protocol.scatter.register(MultiLabelProblem)
def _(problem, i, direction, c, w):
    own, size = problem.num_features * problem.width, (problem.label_ptr[i + 1] - problem.label_ptr[i]) * problem.width
    _scatter_nodes(problem, i, direction, c, w[:own])
    for j in range(problem.num_pairwise):
        w[own + j] += c * direction[size + j]


@protocol.scatter_psi.register(MultiLabelProblem)
def _(problem, i, y, c, w):
    own, start = problem.num_features * problem.width, problem.label_ptr[i]
    for v in range(problem.label_ptr[i + 1] - start):
        truth = problem.labels[start + v]
        if y[v] != truth:
            row_scatter_label(problem.x, start + v, truth, c, problem.width, w[:own])
            row_scatter_label(problem.x, start + v, y[v], -c, problem.width, w[:own])
    add_cuts(problem, i, y, c, w[own:])


@register_jitable
def _image(problem, i, direction):
    """Return sum_v x_v direction_v', in the free part of the buffer."""
    size = problem.part_ptr[i + 1] - problem.part_ptr[i]
    image = direction[size : size + problem.num_features * problem.width]
    image[:] = 0.0
    _scatter_nodes(problem, i, direction, 1.0, image)
    return image


@protocol.gram_scores.register(MultiLabelProblem)
def _(problem, i, direction, theta):
    start, width, image = problem.label_ptr[i], problem.width, _image(problem, i, direction)
    nodes = problem.label_ptr[i + 1] - start
    for v in range(nodes):
        row_scores(problem.x, start + v, image, width, theta[v * width : (v + 1) * width])
    for j in range(nodes * width, nodes * width + problem.num_pairwise):
        theta[j] = direction[j]


@protocol.norm_sq.register(MultiLabelProblem)
def _(problem, i, direction):
    size, image = (problem.label_ptr[i + 1] - problem.label_ptr[i]) * problem.width, _image(problem, i, direction)
    total = 0.0
    for j in range(len(image)):
        total += image[j] * image[j]
    for j in range(size, size + problem.num_pairwise):
        total += direction[j] * direction[j]
    return total


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
