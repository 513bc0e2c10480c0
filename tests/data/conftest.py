import os
import sys

import pytest

from tests.plain_python import pytest_runtest_setup, pytest_runtest_teardown  # noqa: F401 (hooks)


class LetterFile:
    """The lines of a small ``letter.data``, to be spoilt by a test and written."""

    def __init__(self, words):
        # words: (text, fold); every letter has the image pixels(number of its line)
        self.lines = []
        for word_id, (text, fold) in enumerate(words, 1):
            for position, letter in enumerate(text, 1):
                number = len(self.lines) + 1
                following = -1 if position == len(text) else number + 1
                columns = [number, letter, following, word_id, position, fold, *self.pixels(number)]
                self.lines.append("\t".join(map(str, columns)) + "\t\n")

    @staticmethod
    def pixels(number):
        """Return the image on line ``number``: the pixels whose index is divisible by ``number``."""
        return [int(j % number == 0) for j in range(128)]

    def set(self, number, column, value):
        """Replace one column (from 0) of line ``number`` (from 1)."""
        columns = self.lines[number - 1].split("\t")
        columns[column] = value
        self.lines[number - 1] = "\t".join(columns)

    def write(self, folder):
        path = folder / "ocr" / "letter.data"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes("".join(self.lines).encode("latin-1"))
        return path


@pytest.fixture
def letter_file():
    """Return a file of four words in folds 0, 3, 0 and 9 with 2, 3, 1 and 2 letters."""
    return LetterFile([("ab", 0), ("cde", 3), ("z", 0), ("xy", 9)])


@pytest.fixture
def horseseg_without_h5py(monkeypatch):
    """Return a function that writes the header of a file of MATLAB 7.3 into a data folder; the package that reads it is missing."""
    monkeypatch.setitem(sys.modules, "h5py", None)

    def write(folder):
        path = folder / "horseseg" / "horseSeg_small.mat"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
        return path

    return write


@pytest.fixture
def real_data():
    """Return the folder of the real data sets; for tests marked ``data``, which are skipped without it."""
    return os.environ["FWEXP_DATA"]
