"""Labelings that are kept and compared, for active sets and caches."""

from fwexp.problems.protocol import derived
from fwexp.problems.protocol.degrees import degree


@degree(0)
def labeling_ptr(problem):
    """Return where the labeling of every example begins where there is one of each, and where the last one ends.

    In int64 (n + 1,): a labeling of example i has ``labeling_ptr[i + 1] - labeling_ptr[i]`` entries.
    """


@degree(0)
def new_storage(problem, size):
    """Return storage for labelings of ``size`` entries in all, int32 or the family's own type (plain Python)."""


@degree(0)
def same_labeling(problem, i, y, storage, start):
    """Return whether the labeling in ``storage`` (of `new_storage`) from index ``start`` on is y."""


@degree(0, fastmath=False)
def add_labelings(problem, i, storage, places, c, direction):
    """Add sum_a c_a p_i(y_a), y_a in ``storage`` from index ``places[a]`` on, to a vector that was begun with ``clear``.

    Nothing else may be added to it.
    """


def _scatter_with_weight(function):
    def of_weighted(problem, i, storage, places, c, factor, direction, w):
        function(problem.unweighted, i, storage, places, c, factor * problem.c[i], direction, w)

    return of_weighted


@degree(by=_scatter_with_weight, fastmath=False)
def scatter_labelings(problem, i, storage, places, c, factor, direction, w):
    """Add ``factor`` sum_a c_a psi_i(y_a) to the internal weights w; overwrites ``direction``.

    The y_a are at ``places`` of the ``storage``, as in `add_labelings`.
    """


def _score_with_weight(function):
    def of_weighted(problem, i, storage, places, w, work, out):
        function(problem.unweighted, i, storage, places, w, work, out)
        for a in range(len(out)):
            out[a] *= problem.c[i]

    return of_weighted


@degree(by=_score_with_weight, fastmath=False)
def score_labelings(problem, i, storage, places, w, work, out):
    """Set ``out[a]`` to <w, psi_i(y_a)>, for the y_a at ``places`` of the ``storage``, as in `add_labelings`.

    It leaves only some part scores in ``work.theta``; `complete_scores` sets the others.
    """


@degree(0)
def complete_scores(problem, i, w, work):
    """Set the part scores in ``work.theta`` that `score_labelings`, just called with the same w, has left out.

    By default it leaves out none; a family that registers it registers this function, too.
    """


@degree(1)
def psi_score(problem, i, y, theta):
    """Return <theta, p_i(y)>, that is <w, psi_i(y)>."""


def _gram_with_weight(function):
    def of_weighted(problem, i, direction, theta):
        function(problem.unweighted, i, direction, theta)
        derived.rescale(problem.unweighted, i, problem.c[i], theta)  # the other c_i comes with `psi_score`

    return of_weighted


@degree(by=_gram_with_weight)
def gram_scores(problem, i, direction, theta):
    """Set ``theta`` to F_i F_i' direction, so that ``psi_score`` with it gives <psi_i(y), F_i' direction>."""
