"""Protocol of chains in Python: labelings and weights as users have them."""

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.errors import ParameterError, shown
from fwexp.problems import features, pair_features, protocol
from fwexp.problems.arrays import as_labels
from fwexp.problems.chain import ChainProblem
from fwexp.problems.features import row_entries
from fwexp.problems.pair_features import entries_for
from fwexp.problems.transitions import ByPosition


@protocol.as_labeling.register(ChainProblem)
def _(problem, i, y):
    length = problem.label_ptr[i + 1] - problem.label_ptr[i]
    labeling = as_labels("y", y, f"hold {length} integers for example {i}")
    if labeling.shape != (length,):
        raise ParameterError(f"y must hold {length} integers for example {i}, got shape {labeling.shape}")
    if labeling.min() < 0 or labeling.max() >= problem.num_states:
        raise ParameterError(f"labels in y must be in 0 .. {problem.num_states - 1}, got {shown(labeling.tolist())}")
    if not _are_allowed(problem, i, labeling[None])[0]:
        raise ParameterError(f"y must hold no forbidden labels, got {shown(labeling.tolist())}")
    return labeling.astype(np.int32)


def _are_allowed(problem, i: int, labelings: np.ndarray) -> np.ndarray:
    """Return which of several labelings (m, T) of sequence i no constraint forbids."""
    if len(problem.penalty) == 0:
        return np.ones(len(labelings), dtype=bool)
    starts, ends = ~problem.is_cut[i] if len(problem.is_cut) else (True, True)
    penalty = problem.penalty[2 + labelings[:, :-1], labelings[:, 1:]].sum(axis=1)
    penalty += starts * problem.penalty[0, labelings[:, 0]] + ends * problem.penalty[1, labelings[:, -1]]
    return penalty == 0.0


@protocol.all_labelings.register(ChainProblem)
def _(problem, i, limit):
    K, length = problem.num_states, int(problem.label_ptr[i + 1] - problem.label_ptr[i])
    if K**length > limit:
        raise ParameterError(f"example {i} has {K}^{length} labelings, more than the {limit} that can be written out")
    # the first position fastest: Viterbi breaks ties from the last one backwards
    every = np.indices((K,) * length, dtype=np.int32)[::-1].reshape(length, -1).T.copy()
    return every[_are_allowed(problem, i, every)]


@protocol.public_labeling.register(ChainProblem)
def _(problem, i, y):
    return np.array(y[: problem.label_ptr[i + 1] - problem.label_ptr[i]], dtype=np.int64)


@protocol.to_public.register(ChainProblem)
def _(problem, w):
    return pair_features.to_public(problem.x, w, problem.num_states, problem.width)


@protocol.from_public.register(ChainProblem)
def _(problem, w):
    return pair_features.from_public(problem.x, np.asarray(w, dtype=np.float64), problem.num_states, problem.width)


@protocol.curvatures.register(ChainProblem)
def _(problem):
    K, columns = problem.num_states, [np.repeat(features.spreads(problem.x, problem.num_features), problem.num_states)]
    if isinstance(problem.transitions, ByPosition):
        columns.append(np.repeat(features.spreads(problem.transitions.values, problem.transitions.count) / K, K**2))
    rest = np.full(problem.d - sum(map(len, columns)), float(problem.n))  # first and last labels, and transitions
    return protocol.from_public(problem, np.concatenate([*columns, rest])) * (K - 1) / K**2


protocol.unevenness.register(ChainProblem)(lambda problem: features.unevenness(problem.x, problem.num_features))
protocol.order_of_weights.register(ChainProblem)(lambda problem: pair_features.order(problem.x))


@protocol.joint_feature.register(ChainProblem)
def _(problem, i, y):
    K, p = problem.num_states, problem.num_features
    last = problem.d // K - K - 1
    y = np.asarray(y, dtype=np.int64)
    columns, values = [], []
    for t, label in enumerate(y):
        indices, entries = entries_for(problem.x, problem.label_ptr[i] + t, label)
        columns.append(indices * K + label)
        values.append(entries)
        if t > 0 and isinstance(problem.transitions, ByPosition):
            indices, entries = row_entries(problem.transitions.values, problem.label_ptr[i] + t)
            columns.append(p * K + (indices * K + y[t - 1]) * K + label)
            values.append(entries)
    starts, ends = ~problem.is_cut[i] if len(problem.is_cut) else (True, True)
    columns.append((last - 1) * K + y[: int(starts)])
    columns.append(last * K + y[len(y) - int(ends) :])
    columns.append((last + 1 + y[:-1]) * K + y[1:])
    columns, values = np.concatenate(columns), np.concatenate(values)
    values = np.concatenate([values, np.ones(len(columns) - len(values))])
    return sp.csr_array((values, (np.zeros_like(columns), columns)), shape=(1, problem.d))
