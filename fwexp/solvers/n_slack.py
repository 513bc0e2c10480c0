"""n-slack cutting plane (Tsochantaridis et al., JMLR 2005; Joachims, Finley, Yu 2009, Algorithm 1, margin rescaling).

    min_{w, xi}  lam/2 ||w||^2 + 1/n sum_i xi_i   s.t.  <w, psi_i(y)> >= L_i(y) - xi_i  for y in W_i,  xi_i >= 0.

Example by example, in order, the labeling of the max-oracle joins the working set W_i if its constraint is violated, and
after ``batch`` new constraints and at the end of every pass the QP over the working sets is solved again. Its dual is
maximised over the product of the simplices of the W_i, each of which holds the true labeling, xi_i >= 0:

    max_a  1/n sum_i sum_{y in W_i} a_i(y) L_i(y) - lam/2 ||w||^2,   w = 1/(lam n) sum_i sum_{y in W_i} a_i(y) psi_i(y),

by passes over the examples in random orders (the same in all runs) except those visited since the QP before, which come
first; each is optimised over its own W_i by pairwise steps in the space of its scores, without an oracle call. A solution is
accepted when the block gaps over the working sets that the visits of a pass met are on average at most ``qp_tol`` times the
largest loss or, where that is more, ``qp_share`` times the mean block gap of the examples visited since the QP before. It is also
when the QP has taken ``qp_visits`` visits per oracle call since the one before; then the next QP goes on with the pass.

Certificate (ours): calls for all n examples at the same w show P(w), and are constraints as well. With ``certify`` the QP waits
for that as long as w can end the run: until the block gaps found at w, after a multiple of ``batch`` visits, sum to more than n
times the gap asked for. It waits in any case in the first pass, and again `UNCERTIFIED` passes after P(w) was known.

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

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fwexp.blocks import active_set, weight_steps
from fwexp.blocks.acceleration import acceleration_strength
from fwexp.blocks.active_set import UNLIMITED
from fwexp.blocks.block_loop import clipped_step
from fwexp.blocks.centres import ProximalCentre, new_centre
from fwexp.jit.compilation import njit, specialise
from fwexp.options import check_flag, check_fraction, check_integer, check_number, choice, option
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.protocol import KernelView, kernel_view, product, scatter, scores, stored_labeling, workspace
from fwexp.solvers.base import Budget, Point, Reason, Solver, Stop

FIRST_ROOM = 4  # labelings that there is room for at the start
CORRECTIONS = 10  # pairwise steps per visit
PERIOD = 3  # passes of QPs between new centres, at first
UNCERTIFIED = 3  # passes of oracle calls after which ``certify`` keeps w until P(w) is known


@dataclass(frozen=True)
class Options:
    """Options of ``n_slack``.

    Attributes
    ----------
    batch : int
        Examples that are visited at the same w, until as many new constraints are found; then the QP is solved. 1 is the algorithm
        of the paper.
    size : int
        Labelings that are kept per example; 0 keeps all.
    accelerate : bool
        Whether passes of the QP are accelerated where it is ill conditioned; without, ``last`` is w = A a.
    qp_tol, qp_share : float
        How exactly the QP is solved.
    qp_visits : float
        Visits of a QP per oracle call since the one before, after which it is not solved any further; with 1 these are of the
        examples that the oracle was called for.
    certify : bool
        Whether w stays, while it may end the run, until the oracle calls have shown P(w).
    """

    batch: int = option(100, check_integer, 1)
    size: int = option(0, check_integer, 0)
    accelerate: bool = choice(True, False)
    qp_tol: float = option(1e-10, check_fraction)
    qp_share: float = option(0.5, check_fraction)
    qp_visits: float = option(90.0, check_number, "a number >= 1", least=1.0, added_later=True)
    certify: bool = option(False, check_flag, added_later=True)


class WorkingPoint(NamedTuple):
    """The working point: w, which is A a or accelerated; a are the weights of the active sets. And where the method is."""

    w: np.ndarray  # internal weights
    losses: np.ndarray  # float64 (n,), n ell_i
    counts: np.ndarray  # int64 (7,), see the names below
    order: np.ndarray  # int64 (n,), the examples as the pass of the QP visits them
    gap: np.ndarray  # float64 (3,), sums of block gaps (times n), see the names below


ORACLE_CALLS, NEW_CONSTRAINTS, VISITED = 0, 1, 2  # oracle calls; new constraints and examples visited since the QP before
QP_VISITS = 3  # visits of QPs
QP_POSITION, QP_PASS = 4, 5  # where in its order the pass of the QP is, and how many examples it has come to
KNOWN_AT = 6  # oracle calls when P(w) was known last
OUTER, INNER = 0, 1  # gaps of the examples visited since the QP before; gaps over the W_i met by the pass of the QP
HINGE = 2  # H_i(w) of the examples visited since the QP before


@njit
def _add(problem, working, sets, kept, labelings, values, losses, start, end, work, size):
    """Add what the oracle answered, with H_i(w) and L_i, to the working sets of the examples start .. end, if that is violated."""
    # Returns ``end``, or the example that has no room.
    counts = working.counts
    for i in range(start, end):
        scores(problem, i, working.w, work.theta)
        active_set.score_all(problem, i, work.theta, sets)
        # 6, 7: is it violated by more than xi_i, the highest score in W_i?
        value, best = values[i], sets.score[weight_steps.best_and_worst(i, sets)[0]]
        if weight_steps.exceeds(value, best, max(sets.scale[0], losses[i])):
            y = stored_labeling(problem, i, labelings)
            slot = active_set.store(problem, i, y, losses[i], work.theta, size, kept, work)
            if slot < 0:
                return i
            counts[NEW_CONSTRAINTS] += sets.weight[sets.first[i] + slot] == 0.0
        counts[ORACLE_CALLS] += 1
        counts[VISITED] += 1
        working.gap[OUTER] += value - active_set.mean_score(i, sets)
        working.gap[HINGE] += value
    return end


@njit
def _correct(problem, working, sets, work, lam_n, corrections, visits):
    """Continue the pass of a QP for so many visits: optimise one example after the other over its working set."""
    counts, order = working.counts, working.order
    while counts[QP_POSITION] < problem.n and visits > 0:
        i = order[counts[QP_POSITION]]
        counts[QP_POSITION] += 1
        counts[QP_PASS] += 1
        if sets.count[i] == 1:
            continue
        counts[QP_VISITS] += 1
        visits -= 1
        active_set.score_at(problem, i, working.w, work, sets)
        best, worst = weight_steps.best_and_worst(i, sets)
        working.gap[INNER] += sets.score[best] - active_set.mean_score(i, sets)
        moved = False
        for _ in range(corrections):
            moves, highest, lowest = weight_steps.pairwise_step(i, worst, best, lam_n, sets)
            if not moves:
                break
            best, worst = weight_steps.slots_at(i, highest, lowest, sets)
            moved = True
        if moved:
            weight_steps.normalise(i, sets)
            working.losses[i] += active_set.set_change(problem, i, sets, work.direction)
            scatter(problem, i, work.direction, 1.0 / lam_n, working.w)


@njit
def _largest_sq(sets, largest):
    """Set ``largest`` to max ||psi_i(y)||^2 over the working set of every example."""
    for i in range(len(largest)):
        for a in range(sets.count[i]):
            largest[i] = max(largest[i], active_set.gram_entry(i, a, a, sets))


@dataclass
class QP:
    """The QP that is being solved: it ends at a gap of ``tol``, or after enough visits."""

    tol: float
    asked: int  # oracle calls since the QP before
    begun: int  # visits of QPs, when this one began


@dataclass
class State:
    """All that a run changes."""

    working: WorkingPoint
    sets: active_set.ActiveSets  # the working sets, with the dual variables a as weights
    solution: np.ndarray  # the dual point that is reported, in the slots of the sets
    image: np.ndarray  # its A a
    ell: float  # its b'a
    w: np.ndarray  # the w that is reported
    hinge: float | None  # 1/n sum_i H_i(w) of it, if the latest visits have shown that
    rng: np.random.Generator  # for orders of passes: cyclic ones are slow where neighbours are alike
    qp: QP | None = None  # none while examples are visited
    centre: ProximalCentre | None = None
    passes: int = 0  # of QPs since there is a centre


def _bring_forward(examples: np.ndarray, order: np.ndarray, position: int) -> int:
    """Move some examples to ``position`` of an order, even if it has passed them; return the new position."""
    chosen = np.zeros(len(order), dtype=bool)
    chosen[examples] = True
    chosen = chosen[order]
    before = order[:position][~chosen[:position]]
    order[:] = np.concatenate((before, order[chosen], order[position:][~chosen[position:]]))
    return len(before)


def _packed(sets, view):
    """Return the sets with labelings as they look in a `KernelView`."""
    return sets._replace(storage=view.pack_storage(sets.storage, lambda: active_set.owners(sets)))


class NSlack(Solver):
    """n-slack cutting plane; a step is an example visited."""

    name = "n_slack"
    title = "n-slack cutting plane"
    takes_warm_start = True
    Options = Options

    @classmethod
    def needs(cls, options):
        return ("sets",)

    def prepare(self):
        n = self.problem.n
        self.kernel_view, self.oracle, self.arrays = kernel_view(self.problem), Evaluator(self.problem), None
        self.answers = np.empty(n), np.empty(n)  # H_i(w) and L_i, of the examples visited last

    @property
    def state(self):
        """The state, its labelings in the form that the problem itself has them."""
        return replace(self._state, sets=self._unpacked(self._state.sets))

    def restore(self, state):
        self._state = replace(state, sets=_packed(state.sets, self.kernel_view))

    def start(self, seed, iterates, order, warm_start):
        problem = self.problem
        if warm_start is None:  # 2: the working sets
            sets = active_set.new_active_sets(problem, np.full(problem.n, FIRST_ROOM, dtype=np.int64))
        else:
            self.check_warm_start(warm_start)
            sets = active_set.copied(problem, warm_start.state.sets)
            sets.weight[:] = warm_start.state.solution
        sets = _packed(sets, self.kernel_view)
        w, losses = self._from_scratch(sets)
        rng = np.random.default_rng(0)
        counts = np.array([0, 0, 0, 0, 0, 0, -UNCERTIFIED * problem.n])
        working = WorkingPoint(w, losses, counts, rng.permutation(problem.n), np.zeros(3))
        self._state = State(working, sets, sets.weight.copy(), w.copy(), losses.mean(), w.copy(), None, rng)

    @cached_property
    def terms(self):
        # Visits of QPs need no oracle call.
        return super().terms._replace(has_cache=True, shows_objective=self.options.certify)

    def compile(self):
        self._correct(0)
        self._radii_sq()

    def advance(self, budget):
        while self.cache_hits < budget.hits:
            visits = self._state.qp is None
            if not (self._visit if visits else self._solve)(budget):
                break
            if visits and budget.until_known and self.known_hinge is not None:
                return Stop(Reason.KNOWN)
        return Stop()

    def _visit(self, budget: Budget) -> bool:
        """Call the oracle for the next examples, as many as may have to join before the QP; return whether there was any."""
        state, counts, n = self._state, self._state.working.counts, self.problem.n
        batch = self.options.batch
        visited = counts[VISITED]
        visits = min(budget.calls - counts[ORACLE_CALLS], budget.steps - self.step, batch - visited % batch, n - visited)
        start = counts[ORACLE_CALLS] % n
        end = min(start + visits, n)
        if end <= start:
            return False
        if start == 0 and self.kernel_view.too_large:
            self._choose_view()
        # 5: y*
        self.oracle.oracles_in_range(start, end, state.working.w, *self.answers)
        labelings = self.kernel_view.pack(self.oracle.labelings, start, end)
        size = self.options.size + 1 if self.options.size else UNLIMITED
        while start < end:
            problem, work = self._kernel_arguments()
            # Labelings of the reported dual point stay as well, where any can go.
            kept = state.sets._replace(weight=state.sets.weight + state.solution) if self.options.size else state.sets
            values = state.working, state.sets, kept, labelings, *self.answers
            start = specialise(_add, problem)(problem, *values, start, end, work, size)
            if start < end:
                room = active_set.more_room(kept, size)
                state.solution = active_set.with_room(kept._replace(weight=state.solution), room, keep=True).weight
                state.sets = active_set.with_room(active_set.with_places(problem, state.sets, room), room)
        if counts[VISITED] == n:
            state.w, state.hinge = state.working.w.copy(), float(state.working.gap[HINGE] / n)
            counts[KNOWN_AT] = counts[ORACLE_CALLS]
        if self._has_enough(budget.gap_tol):
            self._begin()
        return True

    def _has_enough(self, gap_tol: float) -> bool:
        """Return whether enough examples have been visited at w for a QP."""
        working, n, batch = self._state.working, self.problem.n, self.options.batch
        calls, visited, new, known_at = working.counts[[ORACLE_CALLS, VISITED, NEW_CONSTRAINTS, KNOWN_AT]].tolist()
        if not self.options.certify:
            return (visited % batch == 0 and new >= batch) or calls % n == 0
        may_move = calls - visited - known_at < UNCERTIFIED * n and working.gap[OUTER] > gap_tol * n
        return visited == n or (visited % batch == 0 and may_move)

    # --- arrays for kernels ---

    def _choose_view(self) -> None:
        """Restrict kernels to the stored constraints; if these are too large as well, run in plain Python."""
        sets, view = self._unpacked(self._state.sets), kernel_view(self.problem)
        packed = _packed(sets, view)  # asks functions of others, which may raise
        if view.too_large:
            packed, view = sets, KernelView(self.problem)
        self._state.sets, self.kernel_view = packed, view

    def _unpacked(self, sets):
        return sets._replace(storage=self.kernel_view.unpack_storage(sets.storage))

    def _kernel_arguments(self):
        """Return the problem as kernels see it now, and buffers."""
        problem = self.kernel_view.problem
        if problem is not self.arrays:
            self.arrays, self.work = problem, workspace(problem)
        return problem, self.work

    # --- the QP ---

    def _begin(self) -> None:
        """Start to solve the QP over the working sets (step 8), if the one before has ended."""
        state, options = self._state, self.options
        counts, gap, largest = state.working.counts, state.working.gap, float(state.sets.loss.max())
        asked = int(counts[VISITED])
        outer_gap = float(gap[OUTER]) / asked
        state.qp = QP(max(options.qp_tol * largest, options.qp_share * outer_gap), asked, self.cache_hits)
        new = (counts[ORACLE_CALLS] - 1 - np.arange(asked)) % self.problem.n
        counts[QP_POSITION] = _bring_forward(new, state.working.order, counts[QP_POSITION])
        counts[[NEW_CONSTRAINTS, VISITED]] = 0
        gap[[OUTER, HINGE]] = 0.0
        if options.accelerate and largest > 0.0:
            kap = acceleration_strength(self._radii_sq(), self.lam * largest)  # as for losses up to 1
            if kap is not None and (state.centre is None or kap >= 2.0 * state.centre.kap):
                w = state.working.w
                if state.centre is not None:
                    w[:] = state.centre.image(w)
                state.centre, state.passes = new_centre(kap, self.lam, PERIOD, 0, w, w, watch=False), 0

    def _solve(self, budget: Budget) -> bool:
        """Continue the QP; return whether there is more to do."""
        state, counts = self._state, self._state.working.counts
        most = min(budget.steps - self.step, budget.hits - self.cache_hits)
        if most <= 0:
            return False
        state.hinge = None  # was logged where it became known
        self._correct(min(most, int(np.ceil(self._visits_left))))
        if counts[QP_POSITION] == self.problem.n:
            self._end_pass()
        if state.qp is not None and self._visits_left <= 0.0:
            self._end()
        return True

    @property
    def _visits_left(self) -> float:
        qp = self._state.qp
        return self.options.qp_visits * qp.asked - (self.cache_hits - qp.begun)

    def _correct(self, visits: int) -> None:
        problem, work = self._kernel_arguments()
        lam_n = problem.n * (self.lam if self._state.centre is None else self._state.centre.inner_lam)
        specialise(_correct, problem)(problem, self._state.working, self._state.sets, work, lam_n, CORRECTIONS, visits)

    def _end_pass(self) -> None:
        """Start the next pass of QPs; end the QP if it is solved well enough, and choose a new centre when it is time."""
        state, working = self._state, self._state.working
        gap = float(working.gap[INNER] / working.counts[QP_PASS])
        working.counts[[QP_POSITION, QP_PASS]] = 0
        working.gap[INNER] = 0.0
        state.rng.shuffle(working.order)
        if gap <= state.qp.tol:
            self._end()
        if state.centre is not None:
            state.passes += 1
            if state.passes >= state.centre.next_step:
                state.centre.move(working.w, working.w, lambda: gap)

    def _end(self) -> None:
        """End the QP, and report w and the best dual point between the one reported before and a."""
        state, working = self._state, self._state.working
        asked, state.qp = state.qp.asked, None
        if working.counts[ORACLE_CALLS] % self.problem.n == 0 or asked == self.problem.n:  # rounding adds up
            image, losses = self._from_scratch(state.sets)
            working.losses[:] = losses
            working.w[:] = image if state.centre is None else state.centre.shifted(image)
        image = working.w if state.centre is None else state.centre.image(working.w)
        change, loss_change = image - state.image, working.losses.mean() - state.ell
        gain = loss_change - self.lam * product(state.image, change)
        gamma, weight = clipped_step(gain, self.lam * product(change, change)), state.sets.weight
        state.solution = weight.copy() if gamma == 1.0 else (1.0 - gamma) * state.solution + gamma * weight
        state.image, state.ell = state.image + gamma * change, state.ell + gamma * loss_change
        state.w = working.w.copy()

    def _radii_sq(self) -> np.ndarray:
        """Return max ||psi_i(y)||^2 over the working sets (n,), the mean of the others where there is none yet."""
        largest, sets = np.zeros(self.problem.n), self._state.sets
        specialise(_largest_sq, self.kernel_view.problem)(sets, largest)
        known = largest[sets.count > 1]
        return np.where(sets.count > 1, largest, known.mean() if len(known) else 0.0)

    def _from_scratch(self, sets) -> tuple[np.ndarray, np.ndarray]:
        """Return A a and n ell_i for the dual variables that are the weights of ``sets``, which are packed."""
        return active_set.from_scratch(self.kernel_view.problem, sets, 1.0 / (self.lam * self.problem.n))

    @property
    def step(self):
        return self.oracle_calls + self.cache_hits

    @property
    def oracle_calls(self):
        return int(self._state.working.counts[ORACLE_CALLS])

    @property
    def known_hinge(self):
        return self._state.hinge

    @property
    def cache_hits(self):
        return int(self._state.working.counts[QP_VISITS])

    def point(self, iterate):
        state = self._state
        return Point(state.w, float(state.ell) - 0.5 * self.lam * product(state.image, state.image))

    def exact_dual(self):
        w, losses = self._from_scratch(self._state.sets._replace(weight=self._state.solution))
        return float(losses.mean()) - 0.5 * self.lam * product(w, w)

    def extras(self):
        return {"atoms": float(np.count_nonzero(self._state.solution)), "cache_hits": float(self.cache_hits)}
