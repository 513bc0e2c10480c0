"""Sequence labelling: a structural SVM on chains, which is trained to a certified gap."""

import math
from dataclasses import field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fwexp.errors import ParameterError
from fwexp.estimators.chain_model import ChainModel
from fwexp.estimators.estimator import as_seed
from fwexp.estimators.sequence_weights import weights_at
from fwexp.options import check_number
from fwexp.store.models import load_run
from fwexp.types import AnyPath, Lam

PATIENCE = 5  # passes without fewer errors of validation, after which training stops early


class ChainSVM(ChainModel):
    """Label sequences: a linear SVM with scores of transitions, trained to a certified gap.

    It minimises lam/2 ||w||^2 + 1/N sum_i H_i(w), where H_i bounds the number of wrong labels in sequence i, and N is the number
    of positions in all sequences: lam = 2 c2 / N corresponds to the coefficient c2 of CRFsuite.

    Parameters
    ----------
    early_stopping : bool
        Whether to set ``validation_fraction`` of the sequences aside, and stop when five passes have brought no fewer errors there.
    validation_fraction : float
        Between 0 and 1.

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
    warm_start: bool = False
    early_stopping: bool = False
    validation_fraction: float = 0.1

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of n sequences
            In a form that the notes of the class name.
        y : list of n lists of labels
            One per position.
        sample_weight : array (n,) or list of arrays (T,), optional
            How much every sequence counts: 2 is the sequence twice, 0 its absence; or by how much more an error at every position
            costs.

        Returns
        -------
        self
        """
        more = {}
        X, y, sample_weight, _ = self._examples(X, y, sample_weight)
        if self.early_stopping:
            left_out = self._validation(len(X))
            kept = np.setdiff1d(np.arange(len(X)), left_out)
            sample_weight = weights_at(sample_weight, kept)
            parts = [([X[i] for i in part], [y[i] for i in part]) for part in (kept.tolist(), left_out.tolist())]
            problem, weights = self._learn_from(*parts[0], sample_weight)
            iterate = self._iterate(problem)
            logged = {"iterates": ["last" if iterate == "best" else iterate]}
            more = {"test": self._problem_from(*parts[1]), "callback": Patience(), **logged}
        else:
            problem, weights = self._learn_from(X, y, sample_weight)
        self._train(problem, weights, **more)
        return self

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
