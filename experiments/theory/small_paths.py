"""Exact solutions of small problems for many lam, and the oracle calls of regularisation paths on them."""

import numpy as np

from fwexp.experiments.theory.small import Outputs, as_problem, augmented, minimum

TOLERANCE = 1e-9
"""Of the conditions of an optimum, in units of the losses."""


def exact_weights(outputs: Outputs, lam: float, support: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the optimal w and its support (n, m), from linear equations; all psi must be linearly independent.

    The support of a neighbouring lam is tried first. Otherwise pairwise Frank-Wolfe finds it.
    """
    if support is not None and (w := _solve(outputs, lam, support)) is not None:
        return w, support
    for gap in (1e-6, 1e-9, 1e-12):
        a = minimum(outputs, lam, gap).x.reshape(outputs.losses.shape)
        for least in (1e-2, 1e-3, 1e-4, 1e-5, 1e-7):
            if (w := _solve(outputs, lam, a > least)) is not None:
                return w, a > least
    raise ArithmeticError(f"no support meets the conditions of an optimum at lam = {lam:g}")


def _solve(outputs: Outputs, lam: float, support: np.ndarray) -> np.ndarray | None:
    """Return the w at which the outputs of the support have equal H_i, or None if that is not the optimum."""
    n, (rows, ys) = outputs.n, np.nonzero(support)
    psi, count = outputs.psi[rows, ys], len(rows)
    equations = np.zeros((count + n, count + n))  # for the dual variables and the largest H_i
    equations[:count, :count] = psi @ psi.T / (lam * n)
    equations[np.arange(count), count + rows] = equations[count + rows, np.arange(count)] = 1.0
    right = np.concatenate([outputs.losses[rows, ys], np.ones(n)])
    found = np.linalg.lstsq(equations, right, rcond=None)[0]
    a, largest = found[:count], found[count:]
    w = a @ psi / (lam * n)
    met = np.abs(equations @ found - right).max() <= TOLERANCE and a.min() >= -TOLERANCE
    return w if met and (augmented(outputs, w).max(axis=1) - largest).max() <= TOLERANCE else None


def bends(outputs: Outputs, lams: np.ndarray, tolerance: float = 1e-6) -> int:
    """Return at how many of the given lam the exact path is not a straight line between both neighbours.

    The line is one over the positions in the list, and the tolerance is a part of the longest step between neighbours.
    """
    support, ws = None, []
    for lam in lams:
        w, support = exact_weights(outputs, lam, support)
        ws.append(w)
    steps = np.diff(ws, axis=0)
    longest = np.linalg.norm(steps, axis=1).max()
    return int((np.linalg.norm(np.diff(steps, axis=0), axis=1) > tolerance * longest).sum())


def calls_at_break_points(outputs: Outputs, eps: float, lam_min: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the oracle calls to kappa eps at each break point of a path: from the scaled dual variables, and from w = 0."""
    import fwexp
    from fwexp.tasks.lam_sequence import GridSequence, run_sequence, sequence_settings
    from fwexp.tasks.path import DEFAULT_KAPPA

    problem = as_problem(outputs)
    options = {"sampling": "gap", "step": "fw"}
    path = fwexp.regularization_path(problem, eps, lam_min=lam_min, two_sided=False, **options)
    cold = GridSequence(problem, options, 0, DEFAULT_KAPPA[True] * eps, path.lam[1:].tolist(), warm=False)
    _, rows = run_sequence(cold, sequence_settings(max_passes=1e6, seed=0), "grid")
    return np.diff(path.frame["oracle_calls"]), np.diff([0, *(row["oracle_calls"] for row in rows)])
