"""Problems written out as matrices."""

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.testing import check_problem
from tests import reference as ref
from tests.reference.examples import chain
from tests.small_problems import run_in_plain_python


def both(seed=0, rescaling="margin"):
    """Return the same problem for the transcription and for fwexp."""
    tp = chain(seed, n=4)
    return (ref.slack_rescaled(tp) if rescaling == "slack" else tp), fwexp.enumerated_problem(tp.psi, tp.loss, rescaling=rescaling)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_family_keeps_the_promises_of_the_protocol(rescaling):
    check_problem(both(0, rescaling)[1])


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_oracles_and_optimum_equal_the_matrices(rescaling, monkeypatch):
    tp, problem = both(1, rescaling)
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0, 10.0):
        w = scale * rng.normal(size=tp.d)
        for i in range(tp.n):
            y, value = fwexp.max_oracle(problem, i, w)
            assert value == pytest.approx(tp.scores(i, w).max(), abs=1e-12)
            assert tp.scores(i, w)[y] == pytest.approx(value, abs=1e-12)
            assert fwexp.loss(problem, i, y) == tp.loss[i][y]
        assert fwexp.predict(problem, w) == [int(np.argmin(both(1)[0].psi[i] @ w)) for i in range(tp.n)]
    run_in_plain_python(monkeypatch)  # which other families do not; compiling takes longer than the run
    result = fwexp.solve(problem, "bcfw", lam=0.5, step="pairwise", max_passes=500, gap_tol=1e-9)
    assert result.primal == pytest.approx(ref.qp_optimum(tp, 0.5).primal, abs=2e-9)


@pytest.mark.parametrize(
    ("psi", "losses", "message"),
    [
        ([], [], "n >= 1, got 0 and 0"),
        ([np.zeros((1, 2))], [[0.0], [0.0]], "got 1 and 2"),
        ([np.zeros((1, 2))], [[0.0, 1.0]], r"psi\[0\] must have shape"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], [[0.0], [0.0]], r"psi\[1\] must have shape \(m, 2\)"),
        ([np.array([[0.0], [np.nan]])], [[0.0, 1.0]], "must be finite"),
        ([np.zeros((2, 1))], [[0.0, -1.0]], "losses >= 0"),
        ([np.ones((2, 1))], [[0.0, 1.0]], "one output of example 0 must be the true one"),
    ],
)
def test_bad_matrices_are_named_on_one_line(psi, losses, message):
    with pytest.raises(ParameterError, match=message) as error:
        fwexp.enumerated_problem(psi, losses)
    assert "\n" not in str(error.value)
