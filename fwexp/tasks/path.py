"""The regularisation path: weights that are certified for every lam, not only on a grid (Osokin et al., ICML 2016, section 4).

For lam -> infinity w = 0 is optimal, and the dual point a_inf that has all its mass on y_i~ = argmax_y L_i(y) has a gap of at
most kappa eps, kappa < 1, for every lam >= lam_inf, at w = (lam_inf/lam) w_1,

    lam_inf = 1/(kappa eps) (||psi~||^2 + 1/n sum_i max_y -<psi~, psi_i(y)>),    psi~ = 1/n sum_i psi_i(y_i~) = lam_inf w_1.

From there lam falls. With w kept (``BCFW.change_lam``) the gap grows linearly in lam, by (1 - rho) Delta at rho lam,

    Delta = sum_i sum_y a_i(y) H_i(y; w)/n = H(w) - gap,    H(w) = 1/n sum_i H_i(w),    rho = 1 - (eps - gap)/Delta,

so w serves down to rho lam, where the gap is eps: the next break point. There block steps bring the gap down to kappa eps.
Where rho <= 0, that is H(w) <= eps, w serves for all smaller lam. All of this holds as well for a primal point w other than
A a (acceleration), with the gap P(w) - D(a) and Delta = D(a) - lam/2 ||w||^2.
"""

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fwexp.driver.trace import ending
from fwexp.errors import ParameterError
from fwexp.options import check_flag, check_integer, check_names, check_number, check_positive, check_positive_scale, choice, option
from fwexp.problems.loss_terms import HINGE, make_objective
from fwexp.tasks.lam_sequence import (
    MOST_PASSES,
    OPTIONS,
    SequenceTask,
    as_frame,
    run_sequence,
    sequence_settings,
)
from fwexp.tasks.path_bounds import BreakPoint, best_weights, bounds_alone, lower_bound, upper_bound
from fwexp.tasks.path_sequence import PathSequence
from fwexp.types import FloatArray, ObjectiveName, Problem

if TYPE_CHECKING:
    import pandas as pd

RARELY = 10_000.0  # passes between exact computations of all gaps on heuristic paths: published code
DEFAULT_KAPPA = {True: 0.9, False: 0.7}  # of exact and of heuristic paths
check_kappa = partial(check_number, accepted="a number > 0 and < 1", above=0.0, below=1.0)


@dataclass
class RegularizationPath:
    """Weights for every lam >= ``lam_end``, as ``fwexp.regularization_path`` returns them.

    Attributes
    ----------
    lam : ndarray (J,)
        Break points, from lam_inf downwards.
    weights : ndarray (J, d)
        Weights at the break points.
    gap : ndarray (J,)
        P - D at the break points: certified, unless the path is heuristic.
    lam_end : float
        Smallest lam of the path; 0 if the last weights are valid for all smaller lam.
    eps : float
        Accuracy of the path, in units of the objective.
    certified : bool
        Whether the gaps are exact, or estimates of a heuristic path.
    two_sided : bool
        Whether weights between two break points are mixtures of theirs. Otherwise ``weights[j]`` serves down to ``lam[j + 1]``.
    points : list of BreakPoint
        The numbers from which the gap at every lam follows, of each break point.
    status, reason : str
        ``converged`` if the path reaches ``lam_min``, otherwise how it ended, and the same as a sentence.
    frame : DataFrame
        One row per break point, the largest lam first: ``lam``, the costs so far (``step``, ``oracle_calls``, ``passes``, ``time``
        in solver seconds), ``primal``, ``dual``, ``gap``, ``certified``.
    """

    lam: FloatArray
    weights: FloatArray
    gap: FloatArray
    lam_end: float
    eps: float
    certified: bool
    two_sided: bool
    points: list[BreakPoint]
    status: str
    reason: str
    frame: "pd.DataFrame"

    def w_at(self, lam: float) -> FloatArray:
        """Return weights whose objective at ``lam`` is at most eps above the optimum."""
        j = self._piece(lam)
        if not self.two_sided or lam > self.lam[0] or j + 1 == len(self.lam):
            return self.weights[j] * (1.0 if lam <= self.lam[j] else self.lam[j] / lam)
        share, _ = best_weights(lam, *self.points[j : j + 2])
        return (1.0 - share) * self.weights[j] + share * self.weights[j + 1]

    def gap_at(self, lam: float) -> float:
        """Return the bound on the suboptimality of ``w_at(lam)``, at most eps; for a heuristic path it is an estimate."""
        j = self._piece(lam)
        if lam >= self.lam[0]:
            return self.eps * self.lam[0] / lam
        upper, lower = bounds_alone(lam, self.points[j])
        if j + 1 < len(self.lam):
            ends = self.points[j : j + 2]
            upper, lower = upper_bound(lam, *ends) if self.two_sided else upper, max(lower, lower_bound(lam, *ends))
        return float(upper - lower)

    def _piece(self, lam: float) -> int:
        lam = check_number("lam", lam, "a number >= 0", least=0.0) if self.lam_end == 0.0 else check_positive("lam", lam)
        if lam < self.lam_end:
            raise ParameterError(f"lam must be at least {self.lam_end:.6g}, where the path ends, got {lam!r}")
        return max(int(np.searchsorted(-self.lam, -lam, side="right")) - 1, 0)

    def __repr__(self) -> str:
        last = self.frame.iloc[-1]
        return (
            f"RegularizationPath({len(self.lam)} break points, lam {self.lam[0]:.6g} to {self.lam_end:.6g}, "
            f"eps={self.eps:g}, {ending(self.status, last['passes'])} in {last['time']:.3g} s)"
        )


def regularization_path(
    problem: Problem,
    eps: float = 0.1,
    *,
    lam_min: float,
    exact: bool = True,
    two_sided: bool | None = None,
    kappa: float | None = None,
    max_passes: float = MOST_PASSES,
    time_limit: float | None = None,
    seed: int = 0,
    verbose: bool = False,
    objective: ObjectiveName = "hinge",
    temperature: float = 1.0,
    **options: Any,
) -> RegularizationPath:
    """Train for all lam >= lam_min at once, to an accuracy of eps at every lam.

    Parameters
    ----------
    problem : problem
        Training set.
    eps : float, default 0.1
        Accuracy, in units of the objective. The optimum is at most the largest loss.
    lam_min : float
        The lam at which the path may end. The path keeps d numbers for each break point.
    exact : bool, default True
        Whether a gap counts only if it was computed exactly, for n oracle calls. A heuristic path uses the last known block gaps
        and certifies nothing.
    two_sided : bool, optional
        Whether intervals are certified from both of their ends, by mixtures of both (Giesen et al., NIPS 2012), so that few break
        points suffice. Default: as ``exact``; ``False`` is the path of Osokin et al.
    kappa : float, optional
        Number between 0 and 1. At every break point the gap is reduced to kappa eps. Default 0.9, or 0.7 for a heuristic path.
    max_passes : float, default 100,000
        Bound on the oracle calls divided by n, for the whole path.
    time_limit : float, optional
        Bound on the solver seconds, for the whole path.
    seed : int, default 0
        Seed of the random choices.
    verbose : bool, default False
        Whether to show progress on standard error.
    objective, temperature
        As for `fwexp.solve`.
    **options
        Options of ``bcfw``, or of ``block_entropic`` if the objective is not the hinge, that replace those that ``auto`` chooses.

    Returns
    -------
    RegularizationPath
        Weights, gaps and break points.

    Raises
    ------
    ValueError
        If a parameter does not accept its value.
    TypeError
        If the solver does not have an option, or options exclude each other.

    See Also
    --------
    solve : Train at one lam.

    Examples
    --------
    >>> import fwexp
    >>> train, test = fwexp.load_dataset("digits")
    >>> path = fwexp.regularization_path(train, eps=0.1, lam_min=0.01)
    >>> path
    RegularizationPath(...)
    >>> path.w_at(0.5).shape
    (770,)
    """
    check_names("solver bcfw", options, OPTIONS, inspect.signature(regularization_path).parameters)
    eps, lam_min, exact = check_positive("eps", eps), check_positive_scale("lam_min", lam_min), check_flag("exact", exact)
    two_sided = exact if two_sided is None else check_sides(check_flag("two_sided", two_sided), exact)
    kappa = DEFAULT_KAPPA[exact] if kappa is None else check_kappa("kappa", kappa)
    options = ({} if exact else {"refresh": RARELY}) | options
    settings = sequence_settings(max_passes=max_passes, time_limit=time_limit, seed=seed, verbose=verbose)
    term = make_objective(objective, temperature)
    sequence = PathSequence(problem, options, settings.seed, exact, eps, lam_min, kappa, term, two_sided)
    status, rows = run_sequence(sequence, settings, "path")
    frame = as_frame(rows).sort_values("lam", ascending=False, kind="stable", ignore_index=True)
    return RegularizationPath(
        lam=frame["lam"].to_numpy(copy=True),
        weights=np.array(sequence.weights),
        gap=frame["gap"].to_numpy(copy=True),
        lam_end=sequence.lam_end,
        eps=eps,
        certified=exact and bool(frame["certified"].all()),
        two_sided=two_sided,
        points=sequence.points,
        status=str(status),
        reason=status.sentence,
        frame=frame,
    )


def check_sides(two_sided: bool, exact: bool) -> bool:
    """Return ``two_sided``, which needs exact gaps."""
    if two_sided and not exact:
        raise ParameterError("two_sided must be false if exact is false, got true")
    return two_sided


def largest_lam(problem, eps: float, seed: int, lam_min: float, objective=HINGE) -> float:
    """Return lam_inf, where a path begins, or lam_min if that is larger: above lam_inf w = 0 has a gap of little more than eps."""
    sequence = PathSequence(problem, {}, check_integer("seed", seed, 0), True, eps, lam_min, 1.0, objective)
    sequence.next_lam()
    return sequence.solver.lam


class Path(SequenceTask):
    """The regularisation path, as by `fwexp.regularization_path`."""

    name = "path"
    title = "weights for every lam down to lam_min"

    @dataclass(frozen=True)
    class Options:
        """The arguments of `fwexp.regularization_path`.

        Attributes
        ----------
        eps : float
            Accuracy, in units of the objective (which is at most the largest loss).
        lam_min : float
            Where the path may end; it must be given.
        exact : bool
            Whether a gap counts only when it was computed exactly; a heuristic path trusts the last known block gaps.
        two_sided : bool
            Whether intervals are certified from both ends, with fewer break points than in the paper.
        kappa : float, optional
            At every break point the gap is brought down to kappa eps; 0.9, or 0.7 for a heuristic path.
        """

        eps: float = option(0.1, check_positive)
        lam_min: float | None = option(None, check_positive_scale, optional=True)  # must be given
        exact: bool = choice(True, False)
        kappa: float | None = option(None, check_kappa, optional=True)
        two_sided: bool = option(False, check_flag, added_later=True)

        def __post_init__(self):
            if self.lam_min is None:
                raise ParameterError("task path: lam_min must be given, got null")
            check_sides(self.two_sided, self.exact)
            if self.kappa is None:
                vars(self)["kappa"] = DEFAULT_KAPPA[self.exact]

    @property
    def last_lam(self):
        return self.options.lam_min

    def sequence(self, problem, options, seed, objective):
        eps, lam_min, exact, kappa, two_sided = vars(self.options).values()
        if not exact and options.get("refresh") is None:
            options["refresh"] = RARELY
        return PathSequence(problem, options, seed, exact, eps, lam_min, kappa, objective, two_sided)
