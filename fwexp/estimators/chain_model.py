"""Taggers: their predictions, and their weights with their names."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fwexp.conversion import as_list
from fwexp.estimators.chain_encoding import ChainEncoding
from fwexp.estimators.chains_in_numpy import check_found, through_labels
from fwexp.estimators.conventions import check_fitted, parameters
from fwexp.estimators.estimator import CertifiedSVM, PartsScore
from fwexp.estimators.feature_matrices import Vectorizer
from fwexp.estimators.joinable_lists import Labelings
from fwexp.estimators.json_values import names_of
from fwexp.estimators.labels import is_mark, partial_labels
from fwexp.estimators.named_features import NamedRows
from fwexp.estimators.named_weights import NamedWeights
from fwexp.estimators.sequence_inputs import Inputs, size_of
from fwexp.estimators.tagger_in_numpy import NumpyTagger, Query
from fwexp.tasks.result import stored_weights
from fwexp.types import AnyArray, ArrayLike, FloatArray, Weights

COMPILER = "fwexp.jit.compilation"  # the module that imports numba, which takes a second
FEW = 20_000  # positions, about as many as numpy labels in that time
OF_A_CALL = 20  # positions, which take as long as what numpy does besides for each call


@dataclass(eq=False, repr=False, kw_only=True)
class ChainModel(PartsScore, CertifiedSVM):
    """Base of the estimators that label sequences."""

    features: Any = "auto"
    transition_features: Any = None
    min_count: int = 1
    costs: ArrayLike | None = None
    class_weight: Any = None
    constraints: Any = None
    ignore_label: Any = None
    skip_ignored: bool = False
    fixed_weights: Any = None
    possible_states: bool = True
    nonnegative: Weights | None = None

    if TYPE_CHECKING:  # `fit` sets these, which are no parameters
        classes_: AnyArray = field(init=False)
        class_weight_: FloatArray | None = field(init=False)
        vectorizer_: Vectorizer = field(init=False)
        edge_vectorizer_: Vectorizer | None = field(init=False)

    averages = True
    _Encoding = ChainEncoding

    def predict(self, X: Any, *, n_best: int | None = None, partial: Sequence[Any] | None = None) -> list[list[Any]]:
        """Return the labels of sequences, a list of lists.

        Parameters
        ----------
        X : list of sequences
            As for `fit`.
        n_best : int, optional
            Return this many labelings of each sequence, best first, as pairs (labels, score); fewer if no more exist.
        partial : list of lists, optional
            What is known of every position: its label, a set of labels of which it has one, or None. The labelings of highest
            score among those that agree with it are returned. With ``skip_ignored``, ``ignore_label`` marks positions that have
            no label, and are skipped.

        Returns
        -------
        list of lists
            Per sequence its labels, or with ``n_best`` its pairs.
        """
        is_ready = "_decoder" in vars(self)
        if not is_ready:  # The function takes longer than a short sentence.
            check_fitted(self)
        X = self.encoding_.features(X)
        if not X:
            return Labelings()
        if not is_ready and n_best is None and self._are_few(X):
            return Labelings(self._in_numpy.predict(X, partial))
        vectorizer, _, names, decode_named = self._decoder
        rows = vectorizer.read(X)
        if rows is not None and not any(rows[3:]) and X.edges is None and n_best is None and partial is None:
            ptr, (numbers, missing) = rows[2], decode_named(rows)
            if missing:
                check_found(np.asarray(ptr), np.asarray(numbers) < 0)
            labels = [*map(names.__getitem__, numbers)]
            return Labelings([labels[start:end] for start, end in pairwise(ptr)])
        from fwexp.estimators import decoding  # which the decoder has imported

        query = self._query(X, partial, rows)
        decoders = decoding.decode, decoding.decode_several
        return Labelings(query.labelings(names, self.encoding_.params.ignore_label, n_best, *decoders))

    def _prediction(self, x: Any) -> list[Any]:
        is_ready = "_decoder" in vars(self) and type(x) is list
        return super()._prediction(x) if not is_ready or (labels := self._decoder[3].labels_of(x)) is None else labels

    def _are_few(self, X: Inputs) -> bool:
        """Return whether numpy labels these sequences before numba could, so far: no process waits more than twice as long."""
        if COMPILER in sys.modules:
            return False
        done = vars(self).get("_done_in_numpy", 0) + OF_A_CALL + sum(size_of(x) or 0 for x in X)
        vars(self)["_done_in_numpy"] = done
        return done <= FEW

    @cached_property
    def _in_numpy(self) -> NumpyTagger:
        return NumpyTagger(parameters(self.encoding_.params), self.encoding_.learned(), stored_weights(self.result_))

    def _query(self, X: Inputs, partial=None, rows: NamedRows | None = None) -> Query:
        """Return sequences, and what is known of their labels, as kernels take them."""
        from fwexp.estimators import transition_inputs
        from fwexp.estimators.decoding import FREE, Chains

        (vectorizer, weights, *_), params = self._decoder, self.encoding_.params
        x, ptr = vectorizer.encode(X, rows)
        chains = Chains(x, transition_inputs.encode(self.edge_vectorizer_, X.edges, ptr), ptr, weights, len(self.classes_))
        if partial is None:
            return Query(chains, ptr, None, (FREE,))
        allowed, kept = partial_labels(partial, ptr, self.classes_, params.skip_ignored, params.ignore_label)
        return Query(chains if kept is None else chains.at(kept), ptr, kept, (allowed,))

    def decision_function(self, X: Any) -> list[FloatArray]:
        """Return the score of the best labels of the sequence that have a given label at a given position.

        Parameters
        ----------
        X : list of sequences
            As for `fit`.

        Returns
        -------
        list of arrays (T, K)
            Entry (t, k) is for label k at position t. The largest of every row is the score of the prediction.
        """
        check_fitted(self)
        query = self._in_numpy.query(self.encoding_.features(X))
        return query.split(through_labels(query.chains, np.max)[0])

    def _fitted(self, encoding, result):
        if hasattr(encoding, "fixed"):  # Files hold the weights that are fixed with the others.
            result.w = encoding.complete(result.w)
        return super()._fitted(encoding, result)

    def _right(self, X, y, sample_weight):
        mark, partial = self.encoding_.params.ignore_label, None
        if self.encoding_.params.skip_ignored:
            y = [list(labels) for labels in as_list("y", y, "sequences of labels")]
            partial = [[mark if is_mark(label, mark) else None for label in labels] for labels in y]
        return self.encoding_.right(self.predict(X, partial=partial), y, sample_weight)

    @property
    def coef_(self) -> FloatArray:
        """Weights of features, (K, p)."""
        return self._blocks()[0].T

    @property
    def start_(self) -> FloatArray:
        """Scores of the first label, (K,)."""
        return self._blocks()[2][0]

    @property
    def end_(self) -> FloatArray:
        """Scores of the last label, (K,)."""
        return self._blocks()[2][1]

    @property
    def transitions_(self) -> FloatArray:
        """Scores of a label (column) after another (row), (K, K)."""
        return self._blocks()[3]

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self.vectorizer_.num_features

    @property
    def feature_names_in_(self) -> AnyArray:
        """Names of the features, (p,), where X has names."""
        if self.vectorizer_.names is None:
            raise AttributeError("X had no names of features")
        return np.array([*self.vectorizer_.names], dtype=object)

    @property
    def state_features_(self) -> NamedWeights:
        """Weights of features, a mapping of pairs (feature, label) to the weights that are not 0."""
        names = self.vectorizer_.names or range(self.n_features_in_)
        return NamedWeights(self._blocks()[0], ("feature", names), ("label", names_of(self.classes_)))

    @property
    def transition_features_(self) -> NamedWeights:
        """Scores of transitions, a mapping of pairs of labels (from, to) to the scores that are not 0."""
        names = names_of(self.classes_)
        return NamedWeights(self.transitions_, ("from", names), ("to", names))

    @property
    def feature_transitions_(self) -> NamedWeights:
        """Weights of the features of transitions, a mapping of triples (feature, from, to) to the weights that are not 0."""
        names, edges = names_of(self.classes_), self.edge_vectorizer_
        if edges is None:
            raise AttributeError("transitions have no features without transition_features")
        weights = self._blocks()[1].reshape(edges.num_features, len(names), len(names))
        columns = range(edges.num_features) if edges.names is None else edges.names
        return NamedWeights(weights, ("feature", columns), ("from", names), ("to", names))

    def _blocks(self) -> list[FloatArray]:
        """Return the weights of features, of features of transitions, of both ends and of transitions."""
        K, p = len(self.classes_), self.vectorizer_.num_features
        first = p + (0 if self.edge_vectorizer_ is None else K * self.edge_vectorizer_.num_features)
        return np.split(self.result_.w.reshape(-1, K), [p, first, first + 2])
