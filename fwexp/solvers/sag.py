"""Stochastic average gradient with non-uniform sampling (Schmidt, Babanezhad, Ahmed, Defazio, Clifton, Sarkar, AISTATS 2015).

The latest gradient of every H_i that was met is kept, as expected parts: -F_i' mu_i, with G = sum_i F_i' mu_i over the m examples
met so far. At a step, for the drawn i,

    mu_i <- E p_i at w,    G accordingly,    w <- (1 - alpha lam) w + alpha/m G,    alpha = 1/2 (1/L_max + 1/L_mean).

L_i + lam estimates the Lipschitz constant of the gradient of example i. L_i is halved at a visit and then doubled until
H_i(w - g/L_i) <= H_i(w) - ||g||^2/(2 L_i); further trials of one visit multiply it by 4, 16 and 256. After xi visits in a row at
which no trial failed, 2^(xi - 1) visits skip that. Every trial is an oracle call. Half of the steps draw i uniformly, the others in
proportion to L_i. With ``uniform`` sampling all draw uniformly, and alpha = 1/L_max. A new example starts with the mean of the L_i
met so far.

A step changes all of w. So w = a z + b G is kept as z, G and the factors: a step then costs two rounds of scores and of
scattering, for any number of weights. The dual point is that of the stored distributions, A a = G/(lam n).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwexp.blocks import gap_tree
from fwexp.blocks.duals import means_to_weights
from fwexp.blocks.sampling import Draws, uniform_draws
from fwexp.jit.compilation import njit, specialise
from fwexp.options import choice
from fwexp.problems.loss_terms import SoftWorkspace, expectations, soft_workspace
from fwexp.problems.protocol import (
    dot,
    gram_scores,
    new_weights,
    norm_sq,
    product,
    scatter,
    scores,
    set_dense,
)
from fwexp.solvers.base import Counted, Point, Solver, Stop

MOST_TRIALS = 4  # of an L_i at one visit
SMALL = 1e-8  # ||g||^2 below which the inequality is lost in rounding errors
LONGEST_PAUSE = 20  # largest xi
LEAST_FACTOR = 1e-6  # of z, below which w is computed: what z takes back would be too large to cancel
STEPS_TAKEN, ORACLE_CALLS, MET = 0, 1, 2
A, B, LARGEST = 0, 1, 2


@dataclass(frozen=True)
class Options:
    """Options of ``sag``.

    Attributes
    ----------
    sampling : str
        ``nonuniform`` draws half of the examples in proportion to estimates of the Lipschitz constants of their gradients.
    """

    sampling: str = choice("nonuniform", "uniform")


class Iterate(NamedTuple):
    """w = a z + b G, and the state of every example."""

    z: np.ndarray  # internal weights
    G: np.ndarray  # the same shape
    factors: np.ndarray  # float64 (3,): a, b, and the largest L_i met
    means: np.ndarray  # float64, laid out by part_ptr: expected parts
    ell: np.ndarray  # float64 (n,), n ell_i
    lipschitz: gap_tree.Tree  # over the L_i; 0 of examples that were not met
    successes: np.ndarray  # int64 (n,): xi
    pauses: np.ndarray  # int64 (n,): visits before the next search
    counts: np.ndarray  # int64 (3,)


@njit
def _settle(iterate):
    """Make z equal to w: a becomes 1 and b 0."""
    for j in range(len(iterate.z)):
        iterate.z[j] = iterate.factors[A] * iterate.z[j] + iterate.factors[B] * iterate.G[j]
    iterate.factors[A], iterate.factors[B] = 1.0, 0.0


@njit
def _steps(problem, objective, iterate, work, other, uniforms, nonuniform, lam, max_calls):
    """Take a step per number in ``uniforms`` while ``max_calls`` suffices; return how many were taken."""
    n, counts, factors, tree = problem.n, iterate.counts, iterate.factors, iterate.lipschitz
    for taken in range(len(uniforms)):
        if counts[ORACLE_CALLS] + 1 + MOST_TRIALS > max_calls:
            return taken
        u, total = uniforms[taken], tree.nodes[1, gap_tree.TOTAL]
        if nonuniform and u < 0.5 and total > 0.0:
            i = gap_tree.draw(tree, 2.0 * u)
        else:
            i = int((2.0 * u - 1.0 if nonuniform and u >= 0.5 else u) * n)
        start = problem.part_ptr[i]
        size = problem.part_ptr[i + 1] - start
        # F_i w = a F_i z + b F_i G
        scores(problem, i, iterate.z, work.theta)
        scores(problem, i, iterate.G, other.theta)
        for j in range(size):
            work.theta[j] = factors[A] * work.theta[j] + factors[B] * other.theta[j]
        ell = expectations(objective, problem, i, work)[0]
        counts[ORACLE_CALLS] += 1
        L = tree.nodes[tree.size + i, gap_tree.TOTAL]
        if L == 0.0:
            L = total / counts[MET] if counts[MET] > 0 else 1.0
            counts[MET] += 1
        if iterate.pauses[i] > 0:
            iterate.pauses[i] -= 1
        else:
            L = _searched(problem, objective, i, 0.5 * L, ell, iterate, work, other)
        gap_tree.update(tree, i, L)
        factors[LARGEST] = tree.nodes[1, gap_tree.LARGEST]
        # The change of mu_i, and of G without changing w: z takes back what b G gains.
        for j in range(size):
            change = work.mean[j] - iterate.means[start + j]
            iterate.means[start + j] = work.mean[j]
            work.mean[j] = change
        iterate.ell[i] = ell
        set_dense(problem, i, work.mean, work.direction)
        scatter(problem, i, work.direction, 1.0, iterate.G)
        scatter(problem, i, work.direction, -factors[B] / factors[A], iterate.z)
        # w <- (1 - alpha lam) w + alpha/m G
        mean = tree.nodes[1, gap_tree.TOTAL] / counts[MET]
        alpha = 1.0 / (factors[LARGEST] + lam)
        if nonuniform:
            alpha = 0.5 * (alpha + 1.0 / (mean + lam))
        factors[A] *= 1.0 - alpha * lam
        factors[B] = (1.0 - alpha * lam) * factors[B] + alpha / counts[MET]
        if factors[A] < LEAST_FACTOR:
            _settle(iterate)
        counts[STEPS_TAKEN] += 1
    return len(uniforms)


@njit
def _searched(problem, objective, i, L, ell, iterate, work, other):
    """Return L_i, doubled from ``L`` on until a gradient step of 1/L_i lowers H_i by enough; the gradient is in ``work.mean``."""
    set_dense(problem, i, work.mean, work.direction)
    length_sq = norm_sq(problem, i, work.direction)
    iterate.successes[i] = min(iterate.successes[i] + 1, LONGEST_PAUSE)
    if length_sq > SMALL:
        value = ell - dot(problem, i, work.direction, work.theta)
        gram_scores(problem, i, work.direction, work.image)
        growth = 2.0
        for _ in range(MOST_TRIALS):
            for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
                other.theta[j] = work.theta[j] + work.image[j] / L
            trial_value = expectations(objective, problem, i, other)[0]
            set_dense(problem, i, other.mean, other.direction)
            iterate.counts[ORACLE_CALLS] += 1
            if trial_value - dot(problem, i, other.direction, other.theta) <= value - length_sq / (2.0 * L):
                break
            L *= growth
            growth *= growth  # 2, 4, 16, 256: features that are not scaled need many doublings
            iterate.successes[i] = 0
    if iterate.successes[i] > 0:
        iterate.pauses[i] = 2 ** (iterate.successes[i] - 1)
    return L


@dataclass
class State(Counted):
    """All that a run changes."""

    iterate: Iterate
    draws: Draws


class SAG(Solver):
    """Stochastic average gradient."""

    name = "sag"
    title = "SAG with non-uniform sampling"
    objectives = ("log", "softmax_margin")
    stochastic = True
    Options = Options

    @classmethod
    def needs(cls, options):
        return ("expectations",)

    @classmethod
    def memory(cls, problem, options, iterates):
        return super().memory(problem, options, iterates) + 8 * int(problem.part_ptr[-1])

    def prepare(self):
        self.work: SoftWorkspace = soft_workspace(self.problem)
        self.other: SoftWorkspace = soft_workspace(self.problem)

    def start(self, seed, iterates, order, warm_start):
        problem, n = self.problem, self.problem.n
        counts = np.zeros((3, n), dtype=np.int64)
        iterate = Iterate(
            z=new_weights(problem),
            G=new_weights(problem),
            factors=np.array([1.0, 0.0, 0.0]),
            means=np.zeros(problem.part_ptr[-1]),
            ell=np.zeros(n),
            lipschitz=gap_tree.new_tree(np.zeros(n)),
            successes=counts[0],
            pauses=counts[1],
            counts=np.zeros(3, dtype=np.int64),
        )
        self.state = State(iterate, uniform_draws(seed))

    def advance(self, budget):
        kernel, n = specialise(_steps, self.problem, self.objective), self.problem.n
        nonuniform, taken = self.options.sampling == "nonuniform", 1
        while taken > 0:
            iterate = self.state.iterate
            # Settling at every n steps, wherever a run pauses, keeps a and b in range.
            room = min(budget.calls - self.oracle_calls, budget.steps - self.step, n - self.step % n)
            uniforms, work = self.state.draws.peek(max(room, 0)), (self.work, self.other)
            taken = kernel(self.problem, self.objective, iterate, *work, uniforms, nonuniform, self.lam, budget.calls)
            self.state.draws.drop(taken)
            if taken > 0 and self.step % n == 0:
                _settle(iterate)
        return Stop(calls_needed=1 + MOST_TRIALS)

    def compile(self):
        super().compile()
        _settle(self.state.iterate)

    def point(self, iterate):
        state = self.state.iterate
        return Point(state.factors[A] * state.z + state.factors[B] * state.G, self._dual(state.G / (self.lam * self.problem.n)))

    def exact_dual(self):
        return self._dual(means_to_weights(self.problem, self.state.iterate.means, 1.0 / (self.lam * self.problem.n)))

    def _dual(self, v: np.ndarray) -> float:
        """Return D for v = A a."""
        return self.dual_value(float(self.state.iterate.ell.mean()), product(v, v))
