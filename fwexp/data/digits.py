"""``digits``: handwritten calendar dates, the embedded default data set.

A sequence is a date of the years 1900-2099 as 8 digits YYYYMMDD; every digit is a real 8 x 8 image with its true label.
The images, ``digits.npz``, are the 1797 test images of "Optical Recognition of Handwritten Digits" by E. Alpaydin and
C. Kaynak (1998), UCI Machine Learning Repository, https://doi.org/10.24432/C50P49, licence CC BY 4.0. They were taken
from scikit-learn's ``load_digits``, as uint8.

Training sequences draw from the first 1198 images, test sequences from the other 599, so that no image is in both.
Dates and images are drawn by taking raw 64-bit outputs of PCG64, whose stream numpy keeps for ever, modulo the number
of choices; the methods of ``Generator`` may change between versions.

Features of a digit are its 64 pixels, scaled from 0..16 to [0, 1], and a constant 1; K = 10 and
d = 10 * 65 + 10 + 10 + 10^2 = 770.
"""

from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fwexp.data.data_files import check_content
from fwexp.data.dataset import DataFile, Dataset
from fwexp.options import NoOptions

NUM_STATES = 10
LENGTH = 8
SEED = 2013
NUM_TRAIN_IMAGES = 1198
FIRST_DAY = date(1900, 1, 1).toordinal()
NUM_DAYS = date(2100, 1, 1).toordinal() - FIRST_DAY


class Dates(NamedTuple):
    """Sequences of digits and the images that show them, both int64 (n, 8)."""

    digits: np.ndarray
    images: np.ndarray  # indices into the images of digits.npz


def read(options: NoOptions, data_dir: Path):
    """Return the training and the test problem."""
    from fwexp.problems.chain import chain_from_arrays

    (path,) = DATASET.locate(data_dir).values()
    with np.load(path, allow_pickle=False) as file:
        images, labels = file["images"], file["labels"]
    pixels = images.reshape(len(images), -1) / 16.0
    features = np.column_stack([pixels, np.ones(len(images))])
    problems = []
    for part in draw(labels):
        ptr = np.arange(0, part.digits.size + 1, LENGTH)
        problems.append(chain_from_arrays(features[part.images.ravel()], part.digits.ravel(), ptr, NUM_STATES))
    return tuple(problems)


def draw(labels: np.ndarray) -> tuple[Dates, Dates]:
    """Draw 1000 training and 500 test dates, given the labels of all images."""
    bits = np.random.PCG64(SEED)
    indices = np.arange(len(labels))
    return (
        _draw_part(bits, 1000, labels, indices[:NUM_TRAIN_IMAGES]),
        _draw_part(bits, 500, labels, indices[NUM_TRAIN_IMAGES:]),
    )


def _draw_part(bits: np.random.PCG64, n: int, labels: np.ndarray, pool: np.ndarray) -> Dates:
    days = bits.random_raw(n) % np.uint64(NUM_DAYS)
    text = "".join(date.fromordinal(FIRST_DAY + int(day)).strftime("%Y%m%d") for day in days)
    digits = np.array(list(text), dtype=np.int64).reshape(n, LENGTH)
    # The images of digit k are by_label[start[k] : start[k] + count[k]].
    by_label = pool[np.argsort(labels[pool], kind="stable")]
    count = np.bincount(labels[pool], minlength=NUM_STATES)
    start = np.cumsum(count) - count
    choice = bits.random_raw(n * LENGTH).reshape(n, LENGTH) % count[digits].astype(np.uint64)
    return Dates(digits, by_label[start[digits] + choice.astype(np.int64)])


DATASET = Dataset(
    name="digits",
    title="handwritten dates, made of the UCI optical digits",
    shape="n 1000 + 500, d 770",
    files=(
        DataFile(
            path="digits.npz",
            home=Path(__file__).parent,
            size=45891,
            check=partial(check_content, size=45891, sha256="3f08a2658427486376a9c97aef4b9143913a62d3b8a1af8ccf9bd87a4e0a38c6"),
        ),
    ),
    read=read,
)
