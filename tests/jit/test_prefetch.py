"""Data are asked for before they are needed: those of the example that comes next, and nothing else changes."""

import numpy as np
import pytest

from fwexp.blocks import gap_tree
from fwexp.blocks.block_loop import DRAWS_USED, NUM_COUNTS, STEPS_TAKEN, InOrder, following_block, next_block
from fwexp.blocks.orders import ByGap, InOrderToGap
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


def tree(gaps):
    return gap_tree.new_tree(np.array(gaps, dtype=float))


def by_gap(ordered, since, largest=False, uniforms=(), gaps=(1.0, 2.0, 4.0)):
    return ByGap(largest, np.array(ordered), since, np.array(uniforms), tree(gaps), np.empty(0), -1, 0.0, -1.0)


@pytest.mark.parametrize(
    ("order", "k", "used"),
    [
        (InOrder(np.array([4, 2, 3])), 7, 0),
        (InOrder(np.array([4, 2, 3])), 8, 1),
        (InOrderToGap(InOrder(np.array([4, 2, 3])), tree([1.0, 1.0]), 0.0), 7, 0),
        (by_gap([2, 0, 1], 10), 10, 5),  # within a pass in order
        (by_gap([2, 0, 1], 0, uniforms=np.linspace(0.0, 0.99, 9)), 7, 3),
        (by_gap([2, 0, 1], 0, uniforms=np.linspace(0.0, 0.99, 9)), 7, 7),
    ],
)
def test_the_following_example_comes_next_if_no_gap_changes(order, k, used):
    following = following_block(order, At(k, used))
    assert following == next_block(order, At(k + 1, used + 1))
    assert following >= 0


@pytest.mark.parametrize(
    ("order", "k", "used"),
    [
        (InOrder(np.array([4, 2, 3])), 9, 2),  # the last that is known
        (by_gap([2, 0, 1], 0, uniforms=[0.5]), 7, 0),
        (by_gap([2, 0, 1], 0, largest=True), 7, 0),
        (by_gap([2, 0, 1], 0, uniforms=[0.5, 0.5], gaps=(0.0, 0.0, 0.0)), 7, 0),
        (by_gap([2, 0, 1], 0, uniforms=[0.5, 0.5], gaps=(0.0, np.inf, 0.0)), 7, 0),
    ],
)
def test_the_following_example_need_not_be_known(order, k, used):
    assert following_block(order, At(k, used)) == -1
