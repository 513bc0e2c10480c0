"""Sequence labelling: a structural SVM on chains, which is trained to a certified gap."""

from dataclasses import field
from typing import Any, Self

import numpy as np

from fwexp.errors import ParameterError
from fwexp.estimators.chain_training import ChainTagger
from fwexp.store.models import load_run
from fwexp.types import AnyPath, Lam


class ChainSVM(ChainTagger):
    r"""Label sequences with a linear SVM on chains, trained to a certified gap.

    Use it for tagging: scores of labels at positions and of transitions between labels are learned together.

    See Also
    --------
    ChainSVMCV : The same, with ``lam`` chosen by cross-validation.
    ChainCRF : A conditional random field, which returns probabilities.
    fwexp.chain_problem : The training problem, for `fwexp.solve`.

    Notes
    -----
    The objective is

    .. math:: \min_w \frac{\lambda}{2} \|w\|^2 + \frac{1}{N} \sum_i H_i(w),

    where H_i bounds the number of wrong labels in sequence i, and N is the number of positions in all sequences. The coefficient
    c2 of CRFsuite corresponds to lam = 2 c2 / N.

    X is a list of sequences, y a list of as many lists of labels, of any hashable type. A sequence is an array or sparse matrix
    (T, p), or it gives the features of every position by name:

    * a string, or a list of strings, each of which is a feature;
    * a dict, in which a number v of key k is the feature k of value v (False and True are 0 and 1), a string v is the feature
      "k=v", a list of strings is one such feature for each, and a vector of numbers, such as an embedding, is the features
      "k[0]", "k[1]", ...

    A DataFrame is read as an array, or as a dict per row if it contains text. No constant is added. `predict` ignores features
    that `fit` has not seen. Empty sequences have no labels, and do not count in training. Missing labels are rejected: None, NaN,
    masked entries and "", and if labels are 0, 1, ... also -1 and -100.

    Examples
    --------
    >>> from fwexp.estimators import ChainSVM
    >>> X = [
    ...     [{"word": "the"}, {"word": "dog"}, {"word": "barks"}],
    ...     [{"word": "a"}, {"word": "cat"}],
    ... ]
    >>> tagger = ChainSVM(lam=0.1).fit(X, [["DET", "NOUN", "VERB"], ["DET", "NOUN"]])
    >>> tagger.predict([[{"word": "the"}, {"word": "cat"}]])
    [['DET', 'NOUN']]
    """

    lam: Lam = field(default=1e-4, kw_only=False)
    C: float | None = None

    @classmethod
    def from_run(cls, key: str | None = None, results_dir: AnyPath = "results", **filters: Any) -> Self:
        """Return the tagger of a stored run on chains.

        Its inputs are matrices with the columns of the run's data set, and its labels are numbers.

        Parameters
        ----------
        key, results_dir, **filters
            Choice of the run, as for `fwexp.load_run`.

        Returns
        -------
        ChainSVM
            A fitted tagger.

        Raises
        ------
        ValueError
            If no run or several runs match, or the run is not on chains.
        """
        result = load_run(key, results_dir=results_dir, **filters)
        if result.structure.get("family") != "ChainProblem":
            raise ParameterError(f"the run must be one on chains, got {result.structure.get('family', 'one that does not say')}")
        self = cls(lam=result.lam, loss="share")
        self._restore(np.arange(result.structure["num_states"]), None, result.structure["num_features"])
        self.result_ = result
        return self
