"""Files that are read only if they are regular and no larger than expected.

To open a pipe waits for a writer, and devices such as /dev/zero have no end.
"""

import errno
import math
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path, largest: float = math.inf) -> BinaryIO:
    """Open a regular file of at most so many bytes, for reading; links are followed.

    Raises
    ------
    OSError
        It cannot be read, is of another kind, or is larger.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size > largest:
        os.close(descriptor)
        is_folder, is_large = stat.S_ISDIR(found.st_mode), stat.S_ISREG(found.st_mode)
        number = errno.EISDIR if is_folder else errno.EFBIG if is_large else errno.ENXIO
        reason = f"has {found.st_size} bytes, expected at most {largest}" if is_large else "is no file"
        raise OSError(number, reason, str(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, largest: float = math.inf) -> bytes:
    """Return the content of a regular file of at most so many bytes; errors as in `open_regular`."""
    with open_regular(path, largest) as file:
        content = file.read() if largest == math.inf else file.read(int(largest) + 1)
    if len(content) > largest:  # it has grown since
        raise OSError(errno.EFBIG, f"has more than {largest} bytes", str(path))
    return content
