"""Methods on convex sets and for games: what figures of the review draw of their runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def measured(results: "pd.DataFrame") -> "pd.DataFrame":
    """`results` with what is drawn of them; the gap is the best so far, which is what is certified."""
    best = results.groupby("key")["primal"].cummin() - results.groupby("key")["dual"].cummax()
    return results.assign(gap=best, value=results["primal"], calls=results["passes"])
