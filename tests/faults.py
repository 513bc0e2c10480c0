"""Sweeps that are killed at random instants, again and again: ``make faults`` (``KILLS=200``).

Sweeps with both launchers, with and without ``force=true``, are killed with SIGKILL, the parent or one of its workers. After every
kill the store holds no damaged run and every run that was finished before; in the end it equals one that nobody disturbed,
but for times, and nothing is left over.
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
from pathlib import Path

import numpy as np
import pandas as pd

from fwexp.run import store

COMMAND = [sys.executable, "-c", "import sys; from fwexp.cli import main; sys.exit(main())", "run", "-m"]
SWEEP = ["dataset=digits", "solver=bcfw,ssg", "seed=range(4)", "max_passes=30", "gap_tol=0"]
OWN_TIMES = ["time"]
PATIENCE = 120.0  # seconds within which workers end after their parent, and a sweep that nobody disturbs is done


def start(results_dir, *more):
    """Start the sweep in a process group of its own."""
    command = [*COMMAND, *SWEEP, f"results_dir={results_dir}", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, those of the operating system's table."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(pid):
            found.append(int(stat.parent.name))
    return found


def contents(results_dir) -> dict:
    """Return what the finished runs of a store hold, times aside, by their keys."""
    found = {}
    for run in store.find_runs(results_dir):
        with np.load(run.path / "model.npz") as arrays:
            weights = arrays["w"].tobytes()
        trace = pd.read_parquet(run.path / "trace.parquet").drop(columns=OWN_TIMES)
        found[run.key] = (run.config, run.status, run.record["dual"], weights, trace.to_csv())
    return found


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


def main(kills: int, seed: int, launchers) -> None:
    """Do all of it."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        quiet = Path(folder) / "quiet"
        began = time.monotonic()
        assert start(quiet).wait() == 0
        seconds = 1.2 * (time.monotonic() - began)
        wanted = contents(quiet)
        for launcher in launchers:
            results_dir = Path(folder) / launcher
            for kill in range(kills // len(launchers)):
                more = [f"hydra/launcher={launcher}"] + ["force=true"] * (kill % 2)
                disturb(results_dir, more, rng, seconds)
            process = start(results_dir, f"hydra/launcher={launcher}")
            _, errors = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, errors
            assert contents(results_dir) == wanted
            assert len(store.find_runs(results_dir, include={"damaged", "partial", "failed"})) == len(wanted)
            left = list(results_dir.rglob(".*"))
            assert not left, left
            print(f"{launcher}: {kills // len(launchers)} kills, nothing lost, nothing damaged, nothing left over")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--launchers", nargs="+", default=["basic", "joblib"])
    options = parser.parse_args()
    main(options.kills, options.seed, options.launchers)
