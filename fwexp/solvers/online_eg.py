"""Online exponentiated gradient (Collins, Globerson, Koo, Carreras, Bartlett, JMLR 2008), as compared in
Lacoste-Julien et al., ICML 2013, section 6 and Appendix F.

The dual variables of example i are a distribution, kept as log-potentials of parts. At a step, for the drawn i,

    a_i(y) <- a_i(y) exp(eta_i H_i(y; w)) / Z_i,   w = A a,   ell = b'a,

where eta_i, the example's own step size, starts at 0.5, is halved until the dual objective improves (at most 2 times
during the first n steps and 5 times later; the block stays as it is if no trial improves it) and is multiplied by 1.05
afterwards. Every trial is a call of the expectation oracle.

A fall that rounding could have made counts as an improvement: once a distribution has all but settled on one labeling, the
exact improvement of any small step is positive but far below what can be measured, and refusing such steps would halve
eta_i until the block stands still for ever. For the same reason eta_i is kept below 1e8, where every step is a jump.

With the temperature tau of the objective (`fwexp.problems.loss_terms`), whose dual has an entropy, the gradient of the dual is
H_i(y; w) - tau log a_i(y) up to a constant, and a step is

    a_i(y) <- a_i(y)^(1 - eta_i tau) exp(eta_i H_i(y; w)) / Z_i,

the algorithm of Collins et al. for conditional random fields; tau = 0 is the hinge. A step of eta_i = 1/tau would go all the way to
the distribution at w, so eta_i is kept at or below that.

The exponent is eta_i times the loss-augmented scores, not eta_i/n times them: with 1/n a step size of 0.5 would be too
small by a factor of the order of n, and growing by 1.05 a visit it would take log(n)/log(1.05) passes to make up for it
(about 180 on handwriting, n = 6251).

The start is the uniform distribution, hence a w that depends on the problem; no calls are counted for it. All iterates
are inside the simplices. Memory: 16 bytes per part score of every example (its log-potential and its expectation), for
chains 16 (T + K) K per example with K padded: 110 MB on handwriting.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwexp.blocks.averaging import Averages, averaged, new_averages, update_averages
from fwexp.blocks.duals import means_to_weights
from fwexp.blocks.sampling import Draws, fixed_order_draws, order_draws
from fwexp.jit.compilation import njit, register_jitable, specialise
from fwexp.options import OBJECTIVES
from fwexp.problems.loss_terms import HINGE, rounding_of, tau_of
from fwexp.problems.protocol import (
    dot,
    expectation_oracle,
    expectation_scratch,
    loss_augmented_scores,
    new_weights,
    norm_sq,
    product,
    scatter,
    scores,
    set_dense,
    workspace,
)
from fwexp.solvers.base import Counted, PlainOrder, Point, Solver, Stop

START, GROWTH, LARGEST = 0.5, 1.05, 1e8  # of the step sizes
ROUNDING = 1e-13  # of the change of the dual objective, relative to the scores
HALVINGS_FIRST, HALVINGS_LATER = 2, 5  # at most, during the first n steps and after


class Iterate(NamedTuple):
    """w = A a and the distributions a."""

    w: np.ndarray  # internal weights
    ell: np.ndarray  # float64 (1,)
    potentials: np.ndarray  # float64, log-potentials of all examples, laid out by part_ptr
    means: np.ndarray  # float64, the expected parts E[p_i(y)], in the same layout
    losses: np.ndarray  # float64 (n,), n ell_i = E[cost L_i(y)] + tau entropy
    eta: np.ndarray  # float64 (n,), step sizes
    counts: np.ndarray  # int64 (2,): steps and oracle calls


class Trial(NamedTuple):
    """Buffers for the distribution that a step tries."""

    potentials: np.ndarray
    mean: np.ndarray
    change: np.ndarray  # of the expected parts
    scratch: np.ndarray  # of the expectation oracle


STEPS_TAKEN, ORACLE_CALLS = 0, 1


@register_jitable
def most_trials(k, n):
    """Return the largest number of oracle calls that step k may need."""
    return 1 + (HALVINGS_FIRST if k < n else HALVINGS_LATER)


@njit
def _steps(problem, objective, iterate, averages, work, trial, order, lam, max_calls):
    """Take a step per index in ``order`` while ``max_calls`` suffices; modifies all that is mutable."""
    lam_n, counts = lam * problem.n, iterate.counts
    for i in order:
        k = counts[STEPS_TAKEN]
        trials = most_trials(k, problem.n)
        if counts[ORACLE_CALLS] + trials > max_calls:
            return
        start, size = problem.part_ptr[i], problem.part_ptr[i + 1] - problem.part_ptr[i]
        potentials, mean = iterate.potentials[start : start + size], iterate.means[start : start + size]
        scores(problem, i, iterate.w, work.theta)
        largest = 1.0
        for j in range(size):
            largest = max(largest, abs(work.theta[j]))
        step, loss_change, tau = 0.0, 0.0, tau_of(objective, problem, i)
        if tau > 0.0:
            iterate.eta[i] = min(iterate.eta[i], 1.0 / tau)
        for halvings in range(trials):
            # a_i(y)^(1 - eta_i tau) exp(eta_i H_i(y; w)) / Z_i
            for j in range(size):
                trial.potentials[j] = (1.0 - iterate.eta[i] * tau) * potentials[j]
            loss_augmented_scores(problem, i, work.theta, iterate.eta[i], objective.cost, trial.potentials)
            loss = ell_of(objective, problem, i, trial.potentials[:size], trial.mean[:size], trial.scratch)
            counts[ORACLE_CALLS] += 1
            # n (D(new a) - D(a))
            for j in range(size):
                trial.change[j] = trial.mean[j] - mean[j]
            set_dense(problem, i, trial.change, work.direction)
            slope = loss - iterate.losses[i] - dot(problem, i, work.direction, work.theta)
            if slope - 0.5 * norm_sq(problem, i, work.direction) / lam_n > -ROUNDING * largest:
                for j in range(size):
                    potentials[j] = trial.potentials[j]
                    mean[j] = trial.mean[j]
                step, loss_change = 1.0 / lam_n, loss - iterate.losses[i]
                iterate.losses[i] = loss
                iterate.ell[0] += loss_change / problem.n
                scatter(problem, i, work.direction, step, iterate.w)
                break
            if halvings < trials - 1:
                iterate.eta[i] *= 0.5
        iterate.eta[i] = min(GROWTH * iterate.eta[i], LARGEST)
        counts[STEPS_TAKEN] = k + 1
        update_averages(problem, averages, i, work.direction, step, loss_change / problem.n, k + 1)


@register_jitable
def ell_of(objective, problem, i, potentials, mean, scratch):
    """Return n ell_i of the distribution with these log-potentials, rounded down, and set ``mean`` to its expected parts."""
    log_z, mean_loss, entropy = expectation_oracle(problem, i, potentials, mean, scratch)
    rounding = rounding_of(problem, i, log_z, potentials, len(potentials))
    return objective.cost * mean_loss + tau_of(objective, problem, i) * (entropy - rounding)


@njit
def _expectations(problem, objective, iterate, trial):
    """Set the expected parts and n ell_i of all examples from their distributions."""
    for i in range(problem.n):
        start, end = problem.part_ptr[i], problem.part_ptr[i + 1]
        means = iterate.means[start:end]
        iterate.losses[i] = ell_of(objective, problem, i, iterate.potentials[start:end], means, trial.scratch)


@dataclass
class State(Counted):
    """All that a run changes."""

    iterate: Iterate
    averages: Averages
    draws: Draws


class OnlineEG(Solver):
    """Online exponentiated gradient."""

    name = "online_eg"
    title = "online exponentiated gradient"
    takes_warm_start = True
    Options = PlainOrder
    iterates = ("last", "wavg", "tavg", "avg")
    stochastic = True
    takes_order = True
    objectives = OBJECTIVES

    @classmethod
    def needs(cls, options):
        return ("expectations",)

    def prepare(self):
        problem = self.problem
        size = int(np.diff(problem.part_ptr).max())
        self.work = workspace(problem)
        self.trial = Trial(np.zeros(size), np.zeros(size), np.zeros(size), expectation_scratch(problem))

    def start(self, seed, iterates, order, warm_start):
        problem, rule, parts = self.problem, self.options.sampling, int(self.problem.part_ptr[-1])
        if warm_start is not None:
            self.check_warm_start(warm_start)
        iterate = Iterate(
            w=new_weights(problem),
            ell=np.zeros(1),
            potentials=np.zeros(parts) if warm_start is None else warm_start.state.iterate.potentials.copy(),
            means=np.zeros(parts),
            losses=np.zeros(problem.n),
            eta=np.full(problem.n, START),
            counts=np.zeros(2, dtype=np.int64),
        )
        draws = order_draws(rule, problem.n, seed) if order is None else fixed_order_draws(order)
        self.state = State(iterate, new_averages(problem, iterates), draws)
        specialise(_expectations, problem, self.objective)(problem, self.objective, iterate, self.trial)
        iterate.w[:] = self._weights()
        iterate.ell[0] = iterate.losses.mean()

    def advance(self, budget):
        order = self.state.draws.peek(max(0, min(budget.calls - self.oracle_calls, budget.steps - self.step)))
        before = self.step
        kernel, state = specialise(_steps, self.problem, self.objective), self.state
        buffers = self.work, self.trial
        kernel(self.problem, self.objective, state.iterate, state.averages, *buffers, order, self.lam, budget.calls)
        self.state.draws.drop(self.step - before)
        return Stop(calls_needed=most_trials(self.step, self.problem.n))

    def point(self, iterate):
        w, ell = self.state.iterate.w, self.state.iterate.ell[0]
        if self.objective != HINGE:
            ell = self.state.iterate.losses.mean()  # without the errors of a running sum
        if iterate != "last":
            w, ell = averaged(self.problem, self.state.averages, iterate, w, ell, self.step)
        return Point(w, self.dual_value(ell, product(w, w)))

    def exact_dual(self):
        w = self._weights()
        return self.dual_value(self.state.iterate.losses.mean(), product(w, w))

    def _weights(self) -> np.ndarray:
        """Return A a, computed from the expected parts."""
        return means_to_weights(self.problem, self.state.iterate.means, 1.0 / (self.lam * self.problem.n))
