import ctypes.util
import json
import os
import platform
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from fwexp.store.provenance import _kernel_of_blas, blas, cpu_features, cpu_kind, git_state, provenance


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init")
    (tmp_path / "file").write_text("a")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-m", "one")
    return tmp_path


def test_the_commit_and_whether_it_was_changed(checkout):
    state = git_state(checkout)
    assert len(state["commit"]) == 40
    assert state["dirty"] is False
    (checkout / "file").write_text("b")
    assert git_state(checkout) == state | {"dirty": True}


def test_the_index_is_left_alone(checkout):
    """To note there what it found `git status` takes a lock, on which the user's own commands fail."""
    before = (checkout / ".git/index").read_bytes()
    os.utime(checkout / "file", (1, 1))
    assert git_state(checkout)["dirty"] is False
    assert (checkout / ".git/index").read_bytes() == before


def test_a_checkout_around_the_package_is_not_its_source(checkout):
    (checkout / "site-packages").mkdir()
    assert git_state(checkout / "site-packages") is None


def test_no_checkout(tmp_path):
    assert git_state(tmp_path) is None


def test_facts_are_plain_data():
    facts = provenance()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["versions"]["numba"] == metadata.version("numba")
    assert facts["threads"] >= 1
    assert facts["cpu"]
    assert facts["cpu_kind"] == cpu_kind()
    assert facts["versions"]["llvmlite"] == metadata.version("llvmlite")


def test_features_are_those_that_are_on():
    features = provenance()["cpu_features"].split()
    assert len(features) == len(set(features))
    assert not any(feature.startswith(("+", "-")) for feature in features)
    if platform.machine() == "x86_64" and provenance()["cpu_kind"]["name"] != "generic":  # of which none is known to be on
        assert "sse2" in features


@pytest.mark.skipif("openblas" not in (blas()["name"] or ""), reason="numpy has another BLAS")
def test_the_kernel_of_openblas_is_the_one_that_runs():
    """The variable chooses another one when the library is loaded."""
    assert blas()["version"]
    code = "from fwexp.store.provenance import blas; print(blas()['kernel'])"
    root = str(Path(__file__).parents[2])
    for name in ("Haswell", "Nehalem") if platform.machine() == "x86_64" else ("ARMV8",):
        environment = os.environ | {"OPENBLAS_CORETYPE": name}
        done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True, cwd=root)
        assert done.stdout.strip().lower() == name.lower()


def test_another_blas_has_no_kernel_to_tell(tmp_path):
    assert _kernel_of_blas(str(tmp_path / "missing.so")) is None
    assert _kernel_of_blas(ctypes.util.find_library("c")) is None


def test_facts_are_found_in_no_time():
    """Without those of git, which is a process of its own."""
    provenance()  # imports
    start = time.process_time()
    kind, _, library = (cpu_kind(), cpu_features(), blas())
    assert time.process_time() - start < 0.5  # ten times what it takes; seconds of a processor, which others do not lengthen
    assert kind
    assert library


@pytest.mark.parametrize("name", ["generic", "x86-64-v3"] if platform.machine() == "x86_64" else ["generic"])
def test_the_kind_of_cpu_is_the_one_that_is_compiled_for(name):
    code = "from fwexp.store.provenance import cpu_kind; print(cpu_kind())"
    root = str(Path(__file__).parents[2])
    done = [
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True, cwd=root).stdout
        for environment in (
            os.environ | {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""},
            os.environ | {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": "+sse2"},
        )
    ]
    assert f"'name': '{name}'" in done[0]
    assert done[0] != done[1]  # its features count
