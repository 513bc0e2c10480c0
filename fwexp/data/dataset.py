"""The declaration of a data set: name, options, files with their sources and checks, and its reader.

Files keep their upstream names below one folder per data set. Upstream offers gzip files without checksums; packing a
text anew changes the gzip bytes, so it is always the unpacked content that is checked: by the checksum of the text
where the text is known to be upstream's, byte for byte (CoNLL-2000), and by counts and a checksum of what the loader
reads where only that is (OCR, whose columns ``id``, ``word_id`` and ``position`` differ between copies).
"""

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from pathlib import Path

from fwexp.data import validation
from fwexp.data.data_files import read_lines, resolve_data_dir, sha256
from fwexp.errors import DataError, MissingPackage, ParameterError
from fwexp.files import folders
from fwexp.options import STRUCTURED, NoOptions


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Where it lies in the data folder, or below ``home``.
    url : str, optional
        The canonical source; None for a file that comes with a package, or that users put there themselves.
    size : int, optional
        Bytes of the unpacked content, where that is known.
    check : callable, optional
        ``check(path) -> str`` returns the facts that it checked, or raises DataError; by default, that the file can be read.
    skip : int
        How many lines of what ``url`` gives come before the content of the file.
    home : Path, optional
        The folder of a file that comes with a package.
    source : str
        Source of a file that users put there themselves.
    """

    path: str
    url: str | None = None
    size: int | None = None
    check: Callable[[Path], str] | None = None
    skip: int = 0
    home: Path | None = None
    source: str = ""

    def folder(self, data_dir: Path) -> Path:
        """Return the folder that ``path`` is relative to."""
        return self.home or data_dir

    def find(self, data_dir: Path) -> Path | None:
        """Return the path of the file, packed or unpacked; None if it is not there."""
        candidates = (self.folder(data_dir) / name for name in (self.path, self.path.removesuffix(".gz")))
        return next((path for path in candidates if folders.is_file(path)), None)

    def cure(self, dataset: str) -> str:
        """Return how to get the file of a data set that is missing or damaged."""
        if self.url:
            return f"get it with `fwexp data fetch {dataset}`"
        if self.home:
            return "it comes with the package: install that again"
        return f"put it there ({self.source})" if self.source else "put it there"

    def verify(self, path: Path) -> str:
        """Return the facts that were checked of the file, which lies at ``path``, or raise DataError."""
        if self.check is not None:
            return self.check(path)
        return f"{sum(len(line) for _, line in read_lines(path))} bytes, nothing to check them against"


@dataclass(frozen=True)
class DataFolder(DataFile):
    """A folder of many files that are one thing, such as images, below the data folder."""

    def find(self, data_dir: Path) -> Path | None:
        """Return the path of the folder; None if it is not there."""
        path = self.folder(data_dir) / self.path
        return path if folders.is_folder(path) else None


@dataclass(frozen=True)
class Dataset:
    """A data set, or a problem that is computed. Those in the modules of ``fwexp/data`` are found.

    Attributes
    ----------
    name : str
        Its name on the command line.
    title : str
        A title in one line.
    shape : str
        Its number of examples and dimension, as text.
    files : tuple of DataFile
        All files that it is read from.
    read : callable
        ``read(options, data_dir: Path) -> (train, test)``; test is None where there is none.
    Options : type
        Frozen dataclass of its options, whose fields `fwexp.options.choice` and `fwexp.options.option` make. Those of a data set of
        examples get the options ``validation`` and ``validation_seed`` as well, which ``read`` need not look at.
    scorer : callable, optional
        ``scorer(data_dir)`` returns the function of predictions for the test problem that computes what the field reports of
        them, a dict of numbers.
    metrics : tuple of str
        The names of these numbers, which are columns of a trace.
    kind : str
        Of `fwexp.options.KINDS`: what ``read`` returns are problems of a family (``structured``), a
        `fwexp.convex.Minimisation` (``convex``) or a `fwexp.convex.Bilinear` (``saddle``).
    """

    name: str
    title: str
    shape: str
    files: tuple[DataFile, ...]
    read: Callable
    Options: type = NoOptions
    scorer: Callable | None = None
    metrics: tuple[str, ...] = ()
    kind: str = STRUCTURED

    def __post_init__(self) -> None:
        if self.kind == STRUCTURED and is_dataclass(self.Options):
            object.__setattr__(self, "Options", validation.with_validation(self.Options))

    def load(self, options, data_dir=None):
        """Return the training and the test problem; if a share is set aside for validation, the problem of that in between."""
        train, test = self.read(options, resolve_data_dir(data_dir))
        if not getattr(options, "validation", 0.0):
            return train, test
        return *validation.split(train, options.validation, options.validation_seed, self.name), test

    def scores(self, data_dir=None) -> Callable[..., dict[str, float]] | None:
        """Return the function of predictions that computes the ``metrics``, or None where there are none."""
        if self.scorer is None:
            return None
        compute = self.scorer(data_dir)

        def checked(predictions) -> dict[str, float]:
            found = compute(predictions)
            if set(found) != set(self.metrics):
                promised = ", ".join(self.metrics) or "none"
                raise ParameterError(f"dataset {self.name} promises the metrics {promised}, got {', '.join(found) or 'none'}")
            return found

        return checked

    def sources(self, options, data_dir=None) -> dict[str, str]:
        """Return {file name: sha256} of the files that `load` reads."""
        return {name: sha256(path) for name, path in self.locate(resolve_data_dir(data_dir)).items()}

    def is_published(self, data_dir=None) -> bool | None:
        """Return whether the files are the published ones, as ``fwexp data verify`` checks them; None if that is unknown."""
        data_dir = resolve_data_dir(data_dir)
        if not self.files or any(file.check is None for file in self.files):
            return None
        try:
            for file, path in zip(self.files, self.locate(data_dir).values(), strict=True):
                file.verify(path)
        except MissingPackage:
            return None
        except DataError:
            return False
        return True

    def locate(self, data_dir: Path) -> dict[str, Path]:
        """Return {name in the data folder: path} of the files; a DataError names the one that is missing, and how to get it."""
        paths = {}
        for file in self.files:
            path = file.find(data_dir)
            if path is None:
                folder = file.folder(data_dir)
                place = folder if folders.is_folder(folder) else f"{folder} (no such folder)"
                plain = file.path.removesuffix(".gz")
                names = file.path if plain == file.path else f"{file.path} (or {plain})"
                raise DataError(
                    f"dataset {self.name} needs {names}, which is not in {place}; "
                    f"{file.cure(self.name)}, or name a folder that has it with data_dir= or FWEXP_DATA"
                )
            paths[path.relative_to(file.folder(data_dir)).as_posix()] = path
        return paths
