import dataclasses

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from fwexp.errors import OptionError, ParameterError
from fwexp.plots import drawing, frames, style
from fwexp.plots.curves import REFERENCE, Chart, Panel
from tests.plots.synthetic_results import OPTIMUM, PASSES, concat, make_figure, make_run

PANEL = Panel("a", "OCR, λ = 0.01", "ocr", 0.01)


def data(results, panels, **shown):
    return Chart(panels, **shown).data(results)


# -- suboptimality --


def test_suboptimality_is_measured_from_the_highest_dual_of_any_run_at_that_lam():
    best = make_run("bcfw", 0.01, sampling="perm")
    best.loc[7, "dual"] = OPTIMUM - 1e-6  # not the last one, not of a drawn run
    results = concat(make_run("bcfw", 0.01), make_run("ssg", 0.01), best, make_run("bcfw", 0.001).assign(dual=OPTIMUM))
    found = frames.suboptimality(results)
    at = found["lam"] == 0.01
    assert np.allclose(found["suboptimality"][at], found["primal"][at] - (OPTIMUM - 1e-6), atol=1e-15)
    assert np.allclose(found["suboptimality"][~at], found["primal"][~at] - OPTIMUM, atol=1e-15)


def test_a_run_on_other_data_or_at_another_lam_changes_nothing():
    panel = dataclasses.replace(PANEL, options={"split": "ocr2"})
    alone = data(make_figure(), [panel])
    better = [make_run("bcfw", 0.01, dataset="digits", level=1e-6), make_run("bcfw", 0.02, level=1e-6)]
    better.append(make_run("bcfw", 0.01, level=1e-6).assign(split="ocr", key="small"))
    pd.testing.assert_frame_equal(data(concat(make_figure(), *better), [panel]), alone)


def test_a_reference_run_bounds_the_optimum_but_is_not_drawn():
    runs, reference = make_run("bcfw"), make_run("bcfw", sampling="perm", level=1e-3)
    loose = data(runs, [PANEL])
    tight = data(concat(runs, reference), [PANEL], hidden=["bcfw_perm"])
    assert set(tight["variant"]) == {"bcfw"}
    gain = reference["dual"].max() - runs["dual"].max()
    assert gain > 0
    assert np.allclose(loose["median"] - tight["median"], gain, atol=1e-12)


def test_duals_at_another_lam_of_a_path_do_not_count():
    """The dual at a large lam may lie above the primal at a small one."""
    run = make_run("bcfw").assign(lam=np.nan)
    at = run.index % 2
    run = run.assign(at_lam=np.where(at, 0.1, 1.0), primal=run["primal"] + at, dual=run["dual"] + at)
    found = frames.suboptimality(run)
    for _, rows in found.groupby("at_lam"):
        assert np.allclose(rows["suboptimality"], rows["primal"] - rows["dual"].max())
    assert found["suboptimality"].min() >= 0.0


def test_a_primal_below_a_dual_is_reported():
    wrong = make_run("fw")
    wrong.loc[3, "primal"] = OPTIMUM - 0.9
    with pytest.raises(ParameterError, match=r"weak duality is broken: run ocr/fw/0.01/0 .* primal -0.8.* below the dual"):
        frames.suboptimality(concat(make_run("bcfw"), wrong))


def test_lam_as_a_rule_and_as_a_number_are_different_panels():
    results = concat(make_run("bcfw", "1/n"), make_run("bcfw", 1 / 1280, seed=1))
    by_rule, by_number = (Panel("a", "", "ocr", lam).rows(results) for lam in ("1/n", 1 / 1280))
    assert set(by_rule["seed"]) == {0}
    assert set(by_number["seed"]) == {1}


def test_the_envelope_never_rises_and_leaves_other_solvers_alone():
    results = concat(make_run("fw"), make_run("fw", iterate="wavg"), make_run("ssg"))
    rng = np.random.default_rng(0)
    results["primal"] = rng.uniform(size=len(results))
    lowest = frames.envelope(results, "primal", ["fw"])
    for iterate in ("last", "wavg"):
        mine = (results["solver"] == "fw") & (results["iterate"] == iterate)
        assert np.array_equal(lowest["primal"][mine], np.minimum.accumulate(results["primal"][mine]))
    other = results["solver"] == "ssg"
    assert np.array_equal(lowest["primal"][other], results["primal"][other])


# -- bands --


def test_a_band_of_runs_on_one_grid_is_their_median_minimum_and_maximum():
    runs = concat(*[make_run("bcfw", seed=seed) for seed in range(5)])
    values = runs.pivot(index="passes", columns="seed", values="gap")
    band = frames.bands(runs, "gap")
    assert np.array_equal(band["x"], PASSES)
    assert np.array_equal(band["median"], values.median(axis=1))
    assert np.array_equal(band["best"], values.min(axis=1))
    assert np.array_equal(band["worst"], values.max(axis=1))
    assert np.array_equal(band[["lower", "upper"]], np.sort(values, axis=1)[:, [1, 3]])
    assert set(band["runs"]) == {5}
    assert (band["best"] < band["worst"]).all()


@pytest.mark.parametrize(("runs", "left_out"), [(2, 0), (4, 0), (5, 1), (9, 2), (10, 2)])
def test_quartiles_leave_out_runs_on_both_sides(runs, left_out):
    values = np.arange(runs, dtype=float)[::-1, None]
    values[0] = np.inf  # diverged
    found = frames.statistics(values)
    assert (found["best"], found["lower"]) == (0, left_out)
    assert (found["worst"], found["upper"]) == (np.inf, np.inf if left_out == 0 else runs - 1 - left_out)


@pytest.mark.parametrize(("measure", "between"), [("gap", 1e-3), ("test_error", 0.505)])
def test_between_its_own_positions_a_run_is_a_straight_line_on_its_scale(measure, between):
    one = pd.DataFrame({"key": "one", "status": "max_passes", "passes": [0.0, 2.0, 4.0], measure: [1e-2, 1e-2, 1e-2]})
    two = pd.DataFrame({"key": "two", "status": "max_passes", "passes": [0.0, 1.0, 3.0], measure: [1.0, 1.0, 1e-6]})
    if measure == "test_error":
        two[measure] = [1.0, 1.0, 0.01]
    band = frames.bands(concat(one, two), measure).set_index("x")
    assert list(band.index) == [0, 1, 2, 3]  # up to the end of the run that ends first
    assert band.loc[2.0, "worst" if measure == "test_error" else "best"] == pytest.approx(between)
    assert band.loc[3.0, "best"] == pytest.approx(two[measure].iloc[-1])


def test_rows_logged_at_the_same_passes_count_once_with_the_last_value():
    run = pd.DataFrame({"key": "k", "status": "max_passes", "passes": [0.0, 1.0, 1.0, 2.0], "gap": [8.0, 4.0, 3.0, 1.0]})
    assert list(frames.bands(run, "gap")["median"]) == [8.0, 3.0, 1.0]


def test_a_measure_that_no_run_has_gives_no_curve():
    assert len(frames.bands(make_run("ssg"), "gap")) == 0
    frame = data(concat(make_run("ssg"), make_run("bcfw")), [Panel("a", "", "ocr", 0.01, measure="gap")])
    assert set(frame["variant"]) == {"bcfw"}


def test_a_diverged_run_goes_on_at_infinity():
    bad = make_run("bcfw", seed=1, status="diverged")
    bad.loc[bad["passes"] > 20, ["primal", "gap"]] = np.nan
    band = frames.bands(concat(make_run("bcfw"), bad, make_run("bcfw", seed=2)), "gap")
    assert band["x"].max() == 130
    late = band["x"] > 20
    assert np.isinf(band["worst"][late]).all()
    assert np.isfinite(band["worst"][~late]).all()
    assert np.isfinite(band["median"]).all()
    assert set(band["diverged"]) == {1}


def test_rounding_does_not_reach_a_log_scale():
    run = make_run("bcfw").assign(gap=np.where(PASSES > 100, -1e-17, 1.0))
    assert frames.bands(run, "gap")["best"].min() == frames.FLOOR


def test_runs_that_differ_in_more_than_the_seed_are_not_averaged():
    runs = concat(make_run("bcfw", refresh=0), make_run("bcfw", refresh=10), make_run("bcfw", seed=1))
    with pytest.raises(ValueError, match="panel a: 2 runs of bcfw have seed 0, expected one"):
        data(runs, [PANEL])


def test_a_row_names_the_runs_behind_it():
    runs = [make_run("bcfw", seed=seed) for seed in (2, 0, 1)]
    frame = data(concat(*runs, make_run("fw")), [PANEL])
    assert {*frame["keys"][frame["variant"] == "bcfw"]} == {"ocr/bcfw/0.01/0 ocr/bcfw/0.01/1 ocr/bcfw/0.01/2"}
    assert {*frame["keys"][frame["variant"] == "fw"]} == {"ocr/fw/0.01/0"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"split_by": ["solver.damping"]}, "unknown option to split methods by 'solver.damping'.*; accepted: .*line_search"),
        (
            {"hidden": ["bccfw_acelerated"]},
            "unknown method or variant to hide 'bccfw_acelerated' .did you mean 'bccfw_accelerated'",
        ),
        ({"lowest": ["fv"]}, "unknown solver 'fv'.*; accepted: .*fw"),
    ],
)
def test_a_name_of_nothing_is_an_error(names, message):
    with pytest.raises(OptionError, match=message):
        data(make_figure(seeds=[0]), [PANEL], **names)
    frame = data(make_figure(seeds=[0]), [PANEL], hidden=["online_eg", "bcfw-wavg"], lowest=["n_slack"])  # some are absent
    assert set(frame["variant"]) == {"bcfw", "ssg", "ssg-wavg", "fw", REFERENCE}


@pytest.mark.parametrize(("field", "value"), [("measure", "gapp"), ("axis", "pass")])
def test_a_panel_of_nothing_is_an_error(field, value):
    with pytest.raises(ParameterError, match=f"unknown {field} of panel a '{value}'.*; accepted: .*passes"):
        dataclasses.replace(PANEL, **{field: value})


# -- the frame and the picture --


def test_the_frame_does_not_depend_on_the_order_of_the_results():
    results = make_figure()
    shuffled = pd.concat(run for _, run in sorted(results.groupby("key"), key=lambda item: hash(item[0])))
    pd.testing.assert_frame_equal(data(shuffled, [PANEL]), data(results, [PANEL]))


def test_no_results_give_an_empty_frame_that_can_be_drawn():
    frame = data(make_run("bcfw", 0.5), [PANEL])
    assert list(frame.columns) == frames.COLUMNS
    assert len(frame) == 0
    assert [text.get_text() for text in drawing.draw_panel(frame, PANEL).texts] == ["no run"]


def _lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def test_lines_and_bands_are_the_frame():
    frame = data(make_figure(), [PANEL], hidden=[REFERENCE])
    ax = drawing.draw_panel(frame, PANEL)
    lines = _lines(ax)
    assert list(lines) == ["BCFW", "BCFW-wavg", "SSG", "SSG-wavg", "FW"]
    for variant, curve in frame.groupby("variant"):
        x, y = lines[style.line(variant).label].get_data()
        assert np.array_equal(x, curve["x"])
        assert np.array_equal(y, curve["median"])
    bands = [curve for _, curve in frame.groupby("variant") if curve["runs"].iloc[0] > 1]
    assert len(ax.collections) == len(bands) == 4
    for variant, collection in zip(["bcfw", "bcfw-wavg", "ssg", "ssg-wavg"], ax.collections):
        curve = frame[frame["variant"] == variant]
        corners = {tuple(corner) for corner in collection.get_paths()[0].vertices}
        assert set(zip(curve["x"], curve["lower"])) | set(zip(curve["x"], curve["upper"])) == corners


def test_all_panels_and_the_legend_agree_on_methods_that_the_table_does_not_know():
    both = [make_run("bcfw", lam, refresh=float(k)) for lam, ks in ((0.01, range(20, 28)), (0.001, range(24, 28))) for k in ks]
    panels = [PANEL, dataclasses.replace(PANEL, key="b", lam=0.001)]
    frame = data(concat(*both), panels, split_by=["refresh"])
    figure = Chart(panels, columns=2).draw(frame)
    (legend,) = figure.legends
    expected = {line.get_label(): line.get_color() for line in legend.get_lines()}
    assert len(set(expected.values())) == 8
    for ax, number in zip(figure.axes, (8, 4)):
        colors = {label: line.get_color() for label, line in _lines(ax).items()}
        assert len(colors) == number
        assert colors.items() <= expected.items()
    alone = {label: line.get_color() for label, line in _lines(drawing.draw_panel(frame, panels[1])).items()}
    assert alone.items() <= expected.items()


def test_panels_may_have_legends_of_their_own():
    panels = [PANEL, dataclasses.replace(PANEL, key="b", without=["bcfw"])]
    frame = data(make_figure(), panels, hidden=[REFERENCE])
    figure = Chart(panels, own_legends=True).draw(frame)
    assert figure.legends == []
    for ax in figure.axes[:2]:
        assert {text.get_text() for text in ax.get_legend().get_texts()} - {" "} == set(_lines(ax))
    rows = {-(-len(ax.get_legend().get_texts()) // ax.get_legend()._ncols) for ax in figure.axes[:2]}
    assert len(rows) == 1  # so that panels are as large
    assert figure.get_supxlabel() == "random methods: median of 10 runs, band between quartiles"


def test_the_legend_counts_the_fewest_and_the_most_runs_of_random_methods():
    counts = {"bcfw": 10, "ssg": 3, "online_eg": 2, "fw": 1}
    runs = [make_run(name, seed=seed) for name, count in counts.items() for seed in range(count)]
    titles = []
    for names in (("bcfw",), ("bcfw", "ssg", "fw"), ("ssg", "fw"), ("online_eg",), ("fw",)):
        frame = data(concat(*(run for run in runs if run["solver"].iloc[0] in names)), [PANEL])
        (legend,) = Chart([PANEL], columns=1).draw(frame).legends
        titles.append(legend.get_title().get_text())
    of = "random methods: {} runs, band {}"
    assert titles == [
        of.format("median of 10", "between quartiles"),
        of.format("median of 3 to 10", "between quartiles (of less than 5: from best to worst)"),
        of.format("median of 3", "from best to worst"),
        of.format("mean of 2", "from best to worst"),
        "",
    ]


def test_the_legend_has_the_place_of_a_panel_if_one_is_empty():
    panels = [dataclasses.replace(PANEL, key=key) for key in "abc"]
    frame = data(make_figure(seeds=[0]), panels)
    figure = Chart(panels, columns=2, height=2.3).draw(frame)
    assert figure.legends == []
    assert {text.get_text() for text in figure.axes[3].get_legend().get_texts()} == set(_lines(figure.axes[0]))
    low = Chart(panels, columns=2, height=0.5).draw(frame)  # too low for it
    assert len(low.legends) == 1


def test_lines_that_coincide_take_turns():
    level = {"bcfw": 0.1, "ssg": 0.1, "fw": 0.1, "online_eg": 0.2}
    flat = dataclasses.replace(PANEL, measure="test_error")
    frame = data(concat(*(make_run(name).assign(test_error=value) for name, value in level.items())), [flat])
    drawn = _lines(drawing.draw_panel(frame, flat))
    dashes = {name: drawn[style.line(name).label]._unscaled_dash_pattern for name in level}
    assert dashes == {"bcfw": (0, None), "ssg": (8, (4, 8)), "fw": (4, (4, 8)), "online_eg": (0, None)}
    order = [drawn[style.line(name).label].get_zorder() for name in ("bcfw", "ssg", "fw")]
    assert order == sorted(set(order))


def test_what_does_not_fit_a_page_goes_on_on_the_next():
    panels = [dataclasses.replace(PANEL, key=f"a{k}") for k in range(14)]
    frame = data(make_figure(seeds=[0]), panels)
    chart = Chart(panels, columns=3, height=2.0)
    pages = chart.draw_pages(frame)
    assert [len(page.axes) for page in pages] == [12, 3]
    assert all(page.get_figwidth() == style.TEXT and page.get_figheight() <= 9 for page in pages)
    assert [page.axes[0].get_title(loc="left")[:5] for page in pages] == ["(a0) ", "(a12)"]
    assert len(chart.resized(3.25).pages) == 4


def test_the_panel_shows_all_curves_from_its_start_on():
    frame = data(make_figure(), [PANEL], hidden=[REFERENCE])
    bottom, top = drawing.draw_panel(frame, PANEL).get_ylim()
    shown = frame[frame["x"] >= 1]
    assert bottom < shown["lower"].min()
    assert frame["median"].max() < top  # there is room for what lies before
    values = ["median", "best", "worst", "lower", "upper"]
    steep = frame.assign(**frame[values].where(frame["x"] >= 1, 1e9 * frame[values]))
    bottom, top = drawing.draw_panel(steep, PANEL).get_ylim()
    assert shown["upper"].max() < top < 1e3


def test_a_panel_without_a_number_that_fits_its_scale_can_be_drawn():
    perfect = dataclasses.replace(PANEL, measure="test_error", yscale="log", left=0.01)
    ax = drawing.draw_panel(data(make_run().assign(test_error=0.0), [perfect]), perfect)
    assert ax.get_ylim()[0] > 0
    run = make_run()
    run.loc[20, "test_error"] = 0.0  # does not hide the others
    assert drawing.draw_panel(data(run, [perfect]), perfect).get_ylim()[0] > 0.01
    hopeless = make_run(status="diverged").assign(primal=np.where(PASSES > 0.1, np.nan, 1.0))
    ax = drawing.draw_panel(data(hopeless, [PANEL]), PANEL)
    assert [note.get_text() for note in ax.texts] == ["diverged"]


def test_positions_on_a_log_scale_are_plain_numbers():
    panel = dataclasses.replace(PANEL, left=2**-7)
    ax = drawing.draw_panel(data(make_run(), [panel]), panel)
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[0] == 2**-7
    assert ax.xaxis.get_major_formatter()(0.01) == "0.01"


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1e-7, 20, [f"$\\mathdefault{{10^{{{k}}}}}$" for k in (-6, -4, -2, 0)]),
        (1e-3, 20, ["0.001", "0.01", "0.1", "1", "10"]),
        (4e-6, 2e-4, [f"$\\mathdefault{{{text}}}$" for text in ("10^{-5}", "3·10^{-5}", "10^{-4}")]),
        (0.15, 9, ["0.3", "1", "3"]),
        (4, 110, ["10", "30", "100"]),
        (0.04, 0.25, ["0.05", "0.1", "0.2"]),
        (0.11, 0.53, ["0.2", "0.3", "0.4", "0.5"]),
        (0.9, 1.3, ["0.9", "1", "1.1", "1.2", "1.3"]),
    ],
)
def test_a_log_axis_has_three_ticks_that_differ_and_are_plain_numbers_between_powers(low, high, labels):
    ax = Figure().subplots()
    ax.set(yscale="log", ylim=(low, high))
    drawing.label_log(ax.yaxis)
    ax.figure.canvas.draw()
    found = [tick.get_text() for tick in ax.yaxis.get_ticklabels()]
    assert len(set(found)) >= 3
    assert found == labels
    assert [tick.get_text() for tick in ax.yaxis.get_ticklabels(minor=True)] == []


def test_log_axes_of_a_figure_have_one_notation():
    left, right = Figure().subplots(1, 2)
    left.set(yscale="log", ylim=(0.15, 9))
    right.set(yscale="log", ylim=(1e-7, 1))
    drawing.label_logs([left, right])
    assert left.yaxis.get_major_formatter()(0.3) == "$\\mathdefault{3·10^{-1}}$"


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_what_would_squeeze_the_others_leaves_a_panel_that_looks_closely_and_is_named(scale):
    """Three methods near each other, and one far above: an error, of which the low ones are compared."""
    level = {"bcfw": 0.1, "ssg": 0.12, "fw": 0.13, "online_eg": 0.5}
    runs = [make_run(name, seed=seed).assign(test_error=level[name] * (1 + 0.01 * seed)) for name in level for seed in range(3)]
    runs.append(make_run("ssg", seed=3).assign(test_error=np.where(PASSES == 40, 0.9, 0.12)))  # the end of a band
    whole = dataclasses.replace(PANEL, measure="test_error", yscale=scale)
    frame, close = data(concat(*runs), [whole]), dataclasses.replace(whole, focus=True)
    ax = drawing.draw_panel(frame, close)
    bottom, top = ax.get_ylim()
    assert bottom < 0.1 < 0.1326 < top < 0.2
    assert [note.get_text() for note in ax.texts] == ["online-EG clipped (max 0.51)\nband clipped (max 0.9)"]
    assert "online-EG" in _lines(ax)
    ax = drawing.draw_panel(frame, whole)
    assert ax.get_ylim()[1] > 0.9
    assert len(ax.texts) == 0
    for few in (["bcfw", "fw"], ["bcfw", "online_eg"]):
        assert len(drawing.draw_panel(frame[frame["variant"].isin(few)], close).texts) == 0
    alone = drawing.draw_panel(frame[frame["variant"] == "online_eg"].assign(median=np.inf), close)
    assert alone.get_ylim()[1] > 0.51


@pytest.mark.parametrize(
    ("status", "seeds", "text", "marker"),
    [
        ("diverged", 1, "diverged", "x"),
        ("diverged", 3, "1 of 3 diverged", "x"),
        ("time_limit", 1, "stopped early", "|"),
    ],
)
def test_runs_that_ended_badly_are_marked(status, seeds, text, marker):
    bad = make_run("fw", status=status)
    bad = bad[bad["passes"] <= 20]
    good = [make_run("fw", seed=seed) for seed in range(1, seeds)]
    ax = drawing.draw_panel(data(concat(make_run("bcfw"), bad, *good), [PANEL]), PANEL)
    assert [note.get_text() for note in ax.texts] == [text]
    (mark,) = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert mark.get_marker() == marker
    assert mark.get_color() == style.line("fw").color


def test_panels_share_what_is_common_to_a_row_or_column():
    panels = [
        Panel(key, "", "ocr", lam, measure)
        for measure, keys in (("suboptimality", "abc"), ("test_error", "def"))
        for key, lam in zip(keys, (0.01, 0.001, "1/n"))
    ]
    figure = Chart(panels).draw(data(make_figure(seeds=[0]), panels))
    assert [ax.get_ylabel() for ax in figure.axes] == ["primal suboptimality", "", "", "test error (mean loss)", "", ""]
    assert [bool(ax.get_xlabel()) for ax in figure.axes] == [False] * 3 + [True] * 3


def test_labels_stand_below_the_last_of_equal_ones_and_above_columns_of_their_own():
    axes = {"passes": "effective passes (oracle calls / n)", "time": "solver time (s)"}
    wide = [dataclasses.replace(PANEL, key=f"{row}{axis}", axis=axis) for row in "abc" for axis in axes]
    figure = Chart(wide, columns=2).draw(data(make_figure(seeds=[0]), wide))
    assert [ax.get_xlabel() for ax in figure.axes] == [""] * 4 + list(axes.values())
    assert [[text.get_text() for text in ax.texts] for ax in figure.axes] == [[label] for label in axes.values()] + [[]] * 4
    mixed = [dataclasses.replace(PANEL, key=key, axis=axis) for key, axis in zip("abc", ("passes", "time", "passes"), strict=True)]
    figure = Chart(mixed, columns=2).draw(data(make_figure(seeds=[0]), mixed))
    assert [ax.get_xlabel() for ax in figure.axes[:3]] == ["", axes["time"], axes["passes"]]
    assert not any(ax.texts for ax in figure.axes)
