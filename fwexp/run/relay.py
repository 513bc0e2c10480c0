"""The folder of a sweep below the results while it runs: what is to be done, which workers read, and what they leave there.

A worker may have nothing but the store in common with the parent: neither its memory nor its standard error. So it is launched
with the key of a run, reads the configuration here, and leaves its line here, which the parent prints.
"""

import contextlib
import functools
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from fwexp.driver.progress import print_line
from fwexp.files.atomic import HIDDEN, hidden, write

SECONDS = 0.2  # between two readings
SWEEP = "sweep.json"


def parent(sweep_id: str) -> str:
    """Return the token of the process that a sweep belongs to, empty if its name does not say so."""
    named = HIDDEN.search(sweep_id)
    return named["process"] if named else ""


@functools.lru_cache(maxsize=1)
def read(folder: str) -> dict:
    """Return what the sweep with this folder does, once per process."""
    return json.loads((Path(folder) / SWEEP).read_text(encoding="utf-8"))


def leave_line(folder: Path, name: str, line: str) -> None:
    """Leave a line for the parent; in vain if that is gone."""
    with contextlib.suppress(OSError):
        write({folder / f"{name}.line": line.encode(errors="replace")})


@contextlib.contextmanager
def sweeping(results_dir, sweep: dict) -> Iterator[Path]:
    """Make the folder of a sweep, which nobody else has, print what workers leave there as it comes, and remove it."""
    folder = hidden(Path(results_dir) / "sweep")
    missing = [path for path in folder.parents if not path.exists()]
    folder.mkdir(parents=True)
    done = threading.Event()

    def watch() -> None:
        while not done.wait(SECONDS):
            _print(folder)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        write({folder / SWEEP: json.dumps(sweep).encode()})
        yield folder
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
