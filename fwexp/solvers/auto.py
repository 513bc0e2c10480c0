"""The method that measures best (``make bench``) for the problem and lam; `choose` chooses it when a run starts.

The rule:

* If the oracle is in Python, a call costs as much as tens of visits of the stored labelings of an example, or more: ``n_slack``,
  with up to `QPS` quadratic programs per pass, and calls that are certificates as well (``certify``). Programs are so exact that
  nearly all information in the labelings is used before the next call (`QP_SHARE`), but take no longer than calls usually do: per
  call they visit so many examples that these have `QP_ENTRIES` features, within the bounds `QP_VISITS`. On the even half of
  ``make bench-calls``, 10 visits per call take 1.5 times as many calls. The rule counts and measures no time, so that runs are
  reproducible. It does not apply to nonnegative weights, averages, a given order, or options of ``bcfw``; then as follows.
* If the maximum of the dual over a block costs no more than the oracle (tier ``exact``): exact steps, rounds through the examples
  that are not settled, and acceleration once rounds bring little (`fwexp.blocks.shrinking`). One weak acceleration, `ROUNDS`,
  serves all problems: on 11 of the even half of ``make bench-multiclass`` it takes 0.6 of the visits of one whose strength and
  period grow with sqrt(R^2/(lam n)). On digits, sparse and Gaussian classes with lam n from 1 to 3000, to gaps of 1e-2 to 1e-4 of
  the optimum, exact steps took between 1/400 of the time of corrective steps and the same time. They took twice the time if
  outputs are given one by one, and are not chosen there.
* If labelings cannot be stored (no tier ``sets``): plain steps in random order.
* If there are at most `FEW` examples, of at least `LONG` positions in the mean: methods that add up all examples, ``lbfgs`` or, for
  the hinge, ``one_slack`` with the options `PLANE_OPTIONS` if sqrt(R^2/(lam n L)) is at least `HARD`, L the mean of the largest
  losses. A step on one of few blocks uses little of what its oracle call shows, but few steps suffice if lam n is large.
  ``make bench-few`` has the measurements. Cutting planes are vectors of all weights: they are not chosen if `PLANES` of them take
  more than `MOST_MEMORY` bytes. Block steps get no kap above 10: on hard generated problems of 100 to 200 examples, 20 takes 0.6 to
  0.9 of the passes, but 1.4 to over 2 times as many on 150 sequences of CoNLL-2000 or OCR, and up to 3.8 times on fewer examples.
* If the objective is not the hinge, and sqrt(R^2/(tau lam n)) is at least `STEEP`, as with features of large values: ``lbfgs`` that
  allows for the scale of each feature. R^2 is the mean of the bounds on ||psi_i(y)||^2. At `UNEVEN_STEEP` it is chosen already if
  the values of one feature are `UNEVEN` times as large as those of the median one, unless there are more weights than parts.
* If the objective is not the hinge otherwise: ``block_entropic`` with gap sampling, and ``lbfgs`` from where that is if it brings
  little (`fwexp.solvers.entropic_turns`). Block steps are accelerated if kap = `ENTROPIC_STRENGTH` sqrt(R^2/(tau lam n)) is at
  least 1. To a gap of 0.1 % of the optimum, acceleration saves half of the passes on handwriting with lam n = 1, and a tenth on
  CoNLL-2000 with lam n = 2. Blocks of classes come in rounds, with `ROUNDS`, as exact steps do. They leave some tenth of the gaps
  that they find; known gaps are so old then that sampling by them takes more passes. On paths, with averages or with options, these
  steps go on alone, and if what L-BFGS keeps would take more than `MOST_MEMORY` bytes.
* If averages are asked for, which are not defined with acceleration: corrective steps in random order.
* If ``lam`` is not known yet, as on a path: the same, with acceleration when it pays.
* Otherwise: corrective steps, gap sampling with a first pass in random order, a small oracle cache, gap refreshes every ten passes,
  and after `START` passes acceleration, with the strength that the labelings met until then call for (`observed_strength` in
  `fwexp.blocks.acceleration`).
* If calls of the oracle cost no more than steps on stored labelings (`cheap_oracle`): the same in random order, without a cache.
* If ||A a|| stops growing within `EARLY` passes, acceleration begins then, three times as strong (`EarlyBegin` in
  `fwexp.blocks.acceleration`). It grew by 2 to 12 % of ||A a||^2 from the eighth to the quarter of a pass on alignments of words,
  where this saves a third to half of the time, and by 27 % or more on texts, handwriting, images and poses.
"""

import dataclasses
import math

from fwexp.blocks.acceleration import LATE_STRENGTH, OBSERVED, without_effect
from fwexp.options import OBJECTIVES, left_open
from fwexp.problems import tiers
from fwexp.problems.loss_terms import HINGE
from fwexp.problems.protocol import (
    cheap_oracle,
    costly_block,
    costly_oracle,
    counted_positions,
    exact_oracle,
    has_best_block,
    has_distributions,
    original,
    radii_sq,
    unevenness,
)
from fwexp.solvers.base import Solver
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.block_entropic import BlockEntropic
from fwexp.solvers.choosing import Choice, check_options
from fwexp.solvers.entropic_turns import RIVAL_OPTIONS, EntropicTurns
from fwexp.solvers.lbfgs import LBFGS
from fwexp.solvers.n_slack import NSlack
from fwexp.solvers.one_slack import OneSlack

CACHE = {"F": 0.4, "nu": 0.01, "size": 8}  # small, so that a step has few labelings to score
ENTROPIC_STRENGTH, STRONGEST = 0.05, 10.0  # kap of `block_entropic` by the square root of R^2/(tau lam n), and its bound
STEEP = 1000.0  # sqrt(R^2/(tau lam n)) from which block steps on objectives with an entropy get slow
UNEVEN_STEEP, UNEVEN = 10.0, 30.0  # the same if the values of one feature are so many times as large as those of the median one
ROUNDS = {"kap": 2.0, "period": 2.0, "refresh": False}  # acceleration of exact steps, whose period is in rounds
START = 1.0  # passes before acceleration begins, whose labelings determine its strength
EARLY = 0.25  # passes after which it begins already if ||A a|| has stopped growing
FEW, LONG = 100, 50.0  # examples at most, and positions per example at least
HARD = 80.0  # sqrt(R^2/(lam n L)) from which cutting planes are faster than block steps on them
PLANE_OPTIONS = {"cache": 0, "pull": 0.9}  # of `one_slack` on them
PLANES, MOST_MEMORY = 128, 2**30  # about how many planes it keeps; how many bytes they, or what L-BFGS keeps, may take
QPS, QP_SHARE, QP_VISITS, QP_ENTRIES = 40, 0.02, (10.0, 300.0), 6e4


Options = dataclasses.make_dataclass(
    "Options",
    [(f.name, f.type | None, left_open(f)) for f in dataclasses.fields(BCFW.Options)],
    frozen=True,
)
Options.__doc__ = BCFW.Options.__doc__.replace(
    "Options of ``bcfw``.", "Options of ``bcfw`` that the caller fixes; those that are null are chosen when a run starts."
)


def choose(problem, lam: float | None = None, iterates=None, objective=HINGE) -> tuple[type[Solver], dict]:
    """Return the method that measures best, and its options; lam is None if unknown, ``iterates`` for the last one alone."""
    if lam is not None and objective == HINGE and prefers_cutting_planes(problem, iterates):
        visits = min(max(QP_ENTRIES / problem.num_weights, QP_VISITS[0]), QP_VISITS[1])
        return NSlack, {"certify": True, "batch": -(-problem.n // QPS), "qp_share": QP_SHARE, "qp_visits": visits}
    if only_last(iterates) and objective != HINGE:
        if is_steep(problem, lam, objective):
            return LBFGS, dataclasses.asdict(RIVAL_OPTIONS)
        if has_few_long_examples(problem):
            return LBFGS, {}
        small = LBFGS.memory(problem, RIVAL_OPTIONS, iterates) <= MOST_MEMORY
        if lam is not None and small and not _saves_memory(problem):
            return EntropicTurns, best_entropic_options(problem, lam, iterates, objective.temperature)
    elif only_last(iterates) and has_few_long_examples(problem) and is_hard(problem, lam):
        small = 8 * PLANES * problem.num_weights <= MOST_MEMORY
        if exact_oracle(problem) and small and not takes_exact_steps(problem):
            return OneSlack, dict(PLANE_OPTIONS)
    return block_method(problem, lam, iterates, objective)


def block_method(problem, lam: float | None = None, iterates=None, objective=HINGE) -> tuple[type[BCFW], dict]:
    """Return the block method for an objective, and its best options; parameters as of `choose`."""
    if objective == HINGE:
        return BCFW, best_options(problem, lam, iterates)
    return BlockEntropic, best_entropic_options(problem, lam, iterates, objective.temperature)


class Auto(Choice):
    """The method that `choose` returns, or ``bcfw`` with the options that are given and the best other ones."""

    name = "auto"
    title = "the fastest setting of bcfw in our benchmarks"
    Options = Options
    iterates = BCFW.iterates
    objectives = OBJECTIVES
    stochastic = takes_order = takes_warm_start = constraints = True

    @classmethod
    def block_method(cls, problem, lam, iterates, objective):
        method, options = block_method(problem, lam, iterates, objective)
        return method, check_options(method, options)

    @classmethod
    def choose(cls, options, problem, lam, iterates=None, order=None, objective=HINGE):
        given = {name: value for name, value in vars(options).items() if value is not None}
        fixed = given.keys() - {"deterministic"} or order is not None
        method, chosen = (block_method if fixed else choose)(problem, lam, iterates, objective)
        chosen = chosen | {name: given[name] for name in given if name != "deterministic" or hasattr(method.Options, name)}
        if order is not None:
            chosen.pop("sampling")
        if "accelerate" not in given and isinstance(chosen.get("accelerate"), dict):
            idle = without_effect(chosen.get("sampling", method.Options.sampling), chosen.get("cache"))
            chosen["accelerate"] = {name: value for name, value in chosen["accelerate"].items() if name not in idle}
        return method, check_options(method, chosen)


def prefers_cutting_planes(problem, iterates) -> bool:
    """Return whether ``n_slack`` is faster than ``bcfw``, and can keep to the constraints and iterates."""
    constrained = len(getattr(problem, "nonnegative", ())) > 0
    return costly_oracle(problem) and not constrained and tiers.has(problem, "sets") and only_last(iterates)


def has_few_long_examples(problem) -> bool:
    """Return whether there are too few examples for block steps, and these are long."""
    ptr = getattr(original(problem), "label_ptr", None)
    return problem.n <= FEW and ptr is not None and ptr[-1] >= LONG * problem.n


def is_hard(problem, lam: float | None) -> bool:
    """Return whether features are so large, or lam so small, that block steps on few long examples get slow with the hinge."""
    return _steepness(problem, lam, counted_positions(problem).mean()) >= HARD


def is_steep(problem, lam: float | None, objective) -> bool:
    """Return whether features are so large or uneven, or lam so small, that block steps on such an objective get slow."""
    steepness = _steepness(problem, lam, objective.temperature)
    shared = problem.num_weights < problem.part_ptr[-1]  # Otherwise examples share few weights.
    return steepness >= STEEP or (steepness >= UNEVEN_STEEP and shared and unevenness(problem) >= UNEVEN)


def _steepness(problem, lam: float | None, temperature: float) -> float:
    """Return sqrt(R^2/(temperature lam n)), 0 if lam or R is not known."""
    known = lam is not None and tiers.has(problem, "bounds")
    return math.sqrt(radii_sq(problem).mean() / (temperature * problem.n * lam)) if known else 0.0


def takes_exact_steps(problem) -> bool:
    """Return whether the maximum of the dual over a block costs no more than the oracle."""
    return tiers.has(problem, "exact") and has_best_block(problem) and not costly_block(problem)


def _saves_memory(problem) -> bool:
    return getattr(getattr(original(problem), "x", None), "saves_memory", False)


def only_last(iterates) -> bool:
    """Return whether no averages are asked for."""
    return iterates is None or all(name == "last" for name in iterates)


def best_entropic_options(problem, lam: float | None = None, iterates=None, temperature: float = 1.0) -> dict:
    """Return the options of ``block_entropic`` that measure best; other parameters as of `choose`."""
    ordered = {"sampling": "gap_perm", "refresh": 10.0, "accelerate": False}
    if _saves_memory(problem):
        ordered["precision"] = "single"
    if not (only_last(iterates) and tiers.has(problem, "bounds")):
        return ordered
    if lam and has_distributions(problem):
        return {"sampling": "shrinking", "accelerate": ROUNDS}
    kap = ENTROPIC_STRENGTH * _steepness(problem, lam, temperature) if lam else LATE_STRENGTH
    accelerate = {"kap": min(kap, STRONGEST), "period": None, "refresh": False}
    return ordered | ({"accelerate": accelerate} if kap >= 1.0 else {})


def best_options(problem, lam: float | None = None, iterates=None) -> dict:
    """Return the options of ``bcfw`` that measure best; parameters as of `choose`."""
    ordered = {"sampling": "perm", "step": "corrective", "accelerate": False}
    exact = takes_exact_steps(problem)
    if exact:
        ordered["step"] = "exact"
    elif not tiers.has(problem, "sets"):
        return ordered | {"step": "fw"}
    if not only_last(iterates):
        return ordered
    if lam is None and tiers.has(problem, "bounds"):
        return ordered | {"accelerate": True}
    if exact:
        return {"sampling": "shrinking", "step": "exact", "accelerate": ROUNDS}
    accelerate = {"kap": OBSERVED, "period": None, "start": START, "early": EARLY}
    if cheap_oracle(problem):
        return ordered | {"accelerate": accelerate}
    return {"sampling": "gap_perm", "step": "corrective", "cache": CACHE, "accelerate": accelerate | {"refresh": False}}
