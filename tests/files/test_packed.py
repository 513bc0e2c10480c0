"""Texts and weights as files hold them answer as lists and arrays do; what does not fit is refused."""

import pickle

import numpy as np
import pytest

import fwexp
from fwexp.files import text_table
from fwexp.files.packed_weights import AT_ONCE, PackedWeights
from fwexp.files.text_table import TextTable

RNG = np.random.default_rng(0)
TEXTS = {
    "none": [],
    "one": ["a"],
    "empty": [""],
    "several": ["", "a", "ab", "b", "w=é", "\ud800", "日本", "v[0]", "a b", "\0", "\x80"],
    "many": [f"w={k}" for k in RNG.permutation(5000)],
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_tables_hold_texts(texts):
    table = TextTable.of(texts)
    for other in (table, TextTable.checked(*table.arrays()), pickle.loads(pickle.dumps(table)), TextTable.of(table)):
        assert [*other] == texts == [other[k] for k in range(len(texts))]
        assert [other.find(text) for text in texts] == [*range(len(texts))]
        assert all(text in other for text in texts)
        assert {other.find(text) for text in ("w=", "é", "x" * 10**4, "v[0]]")} == {-1}
        assert 3 not in other
        assert other == table != TextTable.of([*texts, "more"])
    assert table.are_different()
    assert table.end_with("]").tolist() == [text == "v[0]" for text in texts]
    with pytest.raises(IndexError):
        table[len(texts)]


def test_equal_checksums_are_told_apart(monkeypatch):
    monkeypatch.setattr(text_table, "crc32", lambda text: 7)
    table = TextTable.of("abcab"[:3])
    assert [table.find(text) for text in "abcd"] == [0, 1, 2, -1]
    assert table.are_different()
    assert not TextTable.of("abcab").are_different()


def test_twice_the_same_is_found():
    assert not TextTable.of(["a", "b", "a"]).are_different()


@pytest.mark.parametrize(
    ("content", "lengths", "message"),
    [
        (np.zeros(2, dtype=np.int8), np.array([2], dtype=np.int32), "arrays of int8 and int32"),
        (np.zeros(2, dtype=np.uint8), np.array([2.0]), "arrays of uint8 and float64"),
        (np.zeros((1, 2), dtype=np.uint8), np.array([2], dtype=np.int32), "arrays of"),
        (np.zeros(2, dtype=np.uint8), np.array([1, 2], dtype=np.int32), "lengths"),
        (np.zeros(2, dtype=np.uint8), np.array([3, -1], dtype=np.int32), "lengths"),
        (np.array([0xC3, 0xA9], dtype=np.uint8), np.array([1, 1], dtype=np.int32), "within characters"),
        (np.array([0xC3], dtype=np.uint8), np.array([1], dtype=np.int32), "decode"),
    ],
)
def test_damaged_tables_are_refused(content, lengths, message):
    with pytest.raises(ValueError, match=message):
        TextTable.checked(content, lengths)


@pytest.mark.parametrize(("n", "width"), [(1, 1), (3, 5), (AT_ONCE + 9, 3), (2 * AT_ONCE, 7), (5, 300)])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e8])
def test_packed_weights_are_the_weights(n, width, scale):
    w = np.where(RNG.random(n * width) < 0.2, RNG.normal(size=n * width) * scale, 0.0)
    w[: width // 2] = 0.0
    packed = PackedWeights.of(w) or PackedWeights(w[w != 0.0], np.packbits(w != 0.0), len(w))
    assert packed.unpacked().tobytes() == w.tobytes()
    rows, table = packed.rows(width), w.reshape(n, width)
    places = RNG.integers(n, size=40)
    for chosen in (places, np.arange(n), places[:0], np.array([n - 1, 0, 0])):
        assert rows.take(chosen, axis=0).tobytes() == table.take(chosen, axis=0).tobytes()
    assert rows.shape == table.shape


def test_weights_that_are_mostly_not_0_are_not_packed():
    assert PackedWeights.of(np.array([0.0, 1.0, 1.0])) is None
    assert PackedWeights.of(np.array([0.0, 1.0])) is not None
    assert PackedWeights.of(np.zeros(0)).unpacked().tolist() == []


def test_threads_that_ask_at_once_get_the_same_weights():
    """The second one has unpacked them while the first one does."""
    result = fwexp.solve(fwexp.multiclass_problem(np.eye(2), [0, 1]), "ssg", lam=1.0, max_passes=1)

    class Packed(PackedWeights):
        def unpacked(self):
            if "_packed" in vars(result):
                vars(result)["w"] = vars(result).pop("_packed").unpacked()
            return super().unpacked()

    w = np.array([0.0, 0.0, 0.0, 2.5])
    packed = PackedWeights.of(w)
    vars(result).pop("w")
    vars(result)["_packed"] = Packed(packed.values, packed.places, packed.size)
    first = result.w
    assert first is result.w
    assert first.tolist() == w.tolist()
