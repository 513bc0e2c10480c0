"""A grid of lam, the largest first, with a certified gap at each."""

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fwexp.errors import ParameterError, shown
from fwexp.options import check_flag, check_names, check_positive, check_positive_scale, choice, option
from fwexp.problems.loss_terms import make_objective
from fwexp.tasks.lam_sequence import (
    MOST_PASSES,
    OPTIONS,
    GridSequence,
    SequenceTask,
    as_frame,
    run_sequence,
    sequence_settings,
)
from fwexp.types import ObjectiveName, Problem

if TYPE_CHECKING:
    import pandas as pd

GRID = tuple(2.0**exponent for exponent in range(15, -16, -1))


def grid_search(
    problem: Problem,
    eps: float = 0.1,
    *,
    lams: Sequence[float] = GRID,
    warm: bool = True,
    max_passes: float = MOST_PASSES,
    time_limit: float | None = None,
    seed: int = 0,
    verbose: bool = False,
    objective: ObjectiveName = "hinge",
    temperature: float = 1.0,
    **options: Any,
) -> "pd.DataFrame":
    """Train to a certified gap of eps at every lam of a grid, the largest first.

    Parameters
    ----------
    problem : problem
        Training set.
    eps : float, default 0.1
        Gap to reach at every lam.
    lams : sequence of float, default 2^15, 2^14, ..., 2^-15
        Values of lam.
    warm : bool, default True
        Whether each lam starts from the w of the previous one (``BCFW.change_lam``), or from w = 0.
    max_passes, time_limit, seed, verbose, objective, temperature, **options
        As for `regularization_path`; the bounds are for the whole grid.

    Returns
    -------
    DataFrame
        One row per lam, as in ``RegularizationPath.frame``; costs are cumulated. Values of lam that were not reached
        within the bounds are missing; ``attrs["status"]`` tells how the search ended.

    See Also
    --------
    regularization_path : Weights for every lam, not only for a grid.
    """
    check_names("solver bcfw", options, OPTIONS, inspect.signature(grid_search).parameters)
    eps, lams, warm = check_positive("eps", eps), _check_lams(lams), check_flag("warm", warm)
    settings = sequence_settings(max_passes=max_passes, time_limit=time_limit, seed=seed, verbose=verbose)
    sequence = GridSequence(problem, options, settings.seed, eps, lams, warm, make_objective(objective, temperature))
    status, rows = run_sequence(sequence, settings, "grid")
    frame = as_frame(rows)
    frame.attrs["status"] = str(status)
    return frame


def _check_lams(lams) -> list[float]:
    """Return the values of a grid."""
    text_or_number = isinstance(lams, str | bytes | Mapping) or not isinstance(lams, Iterable) or getattr(lams, "ndim", 1) == 0
    try:
        values = [] if text_or_number else list(lams)
    except TypeError:  # sparse arrays of some formats say that they can be iterated over
        values = []
    if not values:
        raise ParameterError(f"lams must be a list of positive finite numbers, at least one, got {shown(lams)}")
    return [check_positive_scale(f"lams[{k}]", lam) for k, lam in enumerate(values)]


class Grid(SequenceTask):
    """The powers of two between two lam, as `fwexp.grid_search` goes through them."""

    name = "grid"
    title = "training at the powers of two from lam_max down to lam_min"

    @dataclass(frozen=True)
    class Options:
        """The arguments of `fwexp.grid_search`, without the ends of the grid.

        Attributes
        ----------
        eps : float
            Gap to reach at every lam.
        lam_max, lam_min : float
            The ends of the grid, which has the powers of two between.
        warm : bool
            Whether each lam starts from the weights of the one before.
        """

        eps: float = option(0.1, check_positive_scale)
        lam_max: float = option(GRID[0], check_positive_scale)
        lam_min: float = option(GRID[-1], check_positive_scale)
        warm: bool = choice(True, False)

        def __post_init__(self):
            if not self.lams:
                got = f"got {self.lam_min!r} and {self.lam_max!r}"
                raise ParameterError(f"task grid: there must be a power of two between lam_min and lam_max, {got}")

        @property
        def lams(self) -> list[float]:
            """The grid, the largest first."""
            first, last = math.floor(math.log2(self.lam_max)), math.ceil(math.log2(self.lam_min))
            return [2.0**exponent for exponent in range(first, last - 1, -1)]

    @property
    def last_lam(self):
        return self.options.lams[-1]

    def sequence(self, problem, options, seed, objective):
        return GridSequence(problem, options, seed, self.options.eps, self.options.lams, self.options.warm, objective)
