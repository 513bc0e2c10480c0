"""Kills at every file operation."""

import itertools
import os
import signal
import sys

FILE_EVENTS = ("open", "os.", "shutil.", "pathlib.", "ctypes.dlsym")


def killed_at(event: int, act) -> bool:
    """Do something in a process that is killed at its ``event``-th file operation; return whether it came so far."""
    child = os.fork()
    if child == 0:
        try:
            count = itertools.count(1)

            def audit(name, _):
                if name.startswith(FILE_EVENTS) and next(count) == event:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(audit)
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
