"""Data are asked for before they are needed: exactly those of the example that comes next, and nothing else changes."""

import numba
import numpy as np
import pytest

from fwexp.blocks import gap_tree, sampling_rule
from fwexp.jit import prefetch
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


def test_the_request_is_in_the_code():
    @numba.njit
    def kernel(array, start, end):
        prefetch.prefetch(array, start, end)

    kernel(np.zeros(10), 0, 10)
    (code,) = kernel.inspect_llvm().values()
    assert "llvm.prefetch" in code


@pytest.mark.parametrize(
    ("kind", "order", "since", "k", "used", "following"),
    [
        (sampling_rule.IN_ORDER, [4, 2, 3], 0, 7, 0, 2),
        (sampling_rule.IN_ORDER, [4, 2, 3], 0, 8, 1, 3),
        (sampling_rule.IN_ORDER, [4, 2, 3], 0, 9, 2, -1),  # the last that is known
        (sampling_rule.BY_GAP, [4, 2, 3], 10, 10, 5, 2),  # within a pass in order
        (sampling_rule.BY_GAP, [4, 2, 3], 10, 12, 0, -1),  # its last step
        (sampling_rule.BY_GAP, [4, 2, 3], 10, 13, 0, -1),
        (sampling_rule.LARGEST_GAP, [4, 2, 3], 0, 1, 0, 3),
    ],
)
def test_the_example_after_a_step(kind, order, since, k, used, following):
    rule = sampling_rule.SamplingRule(kind, np.array(order), since, np.empty(0), None, np.empty(0), -1, 0.0)
    assert sampling_rule.example_after(rule, k, used) == following
    if following >= 0:  # and it is the next one
        assert sampling_rule.next_example(rule, k + 1, used + 1, -1, None) == following


def test_the_example_after_a_step_by_gap_is_the_next_one_if_no_gap_changes():
    tree = gap_tree.new_tree(np.array([1.0, 2.0, 0.0, 5.0]))
    rule = sampling_rule.SamplingRule(sampling_rule.BY_GAP, np.arange(4), 0, np.array([0.9, 0.1, 0.3]), tree, np.empty(0), -1, 0.0)
    for used, following in ((0, 0), (1, 1), (2, -1)):  # of the last number nothing is known after it
        assert sampling_rule.example_after(rule, 9 + used, used) == following
        if following >= 0:
            assert sampling_rule.next_example(rule, 10 + used, used + 1, -1, None) == following
