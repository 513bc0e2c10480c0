"""Protocol of segmentations: the oracle, the losses, and vectors of parts.

A vector of parts holds a number per node, the expected true label minus the expected one, then for every edge feature how
much more of it is cut than by the truth (``graph_protocol``). Labelings are kept as their vectors of parts p_i(y): to walk along
the edges of an example takes so long that it is done once per labeling. Where edge features are 0 or 1 these are whole numbers,
and kept as such in a quarter of the memory, which is what steps with stored labelings wait for. Examples have many nodes, so
inner products of node features go through R^p.
"""

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.errors import ParameterError
from fwexp.jit.compilation import register_jitable
from fwexp.oracles.max_flow import min_cut, scratch_size
from fwexp.problems import protocol
from fwexp.problems.features import BinaryFeatures, row_entries
from fwexp.problems.graph_protocol import add_cuts, cuts, forest_expectations, graph, product_bounds
from fwexp.problems.graphs import check_labels
from fwexp.problems.rows import row_dot, row_product, row_scatter_label
from fwexp.problems.segmentation import SegmentationProblem


def _labeling_type(problem):
    """Return the type of the numbers p_i(y): none of them is larger than the sum of a feature over all edges of an example."""
    whole = isinstance(problem.z, BinaryFeatures) and np.diff(problem.edge_ptr).max() <= np.iinfo(np.int16).max
    return np.int16 if whole else np.float64


@protocol.workspace.register(SegmentationProblem)
def _(problem):
    size, nodes, edges = (int(np.diff(ptr).max()) for ptr in (problem.part_ptr, problem.label_ptr, problem.edge_ptr))
    return protocol.Workspace(
        theta=np.zeros(size),
        direction=np.zeros(size + problem.num_features),  # after the vector itself there is room for its image in R^p
        image=np.zeros(size),
        y=np.zeros(size, dtype=_labeling_type(problem)),
        scratch=np.zeros(2 * nodes + 2 * edges + scratch_size(nodes, edges)),
    )


@protocol.scores.register(SegmentationProblem)
def _(problem, i, w, theta):
    p, start = problem.num_features, problem.label_ptr[i]
    nodes, own = problem.label_ptr[i + 1] - start, (problem.width - 1) * problem.num_features
    of_one = w[own : own + p]
    for v in range(nodes):
        theta[v] = row_product(problem.x, start + v, of_one)
    if own > 0:
        of_zero = w[:p]
        for v in range(nodes):
            theta[v] -= row_product(problem.x, start + v, of_zero)
    for j in range(problem.num_pairwise):
        theta[nodes + j] = w[own + p + j]


@register_jitable
def _cut(problem, i, theta, y, scratch):
    """Write the labeling of highest sum_v scratch[v] y_v - sum_e <u, z_e> [y_a != y_b]; it has as few 1 as possible."""
    nodes, edges = problem.label_ptr[i + 1] - problem.label_ptr[i], problem.edge_ptr[i + 1] - problem.edge_ptr[i]
    side, rest = scratch[nodes : 2 * nodes].view(np.int32)[:nodes], scratch[2 * nodes :]
    capacity, u = rest[: 2 * edges], theta[nodes : nodes + problem.num_pairwise]
    for e in range(edges):
        capacity[2 * e] = capacity[2 * e + 1] = row_product(problem.z, problem.edge_ptr[i] + e, u)
    ends, first, out = graph(problem, i)
    min_cut(scratch[:nodes], capacity, ends, first, out, side, rest[2 * edges :])
    for v in range(nodes):
        y[v] = problem.labels[problem.label_ptr[i] + v] - side[v]
    pairwise = y[nodes : nodes + problem.num_pairwise]
    pairwise[:] = 0
    add_cuts(problem, i, side, 1, pairwise)


@protocol.max_oracle.register(SegmentationProblem)
def _(problem, i, theta, y, scratch):
    start = problem.label_ptr[i]
    for v in range(problem.label_ptr[i + 1] - start):
        cost = problem.node_loss[start + v]
        scratch[v] = theta[v] + (cost if problem.labels[start + v] == 0 else -cost)
    _cut(problem, i, theta, y, scratch)
    value = protocol.loss(problem, i, y) - protocol.psi_score(problem, i, y, theta)
    return max(value, 0.0)  # the value of the true labeling, which rounding must not undercut


@protocol.decode.register(SegmentationProblem)
def _(problem, i, theta, y, scratch):
    for v in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
        scratch[v] = theta[v]
    _cut(problem, i, theta, y, scratch)


@protocol.loss_augmented_scores.register(SegmentationProblem)
def _(problem, i, theta, c, cost, potentials):
    start = problem.label_ptr[i]
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        potentials[j] += c * theta[j]
    for v in range(problem.label_ptr[i + 1] - start):
        added = c * cost * problem.node_loss[start + v]
        potentials[v] += added if problem.labels[start + v] == 0 else -added


@protocol.expectation_oracle.register(SegmentationProblem)
def _(problem, i, potentials, mean, scratch):
    start, mean_loss = problem.label_ptr[i], 0.0
    nodes = problem.label_ptr[i + 1] - start
    score, u = scratch[: 2 * nodes].reshape((nodes, 2)), potentials[nodes : nodes + problem.num_pairwise]
    for v in range(nodes):
        score[v, 0], score[v, 1] = 0.0, potentials[v]
    pairwise = mean[nodes : nodes + problem.num_pairwise]
    pairwise[:] = 0.0
    log_z, mean_score = forest_expectations(problem, i, u, score, pairwise, scratch[2 * nodes :])
    for v in range(nodes):
        truth = problem.labels[start + v]
        wrong = score[v, 0 if truth == 1 else 1]
        mean[v] = wrong if truth == 1 else -wrong
        mean_loss += problem.node_loss[start + v] * wrong
    return log_z, mean_loss, max(log_z - mean_score, 0.0)


@protocol.distance.register(SegmentationProblem)
def _(problem, i, direction):
    largest = 0.0
    for v in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
        largest = max(largest, abs(direction[v]))
    return 2.0 * largest  # both labels of a node


@protocol.best_block.register(SegmentationProblem)
def _(problem, i, theta, c, blocks, direction, scratch):
    start, first, mean_loss = problem.label_ptr[i], problem.part_ptr[i], 0.0
    nodes = problem.label_ptr[i + 1] - start
    for v in range(nodes):
        sign = 1.0 if problem.labels[start + v] == 1 else -1.0
        slope = problem.node_loss[start + v] - sign * theta[v]
        mass, share = c * problem.width * row_dot(problem.x, start + v, problem.x, start + v), sign * blocks[first + v]
        if abs(slope) < mass:  # else at one of the ends, as it is where mass is 0
            best = min(max(share + slope / mass, 0.0), 1.0)
        else:
            best = 1.0 if slope > 0.0 else 0.0
        direction[v] = sign * best - blocks[first + v]
        mean_loss += problem.node_loss[start + v] * best
    for j in range(nodes, nodes + problem.num_pairwise):
        direction[j] = 0.0
    return mean_loss


@protocol.loss.register(SegmentationProblem)
def _(problem, i, y):
    start, total = problem.label_ptr[i], 0.0
    for v in range(problem.label_ptr[i + 1] - start):
        if y[v] != 0.0:
            total += problem.node_loss[start + v]
    return total


@protocol.true_labeling.register(SegmentationProblem)
def _(problem, i, y):
    y[: problem.part_ptr[i + 1] - problem.part_ptr[i]] = 0.0


@protocol.labeling_ptr.register(SegmentationProblem)
def _(problem):
    return problem.part_ptr


protocol.new_storage.register(SegmentationProblem)(lambda problem, size: np.zeros(size, dtype=_labeling_type(problem)))


@protocol.as_labeling.register(SegmentationProblem)
def _(problem, i, y):
    nodes = int(problem.label_ptr[i + 1] - problem.label_ptr[i])
    labels, truth = check_labels("y", y, nodes, 2), problem.labels[problem.label_ptr[i] : problem.label_ptr[i + 1]]
    parts = np.concatenate((truth - labels, cuts(problem, i, labels) - cuts(problem, i, truth)))
    return parts.astype(_labeling_type(problem))


@protocol.public_labeling.register(SegmentationProblem)
def _(problem, i, y):
    truth = problem.labels[problem.label_ptr[i] : problem.label_ptr[i + 1]]
    return truth - y[: len(truth)].astype(np.int64)


@protocol.add_psi.register(SegmentationProblem)
def _(problem, i, y, c, direction):
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        direction[j] += c * y[j]


@protocol.psi_score.register(SegmentationProblem)
def _(problem, i, y, theta):
    return protocol.dot(problem, i, y, theta)


@protocol.scatter.register(SegmentationProblem)
def _(problem, i, direction, c, w):
    p, start = problem.num_features, problem.label_ptr[i]
    nodes, own = problem.label_ptr[i + 1] - start, (problem.width - 1) * problem.num_features
    for v in range(nodes):
        if direction[v] != 0.0:
            row_scatter_label(problem.x, start + v, 0, c * direction[v], 1, w[own : own + p])
            if own > 0:
                row_scatter_label(problem.x, start + v, 0, -c * direction[v], 1, w[:p])
    for j in range(problem.num_pairwise):
        w[own + p + j] += c * direction[nodes + j]


@protocol.scatter_psi.register(SegmentationProblem)
def _(problem, i, y, c, w):
    protocol.scatter(problem, i, y, c, w)


@register_jitable
def _image(problem, i, direction):
    """Return sum_v direction_v x_v, in the free part of the buffer."""
    start, size = problem.label_ptr[i], problem.part_ptr[i + 1] - problem.part_ptr[i]
    image = direction[size : size + problem.num_features]
    image[:] = 0.0
    for v in range(problem.label_ptr[i + 1] - start):
        if direction[v] != 0.0:
            row_scatter_label(problem.x, start + v, 0, direction[v], 1, image)
    return image


@protocol.gram_scores.register(SegmentationProblem)
def _(problem, i, direction, theta):
    start = problem.label_ptr[i]
    nodes, image = problem.label_ptr[i + 1] - start, _image(problem, i, direction)
    for v in range(nodes):
        theta[v] = problem.width * row_product(problem.x, start + v, image)
    for j in range(nodes, nodes + problem.num_pairwise):
        theta[j] = direction[j]


@protocol.norm_sq.register(SegmentationProblem)
def _(problem, i, direction):
    nodes, image = problem.label_ptr[i + 1] - problem.label_ptr[i], _image(problem, i, direction)
    total = 0.0
    for f in range(problem.num_features):
        total += image[f] * image[f]
    total *= problem.width
    for j in range(nodes, nodes + problem.num_pairwise):
        total += direction[j] * direction[j]
    return total


@protocol.radii_sq.register(SegmentationProblem)
def _(problem):
    of_nodes, of_edges = product_bounds(problem)
    return problem.width * of_nodes + of_edges


@protocol.all_labelings.register(SegmentationProblem)
def _(problem, i, limit):
    nodes = int(problem.label_ptr[i + 1] - problem.label_ptr[i])
    if 2**nodes > limit:
        raise ParameterError(f"example {i} has 2^{nodes} labelings, more than the {limit} that can be written out")
    subsets = np.indices((2,) * nodes, dtype=np.int32).reshape(nodes, -1).T  # before the sets that contain them
    return np.array([protocol.as_labeling(problem, i, y) for y in subsets])


@protocol.to_public.register(SegmentationProblem)
def _(problem, w):
    p, width = problem.num_features, problem.width
    return np.concatenate((w[: width * p].reshape(width, p).T.ravel(), w[width * p :]))


@protocol.from_public.register(SegmentationProblem)
def _(problem, w):
    p, width, w = problem.num_features, problem.width, np.asarray(w, dtype=np.float64)
    return np.concatenate((w[: width * p].reshape(p, width).T.ravel(), w[width * p :]))


@protocol.joint_feature.register(SegmentationProblem)
def _(problem, i, y):
    phi, width = np.zeros(problem.d), problem.width
    labels = protocol.public_labeling(problem, i, y)
    for v, label in enumerate(labels):
        columns, values = row_entries(problem.x, problem.label_ptr[i] + v)
        if width == 2:
            phi[columns * 2 + label] += values
        elif label == 1:
            phi[columns] += values
    phi[problem.width * problem.num_features :] = -cuts(problem, i, labels)
    return sp.csr_array(phi[np.newaxis])
