"""Images as graphs of superpixels, with features of colour, texture and position. Needs scikit-image (extra ``images``).

Superpixels are those of SLIC (Achanta et al., PAMI 2012). Features of a superpixel are square roots of histograms of its
pixels over `HISTOGRAMS`, then means and spreads of its colour, where it stands among the superpixels of the image in
`CUES` (one of `RANKS` ranks each, as indicators), and 1. Edges join superpixels that touch; the edge feature is the length
of the common border, relative to the mean of the image, in one of `CONTRASTS` bins of the difference of their mean colours,
also relative.
"""

from typing import NamedTuple

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.errors import needing

# Quantities whose histograms describe pixels, and numbers of bins.
HISTOGRAMS = {"colour": 64, "fine texture": 10, "coarse texture": 18, "orientation": 8, "place": 64, "margin": 2}
# Distances in colour: to the margin of the image, to its middle, to the nearest superpixel at the margin, and along a path
# of superpixels to the margin.
CUES = ("from margin", "from middle", "from nearest", "along path")
RANKS = 10
CONTRASTS = 10
NUM_FEATURES = sum(HISTOGRAMS.values()) + 6 + RANKS * len(CUES) + 1


class Graph(NamedTuple):
    """One image."""

    segments: np.ndarray  # int64 (height, width), the superpixel of every pixel
    x: np.ndarray  # float64 (V, NUM_FEATURES)
    edges: np.ndarray  # int64 (E, 2)
    z: np.ndarray  # float64 (E, CONTRASTS)


def describe(image: np.ndarray, superpixels: int) -> Graph:
    """Return the graph of an image, uint8 (height, width, 3), of about so many superpixels."""
    segments = segment(image, superpixels)
    from skimage.color import rgb2gray, rgb2lab

    lab = rgb2lab(image)
    sizes = np.bincount(segments.ravel()).astype(np.float64)
    maps = _maps(lab, rgb2gray(image))
    shares = {name: _histogram(segments, *maps[name], HISTOGRAMS[name]) for name in HISTOGRAMS}
    mean, square = (np.column_stack([_mean(segments, sizes, lab[..., c] ** k) for c in range(3)]) for k in (1, 2))
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    edges, lengths = borders(segments)
    contrast = np.linalg.norm(mean[edges[:, 0]] - mean[edges[:, 1]], axis=1)
    cues = _cues(shares["colour"], shares["margin"][:, 1] > 0.0, sizes, edges, contrast)
    blocks = [np.sqrt(found) for found in shares.values()]
    x = np.column_stack([*blocks, mean / 50.0, spread / 10.0, *map(_ranks, cues), np.ones(len(sizes))])
    return Graph(segments, x, edges, _binned(lengths, contrast))


def segment(image: np.ndarray, superpixels: int) -> np.ndarray:
    """Return the superpixel of every pixel, ``Graph.segments``; arguments and errors as of `describe`."""
    with needing("superpixels need"):
        from skimage.segmentation import slic
    segments = slic(image, n_segments=superpixels, compactness=10.0, start_label=0).astype(np.int64)
    return np.unique(segments, return_inverse=True)[1].reshape(segments.shape)


def borders(segments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of superpixels that touch, int64 (E, 2), and the lengths of their common borders."""
    pairs = [
        np.stack((one.ravel(), other.ravel()), axis=1)
        for one, other in ((segments[:, 1:], segments[:, :-1]), (segments[1:], segments[:-1]))
    ]
    low, high = np.sort(np.concatenate(pairs), axis=1).T
    number = int(segments.max()) + 1
    found, lengths = np.unique((low * number + high)[low != high], return_counts=True)
    return np.stack(np.divmod(found, number), axis=1), lengths.astype(np.float64)


def _maps(lab: np.ndarray, gray: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Return for every histogram the bin of every pixel, and how much it counts."""
    from skimage.feature import local_binary_pattern
    from skimage.filters import sobel_h, sobel_v

    low, size = np.array([0.0, -40.0, -40.0]), np.array([25.0, 20.0, 20.0])
    level = np.clip((lab - low) // size, 0, 3).astype(np.int64)
    eighths = (np.round(gray * 255)).astype(np.uint8)
    down, right = sobel_h(gray), sobel_v(gray)
    angle = np.floor((np.arctan2(down, right) / np.pi % 1.0) * 8).astype(np.int64) % 8
    rows, columns = (np.arange(side) * 8 // side for side in gray.shape)
    margin = np.ones(gray.shape, dtype=np.int64)
    margin[3:-3, 3:-3] = 0
    return {
        "colour": (level @ np.array([16, 4, 1]), None),
        "fine texture": (local_binary_pattern(eighths, 8, 1, "uniform").astype(np.int64), None),
        "coarse texture": (local_binary_pattern(eighths, 16, 3, "uniform").astype(np.int64), None),
        "orientation": (angle, np.hypot(down, right) + 1e-3),
        "place": (rows[:, None] * 8 + columns[None, :], None),
        "margin": (margin, None),
    }


def _histogram(segments, bins, weights, count: int) -> np.ndarray:
    """Return the shares of bins in every superpixel, (V, count)."""
    number = int(segments.max()) + 1
    flat = None if weights is None else weights.ravel()
    found = np.bincount((segments * count + bins).ravel(), flat, minlength=number * count).reshape(number, count)
    return found / found.sum(axis=1, keepdims=True)


def _mean(segments, sizes, values) -> np.ndarray:
    return np.bincount(segments.ravel(), values.ravel()) / sizes


def _cues(colour, outside, sizes, edges, contrast) -> list[np.ndarray]:
    """Return `CUES`, (V,) each; ``outside`` are the superpixels at the margin."""
    margin = np.average(colour[outside], axis=0, weights=sizes[outside])
    middle = np.average(
        colour[~outside] if not outside.all() else colour, axis=0, weights=None if outside.all() else sizes[~outside]
    )
    to_each = np.stack([_chi_square(colour, other) for other in colour[outside]])
    # Older releases of scipy take indices of 32 bits only.
    graph = sp.csr_array((contrast + 1e-6, edges.T.astype(np.int32)), shape=(len(sizes), len(sizes)))
    path = sp.csgraph.dijkstra(graph, directed=False, indices=np.flatnonzero(outside), min_only=True)
    return [
        _chi_square(colour, margin),
        _chi_square(colour, middle),
        np.sort(to_each, axis=0)[: max(1, len(to_each) // 10)].mean(axis=0),
        path,
    ]


def _chi_square(histograms, other) -> np.ndarray:
    return 0.5 * ((histograms - other) ** 2 / (histograms + other + 1e-12)).sum(axis=1)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return indicators of the rank among all values, (V, RANKS)."""
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable") * RANKS // len(values)
    return np.eye(RANKS)[rank]


def _binned(lengths, contrast) -> np.ndarray:
    z = np.zeros((len(lengths), CONTRASTS))
    if len(lengths):
        bins = np.minimum((contrast / max(contrast.mean(), 1e-12) * 4.0).astype(np.int64), CONTRASTS - 1)
        z[np.arange(len(lengths)), bins] = lengths / lengths.mean()
    return z
