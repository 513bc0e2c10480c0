"""Files of results hold the weights that are not 0 alone, if these are few, and reject what does not fit."""

import json

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.files import saved_results


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Save a result most of whose weights are 0; return its path, and the weights."""
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    result = fwexp.solve(fwexp.multiclass_problem(np.eye(70, 3), np.arange(70) % 3, 5), "ssg", lam=1.0, max_passes=1)
    result.w[:] = 11 * [0.0] + [1.0, 2.0, -3.0, 4.0]
    result.save(path)
    return path, result.w


def test_weights_that_are_0_are_not_stored(saved):
    path, w = saved
    with np.load(path) as arrays:
        assert arrays["w"].tolist() == w[w != 0.0].tolist()
        assert len(arrays["w"]) < len(w) / 2
    np.testing.assert_array_equal(fwexp.load(path).w, w)
    assert saved_results.packed(np.arange(4.0)).keys() == {"w"}


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda arrays: {"places": arrays["places"][:-1]}, "the places of its weights are uint8 of shape"),
        (lambda arrays: {"places": arrays["places"].astype(np.int8)}, "the places of its weights are int8 of shape"),
        (lambda arrays: {"w": arrays["w"][:-1]}, "its weights are 3, not 4"),
        (lambda arrays: {"header": claimed(arrays, 2**60)}, "the places of its weights are uint8 of shape"),
    ],
)
def test_places_that_do_not_fit_are_damage(saved, tmp_path, change, got):
    with np.load(saved[0]) as found:
        arrays = dict(found)
    np.savez(tmp_path / "model.npz", **arrays | change(arrays))
    with pytest.raises(ParameterError, match=rf"^path must be a file of Result\.save, got .*{got}"):
        fwexp.load(tmp_path / "model.npz")


def claimed(arrays, d: int) -> np.ndarray:
    """Return a header that claims so many weights."""
    header = json.loads(arrays["header"].item())
    header["structure"]["d"] = d
    return np.array(json.dumps(header))
