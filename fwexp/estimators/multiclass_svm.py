"""Classification: the SVM of Crammer and Singer, which is trained to a certified gap."""

from dataclasses import field

from numpy.typing import ArrayLike

from fwexp.estimators.multiclass_model import MulticlassModel
from fwexp.types import Lam, Rescaling


class MulticlassSVM(MulticlassModel):
    """Classify: the linear SVM of Crammer and Singer, trained to a certified gap.

    It minimises lam/2 ||w||^2 + 1/n sum_i max_y (L(y_i, y) - <w_{y_i} - w_y, x_i>).

    Parameters
    ----------
    costs : (K, K) array, optional
        ``costs[true, predicted]`` >= 0, in the order of ``classes_``; by default 0/1.
    rescaling : {"margin", "slack"}
        What the cost rescales; the same for 0/1.

    Notes
    -----
    X is an array or sparse matrix (n, p), or a list with the features of every example by name, as those of a position in
    `ChainSVM`. Missing classes are rejected: None, NaN, masked entries and "". The number -1 is a class like any other.

    Examples
    --------
    >>> from fwexp.estimators import MulticlassSVM
    >>> X = [{"colour": "red", "size": 2}, {"colour": "red", "size": 3}, {"colour": "green", "size": 2}]
    >>> MulticlassSVM(lam=0.1).fit(X, ["apple", "apple", "lime"]).predict([{"colour": "green"}]).tolist()
    ['lime']
    """

    lam: Lam = field(default=0.01, kw_only=False)
    costs: ArrayLike | None = None
    rescaling: Rescaling = "margin"

    def _from_rows(self, X, numbers):
        return super()._from_rows(X, numbers, costs=self.costs, rescaling=self.rescaling)
