"""Arrays that people pass: copied by every constructor, and one line that names the place and what to do about it."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import ParameterError

RNG = np.random.default_rng(0)


def dense(*shape):
    return np.ascontiguousarray(RNG.normal(size=shape))


def csr(*shape):
    matrix = sp.csr_array(dense(*shape))
    assert matrix.has_canonical_format
    return matrix


def csr64(*shape):
    """With the index types that a problem keeps, so that nothing has to be converted."""
    matrix = csr(*shape)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


def ints(*values):
    return np.array(values, dtype=np.int32)


COSTS = np.array([[0.0, 1.0], [2.0, 0.0]])
LINKS = np.array([[0, 0]])
# (constructor, arguments, options): arrays in the very form that is kept
CASES = {
    "one dense chain": (fwexp.chain_problem, ([dense(3, 2)], [ints(0, 1, 0)]), {}),
    "two dense chains": (fwexp.chain_problem, ([dense(3, 2), dense(1, 2)], [ints(0, 1, 0), ints(1)]), {}),
    "one sparse chain": (fwexp.chain_problem, ([csr64(3, 2)], [ints(0, 1, 0)]), {}),
    "two sparse chains": (fwexp.chain_problem, ([csr(3, 2), csr(1, 2)], [ints(0, 1, 0), ints(1)]), {}),
    "dense classes": (fwexp.multiclass_problem, (dense(4, 3), ints(0, 1, 1, 0)), {"costs": COSTS}),
    "sparse classes": (fwexp.multiclass_problem, (csr(4, 3), ints(0, 1, 1, 0)), {"costs": COSTS, "rescaling": "slack"}),
    "classes, int64 pointers": (fwexp.multiclass_problem, (csr64(4, 3), ints(0, 1, 1, 0)), {}),
    "one grid": (fwexp.matching_problem, ([dense(2, 3, 2)], [LINKS]), {}),
    "one flat grid": (fwexp.matching_problem, ([dense(6, 2)], [LINKS]), {"shapes": np.array([[2, 3]])}),
    "one sparse grid": (fwexp.matching_problem, ([csr64(6, 2)], [LINKS]), {"shapes": np.array([[2, 3]])}),
    "possible links": (fwexp.matching_problem, ([dense(2, 3, 2)], [LINKS]), {"possible": [np.array([[1, 1]])]}),
    "outputs": (fwexp.enumerated_problem, ([np.array([[0.0, 0.0], [1.0, 2.0]])], [np.array([0.0, 1.0])]), {}),
}


def arrays_in(value):
    """All arrays in nested arguments, those of sparse matrices included."""
    if isinstance(value, np.ndarray):
        yield value
    elif sp.issparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from arrays_in(item)


@pytest.mark.parametrize("name", CASES)
def test_constructors_keep_nothing_of_the_users_arrays(name):
    build, arguments, options = copy.deepcopy(CASES[name])
    given = list(arrays_in([*arguments, *options.values()]))
    problem = build(*arguments, **options)
    kept = list(arrays_in(problem))
    assert len(kept) > 4
    for array in given:
        assert not any(np.shares_memory(array, other) for other in kept)
    before = copy.deepcopy(kept)
    for array in given:
        array *= 3
    for array, other in zip(kept, before, strict=True):
        np.testing.assert_array_equal(array, other)


def test_later_changes_do_not_make_a_certificate_wrong():
    X, y = np.random.default_rng(1).normal(size=(30, 4)), np.random.default_rng(2).integers(3, size=30).astype(np.int32)
    problem, again = fwexp.multiclass_problem(X, y), fwexp.multiclass_problem(X.copy(), y.copy())
    X *= 3
    y[:] = 0
    changed, same = (fwexp.solve(p, "bcfw", lam=0.1, max_passes=5) for p in (problem, again))
    assert changed.w.tobytes() == same.w.tobytes()
    assert changed.gap == same.gap


def masked(array):
    return np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == 1)


ONES = np.ones((2, 2))
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
        with pytest.raises(ParameterError, match="^" + name + " .*" + message.replace("X.*", "(X|psi).*")) as error:
            call()
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fwexp.chain_problem(None, [[0]]), r"X must be a list of \(T, p\) arrays, one per sequence, got None"),
        (lambda: fwexp.chain_problem("abc", [[0]]), "X must be a list of .*, got str 'abc'"),
        (lambda: fwexp.chain_problem({"a": 1}, [[0]]), "X must be a list of .*, got dict"),
        (lambda: fwexp.chain_problem(sp.csr_array(ONES), [[0]]), "X must be a list of .*, got csr_array"),
        (lambda: fwexp.chain_problem([ONES], None), "y must be a list of int arrays .*, got None"),
        (lambda: fwexp.chain_problem([ONES], [["a", "b"]]), r"y\[0\] must hold integers, got text such as 'a': number them first"),
        (lambda: fwexp.chain_problem([ONES], [masked(np.array([0, 1]))]), r"y\[0\] must have no masked entries"),
        (lambda: fwexp.chain_problem([ONES, [[1.0, np.inf]]], [[0, 1], [0]]), r"X must be finite, .* \(X\[1\] at \[0, 1\]\)"),
        (lambda: fwexp.chain_problem([ONES], [np.array([0, 2**64 - 1], np.uint64)]), "labels in y must be less than .*, got 1844"),
        (lambda: fwexp.multiclass_problem(ONES, None), "y must hold integers, got None"),
        (lambda: fwexp.multiclass_problem(ONES, [True, False]), "y must hold integers, got bool"),
        (lambda: fwexp.multiclass_problem(ONES, [[0, 1], [0]]), "y must hold integers, got rows of different lengths"),
        (lambda: fwexp.multiclass_problem(ONES, [0, 1], costs="balanced"), r"costs must be a .* of numbers, got str 'balanced'$"),
        (lambda: fwexp.multiclass_problem(ONES, [0, 1], costs=[[0, -1], [1, 0]]), r"got costs\[0, 1\] = -1$"),
        (lambda: fwexp.multiclass_problem(ONES, [0, 1], costs=[[0, 1], [1, 2]]), r"got costs\[1, 1\] = 2$"),
        (lambda: fwexp.multiclass_problem(ONES, [0, 1], costs=[[0, np.nan], [1, 0]]), r"costs must be finite.*costs at \[0, 1\]"),
        (lambda: fwexp.matching_problem(None, []), "X must be a list of arrays of edges, one per example, got None"),
        (lambda: fwexp.matching_problem([ONES], [[]], shapes=3), r"shapes must be a list of \(rows, columns\), got int 3"),
        (lambda: fwexp.matching_problem([ONES], [[]], shapes=["ab"]), r"shapes\[0\] must hold integers, got str 'ab'$"),
        (lambda: fwexp.matching_problem([ONES], [[]], shapes=[(1, 2)], precision_cost="a"), "precision_cost must be a positive"),
        (lambda: fwexp.enumerated_problem(None, []), "psi must be a list of arrays, one per example, got None"),
        (lambda: fwexp.enumerated_problem([ONES * 0], [[0.0, -1.0]]), r"losses\[0\] must be finite, and losses >= 0, got -1"),
    ],
)
def test_what_is_wrong_is_said_on_one_line(call, message):
    with pytest.raises(ParameterError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda y, K=None: fwexp.chain_problem([ONES], [y], K), "num_states"),
        (lambda y, K=None: fwexp.multiclass_problem(ONES, y, K), "num_classes"),
    ],
)
def test_labels_that_are_no_numbers_from_0_without_gaps(build, name):
    """Their problem would not fit into any memory; where it might, saying how many labels there are is enough."""
    with pytest.raises(ParameterError, match=f"without gaps, got 2000000: {name} = 2000001 needs 298.. GiB$"):
        build([0, 2_000_000])
    with pytest.raises(ParameterError, match=f"got 19999: {name} = 20000 needs 2 GiB; if that is meant, say {name}=20000"):
        build([0, 19_999])
    with pytest.raises(ParameterError, match=f"{name} must be smaller, got 2000001, which needs 298.. GiB"):
        build([0, 1], 2_000_001)
    with pytest.raises(ParameterError, match=f"{name} must be smaller, got 1000"):
        build([0, 1], 10**400)
    assert build([0, 1], np.int64(3)).d == build([0, 1], 3).d


def test_numbers_of_any_kind_are_taken():
    wanted = fwexp.multiclass_problem(np.array([[1.0, 0.0], [0.0, 1.0]]), [0, 1])
    for X in (
        [[1, 0], [0, 1]],
        np.eye(2, dtype=bool),
        np.eye(2, dtype=np.float32),
        np.ma.masked_array(np.eye(2)),
        np.eye(2)[:, ::-1][:, ::-1],
    ):
        for y in ((0, 1), np.array([0, 1], np.uint8), [np.int32(0), np.int64(1)]):
            np.testing.assert_array_equal(fwexp.multiclass_problem(X, y).x.values, wanted.x.values)
