"""Loops over examples on several threads, with results that do not depend on how many."""

import contextlib
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import ContextVar, copy_context
from functools import cache
from pathlib import Path

from fwexp.errors import ParameterError, shown
from fwexp.jit.listening import during

CHUNKS = 8  # of the examples of a problem, dealt out to the threads
PROBE, WORTH = 1.0 / 32.0, 1e-3
CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")

_n_jobs: ContextVar[int | None] = ContextVar("n_jobs", default=None)
_of_steps: ContextVar[int | None] = ContextVar("of steps", default=None)


def jobs(n_jobs: int | None) -> AbstractContextManager[None]:
    """Use so many threads in a context, counted as scikit-learn does; None leaves the number as it is."""
    return during(_n_jobs, _n_jobs.get() if n_jobs is None else n_jobs)


def steps_with(threads: int | None) -> AbstractContextManager[None]:
    """Use so many threads in a context for all that counts in the seconds of runs; None leaves the number as it is."""
    return during(_of_steps, threads)


def for_steps() -> AbstractContextManager[None]:
    """Return a context with the number of threads of `steps_with`."""
    return jobs(_of_steps.get())


def available_processors() -> int:
    """Return the number of processors that this process may use: of those it may run on, as many as its control groups allow."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(here, _quota(CGROUPS, OWN_CGROUPS)))


@cache
def _quota(root: Path, own: Path) -> int:
    """Return how many processors the control groups of this process may keep busy, rounded up; a large number without a limit."""
    quotas = [sys.maxsize]
    with contextlib.suppress(OSError):
        for line in own.read_text(encoding="utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0":  # version 2: one tree
                tree, read = root, _of_version_2
            elif "cpu" in controllers.split(","):
                tree, read = root / "cpu", _of_version_1
            else:
                continue
            group = tree / path.lstrip("/")
            for folder in (group, *group.parents):  # in a container the path may be that of the host
                if folder.is_relative_to(tree):
                    with contextlib.suppress(OSError, ValueError):
                        quota, period = read(folder)
                        quotas.append(-(-quota // period) if quota > 0 < period else sys.maxsize)
    return min(quotas)


def _of_version_2(folder: Path) -> tuple[int, int]:
    quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
    return -1 if quota == "max" else int(quota), int(period)


def _of_version_1(folder: Path) -> tuple[int, int]:
    quota, period = ((folder / f"cpu.cfs_{name}_us").read_text(encoding="ascii") for name in ("quota", "period"))
    return int(quota), int(period)


def num_threads() -> int:
    """Return the number of threads: that of `jobs`, by default the processors of this process; at most ``OMP_NUM_THREADS``."""
    # joblib's workers get their share of the machine in that variable. OpenMP takes a list, too, for nested loops.
    given = os.environ.get("NUMBA_NUM_THREADS", "").strip()
    if re.fullmatch(r"-[0-9]+|0+", given):
        raise ParameterError(f"NUMBA_NUM_THREADS must be a number of threads, at least 1, got {shown(given)}")
    processors = available_processors()
    if (n_jobs := _n_jobs.get()) is not None:
        processors = n_jobs if n_jobs > 0 else max(1, processors + 1 + n_jobs)
    text = os.environ.get("OMP_NUM_THREADS", "").strip()
    if not text:
        return processors
    if not re.fullmatch(r"[0-9]{1,9}(\s*,\s*[0-9]{1,9})*", text):
        raise ParameterError(f"OMP_NUM_THREADS must be a number of threads, got {shown(text)}")
    return max(1, min(processors, int(text.partition(",")[0])))


@cache
def _pool(process_id: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def chunks_of(problem) -> int:
    """Return the number of chunks that the examples of a problem are split into; users' oracles need not be thread-safe."""
    return min(CHUNKS, problem.n) if isinstance(problem, tuple) and num_threads() > 1 else 1


def parallel_for(kernel: Callable, n: int, chunks: int) -> None:
    """Call ``kernel(chunk, start, end)`` for consecutive ranges that cover 0 .. n, one after the other or at once."""
    # ``kernel`` must release the interpreter lock, and what it does for one of 0 .. n must not depend on the range that this is in:
    # there are fewer ranges where there is one thread, and where a first range, of the share `PROBE`, says that the others take
    # less than `WORTH` seconds. Else this thread takes chunks like the others, and does not wait for those that have not begun.
    threads, done = min(num_threads(), chunks) if chunks > 1 else 1, 0
    if threads > 1 and (done := int(n * PROBE)):
        begun = time.perf_counter()
        kernel(0, 0, done)
        if (time.perf_counter() - begun) * (n - done) < WORTH * done:
            threads = 1
    if threads <= 1:
        kernel(0, done, n)
        return
    bounds = [done + chunk * (n - done) // chunks for chunk in range(chunks + 1)]
    todo = deque(zip(range(chunks), bounds[:-1], bounds[1:], strict=True))

    def take() -> None:
        while todo:
            try:
                bounds = todo.popleft()
            except IndexError:  # another thread was faster
                return
            kernel(*bounds)

    helpers = threads - 1
    # In contexts like this one: a clock that runs here stops while a kernel is compiled there.
    others = [_pool(os.getpid(), helpers).submit(copy_context().run, take) for _ in range(helpers)]
    try:
        take()
    finally:
        todo.clear()
        for other in others:
            if not other.cancel():
                other.result()


def parallel_map(function: Callable, items: Sequence) -> list:
    """Return ``[function(item) for item in items]``, of functions that mostly work without the interpreter lock."""
    found = [None] * len(items)

    def kernel(_, start, end) -> None:
        found[start:end] = map(function, items[start:end])

    parallel_for(kernel, len(items), len(items))
    return found
