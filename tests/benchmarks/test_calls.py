"""``make bench-calls``: the problems, and that calls of both tools are counted."""

import numpy as np
import pytest

from benchmarks.peers import calls, contests


def test_problems_are_as_stated():
    for half, seeds in (("fit", range(0, 4, 2)), ("test", range(1, 4, 2))):
        named = dict(calls.problems(half, seeds))
        assert list(named) == [f"seed {seed}" for seed in seeds]
        for X, y, lam in named.values():
            assert 60 <= len(y) <= 1500
            assert 3 <= X.shape[1] <= 60
            assert 1.0 <= lam * len(y) <= 50.0
    assert (np.diff(calls.generated(1)[1]) >= 0).all()
    np.testing.assert_array_equal(calls.generated(2)[0], calls.generated(2)[0])


@pytest.mark.compiled
def test_calls_of_both_tools_are_counted(monkeypatch, capsys):
    pytest.importorskip("dlib")
    X, y, lam = calls.generated(3)
    counted = calls.calls(contests.python_oracle("made up", X, y, lam, "dlib", targets=(1e-1, 1e-2)))
    assert counted.shape == (2, 2)
    assert (counted >= 2 * len(y)).all()
    monkeypatch.setattr(calls, "calls", lambda contest: np.array([[3.0, 8.0], [4.0, 4.0]]))
    monkeypatch.setattr("sys.argv", ["calls", "--half", "data"])
    assert calls.main() == 0
    assert "geometric means 0.75 2.00, most 2.00" in capsys.readouterr().out
