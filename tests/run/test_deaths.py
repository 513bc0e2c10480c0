"""Kills, exits, signals, pauses and a full disk lose nothing that a process has computed."""

import errno
import os
import signal
import sys
import threading

import pytest

import fwexp
from fwexp import store
from fwexp.cli import main
from fwexp.run import from_arguments, runner
from fwexp.store import paths

RUN = ["dataset=digits", "solver=bcfw", "gap_tol=0"]


def dies(config, results_dir, save=False):
    """Begin a run in a process that is killed during it, after it was saved if so wanted."""
    child = os.fork()
    if child == 0:
        try:

            def solve(*_, checkpoint, **__):
                if save:
                    checkpoint.path.write_bytes(b"saved")
                os.kill(os.getpid(), signal.SIGKILL)

            runner.solve = solve
            runner.run(config, results_dir, verbose=False)
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.unix
def test_a_run_whose_process_died_three_times_is_a_failure_until_it_is_repeated(tmp_path, config):
    for _ in range(runner.DEATHS):
        dies(config, tmp_path)
    assert runner.note_of(store.run_dir(tmp_path, config)).exists()
    assert runner.run(config, tmp_path, verbose=False).status == "failed"
    (failed,) = store.find_runs(tmp_path, include={"failed"})
    assert failed.record["error"] == "ProcessDied: its process died 3 times: killed, or out of memory"
    assert runner.run(config, tmp_path, verbose=False).status == "max_passes"
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.unix
def test_a_run_that_gets_on_from_death_to_death_is_no_failure(tmp_path, config):
    for _ in range(runner.DEATHS + 1):
        dies(config, tmp_path, save=True)
    assert runner.run(config, tmp_path, verbose=False).status == "max_passes"
    assert not list(tmp_path.rglob(f"*{paths.BEGUN}"))


@pytest.mark.slow
@pytest.mark.unix
def test_a_run_whose_process_died_goes_last(tmp_path, capsys):
    words = [*RUN, "max_passes=0.1", "seed=0,1,2"]
    (config, *_) = from_arguments.expand(words)
    dies(config, tmp_path)
    assert main(["run", "-m", *words, f"results_dir={tmp_path}"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("[")]
    assert [line.partition(":")[0].split()[-1] for line in lines] == ["seed=1", "seed=2", "seed=0"]


@pytest.mark.parametrize("code", [0, "a message"])
def test_an_exit_of_a_solver_is_a_failure_of_its_run(tmp_path, capsys, monkeypatch, code):
    solve = runner.solve

    def exits(config, *arguments, **how):
        return sys.exit(code) if config["seed"] == 0 else solve(config, *arguments, **how)

    monkeypatch.setattr(runner, "solve", exits)
    assert main(["run", "-m", *RUN, "max_passes=0.1", "seed=0,1", f"results_dir={tmp_path}"]) == 1
    runs = store.find_runs(tmp_path, include={"failed"})
    assert sorted(run.status for run in runs) == ["failed", "max_passes"]
    assert f"SystemExit: {code}" in [run.record.get("error") for run in runs]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_where_nothing_can_be_stored_nothing_more_is_run(tmp_path, capsys, monkeypatch, number):
    tried = []

    def save(result, config, *_, **__):
        tried.append(config["seed"])
        raise OSError(number, os.strerror(number), str(tmp_path))

    monkeypatch.setattr(store, "save", save)
    assert main(["run", "-m", *RUN, "max_passes=0.1", "seed=0,1,2", f"results_dir={tmp_path}"]) == 1
    assert tried == [0]
    said = "fwexp: the sweep broke off: nothing more can be stored; make room, and repeat the command to go on"
    assert capsys.readouterr().err.splitlines()[-1] == said


def test_sweeps_in_threads_do_not_get_in_each_others_way(tmp_path):
    frames, begin = {}, threading.Barrier(2)

    def work(seed):
        begin.wait()
        frames[seed] = fwexp.sweep(dataset="digits", solver=["bcfw", "fw"], seed=seed, max_passes=0.1, results_dir=tmp_path)

    threads = [threading.Thread(target=work, args=[seed]) for seed in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {seed: list(frame["solver"]) for seed, frame in frames.items()} == {0: ["bcfw", "fw"], 1: ["bcfw", "fw"]}
