"""Transitions of chains, a field of the family: its class says on what their scores depend, and the compiler chooses by it.

`Shared` transitions have scores of both labels alone: K^2 parts that all examples share. With features (`ByPosition`) they are no
shared parts: (T - 1) K further rows follow those of the T positions. Row T + (t - 1) K + r has the labels at position t after
label r. Its features are those of the transition to t, and a constant, whose weights are the scores of shared transitions.

Functions do for a class that has nothing of its own what they do for `Shared`.
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import dispatched, inlined, oracle_part
from fwexp.oracles.forward_backward import forward_backward
from fwexp.oracles.log_forward_backward import log_forward_backward
from fwexp.problems import walk
from fwexp.problems.features import Features
from fwexp.problems.rows import entry_column, entry_span, entry_value


class Shared(NamedTuple):
    """Transitions without features."""


class ByPosition(NamedTuple):
    """Transitions with q features."""

    values: Features  # one row per position, the features of the transition to it
    count: int  # q


Transitions = Shared | ByPosition


@dispatched(default=())
def num_shared(transitions, problem):
    """Return how many parts all examples share."""
    return problem.num_states * problem.width


@num_shared.register(ByPosition)
def _(transitions, problem):
    return 0


@dispatched(default=())
def rows_before(transitions, problem, i):
    """Return how many rows of transitions the examples before i have."""
    return 0


@rows_before.register(ByPosition)
def _(transitions, problem, i):
    return (problem.label_ptr[i] - i) * problem.num_states


@dispatched(default=())
def swap(transitions, visitor, first, width, former, now, c, total):
    """Return ``total`` and what a visitor makes of a transition, from ``former`` to ``now``: pairs of the true label and of y's."""
    # Rows of transitions to this position are ``first`` and those that follow.
    return total + walk.swap_shared(visitor, former[0] * width + now[0], former[1] * width + now[1], c)


@swap.register(ByPosition)
def _(transitions, visitor, first, width, former, now, c, total):
    if former[0] == former[1]:
        return total + walk.swap_row(visitor, first + former[0], now[0], now[1], c)
    total += walk.add_row(visitor, first + former[0], now[0], c)
    return total + walk.add_row(visitor, first + former[1], now[1], -c)


@dispatched(default=())
def edge_scores(transitions, problem, i, r, p, w, out):
    """Set ``out`` to the scores of row r, if it is one of a transition; return whether it is. w begins with p rows of positions."""
    return False


@dispatched(fastmath=False, default=())
def scatter_edge(transitions, problem, i, r, p, label, row, c, w):
    """Add c times the features of row r to weights, as `edge_scores` has them, for a ``row`` of labels from one on."""
    return False


@inlined
def _edge(problem, i, r):
    """Return the place of a position, and the label before it, of row r; a negative label if the row is a position's."""
    r -= problem.label_ptr[i + 1] - problem.label_ptr[i]
    return problem.label_ptr[i] + r // problem.num_states + 1, r % problem.num_states if r >= 0 else -1


@oracle_part
def table_row(values, t, before, w, start, num_states, out):
    """Set ``out`` to the scores at position t after label ``before``; weights of features begin at ``start``, and others end w."""
    width = len(out)
    own, stride = len(w) - (num_states - before) * width, num_states * width
    for k in range(width):
        out[k] = w[own + k]
    first, end = entry_span(values, t)
    for j in range(first, end):
        value, at = entry_value(values, t, j), start + before * width + np.int64(entry_column(values, j)) * stride
        for k in range(width):
            out[k] += value * w[at + k]


@edge_scores.register(ByPosition)
def _(transitions, problem, i, r, p, w, out):
    t, before = _edge(problem, i, r)
    if before >= 0:
        table_row(transitions.values, t, before, w, p * problem.width, problem.num_states, out)
    return before >= 0


@scatter_edge.register(ByPosition)
def _(transitions, problem, i, r, p, label, row, c, w):
    (t, before), stride = _edge(problem, i, r), problem.num_states * problem.width
    if before >= 0:
        place = before * problem.width + label
        for k in range(len(row)):
            w[len(w) - stride + place + k] += c * row[k]
        first, end = entry_span(transitions.values, t)
        for j in range(first, end):
            value = c * entry_value(transitions.values, t, j)
            at = p * problem.width + place + np.int64(entry_column(transitions.values, j)) * stride
            for k in range(len(row)):
                w[at + k] += value * row[k]
    return before >= 0


@dispatched(default=())
def tables(transitions, start, end, w, num_states, width):
    """Return the scores of the transitions of a sequence: a table of all, or one for every position after the first."""
    return w[len(w) - num_states * width :]


@tables.register(ByPosition)
def _(transitions, start, end, w, num_states, width):
    out, first = np.empty((end - start - 1) * num_states * width), len(w) - (2 + (1 + transitions.count) * num_states) * width
    for t in range(1, end - start):
        for before in range(num_states):
            place = ((t - 1) * num_states + before) * width
            table_row(transitions.values, start + t, before, w, first, num_states, out[place : place + width])
    return out


@dispatched(default=())
def marginals(transitions, unary, scores, num_states, width, out, pairs, scratch):
    """Set ``out`` and ``pairs`` to the probabilities of labels and of transitions, given `tables` of scores; return log Z."""
    return forward_backward(unary, scores, num_states, width, out, pairs, scratch)


@marginals.register(ByPosition)
def _(transitions, unary, scores, num_states, width, out, pairs, scratch):
    # Exponentials of all transitions take most of the time, so that the scaled kernel would save little.
    return log_forward_backward(unary, scores, num_states, width, out, pairs, scratch)
