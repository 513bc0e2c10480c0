"""Claims of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013): what its figures show."""

import numpy as np

from fwexp.experiments.icml2013.figures import FIG1, FIG2, FIG3, FIG4, FIG5
from fwexp.papers.claims.registry import claim
from fwexp.papers.claims.runs import ALWAYS, FACTOR, FACTORS, LINES, SEEDS, SHARE, SHARES, below, interval, quantile
from fwexp.papers.claims.verdict import Finding, Undecided
from fwexp.papers.declarations import Preset

LAMS = (0.01, 0.001, "1/n")
OCR, CONLL, WORDS = "ocr", "conll2000", "hansards"
END = {OCR: 120.0, CONLL: 12.0, WORDS: 12.0}
"""Where the ranges of passes end: near the end of the figures' runs."""

OWN = Preset("claims/icml2013")
DATA_AND_LAM = ((OCR, 0.01), (OCR, 0.001), (OCR, "1/n"), (CONLL, "1/n"), (WORDS, 0.001))
PANELS = tuple((dataset, lam) for dataset in END for lam in LAMS)
"""Of figures 3 to 5."""
BATCH = ("fw", "one_slack")
SHARES_AND_SEEDS = {"share": SHARES, "seeds": SEEDS}


def _drawn(runs, method, **where):
    """Return the curves of a method as figure 1 draws them: for batch methods, the lower envelope."""
    found = runs.curves(method, **where)
    return found.lowest() if method in BATCH else found


@claim(
    "B13-1",
    "For lam = 0.01 the stochastic solvers are considerably below the batch solvers after equally many passes.",
    FIG1.runs("bcfw", "ssg", "fw", "one_slack", dataset=OCR, lam=0.01),
    place="caption of figure 1, on panel (a)",
    vary={"factor": FACTORS},
)
def stochastic_below_batch(runs, *, factor=FACTOR):
    """The caption speaks of the whole panel (a) and of how much, not of every point: on OCR at lam = 0.01, from 1 to 120 passes,
    the median over points and seeds of (suboptimality of a batch solver, lower envelope / that of BCFW, SSG or their weighted
    averages) is at least {factor:g}. One part per pair of methods.
    """
    parts, numbers = {}, {}
    for name in ("bcfw", "bcfw-wavg", "ssg", "ssg-wavg"):
        for batch in BATCH:
            found = below(runs.curves(name), _drawn(runs, batch), 1.0, END[OCR])
            parts[f"{name} considerably below {batch}"] = found.ratio >= factor
            numbers[f"{name} against {batch}"] = str(found)
    return Finding(parts, numbers)


@claim(
    "B13-2",
    "For lam = 1/n even the batch solvers have a lower objective than SSG, early on.",
    FIG1.runs("ssg", "fw", "one_slack", dataset=OCR, lam="1/n"),
    place="caption of figure 1, on panel (c)",
    vary={"early": (20.0, 40.0, 60.0, 90.0, 120.0), **SHARES_AND_SEEDS},
)
def batch_before_ssg(runs, *, early=60.0, share=SHARE, seeds=LINES):
    """The caption compares objectives and names no level: who is lower after equally many passes has that objective earlier. On
    OCR at lam = 1/n, from 1 to {early:g} passes, the first half of the panel, the lower envelope of each batch solver is below SSG
    (last iterate) at a share of at least {share:g} of the logged points; one part per batch solver.
    """
    parts, numbers = {}, {}
    for batch in BATCH:
        found = below(_drawn(runs, batch), runs.curves("ssg"), 1.0, early, seeds)
        parts[f"{batch} below ssg"] = found.share >= share
        numbers[f"{batch} against ssg"] = str(found)
        numbers[f"{batch} against ssg-wavg"] = str(below(_drawn(runs, batch), runs.curves("ssg-wavg"), 1.0, early, seeds))
    runs.curves("ssg").logged(1.0, END[OCR])
    return Finding(parts, numbers)


@claim(
    "B13-3",
    "BCFW has a low objective at large and at small lam; its weighted average dominates all competitors in most panels, most "
    "clearly in the first passes and at small lam.",
    *(FIG1.runs(dataset=dataset, lam=lam) for dataset, lam in DATA_AND_LAM),
    place="caption of figure 1, after panel (c), for both settings; section 6, last paragraph, for the weighted average",
    vary={"first": (1 / 24, 1 / 12, 1 / 6, 1 / 4), **SHARES_AND_SEEDS},
)
def bcfw_dominates(runs, *, first=1 / 12, share=SHARE, seeds=LINES):
    """Both settings are panels (a) and (c) of OCR, in each of which the caption names who is worse: (a) at lam = 0.01, from 1 to
    120 passes, BCFW is below both batch solvers, (b) at 1/n below SSG and both batch solvers, at a share of at least {share:g} of
    the points each. (c) In more than half of the five panels BCFW-wavg is so below every method but BCFW, from 1 pass on OCR and a
    tenth of one elsewhere, where batch solvers enter with their first pass. Superiority is the median ratio to the best of these
    competitors: (d) in the first {first:.3g} of the passes it is larger than behind them, in the geometric mean over the panels;
    (e) on OCR it is larger at 1/n than at 0.01.
    """
    numbers, shares, ratios = {}, {}, {}
    for dataset, lam in DATA_AND_LAM:
        where, end = {"dataset": dataset, "lam": lam}, END[dataset]
        ours, others = runs.curves("bcfw-wavg", **where), _competitors(runs, where)
        start = 1.0 if dataset == OCR else 0.1
        middle = max(first * end, 2 * start)
        before = others if dataset == OCR else [name for name in others if name not in BATCH]
        lies = {
            (low, high): [below(ours, _drawn(runs, name, **where), low, high, seeds) for name in names]
            for low, high, names in ((start, end, others), (start, middle, before), (middle, end, before))
        }
        shares[dataset, lam] = min(found.share for found in lies[start, end])
        ratios[dataset, lam] = [min(found.ratio for found in lies[span]) for span in lies]
        numbers[f"{dataset}, lam = {lam}: share of points below all"] = shares[dataset, lam]
        for span, ratio in zip(("all", "first", "later"), ratios[dataset, lam], strict=True):
            numbers[f"{dataset}, lam = {lam}: best competitor over it, {span} passes"] = ratio
    parts = {}
    for part, lam, worse in (("low at large lam", 0.01, BATCH), ("low at small lam", "1/n", ("ssg", *BATCH))):
        where = {"dataset": OCR, "lam": lam}
        bcfw = runs.curves("bcfw", **where)
        found = {name: below(bcfw, _drawn(runs, name, **where), 1.0, END[OCR], seeds) for name in worse}
        parts[f"BCFW is {part}"] = all(one.share >= share for one in found.values())
        numbers |= {f"{OCR}, lam = {lam}: bcfw against {name}": str(one) for name, one in found.items()}
    early, late = np.exp(np.log([found[1:] for found in ratios.values()]).mean(axis=0))
    parts |= {
        "BCFW-wavg is the lowest in most panels": np.mean([value >= share for value in shares.values()]) > 0.5,
        "most clearly in the first passes": early > late,
        "most clearly at small lam": ratios[OCR, "1/n"][0] > ratios[OCR, 0.01][0],
    }
    return Finding(parts, numbers)


def _competitors(runs, where):
    """Return the methods that figure 1 draws in addition to BCFW."""
    hidden = {"ssg-tavg", "ssg-avg"}
    found = set(runs.rows(**where)["variant"])
    others = [name for name in runs.variants if name in found - hidden and not name.startswith("bcfw")]
    if not others:
        raise Undecided("there is no competitor")
    return others


@claim(
    "B13-4",
    "On CoNLL BCFW has a low objective after few datapoints, where the other solvers do not.",
    FIG1.runs("bcfw", "ssg", "fw", "one_slack", dataset=CONLL, lam="1/n"),
    place="caption of figure 1, on panel (d)",
    vary={"few": (0.03, 0.1, 0.3, 1.0), **SHARES_AND_SEEDS},
)
def low_after_few(runs, *, few=0.1, share=SHARE, seeds=LINES):
    """The caption names no level: low is what the others of panel (d) do not have. At lam = 1/n, from a hundredth of a pass to
    {few:g} passes, BCFW is below SSG and SSG-wavg at a share of at least {share:g} of the points; and after {few:g} passes it is
    below what each batch solver has after its first, before which it makes no step. One part per other solver.
    """
    parts, numbers, bcfw = {}, {}, runs.curves("bcfw")
    for name in ("ssg", "ssg-wavg"):
        found = below(bcfw, runs.curves(name), 0.01, few, seeds)
        parts[f"below {name}"] = found.share >= share
        numbers[f"bcfw against {name}"] = str(found)
    here = quantile(bcfw.at(np.array([few])), seeds).item()
    numbers[f"bcfw after {few:g} passes"] = here
    for batch in BATCH:
        there = _drawn(runs, batch)
        there.logged(1.0, END[CONLL])
        after = there.at(np.array([1.0])).item()
        parts[f"below {batch} after its first pass"] = here < after
        numbers[f"{batch} after its first pass"] = after
    return Finding(parts, numbers)


@claim(
    "B13-5",
    "Weighted averaging lowers the test error of BCFW and of SSG; SSG-wavg sometimes beats BCFW-wavg in test error although its "
    "objective is the worst.",
    FIG3.runs("bcfw", "ssg", dataset=OCR, lam=LAMS),
    FIG4.runs("bcfw", "ssg", dataset=CONLL, lam=LAMS),
    FIG5.runs("bcfw", "ssg", dataset=WORDS, lam=LAMS),
    place="section 6, last paragraph, on the test error",
    vary={"panels": (0.5, 0.75, ALWAYS), "late": (0.25, 0.5, 0.75), **SHARES_AND_SEEDS},
)
def averages_generalise(runs, *, panels=ALWAYS, late=0.5, share=SHARE, seeds=LINES):
    """For each method: in a share of at least {panels:g} of the nine panels of figures 3 to 5 the mean over the logged points
    from 1 pass on of (test error of the last iterate - that of the weighted average) is positive, by a 95 % interval over seeds.
    Sometimes: in some panel, from {late:g} of the passes on, the test error of SSG-wavg is lower than that of BCFW-wavg by the
    same interval; and in one of these its objective is above those of BCFW, BCFW-wavg and SSG, which figure 1 draws, at a share of
    at least {share:g} of the points there.
    """
    parts, numbers, beaten, worst = {}, {}, [], []
    for method in ("bcfw", "ssg"):
        lower = []
        for dataset, lam in PANELS:
            gain = _difference(runs, f"{method}", f"{method}-wavg", 1.0, END[dataset], dataset=dataset, lam=lam)
            lower.append(gain.low > 0)
            numbers[f"{method}, {dataset}, lam = {lam}: error less that of wavg"] = str(_scaled(gain))
        parts[f"wavg helps {method}"] = np.mean(lower) >= panels
    for dataset, lam in PANELS:
        where, end = {"dataset": dataset, "lam": lam}, END[dataset]
        gain, ssg = _difference(runs, "bcfw-wavg", "ssg-wavg", late * end, end, **where), runs.curves("ssg-wavg", **where)
        if gain.low > 0:
            found = [below(runs.curves(name, **where), ssg, late * end, end, seeds) for name in ("bcfw", "bcfw-wavg", "ssg")]
            beaten.append(f"{dataset}, lam = {lam}")
            worst.append(all(one.share >= share for one in found))
    parts |= {"SSG-wavg beats BCFW-wavg somewhere": bool(beaten), "where its objective is the worst": any(worst)}
    return Finding(parts, numbers | {"panels where SSG-wavg beats BCFW-wavg": "; ".join(beaten) or "none"})


def _difference(runs, one, other, low, high, **where):
    """Return the mean over a range of the test errors of one variant minus those of another, seed by seed."""
    first = runs.curves(one, "test_error", **where).in_range(low, high).mean(axis=1)
    second = runs.curves(other, "test_error", **where).in_range(low, high).mean(axis=1)
    if len(first) != len(second):
        raise Undecided(f"{one} has {len(first)} seeds, {other} has {len(second)}")
    return interval(first - second)


def _scaled(rate):
    """Return a rate in percent, where two decimals are enough."""
    return type(rate)(*(100 * value for value in rate))


@claim(
    "B13-6",
    "With predefined steps BCFW behaves like SSG: most of its gain comes from the step size; at small lam it can be worse than "
    "batch FW with line search early on.",
    FIG2.runs("bcfw", "bcfw_predefined", "fw", dataset=OCR, lam=LAMS),
    FIG3.runs("ssg", dataset=OCR, lam=LAMS),
    place="appendix F, paragraph 2, on figure 2",
    vary={"factor": FACTORS, "most": (0.25, 0.5, 0.75, 0.9), "early": (5.0, 10.0, 20.0, 40.0), "seeds": SEEDS},
)
def line_search_gains(runs, *, factor=FACTOR, most=0.5, early=20.0, seeds=LINES):
    """On OCR, by the geometric means of the suboptimality over 1 to 120 passes and seeds, at every lam: (a) that of predefined
    steps is within a factor of {factor:g} of that of SSG; (b) line search gains over SSG, and its gain over predefined steps is at
    least {most:g} of that, in logarithms. (c) "Can" asks for one case: at lam = 0.001 or 1/n predefined steps are above batch FW
    with line search at some point from 1 to {early:g} passes.
    """
    alike, gains, numbers, worse = [], [], {}, []
    for lam in LAMS:
        names = {"search": "bcfw", "predefined": "bcfw_predefined", "ssg": "ssg"}
        mean = {what: _mean(runs.curves(name, lam=lam), 1.0, END[OCR]) for what, name in names.items()}
        alike.append(1 / factor <= mean["predefined"] / mean["ssg"] <= factor)
        gain, step = np.log(mean["ssg"] / mean["search"]), np.log(mean["predefined"] / mean["search"])
        gains.append(gain > 0 and step >= most * gain)
        numbers[f"lam = {lam}: predefined steps over SSG"] = mean["predefined"] / mean["ssg"]
        numbers[f"lam = {lam}: SSG over line search"] = mean["ssg"] / mean["search"]
        numbers[f"lam = {lam}: predefined steps over line search"] = mean["predefined"] / mean["search"]
        if lam != max(LAMS[:2]):
            found = below(_drawn(runs, "fw", lam=lam), runs.curves("bcfw_predefined", lam=lam), 1.0, early, seeds)
            worse.append(found.share > 0)
            numbers[f"lam = {lam}: batch FW against predefined steps, early"] = str(found)
    parts = {"like SSG": all(alike), "most of the gain is the step size": all(gains), "worse than batch FW early": any(worse)}
    return Finding(parts, numbers)


def _mean(found, low, high):
    """Return the geometric mean of a positive measure over a range and the seeds."""
    return float(np.exp(np.log(np.maximum(found.in_range(low, high), 1e-12)).mean()))


@claim(
    "B13-7",
    "The uniform average of SSG always has a worse objective than every other stochastic solver except online-EG.",
    FIG3.runs("bcfw", "ssg", "online_eg", dataset=OCR, lam=LAMS),
    FIG4.runs("bcfw", "ssg", dataset=CONLL, lam=LAMS),
    FIG5.runs("bcfw", "ssg", dataset=WORDS, lam=LAMS),
    place="appendix F, paragraph 3, on the uniform average",
    vary={"since": (1.0, 2.0, 5.0, 10.0), **SHARES_AND_SEEDS},
)
def uniform_average_is_worst(runs, *, since=1.0, share=ALWAYS, seeds=LINES):
    """Always: in all nine panels of figures 3 to 5, from {since:g} passes on, at a share of at least {share:g} of the logged points
    SSG-avg is above each other variant but online-EG; one part per variant.
    """
    parts, numbers = {}, {}
    others = [name for name in runs.variants if name not in ("ssg-avg", "online_eg")]
    if not others:
        raise Undecided("there is no other stochastic solver")
    for name in others:
        found = {}
        for dataset, lam in PANELS:
            where = {"dataset": dataset, "lam": lam}
            lies = below(runs.curves(name, **where), runs.curves("ssg-avg", **where), since, END[dataset], seeds)
            found[f"{name}, {dataset}, lam = {lam}"] = lies
        parts[f"{name} is better"] = all(one.share >= share for one in found.values())
        numbers |= {place: str(one) for place, one in found.items()}
    return Finding(parts, numbers)


@claim(
    "B13-8",
    "The tail average of BCFW is sometimes slightly better than the weighted one but fluctuates more.",
    FIG3.runs("bcfw", dataset=OCR, lam=LAMS),
    place="appendix F, paragraph 3, on the doubling trick",
    vary={"factor": FACTORS, "seeds": SEEDS},
)
def tail_average_fluctuates(runs, *, factor=FACTOR, seeds=LINES):
    """On OCR, from 10 to 120 passes, when the tail has begun anew several times: (a) at some lam and logged point the tail average
    is below the weighted one, and over all points the median ratio between them is at most {factor:g}; (b) at every lam the rises
    of its log suboptimality from one logged point to the next sum up to more, in the median over the seeds.
    """
    sometimes, more, numbers = [], [], {}
    for lam in LAMS:
        tail, weighted = runs.curves("bcfw-tavg", lam=lam), runs.curves("bcfw-wavg", lam=lam)
        better = below(tail, weighted, 10.0, END[OCR], seeds)
        sometimes.append(better.share > 0 and better.ratio <= factor)
        rises = [np.median(_rises(found, 10.0, END[OCR])) for found in (tail, weighted)]
        more.append(rises[0] > rises[1])
        numbers |= {f"lam = {lam}: tavg": str(better), f"lam = {lam}: rises of tavg": rises[0]}
        numbers[f"lam = {lam}: rises of wavg"] = rises[1]
    return Finding({"sometimes slightly better": any(sometimes), "fluctuates more": all(more)}, numbers)


def _rises(found, low, high):
    logs = np.log(np.maximum(found.in_range(low, high), 1e-12))
    return np.maximum(np.diff(logs, axis=1), 0).sum(axis=1)


@claim(
    "B13-9",
    "On OCR online-EG is far behind all other stochastic solvers.",
    FIG3.runs("bcfw", "ssg", "online_eg", dataset=OCR, lam=LAMS),
    place="appendix F, paragraph 3, on OCR",
    vary={"factor": FACTORS},
)
def exponentiated_gradient_is_worse(runs, *, factor=FACTOR):
    """At every lam, from 1 to 120 passes, the median over points and seeds of (suboptimality of online-EG / that of BCFW,
    BCFW-wavg, SSG or SSG-wavg) is at least {factor:g}; one part per variant. SSG-avg is none of them: the sentence before excepts
    it.
    """
    parts, numbers = {}, {}
    for name in ("bcfw", "bcfw-wavg", "ssg", "ssg-wavg"):
        found = [below(runs.curves(name, lam=lam), runs.curves("online_eg", lam=lam), 1.0, END[OCR]) for lam in LAMS]
        parts[f"worse than {name}"] = all(one.ratio >= factor for one in found)
        numbers |= {f"{name}, lam = {lam}": str(one) for lam, one in zip(LAMS, found, strict=True)}
    return Finding(parts, numbers)


@claim(
    "B13-10",
    "At lam = 0.001 on OCR, BCFW-wavg has a low test error early, and then the test error rises.",
    FIG3.runs("bcfw", dataset=OCR, lam=0.001),
    place="caption of figure 3, on lam = 0.001",
    vary={"early": (1 / 6, 1 / 4, 1 / 3, 1 / 2), "share": SHARES},
)
def early_minimum(runs, *, early=1 / 3, share=SHARE):
    """The early low is the lowest point, within the first {early:.3g} of 120 passes, of the mean over seeds of the test error of
    BCFW-wavg. (a) At 120 passes the error is higher than there, by a 95 % interval over seeds of their differences; (b) so is its
    mean at a share of at least {share:g} of the logged points behind the first {early:.3g}.
    """
    found = runs.curves("bcfw-wavg", "test_error")
    points = found.logged(0.5, END[OCR])
    errors, soon = found.at(points), points <= early * END[OCR]
    low = early_low(errors, soon)
    rise = interval(errors[:, -1] - errors[:, low])
    behind = np.mean(errors.mean(axis=0)[~soon] > errors.mean(axis=0)[low])
    parts = {"higher at the end than early": rise.low > 0, "and mostly in between": behind >= share}
    numbers = {
        "passes to the early low": points[low],
        "error there": errors.mean(axis=0)[low],
        "rise in percentage points": str(_scaled(rise)),
        "share of later points above it": behind,
    }
    return Finding(parts, numbers)


def early_low(errors, soon):
    """Return the position of the lowest mean over seeds among the first points."""
    return int(np.where(soon, errors.mean(axis=0), np.inf).argmin())
