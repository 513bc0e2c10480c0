"""From the weights of a result to predictions, for problems of the signature trained on and for inputs without labels."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fwexp.conversion import as_floats, as_list
from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.files.saved_results import of_inputs
from fwexp.problems.arrays import as_matrix
from fwexp.problems.chain import as_matrices, chain_problem
from fwexp.problems.evaluation import evaluator
from fwexp.problems.graphs import node_features
from fwexp.problems.matching import matching_problem
from fwexp.problems.multiclass import multiclass_problem
from fwexp.problems.protocol import check_weights, from_public, original
from fwexp.problems.python_labelings import read_only, snapshot
from fwexp.problems.segmentation import segmentation_problem
from fwexp.problems.signature import LINKS, check_problem_type, check_signature, is_problem, signature


def predict(result, problem, inputs: Mapping) -> list:
    """Return the predicted labeling of every example of a problem, or of inputs alone."""
    infer = getattr(original(getattr(result.state, "user_problem", None)), "inference", None)
    if infer is not None and not is_problem(problem) and not inputs:
        w = read_only(result.w)
        return [snapshot(infer(x, w)) for x in as_list("X", problem, "inputs")]
    if not is_problem(problem):
        problem = unlabelled(result.structure, problem, inputs)
    elif inputs:
        raise OptionError(f"predict takes {next(iter(inputs))} only with raw inputs X, got a problem")
    problem, weights = with_weights(result, problem)
    return evaluator(problem).predict(weights)


def with_weights(result, problem) -> tuple[Any, np.ndarray]:
    """Return a problem as the weights of a result see it, and the internal weights."""
    check_problem_type(problem)
    if result.structure:  # unless made by hand
        check_signature("problem", signature(problem), "the one trained on", result.structure)
    if of_inputs(result.structure):
        if result.state is None:
            raise ParameterError(f"results of {result.solver} predict with the training inputs, which copies do not have")
        problem = result.state.view(problem)
    return problem, internal_weights(problem, result.w)


def internal_weights(problem, w) -> np.ndarray:
    """Return the internal weights for a problem of a vector of weights."""
    weights = as_floats("w", w, f"be a Result or hold numbers, shape ({problem.d},)")
    if weights.shape != (problem.d,):
        raise ParameterError(f"w must have shape ({problem.d},), got {weights.shape}")
    check_weights(problem, weights)
    return from_public(problem, weights)


def _chains(sizes: Mapping, X, Z=None):
    X = as_matrices(X)
    return chain_problem(X, [np.full(x.shape[:1], -1) for x in X], sizes["num_states"], Z=Z)


def _vectors(sizes: Mapping, X):
    X = as_matrix("X", X, "hold numbers, shape (n, p)")
    return multiclass_problem(X, np.full(X.shape[:1], -1), sizes["num_classes"])


def _grids(sizes: Mapping, X, shapes=None):
    X = as_list("X", X, "arrays of edges, one per example")
    return matching_problem(X, [()] * len(X), shapes=shapes, column_links=sizes.get(LINKS, 1))


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
