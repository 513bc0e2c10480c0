"""The status of a result follows from the numbers that it returns."""

import pytest

import fwexp
from fwexp.driver.log import Log
from tests import small_problems

GAP_TOL = 2.0**-4


@pytest.mark.parametrize("excess", [0.0, 2.0**-30])
def test_a_run_has_converged_only_if_its_recomputed_gap_is_small_enough(excess, monkeypatch):
    small_problems.run_in_plain_python(monkeypatch)
    _, problem = small_problems.chain("dense", 0, n=4)
    certificate = Log.certificate

    def recomputed(self):
        """Return the certificate as rounding errors of running sums would change it."""
        _, dual = certificate(self)
        return dual + GAP_TOL + excess, dual

    monkeypatch.setattr(Log, "certificate", recomputed)
    monkeypatch.setattr(Log, "drift", lambda *_: "")
    result = fwexp.solve(problem, "bcfw", lam=1.0, max_passes=300, gap_tol=GAP_TOL, iterates=["last"])
    assert result.status == ("stalled" if result.gap > GAP_TOL else "converged")
    assert (result.gap > GAP_TOL) == (excess > 0.0)
