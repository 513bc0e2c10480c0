"""Files that fwexp may replace and remove: those that it wrote, as they are recorded in their folder.

The record, ``.fwexp``, names the files of a folder with their checksums, as ``sha256sum --check .fwexp`` reads them, and what they
are. A file that is not recorded there, that was changed since, or that is a link or a folder, belongs to the user: a command that
would have to replace it raises `ParameterError` before it changes anything. A folder may be a link to another disk; the rule
holds for the folder that it names.
"""

import contextlib
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from fwexp.errors import ParameterError, exit_code
from fwexp.files import atomic, folders, locks
from fwexp.files.checksums import sha256, sha256_of_file
from fwexp.files.reading import read_regular

RECORD = ".fwexp"
HEAD = "# {}: written by fwexp, which replaces and removes files only while they are as recorded here"
LINE = re.compile(r"([0-9a-f]{64})  (.+)")
LARGEST = 2**24  # bytes of a record
PATIENCE = 60.0  # seconds for another process that writes to the same folder

Written = dict[str, set[str]]  # checksums by the name of the file; several while it is being replaced


def check(paths: Iterable[Path], kind: str) -> None:
    """Check that files can be written, before the work begins: none of them, or only files that fwexp wrote, are there.

    Parameters
    ----------
    paths : iterable of Path
        The files.
    kind : str
        Kind of the files of a folder, such as ``"figures"``; a folder holds one kind.

    Raises
    ------
    ParameterError
        A file, folder or link that fwexp did not write has the name of one.
    """
    by_folder: dict[Path, list[str]] = {}
    for path in paths:
        by_folder.setdefault(path.parent, []).append(path.name)
    for folder, names in by_folder.items():
        _check_files(folder, names, kind)


def write(contents: Mapping[Path, bytes | Callable[[], bytes]], kind: str) -> None:
    """Write files of one folder that belong together, as `atomic.write` does; they replace those that fwexp wrote before.

    Parameters
    ----------
    contents : mapping
        The content of each file, or a function that returns the content. The function is called while no other process can
        write to the folder, so it may read the file that it changes.
    kind : str
        As in `check`.

    Raises
    ------
    ParameterError
        As in `check`, or another process does not come to an end with the folder.
    OSError
        On a full disk, for instance.
    """
    (folder,) = {path.parent for path in contents}
    names = [path.name for path in contents]
    _check_files(folder, names, kind)
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder, folder / RECORD):
        written = _check_files(folder, names, kind)
        contents = {path: content() if callable(content) else content for path, content in contents.items()}
        sums = {path.name: {sha256(content)} for path, content in contents.items()}
        others = {name: of_name for name, of_name in written.items() if name not in sums}
        both = {name: written.get(name, set()) | of_name for name, of_name in sums.items()}
        # A writer that is killed leaves old or new files: both are recorded meanwhile.
        atomic.write({folder / RECORD: _record(kind, others | both)})
        atomic.write(contents)
        atomic.write({folder / RECORD: _record(kind, others | sums)})


def remove(paths: Iterable[Path], kind: str) -> None:
    """Remove files of one folder, as far as they exist, and their lines in its record.

    Parameters
    ----------
    paths : iterable of Path
        The files, in the order in which they are removed.
    kind : str
        As in `check`.

    Raises
    ------
    ParameterError
        As in `write`.
    """
    paths = [path for path in paths if os.path.lexists(path)]
    for folder in {path.parent for path in paths}:
        with _alone(folder, folder / RECORD):
            names = {path.name for path in paths}
            written = _check_files(folder, names, kind)
            for path in paths:
                path.unlink(missing_ok=True)
            kept = {name: sums for name, sums in written.items() if name not in names}
            atomic.write({folder / RECORD: _record(kind, kept)})


def check_folder(folder: Path, kind: str | None = None) -> None:
    """Check that a folder can be replaced as a whole: it is missing, empty, or holds only files that fwexp wrote, unchanged.

    Raises
    ------
    ParameterError
        It holds something else.
    OSError
        It is no folder, or cannot be read.
    """
    if not os.path.lexists(folder):
        return
    written = _read_record(folder, kind)
    if not os.path.lexists(folder / RECORD) and (paths := sorted(folder.iterdir())):
        found = f"another one with {paths[0].name} and no record {RECORD}"
        raise ParameterError(f"{folder} must be a folder that fwexp wrote, got {found}; move it away")
    folders = {str(above) for name in written for above in PurePosixPath(name).parents}
    for above, names, files in os.walk(folder, onerror=_raise):
        for name in sorted([*names, *files]):
            path = Path(above, name)
            place = path.relative_to(folder).as_posix()
            if place == RECORD and place in files:
                continue
            if not (place in folders and stat.S_ISDIR(path.lstat().st_mode)):
                _check_file(path, written.get(place))
        names.sort()


@contextlib.contextmanager
def replacing_folder(folder: Path, kind: str) -> Iterator[Path]:
    """Yield a hidden folder, which takes the place of ``folder`` at the end; until then, and after an error, that is as it was.

    Writers take turns. If one is killed just when the two trade places, the next one puts the old folder back.

    Parameters
    ----------
    folder : Path
        Path that is replaced; a link is followed.
    kind : str
        As in `check`; its record is written here.

    Raises
    ------
    ParameterError
        It holds something that fwexp did not write, or another process does not come to an end with it.
    """
    folder = Path(os.path.realpath(folder))
    check_folder(folder, kind)
    before = _before(folder)
    with _alone(folder, folder):
        atomic.clean(folder.parent)
        _put_back(before, folder, kind)
        temporary = atomic.hidden(folder)
        temporary.mkdir()
        try:
            yield temporary
            _remove_empty(temporary)  # the record lists files: an empty folder could be anybody's
            files = sorted(path for path in temporary.rglob("*") if folders.is_file(path))
            sums = {path.relative_to(temporary).as_posix(): {sha256_of_file(path)} for path in files}
            (temporary / RECORD).write_bytes(_record(kind, sums))
            for path in (*temporary.rglob("*"), temporary):
                atomic.flush(path)
            check_folder(folder, kind)
            if folders.is_folder(folder):
                folder.rename(before)
            temporary.rename(folder)
            atomic.flush(folder.parent)
        finally:
            _put_back(before, folder, kind)
            atomic.discard(temporary)


def readable(folder: Path) -> Path:
    """Return where to read a folder that `replacing_folder` writes: the old one, if a writer was killed just before the new one."""
    before = _before(Path(os.path.realpath(folder)))
    return before if folders.is_folder(before) and not folders.exists(folder) else folder


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


def _before(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.before")


def _remove_empty(folder: Path) -> None:
    """Remove the empty folders below a folder, and those in which there is nothing else."""
    for above, _, _ in os.walk(folder, topdown=False):
        if Path(above) != folder and not any(Path(above).iterdir()):
            Path(above).rmdir()


def _put_back(before: Path, folder: Path, kind: str) -> None:
    """Move the old folder back to its place, or remove it if there is another one."""
    if os.path.lexists(before):
        check_folder(before, kind)
        if before.is_symlink():
            raise ParameterError(f"{before} must be a folder that fwexp wrote, got a link; move it away")
        if folders.exists(folder):
            atomic.remove(before)
        else:
            before.rename(folder)


def _check_files(folder: Path, names: Iterable[str], kind: str) -> Written:
    """Return the record of a folder; raise `ParameterError` if one of these files exists and differs from its record."""
    above = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not folders.is_folder(above):
        raise ParameterError(f"{above} must be a folder, got something else; move it away")
    while True:
        written = _read_record(folder, kind)
        try:
            for name in names:
                if os.path.lexists(folder / name):
                    _check_file(folder / name, written.get(name))
            return written
        except ParameterError:
            # Writers record a file before they replace it, so an older record does not describe a file replaced meanwhile.
            if _read_record(folder, kind) == written:
                raise


def _check_file(path: Path, recorded: set[str] | None) -> None:
    """Raise `ParameterError` unless a file is as recorded."""
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        found = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "something else"
    elif recorded is None:
        found = f"another one, which {RECORD} does not list"
    elif sha256_of_file(path) not in recorded:
        found = "one that was changed since"
    else:
        return
    raise ParameterError(f"{path} must be a file that fwexp wrote, got {found}; move it away")


def _read_record(folder: Path, kind: str | None) -> Written:
    """Return the record of a folder, of a kind or of any; None if it has no record."""
    path = folder / RECORD
    if not os.path.lexists(path):
        return {}
    try:
        if path.is_symlink():
            raise ValueError
        head, *lines = read_regular(path, LARGEST).decode().removesuffix("\n").split("\n")
        matches = [LINE.fullmatch(line) for line in lines]
        if None in matches or head != HEAD.format(kind or head[2:].partition(":")[0]):
            raise ValueError
    except (OSError, ValueError) as error:
        expected = f"a record of {kind or 'files'} that fwexp wrote"
        raise ParameterError(f"{path} must be {expected}, got another file; move it away") from error
    written: Written = {}
    for match in matches:
        written.setdefault(match[2], set()).add(match[1])
    return written


def _record(kind: str, written: Written) -> bytes:
    lines = [f"{digest}  {name}" for name, sums in sorted(written.items()) for digest in sorted(sums)]
    return "".join(f"{line}\n" for line in (HEAD.format(kind), *lines)).encode()


def _raise(error: OSError) -> None:
    raise error


if __name__ == "__main__":  # make clean, also in a Python without packages
    sys.exit(exit_code("make clean", lambda: remove_folders(map(Path, sys.argv[1:]))))
