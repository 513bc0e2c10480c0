"""Stored labelings of every example, with weights: the active sets of pairwise, away and corrective steps, and the oracle
cache, in one structure.

Example i has slots ``first[i] .. first[i+1]``, of which ``count[i]`` are taken; slot 0 is the true labeling, which starts
with weight 1. Labelings are compared by content and kept as their family has them, never as feature vectors: their scores come
from the part scores of the example, and the inner products <psi(a), psi(b)> of an example's labelings are computed once, when
a labeling is stored. Scores are H-values at the current w, g_a = L_i(a) - <w, psi_i(a)>, so the block gap times n is
max_y g_y - sum_a weight_a g_a.

Labelings stand in the storage in the order in which they came, one behind the other: what is not used of it yet, all of it
zeros, takes no memory.

Memory: per slot 28 + 4 m bytes, for m slots of the example, at most 8/3 of those in use and no fewer than at first, less past the
size; and per labeling what the family needs (4 T bytes of a chain of length T; 8 (V + q) of V nodes with q edge features, 2 (V + q)
where those are 0 or 1).
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import inlined, njit, register_jitable, specialise
from fwexp.jit.prefetch import prefetch
from fwexp.memory import releasable_zeros, release
from fwexp.problems.protocol import (
    find_labeling,
    gram_scores,
    labeling_ptr,
    new_storage,
    new_weights,
    norm_sq,
    psi_score,
    psi_scores,
    scatter,
    scatter_labelings,
    score_labelings,
    set_labelings,
    set_psi,
    true_labeling,
    workspace,
)

UNLIMITED = 1 << 60  # a size that active sets never reach
AT_ONCE, PLACES = 1024, 1 << 20  # examples whose sets, and places whose labelings, are moved at once
LEAST_MORE = 4  # slots at least that an example gets past the size: each time that sets grow, all of them are moved
SLOT_TYPES = {"weight": np.float64, "loss": np.float64, "place": np.int64}


class ActiveSets(NamedTuple):
    """The labelings of all examples, slot by slot."""

    first: np.ndarray  # int64 (n + 1,), slots first[i] .. first[i+1] belong to example i
    count: np.ndarray  # int64 (n,), slots in use
    weight: np.ndarray  # float64 (slots,), 0 for labelings that are only cached
    loss: np.ndarray  # float64 (slots,), L_i(a)
    length: np.ndarray  # int64 (n,), entries of a labeling in the storage
    place: np.ndarray  # int64 (slots,), where the labeling is stored
    storage: np.ndarray  # the labelings, with room for one in every slot
    taken: np.ndarray  # int64 (parts,), where the next labeling of an example i with this i % parts goes in the storage
    gram_first: np.ndarray  # int64 (n + 1,), where the inner products of example i begin
    gram: np.ndarray  # float64, <psi(a), psi(b)> for b <= a, row by row
    score: np.ndarray  # float64 (largest room,), g_a of the example at hand
    change: np.ndarray  # float64 (largest room,), of its weights
    product: np.ndarray  # float64 (largest room,), inner products with the labeling that is stored
    scale: np.ndarray  # float64 (1,), its largest loss


@register_jitable
def _add_place(i, slot, sets):
    """Assign the next free place to a slot without a labeling."""
    part = i % len(sets.taken)
    sets.place[sets.first[i] + slot] = sets.taken[part]
    sets.taken[part] += sets.length[i]


@register_jitable
def _write(i, slot, y, sets):
    """Store y as the labeling of a slot that has room for one."""
    place = sets.place[sets.first[i] + slot]
    for t in range(sets.length[i]):
        sets.storage[place + t] = y[t]


@njit
def _store_truths(problem, sets, y):
    for i in range(problem.n):
        true_labeling(problem, i, y)
        _add_place(i, 0, sets)
        _write(i, 0, y, sets)


@register_jitable
def _pairs(count):
    """Return how many inner products labelings have."""
    return count * (count + 1) // 2


@njit
def _move(old, new, start, end):
    """Copy the slots of some examples in ``old`` to ``new``, which has at least as much room."""
    for i in range(start, end):
        for a in range(old.count[i]):
            new.weight[new.first[i] + a] = old.weight[old.first[i] + a]
            new.loss[new.first[i] + a] = old.loss[old.first[i] + a]
            new.place[new.first[i] + a] = old.place[old.first[i] + a]
        for k in range(_pairs(old.count[i])):
            new.gram[new.gram_first[i] + k] = old.gram[old.gram_first[i] + k]


def new_active_sets(problem, room: np.ndarray) -> ActiveSets:
    """Return sets with ``room[i]`` slots for example i that hold the true labeling with weight 1; none if there is no room."""
    length = np.diff(labeling_ptr(problem))
    sets = ActiveSets(
        **_slots(room),
        count=np.ones(problem.n, dtype=np.int64),
        length=length,
        storage=new_storage(problem, int(room @ length)),
        taken=np.zeros(1, dtype=np.int64),
        scale=np.zeros(1),
    )
    if len(sets.weight):
        sets.weight[sets.first[:-1]] = 1.0
        specialise(_store_truths, problem)(problem, sets, workspace(problem).y)
    return sets


def _slots(room: np.ndarray) -> dict[str, np.ndarray]:
    """Return the fields of sets that depend on their room, 0 in all slots."""
    first, gram_first = (np.concatenate(([0], np.cumsum(sizes))).astype(np.int64) for sizes in (room, _pairs(room)))
    fields = {"first": first, "gram_first": gram_first, "gram": releasable_zeros(gram_first[-1])}
    fields |= {name: releasable_zeros(first[-1], dtype) for name, dtype in SLOT_TYPES.items()}
    return fields | dict(zip(("score", "change", "product"), np.zeros((3, int(room.max())))))


def least_memory(problem, room: int) -> int:
    """Return the bytes of sets with room for so many labelings per example, without the labelings themselves."""
    return problem.n * (24 * room + 8 * _pairs(room) + 24)


def more_room(sets: ActiveSets, size: int) -> np.ndarray:
    """Return the room (n,) of sets: more for examples that have little left, past ``size`` an eighth if weights need it."""
    # Past ``size`` labelings without weight are replaced, except for the true one.
    room, begins = np.diff(sets.first), sets.first[:-1]
    kept = np.add.reduceat(sets.weight > 0.0, begins, dtype=np.int64) + (sets.weight[begins] == 0.0)
    below = np.where(4 * sets.count >= 3 * room, np.minimum(2 * room, size), room)
    return np.where(room < size, below, np.where(4 * kept >= 3 * room, room + np.maximum(room // 8, LEAST_MORE), room))


def with_places(problem, sets: ActiveSets, room: np.ndarray, *, keep: bool = False) -> ActiveSets:
    """Return the sets with a storage that has places for ``room[i]`` labelings of example i; ``keep`` as of `with_room`."""
    end = int(sets.taken.max())
    storage = new_storage(problem, end + int((room - sets.count) @ sets.length))
    for start in range(0, end, PLACES):
        piece = slice(start, min(start + PLACES, end))
        storage[piece] = sets.storage[piece]
        if not keep:
            release(sets.storage, piece.start, piece.stop)
    return sets._replace(storage=storage, taken=np.array([end]))


def with_room(sets: ActiveSets, room: np.ndarray, *, keep: bool = False) -> ActiveSets:
    """Return sets with more room, whose storage has the places; without ``keep`` the former give up their memory piece by piece."""
    found = sets._replace(**_slots(room), count=sets.count.copy())
    old, new = (each._replace(storage=np.empty(0)) for each in (sets, found))  # Labelings stay where they are.
    for start in range(0, len(room), AT_ONCE):
        end = min(start + AT_ONCE, len(room))
        _move(old, new, start, end)
        if not keep:
            release(sets.gram, sets.gram_first[start], sets.gram_first[end])
            for name in SLOT_TYPES:
                release(getattr(sets, name), sets.first[start], sets.first[end])
    return found


def divided(problem, sets: ActiveSets, parts: int) -> ActiveSets:
    """Return ``sets`` for threads: thread t stores labelings of the examples i with i % parts = t only, in its part of the room."""
    if len(sets.taken) == parts:
        return sets
    sets = sets if len(sets.taken) == 1 else copied(problem, sets)
    free = (np.diff(sets.first) - sets.count) * sets.length
    sizes = [int(free[part::parts].sum()) for part in range(parts - 1)]
    return sets._replace(taken=sets.taken + np.cumsum([0, *sizes]))


def for_thread(sets: ActiveSets) -> ActiveSets:
    """Return the same sets with buffers of their own."""
    score, change, product = np.zeros((3, len(sets.score)))
    return sets._replace(score=score, change=change, product=product, scale=np.zeros(1))


def copied(problem, sets: ActiveSets) -> ActiveSets:
    """Return a copy."""
    room = np.diff(sets.first)
    return with_room(with_places(problem, sets, room, keep=True), room, keep=True)


def owners(sets: ActiveSets) -> np.ndarray:
    """Return the example whose labeling stands at each place of the storage, one entry per place; -1 where there is none."""
    example = np.repeat(np.arange(len(sets.count)), sets.count)
    slots = np.arange(len(example)) - np.repeat(np.cumsum(sets.count) - sets.count - sets.first[:-1], sets.count)
    owner = np.full(len(sets.storage), -1)
    owner[sets.place[slots]] = example
    return owner


@register_jitable
def labeling_at(sets, i, a):
    """Return the labeling in slot a of example i, usable as a y."""
    place = sets.place[sets.first[i] + a]
    return sets.storage[place : place + sets.length[i]]


@njit
def mean_norm_sq(sets):
    """Return the mean of ||psi_i(a)||^2 over all stored labelings other than the true ones; 0 where there are none."""
    total, count = 0.0, 0
    for i in range(len(sets.count)):
        for a in range(1, sets.count[i]):
            total += gram_entry(i, a, a, sets)
            count += 1
    return total / max(count, 1)


@register_jitable
def prefetch_set(i, sets):
    """Prefetch what is stored of example i."""
    first, count = sets.first[i], sets.count[i]
    prefetch(sets.weight, first, first + count)
    prefetch(sets.loss, first, first + count)
    prefetch(sets.gram, sets.gram_first[i], sets.gram_first[i] + _pairs(count))
    for a in range(1, count):
        place = sets.place[first + a]
        prefetch(sets.storage, place, place + sets.length[i])


@register_jitable
def score_all(problem, i, theta, sets):
    """Set ``score`` to g_a of all labelings of example i, ``scale`` to their largest loss, and ``change`` to 0."""
    first, count = sets.first[i], sets.count[i]
    psi_scores(problem, i, sets.storage, sets.place[first + 1 : first + count], theta, sets.score[1:count])
    _begin(i, sets)


@inlined
def score_at(problem, i, w, work, sets):
    """Score all stored labelings from w, without computing every part score."""
    first, count = sets.first[i], sets.count[i]
    score_labelings(problem, i, sets.storage, sets.place[first + 1 : first + count], w, work, sets.score[1:count])
    _begin(i, sets)


@inlined
def _begin(i, sets):
    """Start steps of example i, with <w, psi_i(a)> in ``score``."""
    first = sets.first[i]
    sets.score[0] = sets.change[0] = sets.scale[0] = 0.0
    for a in range(1, sets.count[i]):
        sets.scale[0] = max(sets.scale[0], sets.loss[first + a])
        sets.score[a] = sets.loss[first + a] - sets.score[a]
        sets.change[a] = 0.0


@register_jitable
def mean_score(i, sets):
    """Return sum_a weight_a g_a, the score of the block."""
    total = 0.0
    for a in range(1, sets.count[i]):
        total += sets.weight[sets.first[i] + a] * sets.score[a]
    return total


@register_jitable
def store(problem, i, y, loss, theta, size, sets, work):
    """Return the slot of labeling y, stored now if it is new; -1 if there is no room for it. Keeps the scores up to date.

    With ``size`` labelings stored, a new one takes the place of the one without weight whose score is lowest, else the set grows.
    """
    first, room = sets.first[i], sets.first[i + 1] - sets.first[i]
    found = find_labeling(problem, i, y, sets.storage, sets.place[first : first + sets.count[i]])
    if found >= 0:
        return found
    slot = sets.count[i]
    if slot >= size:
        for a in range(1, sets.count[i]):
            if sets.weight[first + a] == 0.0 and (slot == sets.count[i] or sets.score[a] < sets.score[slot]):
                slot = a
    if slot >= room:
        return -1
    if slot == sets.count[i]:
        sets.count[i] = slot + 1
        _add_place(i, slot, sets)
    _write(i, slot, y, sets)
    sets.weight[first + slot] = 0.0
    sets.loss[first + slot] = loss
    sets.scale[0] = max(sets.scale[0], loss)
    sets.score[slot] = loss - psi_score(problem, i, y, theta)
    sets.change[slot] = 0.0
    set_psi(problem, i, y, work.direction)
    if sets.count[i] == 2:  # it and the true labeling, psi = 0; a norm is sooner computed than products with what is stored
        sets.gram[gram_place(i, slot, slot, sets)] = norm_sq(problem, i, work.direction)
        return slot
    gram_scores(problem, i, work.direction, work.image)
    count = sets.count[i]
    psi_scores(problem, i, sets.storage, sets.place[first + 1 : first + count], work.image, sets.product[1:count])
    for a in range(1, count):
        sets.gram[gram_place(i, a, slot, sets)] = sets.product[a]
    return slot


@register_jitable
def has_room(i, size, sets):
    """Return whether ``store`` is sure to find room for a labeling of example i."""
    first, count = sets.first[i], sets.count[i]
    room = count < sets.first[i + 1] - first
    if not room and count >= size:
        for a in range(1, count):
            room = room or sets.weight[first + a] == 0.0
    return room


@register_jitable
def gram_place(i, a, b, sets):
    """Return where <psi(a), psi(b)> is stored."""
    return sets.gram_first[i] + _pairs(max(a, b)) + min(a, b)


@register_jitable
def gram_entry(i, a, b, sets):
    """Return <psi(a), psi(b)>."""
    return sets.gram[gram_place(i, a, b, sets)]


@register_jitable
def distance_sq(i, a, b, sets):
    """Return ||psi(a) - psi(b)||^2."""
    return gram_entry(i, a, a, sets) + gram_entry(i, b, b, sets) - 2.0 * gram_entry(i, a, b, sets)


@register_jitable
def loss_change(i, sets):
    """Return sum_a change_a L_i(a), the change of n ell_i."""
    total = 0.0
    for a in range(1, sets.count[i]):
        total += sets.change[a] * sets.loss[sets.first[i] + a]
    return total


@register_jitable
def set_change(problem, i, sets, direction):
    """Set ``direction`` to sum_a change_a p(a); return the change of n ell_i."""
    first, count = sets.first[i], sets.count[i]
    set_labelings(problem, i, sets.storage, sets.place[first + 1 : first + count], sets.change[1:count], direction)
    return loss_change(i, sets)


@register_jitable
def scatter_change(problem, i, sets, c, direction, w):
    """Add c sum_a change_a psi(a) to the internal weights w."""
    first, count = sets.first[i], sets.count[i]
    places = sets.place[first + 1 : first + count]
    scatter_labelings(problem, i, sets.storage, places, sets.change[1:count], c, direction, w)


@register_jitable
def change_norm_sq(i, sets):
    """Return ||sum_a change_a psi(a)||^2."""
    total = 0.0
    for a in range(1, sets.count[i]):
        if sets.change[a] != 0.0:
            total += sets.change[a] * sets.change[a] * gram_entry(i, a, a, sets)
            for b in range(1, a):
                if sets.change[b] != 0.0:
                    total += 2.0 * sets.change[a] * sets.change[b] * gram_entry(i, a, b, sets)
    return max(total, 0.0)


@njit
def _weights(problem, sets, direction, c, w, losses):
    for i in range(problem.n):
        for a in range(sets.count[i]):
            sets.change[a] = sets.weight[sets.first[i] + a]
        losses[i] = set_change(problem, i, sets, direction)
        scatter(problem, i, direction, c, w)


def from_scratch(problem, sets: ActiveSets, c: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the internal weights c sum_i sum_a weight_a psi_i(a) and the n ell_i (n,) that the sets stand for."""
    w, losses = new_weights(problem), np.zeros(problem.n)
    specialise(_weights, problem)(problem, sets, workspace(problem).direction, c, w, losses)
    return w, losses
