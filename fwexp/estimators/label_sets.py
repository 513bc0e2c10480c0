r"""Training of taggers on sets of labels, one of which is right at a position: one convex bound after the other.

With A_i the labelings that agree with the sets of sequence i, the objective is

    F(w) = lam/2 ||w||^2 + 1/N sum_i [max_y (L_i(y) + <w, phi(y)>) - max_{y in A_i} <w, phi(y)>]

for the hinge (Yu and Joachims 2009; Lou and Hamprecht 2012), where L_i counts the positions with labels outside of their sets, and
with log sum exp instead of both maxima for objectives with an entropy (Tsuboi et al. 2008). The last term is concave. At w_t, its
tangent instead of it gives a convex bound M_t >= F with M_t(w_t) = F(w_t), which is the objective of labels that are known: those
of highest score in A_i, or for an entropy their expectations at w_t. Differences of these to one labeling of A_i are a linear term
-<w, delta>, by which lam/2 ||w||^2 becomes lam/2 ||w - delta/lam||^2. So every step trains on such labels, as usual, and w_{t+1} is
the result.

Given the dual objective D of the step, M_t(w_t) - min M_t is at most F(w_t) - D. Training ends once that is at most tol; before,
every step lowers F by tol/2 or more. It begins with the expectations at w = 0, where all labelings of A_i are equal.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fwexp.driver.progress import print_line
from fwexp.driver.settings import check_gap_tol, check_lam, check_time_limit
from fwexp.errors import ParameterError, WarmStartError, see
from fwexp.estimators.certified_fit import (
    UNFINISHED,
    interrupts,
    is_verbose,
    lam_of,
    positions_per_example,
    solve,
    warn_of_convergence,
)
from fwexp.estimators.encoding import carried
from fwexp.estimators.labels import weighted
from fwexp.jit.compilation import njit, specialise
from fwexp.problems import walk
from fwexp.problems.chain import FORBIDDEN, first_forbidden
from fwexp.problems.evaluation import evaluator
from fwexp.problems.loss_terms import HINGE, make_objective, soft_workspace
from fwexp.problems.protocol import (
    decode,
    expectation_oracle,
    from_public,
    new_weights,
    scatter,
    scores,
    set_dense,
    to_public,
)
from fwexp.problems.weighted import total_weight
from fwexp.tasks.result import Result
from fwexp.types import Callback

COUNTS = ("step", "oracle_calls", "passes", "evaluation_calls", "time")  # columns that add up over the steps
FORCING = 0.1  # gap of a step by the largest possible gain of the last one
UNCERTIFIED = "labels of y are sets, so that the objective is not convex and nothing is certified"


@njit
def _explain(problem, w, allowed, c, work, soft, y, total):
    """Set the labels of the problem to those of highest score at internal weights; return delta and the constant of a bound."""
    # Differences to these labels are small once the weights are sure, and then a step starts near its end.
    first, width, entropy = walk.num_shared(problem), problem.width, 0.0
    for i in range(problem.n):
        scores(problem, i, w, work.theta)
        start, end, size = problem.label_ptr[i], problem.label_ptr[i + 1], problem.part_ptr[i + 1] - problem.part_ptr[i]
        for t in range(end - start):
            for k in range(problem.num_states):
                if not allowed[start + t, k]:
                    work.theta[first + t * width + k] = FORBIDDEN
        if soft:
            entropy += c[i] * expectation_oracle(problem, i, work.theta[:size], work.mean[:size], work.expectation)[2]
            set_dense(problem, i, work.mean, work.direction)
            scatter(problem, i, work.direction, c[i], total)
        else:
            decode(problem, i, work.theta, work.y, work.scratch)
            for t in range(end - start):
                y[start + t] = work.y[t]
    return entropy


@dataclass(frozen=True)
class Bound:
    """The convex bound of F that touches it at w."""

    problem: Any  # with labels
    origin: np.ndarray  # weights to which the regularised distance is, by the linear term
    shift: float  # by which the objective of a step on these labels is larger
    w: np.ndarray
    value: float  # F(w)


class Bounds:
    """The convex bounds of an objective, made from a problem with any labels and the labels that are allowed."""

    def __init__(self, problem, weights, allowed: np.ndarray, lam: float | str, objective, origin=None) -> None:
        whole = weighted(problem, weights)
        self.problem, self.weights, self.allowed, self.objective = problem, weights, allowed, objective
        self.origin = np.zeros(problem.d) if origin is None else origin
        self.c = np.ones(problem.n) if weights is None else whole.c
        self.scale = problem.n * positions_per_example(whole)
        self.lam = check_lam("lam", lam, total_weight(whole) * positions_per_example(whole))
        self._work, self._kernel = soft_workspace(problem), specialise(_explain, problem)
        self._explain(new_weights(problem), soft=False)
        wrong = ~allowed[np.arange(len(allowed)), self.problem.labels]
        self.impossible = (first_forbidden(self.problem) or (None,))[0]  # a sequence without a labeling that is allowed
        if wrong.any():
            self.impossible = int(np.searchsorted(problem.label_ptr, wrong.argmax(), side="right")) - 1

    def _explain(self, w: np.ndarray, soft: bool) -> tuple[np.ndarray, float]:
        """Set the labels of the problem to those of highest score at internal weights; return delta and the constant of a bound.

        Differences to these labels are small once the weights are sure, and then a step starts near its end.
        """
        labels, total, entropy = self.problem.labels.copy(), new_weights(self.problem), 0.0
        self._kernel(self.problem, w, self.allowed, self.c, self._work, False, labels, total)
        self.problem = self.problem._replace(labels=labels)
        if soft:
            entropy = self._kernel(self.problem, w, self.allowed, self.c, self._work, True, labels, total)
        return -to_public(self.problem, total) / self.scale, entropy / self.scale

    def at(self, w: np.ndarray, soft: bool) -> Bound:
        """Return the bound at public weights: with expectations, or if it is not ``soft``, with labels of highest score."""
        inner = from_public(self.problem, w)
        delta, entropy = self._explain(inner, soft)
        problem = weighted(self.problem, self.weights)
        hinge = evaluator(problem, self.objective)(inner, error=False).hinge * problem.n / self.scale
        shift = 0.5 * float(delta @ delta) / self.lam + float(delta @ self.origin) + (entropy if self.objective != HINGE else 0.0)
        origin = self.origin + delta / self.lam
        value = 0.5 * self.lam * float((w - origin) @ (w - origin)) + hinge - shift
        return Bound(problem, origin, shift, w, value)


def fit_of_sets(
    estimator, encoding, problem, weights, X, y: list[list], *, lam=None, origin=None, callback=None, warns=True, **more
) -> Result:
    """Return the result of training on checked sequences X and their labels y, of which some positions have sets of labels."""
    # The other arguments are those of `certified_fit`; ``warns`` is of training that did not reach its tolerance.
    objective, tol = make_objective(estimator._objective, 1.0), check_gap_tol("tol", estimator.tol)
    lam = lam_of(estimator, weighted(problem, weights)) if lam is None else lam
    bounds = Bounds(problem, weights, encoding.allowed_in(y), lam, objective, origin)
    if bounds.impossible is not None:
        raise ParameterError(f"y[{X.places[bounds.impossible]}] must have labels that constraints allow, got none in the sets")
    w = bounds.origin
    if origin is None and getattr(estimator, "warm_start", False) and "encoding_" in vars(estimator):
        w = carried(estimator.result_.w, estimator.encoding_.names(), encoding.names())
    soft, missing, result = objective != HINGE or not w.any(), math.inf, None
    callback, limit = callback or estimator.callback, check_time_limit("time_limit", estimator.time_limit)
    past = dict.fromkeys(COUNTS, 0.0)
    traces, status = [], None
    best = bound = bounds.at(w, soft)
    while status is None:
        wanted = tol * (bound.value if estimator._relative_tol else 1.0)
        rest = {"max_passes": estimator.max_passes - past["passes"], "tol": max(0.5 * wanted, FORCING * min(missing, bound.value))}
        rest["time_limit"] = None if limit is None else limit - past["time"]
        on_row = None if callback is None else _continued_callback(callback, bound, past)
        result = _step(estimator, rest, bound, bounds.lam, callback=on_row, **more)
        traces.append(result.trace.assign(**_continued(result.trace, bound, past)))
        past = traces[-1][[*COUNTS]].iloc[-1].to_dict()
        missing = bound.value - (result.dual - bound.shift) if soft == (objective != HINGE) else math.inf
        if is_verbose(estimator.verbose):
            left = f"at most {missing:.2g} above the least of a convex bound, wanted {wanted:.2g}"
            print_line(f"{past['passes']:.4g} passes: objective {bound.value:.6g}, {left}")
        if missing <= wanted:
            status, best = "converged", bound
            break
        soft = objective != HINGE
        bound = bounds.at(result.w, soft)
        best = min(best, bound, key=lambda one: one.value)
        if result.status in ("interrupted", "time_limit"):
            status = result.status
        elif past["passes"] >= estimator.max_passes:
            status = "max_passes"
        elif limit is not None and past["time"] >= limit:
            status = "time_limit"
    left = f"{missing:.2g} above the least of a convex bound that is equal at w"
    reason = f"after {past['passes']:.4g} passes, {left}; {UNCERTIFIED}{see('taggers')}"
    if status in UNFINISHED and warns:
        advice = f"raise {status}{', lam' * hasattr(estimator, 'lam')} or tol"
        warn_of_convergence(f"training stopped {reason}; {advice}")
    values = {"w": best.w, "primal": best.value, "dual": math.nan, "gap": math.nan, "status": status, "reason": reason}
    return replace(result, trace=pd.concat(traces, ignore_index=True), state=None, **values)


def _step(estimator, changes: dict, bound: Bound, lam: float, **more) -> Result:
    """Return the minimum of a bound, to a gap of ``tol`` in the changes of parameters."""
    inner = type(estimator)(**estimator.get_params(deep=False) | changes | {"verbose": 0})
    origin = bound.origin if bound.origin.any() else None
    starts = [{"near": bound.w}] * bool(bound.w.any()) + [{}]
    for start in starts:
        try:
            with interrupts():
                return solve(inner, bound.problem, lam, origin=origin, relative_gap=False, **start, **more)
        except WarmStartError:
            continue
    raise AssertionError  # The last start is always possible.


def _continued(row, bound: Bound, past: dict) -> dict:
    """Return the columns by which rows of a step continue those of others: the objective is an upper bound, without certificate."""
    return {"primal": row["primal"] - bound.shift, "dual": math.nan, "gap": math.nan} | {
        name: row[name] + past[name] for name in COUNTS
    }


def _continued_callback(callback: Callback, bound: Bound, past: dict) -> Callback:
    """Return the callback of a step, whose rows continue those of others."""
    return lambda row: callback(row | _continued(row, bound, past))
