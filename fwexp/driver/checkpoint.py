"""Checkpoints: a run saves its state from time to time, and a later one continues from there, bit for bit."""

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from fwexp import record
from fwexp.driver.progress import print_line
from fwexp.driver.schedule import CHECKPOINT_SECONDS
from fwexp.errors import ParameterError
from fwexp.files import atomic, folders, npz

IDENTITY = "identity"  # the name of the first array in the file, by which it is known as a checkpoint
SHARE = 0.05  # largest part of the time that saving takes


class Checkpoint:
    """The file in which a run is saved while it lasts, every so many ``seconds``; infinite: only when it is interrupted."""

    # A run continues from an existing file if it is undamaged and has the same ``identity``, all that its numbers depend on by the
    # words that name it to a user; otherwise it starts anew, and a line names the reason. ``is_ours`` returns whether the file may
    # be written: not by a process that was paused while another one took over its run.

    def __init__(
        self, path, identity: Mapping, seconds: float = CHECKPOINT_SECONDS, is_ours: Callable[[], bool] = lambda: True
    ) -> None:
        self.path, self.seconds = Path(path), seconds
        self._identity = {name: json.dumps(part, sort_keys=True) for name, part in identity.items()}
        self._saved, self._cost = time.monotonic(), 0.0
        self._usable, self._is_ours = True, is_ours

    @property
    def due(self) -> bool:
        """True if it is time to save."""
        return time.monotonic() - self._saved >= max(self.seconds, self._cost / SHARE)

    def save(self, run: Mapping) -> None:
        """Replace the file; if that fails, the run continues without one."""
        if not (self._usable and self._is_ours()):
            return
        start = time.monotonic()
        try:
            identity = np.frombuffer(json.dumps(self._identity).encode(), dtype=np.uint8)
            if os.path.lexists(self.path) and not is_checkpoint(self.path):
                raise OSError(errno.EEXIST, "is no file that fwexp wrote; move it away", str(self.path))
            arrays = {IDENTITY: identity, **record.to_arrays(run)}
            atomic.write({self.path: lambda file: np.savez(file, **arrays)})
        except (OSError, ParameterError) as error:
            self._usable = False
            print_line(f"this run cannot be saved while it lasts: {error}")
        self._saved = time.monotonic()
        self._cost = self._saved - start

    def load(self):
        """Return the saved run, None if there is no file from which this run can continue."""
        if (arrays := npz.read(self.path)) is None:
            if is_checkpoint(self.path):
                print_line(f"starts from scratch: {self.path} is damaged")
            return None
        try:
            identity = json.loads(bytes(arrays[IDENTITY]))
            changed = [name for name, part in self._identity.items() if identity.get(name) != part]
            if not changed:
                return record.from_arrays(arrays)
        except (ParameterError, ValueError, LookupError, TypeError, AttributeError):  # It has a class that is gone, for instance.
            changed = ["its format"]
        print_line(f"starts from scratch: {' and '.join(changed)} changed since {self.path} was saved")
        return None


def is_checkpoint(path: Path) -> bool:
    """Return whether a file is no link and was written by `Checkpoint.save`, even if it was damaged since."""
    try:
        if path.is_symlink() or not folders.is_file(path):
            return False
        with path.open("rb") as file:
            return f"{IDENTITY}.npy".encode() in file.read(64)
    except OSError:
        return False


def remove(path: Path) -> None:
    """Remove a checkpoint, as far as that can be done; files of others stay."""
    with contextlib.suppress(OSError):
        if is_checkpoint(path):
            path.unlink()
