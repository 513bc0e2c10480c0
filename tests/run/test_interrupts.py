import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fwexp.run import interrupts
from fwexp.run.runner import Outcome
from tests.faults import orphans


@pytest.fixture
def worker(monkeypatch):
    """Let this process be a worker, but stay in its process group."""
    before = signal.getsignal(signal.SIGINT)
    state = interrupts._Worker()
    monkeypatch.setattr(interrupts, "_worker", state)
    monkeypatch.setattr(os, "setpgid", lambda *_: None)
    yield state
    signal.signal(signal.SIGINT, before)


def finish():
    return Outcome("max_passes")


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
    pytest.fail("the signal was not heard")


def test_an_interrupt_ends_a_run_and_skips_the_rest_of_its_sweep(worker):
    assert interrupts.run_in_worker("one", finish) == Outcome("max_passes")
    assert interrupts.run_in_worker("one", interrupt) is None
    assert interrupts.run_in_worker("one", finish) is None
    assert interrupts.run_in_worker("two", finish) == Outcome("max_passes")


def test_an_interrupt_between_two_runs_skips_the_second(worker):
    interrupts.run_in_worker("one", finish)
    os.kill(os.getpid(), signal.SIGINT)
    assert interrupts.run_in_worker("one", finish) is None


def test_no_run_follows_one_that_was_interrupted(worker):
    assert interrupts.run_in_worker("one", lambda: Outcome("interrupted")) == Outcome("interrupted")
    assert interrupts.run_in_worker("one", finish) is None


PARENT = """
import multiprocessing, os, signal, time
from fwexp.run import interrupts

class Job:
    def __init__(self, status): self.status = status

def work(started):
    def run():
        # Ends early at the first signal, as solve does; a second one would be a KeyboardInterrupt.
        heard = []
        before = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, lambda *_: heard.append(signal.signal(signal.SIGINT, before)))
        started.set()
        while not heard:
            time.sleep(0.01)
        time.sleep(1)
        return Job("interrupted")

    for _ in range(2):
        outcome = interrupts.run_in_worker("sweep", run)
        os.write(1, f"{outcome and outcome.status}\\n".encode())

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    try:
        with interrupts.passed_on():
            child = context.Process(target=work, args=(started,))
            child.start()
            started.wait()
            os.write(1, b"ready\\n")
            while child.is_alive():
                time.sleep(0.01)
    except KeyboardInterrupt:
        os.write(1, b"stopped\\n")
"""


@pytest.mark.slow
@pytest.mark.parametrize("everybody", [True, False])
def test_a_worker_hears_it_once_from_a_terminal_or_from_its_parent(tmp_path, everybody):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = os.environ | {"PYTHONPATH": str(Path(interrupts.__file__).parents[2])}
    command = [sys.executable, script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    (os.killpg if everybody else os.kill)(process.pid, signal.SIGINT)
    assert process.communicate(timeout=30)[0].splitlines() == ["interrupted", "None", "stopped"]


@pytest.mark.slow
def test_workers_that_just_begin_end_with_their_parent(tmp_path):
    orphans(3, random.Random(0), tmp_path)
