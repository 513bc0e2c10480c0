"""``lsp``: poses in 400 images of Leeds Sports Pose *Extended* (Johnson and Everingham 2011), with part scores of our own.

``lsp/lspet400/images/im00001.jpg`` .. and ``lsp/lspet400/joints.mat``: 14 joints x (x, y, annotated) x image. The ICML 2016
paper trains on LSP, with the model of Chen and Yuille (section 5, paragraph 2); neither is at hand, so this stands in for it.
Training images are those of the first 300 with all joints annotated; the last 100 are the test set, where joints that are not
annotated do not count.

Images are scaled to `LONGEST` pixels and cut into cells (``part_scores``). Features of a cell are the scores of the 14 detectors
there, of which every part may use all (left and right are easily taken for each other), and its place and the square of
it, relative to the middle of the image. A joint counts as wrong at half the length of the torso.

All is computed once, with Pillow and scikit-image (extra ``images``), and kept in the user's cache folder.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fwexp.data.data_files import read_image, resolve_data_dir
from fwexp.data.dataset import DataFile, DataFolder, Dataset
from fwexp.data.lsp_joints import JOINTS, PARENTS, torso_length
from fwexp.data.parsed import parsed_arrays
from fwexp.errors import DataError
from fwexp.options import NoOptions

NUM_IMAGES, NUM_TEST = 400, 100
FORMAT = 1  # of the parsed form; to be raised when the same files give other arrays
LONGEST = 320  # pixels
REACH = 0.5  # of the torso
UNIT = 10.0  # cells
PLACES = 4  # features
SOURCE = "https://github.com/MiraiLouis/lsp_cpm has these 400 of http://sam.johnson.io/research/lspet.html, with their joints"


def read(options: NoOptions, data_dir: Path):
    """Return the training and the test problem."""
    from fwexp.problems.pose import pose_problem

    arrays = _parsed(data_dir)
    train = pose_problem(**_part(arrays, "train"), parents=PARENTS, unit=UNIT)
    return train, pose_problem(**_part(arrays, "test"), parents=PARENTS, unit=UNIT, offsets=train.offsets)


def scorer(data_dir: str | Path | None = None) -> Callable[[Sequence], dict[str, float]]:
    """Return the function of predictions that compares them with the annotated joints of the test images."""
    from fwexp.data.metrics import pose_scores

    joints = _parsed(resolve_data_dir(data_dir))["test_joints"]
    return lambda predictions: pose_scores(joints, predictions)._asdict()


def read_joints(path: Path) -> np.ndarray:
    """Return the joints as columns and rows of pixels, float64 (images, 14, 2), NaN where not annotated."""
    from scipy.io import loadmat

    try:
        joints = loadmat(path)["joints"]
    except Exception as error:  # damaged files fail anywhere
        raise DataError(f"{path}: cannot be read as a .mat file with joints ({error})") from error
    if joints.ndim != 3 or joints.shape[:2] != (len(JOINTS), 3) or joints.dtype.kind not in "fiu":
        raise DataError(f"{path}: joints are {joints.dtype} of shape {joints.shape}, expected ({len(JOINTS)}, 3, images)")
    joints = joints.astype(np.float64).transpose(2, 0, 1)
    return np.where(joints[:, :, 2:] == 1, joints[:, :, :2], np.nan)


def prepare(folder: Path, joints_path: Path) -> dict[str, np.ndarray]:
    """Scale the images and score parts in them: per part ``_sizes`` in cells, int16 ``_scores`` in 256ths, ``_joints`` in cells."""
    from fwexp.data.part_scores import CELL, cross_fitted_scores, describe

    paths, joints = sorted(folder.glob("*.jpg")), read_joints(joints_path)
    if len(paths) != len(joints) or not paths:
        raise DataError(f"{folder}: {len(paths)} images, expected {len(joints)}, as {joints_path.name} has joints of")
    images, places = [], []
    for path, of_one in zip(paths, joints, strict=True):
        pixels, scale = read_image(path, "RGB", LONGEST)
        images.append(describe(pixels))
        found = of_one[:, ::-1] * scale / CELL
        outside = ((found < 0) | (found >= images[-1].shape[:2])).any(axis=1)
        places.append(np.where(outside[:, None], np.nan, found))
    places = np.array(places)
    first = len(paths) - NUM_TEST * len(paths) // NUM_IMAGES
    train = [k for k in range(first) if not np.isnan(places[k]).any()]
    if not train:
        raise DataError(f"{joints_path}: no training image has all {len(JOINTS)} joints")
    scores = cross_fitted_scores(images, places, train)
    arrays = {}
    for part, chosen in (("train", train), ("test", list(range(first, len(paths))))):
        arrays[f"{part}_sizes"] = np.array([images[k].shape[:2] for k in chosen])
        arrays[f"{part}_scores"] = np.concatenate([scores[k].reshape(-1, len(JOINTS)) for k in chosen])
        arrays[f"{part}_joints"] = places[chosen]
    return arrays


def _parsed(data_dir: Path) -> dict[str, np.ndarray]:
    folder, joints = DATASET.locate(data_dir).values()
    return parsed_arrays("lsp", FORMAT, (folder, joints), lambda: prepare(folder, joints))


def _part(arrays, part: str):
    """Return images, poses and the reach of their joints."""
    sizes, joints = arrays[f"{part}_sizes"], arrays[f"{part}_joints"]
    scores = np.split(arrays[f"{part}_scores"] / 256.0, np.cumsum(sizes.prod(axis=1))[:-1])
    images = [_with_places(of_one.reshape(*size, -1)) for size, of_one in zip(sizes, scores, strict=True)]
    cells = np.where(np.isnan(joints), -1, np.floor(np.nan_to_num(joints))).astype(np.int64)
    torsos = np.array([torso_length(of_one) for of_one in joints])
    reach = REACH * np.where(np.isnan(torsos), np.nanmedian(torsos), torsos)
    return {"X": images, "y": list(cells), "reach": np.maximum(reach, 1.0)}


def _with_places(scores: np.ndarray) -> np.ndarray:
    rows, columns = scores.shape[:2]
    r, c = np.meshgrid((np.arange(rows) + 0.5) / rows - 0.5, (np.arange(columns) + 0.5) / columns - 0.5, indexing="ij")
    return np.dstack((scores, r, r**2, c, c**2))


def _check(folder: Path) -> str:
    found = len(list(folder.glob("*.jpg")))
    if found != NUM_IMAGES:
        raise DataError(f"{folder}: {found} images, expected {NUM_IMAGES}")
    return f"{found} images"


def _check_joints(path: Path) -> str:
    joints = read_joints(path)
    return f"{int((~np.isnan(joints[..., 0])).sum())} joints in {len(joints)} images"


DATASET = Dataset(
    name="lsp",
    title="poses (Leeds Sports Pose Extended, own part scores)",
    shape=f"n 103 + {NUM_TEST}, d {len(JOINTS) * (len(JOINTS) + PLACES) + 4 * (len(JOINTS) - 1)}",
    files=(
        DataFolder("lsp/lspet400/images", check=_check, source=SOURCE),
        DataFile("lsp/lspet400/joints.mat", check=_check_joints, source=SOURCE),
    ),
    read=read,
    scorer=scorer,
    metrics=("pcp", "pdj"),
)
