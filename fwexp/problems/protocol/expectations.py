"""Distributions over labelings, which are kept as ``potentials``: log-potentials by parts, as many numbers as ``theta``.

Zeros are the uniform distribution.
"""

from fwexp.jit.compilation import dispatched


@dispatched
def has_marginals(problem):
    """Return whether ``expectation_oracle`` is exact for this problem of the family (plain Python)."""


@has_marginals.register(object)
def _(problem):
    return True


@dispatched
def loss_augmented_scores(problem, i, theta, c, cost, potentials):
    """Add c times the loss-augmented score of every labeling of example i, up to a constant, to the ``potentials``.

    The loss-augmented score is cost L_i(y) - <w, psi_i(y)>, whose maximum is H_i(w) if ``cost`` is 1; ``theta`` are the part
    scores at w.
    """


@dispatched(on_request=True)
def expectation_oracle(problem, i, potentials, mean, scratch):
    """Find the expectations of the distribution in proportion to exp(log-potential), given its ``potentials``.

    Sets ``mean`` to the expectation of p_i(y), of which ``set_dense`` makes a vector of parts; ``scratch`` is that of
    `expectation_scratch`. Returns the log-partition, the expectation of L_i(y), and the entropy.
    """


@dispatched
def expectation_scratch(problem):
    """Return the buffer that ``expectation_oracle`` needs (plain Python)."""


@dispatched
def distance(problem, i, direction):
    """Return a lower bound on the 1-norm of the difference between two distributions whose expected parts differ by this vector.

    The 1-norm of the difference between marginals of one variable is such a bound.
    """


@dispatched
def set_dense(problem, i, values, direction):
    """Set ``direction`` to the vector of parts with these ``values``, one for every part score in ``theta``."""
