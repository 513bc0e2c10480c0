"""One sweep through all launchers: the same store, although processes die or are interrupted meanwhile."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fwexp import store
from fwexp.run import from_arguments, runner
from fwexp.store import paths
from tests.faults import COMMAND, PATIENCE, SOON, contents, left_by

pytestmark = pytest.mark.slow  # each starts workers

LAUNCHERS = {
    "joblib": ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"],
    "submitit_local": ["hydra/launcher=submitit_local"],
    "dask": ["hydra/launcher=dask", "hydra.launcher.n_workers=2"],
}
LASTS = ["dataset=digits", "solver=bcfw", "seed=0,1,2", "gap_tol=0", "schedule=100"]
STARTED = []


@pytest.fixture(autouse=True)
def ended():
    """End the sweeps of a test that fails halfway."""
    yield
    while STARTED:
        with STARTED.pop() as process, contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def start(results_dir, *words, command=COMMAND):
    """Start a sweep in a session of its own."""
    command, options = [*command, *words, f"results_dir={results_dir}"], {"text": True, "start_new_session": True}
    STARTED.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options))
    return STARTED[-1]


def done(process) -> list[str]:
    """Wait for a sweep that does all, and return its lines."""
    try:
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, errors
    return errors.splitlines()


def check_done_once(lines, results_dir, wanted) -> None:
    """See that a store is the one of a quiet sweep, failures aside, and that nothing was done twice on the way there."""
    assert contents(results_dir) == wanted
    ends = [line for line in lines if re.match(r"\[\d+/\d+\] (?!.*(again|: failed: ))", line)]
    assert len(ends) == len(wanted)
    assert all(": stopped at " in line for line in ends)
    assert [path.name for path in results_dir.iterdir()] == ["runs"]


def in_work(results_dir, key="[!.]*", gone=(), *, saved=False) -> tuple[Path, int]:
    """Return the claim of a run that a process has in work, and saved if so wanted, and that process, which is none of ``gone``."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for claim in results_dir.glob(f"runs/*/*/.{key}.claim-*"):
            checkpoint = claim.with_name(claim.name.replace(".claim-", ".checkpoint ").partition(" ")[0])
            if (process := owner(claim)) not in (None, *gone) and (checkpoint.exists() or not saved):
                return claim, process
        time.sleep(0.01)
    raise TimeoutError


def owner(claim) -> int | None:
    """Return the process that has a run in work."""
    with contextlib.suppress(OSError):
        if match := re.match(r"[0-9a-f]{12}-(\d+)-", claim.read_text()):
            return int(match[1])
    return None


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """Words of a sweep whose runs take a second each, a hundred times what it takes to see that one has begun, and its store."""
    folder = tmp_path_factory.mktemp("lasting")
    words = [*LASTS, "max_passes=600"]
    from_arguments.execute(from_arguments.expand(words), results_dir=folder)
    return words, contents(folder)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_run_that_kills_its_workers_fails_and_the_others_do_not(tmp_path, lasting, launcher):
    words, wanted = lasting
    key = next(iter(wanted))
    # Without savings, because the death of a run that was saved does not count.
    process, gone = start(tmp_path, *words, "checkpoint=null", *LAUNCHERS[launcher]), []
    for _ in range(runner.DEATHS):
        claim, worker = in_work(tmp_path, key, gone)
        note = claim.with_name(f".{key}{paths.BEGUN}")
        gone.append(worker)
        while not note.exists() or note.stat().st_size < len(gone):
            time.sleep(0.01)
        os.kill(worker, signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, errors
    assert errors.splitlines()[-1] == "fwexp: 1 of 3 runs failed; repeat the command to try them again"
    (failed,) = (run for run in store.find_runs(tmp_path, include={"failed"}) if run.status == "failed")
    assert failed.key == key
    assert failed.record["error"] == "ProcessDied: its process died 3 times: killed, or out of memory"
    check_done_once(errors.splitlines(), tmp_path, {other: run for other, run in wanted.items() if other != key})


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ctrl_c_keeps_what_is_in_work_and_the_sweep_goes_on_later(tmp_path, lasting, launcher):
    words, wanted = lasting
    process = start(tmp_path, *words, "checkpoint=0.1", *LAUNCHERS[launcher])
    in_work(tmp_path, saved=True)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1] == "fwexp: interrupted"
    assert "interrupted: keeping the current runs as partial runs (again: give them up)" in errors
    runs = store.find_runs(tmp_path, include={"partial", "failed", "damaged"})
    assert {run.status for run in runs} <= {"interrupted", "max_passes"}
    assert "interrupted" in {run.status for run in runs}
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    from_arguments.execute(from_arguments.expand(words), results_dir=tmp_path)
    assert contents(tmp_path) == wanted


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_second_ctrl_c_ends_the_sweep_and_leaves_no_process(tmp_path, launcher):
    process = start(tmp_path, *LASTS, "max_passes=1e6", *LAUNCHERS[launcher])
    in_work(tmp_path)
    for _ in range(2):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.1)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors.splitlines()[-1]) == (130, "fwexp: interrupted"), errors
    end = time.monotonic() + SOON
    while left_by(process.pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert not left_by(process.pid)


# -- a cluster that is there, with workers on other hosts

ELSEWHERE = """
import platform
from fwexp.files import locks, processes
platform.node, processes._machine = lambda: "elsewhere", lambda: 12 * "0"
locks.HEARTBEAT, locks.STALE = 0.5, 10.0
"""


@pytest.fixture
def cluster(tmp_path):
    """Yield the file of a scheduler and two workers in processes of their own, which believe to be on another host."""
    file, preload = tmp_path / "scheduler.json", tmp_path / "elsewhere.py"
    preload.write_text(ELSEWHERE)
    dask, where = [sys.executable, "-m", "dask"], ["--scheduler-file", file]
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    commands = [[*dask, "scheduler", *where, "--no-dashboard", "--port", "0"]]
    commands += 2 * [[*dask, "worker", *where, "--nthreads", "2", "--no-dashboard", "--resources", "GPU=2", "--preload", preload]]
    processes = [subprocess.Popen(command, **options) for command in commands]
    yield file
    for process in reversed(processes):
        process.terminate()
        process.wait()


def test_workers_of_other_hosts_share_nothing_but_the_store(tmp_path, cluster, lasting):
    """One is killed during a run: its claim is taken over after no process has touched it for long."""
    words, wanted = lasting
    script = f"import sys; from fwexp.files import locks; locks.STALE = 10.0; sys.argv[1:] = {COMMAND[3:]!r} + sys.argv[1:]; "
    script += "from fwexp.cli import main; sys.exit(main())"
    end = time.monotonic() + PATIENCE
    while not cluster.exists() and time.monotonic() < end:
        time.sleep(0.1)
    chosen = ["hydra/launcher=dask", f"hydra.launcher.scheduler_file={cluster}", "hydra.launcher.resources={GPU: 1}"]
    process = start(tmp_path / "results", *words, "checkpoint=0.1", *chosen, command=[sys.executable, "-c", script])
    claim, worker = in_work(tmp_path / "results")
    assert claim.read_text().partition("\t")[0].endswith(" elsewhere")
    os.kill(worker, signal.SIGKILL)
    check_done_once([line for line in done(process) if " in another process" not in line], tmp_path / "results", wanted)
