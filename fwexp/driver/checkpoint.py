"""Checkpoints: now and then a run saves all that it has changed, and a later one goes on from there, bit for bit."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

from fwexp import record
from fwexp.driver.progress import print_line
from fwexp.driver.schedule import CHECKPOINT_SECONDS
from fwexp.errors import ParameterError
from fwexp.files.npz import seal, unseal

SHARE = 0.05  # of the time, at most, is spent on them


class Checkpoint:
    """The file in which a run is saved while it lasts.

    Parameters
    ----------
    path : path
        The file; what is there already is gone on from if it is whole and of the same identity.
    identity : mapping
        What the run is, as plain data: everything that its numbers depend on, such as settings, data, code and kind of CPU.
    seconds : float
        Between two savings; infinite: only where the run is interrupted.
    """

    def __init__(self, path, identity: Mapping, seconds: float = CHECKPOINT_SECONDS) -> None:
        self.path, self.seconds = Path(path), seconds
        self._identity = json.dumps(identity, sort_keys=True).encode()
        self._saved, self._cost = time.monotonic(), 0.0
        self._usable = True

    @property
    def due(self) -> bool:
        """True if it is time to save."""
        return time.monotonic() - self._saved >= max(self.seconds, self._cost / SHARE)

    def save(self, run: Mapping) -> None:
        """Replace the file; where that fails the run goes on without.

        Parameters
        ----------
        run : record
            What `load` returns later.
        """
        if not self._usable:
            return
        start = time.monotonic()
        try:
            seal(self.path, record.to_arrays(run), self._identity)
        except (OSError, ParameterError) as error:
            self._usable = False
            print_line(f"this run cannot be saved while it lasts: {error}")
        self._saved = time.monotonic()
        self._cost = self._saved - start

    def load(self):
        """Return what was saved.

        Returns
        -------
        record or None
            None where there is nothing, or nothing that this run can go on from.
        """
        try:
            arrays = unseal(self.path, self._identity)
            return None if arrays is None else record.from_arrays(arrays)
        except ParameterError:  # of a class that is not there; the run starts anew
            return None
