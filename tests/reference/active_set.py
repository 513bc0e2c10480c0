"""The state of one block solver and its four steps, with every w_i in R^d and every stored labeling with its weight.

Osokin et al. (ICML 2016), Sections 3.2 and 3.3; corrective steps are a plain addition (pairwise steps among the stored
labelings). With acceleration, ``lam`` is the one of the centred problem and w = sum_i w_i + shift.
"""

import numpy as np

from .frank_wolfe import clipped_step


class State:
    """w, ell, w_i, ell_i and, per example, ``stored[i]``: labeling index -> weight (0: stored, but not active)."""

    def __init__(self, tp, lam, size=None, drop_active=False):
        self.tp, self.lam, self.size, self.drop_active = tp, lam, size, drop_active
        self.w, self.w_i = np.zeros(tp.d), np.zeros((tp.n, tp.d))
        self.ell, self.ell_i = 0.0, np.zeros(tp.n)
        self.stored = [{j: 1.0} for j in tp.truth]

    def corner_gap(self, i, j):
        """lam <w_i - w_s, w> - ell_i + ell_s: the progress rate towards labeling j; gap_i if j is the oracle's."""
        w_s, ell_s = self.tp.corner(i, j, self.lam)
        return self.lam * (self.w_i[i] - w_s) @ self.w - self.ell_i[i] + ell_s

    def exact_gaps(self):
        """All gap_i at the current point, truncated at 0."""
        return np.array([max(self.corner_gap(i, self.tp.argmax(i, self.w)), 0.0) for i in range(self.tp.n)])

    def active(self, i):
        """Labelings of example i with a positive weight, in order of arrival."""
        return [j for j, weight in self.stored[i].items() if weight > 0]

    def best(self, i, labels):
        """Return the labeling with the highest H_i among ``labels`` (the first of several, see `first_of_best`)."""
        return first_of_best(labels, self.tp.scores(i, self.w))

    def worst(self, i, labels):
        """Return the labeling with the lowest H_i among ``labels`` (the first of several)."""
        return first_of_best(labels, -self.tp.scores(i, self.w))

    def store(self, i, j):
        """Remember labeling j. When full, the inactive one with the lowest score goes; failing that, none goes.

        With ``drop_active`` (Frank-Wolfe steps, which never read the weights) the lowest score goes in that case.
        """
        stored = self.stored[i]
        if j in stored:
            return
        if self.size is not None and len(stored) >= self.size:
            inactive = [label for label, weight in stored.items() if weight == 0]
            if inactive or self.drop_active:
                del stored[self.worst(i, inactive or list(stored))]
        stored[j] = 0.0

    def move(self, i, w_i, ell_i):
        """Replace block i by a new point and update the sums."""
        self.w, self.ell = self.w + w_i - self.w_i[i], self.ell + ell_i - self.ell_i[i]
        self.w_i[i], self.ell_i[i] = w_i, ell_i


def first_of_best(labels, scores):
    """Return the first label whose score no later one exceeds by more than rounding: exact steps leave scores equal."""
    best = labels[0]
    for j in labels[1:]:
        if scores[j] - scores[best] > 1e-12 * max(1, abs(scores[j]), abs(scores[best])):
            best = j
    return best


def fw_step(state, i, j):
    """Alg. 1, lines 5-11: line search from w_i towards corner j."""
    w_s, ell_s = state.tp.corner(i, j, state.lam)
    w_i, ell_i, stored = state.w_i[i], state.ell_i[i], state.stored[i]
    gamma = clipped_step(state.corner_gap(i, j), state.lam * (w_i - w_s) @ (w_i - w_s))
    for label in stored:
        stored[label] *= 1 - gamma
    stored[j] += gamma
    state.move(i, (1 - gamma) * w_i + gamma * w_s, (1 - gamma) * ell_i + gamma * ell_s)


def pairwise_step(state, i, j):
    """Alg. 3: shift weight from the away corner argmin_{y active} H_i to corner j; a drop step empties it exactly.

    Returns the step size.
    """
    away = state.worst(i, state.active(i))
    (w_s, ell_s), (w_a, ell_a) = state.tp.corner(i, j, state.lam), state.tp.corner(i, away, state.lam)
    stored = state.stored[i]
    gap = state.corner_gap(i, j) - state.corner_gap(i, away)  # lam <w_a - w_s, w> + ell_s - ell_a
    gamma = clipped_step(gap, state.lam * (w_a - w_s) @ (w_a - w_s), upper=stored[away])
    stored[away] -= gamma
    stored[j] += gamma
    state.move(i, state.w_i[i] + gamma * (w_s - w_a), state.ell_i[i] + gamma * (ell_s - ell_a))
    return gamma


def dual(state, w, ell):
    return ell - 0.5 * state.lam * w @ w


def away_step(state, i, j):
    """Alg. 4: the Frank-Wolfe step, or the step away from the worst active corner if the dual is higher after that one.

    Away only if more than one labeling is active; gamma is clipped to a/(1 - a), where the away corner drops out.
    """
    active, w_i, ell_i, stored = state.active(i), state.w_i[i], state.ell_i[i], state.stored[i]
    away = state.worst(i, active)
    (w_s, ell_s), (w_a, ell_a) = state.tp.corner(i, j, state.lam), state.tp.corner(i, away, state.lam)
    forward = clipped_step(state.corner_gap(i, j), state.lam * (w_i - w_s) @ (w_i - w_s))
    gap_away = -state.corner_gap(i, away)  # lam <w_a - w_i, w> - ell_a + ell_i
    others = sum(stored[label] for label in active if label != away)
    upper = stored[away] / others if others > 0 else 0.0  # a/(1 - a)
    gamma = clipped_step(gap_away, state.lam * (w_i - w_a) @ (w_i - w_a), upper)
    by_fw = dual(state, state.w + forward * (w_s - w_i), state.ell + forward * (ell_s - ell_i))
    by_away = dual(state, state.w + gamma * (w_i - w_a), state.ell + gamma * (ell_i - ell_a))
    if by_away - by_fw <= 1e-13 * max(1, abs(by_fw)):  # ties, up to rounding, are those of steps to the same point
        fw_step(state, i, j)
        return
    for label in stored:
        stored[label] *= 1 + gamma
    stored[away] = 0.0 if gamma == upper else stored[away] - gamma
    state.move(i, (1 + gamma) * w_i - gamma * w_a, (1 + gamma) * ell_i - gamma * ell_a)


def corrective_step(state, i, j, corrections=5):
    """At most ``corrections`` pairwise steps among the stored labelings, the first of them towards corner j."""
    for _ in range(corrections):
        if pairwise_step(state, i, j) == 0:
            break
        j = state.best(i, list(state.stored[i]))


STEP_FUNCTIONS = {"fw": fw_step, "pairwise": pairwise_step, "away": away_step, "corrective": corrective_step}
