"""Signature of a problem, which weights depend on: its family, its numbers of labels and features; and inputs without labels.

Weights of one signature mean nothing for another, although their number may be the same.
"""

from collections.abc import Callable, Mapping

import numpy as np

from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.problems import protocol
from fwexp.problems.arrays import as_list, as_matrix
from fwexp.problems.chain import as_matrices, chain_problem
from fwexp.problems.graphs import node_features
from fwexp.problems.matching import matching_problem
from fwexp.problems.multiclass import multiclass_problem
from fwexp.problems.segmentation import segmentation_problem

WEIGHTS, INPUTS = "weights", "training inputs"
SIZES = ("num_states", "num_classes", "num_labels", "num_features")  # of those that a family has


def signature(problem, *, inputs: bool = False) -> dict[str, str | int]:
    """Return the signature of a problem: ``family``, ``d``, and the sizes that the family has (a user's functions: none).

    ``inputs`` marks the signature of weights that refer to the inputs of the problem, not to its features.
    """
    problem = protocol.example(problem)
    sizes = {name: int(getattr(problem, name)) for name in SIZES if hasattr(problem, name)}
    return {"family": type(problem).__name__, "d": int(problem.d)} | sizes | ({WEIGHTS: INPUTS} if inputs else {})


def is_problem(value) -> bool:
    """Return whether ``value`` is a problem of some family."""
    return protocol.scores.find(type(value)) is not None


def check_problem_type(problem, name: str = "problem") -> None:
    """Refuse objects that are no problem."""
    if not is_problem(problem):
        raise ParameterError(f"{name} must come from a constructor such as fwexp.chain_problem, got {type(problem).__name__}")


def of_inputs(given: Mapping) -> bool:
    """Return whether weights of this signature refer to training inputs, without which they are of no use."""
    return given.get(WEIGHTS) == INPUTS


def described(given: Mapping) -> str:
    """Return a signature in words."""
    return f"{given['family']}({', '.join(f'{name}={given[name]}' for name in ('d', *SIZES) if name in given)})"


def check_signature(name: str, given: Mapping, owner: str, wanted: Mapping) -> None:
    """Refuse the ``given`` signature of parameter ``name`` unless it is the ``wanted`` one, of ``owner``."""
    for key in ("d", "family", *SIZES):
        if given.get(key) != wanted.get(key):
            both = f"({described(given)} is not {described(wanted)})"
            raise ParameterError(f"{name} must have {key} = {wanted.get(key)} like {owner}, got {given.get(key)} {both}")


def _chains(sizes: Mapping, X, Z=None):
    X = as_matrices(X)
    return chain_problem(X, [np.full(x.shape[:1], -1) for x in X], sizes["num_states"], Z=Z)


def _vectors(sizes: Mapping, X):
    X = as_matrix("X", X, "hold numbers, shape (n, p)")
    return multiclass_problem(X, np.full(X.shape[:1], -1), sizes["num_classes"])


def _grids(sizes: Mapping, X, shapes=None):
    X = as_list("X", X, "arrays of edges, one per example")
    return matching_problem(X, [()] * len(X), shapes=shapes)


def _graphs(sizes: Mapping, X, edges=None, Z=None):
    X = node_features(X)
    unknown_labels = [np.zeros(x.shape[0], dtype=np.int64) for x in X]
    problem = segmentation_problem(X, edges, Z, unknown_labels, num_labels=sizes["num_labels"])
    if problem.d != sizes["d"] and problem.num_labels == 2:
        problem = segmentation_problem(X, edges, Z, unknown_labels, foreground_only=True)
    return problem._replace(labels=np.full_like(problem.labels, -1))


# For each family the problem without labels, from the inputs of its constructor, and further arguments in addition to X.
UNLABELLED: dict[str, tuple[Callable, tuple[str, ...]]] = {
    "ChainProblem": (_chains, ("Z",)),
    "MulticlassProblem": (_vectors, ()),
    "MatchingProblem": (_grids, ("shapes",)),
    "SegmentationProblem": (_graphs, ("edges", "Z")),
    "MultiLabelProblem": (_graphs, ("edges", "Z")),
}


def unlabelled(wanted: Mapping, X, inputs: Mapping):
    """Return a problem of the ``wanted`` signature to predict for, from inputs as the family's constructor takes them."""
    family = wanted.get("family")
    if family not in UNLABELLED:
        why = "inputs alone do not say all of such a problem"
        if family == "CallbackProblem":
            why = "inputs alone are predicted by the function inference of CallbackProblem, which was not given, or was not saved"
        constructor = f"the constructor of {family}" if family else "a constructor such as fwexp.chain_problem"
        raise ParameterError(f"problem must come from {constructor}, got {type(X).__name__}: {why}")
    build, names = UNLABELLED[family]
    for name in inputs:
        if name not in names:
            raise OptionError(f"inputs of {family}: " + unknown("argument", name, names or ["none"]))
    problem = build(wanted, X, **inputs)
    check_signature("X", signature(problem), "the one trained on", wanted)
    return problem


def check_labels(problem) -> None:
    """Refuse a problem without labels where they are needed."""
    labels = getattr(problem, "labels", None)
    if labels is not None and labels.min() < 0:
        raise ParameterError("labels of a training problem must be >= 0, got -1 (allowed in test problems only)")
