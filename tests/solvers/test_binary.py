"""The binary SVM: block-coordinate Frank-Wolfe, dual coordinate descent and prox-SDCA are one method."""

import numpy as np
import pytest

import fwexp
from fwexp.driver.iteration import Budget
from fwexp.experiments.theory import small
from fwexp.problems.protocol import to_public
from tests import reference as ref
from tests.reference.examples import multiclass, order_of
from tests.small_problems import at_start

LAMS = [1.0, 0.1, 0.01]


def data(seed):
    """Return inputs (n, p) and labels in {-1, +1}."""
    X, labels = multiclass(seed, n=10, K=2, p=3)
    return X, 2 * labels - 1


def two_classes(X, y):
    """Return the binary problem as a multiclass one; its weights are u = w_1 - w_0, regularised by lam/2 times as much."""
    return fwexp.multiclass_problem(X, (y + 1) // 2, 2)


def iterates(problem, solver, lam, order, **options):
    """Public w after every step."""
    running = at_start(solver, problem, lam, order=order, **options)
    ws = []
    for k in range(len(order) + 1):
        running.advance(Budget(len(order), k))
        ws.append(to_public(running.problem, running.point("last").w).copy())
    return np.array(ws)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("lam", LAMS)
def test_bcfw_is_dual_coordinate_descent_and_prox_sdca(lam, seed):
    X, y = data(seed)
    order = order_of(ref.tiny_binary(X, y), 20)
    w = iterates(two_classes(X, y), "bcfw", 2.0 * lam, order).reshape(len(order) + 1, -1, 2)
    u = w[..., 1] - w[..., 0]
    np.testing.assert_allclose(u, small.coordinate_descent(X, y, 1.0 / (lam * len(y)), order), atol=1e-10)
    np.testing.assert_allclose(u, small.prox_sdca(small.binary_outputs(X, y), lam, order), atol=1e-10)
    np.testing.assert_allclose(w[..., 0], -w[..., 1], atol=1e-10)
