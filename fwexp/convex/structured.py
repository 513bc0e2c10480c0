"""The structural SVM as a saddle point, min over ||w|| <= r of max over z in Z of 1/n sum_i (w'F_i z_i + c_i'z_i - w'phi_i).

Z is a product of polytopes of parts, one for each example, whose corners are its labelings: the value of w is 1/n sum_i H_i(w)
(Taskar, Lacoste-Julien & Jordan 2006; the review, section 3). Chains and matchings have such polytopes.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import ROUNDING, ConvexSet, Product
from fwexp.convex.games import Bilinear
from fwexp.convex.simple_sets import L2Ball
from fwexp.errors import OptionError
from fwexp.options import check_integer, check_positive
from fwexp.oracles.assignment import max_matching
from fwexp.oracles.assignment import scratch_size as matching_scratch
from fwexp.oracles.forward_backward import forward_backward, scratch_size
from fwexp.oracles.matching_scaling import scale_to_matching
from fwexp.oracles.viterbi import viterbi
from fwexp.problems.chain import ChainProblem, divisor
from fwexp.problems.features import row_entries
from fwexp.problems.matching import MatchingProblem
from fwexp.problems.signature import check_labels
from fwexp.problems.transitions import ByPosition
from fwexp.types import FloatArray, Problem


class ChainPolytope(ConvexSet):
    """The convex hull of the labelings of a chain: sums of transitions (K x K), then unary parts (T x K).

    Parameters
    ----------
    length, num_states : int
        T and K.
    """

    softens = True

    def __init__(self, length: int, num_states: int) -> None:
        self.length, self.num_states = check_integer("length", length, 1), check_integer("num_states", num_states, 1)
        self._pairs = self.num_states**2
        self.dim = self._pairs + self.length * self.num_states
        self.mass = float((2 * self.length - 1) ** 2)  # the square of the parts of a labeling: the entropy is taken over labelings
        # Unary parts differ by sqrt(2 T), sums of transitions by at most sqrt(2) (T - 1).
        self.diameter = float(np.sqrt(2.0 * self.length + 2.0 * (self.length - 1) ** 2))

    def atom(self, g: FloatArray) -> Atom:
        y = np.zeros(self.length, dtype=np.int32)
        scores = -g
        K = self.num_states
        viterbi(scores[self._pairs :], scores[: self._pairs], K, K, y, np.zeros(self.length * K))
        transitions, counts = np.unique(y[:-1] * K + y[1:], return_counts=True)
        # As many entries for every labeling: entries without a count are 0.
        indices, values = np.zeros(2 * self.length - 1, dtype=np.int64), np.zeros(2 * self.length - 1)
        indices[: self.length], values[: self.length] = self._pairs + np.arange(self.length) * K + y, 1.0
        free = np.setdiff1d(np.arange(self._pairs), transitions)[: self.length - 1 - len(transitions)]
        if len(free) + len(transitions) < self.length - 1:  # fewer pairs than positions
            sparse = Atom(np.concatenate((indices[: self.length], transitions)), np.r_[values[: self.length], counts])
            return Atom(None, sparse.dense(self.dim))
        indices[self.length :] = np.concatenate((transitions, free))
        values[self.length : self.length + len(transitions)] = counts
        return Atom(indices, values)

    def soften(self, theta: FloatArray) -> FloatArray:
        K = self.num_states
        unary, pairs = np.zeros(self.length * K), np.zeros(K * K)
        scratch = np.zeros(scratch_size(self.length, K, K))
        forward_backward(theta[self._pairs :].copy(), theta[: self._pairs].copy(), K, K, unary, pairs, scratch)
        return np.concatenate((pairs, unary))

    def contains(self, x: Any) -> bool:
        from scipy.optimize import linprog

        x = self._in(x)
        if not x.min() >= -ROUNDING:
            return False
        # Whether there are pair marginals with these sums and unary marginals: for chains that is the hull.
        K, steps = self.num_states, self.length - 1
        unary = x[self._pairs :].reshape(self.length, K)
        if np.abs(unary.sum(axis=1) - 1.0).max() > ROUNDING:
            return False
        if steps == 0:
            return bool(np.abs(x[: self._pairs]).max() <= ROUNDING)
        one, eye = np.ones((1, K)), sp.eye_array(K)
        starts, ends = sp.kron(eye, one), sp.kron(one, eye)
        rows = [sp.kron(sp.eye_array(steps), starts), sp.kron(sp.eye_array(steps), ends)]
        rows.append(sp.kron(np.ones((1, steps)), sp.eye_array(K * K)))
        right = np.concatenate((unary[:-1].ravel(), unary[1:].ravel(), x[: self._pairs]))
        rows = sp.vstack(rows, format="csc")
        both = sp.hstack((rows, sp.eye_array(len(right)), -sp.eye_array(len(right))))
        cost = np.r_[np.zeros(rows.shape[1]), np.ones(2 * len(right))]
        return bool(linprog(cost, A_eq=both, b_eq=right).fun <= 1e-6 * self.length)


class MatchingPolytope(ConvexSet):
    """The convex hull of the matchings between rows and columns, each of which may stay alone, row after row.

    Parameters
    ----------
    rows, columns : int
    """

    softens = True
    SWEEPS, TOLERANCE = 10_000, 1e-12

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = check_integer("rows", rows, 1), check_integer("columns", columns, 1)
        self.dim = self.rows * self.columns
        self.mass = float(min(self.rows, self.columns))  # the most edges of a matching
        self.diameter = float(np.sqrt(2.0 * self.mass))

    def atom(self, g: FloatArray) -> Atom:
        match = np.zeros(self.rows, dtype=np.int32)
        max_matching(-g, self.columns, match, np.zeros(matching_scratch(self.rows, self.columns)))
        x = np.zeros(self.dim)
        linked = np.flatnonzero(match)
        x[linked * self.columns + match[linked] - 1] = 1.0
        return Atom(None, x)

    def soften(self, theta: FloatArray) -> FloatArray:
        z = np.zeros(self.dim + self.rows + self.columns)
        scale_to_matching(np.ascontiguousarray(theta), self.rows, self.columns, z, self.SWEEPS, self.TOLERANCE)
        return z[: self.dim]

    def contains(self, x: Any) -> bool:
        Z = self._in(x).reshape(self.rows, self.columns)
        return bool(Z.min() >= -ROUNDING and max(Z.sum(axis=0).max(), Z.sum(axis=1).max()) <= 1.0 + ROUNDING)


def svm_game(problem: Problem, radius: float) -> Bilinear:
    """Return the structural SVM with ||w|| <= radius instead of a regulariser, as a saddle point in (w, z).

    Parameters
    ----------
    problem : ChainProblem or MatchingProblem
        Training set.
    radius : float
        Bound on ||w||.

    Returns
    -------
    Bilinear
        x is w, in the public order; the value of w is the mean of H_i(w).

    Examples
    --------
    >>> import fwexp, numpy as np
    >>> from fwexp.convex import saddle_point, svm_game
    >>> problem = fwexp.chain_problem([np.eye(2), np.eye(2)[::-1]], [[0, 1], [1, 0]])
    >>> game = svm_game(problem, radius=3.0)
    >>> result = saddle_point(game, geometry="entropic", max_iter=500)
    >>> round(fwexp.evaluate(problem, result.x).hinge, 6)
    0.0
    """
    radius = check_positive("radius", radius)
    check_labels(problem)
    if len(getattr(problem, "nonnegative", ())):
        raise OptionError("a saddle point keeps no weights nonnegative; build the problem without nonnegative")
    if isinstance(problem, ChainProblem):
        if isinstance(problem.transitions, ByPosition):
            raise OptionError("a saddle point has no features of transitions; build the problem without Z")
        if len(problem.penalty) or len(problem.position_weight) or problem.is_cut.any():
            raise OptionError("a saddle point takes no forbidden, position_weight or is_cut; build the problem without them")
        F, truth, losses, polytopes, constant = _chain(problem)
    elif isinstance(problem, MatchingProblem):
        if problem.column_links > 1:
            raise OptionError("a saddle point takes matchings with one link per column; build the problem without column_links")
        F, truth, losses, polytopes, constant = _matching(problem)
    else:
        accepted = "ChainProblem, MatchingProblem"
        raise OptionError(f"problem has no polytope of parts here, got {type(problem).__name__}; accepted: {accepted}")
    n = problem.n
    return Bilinear(F / n, L2Ball(problem.d, radius), Product(polytopes), -(F @ truth) / n, -losses / n, constant / n)


def _features(x, count: int, size: int):
    """Return the features of all rows as a sparse matrix (count, size)."""
    columns, values = zip(*(row_entries(x, t) for t in range(count)), strict=True)
    ends = np.cumsum([0, *map(len, columns)])
    return sp.csr_array((np.concatenate(values), np.concatenate(columns), ends), shape=(count, size))


def _chain(problem):
    """Return the features of parts, the true parts, the losses of parts, their polytopes, and a constant."""
    K, ends = problem.num_states, problem.label_ptr
    X = _features(problem.x, int(ends[-1]), problem.num_features)
    features, truth, losses, polytopes = [], [], [], []
    for i, (start, end) in enumerate(pairwise(ends)):
        y, T = problem.labels[start:end], int(end - start)
        own = np.zeros(K * K)
        np.add.at(own, y[:-1] * K + y[1:], 1.0)
        ends_of_one = sp.eye_array(1, T), sp.eye_array(1, T, k=T - 1)
        unary = sp.kron(sp.vstack((X[start:end].T, *ends_of_one)), sp.eye_array(K))
        features.append(sp.block_array([[None, unary], [sp.eye_array(K * K), None]]))
        eye = np.eye(K)[y]
        truth += [own, eye.ravel()]
        costs = 1.0 - eye + (problem.excess[y, :K] if len(problem.excess) else 0.0)
        losses += [np.zeros(K * K), (costs / divisor(problem, i)).ravel()]
        polytopes.append(ChainPolytope(T, K))
    F = sp.hstack(features, format="csc")
    F.sort_indices()
    return F, np.concatenate(truth), np.concatenate(losses), polytopes, 0.0


def _matching(problem):
    """Return the features of edges, the true ones, the losses of edges, their polytopes, and the loss of no links."""
    edges = int(problem.part_ptr[-1])
    F = _features(problem.x, edges, problem.d).T.tocsc()
    truth, losses, polytopes, constant = np.zeros(edges), np.zeros(edges), [], 0.0
    for i in range(problem.n):
        part, width = slice(problem.part_ptr[i], problem.part_ptr[i + 1]), int(problem.columns[i])
        y = problem.labels[problem.label_ptr[i] : problem.label_ptr[i + 1]]
        linked = np.flatnonzero(y > 0)
        truth[part][linked * width + y[linked] - 1] = 1.0
        losses[part] = np.where(truth[part] > 0.0, -problem.recall[i], problem.precision[i])
        constant += problem.recall[i] * len(linked)
        polytopes.append(MatchingPolytope(len(y), width))
    return F, truth, losses, polytopes, float(constant)
