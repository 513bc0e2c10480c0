import hashlib

import numpy as np
import pytest

from fwexp.data import digits, load_dataset
from fwexp.data.digits import DATASET


@pytest.fixture(scope="module")
def source():
    with np.load(DATASET.files[0].home / "digits.npz", allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(scope="module")
def parts(source):
    return digits.draw(source["labels"])


def test_images_are_those_of_scikit_learn(source):
    from sklearn.datasets import load_digits

    original = load_digits()
    assert source["images"].dtype == source["labels"].dtype == np.uint8
    np.testing.assert_array_equal(source["images"], original.images)
    np.testing.assert_array_equal(source["labels"], original.target)


def test_source_and_licence_are_named(source):
    text = str(source["source"])
    for words in ("Alpaydin", "Kaynak", "UCI", "CC BY 4.0"):
        assert words in text
        assert words in digits.__doc__


def test_draws_never_change(parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.digits.astype("<i8").tobytes())
        digest.update(part.images.astype("<i8").tobytes())
    assert digest.hexdigest() == "cf5e72f08e68d15f7221a62baf010e642365e6b785fdbc9d6ca5168e022631a4"


def test_problems(parts, source):
    train, test = load_dataset("digits")
    assert (train.n, test.n, train.d, test.d, train.num_states) == (1000, 500, 770, 770, 10)
    for problem, part in zip((train, test), parts, strict=True):
        np.testing.assert_array_equal(problem.labels, part.digits.ravel())
        np.testing.assert_array_equal(np.diff(problem.label_ptr), 8)
        values = problem.x.values
        np.testing.assert_array_equal(values[:, :64], source["images"][part.images.ravel()].reshape(-1, 64) / 16)
        np.testing.assert_array_equal(values[:, 64], 1)


def test_no_data_folder_is_needed(monkeypatch, tmp_path):
    monkeypatch.setenv("FWEXP_DATA", str(tmp_path / "nowhere"))
    assert load_dataset("digits")[0].n == 1000
