"""Kills at every file operation, readers and writers at once, data that change: nothing is lost, nothing old passes for new."""

import dataclasses
import itertools
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fwexp
from fwexp import store
from fwexp.cli import main
from fwexp.data import DATASETS
from fwexp.data.dataset import DataFile, Dataset
from fwexp.errors import DataError, RunsFailed
from fwexp.files import locks
from fwexp.papers.origin import facts, reservations
from fwexp.run import execution, from_arguments, runner, sweep, sweep_folder
from fwexp.run.config import canonical
from fwexp.run.executors import BASIC
from fwexp.store import commit, paths, results, run_store
from tests.small_problems import run_in_plain_python


def hidden(folder):
    return list(folder.rglob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "line"),
    [
        (["deaths", "--tries", "3"], "no other run was lost"),
        (["signals", "--tries", "3"], "none lost"),
        (["hangs", "--tries", "1"], "1 runs that hang: each is a failure after its wall limit, and its sweep goes on"),
        (["pauses", "--tries", "4"], "all stored runs stay"),
    ],
)
def test_faults_lose_nothing(chosen, line):
    """The short form of ``make faults``."""
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

    monkeypatch.setattr(results, "find_runs", lambda *_, **__: [run])
    monkeypatch.setattr(run_store, "read_run", and_then_stored)
    place.rename(elsewhere)
    with pytest.warns(UserWarning, match=r"is damaged and was left out: .* is missing"):
        assert fwexp.load_results(tmp_path).empty


def test_many_writers_of_one_run_leave_one_of_their_versions(tmp_path, config, make_result):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda level: store.save(make_result(level=level), config, tmp_path), range(60)))
    assert store.is_stored(tmp_path, config)
    assert len(fwexp.load_results(tmp_path)) == 4
    assert not hidden(tmp_path)


@pytest.fixture
def numbers(monkeypatch, tmp_path):
    """Return the configuration of a data set ``numbers`` of one file, and a function that writes the file."""
    run_in_plain_python(monkeypatch)

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


@pytest.fixture
def finish(tmp_path, numbers, monkeypatch):
    """Return a function that does runs of seeds by a function of a list of `Todo`, and their statuses; it notes the launches."""

    def finish(launch, *seeds):
        todo = [execution.Todo({**numbers.config, "seed": seed}, str(tmp_path / "results"), str(seed)) for seed in seeds]

        def noted(batch, *_):
            finish.launches.append([each.config["seed"] for each in batch])
            launch(batch)

        monkeypatch.setattr(execution, "_launch", noted)
        jobs = {each.key: (each.name, each.config) for each in todo}
        execution.finish(todo, BASIC, {"jobs": jobs, "wall_limit": None})
        return [each.status for each in todo]

    finish.launches = []
    return finish


@pytest.fixture
def work(tmp_path, numbers):
    """Return a function that does a run as a worker does."""
    return lambda todo, **how: runner.run(todo.config, tmp_path / "results", numbers.folder, verbose=False, **how)


def die(todo) -> int:
    """Leave a run as a worker does that dies during it; return how often."""
    todo.note.parent.mkdir(parents=True, exist_ok=True)
    with todo.note.open("ab") as file:
        file.write(b".")
        return file.tell()


def test_a_lost_run_is_not_done_because_one_of_other_data_is_stored(tmp_path, numbers, finish, work):
    """What the store has of a run before a sweep does not count as what the sweep has done."""
    runner.run({**numbers.config, "seed": 0}, tmp_path / "results", numbers.folder, verbose=False)
    numbers.write(1)

    def launch(todo):
        if len(finish.launches) == 1:
            die(todo[0])
            raise BrokenExecutor("a worker was killed")
        work(todo[0])

    assert finish(launch, 0) == ["done"]
    assert finish.launches == [[0], [0]]


def test_what_another_version_of_the_code_stores_meanwhile_is_not_the_run(tmp_path, finish, work, monkeypatch):
    def launch(todo):
        with monkeypatch.context() as patch:
            if len(finish.launches) == 1:  # another process, which has other sources
                patch.setattr(runner.staleness, "made_by", lambda modules: {"modules": [], "sha256": "0" * 64})
            work(todo[0], force="stale")

    assert finish(launch, 0) == ["done"]
    assert finish.launches == [[0], [0]]
    assert not store.find_runs(tmp_path / "results")[0].stale


def test_workers_of_a_sweep_do_not_take_what_another_version_stored_meanwhile(tmp_path, numbers, monkeypatch):
    """Between the look at the store and the run."""
    results, wheres = tmp_path / "results", []

    def launch(todo, executor, watch, limit):
        wheres.append(sweep_folder.read(watch.folder)["where"])
        watch.do(todo[0].key)

    monkeypatch.setattr(execution, "_launch", launch)
    from_arguments.execute([numbers.config], results_dir=results, data_dir=numbers.folder)
    assert wheres[0]["force"] == "stale"


@pytest.mark.parametrize("alone", [True, False])
def test_a_run_whose_worker_dies_three_times_has_failed(tmp_path, finish, work, capsys, alone):
    """The same holds if a launcher loses the run alone, and if it breaks."""

    def launch(todo):
        if len(finish.launches) > runner.DEATHS:
            work(todo[0])
        elif die(todo[0]) and not alone:
            raise BrokenExecutor("killed")

    assert finish(launch, 0) == ["failed"]
    (failed,) = store.find_runs(tmp_path / "results", include={"failed"})
    assert failed.status == "failed"
    assert "process died 3 times" in failed.record["error"]
    assert capsys.readouterr().err.splitlines()[:3] == 3 * ["0: its worker died; again"]
    assert not hidden(tmp_path / "results")


def test_a_failure_that_is_stored_is_final_also_if_its_worker_dies_after_that(tmp_path, finish):
    def launch(todo):
        die(todo[0])
        runner.fail(ValueError("no"), todo[0].config, tmp_path / "results")

    for _ in range(2):  # a second failure that says the same is another one
        assert finish(launch, 0) == ["failed"]
    assert finish.launches == [[0], [0]]
    assert not hidden(tmp_path / "results")


def test_a_run_that_kills_its_worker_fails_alone(finish, work):
    """Where with the worker all others die, and what they have in work is lost."""

    def launch(todo):
        at_work = todo[:3]  # as there are workers
        killer = [each for each in at_work if each.config["seed"] == 1]
        if killer and not (killer[0].note.exists() and die(killer[0]) > runner.DEATHS):
            for each in at_work:
                if each not in killer or len(finish.launches) == 1:
                    die(each)
            raise BrokenExecutor("a worker was killed")
        for each in todo:
            work(each)

    assert finish(launch, 0, 1, 2, 3) == ["done", "failed", "done", "done"]
    assert finish.launches == [[0, 1, 2, 3], [0], [1], [1], [1], [2], [3]]


def test_what_others_than_the_lost_have_in_work_is_not_lost_with_it(finish, work):
    """If a launcher loses single runs, these start again together; a run that never began counts as no death."""

    def launch(todo):
        if len(finish.launches) == 1:
            die(todo[1])
            todo = [todo[0], todo[3]]
        for each in todo:
            work(each)

    assert finish(launch, 0, 1, 2, 3) == 4 * ["done"]
    assert finish.launches == [[0, 1, 2, 3], [1, 2]]


def test_workers_that_die_before_they_begin_end_the_sweep(finish):
    with pytest.raises(RunsFailed, match="the sweep broke off: workers die before they begin a run"):
        finish(lambda todo: None, 0)
    assert finish.launches == execution.STARTS * [[0]]


def test_a_launcher_that_does_not_work_ends_the_sweep(finish):
    with pytest.raises(RunsFailed, match="the sweep broke off: ZeroDivisionError: division by zero"):
        finish(lambda todo: 1 / 0, 0)
    assert finish.launches == [[0]]


def test_runs_of_others_are_waited_for(tmp_path, numbers, finish, work, capsys):
    def launch(todo):
        if len(finish.launches) > 1:  # it was looked at between the end of the claim and that of the run
            while work(todo[0]).status == "claimed":
                time.sleep(0.1)
            return
        claim = locks.acquire_claim(todo[0].final)

        def others():
            time.sleep(1.0)
            claim.release()
            work(todo[0])

        threading.Thread(target=others).start()

    assert finish(launch, 0) == ["done"]
    lines = capsys.readouterr().err.splitlines()
    assert "waiting for 1 runs" in lines[0]
    assert lines[1] == "0: stored in another process"
    assert store.is_stored(tmp_path / "results", {**numbers.config, "seed": 0})


def test_a_run_that_another_process_keeps_from_being_stored_is_tried_until_it_is_there(tmp_path, numbers, monkeypatch):
    """As one that is stopped during the commit of its run, and loses its claim."""
    tries, run = [], runner.run

    def kept(*given, **how):
        tries.append(given)
        return runner.Outcome("claimed") if len(tries) <= execution.STARTS + 1 else run(*given, **how)

    monkeypatch.setattr(runner, "run", kept)
    from_arguments.execute([numbers.config], results_dir=tmp_path / "results", data_dir=numbers.folder)
    assert len(tries) == execution.STARTS + 2


def test_a_run_that_ends_and_never_is_in_the_store_ends_the_sweep(tmp_path, numbers, monkeypatch):
    monkeypatch.setattr(runner, "run", lambda *_, **__: runner.Outcome("max_passes", None, "stopped"))
    with pytest.raises(RunsFailed, match=r"the sweep broke off: .* ended 3 times, and is not in the store"):
        from_arguments.execute([numbers.config], results_dir=tmp_path / "results", data_dir=numbers.folder)


def test_what_is_stored_while_a_sweep_is_planned_is_not_run(tmp_path, numbers, monkeypatch):
    results, todo, ran = tmp_path / "results", sweep.Todo, []

    def after_storing(config, results_dir):
        runner.run(config, results, numbers.folder, verbose=False)
        return todo(config, results_dir)

    monkeypatch.setattr(sweep, "Todo", after_storing)
    monkeypatch.setattr(sweep, "finish", lambda todo, *_: ran.extend(todo))
    from_arguments.execute([numbers.config], results_dir=results, data_dir=numbers.folder)
    assert ran == []


@pytest.mark.parametrize("error", [ValueError("no such thing"), OSError(28, "No space left on device")])
def test_what_a_run_raises_is_in_the_store_or_ends_the_sweep(tmp_path, numbers, monkeypatch, error):
    """Also what is no mistake of the user, where the run is prepared."""
    monkeypatch.setattr(runner, "check", lambda configs, *_: None)
    monkeypatch.setattr(runner, "_data", lambda *_: (_ for _ in ()).throw(error))
    ends = "the sweep broke off: nothing more can be stored" if isinstance(error, OSError) else "1 of 1 runs failed"
    with pytest.raises(RunsFailed, match=ends):
        from_arguments.execute([numbers.config], results_dir=tmp_path / "results", data_dir=numbers.folder)
    failed = [run.record["error"] for run in store.find_runs(tmp_path / "results", include={"failed"})]
    assert failed == ["ValueError: no such thing"] * isinstance(error, ValueError)


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
