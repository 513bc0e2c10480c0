"""n-slack cutting plane (Tsochantaridis et al., JMLR 2005; Joachims, Finley, Yu 2009, Algorithm 1, margin rescaling).

    min_{w, xi}  lam/2 ||w||^2 + 1/n sum_i xi_i   s.t.  <w, psi_i(y)> >= L_i(y) - xi_i  for y in W_i,  xi_i >= 0.

Example by example, in order, the labeling of the max-oracle joins the working set W_i if its constraint is violated, and
after ``batch`` new constraints and at the end of every pass the QP over the working sets is solved again. Its dual is
maximised over the product of the simplices of the W_i, each of which holds the true labeling, xi_i >= 0:

    max_a  1/n sum_i sum_{y in W_i} a_i(y) L_i(y) - lam/2 ||w||^2,   w = 1/(lam n) sum_i sum_{y in W_i} a_i(y) psi_i(y),

by passes over the examples, each optimised over its own W_i by pairwise steps in the space of its scores, without an oracle
call. A solution is accepted when its duality gap over the working sets, computed at fixed w, is at most ``qp_tol`` times
the largest loss or, where that is more, ``qp_share`` times the mean block gap of the examples visited since the QP before.

Parametrisation: the objective of those papers, 1/2 ||w||^2 + (C/n) sum_i xi_i, is this one divided by lam, with C = 1/lam.
Where the sum has no 1/n (LIBLINEAR, scikit-learn), C = 1/(lam n). Their epsilon, the violation that is tolerated, bounds the
gap, which is ``gap_tol`` here.

Memory: that of the active sets, whose formula is in ``active_set``; ``size`` bounds the labelings of an example (of those
without weight the one of lowest H_i(w) goes first; 0 keeps all).
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fwexp._jit import njit, specialise
from fwexp.errors import OptionError
from fwexp.problems.protocol import loss, max_oracle, scatter, scores, workspace
from fwexp.solvers import active_set
from fwexp.solvers.base import Point, Solver
from fwexp.solvers.one_slack import check_count
from fwexp.solvers.simplex_qp import check_share

FIRST_ROOM = 4  # labelings that there is room for at the start
UNLIMITED = 1 << 40
CORRECTIONS = 10  # pairwise steps per example and pass
MOST_PASSES = 100_000  # per QP, in case that rounding keeps the tolerance out of reach


@dataclass(frozen=True)
class Options:
    """Options of ``n_slack``.

    Attributes
    ----------
    batch : int
        New constraints after which the QP is solved; 1 is the algorithm of the paper.
    size : int
        Labelings that are kept per example; 0 keeps all.
    qp_tol, qp_share : float
        How exactly the QP is solved.
    """

    batch: int = field(default=100, metadata={"check": check_count("solver n_slack: batch", 1)})
    size: int = field(default=0, metadata={"check": check_count("solver n_slack: size", 0)})
    qp_tol: float = field(default=1e-10, metadata={"check": check_share("solver n_slack: qp_tol")})
    qp_share: float = field(default=0.1, metadata={"check": check_share("solver n_slack: qp_share")})


class State(NamedTuple):
    """w = A a, whose dual variables a are the weights of the active sets, and where in the data the method is."""

    w: np.ndarray  # internal weights
    losses: np.ndarray  # float64 (n,), n ell_i
    counts: np.ndarray  # int64 (3,), see the names below
    gap: np.ndarray  # float64 (1,), sum of the block gaps (times n) of the examples visited since the QP before


CALLS, NEW, VISITED = 0, 1, 2  # oracle calls; new constraints and examples visited since the QP before

READY, SET_FULL, QP_DUE = 0, 1, 2


@njit
def _visit(problem, state, sets, work, size, batch, max_calls):
    """Call the oracle for one example after the other, and add its labeling to the working set if that is violated."""
    counts = state.counts
    while counts[CALLS] < max_calls:
        i = counts[CALLS] % problem.n
        # 5: y*
        scores(problem, i, state.w, work.theta)
        value = max_oracle(problem, i, work.theta, work.y, work.scratch)
        active_set.score_all(problem, i, work.theta, sets)
        # 6, 7: is it violated by more than xi_i, the highest score in W_i?
        if value > sets.score[active_set.best_stored(i, sets)]:
            slot = active_set.store(problem, i, work.y, loss(problem, i, work.y), work.theta, size, sets, work)
            if slot < 0:
                return SET_FULL
            counts[NEW] += sets.weight[sets.first[i] + slot] == 0.0
        counts[CALLS] += 1
        counts[VISITED] += 1
        state.gap[0] += value - active_set.mean_score(i, sets)
        if counts[NEW] == batch or counts[CALLS] % problem.n == 0:
            return QP_DUE
    return READY


@njit
def _correct(problem, state, sets, work, lam_n, corrections):
    """Optimise the examples one after the other over their working sets; return the sum of the block gaps (times n).

    Without ``corrections`` nothing moves, and the sum is the exact gap at w.
    """
    total = 0.0
    for i in range(problem.n):
        if sets.count[i] == 1:
            continue
        scores(problem, i, state.w, work.theta)
        active_set.score_all(problem, i, work.theta, sets)
        best, worst = active_set.best_stored(i, sets), active_set.worst_active(i, sets)
        total += sets.score[best] - active_set.mean_score(i, sets)
        moved = False
        for _ in range(corrections):
            if not active_set.pairwise_step(i, worst, best, lam_n, sets):
                break
            moved = True
            best, worst = active_set.best_stored(i, sets), active_set.worst_active(i, sets)
        if moved:
            state.losses[i] += active_set.set_change(problem, i, sets, work.direction)
            scatter(problem, i, work.direction, 1.0 / lam_n, state.w)
    return total


class NSlack(Solver):
    """n-slack cutting plane; a step is an example visited."""

    name = "n_slack"
    title = "n-slack cutting plane"
    Options = Options
    needs = ("max_oracle",)

    def start(self, seed, iterates, order, warm_start):
        problem = self.problem
        self.work = workspace(problem)
        if warm_start is None:  # 2: the working sets
            self.sets = active_set.new_active_sets(problem, np.full(problem.n, FIRST_ROOM, dtype=np.int64))
        elif isinstance(warm_start, NSlack):
            self.sets = active_set.copied(problem, warm_start.sets)
        else:
            raise OptionError(f"solver n_slack cannot start from the dual variables of {warm_start.name}; accepted: n_slack")
        w, losses = active_set.from_scratch(problem, self.sets, 1.0 / (self.lam * problem.n))
        self.state = State(w, losses, np.zeros(3, dtype=np.int64), np.zeros(1))

    def advance(self, calls, max_steps):
        problem, state = self.problem, self.state
        size = self.options.size + 1 if self.options.size else UNLIMITED
        limit = min(calls, max_steps)
        while True:
            ended = specialise(_visit, problem)(problem, state, self.sets, self.work, size, self.options.batch, limit)
            if ended == SET_FULL:
                self.sets = active_set.grown(problem, self.sets, size)
            elif ended == QP_DUE:
                self._solve()
            else:
                break
        if max_steps == 0:
            self._pass(0)

    def _solve(self) -> None:
        """8: solve the QP over the working sets."""
        n, state = self.problem.n, self.state
        tol = self.options.qp_tol * self.sets.loss.max()
        tol = max(tol, self.options.qp_share * state.gap[0] / state.counts[VISITED])
        for _ in range(MOST_PASSES):
            # The gaps of a pass are those at the visits: a cheap test before the exact one.
            if self._pass(CORRECTIONS) / n <= tol and self._pass(0) / n <= tol:
                break
        state.counts[[NEW, VISITED]] = 0
        state.gap[0] = 0.0
        state.w[:], state.losses[:] = active_set.from_scratch(self.problem, self.sets, 1.0 / (self.lam * n))

    def _pass(self, corrections: int) -> float:
        lam_n = self.lam * self.problem.n
        return specialise(_correct, self.problem)(self.problem, self.state, self.sets, self.work, lam_n, corrections)

    @property
    def step(self):
        return int(self.state.counts[CALLS])

    oracle_calls = step

    def point(self, iterate):
        w = self.state.w
        return Point(w, float(self.state.losses.mean()) - 0.5 * self.lam * float(w @ w))

    def exact_dual(self):
        w, losses = active_set.from_scratch(self.problem, self.sets, 1.0 / (self.lam * self.problem.n))
        return float(losses.mean()) - 0.5 * self.lam * float(w @ w)

    def extras(self):
        return {"atoms": float(np.count_nonzero(self.sets.weight))}
