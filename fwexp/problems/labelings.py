"""Storage of labelings: functions that follow for every family from ``labeling_ptr`` and ``new_storage``.

A labeling is a run of as many numbers as ``labeling_ptr`` gives it: by default of integers, as long as the true one,
``labels[label_ptr[i] : label_ptr[i + 1]]``.
"""

import numpy as np

from fwexp.problems import protocol


@protocol.true_labeling.register(object, reads=("label_ptr", "labels"))
def _(problem, i, y):
    start = problem.label_ptr[i]
    for t in range(problem.label_ptr[i + 1] - start):
        y[t] = problem.labels[start + t]


@protocol.labeling_ptr.register(object, reads=("label_ptr",))
def _(problem):
    return problem.label_ptr


@protocol.new_storage.register(object)
def _(problem, size):
    return np.zeros(size, dtype=np.int32)


@protocol.new_labelings.register(object)
def _(problem):
    return protocol.new_storage(problem, int(protocol.labeling_ptr(problem)[-1]))


@protocol.store_labeling.register(object)
def _(problem, i, y, labelings):
    ptr = protocol.labeling_ptr(problem)
    for t in range(ptr[i + 1] - ptr[i]):
        labelings[ptr[i] + t] = y[t]


@protocol.stored_labeling.register(object)
def _(problem, i, labelings):
    ptr = protocol.labeling_ptr(problem)
    return labelings[ptr[i] : ptr[i + 1]]


@protocol.add_labelings.register(object)
def _(problem, i, storage, places, c, direction):
    ptr = protocol.labeling_ptr(problem)
    for a in range(len(c)):
        if c[a] != 0.0:
            protocol.add_psi(problem, i, storage[places[a] : places[a] + ptr[i + 1] - ptr[i]], c[a], direction)


@protocol.scatter_labelings.register(object)
def _(problem, i, storage, places, c, factor, direction, w):
    protocol.clear(problem, i, direction)
    protocol.add_labelings(problem, i, storage, places, c, direction)
    protocol.close(problem, i, direction)
    protocol.scatter(problem, i, direction, factor, w)


@protocol.score_labelings.register(object)
def _(problem, i, storage, places, w, work, out):
    ptr = protocol.labeling_ptr(problem)
    protocol.scores(problem, i, w, work.theta)
    for a in range(len(places)):
        y = storage[places[a] : places[a] + ptr[i + 1] - ptr[i]]
        out[a] = protocol.psi_score(problem, i, y, work.theta)


@protocol.complete_scores.register(object)
def _(problem, i, w, work):
    pass


@protocol.same_labeling.register(object)
def _(problem, i, y, storage, start):
    ptr, t = protocol.labeling_ptr(problem), 0
    while t < ptr[i + 1] - ptr[i] and storage[start + t] == y[t]:
        t += 1
    return t == ptr[i + 1] - ptr[i]
