"""The public functions: train, predict, evaluate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from fwexp.driver.checkpoint import Checkpoint
from fwexp.errors import OptionError, ParameterError, shown
from fwexp.options import is_integer
from fwexp.problems import protocol
from fwexp.problems.evaluation import Evaluation, Evaluator, evaluator
from fwexp.problems.loss_terms import make_objective
from fwexp.problems.oracle_check import OracleCheck
from fwexp.problems.signature import check_labels, check_problem_type
from fwexp.solvers.choosing import check_probabilities
from fwexp.tasks import prediction
from fwexp.tasks.result import Result
from fwexp.tasks.train import train
from fwexp.tasks.training_settings import Settings
from fwexp.types import ArrayLike, Callback, FloatArray, Iterate, Lam, Metrics, ObjectiveName, Problem, Schedule

if TYPE_CHECKING:
    import scipy.sparse


def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    lam: Lam | None = None,
    max_passes: float = 50,
    gap_tol: float = 1e-3,
    time_limit: float | None = None,
    seed: int = 0,
    test: Problem | None = None,
    validation: Problem | None = None,
    metrics: Metrics | None = None,
    iterates: Sequence[Iterate] | None = None,
    iterate: Iterate | Literal["best"] = "best",
    schedule: Schedule = "default",
    train_error: bool = False,
    check: bool = False,
    objective: ObjectiveName = "hinge",
    temperature: float = 1.0,
    order: Sequence[int] | None = None,
    warm_start: Result | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
    checkpoint: Checkpoint | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Result:
    r"""Train a structural SVM or a conditional random field, with a certificate.

    Parameters
    ----------
    problem : problem
        Training set, from a constructor such as ``fwexp.chain_problem``.
    solver : str, default "auto"
        ``auto`` (the setting that is fastest in our benchmarks), or the name of a solver or of a method in ``conf/solver``, such as
        ``bcpfw_gap_cache``. Your ``options`` replace the options of a method.
    lam : float or "c/n"
        Strength of the L2 regularisation, > 0; required. Larger values give smaller weights and faster training. Equals 1/(C n)
        in software that minimises 1/2 ||w||^2 + C sum_i H_i(w). A text such as "1/n" or "8/n" is a number divided by n, the
        number of examples or the sum of their weights.
    max_passes : float, default 50
        Bound on oracle calls divided by n.
    gap_tol : float, default 1e-3
        The run ends at the first logged point whose certified gap, in units of the objective, is at most this; 0 runs to
        ``max_passes``. Ignored if the method has no dual point or the oracle is not exact.
    time_limit : float, optional
        Bound on solver seconds. Evaluation for the log may take as long again: the log leaves out rows of the schedule while
        evaluation takes longer than the steps. If the oracle is in Python (``CallbackProblem``), the bound is on wall seconds,
        including evaluation.
    seed : int, default 0
        Seed of the random choices.
    test : problem, optional
        Test set, whose error is logged as ``test_error``.
    validation : problem, optional
        Validation set, whose error is logged as ``validation_error``, to choose ``lam`` and other options by.
    metrics : callable, optional
        ``metrics(predictions) -> {name: number}``. The numbers for ``test`` are logged in columns of these names.
    iterates : sequence of str, optional
        Iterates to log, of ``last``, ``wavg``, ``tavg``, ``avg``; by default ``last`` and, if the solver has it, ``wavg``.
    iterate : str, default "best"
        Iterate to return: the ``best`` logged one (lowest primal), or the final ``last``, ``wavg``, ...
    schedule : "default", "steps", float or sequence of float
        When to log, in passes: a period, or increasing pass counts. ``"default"`` logs at 2^-7 .. 2^-1 of a pass, at every pass to
        50, then at pass counts that grow by 1.1. ``"steps"`` logs after every n steps, which with a cache take fewer calls than
        a pass. Logging does not change a run. See Notes.
    train_error : bool, default False
        Whether to log the training error.
    check : bool, default False
        Whether to compare, at every logged point, the oracle's labelings of some examples with their true labelings, with
        labelings of other examples and with random ones. A better one ends the run with a ``CertificateError``. Oracles that are
        declared inexact only have to be as good as the truth. ``CallbackProblem`` always makes a few comparisons at w = 0.
    objective : {"hinge", "log", "softmax_margin"}, default "hinge"
        The loss term H_i. Next to the hinge of the SVM, the log-loss is the negative log-likelihood of a conditional random
        field (multinomial logistic regression for classes), and the softmax-margin adds the losses L_i(y) to its scores. Both need
        problems with probabilities of labelings, such as chains and classes. ``gap`` certifies all three.
    temperature : float, default 1
        Temperature tau of ``log`` and ``softmax_margin``: H_i is tau log sum exp(./tau), which approaches the maximum as tau
        approaches 0.
    order : sequence of int, optional
        Block indices from 0, one per step, instead of a sampling rule. With a cache, whose hits are steps as well, the order is
        repeated.
    warm_start : Result, optional
        Result of the same solver on the same problem, at any lam, whose dual variables are the start.
    callback : callable, optional
        Function that receives every row of the trace, a dict. If it returns True the run ends, ``interrupted``.
    verbose : bool, default False
        Whether to show progress on standard error, and a line while kernels are compiled.
    checkpoint : Checkpoint, optional
        File (`fwexp.driver.checkpoint.Checkpoint`) in which the run is saved at intervals and when it is interrupted. A later run
        continues from it, bit for bit except for times. The runs of ``fwexp run`` have one each.
    n_jobs : int, optional
        Threads that call the oracles of several examples at once, as scikit-learn counts them: -1 is one per processor, which is
        also the default. ``OMP_NUM_THREADS`` bounds the number. It does not change a single bit of the result, unless you set
        ``deterministic=False``, an option of ``bcfw`` and ``auto``: the threads then also take block steps at once if that pays.
        Python functions are called by one thread; ``CallbackProblem`` has an ``n_jobs`` of its own.
    **options
        The solver's own options.

    Returns
    -------
    Result
        Weights ``w``, a certified ``gap`` and the ``trace``.

    Raises
    ------
    ValueError
        If a parameter does not accept its value.
    TypeError
        If the solver does not have an option, or options exclude each other.
    MemoryError
        If the run needs more memory than is available, as far as this is known before it starts.
    KeyboardInterrupt
        At the second Ctrl-C. The first one ends the run, ``interrupted``, with a warning and the result so far. The second one also
        raises in a later run of the same script or cell.

    See Also
    --------
    regularization_path : Train for all ``lam`` at once.
    predict, evaluate : Apply the result.
    fwexp.estimators : Estimators with scikit-learn's conventions.

    Notes
    -----
    The objective is

    .. math:: \min_w \frac{\lambda}{2} \|w\|^2 + \frac{1}{n} \sum_i H_i(w),

    and for the SVM H_i(w) is the maximum of L_i(y) - <w, psi_i(y)> over the labelings y.

    A row of the trace calls the oracle of every example for each iterate, and ``decode`` for errors. The column
    ``evaluation_calls`` counts these calls. ``gap_tol`` is tested at rows only. The default schedule leaves out rows in three
    cases, so such a run may go a few passes beyond ``gap_tol``; other schedules, such as 1.0, are always kept.

    * If the oracle is in Python, evaluation makes at most a quarter of the solver's calls, in addition to the start and the end.
      The last iterate is also logged where the solver's own calls show its objective, as at a refresh of ``bcfw``. The calls of
      ``one_slack``, and of ``n_slack`` as ``auto`` chooses it, show it from the start on: without ``test`` or other sets they
      need no evaluation unless a bound ends the run.
    * With ``sampling="shrinking"``, whose passes take little longer than an evaluation, rows come after every tenth pass and where
      the solver's estimate of the gap reaches ``gap_tol``.
    * If ``bcfw`` samples by gaps with acceleration, as ``auto`` does for most structures, on 100 examples or more and without
      ``test`` or other sets, evaluation makes at most a tenth of the solver's calls, and rows come where the estimate is near
      ``gap_tol``.

    Steps that a cache answers are logged after every n of them. Between points that you list one by one, they are logged after n,
    2n, 4n ... since the latest point.

    Examples
    --------
    >>> import fwexp
    >>> train, test = fwexp.load_dataset("digits")
    >>> result = fwexp.solve(train, lam=0.01, max_passes=20, test=test)
    >>> result
    Result(auto, lam=0.01: primal=0.012..., dual=0.011..., gap=0.000..., converged after ... passes in ... s)
    """
    return train(Settings(**locals()), OracleCheck)


def with_weights(problem, w) -> tuple[Any, FloatArray]:
    """Return the problem in the form that the weights fit, and the internal weights, of a vector w or of a `Result`."""
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


def joint_feature(problem: Problem, i: int, y: Any) -> "scipy.sparse.csr_array":
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
        One row; most entries are 0.

    Raises
    ------
    ValueError
        If i is no example, or y is no labeling of it.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.multiclass_problem(np.eye(2), [0, 1])
    >>> fwexp.joint_feature(problem, 0, 1).toarray().tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """
    i, problem = check_index(problem, i), protocol.original(problem)
    return protocol.joint_feature(problem, i, protocol.as_labeling(problem, i, y))


def loss(problem: Problem, i: int, y: Any) -> float:
    """Return L_i(y), the task loss of a labeling.

    Parameters
    ----------
    problem, i, y
        As for `joint_feature`.

    Returns
    -------
    float
        Nonnegative, 0 at the truth; for chains the share of wrong labels.

    Raises
    ------
    ValueError
        If i is no example, or y is no labeling of it.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.chain_problem([np.eye(2)], [[0, 1]])
    >>> fwexp.loss(problem, 0, [0, 0])
    0.5
    """
    i, problem = check_index(problem, i), protocol.original(problem)
    return float(protocol.loss(problem, i, protocol.as_labeling(problem, i, y)))


def max_oracle(problem: Problem, i: int, w: Result | ArrayLike) -> tuple[Any, float]:
    """Return a labeling that maximises L_i(y) - <w, psi_i(y)>, and the maximum.

    This is the loss-augmented decoding that training calls. At the maximum, the value is the hinge H_i(w).

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
        If i is no example, a label of the problem is -1, or the weights have another length.

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


def predict(problem: Any, w: Result | ArrayLike, **inputs: Any) -> list[Any]:
    """Return the predicted labeling of every example: a highest-scoring one, without loss.

    Parameters
    ----------
    problem : problem or inputs
        A problem; or, if w is a `Result` on chains, classes, matchings or segmentations, inputs alone: X of the constructor of its
        family.
    w : Result or array (d,)
        A result, also one from `fwexp.load`, or weights for a problem.
    **inputs
        For inputs alone, the other arguments of the constructor that describe inputs: ``shapes`` of matchings, ``edges`` and
        ``Z`` of segmentations.

    Returns
    -------
    list
        One labeling per example.

    Raises
    ------
    ValueError
        If the structure differs from the training problem (family, number of labels or features), or the constructor rejects the
        inputs.

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
        raise OptionError(f"predict takes {next(iter(inputs))} only with raw inputs X, got a problem")
    problem, weights = with_weights(problem, w)
    return evaluator(problem).predict(weights)


def evaluate(
    problem: Problem, w: Result | ArrayLike, *, objective: ObjectiveName | None = None, temperature: float | None = None
) -> Evaluation:
    """Return the mean loss term, the norm and the error at w.

    These are the parts of the objective on a training set; on a test set the error is of interest.

    Parameters
    ----------
    problem : problem
        A training or a test set.
    w : Result or array (d,)
        A result, or weights.
    objective : {"hinge", "log", "softmax_margin"}, optional
        The loss term H_i; by default the one of the result, or the hinge.
    temperature : float, optional
        Temperature of the objective; by default the one of the result, or 1.

    Returns
    -------
    Evaluation
        A NamedTuple of ``hinge``, mean_i H_i(w), which is NaN for test sets with labels that cannot be predicted (-1);
        ``norm_sq``, ||w||^2; and ``error``, the mean task loss of the predictions: per example, or per position for problems with
        ``loss="errors"``. P(w) is lam/2 norm_sq + hinge.

    Raises
    ------
    ValueError
        If the weights have another length, the result is of another structure, or the objective or the temperature is not accepted.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> problem = fwexp.multiclass_problem(np.eye(2), [0, 1])
    >>> fwexp.evaluate(problem, np.zeros(problem.d))
    Evaluation(hinge=1.0, norm_sq=0.0, error=0.5)
    >>> fwexp.evaluate(problem, np.zeros(problem.d), objective="log").hinge  # log 2
    0.693...
    """
    if isinstance(w, Result) and objective is None:
        trained = w.objective, w.temperature
    else:
        trained = "hinge" if objective is None else objective, 1.0
    term = make_objective(trained[0], trained[1] if temperature is None else temperature)
    problem, weights = with_weights(problem, w)
    check_probabilities(problem, term)
    labels = getattr(problem, "labels", None)
    known = labels is None or labels.min() >= 0
    return evaluator(problem, term)(weights, hinge=known)
