import dataclasses
import functools
import itertools
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from fwexp.errors import ParameterError
from fwexp.experiments import FIGURES
from fwexp.experiments.figure import PICTURE, save_figure
from fwexp.plots import curves, icml2016, style
from fwexp.plots.curves import COLUMNS
from fwexp.run import store, sweep
from fwexp.run.config import conf_dir
from tests.plots.synthetic_results import make_results

PRESETS = conf_dir() / "experiment"
EIGHT = {f"{step}{sampling}{cache}" for step in ("bcfw", "bcpfw") for sampling in ("", "-gap") for cache in ("", "-cache")}


@functools.cache
def _configs(name, preset="full"):
    return sweep.expand([f"+experiment={FIGURES[name].preset}"], preset=preset)


def test_every_figure_has_a_preset_and_every_preset_a_figure():
    presets = {path.relative_to(PRESETS).with_suffix("").as_posix() for path in PRESETS.rglob("*.yaml")}
    assert presets == {figure.preset for figure in FIGURES.values()}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_know_their_names(name):
    assert FIGURES[name].name == name
    assert FIGURES[name].title


def test_an_unknown_figure_is_one_line_that_names_the_known_ones():
    with pytest.raises(ParameterError, match=r"^unknown figure 'icml2013/fig9'; accepted: icml2013/fig1, .*quickstart"):
        FIGURES.find("icml2013/fig9")
    assert "icml2013/fig9" not in FIGURES


def test_the_names_cost_no_heavy_import():
    code = "import sys, fwexp.experiments as e; list(e.FIGURES); print(*{'pandas', 'numba', 'hydra'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("path", sorted(PRESETS.rglob("*.yaml")), ids=lambda path: path.stem)
def test_a_preset_fits_on_a_screen(path):
    assert len(path.read_text().splitlines()) <= 70


# (figure, data set, lams, seeds of a random method, passes, random methods, batch methods)
EXPECTED = [
    ("quickstart", "digits", {0.1, 0.01, "1/n"}, 3, 50, {"bcfw", "ssg"}, {"fw"}),
    ("icml2013/fig1", "ocr", {0.01, 0.001, "1/n"}, 10, 130, {"bcfw", "ssg", "online_eg"}, {"fw", "one_slack"}),
    ("icml2013/fig1", "conll2000", {"1/n"}, 10, 20, {"bcfw", "ssg"}, {"fw", "one_slack"}),
    ("icml2013/fig1", "hansards", {0.001}, 10, 20, {"bcfw", "ssg"}, {"fw", "one_slack"}),
    ("icml2013/fig2", "ocr", {0.01, 0.001, "1/n"}, 10, 130, {"bcfw", "bcfw-predefined"}, {"fw", "fw-predefined"}),
    ("icml2013/fig3", "ocr", {0.01, 0.001, "1/n"}, 10, 130, {"bcfw", "ssg", "online_eg"}, set()),
    ("icml2013/fig4", "conll2000", {0.01, 0.001, "1/n"}, 10, 20, {"bcfw", "ssg"}, set()),
    ("icml2013/fig5", "hansards", {0.01, 0.001, "1/n"}, 10, 20, {"bcfw", "ssg"}, set()),
    ("icml2016/fig1", "ocr", {0.001}, 5, 200, {"bcfw", *(f"bcfw-gap-{k}" for k in (1, 5, 10, 100, "never"))}, set()),
    ("icml2016/fig3", "ocr", {0.001}, 5, 100, EIGHT, set()),
    ("icml2016/fig5", "ocr", {0.1, 0.001, 0.0001}, 5, 100, EIGHT, set()),
    ("icml2016/fig5", "conll2000", {0.1, 0.01, 0.0001}, 5, 40, EIGHT, set()),
]


@pytest.mark.parametrize(("name", "dataset", "lams", "seeds", "passes", "random", "batch"), EXPECTED)
def test_a_preset_names_the_runs_of_its_figure(name, dataset, lams, seeds, passes, random, batch):
    configs = [config for config in _configs(name) if config["dataset"]["name"] == dataset and "task" not in config]
    split_by = ["refresh"] if name == "icml2016/fig1" else []
    runs = {"reference": [], **{method: [] for method in random | batch}}
    for config in configs:
        reference = config["solver"].get("accelerate")
        runs["reference" if reference else style.method(config["solver"]["name"], config["solver"], split_by)].append(config)
    if name.startswith("icml2016"):  # gaps need no bound of the optimum
        assert runs["reference"] == []
    else:
        assert len(runs["reference"]) == len(lams)
        assert {config["lam"] for config in runs["reference"]} == lams
        assert all(config["max_passes"] >= 3 * passes for config in runs["reference"])
    for method, number in {**dict.fromkeys(random, seeds), **dict.fromkeys(batch, 1)}.items():
        expected = set(itertools.product(lams, range(number)))
        assert {(config["lam"], config["seed"]) for config in runs[method]} == expected
        assert len(runs[method]) == len(expected)
        assert {(config["max_passes"], config["gap_tol"]) for config in runs[method]} == {(passes, 0)}


@pytest.mark.parametrize(
    ("one", "other", "solvers", "shared"),
    [
        ("icml2013/fig1", "icml2013/fig2", {"bcfw", "fw"}, 3 + 30 + 3),
        ("icml2013/fig1", "icml2013/fig3", {"bcfw", "ssg", "online_eg"}, 3 + 90),
        ("icml2013/fig1", "icml2013/fig4", {"ssg"}, 10),
        ("icml2013/fig1", "icml2013/fig5", {"ssg"}, 10),
        ("icml2013/fig1", "icml2013/table1", {"bcfw", "ssg", "online_eg", "fw", "one_slack"}, 1 + 30 + 2),
        ("icml2016/fig5", "icml2016/fig3", {"bcfw"}, 40),
    ],
)
def test_figures_share_runs(one, other, solvers, shared):
    keys = [{store.run_key(config) for config in _configs(name) if config["solver"]["name"] in solvers} for name in (one, other)]
    assert len(keys[0] & keys[1]) == shared


@pytest.mark.parametrize("name", FIGURES)
def test_the_smoke_preset_is_small_and_draws_the_same_curves(name):
    full, smoke = _configs(name), _configs(name, "smoke")
    assert {config["max_passes"] for config in smoke} == {30 if name == "icml2016/fig8" else 2}
    assert len(smoke) < len(full) or len(full) < 27

    def curves(configs):
        return {tuple(str(config.get(key)) for key in ("task", "dataset", "solver", "lam")) for config in configs}

    assert curves(smoke) == curves(full)


@pytest.mark.parametrize("name", [name for name in FIGURES if FIGURES[name].suffixes == PICTURE])
def test_every_figure_draws_the_runs_of_its_preset(name, tmp_path):
    figure = FIGURES[name]
    frame = figure.data(make_results(_configs(name, "smoke")))
    picture = figure.draw(frame)
    titled = [ax for ax in picture.axes if ax.get_title(loc="left")]
    assert len(titled) == frame["panel"].nunique()
    assert not any(text.get_text() == "no run" for ax in titled for text in ax.texts)
    assert list(frame.columns) == COLUMNS
    assert not frame.isna().any(axis=None)
    variants = frame["variant"][frame["measure"] != "cache_hits"].unique()
    assert set(variants) <= set(style.LINES)
    (legend,) = picture.legends
    assert [text.get_text() for text in legend.get_texts()] == [style.line(name).label for name in style.in_table_order(variants)]
    assert [path.suffix for path in save_figure(picture, frame, tmp_path / "figure", note="a note, " * 20)] == list(PICTURE)
    check_texts(picture)


@pytest.mark.parametrize("part", [slice(1), slice(8), slice(5, 6)], ids=["no cache", "some", "one"])
def test_a_map_of_which_runs_failed_can_be_drawn(part, tmp_path):
    figure = FIGURES["icml2016/fig2"]
    frame = figure.data(make_results(_configs("icml2016/fig2", "smoke")[part]))
    picture = figure.draw(frame)
    save_figure(picture, frame, tmp_path / "figure")
    assert any(text.get_text() == "no run" for ax in picture.axes for text in ax.texts)


@pytest.mark.parametrize(("first", "last"), [(3e4, 1e-4), (300.0, 1e-4), (50.0, 3e-3), (5.0, 1e-5), (2e5, 10.0)])
def test_tick_labels_of_lambda_do_not_touch(first, last):
    frame = _fig8_frame()
    place = np.log(frame["x"].max() / frame["x"]) / np.log(frame["x"].max() / frame["x"].min())
    frame = frame.assign(x=first * (last / first) ** place)
    for number, columns in ((4, 2), (3, 3)):  # as in the figure, and narrower
        panels = [dataclasses.replace(panel, title="", left=last) for panel in icml2016.FIG8[:number]]
        check_texts(curves.draw(frame, panels, columns=columns))


@functools.cache
def _fig8_frame():
    return icml2016.fig8_data(make_results(_configs("icml2016/fig8", "smoke")))


def check_texts(picture):
    """No text of a picture overlaps or touches another, or is cut off at the edge."""
    drawn, draw = {}, Text.draw

    def record(text, renderer):
        if text.get_visible() and text.get_text():
            drawn[text] = text.get_window_extent(renderer)
        draw(text, renderer)

    with mock.patch.object(Text, "draw", record):
        FigureCanvasAgg(picture).draw()
    gap = 0.02 * picture.dpi
    for (one, box), (two, other) in itertools.combinations(drawn.items(), 2):
        apart = box.x1 + gap < other.x0 or other.x1 + gap < box.x0 or box.y1 < other.y0 or other.y1 < box.y0
        assert apart, (one.get_text(), two.get_text())
    for text, box in drawn.items():
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= picture.bbox.x1, text
        assert box.y1 <= picture.bbox.y1, text


@pytest.mark.parametrize(
    ("name", "panel", "variants"),
    [
        ("icml2013/fig1", "a", {"bcfw", "bcfw-wavg", "ssg", "ssg-wavg", "online_eg", "fw", "one_slack"}),
        ("icml2013/fig1", "e", {"bcfw", "bcfw-wavg", "ssg", "ssg-wavg", "fw", "one_slack"}),
        ("icml2013/fig2", "c", {"bcfw", "bcfw-predefined", "fw", "fw-predefined"}),
        ("icml2013/fig3", "d", {f"{m}{i}" for m in ("bcfw", "ssg") for i in ("", "-wavg", "-tavg")} | {"ssg-avg", "online_eg"}),
        ("icml2013/fig4", "a", {f"{m}{i}" for m in ("bcfw", "ssg") for i in ("", "-wavg", "-tavg")} | {"ssg-avg"}),
        ("icml2016/fig1", "a", {"bcfw", *(f"bcfw-gap-{k}" for k in (1, 5, 10, 100, "never"))}),
        ("icml2016/fig1", "b", {f"bcfw-gap-{k}" for k in (1, 5, 10, 100, "never")}),
        ("icml2016/fig1", "c", {"bcfw", *(f"bcfw-gap-{k}" for k in (1, 5, 10, 100, "never"))}),
        ("icml2016/fig2", "b", {"bcfw-gap", "cache-local", "cache-global", "cache-rare", "cache-eager"}),
        ("icml2016/fig3", "b", EIGHT),
        ("icml2016/fig5", "c4", EIGHT),
        ("icml2016/fig8", "h", {"path", "heuristic_path", "warm_grid", "cold_grid"}),
    ],
)
def test_a_panel_has_the_curves_of_the_paper(name, panel, variants):
    frame = FIGURES[name].data(make_results(_configs(name, "smoke")))
    assert set(frame[frame["panel"] == panel]["variant"]) == variants
