"""Kills at every operation that changes files."""

import itertools
import os
import signal
import sys

CHANGES = ("os.", "shutil.", "ctypes.dlsym")
READS = ("os.listdir", "os.scandir", "os.walk", "os.fwalk")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def changes_files(event: str, arguments: tuple) -> bool:
    """Say whether an audit event may change files: a kill at one that reads leaves what a kill at the next of these leaves."""
    if event == "open":
        return bool(arguments[2] & WRITING)
    return event.startswith(CHANGES) and event not in READS


def killed_at(event: int, act) -> bool:
    """Do something in a process that is killed at its ``event``-th change of files; return whether it came so far."""
    child = os.fork()
    if child == 0:
        try:
            count = itertools.count(1)

            def audit(name, arguments):
                if changes_files(name, arguments) and next(count) == event:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(audit)
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
