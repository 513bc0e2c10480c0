"""Arrays that claim or unpack to more than there is room for are one error, before the room is taken."""

import io
import zipfile

import numpy as np
import pytest

from fwexp.data import data_files
from fwexp.data.data_files import npz_arrays
from fwexp.data.readers.file_problems import from_npz
from fwexp.errors import DataError


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
