"""How every method looks: one table gives colour, marker, line and name, whatever else is in the figure.

A *variant* is what a legend entry stands for: a method (a solver with the options that make it another method) and the
iterate that was looked at. The hue says the method and the dashes say the iterate: ``bcfw`` and ``bcfw-wavg`` are blue.
"""

import zlib
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import pandas as pd

from fwexp.errors import OptionError, unknown

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
    """How one curve is drawn: colour, marker and dashes."""

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

# Okabe and Ito's colours for the main methods; the others were moved from Paul Tol's until tests/plots/test_style.py held:
# least distances in CIELAB, as seen with and without red-green blindness, from the methods that stand beside them in a
# figure and from all that have the same dashes. A new entry has to keep these distances.
_CACHED = (0, (6, 1.2, 1, 1.2))
_GAP = {"sampling": "gap"}


def _regime(F, nu):
    return _GAP | {"cache": True, "cache.F": F, "cache.nu": nu}


METHODS = {
    "bcfw": Method("BCFW", "#0072B2", "o", "bcfw"),
    "bcfw-predefined": Method("BCFW, 2n/(k+2n)", "#44B1DF", "h", "bcfw", {"line_search": False}),
    "bcfw-perm": Method("BCFW, permuted", "#014267", "P", "bcfw", {"sampling": "perm"}),
    "bcfw-cyclic": Method("BCFW, cyclic", "#8FBFFB", "8", "bcfw", {"sampling": "cyclic"}),
    "bcfw-lipschitz": Method("BCFW, Lipschitz", "#A0A547", "h", "bcfw", {"sampling": "lipschitz"}),
    "bcfw-max_gap": Method("BCFW, largest gap", "#AD5709", "X", "bcfw", {"sampling": "max_gap"}),
    "bcfw-gap": Method("BCFW + gap", "#E69F00", "D", "bcfw", {"sampling": "gap"}),
    # Settings that figures are about: how often gaps are refreshed, and when the cache may answer.
    "bcfw-gap-1": Method("gap, every pass", "#E5BD3C", "s", "bcfw", _GAP | {"refresh": 1.0}),
    "bcfw-gap-5": Method("gap, every 5 passes", "#DA8118", "^", "bcfw", _GAP | {"refresh": 5.0}),
    "bcfw-gap-10": Method("gap, every 10 passes", "#DC5041", "v", "bcfw", _GAP | {"refresh": 10.0}),
    "bcfw-gap-100": Method("gap, every 100 passes", "#B82B65", "P", "bcfw", _GAP | {"refresh": 100.0}),
    "bcfw-gap-never": Method("gap, never refreshed", "#3C0F52", "X", "bcfw", _GAP | {"refresh": 0.0}),
    "cache-local": Method("cache, F = 0.25, ν = 0.01", "#2B52A1", "h", "bcfw", _regime(0.25, 0.01), _CACHED),
    "cache-global": Method("cache, F = 0.01, ν = 1", "#2B7118", "^", "bcfw", _regime(0.01, 1.0), _CACHED),
    "cache-rare": Method("cache, F = 5, ν = 10", "#7F726A", "s", "bcfw", _regime(5.0, 10.0), _CACHED),
    "cache-eager": Method("cache, F = 0.01, ν = 0.001", "#A93276", "v", "bcfw", _regime(0.01, 0.001), _CACHED),
    "bcfw-cache": Method("BCFW + cache", "#039EF6", "<", "bcfw", {"cache": True}, _CACHED),
    "bcfw-gap-cache": Method("BCFW + gap + cache", "#F8A54F", ">", "bcfw", {"sampling": "gap", "cache": True}, _CACHED),
    "bcpfw": Method("BCPFW", "#882255", "^", "bcfw", {"step": "pairwise"}),
    "bcpfw-gap": Method("BCPFW + gap", "#06A8AA", "v", "bcfw", {"step": "pairwise", "sampling": "gap"}),
    "bcpfw-cache": Method("BCPFW + cache", "#994754", "p", "bcfw", {"step": "pairwise", "cache": True}, _CACHED),
    "bcpfw-gap-cache": Method(
        "BCPFW + gap + cache", "#5DAD8D", "*", "bcfw", {"step": "pairwise", "sampling": "gap", "cache": True}, _CACHED
    ),
    "bcafw": Method("BCAFW", "#99338C", "<", "bcfw", {"step": "away"}),
    "bcafw-gap": Method("BCAFW + gap", "#067837", "v", "bcfw", {"step": "away", "sampling": "gap"}),
    "bccfw": Method("BCFW, corrective", "#222189", "d", "bcfw", {"step": "corrective"}),
    "bccfw-accelerated": Method(
        "accelerated corrective",
        "#661400",
        "*",
        "bcfw",
        {"sampling": "perm", "step": "corrective", "accelerate": True},
    ),
    "bccfw-gap-cache-accelerated": Method(
        "accelerated corrective + gap + cache",
        "#760626",
        "D",
        "bcfw",
        {"sampling": "gap_perm", "step": "corrective", "cache": True, "accelerate": True},
        _CACHED,
    ),
    "bcfw-accelerated": Method("accelerated BCFW", "#8A4115", "H", "bcfw", {"accelerate": True}),
    "kernel_bcfw": Method("kernelized BCFW", "#6992C2", "d", "kernel_bcfw"),
    "auto": Method("auto", "#AA292F", "X", "auto"),
    "ssg": Method("SSG", "#D55E00", "s", "ssg"),
    "online_eg": Method("online-EG", "#CC79A7", "D", "online_eg"),
    "fw": Method("FW", "#009E73", "^", "fw"),
    "fw-predefined": Method("FW, 2/(k+2)", "#80D0B6", "v", "fw", {"line_search": False}),
    "one_slack": Method("cutting plane", "#000000", "X", "one_slack"),
    "n_slack": Method("cutting plane, n-slack", "#68767C", "P", "n_slack"),
    "fcfw": Method("FCFW", "#5E2C87", "p", "fcfw"),
    "bmrm": Method("BMRM", "#575549", "h", "bmrm"),
    "excessive_gap": Method("excessive gap", "#94C8E3", "<", "excessive_gap"),
    "extragradient": Method("extragradient", "#B1862E", ">", "extragradient"),
}

# Averages of the iterates keep their method's hue and marker; the dashes change and the marker becomes hollow.
ITERATES = {"last": None, "wavg": (0, (4, 1.4)), "tavg": (0, (1, 1.1)), "avg": (0, (7, 1.5, 1, 1.5, 1, 1.5))}

# For methods that people add, and settings that the table does not name. No method of the table has these dashes.
_SPARE_COLORS = ("#6F4A98", "#597E30", "#8C564B", "#924365", "#EC75CB", "#B0A830", "#107B88", "#AA461A")
_SPARE_MARKERS = ("h", "P", "d", "X", "p", "8", "H", "*")
_SPARE_DASHES = ((0, (9, 1.2)), (0, (5, 1, 1, 1, 1, 1)), (0, (2, 1.2)))


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

# Methods on convex sets, which never stand beside those of structural SVMs.
LINES |= {
    "frank_wolfe": Line("FW", "#009E73", "^", _CACHED, True),
    "frank_wolfe[open_loop]": Line("FW, 2/(t+2)", "#7F726A", "v", (0, (1, 1.1)), True),
    "away": Line("away steps", "#0072B2", "o", (0, (4, 1.4)), True),
    "pairwise": Line("pairwise", "#D55E00", "D", "-", True),
    "corrective": Line("fully corrective", "#000000", "X", (0, (1, 1.1)), True),
    "random_away[0.05]": Line("random, η = 0.05", "#E69F00", "<", "-", True),
    "random_away[0.1]": Line("random, η = 0.1", "#A93276", ">", (0, (4, 1.4)), True),
    "random_away[0.5]": Line("random, η = 0.5", "#56B4E9", "p", "-", True),
    "random_away[1.0]": Line("random, η = 1", "#3C0F52", "h", (0, (1, 1.1)), True),
    "block": Line("block-coordinate FW", "#CC79A7", "d", "-", True),
    "block[pairwise]": Line("block-coordinate pairwise", "#882255", "P", (0, (4, 1.4)), True),
    "dual_extragradient": Line("extragradient", "#0072B2", "o", (0, (1, 1.1)), True),
    "dual_extragradient[entropic]": Line("extragradient, entropic", "#56B4E9", "D", (0, (4, 1.4)), True),
    "sp_fw": Line("SP-FW, 2/(t+2)", "#D55E00", "s", (0, (4, 1.4)), True),
    "sp_fw[adaptive]": Line("SP-FW, adaptive", "#E69F00", "v", (0, (1, 1.1)), True),
    "sp_fw[linear_rate]": Line("SP-FW, step of the theorem", "#882255", "v", "-", True),
    "sp_away": Line("SP-AFW", "#000000", "h", _CACHED, True),
}


def method(solver: str, options: Mapping[str, Any], split_by: Iterable[str] = ()) -> str:
    """Name of the method that `solver` is with these `options`, as in `METHODS`.

    Runs that differ in an option of `split_by` are different methods too. A setting that the table does not know is named
    after the options in which it departs from the plain solver.
    """
    departures = {}
    for option, plain in (PLAIN.get(solver, {}) | dict.fromkeys(split_by)).items():
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


def methods(results: pd.DataFrame, split_by: Iterable[str] = ()) -> pd.Series:
    """The method of every row of `results`: ``bcfw``, ``bcfw-perm``, ...; `split_by` as in `method`.

    Raises
    ------
    OptionError
        Neither the results nor the table of methods have an option of `split_by`.
    """
    split_by = tuple(split_by)
    options = [column for column in results.columns if column.startswith("solver.")]
    known = {option.removeprefix("solver.") for option in options}
    known |= {option for table in (*PLAIN.values(), *(m.departures for m in METHODS.values())) for option in table}
    for option in split_by:
        if option not in known and not any(name.startswith(f"{option}.") for name in known):
            raise OptionError(unknown("option to split methods by", option, known))
    runs = results.drop_duplicates("key")[["key", "solver", *options]].to_dict("records")
    names = {}
    for run in runs:
        given = {option.removeprefix("solver."): run[option] for option in options}
        names[run["key"]] = method(run["solver"], given, split_by)
    return results["key"].map(names)


def variants(results: pd.DataFrame, split_by: Iterable[str] = ()) -> pd.Series:
    """The variant of every row of `results`: ``bcfw``, ``bcfw-wavg``, ...; `split_by` as in `method`."""
    return methods(results, split_by) + results["iterate"].map(lambda iterate: _average("", iterate))


def line(variant: str) -> Line:
    """The line of a variant in the company of those of the table; `lines` gives those of a whole figure."""
    return lines([variant])[variant]


def lines(variants: Iterable[str]) -> dict[str, Line]:
    """The lines of all variants of a figure, in the order of the table.

    A method that is not in the table gets a spare style that depends on its name, and the next one where another such
    method of the figure has that: no two lines of a figure look alike, as long as there are spare styles.
    """
    found, given = {}, {}
    for variant in in_table_order(variants):
        if variant in LINES:
            found[variant] = LINES[variant]
            continue
        name, _, iterate = variant.rpartition("-")
        if not name or iterate not in ITERATES:
            name, iterate = variant, "last"
        if name not in given:
            given[name] = _spare(name, list(given.values()))
        color, marker, dashes = given[name]
        found[variant] = Line(variant, color, marker, ITERATES[iterate] or dashes, iterate == "last")
    return found


def _spare(name, taken):
    """Colour, marker and dashes of an unknown method: a new colour if there is one, or else new dashes."""
    colors = len(_SPARE_COLORS)
    start = zlib.crc32(name.encode())
    number = colors * len(_SPARE_DASHES)
    order = [(start + k) % number for k in range(number)]
    spares = [(_SPARE_COLORS[k % colors], _SPARE_MARKERS[(k + k // colors) % colors], _SPARE_DASHES[k // colors]) for k in order]
    new_color = (spare for spare in spares if spare[0] not in {color for color, *_ in taken})
    return next(new_color, None) or next((spare for spare in spares if spare not in taken), spares[0])


def marker_offset(variant: str) -> float:
    """Where a curve's first marker sits, as a part of the panel's width: spread, so that markers rarely meet."""
    return 0.02 + 0.025 * (zlib.crc32(variant.encode()) % 7)


def in_table_order(variants) -> list[str]:
    """Variants in the order of the table, unknown ones by name behind them: the order of legends and of drawing."""
    rank = {name: position for position, name in enumerate(LINES)}
    return sorted(set(variants), key=lambda name: (rank.get(name, len(rank)), name))


_RC = {
    "font.family": ["DejaVu Sans", "sans-serif"],  # comes with matplotlib; an SVG is shown with the fonts that are there
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
    "svg.fonttype": "none",  # text stays text: found, selected, read aloud
}


@contextmanager
def context():
    """The style of all figures, for the time of a ``with`` block; the settings of the caller come back behind it."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield
