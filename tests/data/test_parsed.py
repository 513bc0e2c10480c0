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


def test_nothing_is_left_when_writing_fails(source, monkeypatch):
    def savez(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", savez)
    check(parsed_arrays("data", 1, [source], parse))
    assert list(cache_folder().iterdir()) == []


def test_damage_is_noticed_and_repaired(source):
    parsed_arrays("data", 1, [source], parse)
    (path,) = cache_folder().iterdir()
    rng, whole = random.Random(0), path.read_bytes()
    ends = [*range(200), *range(len(whole) - 400, len(whole))]  # what zip notes of the arrays

    def flipped(place):
        return whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :]

    changed = ([whole[:place], flipped(place), b"", rng.randbytes(len(whole))] for place in rng.sample(ends, 100))
    for content in (flipped(len(whole) // 2), *map(rng.choice, changed)):
        path.write_bytes(content)
        check(parsed_arrays("data", 1, [source], parse))
        check(parsed_arrays("data", 1, [source], never))
