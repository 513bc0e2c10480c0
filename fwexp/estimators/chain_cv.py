"""Sequence labelling with lam chosen by cross-validation, along a certified regularisation path in every fold."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from fwexp.errors import ParameterError
from fwexp.estimators.base import as_seed, check_weights
from fwexp.estimators.chain_model import ChainModel, labels_of
from fwexp.estimators.decoding import decode, padded_weights
from fwexp.estimators.features import FORMS
from fwexp.estimators.labels import numbers_of
from fwexp.options import check_integer, check_positive_scale, is_integer
from fwexp.problems.arrays import as_floats, as_list
from fwexp.problems.weighted import weighted_problem
from fwexp.tasks.path import regularization_path


class ChainSVMCV(ChainModel):
    """Label sequences as `ChainSVM` does, with lam chosen by cross-validation.

    In every fold one path is followed, which has weights for all lam at once, each at most ``eps`` above the minimum there
    (Osokin et al. 2016, section 4); so more values of lam cost predictions alone.

    Parameters
    ----------
    lams : int or array
        The values of lam to compare, or how many: these go from the largest at which weights begin to matter down to ``lam_min``.
    lam_min : float
        The least, unless values are given.
    eps : float
        Certified gap along the paths, in units of the objective.
    cv : int, splitter or iterable
        Folds, as everywhere in scikit-learn; None is 5.
    solver : str
        Of the training that follows, at the lam chosen, as ``tol`` and ``max_passes`` are. Paths are followed by ``auto``.
    n_jobs : int, optional
        How many folds at once, in threads, as joblib counts them.

    Attributes
    ----------
    lam_ : float
        The lam chosen: that of highest mean score; of several, the largest.
    cv_results_ : dict of ndarrays
        ``param_lam``, ``split0_test_score``, ..., ``mean_test_score``, ``std_test_score`` and ``rank_test_score``, of the share of
        right labels, and ``gap``: the largest certified gap of a fold.
    best_score_ : float
        The highest mean score.

    Notes
    -----
    X and y are as for `ChainSVM`. All other attributes are of the training on all sequences at ``lam_``.

    Examples
    --------
    >>> from fwexp.estimators import ChainSVMCV
    >>> X = [["the", "dog", "barks"], ["a", "dog"], ["the", "cat"], ["a", "cat", "barks"]]
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["DET", "NOUN"], ["DET", "NOUN", "VERB"]]
    >>> tagger = ChainSVMCV(lams=[1.0, 0.1, 0.01], cv=2).fit(X, y)
    >>> tagger.lam_ in (1.0, 0.1, 0.01), tagger.predict([["the", "dog"]])
    (True, [['DET', 'NOUN']])
    """

    lams: Any = 20
    lam_min: float = 1e-3
    eps: float = 0.1
    cv: Any = None

    def fit(self, X, y, sample_weight=None):
        """Choose lam, and train on all sequences with it.

        Parameters
        ----------
        X, y, sample_weight
            As for `ChainSVM`; weights count in training and in scores.

        Returns
        -------
        self
        """
        X, y = as_list("X", X, FORMS), as_list("y", y, "sequences of labels")
        if len(X) != len(y):
            raise ParameterError(f"X and y must have the same length, got {len(X)} and {len(y)}")
        weights = None if sample_weight is None else check_weights(sample_weight, len(X))
        lowest, seed = self._lowest(), as_seed(self.random_state)
        parts = [part for split in check_cv(self.cv).split(X) for part in split]
        folds = [([X[i] for i in part], [y[i] for i in part], None if weights is None else weights[part]) for part in parts]
        trains, tests = folds[::2], folds[1::2]
        workers = Parallel(n_jobs=self.n_jobs, prefer="threads")  # kernels hold no lock
        paths = workers(delayed(self._follow)(*train, lowest, seed) for train in trains)
        lams = self._values(lowest, max(path.lam[0] for _, path in paths))
        scores = workers(delayed(_scores)(*found, *test, lams) for found, test in zip(paths, tests))
        self._note(lams, np.array(scores), np.max([[path.gap_at(lam) for lam in lams] for _, path in paths], axis=0))
        self._train(self._learn(X, y), sample_weight, lam=self.lam_)
        return self

    def _lowest(self) -> float:
        """Return the least of the values of lam."""
        if is_integer(self.lams):
            check_integer("lams", self.lams, 1)
            return check_positive_scale("lam_min", self.lam_min)
        values = as_floats("lams", self.lams, "be a number of values, or hold values of lam")
        if values.ndim != 1 or len(values) == 0:
            raise ParameterError(f"lams must be a number of values, or hold values of lam, got shape {values.shape}")
        return check_positive_scale("lams", float(values.min()))

    def _values(self, lowest: float, start: float) -> np.ndarray:
        """Return the values of lam, the largest first; paths begin at ``start``."""
        if is_integer(self.lams):
            return np.geomspace(lowest, max(lowest, start), self.lams)[::-1]
        return np.sort(np.asarray(self.lams, dtype=np.float64))[::-1]

    def _follow(self, X, y, weights, lowest: float, seed: int):
        """Return a tagger that has learned the features and labels of a fold, and the path there."""
        tagger = clone(self)
        problem = tagger._learn(X, y)
        if weights is not None:
            problem = weighted_problem(problem, weights)
        return tagger, regularization_path(problem, self.eps, lam_min=lowest, seed=seed)

    def _note(self, lams: np.ndarray, scores: np.ndarray, gaps: np.ndarray) -> None:
        """Set what is known of every lam, and choose one."""
        mean = scores.mean(axis=0)
        ranks = 1 + (mean[:, None] < mean).sum(axis=1)
        splits = {f"split{k}_test_score": of_fold for k, of_fold in enumerate(scores)}
        summary = {"mean_test_score": mean, "std_test_score": scores.std(axis=0), "rank_test_score": ranks}
        self.cv_results_ = {"param_lam": lams} | splits | summary | {"gap": gaps}
        self.lam_, self.best_score_ = float(lams[mean.argmax()]), float(mean.max())

    def _learned(self):
        found = {name: values.tolist() for name, values in self.cv_results_.items()}
        return super()._learned() | {"columns": list(found), "values": list(found.values())}

    def _restore(self, columns, values, **learned):
        super()._restore(**learned)
        self.cv_results_ = {name: np.array(numbers) for name, numbers in zip(columns, values)}
        best = self.cv_results_["mean_test_score"].argmax()
        self.lam_, self.best_score_ = self.result_.lam, float(self.cv_results_["mean_test_score"][best])


def _scores(tagger, path, X, y, weights, lams) -> list[float]:
    """Return the share of right labels in the rest of a fold at every lam."""
    x, ptr = tagger.vectorizer_.encode(tagger._features(X))
    truth, K = numbers_of(labels_of(y, ptr), tagger.classes_), len(tagger.classes_)
    weights = None if weights is None else np.repeat(weights, np.diff(ptr))
    predictions = (decode(x, ptr, padded_weights(path.w_at(lam), K), K) for lam in lams.tolist())
    return [float(np.average(labels == truth, weights=weights)) for labels in predictions]
