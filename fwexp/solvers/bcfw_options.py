"""Options of ``bcfw``, and of methods that take its plain steps."""

from dataclasses import dataclass
from typing import NamedTuple

from fwexp.blocks.acceleration import AccelerateOptions, check_effects
from fwexp.blocks.orders import BY_GAPS, SAMPLING, WITHOUT_SUM
from fwexp.errors import OptionError
from fwexp.options import check_flag, check_integer, check_number, check_switch, choice, option
from fwexp.solvers.base import PlainOrder


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
STEPS = ("fw", "pairwise", "away", "corrective", "exact")
OF_PARTS = ("fw", "exact")  # steps that need no labelings
MAX_STORED = 20  # labelings that an active set keeps without a cache, in addition to those with weight


class Setting(NamedTuple):
    """The choices that define a run of a block method; every method makes one from its own options."""

    sampling: str = "uniform"
    step: str = "fw"
    keeps_labelings: bool = False  # whether blocks are weights of labelings even if the step does not need labelings
    line_search: bool = True
    nu: float = 1.0  # Predefined steps are 2n/(nu k + 2n).
    extends_search: bool = True  # whether line searches continue to the maximum of the dual under constraints
    cache: CacheOptions | None = None
    stored: int = MAX_STORED  # labelings that are kept per example, in addition to those with weight
    refresh: float = 0.0  # passes between exact computations of all block gaps; 0 is never
    accelerate: AccelerateOptions | None = None
    deterministic: bool = True

    @property
    def keeps_parts(self) -> bool:
        """Return whether blocks are vectors of parts."""
        return self.step in OF_PARTS and not self.keeps_labelings

    @property
    def stores_labelings(self) -> bool:
        """Return whether labelings are stored, in the blocks or in a cache."""
        return not self.keeps_parts or self.cache is not None

    @property
    def needs_gaps(self) -> bool:
        """Return whether the last known block gaps steer the run."""
        return self.sampling in BY_GAPS or self.cache is not None

    @property
    def ends_at_known_gap(self) -> bool:
        """Return whether a series of steps ends as soon as the known gaps are small."""
        knows_all = self.refresh > 0.0 or self.sampling in BY_GAPS
        return knows_all and self.accelerate is None and self.sampling not in WITHOUT_SUM


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
        ``fw`` towards the corner of the oracle; ``pairwise``, ``away`` (that or ``fw``, whichever increases the dual more), or
        ``corrective`` within the labelings that are stored;
        ``exact``, to the maximum of the dual over the block.
    cache : bool or CacheOptions
        Whether stored labelings may answer for the oracle, and when.
    refresh : float, optional
        Passes after which all block gaps are computed exactly, 0 for never; 10 where gaps steer the run, else 0. Without
        acceleration they are also computed once the known ones sum to 0.8 times the gap asked for.
    accelerate : bool or AccelerateOptions
        Whether the method runs inside an outer acceleration, and which.
    constrained_search : str
        Line search where weights must not be negative: ``exact``, or as ``published``, for the unclipped weights.
    deterministic : bool
        Whether equal runs give equal bits. Otherwise the threads of ``n_jobs`` take steps at once, if oracle calls take much longer
        than steps; the column ``threads`` of the trace has their number.
    """

    sampling: str = choice(*SAMPLING)
    line_search: bool = choice(True, False)
    step: str = choice(*STEPS)
    cache: bool | CacheOptions = option(False, check_switch, CacheOptions)
    refresh: float | None = option(None, check_number, "a number of passes >= 0 (0 = never)", least=0.0, optional=True)
    accelerate: bool | AccelerateOptions = option(False, check_switch, AccelerateOptions)
    constrained_search: str = choice(*CONSTRAINED_SEARCHES)
    deterministic: bool = option(True, check_flag, added_later=True)

    def __post_init__(self) -> None:
        if not self.line_search and self.step != "fw":
            raise OptionError(f"solver bcfw: line_search=false goes with step=fw only, got step={self.step}")
        if not self.line_search and self.constrained_search != CONSTRAINED_SEARCHES[0]:
            raise OptionError("solver bcfw: constrained_search goes with line_search=true only, got line_search=false")
        check_effects("solver bcfw", self, self.cache)

    def setting(self) -> Setting:
        """Return the setting that these options choose."""
        cache, accelerate = switched(self.cache, CacheOptions), switched(self.accelerate, AccelerateOptions)
        return Setting(
            sampling=self.sampling,
            step=self.step,
            line_search=self.line_search,
            extends_search=self.line_search and self.constrained_search == "exact",
            cache=cache,
            stored=cache.size if cache else MAX_STORED,
            refresh=self.refresh if self.refresh is not None else 10.0 if self.sampling in BY_GAPS or cache else 0.0,
            accelerate=accelerate,
            deterministic=self.deterministic,
        )


def switched(given, options: type):
    """Return the options of a switch: None for False, the defaults for True, otherwise the options in a mapping."""
    return None if given is False else options(**given) if isinstance(given, dict) else options()


@dataclass(frozen=True)
class PlainOptions(PlainOrder):
    """Options of methods that take Frank-Wolfe steps in a plain order, and no other choice of ``bcfw``.

    Attributes
    ----------
    line_search : bool
        Whether steps are as long as is best; else predefined ones.
    """

    line_search: bool = choice(True, False)

    def setting(self) -> Setting:
        """Return the setting that these options choose."""
        return Setting(sampling=self.sampling, line_search=self.line_search, extends_search=self.line_search)
