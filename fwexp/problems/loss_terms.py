"""The loss term H_i(w) of the objective P(w) = lam/2 ||w||^2 + 1/n sum_i H_i(w): a maximum, or a sum of exponentials.

With the loss-augmented scores s_y = cost L_i(y) - <w, psi_i(y)> of all labelings y and a temperature tau,

    H_i(w) = tau log sum_y exp(s_y / tau)   = max_a  <a, s> + tau Ent(a),    a a distribution over labelings,

attained at a_y in proportion to exp(s_y / tau). The hinge is the limit tau -> 0. With cost 0 and tau 1 this is the negative
log-likelihood of a conditional random field (Lafferty, McCallum and Pereira, ICML 2001); with cost 1 it is the softmax-margin
(Gimpel and Smith, NAACL 2010). The dual objective is

    D(a) = 1/n sum_i [cost <a_i, L_i> + tau Ent(a_i)] - lam/2 ||A a||^2.

An example of weight c_i (`fwexp.problems.weighted`), whose loss and features have the factor already, has the temperature c_i tau.
"""

from typing import NamedTuple

import numpy as np

from fwexp.errors import OptionError
from fwexp.jit.compilation import dispatched, inlined
from fwexp.options import OBJECTIVES, check_choice, check_positive_scale
from fwexp.problems import protocol


class Hinge(NamedTuple):
    """The maximum of the loss-augmented scores."""

    name = "hinge"

    cost: float = 1.0
    temperature: float = 0.0


class Softmax(NamedTuple):
    """The softened maximum of the loss-augmented scores."""

    cost: float  # factor of L_i(y): 0 for the log-loss, 1 for the softmax-margin
    temperature: float

    @property
    def name(self) -> str:
        """Name of the objective."""
        return "softmax_margin" if self.cost else "log"


HINGE = Hinge()
ROUNDING = 2.0**-50  # of a sum, for each of its terms: four units in the last place


def make_objective(objective: str = "hinge", temperature: float = 1.0) -> Hinge | Softmax:
    """Return the loss term of the arguments ``objective`` and ``temperature`` of a run, checked."""
    temperature = check_positive_scale("temperature", temperature)
    if check_choice("objective", objective, OBJECTIVES) != "hinge":
        return Softmax(float(objective == "softmax_margin"), temperature)
    if temperature != 1.0:
        raise OptionError(f"temperature goes with objective=log or softmax_margin, got {temperature!r} with hinge")
    return HINGE


class SoftWorkspace(NamedTuple):
    """A ``Workspace`` with buffers for distributions."""

    theta: np.ndarray
    direction: np.ndarray
    image: np.ndarray
    y: np.ndarray
    scratch: np.ndarray
    mean: np.ndarray  # float64, expected parts
    potentials: np.ndarray  # float64, as long
    expectation: np.ndarray  # the buffer of the expectation oracle


def soft_workspace(problem) -> SoftWorkspace:
    """Return a fresh workspace, large enough for every example."""
    mean, potentials = np.zeros((2, int(np.diff(problem.part_ptr).max())))
    return SoftWorkspace(*protocol.workspace(problem), mean, potentials, protocol.expectation_scratch(problem))


@dispatched(fastmath=False)
def new_work(objective, problem):
    """Return fresh buffers of one thread (plain Python)."""


@dispatched(fastmath=False)
def term(objective, problem, i, work):
    """Return H_i, given the part scores in ``work.theta``, and the loss that the labelings that attain it have, in the mean."""


new_work.register(Hinge)(lambda objective, problem: protocol.workspace(problem))
new_work.register(Softmax)(lambda objective, problem: soft_workspace(problem))


@term.register(Hinge)
def _(objective, problem, i, work):
    value = protocol.max_oracle(problem, i, work.theta, work.y, work.scratch)
    return value, protocol.loss(problem, i, work.y)


@term.register(Softmax)
def _(objective, problem, i, work):
    value, mean_loss, rounding = expectations(objective, problem, i, work)
    protocol.set_dense(problem, i, work.mean, work.direction)
    return value + rounding - protocol.dot(problem, i, work.direction, work.theta), mean_loss


@inlined
def expectations(objective, problem, i, work):
    """Find the distribution a in proportion to exp(s/tau), given part scores in ``work.theta``; set ``work.mean`` to E p_i(y)."""
    # Returns cost <a, L_i> + tau Ent(a) less a bound of its rounding error, <a, L_i>, and the bound.
    size, tau = problem.part_ptr[i + 1] - problem.part_ptr[i], tau_of(objective, problem, i)
    mean_loss, entropy, rounding = 0.0, 0.0, 0.0
    for j in range(size):
        work.mean[j] = work.potentials[j] = 0.0
    if tau > 0.0:  # else the example has weight 0
        protocol.loss_augmented_scores(problem, i, work.theta, 1.0 / tau, objective.cost, work.potentials)
        oracle = protocol.expectation_oracle(problem, i, work.potentials[:size], work.mean[:size], work.expectation)
        mean_loss, entropy, rounding = oracle[1], oracle[2], rounding_of(problem, i, oracle[0], work.potentials, size)
    return objective.cost * mean_loss + tau * (entropy - rounding), mean_loss, tau * rounding


@inlined
def rounding_of(problem, i, log_z, potentials, size):
    """Return a bound of the rounding error of the entropy, log Z - <potentials, marginals>, which cancels where these are large."""
    # Both are sums over the positions of the example, of as many potentials or twice as many.
    positions, largest = protocol.num_positions(problem, i), 0.0
    for j in range(size):
        largest = max(largest, abs(potentials[j]))
    return ROUNDING * (1.0 + positions) * (abs(log_z) + positions * largest)


@inlined
def tau_of(objective, problem, i):
    """Return the temperature of example i."""
    return objective.temperature * protocol.example_weight(problem, i)
