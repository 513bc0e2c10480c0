"""Files that claim or unpack to more than there is room for are one error, before the room is taken."""

import gzip
import io
import json
import zipfile

import numpy as np
import pytest

import fwexp
from fwexp.data import data_files
from fwexp.data.data_files import check_content, npz_arrays, read_lines
from fwexp.data.readers.file_problems import from_npz, from_svmlight
from fwexp.errors import DataError, ParameterError


def test_a_gzip_bomb_stops_early(tmp_path, monkeypatch):
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(gzip.compress(b"0 1:1\n" * 500_000))
    monkeypatch.setattr(data_files, "LARGEST", 1000)
    with pytest.raises(DataError, match=r"bomb\.txt\.gz, line 167: unpacks to more than 1000 bytes"):
        from_svmlight(path)
    plain = tmp_path / "plain.txt"  # is as large as it is
    plain.write_bytes(b"a\n" * 1000)
    assert sum(1 for _ in read_lines(plain)) == 1000


@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_lines_have_an_end(tmp_path, monkeypatch, name):
    monkeypatch.setattr(data_files, "LONGEST_LINE", 100)
    path = tmp_path / name
    for length, text in ((100, b"a\n" + b"b" * 99 + b"\n"), (None, b"a\n" + b"b" * 10**6)):
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        if length:
            assert [len(line) for _, line in read_lines(path)] == [2, length]
        else:
            with pytest.raises(DataError, match=f"{name}, line 2: more than 100 bytes in one line"):
                list(read_lines(path))


def test_what_is_much_larger_than_expected_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(data_files, "LONGEST_LINE", 100)
    path = tmp_path / "text"
    path.write_bytes(b"a\n" * 10**5)
    with pytest.raises(DataError, match="at least 122 bytes of content, expected 10"):
        check_content(path, size=10, sha256="")


def claim(path, shape, dtype="<f8", compression=zipfile.ZIP_STORED):
    """Write an npz file whose X claims a shape and holds nothing."""
    header, y = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": shape})
    np.save(y, np.zeros(1))
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("X.npy", header.getvalue())
        archive.writestr("y.npy", y.getvalue())
    return path


@pytest.mark.parametrize("shape", [(10**13,), (10**5, 10**8), (2**62, 4), (1, 2)])
def test_arrays_that_claim_more_than_they_hold(tmp_path, shape):
    with pytest.raises(DataError, match=r"file\.npz: cannot be read as npz: [^\n]+$"):
        from_npz(claim(tmp_path / "file.npz", shape))


def test_an_npz_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(data_files, "LARGEST", 10**5)
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((10**5, 1)), y=np.zeros(10**5))
    with pytest.raises(DataError, match="cannot be read as npz: it unpacks to more than 100000 bytes"):
        from_npz(tmp_path / "bomb.npz")
    np.savez(tmp_path / "stored.npz", X=np.zeros((10**5, 1)), y=np.zeros(10**5))
    assert len(npz_arrays(tmp_path / "stored.npz")["X"]) == 10**5


def test_results_that_claim_more_than_they_hold_or_are_nested(tmp_path):
    with pytest.raises(ParameterError, match="damaged or none"):
        fwexp.load(claim(tmp_path / "claim.npz", (10**13,)))
    np.savez(tmp_path / "nested.npz", header=np.array("[" * 100_000 + json.dumps("") + "]" * 100_000), w=np.zeros(1))
    with pytest.raises(ParameterError, match="RecursionError"):
        fwexp.load(tmp_path / "nested.npz")
