"""Averages of the iterates of block-coordinate methods, at a cost per step that does not depend on d.

With w_k = sum_{s<=k} delta_s, where delta_s touches the features of one example, every average is w_k minus a weighted
sum of the changes:

    wavg_k = 2/(k(k+1)) sum_j j w_j            = w_k - 2/(k(k+1)) sum_s s(s-1)/2 delta_s
    tavg_k = mean of w_{K0} .. w_k             = w_k - sum_{s>K0} (s - K0) delta_s / (k - K0 + 1)
    avg_k  = mean of w_1 .. w_k                = w_k - 1/k sum_s (s - 1) delta_s

K0 is the last power of two <= k (the doubling trick); w_0 has no weight. ell is averaged alike, so that
``ell_avg - lam/2 ||w_avg||^2`` is the dual objective at the averaged dual variables.
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import inlined, njit, register_jitable, specialise
from fwexp.problems.protocol import accumulate, new_sums, scatter_sum

WAVG, TAVG, AVG = 0, 1, 2
KINDS = {"wavg": WAVG, "tavg": TAVG, "avg": AVG}


class Averages(NamedTuple):
    """Weighted sums of changes, one per average that is kept."""

    compiled = ("kinds",)

    kinds: np.ndarray  # int64 (m,)
    sums: np.ndarray  # m sums of vectors
    ell: np.ndarray  # float64 (m,)
    clock: np.ndarray  # int64 (2,): step k counts as step clock[0] + clock[1] k


def new_averages(problem, iterates) -> Averages:
    """Return empty sums for the ``iterates`` that are averages."""
    kinds = np.array([KINDS[name] for name in iterates if name in KINDS], dtype=np.int64)
    return Averages(kinds, new_sums(problem, len(kinds)), np.zeros(len(kinds)), np.array([0, 1]))


@register_jitable
def last_power_of_two(k):
    """Return the largest power of two <= k, for k >= 1."""
    power = 1
    while 2 * power <= k:
        power *= 2
    return power


@inlined
def update_averages(problem, averages, i, direction, c, ell_change, k):
    """Update the averages after step k (from 1), which changed w by c F_i' direction and ell by ``ell_change``."""
    k = averages.clock[0] + averages.clock[1] * k
    for j in range(len(averages.kinds)):
        kind = averages.kinds[j]
        if kind == WAVG:
            weight = 0.5 * k * (k - 1.0)
        elif kind == AVG:
            weight = k - 1.0
        else:
            weight = float(k - last_power_of_two(k))
            if weight == 0.0:  # k is K0: the average starts anew
                averages.sums[j][:] = 0.0
                averages.ell[j] = 0.0
        if weight > 0.0:
            accumulate(problem, i, direction, c * weight, averages.sums[j])
            averages.ell[j] += weight * ell_change


@njit
def _subtract_sum(problem, total, c, w):
    scatter_sum(problem, total, -c, w)


def averaged(problem, averages: Averages, name: str, w, ell: float, k: int):
    """Return the average called ``name`` after k steps as (internal weights, ell), from the last iterate."""
    w = w.copy()
    if k == 0:
        return w, ell
    j = int(np.flatnonzero(averages.kinds == KINDS[name])[0])
    c = {"wavg": 2.0 / (k * (k + 1.0)), "avg": 1.0 / k, "tavg": 1.0 / (k - last_power_of_two(k) + 1)}[name]
    specialise(_subtract_sum, problem)(problem, averages.sums[j], c, w)
    return w, ell - c * averages.ell[j]
