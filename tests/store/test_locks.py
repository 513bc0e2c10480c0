"""Claims: one holder at a time, even if processes die; and sweeps that share their runs by them."""

import errno
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from fwexp.files import atomic, locks, processes

GONE = f"{processes._machine()}-{2**22 + 1}-17"  # beyond the largest number of a process


@pytest.fixture
def final(tmp_path):
    return tmp_path / ("a" * 64)


def put(final, number, owner):
    path = final.with_name(f".{final.name}.claim-{number}")
    path.write_text(owner)
    return path


def test_one_holds_a_claim_until_it_is_released(final):
    claim = locks.acquire_claim(final)
    assert claim is not None
    assert locks.acquire_claim(final) is None
    assert locks.is_claimed(final)
    claim.release()
    assert not locks.is_claimed(final)
    assert list(final.parent.iterdir()) == []
    with locks.claimed(final) as mine, locks.claimed(final) as another:
        assert mine.is_held()
        assert another is None
    assert list(final.parent.iterdir()) == []


@pytest.mark.parametrize("links", [True, False])
def test_of_many_takers_at_most_one_gets_it(final, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError("no links here")))
    for stale in (False, True):
        if stale:
            put(final, 4, GONE)
        with ThreadPoolExecutor(16) as pool:
            taken = [claim for claim in pool.map(lambda _: locks.acquire_claim(final), range(16)) if claim]
        assert len(taken) <= 1
        for claim in taken:
            claim.release()
    locks.clean(final.parent)
    assert list(final.parent.iterdir()) == []


def test_claims_of_killed_processes_do_not_pile_up(final):
    for number in (0, 1, 2):
        put(final, number, GONE)
    assert not locks.is_claimed(final)
    claim = locks.acquire_claim(final)
    assert [path.name for path in final.parent.iterdir()] == [f".{final.name}.claim-3"]
    assert claim.is_held()
    put(final, 4, GONE)  # a successor, which has not removed this claim yet
    assert not claim.is_held()
    claim.release()


def test_a_claim_below_one_that_was_made_meanwhile_is_given_up(final, monkeypatch):
    """Its holder took over the claim that this process had found, removed it, and has died since."""
    name = locks.put

    def late(complete, path):
        put(final, 5, GONE)
        name(complete, path)

    put(final, 0, GONE)
    monkeypatch.setattr(locks, "put", late)
    assert locks.acquire_claim(final) is None
    assert not final.with_name(f".{final.name}.claim-1").exists()


@pytest.mark.parametrize("owner", ["0123456789ab-1-1 elsewhere", "nonsense"])
@pytest.mark.parametrize("hours", [-9, 9])
def test_a_claim_from_elsewhere_is_taken_over_when_nobody_touches_it(final, monkeypatch, owner, hours):
    """For any date of the claim: clocks of other hosts may go wrong."""
    clock = [0.0]
    monkeypatch.setattr(locks, "monotonic", lambda: clock[0])
    path = [put(final, number, owner) for number in (0, 1)][-1]  # the second one took over the first
    host = "elsewhere" if "elsewhere" in owner else "an unknown host"
    assert locks.described(final) == f"{host} ({path})"
    for beat in range(4):  # while it is touched it is held
        os.utime(path, (time.time() + 3600 * hours + beat,) * 2)
        assert locks.acquire_claim(final) is None
        clock[0] += locks.STALE - 1
        assert locks.is_claimed(final)
    clock[0] += 2
    assert not locks.is_claimed(final)
    locks.drop(final)
    assert list(final.parent.iterdir()) == []


def test_a_folder_that_is_removed_meanwhile_is_no_error_and_a_full_disk_is_named(final, monkeypatch):
    look = locks._look
    monkeypatch.setattr(locks, "_look", lambda path: (look(path), path.parent.rmdir())[0])
    below = final / "run.json"
    assert locks.acquire_claim(below) is None
    monkeypatch.setattr(locks, "_look", look)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match=re.escape(f"No space left on device: '{final}'")):
        locks.acquire_claim(below)
    assert list(final.iterdir()) == []


def test_a_holder_touches_its_claim(final, monkeypatch):
    monkeypatch.setattr(locks, "HEARTBEAT", 0.05)
    claim = locks.acquire_claim(final)
    (path,) = final.parent.iterdir()
    os.utime(path, (0, 0))
    deadline = time.monotonic() + 600
    while path.stat().st_mtime == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert path.stat().st_mtime > 0
    claim.release()


def test_a_killed_process_is_gone_also_while_nobody_has_waited_for_it():
    script = "from fwexp.files.processes import this_process; print(this_process(), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    token = child.stdout.readline().strip()
    assert not processes.is_gone(token)
    child.kill()
    deadline = time.monotonic() + 600
    while not processes.is_gone(token) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert processes.is_gone(token)
    child.communicate()
    assert processes.is_gone(token)
    assert not processes.is_gone(processes.this_process())


@pytest.fixture
def token():
    """Return the token of another process, which lives."""
    pid = os.getppid()
    return f"{processes._machine()}-{pid}-{processes._started(pid)}"


def refuse(error):
    def function(*_):
        raise error

    return function


def test_a_process_whose_start_is_not_known_is_not_gone(final, token, monkeypatch):
    """While no more files can be opened: where the token is written, or where it is read."""
    assert not processes.is_gone(f"{token.rpartition('-')[0]}-")
    with monkeypatch.context() as patch:
        patch.setattr("psutil.Process", refuse(OSError(errno.EMFILE, "too many open files")))
        assert not processes.is_gone(token)
        put(final, 0, f"{token} here")
        assert locks.is_claimed(final)
    with monkeypatch.context() as patch:
        patch.setattr(processes, "_started", lambda pid: None)
        assert processes.is_gone(token)


def test_a_process_of_another_user_may_be_hidden(token, monkeypatch):
    monkeypatch.setattr("psutil.Process", refuse(psutil.NoSuchProcess(1)))
    monkeypatch.setattr(os, "kill", refuse(PermissionError()))
    assert not processes.is_gone(token)
    monkeypatch.setattr(os, "kill", refuse(ProcessLookupError()))
    assert processes.is_gone(token)


def test_a_number_that_another_process_has_by_now_is_gone(token):
    head, _, started = token.rpartition("-")
    assert processes.is_gone(f"{head}-{int(started) - 200}")


def test_no_process_is_gone_when_the_clock_is_set(token, monkeypatch):
    now = psutil.boot_time()
    monkeypatch.setattr("psutil._psplatform.boot_time", lambda: now + 3600.0)
    monkeypatch.setattr("psutil._psplatform.BOOT_TIME", now + 3600.0, raising=False)  # where psutil before 7.1 keeps it
    assert psutil.boot_time() == now + 3600.0
    assert not processes.is_gone(token)


def test_an_emulated_process_tells_each_thread_another_start(token, monkeypatch):
    """As qemu-user does; it tells other processes a moment before that of the main thread."""
    mine, (head, _, started) = processes.this_process(), token.rpartition("-")
    monkeypatch.setattr(processes, "_started", lambda pid: "99999999")
    assert processes.this_process() == mine
    assert not processes.is_gone(mine)
    monkeypatch.setattr(processes, "_started", lambda pid: started)
    assert not processes.is_gone(f"{head}-{int(started) + 50}")


def test_a_machine_without_proc_keeps_its_identity_under_another_name(monkeypatch):
    monkeypatch.setattr(processes, "Path", lambda _: Path("none"))
    found = set()
    for name in ("mac.local", "mac.home"):
        monkeypatch.setattr("platform.node", lambda name=name: name)
        found.add(processes._machine.__wrapped__())
    assert len(found) == 1


def test_what_the_dead_left_is_removed_and_nothing_else(tmp_path):
    mine = atomic.hidden(tmp_path / "run")
    mine.mkdir()
    dead = tmp_path / f".run.{GONE}.0123456789ab"
    dead.mkdir()
    (dead / "file").write_text("x")
    (tmp_path / f".other.{GONE}.0123456789ab").write_text("x")
    stranger = tmp_path / ".run.something"
    stranger.mkdir()
    atomic.clean(tmp_path)
    assert set(tmp_path.iterdir()) == {mine, stranger}
