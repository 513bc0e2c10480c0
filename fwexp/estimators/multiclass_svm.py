"""Classification: the SVM of Crammer and Singer, which is trained to a certified gap."""

from dataclasses import field

from fwexp.estimators.multiclass_model import MulticlassModel
from fwexp.types import ArrayLike, Lam, Rescaling


class MulticlassSVM(MulticlassModel):
    r"""Classify with the linear SVM of Crammer and Singer, trained to a certified gap.

    Parameters
    ----------
    costs : (K, K) array, optional
        ``costs[true, predicted]`` >= 0, in the order of ``classes_``; by default 1 for every wrong class.
    rescaling : {"margin", "slack"}
        Quantity that the cost rescales: the margin, or the slack of an example. Both are the same if all costs are 1.

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

    lam: Lam = field(default=0.01, kw_only=False)
    costs: ArrayLike | None = None
    rescaling: Rescaling = "margin"

    def _from_rows(self, X, numbers):
        return super()._from_rows(X, numbers, costs=self.costs, rescaling=self.rescaling)
