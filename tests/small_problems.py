"""The same small chain problem in every form: enumerated for the transcriptions, and as each kind of fwexp problem."""

from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import scipy.sparse as sp

import fwexp
from fwexp.jit.compilation import Kernel
from fwexp.jit.vectors import EIGHT
from fwexp.problems.loss_terms import HINGE
from fwexp.problems.rows import ROWS, entry_column, entry_span, entry_value, row_scores
from fwexp.solvers import SOLVERS, check_options
from tests import reference as ref
from tests.reference.examples import multiclass

# How inputs are kept, and problems given by Python functions with dense or sparse features.
ARRAYS = ("dense", "csr", "binary")
FUNCTIONS = ("functions", "sparse functions")
FORMS = (*ARRAYS, *FUNCTIONS)


def inputs(form, seed, n=5, K=3, p=2, lengths=(1, 2, 3)):
    """Dense inputs and labels: Gaussian, with zeros for ``csr``, 0/1 for ``binary``; never all zero at a position."""
    rng = np.random.default_rng(seed)
    X, y = ref.random_chains(rng, n, K, p, lengths)
    if form in ("csr", "sparse functions"):
        X = [x * (rng.random(x.shape) < 0.7) + np.eye(p)[rng.integers(p, size=len(x))] for x in X]
    elif form == "binary":
        X = [np.maximum(rng.random(x.shape) < 0.5, np.eye(p)[rng.integers(p, size=len(x))]) for x in X]
    return X, y


def as_form(form, X, y, K):
    """Build the fwexp problem from dense inputs."""
    if form not in FORMS:
        raise ValueError(f"form must be one of {FORMS}, got {form!r}")
    if form in FUNCTIONS:
        return functions(ref.tiny_chain(X, y, K), X, K, sparse=form == "sparse functions")
    return fwexp.chain_problem(X if form == "dense" else [sp.csr_array(x) for x in X], y, K)


def chain(form, seed, n=5, K=3, p=2, lengths=(1, 2, 3)):
    """Return (enumerated problem, fwexp problem)."""
    X, y = inputs(form, seed, n, K, p, lengths)
    return ref.tiny_chain(X, y, K), as_form(form, X, y, K)


def functions(tp, X, K, sparse=False):
    """Return a ``CallbackProblem`` that enumerates labelings, which are tuples."""

    def features(i, y):
        phi = ref.chain_feature(X[i], y, K)
        return sp.csr_array(phi[None]) if sparse else phi

    return fwexp.CallbackProblem(
        [tp.labelings[i][tp.truth[i]] for i in range(tp.n)],
        features=features,
        loss=lambda i, y: tp.loss[i][tp.labelings[i].index(y)],
        max_oracle=lambda i, w: tp.labelings[i][tp.argmax(i, w)],
        decode=lambda i, w: tp.labelings[i][tp.decode(i, w)],
    )


def classes(seed, n=6, K=3, p=2):
    """Return (enumerated problem, fwexp problem) with a class per example."""
    X, y = multiclass(seed, n, K, p)
    return ref.tiny_multiclass(X, y, K), fwexp.multiclass_problem(X, y, K)


def of_three_families():
    """Yield (name, enumerated problem, fwexp problem)."""
    tp, problem = chain("dense", 0)
    yield "chain", tp, problem
    yield "enumerated", tp, fwexp.enumerated_problem(tp.psi, tp.loss)
    yield "multiclass", *classes(0)


def at_start(solver, problem, lam, *, seed=0, iterates=("last",), order=None, warm_start=None, objective=HINGE, **options):
    """Return a solver at step 0."""
    cls = SOLVERS[solver]
    return cls(problem, lam, check_options(cls, options), seed, iterates, order, warm_start, objective)


def counting(n=20, seed=0):
    """Return a problem given by functions, and the numbers of calls of its oracles."""
    problem = chain("functions", seed, n=n)[1]
    calls = Counter()

    def counted(name, function):
        def count(i, w):
            calls[name] += 1
            return function(i, w)

        return count

    for name in ("max_oracle", "decode"):
        setattr(problem, name, counted(name, getattr(problem, name)))
    return problem, calls


def run_in_plain_python(monkeypatch):
    """Run all kernels as plain Python that take a problem or an iterate, for any problem; those on arrays alone serve all.

    Machine code of a method takes seconds; that it does what plain Python does is a check of ``check_solver``, and that a family's
    functions do so is one of ``check_problem``. Scores of narrow rows, where plain Python spends a third of its time, come from
    numpy with the same bits.
    """
    monkeypatch.setattr(Kernel, "__call__", _plain)
    for cls in ROWS:
        monkeypatch.setitem(row_scores.implementations, cls, _row_scores)


def _plain(kernel, *args):
    return (kernel.py_func if any(isinstance(value, tuple) for value in args) else partial(_compiled, kernel))(*args)


def _row_scores(x, t, weights, width, out):
    if width >= EIGHT:
        _row_scores_of_eights(x, t, weights, width, out)
        return
    out = out[:width]
    out[:] = 0.0
    for j in range(*entry_span(x, t)):
        start = int(entry_column(x, j)) * width
        out += entry_value(x, t, j) * weights[start : start + width]


_compiled, _row_scores_of_eights = Kernel.__call__, row_scores.find(ROWS[0])


def relative_error(got, wanted):
    """Return the largest difference, relative to the largest entry."""
    wanted = np.asarray(wanted)
    return np.abs(np.asarray(got) - wanted).max() / max(np.abs(wanted).max(), np.finfo(float).tiny)


def steps_before_a_tie(tp, path, visits):
    """How many steps pass before rounding decides an oracle call; ``visits[k]`` are the examples whose oracle step k calls.

    Ties of the loss alone, where w does not score an example's labelings yet, are broken alike everywhere.
    """
    for k, examples in enumerate(visits):
        for i in examples:
            products = tp.psi[i] @ path[k]
            scores = tp.loss[i] - products
            best = scores > scores.max() - 1e-9
            if best.sum() > 1 and products[best].any():
                return k
    return len(visits)


def at_any_speed(monkeypatch, run, chunks=(0.0, 10.0)):
    """Return the log of a run, after the comparison of those where the loop looks at the clock often and seldom."""
    logs = []
    for seconds in chunks:
        monkeypatch.setattr("fwexp.driver.loop.CHUNK_SECONDS", seconds)
        logs.append(run().drop(columns="time"))
        pd.testing.assert_frame_equal(logs[0], logs[-1], check_exact=True)
    return logs[0]
