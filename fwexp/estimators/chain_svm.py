"""Sequence labelling: a structural SVM on chains, which is trained to a certified gap."""

from dataclasses import field
from typing import Any, Self

import numpy as np

from fwexp.errors import ParameterError
from fwexp.estimators.chain_training import ChainTagger
from fwexp.store.models import load_run
from fwexp.types import AnyPath, Lam


class ChainSVM(ChainTagger):
    """Label sequences: a linear SVM with scores of transitions, trained to a certified gap.

    It minimises lam/2 ||w||^2 + 1/N sum_i H_i(w), where H_i bounds the number of wrong labels in sequence i, and N is the number
    of positions in all sequences: lam = 2 c2 / N corresponds to the coefficient c2 of CRFsuite.

    Notes
    -----
    X is a list of sequences, y a list of as many lists of labels, of any type that can be hashed. A sequence is an array or
    sparse matrix (T, p); or has the features of every position by name: a string, a list of strings, or a dict, in which a
    number v of key k is the feature k of value v (False and True are 0 and 1), a string v is the feature "k=v", and so is each of
    a list of strings. A vector v of numbers, such as an embedding, is the features "k[0]", "k[1]", ... of a dict's key k. A
    DataFrame is such an array, or with text in it a dict per row. No constant is added. Features that are unknown when predicting
    are left out. Empty sequences have no labels, and do not count in training. Missing labels are rejected: None, NaN, masked
    entries and "", and where labels are 0, 1, ... also -1 and -100.

    Examples
    --------
    >>> from fwexp.estimators import ChainSVM
    >>> X = [[{"word": "the"}, {"word": "dog"}, {"word": "barks"}], [{"word": "a"}, {"word": "cat"}]]
    >>> tagger = ChainSVM(lam=0.1).fit(X, [["DET", "NOUN", "VERB"], ["DET", "NOUN"]])
    >>> tagger.predict([[{"word": "the"}, {"word": "cat"}]])
    [['DET', 'NOUN']]
    """

    lam: Lam = field(default=1e-4, kw_only=False)
    C: float | None = None

    @classmethod
    def from_run(cls, key: str | None = None, results_dir: AnyPath = "results", **filters: Any) -> Self:
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
        self = cls(lam=result.lam, loss="share")
        self._restore(np.arange(result.structure["num_states"]), None, result.structure["num_features"])
        self.result_ = result
        return self
