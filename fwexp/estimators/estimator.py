"""The base of all estimators: training to a certified result, and files without pickle."""

import signal
import sys
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fwexp.driver.clock import on_interrupt
from fwexp.driver.settings import check_gap_tol
from fwexp.errors import ParameterError, WarmStartError, shown, warn
from fwexp.estimators.base_classes import AnyIterate
from fwexp.estimators.carried_weights import Names, carried
from fwexp.estimators.example_weights import weighted
from fwexp.estimators.fitted_estimator import FittedEstimator
from fwexp.estimators.labels import classes_of_call
from fwexp.options import check_positive, is_integer, plain
from fwexp.problems.protocol import costly_oracle, counted_positions, exact_oracle, original
from fwexp.problems.weighted import total_weight
from fwexp.solvers import check_options, get_method
from fwexp.tasks.result import Result
from fwexp.tasks.train import train
from fwexp.tasks.training_settings import Settings
from fwexp.types import ArrayLike, Lam, SetOfExamples

UNCERTIFIED = (
    "the oracle is not exact and may miss the best labeling: nothing is certified, and dual_gap_ is NaN; "
    "check the model by its score on validation data"
)
CALLERS = ("sklearn.base", "sklearn.pipeline")  # modules of scikit-learn that keep an interrupted estimator
LARGE_FEATURE = 100.0  # in absolute value
LARGE_GAP_FACTOR = 10.0  # times tol: a gap at which more passes are not the remedy


def positions_per_example(problem) -> float:
    """Return N/n, by which `fwexp.solve` has larger lam and objectives than estimators: 1 unless losses count N positions."""
    return float(np.mean(counted_positions(problem)))


class Before(NamedTuple):
    """A former training: its result, and the names of its weights."""

    result: Result
    names: Names | None


class PartsScore:
    """Score of estimators whose predictions have parts that are right or wrong."""

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of correct parts, such as positions, nodes or examples.

        Parameters
        ----------
        X, y, sample_weight
            The same as for `fit`.

        Returns
        -------
        float
            Between 0 and 1.
        """
        check_is_fitted(self)
        right, weights = self._right(X, y, sample_weight)
        if not weights.sum():
            raise ParameterError("X must hold an example whose weight is not 0, to be scored, got none")
        return float(np.average(right, weights=weights))

    @abstractmethod
    def _right(self, X, y, sample_weight) -> tuple[np.ndarray, np.ndarray]:
        """Return how far every part is predicted right, from 0 to 1, and the weights of the parts: 0 without a label."""


class CertifiedSVM(FittedEstimator):
    """Base of the estimators: `fit` trains to a certified result."""

    lam: Lam
    solver: str
    iterate: AnyIterate
    tol: float
    max_passes: float
    n_jobs: int | None
    random_state: Any
    verbose: int

    C: float | None = None  # of those that have no such parameter, as the next one
    warm_start: bool = False
    _objective = "hinge"  # of `fwexp.solve`
    averages = False  # whether the average of the iterates has the weights by default

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on labelled examples.

        Ctrl-C ends training with a warning: the weights reached are kept, with their certificate, and ``status_`` is
        ``"interrupted"``. A second Ctrl-C raises KeyboardInterrupt, and so does the first one in a search or an ensemble.

        Parameters
        ----------
        X : sequence of n inputs
            In the form that the notes of the class describe.
        y : sequence of n labelings
            In the form that the notes of the class describe.
        sample_weight : array (n,), optional
            Weight of every example: 2 counts the example twice, 0 leaves it out.

        Returns
        -------
        self
            The fitted estimator.
        """
        with self._training():
            before = self._before()
            problem, weights = self._learn(X, y, sample_weight)
            self._train(problem, weights, before=before)
        return self

    def to_problem(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> SetOfExamples:
        """Return labelled examples as a problem for `fwexp.solve`, with the features and labels that `fit` has learned.

        Parameters
        ----------
        X, y, sample_weight
            The same as for `fit`. Unknown labels become -1 if test sets of the family may have that label.

        Returns
        -------
        problem
            A training or test set.
        """
        check_is_fitted(self)
        return weighted(*self._problem_and_weights(X, y, sample_weight))

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """Return the labelings of highest score.

        Parameters
        ----------
        X : sequence of inputs
            As for `fit`.

        Returns
        -------
        sequence of labelings
            One per input.
        """

    def predict_one(self, x: Any) -> Any:
        """Return the labeling of highest score of one input.

        Parameters
        ----------
        x : input
            One element of an X for `fit`.

        Returns
        -------
        labeling
            The labeling of highest score.
        """
        return self.predict([x])[0]

    def _learn(self, X, y, sample_weight):
        """Learn the features and the labels; return the training problem and the weights of its examples, which are > 0."""
        raise NotImplementedError

    def _problem(self, X, y):
        """Return a problem with the features and labels of training."""
        raise NotImplementedError

    def _problem_and_weights(self, X, y, sample_weight):
        """Return a problem with the features and labels of training, and the weights of its examples."""
        return self._problem(X, y), sample_weight

    @contextmanager
    def _training(self) -> Iterator[None]:
        """Train with the present parameters; restore the former state if that fails, because names and weights belong together."""
        former = dict(vars(self))
        try:
            self._keep_parameters()
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(former)
            raise

    def _fit_further(self, X, y, classes, sample_weight) -> Self:
        """Train further, for `partial_fit`."""
        if getattr(self, "class_weight", None) == "balanced":
            raise ParameterError(
                'class_weight must be None or a dict for partial_fit, got "balanced"; labels to come are not known'
            )
        fitted = "result_" in vars(self)
        classes = classes_of_call(classes, self.classes_ if fitted else None)
        with self._training():
            origin = (self.result_.w, self._names()) if fitted else None
            problem, weights = self._learn_further(X, y, classes, sample_weight)
            origin = carried(*origin, self._names()) if fitted else None
            self._train(problem, weights, origin=origin)
        return self

    def _learn_further(self, X, y, classes, sample_weight):
        """Learn further features; return the problem of a call of `partial_fit`, and the weights of its examples."""
        raise NotImplementedError

    def _names(self) -> Names | None:
        """Return the names of the weights, or None where they have none."""
        return None

    def _before(self) -> "Before | None":
        """Return the start of a warm start: the last training."""
        return Before(self.result_, self._names()) if self.warm_start and "result_" in vars(self) else None

    def _starts(self, before: "Before | None", problem) -> Iterator[dict]:
        """Yield the arguments of the starts that may be possible, the best first."""
        if before is not None:
            state, names = before.result.state, self._names()
            if state is not None and _same(state.user_problem, problem):
                yield {"problem": state.user_problem, "warm_start": before.result}
            if names is not None and before.names is not None:
                near = carried(before.result.w, before.names, names)
                if near.any():
                    yield {"problem": problem, "near": near}
        yield {"problem": problem}

    def _train(self, problem, sample_weight=None, *, lam=None, before: "Before | None" = None, **more) -> None:
        """Set ``result_`` to the result of a problem, at lam if it is not the parameter; ``more`` goes to `fwexp.solve`."""
        problem = weighted(problem, sample_weight)
        if lam is None:
            size = total_weight(problem) * positions_per_example(problem)
            lam = self.lam if self.C is None else 1.0 / (check_positive("C", self.C) * size)
        reason = "the data or their weights are not those of the last one"
        if before is not None and before.names is not None:
            reason = "no feature or label has a weight of the last one"
        elif before is not None and before.result.state is None:
            reason = "the last one was loaded or copied, or had warm_start=False, and its dual variables are not kept"
        for start in self._starts(before, problem):
            if before is not None and len(start) == 1:
                warn(f"warm_start: this fit starts from zero, because {reason}", UserWarning)
            try:
                with on_interrupt("raise") if _keeps_signals() else nullcontext():
                    result = self._solve(lam=lam, **start, **more)
                break
            except WarmStartError as error:
                reason = error
        if not exact_oracle(problem):
            warn(UNCERTIFIED, ConvergenceWarning)
        elif self._too_far(result):
            warn(self._not_converged(result, largest_feature(problem)), ConvergenceWarning)
        if not self.warm_start:
            result.state = None  # which holds the training data
        self.result_ = result

    def _solve(self, problem, lam, **more) -> Result:
        """Return the result of a run; lam, tol and the objective count positions where `fwexp.solve` counts examples."""
        if get_method(self.solver, {})[0].refers_to_inputs:
            raise ParameterError(f"solver must be one whose weights are of features, got {self.solver!r}")
        per = positions_per_example(problem)
        return train(
            Settings(
                problem=problem,
                solver=self.solver,
                lam=lam,
                objective=self._objective,
                objective_scale=per,
                max_passes=self.max_passes,
                gap_tol=check_gap_tol("tol", self.tol),
                seed=as_seed(self.random_state),
                iterate=self._iterate(problem),
                verbose=is_verbose(self.verbose),
                n_jobs=self.n_jobs,
                **more,
            )
        )

    def _iterate(self, problem) -> str:
        """Return the iterate that has the weights after training on a problem."""
        if self.iterate is not None:
            return self.iterate
        method, options = get_method(self.solver, {})
        options = check_options(method, options)
        if not self.averages or costly_oracle(problem) or "wavg" not in method.available_iterates(options):
            return "best"
        if getattr(self, "early_stopping", False):  # which counts passes, and these bring less with batch methods
            return "wavg"
        chosen, _ = method.choose(options, problem, 1.0)  # one of the same class at every lam
        return "wavg" if "wavg" in chosen.iterates else "best"

    def _too_far(self, result: Result) -> bool:
        """Return whether a run diverged, or ended with a gap above the tolerance."""
        return result.status == "diverged" or (result.status in ("max_passes", "stalled") and result.gap > self.tol)

    def _not_converged(self, result: Result, largest: float) -> str:
        """Return the warning about a run that ended above the tolerance; far above, with a lam or C for the passes.

        If the ``largest`` feature is far above 1, the advice is to scale it: then the others hardly count, at any lam.
        """
        passes = float(result.trace["passes"].iloc[-1])
        if result.status == "diverged":
            return f"training diverged: {result.reason}; scale the features, raise lam, or choose another solver"
        message = f"training stopped after {passes:g} pass{'es' * (passes != 1)} with gap {result.gap:.2g} > tol={self.tol:g}"
        if largest > LARGE_FEATURE:
            return f"{message}; scale the features of X to about 1: the largest one is {largest:.4g}"
        far = self.tol > 0.0 and result.gap > LARGE_GAP_FACTOR * self.tol  # gaps fall as 1 / (lam passes)
        if self.C is not None:  # lam is ignored
            example = f", for instance to C={self.C * self.tol / result.gap:.1g}" if far else ""
            return f"{message}; raise max_passes or tol, or lower C{example}"
        if not hasattr(self, "lam"):  # it was chosen
            return f"{message}; raise max_passes or tol"
        return f"{message}; raise max_passes, lam or tol" + (
            f", for instance lam={result.lam * result.gap / self.tol:.1g}" if far else ""
        )


def _keeps_signals() -> bool:
    """Return whether Ctrl-C acts as usual: if it is ignored, and in searches and ensembles, which would use half-trained models."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return True
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in ("sklearn", "joblib") and module not in CALLERS:
            return True
        frame = frame.f_back
    return False


def largest_feature(problem) -> float:
    """Return the largest absolute value of the features of examples, 1 if they are not known or all 1."""
    values = getattr(getattr(original(problem), "x", None), "values", None)
    return 1.0 if values is None else float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def as_seed(random_state) -> int:
    """Return the seed that a parameter ``random_state`` means."""
    if is_integer(random_state) and random_state >= 0:
        return int(random_state)
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31))
    raise ParameterError(f"random_state must be an integer >= 0, a RandomState or None, got {shown(random_state)}")


def is_verbose(verbose) -> bool:
    """Return whether a parameter ``verbose`` asks for progress."""
    number = plain(verbose)
    if not isinstance(number, int):  # A text such as "False" would count as true.
        raise ParameterError(f"verbose must be an integer, true or false, got {shown(verbose)}")
    return number > 0


def _same(one, other) -> bool:
    """Return whether two problems made of arrays are equal."""
    one, other = getattr(one, "arrays", one), getattr(other, "arrays", other)
    if isinstance(one, tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(_same, one, other))
    return one is other or np.array_equal(one, other)
