"""The data set ``horses`` on small images made here, and on the real ones."""

import sys

import numpy as np
import pytest
from PIL import Image

import fwexp
from fwexp.data import DATASETS, check_options, horses, load_dataset
from fwexp.data.metrics import segmentation_scores
from fwexp.data.superpixels import CONTRASTS, NUM_FEATURES, borders, describe
from fwexp.errors import DataError, MissingPackage


def picture(number, shape=(48, 64)):
    """Return a dark ellipse on light ground, both noisy, and its mask."""
    rng = np.random.default_rng(number)
    row, column = np.indices(shape)
    middle = rng.uniform(0.4, 0.6, size=2) * shape
    mask = ((row - middle[0]) / 14) ** 2 + ((column - middle[1]) / 20) ** 2 < 1
    image = np.where(mask[..., None], [110, 70, 40], [120, 170, 90]) + rng.normal(0, 15, size=(*shape, 3))
    return np.clip(image, 0, 255).astype(np.uint8), mask


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a data folder of 4 + 2 images; parsed files are kept next to it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for part, numbers in (("train", range(4)), ("test", range(4, 6))):
        for kind in ("images", "masks"):
            (tmp_path / "weizmann_horse" / part / kind).mkdir(parents=True)
        for number in numbers:
            image, mask = picture(number)
            Image.fromarray(image).save(tmp_path / "weizmann_horse" / part / "images" / f"horse{number}.jpg", quality=95)
            Image.fromarray(mask).save(tmp_path / "weizmann_horse" / part / "masks" / f"horse{number}.png")
    return tmp_path


def test_superpixels_have_their_features():
    image, _ = picture(0)
    graph = describe(image, 60)
    V = graph.segments.max() + 1
    assert V >= 5
    assert graph.x.shape == (V, NUM_FEATURES)
    assert np.isfinite(graph.x).all()
    shares = graph.x[:, :64] ** 2
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)  # histograms of colours
    assert (graph.x[:, -1] == 1.0).all()
    assert graph.z.shape == (len(graph.edges), CONTRASTS)
    assert (np.count_nonzero(graph.z, axis=1) == 1).all()
    assert graph.z.sum(axis=1).mean() == pytest.approx(1.0)


def test_borders_against_a_count_by_hand():
    edges, lengths = borders(np.array([[0, 0, 1], [2, 0, 1], [2, 2, 1]]))
    assert edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert lengths.tolist() == [2, 3, 1]


@pytest.mark.slow
@pytest.mark.compiled
def test_a_rule_is_learned_and_scored(folder):
    train, test = load_dataset("horses", data_dir=folder)
    assert (train.n, test.n, train.d) == (4, 2, NUM_FEATURES + CONTRASTS)
    score = DATASETS["horses"].scores(folder)
    nothing = score([np.zeros(size, dtype=int) for size in np.diff(test.label_ptr)])
    assert nothing["iou"] == 0.0
    result = fwexp.solve(train, "bcfw", lam=0.01, max_passes=20)
    found = score(result.predict(test))
    assert found["pixel_accuracy"] > nothing["pixel_accuracy"] + 0.1
    assert found["iou"] > 0.7
    share = np.mean([picture(number)[1].mean() for number in (4, 5)])
    assert nothing["pixel_accuracy"] == pytest.approx(1 - share, abs=1e-12)


def test_options_change_loss_and_edges(folder):
    alone, _ = load_dataset("horses", data_dir=folder, pairwise=False)
    assert alone.edge_ptr[-1] == 0
    assert alone.d == NUM_FEATURES + CONTRASTS
    hamming, _ = load_dataset("horses", data_dir=folder)
    balanced, _ = load_dataset("horses", data_dir=folder, loss="balanced")
    ground = [np.zeros(size, dtype=int) for size in np.diff(hamming.label_ptr)]
    assert fwexp.loss(balanced, 0, ground[0]) == pytest.approx(0.5)
    assert fwexp.loss(hamming, 0, ground[0]) < 0.45


def test_features_are_computed_once_and_anew_for_other_images(folder, monkeypatch):
    first = load_dataset("horses", data_dir=folder)[0]
    calls = []
    monkeypatch.setattr(horses, "prepare", lambda *given: calls.append(given) or 1 / 0)
    np.testing.assert_array_equal(load_dataset("horses", data_dir=folder)[0].x.values, first.x.values)
    assert calls == []
    before = DATASETS["horses"].sources(check_options("horses"), folder)
    images = folder / "weizmann_horse" / "test" / "images"
    (images / "horse5.jpg").write_bytes((images / "horse4.jpg").read_bytes())
    assert DATASETS["horses"].sources(check_options("horses"), folder) != before
    with pytest.raises(ZeroDivisionError):
        load_dataset("horses", data_dir=folder)


@pytest.mark.parametrize(
    ("kind", "name", "change", "message"),
    [
        ("masks", "horse1.png", lambda path: path.unlink(), r"weizmann_horse/train: images/horse1.jpg has no masks/horse1.png"),
        ("images", "horse1.jpg", lambda path: path.unlink(), r"weizmann_horse/train: masks/horse1.png has no images/horse1.jpg"),
        (
            "masks",
            "horse2.png",
            lambda path: Image.fromarray(picture(2, (40, 64))[1]).save(path),
            r"masks/horse2.png: the mask is 64 x 40 pixels, expected 64 x 48 like horse2.jpg",
        ),
        ("images", "horse3.jpg", lambda path: path.write_bytes(b"no image"), r"images/horse3.jpg: cannot be read as an image"),
        ("images", "horse3.jpg", lambda path: path.write_bytes(path.read_bytes()[:500]), r"horse3.jpg: cannot be read as an image"),
    ],
)
def test_what_is_wrong_with_an_image_is_one_line(folder, kind, name, change, message):
    change(folder / "weizmann_horse" / "train" / kind / name)
    with pytest.raises(DataError, match=message):
        load_dataset("horses", data_dir=folder)


def test_missing_folders_are_one_line(tmp_path):
    with pytest.raises(
        DataError, match=r"dataset horses needs weizmann_horse/train, which is not in .*; put it there \(https://.*, or name"
    ):
        load_dataset("horses", data_dir=tmp_path)
    for part in ("train", "test"):
        (tmp_path / "weizmann_horse" / part / "images").mkdir(parents=True)
    with pytest.raises(DataError, match=r"train/images: no images, expected NAME.jpg"):
        load_dataset("horses", data_dir=tmp_path)


def test_without_scikit_image_a_line_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(MissingPackage, match=r"superpixels need scikit-image, which is not installed: `pip install '\.\[images\]'"):
        load_dataset("horses", data_dir=folder)


def test_scores_against_pixels():
    """Numbers of pixels of superpixels, against masks written out."""
    rng = np.random.default_rng(0)
    images = [(rng.integers(5, size=100), rng.random(100) < 0.4) for _ in range(3)]
    predictions = [rng.integers(2, size=5) for _ in images]
    sizes = [np.bincount(segments, minlength=5) for segments, _ in images]
    inside = [np.bincount(segments, mask, minlength=5).astype(int) for segments, mask in images]
    right, overlap = [], []
    for (segments, mask), labels in zip(images, predictions, strict=True):
        found = labels[segments] == 1
        right.append(found == mask)
        overlap.append((found & mask).sum() / (found | mask).sum())
    got = segmentation_scores(sizes, inside, predictions)
    assert got.pixel_accuracy == pytest.approx(np.mean(right))
    assert got.iou == pytest.approx(np.mean(overlap))
    assert segmentation_scores([[3]], [[0]], [[0]]) == (1.0, 1.0)
