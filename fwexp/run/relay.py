"""What worker processes leave while a sweep runs: their lines, which the parent prints, and their launcher's own files.

Not every worker has the parent's standard error: those of submitit write to files. So each leaves its line in a folder of the
sweep below the results, which the parent reads until all are done, and then removes.
"""

import contextlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from fwexp.driver.progress import print_line
from fwexp.files import folders
from fwexp.files.atomic import HIDDEN, hidden

SECONDS = 0.2  # between two readings


def new_id() -> str:
    """Return what nobody else calls a sweep, and that says whose it is."""
    return hidden(Path("sweep")).name


def parent(sweep_id: str) -> str:
    """Return the token of the process that a sweep belongs to, empty if its name does not say so."""
    named = HIDDEN.search(sweep_id)
    return named["process"] if named else ""


def sweep_folder(results_dir, sweep_id: str) -> Path:
    """Return the folder of a sweep while it runs."""
    return folders.check_folder("results_dir", results_dir).absolute() / sweep_id


def leave_line(folder: Path, name: str, line: str) -> None:
    """Leave a line for the parent; in vain if that is gone."""
    hidden = folder / f".{name}"
    with contextlib.suppress(OSError):
        hidden.write_text(line, encoding="utf-8")
        hidden.rename(folder / f"{name}.line")


@contextlib.contextmanager
def printing(folder: Path) -> Iterator[None]:
    """Make the folder of a sweep, print what workers leave there as it comes, and remove it."""
    missing = [path for path in folder.parents if not path.exists()]
    folder.mkdir(parents=True)
    done = threading.Event()

    def watch() -> None:
        while not done.wait(SECONDS):
            _print(folder)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        _print(folder)
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # there are runs
            for path in missing:
                path.rmdir()


def _print(folder: Path) -> None:
    for path in sorted(folder.glob("[!.]*.line"), key=lambda path: path.stat().st_mtime):
        print_line(path.read_text(encoding="utf-8"))
        path.unlink()
