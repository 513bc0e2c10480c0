"""Overlays: the frame of their scores, and what colour a pixel gets."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from fwexp.plots import image_overlays
from fwexp.plots.describe import describe
from fwexp.plots.image_overlays import COLUMNS, EXTRA, MISSED, OVERALL, RIGHT, Pose, Segmentation, Shown
from tests.papers.test_declarations import check_texts
from tests.plots.synthetic_results import make_run

RESULTS = pd.concat([make_run(seed=seed, dataset="horses") for seed in (0, 1)], ignore_index=True)
KEYS = list(RESULTS["key"].unique())


def scored(pictures, measures, variants=("edges", "no edges")):
    """Made-up scores of all pictures by runs of two variants, and of nothing learned."""
    rows = [
        (key, variant, image, measure, 0.9 - 0.1 * k - 0.05 * (variant != variants[0]))
        for key, variant in [*((key, variant) for variant in variants for key in KEYS), ("", "nothing")]
        for k, image in enumerate([OVERALL, *(picture.name for picture in pictures)])
        for measure in measures
    ]
    return Shown(pd.DataFrame(rows, columns=["keys", "variant", "image", "measure", "value"]), pictures, 40)


@pytest.fixture(scope="module")
def horses():
    """Six photos of 30 x 40 pixels: of the figure, rows 0 .. 19, rows 10 .. 29 were found."""
    row, _ = np.indices((30, 40))
    image = np.full((30, 40, 3), 100, dtype=np.uint8)
    return scored([Segmentation(f"horse{k}", image, row < 20, row >= 10) for k in range(6)], ("iou", "pixel_accuracy"))


def test_the_frame_has_a_row_per_image_run_and_measure(horses):
    frame = image_overlays.data(RESULTS, horses)
    assert list(frame.columns) == COLUMNS
    assert not frame.isna().any(axis=None)
    assert len(frame) == (2 * 2 + 1) * 7 * 2
    assert dict(zip(frame["image"], frame["panel"])) == {OVERALL: OVERALL} | {f"horse{k}": "abcdef"[k] for k in range(6)}
    assert set(frame["lam"][frame["keys"] != ""]) == {"0.01"}
    assert set(frame["variant"][frame["keys"] == ""]) == {"nothing"}


def test_colours_say_what_is_right(horses):
    frame = image_overlays.data(RESULTS, horses)
    picture = image_overlays.draw_segmentations(frame, horses)
    truth, found = (ax.images[0].get_array() for ax in picture.axes[:2])
    gray = 100 / 255
    np.testing.assert_allclose(truth[:20], gray)
    np.testing.assert_allclose(truth[20:], 0.2 * gray + 0.8)
    gray = 0.4 + 0.6 * gray
    for rows, color in ((slice(10), MISSED), (slice(10, 20), RIGHT), (slice(20, 30), EXTRA)):
        np.testing.assert_allclose(found[rows], np.broadcast_to(0.4 * gray + 0.6 * np.array(to_rgb(color)), (10, 40, 3)))


def test_scores_stand_over_the_pictures_and_below_them(horses):
    picture = image_overlays.draw_segmentations(image_overlays.data(RESULTS, horses), horses)
    assert [ax.get_title(loc="left") for ax in picture.axes[::2]] == [f"({c}) horse{k}: truth" for k, c in enumerate("abcdef")]
    assert picture.axes[1].get_title() == "IoU 0.80 (no edges: 0.75)"  # not that of nothing
    below = picture.legends[0].get_title().get_text().splitlines()
    assert len(below) == 2
    assert below[0].startswith("IoU of 40 test images: edges 0.900 (0.900 to 0.900), ")
    assert below[1].endswith(", nothing 0.850")
    check_texts(picture)


def test_scores_are_said_in_words(horses):
    words = describe(image_overlays.data(RESULTS, horses), {"a": "horse0: truth"})
    assert words.startswith("(all) all test images. IoU of edges: 0.900; ")
    assert "(a) horse0: truth. IoU of edges: 0.800; " in words


def test_poses_are_trees_on_maps():
    truth = np.array([[2, 3], [8, 3], [14, 9]])
    moved = np.array([[2, 3], [8, 3], [5, 12]])
    pictures = [
        Pose(f"image {k}", np.ones((20, 20)), truth, moved, np.array([-1, 0, 1]), ["middle", "left", "right"]) for k in range(3)
    ]
    shown = scored(pictures, ("pdj", "pcp"), ("learned",))
    picture = image_overlays.draw_poses(image_overlays.data(RESULTS, shown), shown)
    limbs = [[line.get_xydata()[:, ::-1].tolist() for line in ax.lines if len(line.get_xdata()) == 2] for ax in picture.axes[:2]]
    assert limbs == [[[[2, 3], [8, 3]], [[8, 3], end]] for end in ([14, 9], [5, 12])]
    (missed,) = (line for line in picture.axes[1].lines if line.get_marker() == "x")
    assert missed.get_xydata().tolist() == [[9, 14]]
    assert len(picture.axes) == 8  # the last two are empty
    check_texts(picture)
