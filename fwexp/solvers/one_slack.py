"""1-slack cutting plane (Joachims, Finley, Yu, Machine Learning 2009, Algorithm 3, with margin rescaling).

    min_{w, xi}  lam/2 ||w||^2 + xi   s.t.  <w, psibar_j> >= Lbar_j - xi  for all planes j of the working set,  xi >= 0,

where psibar_j, Lbar_j are the means of psi_i(y_i), L_i(y_i) over the examples, for some labelings (y_1 .. y_n). Per
iteration one max-oracle call for every example finds the most violated plane, which joins the working set, and the QP is
solved again. Seen from the dual this is fully corrective Frank-Wolfe (``fcfw``): plane j is the corner w_j = psibar_j/lam,
ell_j = Lbar_j, its multiplier the weight of the corner; xi >= 0 is the plane of the true labelings.

Parametrisation: the papers by Joachims minimise 1/2 ||w||^2 + (C/n) sum_i xi_i = 1/2 ||w||^2 + C xi, which is the
objective here divided by lam, with C = 1/lam. Where the sum has no 1/n (LIBLINEAR, scikit-learn), C = 1/(lam n).

Stopping: the newest plane is violated by H(w) - xi = P(w) - D, so their epsilon, the violation that is tolerated, is
``gap_tol`` here (in units of the loss, the same in both parametrisations).

The primal of w is not monotone: ``last`` is the best w whose primal the oracle calls have shown so far, the lower
envelope. The dual is that of the QP, which never falls.

Stabilisation: solutions of the QP jump about, most of all while there are few planes. The planes may be asked for at
w + pull (w_best - w) instead, between the solution w and the best w so far (as in OCAS: Franc, Sonnenburg, ICML 2008, without
its line search); they are valid constraints wherever they come from. Where the answer does not cut the solution off, the
next plane is asked for at the solution itself, so the stopping rule is the same. ``pull = 0`` is the published method; on
handwriting 0.8 needs about half as many oracle calls.

Options of the published code, both of which leave the optimum as it is:

* ``removal``: planes (but xi >= 0) that had no weight in so many QPs in a row are removed.
* ``cache``: so many labelings found by the oracle are kept per example (when full, the one of lowest H_i(w) goes). Each
  iteration first makes the most violated plane of stored labelings; if it is violated by at least 1.5 times the gap that
  is certified so far it joins the working set, a step without oracle calls.

Memory: that of the hull, whose formula is in ``hull``, with one corner per plane; and with a cache n (cache + 1) slots of
active sets (``active_set``).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fwexp.blocks.active_set import ActiveSets, labeling_at, new_active_sets, score_all, store
from fwexp.blocks.weight_steps import best_and_worst
from fwexp.jit.compilation import njit, specialise
from fwexp.options import check_fraction, check_integer, choice, option
from fwexp.problems.protocol import loss, product, scatter_psi, scores, stored_labeling, workspace
from fwexp.solvers.base import Point, Reason, Solver, Stop
from fwexp.solvers.fw import BatchOracle
from fwexp.solvers.hull import Corners, Hull, new_corners

CACHE_SHARE = 1.5  # times the certified gap: by how much a plane of stored labelings must be violated


class Setting(NamedTuple):
    """The choices that define a run with cutting planes; every method makes one from its own options."""

    qp_tol: float
    nonnegative: bool = False
    removal: int = 0
    cache: int = 0
    pull: float = 0.0


@dataclass(frozen=True)
class Options:
    """Options of ``one_slack``.

    Attributes
    ----------
    nonnegative : bool
        Whether the QP has the constraint xi >= 0.
    removal : int
        QPs without weight after which a plane is removed; 0 removes none.
    cache : int
        Labelings that are kept per example; 0 keeps none.
    pull : float
        How far from the solution of the QP towards the best w so far the planes are asked for, 0 <= pull < 1.
    qp_tol : float
        The QP is solved to a duality gap of at most ``qp_tol`` times the largest ell_s.
    """

    nonnegative: bool = choice(True, False)
    removal: int = option(10, check_integer, 0)
    cache: int = option(5, check_integer, 0)
    pull: float = option(0.8, check_fraction)
    qp_tol: float = option(1e-10, check_fraction)

    def setting(self) -> Setting:
        """Return the setting that these options choose."""
        return Setting(**vars(self))


@dataclass
class State:
    """All that a run changes."""

    corners: Corners
    cache: ActiveSets | None  # the labelings that are kept
    idle: np.ndarray  # int64, QPs in a row in which a plane had no weight
    best_w: np.ndarray
    best_primal: float
    at_solution: bool = False  # whether the next plane is asked for at the solution of the QP, for any ``pull``
    step: int = 0
    oracle_calls: int = 0
    cache_hits: int = 0


class OneSlack(Solver):
    """1-slack cutting plane."""

    name = "one_slack"
    title = "1-slack cutting plane"
    takes_warm_start = True
    Options = Options

    @classmethod
    def needs(cls, options):
        return ("sets",) if options.setting().cache else ()

    constraints = True

    def prepare(self):
        self.setting = self.options.setting()
        self.oracle = BatchOracle(self.problem, self.lam)
        self.work = workspace(self.problem)

    def start(self, seed, iterates, order, warm_start):
        problem, setting = self.problem, self.setting
        if warm_start is None:
            hull = Hull(problem, self.lam, new_corners(problem, setting.qp_tol))  # 2: the working set
            if setting.nonnegative:
                hull.add_start()
        else:
            self.check_warm_start(warm_start)
            hull = warm_start.hull.rescaled(self.lam)
        self.state = State(
            corners=hull.corners,
            cache=new_cache(problem, setting.cache) if setting.cache > 0 else None,
            idle=np.zeros(len(hull), dtype=np.int64),
            best_w=hull.w,
            best_primal=np.inf,
        )

    @property
    def hull(self) -> Hull:
        """The planes of the working set."""
        return Hull(self.problem, self.lam, self.state.corners)

    @property
    def cache(self) -> "LabelingCache | None":
        """The labelings that are kept."""
        sets = self.state.cache
        return None if sets is None else LabelingCache(self.problem, self.lam, sets, self.work)

    def advance(self, budget):
        state, hull, cache, n = self.state, self.hull, self.cache, self.problem.n
        reason = Reason.BUDGET
        while reason is Reason.BUDGET and state.step < budget.steps and state.cache_hits < budget.hits:
            # 5-7: the most violated plane, of stored labelings or of all
            corner, w = None, self._query()
            if cache is not None:
                corner = cache.corner(hull, w, CACHE_SHARE * (state.best_primal - hull.dual))
            if corner is not None:
                state.cache_hits += 1
            elif state.oracle_calls + n <= budget.calls:
                corner = w_s, ell_s = self.oracle(w)
                state.oracle_calls += n
                # The answer contains H(w).
                primal = ell_s - self.lam * product(w_s, w) + 0.5 * self.lam * product(w, w)
                if primal < state.best_primal:
                    state.best_w, state.best_primal = w, primal
                if cache is not None:
                    cache.store(self.oracle.labelings, w)
                reason = Reason.KNOWN if budget.until_known else Reason.BUDGET
            else:
                break
            # 8, 4: the working set grows, and the QP is solved
            at_solution = state.at_solution or self.setting.pull == 0.0
            state.at_solution = not hull.add(*corner)
            if at_solution and state.at_solution and hull.rounds:  # All further steps would be the same again.
                reason = Reason.STALLED
            if not state.at_solution:
                hull.maximise()
                self._remove_idle()
            state.step += 1
        return Stop(reason, calls_needed=n)

    @property
    def known_hinge(self):
        """The last iterate is the best w at which the oracle was asked."""
        w, primal = self.state.best_w, self.state.best_primal
        return float(primal - 0.5 * self.lam * product(w, w)) if np.isfinite(primal) else None

    def _query(self) -> np.ndarray:
        """Return where the next plane is asked for."""
        w, state = self.hull.w, self.state
        if self.setting.pull == 0.0 or state.at_solution or not np.isfinite(state.best_primal):
            return w
        return w + self.setting.pull * (state.best_w - w)

    def _remove_idle(self) -> None:
        hull, first = self.hull, int(self.setting.nonnegative)
        idle = np.append(self.state.idle, 0) + 1
        idle[hull.weights > 0.0] = 0
        if self.setting.removal > 0:
            for k in reversed(first + np.flatnonzero(idle[first:] >= self.setting.removal)):
                hull.discard(k)
                idle[k], idle = idle[-1], idle[:-1]  # as the hull does it
        self.state.idle = idle

    def compile(self):
        w = np.zeros_like(self.hull.w)
        self.oracle(w)
        self.hull.compile()
        if self.state.cache is not None:
            cache = LabelingCache(self.problem, self.lam, new_cache(self.problem, self.setting.cache), self.work)
            cache.store(self.oracle.labelings, w)
            cache.corner(self.hull, w, np.inf)

    def point(self, iterate):
        return Point(self.state.best_w, self.hull.dual)

    @cached_property
    def terms(self):
        return super().terms._replace(has_cache=self.state.cache is not None, shows_objective=True)

    @property
    def cache_hits(self):
        return self.state.cache_hits

    def extras(self):
        hits = {} if self.state.cache is None else {"cache_hits": float(self.cache_hits)}
        return {"atoms": float(len(self.hull)), **hits}


def new_cache(problem, size: int) -> ActiveSets:
    """Return room for ``size`` labelings per example in addition to the true one."""
    return new_active_sets(problem, np.full(problem.n, size + 1, dtype=np.int64))


class LabelingCache:
    """Labelings that the oracle has found, as many per example as ``sets`` has room for."""

    def __init__(self, problem, lam: float, sets: ActiveSets, work) -> None:
        self.problem, self.lam, self._sets, self._work = problem, lam, sets, work
        self._size = int(sets.first[1])
        self._best = np.zeros(problem.n, dtype=np.int64)

    def store(self, labelings, w: np.ndarray) -> None:
        """Store one labeling per example, found at w."""
        specialise(_store, self.problem)(self.problem, labelings, w, self._sets, self._size, self._work)

    def corner(self, hull: Hull, w: np.ndarray, violation: float) -> tuple[np.ndarray, float] | None:
        """Return the corner of the stored labelings that are best at w if its violation is at least ``violation``, else None."""
        problem = self.problem
        specialise(_best_stored, problem)(problem, w, self._sets, self._work, self._best)
        w_s = np.zeros_like(w)
        losses = specialise(_add_up, problem)(problem, self._sets, self._best, 1.0 / (self.lam * problem.n), w_s)
        corner = w_s, losses / problem.n
        return corner if hull.violation(*corner) > max(violation, hull.accuracy) else None


@njit
def _store(problem, labelings, w, sets, size, work):
    for i in range(problem.n):
        scores(problem, i, w, work.theta)
        score_all(problem, i, work.theta, sets)
        y = stored_labeling(problem, i, labelings)
        store(problem, i, y, loss(problem, i, y), work.theta, size, sets, work)


@njit
def _best_stored(problem, w, sets, work, best):
    """Set ``best`` to the slots of highest score."""
    for i in range(problem.n):
        scores(problem, i, w, work.theta)
        score_all(problem, i, work.theta, sets)
        best[i], _ = best_and_worst(i, sets)


@njit
def _add_up(problem, sets, slots, c, w):
    """Add c psi_i of one slot per example to w; return the sum of their losses."""
    total = 0.0
    for i in range(problem.n):
        if slots[i] > 0:
            scatter_psi(problem, i, labeling_at(sets, i, slots[i]), c, w)
            total += sets.loss[sets.first[i] + slots[i]]
    return total
