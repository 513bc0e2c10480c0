"""Iterations and gaps that the documentation of FrankWolfe.jl prints: they depend on no machine, and not on the dimension."""

import numpy as np
import pytest
import scipy.sparse

from fwexp.convex import LeastSquares, Simplex, minimize

# ||x||^2 on the simplex from a vertex, 100 variables and exact steps: (iteration, primal, dual gap) of "Rational arithmetic".
EXACT = [
    (10, 9.090909e-02, 1.818182e-01),
    (20, 4.761905e-02, 9.523810e-02),
    (30, 3.225806e-02, 6.451613e-02),
    (40, 2.439024e-02, 4.878049e-02),
    (50, 1.960784e-02, 3.921569e-02),
    (60, 1.639344e-02, 3.278689e-02),
    (70, 1.408451e-02, 2.816901e-02),
    (80, 1.234568e-02, 2.469136e-02),
    (90, 1.098901e-02, 2.197802e-02),
]
# The same with steps 2/(t+2) and 1e9 variables, of "Large-scale problems": the first 1000 iterations see no more than 1001 of them.
OPEN_LOOP = [
    (100, 1.326732e-02, 2.653465e-02),
    (200, 6.650080e-03, 1.330017e-02),
    (300, 4.437059e-03, 8.874123e-03),
    (500, 2.664003e-03, 5.328011e-03),
    (1000, 1.332665e-03, 2.665335e-03),
]


@pytest.mark.parametrize(("n", "step", "published"), [(100, "line_search", EXACT), (2000, "open_loop", OPEN_LOOP)])
def test_iterations_are_those_that_were_published(n, step, published):
    f = LeastSquares(np.sqrt(2.0) * scipy.sparse.eye_array(n, format="csr"), np.zeros(n))
    iterations = [t for t, _, _ in published]
    calls = [t + 1 for t in iterations]  # a row takes the call of its own certificate
    run = minimize(f, Simplex(n), method="frank_wolfe", x0=np.eye(n)[0], step=step, gap_tol=0, max_iter=calls[-1], schedule=calls)
    rows = run.trace.set_index("step").loc[iterations]
    np.testing.assert_allclose(rows["primal"], [primal for _, primal, _ in published], rtol=1e-5)
    np.testing.assert_allclose(rows["primal"] - rows["dual"], [gap for _, _, gap in published], rtol=1e-5)
