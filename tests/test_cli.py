import os
import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fwexp import __version__, store
from fwexp.cli import COMMANDS, main
from fwexp.run import catalogues, runner
from fwexp.store import staleness

SADDLE = ("away", "fw", "fw_adaptive", "fw_linear_rate")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}


@pytest.fixture
def fwexp(tmp_path, monkeypatch, capsys):
    """Call the command in an empty folder, without data; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FWEXP_DATA", str(tmp_path / "no_data"))

    def call(*argv):
        code = main([str(arg) for arg in argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def start(*argv, cwd, **options):
    """Start the command in a process and group of its own."""
    command = [sys.executable, "-c", "import sys; from fwexp.cli import main; sys.exit(main())", *argv]
    return subprocess.Popen(command, cwd=cwd, env=ENVIRONMENT, text=True, start_new_session=True, **options)


@pytest.mark.parametrize("line", ["run", "claims"])
def test_what_is_published_is_no_store(fwexp, tmp_path, line):
    (tmp_path / "provenance.json").touch()
    code, out, err = fwexp(*line.split(), f"results_dir={tmp_path}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.endswith("which make publish wrote: see its README.md\n")
    assert [path.name for path in tmp_path.iterdir()] == ["provenance.json"]


@pytest.mark.parametrize("line", ["run max_passes=0.1", "ls"])
@pytest.mark.parametrize(("variable", "threads"), [("OMP", "²"), ("OMP", "-1"), ("NUMBA", "0")])
def test_a_number_of_threads_that_is_none(fwexp, tmp_path, monkeypatch, line, variable, threads):
    monkeypatch.setenv(f"{variable}_NUM_THREADS", threads)
    code, out, err = fwexp(*line.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"fwexp: {variable}_NUM_THREADS must be a number of threads")
    assert repr(threads) in err
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_modules_are_imported_takes_no_traceback():
    script = """
import os, signal, sys
from fwexp.__main__ import main

class Interrupts:
    def find_spec(name, *_):
        if name == "fwexp.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts)
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
    assert subprocess.run([sys.executable, "-m", "fwexp", "--version"], capture_output=True, text=True).stdout.startswith("fwexp ")


@pytest.mark.parametrize("line", ["run", "options bcfw"])
def test_python_without_assertions(tmp_path, line):
    """Hydra's parser advances in them, and descriptions are docstrings."""
    script = f"import sys; from fwexp.cli import main; sys.exit(main({line.split()}))"
    options = {"cwd": tmp_path, "env": ENVIRONMENT | {"PYTHONOPTIMIZE": "2"}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", script], **options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "unset PYTHONOPTIMIZE" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_folder_whose_name_is_no_text(tmp_path):
    folder = tmp_path / "caf\udce9"
    folder.mkdir()
    arguments = ["max_passes=0.1", f"results_dir={folder / 'results'}"]
    sweep = start("run", "-m", "seed=0,1", "hydra/launcher=joblib", *arguments, cwd=folder)
    assert sweep.wait() == 0
    run = start("run", *arguments, cwd=folder, errors="surrogateescape", stdout=subprocess.PIPE)
    assert Path(run.communicate()[0].strip()) in [found.path for found in store.find_runs(folder / "results")]


@pytest.mark.parametrize("home", ["missing", None])
def test_data_in_the_package_need_no_home(fwexp, tmp_path, monkeypatch, home):
    monkeypatch.delenv("FWEXP_DATA")
    if home:
        monkeypatch.setenv("HOME", str(tmp_path / home))
    else:  # as in a container, for a user without an entry in /etc/passwd
        monkeypatch.delenv("HOME")
        monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    assert fwexp("run", "max_passes=0.1")[0] == 0
    assert fwexp("data")[0] == fwexp("data", "verify", "digits")[0] == 0
    code, out, err = fwexp("run", "dataset=ocr")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "or name a folder that has it with data_dir= or FWEXP_DATA" in err


def letters():
    """Return the bytes of a small ``letter.data``, with one word in each fold."""
    lines = [["1", "a", "-1", "1", "1", str(fold), *"01" * 64, ""] for fold in range(10)]
    return "".join("\t".join(line) + "\n" for line in lines).encode()


def test_damaged_data_take_one_line(fwexp, tmp_path):
    """They are read before anything is run or written."""
    folder = tmp_path / "data" / "ocr"
    folder.mkdir(parents=True)
    (folder / "letter.data").write_bytes(letters().replace(b"a", b"?"))
    code, out, err = fwexp("run", "-m", "dataset=ocr", "data_dir=data")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "line 1: letter is '?', expected a letter a-z" in err
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


# -- help


def test_help_and_version(fwexp):
    code, out, err = fwexp("--help")
    assert (code, err) == (0, "")
    assert all(f"\n  {name} " in out for name in COMMANDS)
    assert fwexp("--version") == (0, f"fwexp {__version__}\n", "")
    assert fwexp()[0] == 2
    assert fwexp("run", "--version") == (0, f"fwexp {__version__}\n", "")
    for name in COMMANDS.keys() - {"run"}:  # whose help takes Hydra seconds, and has a test of its own
        code, out, err = fwexp(name, "--help")
        assert (code, err) == (0, "")
        assert f"fwexp {name}" in out


@pytest.mark.slow
def test_hydra_sees_its_own_flags(fwexp, tmp_path):
    code, out, _ = fwexp("run", "--cfg", "job", "solver=ssg", "lam=1/n")
    assert code == 0
    assert "  name: ssg" in out
    assert "lam: 1/n" in out
    info = start("run", "--info", "searchpath", cwd=tmp_path, stdout=subprocess.PIPE)  # in a process: it turns on logging
    assert "/conf" in info.communicate()[0]
    assert info.returncode == 0
    code, out, _ = fwexp("run", "--help")
    assert code == 0
    assert "auto, away, bcafw, " in out
    assert "hydra/" not in out.split("== Configuration")[0]  # the schema is no business of users
    assert list(tmp_path.iterdir()) == []


# -- running


def test_a_run_is_stored_once_and_named(fwexp, tmp_path):
    code, out, err = fwexp("run", "max_passes=1", "results_dir=here")
    assert code == 0
    path = Path(out.strip())
    assert store.read_run(tmp_path / path).status == "max_passes"
    lines = err.splitlines()
    assert len(lines) == 10  # 0, 2^-7 .. 2^-1 and 1 pass, and the end
    assert lines[-2].startswith("auto lam=0.01: pass 1  primal ")
    assert lines[-1].startswith("auto lam=0.01: stopped at 1 passes, gap ")
    assert fwexp("run", "max_passes=1", "results_dir=here") == (0, out, "stored already\n")
    assert fwexp("run", "max_passes=1", "results_dir=here", "force=true")[2] != "stored already\n"
    assert [item.name for item in tmp_path.iterdir()] == ["here"]  # and nothing of Hydra's


def test_failures_and_interrupts_have_their_exit_codes(fwexp, monkeypatch):
    def fail(config, *_, **__):
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(runner, "solve", fail)
    code, out, err = fwexp("run", "max_passes=1")
    assert (code, out) == (1, "")
    assert err.startswith("fwexp: failed: ZeroDivisionError: by nought (see results/runs/digits/auto/failed/")
    assert err.count("\n") == 1
    code, out, err = fwexp("run", "-m", "max_passes=1", "seed=0,1")
    assert (code, out) == (1, "")
    assert err.splitlines()[-1] == "fwexp: 2 of 2 runs failed; repeat the command to try them again"

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "solve", interrupt)
    assert fwexp("run", "max_passes=1") == (130, "", "fwexp: interrupted\n")
    assert fwexp("run", "-m", "max_passes=1", "seed=0,1")[0] == 130


# -- folders


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["with space", "~/below", "a,b", "it's", "{a:b}", "$x ${lam}", "a\\"],
)
def test_a_folder_is_the_same_to_all_commands(fwexp, tmp_path, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / name if not name.startswith("~") else tmp_path / "home" / "below"
    quick = ("max_passes=0.1", "dataset=ocr", f"results_dir={name}", f"data_dir={name}")
    assert fwexp("run", *quick)[0] == 2
    (folder / "ocr").mkdir(parents=True, exist_ok=True)
    (folder / "ocr" / "letter.data").write_bytes(letters())
    code, out, err = fwexp("run", *quick)
    assert code == 0, err
    assert (tmp_path / out.removesuffix("\n")).resolve().is_relative_to(folder.resolve())
    assert fwexp("run", "-m", *quick) == (0, "", "1 runs: 1 stored, 0 to run\n")
    assert len(fwexp("ls", f"results_dir={name}")[1].splitlines()) == 2
    assert "present" in fwexp("data", "list", "ocr", f"data_dir={name}")[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == [folder.relative_to(tmp_path).parts[0]]


# -- completion


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fwexp ru", ["run"]),
        ("fwexp run solver=bcpfw_gap", ["solver=bcpfw_gap", "solver=bcpfw_gap_cache"]),
        ("some/run/fwexp run -m lam=0.1 solver=bcfw_lip", ["solver=bcfw_lipschitz"]),
        ("fwexp run solver.sam", ["solver.sampling="]),
        ("fwexp run solver=nothing la", []),
        ("fwexp run dataset=ball_game,chain_game solver=sp_", [f"solver=sp_{name}" for name in SADDLE]),
        ("fwexp run dataset=ball_game solver=bc", []),
        ("fwexp run solver=pairwise dataset=cha", ["dataset=chain_dual"]),
        ("fwexp run task=path dataset=chain", []),
        ("fwexp run task=path solver=ss", []),
        ("fwexp run solver=ssg task=", ["task=train"]),
        ("fwexp solvers bcpfw_gap_", ["bcpfw_gap_cache"]),
        ("fwexp options conll", ["conll2000"]),
        ("fwexp run solver=bcfw_gap solver.step=pair", ["solver.step=pairwise"]),
        ("fwexp run --nothing la", []),
        ("fwexp figure quick", ["quickstart"]),
        ("fwexp compare bcfw auto bcafw", ["bcafw", "bcafw_chain", "bcafw_gap"]),
        ("fwexp ls gap", ["gap_tol="]),
        ("fwexp reproduce --", ["--archive", "--dry-run", "--preset"]),
        ("fwexp doctor ", ["data_dir=", "results_dir="]),
        ("fwexp select dataset=digits dataset.val", ["dataset.validation=", "dataset.validation_seed="]),
        ("", []),
    ],
)
def test_words_are_completed(fwexp, monkeypatch, line, words):
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line)))
    code, out, err = fwexp(*(["-sc"] if "ru" in line[:9] else ["run", "-sc"]), "query=bash")
    assert (code, err) == (0, "")
    assert out.split() == words


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(tmp_path):
    (tmp_path / "fwexp").write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from fwexp.cli import main; main()' \"$@\"\n")
    (tmp_path / "fwexp").chmod(0o755)
    script = """
        eval "$(fwexp run --shell-completion install=bash)"
        COMP_LINE="fwexp run solver=ss lam=1" COMP_POINT=19 COMP_WORDS=(fwexp run solver=ss lam=1) COMP_CWORD=2
        $(complete -p fwexp | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
        echo "${COMPREPLY[@]}"
        eval "$(fwexp run -sc uninstall=bash)"
        complete -p fwexp
    """
    environment = ENVIRONMENT | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "--norc", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "solver=ssg\n"
    assert done.returncode == 1  # none is left


# -- ls


@pytest.mark.slow
def test_ls_is_a_table(fwexp, tmp_path):
    assert fwexp("ls") == (0, "no runs in results/ (start with: fwexp run)\n", "")
    fwexp("run", "-m", "max_passes=0.1", "solver=ssg,bcfw", "lam=0.1,1/n")
    paths = store.find_runs("results", solver="bcfw")
    configs = {path.config["lam"]: path.config for path in paths}
    made_by = staleness.made_by(catalogues.modules(configs[0.1]))
    store.save_failure(ValueError("two\nlines"), configs[0.1] | {"seed": 5}, "results", made_by=made_by)
    (store.run_dir("results", configs["1/n"]) / "model.npz").unlink()
    code, out, err = fwexp("ls")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["status", "solver", "dataset", "lam", "seed", "gap", "passes", "time", "key"]
    assert [row[:5] for row in rows[1:6]] == [
        ["max_passes", "bcfw", "digits", "0.1", "0"],
        ["failed", "bcfw", "digits", "0.1", "5"],
        ["damaged", "bcfw", "digits", "-", "-"],
        ["max_passes", "ssg", "digits", "0.1", "0"],
        ["max_passes", "ssg", "digits", "1/n", "0"],
    ]
    assert rows[4][5] == "-"  # no dual, no gap
    assert rows[4][6] == "0.1"
    assert out.splitlines()[-1].endswith(": ValueError: two lines")
    assert len(fwexp("ls", "solver=ssg")[1].splitlines()) == 3
    assert len(fwexp("ls", "solver=ssg", "lam=1/n,0.1")[1].splitlines()) == 3
    assert len(fwexp("ls", "solver=ssg", "lam=1/n")[1].splitlines()) == 2
    assert "options" not in rows[0]
    fwexp("run", "-m", "max_passes=0.1", "solver=bcfw", "solver.sampling=perm,gap", "lam=0.1", "seed=9", "gap_tol=0.5")
    rows = [line.split() for line in fwexp("ls", "seed=9")[1].splitlines()]
    assert [row[-1] for row in rows if row[0] != "damaged"] == ["options", "solver.sampling=gap", "solver.sampling=perm"]
    assert len(fwexp("ls", "gap_tol=0.5", "max_passes=0.1")[1].splitlines()) == 4  # a damaged run might be one
    assert len(fwexp("ls", "lam=0.1", "seed=0", "solver.line_search=true")[1].splitlines()) == 3
    assert fwexp("ls", "results_dir=elsewhere")[1] == "no runs in elsewhere/ (start with: fwexp run)\n"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["ls"], ["run", "--help"]])
def test_a_closed_pipe_is_no_error(tmp_path, arguments):
    process = start(*arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
    process.stderr.close()


FULL = Path("/dev/full")


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (["ls"], ""),
        (["run", "--help"], ""),
        (["--help"], "1"),
    ],
)
def test_a_full_disk_behind_standard_output_takes_one_line(tmp_path, arguments, unbuffered, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "PYTHONUNBUFFERED", unbuffered)
    with FULL.open("w") as full:
        process = start(*arguments, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE)
    errors = process.communicate()[1]
    assert process.returncode == 2
    assert errors.startswith("fwexp: cannot write")
    assert errors.endswith(": No space left on device\n")
    assert errors.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "streams"),
    [
        ("--help", ">&-"),
        ("run max_passes=0.1", "<&- >&- 2>&-"),
    ],
)
def test_closed_streams_are_no_error(tmp_path, arguments, streams):
    command = f"exec {sys.executable} -c 'import sys; from fwexp.cli import main; sys.exit(main())' {arguments} {streams}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    if streams == ">&-":
        assert done.stdout == ""
    if arguments.startswith("run"):
        assert len(store.find_runs(tmp_path / "results")) == 1


@pytest.mark.slow
def test_a_run_outlives_the_reader_of_its_progress(tmp_path):
    process = start("run", "max_passes=2", cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stderr.readline()
    process.stderr.close()
    path = process.stdout.read().strip()
    process.stdout.close()
    assert process.wait() == 0
    assert store.read_run(tmp_path / path).status == "max_passes"
