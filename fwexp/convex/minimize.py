"""`minimize` and `saddle_point`: from users' arguments to a method, and on to a certified result."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from fwexp.convex.feasible_sets import ConvexSet
from fwexp.convex.functions import Function
from fwexp.convex.games import Bilinear
from fwexp.convex.method import Evaluation, Method
from fwexp.convex.saddle import SaddleMethod, WorstCase
from fwexp.convex.user_functions import as_function
from fwexp.driver import settings
from fwexp.driver.log import Log
from fwexp.driver.loop import drive
from fwexp.driver.progress import Progress
from fwexp.driver.settings import RunSettings
from fwexp.driver.trace import TRACE_COLUMNS, Status
from fwexp.errors import ParameterError, shown
from fwexp.methods import ALIASES
from fwexp.options import CONVEX, SADDLE, check_choice, check_function, check_positive, make_options
from fwexp.plugins import takes_options
from fwexp.solvers import of_kind
from fwexp.types import ArrayLike, Callback, FloatArray, Schedule

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse

    from fwexp.driver.checkpoint import Checkpoint

METHODS, SADDLE_METHODS = of_kind(CONVEX), of_kind(SADDLE)

OF_TRAINING = TRACE_COLUMNS[TRACE_COLUMNS.index("gap") + 1 :]  # columns that a log has wherever it is from
ROUNDING_SHARE = 1e-13  # values that differ by less, relatively, differ by rounding


class Atoms(NamedTuple):
    """The active set of a result.

    Attributes
    ----------
    points, weights : ndarray or csr_array (k, dim), ndarray (k,)
        The atoms, one row each, and their positive weights: ``x = weights @ points``.
    """

    points: "FloatArray | scipy.sparse.csr_array"
    weights: FloatArray


@dataclass
class Minimum:
    """Result of `minimize`.

    Attributes
    ----------
    x : ndarray
        The logged point with the lowest value, in the shape of the set.
    value, gap : float
        f(x), and a bound on its distance to the minimum.
    status, reason : str
        How the run ended, and the same as a sentence; ``stalled`` if no step gains more than rounding errors in the precision of
        f, or if the gap is above ``gap_tol`` when it is computed again. ``converged`` results have a gap of at most ``gap_tol``.
    trace : DataFrame
        One row per logged point, with columns that mean something for the method; ``primal`` is the value, ``dual`` the lower bound
        of its linear minimisation.
    method : str
    atoms : Atoms or None
        What the last iterate is a mixture of, for methods that keep it.
    """

    x: FloatArray
    value: float
    gap: float
    status: str
    reason: str
    trace: "pd.DataFrame" = field(repr=False)
    method: str
    atoms: Atoms | None = field(default=None, repr=False)


@takes_options(CONVEX)
def minimize(
    f: Function | Callable[[FloatArray], tuple[float, ArrayLike]],
    set: ConvexSet,
    *,
    method: str = "pairwise",
    x0: ArrayLike | None = None,
    domain: Callable[[FloatArray], bool] | None = None,
    gap_tol: float = 1e-6,
    max_iter: float = 1000,
    time_limit: float | None = None,
    seed: int = 0,
    schedule: Schedule = "default",
    callback: Callback | None = None,
    verbose: bool = False,
    checkpoint: "Checkpoint | None" = None,
    **options: Any,
) -> Minimum:
    """Minimise a smooth convex function over a compact convex set, with a certificate.

    Parameters
    ----------
    f : Function or callable
        `LeastSquares`, `Logistic`, `LinearSum`, `Quadratic`, `FiniteSum`, or ``fun(x) -> (value, gradient)``.
    set : ConvexSet
        Such as `Simplex`, `L1Ball`, `Product`, or `Oracle`, for a linear minimisation of your own. x is a vector, also if it holds
        the entries of a matrix; for ``NuclearBall(m, n).shaped(m, n)`` it is an m x n array, for ``fun`` as well.
    method : str, default "pairwise"
        ``frank_wolfe`` (or ``fw``), ``away`` (``afw``), ``pairwise`` (``pfw``), ``corrective``, ``blended_pairwise`` (``bpcg``),
        ``lazy``, ``momentum``, ``stochastic`` or ``variance_reduced`` (f is a sum over rows, or a `FiniteSum`), ``random_away`` (on
        numbered atoms, and on products of such sets), ``block`` or ``block_descent`` (on a `Product`).
    x0 : sequence of float, optional
        The start, a member of the set; by default an atom.
    domain : callable, optional
        ``domain(x)`` returns whether f is defined at x, for functions with logarithms, for example; by default f is defined on the
        whole set. Steps that end outside are cut back: halved, or by ``adaptive`` and ``monotonic`` as if f were infinite there.
        The domain has to be convex and to contain the start.
    gap_tol : float, default 1e-6
        Certified distance to the minimum at which to stop; 0 runs to ``max_iter``.
    max_iter : float, default 1000
        Bound on linear minimisations over the set. One block of a product counts as a part of one.
    time_limit : float, optional
        Seconds of the method. Evaluation for the log may take as long again: rows of the schedule are left out while it takes
        longer than the steps.
    seed : int, default 0
    schedule : "steps", float or sequence of float, default "default"
        When to log, in iterations; see `fwexp.solve`.
    callback : callable, optional
        Called with every row of the trace, a dict, which has also copies of the point ``x`` and of the ``vertex`` s that minimises
        <f'(x), s> over the set. If it returns True the run ends, ``interrupted``. The first Ctrl-C ends the run in the same way,
        with a warning, and the second one raises KeyboardInterrupt.
    verbose, checkpoint : bool, Checkpoint
        See `fwexp.solve`.
    **options
        ``step``: ``auto``, ``line_search``, ``adaptive`` (with backtracking), or ``step(line) -> gamma`` for a `Line`, cut to what
        stays in the set; for ``frank_wolfe``, ``momentum`` and ``block`` also ``open_loop``, l/(t+l) with l = ``ell``; for
        ``frank_wolfe`` also ``monotonic``, 2/(t+2) without the steps that increase f. ``K`` of
        ``lazy``; ``momentum`` of the method of that name; ``batch`` of ``stochastic`` and ``variance_reduced``, and ``variant`` of
        the latter; ``eta`` of ``random_away``; ``rule`` of block methods, and ``direction`` and ``refresh`` of ``block``.

    Returns
    -------
    Minimum

    Raises
    ------
    ValueError
        If a parameter does not accept its value, the start is outside the set, or a function returns no finite value or a gradient
        of the wrong length.
    TypeError
        If the method does not have an option.
    CertificateError
        If the gradient does not belong to the value, f is not convex, or a linear minimisation does not minimise, as far as the
        checks at the start and at the end show. They take some 10 to 60 evaluations of your f, and 24 calls of your ``lmo`` or
        more.

    Examples
    --------
    >>> import numpy as np
    >>> from fwexp.convex import L1Ball, LeastSquares, minimize
    >>> f = LeastSquares([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [3.0, 1.0])
    >>> result = minimize(f, L1Ball(3, radius=2.0), method="pairwise", gap_tol=1e-9)
    >>> result.x.round(6), round(result.value, 6)
    (array([1., 0., 1.]), 0.5)
    """
    if not isinstance(set, ConvexSet):
        raise ParameterError(f"set must be a convex set of fwexp.convex, got {shown(set)}")
    function = as_function(f, set.dim, set.shape)
    if check_function("domain", domain, optional=True) is not None:
        function = function.on_domain(domain, set.shape)
    iteration = new_method(function, set, method, x0, settings.check("seed", seed), gap_tol, options)
    iteration.check_start()
    log, status = _run(iteration, Evaluation(iteration), max_iter, time_limit, schedule, callback, verbose, checkpoint)
    return as_minimum(iteration, log, status)


def new_method(f, convex_set, method: str, x0, seed: int, gap_tol: float, options) -> Method:
    """Return a method at its start."""
    named = ALIASES.get(method, method) if isinstance(method, str) else method
    cls = METHODS[check_choice("method", named, METHODS)]
    checked = make_options(f"method {method}", cls.Options, options)
    return cls(f, convex_set, checked, x0, seed, settings.check("gap_tol", gap_tol))


def as_minimum(iteration: Method, log: Log, status: Status) -> Minimum:
    """Return the result of a log, recomputed from scratch."""
    _, point, _ = log.best
    value, dual = log.certificate()
    wrong = "" if status is Status.DIVERGED else log.drift("primal", value)
    if status is not Status.DIVERGED:
        dual = min(dual, iteration.check_end(point.w))
    x, active = point.w.copy(), iteration.state.active
    if active is not None:
        active.drop_zeros()
        mixture = active.point()
        last = iteration.f.value(mixture, iteration.f.image(mixture)) if iteration.f.is_defined(mixture) else math.inf
        enough = status is not Status.CONVERGED or last - dual <= max(value - dual, iteration.gap_tol)
        if last <= value + ROUNDING_SHARE * abs(value) and enough:  # zeros are zeros there
            x, value = mixture, last
    gap = max(value - dual, 0.0)
    status, reason = (Status.DIVERGED, wrong) if wrong else _ending(log, status, gap, iteration.gap_tol)
    atoms = None if active is None else Atoms(*active.to_arrays())
    return Minimum(x.reshape(iteration.set.shape), value, gap, str(status), reason, _frame(log), iteration.name, atoms)


def _ending(log: Log, status: Status, gap: float, gap_tol: float) -> tuple[Status, str]:
    """Return how a run ended, and the same as a sentence, once its gap is recomputed."""
    if status is not Status.CONVERGED or gap <= gap_tol:
        return status, log.reason(status)
    return Status.STALLED, f"the gap is {gap:.3g} when it is computed again, above gap_tol = {gap_tol:.3g}"


@dataclass
class SaddlePoint:
    """Result of `saddle_point`.

    Attributes
    ----------
    x, y : ndarray
        The point with the lowest worst case logged, and the y of the last pair; None where it is not kept.
    value, gap : float
        max_y L(x, y), and a bound on how far above the value of the game that is.
    status, reason : str
        How the run ended, and the same as a sentence.
    trace : DataFrame
        One row per logged pair: ``primal`` is max_y' L(x, y'), ``dual`` is min_x' L(x', y).
    method : str
    """

    x: FloatArray
    y: FloatArray | None
    value: float
    gap: float
    status: str
    reason: str
    trace: "pd.DataFrame" = field(repr=False)
    method: str


@takes_options(SADDLE)
def saddle_point(
    game: Bilinear,
    *,
    method: str = "dual_extragradient",
    gap_tol: float = 1e-6,
    max_iter: float = 1000,
    time_limit: float | None = None,
    schedule: Schedule = "default",
    callback: Callback | None = None,
    verbose: bool = False,
    checkpoint: "Checkpoint | None" = None,
    **options: Any,
) -> SaddlePoint:
    """Find a saddle point of a bilinear function, with a certificate.

    Parameters
    ----------
    game : Bilinear
        Also from `svm_game`.
    method : str, default "dual_extragradient"
        ``dual_extragradient``, ``sp_fw`` or ``sp_away``.
    gap_tol : float, default 1e-6
        Stop when max_y' L(x, y') - min_x' L(x', y) is certified to be at most this; 0 runs to ``max_iter``.
    max_iter : float, default 1000
        Bound on linear minimisations, or projections, over both sets; dual extragradient makes two projections per step.
    time_limit, schedule, callback, verbose, checkpoint
        As for `minimize`; rows of the callback have copies of ``x`` and ``y``, None if y is not kept.
    **options
        ``geometry``, ``eta``, ``ratio``, ``memory`` of ``dual_extragradient``; ``step``, ``beta``, ``delta`` of ``sp_fw``.

    Returns
    -------
    SaddlePoint

    Raises
    ------
    ValueError
        If a parameter does not accept its value.
    TypeError
        If the method does not have an option, or a set does not have a projection.

    Examples
    --------
    >>> from fwexp.convex import Bilinear, Simplex, saddle_point
    >>> M = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]  # paper, scissors, stone
    >>> result = saddle_point(Bilinear(M, Simplex(3), Simplex(3)), gap_tol=1e-6)
    >>> result.x.round(4)
    array([0.3333, 0.3333, 0.3333])
    """
    if not isinstance(game, Bilinear):
        raise ParameterError(f"game must be a Bilinear function, got {shown(game)}")
    iteration = new_saddle_method(game, method, gap_tol, options)
    log, status = _run(iteration, WorstCase(iteration.game), max_iter, time_limit, schedule, callback, verbose, checkpoint)
    _, point, _ = log.best
    value, dual = log.certificate()
    checked = iteration.check_end(point.w)
    value, dual = max(value, checked[0]), min(dual, checked[1])
    gap = max(value - dual, 0.0)
    status, reason = _ending(log, status, gap, iteration.gap_tol)
    return SaddlePoint(point.w.copy(), iteration.y(), value, gap, str(status), reason, _frame(log), method)


def new_saddle_method(game, method: str, gap_tol: float, options) -> SaddleMethod:
    """Return a method at its start."""
    cls = SADDLE_METHODS[check_choice("method", method, SADDLE_METHODS)]
    checked = make_options(f"method {method}", cls.Options, options)
    return cls(game, checked, settings.check("gap_tol", gap_tol))


def _run(iteration, objective, max_iter, time_limit, schedule, callback, verbose, checkpoint) -> tuple[Log, Status]:
    """Run a method to one of its ends; return its log and how it ended."""
    ends = {"max_passes": check_positive("max_iter", max_iter), "gap_tol": iteration.gap_tol, "time_limit": time_limit}
    settings = RunSettings(**ends, schedule=schedule, callback=callback, verbose=verbose, checkpoint=checkpoint)
    progress = Progress(settings.max_passes, settings.verbose, iteration.name, settings.wanted_gap)
    on_row = None if callback is None else lambda row: callback(_meant(row) | iteration.seen())
    log = Log(iteration, objective, callback=on_row, progress=progress)
    status = drive(iteration, log, settings, settings.schedule, progress, checkpoint)
    progress.close(str(status))
    return log, status


def _frame(log: Log) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([_meant(row) for row in log.rows])


def _meant(row: dict) -> dict:
    """Return a row without the columns that are there for training alone."""
    return {name: value for name, value in row.items() if name not in OF_TRAINING or not math.isnan(value)}
