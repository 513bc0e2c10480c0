"""Block pairwise and away steps on small problems, with what every block would do at each iterate."""

from typing import NamedTuple

import numpy as np

from fwexp.experiments.theory.small import Outputs, augmented, minimum, negative_dual


class Walk(NamedTuple):
    """A run of block steps, after a random block each: values before each step, and counts by block."""

    errors: np.ndarray  # f less its minimum
    decreases: np.ndarray  # of f, in the mean over the blocks
    drops: np.ndarray  # whether a block would have a drop step
    steps_of: np.ndarray  # (n,) steps, without those in blocks without a gap
    drops_of: np.ndarray  # (n,) drop steps


def walk(outputs: Outputs, lam: float, kind: str, seed: int, steps: int, least: float = 1e-9) -> Walk:
    """Return a run with ``pairwise`` or ``away`` steps, up to an error of at most `least` of the first one."""
    n, m, _ = outputs.psi.shape
    a, rng, best = np.tile(np.eye(m)[0], (n, 1)), np.random.default_rng(seed), minimum(outputs, lam, 1e-13).value
    rows, counts = [], np.zeros((2, n), dtype=int)
    for _ in range(steps):
        error = negative_dual(outputs, lam, a) - best
        if rows and error <= least * rows[0][0]:
            break
        moves = [_move(outputs, lam, a, i, kind) for i in range(n)]
        rows.append((error, np.mean([decrease for *_, decrease in moves]), any(drop for _, drop, _ in moves)))
        i = rng.integers(n)
        a[i], drop, decrease = moves[i]
        counts[:, i] += decrease > 0, drop
    errors, decreases, drops = map(np.array, zip(*rows, strict=True))
    return Walk(errors, decreases, drops, *counts)


def _move(outputs: Outputs, lam: float, a: np.ndarray, i: int, kind: str) -> tuple[np.ndarray, bool, float]:
    """Return a_i after a step with line search, whether a labeling was dropped, and by how much f fell."""
    n, m, _ = outputs.psi.shape
    scores = augmented(outputs, np.einsum("im,imd->d", a, outputs.psi) / (lam * n))[i] / n
    s, v = scores.argmax(), np.where(a[i] > 0, scores, np.inf).argmin()
    mean, weight = a[i] @ scores, a[i, v]
    if scores[s] - mean <= 1e-15:
        return a[i].copy(), False, 0.0
    away = kind == "away" and mean - scores[v] > scores[s] - mean and weight < 1
    direction = np.zeros(m)
    if kind == "pairwise":
        direction[s], direction[v], longest = 1.0, -1.0, weight
    elif away:
        direction, longest = a[i] - np.eye(m)[v], weight / (1.0 - weight)
    else:
        direction, longest = np.eye(m)[s] - a[i], 1.0
    slope, length = direction @ scores, ((direction @ outputs.psi[i]) ** 2).sum() / (lam * n * n)
    step = min(slope / length, longest) if length else longest
    moved, drop = a[i] + step * direction, step == longest and (away or kind == "pairwise")
    if drop:
        moved[v] = 0.0
    return moved, drop, float(step * slope - 0.5 * step**2 * length)
