"""``n_jobs``: equal bits for every number of threads, in every solver; errors in threads; and what starts threads."""

import pytest

import fwexp
from fwexp.jit import threads
from fwexp.solvers import SOLVERS
from tests.small_problems import chain

SOLVERS_OF_CHAINS = ("auto", "bcfw", "bmrm", "fw", "n_slack", "one_slack", "ssg")


@pytest.fixture
def no_probe(monkeypatch):
    """Start threads for the smallest problems as well."""
    monkeypatch.setattr(threads, "WORTH", 0.0)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize("name", SOLVERS_OF_CHAINS)
def test_bits_do_not_depend_on_the_number_of_threads(name, no_probe):
    _, problem = chain("dense", 3, n=40)
    given = {"refresh": 1, "sampling": "gap"} if name == "bcfw" else {}
    given |= {"batch": 7} if name == "n_slack" else {}
    results = [fwexp.solve(problem, name, lam=0.05, max_passes=6, gap_tol=0, n_jobs=jobs, **given) for jobs in (1, 2, 4)]
    columns = ["primal", "passes", *(["dual"] if SOLVERS[name].has_dual else [])]
    for result in results[1:]:
        assert result.w.tobytes() == results[0].w.tobytes()
        assert result.trace[columns].equals(results[0].trace[columns])


def test_as_many_threads_as_asked_for(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    here = threads.num_threads()
    counted = {}
    for n_jobs in (1, 4, -1, -2, -1000, None):
        with threads.jobs(n_jobs):
            counted[n_jobs] = threads.num_threads()
            with threads.jobs(None):
                assert threads.num_threads() == counted[n_jobs]
    assert counted == {1: 1, 4: 4, -1: here, -2: max(1, here - 1), -1000: 1, None: here}
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with threads.jobs(4):
        assert threads.num_threads() == 2
