"""Identities of processes, which distinguish each from all others that may see the same files; and whether one still runs."""

import contextlib
import hashlib
import os
import platform
import re
from functools import cache
from pathlib import Path

TOKEN = re.compile(r"(?P<machine>[0-9a-f]{12})-(?P<pid>\d+)-(?P<started>\d*)")


@cache
def _machine() -> str:
    """Return the common identity of processes that can see each other's numbers."""
    facts = [platform.node()]
    with contextlib.suppress(OSError):
        facts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        facts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256(" ".join(facts).encode()).hexdigest()[:12]


def _started(pid: int) -> str | None:
    """Return when a process of this machine started; empty if the system does not report it; None if there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except (PermissionError, OverflowError):
        pass
    return ""


def this_process() -> str:
    """Return the token of this process."""
    return f"{_machine()}-{os.getpid()}-{_started(os.getpid())}"


def is_gone(token: str) -> bool:
    """Return whether the process of a token is known to have ended; False for tokens of other machines and for non-tokens."""
    match = TOKEN.fullmatch(token)
    if not match or match["machine"] != _machine():
        return False
    started = _started(int(match["pid"]))
    return started is None or (started != match["started"] and "" not in (started, match["started"]))
