import hashlib
from pathlib import Path

import pytest

from fwexp.data import DATASETS, check_options, load_dataset, resolve_data_dir
from fwexp.errors import OptionError, ParameterError


@pytest.mark.parametrize(
    ("name", "options", "kind", "message"),
    [
        ("orc", {}, ParameterError, "unknown dataset 'orc' (did you mean 'ocr'?); accepted: blocks, "),
        (None, {}, ParameterError, "unknown dataset 'None'; accepted: blocks, chain_game, "),
        ("ocr", {"split": "ocr3"}, ParameterError, "dataset ocr: split must be one of ocr2, ocr; got 'ocr3' (did you mean 'ocr'?)"),
        ("ocr", {"split": None}, ParameterError, "dataset ocr: split must be one of ocr2, ocr; got None"),
        ("ocr", {"split": ["ocr"]}, ParameterError, "dataset ocr: split must be one of ocr2, ocr; got ['ocr']"),
        ("ocr", {"spilt": "ocr"}, OptionError, "dataset ocr: unknown option 'spilt' (did you mean 'split'?); accepted: n, split"),
    ],
)
def test_wrong_names_and_options(name, options, kind, message, tmp_path):
    # tmp_path is empty: what the user got wrong is found before any file is looked for
    with pytest.raises(kind) as caught:
        load_dataset(name, data_dir=tmp_path, **options)
    assert str(caught.value).startswith(message)


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
