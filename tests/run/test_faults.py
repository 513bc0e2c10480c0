"""Kills at every file operation, readers and writers at once, data that change: nothing is lost, nothing old passes for new."""

import dataclasses
import itertools
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fwexp
from fwexp import store
from fwexp.cli import main
from fwexp.data import DATASETS
from fwexp.data.dataset import DataFile, Dataset
from fwexp.errors import DataError, RunsFailed, WorkersLost
from fwexp.files import locks
from fwexp.papers.claims import check as check_claim
from fwexp.papers.claims.verdict import Finding
from fwexp.papers.declarations import Preset
from fwexp.papers.origin import facts, reservations
from fwexp.run import deaths, launching, relay, runner, sweep, work
from fwexp.run.config import canonical
from fwexp.store import commit, paths
from fwexp.store import run_store as runs
from fwexp.store.keys import key_of
from tests.kills import killed_at


def hidden(folder):
    return list(folder.rglob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize("before", [None, "finished", "partial", "failed"])
@pytest.mark.parametrize("status", ["max_passes", "interrupted"])
def test_a_kill_at_any_instant_of_a_save_loses_nothing(tmp_path, config, make_result, before, status):
    store.save(make_result(level=9), config, tmp_path / "warm")  # what is imported and asked for once
    for event in itertools.count(1):
        place = tmp_path / str(event)
        if before == "failed":
            store.save_failure(ValueError("before"), config, place)
        elif before:
            store.save(make_result("interrupted" if before == "partial" else "max_passes", level=1), config, place)
        there = killed_at(event, lambda place=place: store.save(make_result(status, level=2), config, place))
        final = store.run_dir(place, config)
        run = store.read_run(final)
        if before == "finished":
            assert run.status == "max_passes", event
            assert run.record["primal"] in (1, 2)
            assert len(fwexp.load_results(place)) == 4
        assert run.status in ("max_passes", "missing")
        store.tidy(place)
        assert not hidden(place)
        for found in store.find_runs(place, include={"partial", "failed", "damaged"}):
            assert found.status in ("max_passes", "interrupted", "failed")
            if found.status != "failed":
                model = np.load(found.path / commit.name_of(found.record, commit.MODEL))
                assert model["w"][1] == found.weights()[1] == found.record["primal"]
        if not there:
            break
        shutil.rmtree(place, ignore_errors=True)
    assert event > 7
    assert [found.status for found in store.find_runs(place, include={"partial"}) if found.record["primal"] == 2] == [status]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "line"),
    [
        (["kills", "--kills", "2", "--launchers", "basic"], "basic: 2 kills, nothing lost, nothing damaged, nothing left over"),
        (["together", "--kills", "1"], "three sweeps at once, 1 times one of them killed: every run is there, none was done twice"),
        (["bits", "--step", "211"], "flipped bits, each found, and its run named and redone alone"),
        (["schemes", "--tries", "1"], "all certify the gap"),
        (["deaths", "--tries", "3"], "no other run was lost"),
        (["signals", "--tries", "2"], "none lost"),
        (["hangs", "--tries", "1"], "1 runs that hang: each is a failure after its wall limit, and its sweep goes on"),
        (["pauses", "--tries", "2"], "all stored runs stay"),
    ],
)
def test_faults_lose_nothing(chosen, line):
    """The short form of ``make faults``; that of ``checkpoints`` is in tests/driver, and ``memory`` takes minutes."""
    command = [sys.executable, "-m", "tests.faults", *chosen]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).resolve().parents[2])
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{line}\n")


@pytest.mark.slow
def test_readers_always_find_a_whole_run_while_it_is_replaced(tmp_path, config, make_result):
    store.save(make_result(level=0), config, tmp_path)
    done, seen = threading.Event(), set()

    def read():
        while not done.is_set():
            frame = fwexp.load_results(tmp_path)
            assert len(frame) == 4
            assert frame["primal"].nunique() == 1
            seen.add(frame["primal"].iloc[0])

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for level in itertools.count(1):
            store.save(make_result(level=level), config, tmp_path)
            if any(reader.done() for reader in readers) or (level >= 60 and len(seen) > 1):  # A reader that is done has failed.
                break
        done.set()
        for reader in readers:
            reader.result()


def test_a_run_that_is_removed_and_stored_anew_while_it_is_read_is_damaged_or_whole(tmp_path, config, make_result, monkeypatch):
    place = store.save(make_result(level=1), config, tmp_path)
    [run] = store.find_runs(tmp_path)
    read_run, elsewhere = store.read_run, tmp_path / "elsewhere"

    def and_then_stored(folder):
        found = read_run(folder)
        elsewhere.rename(place)
        return found

    monkeypatch.setattr(runs, "find_runs", lambda *_, **__: [run])
    monkeypatch.setattr(runs, "read_run", and_then_stored)
    place.rename(elsewhere)
    with pytest.warns(UserWarning, match=r"is damaged and was left out: .* is missing"):
        assert fwexp.load_results(tmp_path).empty


@pytest.mark.parametrize("kind", ["a link", "a dangling link", "a file"])
def test_a_run_takes_the_place_of_what_is_no_folder(tmp_path, config, make_result, kind):
    place, elsewhere = store.save(make_result(level=1), config, tmp_path), tmp_path / "elsewhere"
    place.rename(elsewhere)
    if kind == "a file":
        place.touch()
    else:
        place.symlink_to(elsewhere if kind == "a link" else "nowhere")
    store.save(make_result(level=2), config, tmp_path)
    assert set(fwexp.load_results(tmp_path)["primal"]) == {2}
    assert not place.is_symlink()
    assert store.records.read(elsewhere / "run.json")["primal"] == 1  # the target of the link is a user's own
    assert not hidden(tmp_path)


def test_many_writers_of_one_run_leave_one_of_their_versions(tmp_path, config, make_result):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda level: store.save(make_result(level=level), config, tmp_path), range(60)))
    assert store.is_stored(tmp_path, config)
    assert len(fwexp.load_results(tmp_path)) == 4
    assert not hidden(tmp_path)


@pytest.fixture
def numbers(monkeypatch, tmp_path):
    """Return the configuration of a data set ``numbers`` of one file, and a function that writes the file."""

    def read(options, data_dir):
        X = np.loadtxt(data_dir / "numbers.txt", ndmin=2)
        problem = fwexp.multiclass_problem(X, np.arange(len(X)) % 2)
        return problem, problem

    dataset = Dataset("numbers", "some numbers", "n = 4", (DataFile("numbers.txt"),), read)
    DATASETS.load_all()
    monkeypatch.setitem(DATASETS.loaded, "numbers", dataset)
    module = SimpleNamespace(module="fwexp.data.digits", described="a test", load=lambda: dataset)
    monkeypatch.setitem(DATASETS._discovered(), "numbers", module)
    folder = tmp_path / "data"
    folder.mkdir()

    def write(seed):
        np.savetxt(folder / "numbers.txt", np.random.default_rng(seed).normal(size=(4, 3)))

    write(0)
    config = canonical({"dataset": {"name": "numbers"}, "solver": {"name": "bcfw"}, "lam": 0.1, "max_passes": 2})
    return SimpleNamespace(config=config, write=write, folder=folder, dataset=dataset)


def test_a_run_of_other_data_is_another_run(tmp_path, numbers):
    results = tmp_path / "results"
    assert runner.run(numbers.config, results, numbers.folder, verbose=False).status == "max_passes"
    assert runner.run(numbers.config, results, numbers.folder, verbose=False).status == "stored"
    first = fwexp.load_results(results)
    numbers.write(1)
    assert runner.run(numbers.config, results, numbers.folder, verbose=False).status == "max_passes"
    second = fwexp.load_results(results)
    assert second["primal"].iloc[-1] != first["primal"].iloc[-1]
    numbers.write(0)  # also in the same process
    assert runner.run(numbers.config, results, numbers.folder, verbose=False).status == "max_passes"
    assert fwexp.load_results(results)["primal"].iloc[-1] == first["primal"].iloc[-1]
    (numbers.folder / "numbers.txt").unlink()  # what is stored can be had without the data
    assert runner.run(numbers.config, results, numbers.folder, verbose=False).status == "stored"


@pytest.mark.parametrize("published", [True, False, None])
def test_runs_on_other_data_than_the_published_ones_are_marked(tmp_path, numbers, monkeypatch, capsys, published):
    def check(path):
        if not published:
            raise DataError("other numbers")

    file = DataFile("numbers.txt", check=None if published is None else check)
    monkeypatch.setitem(DATASETS.loaded, "numbers", dataclasses.replace(numbers.dataset, files=(file,)))
    runner._load.cache_clear()
    results, data = tmp_path / "results", {True: "published", False: "other"}.get(published)
    outcome = runner.run(numbers.config, results, numbers.folder, verbose=False)
    frame = fwexp.load_results(results)
    assert set(frame["data"]) == {data}
    assert len(fwexp.load_results(results, data="other")) == (data == "other") * len(frame)
    assert main(["ls", f"results_dir={results}"]) == 0
    assert (" other" in capsys.readouterr().out) == (data == "other")
    notes = ["the data of numbers are not the published ones"] * (data == "other")
    assert reservations([facts(store.read_run(outcome.path))]) == notes
    claim = SimpleNamespace(
        **dict.fromkeys(("id", "paper", "statement", "place", "criterion", "changed", "figure", "split_by"), "")
    )
    claim.needs, claim.decide, claim.vary = (Preset("quickstart").runs(),), lambda runs: Finding({"it": True}), {}
    monkeypatch.setitem(check_claim.__globals__, "needed", lambda *_: {outcome.path.name: numbers.config})
    said = {"data that are not the published ones": "numbers"} if data == "other" else {}
    assert check_claim(claim, results)["numbers"] == said


def test_the_checksum_is_of_what_was_read(tmp_path, numbers, monkeypatch):
    before = runner.known_checksums(numbers.config["dataset"], numbers.folder)
    solve = runner.solve

    def slow(*arguments, **options):
        numbers.write(2)
        return solve(*arguments, **options)

    monkeypatch.setattr(runner, "solve", slow)
    outcome = runner.run(numbers.config, tmp_path / "results", numbers.folder, verbose=False)
    assert store.read_run(outcome.path).record["data"] == before
    assert runner.known_checksums(numbers.config["dataset"], numbers.folder) != before


def test_data_that_change_while_they_are_read_are_refused(tmp_path, numbers, monkeypatch):
    def read(options, data_dir):
        numbers.write(3)
        return numbers.dataset.read(options, data_dir)

    changing = Dataset("numbers", "some numbers", "n = 4", numbers.dataset.files, read)
    monkeypatch.setitem(DATASETS.loaded, "numbers", changing)
    with pytest.raises(DataError, match="has changed while it was read"):
        runner.run(numbers.config, tmp_path / "results", numbers.folder, verbose=False)
    assert not list(paths.entries(tmp_path / "results"))


def finish(configs, launch, results_dir):
    """Do runs by a function of a list of `Todo` and the folder of the sweep; return them."""
    todo = [work.Todo(config, str(config["seed"])) for config in configs]
    jobs = {key_of(each.config): {"name": each.name, "config": each.config} for each in todo}
    where = {"results_dir": str(results_dir)}
    with relay.sweeping(results_dir, {"where": where, "jobs": jobs, "plugins": []}) as folder:
        work.finish(todo, lambda batch: launch(batch, folder), results_dir, folder)
    return todo


def test_a_lost_run_is_not_done_because_one_of_other_data_is_stored(tmp_path, numbers):
    """What the store has of a run before a sweep does not count as what the sweep has done."""
    results = tmp_path / "results"
    runner.run(numbers.config, results, numbers.folder, verbose=False)
    numbers.write(1)
    launches = []

    def launch(todo, folder):
        launches.append(len(todo))
        if len(launches) == 1:  # a worker dies with the run in work
            relay.begin(folder, key_of(numbers.config))
            raise RuntimeError("a worker was killed")
        relay.end(folder, key_of(numbers.config))
        return [runner.run(numbers.config, results, numbers.folder, verbose=False)]

    assert work.counts(finish([numbers.config], launch, results)) == (0, 0)
    assert launches == [1, 1]


def test_what_another_version_of_the_code_stores_meanwhile_is_not_the_run(tmp_path, numbers, monkeypatch):
    results, launches = tmp_path / "results", []
    other = {"modules": [], "sha256": "0" * 64}

    def launch(todo, folder):
        launches.append(len(todo))
        if len(launches) > 1:
            return [runner.run(numbers.config, results, numbers.folder, force="stale", verbose=False)]
        with monkeypatch.context() as patch:  # another process, which has other sources
            patch.setattr(runner.staleness, "made_by", lambda modules: other)
            runner.run(numbers.config, results, numbers.folder, verbose=False)
        return [runner.Outcome("claimed")]

    assert work.counts(finish([numbers.config], launch, results)) == (0, 0)
    assert launches == [1, 1]
    assert not store.find_runs(results)[0].stale


def test_workers_of_a_sweep_do_not_take_what_another_version_stored_meanwhile(tmp_path, numbers, monkeypatch):
    """Between the look at the store and the run."""
    results, wheres = tmp_path / "results", []

    def launch(todo, executor, folder):
        wheres.append(relay.read(folder)["where"])
        return [runner.Outcome("max_passes")]

    monkeypatch.setattr(launching, "launch", launch)
    sweep.execute([numbers.config], results_dir=results, data_dir=numbers.folder)
    assert wheres[0]["force"] == "stale"


@pytest.mark.parametrize("alone", [True, False])
def test_a_run_whose_worker_dies_three_times_has_failed(tmp_path, numbers, monkeypatch, capsys, alone):
    """Whether the launcher says so of the run, or breaks."""
    results = tmp_path / "results"
    monkeypatch.setattr(runner, "check", lambda *_: (_ for _ in ()).throw(ConnectionError))  # the worker dies
    monkeypatch.setattr(launching, "_run", lambda config, where: runner.run(config, **where))
    monkeypatch.setattr(relay, "end", lambda *_: None)
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path, **how: None if is_from_dead(path) else unlink(path, **how))

    def launch(todo, folder):
        try:
            return [launching._in_worker(folder, key_of(each.config)) for each in todo]
        except ConnectionError:
            if alone:
                return [WorkersLost("killed")]
            raise

    def is_from_dead(path):
        return path.name.endswith(paths.BEGUN) and path.exists() and path.stat().st_size <= deaths.DEATHS

    (run,) = finish([numbers.config], launch, results)
    assert work.counts([run]) == (1, 0)
    (failed,) = store.find_runs(results, include={"failed"})
    assert failed.status == "failed"
    assert "process died 3 times" in failed.record["error"]
    assert capsys.readouterr().err.splitlines() == 3 * ["0: its worker died; again"]
    store.tidy(results)
    assert not hidden(results)


def test_a_failure_that_is_stored_is_final_also_if_its_worker_dies_after_that(tmp_path, numbers):
    results, launches = tmp_path / "results", []

    def launch(todo, folder):
        launches.append(len(todo))
        relay.begin(folder, key_of(numbers.config))
        runner.fail(ValueError("no"), numbers.config, results)
        return [WorkersLost("killed")]

    assert work.counts(finish([numbers.config], launch, results)) == (1, 0)
    assert launches == [1]


def test_a_run_that_kills_its_worker_fails_alone(tmp_path, numbers):
    """Where with the worker all others die, and what they have in work is lost."""
    results, launches = tmp_path / "results", []
    configs = [canonical({**numbers.config, "seed": seed}) for seed in range(4)]

    def launch(todo, folder):
        found = [each.config["seed"] for each in todo]
        launches.append(found)
        begun = {each.config["seed"]: relay.begin(folder, key_of(each.config)) for each in todo[:3]}  # as there are workers
        if begun.get(1, 9) <= deaths.DEATHS:
            raise RuntimeError("a worker was killed")
        for each in todo:
            relay.end(folder, key_of(each.config))
        return [runner.Outcome("failed" if seed == 1 else "max_passes") for seed in found]

    todo = finish(configs, launch, results)
    assert [each.name for each in todo if each.status == "failed"] == ["1"]
    assert work.counts(todo) == (1, 0)
    assert launches == [[0, 1, 2, 3], [0], [1], [1], [1], [2], [3]]


def test_what_others_than_the_lost_have_in_work_is_not_lost_with_it(tmp_path, numbers):
    """Where the launcher says what was lost, all that goes again at once; what never began counts as no death."""
    launches = []
    configs = [canonical({**numbers.config, "seed": seed}) for seed in range(4)]
    killed = WorkersLost("killed")

    def launch(todo, folder):
        launches.append([each.config["seed"] for each in todo])
        if len(launches) == 1:
            relay.begin(folder, key_of(configs[1]))
            return [runner.Outcome("max_passes"), killed, killed, runner.Outcome("max_passes")]
        assert relay.begin(folder, key_of(configs[1])) == 2
        relay.end(folder, key_of(configs[1]))
        return [runner.Outcome("max_passes")] * 2

    assert work.counts(finish(configs, launch, tmp_path)) == (0, 0)
    assert launches == [[0, 1, 2, 3], [1, 2]]


def test_workers_that_die_before_they_begin_end_the_sweep(tmp_path, numbers):
    killed = WorkersLost("killed")
    with pytest.raises(RunsFailed, match="the sweep broke off: workers die before they begin a run"):
        finish([numbers.config], lambda *_: [killed], tmp_path)


def test_a_launcher_that_does_not_work_ends_the_sweep(tmp_path, numbers):
    def launch(*_):
        raise ImportError("no launcher here")

    with pytest.raises(RunsFailed, match="the sweep broke off: ImportError: no launcher here"):
        finish([numbers.config], launch, tmp_path)


def test_runs_of_others_are_waited_for(tmp_path, numbers, capsys):
    results = tmp_path / "results"

    def launch(todo, folder):
        claim = locks.acquire_claim(store.run_dir(results, numbers.config))

        def others():
            time.sleep(1.0)
            claim.release()
            runner.run(numbers.config, results, numbers.folder, verbose=False)

        threading.Thread(target=others).start()
        return [runner.Outcome("claimed")]

    launches = []

    def launch_twice(todo, folder):
        launches.append(todo)
        if len(launches) == 1:
            return launch(todo, folder)
        outcome = runner.run(numbers.config, results, numbers.folder, verbose=False)
        while outcome.status == "claimed":
            time.sleep(0.1)
            outcome = runner.run(numbers.config, results, numbers.folder, verbose=False)
        return [outcome]

    assert work.counts(finish([numbers.config], launch_twice, results)) == (0, 0)
    lines = capsys.readouterr().err.splitlines()
    assert "waiting for 1 runs" in lines[0]
    assert lines[1:] == [f"{numbers.config['seed']}: stored in another process"] * (len(launches) == 1)
    assert store.is_stored(results, numbers.config)


def test_a_run_that_was_taken_over_is_named(tmp_path, numbers, capsys):
    results = tmp_path / "results"

    def launch(todo, folder):
        runner.run(numbers.config, results, numbers.folder, verbose=False)
        return [runner.Outcome("claimed", None, "stored in another process")]

    assert work.counts(finish([numbers.config], launch, results)) == (0, 0)
    assert capsys.readouterr().err.splitlines() == [f"{numbers.config['seed']}: stored in another process"]


@pytest.mark.parametrize("links", [True, False])
def test_a_first_run_that_is_stored_after_the_last_look_stays(tmp_path, config, make_result, monkeypatch, links):
    """The writer was paused just before its run gets its record, which must not replace that of its successor."""
    other = store.save(make_result(level=1), config, tmp_path / "other")
    final = store.run_dir(tmp_path, config)

    def store_other():
        for path in other.iterdir():
            shutil.copy(path, final / f"{path.name}.copy")
            (final / f"{path.name}.copy").replace(final / path.name)
        return True

    def save(level):
        monkeypatch.setattr(commit, "commit", lambda *given: real(*given[:3], store_other))
        return store.save(make_result(level=level), config, tmp_path)

    real = commit.commit
    if not links:
        monkeypatch.setattr(commit.os, "link", lambda *_: (_ for _ in ()).throw(PermissionError("no links here")))
    with pytest.raises(commit.TakenOver):
        save(2)
    assert store.read_run(final).record["primal"] == 1
