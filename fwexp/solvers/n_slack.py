"""n-slack cutting plane (Tsochantaridis et al., JMLR 2005; Joachims, Finley, Yu 2009, Algorithm 1, margin rescaling).

    min_{w, xi}  lam/2 ||w||^2 + 1/n sum_i xi_i   s.t.  <w, psi_i(y)> >= L_i(y) - xi_i  for y in W_i,  xi_i >= 0.

Example by example, in order, the labeling of the max-oracle joins the working set W_i if its constraint is violated, and
after ``batch`` new constraints and at the end of every pass the QP over the working sets is solved again. Its dual is
maximised over the product of the simplices of the W_i, each of which holds the true labeling, xi_i >= 0:

    max_a  1/n sum_i sum_{y in W_i} a_i(y) L_i(y) - lam/2 ||w||^2,   w = 1/(lam n) sum_i sum_{y in W_i} a_i(y) psi_i(y),

by passes over the examples in random orders (the same in all runs), each optimised over its own W_i by pairwise steps in the
space of its scores, without an oracle call. A solution is accepted when the block gaps over the working sets that the
visits of a pass met are on average at most ``qp_tol`` times the largest loss or, where that is more, ``qp_share`` times the
mean block gap of the examples visited since the QP before; or when QPs have taken ``ALLOWED`` visits per oracle call.

Ill-conditioned QPs are accelerated (``acceleration``) unless ``accelerate`` is false: w is then A a drawn towards a centre,
for QPs and oracle alike, as are the gaps by which a solution is accepted. The dual point that goes with w is the best one
between the one before and a, so the dual never falls. kap follows from the psi of the working sets.

A step is a visit of an example, with an oracle call or, in a QP, without (``cache_hits``). Within a QP, ``last`` is the
solution of the QP before.

Parametrisation: the objective of those papers, 1/2 ||w||^2 + (C/n) sum_i xi_i, is this one divided by lam, with C = 1/lam.
Where the sum has no 1/n (LIBLINEAR, scikit-learn), C = 1/(lam n). Their epsilon, the violation that is tolerated, bounds the
gap, which is ``gap_tol`` here.

Memory: that of the active sets, whose formula is in ``active_set``, and 16 bytes per slot; ``size`` bounds the labelings of
an example (of those without weight the one of lowest H_i(w) goes first; 0 keeps all).
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fwexp._jit import njit, specialise
from fwexp.errors import OptionError
from fwexp.problems.protocol import loss, max_oracle, scatter, scores, workspace
from fwexp.solvers import active_set
from fwexp.solvers.acceleration import Centre, chosen_kap
from fwexp.solvers.base import Point, Solver, clipped_step
from fwexp.solvers.one_slack import check_count
from fwexp.solvers.simplex_qp import check_share

FIRST_ROOM = 4  # labelings that there is room for at the start
UNLIMITED = 1 << 40
CORRECTIONS = 10  # pairwise steps per visit
PERIOD = 3.0  # passes of QPs between new centres, at first
ALLOWED = 90  # visits of QPs per oracle call, in all


@dataclass(frozen=True)
class Options:
    """Options of ``n_slack``.

    Attributes
    ----------
    batch : int
        New constraints after which the QP is solved; 1 is the algorithm of the paper.
    size : int
        Labelings that are kept per example; 0 keeps all.
    accelerate : bool
        Whether passes of the QP are accelerated where it is ill conditioned; without, ``last`` is w = A a.
    qp_tol, qp_share : float
        How exactly the QP is solved.
    """

    batch: int = field(default=100, metadata={"check": check_count("solver n_slack: batch", 1)})
    size: int = field(default=0, metadata={"check": check_count("solver n_slack: size", 0)})
    accelerate: bool = field(default=True, metadata={"choices": (True, False)})
    qp_tol: float = field(default=1e-10, metadata={"check": check_share("solver n_slack: qp_tol")})
    qp_share: float = field(default=0.5, metadata={"check": check_share("solver n_slack: qp_share")})


class State(NamedTuple):
    """The working point: w, which is A a or accelerated; a are the weights of the active sets. And where the method is."""

    w: np.ndarray  # internal weights
    losses: np.ndarray  # float64 (n,), n ell_i
    counts: np.ndarray  # int64 (5,), see the names below
    order: np.ndarray  # int64 (n,), the examples as the pass of the QP visits them
    gap: np.ndarray  # float64 (2,), sums of block gaps (times n), see the names below


CALLS, NEW, VISITED = 0, 1, 2  # oracle calls; new constraints and examples visited since the QP before
HITS, PLACE = 3, 4  # visits of QPs, and the example that the pass of the QP has come to
OUTER, INNER = 0, 1  # gaps of the examples visited since the QP before; gaps over the W_i met by the pass of the QP

READY, SET_FULL, QP_DUE = 0, 1, 2


@njit
def _visit(problem, state, sets, kept, work, size, batch, max_calls, max_steps):
    """Call the oracle for one example after the other, and add its labeling to the working set if that is violated."""
    counts = state.counts
    while counts[CALLS] < max_calls and counts[CALLS] + counts[HITS] < max_steps:
        i = counts[CALLS] % problem.n
        # 5: y*
        scores(problem, i, state.w, work.theta)
        value = max_oracle(problem, i, work.theta, work.y, work.scratch)
        active_set.score_all(problem, i, work.theta, sets)
        # 6, 7: is it violated by more than xi_i, the highest score in W_i?
        if value > sets.score[active_set.best_stored(i, sets)]:
            slot = active_set.store(problem, i, work.y, loss(problem, i, work.y), work.theta, size, kept, work)
            if slot < 0:
                return SET_FULL
            counts[NEW] += sets.weight[sets.first[i] + slot] == 0.0
        counts[CALLS] += 1
        counts[VISITED] += 1
        state.gap[OUTER] += value - active_set.mean_score(i, sets)
        if counts[NEW] == batch or counts[CALLS] % problem.n == 0:
            return QP_DUE
    return READY


@njit
def _correct(problem, state, sets, work, lam_n, corrections, max_steps):
    """Go on with the pass of a QP: optimise the examples one after the other over their working sets."""
    counts = state.counts
    while counts[PLACE] < problem.n and counts[CALLS] + counts[HITS] < max_steps:
        i = state.order[counts[PLACE]]
        counts[PLACE] += 1
        if sets.count[i] == 1:
            continue
        counts[HITS] += 1
        scores(problem, i, state.w, work.theta)
        active_set.score_all(problem, i, work.theta, sets)
        state.gap[INNER] += sets.score[active_set.best_stored(i, sets)] - active_set.mean_score(i, sets)
        moved = False
        for _ in range(corrections):
            best, worst = active_set.best_stored(i, sets), active_set.worst_active(i, sets)
            if not active_set.pairwise_step(i, worst, best, lam_n, sets):
                break
            moved = True
        if moved:
            active_set.normalise(i, sets)
            state.losses[i] += active_set.set_change(problem, i, sets, work.direction)
            scatter(problem, i, work.direction, 1.0 / lam_n, state.w)


@njit
def _largest_sq(sets, largest):
    """Set ``largest`` to max ||psi_i(y)||^2 over the working set of every example."""
    for i in range(len(largest)):
        for a in range(sets.count[i]):
            largest[i] = max(largest[i], active_set.gram_entry(i, a, a, sets))


class NSlack(Solver):
    """n-slack cutting plane; a step is an example visited."""

    name = "n_slack"
    title = "n-slack cutting plane"
    Options = Options
    needs = ("max_oracle",)
    has_cache = True  # visits of QPs need no oracle call

    def start(self, seed, iterates, order, warm_start):
        problem = self.problem
        self.work = workspace(problem)
        if warm_start is None:  # 2: the working sets
            self.sets = active_set.new_active_sets(problem, np.full(problem.n, FIRST_ROOM, dtype=np.int64))
        elif isinstance(warm_start, NSlack):
            self.sets = active_set.copied(problem, warm_start.sets)
            self.sets.weight[:] = warm_start.solution
        else:
            raise OptionError(f"solver n_slack cannot start from the dual variables of {warm_start.name}; accepted: n_slack")
        self.solution = self.sets.weight.copy()  # the dual point that is reported
        w, losses = self._from_scratch(self.solution)
        self.image, self.ell, self.w = w.copy(), losses.mean(), w.copy()  # its A a and b'a; the w that is reported
        self.state = State(w, losses, np.zeros(5, dtype=np.int64), np.arange(problem.n), np.zeros(2))
        self.rng = np.random.default_rng(0)  # for orders of passes: cyclic ones are slow where neighbours are alike
        self.tol = None  # of the QP that is being solved
        self.centre, self.passes = None, 0  # passes of QPs since there is a centre

    def advance(self, calls, max_steps):
        problem, state, options = self.problem, self.state, self.options
        size = options.size + 1 if options.size else UNLIMITED
        if max_steps == 0:
            self._correct(0)  # compiles
            self._radii_sq()
        while True:
            if self.tol is not None:
                self._correct(max_steps)
                if state.counts[PLACE] < problem.n:
                    break
                self._end_pass()
                continue
            # Labelings of the reported dual point stay as well.
            kept = self.sets._replace(weight=self.sets.weight + self.solution)
            visit = specialise(_visit, problem)
            ended = visit(problem, state, self.sets, kept, self.work, size, options.batch, calls, max_steps)
            if ended == SET_FULL:
                solution = self.sets._replace(weight=self.solution)
                self.solution = active_set.grown(problem, solution, size).weight
                self.sets = active_set.grown(problem, self.sets, size)
            elif ended == QP_DUE:
                self._begin()
            else:
                break

    def _begin(self) -> None:
        """8: begin to solve the QP over the working sets, where the one before has ended."""
        counts, gap = self.state.counts, self.state.gap
        self.tol = max(self.options.qp_tol * self.sets.loss.max(), self.options.qp_share * gap[OUTER] / counts[VISITED])
        counts[[NEW, VISITED]] = 0
        gap[OUTER] = 0.0
        self._begin_pass()
        largest = float(self.sets.loss.max())
        if self.options.accelerate and largest > 0.0:
            kap = chosen_kap(self._radii_sq(), self.lam * largest)  # as for losses up to 1
            if kap is not None and (self.centre is None or kap >= 2.0 * self.centre.kap):
                if self.centre is not None:
                    self.state.w[:] = self.centre.image(self.state.w)
                self.centre, self.passes = Centre(1, self.lam, kap, PERIOD, self.state.w, watch=False), 0

    def _begin_pass(self) -> None:
        self.state.counts[PLACE] = 0
        self.state.gap[INNER] = 0.0
        self.rng.shuffle(self.state.order)

    def _correct(self, max_steps: int) -> None:
        """Go on with the pass of the QP."""
        kernel = specialise(_correct, self.problem)
        kernel(self.problem, self.state, self.sets, self.work, self._lam_n, CORRECTIONS, max_steps)

    @property
    def _lam_n(self) -> float:
        return self.problem.n * (self.lam if self.centre is None else self.centre.lam)

    def _end_pass(self) -> None:
        """End the QP if it is solved well enough, else begin its next pass; and choose a new centre when it is time."""
        counts, gap = self.state.counts, self.state.gap[INNER] / self.problem.n
        self._begin_pass()
        if gap <= self.tol or counts[HITS] >= ALLOWED * counts[CALLS]:
            self._end()
        if self.centre is not None:
            self.passes += 1
            if self.passes >= self.centre.next_step:
                self.centre.move(self.state.w, gap)

    def _end(self) -> None:
        """End the QP, and report w and the best dual point between the one reported before and a."""
        self.tol, state = None, self.state
        image, losses = self._from_scratch(self.sets.weight)
        state.losses[:] = losses
        state.w[:] = image if self.centre is None else image / (1.0 + self.centre.kap) + self.centre.shift()
        change, loss_change = image - self.image, losses.mean() - self.ell
        gain = loss_change - self.lam * float(self.image @ change)
        gamma = clipped_step(gain, self.lam * float(change @ change))
        self.solution = self.sets.weight.copy() if gamma == 1.0 else (1.0 - gamma) * self.solution + gamma * self.sets.weight
        self.image, self.ell = self.image + gamma * change, self.ell + gamma * loss_change
        self.w = state.w.copy()

    def _radii_sq(self) -> np.ndarray:
        """Return max ||psi_i(y)||^2 over the working sets (n,), the mean of the others where there is none yet."""
        largest = np.zeros(self.problem.n)
        specialise(_largest_sq, self.problem)(self.sets, largest)
        known = largest[self.sets.count > 1]
        return np.where(self.sets.count > 1, largest, known.mean() if len(known) else 0.0)

    def _from_scratch(self, weight) -> tuple[np.ndarray, np.ndarray]:
        """Return A a and n ell_i for dual variables a in the slots of the working sets."""
        sets = self.sets._replace(weight=weight)
        return active_set.from_scratch(self.problem, sets, 1.0 / (self.lam * self.problem.n))

    @property
    def step(self):
        return int(self.state.counts[CALLS] + self.state.counts[HITS])

    @property
    def oracle_calls(self):
        return int(self.state.counts[CALLS])

    @property
    def cache_hits(self):
        return int(self.state.counts[HITS])

    def point(self, iterate):
        return Point(self.w, float(self.ell) - 0.5 * self.lam * float(self.image @ self.image))

    def exact_dual(self):
        w, losses = self._from_scratch(self.solution)
        return float(losses.mean()) - 0.5 * self.lam * float(w @ w)

    def extras(self):
        return {"atoms": float(np.count_nonzero(self.solution)), "cache_hits": float(self.cache_hits)}
