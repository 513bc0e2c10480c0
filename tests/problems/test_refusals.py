"""Constructors of problems refuse mistakes in one line, which names the argument, the bad value and the accepted ones."""

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems.graphs import LOSSES


def masked(array):
    return np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == 1)


ONES, GRID = np.ones((2, 2)), [np.ones((2, 3, 1))]
POSITIONS = [np.ones((2, 3)), np.ones((1, 3))]
GOOD = {  # arguments that each constructor takes
    fwexp.chain_problem: {"X": POSITIONS, "y": [[0, 1], [1]]},
    fwexp.multiclass_problem: {"X": ONES, "y": [0, 1]},
    fwexp.matching_problem: {"X": GRID, "y": [[]]},
    fwexp.enumerated_problem: {"psi": [np.zeros((1, 2))], "losses": [[0.0]]},
    fwexp.pose_problem: {"X": [np.zeros((2, 2, 2))], "y": [[(0, 0), (0, 1), (1, 1)]], "parents": (1, -1, 1)},
    fwexp.segmentation_problem: {"X": [np.ones((3, 2))], "edges": [[(0, 1), (1, 2)]], "Z": [np.ones((2, 1))], "y": [[0, 1, 1]]},
}
REFUSED = {
    fwexp.chain_problem: [
        ({"X": None}, r"X must be a list of \(T, p\) arrays, one per sequence, got None"),
        ({"X": "abc"}, "X must be a list of .*, got str 'abc'"),
        ({"X": {"a": 1}}, "X must be a list of .*, got dict"),
        ({"X": sp.csr_array(ONES)}, "X must be a list of .*, got csr_array"),
        ({"X": [], "y": []}, "n = 0"),
        ({"X": [np.ones((2, 3)), np.ones((0, 3))], "y": [[0, 1], []]}, "length T >= 1, got 0"),
        ({"X": [np.ones((2, 3)), np.ones((1, 2))]}, r"X\[1\] must have 3 features like X\[0\], got 2"),
        ({"X": [np.ones(3), np.ones((1, 3))], "y": [[0], [1]]}, r"X\[0\] must have shape \(T, p\)"),
        ({"X": [np.full((2, 3), np.nan), np.ones((1, 3))]}, "X must be finite, got NaN or infinity"),
        ({"X": [np.ones((2, 2)), [[1.0, np.inf]]]}, r"X must be finite, .* \(X\[1\] at \[0, 1\]\)"),
        ({"X": [sp.csr_array([[np.inf]]), sp.csr_array([[1.0]])], "y": [[0], [1]]}, "X must be finite, got NaN or infinity"),
        ({"y": None}, "y must be a list of int arrays .*, got None"),
        ({"y": [[0, 1]]}, "X and y must have the same length, got 2 and 1"),
        ({"y": [[0, 1, 1], [1]]}, r"X\[0\] and y\[0\] must have the same length T >= 1, got 2 and 3"),
        ({"y": [[0, 1], [-1]]}, r"labels in y must be in 0 .. 1, got -1"),
        ({"y": [[0, 1], [2]], "num_states": 2}, r"labels in y must be in 0 .. 1, got 2"),
        ({"y": [[0, 1], [1.0]]}, r"y\[1\] must hold integers, got float64"),
        ({"y": [["a", "b"], [0]]}, r"y\[0\] must hold integers, got text such as 'a': number them first"),
        ({"y": [masked(np.array([0, 1])), [0]]}, r"y\[0\] must have no masked entries"),
        ({"y": [np.array([0, 2**64 - 1], np.uint64), [0]]}, "labels in y must be less than .*, got 1844"),
        *(({"num_states": K}, f"num_states must be an integer >= 1, got {K}") for K in (0, 2.0, True)),
        ({"costs": np.zeros((3, 3))}, r"costs must have shape \(2, 2\), got \(3, 3\)"),
        ({"forbidden": [(0, 2)]}, r"forbidden must hold pairs \(from, to\) of labels 0 .. 1 or one None, got \(0, 2\)"),
        ({"forbidden": [(None, None)]}, r"forbidden must hold pairs .*, got \(None, None\)"),
        ({"forbidden": [3]}, "forbidden must hold pairs .*, got 3"),
        ({"forbidden": [(0, 1)]}, r"y must hold no forbidden labels, got some in y\[0\] at position 1"),
        ({"forbidden": [(None, 1)]}, r"y must hold no forbidden labels, got some in y\[1\] at position 0"),
        ({"position_weight": [[1.0]] * 2}, r"position_weight must hold one array \(T,\) per sequence, like y"),
        ({"position_weight": [[1.0, -1.0], [1.0]]}, "position_weight must be >= 0, got -1.0"),
        ({"position_weight": [[1.0, np.nan], [1.0]]}, "position_weight must be finite"),
        ({"Z": [np.ones((1, 3))]}, "Z must have one array per sequence, 2, got 1"),
        ({"Z": [np.ones((2, 3)), np.ones((0, 3))]}, r"Z\[0\] must have shape \(T - 1, q\) = \(1, 3\), got \(2, 3\)"),
        ({"Z": [np.ones((1, 3)), np.ones((0, 4))]}, r"Z\[1\] must have shape \(T - 1, q\) = \(0, 3\), got \(0, 4\)"),
        ({"Z": [np.full((1, 3), np.nan), np.ones((0, 3))]}, "Z must be finite, got NaN"),
        ({"Z": 3}, "Z must"),
        *(({"loss": loss}, rf"^unknown loss '{loss}'; accepted: errors, share$") for loss in ("hamming", None, 1)),
    ],
    fwexp.multiclass_problem: [
        ({"X": np.ones((0, 2)), "y": np.zeros(0, int)}, "n = 0"),
        ({"X": np.ones(2)}, r"X must have shape \(n, p\)"),
        ({"X": np.full((2, 2), np.inf)}, "X must be finite"),
        ({"y": [0]}, "X and y must have the same length, got 2 and 1"),
        ({"y": [0.0, 1.0]}, "y must hold integers, got float64"),
        ({"y": None}, "y must hold integers, got None"),
        ({"y": [True, False]}, "y must hold integers, got bool"),
        ({"y": [[0, 1], [0]]}, "y must hold integers, got rows of different lengths"),
        ({"y": [0, -1]}, r"classes in y must be in 0 .. 0, got -1"),
        ({"y": [0, 3], "num_classes": 3}, r"classes in y must be in 0 .. 2, got 3"),
        ({"num_classes": -1}, "num_classes must be an integer >= 1, got -1"),
        ({"costs": np.ones((2, 2))}, "zeros on the diagonal"),
        ({"costs": np.zeros((3, 3))}, r"costs must have shape \(2, 2\), got \(3, 3\)"),
        ({"costs": "balanced"}, r"costs must be a .* of numbers, got str 'balanced'$"),
        ({"costs": [[0, -1], [1, 0]]}, r"got costs\[0, 1\] = -1$"),
        ({"costs": [[0, 1], [1, 2]]}, r"got costs\[1, 1\] = 2$"),
        ({"costs": [[0, np.nan], [1, 0]]}, r"costs must be finite.*costs at \[0, 1\]"),
        ({"rescaling": "slak"}, "unknown rescaling 'slak' .did you mean 'slack'..; accepted: margin, slack"),
    ],
    fwexp.matching_problem: [
        ({"X": None, "y": []}, "X must be a list of arrays of edges, one per example, got None"),
        ({"X": [], "y": []}, "X and y must have the same length n >= 1, got 0 and 0"),
        ({"y": [[], []]}, "X and y must have the same length n >= 1, got 1 and 2"),
        ({"X": [np.ones((6, 1))]}, r"X\[0\] must have shape \(rows, columns, p\) unless shapes are given, got \(6, 1\)"),
        ({"X": [np.ones((6, 1))], "shapes": [(2, 2)]}, r"X\[0\] must have shape \(4, 1\) for a grid of 2 x 2, got \(6, 1\)"),
        ({"X": [np.ones((6, 1))], "shapes": []}, "shapes must have length 1 like X, got 0"),
        ({"X": [ONES], "shapes": 3}, r"shapes must be a list of \(rows, columns\), got int 3"),
        ({"X": [ONES], "shapes": ["ab"]}, r"shapes\[0\] must hold integers, got str 'ab'$"),
        ({"X": [np.ones((0, 3, 1))]}, r"example 0 must have at least one row and one column, got shape \(0, 3\)"),
        ({"X": [*GRID, np.ones((1, 1, 2))], "y": [[], []]}, r"X\[1\] must have shape \(1, 1\) for a grid of 1 x 1, got \(1, 2\)"),
        ({"X": [np.full((1, 1, 1), np.nan)]}, "X must be finite"),
        ({"y": [[(0, 3)]]}, r"links in y\[0\] must be within a grid of 2 x 3, got \(0, 3\)"),
        ({"y": [[(0, 0), (-1, 0)]]}, r"links in y\[0\] must be within a grid of 2 x 3, got \(-1, 0\)"),
        ({"y": [[(0.0, 0.5)]]}, r"y\[0\] must be an int array of links, shape \(m, 2\), got float64 of shape \(1, 2\)"),
        ({"y": [[0, 1]]}, r"y\[0\] must be an int array of links, shape \(m, 2\), got int64 of shape \(2,\)"),
        ({"y": [[(1, 0), (1, 2)]]}, r"y\[0\] must be a matching, got 2 links of row 1"),
        ({"y": [[(0, 2), (1, 2)]]}, r"y\[0\] must be a matching, got 2 links of column 2"),
        ({"precision_cost": 0.0}, "precision_cost must be a positive finite number, got 0.0"),
        ({"precision_cost": "a"}, "precision_cost must be a positive"),
        ({"recall_cost": np.inf}, "recall_cost must be a positive finite number, got inf"),
        ({"y": [[(0, 0)]], "possible": []}, "possible must have length 1 like y, got 0"),
        ({"y": [[(0, 0)]], "possible": [[(2, 0)]]}, r"links in possible\[0\] must be within a grid of 2 x 3, got \(2, 0\)"),
        ({"possible": [[(0, 0)]]}, "y must hold at least one sure link if possible is given, got none"),
    ],
    fwexp.enumerated_problem: [
        ({"psi": None}, "psi must be a list of arrays, one per example, got None"),
        ({"psi": [], "losses": []}, "n >= 1, got 0 and 0"),
        ({"losses": [[0.0], [0.0]]}, "got 1 and 2"),
        ({"losses": [[0.0, 1.0]]}, r"psi\[0\] must have shape"),
        ({"psi": [np.zeros((1, 2)), np.zeros((1, 3))], "losses": [[0.0], [0.0]]}, r"psi\[1\] must have shape \(m, 2\)"),
        ({"psi": [np.array([[0.0], [np.nan]])], "losses": [[0.0, 1.0]]}, "must be finite"),
        ({"psi": [np.zeros((2, 1))], "losses": [[0.0, -1.0]]}, r"losses\[0\] must be finite, and losses >= 0, got -1"),
        ({"psi": [np.ones((2, 1))], "losses": [[0.0, 1.0]]}, "one output of example 0 must be the true one"),
    ],
    fwexp.pose_problem: [
        ({"parents": [1, 2, 0]}, "must have one root, marked by -1, got 0"),
        ({"parents": [-1, 2, 1]}, "must be a tree, got a cycle with part [12]$"),
        ({"parents": [-1, 2, 3, 2]}, "must be a tree, got a cycle with part [23]$"),
        ({"parents": [-1, -1, 0]}, "must have one root, marked by -1, got 2"),
        ({"parents": [-1, 3, 0]}, "must be parts 0 .. 2, or -1 for the root, got 3"),
        ({"y": [[(0, 0), (0, 2), (1, 1)]]}, r"must lie within its image of 2 x 2, got \(0, 2\) for part 1"),
        ({"y": [[(0, 0), (0, -1), (1, 1)]]}, r"got \(0, -1\) for part 1"),
        ({"y": [[(0, 0), (0, 1)]]}, r"must have shape \(3, 2\)"),
        ({"X": [ONES]}, r"must have shape \(rows, columns, p\)"),
        ({"X": []}, "same length n >= 1"),
        ({"features": [[0], [1], [2]]}, r"features\[2\] must be in 0 .. 1, got 2"),
        ({"offsets": np.zeros(3)}, r"offsets must have shape \(3, 2\)"),
        ({"unit": 0}, "unit must be a positive finite number, got 0"),
        ({"reach": 0}, "reach must be a positive finite number, got 0"),
        ({"reach": [1.0, 2.0]}, "reach must hold 1 positive finite numbers"),
    ],
    fwexp.segmentation_problem: [
        ({"X": []}, "X must hold at least one example, got n = 0"),
        ({"y": []}, "y must have length 1 like X, got 0"),
        ({"node_weight": []}, "node_weight must have length 1 like X, got 0"),
        ({"X": [np.ones(3)]}, r"X\[0\] must have shape \(V, p\), got \(3,\)"),
        ({"X": [np.ones((0, 2))]}, r"X\[0\] must have shape \(V, 2\) with V >= 1, got \(0, 2\)"),
        ({"X": [np.full((3, 2), np.nan)]}, "X must be finite"),
        ({"edges": [[(0, 1), (1, 3)]]}, r"edges\[0\] must join nodes 0 .. 2, got the edge \(1, 3\) to nowhere"),
        ({"edges": [[(0, -1), (1, 2)]]}, r"edges\[0\] must join nodes 0 .. 2, got the edge \(0, -1\) to nowhere"),
        ({"edges": [[(0, 1), (2, 2)]]}, r"edges\[0\] must join different nodes, got the edge \(2, 2\) from one to itself"),
        ({"edges": [[0, 1]]}, r"edges\[0\] must be an int array of edges, shape \(E, 2\), got shape \(2,\)"),
        ({"edges": [[(0.5, 1)]]}, r"edges\[0\] must be an int array of edges"),
        ({"Z": [np.ones((3, 1))]}, r"Z\[0\] must have shape \(2, 1\) like edges\[0\], got \(3, 1\)"),
        ({"Z": [-np.ones((2, 1))]}, r"Z must be >= 0, got -1 in Z\[0\]"),
        ({"Z": [sp.csr_array([[0.5], [-0.5]])]}, r"Z must be >= 0, got -0.5 in Z\[0\]"),
        ({"y": [[0, 1, 2]]}, r"labels in y\[0\] must be 0 or 1, got 2"),
        ({"y": [[0, 1, -1]]}, r"labels in y\[0\] must be 0 or 1, got -1"),
        ({"y": [[0, 1, 3]], "num_labels": 3}, r"labels in y\[0\] must be 0 .. 2, got 3"),
        ({"y": [[0, 1]]}, r"y\[0\] must hold 3 labels, one per node, got shape \(2,\)"),
        ({"node_weight": [[1, 2]]}, r"node_weight\[0\] must hold 3 numbers > 0, one per node, got shape \(2,\)"),
        ({"node_weight": [[1, 2, 0]]}, r"node_weight\[0\] must be > 0, got 0"),
        *(({"num_labels": L}, f"num_labels must be an integer >= 2, got {L!r}") for L in (1, 2.5, "4")),
        ({"num_labels": 10**12}, "num_labels must be smaller, got 1000000000000, which needs .* GiB"),
        ({"loss": "area"}, "unknown loss 'area' .did you mean 'share'..; accepted: balanced, errors, share"),
        *(({"loss": loss}, rf"^unknown loss '{loss}'; accepted: {', '.join(sorted(LOSSES))}$") for loss in ("hamming", None)),
        ({"foreground_only": 1}, "foreground_only must be true or false, got 1"),
        (
            {"foreground_only": True, "num_labels": 4},
            "foreground_only must be false where num_labels is not 2, got true and 4 labels",
        ),
    ],
}


@pytest.mark.parametrize(
    ("build", "changes", "message"), [(build, *row) for build, rows in REFUSED.items() for row in rows], ids=lambda value: ""
)
def test_what_no_problem_can_be_made_of_is_said_on_one_line(build, changes, message):
    refused(ParameterError, lambda: build(**GOOD[build] | changes), message)


def refused(error, call, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("build", GOOD)
def test_what_is_right_is_taken(build):
    assert build(**GOOD[build]).n == len(next(iter(GOOD[build].values()))) or build is fwexp.multiclass_problem


@pytest.mark.parametrize(
    ("build", "y", "message"),
    [
        (fwexp.segmentation_problem, [0, 1], "y must hold 3 labels"),
        (fwexp.segmentation_problem, [0, 1, 2], "labels in y must be 0 or 1"),
        (fwexp.segmentation_problem, "010", "y must hold 3 labels|labels in y must be 0 or 1"),
        (fwexp.matching_problem, [(0, 0), (1, 0)], "y must be a matching, got 2 links of column 0"),
        (fwexp.matching_problem, [(2, 0)], r"links in y must be within a grid of 2 x 3, got \(2, 0\)"),
        (fwexp.matching_problem, "links", "y must be links ROW-COLUMN from 0"),
        (fwexp.pose_problem, [(0, 0), (-1, -1), (0, 0)], "a place for every part"),
    ],
)
def test_what_is_no_labeling_is_refused(build, y, message):
    refused(ParameterError, lambda: fwexp.loss(build(**GOOD[build]), 0, y), message)


@pytest.mark.parametrize("num_labels", [2, 3])
@pytest.mark.parametrize("call", [fwexp.predict, fwexp.evaluate, lambda problem, w: fwexp.max_oracle(problem, 0, w)])
@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_negative_capacities_are_a_fault_of_the_weights(weighted, call, num_labels):
    problem = fwexp.segmentation_problem(**GOOD[fwexp.segmentation_problem], num_labels=num_labels)
    asked, last = fwexp.weighted_problem(problem, [1.0]) if weighted else problem, 2 * num_labels
    call(asked, [0] * (last - 1) + [-1, 0.0])
    message = rf"w must be >= 0 for edge features, w\[{last}\] .. w\[{last}\], .*got -0.5 at {last}"
    refused(ParameterError, lambda: call(asked, [0] * last + [-0.5]), message)


BAD_INPUTS = [  # what stands for X[0], and what the message says after the name
    (None, r"must hold numbers, shape \(.*\), got None$"),
    ("abc", r"must hold numbers, shape \(.*\), got str 'abc'$"),
    ([["a", "b"], ["c", "d"]], r"got text such as 'a': give every feature name a column .* DictVectorizer"),
    ([{"word": 1.0}, {"word": 0.0}], r"got dict \{'word': 1.0\}: give every feature name a column .* DictVectorizer"),
    ([[1.0, 2.0], [3.0]], r"got rows of different lengths, 2 in row 0 and 1 in row 1"),
    (ONES * 1j, r"got complex128 of shape \(2, 2\)"),
    (ONES.astype(object), r"got objects such as 1.0: convert them to numbers first"),
    (np.array([[None, 1.0]]), r"got objects such as None: convert"),
    (np.zeros((2, 2), "datetime64[s]"), r"got datetime64\[s\] of shape \(2, 2\)"),
    (masked(ONES), r"must have no masked entries; fill them first, for instance with X.*\.filled\(0\)"),
    ([masked(ONES[0]), ONES[1]], "must have no masked entries"),
    (sp.csr_array(ONES * 1j), r"got complex128 of shape \(2, 2\)"),
    ([[1.0, 10**400]], r"got objects such as 1.0: convert"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_INPUTS)
def test_bad_inputs_are_named_where_they_are(bad, message):
    calls = [
        ("X", lambda: fwexp.multiclass_problem(bad, [0, 1])),
        (r"X\[1\]", lambda: fwexp.chain_problem([ONES, bad], [[0, 1], [0, 1]])),
        (r"X\[1\]", lambda: fwexp.matching_problem([ONES, bad], [[], []], shapes=[(1, 2), (1, 2)])),
    ]
    if not sp.issparse(bad):
        calls.append((r"psi\[1\]", lambda: fwexp.enumerated_problem([ONES * 0, bad], [[0.0, 1.0], [0.0, 1.0]])))
    for name, call in calls:
        refused(ParameterError, call, "^" + name + " .*" + message.replace("X.*", "(X|psi).*"))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda y, K=None: fwexp.chain_problem([ONES], [y], K), "num_states"),
        (lambda y, K=None: fwexp.multiclass_problem(ONES, y, K), "num_classes"),
    ],
)
def test_labels_that_are_no_numbers_from_0_without_gaps(build, name):
    """Their problem would not fit into any memory; where it might, saying how many labels there are is enough."""
    for y, K, message in (
        ([0, 2_000_000], None, f"without gaps, got 2000000: {name} = 2000001 needs 298.. GiB$"),
        ([0, 19_999], None, f"got 19999: {name} = 20000 needs 2 GiB; if that is meant, say {name}=20000"),
        ([0, 1], 2_000_001, f"{name} must be smaller, got 2000001, which needs 298.. GiB"),
        ([0, 1], 10**400, f"{name} must be smaller, got 1000"),
    ):
        refused(ParameterError, lambda y=y, K=K: build(y, K), message)
    assert build([0, 1], np.int64(3)).d == build([0, 1], 3).d
