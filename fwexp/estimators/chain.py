"""Sequence labelling: a structural SVM on chains, which is trained to a certified gap."""

import math

import numpy as np

from fwexp.errors import ParameterError
from fwexp.estimators.base import as_seed, check_weights
from fwexp.estimators.chain_model import ChainModel
from fwexp.options import check_number
from fwexp.store.models import load_run

PATIENCE = 5  # passes without fewer errors of validation, after which training stops early


class ChainSVM(ChainModel):
    """Label sequences: a linear SVM with scores of transitions, trained to a certified gap.

    It minimises lam/2 ||w||^2 + 1/n sum_i H_i(w), where H_i bounds the share of wrong labels in sequence i.

    Parameters
    ----------
    lam : float or "1/n"
        Regularisation.
    C : float, optional
        Regularisation as elsewhere, instead of ``lam``: lam = 1/(C n), n sequences (or the sum of their weights).
    features : "auto" or callable
        ``"auto"``: X has the features; else ``features(x)`` returns those of one sequence x, in a form below.
    min_count : int
        Features by name that fewer positions have are left out.
    class_weight : dict or "balanced", optional
        What a position of a label costs that gets another, by default 1, which is the margin it is to have; ``"balanced"``:
        inversely to how often labels occur.
    solver : str
        A solver or method of `fwexp.solve`, but none with a kernel.
    tol : float
        Certified gap, in units of the objective, at which training stops.
    max_passes : float
        Bound on passes over the data.
    nonnegative : mask, slice or int array, optional
        Which weights must not be negative, in the order of ``result_.w``: see `fwexp.chain_problem`.
    warm_start : bool
        Whether `fit` goes on from the last one where the data are the same, at whatever lam. Keeps the data.
    early_stopping : bool
        Whether to set ``validation_fraction`` of the sequences aside, and stop when five passes have brought no fewer errors there.
    validation_fraction : float
        Between 0 and 1.
    random_state : int, RandomState or None
        Seed; None is another one each time.
    verbose : int
        Whether to show progress on standard error.

    Attributes
    ----------
    classes_ : ndarray (K,)
        The labels.
    n_features_in_ : int
        p, the number of features.
    feature_names_in_ : ndarray (p,)
        Their names, where X has names.
    class_weight_ : ndarray (K,) or None
        What the labels cost.
    coef_ : ndarray (K, p)
        Weights of features.
    start_, end_ : ndarray (K,)
        Scores of the first and of the last label.
    transitions_ : ndarray (K, K)
        Scores of a label (column) after another (row).
    dual_gap_ : float
        The certificate: the objective is at most so far above its minimum.
    n_passes_ : float
        Oracle calls / n.
    status_ : str
        How training ended: ``converged``, ``max_passes``, ..., or ``interrupted`` where it stopped early.
    trace_ : DataFrame
        The log of training.
    result_ : Result
        All of these, as `fwexp.solve` returns it.

    Notes
    -----
    X is a list of sequences, y a list of as many lists of labels, of any type that can be hashed. A sequence is an array or
    sparse matrix (T, p); or has the features of every position by name: a string, a list of strings, or a dict, in which a
    number v of key k is the feature k of value v (False and True are 0 and 1), a string v is the feature "k=v", and so is each of
    a list of strings. No constant is added. Features that are unknown when predicting are left out.

    Examples
    --------
    >>> from fwexp.estimators import ChainSVM
    >>> X = [[{"word": "the"}, {"word": "dog"}, {"word": "barks"}], [{"word": "a"}, {"word": "cat"}]]
    >>> tagger = ChainSVM(lam=0.1).fit(X, [["DET", "NOUN", "VERB"], ["DET", "NOUN"]])
    >>> tagger.predict([[{"word": "the"}, {"word": "cat"}]])
    [['DET', 'NOUN']]
    """

    def __init__(
        self,
        lam=0.01,
        *,
        C=None,
        features="auto",
        min_count=1,
        class_weight=None,
        solver="auto",
        tol=1e-2,
        max_passes=50,
        nonnegative=None,
        warm_start=False,
        early_stopping=False,
        validation_fraction=0.1,
        random_state=0,
        verbose=0,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None):
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of n sequences
            Inputs; see the notes of the class.
        y : list of n lists of labels
            Labels, one per position.
        sample_weight : array (n,), optional
            How much every sequence counts: 2 is the sequence twice, 0 its absence.

        Returns
        -------
        self
        """
        more = {}
        if self.early_stopping:
            X, y = list(X), list(y)
            left_out = self._validation(len(X))
            kept = np.setdiff1d(np.arange(len(X)), left_out)
            if sample_weight is not None:
                sample_weight = check_weights(sample_weight, len(X))[kept]
            parts = [([X[i] for i in part], [y[i] for i in part]) for part in (kept.tolist(), left_out.tolist())]
            problem = self._learn(*parts[0])
            more = {"test": self._problem(*parts[1]), "callback": Patience(), "iterates": ["last"]}
        else:
            problem = self._learn(X, y)
        self._train(problem, sample_weight, **more)
        return self

    @classmethod
    def from_run(cls, key=None, results_dir="results", **filters):
        """Return the tagger of a stored run on chains, for matrices as its data set has them; labels are numbers.

        Parameters
        ----------
        key, results_dir, **filters
            Which run, as for `fwexp.load_run`.

        Returns
        -------
        ChainSVM
        """
        result = load_run(key, results_dir=results_dir, **filters)
        if result.structure.get("family") != "ChainProblem":
            raise ParameterError(f"the run must be one on chains, got {result.structure.get('family', 'one that does not say')}")
        self = cls(lam=result.lam)
        self._restore(np.arange(result.structure["num_states"]), None, result.structure["num_features"])
        self.result_ = result
        return self

    def _validation(self, n: int) -> np.ndarray:
        """Return the sequences that are set aside."""
        part = check_number("validation_fraction", self.validation_fraction, "a number > 0 and < 1", above=0.0, below=1.0)
        size = max(1, round(part * n))
        if size >= n:
            raise ParameterError(f"early_stopping needs at least one sequence beside the {size} set aside, got n = {n}")
        return np.sort(np.random.default_rng(as_seed(self.random_state)).permutation(n)[:size])


class Patience:
    """Ends a run, as its callback, once validation has not had fewer errors for some passes."""

    def __init__(self) -> None:
        self.fewest, self.passes = math.inf, 0.0

    def __call__(self, row) -> bool:
        if row["test_error"] < self.fewest:
            self.fewest, self.passes = row["test_error"], row["passes"]
        return row["passes"] >= self.passes + PATIENCE
