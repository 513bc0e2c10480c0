"""Identities of processes, which distinguish each from all others that may see the same files; and whether one still runs."""

import hashlib
import os
import re
import uuid
from functools import cache
from pathlib import Path

TOKEN = re.compile(r"(?P<machine>[0-9a-f]{12})-(?P<pid>\d+)-(?P<started>\d*)")
SAME = 100  # in 1/100 s: emulators (qemu) tell a process that it started a moment later than others see


@cache
def _machine() -> str:
    """Return the common identity of processes that can see each other's numbers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        identity = f"{boot} {Path('/proc/self/ns/pid').readlink()}"  # a container of Linux has numbers of its own
    except OSError:
        identity = f"{uuid.getnode():x}"  # The name of a Mac changes with its network.
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def _started(pid: int) -> str | None:
    """Return when a process of this machine started, in 1/100 s; empty if that is hidden; None if there is no such process."""
    import psutil  # here, because a tagger predicts sooner without it

    try:
        boot = psutil.boot_time() if psutil.LINUX else 0.0  # psutil adds it there, and it changes when the clock is set
        process = psutil.Process(pid)
        ended = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return None if ended else f"{100 * (process.create_time() - boot):.0f}"
    except psutil.NoSuchProcess:
        return "" if psutil.POSIX and _is_hidden(pid) else None
    except (psutil.Error, OSError):
        return ""


def _is_hidden(pid: int) -> bool:
    """Return whether there is a process of another user, which Linux may keep out of /proc (hidepid)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        pass
    return False


@cache
def _own_start(pid: int) -> str:
    """Return when this process started, read once: emulators tell each thread another time."""
    return _started(pid) or ""


def this_process() -> str:
    """Return the token of this process."""
    return f"{_machine()}-{os.getpid()}-{_own_start(os.getpid())}"


def is_gone(token: str) -> bool:
    """Return whether the process of a token is known to have ended; False for tokens of other machines and for non-tokens."""
    match = TOKEN.fullmatch(token)
    if not match or match["machine"] != _machine() or token == this_process():
        return False
    started = _started(int(match["pid"]))
    return started is None or ("" not in (started, match["started"]) and abs(int(started) - int(match["started"])) > SAME)
