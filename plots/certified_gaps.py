"""Methods on convex sets and for games: what figures of the review draw of their runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def measured(results: "pd.DataFrame") -> "pd.DataFrame":
    """Return `results` with the columns that are drawn; the gap is the smallest certified so far."""
    best = results.groupby("key")["primal"].cummin() - results.groupby("key")["dual"].cummax()
    return results.assign(gap=best, value=results["primal"], calls=results["passes"])
