"""A tagger once it is trained: its predictions, its weights with their names, and its files."""

from collections.abc import Iterator, Sequence
from itertools import chain, compress, pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from fwexp.errors import ParameterError, shown
from fwexp.estimators import transition_inputs
from fwexp.estimators.carried_weights import Names, feature_rows
from fwexp.estimators.chain_weights import ChainWeights
from fwexp.estimators.decoding import FREE, check_found, decode, decode_several, max_marginals, padded_weights
from fwexp.estimators.estimator import CertifiedSVM, PartsScore
from fwexp.estimators.example_weights import counted
from fwexp.estimators.feature_matrices import FORMS, Vectorizer
from fwexp.estimators.labels import (
    as_sequences,
    check_among,
    check_counted,
    classes_of,
    costs_of,
    labels_of,
    names_of,
    numbers_of,
    weights_of,
)
from fwexp.estimators.learned_values import are_factors, are_labels, are_names, check_factors, is_size, or_none
from fwexp.estimators.sequence_weights import at_positions, checked_weights, labelled_runs, weights_at
from fwexp.estimators.tag_schemes import forbidden_pairs
from fwexp.estimators.transition_inputs import Inputs, size_of
from fwexp.options import check_integer
from fwexp.problems.arrays import as_list, check_costs
from fwexp.problems.chain import add_forbidden, chain_from_arrays, first_forbidden, with_costs, with_forbidden, with_position_weight
from fwexp.problems.constraints import constrained
from fwexp.templates import Template
from fwexp.types import ArrayLike, Loss, Weights

VOID = (-100, -1)  # for positions without a label
START, END, FROM, EDGE = "start", "end", "from", "edge"  # in names of weights, in tuples, which features by name are not


class ChainModel(PartsScore, ChainWeights, CertifiedSVM):
    """Base of the estimators that label sequences."""

    features: Any
    transition_features: Any
    min_count: int
    loss: Loss
    costs: ArrayLike | None
    class_weight: Any
    nonnegative: Weights | None
    constraints: Any
    ignore_label: Any

    averages = True

    def predict(self, X: Any, *, n_best: int | None = None, partial: Sequence[Any] | None = None) -> list[list[Any]]:
        """Return the labels of sequences, a list of lists.

        Parameters
        ----------
        X : list of sequences
            As for `fit`.
        n_best : int, optional
            Return this many labelings of each sequence, best first, as pairs (labels, score); fewer if no more exist.
        partial : list of lists, optional
            Known labels, with None at the other positions. Those get the labels that score highest together with the known ones.

        Returns
        -------
        list of lists
            Per sequence its labels, or with ``n_best`` its pairs.
        """
        check_is_fitted(self)
        (vectorizer, weights), X = self._decoder, self._features(X)
        if not X:
            return []
        x, ptr = vectorizer.encode(X)
        z = transition_inputs.encode(self.edge_vectorizer_, X.edges, ptr)
        given = FREE if partial is None else self._given(partial, ptr)
        K, names = len(self.classes_), names_of(self.classes_)
        ends = list(pairwise(ptr.tolist()))
        if n_best is None:
            found = decode(x, ptr, weights, K, given, z)
            check_found(ptr, found < 0)
            labels = [names[k] for k in found.tolist()]
            return [labels[start:end] for start, end in ends]
        most = K ** int(np.diff(ptr).max(initial=0))
        numbers, scores = decode_several(x, ptr, weights, K, min(check_integer("n_best", n_best, 1), most), given, z)
        check_found(ptr, np.repeat(np.isneginf(scores[:, 0]), np.diff(ptr)))
        labels = [[names[k] for k in labeling] for labeling in numbers.tolist()]
        return [
            [(labels[r][start:end], score) for r, score in enumerate(of_one) if score > -np.inf]
            for (start, end), of_one in zip(ends, scores.tolist())
        ]

    def predict_one(self, x: Any) -> list[Any]:
        """Return the labels of one sequence, within microseconds.

        Parameters
        ----------
        x : sequence
            One element of an X for `fit`.

        Returns
        -------
        list of labels
            One per position.
        """
        return self.predict([x])[0]

    def decision_function(self, X: Any) -> list[np.ndarray]:
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
        check_is_fitted(self)
        X = self._features(X)
        full, size = [k for k, x in enumerate(X) if size_of(x) != 0], len(X)
        if not full:
            return [np.zeros((0, len(self.classes_))) for _ in X]
        X = X.at(full)
        rows, ptr = self.vectorizer_.transform(X)
        unary, of_ends = rows @ self.coef_.T, np.vstack([self.start_, self.end_, self.transitions_])
        add_forbidden(of_ends, forbidden_pairs(self._used.constraints, self.classes_))
        K, z = len(self.classes_), None
        if self.edge_vectorizer_ is not None:
            z = transition_inputs.rows(self.edge_vectorizer_, X.edges, ptr)
        found = [np.zeros((0, K))] * size
        for k, (start, end) in zip(full, pairwise(ptr.tolist())):
            transitions = np.repeat(of_ends[None, 2:], end - start - 1, axis=0)
            if z is not None:
                transitions += (z[start + 1 : end] @ self._blocks()[1].reshape(-1, K * K)).reshape(-1, K, K)
            found[k] = max_marginals(unary[start:end], transitions, *of_ends[:2])
        return found

    def _learn(self, X, y, sample_weight):
        return self._learn_from(*self._examples(X, y, sample_weight)[:3])

    def _examples(self, X, y, sample_weight=None) -> tuple[list, list, Any, np.ndarray]:
        """Return features, labels and weights of the sequences that have positions and no weight of 0, and their mask."""
        X, y = self._features(X), as_list("y", y, "sequences of labels")
        if len(X) != len(y):
            raise ParameterError(f"X and y must have the same length, got {len(X)} and {len(y)}")
        sizes = [size_of(x) for x in X]
        if None in sizes:
            return X, y, None, np.ones(len(X), dtype=bool)  # others reject it
        lengths = np.array(sizes, dtype=np.int64)
        y, full = as_sequences(y, lengths, self._used.ignore_label), lengths > 0
        sample_weight = checked_weights(sample_weight, lengths)
        if X and not full.any():
            raise ParameterError(f"X must hold a sequence with a position, got {len(X)} empty ones")
        if isinstance(sample_weight, np.ndarray):
            counted(np.where(full, sample_weight, 0.0))  # which rejects negative ones, and 0 everywhere
            full = full & (sample_weight > 0.0)
        if not full.all():
            chosen = np.flatnonzero(full)
            X, y = X.at(chosen), list(compress(y, full.tolist()))
            sample_weight = weights_at(sample_weight, chosen)
        return X, y, sample_weight, full

    def _names(self):
        names = names_of(self.classes_)
        rows = feature_rows(self.vectorizer_.names, self.n_features_in_)
        edges = self.edge_vectorizer_
        if edges is not None:
            features = feature_rows(edges.names, edges.num_features)
            rows += [(EDGE, feature, name) for feature in features for name in names]
        return Names([*rows, (START,), (END,), *((FROM, name) for name in names)], names)

    def _learn_from(self, features, y, sample_weight=None, classes: np.ndarray | None = None, extends: bool = False):
        """Learn names of features and labels; return the problem, and the weights of its examples.

        Where ``classes`` are given, they are the labels. With ``extends``, features that are known keep their columns. Weights of
        sequences count in ``min_count`` and in balanced classes; weights of positions are costs of errors there.
        """
        vectorizer, edges, z, counts = Vectorizer(self.min_count), None, None, None
        if isinstance(sample_weight, np.ndarray):
            counts = np.repeat(sample_weight, [size_of(x) for x in features])
        if extends:
            vectorizer.restore(self.vectorizer_.names, self.n_features_in_)
            rows, ptr = vectorizer.extend_transform(features, counts)
        else:
            rows, ptr = vectorizer.fit_transform(features, counts)
        if features.edges is not None:
            edges = Vectorizer(self.min_count, "transition_features")
            extends = extends and self.edge_vectorizer_ is not None
            if extends:
                edges.restore(self.edge_vectorizer_.names, self.edge_vectorizer_.num_features)
            z = transition_inputs.learn(edges, features.edges, ptr, extends, counts)
        labels = labels_of(y, ptr, self._used.ignore_label)
        is_known = [label is not None for label in labels]
        known, counts = list(compress(labels, is_known)), None if counts is None else counts[is_known]
        if not known:
            raise ParameterError(f"y must hold a label, got ignore_label={shown(self._used.ignore_label)} everywhere")
        if classes is not None:
            check_among(known, classes)
        self.edge_vectorizer_ = edges
        self.vectorizer_, self.classes_ = vectorizer, classes_of(known) if classes is None else classes
        check_counted(self.classes_, VOID)
        self.class_weight_ = weights_of(self.class_weight, self.classes_, known, counts)
        problem, weights = self._from_arrays(rows, labels, ptr, sample_weight, z)
        if (found := first_forbidden(problem)) is not None:
            place = int(np.flatnonzero(is_known)[problem.label_ptr[found[0]] + found[1]])
            i = int(np.searchsorted(ptr, place, side="right")) - 1
            t = place - int(ptr[i])
            near = " ".join(map(str, y[i][max(t - 1, 0) : t + 2]))
            advice = "; IOB1, where chunks begin with I-, must be written as BIO" if self.constraints == "BIO" else ""
            allowed = f"be allowed by constraints={shown(self.constraints)}"
            raise ParameterError(f"y[{features.places[i]}][{t}] must {allowed}, got {y[i][t]!r} in {near}{advice}")
        return problem, weights

    def _problem_and_weights(self, X, y, sample_weight):
        return self._problem_from(self._features(X), y, sample_weight)

    def _problem_from(self, features, y, sample_weight=None):
        """Return the problem of sequences with the features and labels of training, and the weights of its examples."""
        rows, ptr = self.vectorizer_.transform(features)
        z = None if self.edge_vectorizer_ is None else transition_inputs.rows(self.edge_vectorizer_, features.edges, ptr)
        weights = checked_weights(sample_weight, np.diff(ptr))
        return self._from_arrays(rows, labels_of(y, ptr, self._used.ignore_label), ptr, weights, z)

    def _from_arrays(self, rows, labels: list, ptr: np.ndarray, sample_weight=None, z=None):
        """Return the problem, and the weights of its examples: parts of sequences where labels are ignored."""
        K, numbers, is_cut = len(self.classes_), numbers_of(labels, self.classes_), None
        of_positions = np.concatenate(sample_weight) if isinstance(sample_weight, list) else None
        weights = None if of_positions is not None else sample_weight
        if self._used.ignore_label is not None:
            kept = np.array([label is not None for label in labels])
            ptr, is_cut, origin = labelled_runs(kept, ptr)
            rows, numbers, z = rows[kept], numbers[kept], None if z is None else z[kept]
            of_positions = None if of_positions is None else of_positions[kept]
            weights = weights_at(weights, origin)
        problem = chain_from_arrays(rows, numbers, ptr, K, self._used.loss, is_cut, z)
        costs = costs_of(self._used.costs, self.classes_)
        if self.class_weight_ is not None:
            costs = self.class_weight_[:, None] * check_costs(costs, K)
        problem = problem if costs is None else with_costs(problem, costs)
        problem = problem if of_positions is None else with_position_weight(problem, of_positions)
        pairs = forbidden_pairs(self._used.constraints, self.classes_)
        return constrained(with_forbidden(problem, pairs) if pairs else problem, self._used.nonnegative), weights

    def _right(self, X, y, sample_weight):
        predicted = self.predict(X)
        lengths = np.array([len(labels) for labels in predicted], dtype=np.int64)
        y = as_sequences(as_list("y", y, "sequences of labels"), lengths, self._used.ignore_label)
        right = [a is not None and a == b for a, b in zip(chain.from_iterable(y), chain.from_iterable(predicted))]
        weights = np.array([label is not None for label in chain.from_iterable(y)], dtype=np.float64)
        if sample_weight is not None:
            weights *= at_positions(checked_weights(sample_weight, lengths), lengths)
        return np.array(right, dtype=bool), weights

    def _features(self, X) -> Inputs:
        given = as_list("X", X, FORMS)
        features, wanted = self._used.features, self._used.transition_features
        if callable(features):
            given = [list(x) if isinstance(x, Iterator) else x for x in given]
            X = map(features, given)
        elif isinstance(features, str) and features == "auto":
            X = given = [x if isinstance(x, list) else _sequence(x) for x in given]
        else:
            raise ParameterError(f'features must be "auto" or a function of a sequence, got {shown(features)}')
        X = Inputs(x if isinstance(x, list) else _sequence(x) for x in X)
        X.given, X.places = given, range(len(X))
        if wanted is None and isinstance(features, Template):
            wanted = features.transitions
        if wanted is not None and all(size_of(x) is not None for x in X):  # others reject the rest
            X.edges = transition_inputs.transitions_of(wanted, given, X)
        return X

    def _complete(self):
        self._decoder = self._without_zeros()

    def _given(self, partial, ptr: np.ndarray) -> np.ndarray:
        """Return the numbers of labels that are given for positions, -1 where none is."""
        partial = as_list("partial", partial, "lists of labels and None")
        sequences = [as_list(f"partial[{i}]", labels, "labels and None") for i, labels in enumerate(partial)]
        lengths = [len(labels) for labels in sequences]
        if lengths != np.diff(ptr).tolist():
            raise ParameterError(f"partial must have one label or None per position of X, got lengths {shown(lengths)}")
        labels = list(chain.from_iterable(sequences))
        numbers = numbers_of(labels, self.classes_)
        for k in np.flatnonzero(numbers < 0):
            if labels[k] is not None:
                raise ParameterError(f"partial must hold labels in classes_ and None, got {shown(labels[k])}")
        return numbers.astype(np.int32)

    def _without_zeros(self) -> tuple[Vectorizer, np.ndarray]:
        """Return the features by name that have weights, and the weights as `decode` takes them, after a row for no feature."""
        vectorizer, weights = self.vectorizer_, self.result_.w.reshape(-1, len(self.classes_))
        forbidden = forbidden_pairs(self._used.constraints, self.classes_)
        if vectorizer.names is not None:
            has = weights.any(axis=1)
            has[vectorizer.num_features :] = True
            has[: vectorizer.num_features] |= [name.endswith("]") for name in vectorizer.names]  # Vectors stay whole.
            names = [*compress(vectorizer.names, has.tolist())]
            weights, vectorizer = np.vstack((np.zeros(len(self.classes_)), weights[has])), Vectorizer()
            vectorizer.restore(names, len(names))
        return vectorizer, padded_weights(weights, forbidden)

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "_decoder"}

    def _learned(self):
        columns = {"names": self.vectorizer_.names, "num_features": self.vectorizer_.num_features}
        edges = self.edge_vectorizer_
        if edges is not None:
            columns |= {"edge_names": edges.names, "num_edge_features": edges.num_features}
        return {"classes": self.classes_, "class_weight": self.class_weight_, **columns}

    _schema: ClassVar = {
        "classes": are_labels,
        "class_weight": or_none(are_factors),
        "names": or_none(are_names),
        "num_features": is_size,
        "edge_names": or_none(are_names),
        "num_edge_features": is_size,
    }

    def _structure(self):
        K, p = len(self.classes_), self.vectorizer_.num_features
        q = 0 if self.edge_vectorizer_ is None else self.edge_vectorizer_.num_features
        family = "ChainProblem" if self.edge_vectorizer_ is None else self.result_.structure["family"]
        check_factors(self.class_weight_, (K,))
        return {"family": family, "d": K * (p + K * q + 2 + K), "num_states": K}

    def _check_parameters(self):
        if (self._features([]).edges is None) != (self.edge_vectorizer_ is None):
            raise ValueError("transition_features does not fit to the learned values")

    def _restore(self, classes, names, num_features, class_weight=None, edge_names=None, num_edge_features=None):
        self.edge_vectorizer_ = None
        if num_edge_features is not None:
            self.edge_vectorizer_ = Vectorizer(self.min_count, "transition_features")
            self.edge_vectorizer_.restore(edge_names, num_edge_features)
        self.classes_, self.class_weight_, self.vectorizer_ = classes, class_weight, Vectorizer(self.min_count)
        self.vectorizer_.restore(names, num_features)


def _sequence(x):
    """Return a sequence as it is, or of a frame its rows: numbers, or dicts where there are texts; of an iterator a list."""
    if isinstance(x, pd.DataFrame):
        numbers = all(map(pd.api.types.is_numeric_dtype, x.dtypes))
        return x.to_numpy(np.float64, na_value=np.nan) if numbers else x.to_dict("records")
    return list(x) if isinstance(x, Iterator) else x


def classes_in(X: Inputs, y: list) -> np.ndarray | None:
    """Return the labels that occur in checked examples; None if others reject the examples."""
    known = (label for label in chain.from_iterable(y) if label is not None)
    return None if any(size_of(x) is None for x in X) else classes_of(list(known))
