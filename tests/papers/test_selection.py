"""Selection of runs by validation, which no test error changes."""

import csv
import io
from types import SimpleNamespace

import numpy as np
import pytest

from fwexp import store
from fwexp.cli import main
from fwexp.errors import RunsFailed
from fwexp.papers import selection
from fwexp.run.config import canonical
from fwexp.store import records
from fwexp.store.keys import key_of

LAMS = (0.1, 0.01, 0.001)
VALIDATION = {(0.1, 0): 0.30, (0.01, 0): 0.20, (0.001, 0): 0.25, (0.1, 1): 0.30, (0.01, 1): 0.24, (0.001, 1): 0.21}


def config(lam, seed=0, solver="bcfw", **settings):
    """Return a canonical configuration with a validation share."""
    given = {"dataset": {"name": "digits", "validation": 0.2}, "solver": {"name": solver}, "lam": lam, "seed": seed}
    return canonical(given | settings)


def runs(errors=VALIDATION, test=lambda lam, seed: lam + seed / 100, solver="bcfw"):
    """Return configurations, and what returns their runs, given errors of validation by lam and seed."""
    configs = [config(lam, seed, solver) for lam, seed in errors]
    found = {
        key_of(one): SimpleNamespace(
            record={"lam": lam}, errors={} if np.isinf(error) else {"validation_error": error, "test_error": test(lam, seed)}
        )
        for one, ((lam, seed), error) in zip(configs, errors.items(), strict=True)
    }
    return configs, lambda one: found.get(key_of(one))


def lams(found, oracle=False):
    """Return the lam that each of the picks has."""
    return {name: picked and picked.lam for name, picked in found.picks(oracle).items()}


def test_every_seed_and_the_mean_have_their_pick():
    (found,) = selection.select(*runs())
    assert lams(found) == {"seed=0": 0.01, "seed=1": 0.001, "mean": 0.01}
    assert [row[6] for row in found.rows()] == ["", "seed=0, mean", "seed=1"]
    assert [row[7] for row in found.rows()] == ["", "0.0150", "0.0060"]  # none of what is not picked
    said = found.sentences()
    assert said[0].endswith("validation picks solver=bcfw lam=0.01 by the mean over 2 seeds; test error 0.0150 (sd 0.0071)")
    assert said[1].endswith("each seed at its own pick; test error 0.0105 (sd 0.0007)")
    assert len(said) == 2
    assert found.refitted() == [
        canonical({"dataset": {"name": "digits"}, "solver": {"name": "bcfw"}, "lam": 0.01, "seed": seed}) for seed in (0, 1)
    ]


def test_the_test_error_chooses_nothing():
    (found,) = selection.select(*runs(test=lambda lam, seed: -lam))
    assert lams(found) == {"seed=0": 0.01, "seed=1": 0.001, "mean": 0.01}
    assert lams(found, oracle=True)["oracle"] == 0.1
    assert [row[7] for row in found.rows(oracle=True)] == ["-0.1000", "-0.0100", "-0.0010"]
    assert "the test set would pick solver=bcfw lam=0.1" in found.sentences(oracle=True)[-1]


def test_of_equal_candidates_the_largest_lam_is_picked():
    (found,) = selection.select(*runs({(0.001, 0): 0.1 + 0.2, (0.01, 0): 0.3, (0.1, 0): 0.4}))
    assert lams(found) == {"mean": 0.01}


@pytest.mark.parametrize(("best", "end", "more"), [(0.1, "largest", "larger"), (0.001, "smallest", "smaller")])
def test_a_pick_at_the_end_of_the_grid_is_noted(best, end, more):
    (found,) = selection.select(*runs({(lam, 0): 0.5 - 0.1 * (lam == best) for lam in LAMS}))
    assert found.sentences()[-1] == f"digits validation=0.2: lam={best} is the {end} value tried; add {more} ones"


def test_a_run_that_diverged_is_not_picked():
    (found,) = selection.select(*runs(VALIDATION | {(0.01, 0): np.inf}))
    assert lams(found) == {"seed=0": 0.001, "seed=1": 0.001, "mean": 0.001}
    (found,) = selection.select(*runs(dict.fromkeys(VALIDATION, np.inf)))
    assert found.sentences() == ["digits validation=0.2: every candidate has a run that diverged, so validation picks none"]
    assert found.refitted() == []


def test_a_solver_without_random_choices_has_one_run_for_all_seeds():
    configs, stored = runs()
    others, stored_too = runs({(0.01, 0): 0.19}, solver="fw")
    (found,) = selection.select([*configs, *others], lambda one: stored(one) or stored_too(one))
    assert found.repeats == [(0, 0), (1, 0)]
    assert {name: picked.said for name, picked in found.picks().items()} == {
        "seed=0": "solver=fw lam=0.01",
        "seed=1": "solver=fw lam=0.01",
        "mean": "solver=fw lam=0.01",
    }
    # The mean of one error, which has no deviation; of bcfw, two runs.
    assert [row[4:6] for row in found.rows() if row[1] == "fw"] == [("0.1900", "")]
    assert [row[5] for row in found.rows() if row[1] == "bcfw"] == ["0.0000", "0.0283", "0.0283"]
    assert found.sentences(oracle=True)[0].endswith("test error 0.0100")
    parts = [config(0.01, 0, "fw", dataset={"name": "digits", "validation": 0.2, "validation_seed": seed}) for seed in (0, 1)]
    errors = {key_of(one): {"validation_error": 0.1 * k, "test_error": 0.2} for k, one in enumerate(parts)}
    (found,) = selection.select(parts, lambda one: SimpleNamespace(record={"lam": 0.01}, errors=errors[key_of(one)]))
    assert found.rows()[0][4:6] == ("0.0500", "0.0707")


@pytest.mark.parametrize("changes", [({}, {"validation": 0.3}), ({"seed": 0}, {"seed": 1})])
def test_data_sets_are_chosen_for_apart(changes):
    """Also those that differ in the seed that makes them, which is no seed of runs."""
    configs, stored = runs()
    of_both = [one | {"dataset": one["dataset"] | change} for change in changes for one in configs]
    found = selection.select(of_both, lambda one: stored(one | {"dataset": configs[0]["dataset"]}))
    assert [one.data.partition(" ")[2] for one in found] == [
        " ".join(f"{key}={value}" for key, value in ({"validation": 0.2} | change).items()) for change in changes
    ]
    assert [len(one.candidates) for one in found] == [3, 3]


def test_a_missing_run_is_named():
    configs, _ = runs()
    with pytest.raises(RunsFailed, match=r"^a run of digits validation=0\.2 is missing"):
        selection.select(configs, lambda one: None)


@pytest.mark.slow
def test_the_command_runs_what_is_missing_and_prints_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = ["select", "dataset=digits", "solver=bcfw", "lam=1,0.1", "seed=0,1", "max_passes=1"]
    assert main([*arguments, "--format", "csv"]) == 0
    captured = capsys.readouterr()
    assert "4 runs: 0 stored, 4 to run" in captured.err
    run = store.find_runs()[0]
    records.write(run.path / "run.json", run.record | {"sources": run.record["sources"] | {"sha256": "0" * 64}})
    assert main([*arguments, "force=false"]) == 0
    assert "4 stored (1 of them by another version of the code; force=stale redoes those), 0 to run" in capsys.readouterr().err
    assert main(arguments) == 0
    assert "3 stored, 1 to run (1 of them again, which another version of the code made)" in capsys.readouterr().err
    assert not store.find_runs(stale=True)
    head, *rows = csv.reader(io.StringIO(captured.out))
    assert tuple(head) == selection.HEAD
    assert [row[2] for row in rows] == ["1", "0.1"]
    assert [row[6] for row in rows] == ["", "seed=0, seed=1, mean"]
    assert main([*arguments, "--refit", "--format=latex"]) == 0
    captured = capsys.readouterr()
    assert "4 runs: 4 stored, 0 to run" in captured.err
    assert "2 runs: 0 stored, 2 to run" in captured.err
    head = captured.out.splitlines()[2]
    assert head == r"data & solver & lam & validation error & sd & picked by & test error & sd & refit error & sd \\"
    assert "after training on the whole training set; test error 0." in captured.err


def test_combinations_that_do_not_fit_are_left_out_and_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["select", "dataset=digits", "max_passes=1", "skip_invalid=true", "solver=bcfw,lbfgs"]
    assert main([*words, "lam=1,0.1", "--refit", "--format", "csv"]) == 0
    captured = capsys.readouterr()
    (line,) = (line for line in captured.err.splitlines() if line.startswith("skipped "))
    assert line.startswith("skipped 2 of 4 combinations, which do not fit: solver lbfgs does not minimise the objective hinge")
    assert len(captured.out.splitlines()) == 1 + 2
    assert main([*words, "lam=1"]) == 2  # a choice of which one fits is none
    assert capsys.readouterr().err.splitlines()[-1].endswith("such as lam=0.1,0.01, got one for digits validation=0.2")
