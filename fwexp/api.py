"""The functions that people call: train, predict, evaluate."""

from typing import Any

import numpy as np

from fwexp.errors import OptionError, ParameterError, shown
from fwexp.options import is_integer
from fwexp.problems import protocol
from fwexp.problems.evaluation import Evaluation, Evaluator, evaluator
from fwexp.problems.signature import check_labels, check_problem_type
from fwexp.tasks import prediction
from fwexp.tasks.result import Result


def with_weights(problem, w) -> tuple[Any, np.ndarray]:
    """Return the problem as the weights see it, and the internal weights, of a vector w or of a `Result`."""
    if isinstance(w, Result):
        return prediction.with_weights(w, problem)
    check_problem_type(problem)
    return problem, prediction.internal_weights(problem, w)


def check_index(problem, i) -> int:
    """Return i as an index of an example."""
    check_problem_type(problem)
    if not is_integer(i) or not 0 <= i < problem.n:
        raise ParameterError(f"i must be an integer in 0 .. {problem.n - 1}, got {shown(i)}")
    return int(i)


def joint_feature(problem, i: int, y):
    """Return phi(x_i, y), the joint features of a labeling.

    Parameters
    ----------
    problem : problem
        From a constructor such as ``fwexp.chain_problem``.
    i : int
        The example, from 0.
    y : labeling
        As `predict` returns them: for instance integers (T,) of a chain.

    Returns
    -------
    scipy.sparse.csr_array (1, d)

    Raises
    ------
    ValueError
        No such example, or no labeling of it.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.multiclass_problem(np.eye(2), [0, 1])
    >>> fwexp.joint_feature(problem, 0, 1).toarray().tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """
    i, problem = check_index(problem, i), protocol.original(problem)
    return protocol.joint_feature(problem, i, protocol.as_labeling(problem, i, y))


def loss(problem, i: int, y) -> float:
    """Return L_i(y), the task loss of a labeling.

    Parameters
    ----------
    problem : problem
        From a constructor such as ``fwexp.chain_problem``.
    i : int
        The example, from 0.
    y : labeling
        As `predict` returns them.

    Returns
    -------
    float
        Nonnegative, 0 at the truth; for chains the share of wrong labels.

    Raises
    ------
    ValueError
        No such example, or no labeling of it.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.chain_problem([np.eye(2)], [[0, 1]])
    >>> fwexp.loss(problem, 0, [0, 0])
    0.5
    """
    i, problem = check_index(problem, i), protocol.original(problem)
    return float(protocol.loss(problem, i, protocol.as_labeling(problem, i, y)))


def max_oracle(problem, i: int, w) -> tuple[Any, float]:
    """Return a labeling that maximises L_i(y) - <w, psi_i(y)>, the loss-augmented decoding, and that maximum.

    Parameters
    ----------
    problem : problem
        With labels that can be predicted.
    i : int
        The example, from 0.
    w : Result or array (d,)
        A result, or weights.

    Returns
    -------
    y : labeling
        The labeling.
    value : float
        H_i(w) >= 0, in units of the loss.

    Raises
    ------
    ValueError
        No such example, a label of -1, or weights of another length.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.multiclass_problem(np.eye(2), [0, 1])
    >>> fwexp.max_oracle(problem, 0, np.zeros(problem.d))
    (1, 1.0)
    """
    i = check_index(problem, i)
    problem, weights = with_weights(protocol.original(problem), w)
    check_labels(problem)
    evaluator = Evaluator(problem)
    value = evaluator.oracle(i, weights)
    return protocol.public_labeling(problem, i, protocol.stored_labeling(problem, i, evaluator.labelings)), value


def predict(problem, w, **inputs) -> list:
    """Return the predicted labeling of every example: a highest-scoring one, without loss.

    Parameters
    ----------
    problem : problem or inputs
        What to predict for: a problem, or, if w is a `Result` on chains, classes, matchings or segmentations, inputs alone, X
        of the constructor of its family.
    w : Result or array (d,)
        A result, also one from `fwexp.load`, or weights for a problem.
    **inputs
        For inputs alone, what else the constructor needs to read them: ``shapes`` of matchings, ``edges`` and ``Z`` of
        segmentations.

    Returns
    -------
    list
        One labeling per example.

    Raises
    ------
    ValueError
        Another structure than that trained on (family, number of labels or features), or inputs that the constructor
        refuses.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> result = fwexp.solve(fwexp.multiclass_problem(np.eye(3), [0, 1, 2]), lam=0.1)
    >>> fwexp.predict([[0.1, 0.9, 0.0], [0.0, 0.2, 0.8]], result)
    [1, 2]
    """
    if isinstance(w, Result):
        return w.predict(problem, **inputs)
    if inputs:
        raise OptionError(f"inputs alone go with arguments such as {next(iter(inputs))}, got a problem")
    problem, weights = with_weights(problem, w)
    return evaluator(problem).predict(weights)


def evaluate(problem, w) -> Evaluation:
    """Return what the objective and the error at w are made of.

    Parameters
    ----------
    problem : problem
        A training or a test set.
    w : Result or array (d,)
        A result, or weights.

    Returns
    -------
    Evaluation
        A NamedTuple of ``hinge``, mean_i H_i(w), which is NaN for test sets with labels that cannot be predicted (-1);
        ``norm_sq``, ||w||^2; and ``error``, the mean task loss of the predictions: per example, or per position for problems with
        ``loss="errors"``. P(w) is lam/2 norm_sq + hinge.

    Raises
    ------
    ValueError
        Weights of another length, or a result of another structure.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.multiclass_problem(np.eye(2), [0, 1])
    >>> fwexp.evaluate(problem, np.zeros(problem.d))
    Evaluation(hinge=1.0, norm_sq=0.0, error=0.5)
    """
    problem, weights = with_weights(problem, w)
    labels = getattr(problem, "labels", None)
    known = labels is None or labels.min() >= 0
    return evaluator(problem)(weights, hinge=known)
