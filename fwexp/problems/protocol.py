"""What a solver may ask of a problem: every solver calls only these functions.

A problem family is a ``NamedTuple`` of C-contiguous arrays with the fields ``n``, ``d`` (length of the public w),
``num_weights`` (length of the internal w), ``part_ptr`` (int64 (n + 1,): example i has ``part_ptr[i+1] - part_ptr[i]``
part scores), ``label_ptr`` (int64 (n + 1,), likewise for the labels of its labeling) and ``labels`` (int32, the true
ones). It registers an implementation of the required functions; the rest comes in tiers, which solvers ask for, or is
derived where the family has nothing faster (``tiers``, ``labelings``, ``dense_parts``). Where some weights must
not be negative, ``nonnegative`` (int64, ascending) has their indices among the internal ones.

The joint features are linear in short vectors of parts: psi_i(y) = F_i' p_i(y), where p_i(y) holds the parts of the true
labeling minus those of y. A dual block is therefore kept as its expected parts (never as w_i in R^d), a step costs
O(parts + nonzeros of the example), and with theta = F_i w every inner product with w is one with theta.

Functions that a family registers say what their parameters are; in the derived ones the same names mean the same. Besides,
``blocks`` are the vectors of parts of all examples, ``labelings`` is storage for one labeling per example, and ``total`` is
a running sum. Source of the parts: Taskar, Guestrin and Koller, "Max-margin Markov networks", NIPS 2003 (marginals).
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.kernels import dispatched, njit, specialise

UNCONSTRAINED = np.empty(0, dtype=np.int64)  # ``nonnegative`` of a problem without constraints


class Workspace(NamedTuple):
    """Buffers of one thread. What a vector of parts is, and what the oracle needs, is the family's business."""

    theta: np.ndarray  # float64, part scores F_i w
    direction: np.ndarray  # a vector of parts: a float64 array, or what the family keeps instead
    image: np.ndarray  # float64, part scores of a vector of parts (``gram_scores``)
    y: np.ndarray  # a labeling: int32, or what the family keeps instead
    scratch: np.ndarray  # float64


# --- examples -------------------------------------------------------------------------------------------------------


@dispatched
def workspace(problem):
    """Return a fresh ``Workspace``, large enough for every example (plain Python, not for kernels)."""


@dispatched
def scores(problem, i, w, theta):
    """Set ``theta`` to the part scores of example i under the internal weights w, without loss.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    w : ndarray (num_weights,)
        Internal weights.
    theta : ndarray (parts,)
        Is set to F_i w.
    """


@dispatched
def rescale(problem, i, c, theta):
    """Multiply ``theta`` by c: the part scores under c w."""


@dispatched
def max_oracle(problem, i, theta, y, scratch):
    """Write a labeling y that maximises L_i(y) - <theta, p_i(y)>: the loss-augmented decoding.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    theta : ndarray (parts,)
        Part scores, as `scores` sets them: of example i the first ``part_ptr[i+1] - part_ptr[i]``.
    y : ndarray (length,)
        Is set to the labeling.
    scratch : ndarray
        ``Workspace.scratch``.

    Returns
    -------
    float
        The maximum, H_i(w) >= 0, in units of the loss.
    """


@dispatched
def prefetch_example(problem, i):
    """Ask the processor for the data of example i, which comes next; a family may leave it out, for only time depends on it."""


@prefetch_example.register(object)
def _(problem, i):
    pass


@dispatched
def costly_oracle(problem):
    """Whether an oracle call costs so much more than the step around it that a run must go easy on them (plain Python).

    Then the log evaluates rarely by default, and time limits are in wall time.
    """


@costly_oracle.register(object)
def _(problem):
    return False


@dispatched
def exact_oracle(problem):
    """Whether ``max_oracle`` finds the maximum, up to rounding (plain Python).

    With an inexact oracle the dual objective is still a lower bound on the optimum, since the labelings found are labelings;
    but what it returns as H_i(w) is none on H_i(w), so that primal and gap are too low and certify nothing.
    """


@exact_oracle.register(object)
def _(problem):
    return True


@dispatched
def decode(problem, i, theta, y, scratch):
    """Write the prediction, a labeling of highest score without loss.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    theta : ndarray (parts,)
        Part scores, as `scores` sets them: of example i the first ``part_ptr[i+1] - part_ptr[i]``.
    y : ndarray (length,)
        Is set to the labeling.
    scratch : ndarray
        ``Workspace.scratch``.
    """


@dispatched
def loss(problem, i, y):
    """Return the task loss L_i(y) >= 0, 0 at the true labeling.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    y : ndarray (length,)
        A labeling, in the form that the family keeps it.

    Returns
    -------
    float
    """


@dispatched
def loss_weight(problem, i, y):
    """Return how much L_i(y) counts in the mean loss of predictions: 1, unless the error of a set is a ratio of two sums."""


@loss_weight.register(object)
def _(problem, i, y):
    return 1.0


@dispatched
def true_labeling(problem, i, y):
    """Write the true labeling of example i to y."""


@dispatched
def labeling_ptr(problem):
    """Return where the labeling of every example begins where there is one of each, and where the last one ends.

    Parameters
    ----------
    problem : problem
        A problem of the family.

    Returns
    -------
    ndarray, int64 (n + 1,)
        A labeling of example i has ``labeling_ptr[i + 1] - labeling_ptr[i]`` entries.
    """


@dispatched
def new_storage(problem, size):
    """Return storage for labelings that need so many entries in all (plain Python).

    Parameters
    ----------
    problem : problem
        A problem of the family.
    size : int
        The number of entries.

    Returns
    -------
    ndarray, int32 (size,)
        Or what the family keeps labelings in.
    """


@dispatched
def new_labelings(problem):
    """Return storage for one labeling per example (plain Python)."""


@dispatched
def store_labeling(problem, i, y, labelings):
    """Copy y to position i of ``labelings``."""


@dispatched
def stored_labeling(problem, i, labelings):
    """Return position i of ``labelings``, usable as a y."""


@dispatched
def same_labeling(problem, i, y, storage, start):
    """Whether the labeling stored from ``start`` on is y.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    y : ndarray (length,)
        A labeling, in the form that the family keeps it.
    storage : ndarray
        Of `new_storage`.
    start : int
        Index of the first entry of the stored labeling.

    Returns
    -------
    bool
    """


@dispatched
def as_labeling(problem, i, y):
    """Return a y from outside as the oracle would have written it (plain Python).

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    y : object
        What people pass.

    Returns
    -------
    ndarray (length,)

    Raises
    ------
    ParameterError
        It is no labeling of example i.
    """


@dispatched
def public_labeling(problem, i, y):
    """Return the labeling of example i in y as people see it (plain Python).

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    y : ndarray (length,)
        A labeling, in the form that the family keeps it.

    Returns
    -------
    object
        Documented by the family.
    """


@dispatched
def tilt(problem, i, theta, c, potentials):
    """Add c H_i(y; w), up to a constant, to the log-potential of every labeling y of example i.

    Log-potentials are kept by parts, in as many numbers as ``theta``; zeros are the uniform distribution.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    theta : ndarray (parts,)
        Part scores, as `scores` sets them: of example i the first ``part_ptr[i+1] - part_ptr[i]``.
    c : float
        The factor.
    potentials : ndarray (parts,)
        Is changed in place.
    """


@dispatched
def expectation_oracle(problem, i, potentials, mean, scratch):
    """Take the distribution in proportion to exp(log-potential); find its log-partition and its expectations.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    potentials : ndarray (parts,)
        Log-potentials by parts.
    mean : ndarray (parts,)
        Is set to the expectation of p_i(y); ``set_dense`` makes it a vector of parts.
    scratch : ndarray
        Of `expectation_scratch`.

    Returns
    -------
    log_partition : float
    loss : float
        The expectation of L_i(y).
    """


@dispatched
def expectation_scratch(problem):
    """Return the buffer that ``expectation_oracle`` needs (plain Python).

    Parameters
    ----------
    problem : problem
        A problem of the family.

    Returns
    -------
    ndarray
    """


@dispatched
def radii_sq(problem):
    """Return upper bounds on max_y ||psi_i(y)||^2 (plain Python).

    Parameters
    ----------
    problem : problem
        A problem of the family.

    Returns
    -------
    ndarray, float64 (n,)
    """


@dispatched
def all_labelings(problem, i, limit):
    """Return all labelings of example i, in the order in which the max-oracle prefers them (plain Python).

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    limit : int
        The most that may be written out.

    Returns
    -------
    ndarray (m, length)

    Raises
    ------
    ParameterError
        There are more than ``limit``.
    """


@dispatched
def with_inputs(problem, x, num_features):
    """Return the same examples with other inputs, one row each where there was one (plain Python).

    Parameters
    ----------
    problem : problem
        A problem of the family.
    x : features
        Rows, as `fwexp.problems.features` keeps them.
    num_features : int
        Length of a row.

    Returns
    -------
    problem
    """


# --- vectors of parts -----------------------------------------------------------------------------------------------


@dispatched
def new_blocks(problem):
    """Return zero part vectors of all examples, the start of a dual variable (plain Python)."""


@dispatched
def copy_blocks(problem, blocks):
    """Return a copy that has room for a step of every example (plain Python)."""


@dispatched
def has_room(problem, i, blocks):
    """Whether a step of example i towards any corner fits; if not, go on with ``copy_blocks``."""


@has_room.register(object)
def _(problem, i, blocks):
    return True


@dispatched
def set_direction(problem, i, y, blocks, direction):
    """Set ``direction`` to p_i(y) minus block i: the way from the block to the corner y."""


@dispatched
def clear(problem, i, direction):
    """Begin a vector of parts of example i at 0; finish it with ``close`` before other functions see it."""


@dispatched
def add_psi(problem, i, y, c, direction):
    """Add c p_i(y) to a vector that was begun with ``clear``.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    y : ndarray (length,)
        A labeling, in the form that the family keeps it.
    c : float
        The factor.
    direction : vector of parts
        Is changed in place.
    """


@dispatched
def close(problem, i, direction):
    """Finish a vector that was begun with ``clear``."""


@dispatched
def set_dense(problem, i, values, direction):
    """Set ``direction`` to the vector of parts with these values, one for every part score in ``theta``.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    values : ndarray (parts,)
    direction : vector of parts
        Is overwritten.
    """


@dispatched
def psi_score(problem, i, y, theta):
    """Return <theta, p_i(y)>, that is <w, psi_i(y)>.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    y : ndarray (length,)
        A labeling, in the form that the family keeps it.
    theta : ndarray (parts,)
        Part scores, as `scores` sets them: of example i the first ``part_ptr[i+1] - part_ptr[i]``.

    Returns
    -------
    float
    """


@dispatched
def gram_scores(problem, i, direction, theta):
    """Set ``theta`` to F_i F_i' direction, so that ``psi_score`` with it gives <psi_i(y), F_i' direction>.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    direction : vector of parts
    theta : ndarray (parts,)
        Is overwritten.
    """


@dispatched
def dot(problem, i, direction, theta):
    """Return <direction, theta>, that is <F_i' direction, w>."""


@dispatched
def norm_sq(problem, i, direction):
    """Return ||F_i' direction||^2."""


@dispatched
def add_to_block(problem, i, direction, c, blocks):
    """Add c times ``direction`` to block i."""


@dispatched
def scatter(problem, i, direction, c, w):
    """Add c F_i' direction to the internal weights w.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    direction : vector of parts
    c : float
        The factor.
    w : ndarray (num_weights,)
        Internal weights, changed in place.
    """


@dispatched
def scatter_psi(problem, i, y, c, w):
    """Add c psi_i(y) to the internal weights w."""


@dispatched
def scatter_block(problem, i, blocks, c, w):
    """Add c times F_i' (block i) to the internal weights w."""


# --- running sums of psi vectors, for averaged iterates ---------------------------------------------------------------


@dispatched
def new_sums(problem, count):
    """Return ``count`` empty sums of vectors F_i' direction, a sequence of float64 arrays (plain Python)."""


@dispatched
def accumulate(problem, i, direction, c, total):
    """Add c F_i' direction to the sum, at a cost that does not depend on the number of features."""


@dispatched
def accumulate_psi(problem, i, y, c, total):
    """Add c psi_i(y) to the sum, likewise."""


@dispatched
def scatter_sum(problem, total, c, w):
    """Add c times the sum to the internal weights w; O(size of the data)."""


# --- weights --------------------------------------------------------------------------------------------------------


@dispatched
def inner(problem, u, v):
    """Return <u, v> of internal weights (plain Python); the plain product unless a family says otherwise.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    u : ndarray (num_weights,)
    v : ndarray (num_weights,)

    Returns
    -------
    float
    """


@inner.register(object)
def _(problem, u, v):
    return float(u @ v)


@dispatched
def to_public(problem, w):
    """Return a new float64 vector of length d, in the order that the family documents, of internal weights w (plain Python)."""


@to_public.register(object)
def _(problem, w):
    return w.copy()


@dispatched
def from_public(problem, w):
    """Return new internal weights of a public w of length d (plain Python)."""


@from_public.register(object)
def _(problem, w):
    return np.array(w, dtype=np.float64)


@dispatched
def check_weights(problem, w):
    """Refuse weights of which the oracles cannot find the maximum, such as negative ones (plain Python).

    Solvers that are let near such a problem never come there: its ``nonnegative`` says where the others are.

    Parameters
    ----------
    problem : problem
        A problem of the family.
    w : ndarray (d,)
        Public weights.

    Raises
    ------
    ParameterError
        Names the place and the value.
    """


@check_weights.register(object)
def _(problem, w):
    pass


@dispatched
def joint_feature(problem, i, y):
    """Return phi(x_i, y), the joint features in the order of the public w (plain Python).

    Parameters
    ----------
    problem : problem
        A problem of the family.
    i : int
        The example, from 0.
    y : ndarray (length,)
        A labeling, in the form that the family keeps it.

    Returns
    -------
    scipy.sparse.csr_array (1, d)
    """


def original(problem):
    """Return the problem whose examples are weighted (``weighted``), and any other as it is."""
    return getattr(problem, "unweighted", problem)


def new_weights(problem) -> np.ndarray:
    """Return internal weights of zero, which start at a cache line, as do the rows of weights of a padded width then.

    A row of 24 lies in 3 lines instead of 4; where d is large and every row a cache miss, a step takes 10 % less.
    """
    room = np.zeros(problem.num_weights + 7)
    start = -(room.ctypes.data // room.itemsize) % 8
    return room[start : start + problem.num_weights]


@njit
def _all_blocks(problem, blocks, c, w):
    for i in range(problem.n):
        scatter_block(problem, i, blocks, c, w)


def blocks_to_weights(problem, blocks, c):
    """Return the internal weights c sum_i F_i' (block i), computed from scratch."""
    w = new_weights(problem)
    specialise(_all_blocks, problem)(problem, blocks, c, w)
    return w
