"""Online exponentiated gradient (Collins, Globerson, Koo, Carreras, Bartlett, JMLR 2008), as compared in
Lacoste-Julien et al., ICML 2013, section 5 and Appendix F.

The dual variables of example i are a distribution, kept as log-potentials of parts. At a step, for the drawn i,

    a_i(y) <- a_i(y) exp(eta_i H_i(y; w)) / Z_i,   w = A a,   ell = b'a,

where eta_i, the example's own step size, starts at 0.5, is halved until the dual objective improves (at most 2 times
during the first n steps and 5 times later; the block stays as it is if no trial improves it) and is multiplied by 1.05
afterwards. Every trial is a call of the expectation oracle.

The exponent is eta_i times the loss-augmented scores, not eta_i/n times them: with 1/n a step size of 0.5 would be too
small by a factor of the order of n, and growing by 1.05 a visit it would take log(n)/log(1.05) passes to make up for it
(about 180 on handwriting, n = 6251).

The start is the uniform distribution, hence a w that depends on the problem; no calls are counted for it. All iterates
are inside the simplices. Memory: 16 bytes per part score of every example (its log-potential and its expectation), for
chains 16 (T + K) K per example with K padded: 110 MB on handwriting.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fwexp._jit import njit, specialise
from fwexp.errors import OptionError
from fwexp.problems.protocol import (
    dot,
    expectation_oracle,
    expectation_scratch,
    norm_sq,
    scatter,
    scores,
    set_dense,
    tilt,
    workspace,
)
from fwexp.solvers.averaging import averaged, new_averages, update_averages
from fwexp.solvers.base import Point, Solver
from fwexp.solvers.sampling import given_draws, order_draws

START, GROWTH = 0.5, 1.05  # of the step sizes
HALVINGS_FIRST, HALVINGS_LATER = 2, 5  # at most, during the first n steps and after


@dataclass(frozen=True)
class Options:
    """Options of ``online_eg``."""

    sampling: str = field(default="uniform", metadata={"choices": ("uniform", "perm", "cyclic")})


class State(NamedTuple):
    """w = A a and the distributions a."""

    w: np.ndarray  # internal weights
    ell: np.ndarray  # float64 (1,)
    potentials: np.ndarray  # float64, log-potentials of all examples, laid out by part_ptr
    means: np.ndarray  # float64, likewise: the expected parts E[p_i(y)]
    losses: np.ndarray  # float64 (n,), n ell_i = E[L_i(y)]
    eta: np.ndarray  # float64 (n,), step sizes
    counts: np.ndarray  # int64 (2,): steps and oracle calls


class Trial(NamedTuple):
    """Buffers for the distribution that a step tries."""

    potentials: np.ndarray
    mean: np.ndarray
    scratch: np.ndarray


STEP, CALLS = 0, 1


@njit
def most_trials(k, n):
    """Return the largest number of oracle calls that step k may need."""
    return 1 + (HALVINGS_FIRST if k < n else HALVINGS_LATER)


@njit
def _expectations(problem, state, trial):
    """Set the expected parts and losses of all examples to those of their distributions."""
    for i in range(problem.n):
        start, end = problem.part_ptr[i], problem.part_ptr[i + 1]
        state.losses[i] = expectation_oracle(problem, i, state.potentials[start:end], state.means[start:end], trial.scratch)[1]


@njit
def _weights(problem, state, direction, c, w):
    """Add c sum_i F_i' E[p_i] to w."""
    for i in range(problem.n):
        set_dense(problem, i, state.means[problem.part_ptr[i] : problem.part_ptr[i + 1]], direction)
        scatter(problem, i, direction, c, w)


@njit
def _steps(problem, state, averages, work, trial, order, lam, max_calls):
    """Take one step per index in ``order`` as long as ``max_calls`` suffices for it; modifies all that is mutable."""
    lam_n, counts = lam * problem.n, state.counts
    for i in order:
        k = counts[STEP]
        trials = most_trials(k, problem.n)
        if counts[CALLS] + trials > max_calls:
            return
        start, size = problem.part_ptr[i], problem.part_ptr[i + 1] - problem.part_ptr[i]
        potentials, mean = state.potentials[start : start + size], state.means[start : start + size]
        scores(problem, i, state.w, work.theta)
        loss_change = 0.0
        for halvings in range(trials):
            # a_i(y) exp(eta_i H_i(y; w)) / Z_i, by parts
            for j in range(size):
                trial.potentials[j] = potentials[j]
            tilt(problem, i, work.theta, state.eta[i], trial.potentials)
            loss = expectation_oracle(problem, i, trial.potentials, trial.mean, trial.scratch)[1]
            counts[CALLS] += 1
            # n (D_new - D), along the change of the expected parts
            for j in range(size):
                mean[j] = trial.mean[j] - mean[j]
            set_dense(problem, i, mean, work.direction)
            change = loss - state.losses[i]
            rise = change - dot(problem, i, work.direction, work.theta) - 0.5 * norm_sq(problem, i, work.direction) / lam_n
            for j in range(size):
                mean[j] = trial.mean[j] - mean[j]
            if rise > 0.0:
                for j in range(size):
                    potentials[j], mean[j] = trial.potentials[j], trial.mean[j]
                state.losses[i] = loss
                state.ell[0] += change / problem.n
                scatter(problem, i, work.direction, 1.0 / lam_n, state.w)
                loss_change = change
                break
            if halvings < trials - 1:
                state.eta[i] *= 0.5
        state.eta[i] *= GROWTH
        counts[STEP] = k + 1
