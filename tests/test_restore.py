"""A run that is saved and killed, and restored in another process, goes on bit for bit."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_every_solver import CASES, FAMILIES

HERE = Path(__file__).resolve().parents[1]


def run(role, folder, cases, **environment):
    command = [sys.executable, "-m", "tests.restore", role, str(folder), json.dumps(cases)]
    return subprocess.run(command, capture_output=True, text=True, cwd=HERE, env=os.environ | environment)


def check(folder, cases, **environment):
    saved = run("save", folder, cases, **environment)
    assert saved.returncode == -signal.SIGKILL, saved.stderr
    restored = run("go-on", folder, cases, **environment)
    assert restored.returncode == 0, restored.stderr
    lines = restored.stdout.splitlines()
    for k, (case, line) in enumerate(zip(cases, lines, strict=True)):
        wanted = folder / f"{k}.wanted"
        assert line == (wanted.read_text() if wanted.exists() else "-"), case
    return lines.count("-")


@pytest.mark.slow
def test_every_solver_goes_on_in_another_process(tmp_path):
    assert check(tmp_path, [["chains", name, options] for name, options in CASES]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_solver_goes_on_with_every_family(tmp_path, family):
    """In plain Python, which runs the same steps without compiling them for every family."""
    left_out = check(tmp_path, [[family, name, options] for name, options in CASES], NUMBA_DISABLE_JIT="1")
    assert left_out < len(CASES) / 2
