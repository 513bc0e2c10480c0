"""Paths that users pass."""

import os
from pathlib import Path

from fwexp.errors import ParameterError, shown


def check_path(name: str, value) -> Path:
    """Return the path of a file or folder, ``~`` written out."""
    if not isinstance(value, str | os.PathLike) or value == "" or "\0" in os.fsdecode(value):
        raise ParameterError(f"{name} must be a path, got {shown(value)}")
    path = Path(os.fsdecode(value))
    if any(len(part) > 255 for part in path.parts):
        raise ParameterError(f"{name} must be a path with names of at most 255 characters, got {shown(value)}")
    try:
        return path.expanduser()
    except RuntimeError:  # ~name of an unknown user
        raise ParameterError(f"{name} must be a path, got {shown(value)} of an unknown user") from None
