import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from llvmlite import binding

from fwexp import plugin_files, store
from fwexp.papers.report.run_pages import environment
from fwexp.store import records
from fwexp.store.provenance import blas, cpu_kind, git_state, plugins_of, processor, provenance
from fwexp.store.staleness import made_by


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


def test_a_checkout_around_the_package_is_not_its_source(checkout, tmp_path_factory):
    (checkout / "site-packages").mkdir()
    assert git_state(checkout / "site-packages") is None
    assert git_state(tmp_path_factory.mktemp("none")) is None


def test_packages_of_the_user_have_their_version_and_commit(checkout, tmp_path, monkeypatch):
    package = tmp_path / "src" / "mine_of_tests"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "solver.py").write_text("A = 1\n")
    installed = tmp_path / "site-packages" / "theirs_of_tests.py"
    installed.parent.mkdir()
    installed.touch()
    git(checkout, "add", "src")
    git(checkout, "commit", "-m", "two")
    (tmp_path / "results").touch()  # no code of the package
    point = metadata.EntryPoint("mine", "mine_of_tests.solver:Mine", "fwexp.solvers")
    vars(point)["dist"] = SimpleNamespace(version="1.2")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == "fwexp.solvers" else [])
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.syspath_prepend(installed.parent)
    names = ("fwexp.solvers.bcfw", "mine_of_tests.solver", "theirs_of_tests")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True).stdout.strip()
    state = {"commit": commit, "dirty": False}
    expected = {"mine_of_tests": {"version": "1.2", "git": state}, "theirs_of_tests": {"version": None, "git": None}}
    assert plugins_of.__wrapped__(names) == expected
    (package / "solver.py").write_text("A = 2\n")
    assert plugins_of.__wrapped__(names)["mine_of_tests"]["git"] == state | {"dirty": True}
    assert plugins_of(("fwexp.solvers.bcfw",)) == {}


def test_a_run_records_the_commit_of_a_plugin_file(checkout, make_result, config):
    path = checkout / "my_solver.py"
    path.write_text("A = 1\n")
    with plugin_files.using([path]):
        (module,) = plugin_files.modules()
        folder = store.save(make_result(), config, checkout / "store", made_by=made_by([module.__name__]))
    record = records.read(folder / "run.json")  # which checks its kind
    state = {"commit": git_state(checkout)["commit"], "dirty": True}  # the file is not committed
    assert record["provenance"]["plugins"] == {"my_solver.py": {"version": None, "git": state}}
    assert f"my_solver.py  commit {state['commit']}-dirty" in environment(record)


def test_facts_are_plain_data():
    facts = provenance()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["versions"]["numba"] == metadata.version("numba")
    assert facts["threads"] >= 1
    assert facts["cpu"]
    assert facts["cpu_kind"] == cpu_kind()
    assert facts["versions"]["llvmlite"] == metadata.version("llvmlite")


def test_a_processor_without_a_name_in_proc_has_one(monkeypatch, tmp_path):
    """As on ARM, and where there is no /proc."""
    for text in ("processor\t: 0\nCPU implementer\t: 0x41\n", None):
        (tmp_path / "cpuinfo").unlink(missing_ok=True)
        if text:
            (tmp_path / "cpuinfo").write_text(text)
        monkeypatch.setattr("fwexp.store.provenance.Path", lambda _: tmp_path / "cpuinfo")
        assert processor() == binding.get_host_cpu_name()


@pytest.mark.skipif("openblas" not in (blas()["name"] or ""), reason="numpy has another BLAS")
def test_the_kernel_of_openblas_is_the_one_that_runs():
    """The variable chooses another one when the library is loaded."""
    assert blas()["version"]
    code = "from fwexp.store.provenance import blas; print(blas()['kernel'])"
    root = str(Path(__file__).parents[2])
    name = "nehalem" if platform.machine() == "x86_64" else "armv8"
    environment = os.environ | {"OPENBLAS_CORETYPE": name}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True, cwd=root)
    assert done.stdout.strip().lower() == name


def test_the_kind_of_cpu_is_the_one_that_is_compiled_for():
    name, code = "generic", "from fwexp.store.provenance import cpu_kind; print(cpu_kind())"
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
