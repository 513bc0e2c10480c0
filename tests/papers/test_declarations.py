import dataclasses
import functools
import itertools
from unittest import mock

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from fwexp.errors import ParameterError
from fwexp.experiments import FIGURES, Kind
from fwexp.experiments import Figure as DeclaredFigure
from fwexp.methods import method_of
from fwexp.papers.claims import all_claims
from fwexp.papers.figure_files import save_figure
from fwexp.plots import icml2013_table, style
from fwexp.plots.curves import TALLEST, Chart, Panel
from fwexp.plots.frames import COLUMNS
from fwexp.run import from_arguments
from fwexp.run.config import conf_dir, run_key
from fwexp.solvers import SOLVERS
from tests.plots.synthetic_results import make_results

PRESETS = conf_dir() / "experiment"
EIGHT = {f"{step}{sampling}{cache}" for step in ("bcfw", "bcpfw") for sampling in ("", "_gap") for cache in ("", "_cache")}
OUR_STEP = {"bcfw_gap_longest", "bcpfw_gap_cache_longest"}
REFRESHED = {f"bcfw_gap_{k}" for k in (1, 5, 10, 20, 50, 100, "never")}


@functools.cache
def _configs(name, preset="full"):
    return from_arguments.expand([f"+experiment={FIGURES[name].preset}"], preset=preset)


@functools.cache
def _frame(name):
    """Return the frame that a figure draws of its smoke runs; tests must not change it."""
    return FIGURES[name].data(make_results(_configs(name, "smoke")))


def test_every_figure_has_its_name_and_a_preset_and_every_preset_a_figure_or_claim():
    presets = {path.relative_to(PRESETS).with_suffix("").as_posix() for path in PRESETS.rglob("*.yaml")}
    needed = {need.preset for claim in all_claims().values() for need in claim.needs}
    assert presets == {figure.preset for figure in FIGURES.values() if figure.has_runs} | needed
    for name, figure in FIGURES.items():
        assert (figure.name, bool(figure.title and figure.caption)) == (name, True)
        assert (figure.paper is None) == (figure.kind is Kind.OURS)


def test_a_figure_has_a_chart_or_is_drawn_by_functions():
    for ways in ({}, {"data": print}, {"chart": Chart([]), "draw": print}):
        with pytest.raises(ParameterError, match="figure a takes either a chart or both data and draw"):
            DeclaredFigure("a", "A", **ways)


def test_what_a_figure_is_and_whether_it_is_timed_follow_from_what_it_shows():
    by_passes, by_time = (Chart([Panel("a", "A", "ocr", axis=axis)]) for axis in ("passes", "time"))
    ours, shown = (DeclaredFigure("a", "A", chart=by_passes, paper=paper) for paper in (None, "It fell."))
    assert (ours.kind, shown.kind) == (Kind.OURS, Kind.REPRODUCED)
    assert DeclaredFigure("a", "A", chart=by_passes, paper="It is to come.", kind=Kind.ANNOUNCED).kind is Kind.ANNOUNCED
    timed = [by_passes, by_time, Chart([*by_passes.panels, Panel("b", "B", "ocr", measure="time")])]
    assert [DeclaredFigure("a", "A", chart=chart).timed for chart in timed] == [False, True, True]
    assert not DeclaredFigure("a", "A", print, print).timed
    assert not DeclaredFigure("a", "A", chart=by_time, timed=False).timed


MOST_COLORS = 8
"""Of the lines that one legend explains."""

PANELS = {
    name: FIGURES[name].chart.panels
    for name in (
        "quickstart",
        *(f"icml2013/fig{k}" for k in range(1, 6)),
        *(f"icml2016/{k}" for k in ("fig1", "fig3", "fig5", "fig6", "auto")),
    )
}


def _place(config, panels):
    """Return the name of a run's data in panels."""
    dataset = config["dataset"]
    same = {panel.place for panel in panels if panel.dataset == dataset["name"] and panel.options.items() <= dataset.items()}
    return same.pop() if len(same) == 1 else dataset


@pytest.mark.slow
@pytest.mark.parametrize("name", PANELS)
def test_a_preset_compares_methods_on_equal_terms(name):
    """For every panel all methods of its data set run equally far, the random ones with the same seeds, and nothing else does."""
    split_by = ["refresh"] if name == "icml2016/fig1" else ["constrained_search"]  # ours and the paper's line search
    runs = {}
    for config in _configs(name):
        if "task" not in config:
            runs.setdefault((_place(config, PANELS[name]), config["lam"]), []).append(config)
    places = [(panel.place, panel.lam) for panel in PANELS[name]]
    assert set(runs) == set(places)
    drawn = {}
    for place, configs in runs.items():
        bounds = any(panel.measure == "suboptimality" for panel, at in zip(PANELS[name], places) if at == place)
        compared = [config for config in configs if not (bounds and config["solver"].get("accelerate"))]
        (passes,) = {config["max_passes"] for config in compared}
        if name.startswith("icml2016/"):
            assert passes >= 50  # five refreshes of the gaps: where estimates are spent before, gap sampling stands still
        (gap_tol,) = {config["gap_tol"] for config in configs}
        assert gap_tol == 0 or (gap_tol == 1e-6 and name.startswith("icml2016/"))  # a gap that panels show no more
        seeds = {}
        for config in compared:
            method = method_of(config["solver"]["name"], config["solver"], split_by)
            seeds.setdefault((method, SOLVERS[config["solver"]["name"]].stochastic), []).append(config["seed"])
        assert {tuple(of_method) for (_, random), of_method in seeds.items() if not random} <= {(0,)}
        (of_random,) = {tuple(of_method) for (_, random), of_method in seeds.items() if random}
        assert of_random == tuple(range(len(of_random)))
        assert len(of_random) >= (2 if name == "icml2016/auto" else 5 if name.startswith("icml2016/") else 3)
        # One run more bounds the optimum where panels need one; gaps are their own bound.
        references = [config for config in configs if bounds and config["solver"].get("accelerate")]
        assert len(references) == bounds
        assert all(config["max_passes"] >= 3 * passes for config in references)
        drawn.setdefault(place[0], []).append((passes, set(seeds), of_random))
    for of_data_set in drawn.values():
        assert all(one == of_data_set[0] for one in of_data_set)


@pytest.mark.slow
def test_table_1_measures_every_method_on_all_words_and_on_samples():
    sizes = {}
    for config in _configs("icml2013/table1"):
        sizes.setdefault(config["solver"]["name"], set()).add(config["dataset"].get("n"))
    assert set(sizes) == set(icml2013_table.METHODS)
    assert all(None in found and len(found) >= 4 for found in sizes.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FIGURES if FIGURES[name].has_runs])
def test_the_smoke_preset_is_small_and_draws_the_same_curves(name):
    full, smoke = _configs(name), _configs(name, "smoke")
    assert len({run_key(config) for config in full}) == len(full) > 0
    assert max(config["max_passes"] for config in smoke) < min(config["max_passes"] for config in full)
    walks = name in ("icml2016/fig4", "icml2016/fig8")
    assert max(config["max_passes"] for config in smoke) <= (30 if walks else 10 if name.startswith("review") else 2)
    assert {config["seed"] for config in smoke} <= {0, 1}

    def curves(configs):
        configs = [config | {"dataset": {k: v for k, v in config["dataset"].items() if k != "n"}} for config in configs]
        return {tuple(str(config.get(key)) for key in ("task", "dataset", "solver", "lam")) for config in configs}

    assert curves(smoke) == curves(full)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FIGURES if FIGURES[name].has_curves])
def test_every_figure_draws_the_runs_of_its_preset(name, tmp_path, monkeypatch):
    frame = _frame(name)
    drawn = FIGURES[name].draw(frame)
    pages = drawn if isinstance(drawn, list) else [drawn]
    titled = [ax for page in pages for ax in page.axes if ax.get_title(loc="left")]
    assert all(page.get_figwidth() in (style.COLUMN, style.TEXT) and page.get_figheight() <= TALLEST for page in pages)
    assert len(titled) == frame["panel"].nunique()
    assert not any(text.get_text() == "no run" for ax in titled for text in ax.texts)
    assert list(frame.columns) == COLUMNS
    assert not frame.isna().any(axis=None)
    variants = frame["variant"][frame["axis"] != "nu"].unique()
    assert set(variants) <= set(style.LINES)
    legends = [ax.get_legend() for page in pages for ax in page.axes if ax.get_legend()]
    legends = legends or [legend for page in pages for legend in page.legends]
    told = [{text.get_text() for text in legend.get_texts()} - {" "} for legend in legends]
    assert set().union(*told) == {style.line(name).label for name in variants}
    for legend in legends:
        assert len({handle.get_color() for handle in legend.get_lines()}) <= MOST_COLORS

    def savefig(picture, file, **options):  # drawing thrice would take most of the time; test_figure looks at real files
        if options["format"] == "svg":
            file.write("<svg >")
        else:
            check_texts(picture)
            file.write(b"png")

    monkeypatch.setattr(Figure, "savefig", savefig)
    paths = save_figure(drawn, frame, tmp_path / "figure", mark="a mark, " * 20)
    assert paths == [tmp_path / f"figure{suffix}" for suffix in FIGURES[name].suffixes]
    assert all(path.is_file() for path in paths)


@pytest.mark.slow
@pytest.mark.parametrize("part", [slice(1), slice(16), slice(5, 6)], ids=["no cache", "some", "one"])
def test_a_map_of_which_runs_failed_can_be_drawn(part, tmp_path):
    figure = FIGURES["icml2016/fig2"]
    frame = figure.data(make_results(_configs("icml2016/fig2", "smoke")[part]))
    picture = figure.draw(frame)
    save_figure(picture, frame, tmp_path / "figure")
    assert any(text.get_text() == "no run" for ax in picture.axes for text in ax.texts)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "last"), [(3e4, 1e-4), (300.0, 1e-4), (50.0, 3e-3), (5.0, 1e-5), (2e5, 10.0)])
def test_tick_labels_of_lambda_do_not_touch(first, last):
    frame = _frame("icml2016/fig8")
    place = np.log(frame["x"].max() / frame["x"]) / np.log(frame["x"].max() / frame["x"].min())
    frame = frame.assign(x=first * (last / first) ** place)
    for number, columns in ((4, 2), (3, 3)):  # as in the figure, and narrower
        panels = [dataclasses.replace(panel, title="", left=last) for panel in FIGURES["icml2016/fig8"].chart.panels[:number]]
        check_texts(Chart(panels, columns=columns).draw(frame))


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "panel", "variants"),
    [
        ("icml2013/fig1", "a", {"bcfw", "bcfw-wavg", "ssg", "ssg-wavg", "online_eg", "fw", "one_slack"}),
        ("icml2013/fig1", "e", {"bcfw", "bcfw-wavg", "ssg", "ssg-wavg", "fw", "one_slack"}),
        ("icml2013/fig2", "c", {"bcfw", "bcfw_predefined", "fw", "fw_predefined", "ssg"}),
        ("icml2013/fig3", "d", {f"{m}{i}" for m in ("bcfw", "ssg") for i in ("", "-wavg", "-tavg")} | {"ssg-avg", "online_eg"}),
        ("icml2013/fig4", "a", {f"{m}{i}" for m in ("bcfw", "ssg") for i in ("", "-wavg", "-tavg")} | {"ssg-avg"}),
        ("icml2016/fig1", "a", {"bcfw", *REFRESHED}),
        ("icml2016/fig1", "b", REFRESHED),
        ("icml2016/fig1", "c", {"bcfw", "bcfw_gap_10"}),
        ("icml2016/fig2", "b", {"bcfw_gap", "cache_local", "cache_global", "cache_rare", "cache_eager"}),
        ("icml2016/fig3", "d2", EIGHT | OUR_STEP),
        ("icml2016/fig5", "f3", EIGHT),
        ("icml2016/fig6", "c5", EIGHT | OUR_STEP),
        (
            "icml2016/auto",
            "e8",
            {"auto", "bccfw_accelerated_longest", "bcpfw_gap", "bcpfw_gap_cache", "bcfw_gap", "bcfw_gap_cache"},
        ),
        ("icml2016/fig4", "d", {"path", "heuristic_path", "warm_grid", "cold_grid"}),
        ("icml2016/fig8", "p", {"path", "heuristic_path", "warm_grid", "cold_grid"}),
    ],
)
def test_a_panel_has_the_curves_of_the_paper(name, panel, variants):
    frame = _frame(name)
    assert set(frame[frame["panel"] == panel]["variant"]) == variants


@pytest.mark.slow
def test_runs_whose_time_counts_are_no_other_figures_runs_side_by_side():
    """A command for both would make them together with others, and the figure that shows times would find them stored."""
    timed, others = {}, {}
    for name, figure in FIGURES.items():
        if not figure.has_runs:
            continue
        (timed if figure.timed else others).update(dict.fromkeys(map(run_key, _configs(name)), name))
    assert timed
    assert others
    assert not {(timed[key], others[key]) for key in timed.keys() & others.keys()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "solvers", "shared"),
    [
        ("icml2013/fig1", "icml2013/fig2", {"bcfw", "fw"}, 3 + 30 + 3),
        ("icml2013/fig1", "icml2013/fig3", {"bcfw", "ssg", "online_eg"}, 3 + 90),
        ("icml2013/fig1", "icml2013/fig4", {"ssg"}, 10),
        ("icml2013/fig1", "icml2013/fig5", {"ssg"}, 10),
        ("icml2013/fig1", "icml2013/table1", {"bcfw", "ssg", "online_eg", "fw", "one_slack"}, 1 + 30 + 2),
        ("icml2016/fig5", "icml2016/fig3", {"bcfw"}, 8 * 5),
        ("icml2016/fig6", "icml2016/fig3", {"bcfw"}, 10 * 5 * 3 - 2 * 5),
        ("icml2016/fig5", "icml2016/auto", {"bcfw"}, 4 * 2 * 3 * 3),
        ("icml2016/fig6", "icml2016/auto", {"bcfw"}, 4 * 2 * 3 * 5),
        ("icml2016/fig8", "icml2016/fig4", {"bcfw"}, 40),
    ],
)
def test_figures_share_runs(one, other, solvers, shared):
    keys = [{run_key(config) for config in _configs(name) if config["solver"]["name"] in solvers} for name in (one, other)]
    assert len(keys[0] & keys[1]) == shared
