"""Looks of methods: one table gives colour, marker, line and name in every figure.

A *variant* is what a legend entry stands for: a method, by the name of its file in ``conf/solver``, and the iterate that was
looked at. The hue says the method and the dashes say the iterate: ``bcfw`` and ``bcfw-wavg`` are blue.
"""

import logging
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fwexp.errors import ParameterError
from fwexp.methods import variant_of

COLUMN = 3.25  # width in inches of a figure that fills one column of a two-column page
TEXT = 6.75  # width in inches of a figure that fills both columns
STYLE = Path(__file__).with_name("fwexp.mplstyle")


class Method(NamedTuple):
    """How a method looks; `dashes` are those of its last iterate."""

    label: str
    color: str
    marker: str
    dashes: Any = "-"


class Line(NamedTuple):
    """How one curve is drawn: colour, marker and dashes."""

    label: str
    color: str
    marker: str
    dashes: Any
    filled: bool

    def properties(self) -> dict[str, Any]:
        """Return the arguments for matplotlib's ``plot``."""
        face = self.color if self.filled else "white"
        return {"color": self.color, "linestyle": self.dashes, "marker": self.marker, "markerfacecolor": face}


# Okabe and Ito's colours for the main methods; the others were moved from Paul Tol's until tests/plots/test_style.py held:
# least distances in CIELAB, as seen with and without red-green blindness, from the methods that stand next to them in a
# figure and from all that have the same dashes. A new entry has to keep these distances.
_CACHED = (0, (6, 1.2, 1, 1.2))
_OWN_DASHES = (0, (3, 1))

METHODS = {
    "bcfw": Method("BCFW", "#0072B2", "o"),
    "bcfw_predefined": Method("BCFW, 2n/(k+2n)", "#44B1DF", "h"),
    "bcfw_perm": Method("BCFW, permuted", "#014267", "P"),
    "bcfw_cyclic": Method("BCFW, cyclic", "#8FBFFB", "8"),
    "bcfw_lipschitz": Method("BCFW, Lipschitz", "#A0A547", "h"),
    "bcfw_max_gap": Method("BCFW, largest gap", "#AD5709", "X"),
    "bcfw_max_gain": Method("BCFW, largest gap²/C", "#E406BA", "p", _OWN_DASHES),
    "bcfw_gap": Method("BCFW + gap", "#E69F00", "D"),
    # Settings that a figure is about: when the cache may answer.
    "cache_local": Method("cache, F = 0.25, ν = 0.01", "#2B52A1", "h", _CACHED),
    "cache_global": Method("cache, F = 0.01, ν = 1", "#2B7118", "^", _CACHED),
    "cache_rare": Method("cache, F = 5, ν = 10", "#7F726A", "s", _CACHED),
    "cache_eager": Method("cache, F = 0.01, ν = 0.001", "#A93276", "v", _CACHED),
    "bcfw_cache": Method("BCFW + cache", "#039EF6", "<", _CACHED),
    "bcfw_gap_cache": Method("BCFW + gap + cache", "#F8A54F", ">", _CACHED),
    "bcpfw": Method("BCPFW", "#882255", "^"),
    "bcpfw_gap": Method("BCPFW + gap", "#06A8AA", "v"),
    "bcpfw_cache": Method("BCPFW + cache", "#994754", "p", _CACHED),
    "bcpfw_gap_cache": Method("BCPFW + gap + cache", "#5DAD8D", "*", _CACHED),
    "bcafw": Method("BCAFW", "#99338C", "<"),
    "bcafw_gap": Method("BCAFW + gap", "#067837", "v"),
    "bccfw": Method("BCFW, corrective", "#222189", "d"),
    "bccfw_accelerated": Method("accelerated corrective", "#0E0D44", "*"),
    "bccfw_gap_cache_accelerated": Method("accelerated corrective + gap + cache", "#760626", "D", _CACHED),
    "bcfw_accelerated": Method("accelerated BCFW", "#8A4115", "H"),
    "kernel_bcfw": Method("BCFW with kernels", "#6992C2", "d"),
    "kernel_fw": Method("FW with kernels", "#44CB63", "X", _OWN_DASHES),
    "auto": Method("auto", "#AA292F", "X"),
    "ssg": Method("SSG", "#D55E00", "s"),
    "online_eg": Method("online-EG", "#CC79A7", "D"),
    "block_entropic": Method("block entropic", "#2418E4", "o"),
    "lbfgs": Method("L-BFGS", "#8430CC", "P"),
    "sag": Method("SAG, non-uniform", "#6C9054", "8"),
    "fw": Method("FW", "#009E73", "^"),
    "fw_predefined": Method("FW, 2/(k+2)", "#80D0B6", "v"),
    "one_slack": Method("cutting plane", "#000000", "X"),
    "n_slack": Method("cutting plane, n-slack", "#68767C", "P"),
    "fcfw": Method("FCFW", "#5E2C87", "p"),
    "bmrm": Method("BMRM", "#575549", "h"),
    "excessive_gap": Method("excessive gap", "#94C8E3", "<"),
    "extragradient": Method("extragradient", "#B1862E", ">"),
}

# Averages of the iterates keep their method's hue; the dashes change and the marker becomes hollow, or another one.
ITERATES = {"last": None, "wavg": (0, (4, 1.4)), "tavg": (0, (1, 1.1)), "avg": (0, (7, 1.5, 1, 1.5, 1, 1.5))}
# Small panels show neither dashes nor faces: two averages have markers of their own.
ITERATE_MARKERS = {"tavg": "x", "avg": "+"}

# For methods that people add, and settings that the table does not name. No method of the table has these dashes.
_SPARE_COLORS = ("#6F4A98", "#597E30", "#8C564B", "#924365", "#EC75CB", "#B0A830", "#107B88", "#AA461A")
_SPARE_MARKERS = ("h", "P", "d", "X", "p", "8", "H", "*")
_SPARE_DASHES = ((0, (9, 1.2)), (0, (5, 1, 1, 1, 1, 1)), (0, (2, 1.2)))

LINES = {
    variant_of(name, iterate): Line(
        variant_of(m.label, iterate),
        m.color,
        ITERATE_MARKERS.get(iterate, m.marker),
        m.dashes if dashes is None else dashes,
        iterate == "last",
    )
    for name, m in METHODS.items()
    for iterate, dashes in ITERATES.items()
}

# Our line search under constraints, next to the paper's.
LINES |= {
    f"{name}_longest": Line(f"{METHODS[name].label}, our step", METHODS[name].color, METHODS[name].marker, (0, (2, 1)), False)
    for name in ("bcfw_gap", "bcpfw_gap_cache", "bccfw_accelerated")
}

# How often gaps are refreshed, the share of atoms that is drawn: settings in an order have colours in one.
_ORDERED = ("#F4E156", "#FB9906", "#E55C30", "#B63458", "#7C1D6D", "#3E0966", "#07051B")
_MARKERS = ("s", "^", "v", "<", ">", "P", "X")
LINES |= {
    f"bcfw_gap_{times}": Line(f"gap, {label}", color, marker, "-", True)
    for times, label, color, marker in zip(
        (1, 5, 10, 20, 50, 100, "never"),
        ("every pass", *(f"every {times} passes" for times in (5, 10, 20, 50, 100)), "never refreshed"),
        _ORDERED,
        _MARKERS,
        strict=True,
    )
}
LINES |= {
    f"random_away{'' if share == 0.1 else f'[eta={share}]'}": Line(f"random, η = {share:g}", color, marker, "-", True)
    for share, color, marker in zip((0.05, 0.1, 0.5, 1.0), _ORDERED[::2], "<>ph", strict=True)
}

# Steps and orders of papers after 2016, next to the methods that they change.
LINES |= {
    f"bc{letter}fw_chain": Line(f"{METHODS[f'bc{letter}fw'].label}, chains", color, marker, (0, (4, 1.4)), False)
    for letter, color, marker in (("p", "#E69F00", "h"), ("a", "#009E73", "s"))
}
LINES["bcpfw_wss2"] = Line("BCPFW, best improvement", "#0072B2", "D", (0, (1, 1.1)), True)
LINES |= {
    f"bcfw_{name}_{size}": Line(label.format(size), color, marker, "-", True)
    for name, label, sizes, markers in (
        ("joint", "joint steps of {}", (4, 16, 64), "dpH"),
        ("skip", "costly ones once in {}", (1, 2, 5), "D8*"),
    )
    for size, color, marker in zip(sizes, _ORDERED[1::2], markers, strict=True)
}

# What runs do in addition to training at one lam.
LINES |= {
    "heuristic_path": Line("heuristic path", "#E69F00", "v", (0, (4, 1.4)), False),
    "path": Line("path", "#225EA8", "s", "-", True),
    "warm_grid": Line("grid, warm starts", "#009E73", "o", (0, (4, 1.4)), False),
    "cold_grid": Line("grid, cold starts", "#882255", "D", "-", True),
}

# Methods on convex sets, which never stand next to those of structural SVMs.
LINES |= {
    "frank_wolfe": Line("FW", "#009E73", "^", _CACHED, True),
    "frank_wolfe_open_loop": Line("FW, 2/(t+2)", "#7F726A", "v", (0, (1, 1.1)), True),
    "away": Line("away steps", "#0072B2", "o", (0, (4, 1.4)), True),
    "pairwise": Line("pairwise", "#D55E00", "D", "-", True),
    "corrective": Line("fully corrective", "#000000", "X", (0, (1, 1.1)), True),
    "block": Line("block-coordinate FW", "#CC79A7", "d", "-", True),
    "block_descent": Line("projected block descent", "#332288", "s", (0, (2, 1)), True),
    "block_pairwise": Line("block-coordinate pairwise", "#882255", "P", (0, (4, 1.4)), True),
    "dual_extragradient": Line("extragradient", "#0072B2", "o", (0, (1, 1.1)), True),
    "dual_extragradient_entropic": Line("extragradient, entropic", "#56B4E9", "D", (0, (4, 1.4)), True),
    "sp_fw": Line("SP-FW, 2/(t+2)", "#D55E00", "s", (0, (4, 1.4)), True),
    "sp_fw_adaptive": Line("SP-FW, adaptive", "#E69F00", "v", (0, (1, 1.1)), True),
    "sp_fw_linear_rate": Line("SP-FW, step of the theorem", "#882255", "v", "-", True),
    "sp_away": Line("SP-AFW", "#000000", "h", _CACHED, True),
}


def line(variant: str) -> Line:
    """Return the line of a variant next to those of the table; `lines` returns those of a whole figure."""
    return lines([variant])[variant]


def lines(variants: Iterable[str]) -> dict[str, Line]:
    """Return the lines of all variants of a figure, in the order of the table; methods without a line of it get spare ones."""
    # A spare style depends on the name, and is the next one where another such method of the figure has that: no two lines of a
    # figure look alike, as long as there are spare styles.
    found: dict[str, Line] = {}
    given: dict[str, tuple[str, str, Any]] = {}
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
        found[variant] = Line(variant, color, ITERATE_MARKERS.get(iterate, marker), ITERATES[iterate] or dashes, iterate == "last")
    return found


def _spare(name, taken):
    """Return colour, marker and dashes of an unknown method: a new colour if there is one, otherwise new dashes."""
    colors = len(_SPARE_COLORS)
    start = zlib.crc32(name.encode())
    number = colors * len(_SPARE_DASHES)
    order = [(start + k) % number for k in range(number)]
    spares = [(_SPARE_COLORS[k % colors], _SPARE_MARKERS[(k + k // colors) % colors], _SPARE_DASHES[k // colors]) for k in order]
    new_color = (spare for spare in spares if spare[0] not in {color for color, *_ in taken})
    return next(new_color, None) or next((spare for spare in spares if spare not in taken), spares[0])


def marker_offset(variant: str) -> float:
    """Return the place of a curve's first marker, as a part of the panel's width; spread, so that markers rarely meet."""
    return 0.02 + 0.025 * (zlib.crc32(variant.encode()) % 7)


def in_table_order(variants: Iterable[str]) -> list[str]:
    """Return variants in the order of the table, then unknown ones by name: the order of legends and of drawing."""
    rank = {name: position for position, name in enumerate(LINES)}
    return sorted(set(variants), key=lambda name: (rank.get(name, len(rank)), name))


_OWN: ContextVar[Any] = ContextVar("own settings of the user", default=MappingProxyType({}))


@contextmanager
def context() -> Iterator[None]:
    """Apply the style of all figures in a ``with`` block; the caller's settings return afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_settings(STYLE), **_OWN.get()})
        yield


@contextmanager
def using(own: str | PathLike[str] | None) -> Iterator[None]:
    """Add a style file of matplotlib, or a style by its name, to the style of all figures in a ``with`` block."""
    token = _OWN.set(_settings(own) if own is not None else {})
    try:
        yield
    finally:
        _OWN.reset(token)


def _settings(own: str | PathLike[str]) -> Any:
    """Return the settings of a style, by its name or file."""
    import matplotlib
    import matplotlib.style

    if own in matplotlib.style.library:
        return matplotlib.style.library[str(own)]
    lines: list[str] = []
    logger, handler = logging.getLogger("matplotlib"), logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    try:
        settings = matplotlib.rc_params_from_file(own, fail_on_error=True, use_default_template=False)
    except (OSError, ValueError, KeyError) as error:
        lines.append(str(error))
    finally:
        logger.removeHandler(handler)
    if lines:
        raise ParameterError(f"style must be a style file of matplotlib or the name of a style, got {str(own)!r}: {lines[0]}")
    return settings
