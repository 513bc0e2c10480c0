"""``python -m benchmarks.scale``: what is fitted, that tables are written, and those in the repository."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import fwexp
from benchmarks import history, scale
from benchmarks.simulation import Costs, Load, simulate
from fwexp.distributed.cluster import connected
from fwexp.errors import exit_code

LOCAL, ORACLES = Load("local", 1000, 800, 800), Load("oracles", 1000, 800, 800)


def test_passes_are_a_power_of_the_workers_or_a_line_in_the_share_of_examples_in_work():
    workers = np.array([1, 2, 4, 8])
    local = scale.passes_of(LOCAL, workers, 7.0 * workers**0.5)
    assert local(100, 10**7) == pytest.approx(10.0)
    oracles = scale.passes_of(ORACLES, workers, 3.0 * (1 + 4.0 * (workers - 1) * 20 / 1000))
    assert oracles(11, 1000) == pytest.approx(1.8)
    assert oracles(11, 10**6) == pytest.approx(1.0, abs=1e-3)  # of more examples fewer are in work
    assert oracles(10_000, 1000) == pytest.approx(1 + 4.0 * 0.48)  # half of all, at most
    assert scale.passes_of(LOCAL, workers, np.array([3.0, 2.9, 2.9, 2.8]))(8, 1000) == 1.0


def test_what_cores_share_is_seen_where_costs_alone_are_off():
    costs, load = Costs(work=1e-3), Load("local", 1000, 0, 0)
    rates = {1: 1000.0, 2: 1600.0, 4: 1000.0}
    known = pd.DataFrame({"workers": list(rates), "calls_per_second": list(rates.values())})
    found = scale.machine_of(costs, load, {"cores": 2, "idle": 0.0}, known)
    assert found.alone == 1.0
    for workers, rate in rates.items():
        assert simulate(costs, load, workers, found).calls_per_second == pytest.approx(rate, rel=scale.CLOSE + 0.02)
    assert found.turns > found.crowded > 1.1


def test_bytes_are_what_messages_take_more():
    small, large = Costs(message=2e-3, worker_message=1e-3), Costs(message=6e-3, worker_message=9e-4, step=1.0)
    found = scale.with_bytes(large, Load("local", 10, 1e6, 1e6), small)
    assert (found.message, found.byte, found.worker_message, found.worker_byte) == pytest.approx((2e-3, 2e-9, 9e-4, 0.0))
    assert found.step == 1.0


def test_a_problem_is_learned_with_and_without_sleep():
    problem = scale.Classes(30, 25, 0.0).problem()
    assert problem.d == 5 * 25
    assert fwexp.solve(problem, lam=0.05, gap_tol=0.05).status == "converged"


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", ["costly, small d", "cheap, small d"])
def test_tables_are_written_and_simulated_again(tmp_path, monkeypatch, capsys, name):
    regime = scale.REGIMES[name]
    problem = scale.Classes(80, 20, 0.0).problem if regime.scheme == "oracles" else lambda: scale.problem_of("chain", n=100)
    settings = {"WORKERS": (1, 2), "MESSAGES": 2, "REPEATS": 1, "CLUSTER": (1, 16), "CALL": 1e-3}
    settings |= {"TABLE": tmp_path / "scale.csv", "COSTS": tmp_path / "costs.csv"}
    settings["REGIMES"] = {name: regime._replace(make=lambda seconds: problem(), gap=0.3)}
    settings["connected"] = lambda owner, **options: connected(owner, processes=False, preload=[], **options)
    for key, value in settings.items():
        monkeypatch.setattr(scale, key, value)
    monkeypatch.setattr("sys.argv", ["scale", name])
    assert scale.main() == 0
    table, costs = pd.read_csv(tmp_path / "scale.csv"), pd.read_csv(tmp_path / "costs.csv")
    assert table["series"].value_counts().to_dict() == {"measured": 2, "machine": 2, "cluster": 2}
    assert (table["calls_per_second"] > 0).all()
    assert costs.iloc[0]["n"] == problem().n
    monkeypatch.setattr("sys.argv", ["scale", "--simulate"])
    assert scale.main() == 0
    assert pd.read_csv(tmp_path / "scale.csv")["calls_per_second"].tolist() == pytest.approx(table["calls_per_second"], rel=0.1)
    assert "ratio" in capsys.readouterr().out


def test_named_regimes_are_simulated_again_and_the_others_stay(tmp_path, monkeypatch):
    table, costs = pd.read_csv(scale.TABLE), pd.read_csv(scale.COSTS)
    files = {"TABLE": tmp_path / "scale.csv", "COSTS": tmp_path / "costs.csv"}
    history.write({files["TABLE"]: table, files["COSTS"]: costs})
    for key, value in {**files, "CLUSTER": (1, 16)}.items():
        monkeypatch.setattr(scale, key, value)
    monkeypatch.setattr("sys.argv", ["scale", "--simulate", "cheap, small d"])
    assert scale.main() == 0
    before, after = (rows.groupby(["regime", "series"]).size().to_dict() for rows in (table, pd.read_csv(files["TABLE"])))
    assert after == before | {("cheap, small d", "machine"): len(scale.WORKERS), ("cheap, small d", "cluster"): 2}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "cheap, large d; cheap, small d; costly, large d; costly, small d (measured: none)"),
        (["cheap, small d"], "cheap, small d (measured: none)"),
    ],
)
def test_regimes_that_were_not_measured_are_not_simulated(tmp_path, monkeypatch, capsys, arguments, said):
    for name in ("TABLE", "COSTS"):
        monkeypatch.setattr(scale, name, tmp_path / name)
    monkeypatch.setattr("sys.argv", ["scale", "--simulate", *arguments])
    assert exit_code("scale", scale.main) == 2
    line = f"scale: --simulate needs regimes that were measured, got {said}; run without --simulate first\n"
    assert capsys.readouterr().err == line
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.compiled
def test_the_tables_of_the_repository_are_what_is_simulated():
    table, costs = pd.read_csv(scale.TABLE), pd.read_csv(scale.COSTS).set_index("regime")
    assert list(costs.index) == list(dict.fromkeys(table["regime"])) == list(scale.REGIMES)
    for name, row in costs.iloc[1:3].iterrows():  # one of each scheme and size; a row takes seconds
        rows = table[(table["regime"] == name) & (table["workers"] == 8)].set_index("series")
        load, own = scale.of_row(Load, row), scale.of_row(Costs, row)
        if "small" not in name:
            own = scale.with_bytes(own, load, scale.of_row(Costs, costs.loc[name.replace("large", "small")]))
        known = table[(table["regime"] == name) & (table["series"] == "measured")]
        for series, size, machine in (
            ("machine", load, scale.machine_of(own, load, row, known)),
            ("cluster", dataclasses.replace(load, n=scale.CLUSTER_N), None),
        ):
            found = simulate(own, size, 8, machine)
            assert found.calls_per_second == pytest.approx(rows.loc[series, "calls_per_second"], rel=0.01)
