"""Table 1 of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013), with measured columns.

The first columns are the paper's. The measured ones are oracle calls on OCR until the gap is a tenth, a hundredth of the
objective at w = 0, and the exponent p of the growth of these calls with the number of examples, calls ~ n^p: that of the
bounds is 1, and 0 for the two methods whose bounds are free of n (caption of table 1).
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from fwexp.methods import of_results
from fwexp.plots.describe import markdown
from fwexp.plots.frames import FLOOR, first

if TYPE_CHECKING:
    import pandas as pd

LAM = 0.01
LEVELS = (0.1, 0.01)  # of the gap, relative to P(0)

FACTS = ["algorithm", "online", "variables", "guarantee", "oracle", "oracle calls"]
# Methods without runs have no key; the batch method is that of the paper's Theorem 1 in section 4.
METHODS = {
    "extragradient": ("dual extragradient", "no", "primal-dual", "saddle point gap", "Bregman projection", "O(n R log|Y| / (λε))"),
    "online_eg": ("online-EG", "yes", "dual", "expected dual error", "expectation", "O((n + log|Y|) R² / (λε))"),
    "excessive_gap": ("excessive gap reduction", "no", "primal-dual", "duality gap", "expectation", "O(n R √(log|Y| / (λε)))"),
    "bmrm": ("BMRM", "no", "primal", "≥ primal error", "maximization", "O(n R² / (λε))"),
    "one_slack": ("1-slack cutting plane", "no", "primal-dual", "duality gap", "maximization", "O(n R² / (λε))"),
    "fw": ("batch Frank-Wolfe", "no", "primal-dual", "duality gap", "maximization", "O(n R² / (λε))"),
    "ssg": ("stochastic subgradient", "yes", "primal", "primal error w.h.p.", "maximization", "Õ(R² / (λε))"),
    "bcfw": ("block-coordinate Frank-Wolfe", "yes", "primal-dual", "expected duality gap", "maximization", "O(R² / (λε))"),
}

WITHOUT_DUAL, UNCERTIFIED = ("ssg",), " †"
"""Methods whose numbers are of another quantity than those of the others, and the mark of these numbers."""

_NOTES = """\
Columns up to *{theory}*: Table 1 of Lacoste-Julien et al. (2013), and its Theorem 1 for batch Frank-Wolfe; R bounds the psi
vectors, ε is the accuracy in the method's own sense. For dual extragradient the paper puts *dual* in quotation marks.
Calls (in brackets: passes) were measured on OCR{n}, λ = {lam}: median over the seeds until the lowest primal minus the highest dual
of the run is below that part of P(0), the objective at w = 0. Between logged points a power law is assumed.
{mark}: the stochastic subgradient method has no dual. Its numbers are those of its distance to the highest dual of all runs, which
is smaller than a gap: they are no certificate, and no run could stop by them.
Growth: exponent fitted to last iterates on random samples of the training words. A dash: not run, or fewer than three sizes got
there.
"""


def data(results: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per method: the paper's facts, ``runs``, ``n``, and ``calls`` and ``growth`` for each of `LEVELS`."""
    # ``calls`` is the median over the seeds on all training words, infinite where it was not reached. ``growth`` is the
    # slope of log calls over log n on samples, of the last iterates alone, which every run logs, for sizes at which the level was
    # reached; NaN where these are less than three. ``keys`` names all runs of the method, with spaces between.
    import pandas as pd

    names = of_results(results)
    found = _with_bound(results[names.isin(list(METHODS))])
    reached = pd.DataFrame([_reached(run) for _, run in found.groupby("key")])
    samples = found[(found["iterate"] == "last") & found["dataset.n"].notna()] if "dataset.n" in found else found[:0]
    growing = pd.DataFrame([_reached(run) for _, run in samples.groupby("key")])
    rows = []
    for name, facts in METHODS.items():
        row: dict[str, Any] = {"method": name, **dict(zip(FACTS, facts, strict=True))}
        runs = reached[reached["solver"] == name] if len(reached) else reached
        if len(runs):
            by_size = runs.groupby("n")[[*LEVELS, "longest"]].median()
            largest = by_size.iloc[-1]
            row |= {"n": by_size.index[-1], "runs": int((runs["n"] == by_size.index[-1]).sum()), "longest": largest["longest"]}
            row |= {f"calls {level}": largest[level] for level in LEVELS}
            if len(growing):
                by_sample = growing[growing["solver"] == name].groupby("n")[list(LEVELS)].median()
                row |= {f"growth {level}": _slope(by_sample[level]) for level in LEVELS}
            row["keys"] = " ".join(runs["key"])
        rows.append(row)
    measured = [f"{what} {level}" for what in ("calls", "growth") for level in LEVELS]
    return pd.DataFrame(rows, columns=["method", *FACTS, "n", "runs", "longest", *measured, "keys"])


def draw(frame: "pd.DataFrame") -> str:
    """Return the table as Markdown."""
    heads = [f"calls to gap {level} P(0)" for level in LEVELS] + [f"growth with n, to {level} P(0)" for level in LEVELS]
    rows = []
    for row in frame.to_dict("records"):
        calls = [_calls(row[f"calls {level}"], row["longest"], row["n"]) for level in LEVELS]
        growth = [f"n^{row[f'growth {level}']:.2f}" if np.isfinite(row[f"growth {level}"]) else "-" for level in LEVELS]
        mark = UNCERTIFIED * (row["method"] in WITHOUT_DUAL)
        facts = [row[fact].replace("|", r"\|") for fact in FACTS]
        rows.append([*facts, *(cell + mark if cell != "-" else cell for cell in (*calls, *growth))])
    sizes = frame["n"].dropna()
    n = f", n = {int(sizes.max())}" if len(sizes) else ""
    notes = _NOTES.format(theory=FACTS[-1], n=n, lam=LAM, mark=UNCERTIFIED.strip())
    return f"{markdown([*FACTS, *heads], rows, len(FACTS))}\n\n{notes}"


def _with_bound(results):
    """Return results at `LAM` with ``bound``: the highest dual of any run on the same words."""
    options = [column for column in results if column.startswith("dataset.")]
    bound = results.groupby(["lam", *options], dropna=False)["dual"].transform("max")
    return results.assign(bound=bound)


def _reached(run) -> dict:
    """Return the oracle calls of a run at which its certificate reaches the levels."""
    run = run.sort_values("oracle_calls", kind="stable")
    end = run.iloc[-1]
    dual = run["dual"].cummax().ffill() if run["dual"].notna().any() else run["bound"]
    gap = (run["primal"].cummin() - dual).groupby(run["oracle_calls"]).last()
    # L_i is at most 1 and taken by a labeling that is wrong everywhere, so P(0) = 1: the normalized Hamming loss.
    positions, gaps = np.maximum(gap.index.to_numpy(float), 1.0), np.maximum(gap.to_numpy(float), FLOOR)
    calls = {level: first(positions, gaps, level) for level in LEVELS}
    facts = {"n": round(end["oracle_calls"] / end["passes"]), "longest": end["oracle_calls"]}
    return {"key": end["key"], "solver": end["solver"]} | facts | calls


def _slope(calls: "pd.Series") -> float:
    calls = calls[np.isfinite(calls) & (calls > 0)]
    if len(calls) < 3:
        return np.nan
    return float(np.polyfit(np.log(calls.index.to_numpy(float)), np.log(calls.to_numpy(float)), 1)[0])


def _calls(calls, longest, n):
    if np.isnan(calls):
        return "-"
    if np.isinf(calls):
        return f"> {longest:,.0f} ({longest / n:.3g})"
    return f"{calls:,.0f} ({calls / n:.3g})"
