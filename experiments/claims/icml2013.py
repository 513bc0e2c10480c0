"""Claims of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013): what its figures show."""

import numpy as np

from fwexp.experiments.claims.catalogue import Need, claim
from fwexp.experiments.claims.runs import below, interval
from fwexp.experiments.claims.verdict import Finding, Undecided

LAMS = (0.01, 0.001, "1/n")
OCR, CONLL, WORDS = "ocr", "conll2000", "hansards"
END = {OCR: 120.0, CONLL: 12.0, WORDS: 12.0}
"""Where the ranges of passes end: near the end of the figures' runs."""

FIG1, FIG2, FIG3 = "icml2013/fig1", "icml2013/fig2", "icml2013/fig3"
PLACES = ((OCR, 0.01), (OCR, 0.001), (OCR, "1/n"), (CONLL, "1/n"), (WORDS, 0.001))
BATCH = ("fw", "one_slack")


def _need(preset, *methods, **where):
    return Need(preset, methods, where=where)


def _batch(runs, method, **where):
    """The lower envelope of a batch method, as the figures draw it."""
    return runs.curves(method, **where).lowest()


def _three(dataset):
    """The three strengths of figures 3 to 5."""
    return [(dataset, lam) for lam in LAMS]


@claim(
    "B13-1",
    "For lam = 0.01 the stochastic solvers are far below the batch solvers after equally many passes.",
    _need(FIG1, "bcfw", "ssg", "fw", "one_slack", dataset=OCR, lam=0.01),
    figure=FIG1,
)
def stochastic_below_batch(runs):
    """On OCR, from 1 to 120 passes, every seed of BCFW, SSG and their weighted averages is below batch FW and the cutting
    plane (lower envelopes) at every logged point, and the median ratio is at least 3. One part per pair of methods.
    """
    parts, numbers = {}, {}
    for name in ("bcfw", "bcfw-wavg", "ssg", "ssg-wavg"):
        for batch in BATCH:
            found = below(runs.curves(name), _batch(runs, batch), 1.0, END[OCR])
            parts[f"{name} far below {batch}"] = found.always and found.ratio >= 3
            numbers[f"{name} against {batch}"] = str(found)
    return Finding(parts, numbers)


@claim(
    "B13-2",
    "For lam = 1/n even the batch solvers reach a low objective before SSG does.",
    _need(FIG1, "ssg", "fw", "one_slack", dataset=OCR, lam="1/n"),
    figure=FIG1,
)
def batch_before_ssg(runs):
    """Low is a suboptimality of 0.1, a tenth of the objective at w = 0 on OCR. Each batch solver gets there within 120 passes
    and before every seed of SSG (its last iterate); one part per batch solver.
    """
    ssg = runs.curves("ssg").until(0.1)
    parts, numbers = {}, {"passes of ssg to 0.1, earliest seed": ssg.min()}
    for batch in BATCH:
        passes = _batch(runs, batch).until(0.1)[0]
        parts[f"{batch} before ssg"] = passes <= END[OCR] and passes < ssg.min()
        numbers[f"passes of {batch} to 0.1"] = passes
    runs.curves("ssg").logged(1.0, END[OCR])
    return Finding(parts, numbers)


@claim(
    "B13-3",
    "BCFW reaches a low objective at large and small lam; its weighted average dominates all competitors in most panels, "
    "most clearly in the first passes and at small lam.",
    *(_need(FIG1, dataset=dataset, lam=lam) for dataset, lam in PLACES),
    figure=FIG1,
)
def bcfw_dominates(runs):
    """Parts: (a) every seed of BCFW gets below a tenth of its suboptimality at w = 0 in all five panels of suboptimality;
    (b) in most of them, at more than half of the points logged from a tenth of a pass to the end, every seed of BCFW-wavg is
    below every seed of every method but BCFW; (c) the share of such points up to 1 pass is at least that behind it, on
    average over the panels; (d) on OCR the share at 1/n is at least that at 0.01.
    """
    low, shares, early, late = [], {}, [], []
    for dataset, lam in PLACES:
        where, end = {"dataset": dataset, "lam": lam}, END[dataset]
        bcfw = runs.curves("bcfw", **where)
        bcfw.logged(1.0, end)
        low.append(all(y.min() < 0.1 * y[0] for y in bcfw.y))
        others = [name for name in _of(runs, where) if not name.startswith("bcfw")]
        if not others:
            raise Undecided("there is no competitor")
        ours = runs.curves("bcfw-wavg", **where)

        def share(start, stop, ours=ours, others=others, where=where):
            return min(below(ours, _batch(runs, name, **where), start, stop).share for name in others)

        shares[dataset, lam] = share(0.1 if dataset != OCR else 1.0, end)
        if dataset != OCR:  # batch solvers have no point before the first pass
            stochastic = [name for name in others if name not in BATCH]
            early.append(share(0.1, 1.0, others=stochastic))
            late.append(share(1.0, end, others=stochastic))
        else:
            early.append(share(1.0, 10.0))
            late.append(share(10.0, end))
    parts = {
        "BCFW gets low at every lam": all(low),
        "BCFW-wavg is the lowest in most panels": np.mean([value > 0.5 for value in shares.values()]) > 0.5,
        "most clearly in the first passes": np.mean(early) >= np.mean(late),
        "most clearly at small lam": shares[OCR, "1/n"] >= shares[OCR, 0.01],
    }
    numbers = {f"share of points, {dataset}, lam = {lam}": value for (dataset, lam), value in shares.items()}
    return Finding(parts, numbers | {"share, first passes": np.mean(early), "share, later": np.mean(late)})


def _of(runs, where):
    present = set(runs.rows(**where)["variant"])
    hidden = {"bcfw-tavg", "ssg-tavg", "ssg-avg"}  # not in this figure
    return [name for name in runs.variants if name in present - hidden]


@claim(
    "B13-4",
    "On CoNLL BCFW has a low objective after a fraction of one pass.",
    _need(FIG1, "bcfw", dataset=CONLL, lam="1/n"),
    figure=FIG1,
)
def low_within_a_pass(runs):
    """At lam = 1/n, every seed of BCFW (last or weighted average, one part each) has less than a tenth of its suboptimality at
    w = 0 before the end of the first pass.
    """
    parts, numbers = {}, {}
    for name in ("bcfw", "bcfw-wavg"):
        found = runs.curves(name)
        found.logged(0.1, 1.0)
        passes = np.array([row.until(0.1 * row.y[0][0])[0] for row in _each(found)])
        parts[f"{name} within a pass"] = passes.max() < 1.0
        numbers[f"passes of {name} to a tenth, worst seed"] = passes.max()
    return Finding(parts, numbers)


def _each(found):
    return [type(found)(found.name, [x], [y], [d]) for x, y, d in zip(found.x, found.y, found.diverged, strict=True)]


def _averaged(dataset, preset):
    return [_need(preset, "bcfw", "ssg", "online_eg", dataset=dataset, lam=LAMS)]


@claim(
    "B13-5",
    "Weighted averaging lowers the test error of BCFW and of SSG; SSG-wavg sometimes beats BCFW-wavg in test error although its "
    "objective is the worst.",
    _need(FIG3, "bcfw", "ssg", dataset=OCR, lam=LAMS),
    _need("icml2013/fig4", "bcfw", "ssg", dataset=CONLL, lam=LAMS),
    _need("icml2013/fig5", "bcfw", "ssg", dataset=WORDS, lam=LAMS),
    figure=FIG3,
)
def averages_generalise(runs):
    """For each method: in all nine panels of figures 3 to 5 the mean over the logged points from 1 pass to the end of (test
    error of the last iterate - that of the weighted average) is positive, by a 95 % interval over seeds. Third part: in some
    panel the test error of SSG-wavg is lower than that of BCFW-wavg over the second half of the passes, by the same
    interval, while its suboptimality is higher at every logged point there, for every seed.
    """
    parts, numbers, surprise = {}, {}, []
    for method in ("bcfw", "ssg"):
        lower = []
        for dataset, lam in [place for name in END for place in _three(name)]:
            gain = _difference(runs, f"{method}", f"{method}-wavg", 1.0, END[dataset], dataset=dataset, lam=lam)
            lower.append(gain.low > 0)
            numbers[f"{method}, {dataset}, lam = {lam}: error less that of wavg"] = str(_scaled(gain))
        parts[f"wavg helps {method}"] = all(lower)
    for dataset, lam in [place for name in END for place in _three(name)]:
        where, end = {"dataset": dataset, "lam": lam}, END[dataset]
        gain = _difference(runs, "bcfw-wavg", "ssg-wavg", end / 2, end, **where)
        higher = below(runs.curves("bcfw-wavg", **where), runs.curves("ssg-wavg", **where), end / 2, end)
        surprise.append(gain.low > 0 and higher.always)
    parts["SSG-wavg beats BCFW-wavg somewhere"] = any(surprise)
    return Finding(parts, numbers | {"panels where SSG-wavg beats BCFW-wavg": sum(surprise)})


def _difference(runs, one, other, low, high, **where):
    """Mean over a range of the test errors of one variant less those of another, seed by seed."""
    first = runs.curves(one, "test_error", **where).in_range(low, high).mean(axis=1)
    second = runs.curves(other, "test_error", **where).in_range(low, high).mean(axis=1)
    if len(first) != len(second):
        raise Undecided(f"{one} has {len(first)} seeds, {other} has {len(second)}")
    return interval(first - second)


def _scaled(rate):
    """In percent, where two digits behind the point say enough."""
    return type(rate)(*(100 * value for value in rate))


@claim(
    "B13-6",
    "With predefined steps BCFW behaves like SSG: the gain comes from the line search; at small lam it can be worse than batch FW "
    "with line search early on.",
    _need(FIG2, "bcfw", "bcfw-predefined", "fw", dataset=OCR, lam=LAMS),
    _need(FIG3, "ssg", dataset=OCR, lam=LAMS),
    figure=FIG2,
)
def line_search_gains(runs):
    """Parts: (a) at every lam the suboptimality of BCFW with predefined steps, geometric mean over 1 to 120 passes and seeds,
    is within a factor of 3 of that of SSG; (b) at every lam every seed of BCFW with line search is below every seed with
    predefined steps at every logged point from 1 to 120 passes; (c) at lam = 1/n some point from 1 to 20 passes has every seed
    with predefined steps above batch FW with line search.
    """
    alike, gains, numbers = [], [], {}
    for lam in LAMS:
        predefined, ssg = runs.curves("bcfw-predefined", lam=lam), runs.curves("ssg", lam=lam)
        ratio = _mean(predefined, 1.0, END[OCR]) / _mean(ssg, 1.0, END[OCR])
        gain = below(runs.curves("bcfw", lam=lam), predefined, 1.0, END[OCR])
        alike.append(1 / 3 <= ratio <= 3)
        gains.append(gain.always)
        numbers |= {f"lam = {lam}: predefined steps over SSG": ratio, f"lam = {lam}: line search": str(gain)}
    batch, block = _batch(runs, "fw", lam="1/n"), runs.curves("bcfw-predefined", lam="1/n")
    early = below(batch, block, 1.0, 20.0)
    parts = {"like SSG": all(alike), "line search gains": all(gains), "worse than batch FW early": early.share > 0}
    return Finding(parts, numbers | {"lam = 1/n: batch FW": str(early)})


def _mean(found, low, high):
    """Geometric mean of a positive measure over a range and the seeds."""
    return float(np.exp(np.log(np.maximum(found.in_range(low, high), 1e-12)).mean()))


@claim(
    "B13-7",
    "The uniform average of SSG has a worse objective than every other stochastic solver except online-EG.",
    *_averaged(OCR, FIG3),
    figure=FIG3,
)
def uniform_average_is_worst(runs):
    """At every lam on OCR, at every logged point from 10 to 120 passes, every seed of SSG-avg is above every seed of each other
    variant but online-EG; one part per variant.
    """
    parts, numbers = {}, {}
    others = [name for name in runs.variants if name not in ("ssg-avg", "online_eg")]
    if not others:
        raise Undecided("there is no other stochastic solver")
    for name in others:
        found = [below(runs.curves(name, lam=lam), runs.curves("ssg-avg", lam=lam), 10.0, END[OCR]) for lam in LAMS]
        parts[f"{name} is better"] = all(one.always for one in found)
        numbers |= {f"{name}, lam = {lam}": str(one) for lam, one in zip(LAMS, found, strict=True)}
    return Finding(parts, numbers)


@claim(
    "B13-8",
    "The tail average of BCFW is sometimes slightly better than the weighted one but fluctuates more.",
    _need(FIG3, "bcfw", dataset=OCR, lam=LAMS),
    figure=FIG3,
)
def tail_average_fluctuates(runs):
    """On OCR, from 10 to 120 passes: (a) at some lam and logged point every seed of the tail average is below every seed of the
    weighted one, by a factor of at most 2; (b) at every lam and for every seed the rises of its log suboptimality from one
    logged point to the next sum up to more.
    """
    sometimes, more, numbers = [], [], {}
    for lam in LAMS:
        tail, weighted = runs.curves("bcfw-tavg", lam=lam), runs.curves("bcfw-wavg", lam=lam)
        better = below(tail, weighted, 10.0, END[OCR])
        sometimes.append(better.share > 0 and better.ratio <= 2)
        rises = [_rises(found, 10.0, END[OCR]) for found in (tail, weighted)]
        more.append(bool((rises[0] > rises[1]).all()))
        numbers |= {f"lam = {lam}: tavg": str(better), f"lam = {lam}: rises of tavg": np.median(rises[0])}
        numbers[f"lam = {lam}: rises of wavg"] = np.median(rises[1])
    return Finding({"sometimes slightly better": any(sometimes), "fluctuates more": all(more)}, numbers)


def _rises(found, low, high):
    logs = np.log(np.maximum(found.in_range(low, high), 1e-12))
    return np.maximum(np.diff(logs, axis=1), 0).sum(axis=1)


@claim(
    "B13-9",
    "On OCR online-EG is substantially worse than the other stochastic solvers.",
    *_averaged(OCR, FIG3),
    figure=FIG3,
)
def exponentiated_gradient_is_worse(runs):
    """At every lam, at every logged point from 1 to 120 passes, every seed of online-EG is above every seed of BCFW, BCFW-wavg,
    SSG and SSG-wavg, with a median ratio of at least 2; one part per variant.
    """
    parts, numbers = {}, {}
    for name in ("bcfw", "bcfw-wavg", "ssg", "ssg-wavg"):
        found = [below(runs.curves(name, lam=lam), runs.curves("online_eg", lam=lam), 1.0, END[OCR]) for lam in LAMS]
        parts[f"worse than {name}"] = all(one.always and one.ratio >= 2 for one in found)
        numbers |= {f"{name}, lam = {lam}": str(one) for lam, one in zip(LAMS, found, strict=True)}
    return Finding(parts, numbers)


@claim(
    "B13-10",
    "At lam = 0.001 on OCR, BCFW-wavg has its lowest test error early, and then the test error rises.",
    _need(FIG3, "bcfw", dataset=OCR, lam=0.001),
    figure=FIG3,
)
def early_minimum(runs):
    """For every seed the lowest test error of BCFW-wavg is logged within the first third of 120 passes; the error at 120 passes
    less that lowest one is positive by a 95 % interval over seeds and at least 1 % of it.
    """
    found = runs.curves("bcfw-wavg", "test_error")
    points = found.logged(0.5, END[OCR])
    errors = found.at(points)
    places, rise = points[errors.argmin(axis=1)], interval(errors[:, -1] - errors.min(axis=1))
    parts = {"lowest early": places.max() <= END[OCR] / 3, "rises": rise.low > 0 and rise.exponent >= 0.01 * errors.min()}
    numbers = {
        "passes to the lowest, latest seed": places.max(),
        "rise in percentage points": str(_scaled(rise)),
        "lowest": errors.min(),
    }
    return Finding(parts, numbers)
