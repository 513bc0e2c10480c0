"""The setting of ``bcfw`` that measures best (``make bench``), chosen when a run starts, by the problem and lam.

The rule:

* The maximum of the dual over a block costs no more than the oracle (tier ``exact``): exact steps in what follows, and no cache.
  On digits, sparse and Gaussian classes with lam n from 1 to 3000, to gaps of 1e-2 to 1e-4 of the optimum, these took from
  1/400 of the time of corrective ones to as long; where outputs are given one by one, twice as long, and are not chosen.
* Labelings cannot be kept (no tier ``sets``): plain steps in random order.
* Averages are asked for (they are not defined with acceleration): corrective steps in random order.
* ``lam`` is not known yet, as on a path: the same, accelerated where that pays at the time.
* Else: corrective steps, gap sampling with a first pass in random order, a small oracle cache, and after `START` passes
  acceleration, as strong as the labelings met until then ask for (`observed_strength` in `fwexp.solvers.acceleration`; none are
  kept with exact steps, where bounds have to do), with gaps refreshed every ten passes.
"""

import dataclasses

from fwexp.options import left_open
from fwexp.problems.protocol import costly_block, has_best_block
from fwexp.problems.tiers import missing
from fwexp.solvers.acceleration import OBSERVED
from fwexp.solvers.base import check_options
from fwexp.solvers.bcfw import BCFW

CACHE = {"F": 0.4, "nu": 0.01, "size": 8}  # small, so that a step has few labelings to score
START = 2.0  # passes before acceleration begins, in which it meets the labelings that say how strong it has to be


Options = dataclasses.make_dataclass(
    "Options",
    [(f.name, f.type | None, left_open(f)) for f in dataclasses.fields(BCFW.Options)],
    frozen=True,
)
Options.__doc__ = BCFW.Options.__doc__.replace(
    "Options of ``bcfw``.", "Options of ``bcfw`` that are settled beforehand; those that are null are chosen when a run starts."
)


class Auto(BCFW):
    """Block-coordinate Frank-Wolfe in the setting that measures best; ``options`` of an instance are those of ``bcfw``."""

    name = "auto"
    title = "the setting of bcfw that measures best"
    Options = Options
    decides = True

    @classmethod
    def decide(cls, options, problem, lam, iterates=None, order=None):
        """Return the options of ``bcfw`` that the rule chooses, with those given in their place."""
        if isinstance(options, BCFW.Options):
            return options
        chosen = rule(problem, lam, iterates)
        if order is not None:
            chosen.pop("sampling")
        given = {name: value for name, value in vars(options).items() if value is not None}
        return check_options(BCFW, chosen | given)

    @classmethod
    def needs(cls, options):
        """Options that are not decided yet will need what the problem has."""
        return super().needs(options) if isinstance(options, BCFW.Options) else ()

    @classmethod
    def available_iterates(cls, options):
        """Options that are not decided yet can have all."""
        return super().available_iterates(options) if isinstance(options, BCFW.Options) else cls.iterates

    @property
    def kind(self):
        return BCFW


def rule(problem, lam: float | None = None, iterates=None) -> dict:
    """Return the options of ``bcfw`` that measure best for a problem, lam (None: not known yet) and the iterates asked for."""
    ordered = {"sampling": "perm", "step": "corrective", "accelerate": False}
    exact = not missing(problem, "exact") and has_best_block(problem) and not costly_block(problem)
    if exact:
        ordered["step"] = "exact"
    elif missing(problem, "sets"):
        return ordered | {"step": "fw"}
    if iterates is not None and any(name != "last" for name in iterates):
        return ordered
    bounded = not missing(problem, "bounds")
    if lam is None and bounded:
        return ordered | {"accelerate": True}
    accelerate = {"kap": None if exact and bounded else OBSERVED, "period": None, "start": START, "refresh": False}
    return {"sampling": "gap_perm", "step": ordered["step"], "cache": False if exact else CACHE, "accelerate": accelerate}
