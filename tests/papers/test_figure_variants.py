"""Figures on other data, in other looks, and of stored runs without a declaration."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

from fwexp import store
from fwexp.cli import main
from fwexp.errors import ParameterError
from fwexp.experiments import FIGURES
from fwexp.papers import figure_pipeline
from fwexp.papers.figure_variants import Look, label, on_other_data
from fwexp.plots import draw_results
from fwexp.plots.curves import Chart, Panel, Problem
from fwexp.run import from_arguments
from tests.plots.synthetic_results import concat, make_results, make_run
from tests.run.conftest import config, make_result  # noqa: F401 (fixtures)


def panels_of(figure):
    return [(panel.key, panel.dataset, panel.lam, panel.measure) for panel in figure.chart.panels]


def test_a_figure_is_drawn_on_other_data():
    figure, configs = on_other_data(FIGURES["icml2013/fig1"], {"dataset": "digits", "lam": "0.1,1/n"}, "smoke")
    kinds = [("suboptimality", 0.1), ("suboptimality", "1/n"), ("test_error", 0.1), ("test_error", "1/n")]
    assert panels_of(figure) == [(key, "digits", lam, measure) for key, (measure, lam) in zip("abcd", kinds, strict=True)]
    assert figure.name == "icml2013/fig1-dataset=digits,lam=0.1,1_n"
    seen = [(str(one["solver"]), one["lam"], one["seed"]) for one in configs]
    assert len(seen) == len(set(seen)) == 20  # grids for three data sets of the paper, once each
    frame = figure.data(make_results(configs))
    assert set(frame["panel"]) == set("abcd")
    assert len(figure.draw(frame).axes) >= 4


def test_options_of_replaced_data_are_dropped_from_grids():
    figure, configs = on_other_data(FIGURES["icml2016/fig3"], {"dataset": "digits"}, "smoke")
    assert {str(one["dataset"]) for one in configs} == {"{'name': 'digits'}"}
    assert [panel.lam for panel in figure.chart.panels[:3]] == [0.001, 1.0, 0.1]
    (one,) = from_arguments.expand(
        ["+experiment=icml2016/fig3", "dataset=ocr", "dataset.split=ocr", "lam=1", "seed=0", "solver=bcfw"]
    )[:1]
    assert one["dataset"]["split"] == "ocr"  # what is given stays


def test_an_option_at_its_default_is_told_apart_from_other_values():
    """Which the canonical configuration leaves out there."""
    figure, configs = on_other_data(FIGURES["quickstart"], {"dataset.validation": "0,0.2", "lam": "0.1"}, "smoke")
    titles = {"digits": "digits, λ = 0.1", "digits validation=0.2": "digits, validation = 0.2, λ = 0.1"}
    assert {panel.place: panel.title for panel in figure.chart.panels} == titles
    frame = figure.data(make_results(configs))
    assert set(frame["dataset"]) == set(titles)
    alone, _ = on_other_data(FIGURES["quickstart"], {"dataset.validation": "0.2", "lam": "0.1"}, "smoke")
    assert {panel.place for panel in alone.chart.panels} == {"digits"}


def test_a_panel_for_each_kind_and_problem():
    chart = Chart(
        [Panel("a", "", "x", 1), Panel("b", "", "y", 2), Panel("c", "", "x", axis="at_lam"), Panel("d", "", "x", 1, "gap")]
    )
    problems = [Problem("m", lam) for lam in range(20)]
    found = chart.on(problems).panels
    assert len(found) == 20 + 1 + 20
    assert len({panel.key for panel in found}) == len(found)
    assert (chart.columns, chart.on(problems[:1]).columns, chart.resized(3.25).columns, chart.resized(20).columns) == (3, 3, 1, 3)


def test_the_command_draws_other_data_in_another_look(tmp_path, monkeypatch, capsys):
    """From results that are made up, without runs."""
    monkeypatch.setattr(from_arguments, "execute_together", lambda groups, **_: [None] * len(groups))
    monkeypatch.setattr(figure_pipeline, "read_runs", lambda configs, _: (make_results(configs), []))
    (tmp_path / "my.mplstyle").write_text("axes.facecolor: ffff00\n")
    look = ["--format", "pdf", "--style", str(tmp_path / "my.mplstyle"), "--width", "3.25in", "--preset", "smoke"]
    before = matplotlib.rcParams.copy()
    assert main(["figure", "quickstart", "lam=0.5", *look, f"results_dir={tmp_path}"]) == 0
    stem = "quickstart-lam=0.5-smoke"
    files = [tmp_path / "figures" / f"{stem}.{suffix}" for suffix in ("png", "svg", "pdf", "csv", "json")]
    assert capsys.readouterr().out.splitlines() == [str(path) for path in files]
    pdf = files[2].read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/Type3" not in pdf
    assert b"/TrueType" in pdf or b"/CIDFontType2" in pdf
    svg = files[1].read_text()
    assert f'width="{3.25 * 72:g}pt"' in svg
    assert "#ffff00" in svg
    assert set(pd.read_csv(files[3])["lam"]) == {0.5}
    assert matplotlib.rcParams == before


def test_pgf_needs_tex(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ParameterError, match="--format pgf needs xelatex"):
        Look.read("pgf")
    monkeypatch.setattr("shutil.which", lambda name: name)
    assert Look.read("svg,pgf,pdf", width="72.27pt") == Look((".pdf", ".pgf"), None, 1.0)


def test_stored_runs_are_drawn_without_a_declaration(tmp_path, config, make_result, capsys):  # noqa: F811
    for seed in range(2):
        store.save(make_result(), config | {"seed": seed}, tmp_path)
    where = f"results_dir={tmp_path}"
    chosen = ["figure", "--from", "solver=bcfw dataset=digits", "--x", "time", where]
    assert main([*chosen, "--y", "primal", "--format", "png"]) == 0
    files = capsys.readouterr().out.splitlines()
    stem = tmp_path / "figures" / "from" / "solver=bcfw_dataset=digits_time_primal"
    assert files == [f"{stem}.{suffix}" for suffix in ("png", "svg", "csv", "json")]
    frame = pd.read_csv(files[2])
    assert frame[["variant", "measure", "axis", "runs"]].drop_duplicates().to_numpy().tolist() == [
        ["bcfw", "primal", "time", 2],
        ["bcfw-wavg", "primal", "time", 2],
    ]
    assert main([*chosen, "--y", "suboptimalty"]) == 2
    assert "(did you mean 'suboptimality'?)" in capsys.readouterr().err
    assert main([*chosen, "--y", "gap_ratio"]) == 2
    assert "gap_ratio must be in the traces of the runs" in capsys.readouterr().err


def test_stored_runs_on_changed_data_are_another_problem(tmp_path, config, make_result, capsys):  # noqa: F811
    """A seed was run before the data changed, and another one afterwards: the dual of the one exceeds the primal of the other."""
    chosen = ["figure", "--from", "solver=bcfw", "--y", "suboptimality"]
    for known in (True, False):
        folder = tmp_path / str(known)
        for seed, digest in enumerate("ab"):
            sources = {"letters": digest * 64} if known else None
            store.save(make_result(level=0.5 - 0.2 * seed), config | {"seed": seed}, folder, sources=sources)
    assert len(draw_results(store.load_results(tmp_path / "True"), y="suboptimality")) == 2
    assert main([*chosen, f"results_dir={tmp_path / 'True'}"]) == 0
    stem = tmp_path / "True/figures/from/solver=bcfw_passes_suboptimality"
    contents = [run.content for run in store.find_runs(tmp_path / "True")]
    assert set(pd.read_csv(f"{stem}.csv")["dataset"]) == {f"digits, data {content}, lam=0.01" for content in contents}
    capsys.readouterr()
    assert main([*chosen, f"results_dir={tmp_path / 'False'}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("fwexp: weak duality is broken: run ")
    assert err.endswith("; runs of one problem must have read the same data\n")
    assert err.count("\n") == 1


def test_results_are_drawn_from_python():
    from matplotlib.figure import Figure

    results = concat(*(make_run(name, lam, seed) for name in ("bcfw", "fw") for lam in (0.1, 0.01) for seed in range(2)))
    before = matplotlib.rcParams.copy()
    axes = draw_results(results, x="time", y="gap", width=5)
    assert [ax.get_title(loc="left") for ax in axes] == ["(a) ocr ocr2, lam=0.01", "(b) ocr ocr2, lam=0.1"]
    assert axes[0].figure.get_size_inches()[0] == 5
    mine = Figure().subplots()
    assert draw_results(results[results["lam"] == 0.1], y="suboptimality", ax=mine) == [mine]
    assert len(mine.lines) == 2
    assert matplotlib.rcParams == before
    with pytest.raises(ParameterError, match="ax must be given for one problem, got 2"):
        draw_results(results, ax=mine)
    with pytest.raises(ParameterError, match="unknown x 'times'"):
        draw_results(results, x="times")
    with pytest.raises(ParameterError, match="passes must be in the traces"):
        draw_results(results.iloc[:0])


def test_an_interrupted_repetition_is_not_mixed_with_the_run_that_it_repeats():
    done, cut = make_run("bcfw"), make_run("bcfw", level=5.0, status="interrupted")
    cut = cut[cut["passes"] <= 2]
    (ax,) = draw_results(concat(done, cut, cut.assign(key="short", status="max_passes")))  # the longest of a method and seed
    assert np.array_equal(ax.lines[0].get_ydata(), done["gap"])
    assert len(ax.texts) == 0  # no run was stopped early


def test_labels_are_names_of_files():
    assert label("solver=bcfw,auto dataset=mine/../x") == "solver=bcfw,auto_dataset=mine_.._x"
    assert len(label("x" * 500)) == 60
    assert label("x" * 500) != label("x" * 501)
