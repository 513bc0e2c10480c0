"""Compiled code: what an edit compiles anew, that what is kept is never wrong, and where its lines are."""

import importlib.util
import linecache
import os
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import fwexp
from fwexp.blocks.block_loop import run_steps
from fwexp.jit import compilation, texts
from fwexp.oracles.viterbi import viterbi
from fwexp.problems import protocol
from fwexp.problems.chain import ChainProblem

PACKAGE = Path(fwexp.__file__).parent
TINY = """
import math
from typing import NamedTuple
import numpy as np
from fwexp.jit.compilation import array_kernel, dispatched, njit

FACTOR = 2.0
TABLE = np.array([1.0, 2.0])

@array_kernel("float64(float64[::1])")
def log_sum(scores):
    total = 0.0
    for score in scores:
        total += math.exp(score)
    return math.log(total)

class Tiny(NamedTuple):
    n: int
    d: int
    num_weights: int
    part_ptr: np.ndarray
    label_ptr: np.ndarray
    labels: np.ndarray
    x: np.ndarray

@dispatched(entry=True)
def value(problem, i, c) -> float:
    "Return a value."

@dispatched(entry=True, default=())
def bonus(problem, i) -> float:
    "Return what is added."
    return 0.5

@value.register(Tiny)
def _(problem, i, c):
    return FACTOR * log_sum(problem.x[i]) * c

@njit
def steps(problem, c, values):
    for i in range(problem.n):
        values[i] = value(problem, i, c) + bonus(problem, i)

def make():
    ptr = np.arange(4)
    return Tiny(3, 2, 2, ptr, ptr, np.zeros(3, np.int32), np.sin(np.arange(6.0)).reshape(3, 2))

@njit
def look_up(k):
    return TABLE[k]

def run(problem=None):
    values = np.zeros(3)
    steps(problem or make(), 0.7, values)
    return values
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(texts, "folder", lambda: folder)
    return folder


@pytest.fixture
def run(tmp_path, cache):
    """Return a function that imports a module, runs its kernel, and returns the values and the names of what was compiled."""
    count = iter(range(100))

    def kept():
        return {path.name.partition(".")[0] for path in cache.rglob("*.nbc")}

    def run(text, late=lambda module: None):
        name = f"tiny_{next(count)}"
        (tmp_path / f"{name}.py").write_text(text)
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
        if late.__name__ != "<lambda>":
            module.run()
            late(module)
        before = kept()
        values, expected = module.run(), np.zeros(3)
        module.steps.py_func(module.make(), 0.7, expected)
        np.testing.assert_allclose(values, expected, rtol=1e-14)
        return values, {name.rpartition("_")[0] for name in kept() - before}

    return run


ALL = {"steps", "value_Tiny", "bonus_Tiny", "log_sum"}
OTHER = """
class Other(Tiny):
    __slots__ = ()
@value.register(Other)
def _(problem, i, c):
    return 3.0 * FACTOR
"""


def registers(module):
    module.bonus.register(module.Tiny)(seven)


def seven(problem, i):
    return 7.0


EDITS = {
    "nothing": (("", ""), set()),
    "a comment": (("FACTOR = 2.0", "FACTOR = 2.0  # twice"), set()),
    "blank lines": (("    total = 0.0\n", "\n    # no sum yet\n\n    total = 0.0\n"), set()),
    "a docstring": (("Return what is added.", "Return a number."), set()),
    "another family": (("@njit", OTHER + "@njit"), set()),
    "a constant": (("FACTOR = 2.0", "FACTOR = 3.0"), {"value_Tiny"}),
    "an oracle": (("math.log(total)", "1.0 + math.log(total)"), {"value_Tiny", "log_sum"}),
    "a function of a family": (("* c", "* c * c"), {"value_Tiny"}),
    "a default": (("return 0.5", "return 1.5"), {"bonus_Tiny"}),
    "a kernel": (("+ bonus(problem, i)", "+ 2.0 * bonus(problem, i)"), {"steps"}),
}


def test_an_edit_compiles_what_hangs_on_it_and_no_more(run):
    first, compiled = run(TINY)
    assert compiled == ALL
    for name, ((old, new), expected) in EDITS.items():
        assert old in TINY
        values, compiled = run(TINY.replace(old, new, 1))
        assert compiled == expected, name
        assert (values.tobytes() == first.tobytes()) == (not expected), name
    values, compiled = run(TINY, registers)
    assert compiled == {"bonus_Tiny"}
    np.testing.assert_allclose(values, first + 6.5, rtol=1e-14)


def test_code_is_not_kept_that_depends_on_what_its_text_does_not_say(cache, monkeypatch):
    """Such as an array: an edit of its numbers would not show."""
    for factor in (1.0, 3.0):
        scope = {}
        monkeypatch.setitem(linecache.cache, "tiny", (0, None, TINY.splitlines(keepends=True), "tiny"))
        exec(compile(TINY, "tiny", "exec"), scope)
        scope["TABLE"] *= factor
        assert scope["look_up"](1) == 2.0 * factor
    assert not list(cache.iterdir())


PROCESS = """
import sys
from fwexp.jit import texts
import tiny
news = []
texts.on_news.set(lambda: news.append(1))
print(tiny.run().tobytes().hex(), len(news), texts.folder())
"""


@pytest.mark.slow
def test_processes_share_a_cache(tmp_path):
    """Two on an empty cache agree; the next one compiles nothing. So does one with another cache."""
    (tmp_path / "tiny.py").write_text(TINY)

    def start(cache):
        environment = os.environ | {
            "XDG_CACHE_HOME": str(cache),
            "PYTHONPATH": f"{tmp_path}:{PACKAGE.parent}",
            "TMPDIR": str(cache),
        }
        return subprocess.Popen([sys.executable, "-c", PROCESS], env=environment, text=True, stdout=subprocess.PIPE)

    first = [start(tmp_path / "cache"), start(tmp_path / "cache"), start(tmp_path / "other")]
    found = [process.communicate()[0].split() for process in first]
    assert len({values for values, *_ in found}) == 1
    assert sum(int(news) for _, news, _ in found[:2]) >= len(ALL)
    values, news, folder = start(tmp_path / "cache").communicate()[0].split()
    assert (values, news) == (found[0][0], "0")
    assert {path.name.rpartition("_")[0] for path in Path(folder).glob("*.py")} == ALL


# --- what is compiled is a text ---------------------------------------------------------------------------------------


def refuses(x):
    if x > 1.0:
        raise ValueError("too large")
    return x + 0.25


@pytest.mark.parametrize("is_kept", [True, False])
def test_tracebacks_name_lines_of_texts(cache, monkeypatch, is_kept):
    if not is_kept:
        monkeypatch.setattr(texts, "folder", lambda: None)
    kernel = compilation.njit(refuses)
    assert kernel(1.0) == 1.25
    with pytest.raises(ValueError, match="too large") as caught:
        kernel(2.0)
    frame = traceback.extract_tb(caught.tb)[-1]
    assert frame.line == "raise ValueError('too large')"
    (linked,) = kernel._linked.values()
    assert frame.filename == (str(cache / f"{linked.text.key}.py") if is_kept else f"<{linked.text.key}>")
    assert "".join(linecache.getlines(frame.filename)) == linked.text.source
    assert [path.read_text() for path in cache.glob("*.py")] == [linked.text.source] * is_kept


def test_everything_is_compiled_by_one_module():
    """Others would have caches of numba's own, which do not notice the edit of a function that is called."""
    folders = (PACKAGE, *(PACKAGE.parent / name for name in ("experiments", "plots")))
    compiling = re.compile(
        r"numba\.(n?jit|vectorize|guvectorize|cfunc|stencil)\b|from numba(\.core\.decorators)? import (?!types\n)"
    )
    assert [path.name for folder in folders for path in folder.rglob("*.py") if compiling.search(path.read_text())] == ["texts.py"]


def test_functions_of_a_problem_run_as_plain_python():
    problem = fwexp.CallbackProblem([0], features=lambda i, y: np.zeros(1), loss=lambda i, y: 0.0, max_oracle=lambda i, w: 0)
    kernel = compilation.njit(refuses)
    assert compilation.specialise(kernel, problem) is refuses


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


@compilation.njit
def compiled_area(shape, factor):
    return area(shape, factor)


def test_dispatch_is_the_same_compiled_and_in_plain_python():
    """Also for tuples whose fields have one type."""
    for shape, wanted in ((Square(2.0, 0.0), 8.0), (Circle(2.0, 3.0), 24.0)):
        assert area(shape, 2.0) == compiled_area(shape, 2.0) == compiled_area.py_func(shape, 2.0) == wanted
    assert area.__doc__ == "Return the area times a factor."
    for function in (area, compiled_area):
        with pytest.raises(TypeError, match="area is not available for"):
            function(3, 1.0)


def test_what_is_registered_last_is_called(monkeypatch):
    """Also if another function was found for the class before, through its base."""

    class Unit(Square):
        pass

    unit, before = Unit(2.0, 0.0), area.find(Square)
    for _ in range(2):
        assert area(unit, 1.0) == 4.0
        with monkeypatch.context() as patch:
            patch.setitem(area.implementations, Square, lambda *_: 5.0)
            assert area(unit, 1.0) == 5.0
            patch.setitem(area.implementations, Unit, lambda *_: 6.0)
            assert area(unit, 1.0) == 6.0
    assert area.find(Unit) is before


def test_tracebacks_name_the_function_and_the_class():
    assert area.find(Circle).__code__.co_name == area.find(Circle).__name__ == "area_Circle"
    with pytest.raises(TypeError) as error:
        area(Circle(2.0, 3.0), None)
    assert error.traceback[-1].name == "area_Circle"
    assert protocol.max_oracle.find(ChainProblem).__name__ == "max_oracle_ChainProblem"
    shared = {function for function in protocol.norm_sq.implementations.values() if function.__name__ == "norm_sq"}
    assert protocol.norm_sq.find(ChainProblem) in shared  # one of several families, which the name leaves open


@pytest.mark.parametrize("kernel", [run_steps, viterbi], ids=lambda kernel: kernel.__name__)
def test_kernels_are_pickled_by_their_names(kernel):
    """Processes of joblib and Dask get functions that name them."""
    assert pickle.loads(pickle.dumps(kernel)) is kernel
    assert len(pickle.dumps(kernel)) < 200
