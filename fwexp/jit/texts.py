"""The texts that numba is given: files of linked functions in the user's cache folder, with machine code next to them.

A file is named after what is in it, so what numba keeps for it never belongs to another text. Where nothing can be kept (no place,
a full disk), nothing is, and kernels are compiled in every process.
"""

import contextlib
import gc
import hashlib
import linecache
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numba

from fwexp.files import atomic, folders, locks
from fwexp.jit import addresses, disk_cache
from fwexp.jit.listening import on_compilation, on_news

COLLECT = (100_000, 20, 1000)  # objects before Python looks for garbage while numba compiles, and how much more rarely at old ones
WAIT_SECONDS = 120.0  # for another process that compiles the same: ten times the time of a kernel
_lock = threading.RLock()


class Text(NamedTuple):
    """A function as numba gets it."""

    name: str
    source: str
    scope: dict  # the global names
    fastmath: bool
    can_be_kept: bool  # whether the source says all that the code depends on

    @property
    def key(self) -> str:
        """A name that no other text has."""
        digest = hashlib.sha256(f"{self.fastmath}\n{self.source}".encode()).hexdigest()
        return f"{self.name}_{digest[:16]}"


@contextlib.contextmanager
def compilation() -> Iterator[None]:
    """Stop the clock of this context, and let one thread at a time link and compile."""
    tell = on_compilation.get()
    if tell:
        tell(True)
    try:
        with _lock:
            yield
    finally:
        if tell:
            tell(False)


@cache
def folder() -> Path | None:
    """Return the folder of this version's texts, None where nothing can be kept."""
    writers = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    versions = numba.__version__, sys.version, numba.config.CPU_NAME, numba.config.CPU_FEATURES, addresses.this_processor()
    return disk_cache.directory(hashlib.sha256(writers + repr(versions).encode()).hexdigest()[:16])


def compiled(text: Text, compile_: Callable):
    """Return what ``compile_(function, cache)`` makes of the function of a text, from the cache if it is there."""
    home = folder() if text.can_be_kept else None
    path = home / f"{text.key}.py" if home else Path(f"<{text.key}>")
    home = home if home and _is_written(path, text.source) else None
    if home is None:
        lines = text.source.splitlines(keepends=True)
        linecache.cache[str(path)] = len(text.source), None, lines, str(path)
        return _compiled(text, path, compile_, False)
    saved = disk_cache.Saved(home / "__pycache__", text.key)
    if saved.is_whole():
        with contextlib.suppress(EOFError, pickle.PickleError, ValueError, KeyError, OSError):
            return _compiled(text, path, compile_, True)
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(locks.claimed(path, WAIT_SECONDS))
        if not saved.is_whole():
            saved.remove()
            if tell := on_news.get():
                tell()
        try:
            found = _compiled(text, path, compile_, True)
        except OSError:  # numba keeps code after it has compiled it: on a full disk, it does so once more
            return _compiled(text, path, compile_, False)
        saved.seal()
    return found


def _is_written(path: Path, source: str) -> bool:
    """Return whether the file of a text is there, and write it if not."""
    try:
        if not folders.is_file(path) or path.read_text(encoding="utf-8") != source:
            atomic.write({path: lambda file: file.write(source.encode())})
    except OSError:
        return False
    return True


def _compiled(text: Text, path: Path, compile_: Callable, keeps: bool):
    text.scope["__name__"] = __name__
    exec(compile(text.source, str(path), "exec"), text.scope)
    function = text.scope[text.name]
    function.__qualname__ = text.key  # numba names code after it: of two functions with one name, the first that is loaded runs
    with _rarely_collecting():
        return compile_(function, keeps)


@contextlib.contextmanager
def _rarely_collecting() -> Iterator[None]:
    """Make Python collect garbage less often: compilers make many objects and drop few, which saves a tenth of the time."""
    before = gc.get_threshold()
    if 0 < before[0] < COLLECT[0]:
        gc.set_threshold(*COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def compiled_kernel(text: Text, signature) -> Callable:
    """Return a function of a text, compiled for one signature, which other kernels and Python may call."""

    def compile_(function, keeps):
        kernel = numba.njit(error_model="numpy", nogil=True, fastmath=text.fastmath, cache=keeps)(function)
        kernel.compile(signature)
        return kernel

    return compiled(text, compile_)


def compiled_part(text: Text) -> Callable:
    """Return a function of a text that only other linked functions call, which take its code in."""
    path = f"<{text.key}>"
    linecache.cache[path] = len(text.source), None, text.source.splitlines(keepends=True), path
    return _compiled(text, Path(path), lambda function, _: numba.njit(error_model="numpy", fastmath=text.fastmath)(function), False)


def compiled_c_function(text: Text, signature):
    """Return a function of a text as numba's ``cfunc``, which has an ``address``."""

    def compile_(function, keeps):
        return numba.cfunc(signature, error_model="numpy", fastmath=text.fastmath, cache=keeps)(function)

    return compiled(text, compile_)
