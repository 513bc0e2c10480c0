"""Compiled code: what is cached, where, and that old machine code never runs for new sources.

Processes of their own run copies of the package, with caches of their own.
"""

import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import fwexp
from fwexp.files import code_digest
from fwexp.jit import compilation, disk_cache
from fwexp.problems import protocol, walk
from fwexp.problems.chain import ChainProblem
from fwexp.problems.enumerated import EnumeratedProblem
from fwexp.problems.evaluation import Evaluator, _decode_range

PACKAGE = Path(fwexp.__file__).parent
CACHE = compilation.cache_directory(__name__).parent

# A package of its own for every test: the modules that decide how kernels are compiled, and three tiny ones with kernels.
TINY = {
    "oracles/__init__.py": "",
    "oracles/tiny.py": """
import math
from fwexp.jit.compilation import array_kernel

@array_kernel("(f8[::1],)")
def log_sum(scores):  # whose value shows the smallest difference in machine code
    total = 0.0
    for score in scores:
        total += math.exp(score)
    return math.log(total)
""",
    "problems/__init__.py": "",
    "problems/tiny.py": """
from typing import NamedTuple
import numpy as np
from fwexp.jit.compilation import dispatched
from fwexp.oracles.tiny import log_sum

class Tiny(NamedTuple):
    x: np.ndarray

@dispatched
def value(problem, i, w):
    "Return a value."

@value.register(Tiny)
def _(problem, i, w):
    return 1.0 * log_sum(problem.x[i] * w)
""",
    "solvers/__init__.py": "",
    "solvers/tiny.py": """
from fwexp.jit.compilation import njit
from fwexp.problems.tiny import value

@njit
def _steps(problem, values):
    for i in range(len(values)):
        values[i] = value(problem, i, 0.1 * i)
""",
}
TRAIN = """
import numpy as np
import fwexp
from fwexp.jit import compilation, disk_cache
from fwexp.problems.tiny import Tiny
from fwexp.solvers.tiny import _steps
assert fwexp.__file__.startswith({folder!r}), fwexp.__file__
problem, values = Tiny(np.sin(np.arange(3000.0)).reshape(100, 30)), np.zeros(100)
compilation.specialise(_steps, problem)(problem, values)
print(values.tobytes().hex())
"""


def start(folder, cache):
    """Run the kernels in a process of its own, with the package in ``folder``."""
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(folder)}
    code = TRAIN.format(folder=str(folder))
    return subprocess.Popen([sys.executable, "-c", code], env=environment, text=True, stdout=subprocess.PIPE, cwd=folder)


def outcomes(processes):
    results = []
    for process in processes:
        results.append(process.communicate()[0])
        assert process.returncode == 0
    return results


@pytest.fixture
def tiny(tmp_path):
    """Return the folder of a package with tiny kernels, which may be edited."""
    for path in (*PACKAGE.glob("*.py"), *PACKAGE.glob("jit/*.py"), *PACKAGE.glob("files/*.py")):
        copy = tmp_path / "fwexp" / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    for name, text in TINY.items():
        (tmp_path / "fwexp" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "fwexp" / name).write_text(text)
    return tmp_path


@pytest.mark.slow
def test_processes_share_a_cache_and_edits_invalidate_it(tiny):
    """Two processes on an empty cache agree; the next one compiles nothing; after an edit of an oracle all is new."""
    cache = tiny / "cache"
    results = outcomes([start(tiny, cache) for _ in range(2)])
    assert len(results[0]) > 100
    assert set(results) == {results[0]}
    machine_code = sorted(cache.rglob("*.nbc"))
    for kernel in ("log_sum", "_steps"):
        assert any(kernel in path.name for path in machine_code)

    times = [path.stat().st_mtime_ns for path in machine_code]
    assert outcomes([start(tiny, cache)]) == results[:1]
    assert sorted(cache.rglob("*.nbc")) == machine_code
    assert [path.stat().st_mtime_ns for path in machine_code] == times

    # The files of the kernels stay as they are; what they reach by dispatch is ten times as large.
    edited = tiny / "fwexp" / "problems" / "tiny.py"
    text = edited.read_text()
    assert text.count("return 1.0 *") == 1
    edited.write_text(text.replace("return 1.0 *", "return 10.0 *"))
    folders = set((cache / "fwexp" / "numba").iterdir())
    after = outcomes([start(tiny, cache)])
    assert after != results[:1]
    assert set((cache / "fwexp" / "numba").iterdir()) > folders

    # What no kernel reaches may change.
    cli = tiny / "fwexp" / "cli.py"
    cli.write_text(cli.read_text() + "\n# edited")
    machine_code = sorted(cache.rglob("*.nbc"))
    assert outcomes([start(tiny, cache)]) == after
    assert sorted(cache.rglob("*.nbc")) == machine_code

    edited.write_text(text)
    assert outcomes([start(tiny, cache)]) == results[:1]


@pytest.mark.parametrize(("setting", "value"), [("CACHE_DIR", "/somewhere/else"), ("CACHE_LOCATOR_CLASSES", "InTreeCacheLocator")])
def test_settings_of_numba_lead_nowhere_else(monkeypatch, setting, value):
    """Nor do functions of other packages that are decorated later lose their own place."""
    monkeypatch.setattr(numba.config, setting, value, raising=False)

    @compilation.njit
    def kernel(x):
        return x + 1

    assert getattr(numba.config, setting) == value
    assert Path(kernel._cache.cache_path).is_relative_to(CACHE)
    with pytest.raises(TypeError):
        compilation.njit(3)


@pytest.fixture
def read_from(monkeypatch):
    """Return a function that has digests read the sources of a package in another folder, as they are when it is called."""

    def change(folder):
        monkeypatch.setattr(code_digest, "PACKAGE", folder)
        for name in ("imports", "path_of", "_modules", "_source"):
            monkeypatch.setattr(code_digest, name, cache(getattr(code_digest, name).__wrapped__))

    return change


@pytest.fixture
def package(tmp_path, read_from):
    """Return a package of four modules: two oracles, a solver that uses one of them, and another solver."""
    folder = tmp_path / "fwexp"
    for name, text in {
        "oracles/a.py": "",
        "problems/p.py": "from fwexp.oracles.a import f",
        "solvers/__init__.py": "from fwexp.solvers import s, t",
        "solvers/base.py": "",
        "solvers/s.py": "from fwexp.solvers import base\nimport numpy",
        "solvers/t.py": "def f():\n    import fwexp.solvers.s",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    read_from(folder)
    return folder


def test_a_module_depends_on_what_it_imports_when_it_is_imported(package):
    assert code_digest.closure(["fwexp.solvers.s"]) == {"fwexp.solvers.s", "fwexp.solvers.base"}
    assert code_digest.closure(["fwexp.solvers.t"]) == {"fwexp.solvers.t"}
    assert code_digest.closure(["fwexp.problems"]) == {"fwexp.problems.p", "fwexp.oracles.a"}
    assert "fwexp.solvers.t" in code_digest.closure(["fwexp.solvers"])


@pytest.mark.parametrize(
    ("edited", "changed"),
    [("oracles/a.py", "st"), ("problems/p.py", "st"), ("solvers/base.py", "s"), ("solvers/s.py", "s"), ("solvers/__init__.py", "")],
)
def test_caches_depend_on_the_sources_that_kernels_reach(package, read_from, tmp_path, monkeypatch, edited, changed):
    monkeypatch.setattr(disk_cache, "base", lambda: (tmp_path, ""))

    def directories():
        return {name: compilation.cache_directory.__wrapped__(f"fwexp.solvers.{name}") for name in "st"}

    before = directories()
    assert before == directories()
    (package / edited).write_text((package / edited).read_text() + "\nEDITED = True")
    read_from(package)
    after = directories()
    assert {name for name in "st" if before[name] != after[name]} == set(changed)
    assert all(path.is_dir() for path in after.values())


def test_all_that_kernels_call_counts_for_their_cache():
    """Functions called by dispatch lie where those who call them import from, or in packages that count as a whole."""
    for module in pkgutil.walk_packages(fwexp.__path__[:1], "fwexp."):
        importlib.import_module(module.name)
    seen = set()
    for name, module in [*sys.modules.items()]:
        if name.startswith("fwexp."):
            for function in vars(module).values():
                for cls, implementation in getattr(function, "implementations", {}).items():
                    compiled = cls is object or issubclass(cls, tuple)  # what kernels take
                    if compiled and implementation.__module__.startswith("fwexp."):
                        counted = code_digest.closure([function.__module__, *compilation.REACHED], whole=compilation.PACKAGES)
                        assert implementation.__module__ in counted, f"{function.__name__} in {implementation.__module__}"
                        seen.add(function.__name__)
    assert seen >= {"max_oracle", "find_corner", "take_step"}


def test_everything_is_compiled_by_one_module():
    """Others would have caches of numba's own, which do not notice the edit of a function that is called."""
    paths = [
        path for folder in (PACKAGE, *(PACKAGE.parent / name for name in ("experiments", "plots"))) for path in folder.rglob("*.py")
    ]
    compiling = re.compile(
        r"numba\.(n?jit|vectorize|guvectorize|cfunc|stencil)\b|from numba(\.core\.decorators)? import (?!types\n)"
    )
    assert [path.name for path in paths if compiling.search(path.read_text())] == ["compilation.py"]


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
    """Yield a problem of that class, and unregister the class afterwards."""
    everything = [*vars(protocol).values(), *vars(walk).values()]
    functions = [f for f in everything if EnumeratedProblem in getattr(f, "implementations", {})]
    for function in functions:
        function.register(Outside)(function.implementations[EnumeratedProblem])
    rng = np.random.default_rng(0)
    inside = fwexp.enumerated_problem([np.vstack([np.zeros(3), rng.normal(size=(2, 3))]) for _ in range(4)], [[0.0, 1.0, 0.5]] * 4)
    yield inside, Outside(*(getattr(inside, name) for name in Outside._fields))
    for function in functions:
        del function.implementations[Outside]


def test_classes_from_outside_run_compiled_but_are_not_cached_on_disk(outside):
    inside, problem = outside
    kernel = compilation.specialise(_decode_range, problem)
    assert compilation.specialise(_decode_range, inside) is _decode_range
    before, seen = set(CACHE.rglob("*.nbc")), len(kernel.signatures)  # of other families from outside
    values = [Evaluator(p)(np.array([1.0, -2.0, 0.5])) for p in (inside, problem)]
    assert values[0] == pytest.approx(values[1], rel=1e-14)
    assert len(kernel.signatures) == seen + 1
    assert not kernel.stats.cache_path
    assert kernel.targetoptions["error_model"] == "numpy"
    assert kernel.targetoptions["nogil"]
    new = {path for path in set(CACHE.rglob("*.nbc")) - before if "_decode_range" in path.name}
    assert len(new) <= 2  # of the class inside, if it was compiled here for the first time
    assert compilation.specialise(_decode_range, problem) is kernel  # compiled once per process


def test_functions_of_a_problem_run_as_plain_python():
    problem = fwexp.CallbackProblem([0], features=lambda i, y: np.zeros(1), loss=lambda i, y: 0.0, max_oracle=lambda i, w: 0)
    assert compilation.specialise(_decode_range, problem) is _decode_range.py_func


PLAIN = """
import numpy as np
import fwexp
import fwexp.convex
from fwexp.estimators import MulticlassSVM
from fwexp.store.provenance import cpu_kind
from fwexp.solvers import get_solver, of_kind
rng = np.random.default_rng(0)
problem = fwexp.chain_problem([rng.normal(size=(3, 2)) for _ in range(4)], [[0, 1, 0]] * 4)
for solver in of_kind("structured"):
    objective = get_solver(solver).objectives[0]
    result = fwexp.solve(problem, solver, lam=0.1, max_passes=2, iterates=["last"], schedule=[], objective=objective)
    start = 1.0 if objective == "hinge" else 3.0 * np.log(2.0)  # P at w = 0
    print(solver, result.primal / start, result.gap / start)
box = fwexp.convex.Box(np.zeros(2), np.ones(2))
fwexp.convex.minimize(fwexp.convex.LeastSquares(np.eye(2), np.ones(2)), box, max_iter=2)
MulticlassSVM(max_passes=1, tol=10.0).fit(np.eye(2), [0, 1])
print(cpu_kind()["name"])
"""


SLOW = ("excessive_gap", "extragradient")  # whose first iterates are worse than w = 0


def test_without_compilation_all_is_plain_python():
    """``NUMBA_DISABLE_JIT`` is for debuggers: no solver ends above w = 0, whose objective is 1, with a certificate."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-W", "always", "-c", PLAIN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    warned = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert len(warned) == 1, "one line, for any kernels and however often"
    assert "RuntimeWarning: NUMBA_DISABLE_JIT is set, so kernels run as plain Python" in warned[0]
    (*lines, kind) = done.stdout.splitlines()
    assert kind == "python"
    assert len(lines) > 8
    for solver, primal, gap in map(str.split, lines):
        assert float(primal) > 0, solver
        assert solver in SLOW or float(primal) <= 1, solver
        assert solver in ("ssg", *SLOW) or 0 <= float(gap) < 2, solver


# --- dispatch on the class ------------------------------------------------------------------------------------------


class Square(NamedTuple):
    side: float
    name: float


class Circle(NamedTuple):
    radius: float
    pi: float


@compilation.dispatched
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


def test_tracebacks_name_the_function_and_the_class():
    assert area.find(Circle).__code__.co_name == area.find(Circle).__name__ == "area_Circle"
    with pytest.raises(TypeError) as error:
        area(Circle(2.0, 3.0), None)
    assert error.traceback[-1].name == "area_Circle"
    assert protocol.max_oracle.find(ChainProblem).__name__ == "max_oracle_ChainProblem"
    shared = {function for function in protocol.norm_sq.implementations.values() if function.__name__ == "norm_sq"}
    assert protocol.norm_sq.find(ChainProblem) in shared  # one of several families, which the name leaves open
