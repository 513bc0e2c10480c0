import io
import json

import numpy as np
import pandas as pd
import pytest

from fwexp import store
from fwexp.cli import main
from fwexp.errors import ParameterError
from fwexp.papers import comparison, comparison_text, paired_tests
from fwexp.papers.comparison import Side, by_seed, by_side, costs_of, parse
from fwexp.plots import profiles, rank_diagram
from fwexp.problem_names import problem_names
from fwexp.run import catalogues
from fwexp.run.config import canonical
from fwexp.store import results as stored_results
from fwexp.store import staleness
from tests.plots.synthetic_results import concat, make_run
from tests.run.conftest import make_result  # noqa: F401 (a fixture)


@pytest.fixture
def undrawn(monkeypatch):
    """Let files of pictures be empty: drawing takes most of the time of a command."""
    monkeypatch.setattr("fwexp.papers.figure_files._drawn", lambda *_: [b"", b""])


def compare(sides, results, gaps=None):
    return costs_of(by_seed(by_side(sides, results), gaps))


def stored(*runs):
    """Results as `comparison.load` gives them."""
    found = concat(*runs).assign(store="results")
    found = found.assign(problem=problem_names(found))
    return found.assign(highest=found.groupby("problem")["dual"].transform("max"))


def two(lam=0.01, **options):
    """BCFW, three seeds, and FW, which is 30 times slower."""
    return [make_run("bcfw", lam, seed, level=0.1, **options) for seed in range(3)] + [make_run("fw", lam, level=3.0)]


def costs(*runs, sides=("bcfw", "fw"), gaps=(0.1, 0.01)):
    return compare([Side(name, method=name) for name in sides], stored(*runs), gaps)


def test_costs_are_medians_over_seeds_with_their_span():
    found = costs(*two(), gaps=(0.02,)).set_index("side")
    block = found.loc["bcfw"]
    assert (block["seeds"], block["reached"]) == (3, 3)
    assert block["passes_low"] < block["passes"] < block["passes_high"]
    assert found.loc["fw", "passes"] > 10 * block["passes"]
    assert block["time"] == pytest.approx(0.05 * block["passes"], rel=0.1)
    never = costs(*two(), gaps=(1e-4,))
    assert np.isinf(never["passes"]).all()
    assert (never["reached"] == 0).all()


def test_with_a_method_without_a_dual_all_are_measured_by_their_primal_above_the_best_dual():
    """Which the runs of a third method know; it is not that of the run itself, whose certified gap is larger."""
    reference = make_run("fw", level=1e-6)
    runs = [*(make_run("bcfw", seed=seed, level=0.2) for seed in range(3)), make_run("ssg", level=0.2), reference]
    found = costs(*runs, sides=("bcfw", "ssg"), gaps=(0.05,)).set_index("side")
    assert list(found["problem"]) == ["ocr ocr2, lam=0.01, primal within 0.05"] * 2
    assert found.loc["bcfw", "passes"] == pytest.approx(found.loc["ssg", "passes"], rel=0.1)
    certified = costs(*runs, sides=("bcfw",), gaps=(0.05,))
    assert certified["passes"].iloc[0] > 1.2 * found.loc["bcfw", "passes"]
    assert costs(make_run("ssg", level=0.2), make_run("ssg", level=0.2, sampling="perm"), sides=("ssg",)).empty


def test_levels_are_what_the_runs_reached():
    seeds = by_seed(by_side([Side("bcfw", "bcfw"), Side("fw", "fw")], stored(*two())))
    assert list(dict.fromkeys(seeds["gap"])) == [0.1, 0.05, 0.002]
    found = comparison.costs_of(seeds).set_index(["side", "gap"])
    assert np.isfinite(found.loc["bcfw", "passes"]).all()
    assert list(found.loc["fw", "reached"]) == [1, 1, 0]
    assert paired_tests.tested_levels(found.reset_index()).to_dict() == {"ocr ocr2, lam=0.01": 0.05}
    short = [make_run(name).iloc[:2] for name in ("bcfw", "fw")]  # no method reaches a level
    assert np.isfinite(compare([Side(name, name) for name in ("bcfw", "fw")], stored(*short))["passes"]).all()


@pytest.mark.parametrize("scale", [1e-10, 1e8])
def test_levels_follow_the_scale_of_the_objective(scale):
    runs = [run.assign(primal=scale * run["primal"], dual=scale * run["dual"]) for run in two()]
    assert set(compare([Side("bcfw", "bcfw"), Side("fw", "fw")], stored(*runs))["gap"]) == {
        float(f"{level * scale:.1g}") for level in (0.1, 0.05, 0.002)
    }


def test_half_of_an_even_number_of_seeds_is_no_median():
    ends = [[np.array([1.0, end]) for end in (0.01, 0.01, 0.2, 0.2)]]
    assert comparison.levels_of(ends) == [0.5, 0.2]
    assert comparison.levels_of([[np.array([np.nan, np.inf])]]) == []
    for end, level in ((0.5085, 0.51), (0.995, 0.995), (0.5, 0.5)):  # a side that ends above half of its start
        assert comparison.levels_of([[np.array([1.0, 0.0145])], [np.array([1.0, end])]]) == [level, 0.02]
    assert comparison.levels_of([[np.array([1.0, 1.0])]]) == [1.0]
    assert comparison.levels_of([[np.array([0.0, 0.0])]]) == [1e-12]
    assert comparison.levels_of([[np.array([1.0, 1e-16])]]) == [1e-6, 1e-12]


def test_problems_differ_in_the_objective_the_kernel_and_the_content_of_files():
    frame = pd.DataFrame({"dataset": "d", "split": None, "lam_spec": "1", "objective": ["hinge", "log", "log"]})
    frame = frame.assign(temperature=[np.nan, 1.0, 2.0])
    assert list(problem_names(frame)) == ["d, lam=1", "d, objective=log, lam=1", "d, objective=log, temperature=2, lam=1"]
    kernels = frame.iloc[:2].assign(objective="hinge", **{"solver.kernel": ["rbf", "linear"], "solver.gamma": [0.5, np.nan]})
    assert list(problem_names(kernels)) == ["d, kernel=rbf, gamma=0.5, lam=1", "d, lam=1"]
    same, other = (store.StoredRun(None, "", "", {}, {"data": {"file": digest * 64}}).content for digest in "ab")
    frame = frame.assign(objective="hinge", temperature=np.nan)
    assert list(problem_names(frame.assign(content=[same, None, other]))) == [
        f"d, data {same}, lam=1",
        "d, data unknown, lam=1",
        f"d, data {other}, lam=1",
    ]
    for contents in ([same, same, same], [same, None, None], [None, None, None]):
        assert set(problem_names(frame.assign(content=contents))) == {"d, lam=1"}
    options = {"size": ["small", "large", None], "n": [np.nan, 40.0, np.nan], "pairwise": [True, np.nan, np.nan]}
    frame = frame.assign(split=[None, None, "ocr"], **{f"dataset.{name}": values for name, values in options.items()})
    assert list(problem_names(frame)) == ["d, size=small, pairwise=1, lam=1", "d, size=large, n=40, lam=1", "d ocr, lam=1"]


def seeded(count, *names, lams=(0.01,)):
    """Return runs of methods, each worse than the one before, with so many seeds."""
    levels = {name: 0.1 * (k + 1) for k, name in enumerate(names)}
    return stored(*(make_run(name, lam, seed, level=levels[name]) for name in names for lam in lams for seed in range(count)))


def outcome(results, *names):
    seeds = by_seed(by_side([Side(name, name) for name in names], results))
    levels = paired_tests.tested_levels(comparison.costs_of(seeds))
    solvers = results.drop_duplicates("key").set_index("key")["solver"]
    tests = paired_tests.pair_tests(seeds, levels, solvers)
    return tests, paired_tests.rank_frame(seeds, levels, solvers), paired_tests.shortages(seeds, tests, solvers)


def test_pairs_are_problems_with_seeds():
    tests, ranks, short = outcome(seeded(8, "bcfw", "ssg", lams=(0.01, 0.001)), "bcfw", "ssg")
    assert tests[["one", "other", "cost", "pairs"]].to_numpy().tolist() == [
        ["bcfw", "ssg", "passes", 16],
        ["bcfw", "ssg", "time", 16],
    ]
    assert (tests["ratio"] < 0.6).all()
    assert (tests["p"] < 1e-3).all()
    assert tests["p_holm"].tolist() == pytest.approx(2 * tests["p"])
    assert ranks["x"].tolist() == [1.0, 2.0] * 2
    assert short == []


def test_the_run_of_a_deterministic_solver_is_paired_with_every_seed():
    results = seeded(6, "bcfw", "fw", "ssg")
    results = results[(results["seed"] == 0) | (results["solver"] != "fw")]
    tests, _, short = outcome(results, "bcfw", "fw")
    assert tests["pairs"].tolist() == [6, 6]
    assert short == ["too few pairs of a problem and a seed to find a difference at 5 %: 6; 2 tests need 7"]
    results = results[(results["seed"] == 0) | (results["solver"] != "ssg")]
    tests, _, short = outcome(results, "bcfw", "fw", "ssg")  # the seed of ssg matters
    assert tests.groupby(["one", "other"])["pairs"].first().to_dict() == {("bcfw", "fw"): 6, ("bcfw", "ssg"): 1, ("fw", "ssg"): 1}
    assert short[0].startswith("too few seeds for a 95 % interval, which needs 6: ssg (1); ")


def test_too_few_seeds_are_reported():
    _, ranks, short = outcome(seeded(3, "bcfw", "ssg"), "bcfw", "ssg")
    assert ranks.empty
    assert short == [
        "too few seeds for a 95 % interval, which needs 6: bcfw (3), ssg (3); (a - b) is the least and the most",
        "too few pairs of a problem and a seed to find a difference at 5 %: 3; 2 tests need 7",
    ]
    results = seeded(2, "bcfw", "ssg")
    *_, short = outcome(results.assign(seed=results["seed"].where(results["solver"] == "ssg", results["seed"] + 7)), "bcfw", "ssg")
    assert short[1] == "no test: the sides have no problem and seed in common"


def test_the_column_of_spans_is_named_by_what_it_is():
    sides = [Side("bcfw", "bcfw"), Side("ssg", "ssg")]
    many, few = seeded(6, "bcfw", "ssg"), seeded(3, "bcfw", "ssg")
    mixed = many[(many["seed"] < 3) | (many["solver"] == "bcfw")]
    never = compare(sides[:1], many, (1e-9,)).to_dict("records")[0]
    assert comparison_text.shown(never, "passes") == ("never", "-")
    for results, head in ((many, "95 % interval"), (few, "(range)"), (mixed, "95 % interval or (range)")):
        cells = comparison_text.cost_cells(compare(sides, results, (0.01,)))
        assert (cells[0][4], cells[0][6]) == (head, head)
        assert ["(" in row[4] for row in cells[1:]] == [results is few, results is not many]
        assert head.replace("%", r"\%") in comparison_text.latex(cells)
        assert ["never" in row[3] for row in comparison_text.cost_cells(compare(sides, results, (1e-9,)))[1:]] == [True, True]
    lines = comparison_text.latex([("problem", "method", "span"), ("a_b", "bcfw", "1 - 2")]).splitlines()
    assert (lines[0], lines[4]) == (r"\begin{tabular}{llr}", r"a\_b & bcfw & 1 - 2 \\")


def test_a_rank_diagram_joins_methods_within_the_critical_difference():
    _, frame, _ = outcome(seeded(8, "bcfw", "ssg", "online_eg"), "bcfw", "ssg", "online_eg")
    assert frame["pairs"].tolist() == [8] * 6
    picture = rank_diagram.draw(frame)
    assert [ax.get_title(loc="left")[:15] for ax in picture.axes] == ["(a) effective p", "(b) solver time"]
    names = {text.get_text() for text in picture.axes[0].texts}
    assert names == {"BCFW 1.00", "SSG 2.00", "online-EG 3.00"}
    assert rank_diagram.groups([1, 1.5, 2.4, 4], 1.0) == [(1, 1.5), (1.5, 2.4)]
    assert rank_diagram.groups([1, 2, 3], 5.0) == [(1, 3)]


def test_standings_are_ratios_to_the_best_of_the_others():
    frame = pd.DataFrame(
        [("a", "p", 1.0), ("b", "p", 2.0), ("c", "p", 4.0), ("a", "q", 9.0), ("b", "q", 3.0), ("c", "q", 3.0)]
        + [(side, "r", np.inf) for side in "abc"],
        columns=["side", "problem", "passes"],
    )
    for side, worst in (("a", "ratio 3 on q"), ("b", "ratio 2 on p"), ("c", "ratio 4 on p")):
        said = comparison_text.standing(frame, side, "passes")
        assert said == f"{side}, passes: within 10% of the best rival on 1 of 2 problems; worst: {worst}"
    never = frame.assign(passes=frame["passes"].where((frame["side"] != "b") | (frame["problem"] != "q"), np.inf))
    assert comparison_text.standing(never, "b", "passes").endswith("worst: never there, but another is, on q")
    nothing = comparison_text.standing(frame.assign(passes=0.0), "a", "passes")  # gaps that every start has
    assert "on 3 of 3 problems; worst: ratio 1 on" in nothing
    assert comparison_text.standing(frame[frame["problem"] == "r"], "a", "passes") == "a, passes: no method gets to any gap"
    times = [("a", 0.1, 0.0), ("b", 0.1, 0.0), ("a", 0.01, 2.0), ("b", 0.01, 3.0), ("a", 0.001, np.inf), ("b", 0.001, np.inf)]
    rows = [(side, f"p, gap {gap:g}", "p", gap, time) for side, gap, time in times]
    frame = pd.DataFrame(rows, columns=["side", "problem", "place", "gap", "time"])
    assert comparison_text.fastest(frame) == ["a first reaches gap 0.01 on p: 1.5 times sooner than the next, b"]
    assert comparison_text.fastest(frame[frame["time"] > 2]) == ["b first reaches gap 0.01 on p: no other does"]


def test_only_problems_that_all_sides_have_count():
    found = costs(*two(0.01), *two(0.1)[:3], gaps=(0.1,))
    assert set(found["problem"]) == {"ocr ocr2, lam=0.01, gap 0.1"}
    with pytest.raises(ParameterError, match="bcfw and fw have no data set and lam in common"):
        costs(*two(0.01)[:3], make_run("fw", 0.1))


def test_a_longer_run_of_the_same_seed_counts_instead_of_a_shorter_one():
    long, short = make_run("bcfw", level=0.1), make_run("bcfw", level=5.0)
    short = short[short["passes"] <= 2].assign(key="short")
    (row,) = costs(long, short, sides=("bcfw",), gaps=(0.1,)).to_dict("records")
    assert row["seeds"] == 1
    assert row["keys"] == long["key"].iloc[0]


def test_two_stores_are_compared_method_by_method(tmp_path):
    folders = [tmp_path / name for name in ("old", "new")]
    for folder in folders:
        folder.mkdir()
    sides = [parse(str(folder)) for folder in folders]
    runs = [make_run("bcfw", level=level).assign(store=str(folder)) for folder, level in zip(folders, (0.1, 0.2), strict=True)]
    found = compare(sides, comparison.comparable(concat(*runs)), (0.05,))
    assert list(found["problem"]) == ["ocr ocr2, lam=0.01, bcfw, gap 0.05"] * 2
    assert found["passes"].is_monotonic_increasing


def test_runs_of_two_stores_on_changed_data_have_no_problem_in_common(tmp_path, make_result):  # noqa: F811
    """Their keys are equal, which do not tell the content of files."""
    config = canonical({"dataset": {"name": "digits"}, "solver": {"name": "bcfw"}, "lam": 0.01})
    for name, digest in (("old", "a"), ("same", "a"), ("new", "b")):
        store.save(make_result(), config, tmp_path / name, sources={"letters": digest * 64})
    old, same, new = (parse(str(tmp_path / name)) for name in ("old", "same", "new"))
    assert set(by_side([old, same], comparison.load([old, same], tmp_path))) == {old.name, same.name}
    found = comparison.load([old, new], tmp_path)
    assert found.groupby("store")["problem"].nunique().tolist() == [1, 1]
    assert found["problem"].nunique() == 2
    with pytest.raises(ParameterError, match=r"old and .*new have no data set and lam in common"):
        by_side([old, new], found)


def test_profiles_are_shares_of_problems():
    rows = [("a", "p", 1.0), ("b", "p", 2.0), ("a", "q", 6.0), ("b", "q", 3.0), ("a", "r", np.inf), ("b", "r", 5.0)]
    rows += [("a", "s", np.inf), ("b", "s", np.inf)]  # solved by none: no problem
    frame = pd.DataFrame(rows, columns=["side", "problem", "passes"]).assign(time=1.0, keys="k")
    steps = profiles.data(frame)
    one = steps[(steps["panel"] == "a") & (steps["variant"] == "a")]
    assert one["problems"].unique().tolist() == [3]
    assert one[["x", "median"]].to_numpy().tolist() == [[1, 1 / 3], [1, 1 / 3], [2, 2 / 3], [pytest.approx(2.4), 2 / 3]]
    other = steps[(steps["panel"] == "a") & (steps["variant"] == "b")]
    assert other["median"].iloc[-1] == 1


def test_the_command_prints_a_table_and_writes_a_figure(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(comparison, "load", lambda *_, **__: stored(*two()))
    assert main(["compare", "bcfw", "fw", f"results_dir={tmp_path}", "--gaps=0.1,0.02"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["problem", "method", "seeds", "passes", "(range)", "time", "(range)"]
    assert "bcfw first reaches gap 0.02 on ocr ocr2, lam=0.01: no other does" in out
    assert out[-1] == str(tmp_path / "figures/compare/bcfw-fw-gaps=0.1,0.02.json")
    assert len(pd.read_csv(tmp_path / "figures/compare/bcfw-fw-gaps=0.1,0.02.csv")) > 4


def test_the_command_prints_csv_or_latex_alone_and_draws_ranks(tmp_path, undrawn, monkeypatch, capsys):
    monkeypatch.setattr(comparison, "load", lambda *_, **__: seeded(6, "bcfw", "ssg"))
    command = ["compare", "bcfw", "ssg", f"results_dir={tmp_path}", "--gaps", "0.01,1e-2", "--format"]
    assert main([*command, "csv"]) == 0
    out, err = capsys.readouterr()
    assert pd.read_csv(io.StringIO(out))["side"].tolist() == ["bcfw", "ssg"]  # of one gap
    assert err.splitlines()[-1] == str(tmp_path / "figures/compare/bcfw-ssg-gaps=0.01,1e-2-ranks.json")
    ranks = pd.read_csv(tmp_path / "figures/compare/bcfw-ssg-gaps=0.01,1e-2-ranks.csv")
    assert ranks[["variant", "x", "pairs"]].to_numpy().tolist() == [["bcfw", 1.0, 6], ["ssg", 2.0, 6]] * 2
    assert main([*command, "latex"]) == 0
    out = capsys.readouterr().out
    assert (out.count("begin{tabular}"), out.count("end{tabular}")) == (2, 2)


def test_files_and_titles_name_the_filters_and_an_old_diagram_of_ranks_is_removed(tmp_path, undrawn, monkeypatch):
    command = ["compare", "bcfw", "ssg", f"results_dir={tmp_path}"]
    filters = ["--lam", "0.01,1/n", "--dataset=ocr"]
    folder = tmp_path / "figures/compare"
    stem = "bcfw-ssg-dataset=ocr-lam=0.01,1_n"

    def written(count, *more):
        monkeypatch.setattr(comparison, "load", lambda *_, **__: seeded(count, "bcfw", "ssg"))
        assert main([*command, *more]) == 0
        assert {*(folder / ".fwexp").read_text().splitlines()[1:]} == {
            path.name for path in folder.iterdir() if path.name != ".fwexp"
        }
        return {path.name.removesuffix(".json") for path in folder.glob("*.json")}

    everything = {"bcfw-ssg", "bcfw-ssg-ranks"}
    assert written(6) == everything
    assert written(6, *filters) == {*everything, stem, f"{stem}-ranks"}
    titles = [json.loads((folder / f"{name}.json").read_text())["title"] for name in (stem, f"{stem}-ranks")]
    of = "bcfw, ssg (dataset=ocr, lam=0.01,1/n)"
    assert titles == [f"Performance profiles of {of}", f"Mean ranks of {of}"]
    assert written(3, *filters) == {*everything, stem}  # too few seeds for ranks
    assert not list(folder.glob(f"{stem}-ranks*"))


def test_problems_that_no_run_bounds_are_named(tmp_path, undrawn, monkeypatch, capsys):
    runs = [make_run(name, lam) for name in ("ssg", "bcfw") for lam in (0.01, 0.1) if (name, lam) != ("bcfw", 0.1)]
    found = stored(*runs, make_run("ssg", 0.1, sampling="perm"), make_run("ssg", 0.01, sampling="perm"))
    monkeypatch.setattr(comparison, "load", lambda *_, **__: found)
    assert main(["compare", "ssg:sampling=uniform", "ssg:sampling=perm", f"results_dir={tmp_path}"]) == 0
    line = "no stored run has a dual on ocr ocr2, lam=0.1, which bounds the optimum; run auto there"
    assert capsys.readouterr().err == f"left out: {line}\n"
    monkeypatch.setattr(comparison, "load", lambda *_, **__: found[found["lam"] == 0.1])
    assert main(["compare", "ssg:sampling=uniform", "ssg:sampling=perm", f"results_dir={tmp_path}"]) == 2
    assert capsys.readouterr().err == f"fwexp: {line}\n"


def test_only_traces_of_the_sides_are_read(tmp_path, monkeypatch, capsys, make_result):  # noqa: F811
    """And of the others what is on record of their dual."""
    for name, level in (("bcfw", 0.5), ("ssg", 0.3), ("fw", 0.4)):
        result = make_result(level=level)
        result.dual = level
        store.save(result, canonical({"dataset": {"name": "digits"}, "solver": {"name": name}, "lam": 0.01}), tmp_path)
    everything, sides = store.load_results(tmp_path), [parse("ssg"), parse("fw")]
    read, table_of = [], stored_results.table
    with monkeypatch.context() as patch:
        patch.setattr(stored_results, "table", lambda content, columns: read.append(columns) or table_of(content, columns))
        found = comparison.load(sides, tmp_path, stale=True)
    assert len(read) == 2
    assert set(found["solver"]) == {"ssg", "fw"}
    assert found["highest"].iloc[0] == everything["dual"].max() == 0.5
    pd.testing.assert_frame_equal(compare(sides, found), compare(sides, comparison.comparable(everything)))
    capsys.readouterr()
    (damaged,) = store.find_runs(tmp_path, solver="bcfw")
    (damaged.path / "run.json").write_bytes(b"")
    with pytest.warns(UserWarning, match="is damaged and was left out: run.json is no JSON"):
        assert main(["compare", "ssg", "bcfw", "--stale", f"results_dir={tmp_path}"]) == 2
    assert capsys.readouterr().err.endswith("\nfwexp: there are no stored runs of bcfw to compare\n")


def test_methods_of_a_folder_of_ones_own_and_of_what_is_stored_are_compared(tmp_path, undrawn, capsys):
    (tmp_path / "conf" / "solver").mkdir(parents=True)
    (tmp_path / "conf" / "solver" / "mine.yaml").write_text("name: bcfw\nsampling: perm\naccelerate: {kap: 3}\n")
    chosen = ["--config-dir", str(tmp_path / "conf")]
    where = f"results_dir={tmp_path / 'results'}"
    assert main(["run", *chosen, "-m", "solver=mine,bcfw", "dataset=digits", "max_passes=1", where]) == 0
    named = {run.method for run in store.find_runs(tmp_path / "results")}
    assert named == {"bcfw", (long := "bcfw[accelerate=True][sampling=perm]")}
    assert main(["compare", "mine", "bcfw", *chosen, where]) == 0
    assert main(["compare", long, "bcfw", where]) == 0
    capsys.readouterr()
    assert main(["compare", "mine", "bcfw", where]) == 2
    assert "unknown method 'mine'; accepted: " in capsys.readouterr().err
    assert main(["compare", long.replace("perm", "perms"), "bcfw", where]) == 2
    assert f"(did you mean {long!r}?)" in capsys.readouterr().err
    assert main(["compare", "mine", "bcfw", "--config-dir", "nowhere", where]) == 2
    assert capsys.readouterr().err == "fwexp: --config-dir must be a folder, got 'nowhere'\n"


def test_solvers_of_packages_that_are_gone_are_compared(tmp_path, make_result):  # noqa: F811
    for name, gap in (("bcfw", 0.5), ("theirs", 0.25)):
        config = canonical({"dataset": {"name": "digits"}, "solver": {"name": "bcfw"}, "lam": 0.01})
        store.save(make_result(level=gap), config | {"solver": {"name": name}}, tmp_path)
    sides = [parse(name, tmp_path) for name in ("bcfw", "theirs")]
    assert list(compare(sides, comparison.load(sides, tmp_path, stale=True), (0.1,))["side"]) == ["bcfw", "theirs"]


def test_runs_of_other_code_are_left_out_and_named_unless_asked_for(tmp_path, undrawn, make_result, capsys):  # noqa: F811
    for name, seed, level in (("bcfw", 0, 0.5), ("bcfw", 1, 0.25), ("ssg", 0, 0.3)):
        config = canonical({"dataset": {"name": "digits"}, "solver": {"name": name}, "lam": 0.01, "seed": seed})
        made_by = staleness.made_by(catalogues.modules(config)) | ({"sha256": "0" * 64} if seed else {})
        store.save(make_result(level=level), config, tmp_path, made_by=made_by)
    sides = [parse(name, tmp_path) for name in ("bcfw", "ssg")]
    assert set(comparison.load(sides, tmp_path)["seed"]) == {0}
    said = "left out: 1 runs of bcfw that another version of the code made; --stale includes them, and fwexp run with force=stale"
    assert capsys.readouterr().err == f"{said} repeats them\n"
    assert set(comparison.load(sides[1:], tmp_path)["solver"]) == {"ssg"}
    assert capsys.readouterr().err == ""  # of sides that are not compared nothing is said
    assert set(comparison.load(sides, tmp_path, stale=True)["seed"]) == {0, 1}
    assert capsys.readouterr().err == f"{tmp_path}: runs of bcfw were made by another version of the code\n"
    assert set(comparison.load([parse(str(tmp_path))], tmp_path)["seed"]) == {0, 1}
    assert main(["compare", "bcfw", "ssg", "--stale", f"results_dir={tmp_path}"]) == 0
