"""Protocol of chains: the oracles, the loss, and vectors of parts.

A labeling of length T has T of the T K unary parts and T - 1 of the K^2 transitions, and the expected parts of a dual
block stay few as well (on handwriting 3 of 26 labels at a position and 30 of 676 transitions after 100 passes), so they
are kept as entries (``sparse_parts``). What is here knows of unary rows and of the Gram matrix. Most positions are those of
labels that are right: rows of zeros, which nothing is done for.
"""

from typing import NamedTuple

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.jit.compilation import inlined, register_jitable
from fwexp.jit.prefetch import prefetch
from fwexp.oracles.forward_backward import KERNELS, forward_backward, scratch_size
from fwexp.oracles.viterbi import viterbi
from fwexp.problems import lazy_sparse as sp
from fwexp.problems import protocol
from fwexp.problems.arrays import as_labels
from fwexp.problems.chain import ChainProblem, divisor
from fwexp.problems.features import row_entries
from fwexp.problems.rows import has_rows, prefetch_rows, product_bound, row_scatter, row_scatter_label, row_scores
from fwexp.problems.sparse_parts import add_entry, most_parts, new_vector, register_sparse_parts, scatter_part


class ChainVector(NamedTuple):
    """One vector of parts: a ``SparseParts`` with rows, whose entries need not have the unary parts unless it is for a block."""

    codes: np.ndarray
    values: np.ndarray
    count: np.ndarray
    place: np.ndarray
    unary: np.ndarray  # float64 (T_max * width,): the unary parts, as rows
    rows: np.ndarray  # int32 (T_max,), ascending: the positions whose rows have entries
    num_rows: np.ndarray  # int64 (1,), how many; all other rows are 0
    touched: np.ndarray  # int64 (T_max,): 1 for such positions while a vector is built, else 0
    pairs: np.ndarray  # float64 (num_states * width,): sums for transitions while labelings are added, else 0
    truths: np.ndarray  # float64 (2 * T_max,): sums for true labels and transitions while labelings are scattered, else 0


@inlined
def add_to(row, other):
    """Add a row of ``width`` numbers to another one."""
    for k in range(len(row)):
        row[k] += other[k]


@inlined
def position_scores(problem, i, t, w, out):
    """Set ``out`` (width,) to the scores of the labels at position t of sequence i."""
    width, first = problem.width, problem.num_features * problem.width
    row_scores(problem.x, problem.label_ptr[i] + t, w, width, out)
    if t == 0:
        add_to(out, w[first : first + width])
    if t == problem.label_ptr[i + 1] - problem.label_ptr[i] - 1:
        add_to(out, w[first + width : first + 2 * width])


@protocol.scores.register(ChainProblem)
def _(problem, i, w, theta):
    width, size = problem.width, problem.num_states * problem.width
    transitions = w[(problem.num_features + 2) * width :]
    for j in range(size):
        theta[j] = transitions[j]
    for t in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
        position_scores(problem, i, t, w, theta[size + t * width : size + (t + 1) * width])


@protocol.max_oracle.register(ChainProblem, calls=[viterbi])
def _(problem, i, theta, y, scratch):
    width, size = problem.width, problem.num_states * problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    per_error = 1.0 / divisor(problem, i)
    # The augmented scores are a copy: theta stays the scores without loss.
    augmented = scratch[length * width : 2 * length * width]
    truth = 0.0
    for j in range(length * width):
        augmented[j] = theta[size + j] + per_error
    for t in range(length):
        label = problem.labels[start + t]
        augmented[t * width + label] -= per_error
        truth += theta[size + t * width + label]
        if t > 0:
            truth += theta[problem.labels[start + t - 1] * width + label]
    if problem.excess.shape[0] > 0:
        for t in range(length):
            label = problem.labels[start + t]
            for k in range(width):
                augmented[t * width + k] += per_error * problem.excess[label, k]
    return viterbi(augmented, theta[:size], problem.num_states, width, y[:length], scratch) - truth


@protocol.decode.register(ChainProblem, calls=[viterbi])
def _(problem, i, theta, y, scratch):
    size, length = problem.num_states * problem.width, problem.label_ptr[i + 1] - problem.label_ptr[i]
    viterbi(theta[size:], theta[:size], problem.num_states, problem.width, y[:length], scratch)


@protocol.loss_augmented_scores.register(ChainProblem)
def _(problem, i, theta, c, potentials):
    width, size = problem.width, problem.num_states * problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    for j in range(size + length * width):
        potentials[j] += c * theta[j]
    per_error = c / divisor(problem, i)
    for t in range(length):  # up to a constant, a wrong label adds as much as the true one takes away
        label = problem.labels[start + t]
        potentials[size + t * width + label] -= per_error
        if problem.excess.shape[0] > 0:
            for k in range(width):
                potentials[size + t * width + k] += per_error * problem.excess[label, k]


@protocol.expectation_oracle.register(ChainProblem, calls=KERNELS)
def _(problem, i, potentials, mean, scratch):
    width, size = problem.width, problem.num_states * problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    end = size + length * width
    pairs, marginals = mean[:size], mean[size:end]
    log_z = forward_backward(potentials[size:end], potentials[:size], problem.num_states, width, marginals, pairs, scratch)
    for j in range(end):
        mean[j] = -mean[j]
    mean_loss, divided_by = 0.0, divisor(problem, i)
    for t in range(length):
        label = problem.labels[start + t]
        mean[size + t * width + label] += 1.0
        mean_loss += mean[size + t * width + label] / divided_by
        if problem.excess.shape[0] > 0:
            for k in range(width):  # 0 at the true label, and the others have minus their probabilities
                mean_loss -= problem.excess[label, k] * mean[size + t * width + k] / divided_by
        if t > 0:
            mean[problem.labels[start + t - 1] * width + label] += 1.0
    return log_z, mean_loss


@protocol.expectation_scratch.register(ChainProblem)
def _(problem):
    return np.zeros(scratch_size(int(np.diff(problem.label_ptr).max()), problem.num_states, problem.width))


@protocol.loss.register(ChainProblem)
def _(problem, i, y):
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    errors, excess = 0, 0.0
    for t in range(length):
        label = problem.labels[start + t]
        errors += y[t] != label
        if problem.excess.shape[0] > 0 and label >= 0:
            excess += problem.excess[label, y[t]]
    return (errors + excess) / divisor(problem, i)


@protocol.as_labeling.register(ChainProblem)
def _(problem, i, y):
    length = problem.label_ptr[i + 1] - problem.label_ptr[i]
    labeling = as_labels("y", y, f"hold {length} integers for example {i}")
    if labeling.shape != (length,):
        raise ParameterError(f"y must hold {length} integers for example {i}, got shape {labeling.shape}")
    if labeling.min() < 0 or labeling.max() >= problem.num_states:
        raise ParameterError(f"labels in y must be in 0 .. {problem.num_states - 1}, got {shown(labeling.tolist())}")
    return labeling.astype(np.int32)


@protocol.all_labelings.register(ChainProblem)
def _(problem, i, limit):
    K, length = problem.num_states, int(problem.label_ptr[i + 1] - problem.label_ptr[i])
    if K**length > limit:
        raise ParameterError(f"example {i} has {K}^{length} labelings, more than the {limit} that can be written out")
    # the first position fastest: Viterbi breaks ties from the last one backwards
    return np.indices((K,) * length, dtype=np.int32)[::-1].reshape(length, -1).T.copy()


@protocol.public_labeling.register(ChainProblem)
def _(problem, i, y):
    return np.array(y[: problem.label_ptr[i + 1] - problem.label_ptr[i]], dtype=np.int64)


@protocol.to_public.register(ChainProblem)
def _(problem, w):
    return w.reshape(-1, problem.width)[:, : problem.num_states].flatten()  # a copy, also where nothing is padded


@protocol.from_public.register(ChainProblem)
def _(problem, w):
    rows = np.zeros((problem.num_weights // problem.width, problem.width))
    rows[:, : problem.num_states] = np.reshape(w, (-1, problem.num_states))
    return rows.ravel()


@protocol.joint_feature.register(ChainProblem)
def _(problem, i, y):
    K, last = problem.num_states, problem.num_features + 1
    y = np.asarray(y, dtype=np.int64)
    columns, values = [], []
    for t, label in enumerate(y):
        indices, entries = row_entries(problem.x, problem.label_ptr[i] + t)
        columns.append(indices * K + label)
        values.append(entries)
    columns.append((last - 1) * K + y[:1])
    columns.append(last * K + y[-1:])
    columns.append((last + 1 + y[:-1]) * K + y[1:])
    values.append(np.ones(len(y) + 1))
    columns = np.concatenate(columns)
    return sp.csr_array((np.concatenate(values), (np.zeros_like(columns), columns)), shape=(1, problem.d))


# --- vectors of parts ---------------------------------------------------------------------------------------------------

register_sparse_parts(ChainProblem)


@most_parts.register(ChainProblem)
def _(problem, i):
    return 4 * (problem.label_ptr[i + 1] - problem.label_ptr[i])  # two for every wrong label and for every transition that has one


@protocol.workspace.register(ChainProblem)
def _(problem):
    length, size = int(np.diff(problem.label_ptr).max()), int(np.diff(problem.part_ptr).max())
    return protocol.Workspace(
        theta=np.zeros(size),
        direction=ChainVector(
            *new_vector(size),
            unary=np.zeros(length * problem.width),
            rows=np.zeros(length, dtype=np.int32),
            num_rows=np.zeros(1, dtype=np.int64),
            touched=np.zeros(length, dtype=np.int64),
            pairs=np.zeros(problem.num_states * problem.width),
            truths=np.zeros(2 * length),
        ),
        image=np.zeros(size),
        y=np.zeros(length, dtype=np.int32),
        scratch=np.zeros(2 * length * problem.width),
    )


@protocol.add_psi.register(ChainProblem)
def _(problem, i, y, c, direction):
    width, size = problem.width, problem.num_states * problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    for t in range(length):
        truth = problem.labels[start + t]
        wrong = truth != y[t]
        if wrong:
            add_entry(direction, size + t * width + truth, c)
            add_entry(direction, size + t * width + y[t], -c)
        if t > 0:
            truth_before = problem.labels[start + t - 1]
            if wrong or truth_before != y[t - 1]:
                add_entry(direction, truth_before * width + truth, c)
                add_entry(direction, y[t - 1] * width + y[t], -c)


@register_jitable
def _row(direction, t, width):
    """Return the unary entries at position t."""
    return direction.unary[t * width : (t + 1) * width]


@register_jitable
def _clear_rows(direction, width):
    for r in range(direction.num_rows[0]):
        _row(direction, direction.rows[r], width)[:] = 0.0
    direction.num_rows[0] = 0


@protocol.clear.register(ChainProblem)
def _(problem, i, direction):
    direction.count[0] = 0
    _clear_rows(direction, problem.width)


@register_jitable
def _note(code, wanted, count, direction):
    """Make ``code`` the next entry if it is wanted and has none; return the number of entries."""
    new = wanted and direction.place[code] < 0
    direction.codes[count] = code
    direction.place[code] = count if new else direction.place[code]
    return count + new


@protocol.add_labelings.register(ChainProblem)
def _(problem, i, storage, places, c, direction):
    width, start, length = problem.width, problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    truths, pairs, count = problem.labels[start : start + length], direction.pairs, 0
    for a in range(len(c)):
        if c[a] == 0.0:
            continue
        y, truth_before, before, wrong_before = storage[places[a] : places[a] + length], 0, 0, False
        for t in range(length):  # without branches: which labels are wrong cannot be predicted
            truth, label = np.int64(truths[t]), np.int64(y[t])
            wrong = truth != label
            amount = c[a] if wrong else 0.0
            direction.unary[t * width + truth] += amount
            direction.unary[t * width + label] -= amount
            direction.touched[t] |= wrong
            either = (wrong or wrong_before) and t > 0
            amount = c[a] if either else 0.0
            pair, other = truth_before * width + truth, before * width + label
            pairs[pair] += amount
            pairs[other] -= amount
            count = _note(pair, either, count, direction)
            count = _note(other, either, count, direction)
            truth_before, before, wrong_before = truth, label, wrong
    for e in range(count):
        direction.values[e] = pairs[direction.codes[e]]
        pairs[direction.codes[e]] = 0.0
    direction.count[0] = count


@protocol.scatter_labelings.register(ChainProblem)
def _(problem, i, storage, places, c, factor, direction, w):
    width, start, length = problem.width, problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    truths, first = problem.labels[start : start + length], problem.num_features * width
    _clear_rows(direction, width)
    unary, touched = direction.unary, direction.touched
    right, right_pairs, transitions = direction.truths[:length], direction.truths[length:], w[first + 2 * width :]
    for a in range(len(c)):
        if c[a] == 0.0:
            continue
        y, before, wrong_before, whole = storage[places[a] : places[a] + length], np.uint32(0), False, factor * c[a]
        for t in range(length):  # without branches, and the sums of what is right apart: they need not wait for the others
            label = np.uint32(y[t])
            wrong = label != np.uint32(truths[t])
            amount = whole * wrong
            right[t] += amount
            unary[np.uint32(t * width) + label] -= amount
            touched[t] |= wrong
            amount = whole * ((wrong | wrong_before) & (t > 0))
            right_pairs[t] += amount
            transitions[before * np.uint32(width) + label] -= amount
            before, wrong_before = label, wrong
    truth_before = np.uint32(0)
    for t in range(length):
        truth = np.uint32(truths[t])
        transitions[truth_before * np.uint32(width) + truth] += right_pairs[t]
        right_pairs[t], truth_before = 0.0, truth
        if touched[t] == 0:
            continue
        row = _row(direction, t, width)
        row[truth] = right[t]
        right[t], touched[t] = 0.0, 0
        row_scatter(problem.x, start + t, row, 1.0, width, w)
        for end in range(2):
            if t == end * (length - 1):
                add_to(w[first + end * width : first + (end + 1) * width], row)
        row[:] = 0.0


@protocol.close.register(ChainProblem)
def _(problem, i, direction):
    width, size = problem.width, problem.num_states * problem.width
    _clear_rows(direction, width)
    for e in range(direction.count[0]):
        code = direction.codes[e]
        direction.place[code] = -1
        if code >= size:
            direction.unary[code - size] = direction.values[e]
            direction.touched[np.uint32(code - size) // np.uint32(width)] = 1
    count = 0
    for t in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
        direction.rows[count] = t
        count += direction.touched[t]
        direction.touched[t] = 0
    direction.num_rows[0] = count


@protocol.dot.register(ChainProblem)
def _(problem, i, direction, theta):
    width, size, total = problem.width, problem.num_states * problem.width, 0.0
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            total += direction.values[e] * theta[direction.codes[e]]
    for t in direction.rows[: direction.num_rows[0]]:
        row, scores = _row(direction, t, width), theta[size + t * width : size + (t + 1) * width]
        for k in range(width):
            total += row[k] * scores[k]
    return total


@protocol.set_dense.register(ChainProblem)
def _(problem, i, values, direction):
    count = problem.part_ptr[i + 1] - problem.part_ptr[i]
    direction.count[0] = count
    for code in range(count):
        direction.codes[code] = code
        direction.values[code] = values[code]
    protocol.close(problem, i, direction)


@protocol.psi_score.register(ChainProblem)
def _(problem, i, y, theta):
    width, size = problem.width, problem.num_states * problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    truths, unary = problem.labels[start : start + length], theta[size : size + length * width]
    truth, label = np.uint32(truths[0]), np.uint32(y[0])
    total = unary[truth] - unary[label]
    for t in range(1, length):
        truth_before, before = truth, label
        truth, label, row = np.uint32(truths[t]), np.uint32(y[t]), np.uint32(t * width)
        total += unary[row + truth] - unary[row + label]
        total += theta[truth_before * np.uint32(width) + truth] - theta[before * np.uint32(width) + label]
    return total


@protocol.score_labelings.register(ChainProblem)
def _(problem, i, storage, places, w, work, out):
    width, first, size = problem.width, problem.num_features * problem.width, problem.num_states * problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    truths, unary, touched = problem.labels[start : start + length], work.theta[size:], work.direction.touched
    for a in range(len(places)):
        y = storage[places[a] : places[a] + length]
        for t in range(length):
            touched[t] |= y[t] != truths[t]
    for t in range(length):  # where all are right, nothing depends on the scores
        if touched[t] != 0:
            touched[t] = 0
            position_scores(problem, i, t, w, unary[t * width : (t + 1) * width])
    transitions = w[first + 2 * width :]
    for a in range(len(places)):
        y, total, truth_before, before = storage[places[a] : places[a] + length], 0.0, np.uint32(0), np.uint32(0)
        for t in range(length):
            truth, label, row = np.uint32(truths[t]), np.uint32(y[t]), np.uint32(t * width)
            change = unary[row + truth] - unary[row + label] if truth != label else 0.0
            if t > 0:
                pair, other = truth_before * np.uint32(width) + truth, before * np.uint32(width) + label
                change += transitions[pair] - transitions[other]
            total += change
            truth_before, before = truth, label
        out[a] = total


@register_jitable
def no_gram(problem, i):
    """Whether sequence i is too long for a Gram matrix."""
    return has_rows(problem.local_x) and problem.gram_ptr[i] == problem.gram_ptr[i + 1]


@register_jitable
def feature_sums(problem, i, direction):
    """Return sum_t x_t[f] times row t, for the features f of sequence i, which has no Gram matrix."""
    width, start = problem.width, problem.label_ptr[i]
    sums = np.zeros(problem.num_local[i] * width)
    for t in direction.rows[: direction.num_rows[0]]:
        row_scatter(problem.local_x, start + t, _row(direction, t, width), 1.0, width, sums)
    return sums


@register_jitable
def _unary_norm_sq(problem, i, direction):
    """Return the part of unary rows in ||F_i' direction||^2, without a Gram matrix."""
    width, start = problem.width, problem.label_ptr[i]
    sums, image = feature_sums(problem, i, direction), np.empty(width)
    last, total = problem.label_ptr[i + 1] - start - 1, 0.0
    for t in direction.rows[: direction.num_rows[0]]:
        row = _row(direction, t, width)
        row_scores(problem.local_x, start + t, sums, width, image)
        biases = int(t == 0) + int(t == last)
        for k in range(width):
            total += (image[k] + biases * row[k]) * row[k]
    return total


@protocol.gram_scores.register(ChainProblem)
def _(problem, i, direction, theta):
    width, size = problem.width, problem.num_states * problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    theta[: size + length * width] = 0.0
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            theta[direction.codes[e]] = direction.values[e]
    if no_gram(problem, i):
        sums, last = feature_sums(problem, i, direction), (length - 1) * width
        for t in range(length):
            row_scores(problem.local_x, start + t, sums, width, theta[size + t * width : size + (t + 1) * width])
        for k in range(width):
            theta[size + k] += direction.unary[k]
            theta[size + last + k] += direction.unary[last + k]
        return
    for u in direction.rows[: direction.num_rows[0]]:
        row = _row(direction, u, width)
        for t in range(length):
            low, high = min(t, u), max(t, u)
            product = problem.gram[problem.gram_ptr[i] + high * (high + 1) // 2 + low]
            out = theta[size + t * width : size + (t + 1) * width]
            for k in range(width):
                out[k] += product * row[k]


@protocol.norm_sq.register(ChainProblem)
def _(problem, i, direction):
    width, size = problem.width, problem.num_states * problem.width
    total = 0.0
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            total += direction.values[e] * direction.values[e]
    if no_gram(problem, i):
        return total + _unary_norm_sq(problem, i, direction)
    for r in range(direction.num_rows[0]):
        t = np.int64(direction.rows[r])
        row, first = _row(direction, t, width), problem.gram_ptr[i] + t * (t + 1) // 2
        for u in direction.rows[: r + 1]:
            other, product = _row(direction, u, width), 0.0
            for k in range(width):
                product += row[k] * other[k]
            total += (2.0 if u < t else 1.0) * problem.gram[first + u] * product
    return total


@protocol.scatter.register(ChainProblem)
def _(problem, i, direction, c, w):
    width, first, size = problem.width, problem.num_features * problem.width, problem.num_states * problem.width
    start, last = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i] - 1
    for t in direction.rows[: direction.num_rows[0]]:
        row_scatter(problem.x, start + t, _row(direction, t, width), c, width, w)
    at_start, at_end = _row(direction, 0, width), _row(direction, last, width)
    for k in range(width):
        w[first + k] += c * at_start[k]
        w[first + width + k] += c * at_end[k]
    transitions = w[first + 2 * width :]
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            transitions[direction.codes[e]] += c * direction.values[e]


@scatter_part.register(ChainProblem)
def _(problem, i, code, c, w):
    width, first, size = problem.width, problem.num_features * problem.width, problem.num_states * problem.width
    if code < size:
        w[first + 2 * width + code] += c
        return
    t, label = (code - size) // width, (code - size) % width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    row_scatter_label(problem.x, start + t, label, c, width, w)
    if t == 0:
        w[first + label] += c
    if t == length - 1:
        w[first + width + label] += c


@protocol.scatter_psi.register(ChainProblem)
def _(problem, i, y, c, w):
    width, first = problem.width, problem.num_features * problem.width
    transitions = w[first + 2 * width :]
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    for t in range(length):
        truth = problem.labels[start + t]
        if y[t] != truth:
            row_scatter_label(problem.x, start + t, truth, c, width, w)
            row_scatter_label(problem.x, start + t, y[t], -c, width, w)
        if t > 0:
            transitions[problem.labels[start + t - 1] * width + truth] += c
            transitions[y[t - 1] * width + y[t]] -= c
    w[first + problem.labels[start]] += c
    w[first + y[0]] -= c
    w[first + width + problem.labels[start + length - 1]] += c
    w[first + width + y[length - 1]] -= c


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
        lower = np.add.reduceat(np.abs(problem.gram), first)
        full[short] = 2.0 * lower - np.add.reduceat(np.abs(diagonal), starts)
    for i in np.flatnonzero(~short):
        full[i] = product_bound(problem.x, problem.label_ptr[i], problem.label_ptr[i + 1]) + 2.0  # with the two biases
    return 2.0 * full + 2.0 * (all_lengths - 1) ** 2


# A running sum adds the transitions of all examples up, but keeps the unary rows of every position apart until weights
# are asked for: K transition rows, then one row per position.


@protocol.new_sums.register(ChainProblem)
def _(problem, count):
    return np.zeros((count, (problem.num_states + len(problem.labels)) * problem.width))


@protocol.accumulate.register(ChainProblem)
def _(problem, i, direction, c, total):
    width, size, shift = problem.width, problem.num_states * problem.width, problem.label_ptr[i] * problem.width
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            total[direction.codes[e]] += c * direction.values[e]
    for t in direction.rows[: direction.num_rows[0]]:
        row = _row(direction, t, width)
        for k in range(width):
            total[size + shift + t * width + k] += c * row[k]


@protocol.accumulate_psi.register(ChainProblem)
def _(problem, i, y, c, total):
    width, size = problem.width, problem.num_states * problem.width
    start, length = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    for t in range(length):
        truth, row = problem.labels[start + t], size + (start + t) * width
        total[row + truth] += c
        total[row + y[t]] -= c
        if t > 0:
            total[problem.labels[start + t - 1] * width + truth] += c
            total[y[t - 1] * width + y[t]] -= c


@protocol.scatter_sum.register(ChainProblem)
def _(problem, total, c, w):
    width, size = problem.width, problem.num_states * problem.width
    transitions = w[(problem.num_features + 2) * width :]
    for j in range(size):
        transitions[j] += c * total[j]
    for i in range(problem.n):
        shift = problem.label_ptr[i] * width
        for code in range(size, size + problem.label_ptr[i + 1] * width - shift):
            if total[code + shift] != 0.0:
                scatter_part(problem, i, code, c * total[code + shift], w)


@protocol.prefetch_example.register(ChainProblem)
def _(problem, i):
    first, last = problem.label_ptr[i], problem.label_ptr[i + 1]
    prefetch(problem.labels, first, last)
    prefetch_rows(problem.x, first, last)
    prefetch(problem.gram, problem.gram_ptr[i], problem.gram_ptr[i + 1])
