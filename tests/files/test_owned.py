"""Files that fwexp may replace: those that the mark of their folder names; all others survive."""

import contextlib
import itertools

import pytest

from fwexp.errors import ParameterError
from fwexp.files import atomic, locks, owned
from fwexp.files.owned import MARK, remove_folders, replacing_folder
from tests.kills import killed_at

KIND = "letters"


def replace(folder, text):
    with replacing_folder(folder, KIND) as new:
        (new / text).mkdir()
        (new / text / "file").write_text(text)
        (new / "same").write_text(text)


def write(folder, text):
    owned.write({folder / name: text.encode() for name in ("one", "two")}, KIND)


def given_up(folder):
    with contextlib.suppress(InterruptedError), replacing_folder(folder, KIND) as new:
        (new / "file").touch()
        raise InterruptedError


def contents(folder):
    return {path.name: path.read_text() for path in folder.rglob("*") if path.is_file() and path.name != MARK}


@pytest.mark.unix
def test_a_kill_at_any_instant_leaves_the_old_folder_or_the_new_one(tmp_path):
    missing, (old, new) = 0, ({"file": text, "same": text} for text in ("old", "new"))
    for event in itertools.count(1):
        folder = tmp_path / str(event) / "there"
        replace(folder, "old")
        killed = killed_at(event, lambda folder=folder: replace(folder, "new"))
        missing += not folder.exists()
        assert contents(atomic.readable(folder)) in (old, new), event
        given_up(folder)
        assert contents(folder) in (old, new), event
        assert list(folder.parent.iterdir()) == [folder]
        if not killed:
            assert contents(folder) == new
            break
    assert event > 7
    assert missing == 1


@pytest.mark.unix
def test_files_of_a_writer_that_was_killed_at_any_instant_are_replaced_by_the_next(tmp_path):
    for event in itertools.count(1):
        folder = tmp_path / str(event)
        write(folder, "old")
        killed = killed_at(event, lambda folder=folder: write(folder, "new"))
        assert {contents(folder)[name] for name in ("one", "two")} <= {"old", "new"}
        write(folder, "newest")
        assert contents(folder) == {"one": "newest", "two": "newest"}
        assert {path.name for path in folder.iterdir()} == {"one", "two", MARK}
        if not killed:
            break
    assert event > 7


def test_files_are_removed_with_their_lines_in_the_mark(tmp_path):
    write(tmp_path, "old")
    owned.remove([tmp_path / "one", tmp_path / "missing"], KIND)
    assert contents(tmp_path) == {"two": "old"}
    assert (tmp_path / MARK).read_text().splitlines()[1:] == ["two"]
    (tmp_path / "one").write_text("mine")
    with pytest.raises(ParameterError, match=r"one must be a file that fwexp wrote, got another one, which \.fwexp does not name"):
        owned.remove([tmp_path / "two", tmp_path / "one"], KIND)
    assert contents(tmp_path) == {"one": "mine", "two": "old"}
    owned.remove([tmp_path / "nowhere" / "one"], KIND)
    assert not (tmp_path / "nowhere").exists()


def test_writers_take_turns_and_wait_only_so_long(tmp_path, monkeypatch):
    replace(tmp_path / "there", "old")
    monkeypatch.setattr(owned, "PATIENCE", 0.1)
    with locks.claimed(tmp_path / "there"), pytest.raises(ParameterError, match=r"there is being written by another process"):
        replace(tmp_path / "there", "new")
    assert contents(tmp_path / "there") == {"file": "old", "same": "old"}


def test_a_file_that_another_process_writes_meanwhile_is_no_foreign_one(tmp_path, monkeypatch):
    """The other process writes between the two looks of a check, at the files and at the mark."""
    path, named = tmp_path / "a", owned._named
    owned.write({tmp_path / "b": b"1"}, "figures")

    def look_late(*arguments):
        monkeypatch.setattr(owned, "_named", named)
        owned.write({path: b"2"}, "figures")
        return named(*arguments)

    for _ in range(2):
        monkeypatch.setattr(owned, "_named", look_late)
        owned.check([path], "figures")
        assert path.read_bytes() == b"2"


PLANTED = {
    "another file": lambda folder: (folder / "thesis.tex").write_text("mine"),
    "a hidden file": lambda folder: (folder / ".thesis").write_text("mine"),
    "a file below": lambda folder: (folder / "old" / "thesis.tex").write_text("mine"),
    "a folder": lambda folder: (folder / "mine").mkdir(),
    "a link": lambda folder: (folder / "mine").symlink_to("/etc"),
    "a link instead of a file": lambda folder: (
        (folder / "same").rename(folder.parent / "same"),
        (folder / "same").symlink_to("../same"),
    ),
    "another mark": lambda folder: (folder / MARK).write_text("mine"),
    "no mark": lambda folder: (folder / MARK).unlink(),
}


def snapshot(folder):
    return {
        str(path): path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else path.lstat().st_mode
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_a_folder_with_anything_else_is_neither_replaced_nor_removed(tmp_path, plant):
    folder = tmp_path / "there"
    replace(folder, "old")
    plant(folder)
    before = snapshot(tmp_path)
    for act in (lambda: replace(folder, "new"), lambda: remove_folders([folder])):
        with pytest.raises(ParameterError) as raised:
            act()
        assert str(folder) in str(raised.value)
        assert len(str(raised.value).splitlines()) == 1
        assert snapshot(tmp_path) == before


def test_files_that_others_wrote_are_neither_replaced_nor_removed(tmp_path):
    folder = tmp_path / "there"
    write(folder, "old")
    (folder / "mine").write_text("mine")
    write(folder, "new")  # next to it
    assert contents(folder) == {"one": "new", "two": "new", "mine": "mine"}
    for plant in ("another", "link", "folder"):
        (folder / "two").unlink()
        if plant == "link":
            (folder / "two").symlink_to("mine")
        elif plant == "folder":
            (folder / "two").mkdir()
        else:
            (folder / "two").write_text("mine")
            (folder / MARK).unlink()
            (folder / "one").unlink()
        before = snapshot(folder)
        with pytest.raises(ParameterError, match="two must be a file that fwexp wrote, got"):
            write(folder, "newest")
        assert snapshot(folder) == before
        (folder / "two").rmdir() if plant == "folder" else (folder / "two").unlink()
        write(folder, "new")


@pytest.mark.parametrize("plant", [lambda path: path.write_text("mine"), lambda path: path.symlink_to("nowhere")])
def test_a_file_above_is_found_before_the_work(tmp_path, plant):
    plant(tmp_path / "figures")
    with pytest.raises(ParameterError, match="figures must be a folder, got something else; move it away"):
        owned.check([tmp_path / "figures" / "paper" / "one"], KIND)


def test_empty_folders_are_left_out(tmp_path):
    """Sphinx makes some, and no record lists them: the next writer would take them for a user's own."""
    for text in ("old", "new"):
        with replacing_folder(tmp_path / "there", KIND) as new:
            (new / "empty" / "below").mkdir(parents=True)
            (new / "file").write_text(text)
    assert {path.name for path in (tmp_path / "there").iterdir()} == {"file", MARK}
    remove_folders([tmp_path / "there"])
    assert not list(tmp_path.iterdir())


def test_a_folder_holds_one_kind(tmp_path):
    """A link from a store to another folder of ours is no reason to replace that."""
    replace(tmp_path / "there", "old")
    (tmp_path / "link").symlink_to("there")
    with (
        pytest.raises(ParameterError, match="must be a mark of words that fwexp wrote"),
        replacing_folder(tmp_path / "link", "words"),
    ):
        pass
    with pytest.raises(ParameterError, match="must be a mark of words that fwexp wrote"):
        owned.write({tmp_path / "link" / "new": b""}, "words")
    assert contents(tmp_path / "there") == {"file": "old", "same": "old"}


@pytest.mark.parametrize("is_link", [False, True])
def test_what_is_hidden_beside_it_is_not_taken_for_the_old_folder(tmp_path, is_link):
    replace(tmp_path / "there", "old")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    before = tmp_path / ".there.before"
    if is_link:
        before.symlink_to("mine")
    else:
        (tmp_path / "mine").rename(before)
    found = snapshot(tmp_path)
    with pytest.raises(ParameterError, match="must be a "):
        replace(tmp_path / "there", "new")
    assert snapshot(tmp_path) == found
