"""Problem families: arrays plus implementations of the protocol that solvers call."""

# They register their functions.
from fwexp.problems import callback, chain_blocks, chain_parts, enumerated, matching_parts, multiclass, weighted  # noqa: F401
