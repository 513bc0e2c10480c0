"""Matchings: which rows and columns belong together, trained to a certified gap."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fwexp.api import loss
from fwexp.conversion import as_list
from fwexp.errors import ParameterError
from fwexp.estimators.conventions import check_fitted
from fwexp.estimators.encoding import Encoding, is_size
from fwexp.estimators.estimator import CertifiedSVM, PartsScore
from fwexp.estimators.joinable_lists import Labelings
from fwexp.estimators.labels import check_weights, counted
from fwexp.problems.matching import matching_problem
from fwexp.problems.signature import LINKS
from fwexp.types import FloatArray, IntArray, Lam, Weights

GRIDS = "arrays (R, C, p), one per example"


class LinkEncoding(Encoding):
    """The number of features of links."""

    n_features_in_: int
    schema: ClassVar = {"num_features": is_size}

    def learn(self, X, y, sample_weight=None, classes=None, former=None):
        problem, _ = self.problem(X, y)
        self.n_features_in_ = problem.d
        if sample_weight is None:
            return problem, None
        weights, kept = counted(check_weights(sample_weight, problem.n), np.arange(problem.n))
        return problem.subset(kept), weights

    def problem(self, X, y, sample_weight=None):
        X, y = as_list("X", X, GRIDS), as_list("y", y, "int arrays (m, 2) of links, one per example")
        for i, (x, links) in enumerate(zip(X, y)):
            if np.shape(x)[:2] == (2, 2) and np.array_equal(links, np.eye(2)) and not isinstance(links[0], tuple):
                example = "which can be read as a matrix too; sort the links by row"
                raise ParameterError(f"y[{i}] must hold links (row, column), got [[1, 0], [0, 1]], {example}")
        costs = {name: getattr(self.params, name) for name in ("precision_cost", "recall_cost", "column_links", "nonnegative")}
        return matching_problem(X, y, **costs), sample_weight

    def learned(self):
        return {"num_features": self.n_features_in_}

    def restore(self, d, num_features):
        self.n_features_in_ = num_features

    def structure(self):
        links = {LINKS: self.params.column_links} if self.params.column_links != 1 else {}
        return {"family": "MatchingProblem", "d": self.n_features_in_} | links


@dataclass(eq=False, repr=False)
class MatchingSVM(PartsScore, CertifiedSVM):
    """Match rows with columns, such as the words of two sentences, trained to a certified gap.

    Every row has at most one link, and every column at most ``column_links``, by default one. The score of a matching is the sum of
    the scores <w, x> of its links, and an assignment finds the best matching exactly.

    Parameters
    ----------
    lam : float or "c/n", default "1/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. A text such as "1/n" is a
        number divided by n, the number of examples, which count as often as their weights say. The default was chosen by
        validation.
    precision_cost, recall_cost : float, default 1.0 and 3.0
        Costs of a predicted link that is not true, and of a true link that is not predicted. A larger ``recall_cost`` makes the
        model predict more links.
    column_links : int, default 1
        The most links of a column. With 2 or more, several rows may have the same column. Exchange rows and columns if a row has
        several links instead.
    solver : str, default "auto"
        A solver or method of `fwexp.solve`, except those with kernels.
    iterate : {"best", "last", "wavg", "tavg", "avg"}, optional
        Iterate of `fwexp.solve` that becomes the weights, by default the ``best`` logged one. ``dual_gap_`` certifies it.
    C, tol, max_passes, time_limit, callback, nonnegative, warm_start, n_jobs, random_state, verbose
        The same as for `ChainSVM`.

    Attributes
    ----------
    coef_ : ndarray (p,)
        Weights of the features of links.
    n_features_in_ : int
        p, the number of features of a link.
    dual_gap_, status_, n_passes_, trace_, result_
        The same as of `ChainSVM`.

    See Also
    --------
    fwexp.matching_problem : The training problem, for `fwexp.solve`.

    Notes
    -----
    X is a list of arrays (R, C, p): the features of linking every row with every column. y is a list of int arrays (m, 2) of links
    (row, column), from 0, or of texts such as ``"0-0 1-2"``, as `fwexp.data.as_pharaoh` writes them. `score` is 1 minus
    the mean loss of the predictions. No constant is added; the weight of a constant feature is the score of having a link.

    Examples
    --------
    >>> import numpy as np
    >>> from fwexp.estimators import MatchingSVM
    >>> near, far = [1.0, 0.9], [1.0, 0.2]
    >>> X, y = [np.array([[far, near], [near, far]])], [[(0, 1), (1, 0)]]
    >>> model = MatchingSVM(lam=0.01).fit(X, y)
    >>> model.predict([np.array([[near, far, far], [far, far, near]])])[0].tolist()
    [[0, 0], [1, 2]]
    """

    lam: Lam = "1/n"
    _: KW_ONLY
    C: float | None = None
    precision_cost: float = 1.0
    recall_cost: float = 3.0
    column_links: int = 1
    nonnegative: Weights | None = None
    warm_start: bool = False

    _Encoding = LinkEncoding

    if TYPE_CHECKING:  # `fit` sets it, and it is no field

        @property
        def n_features_in_(self) -> int:
            """The number of features of a link."""

    def predict(self, X: Any) -> list[IntArray]:
        check_fitted(self)
        X = as_list("X", X, GRIDS)
        return Labelings(self.result_.predict(X) if X else ())

    @property
    def coef_(self) -> FloatArray:
        """Weights of the features of links, (p,)."""
        return self.result_.w

    def _right(self, X, y, sample_weight):
        X = as_list("X", X, GRIDS)  # which may be a generator
        problem = self.encoding_.problem(X, y)[0]
        losses = [loss(problem, i, found) for i, found in enumerate(self.predict(X))]
        weights = np.ones(problem.n) if sample_weight is None else check_weights(sample_weight, problem.n)
        return 1.0 - np.array(losses), weights
