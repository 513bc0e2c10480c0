"""Folders that may not be read are no missing folders, on every Python."""

import os
import re
from pathlib import Path

import pytest

import fwexp
from fwexp.cli import main
from fwexp.files import folders

OTHER_USER = 65534


@pytest.fixture
def locked(tmp_path):
    """Yield a folder in a locked one, to a user who is not root."""
    folder = tmp_path / "locked" / "inside"
    folder.mkdir(parents=True)
    (folder / "file").touch()
    folder.parent.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(OTHER_USER)
    try:
        yield folder
    finally:
        os.seteuid(user)
        folder.parent.chmod(0o700)


def test_what_exists_is_known(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "none")
    for path, found in [("", (True, True, False)), ("file", (True, False, True)), ("none", (False,) * 3), ("link", (False,) * 3)]:
        assert (folders.exists(tmp_path / path), folders.is_folder(tmp_path / path), folders.is_file(tmp_path / path)) == found
    for absent in (tmp_path / "file" / "below", tmp_path / "a\0b"):
        assert not folders.exists(absent)


@pytest.mark.unix
@pytest.mark.parametrize("look", [folders.exists, folders.is_folder, folders.is_file])
def test_a_locked_folder_is_not_missing(locked, look):
    with pytest.raises(PermissionError):
        look(locked / "file")


@pytest.mark.unix
@pytest.mark.parametrize(
    "arguments",
    [["ls", "results_dir="], ["data", "list", "data_dir="], ["run", "--cfg", "job", "results_dir="]],
    ids=lambda words: words[0],
)
def test_commands_name_a_locked_folder(tmp_path, arguments, capsys, request):
    *words, key = arguments
    main([*words, f"{key}{tmp_path}"])  # imports what the other user may not read
    capsys.readouterr()
    locked = request.getfixturevalue("locked")
    assert main([*words, f"{key}{locked}"]) == 2
    assert "Permission denied" in capsys.readouterr().err


PACKAGE = Path(fwexp.__file__).parent
ASKED = {  # files that ask pathlib: of the package's own files, or to remove as much as can be removed
    "__init__.py",
    "files/atomic.py",
    "files/code_digest.py",
    "jit/disk_cache.py",
    "methods.py",
    "store/commit.py",  # what os.scandir yields
    "store/provenance.py",
}


def test_paths_of_users_are_asked_in_one_way():
    """`Path.exists`, `is_dir` and `is_file` mean something else on Python 3.14."""
    asks = re.compile(r"(?<!folders)\.(exists|is_dir|is_file)\(")
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if asks.search(path.read_text())}
    assert found == ASKED
