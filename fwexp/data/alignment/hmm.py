"""Word alignment without supervision: IBM Model 1 (Brown et al. 1993), then the HMM (Vogel, Ney and Tillmann 1996).

Given a source sentence of I words, the model makes the words of the target sentence one after the other: it moves from
source position i' to i with a probability that depends on the jump i - i' only, or with probability `P_NULL` makes a word
from nothing and stays (Och and Ney 2003), and then says target word t with probability p(t | s) for the word s it is at.
Model 1 is the same with all positions equally likely, and gives the HMM its first p(t | s). Both are fitted by EM.

Every target word so gets at most one source word. Alignments of both directions are combined by intersecting them, which
leaves links that are a matching.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fwexp.data.alignment.bitext import Bitext, Lexicon, swapped
from fwexp.jit.compilation import njit, register_jitable

MODEL_1_ITERATIONS = 5
HMM_ITERATIONS = 5
P_NULL = 0.2
WIDEST = 8  # jumps beyond this width have one probability in either direction ...
WIDEST_SHARE = 10  # ... which is the count of all of them, divided by this
FLOOR = 1e-7  # the least p(t | s), for word pairs that were never seen together


class Model(NamedTuple):
    """p(t | s) of one direction, and the jumps."""

    lexical: np.ndarray  # float64, of every word pair of the lexicon
    null: np.ndarray  # float64, of every target word from nothing
    jumps: np.ndarray  # float64 (2 WIDEST + 3,), relative weights of the jumps -WIDEST - 1 .. WIDEST + 1, shared at the ends


def align(lexicon: Lexicon, text: Bitext) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Fit both directions to a text; return its links (e, f) where an f has at most one e, and the reverse."""
    return tuple(best_links(fit(lexicon, text, reverse), text, reverse) for reverse in (False, True))


def fit(lexicon: Lexicon, train: Bitext, reverse: bool = False) -> Model:
    """Fit one direction: from e to f, or from f to e."""
    text = swapped(train) if reverse else train
    source_of = lexicon.f_of if reverse else lexicon.e_of
    num_targets = len(lexicon.e_words if reverse else lexicon.f_words)
    model = Model(
        lexical=np.full(len(lexicon.codes), 1.0 / num_targets),
        null=np.full(num_targets, 1.0 / num_targets),
        jumps=np.ones(2 * WIDEST + 3),
    )
    for iteration in range(MODEL_1_ITERATIONS + HMM_ITERATIONS):
        counts = Model(*map(np.zeros_like, model))
        if iteration < MODEL_1_ITERATIONS:
            _count_model_1(text, model, counts)
            jumps = model.jumps
        else:
            _count_hmm(text, model, counts, _longest(text), P_NULL, WIDEST, FLOOR)
            jumps = counts.jumps / counts.jumps.sum()
            jumps[[0, -1]] /= WIDEST_SHARE
        totals = np.bincount(source_of, counts.lexical)
        model = Model(
            lexical=counts.lexical / np.maximum(totals, 1e-300)[source_of],
            null=counts.null / counts.null.sum(),
            jumps=jumps,
        )
    return model


def best_links(model: Model, text: Bitext, reverse: bool = False) -> list[np.ndarray]:
    """Return the links (e, f) of the most likely alignment of every sentence pair."""
    text = swapped(text) if reverse else text
    source = np.empty(text.f_ptr[-1], dtype=np.int64)
    _viterbi(text, model, _longest(text), P_NULL, WIDEST, FLOOR, source)
    links = []
    for start, end in pairwise(text.f_ptr):
        target = np.flatnonzero(source[start:end] >= 0)
        pair = (target, source[start:end][target]) if reverse else (source[start:end][target], target)
        links.append(np.column_stack(pair))
    return links


def _longest(text: Bitext) -> int:
    return int(max(np.diff(text.e_ptr).max(), np.diff(text.f_ptr).max()))


def intersect(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the links that are in both sets, int array (m, 2), in the order of rows."""
    both = set(map(tuple, first.tolist())) & set(map(tuple, second.tolist()))
    return np.array(sorted(both), dtype=np.int64).reshape(-1, 2)


# Kernels go from the words e of a text to the words f.


@register_jitable
def _emissions(text, s, model, floor, cells, emission, null):
    """Set ``emission[t, i]`` to p(target word t | source word i), and ``null[t]`` for the null word; return the number of words."""
    num_sources, num_targets = text.e_ptr[s + 1] - text.e_ptr[s], text.f_ptr[s + 1] - text.f_ptr[s]
    for t in range(num_targets):
        word = text.f[text.f_ptr[s] + t]
        null[t] = max(model.null[word], floor) if word >= 0 else floor
        for i in range(num_sources):
            cell = text.cells[text.cell_ptr[s] + i * num_targets + t]
            cells[t, i] = cell
            emission[t, i] = max(model.lexical[cell], floor) if cell >= 0 else floor
    return num_sources, num_targets


@register_jitable
def _fill_moves(jumps, size, p_null, widest, moves):
    """Set ``moves[i' + 1, i]`` to the probability of moving from i' to i; sentences begin at i' = -1."""
    for before in range(-1, size):
        total = 0.0
        for i in range(size):
            jump = min(max(i - before, -widest - 1), widest + 1)
            moves[before + 1, i] = jumps[jump + widest + 1] + 1e-9
            total += moves[before + 1, i]
        for i in range(size):
            moves[before + 1, i] *= (1.0 - p_null) / total


@njit
def _count_model_1(text, model, counts):
    for s in range(len(text.e_ptr) - 1):
        num_sources, num_targets = text.e_ptr[s + 1] - text.e_ptr[s], text.f_ptr[s + 1] - text.f_ptr[s]
        for t in range(num_targets):
            word = text.f[text.f_ptr[s] + t]
            first = text.cell_ptr[s] + t
            total = model.null[word]
            for i in range(num_sources):
                total += model.lexical[text.cells[first + i * num_targets]]
            counts.null[word] += model.null[word] / total
            for i in range(num_sources):
                cell = text.cells[first + i * num_targets]
                counts.lexical[cell] += model.lexical[cell] / total


@njit
def _count_hmm(text, model, counts, longest, p_null, widest, floor):
    """Add the expected counts of words and jumps (forward-backward, scaled)."""
    shape = (longest, longest)
    cells, emission, null = np.empty(shape, dtype=np.int64), np.empty(shape), np.empty(longest)
    forward, idle = np.empty(shape), np.empty(shape)  # at a word, and from nothing since that word
    moves, moved = np.empty((longest + 1, longest)), np.empty((longest + 1, longest))
    backward, ahead, scale, starts = np.empty(longest + 1), np.empty(longest), np.empty(longest), np.empty(longest + 1)
    for s in range(len(text.e_ptr) - 1):
        size, length = _emissions(text, s, model, floor, cells, emission, null)
        _fill_moves(model.jumps, size, p_null, widest, moves)
        # Words from nothing before the first move are at the beginning, i' = -1.
        start = starts[0] = 1.0
        for t in range(length):
            for i in range(size):
                forward[t, i] = start * moves[0, i]
            if t > 0:
                for before in range(size):
                    weight = forward[t - 1, before] + idle[t - 1, before]
                    for i in range(size):
                        forward[t, i] += weight * moves[before + 1, i]
            start *= p_null * null[t]
            total = start
            for i in range(size):
                forward[t, i] *= emission[t, i]
                idle[t, i] = (forward[t - 1, i] + idle[t - 1, i]) * p_null * null[t] if t > 0 else 0.0
                total += forward[t, i] + idle[t, i]
            scale[t] = 1.0 / total
            start *= scale[t]
            starts[t + 1] = start
            for i in range(size):
                forward[t, i] *= scale[t]
                idle[t, i] *= scale[t]

        # backward[i + 1]: likelihood of what follows, after the word before was made at (or since) position i
        backward[: size + 1] = 1.0
        moved[: size + 1, :size] = 0.0
        for t in range(length - 1, -1, -1):
            word = text.f[text.f_ptr[s] + t]
            from_null = starts[t + 1] * backward[0]
            for i in range(size):
                counts.lexical[cells[t, i]] += forward[t, i] * backward[i + 1]
                from_null += idle[t, i] * backward[i + 1]
                ahead[i] = emission[t, i] * backward[i + 1] * scale[t]
            counts.null[word] += from_null
            stay = p_null * null[t] * scale[t]
            for before in range(-1, size):
                if before < 0:
                    weight = starts[t]
                else:
                    weight = forward[t - 1, before] + idle[t - 1, before] if t > 0 else 0.0
                total = 0.0
                for i in range(size):
                    move = moves[before + 1, i] * ahead[i]
                    total += move
                    moved[before + 1, i] += weight * move
                backward[before + 1] = total + stay * backward[before + 1]
        for before in range(-1, size):
            for i in range(size):
                jump = min(max(i - before, -widest - 1), widest + 1)
                counts.jumps[jump + widest + 1] += moved[before + 1, i]


@njit
def _viterbi(text, model, longest, p_null, widest, floor, source):
    """Set ``source`` to the source position of every target word, -1 for nothing."""
    shape = (longest, longest)
    cells, emission, null = np.empty(shape, dtype=np.int64), np.empty(shape), np.empty(longest)
    moves = np.empty((longest + 1, longest))
    # best[i + 1]: of the ways that are at (or idle since) position i; came[t, i]: where from; made[t, i]: by a move or idly
    best, following = np.empty(longest + 1), np.empty(longest + 1)
    came, made = np.empty((longest, longest + 1), dtype=np.int64), np.empty((longest, longest + 1), dtype=np.bool_)
    for s in range(len(text.e_ptr) - 1):
        size, length = _emissions(text, s, model, floor, cells, emission, null)
        _fill_moves(model.jumps, size, p_null, widest, moves)
        best[: size + 1] = 0.0
        best[0] = 1.0
        for t in range(length):
            largest = 0.0
            for i in range(size + 1):
                following[i] = best[i] * p_null * null[t]
                came[t, i] = i
                made[t, i] = False
                if i > 0:
                    for before in range(size + 1):
                        value = best[before] * moves[before, i - 1] * emission[t, i - 1]
                        if value > following[i]:
                            following[i], came[t, i], made[t, i] = value, before, True
                largest = max(largest, following[i])
            for i in range(size + 1):
                best[i] = following[i] / largest
        i = np.argmax(best[: size + 1])
        for t in range(length - 1, -1, -1):
            source[text.f_ptr[s] + t] = i - 1 if made[t, i] else -1
            i = came[t, i]
