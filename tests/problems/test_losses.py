"""Losses that count wrong positions, and those that are shares of them: one is the other times the length, in every family."""

import numpy as np
import pytest

import fwexp
from fwexp.problems.full_pairs import FullPairsProblem
from tests.small_problems import run_in_plain_python

RNG = np.random.default_rng(5)
SIZES = (1, 3, 2, 4)
X = [RNG.normal(size=(size, 2)) for size in SIZES]
Y = [RNG.permutation([0, 1, 2, 0])[:size] for size in SIZES]
EDGES = [np.array([(v, v + 1) for v in range(size - 1)]).reshape(-1, 2) for size in SIZES]
Z = [RNG.random(size=(size - 1, 1)) for size in SIZES]
NODE_WEIGHTS = [RNG.uniform(0.5, 2.0, size) for size in SIZES]
TWO = [labels % 2 for labels in Y]

# For every family a problem with a loss, and how much the positions of its examples count.
FAMILIES = {
    "chain": (lambda loss: fwexp.chain_problem(X, Y, 3, loss=loss), SIZES),
    "nodes": (lambda loss: fwexp.segmentation_problem(X, EDGES, Z, TWO, NODE_WEIGHTS, loss=loss), [*map(sum, NODE_WEIGHTS)]),
    "labels": (lambda loss: fwexp.segmentation_problem(X, EDGES, Z, Y, NODE_WEIGHTS, 3, loss=loss), [*map(sum, NODE_WEIGHTS)]),
    "pairs": (lambda loss: FullPairsProblem(X, EDGES, Z, Y, 3, loss=loss), SIZES),
}


@pytest.fixture(params=FAMILIES)
def family(request):
    """Return (a problem whose loss counts, the same with shares, the sizes of the examples)."""
    build, sizes = FAMILIES[request.param]
    return build("errors"), build("share"), np.array(sizes, dtype=float)


def some_weights(problem):
    """Return weights in the public order, none of them negative."""
    return np.abs(np.random.default_rng(0).normal(size=problem.d))


@pytest.mark.parametrize("around", ["nothing", "subset", "weights", "weights of a subset"])
def test_errors_are_per_position_whatever_is_around(family, around, monkeypatch):
    run_in_plain_python(monkeypatch)
    counting, sharing, sizes = family
    c, which = np.ones(4), [3, 1, 1]
    if around == "subset":
        counting, sharing, sizes, c = counting.subset(which), sharing.subset(which), sizes[which], c[which]
    elif "weights" in around:
        c = np.array([1.0, 0.0, 2.0, 5.0]) / 2.0
        counting, sharing = (fwexp.weighted_problem(problem, c) for problem in (counting, sharing))
        if "subset" in around:
            counting, sharing, sizes, c = counting.subset(which), sharing.subset(which), sizes[which], c[which]
    w = some_weights(sharing)
    losses = [fwexp.loss(sharing, i, y) for i, y in enumerate(fwexp.predict(sharing, w))]
    got, hinges = fwexp.evaluate(counting, w), [fwexp.max_oracle(counting, i, w)[1] for i in range(sharing.n)]
    assert got.error == pytest.approx(c @ (sizes * losses) / (c @ sizes), abs=1e-14)
    assert got.hinge == pytest.approx(c @ hinges / c.sum(), abs=1e-12)
    assert fwexp.evaluate(sharing, w).error == pytest.approx(c @ losses / c.sum(), abs=1e-14)
