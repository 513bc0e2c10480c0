"""Dual blocks as entries (code, value): the expected parts of every example, in one pool.

A code is the place of a part in theta. A block has room for some entries; when it needs more, it moves to the end of the pool,
with twice the room that it needs. A kernel calls ``has_room`` before a step. If there is none, the caller copies the pool to a
larger one (``copy_blocks``).

Memory: 24 bytes per example and 12 per entry of the pool. At first there are FIRST_ROOM entries per integer of the true
labelings, all of them untouched zero pages; a larger pool has room for about 4 entries per entry in use at most.
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import dispatched, njit, register_jitable, specialise
from fwexp.problems import protocol
from fwexp.problems.walk import Implied, num_shared, row_width, scatter_one, shared_of

FIRST_ROOM = 16  # entries per integer of a labeling
SMALLEST_POOL = 1 << 16  # entries

of_blocks = Implied()


@dispatched(fastmath=False)
def most_parts(problem, i):
    """Return how many parts p_i(y) can have at most, or more."""


class SparseBlocks(NamedTuple):
    """Entries ``first[i] .. first[i] + count[i]`` of the pool belong to example i."""

    codes: np.ndarray  # int32 (entries,)
    values: np.ndarray  # float64 (entries,)
    first: np.ndarray  # int64 (n,)
    room: np.ndarray  # int64 (n,), entries
    count: np.ndarray  # int64 (n,), those in use
    free: np.ndarray  # int64 (parts, 2): where the free entries for examples i with this i % parts begin, and where they end


def _blocks(problem, places: int) -> SparseBlocks:
    first, room, count = np.zeros((3, problem.n), dtype=np.int64)
    return SparseBlocks(np.zeros(places, dtype=np.int32), np.zeros(places), first, room, count, np.array([[0, places]]))


@register_jitable
def most_entries(problem, i, blocks):
    """Return the largest number of entries that block i can have after one more step towards a labeling."""
    return min(blocks.count[i] + most_parts(problem, i), problem.part_ptr[i + 1] - problem.part_ptr[i])


@njit
def _largest(problem, blocks):
    largest = 0
    for i in range(problem.n):
        largest = max(largest, most_entries(problem, i, blocks))
    return largest


@njit
def _move_all(old, new):
    for i in range(len(old.count)):
        place = new.free[0, 0]
        new.first[i], new.room[i], new.count[i] = place, old.room[i], old.count[i]
        for e in range(old.count[i]):
            new.codes[place + e] = old.codes[old.first[i] + e]
            new.values[place + e] = old.values[old.first[i] + e]
        new.free[0, 0] = place + old.room[i]


@register_jitable
def make_room(problem, i, need, blocks):
    """Move block i to where there is room for ``need`` entries, and as many again."""
    room = min(2 * need, problem.part_ptr[i + 1] - problem.part_ptr[i])
    first, part = blocks.first[i], i % len(blocks.free)
    place = blocks.free[part, 0]
    if place + room > blocks.free[part, 1]:
        raise MemoryError("blocks are full; copy_blocks gives them more room where has_room says no")
    for e in range(blocks.count[i]):
        blocks.codes[place + e] = blocks.codes[first + e]
        blocks.values[place + e] = blocks.values[first + e]
    blocks.first[i], blocks.room[i], blocks.free[part, 0] = place, room, place + room


@of_blocks(protocol.new_blocks)
def _(problem):
    return _blocks(problem, max(SMALLEST_POOL, FIRST_ROOM * int(problem.label_ptr[-1])))


@of_blocks(protocol.has_room)
def _(problem, i, blocks):
    most = most_entries(problem, i, blocks)
    part = i % len(blocks.free)
    return most <= blocks.room[i] or blocks.free[part, 0] + 2 * most <= blocks.free[part, 1]


@of_blocks(protocol.copy_blocks)
def _(problem, blocks):
    most = specialise(_largest, problem)(problem, blocks)
    copy = _blocks(problem, max(SMALLEST_POOL, 2 * int(blocks.room.sum() + len(blocks.free) * most)))
    _move_all(blocks, copy)
    return copy


@of_blocks(protocol.divide_blocks)
def _(problem, blocks, parts):
    if len(blocks.free) == parts:
        return blocks
    blocks = blocks if len(blocks.free) == 1 else protocol.copy_blocks(problem, blocks)
    begin, end = blocks.free[0]
    bounds = begin + (end - begin) * np.arange(parts + 1) // parts
    return blocks._replace(free=np.column_stack((bounds[:-1], bounds[1:])))


@of_blocks(protocol.set_direction)
def _(problem, i, y, blocks, direction):
    # The entries of the block come first and in its order, which is what add_to_block relies on.
    first, count = blocks.first[i], blocks.count[i]
    codes, values = blocks.codes[first : first + count], blocks.values[first : first + count]
    direction.count[0] = count
    for e in range(count):
        direction.codes[e] = codes[e]
        direction.values[e] = -values[e]
        direction.entry_of[codes[e]] = e
    protocol.add_psi(problem, i, y, 1.0, direction)
    protocol.close(problem, i, direction)


@of_blocks(protocol.add_to_block)
def _(problem, i, direction, c, blocks):
    if direction.count[0] > blocks.room[i]:
        make_room(problem, i, direction.count[0], blocks)
    first, count = blocks.first[i], blocks.count[i]
    codes, values = blocks.codes[first : first + blocks.room[i]], blocks.values[first : first + blocks.room[i]]
    begin = 0
    for e in range(count):
        while codes[e] != direction.codes[begin]:  # A former call with this direction left out what is 0.
            begin += 1
        values[e] += c * direction.values[begin]
        begin += 1
    for e in range(begin, direction.count[0]):
        if c * direction.values[e] != 0.0:
            codes[count] = direction.codes[e]
            values[count] = c * direction.values[e]
            count += 1
    blocks.count[i] = count


@of_blocks(protocol.scatter_block)
def _(problem, i, blocks, c, w):
    first, size, width, shared = blocks.first[i], num_shared(problem), row_width(problem), shared_of(problem, w)
    for e in range(first, first + blocks.count[i]):
        code, value = blocks.codes[e], c * blocks.values[e]
        if code < size:
            shared[code] += value
        else:
            scatter_one(problem, i, (code - size) // width, (code - size) % width, value, w)
