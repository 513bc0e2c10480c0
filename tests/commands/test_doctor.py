"""``fwexp doctor``: sound here, and one line for each thing that is wrong."""

import re

import pytest

from fwexp import api
from fwexp.cli import main
from fwexp.commands import doctor
from fwexp.errors import install
from fwexp.jit import disk_cache
from fwexp.problems.evaluation import Evaluation
from fwexp.store import provenance


@pytest.fixture
def examine(tmp_path, monkeypatch, capsys):
    """Call the command in an empty folder; gives the exit code and {check: its lines}. Training takes no time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FWEXP_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(doctor, "_training", lambda: iter(()))

    def call(*argv):
        code = main(["doctor", *map(str, argv)])
        captured = capsys.readouterr()
        assert captured.err == ""
        lines, found = captured.out.splitlines(), {}
        for line in lines[:-1]:
            found.setdefault(line.split()[0], []).append(line[11:])
        wrong = [text for texts in found.values() for text in texts if text.startswith("WRONG: ")]
        assert code == (len(wrong) > 0)
        assert lines[-1].startswith("sound" if code == 0 else f"{len(wrong)} thing")
        return code, found

    return call


@pytest.mark.portable
def test_this_installation_is_sound(tmp_path, monkeypatch, capsys):
    """The known optimum lies between the bounds of a run on any CPU."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FWEXP_DATA", raising=False)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["packages", "processor", "kernels", "data", "results", "training", "sound"]
    assert re.search(r"python \S+, fwexp \S+, numpy \S+, scipy \S+, numba \S+, llvmlite \S+, pandas \S+, hydra-core \S+$", lines[0])
    assert f"machine code for {provenance.cpu_kind()['name']}; " in lines[1]
    assert "complete: digits" in lines[3]
    assert "primal 0.067" in lines[5]
    assert list(tmp_path.iterdir()) == []


def test_a_package_that_is_too_old_or_gone(examine, monkeypatch):
    versions = {"numba": "0.59.1", "pyyaml": None, "scipy": "1.16rc1", "pandas": "4.0.0.dev3"}
    version = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: versions.get(name, version(name)))
    assert examine()[1]["packages"][1:] == [
        "WRONG: numba is 0.59.1, fwexp needs numba>=0.62: pip install 'numba>=0.62'",
        "WRONG: pyyaml is missing, fwexp needs pyyaml>=6: pip install 'pyyaml>=6'",
    ]


def test_a_package_that_does_not_import(examine, monkeypatch):
    import_module = doctor.importlib.import_module

    def broken(name):
        if name == "pyarrow":
            raise ImportError("no such\nsymbol")
        return import_module(name)

    monkeypatch.setattr(doctor.importlib, "import_module", broken)
    (line,) = examine()[1]["packages"][1:]
    assert line == "WRONG: pyarrow does not import (ImportError: no such symbol): pip install --force-reinstall pyarrow"


def test_no_place_for_machine_code(examine, monkeypatch, tmp_path):
    monkeypatch.setattr(disk_cache, "base", lambda: (None, "/x: belongs to another user"))
    (line,) = examine()[1]["kernels"]
    assert line.startswith("WRONG: no folder for machine code")
    assert "(/x: belongs to another user): set XDG_CACHE_HOME" in line
    monkeypatch.setattr(disk_cache, "base", lambda: (tmp_path / "data", "/x: belongs to another user"))
    (line,) = examine()[1]["kernels"]
    assert line.endswith("; not in the usual place (/x: belongs to another user)")


def test_a_full_disk(examine, monkeypatch):
    class Full:
        def __init__(self, **_):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", Full)
    found = examine()[1]
    assert found["kernels"][1].endswith(
        " cannot be written to (No space left on device), so commands compile anew: make room, or set XDG_CACHE_HOME"
    )
    assert found["results"][1].endswith(" cannot be written to (No space left on device): name another folder with results_dir=")


DRAWN = "digits, synthetic_horseseg, synthetic_lsp, slow_lsp"  # which need no files of anybody


def test_data(examine, tmp_path):
    assert examine()[1]["data"] == [
        f"{tmp_path / 'data'}: complete: {DRAWN}; missing: conll2000, hansards, horses, horseseg, lsp, ocr"
    ]
    (tmp_path / "data" / "ocr").mkdir()
    (tmp_path / "data" / "ocr" / "letter.data").write_text("?")
    found = examine()[1]["data"]
    assert found[0] == f"{tmp_path / 'data'}: complete: {DRAWN}; missing: conll2000, hansards, horses, horseseg, lsp; damaged: ocr"
    assert found[1].startswith("WRONG: ")
    assert found[1].endswith("; get it with `fwexp data fetch ocr`")
    (line, _) = examine("data_dir=elsewhere")[1]["data"]
    assert line == "WRONG: elsewhere is no folder: make it, or name another with FWEXP_DATA or data_dir="


def test_results(examine, tmp_path):
    (tmp_path / "results" / "runs").mkdir(parents=True)
    (tmp_path / "results" / "runs" / "notes").write_text("")
    (tmp_path / "results" / "runs" / "digits" / "bcfw" / "stray").mkdir(parents=True)
    (tmp_path / "results" / "runs" / "digits" / "bcfw" / "stray" / "trace.parquet").write_bytes(b"")
    assert examine()[1]["results"] == [
        "results: 0 finished, 0 partial, 0 failed",
        "WRONG: results/runs/digits/bcfw/stray: run.json is missing; move it away",
        "WRONG: results/runs/notes: notes is no folder of runs (Not a directory); move it away",
    ]
    line = examine("results_dir=data/../results/runs/notes/below")[1]["results"][-1]
    assert "cannot be written to (Not a directory)" in line


@pytest.mark.parametrize(
    ("primal", "gap", "status", "error", "condition"),
    [
        (0.0675, 0.001, "converged", 0.08, None),
        (0.0671, 0.001, "converged", 0.08, "the dual must be at most"),
        (0.0675, 0.0001, "converged", 0.08, "the dual must be at most"),
        (0.0671726, -5e-7, "converged", 0.08, "the gap must lie between"),
        (float("nan"), 0.001, "converged", 0.08, "the dual must be at most"),
        (0.0675, 0.001, "max_passes", 0.08, "the gap must lie between"),
        (0.0675, 0.001, "converged", 0.5, "the test error must be at most"),
    ],
)
def test_wrong_numbers_are_found(monkeypatch, primal, gap, status, error, condition):
    class Result:
        w = None

    Result.primal, Result.gap, Result.status = primal, gap, status
    monkeypatch.setattr(api, "solve", lambda *_, **__: Result)
    monkeypatch.setattr(api, "evaluate", lambda *_: Evaluation(0.0, 0.0, error))
    wrong = [text for is_right, text in doctor._training() if not is_right]
    assert bool(wrong) == bool(condition)
    if condition:
        assert condition in wrong[0]
        assert "NUMBA_CPU_NAME=generic" in wrong[0]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PermissionError(13, "Permission denied", "/x"), "/x: Permission denied; it has to be there and yours to read"),
        (AttributeError("gone"), f"AttributeError: gone; install again: {install()}"),
    ],
)
def test_a_check_that_fails_is_a_finding(examine, monkeypatch, error, text):
    def fail():
        raise error

    monkeypatch.setattr(provenance, "provenance", fail)
    assert examine()[1]["processor"] == [f"WRONG: {text}"]


@pytest.mark.data
def test_real_data_are_complete():
    assert "complete: conll2000, digits, hansards, horses, lsp, ocr, " in "".join(text for _, text in doctor._data(None))
