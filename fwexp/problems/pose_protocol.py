"""Protocol of poses: the walk through a labeling, the oracle and the loss."""

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.errors import ParameterError, shown
from fwexp.jit.compilation import register_jitable
from fwexp.oracles.distance_transform import distance_transform
from fwexp.oracles.exhaustive_messages import exhaustive_message
from fwexp.oracles.score_maps import score_maps
from fwexp.problems import dense_parts, protocol, walk
from fwexp.problems.features import NoFeatures
from fwexp.problems.pose import UNKNOWN, PoseProblem, check_joints

dense_parts.register(PoseProblem)


# All examples share all parts: a vector of parts is psi itself, which is short, and there are no rows.


@protocol.oracle_operations.register(PoseProblem)
def _(problem):
    cells = np.diff(problem.cell_ptr).astype(float)
    pairs = problem.num_labels * np.mean(cells**2) if problem.exhaustive else 0.0
    return len(problem.features) * np.mean(cells) + pairs


@walk.parts.register(PoseProblem)
def _(problem, i, y, c, visitor):
    truth = problem.labels[problem.label_ptr[i] : problem.label_ptr[i + 1]]
    same = True
    for j in range(problem.num_labels):
        same = same and y[j] == truth[j]
    return 0.0 if same else _features(problem, i, truth, c, visitor) + _features(problem, i, y, -c, visitor)


@register_jitable
def _features(problem, i, y, c, visitor):
    """Lead a visitor along c phi(x_i, y)."""
    start, columns, total = problem.cell_ptr[i], problem.columns[i], 0.0
    for j in range(problem.num_labels):
        for k in range(problem.feature_ptr[j], problem.feature_ptr[j + 1]):
            total += walk.add_shared(visitor, k, c * problem.x[start + y[j], problem.features[k]])
        v, above = problem.edges[j], problem.parents[j]
        if v >= 0:
            down = (y[j] // columns - y[above] // columns - problem.offsets[j, 0]) / problem.unit
            right = (y[j] % columns - y[above] % columns - problem.offsets[j, 1]) / problem.unit
            total += walk.add_shared(visitor, v, -c * down * down) + walk.add_shared(visitor, v + 1, -c * down)
            total += walk.add_shared(visitor, v + 2, -c * right * right) + walk.add_shared(visitor, v + 3, -c * right)
    return total


@walk.num_shared.register(PoseProblem)
def _(problem):
    return problem.d


@walk.inputs.register(PoseProblem)
def _(problem):
    return NoFeatures()


@walk.row_width.register(PoseProblem)
def _(problem):
    return 1


@walk.first_row.register(PoseProblem)
def _(problem, i):
    return 0


@walk.scratch_size.register(PoseProblem)
def _(problem):
    cells, P = int(np.diff(problem.cell_ptr).max()), problem.num_labels
    return (3 * P + 4) * cells + P * problem.num_features


@register_jitable
def _place_scores(problem, i, theta, scratch):
    """Set the first P maps in ``scratch`` to how well every part fits to every cell."""
    P, p = problem.num_labels, problem.num_features
    templates = scratch[len(scratch) - P * p :]
    templates[:] = 0.0
    for j in range(P):
        for k in range(problem.feature_ptr[j], problem.feature_ptr[j + 1]):
            templates[j * p + problem.features[k]] += theta[k]
    score_maps(problem.x[problem.cell_ptr[i] : problem.cell_ptr[i + 1]], templates, P, scratch)


@register_jitable
def _joint_loss(problem, i, j, cell):
    """Return the contribution of a part at a cell to the loss of the pose."""
    first, columns = problem.label_ptr[i], problem.columns[i]
    truth, known = problem.labels[first + j], 0
    if truth < 0:
        return 0.0
    for k in range(problem.num_labels):
        known += problem.labels[first + k] >= 0
    rows_off, columns_off = cell // columns - truth // columns, cell % columns - truth % columns
    distance = np.sqrt(float(rows_off * rows_off + columns_off * columns_off))
    return min(1.0, distance / problem.reach[i]) / known


@register_jitable
def _best_pose(problem, i, theta, y, scratch):
    """Write the pose of the highest sum of the maps in ``scratch`` and deformations: messages up the tree, then down."""
    P, columns = problem.num_labels, problem.columns[i]
    cells = problem.cell_ptr[i + 1] - problem.cell_ptr[i]
    rows, unit, unit_sq = cells // columns, problem.unit, problem.unit * problem.unit
    best_column, best_row = scratch[P * cells : 2 * P * cells], scratch[2 * P * cells : 3 * P * cells]
    by_column, message = scratch[3 * P * cells : (3 * P + 1) * cells], scratch[(3 * P + 1) * cells : (3 * P + 2) * cells]
    stack = scratch[(3 * P + 2) * cells : (3 * P + 4) * cells]
    for position in range(P - 1, 0, -1):
        j = problem.order[position]
        v = problem.edges[j]
        own = scratch[j * cells : (j + 1) * cells]
        column_of, row_of = best_column[j * cells : (j + 1) * cells], best_row[j * cells : (j + 1) * cells]
        down, right = problem.offsets[j, 0], problem.offsets[j, 1]
        square_down, line_down = theta[v] / unit_sq, theta[v + 1] / unit
        square_right, line_right = theta[v + 2] / unit_sq, theta[v + 3] / unit
        if problem.exhaustive:
            exhaustive_message(
                own, rows, columns, down, right, square_down, line_down, square_right, line_right, message, row_of, stack
            )
        else:
            for r in range(rows):
                distance_transform(own, r * columns, 1, columns, right, square_right, line_right, by_column, column_of, stack)
            for c in range(columns):
                distance_transform(by_column, c, columns, rows, down, square_down, line_down, message, row_of, stack)
        above = problem.parents[j]
        for cell in range(cells):
            scratch[above * cells + cell] += message[cell]
    root = problem.order[0]
    best = 0
    for cell in range(1, cells):
        if scratch[root * cells + cell] > scratch[root * cells + best]:
            best = cell
    y[root] = best
    for position in range(1, P):
        j = problem.order[position]
        above = y[problem.parents[j]]
        row = int(best_row[j * cells + above])  # the cell itself after an exhaustive search
        y[j] = row if problem.exhaustive else row * columns + int(best_column[j * cells + row * columns + above % columns])


@protocol.max_oracle.register(PoseProblem)
def _(problem, i, theta, y, scratch):
    cells = problem.cell_ptr[i + 1] - problem.cell_ptr[i]
    _place_scores(problem, i, theta, scratch)
    for j in range(problem.num_labels):
        for cell in range(cells):
            scratch[j * cells + cell] += _joint_loss(problem, i, j, cell)
    _best_pose(problem, i, theta, y, scratch)
    value = protocol.loss(problem, i, y) - protocol.psi_score(problem, i, y, theta)
    if value < 0.0:  # the sums over maps are rounded, and the truth is worth 0
        protocol.true_labeling(problem, i, y)
        return 0.0
    return value


@protocol.decode.register(PoseProblem)
def _(problem, i, theta, y, scratch):
    _place_scores(problem, i, theta, scratch)
    _best_pose(problem, i, theta, y, scratch)


@protocol.loss.register(PoseProblem)
def _(problem, i, y):
    total = 0.0
    for j in range(problem.num_labels):
        total += _joint_loss(problem, i, j, y[j])
    return total


@protocol.as_labeling.register(PoseProblem)
def _(problem, i, y):
    rows = int(problem.cell_ptr[i + 1] - problem.cell_ptr[i]) // int(problem.columns[i])
    joints = check_joints("y", y, problem.num_labels, (rows, int(problem.columns[i])))
    if (joints == UNKNOWN).any():
        raise ParameterError(f"y must have a place for every part, got {shown(joints.tolist())}")
    return (joints[:, 0] * problem.columns[i] + joints[:, 1]).astype(np.int32)


@protocol.public_labeling.register(PoseProblem)
def _(problem, i, y):
    columns = int(problem.columns[i])
    return np.column_stack((y // columns, y % columns)).astype(np.int64)


@protocol.joint_feature.register(PoseProblem)
def _(problem, i, y):
    phi = np.zeros(problem.d)
    _features(problem, i, y, 1.0, walk.Sums(phi, phi, 1))
    return sp.csr_array(phi[None])


protocol.radii_sq.register(PoseProblem)(lambda problem: np.array([_radius_sq(problem, i) for i in range(problem.n)]))


def _radius_sq(problem, i: int) -> float:
    """Return a bound on ||psi_i(y)||^2: every part on its own where it differs most, every edge as far as the image allows."""
    x = problem.x[problem.cell_ptr[i] : problem.cell_ptr[i + 1]]
    rows, columns = len(x) // int(problem.columns[i]), int(problem.columns[i])
    y, total = problem.labels[problem.label_ptr[i] : problem.label_ptr[i + 1]], 0.0
    for j in range(problem.num_labels):
        own = x[:, problem.features[problem.feature_ptr[j] : problem.feature_ptr[j + 1]]]
        total += float(((own - own[y[j]]) ** 2).sum(axis=1).max(initial=0.0))
        if problem.edges[j] >= 0:
            above = y[problem.parents[j]]
            for size, part, parent, offset in (
                (rows, y[j] // columns, above // columns, problem.offsets[j, 0]),
                (columns, y[j] % columns, above % columns, problem.offsets[j, 1]),
            ):
                true = (part - parent - offset) / problem.unit
                ends = (np.arange(1.0 - size, size) - offset) / problem.unit
                total += float(((ends**2 - true**2) ** 2 + (ends - true) ** 2).max())
    return total
