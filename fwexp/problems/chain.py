"""Chains: sequence labelling with first-order transitions, by Viterbi.

The joint feature map of the published code, up to the order of coordinates: with K labels and p features the public w
holds ``w[f*K + k]`` (feature f, label k), then K weights of the first label, K of the last, and the transitions
``[from*K + to]``, so d = K p + 2 K + K^2. The loss is the Hamming distance, or with costs the sum of L(true, predicted) over the
positions, divided by the length unless ``loss="errors"``.

With q features of transitions (``Z``), the score of a transition depends on the position as well. w then has q K^2 further weights
``[f*K^2 + from*K + to]`` between the weights of the features and the weights of the first label.

Internally weights are rows of ``width`` numbers (K padded with zeros): p feature rows, first, last, and K transition
rows. The part scores theta of an example hold K transition rows, then one row per position. With features of transitions
(``transitions``) they hold one row per position, then K transition rows of every position after the first. Functions that solvers
call are in ``chain_protocol``.

Memory follows the sum of the lengths: in addition to the inputs a problem holds 12 bytes per position, 32 per sequence, and what
makes the norm of a direction cheap. That is the Gram matrix of the inputs of a sequence, T (T + 1)/2 numbers, where
T <= LONGEST_GRAM, so at most 4 (LONGEST_GRAM + 1) bytes per position; longer sequences keep 4 bytes per nonzero of sparse
inputs instead, and their norms go through F_i' direction, at about the cost of two rounds of scores.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_floats, as_list
from fwexp.errors import OptionError, ParameterError, shown
from fwexp.jit.compilation import inlined
from fwexp.memory import check_room
from fwexp.options import check_choice, is_integer
from fwexp.problems import protocol
from fwexp.problems.arrays import as_labels, as_matrix, check_costs, check_labels, check_num_labels, pointer
from fwexp.problems.constraints import constrained
from fwexp.problems.features import Features, NoFeatures, as_features, padded_width, stack
from fwexp.problems.pair_features import PairFeatures, feature_rows, with_pairs
from fwexp.problems.rows import packed_gram, renumbered
from fwexp.problems.subsets import PER_EXAMPLE, Sliceable
from fwexp.problems.transitions import ByPosition, Shared, Transitions
from fwexp.types import ArrayLike, Loss, SetOfExamples, Weights

LOSSES = ("share", "errors")

LONGEST_GRAM = 128  # positions; about where the two ways to a norm cost the same, on inputs of 10 nonzeros and of 128


Pair = tuple[int | None, int | None]  # labels (from, to); None is the start or the end

NO_CUTS = np.zeros((0, 2), dtype=np.bool_)
FORBIDDEN = -1e300  # the score of excluded labelings: finite, so that differences are numbers


class ChainArrays(NamedTuple):
    """The fields of `ChainProblem`."""

    n: int  # number of sequences
    d: int  # length of the public w
    num_states: int  # K
    width: int  # length of a weight row, K padded
    num_features: int  # p
    num_weights: int  # length of the internal w
    part_ptr: np.ndarray  # int64 (n + 1,)
    label_ptr: np.ndarray  # int64 (n + 1,): positions label_ptr[i] .. label_ptr[i+1] belong to sequence i
    labels: np.ndarray  # int32 (positions,); -1 in test sets only
    counts: np.ndarray  # float64 (n,), how many positions the loss counts: 1 if it is a share, the length if it is their number
    x: Features | PairFeatures  # one row per position
    gram_ptr: np.ndarray  # int64 (n + 1,)
    gram: np.ndarray  # float64: per sequence the packed lower triangle of <x_t, x_u> (+ 1 at both ends for the biases), or none
    # ``x`` with the columns of a sequence without Gram numbered from 0, where there is such a sequence
    local_x: Features | PairFeatures | NoFeatures
    num_local: np.ndarray  # int64 (n, 2): how many weights of such columns there are, and the number of those of ``x``; or 0
    nonnegative: np.ndarray = protocol.UNCONSTRAINED  # int64, indices of internal weights that must not be negative
    # float64 (K, width): by how much the cost of a label (column) differs from 1 where another (row) is true; or (0, 0)
    excess: np.ndarray = np.zeros((0, 0))
    # float64 (2 + K, width): 0, or `FORBIDDEN` for a first label, for a last label, and for transitions [from, to]; or (0, 0)
    penalty: np.ndarray = np.zeros((0, 0))
    position_weight: np.ndarray = np.zeros(0)  # float64 (positions,), by how much more an error there costs; or (0,)
    # float64 (positions, width): the cost of every label at a position, 0 for the true one, instead of the last two; or (0, 0)
    position_costs: np.ndarray = np.zeros((0, 0))
    # bool (n, 2): whether the first and the last position are cuts through a longer sequence, without biases; or (0, 2)
    is_cut: np.ndarray = NO_CUTS
    transitions: Transitions = Shared()  # with features, no sequence has a Gram matrix
    local_transitions: Transitions = Shared()  # like ``local_x``


class ChainProblem(Sliceable, ChainArrays):
    """A set of labelled sequences; build it with ``fwexp.chain_problem``."""

    __slots__ = ()
    tiers = ("sets", "expectations", "kernels", "bounds", "enumeration")
    rows: ClassVar = {
        "labels": "label_ptr",
        "x": "label_ptr",
        "local_x": "label_ptr",
        "gram": "gram_ptr",
        "num_local": PER_EXAMPLE,
        "counts": PER_EXAMPLE,
        "position_weight": "label_ptr",
        "position_costs": "label_ptr",
        "is_cut": PER_EXAMPLE,
        "transitions": "label_ptr",
        "local_transitions": "label_ptr",
    }

    def __repr__(self) -> str:
        return f"ChainProblem(n={self.n}, d={self.d}, K={self.num_states}, positions={len(self.labels)})"


def chain_from_arrays(
    x, y, ptr, num_states: int, loss: str = "share", is_cut=None, z=None, possible_states: bool = True
) -> ChainProblem:
    """Build a problem from concatenated arrays, which it may keep; sequence i holds the positions ``ptr[i] .. ptr[i+1]``."""
    # A label of -1 (in test sets) is never predicted and counted wrong. ``is_cut`` (n, 2) says whether a sequence begins and ends
    # at a cut through a longer one, where no weights of the first and last label count. Rows of ``z`` of first positions are 0.
    # Without ``possible_states``, features have weights for the labels of their positions alone, and the others are 0.
    features, p, q = as_features(x, copy=False), int(x.shape[1]), 0
    transitions, tables = Shared(), 1
    is_cut = NO_CUTS if is_cut is None else np.ascontiguousarray(is_cut, dtype=np.bool_)
    label_ptr = np.ascontiguousarray(ptr, dtype=np.int64)
    lengths, width = np.diff(label_ptr), padded_width(num_states)
    if z is not None:
        q = int(z.shape[1])
        transitions, tables = ByPosition(as_features(z, "Z", copy=False), q), lengths - 1
    labels = np.ascontiguousarray(y, dtype=np.int32)
    if not possible_states:
        features = with_pairs(features, labels, (p, num_states, width))
    num_rows = 2 + (1 + q) * num_states
    counts = lengths if check_choice("loss", loss, LOSSES) == "errors" else np.ones_like(lengths)
    return ChainProblem(
        n=len(lengths),
        d=num_states * (p + num_rows),
        num_states=num_states,
        width=width,
        num_features=p,
        num_weights=(feature_rows(features, p) + num_rows) * width,
        part_ptr=pointer((lengths + tables * num_states) * width),
        label_ptr=label_ptr,
        labels=labels,
        counts=counts.astype(np.float64),
        x=features,
        is_cut=is_cut,
        transitions=transitions,
        **_products(features, p, transitions, num_states, label_ptr, is_cut),
    )


def _products(x, num_features: int, transitions, num_states: int, label_ptr: np.ndarray, is_cut: np.ndarray) -> dict:
    """Return the fields from which inner products of a sequence's inputs are taken; short sequences have a Gram matrix."""
    lengths = np.diff(label_ptr)
    short = lengths <= (0 if isinstance(transitions, ByPosition) or isinstance(x, PairFeatures) else LONGEST_GRAM)
    gram_ptr = pointer(np.where(short, lengths * (lengths + 1) // 2, 0))
    check_room("the Gram matrices of the sequences", 8 * gram_ptr[-1])
    gram = np.empty(gram_ptr[-1])
    if len(gram):
        packed_gram(x, label_ptr, gram_ptr, gram)
    # The biases of the first and the last label act like one more feature there.
    has_bias = ~is_cut[short].T if len(is_cut) else np.ones((2, 1), dtype=bool)
    gram[gram_ptr[:-1][short]] += has_bias[0]
    gram[gram_ptr[1:][short] - 1] += has_bias[1]
    num_local = np.zeros((len(lengths), 2), dtype=np.int64)
    local_x, local_transitions = NoFeatures(), Shared()
    if not short.all():
        spans = np.column_stack([label_ptr[:-1], label_ptr[1:]])[~short]
        local_x, columns = renumbered(x, spans, num_features)
        num_rows = columns + 2 + num_states
        if isinstance(transitions, ByPosition):
            values, of_transitions = renumbered(transitions.values, spans, transitions.count)
            local_transitions, num_rows = ByPosition(values, transitions.count), num_rows + of_transitions * num_states
        num_local[~short] = np.column_stack([num_rows * padded_width(num_states), columns])
    return {
        "gram_ptr": gram_ptr,
        "gram": gram,
        "local_x": local_x,
        "local_transitions": local_transitions,
        "num_local": num_local,
    }


@protocol.with_inputs.register(ChainProblem)
def _(problem, x, num_features):
    if isinstance(problem.transitions, ByPosition):
        raise OptionError("kernels take problems without features of transitions; solve without Z")
    K = problem.num_states
    return problem._replace(
        d=K * (num_features + 2 + K),
        num_features=num_features,
        num_weights=(num_features + 2 + K) * problem.width,
        x=x,
        **_products(x, num_features, problem.transitions, K, problem.label_ptr, problem.is_cut),
    )


def chain_problem(
    X: Sequence[Any],
    y: Sequence[Any],
    num_states: int | None = None,
    *,
    costs: ArrayLike | None = None,
    nonnegative: Weights | None = None,
    loss: Loss = "share",
    forbidden: Sequence[Pair] = (),
    position_weight: Sequence[ArrayLike] | None = None,
    Z: Sequence[Any] | None = None,
) -> SetOfExamples:
    """Build a sequence-labelling problem from your own arrays.

    Parameters
    ----------
    X : list of (T_i, p) arrays or scipy.sparse matrices
        Inputs of every sequence, used as given: no constant is added.
    y : list of int arrays (T_i,)
        Labels from 0. With ``num_states`` given, -1 is allowed and marks positions of a test set whose label is none of
        them: never predicted, counted wrong; such a problem cannot be trained on.
    num_states : int, optional
        Number of labels K; by default the largest label plus one.
    costs : (K, K) array, optional
        ``costs[true, predicted]`` >= 0 with zeros on the diagonal; by default 1 for every wrong label.
    nonnegative : mask, slice or int array, optional
        Weights that must not be negative: a mask of length d, a slice, or indices from 0.
    loss : {"share", "errors"}
        L_i is the share of wrong positions in sequence i (the test error of ICML 2013, appendix F), or their number; with
        ``costs`` it is the mean of the costs over the positions, or their sum. With ``"errors"`` long sequences count for more,
        and the same ``lam`` n/N, N positions in n sequences, suits sequences of any length. ``evaluate`` and traces have the
        error per position.
    forbidden : list of pairs (from, to), optional
        Transitions that no labeling may have; (None, k) forbids the first label k, and (k, None) the last label k.
    position_weight : list of arrays (T_i,), optional
        Factor >= 0 of the loss at each position, 1 by default.
    Z : list of (T_i - 1, q) arrays or scipy.sparse matrices, optional
        Features of the transitions: row t belongs to the transition from position t to position t + 1, and has a weight for every
        feature and pair of labels. By default, scores of transitions depend on the labels alone.

    Returns
    -------
    ChainProblem
        Its fields include ``n`` and ``d = K p + 2 K + K^2``. w has ``w[f*K + k]`` for feature f and label k, then K weights of the
        first label, K of the last label, and K^2 of the transitions, ``[from*K + to]``. With ``Z``, q K^2 weights
        ``[f*K^2 + from*K + to]`` come before the weights of the first label.

    Raises
    ------
    ValueError
        If there are no sequences, a sequence is empty, lengths or numbers of features differ, features are not finite, sparse
        matrices are malformed, features or costs are out of the scales 1e-50 .. 1e50, labels or ``nonnegative`` are out of range,
        costs are not as above, a true labeling is forbidden, or a weight of a position is negative.

    See Also
    --------
    fwexp.estimators.ChainSVM : The estimator, for labels and features of any type.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.chain_problem([np.eye(3), np.eye(3)[:2]], [[0, 1, 1], [1, 0]])
    >>> problem.n, problem.d
    (2, 14)
    """
    X = as_matrices(X)
    y = [as_labels(f"y[{i}]", labels) for i, labels in enumerate(as_list("y", y, "int arrays (T,), one per sequence"))]
    if len(X) != len(y):
        raise ParameterError(f"X and y must have the same length, got {len(X)} and {len(y)}")
    for i, (x, labels) in enumerate(zip(X, y, strict=True)):
        if x.ndim != 2 or labels.ndim != 1:
            raise ParameterError(f"X[{i}] must have shape (T, p) and y[{i}] (T,), got {x.shape} and {labels.shape}")
        if x.shape[0] != labels.shape[0] or x.shape[0] == 0:
            raise ParameterError(f"X[{i}] and y[{i}] must have the same length T >= 1, got {x.shape[0]} and {len(labels)}")
        if x.shape[1] != X[0].shape[1]:
            raise ParameterError(f"X[{i}] must have {X[0].shape[1]} features like X[0], got {x.shape[1]}")
    labels, p = np.concatenate(y), X[0].shape[1]
    Z = None if Z is None else _edge_rows(Z, y)
    q = 0 if Z is None else Z.shape[1]
    lowest = 0 if num_states is None else -1
    num_states = check_num_labels("num_states", num_states, labels, lambda K: K * (p + 2 + K * (1 + q)))
    check_labels("labels", labels, lowest, num_states)
    problem = chain_from_arrays(stack(X), labels, pointer([len(of_one) for of_one in y]), num_states, loss, z=Z)
    if position_weight is not None:
        position_weight = as_list("position_weight", position_weight, "arrays (T,), one per sequence")
        weights = [as_floats(f"position_weight[{i}]", of, "hold numbers") for i, of in enumerate(position_weight)]
        if [of.shape for of in weights] != [of.shape for of in y]:
            raise ParameterError("position_weight must hold one array (T,) per sequence, like y")
        problem = with_position_weight(problem, np.concatenate(weights))
    if forbidden := as_list("forbidden", forbidden, "pairs (from, to) of labels"):
        problem = with_forbidden(problem, forbidden)
        if (found := first_forbidden(problem)) is not None:
            raise ParameterError("y must hold no forbidden labels, got some in y[{}] at position {}".format(*found))
    return constrained(problem if costs is None else with_costs(problem, costs), nonnegative)


def _edge_rows(Z, y: list):
    """Return the features of transitions with a row for every position, which is 0 for the first ones."""
    Z = as_list("Z", Z, "arrays (T - 1, q), one per sequence")
    if len(Z) != len(y):
        raise ParameterError(f"Z must have one array per sequence, {len(y)}, got {len(Z)}")
    Z = [as_matrix(f"Z[{i}]", z, "hold numbers, shape (T - 1, q)") for i, z in enumerate(Z)]
    for i, (z, labels) in enumerate(zip(Z, y, strict=True)):
        if z.shape != (len(labels) - 1, Z[0].shape[1]):
            raise ParameterError(f"Z[{i}] must have shape (T - 1, q) = ({len(labels) - 1}, {Z[0].shape[1]}), got {z.shape}")
    q = Z[0].shape[1]
    if any(map(sp.issparse, Z)):
        return sp.vstack([block for z in Z for block in (sp.csr_array((1, q)), z)], format="csr")
    return np.concatenate([block for z in Z for block in (np.zeros((1, q)), z)])


def with_position_weight(problem: ChainProblem, weights: np.ndarray) -> ChainProblem:
    """Return a problem whose errors cost more, by weights (positions,)."""
    if (weights < 0).any():
        raise ParameterError(f"position_weight must be >= 0, got {weights.min()}")
    return problem._replace(position_weight=np.ascontiguousarray(weights, dtype=np.float64))


def with_forbidden(problem: ChainProblem, pairs: Sequence[Pair]) -> ChainProblem:
    """Return a problem without the labelings that have a forbidden pair, as `chain_problem` takes them; y is not checked."""
    penalty = np.zeros((2 + problem.num_states, problem.width))
    add_forbidden(penalty, pairs)
    return problem._replace(penalty=penalty)


def add_forbidden(rows: np.ndarray, pairs: Sequence[Pair]) -> None:
    """Set the scores of forbidden pairs in the K + 2 rows of the first and the last label and of transitions."""
    K = len(rows) - 2
    for pair in pairs:
        numbers = [k for k in pair if k is not None] if isinstance(pair, tuple) and len(pair) == 2 else []
        if not numbers or not all(is_integer(k) and 0 <= k < K for k in numbers):
            raise ParameterError(f"forbidden must hold pairs (from, to) of labels 0 .. {K - 1} or one None, got {shown(pair)}")
        one, other = pair
        row = 0 if one is None else 1 if other is None else 2 + one
        rows[row, one if other is None else other] = FORBIDDEN


def first_forbidden(problem: ChainProblem) -> tuple[int, int] | None:
    """Return the first sequence whose true labels are forbidden and the position there, or None."""
    if len(problem.penalty) == 0:
        return None
    starts, ends, y = problem.label_ptr[:-1], problem.label_ptr[1:] - 1, problem.labels
    bad = np.zeros(len(y), dtype=bool)
    bad[1:] = (problem.penalty[2 + y[:-1], y[1:]] < 0.0) & (y[:-1] >= 0) & (y[1:] >= 0)
    bad[starts] = (problem.penalty[0, y[starts]] < 0.0) & (y[starts] >= 0) & ~_cut(problem, 0)
    bad[ends] |= (problem.penalty[1, y[ends]] < 0.0) & (y[ends] >= 0) & ~_cut(problem, 1)
    if not bad.any():
        return None
    place = int(bad.argmax())
    i = int(np.searchsorted(problem.label_ptr, place, side="right")) - 1
    return i, place - int(problem.label_ptr[i])


def _cut(problem: ChainProblem, side: int) -> np.ndarray:
    return problem.is_cut[:, side] if len(problem.is_cut) else np.zeros(problem.n, dtype=bool)


def with_costs(problem: ChainProblem, costs) -> ChainProblem:
    """Return a problem with costs of labels, as `chain_problem` takes them."""
    K = problem.num_states
    excess = np.zeros((K, problem.width))
    excess[:, :K] = check_costs(costs, K) - (1.0 - np.eye(K))
    return problem._replace(excess=excess)


def with_allowed(problem: ChainProblem, allowed: np.ndarray) -> ChainProblem:
    """Return a problem whose positions may have several labels, ``allowed`` (positions, K), which cost nothing there."""
    # In test sets, positions of several labels have the label -1.
    K, y = problem.num_states, problem.labels
    costs, several = np.zeros((len(y), problem.width)), allowed.sum(axis=1) > 1
    costs[:, :K] = 1.0 + (problem.excess[y, :K] * (y >= 0)[:, None] if len(problem.excess) else 0.0)
    costs[several, :K] = ~allowed[several]
    if len(problem.position_weight):
        costs *= problem.position_weight[:, None]
    return problem._replace(position_costs=costs)


def with_known_scores(problem: ChainProblem, scores: np.ndarray, has_losses: bool) -> ChainProblem:
    """Return a problem whose labels have further ``scores`` (positions, K), which no weight changes, and losses or not."""
    # H_i is the maximum of L_i(y) + <w, phi(y) - phi(y_i)> and the difference of these scores, which is a loss like L_i.
    K, y, places = problem.num_states, problem.labels, np.arange(len(problem.labels))
    problem = with_allowed(problem, np.eye(K, dtype=np.bool_)[y])
    lengths = np.diff(problem.label_ptr)
    gains = (scores - scores[places, y][:, None]) * np.repeat(lengths / problem.counts, lengths)[:, None]
    costs = problem.position_costs * has_losses
    costs[:, :K] += gains
    return problem._replace(position_costs=costs)


def as_matrices(X) -> list:
    """Return the inputs of sequences as a list of float64 arrays and scipy.sparse matrices, of any shapes."""
    X = as_list("X", X, "(T, p) arrays, one per sequence")
    if not X:
        raise ParameterError("X must hold at least one sequence, got n = 0")
    return [as_matrix(f"X[{i}]", x, "hold numbers, shape (T, p)") for i, x in enumerate(X)]


@inlined
def divisor(problem, i):
    """Return the divisor of the sum of the costs of sequence i in its loss."""
    return (problem.label_ptr[i + 1] - problem.label_ptr[i]) / problem.counts[i]
