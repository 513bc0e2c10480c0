"""From the weights of a result to predictions, for problems of the signature trained on and for inputs without labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fwexp.errors import OptionError, ParameterError
from fwexp.problems.arrays import as_floats, as_list
from fwexp.problems.evaluation import evaluator
from fwexp.problems.protocol import check_weights, from_public, original
from fwexp.problems.python_labelings import read_only, snapshot
from fwexp.problems.signature import check_problem_type, check_signature, is_problem, of_inputs, signature, unlabelled


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
