"""Data are asked for before they are needed: exactly those of the example that comes next, and nothing else changes."""

import numpy as np
import pytest

from fwexp.blocks import gap_tree
from fwexp.blocks.block_loop import DRAWS_USED, NUM_COUNTS, STEPS_TAKEN, InOrder, following_block, next_block
from fwexp.blocks.orders import ByGap
from fwexp.jit import prefetch, texts
from fwexp.jit.compilation import njit


@njit
def _ask_for(array, start, end):
    prefetch.prefetch(array, start, end)
    return end - start


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float64])
def test_any_range_of_any_array(dtype):
    array = np.arange(100).astype(dtype)
    for start, end in [(0, 0), (0, 1), (3, 100), (99, 100), (100, 100)]:
        assert _ask_for(array, start, end) == end - start
    assert array.tolist() == np.arange(100).astype(dtype).tolist()
    _ask_for(array[:0], 0, 0)
    prefetch.prefetch(array, 0, 100)  # in plain Python


def test_the_request_is_in_the_code(monkeypatch):
    monkeypatch.setattr(texts, "folder", lambda: None)  # code from there is not shown
    again = njit(_ask_for.py_func)
    again(np.zeros(3), 0, 3)
    (linked,) = again._linked.values()
    (code,) = linked._compiled.inspect_llvm().values()
    assert "llvm.prefetch" in code


class At:
    """The part of an iterate that orders look at."""

    def __init__(self, k, used):
        self.counts = [0] * NUM_COUNTS
        self.counts[STEPS_TAKEN], self.counts[DRAWS_USED] = k, used


def by_gap(ordered, since, largest=False, uniforms=(), tree=None):
    return ByGap(largest, np.array(ordered), since, np.array(uniforms), tree, np.empty(0), np.full(1, -1), -1, 0.0, -1.0)


@pytest.mark.parametrize(
    ("order", "k", "used", "following"),
    [
        (InOrder(np.array([4, 2, 3])), 7, 0, 2),
        (InOrder(np.array([4, 2, 3])), 8, 1, 3),
        (InOrder(np.array([4, 2, 3])), 9, 2, -1),  # the last that is known
        (by_gap([4, 2, 3], 10), 10, 5, 2),  # within a pass in order
        (by_gap([4, 2, 3], 10), 12, 0, -1),  # its last step
        (by_gap([4, 2, 3], 10), 13, 0, -1),
        (by_gap([4, 2, 3], 0, largest=True), 1, 0, 3),
    ],
)
def test_the_example_after_a_step(order, k, used, following):
    assert following_block(order, At(k, used)) == following
    if following >= 0:  # and it is the next one
        assert next_block(order, At(k + 1, used + 1)) == following


def test_the_example_after_a_step_by_gap_is_the_next_one_if_no_gap_changes():
    tree = gap_tree.new_tree(np.array([1.0, 2.0, 0.0, 5.0]))
    for used, following in ((0, 0), (1, 1), (2, -1)):  # of the last number nothing is known after it
        order = by_gap(np.arange(4), 0, uniforms=[0.9, 0.1, 0.3], tree=tree)
        assert following_block(order, At(9 + used, used)) == following
        if following >= 0:
            assert next_block(order, At(10 + used, used + 1)) == following
            order.planned[0] = -1  # and also if it is drawn anew
            assert next_block(order, At(10 + used, used + 1)) == following
