"""Certificates at extreme scales, against objectives in extended precision: ``python -m tools.certificates --cases 50000``.

A problem has chains or classes, an objective, lam and a temperature, all from its seed; each solver on it is a case. P at any
weights, in extended precision, bounds the minimum from above. So no dual of a trace may exceed the smallest P at the weights of all
solvers, and a certified gap must be at least P at the returned weights less that. If the objective has an
entropy and no example more than `FEW` labelings, Newton's method on the sums over all of them adds weights near the minimum.
``--shard 0/2`` takes every second problem.
"""

import argparse
import collections
import itertools
import time
import warnings
from typing import NamedTuple

import numpy as np

import fwexp
from fwexp.errors import CertificateError

Wide = np.longdouble
EPS = np.finfo(Wide).eps
SOLVERS = {
    "log": ("lbfgs", "block_entropic", "sag", "online_eg"),
    "hinge": ("n_slack", "bcfw", "fw", "online_eg", "one_slack", "bmrm", "fcfw", "excessive_gap", "extragradient", "auto"),
}
OPTIONS = {
    "block_entropic": ({}, {"sampling": "perm"}, {"accelerate": True}, {"refresh": 2.0}),
    "bcfw": ({}, {"step": "corrective"}, {"step": "pairwise"}, {"accelerate": True}, {"cache": True}, {"sampling": "gap"}),
    "sag": ({}, {"sampling": "uniform"}),
}
FEW, MOST_WEIGHTS = 1000, 60  # labelings of an example, and weights, up to which the minimum is computed
FACTORS = (0.5, 0.9, 0.99, 1.01, 1.1, 2.0)  # of weights, for other points


class Instance(NamedTuple):
    """A problem, as arrays, and the settings that all solvers share."""

    family: str
    X: list  # of (T_i, p) arrays; T_i = 1 for classes
    y: list
    K: int
    settings: dict

    @property
    def problem(self):
        """The problem of fwexp."""
        if self.family == "chains":
            return fwexp.chain_problem(self.X, self.y, self.K)
        return fwexp.multiclass_problem(np.concatenate(self.X), np.concatenate(self.y), self.K)


def power(rng, least: float, most: float) -> float:
    """Draw a power of ten."""
    return float(10.0 ** rng.uniform(least, most))


def instance_of(seed: int, kind: str = "log") -> Instance:
    """Return the problem of a seed; ``kind`` is log, for both objectives with an entropy, or hinge."""
    rng = np.random.default_rng([seed, len(kind)])

    def size(most):
        return int(np.exp(rng.uniform(0.0, np.log(most + 1.0))))

    family = str(rng.choice(["chains", "classes"]))
    n, p, K = int(rng.integers(2, 7)), int(rng.integers(1, 5)), max(2, size(50))
    lengths = [size(50) if family == "chains" else 1 for _ in range(n)]
    scale = power(rng, -10, 10) * (10.0 ** rng.uniform(-3, 3, p) if rng.random() < 0.3 else np.ones(p))
    X = [rng.normal(size=(length, p)) * scale for length in lengths]
    y = [rng.integers(0, K, length) for length in lengths]
    settings = {"lam": power(rng, -12, 6)}
    if kind == "log":
        settings |= {"objective": str(rng.choice(["log", "softmax_margin"])), "temperature": power(rng, -1, 1)}
    return Instance(family, X, y, K, settings)


def run_settings(seed: int, solver: str) -> dict:
    """Return the settings of a solver on the problem of a seed."""
    rng, options = np.random.default_rng([seed, *map(ord, solver)]), OPTIONS.get(solver, ({},))
    return {
        "gap_tol": 0 if rng.random() < 0.5 else power(rng, -16, -1),
        "max_passes": (passes := int(rng.choice([3, 20, 60]))),
        "schedule": passes if rng.random() < 0.8 else "default",
        "seed": int(rng.integers(1000)),
        **options[rng.integers(len(options))],
    }


def primal(instance: Instance, w: np.ndarray) -> tuple[Wide, Wide]:
    """Return P(w) in extended precision, and a bound of its rounding error."""
    p, K = instance.X[0].shape[1], instance.K
    w = np.asarray(w, dtype=Wide)
    W, rest = w[: p * K].reshape(p, K), w[p * K :]
    first, last, transitions = (
        (rest[:K], rest[K : 2 * K], rest[2 * K :].reshape(K, K)) if len(rest) else (0, 0, np.zeros((K, K), Wide))
    )
    objective, tau = instance.settings.get("objective", "hinge"), Wide(instance.settings.get("temperature", 1.0))
    total = size = Wide(0.0)
    for x, y in zip(instance.X, instance.y, strict=True):
        T = len(y)
        unary, large = x.astype(Wide) @ W, abs(x) @ abs(W)
        unary[0] += first
        unary[-1] += last
        size += large.max(axis=1).sum() + 2.0 * abs(rest).max(initial=0.0) + T * abs(transitions).max()
        unary -= unary[range(T), y][:, None]
        if objective != "log":
            unary += np.where(np.arange(K) == y[:, None], 0.0, 1.0 / T)
        message = unary[0]
        for t in range(1, T):
            message = _soft_max(message[:, None] + (transitions - transitions[y[t - 1], y[t]]), tau, objective) + unary[t]
        total += _soft_max(message[:, None], tau, objective)[0]
        size += tau * T * np.log(Wide(K)) + 1.0
    n, norm = len(instance.y), w @ w
    value = Wide(instance.settings["lam"]) / 2 * norm + total / n
    return value, EPS * ((p + K + max(map(len, instance.y)) + 8) * size / n + len(w) * abs(value))


def _soft_max(scores: np.ndarray, tau: Wide, objective: str) -> np.ndarray:
    """Return tau log sum exp(./tau) of the columns, or their maximum."""
    top = scores.max(axis=0)
    return top if objective == "hinge" else top + tau * np.log(np.exp((scores - top) / tau).sum(axis=0))


def differences(instance: Instance) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return psi(y) - psi(y_i) of all labelings y of each example i, and their losses, in extended precision."""
    found, K = [], instance.K
    for x, y in zip(instance.X, instance.y, strict=True):
        labelings = np.array(list(itertools.product(range(K), repeat=len(y))))
        is_label = (labelings[:, :, None] == np.arange(K)).astype(Wide)  # (labelings, T, K)
        parts = [np.einsum("tp,ytk->ypk", x.astype(Wide), is_label)]
        if instance.family == "chains":
            parts += [is_label[:, 0], is_label[:, -1], np.einsum("ytj,ytk->yjk", is_label[:, :-1], is_label[:, 1:])]
        psi = np.concatenate([part.reshape(len(labelings), -1) for part in parts], axis=1)
        truth = (labelings == y).all(axis=1)
        wrong = (labelings != y).mean(axis=1, dtype=Wide) if instance.settings["objective"] != "log" else np.zeros(len(psi), Wide)
        found.append((psi - psi[truth], wrong))
    return found


def minimiser(instance: Instance, w: np.ndarray) -> tuple[np.ndarray, Wide]:
    """Return weights near the minimum, by Newton's method from w, and a lower bound on the minimum from their dual."""
    examples, n = differences(instance), len(instance.y)
    lam, tau = Wide(instance.settings["lam"]), Wide(instance.settings["temperature"])

    def at(w):
        scores = [psi @ w + loss for psi, loss in examples]
        log_z = [_soft_max(score[:, None], tau, "log")[0] for score in scores]
        p = [np.exp((score - z) / tau) for score, z in zip(scores, log_z, strict=True)]
        return lam / 2 * (w @ w) + sum(log_z) / n, p, scores, log_z

    def slope(w, p):
        return lam * w + sum(q @ psi for q, (psi, _) in zip(p, examples, strict=True)) / n

    def is_nearer(step):  # the value is all rounding where the slope still falls, and the bound divides that by lam
        there = at(w - step)
        return there[0] < value or np.abs(slope(w - step, there[1])).max() < np.abs(slope(w, p)).max() / 2

    w = np.asarray(w, dtype=Wide)
    value, p, scores, log_z = at(w)
    for _ in range(200):
        means = [q @ psi for q, (psi, _) in zip(p, examples, strict=True)]
        hessian = lam * np.eye(len(w), dtype=Wide)
        for q, mean, (psi, _) in zip(p, means, examples, strict=True):
            hessian += ((psi - mean).T * q) @ (psi - mean) / (n * tau)
        move, length = _solved(hessian, slope(w, p)), Wide(1.0)
        while length > EPS and not is_nearer(length * move):
            length /= 4
        if length <= EPS:
            break
        w = w - length * move
        value, p, scores, log_z = at(w)
    image = sum(q @ psi for q, (psi, _) in zip(p, examples, strict=True)) / (n * lam)
    entropies = [q @ (z - score) for q, z, score in zip(p, log_z, scores, strict=True)]
    losses = [q @ loss for q, (_, loss) in zip(p, examples, strict=True)]
    return w, (sum(entropies) + sum(losses)) / n - lam / 2 * (image @ image)


def _solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A^-1 b of a positive definite matrix, by Cholesky's method with a unit diagonal."""
    scale = 1.0 / np.sqrt(A.diagonal())
    A, b = A * scale * scale[:, None], (b * scale).copy()
    for k in range(len(b)):  # A becomes L^T in its upper triangle, b becomes L^-1 b
        A[k, k:] /= np.sqrt(max(A[k, k], EPS))
        b[k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k, k + 1 :, None] * A[k, k + 1 :]
        b[k + 1 :] -= A[k, k + 1 :] * b[k]
    for k in reversed(range(len(b))):
        b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :]) / A[k, k]
    return b * scale


def is_small(instance: Instance) -> bool:
    """Return whether the minimum can be computed."""
    smooth = "objective" in instance.settings
    return smooth and instance.K ** max(map(len, instance.y)) <= FEW and instance.problem.d <= MOST_WEIGHTS


def least_primal(instance: Instance, points: list) -> tuple[Wide, Wide]:
    """Return the smallest P known with its error bound: at points, and at multiples of the best of them."""
    values = [primal(instance, w) for w in points]
    best = points[int(np.argmin([value + error for value, error in values]))]
    return min(values + [primal(instance, factor * np.asarray(best, dtype=Wide)) for factor in FACTORS], key=sum)


def faults(seed: int, kind: str = "log") -> dict[str, list[str]]:
    """Run all solvers on the problem of a seed; return what is wrong with their certificates."""
    instance, found, results = instance_of(seed, kind), {}, {}
    problem = instance.problem
    for solver in SOLVERS[kind]:
        found[solver] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results[solver] = fwexp.solve(problem, solver, **instance.settings, **run_settings(seed, solver))
            except CertificateError as error:
                found[solver].append(f"CertificateError: {error}")
    points = [np.zeros(problem.d)] + [result.w for result in results.values()]
    if is_small(instance):
        points.append(minimiser(instance, min(points, key=lambda w: primal(instance, w)[0]))[0])
    least, error = least_primal(instance, points)
    for solver, result in results.items():
        own, own_error = primal(instance, result.w)
        if np.isfinite(result.primal) and result.primal < own - own_error:
            found[solver].append(f"primal {result.primal:.17g} is {float(own - result.primal):.3g} below P(w)")
        if not np.isfinite(result.gap):
            continue
        highest = np.nanmax([*result.trace["dual"], result.dual])
        if highest > least + error:
            found[solver].append(f"dual {highest:.17g} is {float(highest - least):.3g} above P = {float(least):.17g}")
        if result.gap < own - own_error - least - error:
            found[solver].append(f"gap {result.gap:.3g} is below {float(own - least):.3g}")
        if result.gap < 0.0:
            found[solver].append(f"gap {result.gap:.3g} is negative")
    return found


def main() -> None:
    """Run the problems of the command line, until there are enough cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--kind", choices=sorted(SOLVERS), default="log")
    arguments = parser.parse_args()
    shard, shards = map(int, arguments.shard.split("/"))
    begin, wrong, kind = time.monotonic(), collections.Counter(), arguments.kind
    seeds = range(arguments.start + shard, arguments.start + -(-arguments.cases // len(SOLVERS[kind])), shards)
    for done, seed in enumerate(seeds, 1):
        for solver, messages in faults(seed, kind).items():
            wrong[solver] += bool(messages)
            for message in messages:
                print(seed, solver, message, flush=True)
        if done % 500 == 0 or done == len(seeds):
            cases = done * len(SOLVERS[kind])
            print(f"{cases} cases, {sum(wrong.values())} wrong {dict(wrong)}, {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
