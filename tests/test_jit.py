"""Compiled code: what is cached, where, and that old machine code never runs for new sources.

Processes of their own run copies of the package, with caches of their own.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import fwexp
from fwexp import _jit
from fwexp.problems import protocol
from fwexp.problems.enumerated import EnumeratedProblem
from fwexp.problems.evaluation import Evaluator, _decode_range

PACKAGE = Path(fwexp.__file__).parent

# A few kernels only, for compiling takes most of the time.
TRAIN = """
import random
import numpy as np
import fwexp
assert fwexp.__file__.startswith({folder!r}), fwexp.__file__
random.seed(0)
X = [[[random.gauss(0, 1) for _ in range(2)] for _ in range(4)] for _ in range(5)]
problem = fwexp.chain_problem([np.array(x) for x in X], [[0, 1, 2, 1]] * 5)
result = fwexp.solve(problem, "fw", lam=0.3, max_passes=3, schedule=[], iterates=["last"])
print(result.primal.hex(), result.w.tobytes().hex())
"""


def start(folder, cache):
    """Start a training in a process of its own, with the package in ``folder``."""
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(folder), "NUMBA_NUM_THREADS": "1"}
    code = TRAIN.format(folder=str(folder))
    return subprocess.Popen([sys.executable, "-c", code], env=environment, text=True, stdout=subprocess.PIPE, cwd=folder)


def outcomes(processes):
    results = []
    for process in processes:
        results.append(process.communicate()[0])
        assert process.returncode == 0
    return results


@pytest.fixture
def copied(tmp_path):
    """A copy of the package that may be edited."""
    shutil.copytree(PACKAGE, tmp_path / "fwexp", ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    return tmp_path


def test_processes_share_a_cache_and_edits_invalidate_it(copied):
    """Four processes on an empty cache agree; the next one compiles nothing; after an edit of an oracle all is new."""
    cache = copied / "cache"
    results = outcomes([start(copied, cache) for _ in range(4)])
    assert len(results[0]) > 100
    assert set(results) == {results[0]}
    machine_code = sorted(cache.rglob("*.nb[ic]"))
    assert any("_decode_range" in path.name for path in machine_code)

    times = [path.stat().st_mtime_ns for path in machine_code]
    assert outcomes([start(copied, cache)]) == results[:1]
    assert sorted(cache.rglob("*.nb[ic]")) == machine_code
    assert [path.stat().st_mtime_ns for path in machine_code] == times

    # The files of the kernels stay as they are; the oracle that they call takes an error for ten times as bad.
    edited = copied / "fwexp" / "problems" / "chain.py"
    text = edited.read_text()
    assert text.count("per_error = 1.0 / length") == 1
    edited.write_text(text.replace("per_error = 1.0 / length", "per_error = 10.0 / length"))
    after = outcomes([start(copied, cache)])
    assert after != results[:1]
    assert len(list((cache / "fwexp" / "numba").iterdir())) == 2

    edited.write_text(text)
    assert outcomes([start(copied, cache)]) == results[:1]


def test_setting_of_numba_does_not_leak(monkeypatch):
    """Functions of other packages that are decorated later keep their own place."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "/somewhere/else")

    @_jit.njit
    def kernel(x):
        return x + 1

    assert numba.config.CACHE_DIR == "/somewhere/else"
    assert Path(kernel._cache.cache_path).is_relative_to(_jit.cache_directory())
    with pytest.raises(TypeError):
        _jit.njit(3)
    assert numba.config.CACHE_DIR == "/somewhere/else"


def test_hash_covers_every_source_of_the_package(tmp_path, monkeypatch):
    package = tmp_path / "package"
    (package / "sub").mkdir(parents=True)
    (package / "a.py").write_text("1")
    (package / "sub" / "b.py").write_text("2")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(_jit, "PACKAGE", package)
    names = [_jit.cache_directory.__wrapped__().name]

    def changed():
        names.append(_jit.cache_directory.__wrapped__().name)
        return names[-1] not in names[:-1]

    (package / "notes.txt").write_text("no source")
    assert not changed()
    (package / "sub" / "b.py").write_text("3")
    assert changed()
    (package / "sub" / "b.py").rename(package / "sub" / "c.py")
    assert changed()
    (package / "d.py").write_text("")
    assert changed()
    assert all((tmp_path / "cache" / "fwexp" / "numba" / name).is_dir() for name in names)


def test_home_that_cannot_be_written_to_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # no directory can be made below a file
    monkeypatch.setattr(_jit.tempfile, "gettempdir", lambda: str(tmp_path))
    directory = _jit.cache_directory.__wrapped__()
    assert directory.is_dir()
    assert directory.parent == tmp_path / f"fwexp-numba-{os.getuid()}"


@pytest.mark.parametrize(
    ("ages", "kept"),
    [
        ([0, 0.3, 1, 5, 6.5, 7.5, 30], [0, 0.3, 1, 5, 6.5]),  # days: the newest four, and all of the last week
        ([300, 10, 40, 20, 50], [10, 20, 40, 50]),  # nothing was used for a week: the newest four
        ([300, 10], [300, 10]),
    ],
)
def test_old_caches_are_pruned(tmp_path, ages, kept):
    for days in ages:
        (tmp_path / str(days)).mkdir()
        (tmp_path / str(days) / "kernel.nbc").write_text("")
        os.utime(tmp_path / str(days), (0, time.time() - days * 24 * 3600.0))
    (tmp_path / "file").write_text("")
    os.utime(tmp_path / "file", (0, 0))
    _jit.prune(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*map(str, kept), "file"}


def test_pruning_what_is_gone_is_no_error(tmp_path):
    _jit.prune(tmp_path / "missing")


# --- classes from outside the package -------------------------------------------------------------------------------


class Outside(NamedTuple):
    """A family from outside, with the fields and functions of ``EnumeratedProblem``."""

    n: int
    d: int
    num_weights: int
    part_ptr: np.ndarray
    label_ptr: np.ndarray
    labels: np.ndarray
    psi: np.ndarray
    scale: np.ndarray
    losses: np.ndarray


@pytest.fixture
def outside():
    """A problem of that class; it is unregistered again."""
    functions = [f for f in vars(protocol).values() if EnumeratedProblem in getattr(f, "implementations", {})]
    for function in functions:
        function.register(Outside)(function.implementations[EnumeratedProblem])
    rng = np.random.default_rng(0)
    inside = fwexp.enumerated_problem([np.vstack([np.zeros(3), rng.normal(size=(2, 3))]) for _ in range(4)], [[0.0, 1.0, 0.5]] * 4)
    yield inside, Outside(*inside)
    for function in functions:
        del function.implementations[Outside]


def test_classes_from_outside_run_compiled_but_are_not_cached_on_disk(outside):
    inside, problem = outside
    kernel = _jit.specialise(_decode_range, problem)
    assert _jit.specialise(_decode_range, inside) is _decode_range
    before = set(_jit.cache_directory().rglob("*.nb[ic]"))
    values = [Evaluator(p)(np.array([1.0, -2.0, 0.5])) for p in (inside, problem)]
    assert values[0] == pytest.approx(values[1], rel=1e-14)
    assert len(kernel.signatures) == 1
    assert not kernel.stats.cache_path
    assert kernel.targetoptions["error_model"] == "numpy"
    assert kernel.targetoptions["nogil"]
    new = {path for path in set(_jit.cache_directory().rglob("*.nb[ic]")) - before if "_decode_range" in path.name}
    assert len(new) <= 2  # of the class inside, if it was compiled here for the first time
    assert _jit.specialise(_decode_range, problem) is kernel  # compiled once per process


def test_functions_of_a_problem_run_as_plain_python():
    problem = fwexp.CallbackProblem([0], features=lambda i, y: np.zeros(1), loss=lambda i, y: 0.0, max_oracle=lambda i, w: 0)
    assert _jit.specialise(_decode_range, problem) is _decode_range.py_func


# --- dispatch on the class ------------------------------------------------------------------------------------------


class Square(NamedTuple):
    side: float
    name: float


class Circle(NamedTuple):
    radius: float
    pi: float


@_jit.dispatched
def area(shape, factor):
    """Return the area times a factor."""


@area.register(Square)
def _(shape, factor):
    return factor * shape.side**2


@area.register(Circle)
def _(shape, factor):
    return factor * shape.pi * shape.radius**2


@numba.njit
def compiled_area(shape, factor):
    return area(shape, factor)


def test_dispatch_is_the_same_compiled_and_in_plain_python():
    """Also for tuples whose fields have one type, which numba tells apart by their class only."""
    for shape, wanted in ((Square(2.0, 0.0), 8.0), (Circle(2.0, 3.0), 24.0)):
        assert area(shape, 2.0) == compiled_area(shape, 2.0) == compiled_area.py_func(shape, 2.0) == wanted
    assert area.__doc__ == "Return the area times a factor."
    with pytest.raises(TypeError, match="area is not available for int"):
        area(3, 1.0)
    with pytest.raises(numba.TypingError):
        compiled_area((1.0, 2.0), 1.0)


def test_subclasses_inherit_in_plain_python():
    class Named(Square):
        pass

    assert area(Named(3.0, 0.0), 1.0) == 9.0
