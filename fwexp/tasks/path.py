"""The regularisation path: weights that are certified for every lam, not only on a grid (Osokin et al., ICML 2016, section 4).

For lam -> infinity w = 0 is optimal, and the dual point a_inf that has all its mass on y_i~ = argmax_y L_i(y) has a gap of at
most eps for every lam >= lam_inf, at w = (lam_inf/lam) w_1,

    lam_inf = 1/eps (||psi~||^2 + 1/n sum_i max_y -<psi~, psi_i(y)>),    psi~ = 1/n sum_i psi_i(y_i~) = lam_inf w_1.

From there lam falls. With w kept (``BCFW.change_lam``) the gap grows linearly in lam, by (1 - rho) Delta at rho lam,

    Delta = sum_i sum_y a_i(y) H_i(y; w)/n = H(w) - gap,    H(w) = 1/n sum_i H_i(w),    rho = 1 - (eps - gap)/Delta,

so w serves down to rho lam, where the gap is eps: the next break point. There block steps bring the gap down to kappa eps.
Where rho <= 0, that is H(w) <= eps, w serves for all smaller lam. All of this holds as well for a primal point w other than
A a (acceleration), with the gap P(w) - D(a) and Delta = D(a) - lam/2 ||w||^2.
"""

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fwexp.api import check_problem_type
from fwexp.checks import check_flag, check_names, check_positive
from fwexp.driver import settings
from fwexp.driver.loop import Clock, interruptible
from fwexp.driver.progress import Progress
from fwexp.driver.result import Status
from fwexp.errors import OptionError, ParameterError, shown
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.protocol import costly_oracle, to_public
from fwexp.solvers import check_needs, check_options, resolve_auto
from fwexp.solvers.bcfw import BCFW

if TYPE_CHECKING:
    import pandas as pd

LOOKS = 10  # per pass, at the known gap
COLUMNS = ("lam", "step", "oracle_calls", "passes", "time", "primal", "dual", "gap", "certified")
OPTIONS = [field.name for field in fields(BCFW.Options)]
KAPPA = {True: 0.9, False: 0.7}  # of exact and of heuristic paths
GRID = tuple(2.0**exponent for exponent in range(15, -16, -1))


@dataclass
class RegularizationPath:
    """Weights for every lam >= ``lam_end``, as ``fwexp.regularization_path`` returns them.

    Attributes
    ----------
    lam : ndarray (J,)
        Break points, from lam_inf downwards. ``weights[j]`` serves from ``lam[j]`` down to ``lam[j + 1]``.
    weights : ndarray (J, d)
    gap : ndarray (J,)
        P - D at the break points: certified, unless the path is heuristic.
    lam_end : float
        The lam down to which the path goes, 0 if the last weights serve for all smaller lam.
    eps : float
    certified : bool
        Whether the gaps are exact ones, or estimates of a heuristic path.
    status, reason : str
        ``converged`` if the path goes down to ``lam_min``, else what ended it before.
    frame : DataFrame
        One row per break point: ``lam``, the costs so far (``step``, ``oracle_calls``, ``passes``, ``time`` in solver
        seconds), ``primal``, ``dual``, ``gap``, ``certified``.
    """

    lam: np.ndarray
    weights: np.ndarray
    gap: np.ndarray
    lam_end: float
    eps: float
    certified: bool
    status: str
    reason: str
    frame: "pd.DataFrame"

    def w_at(self, lam: float) -> np.ndarray:
        """Return weights whose objective at ``lam`` is at most eps above the optimum."""
        j = self._piece(lam)
        return self.weights[j] * min(self.lam[j] / lam, 1.0)

    def gap_at(self, lam: float) -> float:
        """Return the bound on the suboptimality of ``w_at(lam)``, at most eps; for a heuristic path it is an estimate."""
        j = self._piece(lam)
        if lam >= self.lam[0]:
            return self.eps * self.lam[0] / lam
        delta = self.frame["dual"].iloc[j] - 0.5 * self.lam[j] * (self.weights[j] @ self.weights[j])
        return float(self.gap[j] + (1.0 - lam / self.lam[j]) * delta)

    def _piece(self, lam: float) -> int:
        lam = check_positive("lam", lam)
        if lam < self.lam_end:
            raise ParameterError(f"lam must be at least {self.lam_end:.6g}, where the path ends, got {lam!r}")
        return max(int(np.searchsorted(-self.lam, -lam, side="right")) - 1, 0)

    def __repr__(self) -> str:
        last = self.frame.iloc[-1]
        return (
            f"RegularizationPath({len(self.lam)} break points, lam {self.lam[0]:.6g} to {self.lam_end:.6g}, "
            f"eps={self.eps:g}, {self.status} after {last['passes']:g} passes in {last['time']:.3g} s)"
        )


def regularization_path(
    problem,
    eps: float = 0.1,
    *,
    lam_min: float,
    exact: bool = True,
    kappa: float | None = None,
    max_passes: float = 100_000,
    time_limit: float | None = None,
    seed: int = 0,
    verbose: bool = False,
    **options: Any,
) -> RegularizationPath:
    """Train for all lam >= lam_min at once: weights whose objective is at most eps above the optimum, at every lam.

    Parameters
    ----------
    problem : problem
        Training set.
    eps : float
        Accuracy, in units of the objective (which is at most the largest loss).
    lam_min : float
        Where the path may end. All weights are kept: d numbers for each break point.
    exact : bool
        Whether a gap counts only when it was computed exactly, for n oracle calls; a heuristic path trusts the last known
        block gaps and certifies nothing.
    kappa : float, optional
        Between 0 and 1: at every break point the gap is brought down to kappa eps; 0.9, or 0.7 for a heuristic path.
    max_passes, time_limit : float
        Bounds on the oracle calls / n and the solver seconds of the whole path.
    seed : int
    verbose : bool
        Whether to show progress on standard error.
    **options
        Options of ``bcfw``, instead of those of ``auto``.

    Returns
    -------
    RegularizationPath

    Raises
    ------
    ValueError
        A value outside what a parameter accepts.
    TypeError
        An option that bcfw does not have, or that cannot be combined.

    Examples
    --------
    >>> import fwexp
    >>> train, test = fwexp.load_dataset("digits")
    >>> path = fwexp.regularization_path(train, eps=0.1, lam_min=0.01)
    >>> path.gap_at(0.5) <= 0.1
    True
    >>> path.w_at(0.5).shape
    (770,)
    """
    check_names("solver bcfw", options, OPTIONS, inspect.signature(regularization_path).parameters)
    eps, lam_min, exact = check_positive("eps", eps), check_positive("lam_min", lam_min), check_flag("exact", exact)
    kappa = KAPPA[exact] if kappa is None else check_positive("kappa", kappa)
    if kappa >= 1.0:
        raise ParameterError(f"kappa must lie between 0 and 1, got {kappa!r}")
    rows, weights = [], []
    options = ({} if exact else {"refresh": 0}) | options
    with Run(problem, options, seed, exact, max_passes, time_limit, "path", verbose) as run:
        for row in run.break_points(eps, lam_min, kappa):
            rows.append(row)
            weights.append(run.weights())
    status = Status(run.status)
    frame = as_frame(rows)
    return RegularizationPath(
        lam=frame["lam"].to_numpy(copy=True),
        weights=np.array(weights),
        gap=frame["gap"].to_numpy(copy=True),
        lam_end=run.lam_end,
        eps=eps,
        certified=exact,
        status=str(status),
        reason=status.sentence,
        frame=frame,
    )


def grid_search(
    problem,
    eps: float = 0.1,
    *,
    lams: Sequence[float] = GRID,
    warm: bool = True,
    max_passes: float = 100_000,
    time_limit: float | None = None,
    seed: int = 0,
    verbose: bool = False,
    **options: Any,
) -> "pd.DataFrame":
    """Train to a certified gap of eps at every lam of a grid, the largest first.

    Parameters
    ----------
    problem : problem
        Training set.
    eps : float
        Gap to reach at every lam.
    lams : sequence of float
        By default 2^15, 2^14, ..., 2^-15.
    warm : bool
        Whether each lam starts from the w of the one before (``BCFW.change_lam``), or from w = 0.
    max_passes, time_limit : float
        Bounds on the oracle calls / n and the solver seconds of the whole grid.
    seed : int
    verbose : bool
        Whether to show progress on standard error.
    **options
        Options of ``bcfw``, instead of those of ``auto``.

    Returns
    -------
    DataFrame
        One row per lam, as in ``RegularizationPath.frame``; costs are cumulated. Values of lam that were not reached
        within the bounds are missing; ``attrs["status"]`` says how it ended.
    """
    check_names("solver bcfw", options, OPTIONS, inspect.signature(grid_search).parameters)
    eps, lams, warm = check_positive("eps", eps), _check_lams(lams), check_flag("warm", warm)
    with Run(problem, options, seed, True, max_passes, time_limit, "grid", verbose) as run:
        frame = as_frame(list(run.grid(eps, lams, warm)))
    frame.attrs["status"] = str(run.status)
    return frame


class Run:
    """A solver on its way through several lam: its clock, its costs so far and its gap.

    A context manager: inside, the first Ctrl-C ends the way like any other bound.

    Parameters
    ----------
    problem : problem
    options : dict
        Options of bcfw.
    seed : int
    exact : bool
        Whether a gap counts only when computed exactly.
    max_passes, time_limit : float
        Bounds on the sum of all.
    label : str
        What is run, to people.
    verbose : bool
        Whether to show progress.
    """

    def __init__(
        self,
        problem,
        options: dict,
        seed: int,
        exact: bool,
        max_passes: float,
        time_limit: float | None,
        label: str = "",
        verbose: bool = False,
    ) -> None:
        check_problem_type(problem)
        self.options = check_options(BCFW, resolve_auto(problem)[1] | options)
        check_needs(BCFW, problem, self.options)
        if not self.options.line_search:
            raise OptionError("solver.line_search=false of bcfw has steps for one lam; accepted here: true")
        self.problem, self.exact, self._seed = problem, exact, settings.check_seed(seed)
        self._max_calls = settings.max_calls(settings.check_max_passes(max_passes), problem.n)
        self._time_limit = settings.check_time_limit(time_limit)
        self._clock, self._steps, self._calls = Clock(), 0, 0  # those of solvers before this one
        self.solver, self.gap = None, math.inf
        self.lam_end, self.status = math.inf, Status.CONVERGED
        self._interrupted, self._context = (lambda: False), interruptible()
        self._progress = Progress(None, check_flag("verbose", verbose), label)
        if not costly_oracle(problem):  # else there is nothing to compile, and the oracle would be called
            self._compile()

    def __enter__(self) -> "Run":
        self._interrupted = self._context.__enter__()
        return self

    def __exit__(self, *error) -> None:
        self._context.__exit__(*error)
        self._progress.close(str(self.status))

    def break_points(self, eps: float, lam_min: float, kappa: float) -> Iterator[dict]:
        """Follow the path; yield a row at every break point. ``lam_end`` is where the weights of the last one end to serve."""
        self.start_at_corners(eps, lam_min)
        while True:
            yield self.row()
            # The gap grows to eps at lam_end = rho lam.
            delta, room = self.growth(), eps - self.gap
            self.lam_end = 0.0 if delta <= room else self.solver.lam * (1.0 - max(room, 0.0) / delta)
            if self.lam_end <= lam_min:
                return
            if (end := self.ended()) is None:
                self.change_lam(self.lam_end)
                self.reduce_gap(kappa * eps)
                end = None if self.gap <= eps else self.ended()
            if end is not None:
                self.status = end
                return

    def grid(self, eps: float, lams: Sequence[float], warm: bool) -> Iterator[dict]:
        """Train to gaps of eps at all ``lams``, the largest first; yield a row at each."""
        for lam in sorted(lams, reverse=True):
            if warm and self.solver is not None:
                self.change_lam(lam)
            else:
                self.start(lam)
            self.reduce_gap(eps)
            if self.gap > eps:
                self.status = self.ended()
                return
            yield self.row()

    def _compile(self) -> None:
        """Take each kind of step once, off the clock."""
        solver = BCFW(self.problem, 1.0, self.options, self._seed)
        solver.advance(0, 0)
        solver.exact_gap()
        solver.change_lam(0.5)
        solver.full_step()
        BCFW(self.problem, 1.0, self.options, self._seed, warm_start=solver)
        Evaluator(self.problem)(solver.state.at.w, error=False)

    def start(self, lam: float, options=None, state: BCFW | None = None) -> None:
        """Go on with a new solver: at w = 0, or at the dual variables of ``state``."""
        if self.solver is not None:
            self._steps, self._calls = self._steps + self.solver.step, self._calls + self.solver.oracle_calls
        with self._clock:
            self.solver = BCFW(self.problem, lam, options or self.options, self._seed, warm_start=state)

    def start_at_corners(self, eps: float, lam_min: float) -> None:
        """Begin the path at lam_inf and a_inf, or at lam_min where that is larger."""
        self.start(1.0, options=replace(self.options, accelerate=False))
        with self._clock:
            self.solver.full_step()  # at w = 0; with lam = 1 the result is psi~
            psi = self.solver.point("last").w
            norm_sq = float(psi @ psi)
            lam = norm_sq and (norm_sq + self._widest(psi)) / eps
        self.start(max(lam, lam_min), state=self.solver)
        with self._clock:
            self.gap = self.solver.exact_gap()

    def _widest(self, psi: np.ndarray) -> float:
        """Return 1/n sum_i max_y -<psi, psi_i(y)>, or a little more.

        The max-oracle finds it, for max_y -<w, psi_i(y)> <= H_i(w), and losses do not matter where w is long.
        """
        stretch = 1e6 / float(psi @ psi)
        self._calls += self.problem.n
        return Evaluator(self.problem)(stretch * psi, error=False).hinge / stretch

    def change_lam(self, lam: float) -> None:
        with self._clock:
            self.solver.change_lam(lam)

    def reduce_gap(self, target: float) -> None:
        """Take steps until the gap is at most ``target``, or a bound is met."""
        solver, portion = self.solver, -(-self.problem.n // LOOKS)
        with self._clock:
            self._look(target)
        while self.gap > target and self.ended() is None:
            with self._clock:
                solver.advance(solver.oracle_calls + max(portion, solver.calls_per_step), solver.step + portion)
                self._look(target)

    def _look(self, target: float) -> None:
        self.gap = self.solver.known_gap
        if self.exact:
            self.gap = self.solver.exact_gap() if self.gap <= target else math.inf

    def growth(self) -> float:
        """Return Delta, by which the gap would grow on the way to lam = 0."""
        point = self.solver.point("last")
        return point.dual - 0.5 * self.solver.lam * float(point.w @ point.w)

    def ended(self) -> Status | None:
        """Return which bound has been met, if any."""
        if self._interrupted():
            return Status.INTERRUPTED
        if self._calls + self.solver.oracle_calls >= self._max_calls:
            return Status.MAX_PASSES
        if self._time_limit is not None and self._clock.seconds >= self._time_limit:
            return Status.TIME_LIMIT
        return None

    def weights(self) -> np.ndarray:
        return to_public(self.problem, self.solver.state.at.w)

    def row(self) -> dict:
        dual, calls = self.solver.point("last").dual, self._calls + self.solver.oracle_calls
        costs = {"oracle_calls": calls, "passes": calls / self.problem.n, "time": self._clock.seconds}
        values = {"primal": dual + self.gap, "dual": dual, "gap": self.gap, "certified": self.exact}
        row = {"lam": self.solver.lam, "step": self._steps + self.solver.step, **costs, **values}
        self._progress.row({"at_lam": row["lam"]} | costs | {"primal": math.nan, "dual": dual, "gap": self.gap})
        return row


def as_frame(rows: list[dict]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS))


def _check_lams(lams) -> list[float]:
    """Return the values of a grid."""
    text_or_number = isinstance(lams, str | bytes | Mapping) or not isinstance(lams, Iterable) or getattr(lams, "ndim", 1) == 0
    values = [] if text_or_number else list(lams)
    if not values:
        raise ParameterError(f"lams must be a list of positive finite numbers, at least one, got {shown(lams)}")
    return [check_positive(f"lams[{k}]", lam) for k, lam in enumerate(values)]
