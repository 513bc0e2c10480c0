"""Ctrl-C while estimators train: `fit` keeps the weights reached, and searches raise, because they must not score such models."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fwexp.driver import loop
from fwexp.estimators import ChainSVM, ChainSVMCV, MulticlassSVM, StructuredSVM
from tests.estimators.models import Signs


@pytest.fixture
def interrupt(monkeypatch):
    """Send SIGINT in the first run, once it has begun; runs that are not ended go on for very long."""
    sent = threading.Event()

    def interrupting(write):
        def writing(log, seconds):
            write(log, seconds)
            if log.iteration.step and not sent.is_set():
                sent.set()
                os.kill(os.getpid(), signal.SIGINT)

        return writing

    for name in ("write", "write_known"):
        monkeypatch.setattr(loop.Log, name, interrupting(getattr(loop.Log, name)))
    return sent


def chains(n=12):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(6, 3)) for _ in range(n)], [rng.integers(3, size=6) for _ in range(n)]


NEVER_ENDING = {"tol": 1e-12, "lam": 1e-6, "max_passes": 1e9}


@pytest.mark.parametrize("kind", [MulticlassSVM, ChainSVM, StructuredSVM])
def test_fit_keeps_the_weights_reached(kind, interrupt):
    rng = np.random.default_rng(0)
    X, y = chains() if kind is ChainSVM else (rng.normal(size=(30, 3)), rng.choice([-1, 1], size=30))
    if kind is StructuredSVM:
        X = X[:, 0]
    model = StructuredSVM(Signs()) if kind is StructuredSVM else kind()
    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(RuntimeWarning, match=r"^Ctrl-C ended the run .*: the result is what was reached; the next Ctrl-C raises"):
        model.set_params(**NEVER_ENDING).fit(X, y)
    assert interrupt.is_set()
    assert model.status_ == "interrupted"
    assert 0.0 < model.dual_gap_ < 10.0
    assert len(model.predict(X)) == len(X)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_raises_and_leaves_the_former_model(interrupt, monkeypatch):
    X, y = chains()
    model = ChainSVM(lam=0.1, verbose=0)
    interrupt.set()  # The first training goes on to its end.
    model.fit(X, y).set_params(**NEVER_ENDING)
    before = dict(vars(model))
    write = loop.Log.write

    def writing(log, seconds):
        write(log, seconds)
        if log.iteration.step:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(loop.Log, "write", writing)
    with pytest.raises(KeyboardInterrupt):
        model.fit([x[:, :2] for x in X], [1 + labels for labels in y])
    assert vars(model) == before


def test_a_pipeline_keeps_its_model_and_a_search_over_it_none(interrupt):
    rng = np.random.default_rng(0)
    X, y, steps = rng.normal(size=(30, 3)), rng.integers(3, size=30), make_pipeline(MulticlassSVM(**NEVER_ENDING))
    with pytest.warns(RuntimeWarning, match="Ctrl-C"):
        assert steps.fit(X, y)[-1].status_ == "interrupted"
    interrupt.clear()
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(steps, X, y, cv=2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validation_raises_and_its_threads_end(n_jobs, interrupt):
    threads = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        ChainSVMCV(lams=[1e-6], tol=1e-12, max_passes=1e9, cv=2, n_jobs=n_jobs).fit(*chains())
    for thread in set(threading.enumerate()) - threads:
        thread.join(30)
        assert not thread.is_alive()


def test_an_ignored_interrupt_ends_nothing(interrupt):
    """As in the background of a script: scikit-learn's estimators do not hear of it either."""
    outside = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        model = ChainSVM(lam=0.1).fit(*chains())
    finally:
        signal.signal(signal.SIGINT, outside)
    assert interrupt.is_set()
    assert model.status_ == "converged"
