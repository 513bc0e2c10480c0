"""Processes that are killed at random instants, again and again: ``make faults``.

``kills``: sweeps with three launchers, with and without ``force=true``, are killed with SIGKILL, the parent or one of its
workers. After every kill the store holds no damaged run and every run that was finished before; in the end it equals an
undisturbed one, except for times, and nothing is left over. ``orphans``: parents are killed within a second of the start of
their workers; no process lives on, and nothing is left in shared memory. ``together``: one of three sweeps on one grid is
killed; every run is done, and none twice. ``checkpoints``: runs of many settings are killed, each many times, and go on; they
end like undisturbed ones. ``workers``: those of a training on a Dask cluster are killed or stopped for some seconds, or asked
twice; one process confirms the gap. ``bits``: one bit of every byte of every file of a run is flipped; every flip is found, and
that run alone redone.
"""

# ruff: noqa: T201

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import pandas as pd

from fwexp import store
from fwexp.store import commit
from tests.small_problems import chain

COMMAND = [sys.executable, "-c", "import sys; from fwexp.cli import main; sys.exit(main())", "run", "-m"]
SWEEP = ["dataset=digits", "solver=bcfw,ssg", "seed=range(4)", "max_passes=30", "gap_tol=0"]
OWN_TIMES = ["time"]
PATIENCE = 600.0  # seconds within which workers end after their parent, and a sweep is done, on a busy machine, too
SOON = 60.0  # seconds within which workers end that have just begun


def start(results_dir, *more):
    """Start the sweep in a process group of its own."""
    command = [*COMMAND, *SWEEP, f"results_dir={results_dir}", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def processes() -> Iterator[tuple[int, list[str]]]:
    """Yield all processes, with what the system's table says of them after their names: state, parent, group, session."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            yield int(stat.parent.name), stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [child for child, fields in processes() if fields[1] == str(pid)]


def contents(results_dir) -> dict:
    """Return what the finished runs of a store hold, times aside, by their keys."""
    by_key = {}
    for run in store.find_runs(results_dir):
        trace = pd.read_parquet(run.path / commit.name_of(run.record, commit.TRACE)).drop(columns=OWN_TIMES)
        by_key[run.key] = (run.config, run.status, run.record["dual"], run.weights().tobytes(), trace.to_csv())
    return by_key


def check(results_dir, before: set) -> None:
    """See that a store is whole, and that it has all that it had before."""
    runs = store.find_runs(results_dir, include={"damaged", "partial", "failed"})
    assert not [run for run in runs if run.status in ("damaged", "failed")]
    lost = before - {run.key for run in runs}
    assert not lost, f"lost {lost}"


def disturb(results_dir, more, rng, seconds: float) -> None:
    """Start the sweep and kill it, or one of its workers, at a random instant."""
    before = {run.key for run in store.find_runs(results_dir)}
    process = start(results_dir, *more)
    time.sleep(rng.uniform(0.3, seconds))
    with contextlib.suppress(ProcessLookupError):
        os.kill(rng.choice([process.pid, *children(process.pid)]), signal.SIGKILL)
    try:
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    check(results_dir, before)


def kills(count: int, rng, launchers, folder: Path) -> None:
    """Kill sweeps."""
    quiet = folder / "quiet"
    began = time.monotonic()
    assert start(quiet).wait() == 0
    seconds = 1.2 * (time.monotonic() - began)
    wanted = contents(quiet)
    for launcher in launchers:
        results_dir = folder / launcher
        for kill in range(count // len(launchers)):
            more = [f"hydra/launcher={launcher}"] + ["force=true"] * (kill % 2)
            disturb(results_dir, more, rng, seconds)
        process = start(results_dir, f"hydra/launcher={launcher}")
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        assert contents(results_dir) == wanted
        assert len(store.find_runs(results_dir, include={"damaged", "partial", "failed"})) == len(wanted)
        left = list(results_dir.rglob(".*"))
        assert not left, left
        print(f"{launcher}: {count // len(launchers)} kills, nothing lost, nothing damaged, nothing left over")


def together(count: int, rng, folder: Path) -> None:
    """Kill one of three sweeps on one grid; the other two finish its runs, and no run is done twice."""
    for round in range(count):
        results_dir = folder / f"together{round}"
        sweeps = [start(results_dir) for _ in range(3)]
        time.sleep(rng.uniform(1.0, 4.0))
        victim = rng.choice(sweeps)
        victim.kill()
        lines = [sweep.communicate(timeout=PATIENCE)[1] for sweep in sweeps if sweep is not victim]
        assert all(sweep.returncode == 0 for sweep in sweeps if sweep is not victim), lines
        runs = store.find_runs(results_dir, include={"damaged", "partial", "failed"})
        assert [run.status for run in runs] == 8 * ["max_passes"]
        done = [line for text in lines for line in text.splitlines() if ": stopped at " in line and line.startswith("[")]
        assert len(done) <= 8, done
        store.tidy(results_dir)
        assert not list(results_dir.rglob(".*"))
    print(f"three sweeps at once, {count} times one of them killed: every run is there, none was done twice")


def of_session(leader: int) -> list[int]:
    """Return the processes of a session."""
    return [pid for pid, fields in processes() if fields[3] == str(leader)]


def left_by(leader: int) -> list:
    """Return what a process and those that it started have left: processes, semaphores, folders in shared memory."""
    return [*of_session(leader), *Path("/dev/shm").glob(f"*[-_]{leader}[-_]*")]


def orphans(count: int, rng, folder: Path) -> None:
    """Kill parents of workers that are just being started."""
    command = [*COMMAND, *SWEEP, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    for kill in range(count):
        process = subprocess.Popen(
            [*command, f"results_dir={folder / f'orphans{kill}'}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while not any(b"loky" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children(process.pid)):
                assert process.poll() is None, process.stdout.read()
                time.sleep(0.001)
            time.sleep(rng.uniform(0.0, 1.0))
            process.kill()
            process.communicate(timeout=SOON)  # until no process holds its output open
            end = time.monotonic() + SOON
            while left_by(process.pid) and time.monotonic() < end:
                time.sleep(0.05)
            assert not left_by(process.pid)
        finally:
            for pid in of_session(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    print(f"{count} parents killed while their workers start: no process, no open pipe, nothing in shared memory")


LONG = ["dataset=digits", "gap_tol=0", "schedule=100"]
SETTINGS = [  # each takes some seconds
    ["solver=bcfw", "max_passes=600", *LONG],
    ["solver=bcfw", "solver.line_search=false", "solver.sampling=perm", "max_passes=600", *LONG],
    ["solver=bcfw", "solver.sampling=gap", "solver.step=pairwise", "solver.cache=true", "max_passes=20", *LONG],
    ["solver=bcfw", "solver.sampling=max_gap", "solver.step=away", "solver.refresh=3", "max_passes=100", *LONG],
    ["solver=bcfw", "solver.sampling=lipschitz", "solver.step=corrective", "solver.accelerate=true", "max_passes=150", *LONG],
    ["solver=auto", "lam=1e-4", "max_passes=30", *LONG],
    ["solver=ssg", "max_passes=600", *LONG],
    ["solver=fw", "max_passes=600", *LONG],
    ["solver=online_eg", "max_passes=200", *LONG],
    ["solver=n_slack", "lam=1e-4", "max_passes=8", *LONG],
    ["solver=bcfw", "task=path", "task.lam_min=1e-3", "task.eps=0.05", "dataset=digits"],
    ["solver=bcfw", "task=improvement", "dataset=digits", "schedule=20", "max_passes=250"],
]


def checkpoints(count: int, rng, folder: Path) -> None:
    """Kill runs that last, and let them go on."""
    killed = goes_on = 0
    for number, setting in enumerate(SETTINGS):
        quiet, disturbed = folder / f"quiet{number}", folder / f"disturbed{number}"
        command = [*COMMAND[:-1], *setting]
        for _ in range(2):  # the first one compiles
            began = time.monotonic()
            assert subprocess.run([*command, f"results_dir={quiet}", "force=true"], capture_output=True).returncode == 0
        seconds, left = time.monotonic() - began, count
        while left:  # a run that ends in spite of it all begins anew
            process = subprocess.Popen(
                [*command, f"results_dir={disturbed}", "checkpoint=0.01", "force=true"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                _, errors = process.communicate(timeout=rng.uniform(0.4, 1.0) * seconds if left > 1 else PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                _, errors = process.communicate()
                killed, left = killed + 1, left - 1
            else:
                assert process.returncode == 0, errors
                assert contents(disturbed) == contents(quiet), setting
                assert not list(disturbed.rglob(".*"))
                left -= left == 1
            goes_on += "goes on from pass" in errors
    print(f"{len(SETTINGS)} settings: {killed} kills, {goes_on} times gone on from a checkpoint, the same bits in the end")


HOW = {"lam": 0.1, "gap_tol": 0.0, "max_passes": 1e6, "schedule": 1.0}  # until it is told to end
WORKERS = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}


def a_worker(cluster, rng, gone=()) -> int:
    """Return a process that has started, and is known to the scheduler."""
    while True:
        nanny = rng.choice([*cluster.workers.values()])
        if nanny.pid not in (None, *gone) and nanny.worker_address in cluster.scheduler.workers:
            return nanny.pid
        time.sleep(0.01)


def kill_workers(cluster, count, rng) -> None:
    """Kill one about every second."""
    gone: list = []
    while len(gone) < count:
        time.sleep(rng.uniform(0.5, 1.5))
        gone.append(a_worker(cluster, rng, gone))
        os.kill(gone[-1], signal.SIGKILL)


def stall_workers(cluster, count, rng) -> None:
    """Stop one for longer than anybody has patience, again and again."""
    for _ in range(count):
        time.sleep(rng.uniform(0.5, 1.5))
        pid = a_worker(cluster, rng)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(3.0)
        os.kill(pid, signal.SIGCONT)


def ask_twice(cluster, count, rng) -> None:
    """Have a question answered twice, again and again."""
    from fwexp.distributed.shards import Shards

    ask, both = Shards.ask, []

    def twice(shards, *args):
        if len(both) < count and rng.random() < 0.1:
            both.append(ask(shards, *args))
        return ask(shards, *args)

    with mock.patch.object(Shards, "ask", twice):
        while len(both) < count or not all(future.done() for future in both):
            time.sleep(0.01)


def workers(count: int, rng, scheme: str, disturb) -> None:
    """Disturb a training while it lasts, and evaluate what it returns."""
    import dask
    from distributed import Client, LocalCluster

    import fwexp.distributed

    problem = chain("csr", 3, n=60)[1]
    # A cluster gives up a worker for good that is gone, again, so long after it was lost.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(**WORKERS) as cluster,
        Client(cluster) as client,
        ThreadPoolExecutor() as pool,
    ):
        shards = fwexp.distributed.shard(problem, client, 4, patience=2.0 if disturb is stall_workers else 20.0)
        disturbed = pool.submit(disturb, cluster, count, rng)
        result = fwexp.solve(shards, scheme=scheme, callback=lambda row: disturbed.done() and row["gap"] <= 5e-3, **HOW)
        disturbed.result()
    assert result.status == "interrupted", result.reason  # it lasted
    evaluation = fwexp.evaluate(problem, result)
    primal = 0.5 * result.lam * evaluation.norm_sq + evaluation.hinge
    optimum = fwexp.solve(problem, "bcfw", lam=result.lam, step="corrective", gap_tol=1e-6, max_passes=2000)
    assert abs(primal - result.primal) <= 1e-8 * primal
    assert result.dual <= optimum.primal + 1e-9
    assert primal - optimum.dual <= result.gap + 1e-6 <= 5e-3 + 1e-6
    passes = result.trace["passes"].iloc[-1]
    print(f"{scheme}: {disturb.__name__}, {count} times in {passes:.0f} passes: gap {result.gap:.1e}, as one process confirms")


def bits(step: int, rng, folder: Path) -> None:
    """Flip a bit of every ``step``-th byte of the files of a run that has a neighbour."""
    assert start(folder, "solver=bcfw", "seed=0,1").wait() == 0
    (run, other), flips = store.find_runs(folder), 0
    for file in sorted(run.path.iterdir()):
        whole = file.read_bytes()
        for place in range(rng.randrange(step), len(whole), step):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << rng.randrange(8)
            file.write_bytes(damaged)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                frame = store.load_results(folder)
            flips += 1
            assert set(frame["key"]) == {other.key}, (file.name, place)
            assert [str(run.path) in str(warning.message) for warning in caught] == [True], (file.name, place)
        file.write_bytes(whole)
    damaged = bytearray((run.path / "run.json").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (run.path / "run.json").write_bytes(damaged)
    again = start(folder, "solver=bcfw", "seed=0,1")
    assert "2 runs: 1 stored, 1 to run" in again.communicate()[1]
    assert len(store.find_runs(folder)) == 2
    print(f"{flips} flipped bits, each found, and its run named and redone alone")


def all_workers(count: int, rng) -> None:
    """Disturb both schemes in all ways."""
    for scheme in ("local", "oracles"):
        workers(count, rng, scheme, kill_workers)
        for disturb in (stall_workers, ask_twice):
            workers(max(count // 4, 1), rng, scheme, disturb)


def main(chosen, count: int, seed: int, launchers, step: int) -> None:
    """Do all that is chosen."""
    rng = random.Random(seed)
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            {
                "kills": lambda: kills(count, rng, launchers, Path(folder)),
                "orphans": lambda: orphans(max(count * 3 // 20, 1), rng, Path(folder)),
                "together": lambda: together(max(count // 10, 1), rng, Path(folder)),
                "checkpoints": lambda: checkpoints(max(count // 10, 1) + 1, rng, Path(folder)),
                "workers": lambda: all_workers(max(count // 10, 1), rng),
                "bits": lambda: bits(step, rng, Path(folder)),
            }[name]()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("chosen", nargs="*", default=["kills", "orphans", "together", "checkpoints", "workers", "bits"])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--launchers", nargs="+", default=["basic", "joblib", "dask"])
    parser.add_argument("--step", type=int, default=1)
    options = parser.parse_args()
    main(options.chosen, options.kills, options.seed, options.launchers, options.step)
