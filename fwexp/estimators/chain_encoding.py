"""Sequences and their labels as problems of chains: the names that training learns, and the weights that decoding needs."""

from collections.abc import Mapping
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_list
from fwexp.errors import ParameterError, see, shown
from fwexp.estimators.encoding import (
    Encoding,
    Names,
    are_factors,
    are_labels,
    are_names,
    check_factors,
    feature_rows,
    is_size,
)
from fwexp.estimators.feature_matrices import Vectorizer
from fwexp.estimators.json_values import names_of
from fwexp.estimators.labels import (
    allowed_labels,
    as_sequences,
    at_positions,
    check_among,
    check_counted,
    check_same_length,
    classes_of,
    costs_of,
    counted,
    has_sets,
    labels_in,
    labels_of,
    numbers_of,
    part_weights,
    right_parts,
    some,
    weights_of,
)
from fwexp.estimators.sequence_inputs import Inputs, inputs_of, size_of
from fwexp.estimators.tag_schemes import converted, forbidden_pairs
from fwexp.options import check_flag, check_number

if TYPE_CHECKING:
    from fwexp.problems.chain import Pair

VOID = (-100, -1)  # for positions without a label
START, END, FROM, EDGE = "start", "end", "from", "edge"  # in names of weights, in tuples, which features by name are not


class ChainEncoding(Encoding):
    """Columns of features, of features of transitions, and labels."""

    classes_: np.ndarray
    class_weight_: np.ndarray | None
    vectorizer_: Vectorizer
    edge_vectorizer_: Vectorizer | None
    has_all_states = False  # whether features have weights for all labels, also with ``possible_states=False``
    schema: ClassVar = {
        "classes": are_labels,
        "class_weight": are_factors,
        "names": are_names,
        "num_features": is_size,
        "edge_names": are_names,
        "num_edge_features": is_size,
    }

    def learn(self, X, y, sample_weight=None, classes=None, former=None):
        X, y, sample_weight, _ = self.examples(X, y, sample_weight)
        check_whole(y, "to_problem before fit")
        return self.learn_from(X, y, sample_weight, classes, former)

    def examples(self, X, y, sample_weight=None) -> tuple[Inputs, list, Any, np.ndarray]:
        """Return features, labels and weights of the sequences that have positions and no weight of 0, and their mask."""
        params = self.params
        X, y = inputs_of(X, params.features, params.transition_features, True), as_list("y", y, "sequences of labels")
        check_same_length(X, y)
        sizes = [size_of(x) for x in X]
        if None in sizes:
            return X, y, None, np.ones(len(X), dtype=bool)  # others reject it
        lengths = np.array(sizes, dtype=np.int64)
        y, full = self.sequences(y, lengths), lengths > 0
        sample_weight = part_weights(sample_weight, lengths)
        if X and not full.any():
            raise ParameterError(f"X must hold a sequence with a position, got {len(X)} empty ones")
        if isinstance(sample_weight, np.ndarray):
            counted(np.where(full, sample_weight, 0.0))  # which rejects negative ones, and 0 everywhere
            full = full & (sample_weight > 0.0)
        if not full.all():
            chosen = np.flatnonzero(full)
            X, y, sample_weight = X.at(chosen), some(y, chosen), some(sample_weight, chosen)
        return X, y, sample_weight, full

    def learn_from(self, features: Inputs, y, sample_weight=None, classes=None, former: "ChainEncoding | None" = None) -> tuple:
        """Learn names of features and labels; return the problem, and the weights of its examples."""
        # Weights of sequences count in ``min_count`` and in balanced classes; weights of positions are costs of errors there.
        from fwexp.estimators import transition_inputs  # Predictions need no problem.
        from fwexp.problems.chain import first_forbidden

        params, edges, z, counts = self.params, None, None, None
        vectorizer = Vectorizer(params.min_count)
        if isinstance(sample_weight, np.ndarray):
            counts = np.repeat(sample_weight, [size_of(x) for x in features])
        rows, ptr = vectorizer.fit_transform(features, counts, former and former.vectorizer_)
        if features.edges is not None:
            edges = Vectorizer(params.min_count, "transition_features")
            z = transition_inputs.learn(edges, features.edges, ptr, counts, former and former.edge_vectorizer_)
        labels = labels_of(y, ptr, params.ignore_label)
        is_known = [label is not None and not isinstance(label, set) for label in labels]
        known, counts = list(compress(labels, is_known)), None if counts is None else counts[is_known]
        found = labels_in([label for label in labels if label is not None])
        if not found:
            raise ParameterError(f"y must hold a label, got ignore_label={shown(params.ignore_label)} everywhere")
        if classes is not None:
            check_among(found, classes)
        self.edge_vectorizer_ = edges
        self.vectorizer_, self.classes_ = vectorizer, classes_of(found) if classes is None else classes
        check_counted(self.classes_, VOID)
        self.class_weight_ = weights_of(params.class_weight, self.classes_, known, counts)
        self._fix(params.fixed_weights)
        rows, known_scores = self._without_fixed(rows)
        problem, weights = self._from_arrays(rows, labels, ptr, sample_weight, z, known_scores)
        if not has_sets([labels]) and (found := first_forbidden(problem)) is not None:
            place = int(np.flatnonzero(is_known)[problem.label_ptr[found[0]] + found[1]])
            i = int(np.searchsorted(ptr, place, side="right")) - 1
            t = place - int(ptr[i])
            near = " ".join(map(str, y[i][max(t - 1, 0) : t + 2]))
            advice = '; constraints="IOB1" takes labels whose chunks begin with I-' if params.constraints == "BIO" else ""
            allowed = f"be allowed by constraints={shown(params.constraints)}"
            raise ParameterError(f"y[{features.places[i]}][{t}] must {allowed}, got {y[i][t]!r} in {near}{advice}{see('taggers')}")
        return problem, weights

    def allowed_in(self, y: list[list]) -> np.ndarray:
        """Return the labels that the positions of a problem may have, bool (N, K), of checked labels of sequences."""
        entries = list(chain.from_iterable(y))
        if self.params.ignore_label is not None:
            entries = [entry for entry in entries if entry is not None]
        return allowed_labels(entries, self.classes_)

    def problem(self, X, y, sample_weight=None):
        return self.problem_from(self.features(X), y, sample_weight)

    def problem_from(self, features: Inputs, y, sample_weight=None) -> tuple:
        """Return the problem of sequences with the features and labels of training, and the weights of its examples."""
        # With sets of labels it is a test set: the label of positions with sets is -1, and labels outside of the set are errors.
        from fwexp.estimators import transition_inputs

        rows, ptr = self.vectorizer_.transform(features)
        z = None if self.edge_vectorizer_ is None else transition_inputs.rows(self.edge_vectorizer_, features.edges, ptr)
        weights = part_weights(sample_weight, np.diff(ptr))
        y = self.sequences(as_list("y", y, "sequences of labels"), np.diff(ptr))
        return self._from_arrays(rows, list(chain.from_iterable(y)), ptr, weights, z, is_test=True)

    def _fix(self, given) -> None:
        """Set the features whose weights are fixed, and these weights (m, K)."""
        self.fixed = np.zeros(0, dtype=np.int64), np.zeros((0, len(self.classes_)))
        if given is None:
            return
        if not isinstance(given, Mapping):
            raise ParameterError(
                f"fixed_weights must be None or a dict of dicts {{feature: {{label: weight}}}}, got {shown(given)}"
            )
        names, labels = self.vectorizer_.names, {label: k for k, label in enumerate(names_of(self.classes_))}
        columns = {name: k for k, name in enumerate(range(self.vectorizer_.num_features) if names is None else names)}
        weights = np.zeros((len(given), len(labels)))
        for row, (feature, of_labels) in zip(weights, given.items()):
            if feature not in columns or not isinstance(of_labels, Mapping) or not set(of_labels) <= set(labels):
                accepted = "features of X to dicts {label: weight} of labels in y"
                raise ParameterError(f"fixed_weights must map {accepted}, got {shown({feature: of_labels})}")
            for label, weight in of_labels.items():
                row[labels[label]] = check_number(f"fixed_weights[{feature!r}][{label!r}]", weight, "a finite number")
        self.fixed = np.array([columns[feature] for feature in given], dtype=np.int64), weights

    def complete(self, w: np.ndarray) -> np.ndarray:
        """Return weights with those that are fixed."""
        columns, weights = self.fixed
        if not len(columns):
            return w
        w = w.copy()
        w.reshape(-1, len(self.classes_))[columns] = weights
        return w

    def _without_fixed(self, rows) -> tuple:
        """Return rows in which features of fixed weights are 0, and the scores (N, K) that these give, or None."""
        columns, weights = self.fixed
        if not len(columns):
            return rows, None
        free = np.ones(rows.shape[1])
        free[columns] = 0.0
        scores = rows[:, columns] @ weights
        rows = rows.multiply(free).tocsr() if sp.issparse(rows) else rows * free
        if sp.issparse(rows):
            rows.eliminate_zeros()
        return rows, scores

    def _from_arrays(
        self, rows, labels: list, ptr: np.ndarray, sample_weight=None, z=None, known_scores=None, is_test=False
    ) -> tuple:
        """Return the problem, and the weights of its examples: parts of sequences where labels are ignored."""
        from fwexp.problems import chain as chains
        from fwexp.problems.arrays import check_costs
        from fwexp.problems.constraints import constrained

        K, is_cut, params, allowed = len(self.classes_), None, self.params, None
        if has_sets([labels]):
            allowed = allowed_labels(labels, self.classes_)
            numbers = np.where(allowed.any(axis=1), allowed.argmax(axis=1), -1)  # Training finds better ones.
            if is_test:
                numbers[allowed.sum(axis=1) > 1] = -1
        else:
            numbers = numbers_of(labels, self.classes_)
        of_positions = np.concatenate(sample_weight) if isinstance(sample_weight, list) else None
        weights = None if of_positions is not None else sample_weight
        if params.ignore_label is not None:
            kept = np.array([label is not None for label in labels])
            ptr, is_cut, origin = (
                joined_runs(kept, ptr) if check_flag("skip_ignored", params.skip_ignored) else labelled_runs(kept, ptr)
            )
            rows, numbers, z, allowed = rows[kept], numbers[kept], some(z, kept), some(allowed, kept)
            of_positions, weights, known_scores = some(of_positions, kept), some(weights, origin), some(known_scores, kept)
        every = check_flag("possible_states", params.possible_states) or self.has_all_states or is_test or allowed is not None
        problem = chains.chain_from_arrays(rows, numbers, ptr, K, params.loss, is_cut, z, every)
        costs = costs_of(params.costs, self.classes_)
        if self.class_weight_ is not None:
            costs = self.class_weight_[:, None] * check_costs(costs, K)
        problem = problem if costs is None else chains.with_costs(problem, costs)
        problem = problem if of_positions is None else chains.with_position_weight(problem, of_positions)
        if allowed is not None and (is_test or getattr(params, "objective", None) != "log"):
            problem = chains.with_allowed(problem, allowed)
        if known_scores is not None:
            problem = chains.with_known_scores(problem, known_scores, getattr(params, "objective", None) != "log")
        pairs = self.forbidden
        return constrained(chains.with_forbidden(problem, pairs) if pairs else problem, params.nonnegative), weights

    @property
    def forbidden(self) -> "list[Pair]":
        """The pairs of numbers of labels that constraints forbid."""
        return forbidden_pairs(self.params.constraints, self.classes_)

    def features(self, X) -> Inputs:
        """Return the features of sequences, and of their transitions."""
        return inputs_of(X, self.params.features, self.params.transition_features)

    def sequences(self, y, lengths: np.ndarray, ignore_label=None) -> list[list]:
        """Return the labels of sequences as lists, in the scheme that training has; None where they are ignored."""
        ignore_label = self.params.ignore_label if ignore_label is None else ignore_label
        return converted(self.params.constraints, as_sequences(y, lengths, ignore_label))

    def right(self, predicted: list, y, sample_weight) -> tuple[np.ndarray, np.ndarray]:
        """Return whether the labels of positions are predicted right, and their weights."""
        lengths = np.array([len(labels) for labels in predicted], dtype=np.int64)
        y = self.sequences(as_list("y", y, "sequences of labels"), lengths)
        weights = part_weights(sample_weight, lengths)
        return right_parts(y, predicted, None if weights is None else at_positions(weights, lengths))

    def names(self):
        names, edges = names_of(self.classes_), self.edge_vectorizer_
        rows = feature_rows(self.vectorizer_.names, self.vectorizer_.num_features)
        if edges is not None:
            features = feature_rows(edges.names, edges.num_features)
            rows += [(EDGE, feature, name) for feature in features for name in names]
        return Names([*rows, (START,), (END,), *((FROM, name) for name in names)], names)

    def decoder(self, w):
        """Return features by name that have weights, the weights as `decode` takes them after a row for no feature, and labels."""
        from fwexp.estimators.decoding import NamedDecoder, padded_weights  # which import numba

        vectorizer, weights, used = self.vectorizer_, w.reshape(-1, len(self.classes_)), None
        if vectorizer.names is not None:
            used, p = weights.any(axis=1), vectorizer.num_features
            used[p:] = True
            used[:p] |= vectorizer.names.end_with("]")  # Vectors stay whole.
            vectorizer = vectorizer.with_columns(used[:p])
        weights = padded_weights(weights, self.forbidden, used)
        is_plain = vectorizer.names is not None and self.edge_vectorizer_ is None and not callable(self.params.features)
        labels = names_of(self.classes_)
        return vectorizer, weights, labels, NamedDecoder(weights, labels, vectorizer.tables if is_plain else None)

    def learned(self):
        columns = {"names": self.vectorizer_.names, "num_features": self.vectorizer_.num_features}
        edges = self.edge_vectorizer_
        if edges is not None:
            columns |= {"edge_names": edges.names, "num_edge_features": edges.num_features}
        return {"classes": self.classes_, "class_weight": self.class_weight_, **columns}

    def restore(self, d, classes, names, num_features, class_weight=None, edge_names=None, num_edge_features=None):
        self.edge_vectorizer_ = None
        if num_edge_features is not None:
            self.edge_vectorizer_ = Vectorizer(self.params.min_count, "transition_features")
            self.edge_vectorizer_.restore(edge_names, num_edge_features)
        self.classes_, self.class_weight_, self.vectorizer_ = classes, class_weight, Vectorizer(self.params.min_count)
        self.vectorizer_.restore(names, num_features)
        if (self.features([]).edges is None) != (self.edge_vectorizer_ is None):
            raise ValueError("transition_features does not fit to the learned values")
        _ = self.forbidden  # which rejects damaged constraints

    def structure(self):
        K, p, edges = len(self.classes_), self.vectorizer_.num_features, self.edge_vectorizer_
        check_factors(self.class_weight_, (K,))
        family = {"family": "ChainProblem"} if edges is None else {}
        return {**family, "d": K * (p + K * (0 if edges is None else edges.num_features) + 2 + K), "num_states": K}


def check_whole(y: list[list], what: str) -> None:
    """Reject sets of labels where training does not take them."""
    if not has_sets(y):
        return
    for i, labels in enumerate(y):
        for t, label in enumerate(labels):
            if isinstance(label, set):
                raise ParameterError(f"y[{i}][{t}] must be one label for {what}, got {shown(label)}")


def classes_in(X: Inputs, y: list) -> np.ndarray | None:
    """Return the labels that occur in checked examples; None if others reject the examples."""
    if any(size_of(x) is None for x in X):
        return None
    return classes_of(labels_in([label for label in chain.from_iterable(y) if label is not None]))


def labelled_runs(kept: np.ndarray, ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the longest runs of kept positions within sequences, which begin and end at ``ptr``."""
    # The values are where the runs begin and end among the positions that are kept, (m + 1,); whether their beginning and their end
    # are cuts through a sequence, bool (m, 2); and their sequences, (m,).
    is_first, is_last = np.zeros(len(kept), dtype=bool), np.zeros(len(kept), dtype=bool)
    is_first[ptr[:-1]], is_last[ptr[1:] - 1] = True, True
    before, after = np.concatenate(([False], kept[:-1])), np.concatenate((kept[1:], [False]))
    begins, ends = np.flatnonzero(kept & (is_first | ~before)), np.flatnonzero(kept & (is_last | ~after))
    runs = np.concatenate(([0], np.cumsum(ends - begins + 1)))
    return runs, np.column_stack([~is_first[begins], ~is_last[ends]]), np.searchsorted(ptr, begins, side="right") - 1


def joined_runs(kept: np.ndarray, ptr: np.ndarray) -> tuple[np.ndarray, None, np.ndarray]:
    """Return the same as `labelled_runs` if positions that are not kept do not cut the sequences: there are no cuts."""
    ends = np.concatenate(([0], np.cumsum(kept)))[ptr]
    origin = np.flatnonzero(np.diff(ends))
    return np.concatenate(([0], ends[1:][origin])), None, origin
