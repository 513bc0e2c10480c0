"""Oracles, loss and features: the functions that every family registers, and all that most solvers need."""

from fwexp.problems.protocol.degrees import degree


@degree(0)
def scores(problem, i, w, theta):
    """Set ``theta`` to the part scores of example i under the internal weights w, without loss."""


@degree(1)
def max_oracle(problem, i, theta, y, scratch):
    """Write a labeling y that maximises L_i(y) - <theta, p_i(y)>: the loss-augmented decoding.

    Returns the maximum, H_i(w) >= 0, in units of the loss.
    """


@degree(0)
def decode(problem, i, theta, y, scratch):
    """Write the prediction y, a labeling of highest score without loss."""


@degree(1)
def loss(problem, i, y):
    """Return the task loss L_i(y) >= 0, 0 at the true labeling."""


@degree(0)
def add_psi(problem, i, y, c, direction):
    """Add c p_i(y) to a vector of parts that was begun with ``clear``."""


@degree("c")
def scatter(problem, i, direction, c, w):
    """Add c F_i' direction to the internal weights w."""


@degree(0)
def as_labeling(problem, i, y):
    """Return a y that a user passes in the form in which the oracle writes it (plain Python).

    Raises ``ParameterError`` if it is no labeling of example i.
    """


@degree(0)
def public_labeling(problem, i, y):
    """Return the labeling of example i in y in the form that users see, which the family documents (plain Python)."""


@degree(1)
def joint_feature(problem, i, y):
    """Return phi(x_i, y) in the order of the public w, a ``scipy.sparse.csr_array`` (1, d) (plain Python)."""
