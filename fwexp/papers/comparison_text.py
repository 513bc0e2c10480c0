"""The words and tables of ``fwexp compare``: for the terminal, as LaTeX, and as CSV."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fwexp.papers.significance import LEAST

NEAR = 1.1  # times the best of the others
LATEX = str.maketrans({sign: f"\\{sign}" for sign in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"})


def cost_cells(costs: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the head and the rows of the table of costs, from `comparison.costs_of`."""
    span = span_head(costs["seeds"])
    rows = [("problem", "method", "seeds", "passes", span, "time", span)]
    for row in costs.to_dict("records"):
        (passes, passes_span), (time, time_span) = shown(row, "passes"), shown(row, "time")
        time = time if time == "never" else f"{time} s"
        rows.append((row["problem"], row["side"], f"{row['reached']}/{row['seeds']}", passes, passes_span, time, time_span))
    return rows


def span_head(seeds: Sequence[int]) -> str:
    """Return the head of a column of `shown` spans: intervals of medians, ranges in brackets, or both."""
    kinds = ["95 % interval"] * any(count >= LEAST for count in seeds) + ["(range)"] * any(1 < count < LEAST for count in seeds)
    return " or ".join(kinds) or "range"


def test_cells(tests: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the head and the rows of the table of tests, from `paired_tests.pair_tests`."""
    rows = [("methods", "cost", "pairs", "median ratio", "p", "p (Holm)")]
    for row in tests.to_dict("records"):
        numbers = ("-" if np.isnan(row[name]) else f"{row[name]:.3g}" for name in ("ratio", "p", "p_holm"))
        rows.append((f"{row['one']} / {row['other']}", row["cost"], str(row["pairs"]), *numbers))
    return rows


def text(rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table for the terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def latex(rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table as LaTeX, which needs the package booktabs."""
    head, *others = (" & ".join(cell.translate(LATEX) for cell in row) + r" \\" for row in rows)
    left = 1 + (rows[0][1] in ("method", "cost"))
    columns = "l" * left + "r" * (len(rows[0]) - left)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *others, r"\bottomrule", r"\end{tabular}"]
    )


def csv(costs: pd.DataFrame) -> str:
    """Return the costs as CSV, with all digits."""
    return costs.drop(columns="keys").to_csv(index=False, lineterminator="\n").rstrip("\n")


def standing(costs: pd.DataFrame, side: str, cost: str) -> str:
    """Return a sentence that compares a side with the best other one in ``passes`` or ``time``, over all problems."""
    medians = costs.pivot(index="problem", columns="side", values=cost)
    own, best = medians[side], medians.drop(columns=side).min(axis=1)
    solved = np.isfinite(medians).any(axis=1)
    ratios = (own / best).where(own != best, 1.0)[solved]  # also where both cost nothing
    if ratios.empty:
        return f"{side}, {cost}: no method gets to any gap"
    worst = ratios.idxmax()
    ratio = f"ratio {ratios[worst]:.3g}" if np.isfinite(ratios[worst]) else "never there, but another is,"
    near = int((ratios <= NEAR).sum())
    problems = f"{near} of {len(ratios)} problem{'s' * (len(ratios) != 1)}"
    return f"{side}, {cost}: within {NEAR - 1:.0%} of the best rival on {problems}; worst: {ratio} on {worst}"


def fastest(costs: pd.DataFrame) -> list[str]:
    """Return a sentence for each data set and lam: the fastest side, in seconds, to the least level that any side reaches."""
    said = []
    for place, rows in costs[np.isfinite(costs["time"])].groupby("place", sort=False):
        first, *others = rows[rows["gap"] == rows["gap"].min()].sort_values("time").to_dict("records")
        if first["time"] > 0:
            level, next_one = first["problem"].removeprefix(f"{place}, "), "no other does"
            if others:
                next_one = f"{others[0]['time'] / first['time']:.3g} times sooner than the next, {others[0]['side']}"
            said.append(f"{first['side']} first reaches {level} on {place}: {next_one}")
    return said


def shown(row, cost: str) -> tuple[str, str]:
    """Return the median of a cost and its interval, for the table; with too few seeds the range, in brackets; none of one seed."""
    median, low, high = (_number(row[name]) for name in (cost, f"{cost}_low", f"{cost}_high"))
    span = f"{low} - {high}" if row["seeds"] > 1 and low != "never" else "-"
    return median, span if row["seeds"] >= LEAST or span == "-" else f"({span})"


def _number(value):
    return f"{value:.3g}" if np.isfinite(value) else "never"
