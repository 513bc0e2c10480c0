import pandas as pd
import pytest

import fwexp
from fwexp import store
from fwexp.cli import main
from fwexp.trackers import metrics_of
from tests.run.conftest import config, make_result  # noqa: F401 (fixtures)


@pytest.fixture
def results_dir(tmp_path, config, make_result):  # noqa: F811
    """Return a store with runs of three methods, whose options are of several kinds."""
    for name, options in (("bcfw", {"cache": False}), ("ssg", {}), ("bcfw", {"cache": [1, 2], "sampling": "gap"})):
        store.save(make_result(), config | {"solver": {"name": name} | options}, tmp_path / "results")
    return tmp_path / "results"


def test_traces_are_exported_as_load_results_returns_them(results_dir, tmp_path, capsys):
    where = f"results_dir={results_dir}"
    expected = fwexp.load_results(results_dir)
    assert main(["export", str(tmp_path / "runs.csv"), where]) == 0
    assert capsys.readouterr().out == f"12 rows of 3 runs written to {tmp_path / 'runs.csv'}\n"
    frame = pd.read_csv(tmp_path / "runs.csv")
    assert list(frame) == list(expected)
    assert frame["key"].tolist() == expected["key"].tolist()
    assert main(["export", str(tmp_path / "runs.parquet"), where]) == 0
    packed = pd.read_parquet(tmp_path / "runs.parquet")
    assert list(packed) == list(expected)
    pd.testing.assert_frame_equal(packed[["step", "primal", "lam"]], expected[["step", "primal", "lam"]])


def test_the_last_row_of_each_run_and_iterate_is_exported(results_dir, tmp_path, capsys):
    target = str(tmp_path / "runs.csv")
    assert main(["export", target, "--runs", "solver=bcfw", f"results_dir={results_dir}"]) == 0
    frame = pd.read_csv(target)
    assert frame.groupby(["key", "iterate"])["step"].agg(["size", "max"]).to_numpy().tolist() == [[1, 1000]] * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes either FILE or --mlflow DIR, got neither"),
        (["a.csv", "--mlflow", "b"], "takes either FILE or --mlflow DIR, got a.csv --mlflow"),
        (["--mlflow", "b", "--runs"], "--runs goes with FILE"),
        (["a.xlsx"], "FILE must end in .csv or .parquet, got 'a.xlsx'"),
        (["nowhere/a.csv"], "FILE must be a file in a folder that exists, got 'nowhere/a.csv'"),
        (["a.csv", "solver=nothing"], "unknown solver 'nothing'; accepted: "),
        (["a.csv", "include=partial"], "unknown filter 'include'"),
        (["a.csv", "solver=fw"], "there are no runs to export in results that match"),
        (["a.csv", "results_dir=none"], "there are no runs to export in none"),
    ],
)
def test_what_cannot_be_exported_is_one_line(arguments, message, results_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet"])
def test_an_export_is_not_replaced_by_one_without_rows(results_dir, tmp_path, capsys, name):
    target, where = tmp_path / name, f"results_dir={results_dir}"
    assert main(["export", str(target), where]) == 0
    before = target.read_bytes()
    for trace in results_dir.rglob("trace.parquet"):
        trace.unlink()
    capsys.readouterr()
    with pytest.warns(UserWarning, match="is damaged and was left out: trace.parquet is missing"):
        assert main(["export", str(target), where]) == 2
    assert capsys.readouterr().err == (
        f"fwexp: there are no rows to export in {results_dir}, because the runs that match are damaged or empty\n"
    )
    assert target.read_bytes() == before


def test_a_missing_tracker_is_one_line(results_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    assert main(["export", "--mlflow", str(tmp_path / "tracked"), f"results_dir={results_dir}"]) == 2
    assert capsys.readouterr().err == "fwexp: fwexp export --mlflow needs mlflow: pip install mlflow\n"


def test_rows_are_metrics_without_missing_numbers():
    row = {"iterate": "last", "step": 3, "primal": 0.5, "gap": float("nan"), "dual": -float("inf"), "atoms": 2}
    assert metrics_of(row) == {"primal": 0.5, "atoms": 2.0}
    assert metrics_of(row | {"iterate": "wavg"}) == {"wavg/primal": 0.5, "wavg/atoms": 2.0}
