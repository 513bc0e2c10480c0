"""What the processes of a sweep leave in its folder, and what its parent says of that."""

import contextlib
import re
import sys

import pytest

from fwexp.errors import ParameterError
from fwexp.run import deaths, launching, relay
from fwexp.run.runner import Outcome


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Yield the folder of a sweep of two runs; the test says when the relay looks at it."""
    monkeypatch.setattr(relay, "SECONDS", 1e9)
    jobs = {key: {"name": f"run {key}", "config": {}} for key in "ab"}
    with relay.sweeping(tmp_path, {"where": {"results_dir": str(tmp_path)}, "jobs": jobs, "plugins": []}) as folder:
        yield folder


def test_a_run_that_has_begun_and_not_ended_is_known(folder):
    assert not relay.has_begun(folder, "a")
    assert [relay.begin(folder, "a") for _ in range(3)] == [1, 2, 3]
    assert relay.has_begun(folder, "a")
    assert not relay.has_begun(folder, "b")
    relay.end(folder, "a")
    assert not relay.has_begun(folder, "a")
    assert relay.begin(folder, "a") == 1


@pytest.mark.parametrize("ends", [lambda *_: Outcome("claimed"), lambda *_: sys.exit(1)])
def test_a_run_that_ends_in_good_order_has_not_died(folder, monkeypatch, ends):
    """As submitit ends it when the time of its job is up."""
    monkeypatch.setattr(launching, "_run", ends)
    for _ in range(deaths.DEATHS + 1):
        with contextlib.suppress(SystemExit):
            launching._in_worker(folder, "a")
        assert not relay.has_begun(folder, "a")
    assert list(folder.iterdir()) == [folder / relay.SWEEP]


SAID = ["0 done, 1 running, 1 left", "0 done, 2 running, 0 left", "run a: ended", "1 done, 1 running, 0 left", "run b: ended"]


def sweep(folder) -> None:
    """Do two runs, looked at after each event."""
    watched = relay._Watched(folder, 2)
    for event in ("begin a", "begin b", "", "end a", "end b", ""):
        what, _, key = event.partition(" ")
        if what:
            relay.begin(folder, key) if what == "begin" else relay.end(folder, key, f"run {key}: ended")
        watched.look()


def test_a_line_says_what_is_done_running_and_left(folder, monkeypatch, capsys):
    monkeypatch.setattr(relay, "PROGRESS", -1.0)
    sweep(folder)
    assert capsys.readouterr().err.splitlines() == SAID


def test_now_and_then(folder, capsys):
    sweep(folder)
    assert capsys.readouterr().err.splitlines() == ["run a: ended", "run b: ended"]


def test_on_a_terminal_it_stands_below_all_others(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    sweep(folder)
    screen = capsys.readouterr().err
    assert [line.rpartition("\r\x1b[K")[2] for line in screen.split("\n")] == ["run a: ended", "run b: ended", ""]
    assert [said for said in re.split(r"\r\x1b\[K|\n", screen) if said] == SAID


def test_a_store_that_a_worker_does_not_see_is_named(tmp_path):
    with pytest.raises(ParameterError, match=r"results_dir must be a folder that all workers see; .* is another one on "):
        launching._in_worker(tmp_path / ".sweep.elsewhere", "a")
