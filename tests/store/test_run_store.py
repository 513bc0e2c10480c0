import errno
import functools
import itertools
import json
import operator
import os
import shutil
import signal
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fwexp
from fwexp import store
from fwexp.cli import main
from fwexp.driver.trace import TRACE_COLUMNS
from fwexp.errors import OptionError, ParameterError
from fwexp.files import atomic, locks
from fwexp.run.config import canonical, run_key
from fwexp.store import commit, paths, records, stored_run
from fwexp.store.provenance import provenance
from tests.kills import killed_at
from tests.store.test_locks import GONE

FILES = ["config.yaml", "model.npz", "run.json", "trace.parquet"]


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_stored_run_comes_back_as_it_was(tmp_path, config, make_result):
    result = make_result()
    folder = store.save(result, config, tmp_path, sources={"letters": "abc"})
    assert folder == store.run_dir(tmp_path, config)
    assert folder == tmp_path / "runs" / "digits" / "bcfw" / run_key(config)
    assert files(tmp_path) == sorted(f"{folder.relative_to(tmp_path)}/{name}" for name in FILES)
    run = store.read_run(folder)
    assert (run.status, run.config, run.key) == ("max_passes", config, run_key(config))
    assert run.record["data"] == {"letters": "abc"}
    assert run.record["dual"] is None  # JSON has no NaN
    assert run.record["provenance"]["versions"]["numpy"] == np.__version__
    np.testing.assert_array_equal(run.weights(), result.w)
    pd.testing.assert_frame_equal(store.load_results(tmp_path)[list(TRACE_COLUMNS)], result.trace, check_dtype=False)


def test_results_have_the_trace_the_run_and_its_options(tmp_path, config, make_result):
    store.save(make_result(), config, tmp_path)
    other = canonical({"dataset": {"name": "ocr"}, "solver": {"name": "ssg"}, "lam": "1/n", "seed": 7})
    store.save(make_result("converged", seed=7), other, tmp_path)
    frame = fwexp.load_results(tmp_path)
    assert list(frame.columns[: len(TRACE_COLUMNS) + 8]) == [
        *TRACE_COLUMNS,
        *("dataset", "split", "solver", "lam", "lam_spec", "seed", "key", "status"),
    ]
    assert len(frame) == 8
    first, second = (frame[frame["dataset"] == name].iloc[0] for name in ("digits", "ocr"))
    assert pd.isna(first["split"])
    assert second["split"] == "ocr2"
    assert (first["lam"], first["lam_spec"], first["seed"], first["status"]) == (0.01, "0.01", 0, "max_passes")
    assert (second["lam"], second["lam_spec"], second["seed"], second["status"]) == (0.01, "1/n", 7, "converged")
    assert first["solver.line_search"] == True  # noqa: E712
    assert pd.isna(second["solver.line_search"])
    assert second["key"] == run_key(other)


@pytest.mark.parametrize(
    ("filters", "seeds"),
    [
        ({}, {0, 1, 2}),
        ({"seed": 1}, {1}),
        ({"seed": [1, 2]}, {1, 2}),
        ({"seed": np.array([0, 2])}, {0, 2}),
        ({"lam": 0.01}, {0, 2}),  # as a number: that of 1/n too
        ({"lam": 0.01 * (1 + 1e-15)}, {0, 2}),
        ({"lam": "1/n"}, {2}),
        ({"lam": "0.01"}, {0}),
        ({"lam": ["1/n", 0.1]}, {1, 2}),
        ({"lam": None}, set()),
        ({"lam_spec": "1/n"}, {2}),
        ({"solver": ["bcfw", "ssg"], "dataset": "digits"}, {0, 1, 2}),
        ({"solver": "ssg"}, set()),
        ({"solver.sampling": "perm"}, {1}),
        ({"status": "converged"}, {2}),
    ],
)
def test_filters(tmp_path, config, make_result, filters, seeds):
    for change, status, lam in [
        ({"seed": 0}, "max_passes", 0.01),
        ({"seed": 1, "lam": 0.1, "solver": {"name": "bcfw", "sampling": "perm"}}, "max_passes", 0.1),
        ({"seed": 2, "lam": "1/n"}, "converged", 0.01),
    ]:
        result = make_result(status)
        result.lam = lam
        store.save(result, config | change, tmp_path)
    assert set(store.load_results(tmp_path, **filters)["seed"]) == seeds


def test_a_misspelt_filter_is_refused(tmp_path, config, make_result):
    with pytest.raises(OptionError, match=r"unknown filter 'solvr'.*did you mean 'solver'"):
        store.load_results(tmp_path, solvr="bcfw")
    store.save(make_result(), config, tmp_path)
    with pytest.raises(OptionError, match=r"unknown filter 'solver.samplng'"):
        store.load_results(tmp_path, **{"solver.samplng": "perm"})


CALLS = {"open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.scandir", "os.listdir"}


def ending_at(call, end, action):
    """Act in another process that calls ``end`` before a system call; return it and its exit code, None if it stops."""
    if (child := os.fork()) == 0:
        count, own = itertools.count(), threading.current_thread()

        def hook(event, _):
            if event in CALLS and threading.current_thread() is own and next(count) == call:
                end()

        sys.addaudithook(hook)
        try:
            action()
            os._exit(0 if next(count) > call else ENDED)
        except commit.TakenOver:
            os._exit(TAKEN_OVER)
        finally:
            traceback.print_exc()
            os._exit(1)
    status = os.waitpid(child, os.WUNTRACED)[1]
    return child, None if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)


ENDED, TAKEN_OVER = 10, 12


@pytest.mark.unix
@pytest.mark.parametrize("before", [None, "max_passes", pytest.param("interrupted", marks=pytest.mark.slow)])
def test_whenever_a_writer_is_killed_the_old_or_the_new_run_is_whole(tmp_path, config, make_result, before):
    provenance()
    levels, new, newest = [1] if before == "max_passes" else [], make_result(level=2), make_result(level=3)
    if before:
        store.save(make_result(before, level=1), config, tmp_path / "before")
    for event in itertools.count(1):
        place = tmp_path / str(event)
        if before:
            shutil.copytree(tmp_path / "before", place)
        is_killed = killed_at(event, lambda place=place: store.save(new, config, place))
        assert [run.record["primal"] for run in store.find_runs(place)] in ([levels, [2]] if is_killed else [[2]])
        store.tidy(place)  # also the remains of an interrupted run, which a finished one has replaced
        assert {run.status for run in store.find_runs(place, include={"partial", "failed", "damaged"})} <= {"max_passes", before}
        assert list(set(store.load_results(place)["primal"])) in (levels, [2])
        assert len(files(place)) in (len(FILES) if before else 0, len(FILES))
        assert store.read_run(store.save(newest, config, place)).record["primal"] == 3
        assert len(files(place)) == len(FILES)
        if not is_killed:
            assert event > 10
            return


@pytest.mark.unix
@pytest.mark.parametrize("status", ["max_passes", pytest.param("interrupted", marks=pytest.mark.slow)])
def test_whenever_a_writer_is_paused_and_its_run_is_taken_over_the_run_is_whole(tmp_path, config, make_result, monkeypatch, status):
    provenance()
    mine, other = make_result(status, level=2), make_result(level=3)
    monkeypatch.setattr(locks, "STALE", 0.0)

    def save(result, place):
        with locks.claimed(store.run_dir(place, config), 60) as claim:
            store.save(result, config, place, claim=claim)

    codes = []
    for call in itertools.count():
        place = tmp_path / str(call)
        child, code = ending_at(call, lambda: os.kill(os.getpid(), signal.SIGSTOP), lambda place=place: save(mine, place))
        if code is not None:
            assert code == ENDED
            break
        assert {run.record["primal"] for run in store.find_runs(place)} <= {2}
        save(other, place)
        assert {run.record["primal"] for run in store.find_runs(place)} <= {2, 3}
        os.kill(child, signal.SIGCONT)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        assert {run.status for run in store.find_runs(place, include={"damaged", "failed"})} == {"max_passes"}
        (level,) = set(store.load_results(place)["primal"])
        assert level == 3 if codes[-1] == TAKEN_OVER else level in (2, 3)
        for path in place.rglob("*"):  # by tomorrow
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 2 * commit.DAY))
        store.tidy(place)
        commit.tidy(store.run_dir(place, config))
        assert {run.status for run in store.find_runs(place, include={"damaged", "failed"})} == {"max_passes"}
    assert codes.count(TAKEN_OVER) > 5


def test_a_file_system_without_hard_links_serves(tmp_path, config, make_result, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    for level in (1, 2):
        folder = store.save(make_result(level=level), config, tmp_path)
        assert set(store.load_results(tmp_path)["primal"]) == {level}
        assert len(files(tmp_path)) == len(FILES)
    with locks.claimed(folder), locks.claimed(folder) as second:
        assert second is None
    (tmp_path / "new").touch()
    with pytest.raises(FileExistsError):
        atomic.put(tmp_path / "new", folder / "run.json")
    assert store.is_stored(tmp_path, config)


@pytest.mark.parametrize("written", range(4))
def test_a_write_that_fails_leaves_nothing(tmp_path, config, make_result, monkeypatch, written):
    """The error comes while the file of that number is written."""
    writers = [("write_bytes", Path), ("to_parquet", pd.DataFrame), ("savez", np), ("content_of", records)]
    name, owner = writers[written]

    def fail(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(OSError, match="no space left"):
        store.save(make_result(), config, tmp_path)
    assert list(tmp_path.rglob("*/bcfw/*")) == []


def flip(path, at=20, bit=0):
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def change(path, **values):
    """Write a record anew, as whole as before."""
    records.write(path, records.read(path) | values)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_run_does_not_count(tmp_path, config, make_result, name, damage):
    folder = store.save(make_result(level=1), config, tmp_path)
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[:-1])
    assert not store.is_stored(tmp_path, config)
    assert store.find_runs(tmp_path) == []
    (run,) = store.find_runs(tmp_path, include={"damaged"})
    assert run.damage.startswith(name)
    with pytest.warns(UserWarning, match=f"is damaged and was left out: {name} "):
        assert len(store.load_results(tmp_path, solver="bcfw", seed=0)) == 0
    assert len(store.load_results(tmp_path, solver="ssg")) == 0  # it is none of these, so no warning
    store.save(make_result(level=2), config, tmp_path)
    assert store.is_stored(tmp_path, config)
    assert set(store.load_results(tmp_path)["primal"]) == {2}


@pytest.mark.parametrize("name", sorted(set(FILES) - {"run.json"}))
def test_what_files_hold_is_verified_when_it_is_read(tmp_path, config, make_result, name):
    folder = store.save(make_result(), config, tmp_path)
    store.save(make_result(), config | {"seed": 1}, tmp_path)
    flip(folder / name)
    assert len(store.find_runs(tmp_path)) == 2  # which opens none of them
    with pytest.warns(UserWarning, match=f"is damaged and was left out: {name} is not as it was stored"):
        assert set(store.load_results(tmp_path)["seed"]) == {1}


def test_every_changed_byte_of_a_record_is_noticed(tmp_path, config, make_result):
    store.save(make_result(), config, tmp_path)
    store.save_failure(ValueError("nothing"), config | {"seed": 1}, tmp_path)
    for entry in list(paths.entries(tmp_path)):
        path = entry.path if entry.kind == "failed" else entry.path / "run.json"
        content = path.read_bytes()
        with path.open("r+b", buffering=0) as file:  # written in place, which is quick
            for at, byte in enumerate(content):
                os.pwrite(file.fileno(), bytes([byte ^ (1 << at % 8)]), at)
                assert stored_run.read(entry).status == "damaged", content[at - 20 : at + 1]
                os.pwrite(file.fileno(), bytes([byte]), at)
        assert stored_run.read(entry).status in ("max_passes", "failed")


MISFITS = [
    (("key",), "0" * 64),  # that of another run
    *((("config",), value) for value in ({}, None)),
    (("config", "seed"), -1),
    (("config", "lam"), [0.1]),
    (("config", "solver", "name"), ["bcfw"]),
    *((("status",), value) for value in ("interrupted", "failed", "excellent", None)),
    (("gap",), "0.1"),
    (("lam",), True),
    (("published",), "yes"),
    *((("files",), value) for value in ({}, None)),
    (("files", "model.npz", "sha256"), None),
    *((("sources",), value) for value in (1, {"sha256": "0"}, {"modules": 5, "sha256": "0"})),
    (("provenance",), None),
    *((("provenance", "git"), value) for value in ({"commit": [1], "dirty": False}, {"commit": "0"})),
    (("provenance", "versions"), ["numpy"]),
    *(((name,), ...) for name in ("key", "provenance", "files")),
]


@pytest.mark.parametrize(("path", "value"), MISFITS)
def test_a_record_that_does_not_fit_is_left_out_with_one_line_and_replaced(tmp_path, config, make_result, capsys, path, value):
    store.save(make_result(), config | {"seed": 1}, tmp_path)
    file = store.save(make_result(), config, tmp_path) / "run.json"
    change(file, lam=0.5)
    assert store.is_stored(tmp_path, config)
    record, (*above, last) = records.read(file), path
    part = functools.reduce(operator.getitem, above, record)
    part[last] = value
    if value is ...:
        del part[last]
    records.write(file, record)
    assert not store.is_stored(tmp_path, config)
    assert main(["ls", f"results_dir={tmp_path}"]) == 0
    assert ["damaged" in line for line in capsys.readouterr().out.splitlines()].count(True) == 1
    with pytest.warns(UserWarning, match="is damaged and was left out: ") as found:
        assert set(store.load_results(tmp_path)["seed"]) == {1}
    assert len(found) == 1
    store.tidy(tmp_path)
    store.save(make_result(), config, tmp_path)
    assert store.is_stored(tmp_path, config)


def test_a_record_of_another_configuration_is_not_believed(tmp_path, config, make_result):
    folder = store.save(make_result(), config, tmp_path)
    change(folder / "run.json", config=config | {"seed": 1})
    assert not store.is_stored(tmp_path, config)
    other = store.save(make_result(), config | {"seed": 2}, tmp_path)
    shutil.rmtree(folder)
    shutil.copytree(other, tmp_path / "runs" / "digits" / "ssg" / other.name)  # of another solver
    runs = store.find_runs(tmp_path, include={"damaged"})
    assert [run.status for run in runs] == ["max_passes", "damaged"]
    assert runs[1].damage == "its record is of another data set or solver"


def test_the_record_alone_is_opened_and_that_of_the_runs_asked_for(tmp_path, config, make_result, monkeypatch):
    for solver in ("bcfw", "ssg"):
        for seed in range(3):
            store.save(make_result(), canonical({**config, "solver": {"name": solver}, "seed": seed}), tmp_path)
    runs = store.find_runs(tmp_path)
    opened, read = [], records.read_bytes
    monkeypatch.setattr(records, "read_bytes", lambda path: opened.append(path) or read(path))
    assert len(store.find_runs(tmp_path, include={"partial", "failed", "damaged"}, seed=1, lam=0.01)) == 2
    assert sorted(opened) == [run.path / "run.json" for run in runs]
    for filters, found in [({"solver": "ssg"}, runs[3:]), ({"key": [runs[1].key]}, [runs[1]]), ({"dataset": "ocr"}, [])]:
        opened.clear()
        assert store.find_runs(tmp_path, **filters) == found
        assert opened == [run.path / "run.json" for run in found]
    opened.clear()
    assert store.is_stored(tmp_path, runs[0].config)
    assert opened == [runs[0].path / "run.json"]
    assert store.find_runs(tmp_path, solver="ssg", **{"solver.sampling": "perm"}) == []  # an option of other runs


def test_interrupted_runs_are_kept_apart(tmp_path, config, make_result):
    folder = store.save(make_result("interrupted", level=1), config, tmp_path)
    assert folder.name == run_key(config) + ".partial"
    assert not store.is_stored(tmp_path, config)
    assert len(store.load_results(tmp_path)) == 0
    assert set(store.load_results(tmp_path, partial=True)["status"]) == {"interrupted"}
    store.save(make_result("interrupted", level=2), config, tmp_path)
    assert set(store.load_results(tmp_path, partial=True)["primal"]) == {2}
    store.save(make_result(level=3), config, tmp_path)
    assert not folder.exists()
    assert set(store.load_results(tmp_path, partial=True)["primal"]) == {3}
    store.save(make_result("interrupted", level=4), config, tmp_path)
    assert set(store.load_results(tmp_path)["primal"]) == {3}


def test_a_failure_leaves_a_record_until_the_run_succeeds(tmp_path, config, make_result):
    try:
        raise ZeroDivisionError("by nought")
    except ZeroDivisionError as error:
        path = store.save_failure(error, config, tmp_path)
    assert path == tmp_path / "runs" / "digits" / "bcfw" / "failed" / f"{run_key(config)}.json"
    record = json.loads(path.read_text())
    assert record["error"] == "ZeroDivisionError: by nought"
    assert records.misfit(records.Run, record) == ""
    assert "test_run_store.py" in record["traceback"]
    assert record["config"] == config
    assert not store.is_stored(tmp_path, config)
    assert store.find_runs(tmp_path) == []
    (run,) = store.find_runs(tmp_path, include={"failed"})
    assert (run.status, run.columns()["solver"]) == ("failed", "bcfw")
    store.save(make_result(), config, tmp_path)
    assert store.find_runs(tmp_path, include={"failed"}) == store.find_runs(tmp_path)
    path = store.save_failure(ValueError("\udc80" * 10**6), config | {"seed": 1}, tmp_path)
    assert stored_run.read(paths.Entry(path, "digits", "bcfw", path.stem)).status == "failed"


def test_tidying_does_what_it_can_and_makes_nothing(tmp_path, config, make_result, monkeypatch):
    place = store.save(make_result(), config, tmp_path)
    left, clean = place.with_name(f".{place.name}.claim-0"), locks.clean
    left.write_text(GONE)
    (tmp_path / "runs" / "digits" / "another").mkdir()

    def refuse_another(folder):
        if folder.name == "another":
            raise PermissionError("another user's")
        clean(folder)

    monkeypatch.setattr(locks, "clean", refuse_another)
    store.tidy(tmp_path)
    assert not left.exists()
    commit.tidy(place.with_name("gone"))  # removed since it was seen
    assert list(place.parent.iterdir()) == [place]


def test_a_store_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ParameterError, match=r"results_dir must be a folder.* is no folder"):
            store.check_writable(place)
    store.check_writable(tmp_path / "new" / "below")
    assert not (tmp_path / "new").exists()


PLANTED = {
    "a file": lambda runs: (runs / "notes.txt").write_text("hi"),
    "a link": lambda runs: (runs / "link").symlink_to("nowhere"),
    "a file below": lambda runs: (runs / "digits" / "bcfw" / "notes.txt").write_text("hi"),
    "a long name": lambda runs: (runs / ("d" * 250) / "bcfw" / "notes").mkdir(parents=True),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_stray_files_and_links_are_left_out(tmp_path, config, make_result, plant):
    store.save(make_result(), config, tmp_path)
    plant(tmp_path / "runs")
    assert main(["ls", f"results_dir={tmp_path}"]) == 0
    assert len(store.find_runs(tmp_path)) == 1
