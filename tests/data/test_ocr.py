import gzip
from pathlib import Path

import numpy as np
import pytest

from fwexp.data import DATASETS, load_dataset, ocr
from fwexp.errors import DataError, ParameterError


def error_of(path):
    with pytest.raises(DataError) as caught:
        ocr.read_letters(path)
    message = str(caught.value)
    assert message.isprintable()
    assert str(path) in message
    return message.replace(str(path), "FILE")


def test_content(letter_file, tmp_path):
    letters = ocr.read_letters(letter_file.write(tmp_path))
    assert "".join(chr(97 + k) for k in letters.labels) == "abcdezxy"
    assert letters.ptr.tolist() == [0, 2, 5, 6, 8]
    assert letters.folds.tolist() == [0, 3, 0, 9]
    assert letters.pixels.tolist() == [letter_file.pixels(number) for number in range(1, 9)]


def test_packed_and_unpacked_and_windows_line_ends_agree(letter_file, tmp_path):
    plain = letter_file.write(tmp_path)
    packed = tmp_path / "letter.data.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    windows = tmp_path / "windows"
    windows.write_bytes(plain.read_bytes().replace(b"\n", b"\r\n"))
    bare = tmp_path / "bare"  # without the tab at the end of every line, and without the last line feed
    bare.write_bytes(plain.read_bytes().replace(b"\t\n", b"\n").rstrip(b"\n"))
    expected = ocr.content_sha256(ocr.read_letters(plain))
    for path in (packed, windows, bare):
        assert ocr.content_sha256(ocr.read_letters(path)) == expected


def test_unused_columns_do_not_matter(letter_file, tmp_path):
    expected = ocr.content_sha256(ocr.read_letters(letter_file.write(tmp_path)))
    for number in range(1, 9):
        letter_file.set(number, 3, "77")
        letter_file.set(number, 4, "0")
    assert ocr.content_sha256(ocr.read_letters(letter_file.write(tmp_path))) == expected


def test_every_kind_of_content_enters_the_checksum(letter_file, tmp_path):
    digests = {ocr.content_sha256(ocr.read_letters(letter_file.write(tmp_path)))}
    for number, column, value in ((1, 1, "q"), (2, 7, "1"), (6, 5, "1"), (4, 2, "-1")):
        letter_file.set(number, column, value)
        digests.add(ocr.content_sha256(ocr.read_letters(letter_file.write(tmp_path))))
    assert len(digests) == 5


def test_chain_arrays(letter_file, tmp_path):
    letters = ocr.read_letters(letter_file.write(tmp_path))
    x, y, ptr = ocr.chain_arrays(letters, letters.folds != 0)
    assert x.dtype == np.float64
    assert x.indices.dtype == np.int32
    assert x.has_canonical_format
    np.testing.assert_array_equal(x.toarray(), [[*letter_file.pixels(number), 1] for number in (3, 4, 5, 7, 8)])
    assert y.tolist() == [2, 3, 4, 23, 24]
    assert ptr.tolist() == [0, 3, 5]


@pytest.mark.parametrize("split", [{}, {"split": "ocr2"}, {"split": "ocr"}])
def test_splits(letter_file, tmp_path, split):
    letter_file.write(tmp_path)
    train, test = load_dataset("ocr", data_dir=tmp_path, **split)
    assert train.d == test.d == 4082
    assert train.num_states == 26
    fold0 = [0, 1, 25]
    others = [2, 3, 4, 23, 24]
    expected = (fold0, others) if split == {"split": "ocr"} else (others, fold0)
    assert (train.labels.tolist(), test.labels.tolist()) == expected


def test_a_part_of_the_file_is_read_like_the_whole(letter_file, tmp_path):
    letter_file.lines = letter_file.lines[:4]  # breaks off inside the second word
    letters = ocr.read_letters(letter_file.write(tmp_path))
    assert letters.ptr.tolist() == [0, 2, 4]
    letter_file.lines = letter_file.lines[2:]  # a part that does not begin with id 1
    assert ocr.read_letters(letter_file.write(tmp_path)).labels.tolist() == [2, 3]


def column(number, value):
    """Return a function that replaces a column of a line."""

    def change(line):
        columns = line.split("\t")
        columns[number] = value
        return "\t".join(columns)

    return change


WIDTH = "expected 134 tab-separated columns (6 and 128 pixels)"
FAULTS = [
    (column(0, "three"), "id is 'three', expected a whole number"),
    (column(1, "Q"), "letter is 'Q', expected a letter a-z"),
    (column(1, "ab"), "letter is 'ab', expected a letter a-z"),
    (column(1, "\xe9"), r"letter is '\xe9', expected a letter a-z"),
    (column(2, "-2"), "next_id is '-2', expected the id of the next letter, or -1 at the end of a word"),
    (column(2, "6"), "next_id is '6', expected the id of the next line, '4', or -1 at the end of a word"),
    (column(3, "x"), "word_id is 'x', expected a whole number"),
    (column(4, "-1"), "position is '-1', expected a whole number"),
    (column(5, "10"), "fold is '10', expected a fold 0-9"),
    (column(6, "2"), "pixel p_0_0 is '2', expected 0 or 1"),
    (column(133, ""), "pixel p_15_7 is '', expected 0 or 1"),
    (column(40, "?" * 500), f"pixel p_4_2 is '{'?' * 20}'..., expected 0 or 1"),
    (lambda line: line.rsplit("\t", 2)[0] + "\t\n", f"133 columns, {WIDTH}"),
    (lambda line: line.replace("\n", "0\t\n"), f"135 columns, {WIDTH}"),
    (lambda line: line.replace("\t", " "), f"1 column, {WIDTH}"),
    (lambda line: "\n", f"an empty line, {WIDTH}"),
    (lambda line: "\x00\xff\xfe\x9f\n", f"1 column, {WIDTH}"),
]


@pytest.mark.parametrize(("change", "expected"), FAULTS, ids=[expected[:30] for _, expected in FAULTS])
def test_the_first_fault_is_named(letter_file, tmp_path, change, expected):
    letter_file.lines[2] = change(letter_file.lines[2])
    letter_file.lines[4] = column(1, "!")(letter_file.lines[4])  # a later fault is not the one reported
    assert error_of(letter_file.write(tmp_path)) == f"FILE, line 3: {expected}"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda packed: packed[: len(packed) // 2], "truncated or damaged after line"),
        (lambda packed: packed[: len(packed) // 2] + bytes(len(packed) // 2), "expected a whole gzip file"),
        (lambda packed: b"text", "truncated or damaged after line 0, expected a whole gzip file"),
    ],
)
def test_damaged_gzip(letter_file, tmp_path, spoil, message):
    path = tmp_path / "letter.data.gz"
    path.write_bytes(spoil(gzip.compress("".join(letter_file.lines).encode())))
    assert message in error_of(path)


def test_empty_file(tmp_path):
    path = tmp_path / "letter.data"
    path.write_bytes(b"")
    assert error_of(path) == "FILE: the file is empty, expected one letter per line"
    assert error_of(tmp_path) == "FILE: cannot be read: Is a directory"


def test_only_the_training_words_are_sampled(letter_file, tmp_path):
    letter_file.write(tmp_path)
    train, test = load_dataset("ocr", data_dir=tmp_path)
    one, same_test = load_dataset("ocr", data_dir=tmp_path, n=1)
    assert (train.n, one.n) == (2, 1)
    assert one.labels.tolist() in ([2, 3, 4], [23, 24])
    assert same_test.labels.tolist() == test.labels.tolist()
    with pytest.raises(ParameterError, match=r"^dataset ocr: n must be at most 2, the number of training words, got 3$"):
        load_dataset("ocr", data_dir=tmp_path, n=3)


@pytest.mark.parametrize(("keep", "part"), [(range(2), "training"), (range(2, 5), "test")])
def test_no_words_for_a_part(letter_file, tmp_path, keep, part):
    letter_file.lines = [letter_file.lines[j] for j in keep]
    letter_file.write(tmp_path)
    with pytest.raises(DataError, match=f"no {part} words for split ocr2; the folds in the file are [03]$"):
        load_dataset("ocr", data_dir=tmp_path)


@pytest.mark.parametrize("exists", [True, False])
def test_missing_file(tmp_path, exists):
    folder = tmp_path if exists else tmp_path / "nowhere"
    where = f"{folder}" if exists else f"{folder} (no such folder)"
    with pytest.raises(DataError) as caught:
        load_dataset("ocr", data_dir=folder)
    assert str(caught.value) == (
        f"dataset ocr needs ocr/letter.data.gz (or ocr/letter.data), which is not in {where}; "
        "get it with `fwexp data fetch ocr`, or name a folder that has it with data_dir= or FWEXP_DATA"
    )


@pytest.mark.data
def test_real_content(real_data):
    (path,) = (DATASETS["ocr"].sources(ocr.Options(), real_data)).keys()
    assert path in ("ocr/letter.data.gz", "ocr/letter.data")
    letters = ocr.read_letters(DATASETS["ocr"].locate(Path(real_data))[path])
    lengths = np.diff(letters.ptr)
    assert [lengths[letters.folds == fold].sum() for fold in (0, 9)] == [4617, 5142]
    assert np.bincount(letters.folds).tolist() == [626, 704, 684, 698, 693, 651, 739, 717, 690, 675]
    assert (lengths.min(), lengths.max()) == (3, 14)
    assert round(100 * letters.pixels.mean(), 2) == 21.97
    assert letters.pixels.any(axis=1).all()  # no blank letter
    text = "".join(chr(97 + k) for k in letters.labels)
    words = [text[a:b] for a, b in zip(letters.ptr[:-1], letters.ptr[1:], strict=True)]
    assert words[0] == "ommanding"
    assert len(set(words)) == 55


@pytest.mark.data
def test_one_pixel_is_enough_to_fail_the_check(real_data, tmp_path):
    source = DATASETS["ocr"].locate(Path(real_data))
    text = gzip.decompress(next(iter(source.values())).read_bytes())
    path = tmp_path / "letter.data"
    path.write_bytes(text)
    assert ocr.check(path) == "52152 letters in 6877 words, checksum of the content as recorded"
    path.write_bytes(text.replace(b"\t1\t\n", b"\t0\t\n", 1))
    with pytest.raises(DataError, match="letters, pixels or folds are not the published ones"):
        ocr.check(path)
