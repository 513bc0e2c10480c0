"""Folders that are replaced as a whole."""

import contextlib
import itertools

import pytest

from fwexp.errors import ParameterError
from fwexp.files import locks, replacing
from fwexp.files.replacing import replacing_folder
from tests.kills import killed_at


def replace(folder, text):
    with replacing_folder(folder) as new:
        (new / text).mkdir()
        (new / text / "file").write_text(text)
        (new / "same").write_text(text)


def given_up(folder):
    with contextlib.suppress(InterruptedError), replacing_folder(folder) as new:
        (new / "file").touch()
        raise InterruptedError


def contents(folder):
    return {path.name: path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_kill_at_any_instant_leaves_the_old_folder_or_the_new_one(tmp_path):
    missing, (old, new) = 0, ({"file": text, "same": text} for text in ("old", "new"))
    for event in itertools.count(1):
        folder = tmp_path / str(event) / "there"
        replace(folder, "old")
        killed = killed_at(event, lambda folder=folder: replace(folder, "new"))
        missing += not folder.exists()
        given_up(folder)
        assert contents(folder) in (old, new), event
        assert list(folder.parent.iterdir()) == [folder]
        if not killed:
            assert contents(folder) == new
            break
    assert event > 7
    assert missing == 1


def test_writers_take_turns_and_wait_only_so_long(tmp_path, monkeypatch):
    replace(tmp_path / "there", "old")
    monkeypatch.setattr(replacing, "PATIENCE", 0.1)
    with locks.claimed(tmp_path / "there"), pytest.raises(ParameterError, match=r"there is being written by another process"):
        replace(tmp_path / "there", "new")
    assert contents(tmp_path / "there") == {"file": "old", "same": "old"}


def test_a_link_is_followed_and_a_file_is_not_replaced(tmp_path):
    (tmp_path / "link").symlink_to("there")
    replace(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "there") == {"file": "new", "same": "new"}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NotADirectoryError):
        replace(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "there"]
