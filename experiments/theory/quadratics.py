"""Small quadratics on polytopes and bilinear games, with all constants of their theory, for claims of the review."""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np


class OnHull(NamedTuple):
    """1/2 x'Qx + b'x on the convex hull of corners."""

    Q: np.ndarray
    b: np.ndarray
    corners: np.ndarray

    def value(self, x: np.ndarray) -> float:
        return float(0.5 * x @ self.Q @ x + self.b @ x)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self.Q @ x + self.b


def on_hull(seed: int, d: int = 3, corners: int = 6) -> OnHull:
    """Return a random quadratic, with eigenvalues below 1, on the hull of random points."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d, d))
    Q = root @ root.T
    return OnHull(0.5 * Q / np.linalg.norm(Q, 2), rng.standard_normal(d), rng.standard_normal((corners, d)))


def squared_norm(d: int) -> OnHull:
    """Return ||x||^2 on the simplex."""
    return OnHull(2.0 * np.eye(d), np.zeros(d), np.eye(d))


def curvature(Q: np.ndarray, corners: np.ndarray) -> float:
    """Return C_f of a quadratic on the hull of corners: the largest (s - v)'Q(s - v), because it is convex in both."""
    images = corners @ Q @ corners.T
    own = np.diag(images)
    return float((own[:, None] + own[None] - 2.0 * images).max())


def lipschitz(Q: np.ndarray, p: int) -> float:
    """Return the Lipschitz constant of the gradient from the p-norm, 1 or 2, to its dual norm."""
    return float(np.linalg.norm(Q, 2) if p == 2 else np.abs(Q).max())


def diameter(corners: np.ndarray, p: int) -> float:
    """Return the longest distance of two corners in the p-norm."""
    return float(max(np.linalg.norm(corners - corner, p, axis=1).max() for corner in corners))


def away_curvature(f: OnHull, gamma: float, away: bool = False) -> float:
    """Return the largest 2/gamma^2 (f(y) - f(x) - gamma <f'(x), s - v>) over corners x, s and v.

    y is x + gamma (s - x), as the review prints it, or x + gamma (s - v).
    """
    values = (
        f.value(x + gamma * (s - (v if away else x))) - f.value(x) - gamma * f.gradient(x) @ (s - v)
        for x, s, v in product(f.corners, repeat=3)
    )
    return 2.0 / gamma**2 * max(values)


def gaps_with_errors(f: OnHull, steps: int, error: Callable[[int], float]) -> np.ndarray:
    """Return the gaps of Frank-Wolfe with steps 2/(t+2) that goes to the worst corner that an error ``error(t)`` allows."""
    x, gaps = f.corners[0], []
    for t in range(steps):
        g = f.gradient(x)
        scores = f.corners @ g
        gaps.append(g @ x - scores.min())
        s = f.corners[np.where(scores <= scores.min() + error(t), scores, -np.inf).argmax()]
        x = x + 2.0 / (t + 2.0) * (s - x)
    return np.array(gaps)


def product_corners(n: int, m: int) -> np.ndarray:
    """Return all corners of a product of n simplices of m coordinates."""
    return np.array([np.concatenate(pieces) for pieces in product(np.eye(m), repeat=n)])


class Game(NamedTuple):
    """w'Mz + p'w - q'z, to be minimised over w and maximised over z."""

    M: np.ndarray
    p: np.ndarray
    q: np.ndarray

    @property
    def L(self) -> float:
        """The Lipschitz constant of the gradients, the spectral norm of M."""
        return float(np.linalg.norm(self.M, 2))

    def gradients(self, w: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients that w and z go against: M z + p and q - M'w."""
        return self.M @ z + self.p, self.q - self.M.T @ w

    def saddle(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pair at which both gradients vanish."""
        return np.linalg.solve(self.M.T, self.q), -np.linalg.solve(self.M, self.p)


def some_game(seed: int, d: int = 3) -> Game:
    """Return a random game."""
    rng = np.random.default_rng(seed)
    return Game(rng.standard_normal((d, d)), rng.standard_normal(d), rng.standard_normal(d))


def restricted_gap(game: Game, w, z, centre_w, centre_z, radius_w: float, radius_z: float) -> float:
    """Return max_z' L(w, z') - min_w' L(w', z) over two balls."""
    of_w, of_z = game.gradients(w, z)
    highest = game.p @ w - of_z @ centre_z + radius_z * np.linalg.norm(of_z)
    lowest = of_w @ centre_w - radius_w * np.linalg.norm(of_w) - game.q @ z
    return float(highest - lowest)


def gap_of_operator(game: Game, w, z, centre_w, centre_z, radius: float) -> float:
    """Return f_D(u) = max_v <F u - a, u - v> over one ball around the centre, u = (w, z)."""
    g = np.concatenate(game.gradients(w, z))
    return float(g @ np.concatenate([w - centre_w, z - centre_z]) + radius * np.linalg.norm(g))


def extragradient_on_balls(game: Game, radius: float, steps: int) -> np.ndarray:
    """Return the gaps of the mean iterates of dual extragradient (review, algorithm 6) with step 1/L on two balls around 0."""
    d = len(game.p)
    s, total, gaps = np.zeros(2 * d), np.zeros(2 * d), []

    def project(u):
        return np.concatenate([part * min(1.0, radius / max(np.linalg.norm(part), 1e-300)) for part in (u[:d], u[d:])])

    def operator(u):
        return np.concatenate(game.gradients(u[:d], u[d:]))

    for t in range(steps):
        v = project(s / game.L)
        u = project(v - operator(v) / game.L)
        s = s - operator(u)
        total = total + u
        mean = total / (t + 1)
        gaps.append(restricted_gap(game, mean[:d], mean[d:], np.zeros(d), np.zeros(d), radius, radius))
    return np.array(gaps)


def some_strong_game(seed: int, coupling: float = 0.1, apart: float = 0.05) -> Game:
    """Return a random game for `saddle_gaps`, with three corners a side and a matrix of this norm.

    Its saddle point is inside the edges of the first two corners, and the gradients there are larger at the third one.
    """
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((3, 3))
    M = coupling * M / np.linalg.norm(M, 2)
    x, y = np.zeros(3), np.zeros(3)
    x[:2], y[:2] = rng.dirichlet((5.0, 5.0), 2)
    third = apart * np.eye(3)[2]
    return Game(M, third - x - M @ y, third - y + M.T @ x)


def saddle_gaps(game: Game, steps: int, away: bool) -> np.ndarray:
    """Return the lowest gap so far of saddle-point Frank-Wolfe, with or without away steps, on (||x||^2 - ||y||^2)/2 + a game. Both
    sets are simplices, z = (x, y). The step is min(1, nu g/(2C)), as in Gidel et al. (2017), theorem 1: C = (1 + L) D^2, D^2 = 4,
    and nu = 1/2 - sqrt(2) L sqrt(2)/width, with the pyramidal width of a simplex of d corners, d odd, 2/sqrt(d - 1/d).
    """
    d = len(game.p)
    nu = 0.5 - 2.0 * game.L * np.sqrt(d - 1.0 / d) / 2.0
    C, z, gaps = 4.0 * (1.0 + game.L), np.eye(d)[[d - 1, d - 1]], []
    for _ in range(steps):
        of_x, of_y = game.gradients(*z)
        r = np.stack([z[0] + of_x, z[1] + of_y])
        towards = np.eye(d)[r.argmin(axis=1)] - z
        gap = -(r * towards).sum()
        gaps.append(gap)
        atoms = np.where(z > 0, r, -np.inf).argmax(axis=1)
        from_atoms = z - np.eye(d)[atoms]
        if away and -(r * from_atoms).sum() > gap:
            masses = z[[0, 1], atoms]
            longest = min(mass / (1.0 - mass) if mass < 1.0 else np.inf for mass in masses)
            step = min(longest, nu * -(r * from_atoms).sum() / (2.0 * C))
            z = z + step * from_atoms
            for side, mass in enumerate(masses):
                if step == mass / (1.0 - mass) if mass < 1.0 else False:
                    z[side, atoms[side]] = 0.0
        else:
            z = z + min(1.0, nu * gap / (2.0 * C)) * towards
    return np.minimum.accumulate(gaps)


class AwayConstants(NamedTuple):
    """Of least squares on the l1 ball: C_f^A, and bounds on the geometric strong convexity mu_f^A from below and above."""

    curvature: float
    least: float
    most: float


def away_constants(A: np.ndarray, b: np.ndarray, radius: float, optimum: np.ndarray, samples: int = 300) -> AwayConstants:
    """Return the constants of the rate of away steps for 1/2 ||A x - b||^2 on the l1 ball.

    From below mu_f^A is the smallest eigenvalue times the square of the pyramidal width, radius/sqrt(d - 1). From above it is
    the smallest of the values that its definition has for some pairs: x on random faces, where its atoms are unique, and x* the
    optimum or a corner.
    """
    d = A.shape[1]
    Q, rng = A.T @ A, np.random.default_rng(0)
    corners = radius * np.concatenate([np.eye(d), -np.eye(d)])
    found = []
    for _ in range(samples):
        support = rng.choice(d, rng.integers(1, d // 2), replace=False)
        atoms = radius * rng.choice([-1.0, 1.0], len(support))
        x = np.zeros(d)
        x[support] = rng.dirichlet(np.ones(len(support))) * atoms
        g = A.T @ (A @ x - b)
        pairwise = radius * np.abs(g).max() + (atoms * g[support]).max()  # <-g, s - v>
        targets = np.vstack([optimum, corners[rng.choice(2 * d, 5)], corners[(corners @ g).argmin()]]) - x
        slopes = targets @ g
        lengths = ((targets @ A.T) ** 2).sum(axis=1)
        found += list((lengths * pairwise**2 / slopes**2)[slopes < -1e-12])
    least = float(np.linalg.eigvalsh(Q)[0]) * radius**2 / (d - 1)
    return AwayConstants(curvature(Q, corners), least, float(min(found)))
