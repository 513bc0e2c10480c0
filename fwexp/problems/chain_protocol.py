"""Protocol of chains: the walk through a labeling, its rows, the oracles and the loss.

A row is a position, and the transitions are shared parts, unless they have features (``transitions``). A labeling of length T has
T of the T K labels of rows and T - 1 of the K^2 transitions, and the expected parts of a dual block stay few as well (on
handwriting 3 of 26 labels at a position and 30 of 676 transitions after 100 passes), so vectors are kept as entries. The biases of
the first and of the last label belong to their rows.
"""

from itertools import pairwise

import numpy as np

from fwexp.jit.compilation import inlined
from fwexp.jit.prefetch import prefetch
from fwexp.oracles.forward_backward import scratch_size
from fwexp.oracles.viterbi import viterbi
from fwexp.problems import protocol, sparse_blocks, sparse_parts, transitions, walk
from fwexp.problems.chain import ChainProblem, divisor
from fwexp.problems.features import num_entries
from fwexp.problems.pair_features import feature_rows
from fwexp.problems.rows import has_rows, prefetch_rows, product_bound, row_scatter, row_scatter_label, row_scores
from fwexp.problems.transitions import ByPosition

sparse_parts.register(ChainProblem)
AT_ONCE = 4096  # Gram matrices of which absolute values are copied


@protocol.oracle_operations.register(ChainProblem)
def _(problem):
    positions = float(problem.label_ptr[-1])
    return (positions * problem.num_states**2 + num_entries(problem.x) * problem.width) / problem.n


@walk.parts.register(ChainProblem)
def _(problem, i, y, c, visitor):
    start, end, total, former = problem.label_ptr[i], problem.label_ptr[i + 1], 0.0, (np.int64(0), np.int64(0))
    for t in range(end - start):
        now = np.int64(problem.labels[start + t]), np.int64(y[t])
        total += walk.swap_row(visitor, t, now[0], now[1], c)
        if t > 0:
            first = end - start + (t - 1) * problem.num_states
            total = transitions.swap(problem.transitions, visitor, first, problem.width, former, now, c, total)
        former = now
    return total


@walk.first_row.register(ChainProblem)
def _(problem, i):
    return problem.label_ptr[i] + transitions.rows_before(problem.transitions, problem, i)


@walk.num_shared.register(ChainProblem)
def _(problem):
    return transitions.num_shared(problem.transitions, problem)


@walk.sums_weights.register(ChainProblem)
def _(problem):
    return True


@walk.scratch_size.register(ChainProblem)
def _(problem):
    return 2 * int(np.diff(problem.label_ptr).max()) * problem.width + _room_for_transitions(problem)


@sparse_blocks.most_parts.register(ChainProblem)
def _(problem, i):
    return 4 * (problem.label_ptr[i + 1] - problem.label_ptr[i])  # two for every wrong label and for every transition that has one


# --- rows -----------------------------------------------------------------------------------------------------------------


@inlined
def _add(w, first, row, c):
    """Add c times a row to the weights from ``first`` on."""
    for k in range(len(row)):
        w[first + k] += c * row[k]


@inlined
def _has_first(problem, i, t):
    """Return whether the weights of the first label count at position t of sequence i."""
    return t == 0 and not (problem.is_cut.shape[0] > 0 and problem.is_cut[i, 0])


@inlined
def _has_last(problem, i, t):
    """Return whether the weights of the last label count at position t of sequence i."""
    is_last = t == problem.label_ptr[i + 1] - problem.label_ptr[i] - 1
    return is_last and not (problem.is_cut.shape[0] > 0 and problem.is_cut[i, 1])


@inlined
def _row_scores(problem, i, r, x, edges, p, w, out):
    """Set ``out`` to the scores of the labels of row r, given features of positions, ``p`` of them, and of transitions."""
    if not transitions.edge_scores(edges, problem, i, r, p, w, out):
        width, first = problem.width, len(w) - (2 + problem.num_states) * problem.width
        row_scores(x, problem.label_ptr[i] + r, w, width, out)
        if _has_first(problem, i, r):
            _add(out, 0, w[first : first + width], 1.0)
        if _has_last(problem, i, r):
            _add(out, 0, w[first + width : first + 2 * width], 1.0)


@inlined
def _scatter_row(problem, i, r, x, edges, p, row, c, w):
    """Add c times the features of row r to weights, given features as in `_row_scores`."""
    if not transitions.scatter_edge(edges, problem, i, r, p, 0, row, c, w):
        width, first = problem.width, len(w) - (2 + problem.num_states) * problem.width
        row_scatter(x, problem.label_ptr[i] + r, row, c, width, w)
        if _has_first(problem, i, r):
            _add(w, first, row, c)
        if _has_last(problem, i, r):
            _add(w, first + width, row, c)


@walk.scores_at.register(ChainProblem)
def _(problem, i, r, w, out):
    _row_scores(problem, i, r, problem.x, problem.transitions, feature_rows(problem.x, problem.num_features), w, out)


@walk.scatter_at.register(ChainProblem)
def _(problem, i, r, row, c, w):
    _scatter_row(problem, i, r, problem.x, problem.transitions, feature_rows(problem.x, problem.num_features), row, c, w)


@walk.scatter_one.register(ChainProblem)
def _(problem, i, r, label, c, w):
    p = feature_rows(problem.x, problem.num_features)
    if not transitions.scatter_edge(problem.transitions, problem, i, r, p, label, (1.0,), c, w):
        first = len(w) - (2 + problem.num_states) * problem.width + label
        row_scatter_label(problem.x, problem.label_ptr[i] + r, label, c, problem.width, w)
        if _has_first(problem, i, r):
            w[first] += c
        if _has_last(problem, i, r):
            w[first + problem.width] += c


@sparse_parts.product_at.register(ChainProblem)
def _(problem, i, r, s):
    low, high = min(r, s), max(r, s)
    return problem.gram[problem.gram_ptr[i] + high * (high + 1) // 2 + low]


@sparse_parts.num_local.register(ChainProblem)
def _(problem, i):
    return problem.num_local[i, 0] if has_rows(problem.local_x) else 0


@sparse_parts.scores_local.register(ChainProblem)
def _(problem, i, r, local, out):
    _row_scores(problem, i, r, problem.local_x, problem.local_transitions, problem.num_local[i, 1], local, out)


@sparse_parts.scatter_local.register(ChainProblem)
def _(problem, i, r, row, local):
    _scatter_row(problem, i, r, problem.local_x, problem.local_transitions, problem.num_local[i, 1], row, 1.0, local)


@protocol.prefetch_example.register(ChainProblem)
def _(problem, i):
    first, last = problem.label_ptr[i], problem.label_ptr[i + 1]
    prefetch(problem.labels, first, last)
    prefetch_rows(problem.x, first, last)
    prefetch(problem.gram, problem.gram_ptr[i], problem.gram_ptr[i + 1])


@protocol.radii_sq.register(ChainProblem)
def _(problem):
    # Unary parts: at most two labels, each with all positions, if inputs are nonnegative; in general by ||x_t|| ||x_u||.
    # Transitions: T - 1 of the truth against T - 1 of y.
    all_lengths, full = np.diff(problem.label_ptr), np.empty(problem.n)
    short = np.diff(problem.gram_ptr) > 0
    if short.any():
        lengths, first = all_lengths[short], problem.gram_ptr[:-1][short]
        starts = np.cumsum(lengths) - lengths
        t = np.arange(lengths.sum()) - np.repeat(starts, lengths)
        diagonal = problem.gram[np.repeat(first, lengths) + t * (t + 3) // 2]
        ends = np.append(first, len(problem.gram))
        blocks = [ends[k : k + AT_ONCE + 1] for k in range(0, len(first), AT_ONCE)]
        lower = np.concatenate([np.add.reduceat(np.abs(problem.gram[at[0] : at[-1]]), at[:-1] - at[0]) for at in blocks])
        full[short] = 2.0 * lower - np.add.reduceat(np.abs(diagonal), starts)
    for i in np.flatnonzero(~short):
        full[i] = product_bound(problem.x, problem.label_ptr[i], problem.label_ptr[i + 1]) + 2.0  # with the two biases
    if isinstance(problem.transitions, ByPosition):
        full += [product_bound(problem.transitions.values, *span) for span in pairwise(problem.label_ptr)]
    return 2.0 * full + 2.0 * (all_lengths - 1) ** 2


# --- oracles and loss -----------------------------------------------------------------------------------------------------


@inlined
def _cost(problem, i, t, k):
    """Return the cost of a wrong label k at position t, in the sum that is divided by `divisor`; the true label is left out."""
    cost = 1.0
    if problem.position_costs.shape[0] > 0:
        return problem.position_costs[problem.label_ptr[i] + t, k]
    if problem.excess.shape[0] > 0:
        cost += problem.excess[problem.labels[problem.label_ptr[i] + t], k]
    if problem.position_weight.shape[0] > 0:
        cost *= problem.position_weight[problem.label_ptr[i] + t]
    return cost


@inlined
def _has_equal_costs(problem):
    """Return whether every error costs the same."""
    return problem.excess.shape[0] == 0 and problem.position_weight.shape[0] == 0 and problem.position_costs.shape[0] == 0


def _room_for_transitions(problem) -> int:
    """Return how much scratch `_allowed` needs."""
    sizes = np.diff(problem.part_ptr) - np.diff(problem.label_ptr) * problem.width
    return int(sizes.max()) if problem.penalty.shape[0] > 0 else 0


@inlined
def _places(problem, i, length):
    """Return where in theta the scores of positions and the scores of transitions begin, and the number of transitions."""
    first = walk.num_shared(problem)
    size = problem.part_ptr[i + 1] - problem.part_ptr[i] - length * problem.width
    return first, 0 if first > 0 else length * problem.width, size


@inlined
def _pair(problem, size, t, before, label):
    """Return the place of a transition to position t among the ``size`` ones in theta: in its own table, unless there is one."""
    table = problem.num_states * problem.width
    return (t - 1) * table * (size > table) + before * problem.width + label


@inlined
def _allowed(problem, i, unary, tables, scratch):
    """Exclude labelings that constraints forbid: from the scores of positions in place; return the scores of transitions."""
    if problem.penalty.shape[0] == 0:
        return tables
    width, size = problem.width, problem.num_states * problem.width
    last = len(unary) - width
    for k in range(problem.num_states):
        if _has_first(problem, i, 0):
            unary[k] += problem.penalty[0, k]
        if _has_last(problem, i, last // width):
            unary[last + k] += problem.penalty[1, k]
    for start in range(0, len(tables), size):
        for k in range(problem.num_states):
            row = start + k * width
            for j in range(width):
                scratch[row + j] = tables[row + j] + problem.penalty[2 + k, j]
    return scratch[: len(tables)]


@protocol.max_oracle.register(ChainProblem)
def _(problem, i, theta, y, scratch):
    width = problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    first, pairs, size = _places(problem, i, length)
    per_error = 1.0 / divisor(problem, i)
    # The augmented scores are a copy: theta stays the scores without loss.
    augmented = scratch[length * width : 2 * length * width]
    truth = 0.0
    for t in range(length):
        label, row = problem.labels[start + t], t * width
        if _has_equal_costs(problem):
            for k in range(width):
                augmented[row + k] = theta[first + row + k] + per_error
        else:
            for k in range(problem.num_states):
                augmented[row + k] = theta[first + row + k] + per_error * _cost(problem, i, t, k)
        augmented[row + label] = theta[first + row + label]
        truth += theta[first + row + label]
        if t > 0:
            truth += theta[pairs + _pair(problem, size, t, problem.labels[start + t - 1], label)]
    tables = _allowed(problem, i, augmented, theta[pairs : pairs + size], scratch[2 * length * width :])
    return viterbi(augmented, tables, problem.num_states, width, y[:length], scratch) - truth


@protocol.decode.register(ChainProblem)
def _(problem, i, theta, y, scratch):
    width = problem.width
    length = problem.label_ptr[i + 1] - problem.label_ptr[i]
    first, pairs, size = _places(problem, i, length)
    unary = theta[first : first + length * width]
    if problem.penalty.shape[0] > 0:
        unary = scratch[length * width : 2 * length * width]
        for j in range(length * width):
            unary[j] = theta[first + j]
    tables = _allowed(problem, i, unary, theta[pairs : pairs + size], scratch[2 * length * width :])
    viterbi(unary, tables, problem.num_states, width, y[:length], scratch)


@protocol.loss_augmented_scores.register(ChainProblem)
def _(problem, i, theta, c, cost, potentials):
    width = problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    first, _, size = _places(problem, i, length)
    for j in range(size + length * width):
        potentials[j] += c * theta[j]
    per_error = c * cost / divisor(problem, i)
    for t in range(length):
        label = problem.labels[start + t]
        if _has_equal_costs(problem):  # up to a constant, a wrong label adds as much as the true one takes away
            potentials[first + t * width + label] -= per_error
        else:
            for k in range(problem.num_states):
                if k != label:
                    potentials[first + t * width + k] += per_error * _cost(problem, i, t, k)


@protocol.num_positions.register(ChainProblem)
def _(problem, i):
    return problem.label_ptr[i + 1] - problem.label_ptr[i]


@protocol.expectation_oracle.register(ChainProblem)
def _(problem, i, potentials, mean, scratch):
    width = problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    first, pairs, size = _places(problem, i, length)
    unary = potentials[first : first + length * width]
    marginals, of_pairs = mean[first : first + length * width], mean[pairs : pairs + size]
    rest = scratch
    if problem.penalty.shape[0] > 0:
        unary = scratch[size : size + length * width]
        for j in range(length * width):
            unary[j] = potentials[first + j]
        rest = scratch[size + length * width :]
    tables = _allowed(problem, i, unary, potentials[pairs : pairs + size], scratch)
    log_z = transitions.marginals(problem.transitions, unary, tables, problem.num_states, width, marginals, of_pairs, rest)
    score = 0.0
    for j in range(size + length * width):
        score += potentials[j] * mean[j]
        mean[j] = -mean[j]
    mean_loss, divided_by = 0.0, divisor(problem, i)
    for t in range(length):
        label = problem.labels[start + t]
        mean[first + t * width + label] += 1.0
        if _has_equal_costs(problem):
            mean_loss += mean[first + t * width + label] / divided_by
        else:
            for k in range(problem.num_states):
                if k != label:  # Wrong labels have minus their probabilities.
                    mean_loss -= _cost(problem, i, t, k) * mean[first + t * width + k] / divided_by
        if t > 0:
            mean[pairs + _pair(problem, size, t, problem.labels[start + t - 1], label)] += 1.0
    return log_z, mean_loss, max(log_z - score, 0.0)


@protocol.distance.register(ChainProblem)
def _(problem, i, direction):
    width, largest = problem.width, 0.0
    for t in direction.rows[: direction.num_rows[0]]:
        total = 0.0
        for k in range(t * width, (t + 1) * width):
            total += abs(direction.row_values[k])
        largest = max(largest, total)
    return largest


@protocol.expectation_scratch.register(ChainProblem)
def _(problem):
    longest = int(np.diff(problem.label_ptr).max())
    copies = _room_for_transitions(problem) + longest * problem.width if problem.penalty.shape[0] > 0 else 0
    return np.zeros(copies + scratch_size(longest, problem.num_states, problem.width))


@protocol.loss.register(ChainProblem)
def _(problem, i, y):
    start, length, total = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i], 0.0
    for t in range(length):
        label = problem.labels[start + t]
        if y[t] != label:
            total += _cost(problem, i, t, y[t]) if label >= 0 or problem.position_costs.shape[0] > 0 else 1.0
    return total / divisor(problem, i)
