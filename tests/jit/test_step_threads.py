"""Threads of steps: figures that show seconds give refreshes of gaps as many as steps."""

from dataclasses import replace

from fwexp.experiments import FIGURES
from fwexp.jit import threads
from fwexp.papers import figure_pipeline
from fwexp.run import sweep


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

    monkeypatch.setattr(sweep, "execute_together", execute)
    for launcher, timed in (("basic", True), ("joblib", False)):
        figure = replace(FIGURES.find("quickstart"), timed=timed)
        plan = figure_pipeline._Plan(figure, "smoke", tmp_path, [], launcher, figure_pipeline.Look())
        figure_pipeline._run([plan], results_dir=tmp_path, data_dir=None, settings=(), force=False, tried={})
    assert seen == {"basic": 1, "joblib": None}
