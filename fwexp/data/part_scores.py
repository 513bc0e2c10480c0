"""Part scores for poses: how much every cell of an image looks like every joint. Simple, and learned from few images.

A cell of 8 x 8 pixels is described by the histogram of its gradients over 9 orientations (Dalal and Triggs, CVPR 2005), normalised
over the 3 x 3 cells around it, and its mean colour; the detector of a joint is a ridge regression on the descriptions of the 5 x 5
cells around a place, with target 1 at the joint and the cells next to it. Images are scored by detectors that were not fitted to
them (cross-fitting), so that scores of training images can be trusted as much as those of others.
"""

import numpy as np

from fwexp.errors import needing

CELL = 8  # pixels
ORIENTATIONS = 9
AROUND = 2  # cells, on either side, that a detector sees
FOLDS = 5
RIDGE = 1.0
BACKGROUND_STRIDE = 5  # one of so many cells is an example of no joint


def describe(image: np.ndarray) -> np.ndarray:
    """Return features of the look of cells, float64 (rows, columns, 12), of an image, uint8 (height, width, 3)."""
    with needing("part scores need"):
        from skimage.color import rgb2lab
    rows, columns = max(image.shape[0] // CELL, 1), max(image.shape[1] // CELL, 1)
    needed = [(0, max(CELL * count - side, 0)) for count, side in zip((rows, columns), image.shape[:2], strict=True)]
    lab = rgb2lab(np.pad(image, [*needed, (0, 0)], mode="edge")[: CELL * rows, : CELL * columns]) / 100.0
    down, right = np.gradient(lab[..., 0])
    angle = np.floor(np.mod(np.arctan2(down, right), np.pi) / np.pi * ORIENTATIONS).astype(int) % ORIENTATIONS
    strength = np.hypot(down, right)
    histogram = np.dstack([_per_cell(strength * (angle == k), rows, columns) for k in range(ORIENTATIONS)])
    energy = np.sqrt(_sum_around((histogram**2).sum(axis=2)))
    colour = np.dstack([_per_cell(lab[..., k], rows, columns) / CELL**2 for k in range(3)])
    return np.dstack((histogram / (energy[..., None] + 0.1), colour))


def _per_cell(values: np.ndarray, rows: int, columns: int) -> np.ndarray:
    return values.reshape(rows, CELL, columns, CELL).sum(axis=(1, 3))


def _sum_around(values: np.ndarray) -> np.ndarray:
    padded = np.pad(values, 1)
    rows, columns = values.shape
    return sum(padded[a : a + rows, b : b + columns] for a in range(3) for b in range(3))


def windows(cells: np.ndarray) -> np.ndarray:
    """Return the descriptions of the cells around every cell and a constant: float64 (rows * columns, 301) for 12 numbers each."""
    rows, columns, _ = cells.shape
    padded = np.pad(cells, ((AROUND, AROUND), (AROUND, AROUND), (0, 0)), mode="edge")
    seen = np.lib.stride_tricks.sliding_window_view(padded, (2 * AROUND + 1,) * 2, axis=(0, 1)).transpose(0, 1, 3, 4, 2)
    return np.hstack([seen.reshape(rows * columns, -1), np.ones((rows * columns, 1))])


def cross_fitted_scores(images: list[np.ndarray], joints: np.ndarray, train: list[int]) -> list[np.ndarray]:
    """Score every part at every cell of every image by detectors that were not fitted to the image."""
    # ``joints`` (n, parts, 2) are rows and columns in cells, NaN where unknown. Scores are int16, in 256ths of the spread over
    # training images; coarse enough to be the same on every kind of CPU.
    fold = {k: position % FOLDS for position, k in enumerate(train)}
    sums = [_sums(windows(images[k]), joints[k], images[k].shape[:2]) for k in train]

    def fitted(left_out: int | None) -> np.ndarray:
        chosen = [of_one for of_one, k in zip(sums, train, strict=True) if fold[k] != left_out or len(train) < FOLDS]
        gram, targets = (sum(parts) for parts in zip(*chosen, strict=True))
        return np.linalg.solve(gram + RIDGE * np.eye(len(gram)), targets)

    detectors = {left_out: fitted(left_out) for left_out in (None, *range(FOLDS))}
    found = [windows(image) @ detectors[fold.get(k)] for k, image in enumerate(images)]
    spread = np.concatenate([found[k] for k in train]).std(axis=0)
    scaled = [np.clip(np.round(256.0 * of_one / (spread + 1e-12)), -(2**15), 2**15 - 1) for of_one in found]
    return [of_one.astype(np.int16).reshape(*image.shape[:2], -1) for of_one, image in zip(scaled, images, strict=True)]


def _sums(seen: np.ndarray, joints: np.ndarray, shape) -> tuple[np.ndarray, np.ndarray]:
    """Return X'X and X'Y of the examples in an image: cells near joints, and some of the others."""
    rows, columns = np.divmod(np.arange(len(seen)), shape[1])
    near = [np.maximum(abs(rows + 0.5 - r), abs(columns + 0.5 - c)) < 1.5 for r, c in joints]
    targets = np.column_stack(near).astype(float)
    chosen = targets.any(axis=1) | (np.arange(len(seen)) % BACKGROUND_STRIDE == 0)
    return seen[chosen].T @ seen[chosen], seen[chosen].T @ targets[chosen]
