"""Data sets: from files to a training and a test problem.

`load_dataset` is the way in; `DATASETS` lists what there is. Nothing heavy is imported before a data set is read.
"""

import dataclasses
import difflib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from fwexp.checks import check_choice, check_path, plain
from fwexp.data import conll2000, digits, hansards, ocr
from fwexp.data.files import resolve_data_dir, sha256
from fwexp.data.registry import REGISTRY, locate
from fwexp.errors import OptionError, ParameterError, unknown

__all__ = ["DATASETS", "Dataset", "check_options", "load_dataset", "resolve_data_dir"]


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A data set that can be trained on.

    Attributes
    ----------
    name : str
        Its name in `DATASETS` and in the registry of files.
    Options : type
        Frozen dataclass of its options; ``metadata["choices"]`` of a field lists the accepted values.
    read : callable
        ``read(options, data_dir: Path) -> (train, test)``.
    scorer : callable, optional
        ``scorer(data_dir)`` returns the function of predictions for the test problem that computes what the field reports of
        them, a dict of numbers.
    """

    name: str
    Options: type
    read: Callable
    scorer: Callable | None = None

    @property
    def title(self) -> str:
        """One line on what it is."""
        return REGISTRY[self.name].title

    def load(self, options, data_dir=None):
        """Return the training and the test problem."""
        return self.read(options, resolve_data_dir(data_dir))

    def sources(self, options, data_dir=None) -> dict[str, str]:
        """Return {file name: sha256} of the files that `load` reads."""
        return {name: sha256(path) for name, path in locate(self.name, resolve_data_dir(data_dir)).items()}


DATASETS: dict[str, Dataset] = {
    "digits": Dataset("digits", digits.Options, digits.read),
    "ocr": Dataset("ocr", ocr.Options, ocr.read),
    "conll2000": Dataset("conll2000", conll2000.Options, conll2000.read, conll2000.scorer),
    "hansards": Dataset("hansards", hansards.Options, hansards.read, hansards.scorer),
}


def load_dataset(name: str, *, data_dir: str | Path | None = None, **options):
    """Load a data set.

    Parameters
    ----------
    name : str
        ``"digits"`` (embedded), ``"ocr"``, ``"conll2000"`` or ``"hansards"``.
    data_dir : path, optional
        The folder of the data files; by default the environment variable ``FWEXP_DATA``, else ``~/.cache/fwexp``.
    **options
        Options of the data set, e.g. ``split="ocr"``.

    Returns
    -------
    train, test : problems

    Raises
    ------
    ValueError
        Unknown data set or option value, or a file that is missing or damaged.
    TypeError
        Unknown option.

    Examples
    --------
    >>> import fwexp
    >>> train, test = fwexp.load_dataset("digits")
    >>> train.n, test.n, train.d
    (1000, 500, 770)
    """
    checked = check_options(name, options, ["data_dir"])
    return DATASETS[name].load(checked, None if data_dir is None else check_path("data_dir", data_dir))


def check_options(name: str, options: Mapping | None = None, others: Collection[str] = ()):
    """Return the options dataclass of data set ``name`` with the values of ``options``; ``others`` are what else one can misspell.

    Raises
    ------
    ParameterError
        Unknown data set or value.
    OptionError
        Unknown option.
    """
    if not isinstance(name, str) or name not in DATASETS:
        raise ParameterError(unknown("dataset", name, DATASETS))
    cls = DATASETS[name].Options
    fields = {field.name: field for field in dataclasses.fields(cls)}
    options = {key: plain(value) for key, value in (options or {}).items()}
    for key, value in options.items():
        if key not in fields:
            if not fields and not difflib.get_close_matches(key, others):
                raise OptionError(f"dataset {name} has no options, got {key!r}")
            raise OptionError(unknown(f"option of dataset {name}", key, fields or ["none"], others))
        choices = fields[key].metadata.get("choices")
        if choices:
            check_choice(f"{key} of dataset {name}", value, choices)
    return cls(**options)
