"""The protocol of matchings: the walk through a labeling, whose parts are edges, the oracle and the losses."""

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.jit.compilation import inlined, njit
from fwexp.oracles.assignment import max_matching, scratch_size
from fwexp.problems import dense_parts, protocol, walk
from fwexp.problems.features import num_entries, row_entries
from fwexp.problems.matching import POSSIBLE, SURE, MatchingProblem, as_matching, check_links
from fwexp.problems.rows import row_scatter_label

dense_parts.register(MatchingProblem)

SHORT = 40.0  # Up to so many words in the mean, an assignment takes less time than the scores of its edges, which all steps need.


protocol.cheap_oracle.register(MatchingProblem)(lambda problem: bool(problem.label_ptr[-1] <= SHORT * problem.n))


@protocol.oracle_operations.register(MatchingProblem)
def _(problem):
    rows = np.diff(problem.label_ptr).astype(float)
    return num_entries(problem.x) / problem.n + float(np.mean(rows**2 * problem.columns))


# An edge is a row of one label.


@walk.parts.register(MatchingProblem)
def _(problem, i, y, c, visitor):
    start, columns, total = problem.label_ptr[i], problem.columns[i], 0.0
    for r in range(problem.label_ptr[i + 1] - start):
        truth = problem.labels[start + r]
        if y[r] != truth:
            if truth > 0:
                total += walk.add_row(visitor, r * columns + truth - 1, 0, c)
            if y[r] > 0:
                total += walk.add_row(visitor, r * columns + y[r] - 1, 0, -c)
    return total


@walk.first_row.register(MatchingProblem)
def _(problem, i):
    return problem.part_ptr[i]


@walk.row_width.register(MatchingProblem)
def _(problem):
    return 1


@walk.scratch_size.register(MatchingProblem)
def _(problem):
    size, rows = int(np.diff(problem.part_ptr).max()), int(np.diff(problem.label_ptr).max())
    copies = min(problem.column_links, rows)
    return size * (copies if copies == 1 else copies + 1) + scratch_size(rows, int(problem.columns.max()) * copies)


@inlined
def _best_links(problem, i, score, y, scratch):
    """Find the labeling of highest total score, with a score for every edge, and return that."""
    rows, columns = problem.label_ptr[i + 1] - problem.label_ptr[i], problem.columns[i]
    copies = min(problem.column_links, rows)
    if copies == 1:
        return max_matching(score, columns, y[:rows], scratch)
    wide = columns * copies
    several = scratch[: rows * wide]
    for r in range(rows):
        for c in range(wide):
            several[r * wide + c] = score[r * columns + c % columns]
    value = max_matching(several, wide, y[:rows], scratch[rows * wide :])
    for r in range(rows):
        if y[r] > 0:
            y[r] = 1 + (y[r] - 1) % columns
    return value


@protocol.max_oracle.register(MatchingProblem)
def _(problem, i, theta, y, scratch):
    start, rows = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    columns, size = problem.columns[i], problem.part_ptr[i + 1] - problem.part_ptr[i]
    # The loss of y is the loss of no links, plus precision for every link, less precision and recall for every true one.
    augmented = scratch[:size]
    for j in range(size):
        augmented[j] = theta[j] + problem.precision[i]
    constant = 0.0
    for r in range(rows):
        label = problem.labels[start + r]
        if label > 0:
            j = r * columns + label - 1
            augmented[j] -= problem.precision[i] + problem.recall[i]
            constant += problem.recall[i] - theta[j]
    value = constant + _best_links(problem, i, augmented, y, scratch[size:])
    return max(value, 0.0)  # the value of the true labeling, which rounding must not undercut


@protocol.decode.register(MatchingProblem)
def _(problem, i, theta, y, scratch):
    _best_links(problem, i, theta, y, scratch)


@protocol.loss.register(MatchingProblem)
def _(problem, i, y):
    start, rows = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    if len(problem.marks) > 0:
        edges, columns = problem.part_ptr[i], problem.columns[i]
        total, wrong = problem.num_sure[i], problem.num_sure[i]
        for r in range(rows):
            if y[r] > 0:
                mark = problem.marks[edges + r * columns + y[r] - 1]
                total += 1
                wrong += 1 - (mark == SURE) - (mark >= POSSIBLE)
        return wrong / total if total > 0 else 0.0
    value = 0.0
    for r in range(rows):
        truth = problem.labels[start + r]
        if y[r] != truth:
            if y[r] > 0:
                value += problem.precision[i]
            if truth > 0:
                value += problem.recall[i]
    return value


@protocol.loss_weight.register(MatchingProblem)
def _(problem, i, y):
    if len(problem.marks) == 0:
        return 1.0
    total = problem.num_sure[i]
    for r in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
        total += y[r] > 0
    return float(total)


@njit
def _radii_sq(problem, bounds):
    """Bound every coordinate of psi_i(y) by the largest and smallest that one link per row can make it."""
    truth, low, high = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    row_low, row_high, edge = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    for i in range(problem.n):
        columns = problem.columns[i]
        truth[:] = low[:] = high[:] = 0.0
        for r in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
            row_low[:] = row_high[:] = 0.0
            for c in range(columns):
                edge[:] = 0.0
                row_scatter_label(problem.x, problem.part_ptr[i] + r * columns + c, 0, 1.0, 1, edge)
                row_low[:] = np.minimum(row_low, edge)
                row_high[:] = np.maximum(row_high, edge)
                if problem.labels[problem.label_ptr[i] + r] == c + 1:
                    truth += edge
            low += row_low
            high += row_high
        bounds[i] = np.sum(np.maximum(np.abs(truth - low), np.abs(truth - high)) ** 2)


@protocol.radii_sq.register(MatchingProblem)
def _(problem):
    bounds = np.empty(problem.n)
    _radii_sq(problem, bounds)
    return bounds


@protocol.as_labeling.register(MatchingProblem)
def _(problem, i, y):
    shape = (int(problem.label_ptr[i + 1] - problem.label_ptr[i]), int(problem.columns[i]))
    return as_matching("y", check_links("y", y, shape), shape, problem.column_links)


@protocol.public_labeling.register(MatchingProblem)
def _(problem, i, y):
    rows = np.flatnonzero(y[: problem.label_ptr[i + 1] - problem.label_ptr[i]])
    return np.column_stack([rows, y[rows].astype(np.int64) - 1])


@protocol.joint_feature.register(MatchingProblem)
def _(problem, i, y):
    phi = np.zeros(problem.d)
    for r in np.flatnonzero(y[: problem.label_ptr[i + 1] - problem.label_ptr[i]]):
        columns, values = row_entries(problem.x, problem.part_ptr[i] + r * problem.columns[i] + y[r] - 1)
        phi[columns] += values
    return sp.csr_array(phi[np.newaxis])
