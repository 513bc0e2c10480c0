import itertools

import matplotlib
import numpy as np
import pytest

from fwexp.methods import methods
from fwexp.plots import style


def test_no_two_variants_look_alike():
    lines = {}
    for variant, line in style.LINES.items():
        lines.setdefault((line.color, line.marker, line.dashes, line.filled), []).append(variant)
    assert [names for names in lines.values() if len(names) > 1] == []


def test_averages_keep_the_hue_and_change_the_line():
    for name in style.METHODS:
        line = style.line(name)
        for average in ("wavg", "tavg", "avg"):
            averaged = style.line(f"{name}-{average}")
            assert averaged.color == line.color
            assert averaged.label == f"{line.label}-{average}"
            assert averaged.dashes != line.dashes


@pytest.mark.parametrize("others", [[], ["bcfw"], ["zzz", "bcfw-wavg", "ssg"], ["ssg", "fw"]])
def test_an_unknown_method_looks_the_same_in_any_company(others):
    before = style.line("mine"), style.line("mine-wavg")
    for other in others:
        style.line(other)
    assert (style.line("mine"), style.line("mine-wavg")) == before
    assert style.line("mine").color == style.line("mine-wavg").color
    assert style.line("mine").dashes != style.line("mine-wavg").dashes


def test_order_is_that_of_the_table_and_unknown_ones_come_last():
    names = ["mine", "fw", "bcfw-wavg", "another", "ssg", "bcfw"]
    for shuffled in itertools.permutations(names, len(names)):
        assert style.in_table_order(shuffled) == ["bcfw", "bcfw-wavg", "ssg", "fw", "another", "mine"]


# Least distances in CIELAB, with all cones and without those for red or green; 2 is just noticeable, side by side.
NEXT_TO, NEXT_TO_SAME_DASHES, SAME_DASHES, ANY, SPARE = (20, 10), (23, 13), (16, 7), (12, 0), (20, 12)
MAIN = ["bcfw", "ssg", "fw", "online_eg", "one_slack"]
TOGETHER = [  # methods that figures compare, or may
    [*MAIN, "bcfw_predefined", "fw_predefined", "n_slack", "fcfw"],
    ["bcfw", *(f"bcfw_gap_{k}" for k in (1, 5, 10, 20, 50, 100, "never"))],
    ["bcfw_gap", *(f"cache_{regime}" for regime in ("local", "global", "rare", "eager"))],
    [f"{step}{sampling}{cache}" for step in ("bcfw", "bcpfw") for sampling in ("", "_gap") for cache in ("", "_cache")],
    ["bcfw", "bcfw_perm", "bcfw_cyclic", "bcfw_lipschitz", "bcfw_max_gap", "bcfw_max_gain", "bcfw_gap"],
    ["bcfw", "bcpfw", "bcafw", "bccfw", "auto", "ssg", "bccfw_accelerated"],
    ["bcpfw", "bcpfw_chain", "bcafw", "bcafw_chain", "bcpfw_wss2"],
    ["bcfw", "bcfw_joint_4", "bcfw_joint_16", "bcfw_joint_64"],
    ["bcfw_skip_1", "bcfw_skip_2", "bcfw_skip_5"],
    ["path", "heuristic_path", "warm_grid", "cold_grid"],
]


def check_distance(one, two, least):
    normal, *blind = distances(one.color, two.color)
    assert normal > least[0], (one.label, two.label)
    assert min(blind) > least[1], (one.label, two.label)


@pytest.mark.parametrize("names", TOGETHER, ids=lambda names: names[1])
def test_methods_of_a_figure_can_be_told_apart_with_common_kinds_of_color_vision(names):
    for one, two in itertools.combinations(map(style.line, names), 2):
        check_distance(one, two, NEXT_TO_SAME_DASHES if one.dashes == two.dashes else NEXT_TO)
        assert one.marker != two.marker


def test_all_methods_differ_visibly_most_of_all_from_the_plain_solver():
    for (one, m), (two, other) in itertools.combinations(style.METHODS.items(), 2):
        least = SAME_DASHES if m.dashes == other.dashes else ANY
        check_distance(m, other, NEXT_TO if methods()[two].solver == one else least)
        assert m.marker != other.marker or distances(m.color, other.color)[0] > NEXT_TO[0], (one, two)


def test_settings_that_the_table_does_not_know_do_not_look_alike():
    settings = [f"bcfw[refresh={k}]" for k in range(24)]
    for number in range(1, 9):
        lines = list(style.lines(settings[:number] + MAIN).values())
        for one, two in itertools.combinations(lines[len(MAIN) :], 2):
            check_distance(one, two, SPARE)
        for one, two in itertools.product(lines[: len(MAIN)], lines[len(MAIN) :]):
            check_distance(one, two, (NEXT_TO[0], 9))
            assert one.dashes != two.dashes
    many = style.lines(settings).values()
    assert len({(line.color, line.dashes) for line in many}) == len({(line.color, line.marker) for line in many}) == 24
    assert len(style.lines([f"bcfw[refresh={k}]" for k in range(100)])) == 100
    assert {line.dashes for line in many}.isdisjoint(line.dashes for line in style.LINES.values())


def test_averages_of_an_unknown_method_keep_its_hue_in_a_figure():
    names = [f"bcfw[refresh={k}]{average}" for k in range(8) for average in ("", "-wavg", "-tavg")]
    lines = style.lines(names)
    assert lines == style.lines(names[::-1])
    for k in range(8):
        assert len({lines[f"bcfw[refresh={k}]{average}"].color for average in ("", "-wavg", "-tavg")}) == 1
    assert len({(line.color, line.dashes) for line in lines.values()}) == len(lines)


def test_the_style_ends_with_its_block(monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "lines.linewidth", 7.25)
    before = dict(matplotlib.rcParams)
    with style.context():
        assert matplotlib.rcParams["lines.linewidth"] == 1.3
        assert matplotlib.rcParams["svg.hashsalt"] == "fwexp"
        smallest = min(value for key, value in matplotlib.rcParams.items() if _is_font_size(key, value))
        assert smallest >= 7
    assert dict(matplotlib.rcParams) == before


def _is_font_size(key, value):
    return (
        key in style._settings(style.STYLE)
        and ("size" in key and ("label" in key or "font" in key or "title" in key))
        and value > 0
    )


def distances(one, two):
    """Of two colours, one for each kind of `VISION`."""
    seen = [[_lab(kind @ _linear(color)) for color in (one, two)] for kind in VISION.values()]
    return [float(np.linalg.norm(first - second)) for first, second in seen]


def _linear(color):
    """Linear sRGB."""
    rgb = np.array(matplotlib.colors.to_rgb(color))
    return np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)


def _lab(linear):
    """CIELAB of linear sRGB, white D65."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(linear, 0, 1)
    x, y, z = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 216 / 24389))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# Linear sRGB as seen without red or green cones (Viénot, Brettel, Mollon 1999).
VISION = {
    "trichromacy": np.eye(3),
    "protanopia": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
    "deuteranopia": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
}
