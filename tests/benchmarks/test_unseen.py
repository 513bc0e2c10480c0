"""``make bench-multiclass``: the cases, and that both tools minimise one objective; how long it takes is no matter."""

import numpy as np
import pytest

from benchmarks import unseen


def test_cases_are_as_stated():
    cases = [unseen.case(seed) for seed in range(60)]
    assert cases == [unseen.case(seed) for seed in range(60)]
    assert {case.kind for case in cases[::2]} == {case.kind for case in cases[1::2]} == set(unseen.KINDS)
    for case in cases:
        assert 1_000 <= case.n <= 50_000
        assert 50 <= case.p <= (unseen.WIDEST if case.kind == "dense" else 100_000)
        assert 2 <= case.K <= 200
        assert min(0.01, 0.1 / case.n) <= case.lam <= max(0.01, 0.1 / case.n)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "K"), [*((kind, 3) for kind in unseen.KINDS), ("dense", 2)])
def test_both_tools_reach_the_targets(kind, K):
    pytest.importorskip("sklearn")
    case = unseen.Case(kind, n=60, p=50, K=K, lam=0.05)
    X, y = unseen.data_of(case, 0)
    assert X.shape == (60, 50)
    assert set(y) == set(range(K))
    rows = unseen.measure(case, 0, rounds=1)
    assert [row["target"] for row in rows] == list(unseen.TARGETS)
    for row in rows:
        assert 0.0 < row["ours"] < np.inf
        assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"])


def test_the_mean_of_a_half_is_printed(monkeypatch, capsys):
    def measured(_, seed):
        return [{"target": target, "ratio": {1: 0.5, 3: 2.0}[seed], "ours": 1.0, "theirs": 1.0} for target in unseen.TARGETS]

    monkeypatch.setattr(unseen, "pin", lambda: None)
    monkeypatch.setattr(unseen, "measure", measured)
    monkeypatch.setattr("sys.argv", ["unseen", "--half", "test", "--seeds", "4"])
    assert unseen.main() == 0
    assert "ours over LIBLINEAR, to 0.001: geometric mean 1.00, 0.50 to 2.00\n" in capsys.readouterr().out
