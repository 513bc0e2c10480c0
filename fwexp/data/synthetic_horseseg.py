"""``synthetic_horseseg``: graphs of the numbers, sizes and dimension of HorseSeg, with planted weights and noise.

n = 147, 6121 or 25438 images for training (``size``; the smaller sets are the first images of the larger ones) and 241 for
test, d = 1969 + 100 as in the 2016 paper. What is imitated is what a solver works on, not horses: an image is a grid of 8 to
13 rows and 9 to 14 columns of superpixels, each square with one diagonal, so about 120 nodes and 320 edges. The figure is an
ellipse, and `FLIPPED` of the nodes have the other label.

Node features are a constant and a word of each of nine vocabularies, of the sizes in HorseSeg: three of places, three of
colours, three of shapes, so ten ones. A word of colour or shape is odd in the figure and even in the ground with some
probability (`SIGNAL`), else any; the planted weights are those of odd words. Edge features are a constant and a level of contrast,
of eleven, in three of nine comparisons: higher levels on the outline of the figure.

Everything is drawn by taking raw 64-bit outputs of PCG64, whose stream numpy keeps for ever, modulo the number of choices,
one stream per image; the methods of ``Generator`` may change between versions.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fwexp.data.dataset import Dataset
from fwexp.data.raw_choices import choices
from fwexp.errors import ParameterError
from fwexp.options import check_integer, choice, option

SIZES = {"small": 147, "medium": 6121, "large": 25438}
NUM_TEST = 241
PLACES, COLOURS, SHAPES = 16, 128, 512  # words
VOCABULARIES = (PLACES,) * 3 + (COLOURS,) * 3 + (SHAPES,) * 3
SIGNAL = {COLOURS: 18, SHAPES: 12}  # percent of words that depend on the label
LEVELS, COMPARISONS, SHOWN = 11, 9, 3
FLIPPED = 2  # percent
NUM_FEATURES = 1 + sum(VOCABULARIES)
NUM_PAIRWISE = 1 + LEVELS * COMPARISONS


@dataclass(frozen=True)
class Options:
    """The options of ``synthetic_horseseg``.

    Attributes
    ----------
    size : str
        Size of the training set: as of HorseSeg's small, medium or large one.
    loss : str
        Share of wrong nodes by size (``hamming``), or the mean of the shares in both labels (``balanced``).
    n : int, optional
        Train on the first so many images of that size.
    """

    size: str = choice(*SIZES)
    loss: str = choice("hamming", "balanced")
    n: int | None = option(None, check_integer, 1, optional=True, added_later=True)


class Image(NamedTuple):
    """One image."""

    words: np.ndarray  # int32 (V, 1 + vocabularies), which features are 1, ascending
    edges: np.ndarray  # int32 (E, 2)
    levels: np.ndarray  # int32 (E, 1 + SHOWN), the same at the other end
    labels: np.ndarray  # int32 (V,)
    sizes: np.ndarray  # int64 (V,), pixels


def read(options: Options, data_dir: Path):
    """Return the training and the test problem."""
    count = SIZES[options.size]
    if options.n is not None:
        if options.n > count:
            size = f"{count}, that of size={options.size}"
            raise ParameterError(f"dataset synthetic_horseseg: n must be at most {size}, got {options.n}")
        count = options.n
    return _problem(0, count, options.loss), _problem(SIZES["large"], NUM_TEST, options.loss)


def draw(number: int) -> Image:
    """Draw the image of this number."""
    choice = choices(number)
    rows, columns = 8 + int(choice(6, 1)[0]), 9 + int(choice(6, 1)[0])
    nodes = rows * columns
    row, column = np.divmod(np.arange(nodes), columns)
    labels = _ellipse(row, column, rows, columns, choice(1000, 4))
    labels = np.where(choice(100, nodes) < FLIPPED, 1 - labels, labels)
    edges = _edges(row, column, rows, columns, choice(2, nodes))
    return Image(
        words=_words(labels, 16 * row // rows, 16 * column // columns, choice),
        edges=edges.astype(np.int32),
        levels=_levels(labels[edges[:, 0]] != labels[edges[:, 1]], choice),
        labels=labels.astype(np.int32),
        sizes=100 + choice(200, nodes),
    )


def _ellipse(row, column, rows, columns, draws) -> np.ndarray:
    """Return 1 within an ellipse of a random middle and random half axes, in whole numbers."""
    middle = (rows * (400 + draws[0] // 5), columns * (400 + draws[1] // 5))  # 0.4 .. 0.6 of the sides, times 1000
    half = (rows * (200 + draws[2] // 5), columns * (250 + draws[3] // 5))
    down, right = (1000 * place + 500 - at for place, at in zip((row, column), middle, strict=True))
    return ((down * half[1]) ** 2 + (right * half[0]) ** 2 < (half[0] * half[1]) ** 2).astype(np.int64)


def _edges(row, column, rows, columns, turn) -> np.ndarray:
    """Return the edges of a grid whose squares have a diagonal each, one way or the other."""
    node = row * columns + column
    right, down = column < columns - 1, row < rows - 1
    square = right & down
    falling, rising = square & (turn == 0), square & (turn == 1)
    starts = [(node[right], 0, 1), (node[down], 0, columns), (node[falling], 0, columns + 1), (node[rising], 1, columns)]
    return np.concatenate([np.column_stack((at + first, at + second)) for at, first, second in starts])


def _words(labels, row, column, choice) -> np.ndarray:
    nodes, found, start = len(labels), [np.zeros(len(labels), dtype=np.int64)], 1
    for k, size in enumerate(VOCABULARIES):
        if size == PLACES:
            word = (row, column, (row + column) // 2)[k]
        else:
            told = choice(100, nodes) < SIGNAL[size]
            word = 2 * choice(size // 2, nodes) + np.where(told, labels, choice(2, nodes))
        found.append(start + word)
        start += size
    return np.column_stack(found).astype(np.int32)


def _levels(outline, choice) -> np.ndarray:
    count = len(outline)
    pairs = np.sort(choice(LEVELS, count, SHOWN, 2), axis=2)
    level = np.where(outline[:, None], pairs[:, :, 1], pairs[:, :, 0])
    comparison = 3 * np.arange(SHOWN) + choice(COMPARISONS // SHOWN, count, SHOWN)
    return np.column_stack((np.zeros(count, dtype=np.int64), 1 + comparison * LEVELS + level)).astype(np.int32)


def _problem(first: int, count: int, loss: str):
    from fwexp.problems.features import BinaryFeatures
    from fwexp.problems.segmentation import segmentation_from_arrays

    images = [draw(number) for number in range(first, first + count)]

    def indicators(rows: list[np.ndarray]) -> BinaryFeatures:
        stacked = np.concatenate(rows)
        return BinaryFeatures(np.arange(len(stacked) + 1, dtype=np.int64) * stacked.shape[1], stacked.ravel())

    return segmentation_from_arrays(
        indicators([image.words for image in images]),
        indicators([image.levels for image in images]),
        edges=[image.edges for image in images],
        labels=np.concatenate([image.labels for image in images]),
        sizes=np.concatenate([image.sizes for image in images]),
        label_ptr=np.concatenate(([0], np.cumsum([len(image.labels) for image in images]))),
        num_features=NUM_FEATURES,
        num_pairwise=NUM_PAIRWISE,
        loss="balanced" if loss == "balanced" else "share",
        foreground_only=True,
    )


DATASET = Dataset(
    name="synthetic_horseseg",
    title="graphs of HorseSeg's size with planted weights",
    shape="n 147, 6121 or 25438 + 241, d 2069",
    files=(),
    read=read,
    Options=Options,
)
