"""Problem families: arrays plus implementations of the protocol that solvers call."""

from fwexp.problems import callback, chain_parts, enumerated, matching_parts, multiclass  # noqa: F401 - they register their functions
