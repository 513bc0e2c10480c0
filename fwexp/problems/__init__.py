"""Problem families: arrays plus implementations of the protocol that solvers call."""

# They register their functions.
from fwexp.problems import (  # noqa: F401
    callback_protocol,
    chain_labelings,
    chain_protocol,
    enumerated,
    graph_protocol,
    matching_protocol,
    multiclass,
    multilabel_protocol,
    pose_protocol,
    segmentation_protocol,
    weighted,
)
