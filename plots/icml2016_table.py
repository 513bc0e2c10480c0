"""Table 1 of the ICML 2016 paper: its data sets and ours, with what a call of the oracle costs here, and what part of a run."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fwexp.methods import of_results
from fwexp.plots import style
from fwexp.plots.describe import markdown
from fwexp.plots.icml2016 import DATA_SETTINGS, SLOW, SLOW_SETTING

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("bcfw", "bcpfw_gap_cache")  # whose runs are looked at


class Facts(NamedTuple):
    """A data set of the paper: its size, and the kind of its oracle (section 5, paragraph 2)."""

    paper: str
    oracle: str


_VITERBI, _CUT = "Viterbi on a chain", "minimum cut of a graph"
_TREE = "max-product on a tree, distance transforms"
FACTS = {
    "OCR-large": Facts("n 6251, d 4082", _VITERBI),
    "OCR-small": Facts("n 626, d 4082", _VITERBI),
    "CoNLL": Facts("n 8936, d 1643026", _VITERBI),
    "synth. HorseSeg-small": Facts("n 147, d 2069", _CUT),
    "synth. HorseSeg-medium": Facts("n 6121, d 2069", _CUT),
    "synth. HorseSeg-large": Facts("n 25438, d 2069", _CUT),
    "Weizmann horses": Facts("-", _CUT),
    "synth. LSP": Facts("n 100, d 2677", _TREE),
    SLOW: Facts("n 100, d 2677", "max-product on a tree, all pairs of cells"),
}

_NOTES = """\
*synth.*: drawn to the size of the paper's data set, which is not at hand; the horses are images of another set. A call:
scores of the example's parts, loss-augmented decoding and loss, in CPU time of one thread, at the weights with which the
run of BCFW ended (middle lam of figures 5 and 6, seed 0). Least, mean and most are of up to {sampled} examples spread
evenly, each the shortest of {repeats} calls in a row, less the shortest that decodes nothing. In the paper calls cost 0.1
ms to 2 s (section 5, paragraph 3, which also has the ranges of n and d; its table with both is in an appendix that is not
at hand, so n and d come from other sources, such as the published code). Share: mean cost times the oracle calls of a run,
over its solver time, which is wall time of one thread. Calls of a run cost more or less at its earlier weights and find
less in the processor's caches, so this is an estimate, from below. Measured after the runs, on the machine that made the
table. A dash: not run, or not in the paper.
"""
SAMPLED, REPEATS = 500, 5


def data(results: "pd.DataFrame", costs: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per data set: ``n``, ``d``, seconds of a call, and the shares of `METHODS`; ``keys`` names the runs."""
    # ``costs`` has a row per run, by ``key``: ``n``, ``d`` and the seconds of a call at its weights.
    import pandas as pd

    ends = results.sort_values("oracle_calls", kind="stable").groupby("key").last().reset_index().merge(costs, on="key")
    ends["method"] = of_results(ends)
    rows = []
    for name, facts in FACTS.items():
        place = SLOW_SETTING if name == SLOW else DATA_SETTINGS[name]
        runs = place.among(ends).set_index("method")
        row = {"data set": name, **facts._asdict(), "keys": " ".join(runs["key"])}
        if METHODS[0] in runs.index:
            first = runs.loc[METHODS[0]]
            row |= {fact: first[fact] for fact in ("n", "d", "least", "mean", "most")}
            row |= {
                f"share {m}": first["mean"] * runs.loc[m, "oracle_calls"] / runs.loc[m, "time"] for m in METHODS if m in runs.index
            }
        rows.append(row)
    measured = ["n", "d", "least", "mean", "most", *(f"share {method}" for method in METHODS)]
    return pd.DataFrame(rows, columns=["data set", *Facts._fields, *measured, "keys"])


def draw(frame: "pd.DataFrame", costs: "pd.DataFrame") -> str:
    """Return the table as Markdown."""
    shares = [f"share of the time of {style.METHODS[method].label}" for method in METHODS]
    heads = ["data set", "in the paper", "here", "oracle", "a call: least", "mean", "most", *shares]
    rows = []
    for row in frame.to_dict("records"):
        here = f"n {row['n']:.0f}, d {row['d']:.0f}" if np.isfinite(row["n"]) else "-"
        cells = [row["data set"], row["paper"], here, row["oracle"]]
        cells += [_seconds(row[name]) for name in ("least", "mean", "most")]
        cells += [f"{100 * row[f'share {method}']:.0f} %" if np.isfinite(row[f"share {method}"]) else "-" for method in METHODS]
        rows.append(cells)
    return f"{markdown(heads, rows, 4)}\n\n{_NOTES.format(sampled=SAMPLED, repeats=REPEATS)}"


def _seconds(value) -> str:
    if not np.isfinite(value):
        return "-"
    return f"{1e6 * value:.3g} µs" if value < 1e-3 else f"{1e3 * value:.3g} ms"
