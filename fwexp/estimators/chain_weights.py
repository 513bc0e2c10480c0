"""The weights of a trained tagger, with their names."""

import numpy as np

from fwexp.estimators.feature_matrices import Vectorizer
from fwexp.estimators.labels import names_of
from fwexp.estimators.named_weights import NamedWeights
from fwexp.tasks.result import Result


class ChainWeights:
    """The weights of features, of transitions and of both ends of a sequence."""

    classes_: np.ndarray
    vectorizer_: Vectorizer
    edge_vectorizer_: Vectorizer | None
    result_: Result

    @property
    def coef_(self) -> np.ndarray:
        """Weights of features, (K, p)."""
        return self._blocks()[0].T

    @property
    def start_(self) -> np.ndarray:
        """Scores of the first label, (K,)."""
        return self._blocks()[2][0]

    @property
    def end_(self) -> np.ndarray:
        """Scores of the last label, (K,)."""
        return self._blocks()[2][1]

    @property
    def transitions_(self) -> np.ndarray:
        """Scores of a label (column) after another (row), (K, K)."""
        return self._blocks()[3]

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, (p,), where X has names."""
        if self.vectorizer_.names is None:
            raise AttributeError("X had no names of features")
        return np.array(self.vectorizer_.names, dtype=object)

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

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self.vectorizer_.num_features

    def _blocks(self) -> list[np.ndarray]:
        """Return the weights of features, of features of transitions, of both ends and of transitions."""
        K, p = len(self.classes_), self.vectorizer_.num_features
        first = p + (0 if self.edge_vectorizer_ is None else K * self.edge_vectorizer_.num_features)
        return np.split(self.result_.w.reshape(-1, K), [p, first, first + 2])
