"""Mistakes in parameters and data are one line that names the value and what is accepted."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fwexp.errors import UserError
from fwexp.estimators import ChainCRF, ChainSVM, ChainSVMCV, GraphSVM, MatchingSVM, MulticlassSVM, MultiLabelSVM, StructuredSVM
from tests.estimators.models import Signs

WORDS = [["the", "dog", "barks"], ["a", "cat"], ["the", "cat", "sees", "a", "dog"], ["dog"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V", "D", "N"], ["N"]]
DICTS = [[{"word": word} for word in x] for x in WORDS]
COLUMNS = [np.ones((len(x), 3)) for x in WORDS]
UVW, GRAY, TWO = ["u", "v", "w"], np.ones((2, 2)), np.ones((2, 1))
IMAGE, MASK = np.array([[1.0, -1.0], [-0.8, 1.2]]), np.array([["a", "b"], ["b", "a"]])
EARLY = {"early_stopping": True}
LOSS = r"unknown loss 'hamming'; accepted: (balanced, )?errors, share$"
SEED = "random_state must be an integer >= 0, a RandomState or None, got"
WEIGHTED = 'class_weight must be None, "balanced" or a dict of labels in y, got'
MATCHINGS = [np.ones((2, 2, 3))] * 2


class Lying(Signs):
    size_joint_feature = 7


CHAINS = [
    ({}, WORDS, TAGS[:3], "X and y must have the same length, got 4 and 3"),
    ({}, WORDS, [*TAGS[:3], ["N", "N"]], r"X\[3\] and y\[3\] must have the same length, got 1 and 2"),
    ({}, WORDS, None, "y must be a list of sequences of labels, got None"),
    ({}, [["a"]], [3], r"y\[0\] must be a sequence of labels, got int 3"),
    ({}, [["a"]], [[[]]], r"labels in y must be hashable, got list \[\]"),
    ({}, [["a"]], [[("x", [])]], r"labels in y must be hashable, got tuple \('x', \[\]\)"),
    ({}, pd.DataFrame({"word": ["a"]}), [["N"]], "X must be a list of sequences: .*, got DataFrame"),
    ({}, [["a"], []], [["N"], ["N"]], r"X\[1\] and y\[1\] must have the same length, got 0 and 1"),
    ({}, [[], []], [[], []], "X must hold a sequence with a position, got 2 empty ones$"),
    ({"C": -1}, WORDS, TAGS, "C must be a positive finite number, got -1"),
    ({"lam": 0}, WORDS, TAGS, "lam must be"),
    ({"tol": -1}, WORDS, TAGS, "tol must be a finite number >= 0, got -1"),
    ({"features": 3}, WORDS, TAGS, 'features must be "auto" or a function of a sequence, got 3'),
    ({"class_weight": {"X": 2}}, WORDS, TAGS, WEIGHTED + " {'X': 2}"),
    ({"class_weight": {"N": -1}}, WORDS, TAGS, r"class_weight\['N'\] must be a number >= 0, got -1"),
    ({"costs": "l1"}, WORDS, TAGS, "costs must be None, a .* array or a dict of pairs of labels, got 'l1'"),
    ({"costs": {("N", "X"): 1}}, WORDS, TAGS, r"costs must be of pairs \(true, predicted\) of labels in y, got \('N', 'X'\)"),
    ({"costs": {("N", "D"): -1}}, WORDS, TAGS, r"costs\[\('N', 'D'\)\] must be a number >= 0, got -1"),
    ({"costs": [[0, 1]]}, WORDS, TAGS, r"costs must have shape \(3, 3\), got \(1, 2\)"),
    ({"min_count": 0}, WORDS, TAGS, "min_count must be an integer >= 1, got 0"),
    ({"solver": "kernel_bcfw"}, WORDS, TAGS, "solver must be one whose weights are of features, got 'kernel_bcfw'"),
    ({"solver": "sgd"}, WORDS, TAGS, "unknown solver 'sgd'"),
    ({"loss": "hamming"}, WORDS, TAGS, LOSS),
    ({"ignore_label": "N"}, [["a"]], [["N"]], "y must hold a label, got ignore_label='N' everywhere"),
    ({"ignore_label": "?"}, [UVW], [["?", "N", ""]], r"y\[0\]\[2\] must be a label, got ''"),
    ({"early_stopping": "False"}, WORDS, TAGS, "early_stopping must be true or false, got 'False'"),
    (EARLY, WORDS[:1], TAGS[:1], "early_stopping needs at least one sequence in addition to the 1 set aside, got n = 1"),
    (EARLY | {"validation_fraction": 1}, WORDS, TAGS, "validation_fraction must be a number > 0 and < 1, got 1"),
    ({"transition_features": "word"}, DICTS, TAGS, "transition_features must be None, a list of names .*, got 'word'"),
    ({"transition_features": []}, DICTS, TAGS, r"transition_features must be .*, got \[\]"),
    ({"transition_features": 3}, DICTS, TAGS, "transition_features must be .*, got 3"),
    ({"transition_features": ["wrod"]}, DICTS, TAGS, "transition_features must have a feature at some position, got none"),
    ({"transition_features": [3]}, COLUMNS, TAGS, r"transition_features must be columns of X, 0 .. 2, got \[3\]"),
    ({"transition_features": ["word"]}, COLUMNS, TAGS, "transition_features must be columns of X, 0 .. 2"),
    ({"transition_features": lambda x: x[1:]}, DICTS, TAGS, r"transition_features must .* all 3 positions of X\[0\], got 2"),
    ({"transition_features": lambda x: None}, DICTS, TAGS, r"transition_features must .* 3 positions of X\[0\], got NoneType"),
    (
        {"constraints": [("a", "b")]},
        [UVW],
        [["a", "a", "b"]],
        r"y\[0\]\[2\] must be allowed by .*=\[.*\], got 'b' in a b; see docs/taggers.md$",
    ),
    ({"constraints": "BIO"}, [UVW], [["O", "E-X", "O"]], "labels in y must be O or B-X, I-X with constraints='BIO', got 'E-X'"),
    ({"constraints": "BIOES"}, [UVW], [[1, 2, 3]], "labels in y must be O or B-X, I-X, E-X, S-X with constraints='BIOES', got 1"),
    ({"constraints": "IOB3"}, WORDS, TAGS, "constraints must be None, BIO, IOB2, IOB1, .*, one per layer, got 'IOB3'"),
    ({"constraints": [("D", "z")]}, WORDS, TAGS, r"constraints must be BIO, .* or pairs .*, got \('D', 'z'\)"),
    ({"constraints": [(None, None)]}, WORDS, TAGS, r"constraints must be BIO, .* or pairs .*, got \(None, None\)"),
    ({"constraints": 3}, WORDS, TAGS, "constraints must be BIO, .* or pairs .*, got 3"),
    ({"constraints": ("BIO", None)}, WORDS, TAGS, r"labels in y must be tuples of 2 with constraints=\('BIO', None\), got 'D'"),
    ({"constraints": ("previous",)}, [["u"]], [[("a",)]], r'constraints must have a layer after "previous", got \(.previous.,\)'),
    (
        {"constraints": "BIO"},
        [UVW, [], UVW],
        [["B-X", "I-X", "O"], [], ["O", "I-X", "O"]],
        r"y\[2\]\[1\] must be allowed by constraints='BIO', got 'I-X' in O I-X O; constraints=.IOB1. .* I-; see docs/taggers.md$",
    ),
]
SEARCHES = [
    ({"lams": 0}, WORDS, TAGS, "lams must be an integer >= 1, got 0"),
    ({"lams": [0.1, 0.0]}, WORDS, TAGS, "lams must be a positive finite number, got 0.0"),
    ({"lams": []}, WORDS, TAGS, "lams must be a number of values, or hold values of lam, got shape"),
    ({"lam_min": -1}, WORDS, TAGS, "lam_min must be a positive finite number, got -1"),
    ({"cv": 13}, WORDS, TAGS, "Cannot have number of splits n_splits=13 greater than the number of samples"),
    ({"cv": [([1, 2, 3], [0])]}, [[], *WORDS], [[], *TAGS], "cv must leave a sequence with a position in every part of a split"),
    ({"tol": -1, "cv": 2}, WORDS, TAGS, "tol must be a finite number >= 0, got -1"),
    ({"loss": "hamming", "cv": 2}, WORDS, TAGS, LOSS),
    ({"scoring": "f2"}, WORDS, TAGS, "scoring must be None, .* scikit-learn's scorers, got 'f2'"),
    ({"scoring": 3}, WORDS, TAGS, "scoring must be None, .* scikit-learn's scorers, got 3"),
    ({"scoring": lambda *_: np.nan, "cv": 2, "lams": 3}, WORDS, TAGS, "scoring must return a number .*, got NaN at each of 3"),
    ({}, WORDS, TAGS[:2], "X and y must have the same length, got 4 and 2"),
]
GRAPHS = [
    ({}, [], [], "X must hold at least one example, got n = 0"),
    ({}, [np.ones(3)], [[0]], r"X\[0\] must be an image, .* or a tuple for a graph, got shape \(3,\)"),
    ({}, [GRAY], [[[0, 1]]], r"y\[0\] must have shape \(2, 2\) like X\[0\], got \(1, 2\)"),
    ({}, [GRAY], [], "X and y must have the same length, got 1 and 0"),
    ({}, [GRAY], [GRAY], r"y must hold at least two labels, got \[1.0\]"),
    ({}, [(TWO,)], [[0, 1]], r"a graph in X must be \(features, edges\) or .*, got 1 parts"),
    ({}, [(TWO, sp.eye_array(2))], [[0, 1]], r"X\[0\]\[1\] must be an int array of edges, shape \(E, 2\), got .*array"),
    ({}, [(TWO, [(0, 1)], [[-2.0]])], [[0, 1]], r'edge features in X\[0\] must be >= 0 unless pairwise="full", got -2'),
    ({}, [(TWO, [(0, 2)])], [[0, 1]], r"edges\[0\] must join nodes 0 .. 1, got the edge \(0, 2\) to nowhere"),
    ({}, [[np.ones((3, 2)), [[0, 1], [1, 2], [2, 0]]]], [[0, 1, 1]], r"X\[0\] must be an array for an image, or a tuple"),
    ({"pairwise": "some"}, [IMAGE], [MASK], "unknown pairwise 'some'"),
    ({"connectivity": 6}, [IMAGE], [MASK], "connectivity must be 4 or 8, got 6"),
    ({"contrast": "yes"}, [IMAGE], [MASK], "contrast must be"),
    ({"class_weight": {"z": 2.0}}, [IMAGE], [MASK], WEIGHTED),
    ({"loss": "hamming"}, [IMAGE], [MASK], LOSS),
    ({"ignore_label": 7}, [IMAGE, IMAGE], [MASK, np.full((2, 2), 7)], r"y\[1\] must have a label, got ignore_label everywhere"),
    ({"ignore_label": 7}, [(TWO, [(0, 9)])], [[0, 1]], r"edges must join nodes 0 \.\. 1|edges\[0\] must join"),
]
CLASSES = [
    ({}, np.eye(3), ["a"] * 3, "y must hold at least two classes, got one class: 'a'"),
    ({}, np.eye(3), ["a", 1, "b"], "labels in y must be all numbers or all texts, got int and str$"),
    ({"costs": np.ones((3, 3))}, np.eye(3), [0, 1, 2], "costs must be finite and >= 0 with zeros on the diagonal"),
    ({"rescaling": "both"}, np.eye(3), [0, 1, 2], "unknown rescaling 'both'"),
    ({"class_weight": {"d": 2.0}}, np.eye(3), [0, 1, 2], WEIGHTED),
    ({"random_state": "abc"}, np.eye(3), [0, 1, 2], SEED + " 'abc'"),
    ({"random_state": 0.5}, np.eye(3), [0, 1, 2], SEED + " 0.5"),
    ({"random_state": -1}, np.eye(3), [0, 1, 2], SEED + " -1"),
    ({"verbose": "False"}, np.eye(3), [0, 1, 2], "verbose must be an integer, true or false, got 'False'"),
]
SETS = [
    ({}, np.eye(2), [0, 1], r"y must be an array \(n, L\) of 0 and 1, as of MultiLabelBinarizer, got shape \(2,\)"),
    ({}, np.eye(2), None, "y must be .*, got None"),
    ({}, np.eye(2), [[0], [2]], "y must .* got others, such as 2"),
    ({"edges": "tree"}, np.eye(2), [[0], [1]], "edges must be \"full\", None or pairs of columns of y, got 'tree'"),
    ({"edges": [(0, 1)]}, np.eye(2), [[0], [1]], r"edges must join nodes 0 .. 0, got the edge \(0, 1\) to nowhere"),
    ({"class_weight": {7: 2.0}}, np.eye(2), [[0], [1]], WEIGHTED),
    ({"loss": "hamming"}, np.eye(2), [[0], [1]], LOSS),
]
LINKS = [
    ({}, MATCHINGS, [[(0, 0)]], "X and y must have the same length n >= 1, got 2 and 1"),
    ({}, MATCHINGS, [[(0, 0), (0, 1)]] * 2, r"y\[0\] must be a matching, got 2 links of row 0"),
    ({"precision_cost": 0}, MATCHINGS, [[]] * 2, "precision_cost must be a positive finite number, got 0"),
]
MODELS = [
    ({"model": object()}, [1.0], [1], "model must have the methods joint_feature, .*, got one without joint_feature"),
    ({"model": Signs}, [1.0], [1], "model must be an object, got the class Signs: call it"),
    ({"model": Signs()}, [1.0], [1, -1], "X and y must have the same length, got 1 and 2"),
    ({"model": Signs()}, [], [], "y must hold at least one labeling, got n = 0"),
    ({"model": Lying()}, [1.0], [1], "joint_feature of the model must have length size_joint_feature = 7, got 2"),
]
FIELDS = [
    ({"objective": "hinge"}, WORDS, TAGS, "unknown objective .hinge.; accepted: log, softmax_margin"),
    ({"solver": "bcfw"}, WORDS, TAGS, ".*log"),
]
TABLES = {ChainSVM: CHAINS, ChainSVMCV: SEARCHES, ChainCRF: FIELDS, GraphSVM: GRAPHS, MulticlassSVM: CLASSES}
TABLES |= {MultiLabelSVM: SETS, MatchingSVM: LINKS, StructuredSVM: MODELS}
ROWS = [pytest.param(cls, *row, id=f"{cls.__name__}-{k}") for cls, table in TABLES.items() for k, row in enumerate(table)]


@pytest.mark.parametrize(("cls", "params", "X", "y", "message"), ROWS)
def test_a_mistake_is_one_line_of_fit(cls, params, X, y, message):
    with pytest.raises((UserError, ValueError), match=f"^{message}"):
        cls(**params).fit(X, y)


# Wrong weights of examples, by estimator and data.
WEIGHTS = [
    (ChainSVM, WORDS, TAGS, [1, 2], r"sample_weight must have shape \(4,\), one per example, got \(2,\)"),
    (ChainSVM, WORDS, TAGS, [np.ones(5)] * 4, r"sample_weight must hold a number per sequence, or an array \(T,\) per sequence"),
    (
        ChainCRF,
        WORDS,
        TAGS,
        [np.ones(len(tags)) for tags in TAGS],
        'sample_weight must be one number per sequence with objective="log"',
    ),
    (GraphSVM, [IMAGE], [MASK], [np.ones(5)], "sample_weight must .*an array like y"),
    (GraphSVM, [IMAGE], [MASK], [-np.ones((2, 2))], "sample_weight must .*be >= 0, got -1"),
]


@pytest.mark.parametrize(("cls", "X", "y", "weights", "message"), WEIGHTS)
def test_wrong_weights_are_one_line_of_each_method_that_takes_them(cls, X, y, weights, message):
    model = cls(lam=0.1, tol=1.0).fit(X, y)
    methods = [model.fit, model.to_problem]
    methods += [] if cls is ChainCRF else [model.score]  # which may weigh positions
    methods += [cls(**EARLY).fit] if cls is ChainSVM else []
    for method in methods:
        with pytest.raises(UserError, match=f"^{message}"):
            method(X, y, weights)
