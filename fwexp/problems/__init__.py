"""Problem families: arrays plus implementations of the protocol that solvers call."""

# They register their functions, and those that follow for all families.
from fwexp.problems import (  # noqa: F401
    callback_protocol,
    chain_protocol,
    dense_parts,
    enumerated,
    graph_protocol,
    labelings,
    matching_protocol,
    multiclass,
    multilabel_protocol,
    pose_protocol,
    segmentation_protocol,
    weighted,
)
