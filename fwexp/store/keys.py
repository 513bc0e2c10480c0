"""The identity of a run: the key of its canonical configuration, and what of such a one can be read without knowing solvers."""

import json
from collections.abc import Mapping

from fwexp.files.checksums import sha256

GROUPS = ("task", "dataset", "solver")
TRAIN = "train"  # the task by default
STALE = "stale"  # the value of force that runs again what other sources made


def key_of(config: Mapping) -> str:
    """Return the key of a configuration that is canonical, or was when it was stored: the sha256 of its sorted JSON."""
    return sha256(json.dumps(config, sort_keys=True, allow_nan=False).encode())


def task_of(config: Mapping) -> str:
    """Return the name of the task of a canonical configuration."""
    task = config.get("task", TRAIN)
    return task if isinstance(task, str) else task["name"]  # text in runs that were stored when tasks had no options
