"""Files that are read only if they are regular: to open a pipe waits for a writer, and devices such as /dev/zero have no end."""

import errno
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; an OSError if it cannot be read or is of another kind. Links are followed."""
    path = Path(path)
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "is no file", str(path))
    return path.open("rb")


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file; errors as in `open_regular`."""
    with open_regular(path) as file:
        return file.read()
