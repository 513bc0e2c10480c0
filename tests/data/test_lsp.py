"""Poses in images: own part scores, the files, and what is reported."""

import numpy as np
import pytest
from scipy.io import savemat

from fwexp.data import part_scores, synthetic_lsp
from fwexp.data.lsp import prepare, read_joints
from fwexp.data.lsp_joints import JOINTS, LIMBS, PARENTS, torso_length
from fwexp.data.metrics import pose_scores
from fwexp.data.synthetic_lsp import draw
from fwexp.errors import DataError
from fwexp.problems.pose import check_tree


def write(folder, count=3, size=(64, 48), joints=None):
    from PIL import Image

    rng = np.random.default_rng(0)
    images = folder / "images"
    images.mkdir()
    for k in range(count):
        Image.fromarray(rng.integers(256, size=(*size, 3), dtype=np.uint8)).save(images / f"im{k:05}.jpg")
    if joints is None:
        joints = np.concatenate((rng.uniform(2, 46, size=(count, 14, 2)), np.ones((count, 14, 1))), axis=2)
    savemat(folder / "joints.mat", {"joints": joints.transpose(1, 2, 0)})
    return images, folder / "joints.mat"


def test_files_become_cells(tmp_path):
    images, joints = write(tmp_path, count=8)
    arrays = prepare(images, joints)
    assert arrays["train_sizes"].tolist() == 6 * [[40, 30]]
    assert arrays["test_joints"].shape == (2, 14, 2)
    assert arrays["train_scores"].shape == (6 * 1200, 14)
    pixels = read_joints(joints)
    np.testing.assert_allclose(arrays["train_joints"][0], pixels[0][:, ::-1] * 5 / 8)


def test_joints_outside_the_image_or_not_annotated_are_unknown(tmp_path):
    joints = np.full((4, 14, 3), [20.0, 30.0, 1.0])
    joints[3, 0, 2] = 0.0
    joints[3, 1, 0] = 48.5
    arrays = prepare(*write(tmp_path, 4, joints=joints))
    assert np.isnan(arrays["test_joints"][0, :, 0]).tolist() == [True, True] + 12 * [False]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda images, joints: joints.write_bytes(b"no mat"), "cannot be read as a .mat file"),
        (lambda images, joints: savemat(joints, {"joints": np.zeros((3, 14, 2))}), "joints are float64 of shape"),
        (lambda images, joints: next(images.iterdir()).unlink(), "2 images, expected 3"),
        (lambda images, joints: next(images.iterdir()).write_bytes(b"no image"), "cannot be read as an image"),
    ],
)
def test_damaged_files_take_one_line(tmp_path, damage, message):
    images, joints = write(tmp_path)
    damage(images, joints)
    with pytest.raises(DataError, match=message):
        prepare(images, joints)


def test_detectors_find_what_they_are_shown():
    """A bright spot is where the joint is; images are scored by detectors that have not seen them."""
    rng = np.random.default_rng(1)
    images, joints = [], np.zeros((10, 2, 2))
    for k in range(10):
        image = rng.integers(100, size=(80, 80, 3), dtype=np.uint8)
        places = rng.integers(1, 9, size=(2, 2))
        for part, (r, c) in enumerate(places):
            image[8 * r : 8 * r + 8, 8 * c : 8 * c + 8, 2 * part] = 255
        images.append(part_scores.describe(image))
        joints[k] = places + 0.5
    scores = part_scores.cross_fitted_scores(images, joints, list(range(8)))
    for of_one, places in zip(scores, joints, strict=True):
        for part in range(2):
            r, c = np.unravel_index(of_one[:, :, part].argmax(), of_one.shape[:2])
            assert max(abs(r + 0.5 - places[part, 0]), abs(c + 0.5 - places[part, 1])) <= 1


def test_scores_of_poses():
    standing = np.column_stack((np.arange(14.0), 3.0 * np.arange(14.0) % 7)) + 0.5
    assert pose_scores(standing[None], [np.floor(standing).astype(int)]) == (1.0, 1.0)
    wrong = np.floor(standing).astype(int)
    wrong[0] += 100  # an ankle: one joint of 14, and one limb
    scores = pose_scores(standing[None], [wrong])
    assert scores.pdj == pytest.approx(13 / 14)
    assert scores.pcp == pytest.approx(1 - 1 / len(LIMBS))
    unknown = standing.copy()
    unknown[0] = np.nan
    assert pose_scores(unknown[None], [wrong]) == (1.0, 1.0)
    assert np.isnan(torso_length(np.full((14, 2), np.nan)))


def test_a_tree_of_joints():
    assert len(PARENTS) == len(JOINTS) == 14
    assert check_tree(PARENTS)[1][0] == JOINTS.index("neck")


def test_synthetic_poses_have_the_published_size():
    image, pose = draw(0)
    assert image.shape == (32, 32, 188)
    assert pose.tolist()[:2] == draw(0)[1].tolist()[:2]
    assert not np.array_equal(pose, draw(1)[1])
    assert np.abs(image).sum() == 12093.708984375  # exact fractions, the same everywhere


def test_only_calls_for_training_on_slow_lsp_are_slow(monkeypatch):
    monkeypatch.setattr(synthetic_lsp, "NUM_TRAIN", 2)
    monkeypatch.setattr(synthetic_lsp, "NUM_TEST", 1)
    train, test = synthetic_lsp.SLOW.read(synthetic_lsp.NoOptions(), None)
    assert train.exhaustive
    assert not test.exhaustive
    assert (train.n, test.n) == (2, 1)
