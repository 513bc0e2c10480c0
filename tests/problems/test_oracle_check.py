"""Comparing the oracle with random labelings finds one that does not maximise, and no fault in one that does."""

import numpy as np
import pytest

import fwexp
from fwexp.errors import CertificateError
from fwexp.problems.constraints import feasible
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.oracle_check import OracleCheck
from fwexp.problems.protocol import from_public
from fwexp.testing import small_chains
from tests.problems.test_callback import three_way
from tests.test_every_solver import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_good_oracles_pass(family):
    problem = FAMILIES[family]()
    rng = np.random.default_rng(1)
    check = OracleCheck(Evaluator(problem))
    for size in (0.0, 1e-3, 1.0, 1e3):
        assert not check(feasible(problem, from_public(problem, size * rng.normal(size=problem.d))))


def test_a_run_with_a_good_oracle_is_the_same_but_for_the_calls():
    given = {"lam": 0.1, "max_passes": 3, "gap_tol": 0}
    plain, checked = (fwexp.solve(small_chains(), "bcfw", check=check, **given) for check in (False, True))
    columns = plain.trace.columns.drop(["time", "evaluation_calls"])
    assert plain.trace[columns].equals(checked.trace[columns])
    assert (checked.trace["evaluation_calls"] > plain.trace["evaluation_calls"]).all()


@pytest.mark.parametrize("fault", ["forgets the loss", "returns the truth"])
def test_an_oracle_that_does_not_maximise_ends_the_run(fault):
    """Away from w = 0."""

    def max_oracle(plain, i, w):
        return problem.y[i] if fault == "returns the truth" and w.any() else plain(i, 1e9 * w)

    assert fwexp.solve(three_way(12), "bcfw", lam=0.1, gap_tol=0.1, check=True).status == "converged"
    problem = three_way(12, max_oracle=max_oracle)
    with pytest.raises(CertificateError, match=r"max_oracle of example \d+ returned"):
        fwexp.solve(problem, "bcfw", lam=0.1, check=True)


def test_a_compiled_oracle_that_misses_the_best_is_found(monkeypatch):
    evaluator = Evaluator(small_chains())
    best = evaluator.oracle
    monkeypatch.setattr(evaluator, "oracle", lambda i, w: best(i, w) - 1e-3)
    assert "max_oracle of example" in OracleCheck(evaluator)(np.zeros(evaluator.problem.num_weights))
