"""``fwexp data list|fetch|verify|prepare``."""

# ruff: noqa: T201

import math
import sys
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.data import DATASETS, check_options
from fwexp.data.data_files import resolve_data_dir
from fwexp.data.dataset import DataFile
from fwexp.errors import DataError, MissingPackage, ParameterError, unknown
from fwexp.options import KINDS

USAGE = """\
usage: fwexp data [list|fetch|verify|prepare] [DATASET ...] [data_dir=DIR]

List, download or check the data sets.

  list      list the data sets, and whether their files are present (the default)
  fetch     download missing or damaged files from their canonical sources
  verify    check whole files: sizes, checksums, counts; exit code 1 if one is missing, damaged or untested
  prepare   read the files now, and cache slow computations for later runs (hansards: about a minute)

DATASET limits the action to these data sets (default: all). data_dir=DIR is the folder of the files (default: FWEXP_DATA if set,
otherwise ~/.cache/fwexp).
"""


@command("fwexp data", USAGE, words=math.inf, offers=lambda: [*ACTIONS, *DATASETS], folder_keys=("data_dir",))
def main(given: Arguments) -> int:
    """Run ``fwexp data``, and return the exit code: 1 if a file is missing, damaged or untested, or could not be fetched."""
    action, *names = given.words or ["list"]
    if action not in ACTIONS:
        raise ParameterError(unknown("action of fwexp data", action, ACTIONS))
    for name in names:
        DATASETS.find(name)
    return ACTIONS[action](list(dict.fromkeys(names)) or list(DATASETS), resolve_data_dir(given.keys.get("data_dir")))


def _list(names: list[str], data_dir: Path) -> int:
    rows, cures = [("name", "kind", "title", "examples and dimension", "size", "files", "where")], []
    for name in sorted(names, key=lambda name: list(KINDS).index(DATASETS[name].kind)):
        entry = DATASETS[name]
        missing = [file for file in entry.files if file.find(data_dir) is None]
        sizes = [file.size for file in entry.files]
        size = "?" if None in sizes else _bytes(sum(sizes))
        folders = {str((data_dir / file.path).parent) for file in entry.files if file.home is None}
        where = ", ".join(sorted(folders)) or "in the package"
        cures += dict.fromkeys(f"{name}: {file.cure(name)}" for file in missing)
        rows.append((name, entry.kind, entry.title, entry.shape, size, "missing" if missing else "present", where))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(*cures, sep="\n", end="\n" * bool(cures))
    return 0


def _verify(names: list[str], data_dir: Path) -> int:
    failed = False
    for name in names:
        for file in DATASETS[name].files:
            state, text = _state(file, data_dir)
            if state == "missing":
                text += f"; {file.cure(name)}"
            failed |= state != "ok"
            print(f"{name:10} {state:8} {text}")
    return int(failed)


def _fetch(names: list[str], data_dir: Path) -> int:
    from fwexp.data.fetch import fetch

    failed = False
    for name in names:
        for file in DATASETS[name].files:
            state, text = _state(file, data_dir)
            if state == "ok":
                print(f"{name:10} present  {text}")
                continue
            try:
                if state == "untested":
                    raise DataError(text)
                if file.url is None:
                    raise DataError(f"{text}; {file.cure(name)}")
                path = fetch(file, data_dir, progress=sys.stderr.isatty())
            except DataError as error:
                print(f"fwexp: {error}", file=sys.stderr)
                failed = True
            else:
                kept = f" (the damaged file is kept: {text})" if state == "damaged" else ""
                print(f"{name:10} fetched  {path} from {file.url}{kept}")
    return int(failed)


def _prepare(names: list[str], data_dir: Path) -> int:
    failed = False
    for name in names:
        try:
            train, test = DATASETS[name].load(check_options(name), data_dir)
        except (DataError, MissingPackage) as error:
            print(f"fwexp: {error}", file=sys.stderr)
            failed = True
        else:
            size = f"n {train.n} + {test.n}, d {train.d}" if test is not None else DATASETS[name].shape
            print(f"{name:10} prepared {size}")
    return int(failed)


ACTIONS = {"list": _list, "fetch": _fetch, "verify": _verify, "prepare": _prepare}


def _state(file: DataFile, data_dir: Path) -> tuple[str, str]:
    """Return "ok", "missing", "damaged" or "untested", and a text that names the file and the reason."""
    path = file.find(data_dir)
    if path is None:
        return "missing", str(file.folder(data_dir) / file.path)
    try:
        return "ok", f"{path}: {file.verify(path)}"
    except DataError as error:
        return "damaged", str(error)
    except MissingPackage as error:  # that the check needs
        return "untested", str(error)


def _bytes(size: int) -> str:
    """Return a readable size, unpacked."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
