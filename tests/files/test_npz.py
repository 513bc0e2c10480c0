"""Files of arrays: what their headers claim, and what they hold."""

import io
import zipfile

import numpy as np
import pytest

from fwexp.files import npz


def written(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_arrays_come_back():
    found = npz.arrays_in(io.BytesIO(written(a=np.arange(3), b=np.array(["x"]))))
    assert {name: value.tolist() for name, value in found.items()} == {"a": [0, 1, 2], "b": ["x"]}


@pytest.mark.parametrize(("old", "new"), [(b"<f8", b"<f4"), (b"(5000,)", b"(1000,)"), (b"False", b"True ")])
def test_a_header_that_claims_something_else_is_damage(tmp_path, old, new):
    content = written(a=np.ones(5000))
    assert content.count(old) == 1
    (tmp_path / "file.npz").write_bytes(content.replace(old, new))
    assert npz.read(tmp_path / "file.npz") is None


def test_packed_arrays_come_back_unless_they_claim_too_much(tmp_path):
    for most, ratio in ((10**6, 0.1), (10**5, 1.1)):
        with (tmp_path / "file.npz").open("wb") as file:
            npz.write(file, {"a": np.ones(50_000), "b": np.array(["x"])}, most)
        size = (tmp_path / "file.npz").stat().st_size
        assert ratio / 1.2 < size / 400_000 < ratio if most == 10**5 else size < 400_000 * ratio
        with (tmp_path / "file.npz").open("rb") as file:
            found = npz.arrays_in(file, most)
            assert (found["a"] == 1.0).all()
            assert found["b"].tolist() == ["x"]
            if most == 10**6:
                with pytest.raises(ValueError, match=r"^it unpacks to more than 300000 bytes$"):
                    npz.arrays_in(file, 300_000)


def test_members_that_are_no_arrays_are_damage():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", b"text")
    with pytest.raises(ValueError, match=r"its member a\.txt is no array"):
        npz.arrays_in(file)
