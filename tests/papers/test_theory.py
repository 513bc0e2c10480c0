"""The small problems that claims are computed on, against the literal transcriptions."""

import numpy as np
import pytest

from fwexp.experiments.theory import small
from tests import reference as ref

LAM = 0.2


def transcribed(outputs):
    """Return the same problem as the transcriptions take it."""
    n, m = outputs.losses.shape
    return ref.TinyProblem(tuple(outputs.psi), tuple(outputs.losses), (list(range(m)),) * n, (0,) * n)


@pytest.mark.parametrize("seed", range(3))
def test_curvatures_and_optimum(seed):
    outputs = small.some_outputs(seed)
    tp = transcribed(outputs)
    np.testing.assert_allclose(small.block_curvatures(outputs, LAM), ref.block_curvature(tp, LAM))
    assert small.optimum(outputs, LAM) == pytest.approx(ref.qp_optimum(tp, LAM).dual, abs=2e-9)
    # The curvature is no smaller than that of any two points, and blocks are a part of it.
    rng = np.random.default_rng(seed)
    A, _, blocks = ref.dual_matrices(tp, LAM)
    for _ in range(50):
        a, s = (np.concatenate([rng.dirichlet(np.full(len(block), 0.1)) for block in blocks]) for _ in range(2))
        assert LAM * np.sum((A @ (s - a)) ** 2) <= small.curvature(outputs, LAM) + 1e-12
    assert small.block_curvatures(outputs, LAM).max() <= small.curvature(outputs, LAM)


def test_iterates_objectives_and_averages():
    outputs = small.some_outputs(5)
    tp, order = transcribed(outputs), np.random.default_rng(0).integers(outputs.n, size=20)
    for (ws, ells), run in (
        (small.iterates(outputs, "bcfw", LAM, 20, order=order), ref.bcfw(tp, LAM, order)),
        (small.iterates(outputs, "fw", LAM, 20, line_search=False), ref.fw(tp, LAM, 20, line_search=False)),
    ):
        np.testing.assert_allclose(ws, run.last.w, atol=1e-12)
        np.testing.assert_allclose(ells, run.last.ell, atol=1e-12)
        np.testing.assert_allclose(small.primal(outputs, ws, LAM), [ref.primal(tp, w, LAM) for w in ws])
        np.testing.assert_allclose(small.dual(ws, ells, LAM), [ref.dual_value(w, e, LAM) for w, e in zip(ws, ells, strict=True)])
        means = small.averages(ws)
        np.testing.assert_allclose(means["weighted mean"][-1], np.average(ws, axis=0, weights=np.arange(21)))
        np.testing.assert_allclose(means["mean of the second half"][8], ws[5:10].mean(axis=0))
        assert all(len(mean) == 20 for mean in means.values())


def test_the_hard_example_is_the_one_of_the_package():
    outputs = small.hard_outputs(3, 4)
    assert outputs.psi.shape == (3, 5, 6)
    assert outputs.radius_sq == 1.0
    assert outputs.losses.tolist() == [[0.0, 1.0, 1.0, 1.0, 1.0]] * 3
    assert [len(np.unique(rows, axis=0)) for rows in outputs.psi] == [5, 2, 2]
