"""Options of ``bcfw``, and of methods that take its plain steps."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from fwexp.errors import OptionError
from fwexp.options import integer_option, number_option, switch_option
from fwexp.solvers import duals
from fwexp.solvers.acceleration import AccelerateOptions


@dataclass(frozen=True)
class CacheOptions:
    """Criteria and size of the oracle cache (G16, Algorithm 5)."""

    F: float = field(default=0.25, metadata={"check": number_option("solver.cache.F of bcfw", "a number >= 0", least=0.0)})
    nu: float = field(default=0.01, metadata={"check": number_option("solver.cache.nu of bcfw", "a number >= 0", least=0.0)})
    size: int = field(default=50, metadata={"check": integer_option("solver.cache.size of bcfw", 2)})


CONSTRAINED_SEARCHES = ("exact", "published")
BY_GAPS = ("gap", "gap_perm", "max_gap", "max_gain")
SAMPLING = ("uniform", "perm", "cyclic", *BY_GAPS, "lipschitz")


@dataclass(frozen=True)
class Options:
    """Options of ``bcfw``."""

    sampling: str = field(default="uniform", metadata={"choices": SAMPLING})
    line_search: bool = field(default=True, metadata={"choices": (True, False)})
    step: str = field(default="fw", metadata={"choices": duals.STEPS})
    cache: Any = field(default=False, metadata={"check": switch_option("solver.cache of bcfw", CacheOptions)})
    refresh: float | None = field(
        default=None,
        metadata={
            "check": number_option("solver.refresh of bcfw", "a number of passes >= 0 (0 = never)", optional=True, least=0.0)
        },
    )
    accelerate: Any = field(default=False, metadata={"check": switch_option("solver.accelerate of bcfw", AccelerateOptions)})
    constrained_search: str = field(default="exact", metadata={"choices": CONSTRAINED_SEARCHES})

    def __post_init__(self) -> None:
        if not self.line_search and self.step != "fw":
            raise OptionError(f"solver.line_search=false of bcfw goes with step=fw only, got step={self.step}")

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
    """Options of methods that take Frank-Wolfe steps in a plain order, and no other choice of ``bcfw``."""

    sampling: str = field(default="uniform", metadata={"choices": ("uniform", "perm", "cyclic")})
    line_search: bool = field(default=True, metadata={"choices": (True, False)})

    step: ClassVar[str] = "fw"
    cache: ClassVar[bool] = False
    accelerate: ClassVar[bool] = False
    nu: ClassVar[float] = 1.0
    constrained_search: ClassVar[str] = "exact"
    needs_gaps: ClassVar[bool] = False
    refresh_passes: ClassVar[float] = 0.0
