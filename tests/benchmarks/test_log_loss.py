"""``make bench-crf``: that all tools minimise one objective; how long it takes is no matter."""

import numpy as np
import pytest

import fwexp
from benchmarks import log_loss


def test_when_a_gap_is_reached():
    assert log_loss.reached([1.0, 2.0, 3.0], [0.5, 0.009, 0.002]) == [2.0, np.inf]


@pytest.mark.slow
def test_crfsuite_has_the_same_objective():
    pytest.importorskip("pycrfsuite")
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(2):
        y = [rng.integers(3, size=length) for length in (4, 6, 1, 8, 5)]
        X = [np.column_stack([labels == k for k in range(3)]) + rng.normal(size=(len(labels), 3)) for labels in y]
        problems.append(fwexp.chain_problem(X, y, 3))
    rows = list(log_loss.sequences("some", *problems, 0.5, 200))
    assert [row[1].partition(" ")[0] for row in rows] == ["fwexp", "CRFsuite,"]
    assert "-" not in (*rows[0][2:4], *rows[1][2:4])
    assert -1e-4 < float(rows[1][4].partition(" above")[0]) < 1e-3
    assert rows[0][-1] == pytest.approx(rows[1][-1]) or abs(float(rows[0][-1]) - float(rows[1][-1])) < 0.1


@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learn_has_the_same_objective(classes):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 4)), rng.integers(classes, size=40)
    problem, lam = fwexp.multiclass_problem(X, y), 0.1
    bound = fwexp.solve(problem, lam=lam, objective="log", gap_tol=1e-6, max_passes=1e4).dual
    C = (2.0 if classes == 2 else 1.0) / (lam * 40)
    for solver in ("lbfgs", *["liblinear"] * (classes == 2)):
        seconds, _ = log_loss.scikit_learn(problem, lam, X, y, C, solver, bound)
        assert np.isfinite(seconds).all()
