"""Sparse matrices whose indices lie elsewhere, or whose arrays do not fit together: refused wherever they come in."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import fwexp
from fwexp.convex import Bilinear, LeastSquares, Logistic, Quadratic, Simplex
from fwexp.errors import ParameterError
from fwexp.problems.arrays import as_sparse

SIZE = 4
GOOD = np.eye(SIZE) + np.eye(SIZE, k=1)
OUTSIDE = st.sampled_from([-(2**31), -1, SIZE, 10**9, 2**31 - 1, 2**32, 2**32 + 1, 2**62])
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0)]
Y = [0, 1, 1, 0]


def bsr(draw):
    return sp.bsr_array(GOOD, blocksize=draw(st.sampled_from([(1, 1), (2, 2)])))


def compressed(draw):
    """Return a matrix in csr, csc or bsr with one thing wrong."""
    x = draw(st.sampled_from([lambda: sp.csr_array(GOOD), lambda: sp.csc_matrix(GOOD), lambda: bsr(draw)]))()
    last, dtype = len(x.indptr) - 1, draw(st.sampled_from([np.int32, np.int64]))
    indptr = x.indptr.astype(dtype)
    match draw(
        st.sampled_from(["index", "falls", "wraps", "start", "end", "pointers", "lengths", "empty", "kind", "shape", "none"])
    ):
        case "index":
            x.indices = x.indices.astype(np.int64)
            x.indices[draw(st.integers(0, len(x.indices) - 1))] = draw(OUTSIDE)
        case "falls":
            indptr[1] = draw(st.sampled_from([-1, indptr[2] + 1, 10**6]))
            x.indptr = indptr
        case "wraps":  # differences beyond int32 are positive again
            x.indptr = np.append(np.resize(np.array([0, 2**31 - 1, -2], np.int32), last), np.int32(len(x.indices)))
        case "start":
            indptr[0] = draw(st.sampled_from([-1, 1]))
            x.indptr = indptr
        case "end":
            indptr[-1] = draw(st.sampled_from([-1, len(x.indices) + 1, 10**6]))
            x.indptr = indptr
        case "pointers":
            x.indptr = draw(st.sampled_from([indptr[:-1], np.append(indptr, indptr[-1]), indptr[:, None], indptr[:0]]))
        case "lengths":
            x.data = draw(st.sampled_from([x.data[:-1], x.data[..., None], x.data.ravel()[:1]]))
        case "empty":  # scipy looks no further where there are no entries
            x.data, x.indices = x.data[:0], x.indices[:0]
            x.indptr = np.append(np.resize(np.array([0, 9], dtype), last), dtype(draw(st.sampled_from([0, -1]))))
        case "kind":
            x.indices = x.indices + 0.5
        case "shape":
            x._shape = (SIZE, 1)
        case "none":
            x.indices = draw(st.sampled_from([None, x.indices.tolist(), "abc"]))
    return x


def coordinates(draw):
    """Return a matrix in coo, dok, lil or dia with one thing wrong."""
    bad, axis = draw(OUTSIDE), draw(st.sampled_from([0, 1]))
    match draw(st.sampled_from(["coo", "coo lengths", "dok", "lil", "lil lengths", "dia"])):
        case "coo":
            x = sp.coo_matrix(GOOD)
            x.coords = tuple(indices.astype(np.int64) for indices in x.coords)
            x.coords[axis][draw(st.integers(0, x.nnz - 1))] = bad
        case "coo lengths":
            x = sp.coo_array(GOOD)
            x.coords = (x.coords[0][:-1], x.coords[1])
        case "dok":
            x = sp.dok_array(GOOD)
            x.setdefault((bad, 0) if axis == 0 else (0, bad), 1.0)
        case "lil":
            x = sp.lil_array(GOOD)
            x.rows[1] = [bad, 2]
        case "lil lengths":
            x = sp.lil_matrix(GOOD)
            x.rows[axis] = draw(st.sampled_from([[0], [0, 1, 2], [0, 1, 2] * 1000]))
        case "dia":
            x = sp.dia_array(GOOD)
            x.offsets = draw(st.sampled_from([np.arange(1), np.arange(30), np.array([0.5, 1.5])]))
    return x


@st.composite
def malformed(draw):
    return draw(st.sampled_from([compressed, coordinates]))(draw)


def segmentation(X, Z, labels=2):
    return fwexp.segmentation_problem([GOOD, X], [EDGES] * 2, [GOOD, Z], [Y] * 2, num_labels=labels)


def functions(x):
    return fwexp.CallbackProblem([0], features=lambda i, y: x, loss=lambda i, y: 0.0, max_oracle=lambda i, w: 0)


CALLS = {  # where sparse matrices come in, and what messages call them
    "chain": (r"X\[1\]", lambda x: fwexp.chain_problem([GOOD, x], [Y] * 2)),
    "classes": ("X", lambda x: fwexp.multiclass_problem(x, Y)),
    "matching": (r"X\[1\]", lambda x: fwexp.matching_problem([GOOD, x], [[], []], shapes=[(2, 2)] * 2)),
    "nodes": (r"X\[1\]", lambda x: segmentation(x, GOOD)),
    "edges": (r"Z\[1\]", lambda x: segmentation(GOOD, x)),
    "nodes of many labels": (r"X\[1\]", lambda x: segmentation(x, GOOD, 3)),
    "edges of many labels": (r"Z\[1\]", lambda x: segmentation(GOOD, x, 3)),
    "functions": (r"features\(0, y\)", functions),
    "least squares": ("A", lambda x: LeastSquares(x, np.ones(SIZE))),
    "logistic": ("A", lambda x: Logistic(x, np.ones(SIZE))),
    "quadratic": ("Q", lambda x: Quadratic(x)),
    "game": ("M", lambda x: Bilinear(x, Simplex(SIZE), Simplex(SIZE))),
}
PREDICTED = {
    "chain": lambda result, x: result.predict([GOOD, x]),
    "classes": lambda result, x: fwexp.predict(x, result),
    "matching": lambda result, x: result.predict([GOOD, x], shapes=[(2, 2)] * 2),
    "nodes": lambda result, x: result.predict([GOOD, x], edges=[EDGES] * 2, Z=[GOOD] * 2),
    "edges": lambda result, x: result.predict([GOOD] * 2, edges=[EDGES] * 2, Z=[GOOD, x]),
}


@pytest.fixture(scope="module")
def results():
    return {name: fwexp.solve(CALLS[name][1](GOOD), "ssg", lam=1.0, max_passes=1) for name in PREDICTED}


def refused(name, call, *arguments):
    words = f"^{name} must be a well-formed sparse matrix, got [a-z]+_(array|matrix) with "
    with pytest.raises(ParameterError, match=words):
        call(*arguments)


@settings(max_examples=150)
@given(x=malformed())
def test_malformed_matrices_are_refused_wherever_they_come_in(x, results):
    for name, call in CALLS.values():
        refused(name, call, x)
    for name, call in PREDICTED.items():
        refused(CALLS[name][0], call, results[name], x)


def test_the_message_says_which_index_and_what_is_accepted():
    x = sp.csr_array((np.array([1.0, 2, 3, 4]), np.array([3, 1, 2, 0]), np.arange(5)), shape=(4, 3))
    with pytest.raises(ParameterError, match=r"^X\[0\] must be a well-.* got csr_array with index 3 outside 0 \.\. 2$"):
        fwexp.chain_problem([x, x], [[0, 1, 2, 0]] * 2)


def unsorted_with_duplicates():
    x = sp.csr_array((np.array([1.0, 2, 4, 8]), np.array([2, 0, 0, 1]), np.array([0, 3, 3, 4])), shape=(3, 3))
    y = x.copy()
    y.data, y.indices = np.append(y.data, np.nan), np.append(y.indices, 99)  # room that is not used
    z = x.copy()
    z.indices = z.indices.astype(np.uint8)
    dia = sp.dia_array(([[6.0, 0, 0], [7, 7, 1], [8, 0, 0]], [0, 2, 10]), shape=(3, 3))
    others = [form(x.copy()) for form in (sp.coo_array, sp.csc_matrix, sp.bsr_array, sp.lil_array, sp.dok_matrix)]
    return [x, y, z, *others], dia


def test_what_scipy_takes_means_what_it_means_there():
    same, dia = unsorted_with_duplicates()
    for x in same:
        np.testing.assert_array_equal(as_sparse("X", x).toarray(), [[6, 0, 1], [0, 0, 0], [0, 8, 0]])
    np.testing.assert_array_equal(as_sparse("X", dia).toarray(), dia.toarray())
    for row in (sp.coo_array([0.0, 3.0]), sp.dok_array(np.array([0.0, 3.0]))):
        np.testing.assert_array_equal(as_sparse("X", row).toarray(), [[0, 3]])
    for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        assert as_sparse("X", sp.csr_array((2, 0)).asformat(form)).shape == (2, 0)
    problem = fwexp.multiclass_problem(same[0], [0, 1, 0])
    for x in same[1:]:
        np.testing.assert_array_equal(problem.x.values, fwexp.multiclass_problem(x, [0, 1, 0]).x.values)
