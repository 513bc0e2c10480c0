import hashlib
from pathlib import Path

import pytest

from fwexp.data import DATASETS, check_options, load_dataset, resolve_data_dir


def test_data_dir(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("FWEXP_DATA", raising=False)
    assert resolve_data_dir() == tmp_path / ".cache" / "fwexp"
    monkeypatch.setenv("FWEXP_DATA", "/from/environment")
    assert resolve_data_dir() == Path("/from/environment")
    assert resolve_data_dir("/given") == Path("/given")
    assert resolve_data_dir("~/given") == tmp_path / "given"
    monkeypatch.setenv("FWEXP_DATA", "")
    assert resolve_data_dir() == tmp_path / ".cache" / "fwexp"


def test_only_the_named_folder_is_searched(monkeypatch, letter_file, tmp_path):
    letter_file.write(tmp_path / "good")
    monkeypatch.setenv("FWEXP_DATA", str(tmp_path / "good"))
    assert load_dataset("ocr")[0].n == 2
    with pytest.raises(ValueError, match=r"which is not in .*other"):
        load_dataset("ocr", data_dir=tmp_path / "other")


def test_sources(letter_file, tmp_path):
    path = letter_file.write(tmp_path)
    options = check_options("ocr")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert DATASETS["ocr"].sources(options, tmp_path) == {"ocr/letter.data": digest}
    npz = hashlib.sha256((DATASETS["digits"].files[0].home / "digits.npz").read_bytes()).hexdigest()
    assert DATASETS["digits"].sources(check_options("digits"), tmp_path) == {"digits.npz": npz}
