"""One block solver with independent choices: order of blocks x step x cache x refresh x acceleration.

Osokin et al. (ICML 2016), Sections 3.1-3.3 (Algorithms 2-5), with what the published code adds: in the first pass gap
sampling visits 1..n in order; a step stores the gap that its oracle call found *before* the step; a cache hit updates
no gap and counts no call; exact gaps are truncated at 0; the global gap is 1 until the first refresh; a series of steps
ends early where the known gaps are small.
Acceleration is not in the papers: Catalyst (Lin, Mairal, Harchaoui 2015) around block steps.
"""

from typing import NamedTuple

import numpy as np

from .active_set import STEP_FUNCTIONS, State
from .averages import Run, make_run
from .problem import curvature_bound


class BlockRun(NamedTuple):
    """Record of `block_fw`.

    ``run.last.w`` holds the iterates w (the primal candidates); ``point`` the points A a of the original problem and
    ``run.last.ell`` their b'a (the dual candidates) - the same as w unless accelerated. ``blocks``, ``hits`` and
    ``calls`` (cumulative, refreshes included) have one entry per step, ``estimates`` the gap estimates before it.
    """

    run: Run
    point: np.ndarray
    blocks: np.ndarray
    hits: np.ndarray
    calls: np.ndarray
    estimates: np.ndarray


def block_fw(
    tp,
    lam,
    steps,
    sampling="uniform",
    draws=None,
    step="fw",
    cache=None,
    size=None,
    refresh=0,
    tol=0.0,
    accelerate=None,
    curvature=None,
    passes=None,
    spent=0.0,
):
    """Run the block solver for a number of steps.

    Parameters
    ----------
    sampling : {"order", "gap", "max_gap", "max_gain"}
        "order": ``draws`` are the blocks themselves (perm, cyclic). "max_gain": argmax gap_i^2/C_i of the last known gaps.
    draws : sequence
        One per step: a block ("order") or a uniform number in [0, 1) ("gap").
    step : {"fw", "pairwise", "away", "corrective"}
    cache : None or (F, nu)
        Parameters of the cache-hit criterion.
    size : None or int
        Most labelings stored per example (None: no limit).
    refresh : int
        All gaps are computed exactly after every ``refresh * n`` steps (0: never).
    tol : float
        The gap asked for: they are also computed as soon as the known ones sum to 0.8 times this, unless they were at most this
        when they were computed last.
    accelerate : None, (kap, period) or (kap, period, start)
        ProximalCentre weight, number of passes (of n steps) between new centres, and of those before the first one, at A a.
        A kap of "observed" is 1.5 sqrt(r^2/(lam n)) within [1, 10], with r^2 the mean of ||psi||^2 of what is stored then; a
        period of None 2 + 0.4 kap.
    curvature : None or array
        C_f^(i) for "max_gain"; by default 4 R_i^2/(lam n^2).
    passes : None or iterator of arrays
        Orders in which all blocks are visited in the first pass, and in one after each new centre; by default 1..n in the first.
    spent : float
        Where the known gaps sum to less than this part of their last sum, all blocks are visited, at a new centre if there is
        one; not in the n steps after the latest such pass or computation. Their last sum is that after either of these.
    """
    n, (kap, period, first), centre = tp.n, (*(accelerate or (0.0, 0)), 0)[:3], None
    state = State(tp, lam, size, drop_active=step == "fw")
    next_centre, next_refresh = np.inf, refresh * n or np.inf
    order, since = (None, 0) if passes is None else (next(passes), 0)
    curvature = curvature_bound(tp, lam) if curvature is None else np.asarray(curvature)
    gaps, calls, known, global_gap = np.full(n, np.inf), 0, 0, 1.0  # what the cache takes for the total until the first refresh
    exact_gap = np.inf
    log = {name: [] for name in ("blocks", "hits", "calls", "estimates")}
    ws, points, ells = [state.w], [np.zeros(tp.d)], [0.0]
    for k in range(steps):
        if accelerate and k == round(first * n):  # v = A a/(1 + kap), z = A a
            kap = observed_kap(state) if kap == "observed" else kap
            period = round((2 + 0.4 * kap if period is None else period) * n)  # from here on in steps
            centre, next_centre = ProximalCentre(kap, state.w), k + period
            state.lam, state.w_i = state.lam * (1 + kap), state.w_i / (1 + kap)
        i = choose_block(sampling, None if draws is None else draws[k], gaps, curvature)
        if order is not None and k < since + n:
            i = int(order[k - since])
        log["blocks"].append(i), log["estimates"].append(gaps.copy())
        j = None if cache is None else cached_corner(state, i, cache, gaps[i], global_gap)
        log["hits"].append(j is not None)
        if j is None:  # cache miss: the oracle
            j, calls = tp.argmax(i, state.w), calls + 1
            gaps[i] = max(state.corner_gap(i, j), 0.0)
        state.store(i, j)
        STEP_FUNCTIONS[step](state, i, j)
        if spent and k + 1 == since + n:
            global_gap = gaps.sum()
        are_spent = spent and k + 1 >= max(since, known) + n and gaps.sum() < spent * global_gap
        new_centre = k + 1 == next_centre or (are_spent and centre is not None)
        if new_centre:
            state.w, next_centre = centre.move(state.w), k + 1 + period
        if new_centre or are_spent:
            order, since = (None, 0) if passes is None else (next(passes), k + 1)
        if k + 1 == next_refresh or (exact_gap > tol and gaps.sum() <= 0.8 * tol):
            gaps, calls, known = state.exact_gaps(), calls + n, k + 1
            global_gap, next_refresh = gaps.sum(), k + 1 + refresh * n
            exact_gap = global_gap
        log["calls"].append(calls)
        ws.append(state.w), points.append(state.lam / lam * state.w_i.sum(axis=0)), ells.append(state.ell)
    return BlockRun(make_run(ws, ells), np.array(points), **{key: np.array(v) for key, v in log.items()})


def observed_kap(state):
    """Return the strength of acceleration by the labelings that are stored, the true ones excepted."""
    tp, lam = state.tp, state.lam
    psi = [tp.corner(i, j, lam)[0] * lam * tp.n for i in range(tp.n) for j in state.stored[i] if j != tp.truth[i]]
    r_sq = np.mean([one @ one for one in psi]) if psi else 0.0
    return float(np.clip(1.5 * np.sqrt(r_sq / (lam * tp.n)), 1, 10))


def cached_corner(state, i, cache, gap_i, global_gap):
    """Alg. 5: the best stored labeling, if it promises at least max(F gap_i, nu/n global gap); None on a miss."""
    F, nu = cache
    j = state.best(i, list(state.stored[i]))
    gap = state.corner_gap(i, j)
    return j if gap > 0 and gap >= max(F * gap_i, nu / state.tp.n * global_gap) else None  # a gap of 0 moves nothing


def choose_block(sampling, draw, gaps, curvature):
    """Return the block to visit, Section 3.1."""
    if sampling == "order":
        return int(draw)
    if np.isinf(gaps).any():  # not all gaps known: first pass, in order
        return int(np.isinf(gaps).argmax())
    if sampling == "max_gain":
        return int(np.argmax(gaps**2 / curvature))
    return int(gaps.argmax()) if sampling == "max_gap" else inverse_cdf(gaps, draw)


def inverse_cdf(weights, draw):
    """Return the first i with sum_{j <= i} weights_j > draw * total; uniform if all weights are 0."""
    cumulative = np.cumsum(weights)
    if cumulative[-1] <= 0:
        return int(draw * len(weights))
    return min(int(np.searchsorted(cumulative, draw * cumulative[-1], side="right")), len(weights) - 1)


class ProximalCentre:
    """The centre z of min P(w) + kap lam/2 ||w - z||^2, where w = v + kap/(1 + kap) z and v = A a/(1 + kap).

    New centre: z <- w + beta (w - w_old), beta = (1 - sqrt q)/(1 + sqrt q), q = 1/(1 + kap), w_old being the w at which
    the previous centre was chosen (the start for the first). The dual variables stay, so w moves with z.
    """

    def __init__(self, kap, z):
        self.kap, self.z, self.w_old = kap, z, z

    def move(self, w):
        """Choose the new centre at w; the iterate w that belongs to it."""
        root = np.sqrt(1 / (1 + self.kap))
        z = w + (1 - root) / (1 + root) * (w - self.w_old)
        shift = self.kap / (1 + self.kap) * (z - self.z)
        self.z, self.w_old = z, w
        return w + shift


def chi(x):
    """Non-uniformity sqrt(1 + n^2 Var(p)), p = x/sum(x), population variance (Theorem 2); 1 for x = 0."""
    x = np.asarray(x, float)
    return np.sqrt(1 + len(x) ** 2 * np.var(x / x.sum())) if x.sum() > 0 else 1.0


def improvement_factor(gaps, curvature):
    """chi(gaps)^3/chi(C): the factor by which Theorem 2 predicts gap sampling to beat uniform sampling."""
    return chi(gaps) ** 3 / chi(curvature)
