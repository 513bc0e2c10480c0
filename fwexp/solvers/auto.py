"""The setting of ``bcfw`` that measures best (``make bench``), chosen when a run starts, by the problem and lam.

The rule:

* The oracle is in Python, where a call costs tens of visits of an example's stored labelings at least: ``n_slack``, with `QPS`
  quadratic programs per pass, so exact that most of what is known of the labelings is used before the next call (`QP_SHARE`), but
  for no longer than calls take as a rule (`QP_VISITS`; `QP_ENOUGH` where gaps are no larger within programs than the oracle finds:
  on chains more visits save a tenth of the calls). The rule counts and takes no time, so that runs are the same again. Not
  where weights must not be negative, for averages, an order, or with options of ``bcfw``: then as follows.
* The maximum of the dual over a block costs no more than the oracle (tier ``exact``): exact steps, rounds through what is not
  settled, and acceleration once rounds bring little (`fwexp.blocks.shrinking`). On digits, sparse and Gaussian classes with lam n
  from 1 to 3000, to gaps of 1e-2 to 1e-4 of the optimum, exact steps took from 1/400 of the time of corrective ones to as long;
  where outputs are given one by one, twice as long, and are not chosen.
* Labelings cannot be kept (no tier ``sets``): plain steps in random order.
* Averages are asked for (they are not defined with acceleration): corrective steps in random order.
* ``lam`` is not known yet, as on a path: the same, accelerated where that pays at the time.
* Else: corrective steps, gap sampling with a first pass in random order, a small oracle cache, and after `START` passes
  acceleration, as strong as the labelings met until then ask for (`observed_strength` in `fwexp.blocks.acceleration`), with gaps
  refreshed every ten passes.
"""

import dataclasses

from fwexp.blocks.acceleration import OBSERVED
from fwexp.options import left_open
from fwexp.problems import tiers
from fwexp.problems.protocol import costly_block, costly_oracle, has_best_block
from fwexp.solvers.base import check_options
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.n_slack import NSlack

CACHE = {"F": 0.4, "nu": 0.01, "size": 8}  # small, so that a step has few labelings to score
START = 1.0  # passes before acceleration begins, in which it meets the labelings that say how strong it has to be


QPS, QP_SHARE, QP_VISITS, QP_ENOUGH = 40, 0.15, 30.0, 5.0


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

    def __new__(cls, problem, lam, options, seed=0, iterates=("last",), order=None, warm_start=None):
        """Make a solver of the method that is chosen."""
        chosen = cls.decide(options, problem, lam, iterates, order)
        if isinstance(chosen, NSlack.Options):
            running = NSlack(problem, lam, chosen, seed, iterates, order, warm_start)
            running.name, running.title = cls.name, cls.title
            return running
        return super().__new__(cls)

    @classmethod
    def decide(cls, options, problem, lam, iterates=None, order=None):
        """Return the options of ``bcfw`` that the rule chooses, with those given in their place."""
        if isinstance(options, BCFW.Options | NSlack.Options):
            return options
        given = {name: value for name, value in vars(options).items() if value is not None}
        if not given and order is None and lam is not None and prefers_cutting_planes(problem, iterates):
            limits = {"qp_share": QP_SHARE, "qp_visits": QP_VISITS, "qp_enough": QP_ENOUGH}
            return NSlack.Options(batch=-(-problem.n // QPS), **limits)
        chosen = rule(problem, lam, iterates)
        if order is not None:
            chosen.pop("sampling")
        return check_options(BCFW, chosen | given)

    @classmethod
    def needs(cls, options):
        """Options that are not decided yet will need what the problem has."""
        if isinstance(options, NSlack.Options):
            return NSlack.needs(options)
        return super().needs(options) if isinstance(options, BCFW.Options) else ()

    @classmethod
    def available_iterates(cls, options):
        """Options that are not decided yet can have all."""
        if isinstance(options, NSlack.Options):
            return NSlack.available_iterates(options)
        return super().available_iterates(options) if isinstance(options, BCFW.Options) else cls.iterates

    @classmethod
    def memory(cls, problem, options, iterates):
        """Options are decided here."""
        return (NSlack if isinstance(options, NSlack.Options) else super()).memory(problem, options, iterates)

    @property
    def kind(self):
        return BCFW


def prefers_cutting_planes(problem, iterates) -> bool:
    """Whether ``n_slack`` is faster than the settings of ``bcfw``, and does what is asked for."""
    constrained = len(getattr(problem, "nonnegative", ())) > 0
    return costly_oracle(problem) and not constrained and tiers.has(problem, "sets") and only_last(iterates)


def only_last(iterates) -> bool:
    """Whether no averages are asked for."""
    return iterates is None or all(name == "last" for name in iterates)


def rule(problem, lam: float | None = None, iterates=None) -> dict:
    """Return the options of ``bcfw`` that measure best for a problem, lam (None: not known yet) and the iterates asked for."""
    ordered = {"sampling": "perm", "step": "corrective", "accelerate": False}
    exact = tiers.has(problem, "exact") and has_best_block(problem) and not costly_block(problem)
    if exact:
        ordered["step"] = "exact"
    elif not tiers.has(problem, "sets"):
        return ordered | {"step": "fw"}
    if not only_last(iterates):
        return ordered
    bounded = tiers.has(problem, "bounds")
    if lam is None and bounded:
        return ordered | {"accelerate": True}
    if exact:
        accelerate = {"kap": None if bounded else OBSERVED, "period": None, "refresh": False}
        return {"sampling": "shrinking", "step": "exact", "accelerate": accelerate}
    accelerate = {"kap": OBSERVED, "period": None, "start": START, "refresh": False}
    return {"sampling": "gap_perm", "step": "corrective", "cache": CACHE, "accelerate": accelerate}
