"""Oracle calls in batches: equal bits for every number of threads, schedule and interruption, and the same optimum."""

import numpy as np
import pytest

import fwexp
from fwexp import record
from fwexp.driver.iteration import Budget
from fwexp.errors import OptionError
from fwexp.jit import threads
from fwexp.solvers import SOLVERS, check_options
from fwexp.solvers.auto import Auto
from tests.small_problems import chain, run_in_plain_python

LAM = 0.05
CACHED = {"sampling": "gap_perm", "step": "corrective", "cache": True, "accelerate": True}
METHODS = [{}, CACHED]
RUN = {"lam": LAM, "max_passes": 12, "gap_tol": 0, "iterates": ["last"], "iterate": "last"}


@pytest.mark.parametrize("options", METHODS)
def test_bits_do_not_depend_on_threads_or_rows(options, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "WORTH", 0.0)
    _, problem = chain("dense", 3, n=40)
    runs = [(1, "default"), (2, "default"), (4, "default"), (2, 0.1), (1, 5.0)]
    results = [fwexp.solve(problem, "bcfw", batch=3, n_jobs=jobs, schedule=rows, **RUN, **options) for jobs, rows in runs]
    for result in results[1:]:
        assert result.w.tobytes() == results[0].w.tobytes()
    plain = fwexp.solve(problem, "bcfw", **RUN, **options)
    assert results[0].w.tobytes() != plain.w.tobytes()
    assert results[0].dual <= plain.primal
    assert plain.dual <= results[0].primal
    assert results[0].gap <= 3.0 * plain.gap


def solver(problem, options, batch):
    options = check_options(SOLVERS["bcfw"], {"batch": batch, **options})
    return SOLVERS["bcfw"](problem, LAM, options, 0, ("last",))


@pytest.mark.parametrize("options", METHODS)
def test_a_saved_run_goes_on_with_those_that_wait(options):
    _, problem = chain("dense", 3, n=40)
    whole, parts = solver(problem, options, 6), solver(problem, options, 6)
    for calls in (7, 50, 101, 203):
        parts.advance(Budget(calls, 10_000))
        assert parts.oracle_calls <= calls
        state, parts = record.from_arrays(record.to_arrays(parts.state)), solver(problem, options, 6)
        parts.restore(state)
    whole.advance(Budget(203, 10_000))
    assert record.same(parts.state.iterate, whole.state.iterate)


def test_each_step_is_that_of_its_answer(monkeypatch):
    """The first two batches are answered at w = 0; steps come in the given order, each drawn example once."""
    run_in_plain_python(monkeypatch)
    _, problem = chain("dense", 3, n=12)
    order = np.arange(12)
    given = {"order": order, "lam": LAM, "max_passes": 1, "gap_tol": 0, "iterates": ["last"]}
    batched = fwexp.solve(problem, "bcfw", batch=6, **given).state
    assert batched.step == 12
    at_start = [fwexp.max_oracle(problem, i, np.zeros(problem.d))[1] for i in order]  # the gap of a block at the truth
    np.testing.assert_allclose(batched.state.iterate.gaps, at_start, atol=1e-12)


def test_an_example_that_waits_ends_its_batch(monkeypatch):
    run_in_plain_python(monkeypatch)
    _, problem = chain("dense", 3, n=3)
    order = np.array([0, 0, 1, 1, 1, 2, 0, 2, 2])
    given = {"order": order, "lam": LAM, "max_passes": 3, "gap_tol": 0, "iterates": ["last"]}
    assert fwexp.solve(problem, "bcfw", batch=3, **given).state.step == 9


def test_orders_and_steps_that_go_one_by_one_are_refused():
    _, problem = chain("dense", 3, n=6)
    for given in ({"sampling": "max_gap"}, {"sampling": "shrinking"}, {"step": "exact"}):
        with pytest.raises(OptionError, match=r"solver bcfw: batch must be 1 with (sampling|step)="):
            fwexp.solve(problem, "bcfw", lam=LAM, batch=2, **given)


def test_auto_has_batches_only_if_asked():
    problem = chain("dense", 3, n=40)[1]
    assert Auto.choose(Auto.Options(), problem, LAM)[1].batch == 1
    assert Auto.choose(Auto.Options(batch=5), problem, LAM)[1].batch == 5
