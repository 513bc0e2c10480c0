"""What was found on images, compared with the truth: segmentations and poses, drawn over the images they are of.

A figure has a frame of scores like any other; images and what is drawn on them come next to it, as `Shown`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fwexp.plots import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = ["panel", "dataset", "lam", "variant", "image", "measure", "value", "keys"]
OVERALL = "all"  # what panel and image are where scores are those of all test images

# What the labels of scores are.
SCORES = {"iou": "IoU", "pixel_accuracy": "pixel accuracy", "pdj": "PDJ", "pcp": "PCP"}
RIGHT, EXTRA, MISSED = "#009E73", "#D55E00", "#0072B2"  # Okabe and Ito's
SIDES = {"right": "#D55E00", "left": "#56B4E9", "middle": "#F0E442"}


class Segmentation(NamedTuple):
    """A photo with figure and ground."""

    name: str
    image: np.ndarray  # uint8 (height, width, 3)
    truth: np.ndarray  # bool (height, width)
    found: np.ndarray  # bool (height, width)


class Pose(NamedTuple):
    """A map with a tree of joints."""

    name: str
    image: np.ndarray  # float (rows, columns)
    truth: np.ndarray  # (P, 2), rows and columns
    found: np.ndarray  # (P, 2)
    parents: np.ndarray  # (P,), -1 for the root
    sides: Sequence[str]  # one of `SIDES` per joint


class Shown(NamedTuple):
    """What a figure of overlays shows."""

    scores: "pd.DataFrame"  # columns keys, variant, image, measure, value
    pictures: Sequence[Segmentation | Pose]
    num_images: int  # of test images


def data(results: "pd.DataFrame", shown: Shown) -> "pd.DataFrame":
    """Return the tidy frame of a figure: `COLUMNS`, one row per image, run and measure; no key where nothing was run."""
    panels = {picture.name: chr(ord("a") + k) for k, picture in enumerate(shown.pictures)}
    facts = results.drop_duplicates("key").set_index("key")
    frame = shown.scores.assign(panel=shown.scores["image"].map(panels | {OVERALL: OVERALL}), dataset=results["dataset"].iloc[0])
    lam = frame["keys"].map(facts["lam_spec"].astype(str)).fillna("")
    return frame.assign(lam=lam)[COLUMNS]


def draw_segmentations(frame: "pd.DataFrame", shown: Shown) -> "Figure":
    """Draw photos: the true figure cut out, and next to it what was found, in colours by whether that is right."""
    from matplotlib.patches import Patch

    def truth(ax, picture):
        ax.imshow(_blend(picture.image / 255.0, {"white": ~picture.truth}, 0.8))

    def found(ax, picture):
        both, either = picture.truth & picture.found, picture.truth ^ picture.found
        # Lighter than the photo, because colours on a black horse would be black.
        gray = 0.4 + 0.6 * np.repeat(picture.image.mean(axis=2, keepdims=True) / 255.0, 3, axis=2)
        ax.imshow(_blend(gray, {RIGHT: both, EXTRA: either & picture.found, MISSED: either & picture.truth}, 0.6))

    words = {RIGHT: "horse, found", EXTRA: "ground, taken for horse", MISSED: "horse, missed"}
    keys = [Patch(color=color, label=word) for color, word in words.items()]
    return _draw(frame, shown, ("iou", "pixel_accuracy"), (truth, found), keys, 0.74)


def draw_poses(frame: "pd.DataFrame", shown: Shown) -> "Figure":
    """Draw the scores of the most likely joint at every cell, with the true pose on it, and next to it the one found."""
    from matplotlib.lines import Line2D

    def skeleton(ax, picture, joints):
        low, high = picture.image.min(), picture.image.max()
        ax.imshow(picture.image, cmap="gray", vmin=low, vmax=low + 2 * (high - low))  # dim, behind the pose
        for part, parent in enumerate(picture.parents):
            color = SIDES[picture.sides[part]]
            if parent >= 0:
                ax.plot(*joints[[parent, part]].T[::-1], color=color, linewidth=1.4)
            ax.plot(*joints[part][::-1], "o", color=color, markersize=2.6)

    def truth(ax, picture):
        skeleton(ax, picture, picture.truth)

    def found(ax, picture):
        skeleton(ax, picture, picture.found)
        wrong = (picture.truth != picture.found).any(axis=1)
        ax.plot(*picture.truth[wrong].T[::-1], "x", color="white", markersize=4, markeredgewidth=0.9)

    keys = [Line2D([], [], color=color, marker="o", markersize=2.6, label=side) for side, color in SIDES.items()]
    keys.append(Line2D([], [], color="gray", marker="x", markersize=4, linestyle="", label="where a joint should be"))
    return _draw(frame, shown, ("pdj", "pcp"), (truth, found), keys, 1.0)


def _blend(image, masks, share):
    """Return an image, float (height, width, 3), with a share of a colour where its mask is true."""
    from matplotlib.colors import to_rgb

    image = image.copy()
    for color, mask in masks.items():
        image[mask] = (1 - share) * image[mask] + share * np.array(to_rgb(color))
    return image


def _draw(frame, shown, measures, painters, keys, aspect):
    """Draw two axes per picture, the truth and the prediction, with scores; below them those of all images."""
    from matplotlib.figure import Figure

    rows = -(-len(shown.pictures) // 2)
    with style.context():
        figure = Figure(figsize=(style.TEXT, rows * (style.TEXT / 4 * aspect + 0.2) + 0.6), layout="constrained")
        grid = figure.subplots(rows, 4, squeeze=False).reshape(-1, 2)
        for ax in grid.flat:
            ax.set_axis_off()
        for picture, axes in zip(shown.pictures, grid):
            scores = frame[frame["image"] == picture.name]
            titles = f"({scores['panel'].iloc[0]}) {picture.name}: truth", _title(scores, measures[0])
            for ax, paint, title, place in zip(axes, painters, titles, ("left", "center"), strict=True):
                paint(ax, picture)
                ax.set(box_aspect=aspect, adjustable="datalim")  # images of any shape stand on one grid
                ax.set_title(title, loc=place, fontsize=7)
        overall = frame[frame["panel"] == OVERALL].groupby("variant", sort=False)
        lines = [_means(overall, measure, shown.num_images) for measure in measures]
        figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), title="\n".join(lines))
    return figure


def _title(scores, measure):
    """Return the score of the run that is drawn, and those of other variants."""
    scores = scores[(scores["measure"] == measure) & (scores["keys"] != "")].drop_duplicates("variant")
    (_, drawn), *others = scores[["variant", "value"]].itertuples(index=False)
    told = ", ".join(f"{variant}: {value:.2f}" for variant, value in others)
    return f"{SCORES[measure]} {drawn:.2f}" + (f" ({told})" if told else "")


def _means(overall, measure, count):
    """Return the means of a measure over runs, by variant, with the lowest and the highest."""
    found = []
    for variant, runs in overall:
        values = runs["value"][runs["measure"] == measure]
        spread = f" ({values.min():.3f} to {values.max():.3f})" if len(values) > 1 else ""
        found.append(f"{variant} {values.mean():.3f}{spread}")
    return f"{SCORES[measure]} of {count} test images: {', '.join(found)}"
