"""The loss per position has one lam for all lengths, where that of shares grows with the square of the length."""

import numpy as np
import pytest

from benchmarks import lengths
from fwexp.estimators import ChainSVM


@pytest.mark.parametrize("length", [20, pytest.param(2000, marks=pytest.mark.slow)])
def test_the_default_lam_suits_sequences_of_any_length(length):
    best, default, accuracy, _ = lengths.row(length, "errors", "wavg", positions=6000, lams=[1e-2, 1e-3, 1e-4, 1e-5])[4:]
    assert default == ChainSVM().lam
    assert accuracy > best - 0.02
    of_shares, former, _, gap = lengths.row(length, "share", "wavg", positions=6000, lams=[1e-4 * length**2])[4:]
    assert former == 0.01
    assert of_shares == pytest.approx(accuracy, abs=1e-3)  # the same objective
    assert gap > 10 * ChainSVM().tol


def test_sequences_have_the_positions_asked_for():
    for X, y in lengths.sensors(20, 100):
        assert [x.shape for x in X] == [(20, 7)] * 5
        assert set(np.concatenate(y)) <= set(range(5))
