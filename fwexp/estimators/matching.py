"""Matchings: which rows and columns belong together, trained to a certified gap."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fwexp.api import evaluate
from fwexp.estimators.base import CertifiedSVM
from fwexp.problems.matching import matching_problem


class MatchingSVM(CertifiedSVM):
    """Match rows with columns, such as the words of two sentences: each has at most one link. Trained to a certified gap.

    A matching has the sum of the scores <w, x> of its links; the best one is found by an assignment.

    Parameters
    ----------
    lam : float or "1/n"
        Regularisation.
    C : float, optional
        Regularisation as elsewhere, instead of ``lam``: lam = 1/(C n), n examples (or the sum of their weights).
    precision_cost, recall_cost : float
        Costs of a link that is predicted and not true, and of one that is true and not predicted.
    solver : str
        A solver or method of `fwexp.solve`.
    tol : float
        Certified gap, in units of the objective, at which training stops.
    max_passes : float
        Bound on passes over the data.
    nonnegative : mask, slice or int array, optional
        Which weights must not be negative.
    warm_start : bool
        Whether `fit` goes on from the last one where the data are the same, at whatever lam. Keeps the data.
    random_state : int, RandomState or None
        Seed; None is another one each time.
    verbose : int
        Whether to show progress on standard error.

    Attributes
    ----------
    coef_ : ndarray (p,)
        Weights of the features of links.
    n_features_in_ : int
        p.
    dual_gap_, n_passes_, status_, trace_, result_
        The certificate and the log, as of `ChainSVM`.

    Notes
    -----
    X is a list of arrays (R, C, p): the features of linking every row with every column. y is a list of int arrays (m, 2) of
    links (row, column), from 0. No constant is added; a constant feature is what a link costs.

    Examples
    --------
    >>> import numpy as np
    >>> from fwexp.estimators import MatchingSVM
    >>> near, far = [1.0, 0.9], [1.0, 0.2]
    >>> model = MatchingSVM(lam=0.01).fit([np.array([[far, near], [near, far]])], [[(0, 1), (1, 0)]])
    >>> model.predict([np.array([[near, far, far], [far, far, near]])])[0].tolist()
    [[0, 0], [1, 2]]
    """

    def __init__(
        self,
        lam=0.01,
        *,
        C=None,
        precision_cost=1.0,
        recall_cost=3.0,
        solver="auto",
        tol=1e-2,
        max_passes=50,
        nonnegative=None,
        warm_start=False,
        random_state=0,
        verbose=0,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None):
        """Train on pairs whose links are known.

        Parameters
        ----------
        X : list of n arrays (R, C, p)
            Features of all links.
        y : list of n int arrays (m, 2)
            The true links, a matching.
        sample_weight : array (n,), optional
            How much every example counts: 2 is the example twice, 0 its absence.

        Returns
        -------
        self
        """
        problem = self.to_problem(X, y)
        self.n_features_in_ = problem.d
        self._train(problem, sample_weight)
        return self

    def to_problem(self, X, y):
        """Return pairs as a problem for `fwexp.solve` and all else.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        MatchingProblem
        """
        costs = {"precision_cost": self.precision_cost, "recall_cost": self.recall_cost}
        return matching_problem(X, y, nonnegative=self.nonnegative, **costs)

    def predict(self, X) -> list:
        """Return the best matchings, int arrays (m, 2) of links.

        Parameters
        ----------
        X : list of arrays (R, C, p)
            Inputs, as for `fit`.

        Returns
        -------
        list of int arrays (m, 2)
        """
        check_is_fitted(self)
        return self.result_.predict(X)

    def score(self, X, y) -> float:
        """Return 1 minus the mean loss of the predictions, which is between 0 and 1: see `fwexp.matching_problem`.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return 1.0 - evaluate(self.to_problem(X, y), self.result_).error

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features of links, (p,)."""
        return self.result_.w

    def _learned(self):
        return {"num_features": self.n_features_in_}

    def _restore(self, num_features):
        self.n_features_in_ = num_features
