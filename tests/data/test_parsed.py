import random

import numpy as np
import pytest

from fwexp.data.parsed import cache_folder, parsed_arrays


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "source.txt"
    path.write_text("text")
    return path


def parse():
    return {"numbers": np.arange(100_000, dtype=np.int32), "names": np.array(["a", "bc"])}


def never():
    raise AssertionError("parsed again")


def check(arrays):
    assert sorted(arrays) == ["names", "numbers"]
    for name, array in parse().items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_kept(source):
    check(parsed_arrays("data", 1, [source], parse))
    check(parsed_arrays("data", 1, [source], never))


def test_what_the_key_consists_of(source):
    parsed_arrays("data", 1, [source], parse)
    for name, version, sources in (("other", 1, [source]), ("data", 2, [source]), ("data", 1, [source, source])):
        with pytest.raises(AssertionError, match="parsed again"):
            parsed_arrays(name, version, sources, never)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b"'<i4'", b"'<i2'"),  # the array ends before its checksum
        (b"(100000,)", b"(900000,)"),
        (np.arange(50_000, 50_002, dtype="<i4").tobytes(), bytes(8)),
        (b"numbers.npy", b"strings.npy"),
    ],
)
def test_damage_is_noticed_and_repaired(good, bad, source):
    parsed_arrays("data", 1, [source], parse)
    (path,) = cache_folder().iterdir()
    data = path.read_bytes()
    assert good in data
    path.write_bytes(data.replace(good, bad, 1))
    check(parsed_arrays("data", 1, [source], parse))
    check(parsed_arrays("data", 1, [source], never))


def test_nothing_is_left_when_writing_fails(source, monkeypatch):
    def savez(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", savez)
    check(parsed_arrays("data", 1, [source], parse))
    assert list(cache_folder().iterdir()) == []


def test_no_damage_changes_an_array(source):
    parsed_arrays("data", 1, [source], parse)
    (path,) = cache_folder().iterdir()
    rng, whole = random.Random(0), path.read_bytes()
    ends = [*range(200), *range(len(whole) - 400, len(whole))]  # what zip notes of the arrays
    for place in rng.sample(ends, 100):
        cut, flipped = whole[:place], bytes([whole[place] ^ 1 << rng.randrange(8)])
        path.write_bytes(rng.choice([cut, cut + flipped + whole[place + 1 :], b"", rng.randbytes(len(whole))]))
        check(parsed_arrays("data", 1, [source], parse))
        path.write_bytes(whole)
