"""Small problems with every output written out, on which claims that need no runs are decided when they are checked.

A problem is n examples with m outputs each, the first of which is true. Solvers run on it by Python functions, without
compilation; further numbers of the theory, curvatures and optimum, are found by trying everything.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

MANY_CALLS = 2**40


class Outputs(NamedTuple):
    """A problem: psi_i(y) and L_i(y), both 0 for the first output."""

    psi: np.ndarray  # (n, m, d)
    losses: np.ndarray  # (n, m)

    @property
    def n(self) -> int:
        return len(self.psi)

    @property
    def radius_sq(self) -> float:
        """R^2, the largest ||psi_i(y)||^2."""
        return float((self.psi**2).sum(axis=2).max())

    def worst(self, w: np.ndarray) -> np.ndarray:
        """Return the output of largest H_i(w) of each example."""
        return augmented(self, w).argmax(axis=1)


def some_outputs(seed: int, n: int = 4, m: int = 3, d: int = 3) -> Outputs:
    """Return random psi and losses."""
    rng = np.random.default_rng(seed)
    psi, losses = rng.standard_normal((n, m, d)), rng.uniform(0.2, 1.0, (n, m))
    psi[:, 0], losses[:, 0] = 0.0, 0.0
    return Outputs(psi, losses)


def mirrored(psi: np.ndarray) -> Outputs:
    """Return the problem whose example i has the outputs 0, psi_i and -psi_i."""
    return Outputs(np.stack([0.0 * psi, psi, -psi], axis=1), np.tile([0.0, 1.0, 1.0], (len(psi), 1)))


def binary_outputs(X: np.ndarray, y: np.ndarray) -> Outputs:
    """Return the binary SVM on inputs (n, p) and labels in {-1, 1}: one wrong output each, with psi_i = y_i x_i."""
    psi = y[:, None] * X
    return Outputs(np.stack([0.0 * psi, psi], axis=1), np.tile([0.0, 1.0], (len(y), 1)))


def hard_outputs(n: int, m: int) -> Outputs:
    """Return `fwexp.tasks.improvement.one_hard_example`, with the wrong output of each easy example repeated m times."""
    from fwexp.tasks.improvement import one_hard_example

    problem = one_hard_example(n, m)
    ends = problem.part_ptr
    rows = np.minimum(ends[:-1, None] + np.arange(m + 1), ends[1:, None] - 1)
    return Outputs(problem.psi[rows], problem.losses[rows])


def as_problem(outputs: Outputs):
    """Return the problem as Python functions, on which solvers run without compilation."""
    import fwexp

    psi, losses = outputs
    return fwexp.CallbackProblem(
        [0] * outputs.n,
        features=lambda i, y: -psi[i, y],
        loss=lambda i, y: losses[i, y],
        max_oracle=lambda i, w: int((losses[i] - psi[i] @ w).argmax()),
    )


def iterates(outputs: Outputs, solver: str, lam: float, steps: int, seed: int = 0, order=None, watch=None, **options):
    """Return w and b'a after 0, 1, ... steps of a solver of the package; ``watch`` is called with the solver at the end."""
    from fwexp.solvers import SOLVERS, check_options
    from fwexp.solvers.base import Budget

    cls = SOLVERS[solver]
    order = None if order is None else np.asarray(order, dtype=np.int64)
    running = cls(as_problem(outputs), lam, check_options(cls, options), seed, ("last",), order)
    ws, ells = [], []
    for step in range(steps + 1):
        running.advance(Budget(MANY_CALLS, step))
        point = running.point("last")
        ws.append(np.array(point.w))
        ells.append(point.dual + 0.5 * lam * float(point.w @ point.w))
    if watch is not None:
        watch(running)
    return np.array(ws), np.array(ells)


def sizes_of_cached_run(outputs: Outputs, lam: float, passes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which steps of BCPFW with gap sampling the cache answered, and how many more labelings were stored after each."""
    from fwexp.solvers import SOLVERS, check_options
    from fwexp.solvers.base import Budget

    options = {"step": "pairwise", "sampling": "gap", "cache": {"F": 0.25, "nu": 0.01}}
    running = SOLVERS["bcfw"](as_problem(outputs), lam, check_options(SOLVERS["bcfw"], options), seed, ("last",), None)
    counts = []
    for step in range(passes * outputs.n + 1):
        running.advance(Budget(MANY_CALLS, step))
        counts.append((running.cache_hits, int(running.state.iterate.dual.count.sum())))
    hits, stored = np.diff(counts, axis=0).T
    return hits > 0, stored


def subgradients(outputs: Outputs, lam: float, steps: Sequence[float], start=0.0) -> np.ndarray:
    """Return the iterates of the subgradient method on P, with the given steps."""
    ws = [start + np.zeros(outputs.psi.shape[2])]
    for step in steps:
        w = ws[-1]
        ws.append(w - step * (lam * w - outputs.psi[np.arange(outputs.n), outputs.worst(w)].mean(axis=0)))
    return np.array(ws)


def stochastic_subgradients(outputs: Outputs, lam: float, steps: Sequence[float], seeds: int) -> np.ndarray:
    """Return the last iterates of the stochastic subgradient method on P, with the given steps, one for each seed."""
    ws = np.zeros((seeds, outputs.psi.shape[2]))
    orders = np.array([np.random.default_rng(seed).integers(outputs.n, size=len(steps)) for seed in range(seeds)])
    for i, step in zip(orders.T, steps, strict=True):
        y = (outputs.losses[i] - np.einsum("kmd,kd->km", outputs.psi[i], ws)).argmax(axis=1)
        ws = ws - step * (lam * ws - outputs.psi[i, y])
    return ws


def coordinate_descent(X: np.ndarray, y: np.ndarray, C: float, order: Sequence[int]) -> np.ndarray:
    """Return the iterates of dual coordinate descent on a binary SVM (Hsieh et al. 2008, algorithm 1)."""
    a, ws = np.zeros(len(y)), [np.zeros(X.shape[1])]
    for i in order:
        gradient = y[i] * (ws[-1] @ X[i]) - 1.0
        new = np.clip(a[i] - gradient / (X[i] @ X[i]), 0.0, C)
        ws.append(ws[-1] + (new - a[i]) * y[i] * X[i])
        a[i] = new
    return np.array(ws)


def prox_sdca(outputs: Outputs, lam: float, order: Sequence[int]) -> np.ndarray:
    """Return the iterates of prox-SDCA (Shalev-Shwartz & Zhang 2012, figure 1, Option II) for the hinge of several outputs.

    With phi_i(t) = max_y L_i(y) - t_y and its conjugate phi_i*(-a) = -b_i'a on the simplex, -u is a subgradient of phi_i, and a_i
    moves by s (u - a_i), s = lam n (phi_i + phi_i*(-a_i) + <w, psi_i a_i>)/||psi_i (u - a_i)||^2, at most 1.
    """
    n, m, _ = outputs.psi.shape
    a, ws = np.tile(np.eye(m)[0], (n, 1)), [np.zeros(outputs.psi.shape[2])]
    for i in order:
        w, psi, L = ws[-1], outputs.psi[i], outputs.losses[i]
        values = L - psi @ w
        u = np.eye(m)[values.argmax()]
        z = (u - a[i]) @ psi
        length = z @ z
        s = min(lam * n * (values.max() - L @ a[i] + w @ (a[i] @ psi)) / length, 1.0) if length else 0.0
        a[i] += s * (u - a[i])
        ws.append(w + s * z / (lam * n))
    return np.array(ws)


def cutting_plane(outputs: Outputs, lam: float, most: int, eps: float, corners: Sequence[np.ndarray] | Callable | None = None):
    """Return weights and minima of the 1-slack cutting plane after 0, 1, ... planes, and the outputs that make each plane.

    It ends at a violation of eps, or takes the planes of the given outputs, which may be a function of the step, w and xi. The
    quadratic program is solved over w and xi >= 0, by scipy and not by the package's solver.
    """
    d, everyone = outputs.psi.shape[2], np.arange(outputs.n)
    x, planes, chosen = np.zeros(d + 1), [], []
    ws, values = [x[:d]], [0.0]
    for step in range(len(corners) if isinstance(corners, Sequence) else most):
        if callable(corners):
            worst = corners(step, x[:d], x[d])
        else:
            worst = outputs.worst(ws[-1]) if corners is None else corners[step]
        plane = outputs.psi[everyone, worst].mean(axis=0), outputs.losses[everyone, worst].mean()
        if corners is None and plane[1] - plane[0] @ ws[-1] - x[d] <= eps:
            break
        planes.append(plane)
        chosen.append(worst)
        G, h = np.array([[*psi, 1.0] for psi, _ in planes] + [[0.0] * d + [1.0]]), np.array([loss for _, loss in planes] + [0.0])
        starts = x, np.append(0.0 * x[:d], h.max())  # from the first alone it may end too early
        found = min((_smallest_slack(lam, G, h, start) for start in starts), key=lambda found: found.fun)
        x = found.x
        ws.append(x[:d])
        values.append(found.fun)
    return np.array(ws), np.array(values), chosen


def _smallest_slack(lam: float, G: np.ndarray, h: np.ndarray, start: np.ndarray):
    """Return scipy's minimum of lam/2 ||w||^2 + xi under G (w, xi) >= h, if it meets that."""
    from scipy.optimize import minimize

    d = len(start) - 1
    found = minimize(
        lambda x: 0.5 * lam * x[:d] @ x[:d] + x[d],
        start,
        jac=lambda x: np.append(lam * x[:d], 1.0),
        constraints={"type": "ineq", "fun": lambda x: G @ x - h, "jac": lambda x: G},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    found.fun = found.fun if (G @ found.x - h).min() >= -1e-9 else np.inf
    return found


def gap_sampling(outputs: Outputs, lam: float, steps: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return D after 1, 2, ... steps of BCFW that draws blocks in proportion to their exact gaps, and the gaps before each step."""
    n, m, _ = outputs.psi.shape
    rng, a, values, known = np.random.default_rng(seed), np.tile(np.eye(m)[0], (n, 1)), [], []
    for _ in range(steps):
        w = np.einsum("im,imd->d", a, outputs.psi) / (lam * n)
        scores = augmented(outputs, w) / n
        gaps = np.maximum(scores.max(axis=1) - (a * scores).sum(axis=1), 0.0)
        known.append(gaps)
        i = rng.choice(n, p=gaps / gaps.sum()) if gaps.sum() > 0 else 0
        direction = np.eye(m)[scores[i].argmax()] - a[i]
        length = ((direction @ outputs.psi[i]) ** 2).sum() / (lam * n * n)
        a[i] += (min(gaps[i] / length, 1.0) if length else float(gaps[i] > 0)) * direction
        values.append(-negative_dual(outputs, lam, a))
    return np.array(values), np.array(known)


def fenchel(Q: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return <x, y> + max_s <-y, s> on the box [-1, 1]^d, and f(x) + f*(y) + max_s <-y, s>, for f = x'Qx/2 - b'x."""
    support = np.abs(y).sum()
    conjugate = 0.5 * (y + b) @ np.linalg.solve(Q, y + b)
    return float(x @ y + support), float(0.5 * x @ Q @ x - b @ x + conjugate + support)


def digits_radius_sq() -> float:
    """Return the largest bound on ||psi_i(y)||^2 of the embedded digits."""
    import fwexp
    from fwexp.problems.protocol import radii_sq

    train, _ = fwexp.load_dataset("digits")
    return float(radii_sq(train).max())


def degraded_batch(outputs: Outputs, lam: float, steps: int, nu: float, error: float) -> np.ndarray:
    """Return -D after 1, 2, ... steps of batch Frank-Wolfe with line search and the worst corners that errors allow.

    Each block may miss a part 1 - nu of its gap, and in step k an n-th of the additive error 1/(k + 2) times ``error``.
    """
    n, m, _ = outputs.psi.shape
    a, found = np.tile(np.eye(m)[0], (n, 1)), []
    for k in range(steps):
        w = np.einsum("im,imd->d", a, outputs.psi) / (lam * n)
        values = augmented(outputs, w) / n
        gaps = values - (a * values).sum(axis=1, keepdims=True)
        allowed = gaps >= nu * gaps.max(axis=1, keepdims=True) - error / (k + 2) / n - 1e-15
        direction = np.eye(m)[np.where(allowed, gaps, np.inf).argmin(axis=1)] - a
        slope = (direction * values).sum()
        length = lam * ((np.einsum("im,imd->d", direction, outputs.psi) / (lam * n)) ** 2).sum()
        a = a + (np.clip(slope / length, 0.0, 1.0) if length else float(slope > 0)) * direction
        found.append(negative_dual(outputs, lam, a))
    return np.array(found)


def degraded_planes(outputs: Outputs, lam: float, planes: int, nu: float, error: float) -> np.ndarray:
    """Return -D after 1, 2, ... planes of a 1-slack cutting plane with the worst planes that errors allow, as `degraded_batch`."""

    def worst(step: int, w: np.ndarray, slack: float) -> np.ndarray:
        values = augmented(outputs, w)
        highest = values.max(axis=1, keepdims=True)
        missed = (1.0 - nu) * max(highest.mean() - slack, 0.0) + error / (step + 2)
        return np.where(values >= highest - missed - 1e-12, values, np.inf).argmin(axis=1)

    return -cutting_plane(outputs, lam, planes, -np.inf, worst)[1][1:]


def block_curvatures(outputs: Outputs, lam: float) -> np.ndarray:
    """Return C_f^(i), the largest ||psi_i(y) - psi_i(y')||^2/(lam n^2), because the dual is quadratic."""
    differences = outputs.psi[:, :, None] - outputs.psi[:, None]
    return (differences**2).sum(axis=3).max(axis=(1, 2)) / (lam * outputs.n**2)


def curvature(outputs: Outputs, lam: float) -> float:
    """Return C_f: the largest such value for sums over examples, over all pairs of corners."""
    corners = np.array([sum(rows) for rows in product(*outputs.psi)])
    return float(((corners[:, None] - corners[None]) ** 2).sum(axis=2).max() / (lam * outputs.n**2))


def hessian(outputs: Outputs, lam: float) -> np.ndarray:
    """Return lam A'A, that of -D."""
    n, m, d = outputs.psi.shape
    A = outputs.psi.reshape(n * m, d).T / (lam * n)
    return lam * A.T @ A


def minimum(outputs: Outputs, lam: float, gap: float):
    """Return the minimum of -D = lam/2 ||A a||^2 - b'a to a gap, by pairwise Frank-Wolfe."""
    from fwexp.convex import Product, Quadratic, Simplex, minimize

    n, m, _ = outputs.psi.shape
    negative = Quadratic(hessian(outputs, lam), -outputs.losses.ravel() / n)
    return minimize(negative, Product([Simplex(m)] * n), method="pairwise", gap_tol=gap, max_iter=100_000, schedule=10)


def block_minimum(outputs: Outputs, lam: float, tolerance: float) -> np.ndarray:
    """Return a dual point (n, m) at which the gap of each block is small, by pairwise steps in one block after the other."""
    n, m, _ = outputs.psi.shape
    a, left = np.tile(np.eye(m)[0], (n, 1)), True
    while left:
        left = False
        for i, psi in enumerate(outputs.psi):
            while True:
                scores = augmented(outputs, np.einsum("im,imd->d", a, outputs.psi) / (lam * n))[i] / n
                s, v = scores.argmax(), np.where(a[i] > 0, scores, np.inf).argmin()
                if scores[s] - a[i] @ scores <= tolerance:
                    break
                length = ((psi[s] - psi[v]) ** 2).sum() / (lam * n * n)
                step = min((scores[s] - scores[v]) / length, a[i, v]) if length else a[i, v]
                a[i, s], a[i, v], left = a[i, s] + step, a[i, v] - step, True
    return a


def optimum(outputs: Outputs, lam: float) -> float:
    """Return D* to 1e-9."""
    return -minimum(outputs, lam, 1e-9).value


def primal(outputs: Outputs, w: np.ndarray, lam: float) -> np.ndarray:
    """Return P of every row of w."""
    hinges = (outputs.losses - np.einsum("imd,kd->kim", outputs.psi, w)).max(axis=2)
    return hinges.mean(axis=1) + 0.5 * lam * (w**2).sum(axis=1)


def dual(w: np.ndarray, ell: np.ndarray, lam: float) -> np.ndarray:
    """Return D of points with A a = w and b'a = ell."""
    return ell - 0.5 * lam * (w**2).sum(axis=-1)


def negative_dual(outputs: Outputs, lam: float, a: np.ndarray) -> float:
    """Return f(a) = lam/2 ||A a||^2 - b'a."""
    w = np.einsum("im,imd->d", a, outputs.psi) / (lam * outputs.n)
    return float(0.5 * lam * w @ w - (a * outputs.losses).sum() / outputs.n)


def augmented(outputs: Outputs, w: np.ndarray) -> np.ndarray:
    """Return H_i(y; w) = L_i(y) - <w, psi_i(y)> of every output, (n, m)."""
    return outputs.losses - outputs.psi @ w


def extragradient(F: np.ndarray, b: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return s_t and the mean of u_t of dual extragradient with step 0.1 on the box [-1, 1]^d (review, algorithm 6)."""
    s, points = np.zeros(len(b)), []
    for _ in range(steps):
        v = np.clip(0.1 * s, -1, 1)
        points.append(np.clip(v - 0.1 * (F @ v - b), -1, 1))
        s = s - (F @ points[-1] - b)
    return s, np.mean(points, axis=0)


def game_gap(M: np.ndarray, sign: int, steps: int) -> float:
    """Return the gap of min_x max_y x'My on simplices after saddle-point Frank-Wolfe with steps 2/(t+2), r = sign (My, -M'x)."""
    x, y = np.eye(len(M))[0], np.eye(M.shape[1])[0]
    for t in range(steps):
        corners = np.eye(len(M))[(sign * M @ y).argmin()], np.eye(M.shape[1])[(-sign * M.T @ x).argmin()]
        x, y = x + 2 / (t + 2) * (corners[0] - x), y + 2 / (t + 2) * (corners[1] - y)
    return float((M.T @ x).max() - (M @ y).min())


def gaps(outputs: Outputs, lam: float, a: np.ndarray, log_loss: bool = False) -> tuple[float, float]:
    """Return the linearisation gap max_s <a - s, grad f(a)> and the Lagrangian gap P(A a) + f(a) at a dual point a (n, m).

    With the log-loss P has (1/n) sum_i log sum_y exp(-<w, psi_i(y)>), and f the negative entropies of a_i over n for -b'a.
    """
    n = outputs.n
    w = np.einsum("im,imd->d", a, outputs.psi) / (lam * n)
    margins = outputs.psi @ w
    if log_loss:
        gradient, separate = (margins + 1.0 + np.log(a)) / n, (a * np.log(a)).sum() / n
        P = np.log(np.exp(-margins).sum(axis=1)).mean() + 0.5 * lam * w @ w
    else:
        gradient, separate = (margins - outputs.losses) / n, -(a * outputs.losses).sum() / n
        P = primal(outputs, w[None], lam).item()
    return float((a * gradient).sum() - gradient.min(axis=1).sum()), float(P + 0.5 * lam * w @ w + separate)


def worst_on_path(outputs: Outputs, eps: float, lam_min: float, count: int, seed: int) -> float:
    """Return the largest suboptimality on a regularisation path at random lam, from lam_min to twice lam_inf."""
    import fwexp

    path = fwexp.regularization_path(as_problem(outputs), eps, lam_min=lam_min, two_sided=False)
    lams = np.exp(np.random.default_rng(seed).uniform(np.log(lam_min), np.log(2 * path.lam[0]), count))
    return max(primal(outputs, path.w_at(lam)[None], lam).item() - optimum(outputs, lam) for lam in lams)


def averages(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return means of the iterates up to step K = 1, 2, ...: with weights k, and of the second half."""
    k = np.arange(1.0, len(values)).reshape(-1, *[1] * (values.ndim - 1))
    weighted = np.cumsum(k * values[1:], axis=0) / np.cumsum(k, axis=0)
    halves = np.array([values[(K + 1) // 2 : K + 1].mean(axis=0) for K in range(1, len(values))])
    return {"weighted mean": weighted, "mean of the second half": halves}
