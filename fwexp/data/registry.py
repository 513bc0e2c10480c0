"""What is known of every data set before it is read: names, files, canonical URLs, sizes, checks.

Files keep their upstream names below one folder per data set. Upstream offers gzip files without checksums; packing a
text anew changes the gzip bytes, so it is always the unpacked content that is checked: by the checksum of the text
where the text is known to be upstream's, byte for byte (CoNLL-2000), and by counts and a checksum of what the loader
reads where only that is (OCR, whose columns ``id``, ``word_id`` and ``position`` differ between copies).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fwexp.data.files import check_bytes, check_text
from fwexp.errors import DataError

PACKAGE = Path(__file__).parent


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Where it lies in the data folder (in this package if ``url`` is None).
    url : str or None
        The canonical source; None for a file that comes with the package.
    size : int
        Bytes of the unpacked content.
    check : callable
        ``check(path) -> str`` says what was found to be right, or raises DataError.
    skip : int
        How many lines of what ``url`` gives come before the content of the file.
    """

    path: str
    url: str | None
    size: int
    check: Callable[[Path], str]
    skip: int = 0

    def folder(self, data_dir: Path) -> Path:
        """Return the folder that ``path`` is relative to."""
        return PACKAGE if self.url is None else data_dir

    def find(self, data_dir: Path) -> Path | None:
        """Return the path of the file, packed or unpacked; None if it is not there."""
        candidates = (self.folder(data_dir) / name for name in (self.path, self.path.removesuffix(".gz")))
        return next((path for path in candidates if path.is_file()), None)


@dataclass(frozen=True)
class Entry:
    """A data set: a title, its number of examples and dimension, and its files."""

    title: str
    shape: str
    files: tuple[DataFile, ...]


def _check_letters(path: Path) -> str:
    from fwexp.data.ocr import check

    return check(path)


def _conll2000(name: str, size: int, sha256: str) -> DataFile:
    url = f"https://www.clips.uantwerpen.be/conll2000/chunking/{name}"
    return DataFile(f"conll2000/{name}", url, size, partial(check_text, size=size, sha256=sha256))


def _hansards(name: str, upstream: str, size: int, sha256: str, skip: int = 0) -> DataFile:
    # A copy of the shared task's texts, in UTF-8 and cut to 25,000 pairs; its own archives hold 1.1 million in Latin-1.
    url = f"https://raw.githubusercontent.com/pdekker12/nlp2/master/data/{upstream}"
    return DataFile(f"hansards/{name}", url, size, partial(check_text, size=size, sha256=sha256), skip)


REGISTRY: dict[str, Entry] = {
    "digits": Entry(
        title="handwritten dates, made of the UCI optical digits",
        shape="n 1000 + 500, d 770",
        files=(
            DataFile(
                path="digits.npz",
                url=None,
                size=45891,
                check=partial(
                    check_bytes,
                    size=45891,
                    sha256="3f08a2658427486376a9c97aef4b9143913a62d3b8a1af8ccf9bd87a4e0a38c6",
                ),
            ),
        ),
    ),
    "ocr": Entry(
        title="handwritten words (Taskar et al. 2003)",
        shape="n 6251 + 626, d 4082",
        files=(
            DataFile(
                path="ocr/letter.data.gz",
                url="http://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
                size=14557249,
                check=_check_letters,
            ),
        ),
    ),
    "conll2000": Entry(
        title="text chunking (CoNLL-2000)",
        shape="n 8936 + 2012, d 1643026",
        files=(
            _conll2000("train.txt.gz", 2842164, "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea"),
            _conll2000("test.txt.gz", 639396, "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628"),
        ),
    ),
    "hansards": Entry(
        title="word alignment, English and French (NAACL 2003)",
        shape="n 5000 + 347, d 95",
        files=(
            _hansards("test.e", "test.e", 36939, "d73d6edcf34615f9f9489d0c234a44eadb3294635d10c9ceb77c22afca46bb39"),
            _hansards("test.f", "test.f", 42709, "7aece2a76346cd3e36a43d6e2958bf08bd22a24469e50c7e21da90fe49e0402d"),
            _hansards("test.wa", "test.wa.nonullalign", 209027, "eedb9a219cb672a79130557fd4a4bc698565078c6a64abe8d9b18c3bb3ec0651"),
            # Upstream put the 447 test sentences first.
            _hansards(
                "train.25000.e.gz",
                "combination25000.e",
                2407926,
                "8f02119a6c8fefc3242fac9f8d793b1a9495a333cbdb980134976fdf85965d70",
                skip=447,
            ),
            _hansards(
                "train.25000.f.gz",
                "combination25000.f",
                2905917,
                "a2db728a3479cd96815592d9ef7b7e1fef798fe702ae95dd74bc22dc17e02da8",
                skip=447,
            ),
        ),
    ),
}


def locate(name: str, data_dir: Path) -> dict[str, Path]:
    """Return {name in the data folder: path} of the files of a data set.

    Raises
    ------
    DataError
        A file is missing; the message says which, and how to get it.
    """
    paths = {}
    for file in REGISTRY[name].files:
        path = file.find(data_dir)
        if path is None:
            folder = data_dir if data_dir.is_dir() else f"{data_dir} (no such folder)"
            raise DataError(
                f"dataset {name} needs {file.path} (or {file.path.removesuffix('.gz')}), which is not in {folder}; "
                f"get it with `fwexp data fetch {name}`, or name a folder that has it with data_dir= or FWEXP_DATA"
            )
        paths[path.relative_to(file.folder(data_dir)).as_posix()] = path
    return paths
