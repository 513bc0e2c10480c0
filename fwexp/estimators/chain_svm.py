"""Sequence labelling: a structural SVM on chains, which is trained to a certified gap."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from fwexp.errors import ParameterError
from fwexp.estimators.chain_tagger import ChainTagger
from fwexp.types import AnyPath, Lam, Loss


@dataclass(eq=False, repr=False)
class ChainSVM(ChainTagger):
    r"""Label sequences with a linear SVM on chains, trained to a certified gap.

    Use it for tagging: scores of labels at positions and of transitions between labels are learned together.

    Parameters
    ----------
    lam : float or "c/n", default "4/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. A text such as "4/n" is a
        number divided by n, the number of labelled positions, or of sequences with ``loss="share"``, which count as often as their
        weights say. The default was chosen by validation.
    C : float, optional
        Strength of the losses, > 0, as in other tools. If given, it replaces ``lam``: lam = 1/(C n), with the n of ``lam``.
    features : "auto" or callable, default "auto"
        ``"auto"``: X contains the features. A function ``features(x)`` returns the features of one sequence x, in a form that the
        notes name. `save` stores a `fwexp.data.Template`, but no other function.
    transition_features : list or callable, optional
        Features on which the scores of transitions depend; each has a weight for every pair of labels. A list names features in X:
        keys of dicts, beginnings "k" of strings "k=v", or columns; they describe the position after the transition. A function of
        a sequence returns features for all its positions, in a form that the notes name. By default these are the rules ``B`` of
        a template with macros; without such rules the scores of transitions depend on labels alone.
    min_count : int, default 1
        Features by name that fewer positions have are left out, where an example of weight 2 counts twice; 1 keeps all features.
    loss : {"errors", "share"}, default "errors"
        Loss that H_i bounds: ``"errors"`` counts the wrong labels of sequence i, and the mean is over the N positions of all
        sequences; ``"share"`` divides by the length, and the mean is over the sequences.
    costs : (K, K) array or dict, optional
        Cost of a wrong label, 1 by default. An array has ``costs[true, predicted]`` in the order of ``classes_``; a dict has costs
        for pairs (true, predicted), and other pairs cost 1. Training separates labels with larger costs by larger margins.
    class_weight : dict or "balanced", optional
        Factor by which the loss is multiplied at positions whose true label is the key, 1 by default. ``"balanced"`` uses factors
        inversely proportional to the frequency of the label.
    constraints : {"BIO", "IOB2", "IOB1", "BIOES", "IOBES", "BILOU", "BMES"}, list of pairs or tuple, optional
        Forbidden pairs (from, to) of labels, with None for the start or the end. They are never predicted, and training does not
        consider them. A name forbids the pairs that the tagging scheme forbids. ``"IOB1"`` takes labels whose chunks begin with
        ``I-`` unless they follow a chunk of their kind, and learns and predicts BIO. A tuple has an entry for each layer of
        labels that are tuples: a name, None, a list of pairs, or ``"previous"`` if the layer holds what the next one has at the
        position before (None at the start), as for transitions of second order.
    ignore_label : object, optional
        Mark of positions without a label in y, such as -100. Training and scores leave these positions out. The parts of a
        sequence before and after them are trained on as sequences, without scores of the first and last label at the cuts.
    skip_ignored : bool, default False
        Whether positions with ``ignore_label`` do not cut sequences: their neighbours follow each other, as the first pieces of
        words do. `predict` needs the marks, in ``partial``, and returns them.
    fixed_weights : dict, optional
        Weights that training does not change: ``{feature: {label: weight}}``, where other labels of the feature have weight 0.
        Features are names or columns. Their weights do not count in the regularisation.
    possible_states : bool, default True
        Whether features have weights for all labels. False trains and stores weights for the pairs (feature, label) that occur in
        the training data alone, as CRFsuite does by default: often a tenth of them, in a tenth of the space, but errors may rise.
        ``dual_gap_`` is then about the objective restricted to these weights. `partial_fit` and sets of labels train all weights.
    solver : str, default "auto"
        A solver or method of `fwexp.solve`, except those with kernels.
    iterate : {"best", "last", "wavg", "tavg", "avg"}, optional
        Iterate of `fwexp.solve` that becomes the weights. By default the average ``wavg``, which depends less on ``lam`` and mostly
        predicts better, or ``best`` if the solver has no averages. ``dual_gap_`` certifies this iterate.
    tol : float, default 0.01
        Certified gap at which training stops, in units of the objective. Smaller values take longer.
    max_passes : float, default 50
        Bound on passes over the data. Training that reaches it with a gap above ``tol`` ends with a ConvergenceWarning.
    time_limit : float, optional
        Bound on solver seconds, as of `fwexp.solve`. Training that reaches it with a gap above ``tol`` ends with the status
        ``"time_limit"`` and a ConvergenceWarning.
    callback : callable, optional
        Function that receives every row of ``trace_``, a dict. If it returns True, training ends with the status
        ``"interrupted"``, and the weights reached are kept. `save` does not store it.
    nonnegative : mask, slice or int array, optional
        Weights that must not be negative, by their places in ``result_.w``, which the constructor of the problem documents.
    warm_start : bool, default False
        Whether `fit` starts from the last one: for the same data, which are kept, from its dual variables; otherwise near its
        weights, by the names of features and labels; or, with a warning, from zero. The certificate is about the data of this call.
    early_stopping : bool, default False
        Whether to stop when five passes have brought no fewer errors in the development set ``dev`` of `fit`. Without ``dev``,
        `fit` sets ``validation_fraction`` of the sequences aside, and does not train on them.
    validation_fraction : float, default 0.1
        Between 0 and 1. Ignored without ``early_stopping``, and with ``dev``.
    n_jobs : int, optional
        Threads that call oracles, as joblib counts them; by default one per processor. They do not change what is learned.
    random_state : int, RandomState or None, default 0
        Seed of the random choices; None draws a new seed for each call.
    verbose : int, default 0
        If positive, print progress to standard error: objective and gap, the gap at which training ends, and estimates of the
        passes and seconds until then; and a line while kernels are compiled (about 15 s, once per machine).

    Attributes
    ----------
    classes_ : ndarray (K,)
        The labels.
    n_features_in_ : int
        p, the number of features.
    feature_names_in_ : ndarray (p,)
        Names of the features, if X has names.
    class_weight_ : ndarray (K,) or None
        Factors of the loss, in the order of ``classes_``.
    coef_ : ndarray (K, p)
        Weights of features.
    start_, end_ : ndarray (K,)
        Scores of the first and of the last label.
    transitions_ : ndarray (K, K)
        Scores of a label (column) after another (row).
    state_features_, transition_features_ : mapping
        Weights that are not 0, of pairs (feature, label) and (from, to). ``top(20)`` returns the largest ones as a DataFrame.
    feature_transitions_ : mapping
        Weights that are not 0, of triples (feature, from, to), if the estimator has ``transition_features``.
    held_out_ : ndarray of int
        Indices in X of the sequences that ``early_stopping`` has set aside. Files do not hold it.
    dual_gap_ : float
        The certified gap: the objective is at most this far above its minimum. NaN if nothing is certified.
    status_, n_passes_, trace_ : str, float, DataFrame
        How training ended (``converged``, ``max_passes``, ..., ``interrupted``), oracle calls divided by n, and the log.
    result_ : Result
        The result of `fwexp.solve`, in units of the estimator's objective. All arrays of weights are read-only.

    See Also
    --------
    ChainSVMCV : The same, with ``lam`` chosen by cross-validation.
    ChainCRF : A conditional random field, which returns probabilities.
    fwexp.chain_problem : The training problem, for `fwexp.solve`.

    Notes
    -----
    The objective is

    .. math:: \min_w \frac{\lambda}{2} \|w\|^2 + \frac{1}{N} \sum_i H_i(w),

    where H_i bounds the number of wrong labels in sequence i, and N is the number of labelled positions in all sequences. The
    coefficient c2 of CRFsuite corresponds to lam = 2 c2 / N, so that "4/n" is c2 = 2, or C = 1/4.

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

    lam: Lam = "4/n"
    _: KW_ONLY
    loss: Loss = "errors"

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
        from fwexp.store.models import load_run  # Training and predictions need no store.

        result = load_run(key, results_dir=results_dir, **filters)
        if result.structure.get("family") != "ChainProblem":
            raise ParameterError(f"the run must be one on chains, got {result.structure.get('family', 'one that does not say')}")
        self = cls(lam=result.lam, loss="share")
        encoding = cls._Encoding(self)
        encoding.restore(len(result.w), np.arange(result.structure["num_states"]), None, result.structure["num_features"])
        return self._fitted(encoding, result)
