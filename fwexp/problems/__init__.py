"""Problem families: arrays plus implementations of the protocol that solvers call."""

# They register their functions, and those that follow for all families.
from fwexp.problems import (  # noqa: F401
    callback_parts,
    chain_parts,
    dense_parts,
    enumerated,
    graph_parts,
    labelings,
    matching_parts,
    multiclass,
    multilabel_parts,
    pose_parts,
    segmentation_parts,
    weighted,
)
