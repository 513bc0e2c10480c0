"""Machine code on disk: where it is, and that no damage there is an error or another result."""

import errno
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numba
import pytest

from benchmarks.svm import NEWCOMER
from fwexp.files import locks
from fwexp.jit import compilation, disk_cache, kernel_cache

OTHER_USER = 12345  # no user of this machine


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the user's cache folder and the one for temporary files, both new."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path / "home" / "fwexp" / "numba", tmp_path / "tmp" / f"fwexp-numba-{os.geteuid()}"


@pytest.fixture
def give_away(monkeypatch):
    """Make a folder another user's, or let it seem to be where only root could do that."""
    given, lstat, stat = set(), Path.lstat, Path.stat

    def seen(path, found):
        return os.stat_result((*found[:4], OTHER_USER, *found[5:10])) if str(path) in given else found

    def give(path):
        if os.geteuid() == 0:
            os.chown(path, OTHER_USER, OTHER_USER, follow_symlinks=False)
        else:
            given.add(str(path))

    monkeypatch.setattr(Path, "lstat", lambda path: seen(path, lstat(path)))
    monkeypatch.setattr(Path, "stat", lambda path, **options: seen(path, stat(path, **options)))
    return give


def base():
    return disk_cache.base.__wrapped__()


def mode(path):
    return path.stat().st_mode & 0o777


# --- folders ----------------------------------------------------------------------------------------------------------


def test_the_folder_is_that_of_the_user(places):
    assert base() == (places[0], "")
    assert mode(places[0]) == 0o700
    assert not places[1].exists()


@pytest.fixture
def no_home(places, tmp_path):
    (tmp_path / "home").write_text("")  # no folder can be made below a file


@pytest.mark.usefixtures("no_home")
@pytest.mark.parametrize("plant", ["theirs", "link", "open"])
def test_a_folder_among_temporary_files_that_others_can_write_to_is_not_believed(places, tmp_path, give_away, plant):
    if plant == "link":
        (tmp_path / "elsewhere").mkdir()
        places[1].symlink_to(tmp_path / "elsewhere")
    else:
        places[1].mkdir()
        give_away(places[1]) if plant == "theirs" else places[1].chmod(0o777)
    found, trouble = base()
    assert found is None
    assert f"{places[1]}: is not this user's alone" in trouble


@pytest.mark.usefixtures("no_home")
def test_without_a_cache_folder_there_is_one_among_temporary_files(places):
    found, trouble = base()
    assert found == places[1]
    assert "home" in trouble
    assert mode(found) == 0o700


def test_without_a_place_nothing_is_kept(places, tmp_path, monkeypatch):
    for name in ("home", "tmp/x"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp" / "x"))
    found, trouble = base()
    assert found is None
    assert "home/fwexp/numba: Not a directory; " in trouble
    monkeypatch.setattr(disk_cache, "base", lambda: (found, trouble))
    assert disk_cache.directory("a") is None
    monkeypatch.setattr(compilation, "cache_directory", compilation.cache_directory.__wrapped__)
    assert compilation.njit(plus)(1.0) == 2.5


@pytest.mark.parametrize(
    ("ages", "kept"),
    [
        ([0, 0.3, 1, 5, 6.5, 7.5, 30], [0, 0.3, 1, 5, 6.5]),  # days: the newest four, and all of the last week
        ([300, 10, 40, 20, 50], [10, 20, 40, 50]),  # nothing was used for a week: the newest four
        ([300, 10], [300, 10]),
    ],
)
def test_old_caches_are_pruned(tmp_path, monkeypatch, ages, kept):
    monkeypatch.setattr(disk_cache, "KEEP_DIRECTORIES", 4)
    for days in ages:
        (tmp_path / str(days)).mkdir()
        (tmp_path / str(days) / "kernel.nbc").write_text("")
        os.utime(tmp_path / str(days), (0, time.time() - days * 24 * 3600.0))
    (tmp_path / "file").write_text("")
    os.utime(tmp_path / "file", (0, 0))
    disk_cache.prune(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*map(str, kept), "file"}


@pytest.mark.parametrize("plant", [Path.mkdir, lambda path: path.write_text("mine"), lambda path: path.symlink_to("/etc/hosts")])
def test_folders_with_other_files_are_not_pruned(tmp_path, monkeypatch, plant):
    monkeypatch.setattr(disk_cache, "KEEP_DIRECTORIES", 0)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "kernel.nbc").touch()
    plant(tmp_path / "cache" / "thesis")
    (tmp_path / "link").symlink_to("cache")
    os.utime(tmp_path / "cache", (0, 0))
    disk_cache.prune(tmp_path)
    assert {path.name for path in (tmp_path / "link").iterdir()} == {"kernel.nbc", "thesis"}


# --- files ------------------------------------------------------------------------------------------------------------


def plus(x):
    return x + 1.5


class Bomb:
    """A pickle of it tells that it was opened."""

    opened = False

    def __reduce__(self):
        return _explode, ()


def _explode():
    Bomb.opened = True


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Return a function that makes a new kernel on the same cache, as a new process does; and the cache."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(compilation, "cache_directory", lambda module: folder)
    return lambda: compilation.njit(plus), folder


def files(folder):
    return sorted(folder.rglob("*.nbc"))


def hits(dispatcher):
    return sum(dispatcher.stats.cache_hits.values())


def test_what_is_kept_is_found_again(kernel):
    new, folder = kernel
    assert hits(first := new()) == 0
    assert (first(1.0), first(2)) == (2.5, 3.5)
    assert len(files(folder)) == 2
    assert {mode(path) for path in files(folder)} == {0o600}
    second = new()
    assert (second(1.0), second(2), hits(second)) == (2.5, 3.5, 2)
    assert files(folder) == sorted(folder.iterdir())


def flipped(content, position):
    place = int(position * (len(content) - 1))
    return content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]


DAMAGES = {
    "emptied": lambda content: b"",
    "halved": lambda content: content[: len(content) // 2],
    "short": lambda content: content[:-1],
    "long": lambda content: content + b"\0",
    "zeros": lambda content: bytes(len(content)),
} | {f"bit {position}": lambda content, position=position: flipped(content, position) for position in (0, 0.001, 0.01, 0.3, 0.6, 1)}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_counts_as_absent_and_is_made_again(kernel, damage):
    new, folder = kernel
    new()(1.0)
    (path,) = files(folder)
    path.write_bytes(damage(path.read_bytes()))
    second = new()
    assert (second(1.0), hits(second)) == (2.5, 0)
    third = new()
    assert (third(1.0), hits(third)) == (2.5, 1)
    assert files(folder) == [path]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link"])
def test_other_kinds_of_files_are_neither_opened_nor_replaced(kernel, tmp_path, kind):
    """To open a pipe waits for ever, and a device has no end."""
    new, folder = kernel
    new()(1.0)
    (path,) = files(folder)
    path.unlink()
    (tmp_path / "theirs").write_bytes(b"mine")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "theirs")
    before = path.lstat()
    second = new()
    assert (second(1.0), hits(second)) == (2.5, 0)
    assert path.lstat() == before
    assert (tmp_path / "theirs").read_bytes() == b"mine"


def test_no_entry_is_taken_for_another(kernel):
    new, folder = kernel
    first = new()
    assert (first(1.0), first(2)) == (2.5, 3.5)
    one, two = files(folder)
    one.write_bytes(two.read_bytes())
    second = new()
    assert (second(1.0), second(2), hits(second)) == (2.5, 3.5, 1)


def test_other_versions_are_not_opened(kernel, monkeypatch):
    new, folder = kernel
    new()(1.0)
    monkeypatch.setattr(disk_cache.numba, "__version__", "0.0")
    for path in files(folder):
        disk_cache.write(path, pickle.dumps(Bomb()))
    monkeypatch.undo()
    monkeypatch.setattr(compilation, "cache_directory", lambda module: folder)
    assert new()(1.0) == 2.5
    assert not Bomb.opened


@pytest.mark.parametrize("room", [0, 100, 5000])
def test_a_full_disk_means_uncached(kernel, room):
    """A limit on the size of files fails as a full disk does, in the middle of a file."""
    new, folder = kernel
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        assert new()(1.0) == 2.5
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    second = new()
    assert (second(1.0), hits(second)) == (2.5, 0)
    third = new()
    assert (third(1.0), hits(third)) == (2.5, 1)
    assert files(folder) == sorted(folder.iterdir())


@pytest.mark.parametrize("number", ["ENOSPC", "EDQUOT", "EROFS", "EACCES"])
def test_no_error_of_the_disk_is_one_of_ours(kernel, monkeypatch, number):
    def fail(*arguments, **options):
        raise OSError(getattr(errno, number), number)

    new, folder = kernel
    monkeypatch.setattr(Path, "open", fail)
    monkeypatch.setattr(disk_cache.os, "open", fail)
    assert new()(1.0) == 2.5
    assert files(folder) == []


def test_a_cache_that_was_removed_is_no_error(kernel):
    new, folder = kernel
    dispatcher = new()
    folder.rmdir()
    assert dispatcher(1.0) == 2.5


KILLED = """
import resource, signal, sys
from pathlib import Path
from fwexp.jit import compilation
compilation.cache_directory = lambda module: Path(sys.argv[1])
from tests.jit.test_disk_cache import plus
kernel = compilation.njit(plus)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
kernel(1.0)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_writes_leaves_nothing_behind(kernel):
    """But the beginning of a file, in whose place the next process writes the whole."""
    new, folder = kernel
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], cwd=Path(__file__).parents[2], check=False)
    assert killed.returncode == -signal.SIGXFSZ
    (cut,) = folder.glob("*.nbc")
    assert cut.stat().st_size == 5000
    second = new()
    assert (second(1.0), hits(second)) == (2.5, 0)
    third = new()
    assert (third(1.0), hits(third)) == (2.5, 1)
    assert [*folder.iterdir()] == [cut]


# --- processes --------------------------------------------------------------------------------------------------------

WAITING = """
import sys
from pathlib import Path
from fwexp.jit import compilation
compilation.cache_directory = lambda module: Path(sys.argv[1])
from tests.jit.test_disk_cache import plus
kernel = compilation.njit(plus)
print("ready", flush=True)
input()
print(kernel(1.0), sum(kernel.stats.cache_hits.values()))
"""


def about_to_compile(dispatcher, argument):
    """Be a process that compiles: it has looked in the cache, and found nothing."""
    assert dispatcher._cache.load_overload((argument,), dispatcher.targetctx) is None
    return dispatcher


@pytest.mark.slow
def test_what_another_process_compiles_is_waited_for_and_loaded(kernel):
    new, folder = kernel
    command = [sys.executable, "-c", WAITING, str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], **pipes) as child:
        assert child.stdout.readline() == "ready\n"
        here = about_to_compile(new(), numba.float64)
        print(file=child.stdin, flush=True)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)
        assert here(1.0) == 2.5  # It looks in the cache again, and for that moment the child may take its place.
        loaded = hits(here)
        assert child.communicate(timeout=600)[0] == f"2.5 {1 - loaded}\n"


def test_a_process_that_hangs_is_not_waited_for(kernel, monkeypatch):
    monkeypatch.setattr(kernel_cache, "WAIT_SECONDS", 0.1)
    new, _ = kernel
    hanging = about_to_compile(new(), numba.float64)
    assert new()(1.0) == 2.5
    monkeypatch.setattr(locks, "sleep", lambda _: pytest.fail("it waits"))
    second = new()
    assert (second(1.0), hits(second)) == (2.5, 1)  # what is kept by now is not waited for
    assert (hanging(1.0), hits(hanging)) == (2.5, 1)


def test_what_cannot_be_compiled_is_not_waited_for(kernel, monkeypatch):
    """Nor what was interrupted, once its process compiles something else."""
    monkeypatch.setattr(locks, "sleep", lambda _: pytest.fail("it waits"))
    new, _ = kernel
    first = new()
    for _ in range(2):
        with pytest.raises(numba.TypingError):
            first("text")
    assert first(1.0) == 2.5
    with pytest.raises(numba.TypingError):
        new()("text")


def test_kernels_are_not_waited_for_by_those_of_other_arguments(kernel, monkeypatch):
    monkeypatch.setattr(locks, "sleep", lambda _: pytest.fail("it waits"))
    new, _ = kernel
    waiting = about_to_compile(new(), numba.int64)
    assert new()(1.0) == 2.5
    assert waiting(1.0) == 2.5


def test_a_first_result_imports_what_it_needs_and_no_more():
    """With all compiled: no registries of numba's compiler, no scipy beyond its version, no solver without need."""
    code = NEWCOMER + "; import sys; print(*sys.modules)"
    for _ in range(2):  # the first may compile
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    unneeded = {"scipy.sparse", "scipy.linalg", "numba.np.linalg", "pandas", "hydra", "fwexp.convex", "fwexp.solvers.online_eg"}
    assert unneeded.intersection(output) == set()
    assert "fwexp.solvers.auto" in output
