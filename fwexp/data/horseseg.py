"""``horseseg``: HorseSeg (Kolesnikov et al., ECCV 2014) as the 2016 paper used it, from its published ``.mat`` file.

``horseseg/horseSeg_small.mat`` holds the cell arrays ``patterns_train``, ``labels_train``, ``patterns_test`` and
``labels_test``, one struct per image. Of a pattern, ``features`` (1969, V), ``features_pairwise`` (100, E) and ``edge_structure``
(2, E), nodes from 0, are read; of labels, ``labels`` (V,), 0 and 1, and ``superpixel_size`` (V,). The file is one of MATLAB
7.3, which is HDF5 and needs h5py (extra ``images``); older versions of the format are read as well.

The paper's features of a labeling are sum_v x_v for label 1 less that for label 0, so its psi are those of
``fwexp.segmentation_problem`` with ``foreground_only`` and 2 x_v, which is what is built here: d = 1969 + 100 = 2069, and w
differs from that of the published code in the sign of the first 1969 numbers only.

No copy of the file was at hand: what is here follows the published code that writes and reads them, and is tested on files
of that form. The larger sets of the paper, 6121 and 25438 images with dense features, take 10 GB and more and are not read;
``synthetic_horseseg`` has their sizes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fwexp.data.data_files import resolve_data_dir
from fwexp.data.dataset import DataFile, Dataset
from fwexp.errors import DataError, ParameterError, UserError, needing
from fwexp.options import choice

URL = "http://www.di.ens.fr/sierra/research/gapBCFW/release"
FIELDS = {"patterns": ("features", "features_pairwise", "edge_structure"), "labels": ("labels", "superpixel_size")}


@dataclass(frozen=True)
class Options:
    """The options of ``horseseg``.

    Attributes
    ----------
    loss : str
        Share of wrong nodes by size (``hamming``), or the mean of the shares in both labels (``balanced``).
    """

    loss: str = choice("hamming", "balanced")


def read(options: Options, data_dir: Path):
    """Return the training and the test problem."""
    from fwexp.problems.segmentation import segmentation_problem

    (found,) = DATASET.locate(data_dir).values()
    cells = read_cells(found)
    problems = []
    for part in ("train", "test"):
        patterns, labels = cells[f"patterns_{part}"], cells[f"labels_{part}"]
        try:
            problem = segmentation_problem(
                [2.0 * np.asarray(pattern["features"], dtype=np.float64).T for pattern in patterns],
                [pattern["edge_structure"].astype(np.int64).T for pattern in patterns],
                [pattern["features_pairwise"].astype(np.float64).T for pattern in patterns],
                [of_one["labels"].ravel().astype(np.int64) for of_one in labels],
                [of_one["superpixel_size"].ravel().astype(np.float64) for of_one in labels],
                loss="balanced" if options.loss == "balanced" else "share",
                foreground_only=True,
            )
        except ParameterError as error:
            raise DataError(f"{found}, {part}: {error}") from error
        problems.append(problem)
    return tuple(problems)


def scorer(data_dir: str | Path | None = None):
    """Return the function of predictions for the test images; it takes superpixels to be of one label each."""
    from fwexp.data.metrics import segmentation_scores

    (path,) = DATASET.locate(resolve_data_dir(data_dir)).values()
    labels = read_cells(path)["labels_test"]
    sizes = [of_one["superpixel_size"].ravel() for of_one in labels]
    inside = [size * of_one["labels"].ravel() for size, of_one in zip(sizes, labels, strict=True)]
    return lambda predictions: segmentation_scores(sizes, inside, predictions)._asdict()


def read_cells(path: Path) -> dict[str, list[dict[str, np.ndarray]]]:
    """Return the structs of the four cell arrays, their arrays as MATLAB shows them."""
    try:
        return _read_cells(path)
    except UserError:
        raise
    except Exception as error:  # damaged files fail anywhere
        raise DataError(f"{path}: cannot be read as a MATLAB file ({error})") from error


def _read_cells(path: Path) -> dict[str, list[dict[str, np.ndarray]]]:
    import scipy.io

    try:
        cells = scipy.io.loadmat(path, simplify_cells=False)
    except NotImplementedError:  # a file of version 7.3
        return _read_hdf5(path)

    def structs(cell) -> list:
        records = (item.ravel()[0] for item in cell.ravel())
        return [{name: np.asarray(record[name]) for name in record.dtype.names or ()} for record in records]

    return _checked(path, cells, structs)


def _read_hdf5(path: Path) -> dict[str, list[dict[str, np.ndarray]]]:
    with needing(f"{path}: MATLAB files of version 7.3 need"):
        import h5py
    names = {name for fields in FIELDS.values() for name in fields}
    with h5py.File(path) as file:

        def structs(cell) -> list:
            groups = [file[reference] for reference in cell[()].ravel()]
            return [{name: group[name][()].T for name in names & set(group)} for group in groups]

        return _checked(path, file, structs)


def _checked(path: Path, cells, structs: Callable) -> dict[str, list[dict[str, np.ndarray]]]:
    found = {}
    for kind, fields in FIELDS.items():
        for part in ("train", "test"):
            name = f"{kind}_{part}"
            if name not in cells:
                raise DataError(
                    f"{path}: no cell array {name}, expected {', '.join(f'{kind}_train, {kind}_test' for kind in FIELDS)}"
                )
            found[name] = structs(cells[name])
            for i, struct in enumerate(found[name]):
                for missing in [name_of_field for name_of_field in fields if name_of_field not in struct]:
                    raise DataError(f"{path}: {name}{{{i + 1}}} has no field {missing}, expected {', '.join(fields)}")
    return found


def _check(path: Path) -> str:
    cells = read_cells(path)
    return f"{len(cells['patterns_train'])} + {len(cells['patterns_test'])} images"


DATASET = Dataset(
    name="horseseg",
    title="figure and ground on superpixels (HorseSeg)",
    shape="n 147 + 241, d 2069",
    files=(DataFile("horseseg/horseSeg_small.mat", f"{URL}/horseSeg_small.mat", check=_check),),
    read=read,
    Options=Options,
    scorer=scorer,
    metrics=("pixel_accuracy", "iou"),
)
