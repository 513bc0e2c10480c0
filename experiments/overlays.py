"""Figures of what was learned on images: the predictions of stored weights for test images, drawn over these.

Six images are shown, at equal ranks from the best score of the first run to its worst: none is picked by hand.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fwexp.papers.declarations import Figure
from fwexp.plots import image_overlays
from fwexp.plots.image_overlays import Pose, Segmentation, Shown

SHOWN = 6


def horses(runs, data_dir) -> Shown:
    """Return what runs on ``horses`` predict for the test images, and six of these images."""
    from fwexp.data import horses as data
    from fwexp.data.metrics import segmentation_scores

    sizes, inside = data.sizes_of_test(data_dir)
    found = {}
    for run in sorted(runs, key=lambda run: (not run.config["dataset"]["pairwise"], run.config["seed"])):
        found[run.key, "edges" if run.config["dataset"]["pairwise"] else "no edges"] = _predictions(run, data_dir)
    found["", "all background"] = [np.zeros_like(of_one) for of_one in sizes]

    def score(numbers, predictions):
        return segmentation_scores(*([of_all[k] for k in numbers] for of_all in (sizes, inside, predictions)))

    def pictures(numbers, predictions):
        for number, (name, image, mask, segments) in zip(numbers, data.pictures_of_test(numbers, data_dir), strict=True):
            yield Segmentation(name, image, mask, predictions[number][segments] == 1)

    return _shown(found, len(sizes), score, "iou", pictures)


def poses(runs, data_dir) -> Shown:
    """Return what runs on ``synthetic_lsp`` predict for the test images, and six of these as maps of part scores."""
    from fwexp.data.lsp_joints import JOINTS
    from fwexp.data.metrics import pose_scores
    from fwexp.problems.pose import part_maps
    from fwexp.run.runner import load

    runs = sorted(runs, key=lambda run: run.config["seed"])
    *_, test = load(runs[0].config["dataset"], data_dir)
    w = runs[0].weights()
    sides = [name.split()[0] if name.split()[0] in image_overlays.SIDES else "middle" for name in JOINTS]
    joints = np.stack(np.divmod(test.labels.reshape(test.n, -1), test.columns[:, None]), axis=2)

    def score(numbers, predictions):
        return pose_scores(joints[numbers] + 0.5, [predictions[k] for k in numbers])

    def pictures(numbers, predictions):
        for k in numbers:
            yield Pose(f"image {k + 1}", part_maps(test, k, w).max(axis=0), joints[k], predictions[k], test.parents, sides)

    found = {(run.key, "learned"): _predictions(run, data_dir) for run in runs}
    return _shown(found, test.n, score, "pdj", pictures)


def _predictions(run, data_dir) -> list:
    """Return the predictions of a run for the test problem."""
    import fwexp
    from fwexp.run.runner import load

    *_, test = load(run.config["dataset"], data_dir)
    return fwexp.predict(test, run.weights())


def _shown(found: Mapping[tuple[str, str], Sequence], count: int, score: Callable, rank_by: str, pictures: Callable) -> Shown:
    """Score all predictions, by key and variant of their runs; of the first make pictures."""
    import pandas as pd

    first = next(iter(found.values()))
    ranked = sorted(range(count), key=lambda k: -getattr(score([k], first), rank_by))
    numbers = [ranked[round(rank)] for rank in np.linspace(0, count - 1, min(SHOWN, count))]
    drawn = list(pictures(numbers, first))
    parts = {
        image_overlays.OVERALL: list(range(count)),
        **{picture.name: [number] for picture, number in zip(drawn, numbers, strict=True)},
    }
    rows = [
        (key, variant, name, measure, value)
        for (key, variant), predictions in found.items()
        for name, of_part in parts.items()
        for measure, value in score(of_part, predictions)._asdict().items()
    ]
    return Shown(pd.DataFrame(rows, columns=["keys", "variant", "image", "measure", "value"]), drawn, count)


HORSES = Figure.declared(
    name="horses/overlays",
    title="Horses found on test images, with edges between superpixels and without",
    caption="Left the true figure, cut out, and right what was found with edges between superpixels, on six test images at equal "
    "ranks from the best IoU (intersection over union) to the worst. Above each image is the score of the run that is drawn and, "
    "in parentheses, of a run without edges. Below are means over all test images and seeds. The ICML 2016 paper has HorseSeg "
    "(section 5, paragraph 2), other images with other features.",
    data=image_overlays.data,
    draw=image_overlays.draw_segmentations,
    shows=horses,
)
POSES = Figure.declared(
    name="pose/overlays",
    title="Poses found on test images of synthetic_lsp",
    caption="Left the true pose and right the one found, on six test images of synthetic_lsp at equal ranks from the best to the "
    "worst. The gray background is the learned score of the most likely joint at every cell. PDJ is the share of detected joints, "
    "PCP that of correct parts. Scores above images are those of the run that is drawn, scores below are means over all test "
    "images and seeds. Photos are not shown: the part scores of our own in the data set lsp are too weak to learn poses from; no "
    "run there was better than weights of 0. The ICML 2016 paper has the poses of LSP, in photos, "
    "and builds on the model of Chen and Yuille (section 5, paragraph 2).",
    data=image_overlays.data,
    draw=image_overlays.draw_poses,
    shows=poses,
)
