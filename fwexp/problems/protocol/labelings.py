"""Labelings: those that are stored, one for each example, and the tier ``sets``.

A labeling is a run of as many numbers as `labeling_ptr` gives it: by default of integers, as long as the true one.
"""

import contextlib

import numpy as np

from fwexp.jit.families import describes_families
from fwexp.memory import releasable_zeros
from fwexp.problems.protocol.declared import add_psi, scatter, scores
from fwexp.problems.protocol.degrees import degree
from fwexp.problems.protocol.derived import clear, close, dot, new_blocks, rescale, workspace

# --- one for each example


@degree(0, default=("label_ptr", "labels"))
def true_labeling(problem, i, y):
    """Write the true labeling of example i to y."""
    start = problem.label_ptr[i]
    for t in range(problem.label_ptr[i + 1] - start):
        y[t] = problem.labels[start + t]


@degree(0, default=())
def new_labelings(problem):
    """Return storage for one labeling per example (plain Python)."""
    return new_storage(problem, int(labeling_ptr(problem)[-1]))


@degree(0, default=())
def store_labeling(problem, i, y, labelings):
    """Copy y to position i of ``labelings``."""
    ptr = labeling_ptr(problem)
    for t in range(ptr[i + 1] - ptr[i]):
        labelings[ptr[i] + t] = y[t]


@degree(0, default=(), entry=False)
def stored_labeling(problem, i, labelings):
    """Return position i of ``labelings``, usable as a y."""
    ptr = labeling_ptr(problem)
    return labelings[ptr[i] : ptr[i + 1]]


# --- sets: labelings that are kept and compared, for active sets and caches


@degree(0, tier="sets", default=("label_ptr",), fixed=True)
def labeling_ptr(problem):
    """Return where the labeling of every example begins where there is one of each, and where the last one ends.

    In int64 (n + 1,): a labeling of example i has ``labeling_ptr[i + 1] - labeling_ptr[i]`` entries.
    """
    return problem.label_ptr


@degree(0, tier="sets", default=())
def new_storage(problem, size):
    """Return storage for labelings of ``size`` entries in all, int32 or the family's own type (plain Python)."""
    return releasable_zeros(size, np.int32)


@degree(0, tier="sets", default=())
def same_labeling(problem, i, y, storage, start) -> bool:
    """Return whether the labeling in ``storage`` (of `new_storage`) from index ``start`` on is y."""
    ptr, t = labeling_ptr(problem), 0
    while t < ptr[i + 1] - ptr[i] and storage[start + t] == y[t]:
        t += 1
    return t == ptr[i + 1] - ptr[i]


@degree("composed")
def find_labeling(problem, i, y, storage, places) -> int:
    """Return which of the labelings at ``places`` of the ``storage`` is y, -1 if none is."""
    found, a = -1, 0
    while found < 0 and a < len(places):
        if same_labeling(problem, i, y, storage, places[a]):
            found = a
        a += 1
    return found


@degree(0, fastmath=False, tier="sets", default=())
def add_labelings(problem, i, storage, places, weights, direction):
    """Add sum_a c_a p_i(y_a), with c_a in ``weights``, to a vector that was begun with ``clear``.

    The y_a are in ``storage`` from index ``places[a]`` on. Nothing else may be added to the vector.
    """
    ptr = labeling_ptr(problem)
    for a in range(len(weights)):
        if weights[a] != 0.0:
            add_psi(problem, i, storage[places[a] : places[a] + ptr[i + 1] - ptr[i]], weights[a], direction)


def _scatter_with_weight(function):
    def of_weighted(problem, i, storage, places, weights, factor, direction, w):
        function(problem.unweighted, i, storage, places, weights, factor * problem.c[i], direction, w)

    return of_weighted


@degree(by=_scatter_with_weight, fastmath=False, tier="sets", default=())
def scatter_labelings(problem, i, storage, places, weights, factor, direction, w):
    """Add ``factor`` sum_a c_a psi_i(y_a), with c_a in ``weights``, to the internal weights w; overwrites ``direction``.

    The y_a are at ``places`` of the ``storage``, as in `add_labelings`.
    """
    clear(problem, i, direction)
    add_labelings(problem, i, storage, places, weights, direction)
    close(problem, i, direction)
    scatter(problem, i, direction, factor, w)


def _score_with_weight(function):
    def of_weighted(problem, i, storage, places, w, work, out):
        function(problem.unweighted, i, storage, places, w, work, out)
        for a in range(len(out)):
            out[a] *= problem.c[i]

    return of_weighted


@degree(by=_score_with_weight, fastmath=False, tier="sets", default=())
def score_labelings(problem, i, storage, places, w, work, out):
    """Set ``out[a]`` to <w, psi_i(y_a)>, for the y_a at ``places`` of the ``storage``, as in `add_labelings`.

    It leaves only some part scores in ``work.theta``; `complete_scores` sets the others.
    """
    ptr = labeling_ptr(problem)
    scores(problem, i, w, work.theta)
    for a in range(len(places)):
        y = storage[places[a] : places[a] + ptr[i + 1] - ptr[i]]
        out[a] = psi_score(problem, i, y, work.theta)


@degree(0, tier="sets", default=())
def complete_scores(problem, i, w, work):
    """Set the part scores in ``work.theta`` that `score_labelings`, just called with the same w, has left out.

    By default it leaves out none; a family that registers it registers this function, too.
    """


@degree(1, tier="sets", default=("part_ptr",))
def psi_score(problem, i, y, theta) -> float:
    """Return <theta, p_i(y)>, that is <w, psi_i(y)>."""
    psi = np.zeros(problem.part_ptr[i + 1] - problem.part_ptr[i])
    add_psi(problem, i, y, 1.0, psi)
    return dot(problem, i, psi, theta)


@degree("composed")
def psi_scores(problem, i, storage, places, theta, out):
    """Set ``out[a]`` to <theta, p_i(y_a)>, for the y_a at ``places`` of the ``storage``."""
    ptr = labeling_ptr(problem)
    for a in range(len(places)):
        out[a] = psi_score(problem, i, storage[places[a] : places[a] + ptr[i + 1] - ptr[i]], theta)


@degree("composed")
def set_psi(problem, i, y, direction):
    """Set ``direction`` to p_i(y)."""
    clear(problem, i, direction)
    add_psi(problem, i, y, 1.0, direction)
    close(problem, i, direction)


@degree("composed", fastmath=False)
def set_labelings(problem, i, storage, places, weights, direction):
    """Set ``direction`` to sum_a c_a p_i(y_a), for the c_a in ``weights`` and the y_a at ``places`` of the ``storage``."""
    clear(problem, i, direction)
    add_labelings(problem, i, storage, places, weights, direction)
    close(problem, i, direction)


def _gram_with_weight(function):
    def of_weighted(problem, i, direction, theta):
        function(problem.unweighted, i, direction, theta)
        rescale(problem.unweighted, i, problem.c[i], theta)  # the other c_i comes with `psi_score`

    return of_weighted


@degree(by=_gram_with_weight, tier="sets", default=())
def gram_scores(problem, i, direction, theta):
    """Set ``theta`` to F_i F_i' direction, so that ``psi_score`` with it gives <psi_i(y), F_i' direction>."""
    vector = np.zeros(problem.num_weights)
    scatter(problem, i, direction, 1.0, vector)
    scores(problem, i, vector, theta)


@describes_families
def _values_of_its_own(problem) -> dict:
    """Return a value of every type that is the family's own, by the names of parameters."""
    work = workspace(problem)
    values = {"work": work, "direction": work.direction, "y": work.y}
    for name, make in (("blocks", new_blocks), ("storage", lambda problem: new_storage(problem, 0)), ("labelings", new_labelings)):
        with contextlib.suppress(TypeError, AttributeError):  # not every family has them
            values[name] = make(problem)
    return values
