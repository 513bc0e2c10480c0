"""Machine code on disk: where it is, and that no damage there is an error or another result."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmarks.svm import NEWCOMER
from fwexp.files import atomic, locks
from fwexp.jit import disk_cache, texts
from fwexp.jit.compilation import array_kernel, njit

pytestmark = pytest.mark.unix  # about owners and modes of files, pipes and limits

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


@pytest.mark.usefixtures("no_home")
def test_temporary_files_of_windows_are_those_of_one_user(places, monkeypatch):
    """Modes say nothing there."""
    monkeypatch.delattr(os, "geteuid")
    place = places[1].with_name("fwexp-numba")
    place.mkdir()
    place.chmod(0o777)
    assert base()[0] == place


def test_without_a_place_nothing_is_kept(places, tmp_path, monkeypatch):
    for name in ("home", "tmp/x"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp" / "x"))
    found, trouble = base()
    assert found is None
    assert "home/fwexp/numba: Not a directory; " in trouble
    monkeypatch.setattr(disk_cache, "base", lambda: (found, trouble))
    assert disk_cache.directory("a") is None
    monkeypatch.setattr(texts, "folder", texts.folder.__wrapped__)
    assert texts.folder() is None
    assert njit(plus)(1.0) == 2.5


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
        (tmp_path / str(days) / "__pycache__").mkdir()
        (tmp_path / str(days) / "__pycache__" / "kernel.sums").write_text("")
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


def total(values):
    return values.sum() + 0.5


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return the folder of a new cache."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(texts, "folder", lambda: folder)
    return folder


def is_compiled(x=1.0):
    """Call a new kernel and a new C function, as a new process does; return whether any of them was compiled."""
    news = []
    token = texts.on_news.set(lambda: news.append(True))
    try:
        assert njit(plus)(x) == x + 1.5
        assert array_kernel("float64(float64[::1])")(total)(np.arange(3.0)) == 3.5
    finally:
        texts.on_news.reset(token)
    return bool(news)


def kept(folder, pattern="*"):
    """Return the files of a kernel and of a C function."""
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


def test_what_is_kept_is_found_again(cache):
    assert is_compiled()
    files = {path: path.stat().st_mtime_ns for path in kept(cache)}
    assert sorted(path.suffix for path in files) == [".nbc", ".nbc", ".nbi", ".nbi", ".py", ".py", ".sums", ".sums"]
    assert mode(cache / "__pycache__") & 0o022 == 0
    assert not is_compiled()
    assert {path: path.stat().st_mtime_ns for path in kept(cache)} == files
    assert is_compiled(2)  # another kind: another text
    assert len(kept(cache)) == 12


def flipped(content, position):
    place = int(position * (len(content) - 1))
    return content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]


DAMAGES = {
    "emptied": lambda content: b"",
    "halved": lambda content: content[: len(content) // 2],
    "long": lambda content: content + b"\0",
    "zeros": lambda content: bytes(len(content)),
} | {f"bit {position}": lambda content, position=position: flipped(content, position) for position in (0.01, 0.6)}


@pytest.mark.parametrize("suffix", [".nbc", ".nbi", ".sums", ".py"])
def test_a_damaged_file_counts_as_absent_and_is_made_again(cache, suffix):
    is_compiled()
    whole = {path: path.read_bytes() for path in kept(cache, f"*{suffix}")}
    for damage in DAMAGES.values():
        for path in whole:
            path.write_bytes(damage(path.read_bytes()))
        assert is_compiled() or suffix == ".py"  # numba sees that the text is a new file
        is_compiled()
        assert not is_compiled()
        assert suffix in (".nbc", ".nbi", ".sums") or {path: path.read_bytes() for path in whole} == whole


ELSE = [("folder", ".py"), ("folder", ".sums"), ("device", ".nbc"), ("link", ".py")]


@pytest.mark.parametrize(("kind", "suffix"), [*product(["pipe"], [".nbc", ".nbi", ".sums", ".py"]), *ELSE])
def test_other_kinds_of_files_are_not_opened(cache, tmp_path, kind, suffix):
    """To open a pipe waits for ever, and a device has no end."""
    is_compiled()
    (tmp_path / "theirs").write_bytes(b"mine")
    for path in kept(cache, f"*{suffix}"):
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "theirs")
    for _ in range(2):
        is_compiled()
    assert (tmp_path / "theirs").read_bytes() == b"mine"


def test_no_code_is_taken_for_that_of_another_text(cache):
    """Nor is what numba keeps for an older text of the same name."""
    is_compiled()
    is_compiled(2)
    one, two = (path for path in kept(cache, "*.nbc") if path.name.startswith("plus"))
    one.write_bytes(two.read_bytes())
    assert is_compiled() != is_compiled(2)
    assert not is_compiled()
    assert not is_compiled(2)


@pytest.mark.parametrize("room", [0, 100, 5000])
def test_a_full_disk_means_uncached(cache, room):
    """A limit on the size of files fails as a full disk does, in the middle of a file."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        is_compiled()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert is_compiled()
    assert not is_compiled()


@pytest.mark.parametrize("number", ["ENOSPC", "EDQUOT", "EROFS", "EACCES"])
def test_no_error_of_the_disk_is_one_of_ours(cache, monkeypatch, number):
    def fail(*arguments, **options):
        raise OSError(getattr(errno, number), number)

    for owner, name in ((Path, "open"), (Path, "write_text"), (atomic, "write"), (atomic.os, "open"), (atomic.os, "link")):
        monkeypatch.setattr(owner, name, fail)
    is_compiled()
    assert kept(cache) == []


def test_a_read_only_cache_serves(cache):
    is_compiled()
    for folder in (cache / "__pycache__", cache):
        folder.chmod(0o500)
    try:
        assert not is_compiled()
        is_compiled(2)
    finally:
        for folder in (cache, cache / "__pycache__"):
            folder.chmod(0o700)


def test_a_cache_that_was_removed_is_no_error(cache):
    cache.rmdir()
    is_compiled()


KILLED = """
import resource, signal, sys
from pathlib import Path
from fwexp.jit import texts
texts.folder = lambda: Path(sys.argv[1])
from tests.jit.test_disk_cache import is_compiled
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
is_compiled()
"""


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_writes_does_no_harm(cache):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(cache)], cwd=Path(__file__).parents[2], check=False)
    assert killed.returncode == -signal.SIGXFSZ
    assert 5000 in [path.stat().st_size for path in kept(cache)]
    assert is_compiled()
    assert not is_compiled()


# --- processes --------------------------------------------------------------------------------------------------------

WAITING = """
import sys
from pathlib import Path
from fwexp.jit import texts
texts.folder = lambda: Path(sys.argv[1])
from tests.jit.test_disk_cache import is_compiled
print("ready", flush=True)
input()
print(is_compiled())
"""


@pytest.mark.slow
def test_what_another_process_compiles_is_waited_for_and_loaded(cache):
    command = [sys.executable, "-c", WAITING, str(cache)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], **pipes) as child:
        assert child.stdout.readline() == "ready\n"
        is_compiled()
        claims = [locks.acquire_claim(path) for path in kept(cache, "*.py")]
        for path in kept(cache, "*.sums"):
            path.rename(path.with_suffix(".hidden"))
        print(file=child.stdin, flush=True)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(1.0)
        for path in kept(cache, "*.hidden"):
            path.rename(path.with_suffix(".sums"))
        for claim in claims:
            claim.release()
        assert child.communicate(timeout=600)[0] == "False\n"


def test_a_process_that_hangs_is_not_waited_for(cache, monkeypatch):
    is_compiled()
    claims = [locks.acquire_claim(path) for path in kept(cache, "*.py")]
    assert not is_compiled()  # what is kept by now is not waited for
    for path in kept(cache, "*.nbc"):
        path.unlink()
    monkeypatch.setattr(texts, "WAIT_SECONDS", 0.1)
    assert is_compiled()
    for claim in claims:
        claim.release()


def test_what_cannot_be_compiled_is_not_waited_for(cache, monkeypatch):
    def wrong(x):
        return x + np.linalg.nothing(x)

    monkeypatch.setattr(locks, "sleep", lambda _: pytest.fail("it waits"))
    for _ in range(2):
        with pytest.raises(Exception, match="nothing"):
            njit(wrong)(1.0)
    is_compiled()


def test_a_first_result_imports_what_it_needs_and_no_more():
    """With all compiled: no scipy beyond its version, no solver without need."""

    def imported(code):
        code += "; import sys; print(*sys.modules)"
        return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())

    for _ in range(2):  # the first may compile
        found = imported(NEWCOMER)
    unneeded = {"scipy.sparse", "pandas", "hydra", "fwexp.convex", "fwexp.solvers.online_eg"}
    assert unneeded & found <= imported("import scipy.linalg")  # numba needs it, and older ones import scipy.sparse
    assert "fwexp.solvers.auto" in found
