"""Classification: the SVM of Crammer and Singer, which is trained to a certified gap."""

from typing import Any

from fwexp.estimators.base_classes import AnyIterate
from fwexp.estimators.multiclass_model import MulticlassModel
from fwexp.types import ArrayLike, Lam, Rescaling, Weights


class MulticlassSVM(MulticlassModel):
    r"""Classify with the linear SVM of Crammer and Singer, trained to a certified gap.

    Parameters
    ----------
    lam : float or "1/n", default 0.01
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. n is the number of
        examples, which count as often as their weights say.
    C : float, optional
        Strength of the losses, > 0. If given, it replaces ``lam``: lam = 1/(C n), with the n of ``lam``. For two classes it is half
        of the C of tools that have one vector of weights, such as scikit-learn's ``LogisticRegression`` and ``SVC``.
    fit_intercept : bool, default True
        Whether to add a constant feature. Its weights are regularised like all others.
    min_count : int, default 1
        Features by name that fewer examples have are left out, where an example of weight 2 counts twice; 1 keeps all features.
    class_weight : dict or "balanced", optional
        Weights of the examples of each class.
    costs : (K, K) array, optional
        ``costs[true, predicted]`` >= 0, in the order of ``classes_``; by default 1 for every wrong class.
    rescaling : {"margin", "slack"}, default "margin"
        Quantity that the cost rescales: the margin, or the slack of an example. Both are the same if all costs are 1.
    solver : str, default "auto"
        A solver or method of `fwexp.solve`, except those with kernels.
    iterate : {"best", "last", "wavg", "tavg", "avg"}, optional
        Iterate of `fwexp.solve` that becomes the weights, by default the ``best`` logged one. ``dual_gap_`` certifies it.
    tol : float, default 0.01
        Certified gap at which training stops, in units of the objective. Smaller values take longer.
    max_passes : float, default 50
        Bound on passes over the data. Training that reaches it with a gap above ``tol`` ends with a ConvergenceWarning.
    nonnegative : mask, slice or int array, optional
        Weights that must not be negative, by their places in ``result_.w``, which the constructor of the problem documents.
    warm_start : bool, default False
        Whether `fit` starts from the last one: for the same data, which are kept, from its dual variables; otherwise near its
        weights, by the names of features and labels; or, with a warning, from zero. The certificate is about the data of this call.
    n_jobs : int, optional
        Threads that call oracles, as joblib counts them; by default one per processor. They do not change what is learned.
    random_state : int, RandomState or None, default 0
        Seed of the random choices; None draws a new seed for each call.
    verbose : int, default 0
        If positive, print progress to standard error, and a line while kernels are compiled (about 15 s, once per machine).

    Attributes
    ----------
    classes_ : ndarray (K,)
        The classes.
    coef_ : ndarray (K, p)
        Weights of the classes; for two classes (1, p), the weights of the second minus the weights of the first.
    intercept_ : ndarray (K,) or (1,)
        Weights of the constant feature, in the same form.
    n_features_in_ : int
        p, the number of features.
    feature_names_in_ : ndarray (p,)
        Their names, where X has names.
    dual_gap_ : float
        The certified gap: the objective is at most this far above its minimum. NaN if nothing is certified.
    status_, n_passes_, trace_ : str, float, DataFrame
        How training ended (``converged``, ``max_passes``, ..., ``interrupted``), oracle calls divided by n, and the log.
    result_ : Result
        The result of `fwexp.solve`, in units of the estimator's objective. All arrays of weights are read-only.

    See Also
    --------
    MulticlassLogistic : The log-loss, with probabilities of classes.
    fwexp.multiclass_problem : The training problem, for `fwexp.solve`.

    Notes
    -----
    The objective is

    .. math::
        \min_w \frac{\lambda}{2} \|w\|^2 + \frac{1}{n} \sum_i \max_y
        \left( L(y_i, y) - \langle w_{y_i} - w_y, x_i \rangle \right).

    X is an array or sparse matrix (n, p), or a list with the features of every example by name, in the form of one position for
    `ChainSVM`. Missing classes are rejected: None, NaN, masked entries and "". The number -1 is a class like any other.

    Examples
    --------
    >>> from fwexp.estimators import MulticlassSVM
    >>> X = [
    ...     {"colour": "red", "size": 2},
    ...     {"colour": "red", "size": 3},
    ...     {"colour": "green", "size": 2},
    ... ]
    >>> model = MulticlassSVM(lam=0.1).fit(X, ["apple", "apple", "lime"])
    >>> model.predict([{"colour": "green"}]).tolist()
    ['lime']
    """

    def __init__(
        self,
        lam: Lam = 0.01,
        *,
        C: float | None = None,
        fit_intercept: bool = True,
        min_count: int = 1,
        class_weight: Any = None,
        costs: ArrayLike | None = None,
        rescaling: Rescaling = "margin",
        solver: str = "auto",
        iterate: AnyIterate = None,
        tol: float = 0.01,
        max_passes: float = 50,
        nonnegative: Weights | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.C = C
        self.fit_intercept = fit_intercept
        self.min_count = min_count
        self.class_weight = class_weight
        self.costs = costs
        self.rescaling = rescaling
        self.solver = solver
        self.iterate = iterate
        self.tol = tol
        self.max_passes = max_passes
        self.nonnegative = nonnegative
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
