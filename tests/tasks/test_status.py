"""The status of a result follows from the numbers that it returns."""

import numpy as np
import pytest

import fwexp
from fwexp.driver.log import Log
from fwexp.errors import CertificateError
from fwexp.solvers.base import Point
from fwexp.solvers.bcfw import BCFW
from tests import small_problems

GAP_TOL = 2.0**-4


@pytest.mark.parametrize("excess", [0.0, 2.0**-30])
def test_a_run_has_converged_only_if_its_recomputed_gap_is_small_enough(excess, monkeypatch):
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


def test_no_run_converges_to_less_than_its_rounding_errors():
    problem = fwexp.multiclass_problem(np.array([[1.0]]), np.array([0]), 2)
    for gap_tol, status in ((1e-17, "stalled"), (1e-9, "converged")):
        result = fwexp.solve(problem, "bcfw", lam=1.0, max_passes=20, gap_tol=gap_tol, iterates=["last"])
        assert (result.gap, result.status) == (0.0, status)  # one step is exact


def test_a_negative_gap_beyond_rounding_is_an_error(monkeypatch):
    """A share of 1e-9 of the objective was taken for rounding."""
    _, problem = small_problems.chain("dense", 0, n=2)
    point = BCFW.point
    best = fwexp.solve(problem, "bcfw", lam=1.0, max_passes=300, gap_tol=1e-12, step="corrective", iterates=["last"])

    def raised(self, iterate):
        w, dual, *_ = point(self, iterate)
        return Point(w, dual + 1e-9 * best.primal)

    monkeypatch.setattr(BCFW, "point", raised)
    with pytest.raises(CertificateError, match="below the dual one"):
        fwexp.solve(problem, "bcfw", lam=1.0, max_passes=300, gap_tol=0, step="corrective", iterates=["last"])
