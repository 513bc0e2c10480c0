"""The evaluation of all examples: one pass for both decodings, and the same for any number of threads."""

import os
import subprocess
import sys

import numpy as np
import pytest

import fwexp
from fwexp.jit import threads
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.protocol import from_public
from tests import reference as ref
from tests.small_problems import chain


def test_what_is_not_asked_for_is_nan_and_changes_nothing():
    tp, problem = chain("dense", 1, n=9)
    w = from_public(problem, np.random.default_rng(1).normal(size=tp.d))
    evaluator = Evaluator(problem)
    both = evaluator(w)
    assert evaluator(w, error=False) == (both.hinge, both.norm_sq, pytest.approx(np.nan, nan_ok=True))
    assert evaluator(w, hinge=False) == (pytest.approx(np.nan, nan_ok=True), both.norm_sq, both.error)
    hinges, losses = evaluator.oracles(w)
    assert hinges.mean() == both.hinge
    assert [evaluator.oracle(i, w) for i in range(tp.n)] == hinges.tolist()
    assert ref.loss_term(tp, [np.eye(len(L))[np.argmax(loss == L)] for L, loss in zip(tp.loss, losses)]) == losses.mean()


@pytest.mark.compiled
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 40])
def test_thread_count_does_not_matter(n, monkeypatch):
    """Every example is decoded exactly once, in the same shares, and sums are taken in the same order."""
    tp, problem = chain("dense", 2, n=n)
    w = from_public(problem, np.random.default_rng(2).normal(size=tp.d))
    values, runs = [], []
    for count, worth in ((1, 0.0), (2, 0.0), (3, np.inf), (8, 0.0), (50, 1e-3)):
        monkeypatch.setattr(threads, "WORTH", worth)
        monkeypatch.setattr(threads, "num_threads", lambda count=count: count)
        evaluator = Evaluator(problem)
        values.append((evaluator(w), evaluator.oracles(w)[0].tobytes(), evaluator.labelings.tobytes()))
        solvers = (("bcfw", {}), ("bcfw", {"sampling": "gap", "refresh": 1}), ("fw", {}))
        results = [fwexp.solve(problem, name, lam=0.1, max_passes=5, gap_tol=0, **options) for name, options in solvers]
        runs.append([result.w.tobytes() for result in results])
    assert values[1:] == values[:1] * 4
    assert runs[1:] == runs[:1] * 4


def test_norms_do_not_depend_on_the_threads_of_blas():
    code = "import numpy as np; from fwexp.problems.protocol import product; w = np.random.default_rng(0).normal(size=1_200_000)"
    code += "; print(product(w, w).hex(), product(w[:9], w[1:10]) - sum(w[:9] * w[1:10]))"
    found = []
    for count in ("1", "2"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": count, "MKL_NUM_THREADS": count}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        found.append(done.stdout.split())
    assert found[0][0] == found[1][0]
    assert abs(float(found[0][1])) < 1e-12


@pytest.mark.parametrize("count", [1, 3])
def test_shares_cover_all_examples_once(count, monkeypatch):
    monkeypatch.setattr(threads, "num_threads", lambda: count)
    for n in (1, 5, 8, 23):
        seen = np.zeros(n, dtype=int)

        def kernel(chunk, start, end, seen=seen):
            seen[start:end] += 1

        threads.parallel_for(kernel, n, min(threads.CHUNKS, n))
        assert (seen == 1).all()


@pytest.mark.parametrize(("worth", "ranges"), [(0.0, 9), (np.inf, 2)])
def test_threads_begin_only_where_a_first_range_says_that_it_is_worth_it(worth, ranges, monkeypatch):
    monkeypatch.setattr(threads, "num_threads", lambda: 3)
    monkeypatch.setattr(threads, "WORTH", worth)
    seen = []
    threads.parallel_for(lambda chunk, start, end: seen.append((start, end)), 100, 8)
    assert len(seen) == ranges
    assert sorted(i for start, end in seen for i in range(start, end)) == [*range(100)]


@pytest.mark.parametrize("count", [1, 3])
def test_maps_keep_the_order(count, monkeypatch):
    monkeypatch.setattr(threads, "num_threads", lambda: count)
    for n in (0, 1, 5, 23):
        assert threads.parallel_map(str, range(n)) == [str(item) for item in range(n)]


@pytest.mark.parametrize("error", [ZeroDivisionError, IndexError])
@pytest.mark.parametrize("count", [1, 3])
def test_errors_in_threads_are_raised(count, error, monkeypatch):
    monkeypatch.setattr(threads, "num_threads", lambda: count)

    def kernel(chunk, start, end):
        raise error

    with pytest.raises(error):
        threads.parallel_for(kernel, 8, 8)


def test_number_of_threads_respects_the_share_of_a_worker(monkeypatch):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    for text, wanted in (("", 6), ("2", 2), ("100", 6), ("0", 1), (" 3 ", 3), ("4,2", 4)):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert threads.num_threads() == wanted
