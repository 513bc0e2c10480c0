"""Folders that are replaced as a whole, whatever dies meanwhile."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from fwexp.errors import ParameterError
from fwexp.files import locks
from fwexp.files.atomic import clean, discard, flush, hidden

PATIENCE = 60.0  # seconds for somebody else to write to the same folder


@contextlib.contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder, which takes the place of ``folder`` at the end; until then, and after an error, that is as it was.

    Writers take turns. Of who is killed just when the two trade places, the next one puts the old folder back.

    Raises
    ------
    ParameterError
        Another process does not come to an end with it.
    """
    folder = folder.resolve()
    before = folder.with_name(f".{folder.name}.before")
    with locks.claimed(folder, PATIENCE) as mine:
        if not mine:
            raise ParameterError(f"{folder} is being written by another process; repeat the command when that has ended")
        clean(folder.parent)
        _put_back(before, folder)
        temporary = hidden(folder)
        temporary.mkdir()
        try:
            yield temporary
            for path in (*temporary.rglob("*"), temporary):
                flush(path)
            if folder.is_dir():
                folder.rename(before)
            temporary.rename(folder)
            flush(folder.parent)
        finally:
            _put_back(before, folder)
            discard(temporary)


def _put_back(before: Path, folder: Path) -> None:
    """Let the old folder have its place again, or remove it if there is another one."""
    if before.exists() and not folder.exists():
        before.rename(folder)
    discard(before)
