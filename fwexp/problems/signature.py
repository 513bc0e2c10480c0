"""Signature of a problem, which weights depend on: its family, its numbers of labels and features.

Weights of one signature mean nothing for another, although their number may be the same.
"""

from collections.abc import Mapping

from fwexp.errors import ParameterError
from fwexp.files.saved_results import INPUTS, WEIGHTS
from fwexp.problems import protocol

SIZES = ("num_states", "num_classes", "num_labels", "num_features")  # of those that a family has
LINKS = "column_links"  # of matchings, if it is not 1


def signature(problem, *, inputs: bool = False) -> dict[str, str | int]:
    """Return the signature of a problem: ``family``, ``d``, and the sizes that the family has (a user's functions: none)."""
    # ``inputs`` marks the signature of weights that refer to the inputs of the problem, not to its features.
    problem = protocol.example(problem)
    sizes = {name: int(getattr(problem, name)) for name in SIZES if hasattr(problem, name)}
    links = {LINKS: int(problem.column_links)} if getattr(problem, LINKS, 1) != 1 else {}
    return {"family": type(problem).__name__, "d": int(problem.d)} | sizes | links | ({WEIGHTS: INPUTS} if inputs else {})


def is_problem(value) -> bool:
    """Return whether ``value`` is a problem of some family."""
    return protocol.scores.find(type(value)) is not None


def check_problem_type(problem, name: str = "problem") -> None:
    """Refuse objects that are no problem."""
    if not is_problem(problem):
        raise ParameterError(f"{name} must come from a constructor such as fwexp.chain_problem, got {type(problem).__name__}")


def described(given: Mapping) -> str:
    """Return a signature in words."""
    return f"{given['family']}({', '.join(f'{name}={given[name]}' for name in ('d', *SIZES, LINKS) if name in given)})"


def check_signature(name: str, given: Mapping, owner: str, wanted: Mapping) -> None:
    """Refuse the ``given`` signature of parameter ``name`` unless it is the ``wanted`` one, of ``owner``."""
    for key in ("d", "family", *SIZES, LINKS):
        if given.get(key) != wanted.get(key):
            both = f"({described(given)} is not {described(wanted)})"
            raise ParameterError(f"{name} must have {key} = {wanted.get(key)} like {owner}, got {given.get(key)} {both}")


def check_labels(problem) -> None:
    """Refuse a problem without labels where they are needed."""
    labels = getattr(problem, "labels", None)
    if labels is not None and labels.min() < 0:
        raise ParameterError("labels of a training problem must be >= 0, got -1 (allowed in test problems only)")
