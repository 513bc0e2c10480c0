"""Every form of every compiled family at random, with all labelings, joint features and losses by their definition."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import fwexp
from fwexp.problems import protocol
from fwexp.problems.chain import chain_from_arrays, with_costs, with_forbidden, with_position_weight
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures
from fwexp.problems.full_pairs import FullPairsProblem
from tests import reference as ref
from tests import small_graphs

CLASSES = {"dense": DenseFeatures, "sparse": SparseFeatures, "binary": BinaryFeatures}
P, Q = 2, 2
FORBIDDEN = [(0, 1), (2, 2), (None, 2), (1, None)]
PARENTS, FEATURES = (1, -1, 1), ([0], [0, 1], [1])  # of poses: the root is in the middle


class Defined(NamedTuple):
    """A problem and its definition. Where labelings tie, the first one is taken: ``ties`` says of which decodings."""

    problem: Any
    labelings: list  # all of every example
    truth: list
    phi: Callable  # of an example and a labeling
    loss: Callable
    ties: str = ""
    slack: bool = False

    def of_all(self, i):
        """Return losses and psi of all labelings of an example."""
        losses = np.array([self.loss(i, y) for y in self.labelings[i]])
        psi = self.phi(i, self.truth[i]) - np.array([self.phi(i, y) for y in self.labelings[i]])
        return losses, psi * (losses[:, None] if self.slack else 1.0)

    def written_out(self) -> ref.TinyProblem:
        """Return all of it, as the transcriptions take it."""
        losses, psi = zip(*map(self.of_all, range(self.problem.n)))
        numbers = [[np.array_equal(y, true) for y in of_i].index(True) for of_i, true in zip(self.labelings, self.truth)]
        return ref.TinyProblem(psi, losses, tuple(self.labelings), tuple(numbers))


def values(rng, shape, kind, integers):
    """Return an array of inputs, with zeros where they are sparse, in small integers where scores shall tie."""
    if kind == "binary":
        return (rng.random(shape) < 0.6) * 1.0
    x = rng.integers(-2, 3, size=shape) * 1.0 if integers else rng.normal(size=shape)
    return x if kind == "dense" else x * (rng.random(shape) < 0.7) + np.where(np.arange(shape[-1]) == 0, 0.5, 0.0)


def given_as(kind, x):
    return x if kind == "dense" else sp.csr_array(x)


def chains(rng, integers, *, K=3, kind="dense", edges=None, costs=None, forbidden=(), cuts=None, weigh=False, loss="share", **more):
    """Chains of 1 to 4 positions; ``edges`` is the kind of the features of transitions."""
    lengths = rng.choice([1, 2] if K > 4 else [1, 2, 4] if integers else [1, 2, 3, 4], size=2 if edges else 3)
    cuts = np.zeros((len(lengths), 2), bool) if cuts is None else rng.random((len(lengths), 2)) < 0.5
    q = Q if edges else 0

    def is_allowed(y, cut):
        ends = [*([] if cut[0] else [(None, y[0])]), *([] if cut[1] else [(y[-1], None)])]
        return not any(pair in forbidden for pair in [*pairwise(y), *ends])

    every = [[y for y in product(range(K), repeat=T) if is_allowed(y, cut)] for T, cut in zip(lengths, cuts)]
    every = [[np.array(y) for y in sorted(of_i, key=lambda y: y[::-1])] for of_i in every]
    truth = [of_i[rng.integers(len(of_i))] for of_i in every]
    X = [values(rng, (T, P), kind, integers) for T in lengths]
    Z = [values(rng, (T - 1, q), edges, integers) for T in lengths]
    weights = [rng.random(T) * 2 if weigh else np.ones(T) for T in lengths]
    given, more = [given_as(kind, x) for x in X], more | ({"forbidden": forbidden} if forbidden else {})
    if cuts.any():
        assert not edges
        assert "nonnegative" not in more
        ptr = np.concatenate(([0], np.cumsum(lengths)))
        problem = chain_from_arrays(np.concatenate(X), np.concatenate(truth), ptr, K, loss, cuts)
        problem = with_forbidden(with_position_weight(problem, np.concatenate(weights)), forbidden)
        problem = problem if costs is None else with_costs(problem, costs)
    else:
        more |= {"Z": [given_as(edges, z) for z in Z]} if edges else {}
        more |= {"position_weight": weights} if weigh else {}
        problem = fwexp.chain_problem(given, truth, K, costs=costs, loss=loss, **more)

    def phi(i, y):
        w = np.zeros((P + q * K + 2 + K, K))
        for x, label in zip(X[i], y, strict=True):
            w[:P, label] += x
        w[P + q * K, y[0]] += not cuts[i, 0]
        w[P + q * K + 1, y[-1]] += not cuts[i, 1]
        for t, (a, b) in enumerate(pairwise(y)):
            w[P + K * np.arange(q) + a, b] += Z[i][t]
            w[P + q * K + 2 + a, b] += 1.0
        return w.ravel()

    def loss_of(i, y):
        each = weights[i] * (truth[i] != y if costs is None else costs[truth[i], y])
        return np.sum(each) if loss == "errors" else np.mean(each)

    ties = "" if edges or weigh else "decode" if costs is not None else "both"
    return Defined(problem, every, truth, phi, loss_of, ties)


def classes(rng, integers, *, kind="dense", slack=False, sizes=None, **more):
    n, (p, K) = 4, sizes or (int(rng.integers(1, 5)), int(rng.integers(1, 6)))
    X, y = values(rng, (n, p), kind, integers), rng.integers(K, size=n)
    costs = rng.integers(1, 4, size=(K, K)) * (1.0 - np.eye(K))
    rescaling = "slack" if slack else "margin"
    problem = fwexp.multiclass_problem(given_as(kind, X), y, K, costs=costs, rescaling=rescaling, **more)

    def phi(i, k):
        return np.outer(X[i], np.arange(K) == k).ravel()

    return Defined(problem, [list(range(K))] * n, y.tolist(), phi, lambda i, k: costs[y[i], k], "both", slack)


def outputs(rng, integers, *, slack=False, sizes=(2, 1, 4), **more):
    psi = [np.vstack((np.zeros(3), values(rng, (m, 3), "dense", integers))) for m in sizes]
    losses = [np.append(0.0, rng.integers(0, 4, size=len(rows) - 1) / 2.0) for rows in psi]
    problem = fwexp.enumerated_problem(psi, losses, rescaling="slack" if slack else "margin", **more)
    every = [list(range(len(rows))) for rows in psi]
    return Defined(problem, every, [0] * len(sizes), lambda i, k: -psi[i][k], lambda i, k: losses[i][k], "both", slack)


def matchings_of(rows, columns, column_links=1):
    """Return every matching of a grid, as arrays of links."""
    sizes = range(min(rows, columns * column_links) + 1)
    chosen = (
        (r, c)
        for m in sizes
        for r in combinations(range(rows), m)
        for c in product(range(columns), repeat=m)
        if max(map(c.count, c), default=0) <= column_links
    )
    return [np.array(list(zip(r, c)), dtype=int).reshape(-1, 2) for r, c in chosen]


def matchings(rng, integers, *, kind="dense", costs=(1.0, 3.0), p=3, **more):
    shapes = [(int(rng.integers(1, 4)), int(rng.integers(1, 4))) for _ in range(3)]
    X = [values(rng, (*shape, p), kind, integers) for shape in shapes]
    most = more.get("column_links", 1)
    every = [matchings_of(*shape, most) for shape in shapes]
    truth = [of_i[rng.integers(len(of_i))] for of_i in every]
    given = X if kind == "dense" else [sp.csr_array(x.reshape(-1, p)) for x in X]
    more |= {} if kind == "dense" else {"shapes": shapes}
    problem = fwexp.matching_problem(given, truth, precision_cost=costs[0], recall_cost=costs[1], **more)

    def phi(i, links):
        return X[i][links[:, 0], links[:, 1]].sum(axis=0)

    def loss(i, links):
        true, found = (set(map(tuple, one.tolist())) for one in (truth[i], links))
        worst = costs[1] * len(true) + costs[0] * min(shapes[i][0], shapes[i][1] * most)
        return (costs[0] * len(found - true) + costs[1] * len(true - found)) / worst

    return Defined(problem, every, truth, phi, loss)


def poses(rng, integers, **more):
    """Three parts in images of at most 4 cells."""
    shapes = [((2, 2), (1, 3), (3, 1), (1, 1))[k] for k in rng.integers(4, size=2)]
    X = [values(rng, (*shape, 2), "dense", integers) for shape in shapes]
    every = [[np.array(pose) for pose in product(product(*map(range, shape)), repeat=3)] for shape in shapes]
    truth = [of_i[rng.integers(len(of_i))] for of_i in every]
    problem = fwexp.pose_problem(X, truth, PARENTS, features=FEATURES, reach=1.5, unit=2.0, **more)

    def phi(i, pose):
        parts = [X[i][tuple(place)][chosen] for place, chosen in zip(pose, FEATURES, strict=True)]
        away = [(pose[k] - pose[PARENTS[k]] - problem.offsets[k]) / 2.0 for k in (0, 2)]
        return np.concatenate(parts + [-np.array([down**2, down, right**2, right]) for down, right in away])

    def loss(i, pose):
        return np.mean(np.minimum(1.0, np.hypot(*(pose - truth[i]).T) / 1.5))

    return Defined(problem, every, truth, phi, loss)


def graphs(rng, integers, *, kind="dense", num_labels=2, edges="any", loss="share", foreground_only=False):
    """Graphs of up to 5 nodes; ``edges`` may make them forests, of which in one all nodes are in one tree, or take all away."""
    X, pairs, Z, y, sizes = small_graphs.random_arrays(rng, 3, kind == "binary", edges != "none", num_labels)
    if edges == "forest":
        for i, x in enumerate(X):
            pairs[i] = [(v, int(rng.integers(v)))[:: rng.choice([-1, 1])] for v in range(1, len(x)) if i == 0 or rng.random() < 0.8]
            Z[i] = values(rng, (len(pairs[i]), small_graphs.Q), "binary", integers)
            Z[i] *= 1.0 if kind == "binary" else rng.random(Z[i].shape)
    if integers:
        X, Z = [np.rint(3 * x) for x in X], [np.rint(2 * z) for z in Z]
    problem = small_graphs.build(X, pairs, Z, y, sizes, kind, num_labels=num_labels, loss=loss, foreground_only=foreground_only)

    def phi(i, labels):
        return small_graphs.phi(X[i], pairs[i], Z[i], labels, num_labels, foreground_only)

    def loss_of(i, labels):
        wrong = small_graphs.hamming(y[i], sizes[i], labels, loss == "balanced")
        return wrong * sizes[i].sum() if loss == "errors" else wrong

    every = [[np.array(labels) for labels in product(range(num_labels), repeat=len(x))] for x in X]
    return Defined(problem, every, y, phi, loss_of, "decode" if num_labels == 2 else "")


def pairs_of_labels(rng, integers, *, loss="share"):
    """Graphs of a family in Python with scores for every pair of labels; its own functions define it."""
    X, edges, Z, y, _ = small_graphs.random_arrays(rng, 3, num_labels=3)
    problem = FullPairsProblem(X, edges, Z, y, 3, loss=loss)
    every = [[np.array(labels) for labels in product(range(3), repeat=len(x))] for x in X]

    def phi(i, labels):
        return fwexp.joint_feature(problem, i, labels).toarray()[0]

    return Defined(problem, every, y, phi, lambda i, labels: fwexp.loss(problem, i, labels))


def in_functions(rng, integers, *, make=outputs, sparse=False, **more):
    """Another form given by functions in Python, which count their calls; their oracle tries all labelings."""
    defined, calls = make(rng, integers, **more), Counter()
    every, tables = defined.labelings, [defined.of_all(i) for i in range(defined.problem.n)]

    def counted(name, function):
        def call(i, argument):
            calls[name] += 1
            return function(i, argument)

        return call

    functions = {
        "features": (lambda i, y: sp.csr_array(defined.phi(i, y)[None])) if sparse else defined.phi,
        "loss": defined.loss,
        "max_oracle": lambda i, w: every[i][int(np.argmax(tables[i][0] - tables[i][1] @ w))],
        "decode": lambda i, w: every[i][int(np.argmin(tables[i][1] @ w))],
    }
    bounds = {name: value for name, value in more.items() if name == "nonnegative"}
    problem = fwexp.CallbackProblem(defined.truth, **{name: counted(name, each) for name, each in functions.items()}, **bounds)
    problem.calls = calls
    return defined._replace(problem=problem)


COSTS = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, 3.0], [4.0, 0.25, 0.0]])
CUT = {"forbidden": FORBIDDEN, "cuts": True, "weigh": True}
FOREST = {"edges": "forest"}
FORMS = {  # each of them takes a random generator, and whether scores shall tie
    **{f"{kind} chain": (chains, {"kind": kind}) for kind in CLASSES},
    "chain of one label": (chains, {"K": 1}),
    "chain of many labels": (chains, {"K": 9}),
    "chain of more labels": (chains, {"K": 17, "kind": "binary"}),
    "chain that counts": (chains, {"loss": "errors"}),
    "chain with costs": (chains, {"costs": COSTS}),
    "chain with costs that counts": (chains, {"costs": COSTS, "loss": "errors"}),
    "chain with forbidden pairs": (chains, {"forbidden": FORBIDDEN}),
    "cut chain": (chains, CUT),
    "cut chain with costs": (chains, CUT | {"costs": COSTS, "loss": "errors"}),
    **{f"chain with {kind} edges": (chains, {"edges": kind, "loss": "errors"}) for kind in CLASSES},
    "chain with edges and forbidden pairs": (chains, {"edges": "dense", "forbidden": FORBIDDEN}),
    "chain of many labels with edges": (chains, {"edges": "dense", "K": 17}),
    **{f"{kind} classes": (classes, {"kind": kind}) for kind in CLASSES},
    "classes of many features": (classes, {"sizes": (64, 2)}),
    "sparse classes of many labels": (classes, {"kind": "sparse", "sizes": (17, 10)}),
    "classes of many labels": (classes, {"sizes": (17, 10)}),
    "classes with slack": (classes, {"slack": True}),
    "outputs": (outputs, {}),
    "outputs with slack": (outputs, {"slack": True}),
    **{f"{kind} matchings": (matchings, {"kind": kind}) for kind in CLASSES},
    "matchings with other costs": (matchings, {"costs": (2.0, 0.5)}),
    "matchings with two links per column": (matchings, {"column_links": 2}),
    "poses": (poses, {}),
    **{f"{kind} graphs": (graphs, {"kind": kind}) for kind in CLASSES},
    "balanced graphs": (graphs, {"loss": "balanced"}),
    "graphs of which the foreground counts": (graphs, {"foreground_only": True}),
    **{f"{kind} graphs of three labels": (graphs, {"kind": kind, "num_labels": 3}) for kind in CLASSES},
    "balanced graphs of three labels": (graphs, {"num_labels": 3, "loss": "balanced"}),
    "graphs of three labels without edges": (graphs, {"num_labels": 3, "edges": "none"}),
    "forests": (graphs, FOREST),
    "forests that count": (graphs, FOREST | {"loss": "errors"}),
    "forests of which the foreground counts": (graphs, FOREST | {"foreground_only": True}),
    "forests of three labels": (graphs, FOREST | {"num_labels": 3}),
    "forests of three labels that count": (graphs, FOREST | {"num_labels": 3, "loss": "errors"}),
    "balanced forests of three labels": (graphs, FOREST | {"num_labels": 3, "loss": "balanced"}),
}
IN_PYTHON = {
    "functions": (in_functions, {}),
    "sparse functions": (in_functions, {"sparse": True}),
    "pairs of labels": (pairs_of_labels, {}),
    "pairs that count": (pairs_of_labels, {"loss": "errors"}),
}


def build(form, seed=0, integers=False, **more) -> Defined:
    """Return a random problem of a form with its definition."""
    make, options = (FORMS | IN_PYTHON)[form]
    return make(np.random.default_rng(seed), integers, **options | more)


def feasible(problem, w):
    """Return w with the weights made positive that must not be negative."""
    bounded = protocol.to_public(problem, np.isin(np.arange(problem.num_weights), problem.nonnegative) * 1.0)
    return np.where(bounded > 0.0, np.abs(w), w)
