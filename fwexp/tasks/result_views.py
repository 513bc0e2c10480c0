"""Views of a result for people: the curves of its trace, as a matplotlib axes or as HTML for notebooks."""

import html
from typing import TYPE_CHECKING

import numpy as np

from fwexp.errors import OptionError, needing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 320, 90  # pixels of the curve in a notebook
AXES = {"passes": "effective passes (oracle calls / n)", "time": "solver time in seconds"}


def rows_of(result) -> "pd.DataFrame":
    """Return the logged rows of the iterate that has the weights."""
    trace = result.trace
    return trace[trace["iterate"] == result.iterate] if len(trace) else trace


def draw(result, ax: "Axes | None" = None, x: str = "passes") -> "Axes":
    """Draw primal and dual against `x`, with the certified gap between them shaded; see `Result.plot`."""
    with needing("plot needs"):
        import matplotlib.pyplot as plt
    if x not in AXES:
        raise OptionError(f"x must be 'passes' or 'time', got {x!r}")
    rows = rows_of(result)
    if not len(rows):
        raise OptionError("plot needs a trace, which the file of a stored run does not have; fwexp.load_results returns it")
    if ax is None:
        ax = plt.figure(layout="constrained").add_subplot()
    at, primal, dual = (rows[name].to_numpy(dtype=float) for name in (x, "primal", "dual"))
    ax.plot(at, primal, marker=".", label="primal")
    if np.isfinite(dual).any():
        best = np.fmax.accumulate(dual)
        ax.plot(at, best, marker=".", label="dual (best so far)")
        ax.fill_between(at, best, primal, alpha=0.2, label="certified gap")
    ax.set(xlabel=AXES[x], ylabel="objective", title=f"{result.solver}, lam={result.lam:.6g}")
    ax.legend()
    return ax


def as_html(result) -> str:
    """Return a table of the result, and the curve of its gap on a logarithmic scale."""
    facts = {
        "solver": result.solver,
        "lam": f"{result.lam:.6g}",
        "primal": f"{result.primal:.6g}",
        "dual": f"{result.dual:.6g}",
        "certified gap": f"{result.gap:.3g}",
        "ending": result.reason,
    }
    lines = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in facts.items())
    return f"<table>{lines}</table>{_gap_curve(result)}"


def _gap_curve(result) -> str:
    """Return an SVG of the gap against passes; nothing if fewer than two gaps above 0 are known."""
    rows = rows_of(result)
    if not len(rows):
        return ""
    passes, gaps = rows["passes"].to_numpy(dtype=float), rows["gap"].to_numpy(dtype=float)
    kept = np.isfinite(gaps) & (gaps > 0)
    if kept.sum() < 2:
        return ""
    across, up = _scaled(passes[kept]) * WIDTH, (1 - _scaled(np.log10(gaps[kept]))) * HEIGHT
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    told = f"gap from {gaps[kept][0]:.2g} to {gaps[kept][-1]:.2g} in {passes[-1]:.4g} passes, logarithmic scale"
    return (
        f'<figure style="margin:0"><svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{told}">'
        f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="2"/></svg>'
        f"<figcaption>{told}</figcaption></figure>"
    )


def _scaled(values: np.ndarray) -> np.ndarray:
    """Return values from 0 to 1."""
    return (values - values.min()) / (np.ptp(values) or 1.0)
