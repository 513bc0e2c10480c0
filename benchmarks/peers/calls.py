"""Calls of an oracle in Python until the objective is within 10, 1 and 0.1 % of its minimum, next to dlib: ``make bench-calls``.

The calls of fwexp include its certificate, with which it ends. dlib gets the loosest tolerance with which it is there, which is
known only afterwards. Classes are those of four data sets of scikit-learn, with ``lam`` = 20/n (``--half data``), and generated:
60 to 1500 examples, 3 to 60 features, 2 to 10 classes, some sorted by class, and ``lam`` from 1/n to 50/n. The rule of ``auto``
may be tuned on even seeds (``--half fit``). The data sets and odd seeds (``--half test``) are for one report at the end.
"""

import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.peers import contests, tools
from benchmarks.yardstick import half_of_seeds
from fwexp.errors import exit_code

ROWS, COLUMNS, CLASSES, STRENGTHS = (60, 1500), (3, 60), (2, 11), (1.0, 50.0)
DATA = ("digits", "iris", "wine", "breast_cancer")


def generated(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return inputs, classes and lam of a seed."""
    rng = np.random.default_rng(seed)
    n, p = (int(np.exp(rng.uniform(*np.log(bounds)))) for bounds in (ROWS, COLUMNS))
    K = int(rng.integers(*CLASSES))
    y, means, clarity = rng.integers(K, size=n), rng.normal(size=(K, p)), rng.uniform(0.3, 2.0)
    X = clarity * means[y] + rng.normal(size=(n, p))
    wrong = rng.random(n) < rng.uniform(0.02, 0.2)
    y = np.where(wrong, rng.integers(K, size=n), y)
    if seed % 4 < 2:
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    return X, y, float(np.exp(rng.uniform(*np.log(STRENGTHS)))) / n


def stored(name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return inputs, classes and lam of a data set of scikit-learn."""
    X, y = getattr(tools.module("sklearn.datasets"), f"load_{name}")(return_X_y=True)
    return (X / 16.0 if name == "digits" else (X - X.mean(axis=0)) / X.std(axis=0)), y, 20.0 / len(y)


def problems(half: str, seeds: range) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray, float]]]:
    """Yield name and data of the problems of a half."""
    if half == "data":
        yield from ((name, stored(name)) for name in DATA)
    else:
        yield from ((f"seed {seed}", generated(seed)) for seed in seeds)


def calls(contest: contests.SameObjective) -> np.ndarray:
    """Return the calls of both tools (2, targets), NaN where none of the tolerances of dlib reaches a target."""
    bound = contest.lower_bound()
    chosen = [[contest.choose(one, target, bound) for target in contest.targets] for one in contest.contenders]
    return np.array([[choice[2] if choice else np.nan for choice in row] for row in chosen])


def main() -> int:
    """Count and print."""
    ratios = []
    for name, (X, y, lam) in problems(*half_of_seeds(__doc__.partition("\n")[0], 12, "data")):
        ours, theirs = calls(contests.python_oracle(name, X, y, lam, "dlib"))
        ratios.append(ours / theirs)
        cells = "   ".join(f"{a:7.0f} {b:7.0f} {a / b:5.2f}" for a, b in zip(ours, theirs, strict=True))
        print(f"{name:14} n={len(y):<5}p={X.shape[1]:<4}K={y.max() + 1:<3}lam n={lam * len(y):<6.3g} {cells}", flush=True)
    means = " ".join(f"{mean:.2f}" for mean in np.exp(np.nanmean(np.log(ratios), axis=0)))
    print(f"calls of fwexp over those of dlib: geometric means {means}, most {np.nanmax(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("calls", main))
