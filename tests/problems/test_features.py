"""Rows of inputs: dense, sparse and binary give the same numbers."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from fwexp.problems import rows
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures, as_features, padded_width, row_entries


@st.composite
def matrices(draw):
    """Return a sparse or 0/1 matrix whose rows have 0 .. 11 nonzeros (kernels take four at a time), as dense array."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    x = (rng.random((draw(st.integers(1, 4)), draw(st.integers(1, 12)))) < rng.random()) * 1.0
    return x if draw(st.booleans()) else x * rng.integers(-3, 4, size=x.shape)


def forms(x):
    """All classes that can hold x."""
    sparse = sp.csr_array(x)
    given = [DenseFeatures(x), SparseFeatures(sparse.indptr.astype(np.int64), sparse.indices, sparse.data)]
    return given + ([BinaryFeatures(*given[1][:2])] if (sparse.data == 1).all() else [])


@given(matrices(), st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 100))
def test_rows_act_like_rows_of_the_matrix(x, width, seed):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(x.shape[1], width))
    row = rng.normal(size=width) * (rng.random(width) < rng.choice([0.1, 0.9]))
    label = int(rng.integers(width))
    for form in forms(x):
        for t in range(len(x)):
            out = np.full(width, np.nan)
            rows.row_scores(form, t, W.ravel(), width, out)
            np.testing.assert_allclose(out, x[t] @ W, atol=1e-12)
            w = W.ravel().copy()
            rows.row_scatter(form, t, row, 0.5, width, w)
            np.testing.assert_allclose(w.reshape(W.shape), W + 0.5 * np.outer(x[t], row), atol=1e-12)
            w = W.ravel().copy()
            rows.row_scatter_label(form, t, label, -2.0, width, w)
            np.testing.assert_allclose(w.reshape(W.shape), W - 2.0 * np.outer(x[t], np.arange(width) == label), atol=1e-12)
            for u in range(len(x)):
                assert rows.row_dot(form, t, form, u) == x[t] @ x[u]
            u = np.ascontiguousarray(W[:, 0])
            assert rows.row_product(form, t, u) == pytest.approx(x[t] @ u, abs=1e-12)
            columns, values = row_entries(form, t)
            np.testing.assert_array_equal(np.bincount(columns, values, x.shape[1]), x[t])
        c, start = rng.normal(size=len(x)), int(rng.integers(len(x) + 1))
        total = rows.row_sum(form, start, len(x), c[start:], x.shape[1])
        np.testing.assert_allclose(total, c[start:] @ x[start:], atol=1e-12)


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_gram_is_a_packed_lower_triangle_per_example(sparse, unit):
    rng = np.random.default_rng(0)
    x = 1.0 * (rng.random((6, 5)) < 0.5) * (1.0 if unit else rng.normal(size=(6, 5)))
    form = as_features(sp.csr_array(x) if sparse else x)
    assert type(form) is ((BinaryFeatures if unit else SparseFeatures) if sparse else DenseFeatures)
    out = np.full(3 + 10, np.nan)
    rows.packed_gram(form, np.array([0, 2, 6]), np.array([0, 3, 13]), out)
    expected = [part[np.tril_indices(len(part))] for part in (x[:2] @ x[:2].T, x[2:] @ x[2:].T)]
    np.testing.assert_allclose(out, np.concatenate(expected), atol=1e-12)


def test_sparse_input_in_any_format_is_taken_and_not_changed():
    x = sp.coo_array(([1.0, 2.0, 3.0, 1.0], ([0, 0, 1, 1], [2, 2, 1, 0])), shape=(2, 3))
    for matrix in (x, x.tocsc(), sp.csr_matrix(x), sp.coo_matrix(x)):
        before = matrix.toarray()
        form = as_features(matrix)
        assert isinstance(form, SparseFeatures)
        np.testing.assert_array_equal(form.indices, [2, 0, 1])  # sorted, duplicates summed
        np.testing.assert_array_equal(form.values, [3.0, 1.0, 3.0])
        np.testing.assert_array_equal(matrix.toarray(), before)
    assert x.nnz == 4


def test_rows_are_padded_to_whole_vector_registers():
    assert [padded_width(K) for K in (1, 2, 3, 4, 5, 8, 9, 16, 17, 26)] == [1, 2, 4, 4, 8, 8, 16, 16, 24, 32]
