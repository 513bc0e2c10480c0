"""How every method looks: one table gives colour, marker, line and name, whatever else is in the figure.

A *variant* is what a legend entry stands for: a method (a solver with the options that make it another method) and the
iterate that was looked at. The hue says the method and the dashes say the iterate: ``bcfw`` and ``bcfw-wavg`` are blue.
"""

import zlib
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import pandas as pd

COLUMN = 3.3
"""Width in inches of a figure that fills one column of a two-column page."""
TEXT = 6.75
"""Width in inches of a figure that fills both columns."""


class Method(NamedTuple):
    """A row of the table: what a method is called, how it looks, and which runs are meant."""

    label: str
    color: str
    marker: str
    solver: str
    departures: Mapping[str, Any] = {}
    dashes: Any = "-"


class Line(NamedTuple):
    """The look of one curve."""

    label: str
    color: str
    marker: str
    dashes: Any
    filled: bool

    def properties(self) -> dict[str, Any]:
        """What to pass to matplotlib's ``plot``."""
        face = self.color if self.filled else "white"
        return {"color": self.color, "linestyle": self.dashes, "marker": self.marker, "markerfacecolor": face}


# What the bare name of a solver means in a legend. A run that differs in one of these options is another method;
# options not listed here change how a method is run, not what it is called - unless a figure is about them and says so.
PLAIN = {
    "bcfw": {"sampling": "uniform", "line_search": True, "step": "fw", "cache": False, "accelerate": False},
    "fw": {"line_search": True},
}

# Okabe and Ito's colours for the methods of the first paper, mostly Paul Tol's muted ones for the rest: both can be
# told apart with any common kind of colour vision. Entries are added, never changed: a method keeps its look for ever.
_CACHED = (0, (6, 1.2, 1, 1.2))
_GAP = {"sampling": "gap"}


def _regime(F, nu):
    return _GAP | {"cache": True, "cache.F": F, "cache.nu": nu}


METHODS = {
    "bcfw": Method("BCFW", "#0072B2", "o", "bcfw"),
    "bcfw-predefined": Method("BCFW, 2n/(k+2n)", "#56B4E9", "s", "bcfw", {"line_search": False}),
    "bcfw-perm": Method("BCFW, permuted", "#004C77", "P", "bcfw", {"sampling": "perm"}),
    "bcfw-cyclic": Method("BCFW, cyclic", "#7A9CC6", "8", "bcfw", {"sampling": "cyclic"}),
    "bcfw-lipschitz": Method("BCFW, Lipschitz", "#999933", "h", "bcfw", {"sampling": "lipschitz"}),
    "bcfw-max_gap": Method("BCFW, largest gap", "#B35806", "X", "bcfw", {"sampling": "max_gap"}),
    "bcfw-gap": Method("BCFW + gap", "#E69F00", "D", "bcfw", {"sampling": "gap"}),
    # Settings that figures are about: how often gaps are refreshed, and when the cache may answer.
    "bcfw-gap-1": Method("gap, every pass", "#E3B505", "s", "bcfw", _GAP | {"refresh": 1.0}),
    "bcfw-gap-5": Method("gap, every 5 passes", "#F07F13", "^", "bcfw", _GAP | {"refresh": 5.0}),
    "bcfw-gap-10": Method("gap, every 10 passes", "#C8442B", "v", "bcfw", _GAP | {"refresh": 10.0}),
    "bcfw-gap-100": Method("gap, every 100 passes", "#8F1D5F", "P", "bcfw", _GAP | {"refresh": 100.0}),
    "bcfw-gap-never": Method("gap, never refreshed", "#3D0F52", "X", "bcfw", _GAP | {"refresh": 0.0}),
    "cache-local": Method("cache, F = 0.25, ν = 0.01", "#225EA8", "o", "bcfw", _regime(0.25, 0.01), _CACHED),
    "cache-global": Method("cache, F = 0.01, ν = 1", "#117733", "^", "bcfw", _regime(0.01, 1.0), _CACHED),
    "cache-rare": Method("cache, F = 5, ν = 10", "#666666", "s", "bcfw", _regime(5.0, 10.0), _CACHED),
    "cache-eager": Method("cache, F = 0.01, ν = 0.001", "#AA3377", "v", "bcfw", _regime(0.01, 0.001), _CACHED),
    "bcfw-cache": Method("BCFW + cache", "#0072B2", "<", "bcfw", {"cache": True}, _CACHED),
    "bcfw-gap-cache": Method("BCFW + gap + cache", "#E69F00", ">", "bcfw", {"sampling": "gap", "cache": True}, _CACHED),
    "bcpfw": Method("BCPFW", "#882255", "^", "bcfw", {"step": "pairwise"}),
    "bcpfw-gap": Method("BCPFW + gap", "#44AA99", "v", "bcfw", {"step": "pairwise", "sampling": "gap"}),
    "bcpfw-cache": Method("BCPFW + cache", "#882255", "p", "bcfw", {"step": "pairwise", "cache": True}, _CACHED),
    "bcpfw-gap-cache": Method(
        "BCPFW + gap + cache", "#44AA99", "*", "bcfw", {"step": "pairwise", "sampling": "gap", "cache": True}, _CACHED
    ),
    "bcafw": Method("BCAFW", "#AA4499", "^", "bcfw", {"step": "away"}),
    "bcafw-gap": Method("BCAFW + gap", "#117733", "v", "bcfw", {"step": "away", "sampling": "gap"}),
    "bccfw": Method("BCFW, corrective", "#332288", "d", "bcfw", {"step": "corrective"}),
    "bccfw-accelerated": Method(
        "accelerated corrective",
        "#661100",
        "*",
        "bcfw",
        {"sampling": "perm", "step": "corrective", "accelerate": True},
    ),
    "bccfw-gap-cache-accelerated": Method(
        "accelerated corrective + gap + cache",
        "#661100",
        "D",
        "bcfw",
        {"sampling": "gap", "step": "corrective", "cache": True, "accelerate": True},
        _CACHED,
    ),
    "bcfw-accelerated": Method("accelerated BCFW", "#A0522D", "H", "bcfw", {"accelerate": True}),
    "kernel_bcfw": Method("kernelized BCFW", "#6699CC", "d", "kernel_bcfw"),
    "auto": Method("auto", "#661100", "X", "auto"),
    "ssg": Method("SSG", "#D55E00", "s", "ssg"),
    "online_eg": Method("online-EG", "#CC79A7", "D", "online_eg"),
    "fw": Method("FW", "#009E73", "^", "fw"),
    "fw-predefined": Method("FW, 2/(k+2)", "#76C7A9", "v", "fw", {"line_search": False}),
    "one_slack": Method("cutting plane", "#000000", "X", "one_slack"),
    "n_slack": Method("cutting plane, n-slack", "#777777", "P", "n_slack"),
    "fcfw": Method("FCFW", "#5B2A86", "p", "fcfw"),
    "bmrm": Method("BMRM", "#555555", "h", "bmrm"),
    "excessive_gap": Method("excessive gap", "#88CCEE", "<", "excessive_gap"),
    "extragradient": Method("extragradient", "#DDAA33", ">", "extragradient"),
}

# Averages of the iterates keep their method's hue and marker; the dashes change and the marker becomes hollow.
ITERATES = {"last": None, "wavg": (0, (4, 1.4)), "tavg": (0, (1, 1.1)), "avg": (0, (7, 1.5, 1, 1.5, 1, 1.5))}

# For methods that people add: neither colour nor marker depends on what else is drawn.
_SPARE_COLORS = ("#6F4C9B", "#5A7D2A", "#8C564B", "#B0457A", "#3B6E8F", "#7F7F00")
_SPARE_MARKERS = ("o", "s", "^", "v", "D", "P", "X", "p", "h", "d")


def _average(method, iterate):
    return method if iterate == "last" else f"{method}-{iterate}"


LINES = {
    _average(name, iterate): Line(
        _average(m.label, iterate), m.color, m.marker, m.dashes if dashes is None else dashes, iterate == "last"
    )
    for name, m in METHODS.items()
    for iterate, dashes in ITERATES.items()
}


# What runs do beside training at one lam.
LINES |= {
    "heuristic_path": Line("heuristic path", "#E69F00", "v", (0, (4, 1.4)), False),
    "path": Line("path", "#225EA8", "s", "-", True),
    "warm_grid": Line("grid, warm starts", "#009E73", "o", (0, (4, 1.4)), False),
    "cold_grid": Line("grid, cold starts", "#882255", "D", "-", True),
}


def method(solver: str, options: Mapping[str, Any], apart: Iterable[str] = ()) -> str:
    """Name of the method that `solver` is with these `options`, as in `METHODS`.

    Runs that differ in an option of `apart` are different methods too. A setting that the table does not know is named
    after the options in which it departs from the plain solver.
    """
    departures = {}
    for option, plain in (PLAIN.get(solver, {}) | dict.fromkeys(apart)).items():
        value = options.get(option)
        if any(name.startswith(f"{option}.") and not _missing(options[name]) for name in options):
            value = True  # cache and accelerate: on, with whatever settings, is on
        if not _missing(value) and value != plain:
            departures[option] = value
    for name, known in METHODS.items():
        if known.solver == solver and known.departures == departures:
            return name
    return solver + "".join(f"[{option}={value}]" for option, value in sorted(departures.items()))


def _missing(value):
    """An option that a solver does not have, or did not have yet when the run was stored."""
    return value is None or (isinstance(value, float) and value != value)


def methods(results: pd.DataFrame, apart: Iterable[str] = ()) -> pd.Series:
    """The method of every row of `results`: ``bcfw``, ``bcfw-perm``, ...; `apart` as in `method`."""
    apart = tuple(apart)
    options = [column for column in results.columns if column.startswith("solver.")]
    runs = results.drop_duplicates("key")[["key", "solver", *options]].to_dict("records")
    names = {}
    for run in runs:
        given = {option.removeprefix("solver."): run[option] for option in options}
        names[run["key"]] = method(run["solver"], given, apart)
    return results["key"].map(names)


def variants(results: pd.DataFrame, apart: Iterable[str] = ()) -> pd.Series:
    """The variant of every row of `results`: ``bcfw``, ``bcfw-wavg``, ...; `apart` as in `method`."""
    return methods(results, apart) + results["iterate"].map(lambda iterate: _average("", iterate))


def line(variant: str) -> Line:
    """The look of a variant; one that is not in the table gets a look that depends on its name alone."""
    if variant in LINES:
        return LINES[variant]
    name, _, iterate = variant.rpartition("-")
    if not name or iterate not in ITERATES:
        name, iterate = variant, "last"
    code = zlib.crc32(name.encode())
    color = _SPARE_COLORS[code % len(_SPARE_COLORS)]
    marker = _SPARE_MARKERS[code // len(_SPARE_COLORS) % len(_SPARE_MARKERS)]
    return Line(variant, color, marker, ITERATES[iterate] or "-", iterate == "last")


def marker_offset(variant: str) -> float:
    """Where a curve's first marker sits, as a part of the panel's width: spread, so that markers rarely meet."""
    return 0.02 + 0.025 * (zlib.crc32(variant.encode()) % 7)


def in_table_order(variants) -> list[str]:
    """Variants in the order of the table, unknown ones by name behind them: the order of legends and of drawing."""
    rank = {name: position for position, name in enumerate(LINES)}
    return sorted(set(variants), key=lambda name: (rank.get(name, len(rank)), name))


_RC = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture on every machine
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "legend.title_fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#444444",
    "axes.titlelocation": "left",
    "axes.titlepad": 4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.5,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.labelcolor": "black",
    "ytick.labelcolor": "black",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.8,
    "lines.markeredgewidth": 0.9,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.dpi": 300,
    "svg.hashsalt": "fwexp",  # equal pictures are equal files
    "svg.fonttype": "path",
}


@contextmanager
def context():
    """The style of all figures, for the time of a ``with`` block; the settings of the caller come back behind it."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield
