"""Figures of what stored weights predict: that predictions, scores and images belong together."""

from types import SimpleNamespace

import numpy as np
import pytest

import fwexp
from fwexp.data import horses as data
from fwexp.data import load_dataset
from fwexp.data.lsp_joints import JOINTS, PARENTS
from fwexp.errors import DataError
from fwexp.experiments import overlays
from fwexp.plots.image_overlays import OVERALL
from fwexp.run import runner
from tests.data.test_horses import folder  # noqa: F401

pytestmark = pytest.mark.slow  # compiles oracles


def run(key, w, seed=0, **dataset):
    return SimpleNamespace(key=key, config={"dataset": dataset, "seed": seed}, weights=lambda: w)


def test_horses_are_scored_and_drawn_as_predicted(folder):  # noqa: F811
    train, test = load_dataset("horses", data_dir=folder)
    w = fwexp.solve(train, lam=0.01, max_passes=50).w
    runs = [run("k0", w, 1, name="horses", pairwise=True), run("k1", 0 * w, 0, name="horses", pairwise=False)]
    shown = overlays.horses(runs, folder)
    predictions = fwexp.predict(test, w)
    assert shown.num_images == len(shown.pictures) == 2
    scores = shown.scores.set_index(["variant", "image", "measure"])["value"]
    by_hand = {}
    for picture in shown.pictures:
        number = ["horse4", "horse5"].index(picture.name)
        labels = predictions[number][data.pictures_of_test([number], folder)[0].segments]
        np.testing.assert_array_equal(picture.found, labels == 1)
        by_hand[picture.name] = (picture.found & picture.truth).sum() / (picture.found | picture.truth).sum()
        assert scores["edges", picture.name, "iou"] == pytest.approx(by_hand[picture.name])
        assert scores["no edges", picture.name, "iou"] == scores["all background", picture.name, "iou"] == 0.0
    assert scores["edges", OVERALL, "iou"] == pytest.approx(np.mean(list(by_hand.values())))
    first, last = (by_hand[picture.name] for picture in shown.pictures)
    assert first >= last > 0.3  # from the best to the worst


def test_other_superpixels_than_those_trained_on_are_one_line(folder, monkeypatch):  # noqa: F811
    load_dataset("horses", data_dir=folder)
    monkeypatch.setattr("fwexp.data.superpixels.segment", lambda image, number: np.zeros(image.shape[:2], dtype=np.int64))
    with pytest.raises(DataError, match=r"other superpixels in horse5 than those that are kept; remove \S+$"):
        data.pictures_of_test([1], folder)


def test_poses_are_scored_and_drawn_as_predicted(monkeypatch):
    rng = np.random.default_rng(0)
    y = [rng.integers(9, size=(14, 2)) for _ in range(3)]
    images = [np.zeros((9, 9, 14)) for _ in y]
    for image, joints in zip(images, y, strict=True):
        image[*joints.T, np.arange(14)] = 1.0
    test = fwexp.pose_problem(images, y, PARENTS, features=[[j] for j in range(14)])
    monkeypatch.setattr(runner, "load", lambda dataset, data_dir: (None, test))
    seen, blind = np.zeros(test.d), np.zeros(test.d)
    seen[:14] = 1.0
    shown = overlays.poses([run("b", blind, 1), run("a", seen, 0)], None)
    scores = shown.scores.set_index(["keys", "image", "measure"])["value"]
    assert scores["a", OVERALL, "pdj"] == scores["a", OVERALL, "pcp"] == 1.0
    assert scores["b", OVERALL, "pdj"] < 0.5
    for picture in shown.pictures:
        np.testing.assert_array_equal(picture.found, picture.truth)
        assert picture.image[tuple(picture.truth.T)].tolist() == 14 * [1.0]
        assert picture.image.sum() == len({tuple(place) for place in picture.truth.tolist()})
    assert shown.pictures[0].sides[JOINTS.index("neck")] == "middle"
