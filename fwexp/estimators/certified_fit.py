"""Training to a certified result: starts, iterates, Ctrl-C, and warnings about what was not reached."""

import math
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from types import FrameType

import numpy as np
import scipy.sparse as sp

from fwexp.driver.clock import on_interrupt
from fwexp.driver.settings import Bounds, check_gap_tol
from fwexp.errors import ParameterError, WarmStartError, see, shown, warn
from fwexp.estimators.encoding import Encoding, carried
from fwexp.estimators.labels import weighted
from fwexp.options import check_positive, is_integer, plain
from fwexp.problems.protocol import costly_oracle, counted_positions, exact_oracle, original
from fwexp.problems.weighted import total_weight
from fwexp.solvers import check_options, get_method
from fwexp.tasks.result import Result
from fwexp.tasks.train import train
from fwexp.tasks.training_settings import Settings

UNCERTIFIED = (
    "the oracle is not exact and may miss the best labeling: nothing is certified, and dual_gap_ is NaN; "
    "check the model by its score on validation data"
)
UNFINISHED = ("max_passes", "stalled", "time_limit")
CALLERS = ("sklearn.base", "sklearn.pipeline")  # modules of scikit-learn that keep an interrupted estimator
LARGE_FEATURE = 100.0  # in absolute value
SMALL_LAM = 1e-12  # at which `auto` chooses block methods, which have averages, only if they are best at every lam
LARGE_GAP_FACTOR = 10.0  # times tol: a gap at which more passes are not the remedy


def certified_fit(estimator, encoding: Encoding, problem, sample_weight=None, *, lam=None, origin=None, **more) -> Result:
    """Return the result of training on the problem of an encoding, at lam if it is not the parameter."""
    # With ``warm_start``, training starts from the last one; with ``origin``, it regularises the distance to these weights.
    problem = weighted(problem, sample_weight)
    lam = lam_of(estimator, problem) if lam is None else lam
    is_warm = getattr(estimator, "warm_start", False) and origin is None and "result_" in vars(estimator)
    reason = "the data or their weights are not those of the last one"
    if is_warm and estimator.encoding_.names() is not None:
        reason = "no feature or label has a weight of the last one"
    elif is_warm and estimator.result_.state is None:
        reason = "the last one was loaded or copied, or had warm_start=False, and its dual variables are not kept"
    starts = [*_warm_starts(estimator, encoding, problem)] if is_warm else []
    for start in [*starts, {"problem": problem, "origin": origin}]:
        if is_warm and "origin" in start:
            warn(f"warm_start: this fit starts from zero, because {reason}", UserWarning)
        try:
            with interrupts():
                result = solve(estimator, lam=lam, **start, **more)
            break
        except WarmStartError as error:
            reason = error
    if not exact_oracle(problem):
        warn_of_convergence(UNCERTIFIED + see("faq"))
    elif result.status == "diverged" or (result.status in UNFINISHED and result.gap > wanted_gap(estimator, result)):
        warn_of_convergence(_not_converged(estimator, result, largest_feature(problem)) + see("practice"))
    return result


def warn_of_convergence(message: str) -> None:
    """Warn, in scikit-learn's category, that training has not reached what was asked for."""
    from sklearn.exceptions import ConvergenceWarning  # Most trainings reach it, and need nothing of scikit-learn.

    warn(message, ConvergenceWarning)


def lam_of(estimator, problem) -> float | str:
    """Return the lam that the parameters of an estimator mean on a problem."""
    if (C := getattr(estimator, "C", None)) is None:
        return estimator.lam
    return 1.0 / (check_positive("C", C) * total_weight(problem) * positions_per_example(problem))


def _warm_starts(estimator, encoding: Encoding, problem) -> Iterator[dict]:
    """Yield the arguments of the starts from the last training that may be possible, the best first."""
    former, state, names = estimator.encoding_.names(), estimator.result_.state, encoding.names()
    if state is not None and _same(state.user_problem, problem):
        yield {"problem": state.user_problem, "warm_start": estimator.result_}
    if names is not None and former is not None:
        near = carried(estimator.result_.w, former, names)
        if near.any():
            yield {"problem": problem, "near": near}


def solve(estimator, problem, lam, **more) -> Result:
    """Return the result of a run; lam, tol and the objective count positions where `fwexp.solve` counts examples."""
    if get_method(estimator.solver, {})[0].refers_to_inputs:
        raise ParameterError(f"solver must be one whose weights are of features, got {estimator.solver!r}")
    return train(
        Settings(
            problem=problem,
            solver=estimator.solver,
            lam=lam,
            objective=estimator._objective,
            objective_scale=positions_per_example(problem),
            max_passes=estimator.max_passes,
            time_limit=estimator.time_limit,
            gap_tol=check_gap_tol("tol", estimator.tol),
            seed=as_seed(estimator.random_state),
            iterate=chosen_iterate(estimator, problem),
            verbose=is_verbose(estimator.verbose),
            n_jobs=estimator.n_jobs,
            keep_state=bool(getattr(estimator, "warm_start", False)),  # It holds the training data.
            **{"callback": estimator.callback, "relative_gap": estimator._relative_tol} | more,
        )
    )


def chosen_iterate(estimator, problem) -> str:
    """Return the iterate that has the weights after training on a problem."""
    if estimator.iterate is not None:
        return estimator.iterate
    method, options = get_method(estimator.solver, {})
    options = check_options(method, options)
    if not estimator.averages or costly_oracle(problem) or "wavg" not in method.available_iterates(options):
        return "best"
    if getattr(estimator, "early_stopping", False):  # which counts passes, and these bring less with batch methods
        return "wavg"
    chosen, _ = method.choose(options, problem, SMALL_LAM)  # If that has averages, methods at every lam have them.
    return "wavg" if "wavg" in chosen.iterates else "best"


def _not_converged(estimator, result: Result, largest: float) -> str:
    """Return the warning about a run that ended above the tolerance; far above, with a lam or C for the passes."""
    # If the ``largest`` feature is far above 1, the advice is to scale it: then the others hardly count, at any lam.
    passes, tol, wanted = float(result.trace["passes"].iloc[-1]), estimator.tol, wanted_gap(estimator, result)
    if result.status == "diverged":
        return f"training diverged: {result.reason}; scale the features, raise lam, or choose another solver"
    tolerance = f"tol={tol:g}" if wanted == tol else f"{wanted:.2g}, which is tol={tol:g} times the objective"
    message = f"training stopped after {passes:g} pass{'es' * (passes != 1)} with gap {result.gap:.2g} > {tolerance}"
    if largest > LARGE_FEATURE:
        return f"{message}; scale the features of X to about 1: the largest one is {largest:.4g}"
    far = tol > 0.0 and result.gap > LARGE_GAP_FACTOR * wanted  # gaps fall as 1 / (lam passes)
    limit = "time_limit" if result.status == "time_limit" else "max_passes"
    if (C := getattr(estimator, "C", None)) is not None:  # lam is ignored
        example = f", for instance to C={C * wanted / result.gap:.1g}" if far else ""
        return f"{message}; raise {limit} or tol, or lower C{example}"
    if not hasattr(estimator, "lam"):  # it was chosen
        return f"{message}; raise {limit} or tol"
    example = f", for instance lam={result.lam * result.gap / wanted:.1g}" if far else ""
    return f"{message}; raise {limit}, lam or tol{example}"


def wanted_gap(estimator, result: Result) -> float:
    """Return the gap at which training with the parameters of an estimator ends, given a result of it."""
    return Bounds(math.inf, estimator.tol, relative_gap=estimator._relative_tol).wanted_gap(result.dual)


def interrupts() -> AbstractContextManager:
    """Return the context of training, in which Ctrl-C ends it with the weights reached, or as usual if it has to."""
    return on_interrupt("raise") if _keeps_signals() else nullcontext()


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


def positions_per_example(problem) -> float:
    """Return N/n, by which `fwexp.solve` has larger lam and objectives than estimators: 1 unless losses count N positions."""
    return float(np.mean(counted_positions(problem)))


def largest_feature(problem) -> float:
    """Return the largest absolute value of the features of examples, 1 if they are not known or all 1."""
    values = getattr(getattr(original(problem), "x", None), "values", None)
    return 1.0 if values is None else float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def as_seed(random_state) -> int:
    """Return the seed that a parameter ``random_state`` means."""
    if is_integer(random_state) and random_state >= 0:
        return int(random_state)
    if random_state is None or isinstance(random_state, np.random.RandomState):
        from sklearn.utils import check_random_state  # of which integers need nothing

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
    if sp.issparse(one):
        return sp.issparse(other) and one.shape == other.shape and not (one != other).nnz
    return one is other or np.array_equal(one, other)
