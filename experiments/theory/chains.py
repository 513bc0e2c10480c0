"""Short step chains on small problems, as Rinaldi and Zeffiro (2023) state them, and the cache of Shah, Kolmogorov and Lampert."""

from typing import NamedTuple

import numpy as np

from fwexp.experiments.theory.small import Outputs, augmented, minimum, negative_dual

LEAST_GAP = 1e-7
"""Below it, rounding decides by how much a step lowers f, because that is about the square of the gap."""


class Steps(NamedTuple):
    """Steps of random blocks: the error before each, and its progress."""

    errors: np.ndarray  # of f, less its minimum
    shares: np.ndarray  # decrease of f over min(g, g^2/C)/2, for the gap g and curvature C of the block; nan where g is tiny


def walk(outputs: Outputs, lam: float, kind: str, seed: int, steps: int, chained: bool = True, least: float = 1e-9) -> Steps:
    """Return ``pairwise`` or ``away`` steps of random blocks, chained or single, up to an error of `least` of the first one."""
    n, m, _ = outputs.psi.shape
    a, rng, best, rows = np.tile(np.eye(m)[0], (n, 1)), np.random.default_rng(seed), minimum(outputs, lam, 1e-13).value, []
    value = negative_dual(outputs, lam, a)
    for _ in range(steps):
        if rows and value - best <= least * rows[0][0]:
            break
        i = rng.integers(n)
        moved, gap, decrease = chain(outputs, lam, a, i, kind, chained)
        curvature = max(((outputs.psi[i] - one) ** 2).sum(axis=1).max() for one in outputs.psi[i]) / (lam * n * n)
        rows.append((value - best, decrease / (gap * min(1.0, gap / curvature) / 2) if gap > LEAST_GAP else np.nan))
        a[i] = moved
        value = negative_dual(outputs, lam, a)
    return Steps(*np.array(rows).T)


def chain(outputs: Outputs, lam: float, a: np.ndarray, i: int, kind: str, chained: bool = True) -> tuple[np.ndarray, float, float]:
    """Return a_i after a chain of steps with the gradient at its first point x, or after one step; gap of block i, and decrease.

    Steps stay in the balls <g, y - x> >= ||y - x||^2 and ||y - x|| <= <g, d>/||d||, in the norm of the block's part of the dual.
    """
    n, m, _ = outputs.psi.shape
    g = augmented(outputs, np.einsum("im,imd->d", a, outputs.psi) / (lam * n))[i] / n
    H, x, y, s = outputs.psi[i] @ outputs.psi[i].T / (lam * n * n), a[i], a[i].copy(), g.argmax()
    for _ in range(2 * m):
        v = np.where(y > 0, g, np.inf).argmin()
        towards, from_v = np.eye(m)[s] - y, y - np.eye(m)[v]
        if kind == "pairwise":
            d, longest, left = np.eye(m)[s] - np.eye(m)[v], y[v], [v]
        elif y[v] < 1 and g @ from_v > g @ towards:
            d, longest, left = from_v, y[v] / (1 - y[v]), [v]
        else:
            d, longest, left = towards, 1.0, [k for k in range(m) if k != s]
        slope, square, so_far = g @ d, d @ H @ d, y - x
        if slope <= 1e-15:
            break
        step = np.inf
        if square > 0:
            balls = (
                (square, 2 * so_far @ H @ d - slope, so_far @ H @ so_far - g @ so_far),
                (square, 2 * so_far @ H @ d, so_far @ H @ so_far - slope**2 / square),
            )
            step = min(max(0.0, np.roots(ball).real.max()) if ball[1] ** 2 >= 4 * ball[0] * ball[2] else 0.0 for ball in balls)
        y = y + min(step, longest) * d
        if step <= longest:
            break
        y[left] = 0.0
        if not chained:
            break
    return y, float(g.max() - g @ x), float(g @ (y - x) - (y - x) @ H @ (y - x) / 2)


def one_hard_block(n: int, m: int, seed: int) -> Outputs:
    """Return a problem with m random wrong outputs of example 0 and a single wrong one of the others, all of them correlated."""
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((n, m + 1, 2 * m))
    psi /= np.linalg.norm(psi, axis=2, keepdims=True)
    psi[:, 1:] += psi[0, 1] / 2
    psi[1:, 2:], psi[:, 0] = psi[1:, 1:2], 0.0
    return Outputs(psi, np.tile(np.append(0.0, np.ones(m)), (n, 1)))


def calls_with_cache(outputs: Outputs, lam: float, level: float, seed: int, most: int, **options) -> float:
    """Return the oracle calls of `bcfw` with these options to a dual suboptimality, infinity if ``most`` steps do not reach it."""
    from fwexp.experiments.theory.small import as_problem, optimum
    from fwexp.solvers import SOLVERS, check_options
    from fwexp.solvers.base import Budget

    best = optimum(outputs, lam)
    running = SOLVERS["bcfw"](as_problem(outputs), lam, check_options(SOLVERS["bcfw"], options), seed, ("last",), None)
    for step in range(1, most + 1):
        running.advance(Budget(2**40, step))
        if best - running.point("last").dual <= level:
            return float(running.oracle_calls)
    return np.inf


def calls_of_passes(outputs: Outputs, lam: float, level: float, seed: int, most: int, approximate: int = 100) -> float:
    """Return the same of the strategy of Shah et al.: a pass of calls of all oracles, then passes over the stored labelings.

    These are at most ``approximate`` passes, as long as one raises the dual by more than a hundredth of what is left.
    """
    from fwexp.experiments.theory.small import optimum

    n, m, _ = outputs.psi.shape
    best, rng, a = optimum(outputs, lam), np.random.default_rng(seed), np.tile(np.eye(m)[0], (n, 1))
    known = np.tile(np.eye(m)[0] > 0, (n, 1))
    w = np.zeros(outputs.psi.shape[2])
    for exact in range(1, most + 1):
        error = np.inf
        for k in range(1 + approximate):
            for i in rng.permutation(n):
                scores = outputs.losses[i] - outputs.psi[i] @ w
                known[i, scores.argmax()] |= k == 0
                direction = np.eye(m)[np.where(known[i], scores, -np.inf).argmax()] - a[i]
                gap, change = direction @ scores, direction @ outputs.psi[i]
                length = change @ change / (lam * n)
                gamma = min(gap / length, 1.0) if length > 0 and gap > 0 else float(gap > 0)
                a[i] += gamma * direction
                w = w + gamma * change / (lam * n)
            left = best + negative_dual(outputs, lam, a)
            if left <= level:
                return float(exact * n)
            if error - left <= 0.01 * left:
                break
            error = left
    return np.inf
