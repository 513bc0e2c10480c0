"""``make bench-few``: the cases, and that both methods and the choice of ``auto`` are measured; how long it takes is no matter."""

import numpy as np
import pytest

from benchmarks import few


def test_cases_are_as_stated():
    cases = [few.case(seed) for seed in range(48)]
    assert cases == [few.case(seed) for seed in range(48)]
    for case in cases:
        assert 1 <= case.n <= 200
        assert 10 <= case.length <= 100_000
        assert 0.1 / case.n <= case.c <= 1.0


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("objective", ["log", "hinge"])
def test_both_kinds_of_methods_are_measured(monkeypatch, objective):
    case = few.Case(n=2, length=60, K=2, p=5, c=0.01)
    monkeypatch.setattr(few, "case", lambda seed: case)
    assert few.problem_of(case, 0).label_ptr.tolist() == [0, 60, 120]
    row = few.measure(0, objective)
    assert row["auto"] == "batch"
    for kind in ("block", "batch"):
        assert np.isfinite(row[kind]).all()
        assert row[kind][0] <= row[kind][1] < few.NEVER
    fastest = [min(row["block"][k], row["batch"][k]) for k in range(2)]
    assert row["over best"] == pytest.approx(np.array(row["batch"]) / fastest)
