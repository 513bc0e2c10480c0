"""Distributions over labelings, which are kept as ``potentials``: log-potentials by parts, as many numbers as ``theta``.

Zeros are the uniform distribution.
"""

from fwexp.problems.protocol.degrees import degree


@degree(0)
def has_marginals(problem):
    """Return whether ``expectation_oracle`` is exact for this problem of the family (plain Python)."""


@has_marginals.register(object)
def _(problem):
    return True


@degree("c")
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


@degree(by=_expect_with_weight, on_request=True)
def expectation_oracle(problem, i, potentials, mean, scratch):
    """Find the expectations of the distribution in proportion to exp(log-potential), given its ``potentials``.

    Sets ``mean`` to the expectation of p_i(y), of which ``set_dense`` makes a vector of parts; ``scratch`` is that of
    `expectation_scratch`. Returns the log-partition, the expectation of L_i(y), and the entropy.
    """


@degree(0)
def expectation_scratch(problem):
    """Return the buffer that ``expectation_oracle`` needs (plain Python)."""


@degree(0)
def distance(problem, i, direction):
    """Return a lower bound on the 1-norm of the difference between two distributions whose expected parts differ by this vector.

    The 1-norm of the difference between marginals of one variable is such a bound.
    """


@degree(0)
def set_dense(problem, i, values, direction):
    """Set ``direction`` to the vector of parts with these ``values``, one for every part score in ``theta``."""
