"""Records: any solver state comes back bit for bit, and a file cannot make anything run."""

import dataclasses
import io
import json
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fwexp import record
from fwexp.errors import ParameterError


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Box:
    content: Any

    def __post_init__(self):
        self.content = ("made by the constructor", self.content)


def through_a_file(value):
    """Save a record as npz and read it back, without pickle."""
    file = io.BytesIO()
    np.savez(file, **record.to_arrays(value))
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return record.from_arrays(arrays)


NUMBERS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ARRAYS = hnp.arrays(st.sampled_from([np.float64, np.int64, np.int32, np.bool_, np.uint8]), hnp.array_shapes(min_dims=0, min_side=0))
TREES = st.recursive(
    NUMBERS | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(Box, inner)
    ),
    max_leaves=8,
)


@given(TREES)
def test_records_come_back_bit_for_bit(value):
    for other in (through_a_file(value), record.copy(value)):
        assert record.same(value, other)
        assert type(other) is type(value)


def test_arrays_are_not_shared_and_begin_at_a_cache_line():
    original = Pair(np.arange(5.0), [np.zeros((2, 3), dtype=np.int32)])
    other = record.copy(original)
    other.first[0] = 9.0
    assert original.first[0] == 0.0
    assert other.first.ctypes.data % record.LINE == other.second[0].ctypes.data % record.LINE == 0
    assert other.second[0].flags.c_contiguous
    assert not record.same(original, other)


def test_what_is_saved_does_not_change_with_the_record():
    original = Pair(np.arange(5.0), np.random.default_rng(0))
    saved = record.to_arrays(original)
    original.first[:] = 9.0
    original.second.random(3)
    restored = record.from_arrays(saved)
    np.testing.assert_array_equal(restored.first, np.arange(5.0))
    assert restored.second.random() == np.random.default_rng(0).random()


def test_generators_go_on_where_they_were():
    rng = np.random.default_rng(3)
    rng.random(7)
    rng.integers(10, size=3, dtype=np.int32)  # leaves half a draw behind
    other = through_a_file(rng)
    np.testing.assert_array_equal(rng.integers(100, size=9), other.integers(100, size=9))
    np.testing.assert_array_equal(rng.random(5), other.random(5))


def test_what_cannot_be_saved_is_named():
    with pytest.raises(ParameterError, match=r"record\.second\[1\] must be an array, number, text .* got function"):
        record.to_arrays(Pair(1, [2, test_generators_go_on_where_they_were]))
    with pytest.raises(ParameterError, match="got Generator"):
        record.to_arrays(np.random.Generator(np.random.Philox(0)))
    with pytest.raises(ParameterError, match="array of objects"):
        record.to_arrays(np.array([object()]))


@pytest.mark.parametrize(
    "tree",
    [
        ["record", "os", "system", {}],
        ["record", "antigravity", "geohash", {}],
        ["record", "collections", "OrderedDict", {}],
        ["record", __name__, "Box", {"contents": 1}],
        ["record", __name__, "Pair", {"first": 1}],
        ["generator", {"bit_generator": "seed"}],
        ["array", "7"],
        ["float", "xyz"],
        ["other", 1],
        ["list", 3],
    ],
)
def test_foreign_trees_are_refused(tree):
    arrays = {record.TREE: np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)}
    with pytest.raises(ParameterError, match="must be those of a record"):
        record.from_arrays(arrays)
    with pytest.raises(ParameterError, match="must be those of a record"):
        record.from_arrays({})
