"""Tests of compared methods over problems and seeds, given the costs of `fwexp.papers.comparison`: pair by pair, and by mean ranks.

A pair is one problem (data set and lam) with one seed, and a problem counts at one level, so that a run counts once. The
only run of a deterministic solver on a problem is paired with every seed of the other side.
"""

import math
from collections.abc import Mapping
from itertools import combinations

import pandas as pd

from fwexp.papers import significance
from fwexp.papers.comparison import AXES
from fwexp.papers.significance import LEAST

COLUMNS = ["one", "other", "cost", "pairs", "ratio", "p", "p_holm"]


def tested_levels(costs: pd.DataFrame) -> pd.Series:
    """Return, by problem (``place``), the least level that more than half of the seeds of every side reach, else the largest."""
    reached = costs.assign(ok=2 * costs["reached"] > costs["seeds"]).groupby(["place", "gap"])["ok"].all().reset_index()
    largest = reached.groupby("place")["gap"].max()
    return reached[reached["ok"]].groupby("place")["gap"].min().reindex(largest.index).fillna(largest)


def paired(seeds: pd.DataFrame, levels: pd.Series, solvers: Mapping[str, str], cost: str) -> pd.DataFrame:
    """Return a cost of each side (columns) on each problem, at its one of the levels, with each seed (rows) that all have."""
    rows = seeds[seeds["gap"] == seeds["place"].map(levels)]
    table = rows.pivot(index=["place", "seed"], columns="side", values=cost)[list(dict.fromkeys(seeds["side"]))]
    places = table.index.get_level_values("place")
    for (place, side), run in rows.groupby(["place", "side"]):
        if len(run) == 1 < (places == place).sum() and _is_deterministic(solvers[run["key"].iloc[0]]):
            table.loc[places == place, side] = run[cost].iloc[0]
    return table.dropna()


def _is_deterministic(solver: str) -> bool:
    """Return whether a solver is installed, and its seed changes nothing."""
    from fwexp.run.catalogues import catalogue

    known = catalogue("solver")
    return solver in known and not known[solver].stochastic


def pair_tests(seeds: pd.DataFrame, levels: pd.Series, solvers: Mapping[str, str]) -> pd.DataFrame:
    """Return Wilcoxon's signed-rank test of every two sides in passes and time, with `COLUMNS`; arguments as of `paired`."""
    # ``ratio`` is the median ratio of the costs of ``one`` to the costs of ``other``, and ``p_holm`` is corrected for all rows.
    rows = []
    for one, other in combinations(dict.fromkeys(seeds["side"]), 2):
        both = seeds[seeds["side"].isin([one, other])]
        for cost in AXES:
            costs = paired(both, levels, solvers, cost)
            if len(costs):
                rows.append((one, other, cost, *significance.signed_ranks(costs[one], costs[other])))
    tests = pd.DataFrame(rows, columns=COLUMNS[:-1])
    return tests.assign(p_holm=significance.holm(tests["p"]))[COLUMNS]


def rank_frame(seeds: pd.DataFrame, levels: pd.Series, solvers: Mapping[str, str]) -> pd.DataFrame:
    """Return the numbers of a critical-difference diagram, see `fwexp.plots.rank_diagram`; empty with fewer than `LEAST` pairs."""
    frames = []
    for panel, cost in zip("ab", AXES, strict=True):
        costs = paired(seeds, levels, solvers, cost)
        if len(costs) < LEAST:
            continue
        ranks = significance.mean_ranks(costs.to_numpy())
        keys = seeds.groupby("side")["key"].agg(lambda keys: " ".join(sorted(set(keys))))
        facts = {
            "panel": panel,
            "axis": cost,
            "measure": "rank",
            "pairs": ranks.blocks,
            "p": ranks.p,
            "difference": ranks.difference,
        }
        sides = {"variant": costs.columns, "x": ranks.means, "median": ranks.means, "keys": keys[costs.columns].to_numpy()}
        frames.append(pd.DataFrame(sides | facts))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def shortages(seeds: pd.DataFrame, tests: pd.DataFrame, solvers: Mapping[str, str]) -> list[str]:
    """Return a sentence for each statistic that has too few seeds; deterministic solvers need no interval."""
    counts = (
        seeds.groupby(["side", "place"], sort=False)["key"]
        .unique()
        .groupby("side", sort=False)
        .agg(lambda keys: min(keys, key=len))
    )
    several = max(map(len, counts)) > 1  # else there is no need to import all solvers
    few = [
        f"{side} ({len(keys)})"
        for side, keys in counts.items()
        if len(keys) < LEAST and not (several and all(_is_deterministic(solvers[key]) for key in keys))
    ]
    said = []
    if few:
        said.append(f"too few seeds for a 95 % interval, which needs {LEAST}: {', '.join(few)}; (a - b) is the least and the most")
    needed = math.ceil(1 + math.log2(len(tests) / (1 - significance.CONFIDENCE))) if len(tests) else 0  # signed ranks and Holm
    if not len(tests):
        said.append("no test: the sides have no problem and seed in common")
    elif (pairs := tests["pairs"].min()) < needed:
        said.append(f"too few pairs of a problem and a seed to find a difference at 5 %: {pairs}; {len(tests)} tests need {needed}")
    return said
