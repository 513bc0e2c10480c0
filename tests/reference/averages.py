"""Averages of iterates, from all iterates stored."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Path:
    """A sequence of points: ``w[k]`` in R^d after k steps, and ``ell[k]`` (None where there is no dual point)."""

    w: np.ndarray
    ell: np.ndarray | None


@dataclass(frozen=True)
class Run:
    """The iterates of one run after 0, 1, ... steps, and their averages."""

    last: Path
    wavg: Path
    tavg: Path
    avg: Path


def make_run(w, ell=None):
    """Return a `Run` from the lists of iterates."""
    paths = {}
    for name, average in {"last": np.array, "wavg": wavg, "tavg": tavg, "avg": avg}.items():
        paths[name] = Path(average(np.array(w)), None if ell is None else average(np.array(ell)))
    return Run(**paths)


def wavg(x):
    """Weights proportional to the step: recursive form of Alg. 4, last line, with rho = 2/(k + 2), k from 0."""
    result = [x[0]]
    for k in range(len(x) - 1):
        rho = 2 / (k + 2)
        result.append((1 - rho) * result[-1] + rho * x[k + 1])
    return np.array(result)


def tavg(x):
    """Uniform average of the iterates since the last one whose number was a power of two (itself included)."""
    return np.array([x[last_power_of_two(k) : k + 1].mean(axis=0) for k in range(len(x))])


def last_power_of_two(k):
    """Return the largest power of two <= k; 0 for k = 0."""
    return 1 << (k.bit_length() - 1) if k else 0


def avg(x):
    """Uniform average of x_1 ... x_k; x_0 for k = 0."""
    return np.array([x[0]] + [x[1 : k + 1].mean(axis=0) for k in range(1, len(x))])
