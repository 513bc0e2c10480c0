"""Data sets: from files to a training and a test problem.

`load_dataset` is the way in; `DATASETS` has what there is by name: each `Dataset` in a module of this folder, and those of
other packages, by entry points of the group ``fwexp.datasets`` whose names are those of the data sets. Nothing heavy is
imported before a data set is read. Functions ``read_...`` read files of other tools.
"""

from collections.abc import Collection, Mapping
from typing import Any, overload

from fwexp import plugins
from fwexp.data.data_files import resolve_data_dir
from fwexp.data.dataset import DataFile, DataFolder, Dataset
from fwexp.data.readers import (
    as_pharaoh,
    read_attributes,
    read_columns,
    read_conllu,
    read_crfsuite,
    read_csv,
    read_pharaoh,
    read_svmlight,
    read_template,
)
from fwexp.errors import ParameterError, unknown
from fwexp.files.user_paths import check_path
from fwexp.options import KINDS, make_options
from fwexp.templates import Template
from fwexp.types import AnyPath, SetOfExamples

__all__ = [
    "DATASETS",
    "DataFile",
    "DataFolder",
    "Dataset",
    "Template",
    "as_pharaoh",
    "check_options",
    "load_dataset",
    "read_attributes",
    "read_columns",
    "read_conllu",
    "read_crfsuite",
    "read_csv",
    "read_pharaoh",
    "read_svmlight",
    "read_template",
    "resolve_data_dir",
]


def _check(dataset) -> None:
    if not isinstance(dataset, Dataset):
        raise ParameterError("it is no fwexp.data.Dataset")
    if not (isinstance(dataset.files, tuple) and all(isinstance(file, DataFile) for file in dataset.files)):
        raise ParameterError("its files are no tuple of DataFile")
    plugins.check_options_class(dataset.Options, ["data_dir"])
    dataset.Options()
    if dataset.kind not in KINDS:
        raise ParameterError(unknown("kind of problem", dataset.kind, KINDS))


def _datasets(module) -> list[Dataset]:
    return plugins.instances(module, Dataset)


DATASETS = plugins.Catalogue(
    "dataset",
    lambda: plugins.of_modules(__name__, _datasets),
    _check,
    objects=_datasets,
)


@overload
def load_dataset(
    name: str, *, validation: float, data_dir: AnyPath | None = None, **options: Any
) -> tuple[SetOfExamples, SetOfExamples, SetOfExamples]: ...


@overload
def load_dataset(name: str, *, data_dir: AnyPath | None = None, **options: Any) -> tuple[SetOfExamples, SetOfExamples]: ...


def load_dataset(name: str, *, data_dir: AnyPath | None = None, **options: Any) -> tuple[SetOfExamples, ...]:
    """Load a data set.

    Parameters
    ----------
    name : str
        ``"digits"`` (embedded), ``"ocr"``, ``"conll2000"``, ``"hansards"``, ``"horses"``, ``"synthetic_horseseg"``, or another name
        in `DATASETS`; ``fwexp data`` lists them.
    data_dir : path, optional
        Folder of the data files; by default the environment variable ``FWEXP_DATA``, otherwise ``~/.cache/fwexp``.
    **options
        Options of the data set, e.g. ``split="ocr"``. All data sets of examples take ``validation=0.2``, a share of the training
        examples to set aside, and ``validation_seed=0``, which chooses them.

    Returns
    -------
    train, test : problems
        With a ``validation`` share, three problems: ``train, validation, test``.

    Raises
    ------
    ValueError
        If the data set is unknown, an option does not accept its value, or a file is missing or damaged.
    TypeError
        If the data set does not have an option.

    Examples
    --------
    >>> import fwexp
    >>> train, test = fwexp.load_dataset("digits")
    >>> train.n, test.n, train.d
    (1000, 500, 770)
    >>> train, validation, test = fwexp.load_dataset("digits", validation=0.2)
    >>> train.n, validation.n, test.n
    (800, 200, 500)
    """
    checked = check_options(name, options, ["data_dir"])
    return DATASETS[name].load(checked, None if data_dir is None else check_path("data_dir", data_dir))


def check_options(name: str, options: Mapping | None = None, others: Collection[str] = ()):
    """Return the options dataclass of data set ``name`` with the values of ``options``; suggestions are also among ``others``."""
    return make_options(f"dataset {name}", DATASETS.find(name).Options, options or {}, others)
