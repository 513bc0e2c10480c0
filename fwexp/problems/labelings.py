"""Labelings as runs of integers: what follows for every family with the fields ``label_ptr`` and ``labels``.

The labeling of example i is as long as its true one, ``labels[label_ptr[i] : label_ptr[i + 1]]``. Families whose labelings
are of another form register these functions themselves.
"""

import numpy as np

from fwexp.problems import protocol


@protocol.true_labeling.register(object)
def _(problem, i, y):
    start = problem.label_ptr[i]
    for t in range(problem.label_ptr[i + 1] - start):
        y[t] = problem.labels[start + t]


@protocol.new_labelings.register(object)
def _(problem):
    return np.zeros(problem.label_ptr[-1], dtype=np.int32)


@protocol.store_labeling.register(object)
def _(problem, i, y, labelings):
    start = problem.label_ptr[i]
    for t in range(problem.label_ptr[i + 1] - start):
        labelings[start + t] = y[t]


@protocol.stored_labeling.register(object)
def _(problem, i, labelings):
    return labelings[problem.label_ptr[i] : problem.label_ptr[i + 1]]


@protocol.labeling_lengths.register(object)
def _(problem):
    return np.diff(problem.label_ptr)


@protocol.new_storage.register(object)
def _(problem, size):
    return np.zeros(size, dtype=np.int32)


@protocol.same_labeling.register(object)
def _(problem, i, y, storage, start):
    equal = True
    for t in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
        equal = equal and storage[start + t] == y[t]
    return equal
