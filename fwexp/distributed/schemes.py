"""The common parts of the two schemes: their options, and their differences from ``bcfw`` in one process."""

import dataclasses
from typing import ClassVar

from fwexp.blocks.acceleration import OBSERVED, AccelerateOptions, check_effects
from fwexp.options import check_choice, check_integer, check_number, check_switch, choice, option
from fwexp.problems.loss_terms import HINGE
from fwexp.solvers.base import Solver
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.bcfw_options import OF_PARTS, STEPS, Setting, switched

# As `fwexp.solvers.auto` has it, but later, for curvatures are K times as large (`synthetic_lsp`: 22.7 passes, 23.7 if at once).
ACCELERATE = {"kap": OBSERVED, "period": None, "start": 2.0}


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of ``bcfw`` and ``auto`` where examples are spread over workers.

    Attributes
    ----------
    scheme : str
        ``oracles``: workers answer for the oracle. ``local``: they take steps. By default as an oracle call costs.
    sampling : str
        As of ``bcfw``, in every part.
    step : str, optional
        As of ``bcfw``; by default what measures best for the family.
    accelerate : bool or AccelerateOptions, optional
        As of ``bcfw``; by default as ``auto`` has it. In the scheme ``local`` a kap that is not given is multiplied by the root
        of the number of parts.
    round : float
        ``local``: passes of a worker between two exchanges.
    snapshot : float
        ``local``: passes after which the dual blocks of all parts are copied to the process that called `solve`; the loss of a
        worker costs no more than the work since.
    tau : int, optional
        ``oracles``: examples per message; by default about 0.1 s of oracle calls.
    in_flight : int
        ``oracles``: messages that a part computes or has waiting.
    replay : bool
        ``oracles``: whether steps with stored labelings are taken while nothing comes.
    """

    scheme: str = choice("oracles", "local")
    sampling: str = choice("perm", "uniform", "cyclic")
    step: str | None = option(None, check_choice, STEPS, optional=True)
    accelerate: bool | AccelerateOptions | None = option(None, check_switch, AccelerateOptions, optional=True)
    round: float = option(0.5, check_number, "a positive number of passes", above=0.0)
    snapshot: float = option(10.0, check_number, "a positive number of passes", above=0.0)
    tau: int | None = option(None, check_integer, 1, optional=True)
    in_flight: int = option(2, check_integer, 1)
    replay: bool = choice(True, False)

    def __post_init__(self) -> None:
        check_effects("solver bcfw on workers", self)

    def setting(self) -> Setting:
        """Return the setting that these options choose, once none of them is open."""
        return Setting(self.sampling, self.step, accelerate=switched(self.accelerate, AccelerateOptions))


class Scheme(BCFW):
    """``bcfw`` on a problem whose examples are with workers."""

    Options = Options
    iterates = ("last",)
    takes_order = takes_warm_start = False
    chooses = True
    steps: ClassVar[tuple[str, ...]] = STEPS
    start_near, origin = Solver.start_near, Solver.origin

    @classmethod
    def choose(cls, options, problem, lam, iterates=None, order=None, objective=HINGE):
        """Return this class, and the options with a step and an acceleration for those that are null."""
        step = options.step or problem.about[0].step
        step = step if step in cls.steps else "corrective"
        kap = None if step in OF_PARTS else OBSERVED  # no labelings are kept that could be observed
        accelerate = ACCELERATE | {"kap": kap} if options.accelerate is None else options.accelerate
        return cls, dataclasses.replace(options, step=step, accelerate=accelerate)

    @classmethod
    def needs(cls, options):
        """Return no tiers, because workers check the tiers that they need."""
        return ()

    def compile(self):
        """Compile nothing here: workers compile their steps when they start."""

    @property
    def known_hinge(self):
        """Block gaps are not those at one w."""
        return None
