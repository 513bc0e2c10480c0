"""Claims of papers on block-coordinate Frank-Wolfe after 2016: chains, joint steps, skipped oracles, and away corners."""

import numpy as np

from fwexp.experiments.later.figures import CONLL_LAM, FIG1, JOINT, LAMS, SKIPPING
from fwexp.experiments.theory import chains, small
from fwexp.papers.claims.registry import Kind, claim
from fwexp.papers.claims.runs import FACTOR, FACTORS, interval, measured, sign
from fwexp.papers.claims.verdict import NOT_REACHED, Finding

OCR = {f"OCR-small, lam = {lam}": {"dataset": "ocr", "lam": lam} for lam in LAMS}
CONLL = {f"CoNLL, lam = {CONLL_LAM}": {"dataset": "conll2000", "lam": CONLL_LAM}}
FAR = 0.1
"""A gap above this part of the objective at w = 0 decides nothing."""


def advantage(runs, plain, other, where, axis="passes"):
    """Return how many times as far along an axis one method goes as another, seed by seed, to the gap that all their runs reach."""
    curves = [runs.curves(name, "gap", axis=axis, **where).lowest() for name in (plain, other)]
    level = max(y[-1] for found in curves for y in found.y)
    is_far = level > FAR * max(y[0] for found in curves for y in found.y)
    return curves[0].until(level) / curves[1].until(level), level, is_far


def compared(runs, pairs, places, axis="passes"):
    """Return the parts and numbers of comparisons: the other method of each pair is ahead, by an interval over the seeds."""
    parts, numbers = {}, {}
    for place, where in places.items():
        for name, (plain, other) in pairs.items():
            ratios, level, is_far = advantage(runs, plain, other, where, axis)
            parts[f"{place}: {name}"] = NOT_REACHED if is_far else sign(np.log(ratios))
            numbers |= told(f"{place}: {name}", ratios, level)
    return Finding(parts, numbers)


def told(part, ratios, level):
    """Return the number behind a comparison."""
    return {f"{part}, factor": "{:.3g} [{:.3g}, {:.3g}]".format(*np.exp(interval(np.log(ratios)))), f"{part}, gap": level}


@claim(
    "A-1",
    "With short step chains, pairwise and away steps of blocks converge linearly, with no condition on drop steps: every chain "
    "makes progress.",
    place="abstracts of Rinaldi and Zeffiro 2023, and of Bomze, Rinaldi and Zeffiro 2024; their sections were not at hand",
    vary={"factor": (1.5, 3.0, 10.0)},
)
def chains_are_linear(*, factor=3.0):
    """Computed, on three small problems at lam = 1 and 0.1, with 3 seeds each, until the error of the dual is 1e-9 of the
    first, one part for pairwise and one for away chains. Progress: every chain of a block with gap g and curvature C lowers
    f by at least 1/{factor:g} of min(g, g^2/C)/2, the least decrease of a Frank-Wolfe step with line search. Linear: the
    steps in which the error falls from 1e-3 to 1e-6 of the first are at most {factor:g} times those to 1e-3, in all runs
    together; like 1/k they would be 1000 times as many. Of single steps both are among the numbers.
    """
    parts, numbers = {}, {}
    for kind in ("pairwise", "away"):
        for how, chained in (("chains", True), ("single steps", False)):
            walks = [_walk(number, lam, kind, seed, chained) for number in range(3) for lam in (1.0, 0.1) for seed in range(3)]
            least = min(np.nanmin(walk.shares) for walk in walks)
            early, both = (sum((walk.errors > level * walk.errors[0]).sum() for walk in walks) for level in (1e-3, 1e-6))
            if chained:
                parts |= {f"{kind} chains: progress": least >= 1 / factor, f"{kind} chains: linear": both - early <= factor * early}
            numbers |= {f"{kind} {how}: least progress": least, f"{kind} {how}: steps, late over early": (both - early) / early}
    return Finding(parts, numbers)


@measured
def _walk(number, lam, kind, seed, chained):
    return chains.walk(small.some_outputs(number), lam, kind, seed, 5000, chained)


@claim(
    "A-2",
    "Short step chains save oracle calls: several steps need one gradient.",
    FIG1.runs("bcpfw", "bcpfw_chain", "bcafw", "bcafw_chain"),
    place="abstract of Rinaldi and Zeffiro 2023; the sections were not at hand",
    kind=Kind.STAND_IN,
)
def chains_save_calls(runs):
    """On OCR-small and CoNLL, pairwise and away steps, a part each: the passes to the gap that all runs of both reach are fewer in
    chains than in single steps, by a 95 % interval over the seeds of the logarithm of their ratio.
    """
    pairs = {"pairwise": ("bcpfw", "bcpfw_chain"), "away": ("bcafw", "bcafw_chain")}
    return compared(runs, pairs, OCR | CONLL)


@claim(
    "A-3",
    "Progress needs no costly oracle in every pass: if these have a turn once in K passes only, a gap is reached at less cost.",
    FIG1.runs(*SKIPPING.values()),
    place="abstract of Braun, Pokutta and Woodstock 2024, on costly oracles and on the speedup; the sections were not at hand",
    kind=Kind.STAND_IN,
)
def skipping_saves_cost(runs):
    """On OCR-small and CoNLL, where examples with more labels than the mean are costly, with K = 2 and 5, a part each: the cost of
    calls, in proportion to labels, to the gap that all runs of both reach is less than with all oracles in each pass, by a 95 %
    interval over the seeds of the logarithm of their ratio.
    """
    pairs = {f"once in {K} passes": (SKIPPING[1], name) for K, name in SKIPPING.items() if K > 1}
    return compared(runs, pairs, OCR | CONLL, "cost")


@claim(
    "A-4",
    "Joint steps of several random blocks take fewer steps to a gap than steps of one block: about as many times fewer as there "
    "are blocks.",
    FIG1.runs(*JOINT.values()),
    place="abstracts of Zhang, Wang, Romero and Giannakis 2016 and of Wang et al. 2016, on improvement and speedups; the "
    "sections were not at hand",
    vary={"factor": FACTORS},
    kind=Kind.STAND_IN,
)
def joint_steps(runs, *, factor=FACTOR):
    """On OCR-small, for groups of 4, 16 and 64 blocks, to the gap that all runs of both reach: (a) groups take fewer steps, by a
    95 % interval over the seeds of the logarithm of their ratio; (b) the passes are at most {factor:g} times those of single
    blocks, in the median over the seeds, so that the speedup with as many processors is linear up to this factor. One part each.
    """
    parts, numbers = {}, {}
    for place, where in OCR.items():
        for size, name in JOINT.items():
            if size == 1:
                continue
            ratios, level, is_far = advantage(runs, JOINT[1], name, where)
            parts[f"{place}: {size} blocks, fewer steps"] = NOT_REACHED if is_far else sign(np.log(size * ratios))
            parts[f"{place}: {size} blocks, as many passes"] = NOT_REACHED if is_far else bool(np.median(ratios) >= 1 / factor)
            numbers |= told(f"{place}: {size} blocks, passes of one block over theirs", ratios, level)
    return Finding(parts, numbers)


@claim(
    "A-5",
    "Pairwise steps from the away corner of the best improvement (SDA-WSS2) reach a gap with fewer calls than those from the "
    "corner of the lowest score.",
    FIG1.runs("bcpfw", "bcpfw_wss2"),
    place="section 3.2 of Osokin et al. 2016, on related work, which describes the rule and does not rank it; Franc 2014 was not "
    "at hand",
    kind=Kind.STAND_IN,
)
def best_improvement(runs):
    """On OCR-small, a part for each lam: the passes to the gap that all runs of both reach are fewer, by a 95 % interval over
    the seeds of the logarithm of their ratio. That the rule is better is our guess at its purpose.
    """
    return compared(runs, {"best improvement": ("bcpfw", "bcpfw_wss2")}, OCR)
