"""The table of the comparison, and where ours loses."""

import numpy as np
import pandas as pd

COLUMNS = [
    *("kind", "problem", "target", "tool", "setting", "ours", "seconds", "seconds_least", "seconds_most"),
    *("times", "times_least", "times_most", "suboptimality", "calls", "test_error", "rounds"),
]
OBJECTIVE = """\
Tools that minimise the same function, each until P(w) is within the given part of the minimum; P(w) and the bound of the
minimum are ours. The other tools have the loosest tolerance that suffices, which a user cannot know in advance; fwexp stops by
its certificate, whose evaluations are in its time. *x fwexp* is their time over ours, round by round: below 1 fwexp loses.
"""
TASK = """\
Tools that learn to predict the same from the same features: training time, and the mean share of wrong labels of a test sequence.
Every tool has the lam of the fewest errors on a fifth of the training set, and is then trained on all of it; a CRF of CRFsuite
minimises what the CRF of fwexp does.
"""


def frame(rows: list[dict]) -> pd.DataFrame:
    """Return the rows with all columns."""
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def markdown(results: pd.DataFrame) -> str:
    """Return the tables, and below each the problems on which ours loses."""
    parts = []
    for kind, text, table in (("same objective", OBJECTIVE, _objective), ("same task", TASK, _task)):
        rows = results[results["kind"] == kind]
        if len(rows):
            parts.append(f"## The {kind}\n\n{text}\n{table(rows)}\n\n{losses(rows)}\n")
    rounds = int(results["rounds"].max())
    return "\n".join(
        [*parts, f"Medians, and least - most, of {rounds} round{'s' * (rounds > 1)}, in turns on one core, in seconds of it."]
    )


def losses(rows: pd.DataFrame) -> str:
    """Return the sentence about the problems on which ours loses."""
    cases = []
    for (described, target), group in rows.groupby(["problem", "target"], dropna=False, sort=False):
        problem = described.partition(":")[0]
        ours, theirs = group[group["ours"]], group[~group["ours"]]
        if (theirs["times"] < 1).any():
            cases.append(f"{problem}, to {target:g}: {_number(1 / theirs['times'].min())} times slower")
        if theirs["test_error"].min() < ours["test_error"].min():
            cases.append(f"{problem}: test error {ours['test_error'].min():.4f} against {theirs['test_error'].min():.4f}")
        if np.isnan(target) and theirs["seconds"].min() < ours["seconds"].min():
            cases.append(f"{problem}: {_number(ours['seconds'].min())} s against {_number(theirs['seconds'].min())} s")
    return f"Where fwexp loses: {'; '.join(cases)}." if cases else "fwexp loses nowhere here."


def _objective(rows):
    head = ("problem", "within", "tool", "setting", "seconds", "x fwexp", "oracle calls")
    return in_columns(
        head,
        [
            (
                *(row["problem"], f"{row['target']:g}", row["tool"], row["setting"]),
                *(_span(row, "seconds"), _span(row, "times"), _number(row["calls"])),
            )
            for row in rows.to_dict("records")
        ],
    )


def _task(rows):
    head = ("problem", "tool", "setting", "seconds", "test error")
    return in_columns(
        head,
        [
            (row["problem"], row["tool"], row["setting"], _span(row, "seconds"), f"{row['test_error']:.4f}")
            for row in rows.to_dict("records")
        ],
    )


def in_columns(head, rows) -> str:
    """Return rows of Markdown, without cells in the first column that repeat the cell above."""
    shown, above = [], None
    for first, *rest in rows:
        shown.append(("" if first == above else first, *rest))
        above = first
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *shown])


def _span(row, name) -> str:
    if np.isnan(row[name]):
        return "-"
    return f"{_number(row[name])} ({_number(row[name + '_least'])} - {_number(row[name + '_most'])})"


def _number(value) -> str:
    return "-" if np.isnan(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
