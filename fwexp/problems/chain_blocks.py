"""Dual blocks of chains: the expected parts of every example, as entries (code, value) in one pool.

A block has room for some entries; once they are more, it moves to the end of the pool, with twice the room that it needs.
A kernel asks ``has_room`` before a step, and where there is none the pool is copied to a larger one (``copy_blocks``).

Memory: 24 bytes per example and 12 per place of the pool. At first there are FIRST places per position, all of them
untouched zero pages; a larger pool has at most about 4 places per entry in use.
"""

from typing import NamedTuple

import numpy as np

from fwexp._jit import njit, register_jitable
from fwexp.problems import protocol
from fwexp.problems.chain import ChainProblem
from fwexp.problems.chain_parts import scatter_part

FIRST = 16  # places per position; a labeling differs from the truth in at most 4 parts per position
FEWEST = 1 << 16  # places


class ChainBlocks(NamedTuple):
    """Entries ``first[i] .. first[i] + count[i]`` of the pool belong to example i."""

    codes: np.ndarray  # int32 (places,)
    values: np.ndarray  # float64 (places,)
    first: np.ndarray  # int64 (n,)
    room: np.ndarray  # int64 (n,), places
    count: np.ndarray  # int64 (n,), those in use
    taken: np.ndarray  # int64 (1,): the places from here on are free


def _blocks(problem, places: int) -> ChainBlocks:
    first, room, count = np.zeros((3, problem.n), dtype=np.int64)
    return ChainBlocks(np.zeros(places, dtype=np.int32), np.zeros(places), first, room, count, np.zeros(1, dtype=np.int64))


@protocol.new_blocks.register(ChainProblem)
def _(problem):
    return _blocks(problem, max(FEWEST, FIRST * len(problem.labels)))


@register_jitable
def most_entries(problem, i, blocks):
    """Return the largest number of entries that block i can have after one more step towards a labeling."""
    # p(y) has two parts for every wrong label and for every transition that has one
    step = 4 * (problem.label_ptr[i + 1] - problem.label_ptr[i])
    return min(blocks.count[i] + step, problem.part_ptr[i + 1] - problem.part_ptr[i])


@protocol.has_room.register(ChainProblem)
def _(problem, i, blocks):
    most = most_entries(problem, i, blocks)
    return most <= blocks.room[i] or blocks.taken[0] + 2 * most <= len(blocks.codes)


@njit
def _largest(problem, blocks):
    largest = 0
    for i in range(problem.n):
        largest = max(largest, most_entries(problem, i, blocks))
    return largest


@njit
def _move_all(old, new):
    for i in range(len(old.count)):
        place = new.taken[0]
        new.first[i], new.room[i], new.count[i] = place, old.room[i], old.count[i]
        for e in range(old.count[i]):
            new.codes[place + e] = old.codes[old.first[i] + e]
            new.values[place + e] = old.values[old.first[i] + e]
        new.taken[0] = place + old.room[i]


@protocol.copy_blocks.register(ChainProblem)
def _(problem, blocks):
    copy = _blocks(problem, max(FEWEST, 2 * int(blocks.room.sum() + _largest(problem, blocks))))
    _move_all(blocks, copy)
    return copy


@register_jitable
def make_room(problem, i, need, blocks):
    """Move block i to where there is room for ``need`` entries, and as many again."""
    room = min(2 * need, problem.part_ptr[i + 1] - problem.part_ptr[i])
    first, place = blocks.first[i], blocks.taken[0]
    if place + room > len(blocks.codes):
        raise MemoryError("blocks are full; copy_blocks gives them more room where has_room says no")
    for e in range(blocks.count[i]):
        blocks.codes[place + e] = blocks.codes[first + e]
        blocks.values[place + e] = blocks.values[first + e]
    blocks.first[i], blocks.room[i], blocks.taken[0] = place, room, place + room


@protocol.set_direction.register(ChainProblem)
def _(problem, i, y, blocks, direction):
    # The entries of the block come first and in its order, which is what add_to_block relies on.
    first, count = blocks.first[i], blocks.count[i]
    codes, values = blocks.codes[first : first + count], blocks.values[first : first + count]
    direction.count[0] = count
    for e in range(count):
        direction.codes[e] = codes[e]
        direction.values[e] = -values[e]
        direction.place[codes[e]] = e
    protocol.add_psi(problem, i, y, 1.0, direction)
    protocol.close(problem, i, direction)


@protocol.add_to_block.register(ChainProblem)
def _(problem, i, direction, c, blocks):
    if direction.count[0] > blocks.room[i]:
        make_room(problem, i, direction.count[0], blocks)
    first, count = blocks.first[i], blocks.count[i]
    codes, values = blocks.codes[first : first + blocks.room[i]], blocks.values[first : first + blocks.room[i]]
    for e in range(count):
        values[e] += c * direction.values[e]
    for e in range(count, direction.count[0]):
        if c * direction.values[e] != 0.0:
            codes[count] = direction.codes[e]
            values[count] = c * direction.values[e]
            count += 1
    blocks.count[i] = count


@protocol.scatter_block.register(ChainProblem)
def _(problem, i, blocks, c, w):
    first = blocks.first[i]
    for e in range(first, first + blocks.count[i]):
        scatter_part(problem, i, blocks.codes[e], c * blocks.values[e], w)
