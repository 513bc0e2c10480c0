"""Figures of the review of Frank-Wolfe variants: its experiments on synthetic problems."""

from dataclasses import dataclass, field

import pandas as pd

from fwexp.methods import of_results
from fwexp.plots import curves, style
from fwexp.plots.curves import Panel


@dataclass(frozen=True)
class Instance(Panel):
    """A panel of one instance; ``options`` are those that tell it from others of the same name."""

    lam: str = ""
    options: dict = field(default_factory=dict)

    def rows(self, results):
        """The rows of `results` that belong to this instance."""
        same = results["dataset"] == self.dataset
        for name, value in self.options.items():
            same &= results[f"dataset.{name}"] == value
        return results[same]


def _panel(key, title, dataset, measure="gap", axis="calls", left=1.0, **options):
    return Instance(key, title, dataset, measure=measure, axis=axis, left=left, options=options)


R1 = (
    *(
        _panel(key, f"triangle, t = π/{t}", "triangle", divisor=float(t), optimum="edge")
        for key, t in zip("abcd", (4, 20, 200, 2000))
    ),
    _panel("e", "triangle, optimum inside", "triangle", divisor=4.0, optimum="inside"),
)
R2 = (_panel("a", "lasso", "lasso"), _panel("b", "lasso", "lasso", axis="inspected", left=100.0))
R3 = (_panel("a", "||x||² on the simplex", "norm", "value"), _panel("b", "||x||² on the simplex", "norm"))
R4 = (_panel("a", "chain SVM, dual", "chain_dual"), _panel("b", "chain SVM, dual", "chain_dual", axis="inspected", left=1000.0))
R5 = (
    _panel("a", "matrix game", "matrix_game"),
    _panel("b", "matrix game", "matrix_game", axis="time", left=1e-4),
    _panel("c", "balls, steep", "ball_game", offset=3.0),
    _panel("d", "balls, flat", "ball_game", offset=0.5),
    _panel("e", "chain SVM", "chain_game"),
)


def _data(results, panels):
    """`curves.COLUMNS`, one row per panel, variant and position; the gap is the best so far, which is what is certified."""
    best = results.groupby("key")["primal"].cummin() - results.groupby("key")["dual"].cummax()
    results = results.assign(variant=of_results(results), gap=best, value=results["primal"], calls=results["passes"])
    frames = [pd.DataFrame(columns=curves.COLUMNS)]
    for panel in panels:
        rows = panel.rows(results)
        if panel.axis not in rows:
            continue
        rows = rows[rows[panel.axis] >= panel.left]  # a log scale has no 0
        for name in style.in_table_order(rows["variant"]):
            facts = {"panel": panel.key, "dataset": panel.dataset, "lam": "", "variant": name}
            band = curves.bands(rows[rows["variant"] == name], panel.measure, panel.axis)
            frames.append(band.assign(**facts, axis=panel.axis, measure=panel.measure))
    filled = [frame for frame in frames if len(frame)] or frames[:1]
    return pd.concat(filled, ignore_index=True)[curves.COLUMNS]


def r1_data(results):
    """Gap on triangles of smaller and smaller angles, with the optimum on an edge, and on one with the optimum inside."""
    return _data(results, R1)


def r1_draw(frame):
    """Draw R1 from its tidy frame."""
    return curves.draw(frame, R1)


def r2_data(results):
    """Gap of the lasso by linear minimisations and by atoms inspected."""
    return _data(results, R2)


def r2_draw(frame):
    """Draw R2 from its tidy frame."""
    return curves.draw(frame, R2, columns=2, height=2.3)


def r3_data(results):
    """Value and gap of ||x||^2 on the simplex, where t steps reach at most t + 1 nonzeros."""
    return _data(results, R3)


def r3_draw(frame):
    """Draw R3 from its tidy frame."""
    return curves.draw(frame, R3, columns=2, height=2.3)


def r4_data(results):
    """Gap of the dual of a chain SVM by passes of linear minimisations and by atoms inspected."""
    return _data(results, R4)


def r4_draw(frame):
    """Draw R4 from its tidy frame."""
    return curves.draw(frame, R4, columns=2, height=2.3)


def r5_data(results):
    """Gap of bilinear saddle points by linear minimisations or projections, and by time."""
    return _data(results, R5)


def r5_draw(frame):
    """Draw R5 from its tidy frame."""
    return curves.draw(frame, R5)
