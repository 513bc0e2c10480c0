"""Options of ``bcfw``, and of methods that take its plain steps."""

from dataclasses import dataclass
from typing import ClassVar

from fwexp.blocks import duals
from fwexp.blocks.acceleration import AccelerateOptions
from fwexp.errors import OptionError
from fwexp.options import check_integer, check_number, check_switch, choice, option


@dataclass(frozen=True)
class CacheOptions:
    """Criteria and size of the oracle cache (G16, Algorithm 5).

    Attributes
    ----------
    F : float
        Local criterion: a stored labeling answers if its gap is at least F times the last known one of the block.
    nu : float
        Global criterion: and if it is at least nu times the mean of all block gaps when they were last computed.
    size : int
        Labelings that are kept per example.
    """

    F: float = option(0.25, check_number, "a number >= 0", least=0.0)
    nu: float = option(0.01, check_number, "a number >= 0", least=0.0)
    size: int = option(50, check_integer, 2)


CONSTRAINED_SEARCHES = ("exact", "published")
BY_GAPS = ("gap", "gap_perm", "max_gap", "max_gain")
SAMPLING = ("uniform", "perm", "cyclic", *BY_GAPS, "lipschitz", "shrinking")


@dataclass(frozen=True)
class Options:
    """Options of ``bcfw``.

    Attributes
    ----------
    sampling : str
        Which example is next: drawn ``uniform``, a random permutation (``perm``) in every pass, ``cyclic``, or by the last known
        block gaps: in proportion to them (``gap``; ``gap_perm`` begins with a pass in random order), the largest (``max_gap``), the
        largest gap^2 over curvature (``max_gain``); or in proportion to the curvature of the blocks (``lipschitz``);
        ``shrinking`` goes in random order through those that are not settled, which are all at first.
    line_search : bool
        Whether steps are as long as is best; else 2n/(k + 2n).
    step : str
        ``fw`` towards the corner of the oracle; ``pairwise``, ``away``, or ``corrective`` within the labelings that are stored;
        ``exact``, to the maximum of the dual over the block.
    cache : bool or CacheOptions
        Whether stored labelings may answer for the oracle, and when.
    refresh : float, optional
        Passes after which all block gaps are computed exactly, 0 for never; 10 where gaps steer the run, else 0.
    accelerate : bool or AccelerateOptions
        Whether the method runs inside an outer acceleration, and which.
    constrained_search : str
        Line search where weights must not be negative: ``exact``, or as ``published``, for the unclipped weights.
    """

    sampling: str = choice(*SAMPLING)
    line_search: bool = choice(True, False)
    step: str = choice(*duals.STEPS)
    cache: bool | CacheOptions = option(False, check_switch, CacheOptions)
    refresh: float | None = option(None, check_number, "a number of passes >= 0 (0 = never)", least=0.0, optional=True)
    accelerate: bool | AccelerateOptions = option(False, check_switch, AccelerateOptions)
    constrained_search: str = choice(*CONSTRAINED_SEARCHES)

    def __post_init__(self) -> None:
        if not self.line_search and self.step != "fw":
            raise OptionError(f"solver bcfw: line_search=false goes with step=fw only, got step={self.step}")

    nu: ClassVar[float] = 1.0  # predefined steps are 2n/(nu k + 2n)

    @property
    def needs_gaps(self) -> bool:
        """Whether the last known block gaps steer the run."""
        return self.sampling in BY_GAPS or self.cache is not False

    @property
    def refresh_passes(self) -> float:
        """Passes between exact computations of all block gaps; 0 is never."""
        return self.refresh if self.refresh is not None else 10.0 if self.needs_gaps else 0.0


@dataclass(frozen=True)
class PlainOptions:
    """Options of methods that take Frank-Wolfe steps in a plain order, and no other choice of ``bcfw``.

    Attributes
    ----------
    sampling : str
        The order of the examples: drawn ``uniform`` at random, a random permutation (``perm``) in every pass, or ``cyclic``.
    line_search : bool
        Whether steps are as long as is best; else predefined ones.
    """

    sampling: str = choice("uniform", "perm", "cyclic")
    line_search: bool = choice(True, False)

    step: ClassVar[str] = "fw"
    cache: ClassVar[bool] = False
    accelerate: ClassVar[bool] = False
    nu: ClassVar[float] = 1.0
    constrained_search: ClassVar[str] = "exact"
    needs_gaps: ClassVar[bool] = False
    refresh_passes: ClassVar[float] = 0.0
