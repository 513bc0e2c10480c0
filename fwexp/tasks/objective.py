"""The objective of structural SVMs and the errors that are logged with it."""

from collections.abc import Callable, Mapping
from numbers import Real

import numpy as np

from fwexp.driver.iteration import Point
from fwexp.driver.trace import ERRORS, TRACE_COLUMNS, is_known
from fwexp.driver.values import Objective, Value
from fwexp.errors import CertificateError, ParameterError, see, shown
from fwexp.options import is_integer, plain
from fwexp.problems.evaluation import Evaluation, evaluator
from fwexp.problems.loss_terms import HINGE
from fwexp.problems.protocol import example, from_public, inner, order_of_weights, original, to_public
from fwexp.solvers.base import Solver

PIECE = 1 << 14  # weights that are compared at once


def is_plausible(problem, primal: float) -> bool:
    """Return whether a value of P(w) can come from an oracle that maximises: P is 0 only if w and all losses are 0."""
    # A user's oracle in Python that always returns the truth has this value as well.
    return primal != 0.0 or isinstance(example(problem), tuple)


def _order(problem):
    """Return the order of the internal weights."""
    return order_of_weights(original(problem))


def _equal(u: np.ndarray, v: np.ndarray) -> bool:
    """Return whether two vectors are equal; if they are not, they usually differ in the first piece."""
    return all(np.array_equal(u[start : start + PIECE], v[start : start + PIECE]) for start in range(0, len(u), PIECE))


def primal_value(solver: Solver, w: np.ndarray, hinge: float, norm_sq: float | None = None) -> float:
    """Return P(w) = lam/2 ||w - w_0||^2 + hinge, w_0 = 0 without an origin, rounded up if the objective has an entropy."""
    norm_sq = inner(solver.problem, w, w) if norm_sq is None else norm_sq
    distance_sq = norm_sq if solver.origin is None else inner(solver.problem, w - solver.origin, w - solver.origin)
    primal = 0.5 * solver.lam * distance_sq + hinge
    return primal if solver.objective == HINGE else primal + solver.rounding(hinge, norm_sq)


class SVMObjective(Objective):
    """P(w) = lam/2 ||w||^2 + 1/n sum_i H_i(w) of a solver's iterates, and the errors of their predictions."""

    # The ``scale`` is what P, D and the gap are divided by before they are shown or tested. D comes with the points.

    def __init__(
        self,
        solver: Solver,
        test=None,
        validation=None,
        metrics: Callable | None = None,
        train_error: bool = False,
        oracle_check: Callable | None = None,
        scale: float = 1.0,
    ) -> None:
        self.solver, self._metrics, self._train_error, self.scale = solver, metrics, train_error, scale
        self._evaluate = evaluator(solver.problem, solver.objective)
        others = {"validation_error": validation, "test_error": test}
        self._others = {name: evaluator(solver.view(problem)) for name, problem in others.items() if problem is not None}
        order = _order(solver.problem)
        self._reordered = {name for name, evaluate in self._others.items() if _order(evaluate.problem) != order}
        self._check = oracle_check and oracle_check(self._evaluate)
        self._latest: tuple[np.ndarray, Evaluation, dict] | None = None  # evaluated once for equal points in a row

    @property
    def calls(self) -> int:
        """Calls of oracles and of ``decode`` so far."""
        return self._evaluate.calls + sum(evaluate.calls for evaluate in self._others.values())

    @property
    def state(self):
        others = {name: evaluate.calls for name, evaluate in self._others.items()}
        return self._evaluate.calls, self._evaluate.mean_loss, others, self._latest

    def restore(self, state):
        self._evaluate.calls, self._evaluate.mean_loss, others, self._latest = state
        for name, calls in others.items():
            self._others[name].calls = calls

    def cost(self) -> int:
        others = sum(evaluate.problem.n for evaluate in self._others.values())
        return self.solver.problem.n * (1 + self._train_error) + others

    def __call__(self, point: Point, stop: Callable[[], bool] | None = None) -> Value:
        if self._latest is None or not _equal(self._latest[0], point.w):
            if self._check is not None and (wrong := self._check(point.w)):
                raise CertificateError(f"the oracle does not maximise: {wrong}{see('faq')}")
            value = self._evaluate(point.w, error=self._train_error, norm_sq=point.norm_sq, stop=stop)
            columns = {"train_error": value.error}
            columns |= self._errors(point.w, stop)
            columns |= self._checked_metrics()
            self._latest = point.w, value, columns
        _, value, columns = self._latest
        norm_sq = value.norm_sq if point.norm_sq is None else point.norm_sq
        return self._value(value.hinge, point.w, norm_sq, columns)

    def known(self, point: Point) -> Value | None:
        hinge = self.solver.known_hinge
        if hinge is None:
            return None
        complete = not self._train_error and not self._others
        return self._value(hinge, point.w, None, {}, complete)

    def _value(self, hinge: float, w: np.ndarray, norm_sq: float | None, columns: dict, complete: bool = True) -> Value:
        primal = primal_value(self.solver, w, hinge, norm_sq)
        certifies = is_plausible(self.solver.problem, primal)
        rounding = self.solver.rounding(hinge, inner(self.solver.problem, w, w) if norm_sq is None else norm_sq)
        return Value(primal, columns, self._evaluate.mean_loss, complete, certifies, hinge, rounding)

    def exact(self, point: Point, value: Value) -> float:
        # The loss term was computed from w alone, not from running sums, so it is not evaluated again.
        return primal_value(self.solver, point.w, value.rest)

    def explain_negative_gap(self, best: np.ndarray, last: np.ndarray) -> str:
        if self.solver.objective != HINGE:
            return "the expectation oracle or the scores of the problem are wrong"
        contradiction = self._evaluate.contradiction(best, [0.0 * last, last, 0.5 * best, 2.0 * best])
        if contradiction is None:
            return "max_oracle does not maximise, or losses or features change between calls"
        i, value, better = contradiction
        return f"max_oracle of example {i} returned a labeling of value {value:.6g}, but knows one of {better:.6g}"

    def errors(self, point: Point, value: Value) -> dict[str, float]:
        """Return the errors of a logged point that were asked for, by the names of their columns."""
        columns = value.columns if value.complete else self._errors(point.w)
        return {name: error for name, error in columns.items() if name in ERRORS and is_known(error)}

    def _errors(self, w: np.ndarray, stop: Callable[[], bool] | None = None) -> dict[str, float]:
        """Return the errors of the test and the validation set at internal weights, by the names of their columns."""
        found = {}
        for name, evaluate in self._others.items():
            of_set = from_public(evaluate.problem, to_public(self.solver.problem, w)) if name in self._reordered else w
            found[name] = evaluate(of_set, hinge=False, norm_sq=np.nan, stop=stop).error  # whose norm is not needed
        return found

    def _checked_metrics(self) -> dict[str, float]:
        """Return what ``metrics`` returns for the latest predictions, checked."""
        if self._metrics is None:
            return {}
        metrics = self._metrics(self._others["test_error"].public_labelings())
        if not isinstance(metrics, Mapping):
            raise ParameterError(f"metrics must return a dict of names and numbers, got {shown(metrics)}")
        for name, value in metrics.items():
            if not isinstance(name, str) or name in TRACE_COLUMNS:
                raise ParameterError(f"metrics must have names that are no column of the trace, got {shown(name)}")
            if not isinstance(plain(value), Real):
                raise ParameterError(f"metrics must return a dict of names and numbers, got {name} = {shown(value)}")
        return {name: plain(value) if is_integer(plain(value)) else float(value) for name, value in metrics.items()}
