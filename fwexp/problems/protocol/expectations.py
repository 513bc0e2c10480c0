"""Distributions over labelings, which are kept as ``potentials``: log-potentials by parts, as many numbers as ``theta``.

Zeros are the uniform distribution.
"""

from fwexp.jit.compilation import dispatched


@dispatched
def loss_augmented_scores(problem, i, theta, c, potentials):
    """Add c times the loss-augmented score of every labeling of example i, up to a constant, to the ``potentials``.

    The loss-augmented score is L_i(y) - <w, psi_i(y)>, whose maximum is H_i(w); ``theta`` are the part scores at w.
    """


@dispatched(on_request=True)
def expectation_oracle(problem, i, potentials, mean, scratch):
    """Find log-partition and expectations of the distribution in proportion to exp(log-potential), given its ``potentials``.

    Sets ``mean`` to the expectation of p_i(y), of which ``set_dense`` makes a vector of parts; ``scratch`` is that of
    `expectation_scratch`. Returns the log-partition and the expectation of L_i(y).
    """


@dispatched
def expectation_scratch(problem):
    """Return the buffer that ``expectation_oracle`` needs (plain Python)."""


@dispatched
def set_dense(problem, i, values, direction):
    """Set ``direction`` to the vector of parts with these ``values``, one for every part score in ``theta``."""
