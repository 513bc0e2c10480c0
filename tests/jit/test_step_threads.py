"""Threads of steps: figures that show seconds give refreshes of gaps as many as steps."""

from dataclasses import replace

import pytest

from fwexp.experiments import FIGURES
from fwexp.jit import threads
from fwexp.papers import figure_pipeline
from fwexp.run import from_arguments


def test_steps_have_a_bound_of_their_own(monkeypatch):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threads.steps_with(1):
        assert threads.num_threads() == 4
        with threads.for_steps():
            assert threads.num_threads() == 1
    with threads.jobs(2), threads.for_steps():
        assert threads.num_threads() == 2


def test_figures_that_show_seconds_run_with_one_thread(monkeypatch, tmp_path):
    seen = {}

    def execute(configs, *, launcher, **_):
        with threads.for_steps():
            seen[launcher] = threads._n_jobs.get()
        return [None] * len(configs)

    monkeypatch.setattr(from_arguments, "execute_together", execute)
    for launcher, timed in (("basic", True), ("joblib", False)):
        figure = replace(FIGURES.find("quickstart"), timed=timed)
        plan = figure_pipeline._Plan(figure, "smoke", tmp_path, [], launcher, figure_pipeline.Look())
        figure_pipeline._run([plan], results_dir=tmp_path, data_dir=None, settings=(), force=False, tried={})
    assert seen == {"basic": 1, "joblib": None}


@pytest.mark.parametrize(
    ("groups", "files", "number"),
    [
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 2),
        ("0::/a/b", {"a/b/cpu.max": "100000 100000", "a/cpu.max": "300000 100000"}, 1),
        ("0::/a", {"a/cpu.max": "max 100000"}, 4),
        ("0::/of/the/host", {"cpu.max": "50000 100000"}, 1),
        ("3:cpu,cpuacct:/a", {"cpu/a/cpu.cfs_quota_us": "300000", "cpu/a/cpu.cfs_period_us": "100000"}, 3),
        ("3:cpu,cpuacct:/a", {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"}, 4),
        ("0::/a", {"a/cpu.max": "damaged"}, 4),
    ],
)
def test_limits_of_control_groups_count_as_processors_do(tmp_path, monkeypatch, groups, files, number):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "CGROUPS", tmp_path)
    monkeypatch.setattr(threads, "OWN_CGROUPS", tmp_path / "cgroup")
    (tmp_path / "cgroup").write_text(f"9:name=systemd:/\n{groups}\n")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert threads.num_threads() == number
