"""Functions by tiers: oracles, loss and features, which every family registers, and what solvers ask for by a tier's name."""

import numpy as np

from fwexp.problems.protocol.degrees import degree
from fwexp.types import FloatArray

# --- required: oracles, loss and features, which every family registers and with which most solvers run


@degree(0, tier="required")
def scores(problem, i, w, theta):
    """Set ``theta`` to the part scores of example i under the internal weights w, without loss."""


@degree(1, fastmath=False, tier="required")
def max_oracle(problem, i, theta, y, scratch) -> float:
    """Write a labeling y that maximises L_i(y) - <theta, p_i(y)>: the loss-augmented decoding.

    Returns the maximum, H_i(w) >= 0, in units of the loss.
    """


@degree(0, fastmath=False, tier="required")
def decode(problem, i, theta, y, scratch):
    """Write the prediction y, a labeling of highest score without loss."""


@degree(1, tier="required")
def loss(problem, i, y) -> float:
    """Return the task loss L_i(y) >= 0, 0 at the true labeling."""


@degree(0, tier="required")
def add_psi(problem, i, y, c, direction):
    """Add c p_i(y) to a vector of parts that was begun with ``clear``."""


@degree("c", fastmath=False, tier="required")
def scatter(problem, i, direction, c, w):
    """Add c F_i' direction to the internal weights w."""


@degree(0, tier="required")
def as_labeling(problem, i, y):
    """Return a y that a user passes in the form in which the oracle writes it (plain Python).

    Raises ``ParameterError`` if it is no labeling of example i.
    """


@degree(0, tier="required")
def public_labeling(problem, i, y):
    """Return the labeling of example i in y in the form that users see, which the family documents (plain Python)."""


@degree(1, tier="required")
def joint_feature(problem, i, y):
    """Return phi(x_i, y) in the order of the public w, a ``scipy.sparse.csr_array`` (1, d) (plain Python)."""


# --- expectations: distributions over labelings, kept as ``potentials``: log-potentials by parts, as many as ``theta``


@degree(0, tier="expectations", default=())
def has_marginals(problem):
    """Return whether ``expectation_oracle`` is exact for this problem of the family (plain Python)."""
    return True


@degree("c", tier="expectations")
def loss_augmented_scores(problem, i, theta, c, cost, potentials):
    """Add c times the loss-augmented score of every labeling of example i, up to a constant, to the ``potentials``.

    The loss-augmented score is cost L_i(y) - <w, psi_i(y)>, whose maximum is H_i(w) if ``cost`` is 1; ``theta`` are the part
    scores at w.
    """


def _expect_with_weight(function):
    def of_weighted(problem, i, potentials, mean, scratch):
        log_z, mean_loss, entropy = function(problem.unweighted, i, potentials, mean, scratch)
        return log_z, problem.c[i] * mean_loss, entropy

    return of_weighted


@degree(by=_expect_with_weight, tier="expectations")
def expectation_oracle(problem, i, potentials, mean, scratch) -> tuple[float, float, float]:
    """Find the expectations of the distribution in proportion to exp(log-potential), given its ``potentials``.

    Sets ``mean`` to the expectation of p_i(y), of which ``set_dense`` makes a vector of parts; ``scratch`` is that of
    `expectation_scratch`. Returns the log-partition, the expectation of L_i(y), and the entropy.
    """


@degree(0, tier="expectations")
def expectation_scratch(problem):
    """Return the buffer that ``expectation_oracle`` needs (plain Python)."""


@degree(0, tier="expectations")
def distance(problem, i, direction) -> float:
    """Return a lower bound on the 1-norm of the difference between two distributions whose expected parts differ by this vector.

    The 1-norm of the difference between marginals of one variable is such a bound.
    """


@degree(0, tier="expectations", default=("part_ptr",))
def set_dense(problem, i, values, direction):
    """Set ``direction`` to the vector of parts with these ``values``, one for every part score in ``theta``."""
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        direction[j] = values[j]


# --- kernels: inputs that can be exchanged, for kernelised methods


def _with_inputs_and_weights(function):
    return lambda problem, x, num_features: problem.around(function(problem.unweighted, x, num_features))


@degree(by=_with_inputs_and_weights, tier="kernels")
def with_inputs(problem, x, num_features):
    """Return the same examples with other inputs, one row each where there was one (plain Python).

    ``x`` has rows of length ``num_features``, as `fwexp.problems.features` keeps them.
    """


@degree(0, tier="kernels", default=())
def inner(problem, u, v):
    """Return <u, v> of internal weights (plain Python); the plain product unless a family overrides it."""
    return product(u, v)


def product(u: FloatArray, v: FloatArray) -> float:
    """Return the plain product of two vectors: not by BLAS, where the last digits depend on the number of threads."""
    return float(np.einsum("i,i", u, v))


# --- bounds: on features, for steps and orders that look at curvatures


@degree(2, tier="bounds")
def radii_sq(problem):
    """Return upper bounds on max_y ||psi_i(y)||^2, float64 (n,) (plain Python)."""


# --- enumeration: all labelings, where they are few


@degree(0, tier="enumeration")
def all_labelings(problem, i, limit):
    """Return all labelings of example i, (m, length), in the order in which the max-oracle prefers them (plain Python).

    Raises ``ParameterError`` where there are more than ``limit``.
    """
