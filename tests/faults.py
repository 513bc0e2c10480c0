"""Processes that are killed, stopped and ended by signals at random instants, again and again: ``make faults``.

``orphans``: parents are killed within a second of the start of their workers; no process lives on, and nothing is left in
shared memory.

The others disturb forks of this process, which begin at once, so that many tries take minutes. After each, the store equals that
of an undisturbed sweep, rows and numbers, and nothing is left next to its runs. ``deaths``: solvers kill their processes or call
``sys.exit``. ``signals``: what ends a process ends sweeps, which keep their runs. ``hangs``: steps that hold the interpreter meet
the wall limit. ``pauses``: a process is stopped, also between two steps of a commit, a second one stores its runs, and the first
one goes on, or is ended while it does.
"""

# ruff: noqa: T201

import argparse
import atexit
import contextlib
import functools
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import ClassVar
from unittest import mock

import pandas as pd

from fwexp import store
from fwexp.cli import ENDINGS
from fwexp.cli import main as command_line
from fwexp.files import locks
from fwexp.store import commit
from tests.kills import changes_files

COMMAND = [sys.executable, "-c", "import sys; from fwexp.cli import main; sys.exit(main())", "run", "-m"]
SWEEP = ["dataset=digits", "solver=bcfw,ssg", "seed=range(4)", "max_passes=30", "gap_tol=0"]
OWN_TIMES = ["time"]
PATIENCE = 600.0  # seconds within which workers end after their parent, and a sweep is done, on a busy machine, too
SOON = 60.0  # seconds within which workers end that have just begun


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


# -- forks of this process

FORKS = multiprocessing.get_context("fork")
CLAIMS = {"HEARTBEAT": 0.2, "STALE": 3.0}  # seconds; a paused process is taken over soon
GRID = ["dataset=digits", "solver=bcfw", "gap_tol=0", "seed=0,1", "max_passes=200", "checkpoint=0.05"]
FRAIL = """
import ctypes
import os
import signal
import sys

from fwexp.solvers.bcfw import BCFW


class Frail(BCFW):
    name = "frail"

    def start(self, seed, *arguments):
        super().start(seed, *arguments)
        how, _, passes = os.environ.get(f"FRAIL_{seed}", "").partition(" ")
        if how:
            self.advance = lambda budget: self.meets(how, float(passes), budget)

    def meets(self, how, passes, budget):
        return super().advance(budget) if self.oracle_calls < passes * self.problem.n else getattr(self, how)()

    def dies(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def exits(self):
        sys.exit("enough")

    def hangs(self):
        ctypes.PyDLL(None).sleep(10**6)  # holds the interpreter
"""


class Fork:
    """The command in a fork of this process, which has imported and compiled all that it needs, after a call of ``first``."""

    made: ClassVar[list["Fork"]] = []

    def __init__(self, results_dir: Path, *words: str, first: Callable[[], object] = lambda: None) -> None:
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self._process = FORKS.Process(target=self._work, args=([*words, f"results_dir={results_dir}"], first))
        self._process.start()
        self.pid = self._process.pid
        self.made.append(self)

    def _work(self, words: list[str], first: Callable[[], object]) -> None:
        os.setsid()
        weakref.finalize._registry.clear()  # what is to be removed when the first process ends
        sys.modules["__main__"] = ModuleType("__main__")  # else workers would import this file
        for number in (signal.SIGINT, *ENDINGS):
            signal.signal(number, signal.SIG_DFL if number in ENDINGS else signal.default_int_handler)
        os.dup2(self._said.fileno(), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        code = 99
        try:
            first()
            code = command_line(words)
        except BaseException:
            traceback.print_exc()
        threading._shutdown()
        atexit._run_exitfuncs()  # as an interpreter ends; `multiprocessing` would join workers before joblib ends them
        os._exit(code)

    def send(self, number: int) -> None:
        """Send a signal, if the process has not ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def state(self) -> str:
        """Return the letter that the system's table has of it; empty when it has ended."""
        return next((fields[0] for pid, fields in processes() if pid == self.pid), "") if self._process.is_alive() else ""

    def kill(self) -> None:
        """Kill the process and all that it has started, also if they are stopped."""
        for pid in of_session(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self) -> tuple[int, str]:
        """Wait for the process and all that it has started; return its exit code, and what it has said."""
        self._process.join(PATIENCE)
        end = time.monotonic() + SOON
        while (left := left_by(self.pid)) and time.monotonic() < end:
            time.sleep(0.02)
        self.kill()
        self._said.seek(0)
        said = self._said.read()
        assert not left, f"{left} did not end; {said}"
        return self._process.exitcode, said


def in_full(results_dir, failed: Mapping[str, str]) -> tuple[dict, Counter]:
    """Return the runs of a store, and how many files there are of each; see that nothing else is left, apart from failures."""
    found = {run.key: run for run in store.find_runs(results_dir, include={"damaged", "partial", "failed"})}
    errors = {run.key: run.record["error"] for run in found.values() if run.status == "failed"}
    assert errors == failed, (errors, failed)
    assert found.keys() - failed == contents(results_dir).keys()
    files = [path.relative_to(results_dir) for path in results_dir.rglob("*") if not path.is_dir()]
    assert not [file for file in files if any(part.startswith(".") for part in file.parts)], files
    assert not [file for file in files if not any((results_dir / file).is_relative_to(run.path) for run in found.values())], files
    return contents(results_dir), Counter(file.parent.name for file in files if file.parent.name != "failed")


def check_equal(results_dir, quiet, failed: Mapping[str, str] = MappingProxyType({})) -> None:
    """See that a store holds the same as an undisturbed one, apart from runs that failed, by their keys with the errors."""
    for found, wanted in zip(in_full(results_dir, failed), in_full(quiet, {}), strict=True):
        assert found == {key: value for key, value in wanted.items() if key not in failed}


def undisturbed(results_dir: Path, *words: str) -> float:
    """Run a command in this process, and again in a fork; return the seconds of that."""
    with contextlib.redirect_stderr(None):
        assert command_line([*words, f"results_dir={results_dir}"]) == 0
    while any(thread.daemon for thread in threading.enumerate()):  # forks would lose them, and what they hold
        time.sleep(0.1)
    began = time.monotonic()
    code, said = Fork(results_dir, *words, "force=true").end()
    assert code == 0, said
    return time.monotonic() - began


def key_of_seed(results_dir, seed: int) -> str:
    """Return the key of the run of a store that has a seed."""
    return next(run.key for run in store.find_runs(results_dir) if run.config["seed"] == seed)


def frail(folder: Path, *words: str) -> tuple[list[str], float]:
    """Return a sweep with a solver that fails where it is told to, and the seconds of it undisturbed, in ``quiet``."""
    plugin = folder / "frail.py"
    plugin.write_text(FRAIL)
    words = ["--plugin", str(plugin), "run", "-m", "dataset=digits", "solver=frail", "gap_tol=0", "schedule=1", *words]
    return words, undisturbed(folder / "quiet", *words)


def told(**fates: str) -> Callable[[], None]:
    """Return a function that tells the solvers of a fork, and of its workers, how their runs end."""
    return lambda: os.environ.update({name.upper(): fate for name, fate in fates.items()})


def died(*seeds: int, of: Path) -> dict[str, str]:
    """Return the errors of runs whose processes died."""
    return {key_of_seed(of, seed): "ProcessDied: its process died 3 times: killed, or out of memory" for seed in seeds}


def deaths(tries: int, rng, folder: Path) -> None:
    """Have solvers kill their processes, or exit, where sweeps have workers or none, alone or three at once."""
    words, _ = frail(folder, "seed=0,1,2,3", "max_passes=20")
    quiet, ends = folder / "quiet", []
    failed = died(1, of=quiet) | {key_of_seed(quiet, 2): "SystemExit: enough"}
    for number in range(tries):
        how, at_once = (("basic", 1), ("basic", 3), ("joblib", 1))[number % 3]
        results_dir = folder / f"{how}{at_once}.{number}"
        fate = told(frail_1=f"dies {rng.uniform(0, 19)}", frail_2=f"exits {rng.uniform(0, 19)}")
        more = [f"hydra/launcher={how}"] + ["hydra.launcher.n_jobs=2"] * (how == "joblib")
        begin = functools.partial(Fork, results_dir, *words, *more, first=fate)
        sweeps, codes = [begin() for _ in range(at_once)], []
        while sweeps:
            codes.append((ended := sweeps.pop(0).end())[0])
            assert codes[-1] in (1, -signal.SIGKILL), ended
            if codes[-1] == -signal.SIGKILL:  # with the run; its user repeats the command
                sweeps.append(begin())
        ends.append(codes.count(-signal.SIGKILL))
        assert ends[-1] <= (at_once if how == "basic" else 0), codes
        check_equal(results_dir, quiet, failed)
    print(f"{len(ends)} sweeps with runs that kill their processes: {sum(ends)} commands were killed, no other run was lost")


def signals(tries: int, rng, folder: Path) -> None:
    """End sweeps by signals at random instants; the repeated command goes on with what they kept."""
    quiet, kept, ended = folder / "quiet", 0, 0
    seconds = undisturbed(quiet, "run", "-m", *GRID)
    modes = ["-m", *GRID], ["-m", *GRID, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"], [*GRID, "seed=0"]
    modes[2].remove("seed=0,1")
    for number in range(tries):
        sent = (signal.SIGINT, *ENDINGS)[number % 4]
        mode, results_dir = modes[number % 3], folder / str(number)
        process = Fork(results_dir, "run", *mode)
        begins = ".*.claim-*" if "hydra/launcher=joblib" in mode else "*"  # workers take long to begin
        while process.state() and not list(results_dir.rglob(begins)):
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, seconds))
        saved = {path.name[1:].partition(".")[0] for path in results_dir.rglob("*.checkpoint")}
        process.send(sent)
        code, said = process.end()
        assert code == 0 or (code, said.splitlines()[-1]) == (130, "fwexp: interrupted"), (code, said)
        runs = store.find_runs(results_dir, include={"damaged", "partial", "failed"})
        assert not [run for run in runs if run.status in ("damaged", "failed")]
        assert saved <= {run.key for run in runs}, said
        kept, ended = kept + sum(run.status == "interrupted" for run in runs), ended + (code == 130)
        code, said = Fork(results_dir, "run", "-m", *GRID).end()
        assert code == 0, said
        check_equal(results_dir, quiet)
    print(f"{tries} signals of {len(ENDINGS) + 1} kinds: {ended} commands ended by them, {kept} runs kept, none lost")


def hangs(tries: int, rng, folder: Path) -> None:
    """Have steps hang, four sweeps at a time."""
    words, seconds = frail(folder, "seed=0,1,2", "max_passes=5")
    limit = max(8.0, 5.0 * seconds)
    words.append(f"wall_limit={limit}")
    quiet, at_once = folder / "quiet", 4
    failed = {key_of_seed(quiet, 1): f"WallTimeExceeded: it took longer than its wall time limit of {limit:g} s"}
    for first in range(0, tries, at_once):
        places = [folder / str(number) for number in range(first, min(first + at_once, tries))]
        sweeps = [Fork(place, *words, first=told(frail_1=f"hangs {rng.uniform(0, 4)}")) for place in places]
        for place, sweep in zip(places, sweeps, strict=True):
            code, said = sweep.end()
            assert code == 1, said
            check_equal(place, quiet, failed)
    print(f"{tries} runs that hang: each is a failure after its wall limit, and its sweep goes on")


def stopping(results_dir: Path, at: int) -> None:
    """Stop this process at its ``at``-th change of files from the first of a file of a run on."""
    of_run, count = re.compile(re.escape(str(results_dir)) + r"/runs/.*(config|trace|model|run)[^/]*"), 0

    def audit(event: str, arguments: tuple) -> None:
        nonlocal count
        if changes_files(event, arguments) and (count or any(of_run.fullmatch(str(argument)) for argument in arguments)):
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGSTOP)

    sys.addaudithook(audit)


def made_by(said: str) -> set[str]:
    """Return the seeds of the runs that a sweep has made, as it says."""
    return {line.partition(":")[0].rpartition("=")[2] for line in said.splitlines() if ": stopped at " in line}


def records(results_dir: Path) -> dict[Path, bytes]:
    """Return the records of the runs of a store."""
    return {path: path.read_bytes() for path in results_dir.rglob("run.json")}


def pauses(tries: int, rng, folder: Path) -> None:
    """Stop sweeps at random instants and between any two changes of files of a commit; a second one stores their runs."""
    quiet, taken, endings = folder / "quiet", 0, Counter()
    seconds = undisturbed(quiet, "run", "-m", *GRID)
    for number in range(tries):
        ending = ("goes on", "killed", "interrupted", "alone")[number % 4]
        results_dir = folder / f"{number}.{ending}"
        at = rng.randrange(1, 60) if rng.random() < 0.6 and ending != "alone" else 0
        began = time.monotonic()
        first = Fork(results_dir, "run", "-m", *GRID, first=functools.partial(stopping, results_dir, at))
        if at:
            while first.state() not in ("T", ""):
                time.sleep(0.005)
        else:
            time.sleep(rng.uniform(0.0, seconds))
            first.send(signal.SIGSTOP)
        if ending == "alone":
            time.sleep(4.0)
            first.send(signal.SIGCONT)
            code, said = first.end()
            assert code == 0, said
            used = sum(run.record["time"] for run in store.find_runs(results_dir))
            assert used <= time.monotonic() - began - 4.0
            check_equal(results_dir, quiet)
            continue
        code, second = Fork(results_dir, "run", "-m", *GRID).end()
        assert code == 0, second
        stored = records(results_dir)
        first.send(signal.SIGCONT)
        if ending != "goes on":
            time.sleep(rng.uniform(0.0, 0.3))
            first.send(signal.SIGKILL if ending == "killed" else signal.SIGINT)
        code, said = first.end()
        assert code in {"goes on": [0], "killed": [0, -signal.SIGKILL], "interrupted": [0, 130]}[ending], (code, said)
        assert records(results_dir) == stored, (number, ending, at)
        assert not made_by(said) & made_by(second), (said, second)
        if ending == "goes on":
            assert said.count("stored in another process") == second.count("waiting for 1 runs"), (at, said, second)
            taken += second.count("waiting for 1 runs")
            check_equal(results_dir, quiet)  # also before anything tidies
        code, said = Fork(results_dir, "run", "-m", *GRID).end()
        assert code == 0, said
        check_equal(results_dir, quiet)
        endings[ending, bool(made_by(second))] += 1
    print(f"{tries} pauses: {taken} sweeps went on after they were taken over {dict(endings)}; all stored runs stay")


def in_forks(disturb: Callable, tries: int, rng, folder: Path) -> None:
    """Disturb forks, whose claims are taken over soon."""
    (folder / "sitecustomize.py").write_text(f"from fwexp.files import locks\nvars(locks).update({CLAIMS})\n")  # of their workers
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    with mock.patch.multiple(locks, **CLAIMS), mock.patch.dict(os.environ, PYTHONPATH=path):
        try:
            disturb(tries, rng, folder)
        finally:  # A fork that is stopped would keep this process from ending, which joins it.
            while Fork.made:
                Fork.made.pop().kill()


DISTURBANCES = {disturb.__name__: disturb for disturb in (orphans, deaths, signals, hangs, pauses)}


def main(chosen, tries: int, seed: int) -> None:
    """Do all that is chosen."""
    rng = random.Random(seed)
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            in_forks(DISTURBANCES[name], tries, rng, Path(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("chosen", nargs="*", default=[*DISTURBANCES])
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    main(options.chosen, options.tries, options.seed)
