"""The joints of the Leeds Sports Pose data, in the order of its files, and the tree that poses are modelled by."""

import numpy as np

JOINTS = (
    *("right ankle", "right knee", "right hip", "left hip", "left knee", "left ankle"),
    *("right wrist", "right elbow", "right shoulder", "left shoulder", "left elbow", "left wrist"),
    *("neck", "head top"),
)
PARENTS = (1, 2, 12, 12, 3, 4, 7, 8, 12, 12, 9, 10, -1, 12)  # the neck is the root
# Limbs, whose ends are joints; PCP counts them.
LIMBS = {
    "right lower leg": (0, 1),
    "right upper leg": (1, 2),
    "left upper leg": (3, 4),
    "left lower leg": (4, 5),
    "right forearm": (6, 7),
    "right upper arm": (7, 8),
    "left upper arm": (9, 10),
    "left forearm": (10, 11),
    "head": (12, 13),
    "right trunk": (2, 12),
    "left trunk": (3, 12),
}
TORSO = ((2, 9), (3, 8))  # a hip and the shoulder across; PDJ is relative to their distance


def torso_length(joints: np.ndarray) -> float:
    """Return the mean distance of hips and the shoulders across, NaN where none is known."""
    lengths = np.array([np.linalg.norm(joints[hip] - joints[shoulder]) for hip, shoulder in TORSO])
    return float(lengths[~np.isnan(lengths)].mean()) if not np.isnan(lengths).all() else np.nan
