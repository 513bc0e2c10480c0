"""Files that fwexp may replace and remove: those that the mark of their folder names.

The mark, ``.fwexp``, says what fwexp writes into a folder, and names the files that it wrote there. A file that is not named
there, or that is a link or a folder, belongs to the user: a command that would have to replace it raises `ParameterError` before
it changes anything. A folder may be a link to another disk; the rule holds for the folder that it names.
"""

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from fwexp.errors import ParameterError, exit_code
from fwexp.files import atomic, folders, locks

MARK = ".fwexp"
HEAD = "# {}: written by fwexp, which replaces and removes the files that are named here, and no others"
PATIENCE = 60.0  # seconds for another process that writes to the same folder


def check(paths: Iterable[Path], kind: str) -> None:
    """Check that files can be written: none, or only files that fwexp wrote, are there. A folder holds one ``kind`` of files."""
    paths = list(paths)
    for folder in {path.parent for path in paths}:
        _check_files([path for path in paths if path.parent == folder], kind)


def write(contents: Mapping[Path, bytes | Callable[[], bytes]], kind: str) -> None:
    """Write files that belong together over those that fwexp wrote; functions give contents while no other process writes."""
    folder = next(iter(contents)).parent
    _check_files(contents, kind)
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder, folder / MARK):
        named = _check_files(contents, kind)
        contents = {path: content() if callable(content) else content for path, content in contents.items()}
        if not named.issuperset(names := {path.name for path in contents}):
            atomic.write({folder / MARK: _mark(kind, named | names)})
        atomic.write(contents)


def remove(paths: Iterable[Path], kind: str) -> None:
    """Remove files of one folder, as far as they exist, in this order; `ParameterError` as from `write`."""
    paths = [path for path in paths if os.path.lexists(path)]
    for folder in {path.parent for path in paths}:
        with _alone(folder, folder / MARK):
            named = _check_files(paths, kind)
            for path in paths:
                path.unlink(missing_ok=True)
            atomic.write({folder / MARK: _mark(kind, named - {path.name for path in paths})})


def check_folder(folder: Path, kind: str | None = None) -> None:
    """Check that a folder can be replaced as a whole: it is missing, empty, or holds only files that fwexp wrote."""
    if not os.path.lexists(folder):
        return
    named = _named(folder, kind)
    if not os.path.lexists(folder / MARK) and (paths := sorted(folder.iterdir())):
        found = f"another one with {paths[0].name} and no mark {MARK}"
        raise ParameterError(f"{folder} must be a folder that fwexp wrote, got {found}; move it away")
    above = {str(parent) for name in named for parent in PurePosixPath(name).parents}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if not (place in above and stat.S_ISDIR(path.lstat().st_mode)):
            _check_file(path, place in named or place == MARK)


@contextlib.contextmanager
def replacing_folder(folder: Path, kind: str) -> Iterator[Path]:
    """Yield a hidden folder, which takes the place of ``folder`` at the end, as `atomic.replacing` does. Writers take turns."""

    def check_kind(path: Path) -> None:
        if path != folder and path.is_symlink():
            raise ParameterError(f"{path} must be a folder that fwexp wrote, got a link; move it away")
        check_folder(path, kind)

    folder = Path(os.path.realpath(folder))
    check_folder(folder, kind)
    with _alone(folder, folder), atomic.replacing(folder, check_kind) as new:
        yield new
        for path in sorted(new.rglob("*"), reverse=True):  # no mark names an empty folder: it could be anybody's
            if folders.is_folder(path) and not any(path.iterdir()):
                path.rmdir()
        files = (path.relative_to(new).as_posix() for path in new.rglob("*") if folders.is_file(path))
        (new / MARK).write_bytes(_mark(kind, {*files}))


def remove_folders(folders: Iterable[Path]) -> int:
    """Remove folders that `replacing_folder` wrote; `ParameterError` if there is anything else in one of them."""
    folders = [folder for folder in folders if os.path.lexists(folder)]
    for folder in folders:
        if folder.is_symlink():
            raise ParameterError(f"{folder} must be a folder that fwexp wrote, got a link; remove it yourself")
        check_folder(folder)
    for folder in folders:
        atomic.clean(folder.parent)
        atomic.remove(folder)
    return 0


@contextlib.contextmanager
def _alone(folder: Path, what: Path) -> Iterator[None]:
    with locks.claimed(what, PATIENCE) as mine:
        if not mine:
            raise ParameterError(f"{folder} is being written by another process; repeat the command when that has ended")
        yield


def _check_files(paths: Collection[Path], kind: str) -> set[str]:
    """Return the names in the mark of the folder of these files; `ParameterError` if one of them exists and is not named there."""
    folder = next(iter(paths)).parent
    above = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not folders.is_folder(above):
        raise ParameterError(f"{above} must be a folder, got something else; move it away")
    there = [path for path in paths if os.path.lexists(path)]  # before the mark is read: a writer names a file first
    named = _named(folder, kind)
    for path in there:
        _check_file(path, path.name in named)
    return named


def _check_file(path: Path, is_named: bool) -> None:
    """Raise `ParameterError` unless something is a file that a mark names, or has just gone."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if is_named and stat.S_ISREG(mode):
        return
    kinds = {stat.S_IFREG: f"another one, which {MARK} does not name", stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder"}
    found = kinds.get(stat.S_IFMT(mode), "something else")
    raise ParameterError(f"{path} must be a file that fwexp wrote, got {found}; move it away")


def _named(folder: Path, kind: str | None) -> set[str]:
    """Return the names in the mark of a folder, be it of a kind or of any; none without a mark."""
    path = folder / MARK
    if not os.path.lexists(path):
        return set()
    try:
        if path.is_symlink() or not folders.is_file(path):
            raise ValueError
        head, *names = path.read_bytes().decode().removesuffix("\n").split("\n")
        if head != HEAD.format(kind or head[2:].partition(":")[0]):
            raise ValueError
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"{path} must be a mark of {kind or 'files'} that fwexp wrote, got another file; move it away"
        ) from error
    return {*names}


def _mark(kind: str, names: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in (HEAD.format(kind), *sorted(names))).encode()


if __name__ == "__main__":  # make clean
    sys.exit(exit_code("make clean", lambda: remove_folders(map(Path, sys.argv[1:]))))
