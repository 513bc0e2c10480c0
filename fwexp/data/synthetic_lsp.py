"""``synthetic_lsp``: poses of the numbers and dimension of LSP in the 2016 paper, with planted templates and noise; ``slow_lsp``.

n = 100 images for training and 50 for test, 14 joints in a tree, d = 2677: 187 or 188 features of every joint, and 4 weights of
13 deformations. An oracle call scores 14 joints at 32 x 32 cells, a hundred times the cost of the step around it.

``slow_lsp`` has the same n and d, images of 56 x 56 cells, and an oracle that tries all pairs of cells: a call takes more than
50 ms, as costly ones of the ICML 2016 paper do (section 5, paragraph 3: up to 2 seconds).

An image is noise. At the cell of every joint its template, a vector of numbers, is added to the features; at two other cells,
too, but weaker (`DISTRACTION`). Joints are off the place where their parents expect them by up to `SPREAD` cells.

Everything is drawn by taking raw 64-bit outputs of PCG64, whose stream numpy keeps for ever, modulo the number of choices,
one stream per image; the methods of ``Generator`` may change between versions.
"""

from pathlib import Path

import numpy as np

from fwexp.data.dataset import Dataset
from fwexp.data.lsp_joints import JOINTS, PARENTS
from fwexp.data.raw_choices import choices
from fwexp.options import NoOptions

NUM_TRAIN, NUM_TEST = 100, 50
SIDE, SLOW_SIDE = 32, 56  # cells
WIDEST = 188  # features of the second half of the joints; the first half has one less
SIGNAL, DISTRACTION, NOISE = 24, 18, 128  # before the division by SCALE
SPREAD, DISTRACTORS = 2, 2
SCALE, UNIT = 1024.0, 16.0  # which make psi about as long as 1
# Where joints are expected relative to the middle of the image: rows and columns.
STANDING = np.array(
    [
        *[(12, -3), (7, -3), (2, -2), (2, 2), (7, 3), (12, 3)],  # right ankle, knee, hip; left hip, knee, ankle
        *[(3, -7), (-1, -6), (-5, -4), (-5, 4), (-1, 6), (3, 7)],  # right wrist, elbow, shoulder; left shoulder, elbow, wrist
        *[(-7, 0), (-11, 0)],  # neck, head top
    ]
)


def read(options: NoOptions, data_dir: Path):
    """Return the training and the test problem."""
    return _problems(SIDE)


def read_slow(options: NoOptions, data_dir: Path):
    """Return the training and the test problem of ``slow_lsp``; only calls for training have to be slow."""
    train, test = _problems(SLOW_SIDE)
    return train._replace(exhaustive=True), test


def _problems(side: int):
    from fwexp.problems.pose import pose_problem

    features = [np.arange(WIDEST - 1)] * (len(JOINTS) // 2) + [np.arange(WIDEST)] * (len(JOINTS) // 2)
    train = pose_problem(*_images(0, NUM_TRAIN, side), PARENTS, features=features, reach=4.0, unit=UNIT)
    test = pose_problem(
        *_images(NUM_TRAIN, NUM_TEST, side), PARENTS, features=features, reach=4.0, unit=UNIT, offsets=train.offsets
    )
    return train, test


def _images(first: int, count: int, side: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    pairs = [draw(number, side) for number in range(first, first + count)]
    return [image for image, _ in pairs], [pose for _, pose in pairs]


def draw(number: int, side: int = SIDE) -> tuple[np.ndarray, np.ndarray]:
    """Return the features (side, side, WIDEST) and the pose (14, 2) of the image of this number."""
    choice = choices(1 + number)
    joints = len(JOINTS)
    pose = side // 2 + choice(5, 2) - 2 + STANDING + choice(2 * SPREAD + 1, joints, 2) - SPREAD
    pose = np.clip(pose, 0, side - 1)
    image = choice(2 * NOISE + 1, side, side, WIDEST) - NOISE
    for joint, template in enumerate(choices(0)(3, len(JOINTS), WIDEST) - 1):
        image[tuple(pose[joint])] += SIGNAL * template
        for place in choice(side, DISTRACTORS, 2):
            image[tuple(place)] += DISTRACTION * template
    return image / SCALE, pose


DATASET = Dataset(
    name="synthetic_lsp",
    title="poses of LSP's size with planted templates",
    shape=f"n {NUM_TRAIN} + {NUM_TEST}, d 2677",
    files=(),
    read=read,
)
SLOW = Dataset(
    name="slow_lsp",
    title="poses of LSP's size, with an oracle that tries all pairs of cells",
    shape=f"n {NUM_TRAIN} + {NUM_TEST}, d 2677",
    files=(),
    read=read_slow,
)
