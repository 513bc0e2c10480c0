"""Vectors of parts as entries (code, value), for families whose examples have many parts of which labelings use few.

A code is the place of a part in theta. Dual blocks, the expected parts of every example, are kept in one pool: a block has
room for some entries; once they are more, it moves to the end of the pool, with twice the room that it needs. A kernel asks
``has_room`` before a step, and where there is none the pool is copied to a larger one (``copy_blocks``).

A family that calls `register_sparse_parts` adds to a vector with `add_entry` in its ``add_psi``, registers `scatter_part`
and `most_parts` besides, and replaces whatever it can do faster: what needs the parts of a labeling allocates here.

Memory of blocks: 24 bytes per example and 12 per entry of the pool. At first there are FIRST_ROOM entries per integer of the true
labelings, all of them untouched zero pages; a larger pool has room for about 4 entries per entry in use at most.
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import dispatched, njit, register_jitable, specialise
from fwexp.jit.prefetch import prefetch
from fwexp.problems import protocol

FIRST_ROOM = 16  # entries per integer of a labeling
SMALLEST_POOL = 1 << 16  # entries


class SparseParts(NamedTuple):
    """One vector of parts. A family may have a class of its own, with these fields and more."""

    codes: np.ndarray  # int32, distinct
    values: np.ndarray  # float64
    count: np.ndarray  # int64 (1,), the number of entries
    place: np.ndarray  # int32, as long as theta: the entry of a code while a vector is built, else -1


class SparseBlocks(NamedTuple):
    """Entries ``first[i] .. first[i] + count[i]`` of the pool belong to example i."""

    codes: np.ndarray  # int32 (entries,)
    values: np.ndarray  # float64 (entries,)
    first: np.ndarray  # int64 (n,)
    room: np.ndarray  # int64 (n,), entries
    count: np.ndarray  # int64 (n,), those in use
    taken: np.ndarray  # int64 (1,): the entries from here on are free


# --- what the family says -----------------------------------------------------------------------------------------------


@dispatched(fastmath=False)
def scatter_part(problem, i, code, c, w):
    """Add c times the features of one part of example i, given by its place in theta, to the internal weights w."""


@dispatched(fastmath=False)
def most_parts(problem, i):
    """Return how many parts p_i(y) can have at most, or more."""


# --- vectors ------------------------------------------------------------------------------------------------------------


@register_jitable
def new_vector(size):
    """Return a vector with room for ``size`` entries, as many as there are part scores."""
    codes, place = np.zeros(size, dtype=np.int32), np.full(size, -1, dtype=np.int32)
    return SparseParts(codes, np.zeros(size), np.zeros(1, dtype=np.int64), place)


@register_jitable
def add_entry(v, code, value):
    """Add ``value`` to the entry of ``code``, a new one if there is none; ``place`` must be up to date."""
    e = np.int64(v.place[code])
    if e < 0:
        e = v.count[0]
        v.count[0] = e + 1
        v.place[code] = e
        v.codes[e] = code
        v.values[e] = 0.0
    v.values[e] += value


@register_jitable
def _parts_of(problem, i, y):
    """Return p_i(y)."""
    parts = new_vector(problem.part_ptr[i + 1] - problem.part_ptr[i])
    protocol.add_psi(problem, i, y, 1.0, parts)
    return parts


# --- blocks -------------------------------------------------------------------------------------------------------------


def _blocks(problem, places: int) -> SparseBlocks:
    first, room, count = np.zeros((3, problem.n), dtype=np.int64)
    return SparseBlocks(np.zeros(places, dtype=np.int32), np.zeros(places), first, room, count, np.zeros(1, dtype=np.int64))


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
        place = new.taken[0]
        new.first[i], new.room[i], new.count[i] = place, old.room[i], old.count[i]
        for e in range(old.count[i]):
            new.codes[place + e] = old.codes[old.first[i] + e]
            new.values[place + e] = old.values[old.first[i] + e]
        new.taken[0] = place + old.room[i]


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


# --- what follows -------------------------------------------------------------------------------------------------------


def register_sparse_parts(*classes: type) -> None:
    """Register the functions on vectors of parts and blocks for ``classes``."""

    @protocol.workspace.register(*classes)
    def _(problem):
        size = int(np.diff(problem.part_ptr).max())
        y = np.zeros(int(np.diff(problem.label_ptr).max()), dtype=np.int32)
        return protocol.Workspace(np.zeros(size), new_vector(size), np.zeros(size), y, np.zeros(size))

    @protocol.clear.register(*classes)
    def _(problem, i, direction):
        direction.count[0] = 0

    @protocol.close.register(*classes)
    def _(problem, i, direction):
        for e in range(direction.count[0]):
            direction.place[direction.codes[e]] = -1

    @protocol.set_dense.register(*classes)
    def _(problem, i, values, direction):
        count = problem.part_ptr[i + 1] - problem.part_ptr[i]
        direction.count[0] = count
        for code in range(count):
            direction.codes[code] = code
            direction.values[code] = values[code]

    @protocol.dot.register(*classes)
    def _(problem, i, direction, theta):
        total = 0.0
        for e in range(direction.count[0]):
            total += direction.values[e] * theta[direction.codes[e]]
        return total

    @protocol.psi_score.register(*classes)
    def _(problem, i, y, theta):
        return protocol.dot(problem, i, _parts_of(problem, i, y), theta)

    @protocol.scatter.register(*classes)
    def _(problem, i, direction, c, w):
        for e in range(direction.count[0]):
            scatter_part(problem, i, direction.codes[e], c * direction.values[e], w)

    @protocol.scatter_psi.register(*classes)
    def _(problem, i, y, c, w):
        protocol.scatter(problem, i, _parts_of(problem, i, y), c, w)

    @protocol.new_blocks.register(*classes)
    def _(problem):
        return _blocks(problem, max(SMALLEST_POOL, FIRST_ROOM * int(problem.label_ptr[-1])))

    @protocol.has_room.register(*classes)
    def _(problem, i, blocks):
        most = most_entries(problem, i, blocks)
        return most <= blocks.room[i] or blocks.taken[0] + 2 * most <= len(blocks.codes)

    @protocol.prefetch_vector.register(*classes)
    def _(problem, i, blocks):
        first = blocks.first[i]
        prefetch(blocks.codes, first, first + blocks.count[i])
        prefetch(blocks.values, first, first + blocks.count[i])

    @protocol.copy_blocks.register(*classes)
    def _(problem, blocks):
        most = specialise(_largest, problem)(problem, blocks)
        copy = _blocks(problem, max(SMALLEST_POOL, 2 * int(blocks.room.sum() + most)))
        _move_all(blocks, copy)
        return copy

    @protocol.set_direction.register(*classes)
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

    @protocol.add_to_block.register(*classes)
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

    @protocol.scatter_block.register(*classes)
    def _(problem, i, blocks, c, w):
        first = blocks.first[i]
        for e in range(first, first + blocks.count[i]):
            scatter_part(problem, i, blocks.codes[e], c * blocks.values[e], w)

    @protocol.accumulate.register(*classes)
    def _(problem, i, direction, c, total):
        start = problem.part_ptr[i]
        for e in range(direction.count[0]):
            total[start + direction.codes[e]] += c * direction.values[e]

    @protocol.accumulate_psi.register(*classes)
    def _(problem, i, y, c, total):
        protocol.accumulate(problem, i, _parts_of(problem, i, y), c, total)

    @protocol.scatter_sum.register(*classes)
    def _(problem, total, c, w):
        for i in range(problem.n):
            start = problem.part_ptr[i]
            for code in range(problem.part_ptr[i + 1] - start):
                if total[start + code] != 0.0:
                    scatter_part(problem, i, code, c * total[start + code], w)
