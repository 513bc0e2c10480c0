"""What fwexp uses of numba's insides: this numba has it, and without it the public API computes the same."""

import re
import subprocess
import sys
import tomllib

import numba
import numpy as np
import pytest
from packaging.requirements import Requirement

import fwexp
from fwexp.jit import numba_internals
from fwexp.jit.numba_internals import NEWER, USED
from fwexp.store import provenance
from tests.pages import ROOT


@pytest.fixture(autouse=True)
def fresh():
    """Look again, before and after a test."""
    numba_internals.missing.cache_clear()
    yield
    numba_internals.missing.cache_clear()


def test_this_numba_has_all_and_pyproject_accepts_no_newer_one():
    assert numba_internals.missing() == ()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [found.specifier for found in map(Requirement, project["dependencies"]) if found.name == "numba"]
    assert [{str(one) for one in each} for each in needed] == [
        {">=0.62", f"<{NEWER[0]}.{NEWER[1]}"},
        {">=0.62", "<0.63"},  # Macs with Intel
    ]


def test_a_newer_numba_is_not_trusted(monkeypatch):
    monkeypatch.setattr("numba.__version__", "0.69.0rc1")
    assert numba_internals.missing() == tuple(USED)


@pytest.mark.parametrize("name", USED)
def test_a_name_that_vanishes_is_missed(monkeypatch, name):
    owner, _, attribute = name.rpartition(".")
    monkeypatch.setattr(numba_internals, "USED", {f"{owner}.no_{attribute}": "", f"{owner}_{attribute}.x": "", name: ""})
    assert numba_internals.missing() == (f"{owner}.no_{attribute}", f"{owner}_{attribute}.x")


def test_the_layers_above_use_no_private_part_of_numba():
    """Nor do others in this one: `numba.core.event` is documented, the rest is listed."""
    listed = {name.split(".")[1] + "." + name.split(".")[2] if ".core." in name else "_dynfunc" for name in USED}
    for path in (ROOT / "fwexp").rglob("*.py"):
        for module in re.findall(r"numba\.(core\.\w+|_[a-z]\w+)", path.read_text()):
            assert module in listed | {"core.event"}, f"{path} uses numba.{module}"
    for module in ("inner", "references", "kernel_cache"):
        for line in re.findall(r"^from numba\.(.+ import .+)$", (ROOT / f"fwexp/jit/{module}.py").read_text(), re.MULTILINE):
            owner, _, names = line.partition(" import ")
            for name in names.split(", "):
                assert any(f"{known}.".startswith(f"numba.{owner}.{name}.") for known in USED), line


def test_the_cpu_is_the_one_that_numba_compiles_for():
    from numba.core.registry import cpu_target

    assert provenance._target() == cpu_target.target_context.codegen().magic_tuple()[1:]


RUN = """
import numba, numba.core.typed_passes
del numba.core.typed_passes.NativeLowering
from fwexp.jit.compilation import KERNEL
from tests.jit.test_numba_internals import small_run
assert "pipeline_class" not in KERNEL
print(*(value.hex() for value in small_run().w))
"""


def small_run():
    problem = fwexp.multiclass_problem(np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 3)
    return fwexp.solve(problem, "bcfw", lam=0.1, max_passes=5, gap_tol=0)


@pytest.mark.slow
def test_without_a_name_the_public_api_computes_the_same():
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    lacks = "lacks numba.core.typed_passes.NativeLowering.lowering_class"
    assert done.stderr.count(f"RuntimeWarning: numba {numba.__version__} {lacks}, so kernels compile more slowly") == 1
    assert [float.fromhex(value) for value in done.stdout.split()] == pytest.approx(small_run().w.tolist(), rel=1e-12, abs=1e-15)
