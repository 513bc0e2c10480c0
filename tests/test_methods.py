"""Methods by name: their files, the names of runs, and these names wherever people give one."""

import re

import pandas as pd
import pytest

import fwexp
from fwexp import methods as names_of
from fwexp import plugins, store
from fwexp.cli import main
from fwexp.convex import METHODS, LeastSquares, Simplex, minimize
from fwexp.errors import OptionError, ParameterError
from fwexp.methods import ALIASES, method_of, methods, of_results, stated, variants
from fwexp.papers.comparison import parse
from fwexp.run import from_arguments
from fwexp.run.config import run_key
from fwexp.solvers import SOLVERS
from tests.plots.synthetic_results import concat, make_run

# The methods of the papers as they were written before they had names, and keys of runs that are stored since then.
WRITTEN_OUT = {
    "bcfw": [],
    "bcfw_perm": ["solver.sampling=perm"],
    "bcfw_predefined": ["solver.line_search=false"],
    "bcfw_gap": ["solver.sampling=gap"],
    "bcfw_cache": ["solver.cache=true"],
    "bcfw_gap_cache": ["solver.sampling=gap", "solver.cache=true"],
    "bcpfw": ["solver.step=pairwise"],
    "bcpfw_gap": ["solver.sampling=gap", "solver.step=pairwise"],
    "bcpfw_cache": ["solver.step=pairwise", "solver.cache=true"],
    "bcpfw_gap_cache": ["solver.sampling=gap", "solver.step=pairwise", "solver.cache=true"],
    "bcafw": ["solver.step=away"],
    "bccfw": ["solver.step=corrective"],
    "bccfw_accelerated": ["solver.sampling=perm", "solver.step=corrective", "solver.accelerate=true"],
    "cache_eager": ["solver.sampling=gap", "solver.cache={F: 0.01, nu: 0.001}"],
}
STORED = {
    "bcfw": "17f04b6dafd15c03bcc676489393d740f08fbd3154d13cf2a90a3ffdf40f1220",
    "bcpfw_gap_cache": "4791daf939268a87c9bcf5a5b3167e2e9d30e5477721267085cc265df0b88144",
    "bccfw_accelerated": "a3b85c9f64ce5390b4a94371f23e77093cd62bc17e344a7e17f52006daa66157",
}


def composed(*overrides):
    (config,) = from_arguments.expand([*overrides, "dataset=digits", "lam=0.01"])
    return config


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_a_name_stands_for_options_that_were_written_out(name):
    config = composed(f"solver={name}")
    assert config == composed("solver=bcfw", *WRITTEN_OUT[name])
    assert run_key(config) == STORED.get(name, run_key(config))


def test_every_method_composes_and_its_runs_have_its_name():
    assert set(SOLVERS) <= set(methods())
    for kind, dataset in {"structured": "digits", "convex": "lasso", "saddle": "ball_game"}.items():
        of_kind = {name: method for name, method in methods().items() if SOLVERS[method.solver].kinds[0] == kind}
        configs = from_arguments.expand([f"solver={','.join(of_kind)}", f"dataset={dataset}"])
        for config, (name, (solver, options, *_)) in zip(configs, of_kind.items(), strict=True):
            assert config["solver"]["name"] == solver
            assert method_of(solver, config["solver"], stated(name)) == name
            assert name == solver or options  # the file of a solver may state nothing; two of a solver do not state the same


@pytest.mark.parametrize("alias", ALIASES)
def test_other_names_of_convex_methods_are_the_same_in_python_and_on_the_command_line(alias):
    name = ALIASES[alias]
    given, plain = (run_key(from_arguments.expand([f"solver={called}", "dataset=triangle"])[0]) for called in (alias, name))
    assert given == plain
    assert METHODS[name].name == minimize(LeastSquares([[1.0]], [0.0]), Simplex(1), method=alias).method
    assert parse(alias).method == (alias if alias in methods() else name)  # of `fwexp compare`


@pytest.mark.parametrize(
    ("solver", "options", "expected"),
    [
        ("bcfw", {}, "bcfw"),
        ("bcfw", {"sampling": "uniform", "line_search": True, "cache": float("nan"), "refresh": 10}, "bcfw"),
        ("bcfw", {"sampling": "perm", "line_search": True}, "bcfw_perm"),
        ("bcfw", {"line_search": False}, "bcfw_predefined"),
        ("bcfw", {"sampling": "gap", "step": "pairwise", "cache": True}, "bcpfw_gap_cache"),
        ("bcfw", {"sampling": "gap", "step": "pairwise", "cache.F": 0.25, "cache.nu": 0.01}, "bcpfw_gap_cache"),
        ("bcfw", {"cache": False, "cache.F": float("nan")}, "bcfw"),
        ("bcfw", {"sampling": "gap", "line_search": False}, "bcfw[line_search=False][sampling=gap]"),
        ("fw", {"line_search": False}, "fw_predefined"),
        ("ssg", {"sampling": "perm"}, "ssg"),
        ("mine", {"sampling": "perm"}, "mine"),
    ],
)
def test_method_follows_from_solver_and_options(solver, options, expected):
    assert method_of(solver, options) == expected


@pytest.mark.parametrize(
    ("options", "split_by", "expected"),
    [
        ({"sampling": "gap", "refresh": 10.0}, [], "bcfw_gap"),
        ({"sampling": "gap", "refresh": 10.0}, ["refresh"], "bcfw_gap_10"),
        ({"sampling": "gap", "refresh": 0.0}, ["refresh"], "bcfw_gap_never"),
        ({"sampling": "gap", "refresh": None}, ["refresh"], "bcfw_gap"),
        ({"refresh": float("nan")}, ["refresh"], "bcfw"),
        ({"refresh": 30.0, "sampling": "gap"}, ["refresh"], "bcfw[refresh=30.0][sampling=gap]"),
        ({"sampling": "gap", "cache.F": 0.25, "cache.nu": 0.01}, [], "bcfw_gap_cache"),
        ({"sampling": "gap", "cache.F": 0.25, "cache.nu": 0.01}, ["cache.F", "cache.nu"], "cache_local"),
    ],
)
def test_options_that_a_figure_is_about_split_methods(options, split_by, expected):
    assert method_of("bcfw", options, split_by) == expected


def test_variants_of_a_frame_where_solvers_have_different_options():
    frame = concat(
        make_run("bcfw", iterate="wavg", step="fw"),
        make_run("bcfw", sampling="perm"),
        make_run("ssg").drop(columns=["solver.line_search"]),
    )
    assert list(pd.unique(variants(frame))) == ["bcfw-wavg", "bcfw_perm", "ssg"]


@pytest.mark.parametrize("split_by", [["solver.damping"], ["refresh", "dampin"], "refresh", ["solver.refresh"]])
def test_an_option_that_does_not_exist_is_no_way_to_split(split_by):
    results = make_run("bcfw", refresh=10.0, damping=0.5)
    bad = "r" if split_by == "refresh" else split_by[-1]
    for function in (of_results, variants):
        with pytest.raises(OptionError, match=f"^unknown option to split methods by '{bad}'.*; accepted: "):
            function(results, split_by)
    assert set(of_results(results, ["damping", "refresh"])) == {"bcfw[damping=0.5][refresh=10.0]"}
    assert set(of_results(make_run("ssg"), ["cache.F"])) == {"ssg"}  # known, though no run here has it


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Methods of another package: a function that writes its files and reads all methods anew."""

    def write(**texts):
        (tmp_path / "solver").mkdir()
        for name, text in texts.items():
            (tmp_path / "solver" / f"{name}.yaml").write_text(text)
        monkeypatch.setattr(plugins, "configurations", lambda: (tmp_path,))
        for cached in (methods, names_of._table):
            cached.cache_clear()

    yield write
    monkeypatch.undo()
    for cached in (methods, names_of._table):
        cached.cache_clear()


def test_a_file_that_is_no_method_is_left_out_with_one_line(files, caplog):
    files(cut="name: {", nameless="sampling: perm", text="bcfw", bcfw="name: fw", mine="name: bcfw\nsampling: max_gain")
    assert method_of("bcfw", {"sampling": "max_gain"}) == "mine"
    assert methods()["bcfw"].solver == "bcfw"  # ours comes first
    lines = [record.getMessage() for record in caplog.records]
    for name, reason in (("cut", "ParserError"), ("nameless", "the name of its solver"), ("text", "the name of its solver")):
        (line,) = (line for line in lines if f"left out method {name!r}" in line)
        assert reason in line
        assert "\n" not in line
    assert len(lines) == 3


def test_a_solver_without_a_file_of_its_name_is_plain_where_no_method_fits(files):
    files(timid="name: subgradient\noffset: 10")
    found = [method_of("subgradient", {"offset": offset}) for offset in (1.0, 10.0)]
    assert found == ["subgradient", "timid"]
    assert method_of("subgradient", {"offset": 2.0}, ["offset"]) == "subgradient[offset=2.0]"


@pytest.mark.slow
def test_solve_takes_methods_and_options_in_place_of_theirs():
    train, _ = fwexp.load_dataset("digits")
    result = fwexp.solve(train, "bcpfw_gap_cache", lam=0.1, max_passes=1, cache=False)
    chosen = {"sampling": "gap", "step": "pairwise", "cache": False}
    assert result.options | chosen == result.options
    same = fwexp.solve(train, "bcfw", lam=0.1, max_passes=1, **chosen)
    assert (result.solver, result.w.tobytes()) == ("bcfw", same.w.tobytes())
    for name, hint in (("bcpfw_gab", " (did you mean 'bcpfw_gap'?)"), ("frank_wolfe", ""), (["bcfw"], " (did you mean 'bcfw'?)")):
        with pytest.raises(ParameterError, match=rf"^unknown solver .*{re.escape(hint)}; accepted: .*fw, "):
            fwexp.solve(train, name, lam=0.1)
    with pytest.raises(OptionError, match=r"^order excludes sampling=gap, which solver bcfw_gap implies$"):
        fwexp.solve(train, "bcfw_gap", lam=0.1, order=[0])


def test_stored_runs_are_found_by_their_method(tmp_path, capsys):
    where = ["dataset=digits", "lam=0.1", "max_passes=0.1", f"results_dir={tmp_path}"]
    assert main(["run", "-m", "solver=bcfw,bcfw_gap,bcfw_gap_10,ssg", *where]) == 0
    frame = fwexp.load_results(tmp_path)
    assert sorted(frame.drop_duplicates("key")["method"]) == ["bcfw", "bcfw_gap", "bcfw_gap", "ssg"]
    for method, count in {"bcfw": 1, "bcfw_gap": 2, "bcfw_gap_10": 1, "bcpfw": 0, "nothing": 0}.items():
        assert len(store.find_runs(tmp_path, method=method)) == count
        assert fwexp.load_results(tmp_path, method=[method])["key"].nunique() == count
    assert len(store.find_runs(tmp_path, method=["ssg", "bcfw_gap_10"], lam=0.1)) == 2
    capsys.readouterr()
    assert main(["ls", "method=bcfw_gap", f"results_dir={tmp_path}"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main(["compare", "bcfw_gap_10", "ssg", "bcfw_gap:refresh=10.0", f"results_dir={tmp_path}"]) == 0


def test_a_side_is_a_method_with_options():
    frame = concat(make_run("bcfw", sampling="gap", refresh=10.0), make_run("bcfw", sampling="gap", refresh=5.0), make_run("bcfw"))
    assert set(parse("bcfw_gap").rows(frame)["solver.refresh"]) == {10.0, 5.0}
    for text in ("bcfw_gap_10", "bcfw_gap:refresh=10.0", "bcfw:sampling=gap,refresh=10.0"):
        assert set(parse(text).rows(frame)["solver.refresh"]) == {10.0}
    assert parse("bcfw:step=nothing").rows(frame).empty
