"""Functions that Windows lacks, and its rules for open files, simulated on other systems."""

import ast
import errno
import os
import signal
import threading
from pathlib import Path
from time import monotonic

import psutil
import pytest

import fwexp
from fwexp.files import atomic, folders, processes
from fwexp.run import sweep_folder

PACKAGE = Path(fwexp.__file__).parent
UNIX = {  # what the standard library has only on Unix, or means something else elsewhere
    "os": "chown fchmod fchown fork geteuid getgid getloadavg getpgid getuid kill killpg lchown mkfifo nice sched_getaffinity "
    "setsid statvfs sysconf uname wait O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK",
    "signal": "SIGALRM SIGCHLD SIGHUP SIGKILL SIGUSR1 SIGUSR2 SIG_BLOCK SIG_UNBLOCK alarm pause pthread_kill pthread_sigmask "
    "setitimer",
}
MODULES = {"fcntl", "grp", "pwd", "resource", "termios"}
GUARDED = {
    ("files/caches.py", "geteuid"),
    ("files/processes.py", "kill"),
    ("jit/threads.py", "sched_getaffinity"),
    ("run/sweep_folder.py", "SIG_BLOCK"),
    ("run/sweep_folder.py", "SIG_UNBLOCK"),
    ("run/sweep_folder.py", "pthread_sigmask"),
}


def test_the_package_uses_nothing_of_unix_alone_without_a_look():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names += [node.attr] if node.attr in UNIX.get(node.value.id, "").split() else []
            elif not MODULES.intersection(names):
                continue
            found |= {(path.relative_to(PACKAGE).as_posix(), name) for name in names}
    assert found == GUARDED


def test_a_drive_is_no_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert folders.check_folder("results_dir", "C://temp/x") == Path("C://temp/x")


def test_a_folder_need_not_be_flushed_but_a_file(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    opened, refused = [], OSError(errno.EBADF, "Bad file descriptor")

    def opens(path, flags, opens=os.open):
        opened.append(flags)
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied")
        return opens(path, flags)

    def fsync(_):
        raise refused

    monkeypatch.setattr(os, "open", opens)
    atomic.flush(tmp_path)
    atomic.flush(tmp_path / "file")
    assert opened[-1] & os.O_RDWR
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="Bad file descriptor"):
        atomic.flush(tmp_path / "file")


def test_a_name_is_given_again_and_again_while_a_reader_has_the_file(tmp_path, monkeypatch):
    replace, refusals = Path.replace, [PermissionError(errno.EACCES, "Access is denied")] * 3

    def replaced(path, target):
        if refusals:
            raise refusals.pop()
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", replaced)
    atomic.write({tmp_path / "file": b"content"})
    assert (tmp_path / "file").read_bytes() == b"content"
    monkeypatch.setattr(atomic, "PATIENCE", 0.05)
    refusals += [PermissionError(errno.EACCES, "Access is denied")] * 10**6
    began = monotonic()
    with pytest.raises(PermissionError):
        atomic.write({tmp_path / "file": b"new"})
    assert monotonic() - began >= 0.05
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_note_of_a_worker_is_closed_before_it_gets_another_name(tmp_path, monkeypatch):
    sweep = {"plugins": "", "wall_limit": None}
    monkeypatch.setattr(sweep_folder, "read", lambda folder: sweep)
    monkeypatch.setattr(sweep_folder, "perform", lambda folder, key: ("max_passes", "line"))
    monkeypatch.setattr(sweep_folder, "put", lambda new, path, over: renamed.append((new, path, psutil.Process().open_files())))
    (tmp_path / sweep_folder.SWEEP).touch()
    renamed = []
    assert sweep_folder.Job()(tmp_path, "key") is None
    ((new, path, opened),) = renamed
    assert (new.name, path.name, new.read_text()) == ("key.begun", "key.ended", "line")
    assert str(new) not in [file.path for file in opened]


def test_workers_never_hear_ctrl_c_where_signals_cannot_be_blocked(tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.delattr(signal, "pthread_sigmask")
    monkeypatch.setattr(threading.Thread, "start", lambda thread: None)  # of the thread that ends this process with its parent

    def interrupted():
        with sweep_folder.stopped_by_interrupt(tmp_path):
            signal.raise_signal(signal.SIGINT)  # heard by the parent, which stops the sweep
            sweep_folder.follow(processes.this_process())
            signal.raise_signal(signal.SIGINT)  # in a worker

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
