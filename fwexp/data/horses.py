"""``horses``: figure and ground in the Weizmann Horse Database (Borenstein and Ullman 2002), on superpixels.

``weizmann_horse/train`` and ``weizmann_horse/test`` hold ``images/NAME.jpg`` and, of the same size, ``masks/NAME.png``, in
which pixels of the horse are not 0. An example is an image, as a graph of superpixels (``superpixels``); the true label of
one is that of most of its pixels, and it counts in the loss by their number. It stands in for HorseSeg (``horseseg``), whose
images and features are others.

Graphs and features are computed once, with scikit-image (extra ``images``), and kept in the user's cache folder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fwexp.data.data_files import read_image, resolve_data_dir
from fwexp.data.dataset import DataFolder, Dataset
from fwexp.data.parsed import cache_folder, parsed_arrays
from fwexp.errors import DataError
from fwexp.jit.threads import parallel_map
from fwexp.options import choice

PARTS = ("train", "test")
COUNTS = {"train": 278, "test": 49}  # images of the whole data set
FORMAT = 1  # of the parsed form; to be raised when the same images give other arrays
SUPERPIXELS = 200  # about so many per image
SOURCE = (
    "https://github.com/ZJW-HUST/Deeplab-Weizmann-Horse has them in weizmann_horse_db; here they are scaled to at most 240 "
    "pixels, and saved as images/NAME.jpg and masks/NAME.png"
)


@dataclass(frozen=True)
class Options:
    """The options of ``horses``.

    Attributes
    ----------
    loss : str
        Share of wrong nodes by size (``hamming``), or the mean of the shares in both labels (``balanced``).
    pairwise : bool
        Whether there are edges; without, nodes are classified one by one.
    """

    loss: str = choice("hamming", "balanced")
    pairwise: bool = choice(True, False)  # without, nodes are classified one by one


class Picture(NamedTuple):
    """A test image."""

    name: str
    image: np.ndarray  # uint8 (height, width, 3)
    mask: np.ndarray  # bool (height, width)
    segments: np.ndarray  # int64 (height, width), the superpixel of every pixel


def read(options: Options, data_dir: Path):
    """Return the training and the test problem."""
    arrays = _parsed(data_dir)
    return tuple(_problem(arrays, part, options) for part in PARTS)


def scorer(data_dir: str | Path | None = None) -> Callable[[Sequence], dict[str, float]]:
    """Return the function of predictions that compares them with the masks of the test images, pixel by pixel."""
    from fwexp.data.metrics import segmentation_scores

    sizes, inside = sizes_of_test(data_dir)
    return lambda predictions: segmentation_scores(sizes, inside, predictions)._asdict()


def sizes_of_test(data_dir: str | Path | None = None) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return for every test image the pixels of its superpixels, and how many of them are the horse's."""
    arrays = _parsed(resolve_data_dir(data_dir))
    ends = np.cumsum(arrays["test_counts"])[:-1]
    sizes, inside = (np.split(arrays[f"test_{name}"], ends) for name in ("sizes", "inside"))
    return sizes, inside


def pictures_of_test(chosen: Sequence[int], data_dir: str | Path | None = None) -> list[Picture]:
    """Return some test images, by their numbers in the test problem."""
    from fwexp.data.superpixels import segment

    folder = list(DATASET.locate(resolve_data_dir(data_dir)).values())[PARTS.index("test")]
    images, sizes = read_images(folder), sizes_of_test(data_dir)[0]
    found = [Picture(*images[number], segment(images[number][1], SUPERPIXELS)) for number in chosen]
    for number, picture in zip(chosen, found, strict=True):
        if not np.array_equal(np.bincount(picture.segments.ravel()), sizes[number]):
            what = f"{folder}: scikit-image finds other superpixels in {picture.name} than those that are kept"
            raise DataError(f"{what}; remove {cache_folder()}")
    return found


def read_images(folder: Path) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return (name, image uint8 (height, width, 3), mask bool (height, width)) of all images of a folder, in the order of names."""
    images = {path.stem: path for path in sorted((folder / "images").glob("*.jpg"))}
    masks = {path.stem: path for path in sorted((folder / "masks").glob("*.png"))}
    if not images:
        raise DataError(f"{folder / 'images'}: no images, expected NAME.jpg")
    for name in images.keys() ^ masks.keys():
        has, lacks = (images[name], f"masks/{name}.png") if name in images else (masks[name], f"images/{name}.jpg")
        raise DataError(f"{folder}: {has.parent.name}/{has.name} has no {lacks}")
    return [(name, *_read_pair(images[name], masks[name])) for name in images]


def _read_pair(image_path: Path, mask_path: Path) -> tuple[np.ndarray, np.ndarray]:
    image, mask = read_image(image_path, "RGB")[0], read_image(mask_path, "L")[0] > 0
    if mask.shape != image.shape[:2]:
        size, wanted = (f"{shape[1]} x {shape[0]}" for shape in (mask.shape, image.shape))
        raise DataError(f"{mask_path}: the mask is {size} pixels, expected {wanted} like {image_path.name}")
    return image, mask


def _parsed(data_dir: Path) -> dict[str, np.ndarray]:
    folders = list(DATASET.locate(data_dir).values())
    return parsed_arrays("horses", FORMAT, folders, lambda: prepare(folders))


def prepare(folders: Sequence[Path]) -> dict[str, np.ndarray]:
    """Find superpixels and describe them; return arrays of all training and of all test images, one image after the other."""
    from fwexp.data.superpixels import describe

    arrays = {}
    for part, folder in zip(PARTS, folders, strict=True):
        _, images, masks = zip(*read_images(folder), strict=True)
        graphs = parallel_map(lambda image: describe(image, SUPERPIXELS), images)
        sizes = [np.bincount(graph.segments.ravel()) for graph in graphs]
        inside = [
            np.bincount(graph.segments.ravel(), mask.ravel(), minlength=len(counts)).astype(np.int64)
            for graph, mask, counts in zip(graphs, masks, sizes, strict=True)
        ]
        arrays |= {
            f"{part}_counts": np.array([len(of_one) for of_one in sizes]),
            f"{part}_edge_counts": np.array([len(graph.edges) for graph in graphs]),
            f"{part}_x": np.concatenate([graph.x for graph in graphs]).astype(np.float32),
            f"{part}_edges": np.concatenate([graph.edges for graph in graphs]).astype(np.int32),
            f"{part}_z": np.concatenate([graph.z for graph in graphs]).astype(np.float32),
            f"{part}_sizes": np.concatenate(sizes),
            f"{part}_inside": np.concatenate(inside),
        }
    return arrays


def _problem(arrays, part: str, options: Options):
    import scipy.sparse as sp

    from fwexp.problems.features import as_features
    from fwexp.problems.segmentation import segmentation_from_arrays

    x, z, edges, sizes, inside = (arrays[f"{part}_{name}"] for name in ("x", "z", "edges", "sizes", "inside"))
    edges = np.split(edges, np.cumsum(arrays[f"{part}_edge_counts"])[:-1])
    if not options.pairwise:
        edges, z = [of_one[:0] for of_one in edges], z[:0]
    return segmentation_from_arrays(
        as_features(x),
        as_features(sp.csr_array(z)),
        edges=edges,
        labels=(2 * inside > sizes).astype(np.int32),
        sizes=sizes,
        label_ptr=np.concatenate(([0], np.cumsum(arrays[f"{part}_counts"]))),
        num_features=x.shape[1],
        num_pairwise=z.shape[1],
        loss="balanced" if options.loss == "balanced" else "share",
        foreground_only=True,
    )


def _check(folder: Path) -> str:
    found, expected = len(read_images(folder)), COUNTS[folder.name]
    if found != expected:
        raise DataError(f"{folder}: {found} images with masks, expected {expected}")
    return f"{found} images with masks of their sizes"


DATASET = Dataset(
    name="horses",
    title="figure and ground on superpixels (Weizmann horses)",
    shape="n 278 + 49, d 223",
    files=tuple(DataFolder(f"weizmann_horse/{part}", check=_check, source=SOURCE) for part in PARTS),
    read=read,
    Options=Options,
    scorer=scorer,
    metrics=("pixel_accuracy", "iou"),
)
