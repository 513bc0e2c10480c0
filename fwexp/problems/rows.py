"""Rows of inputs, of each kind: scores, sums and products."""

import numpy as np

from fwexp.jit.compilation import dispatched, njit, register_jitable
from fwexp.jit.prefetch import prefetch
from fwexp.jit.vectors import EIGHT, any8, full8, load8, store8
from fwexp.problems.features import BinaryFeatures, DenseFeatures, NoFeatures, SparseFeatures

CACHED = 1 << 17  # numbers that a cache holds; to prefetch one of fewer takes longer than to wait for it
ROWS = (DenseFeatures, SparseFeatures, BinaryFeatures)


@dispatched
def row_scores(x, t, weights, width, out):
    """Set ``out`` (width,) to sum_f x_t[f] weights[f], where ``weights`` is the flat array of rows."""


@dispatched
def row_scatter(x, t, row, c, width, weights):
    """Add c x_t[f] row to the weight row of every feature f."""


@dispatched
def row_scatter_label(x, t, label, c, width, weights):
    """Add c x_t[f] to the weight of (f, label) for every feature f."""


@dispatched
def row_product(x, t, w):
    """Return <x_t, w>."""


@dispatched
def row_dot(x, t, z, u):
    """Return <x_t, z_u> for inputs z of the same class as x."""


@dispatched
def renumbered(x, spans, num_features):
    """Return ``x`` with the columns of the rows of a span (start, end) numbered from 0, and their counts (plain Python)."""
    # Sums of these rows then fit into an array of so many places. Rows outside of the spans must not be used.


@dispatched
def row_sum(x, start, end, c, num_features):
    """Return sum_t c_t x_t over the rows start .. end (plain Python)."""


@dispatched
def product_bound(x, start, end):
    """Return a bound on sum_{t,u} |<x_t, x_u>| over the rows start .. end, at the cost of reading them (plain Python)."""


@dispatched(fastmath=False, default=())
def has_rows(x):
    """Return whether there are rows at all."""
    return True


@has_rows.register(NoFeatures)
def _(x):
    return False


@row_scores.register(NoFeatures)
def _(x, t, weights, width, out):
    pass


@row_product.register(NoFeatures)
def _(x, t, w):
    return 0.0


@row_scatter.register(NoFeatures)
def _(x, t, row, c, width, weights):
    pass


@row_scatter_label.register(NoFeatures)
def _(x, t, label, c, width, weights):
    pass


# --- the content of a row -----------------------------------------------------------------------------------------------


@dispatched
def entry_span(x, t):
    """Return where the entries of row t begin and end."""


@dispatched
def entry_column(x, j):
    """Return the column of entry j."""


@dispatched
def entry_value(x, t, j):
    """Return the value of entry j, of row t; a constant to the compiler where all are 1."""


@entry_span.register(DenseFeatures)
def _(x, t):
    return 0, x.values.shape[1]


@entry_span.register(SparseFeatures, BinaryFeatures)
def _(x, t):
    return x.indptr[t], x.indptr[t + 1]


@entry_column.register(DenseFeatures)
def _(x, j):
    return j


@entry_column.register(SparseFeatures, BinaryFeatures)
def _(x, j):
    return np.uint32(x.indices[np.uint64(j)])


@entry_value.register(DenseFeatures)
def _(x, t, j):
    return x.values[t, j]


@entry_value.register(SparseFeatures)
def _(x, t, j):
    return x.values[j]


@entry_value.register(BinaryFeatures)
def _(x, t, j):
    return 1.0


@register_jitable
def _start(x, j, width, k):
    """Return where the weights of (column of entry j, k), (column of entry j, k + 1) ... begin."""
    return np.int64(entry_column(x, j)) * width + k


@register_jitable
def _place(x, j, width, k):
    """Return where the weight of (column of entry j, k) is; unsigned, for an index with a sign might count from the end."""
    return np.uint64(_start(x, j, width, k))


# --- derived functions, in sums that do not wait for each other --------------------------------------------------------


@row_scores.register(*ROWS)
def _(x, t, weights, width, out):
    (start, end), k = entry_span(x, t), 0
    while k + 4 * EIGHT <= width:  # as many sums as it takes to keep the processor busy
        a = b = c = d = full8(0.0)
        for j in range(start, end):
            value = full8(entry_value(x, t, j))
            a = a + value * load8(weights, _start(x, j, width, k))
            b = b + value * load8(weights, _start(x, j, width, k + EIGHT))
            c = c + value * load8(weights, _start(x, j, width, k + 2 * EIGHT))
            d = d + value * load8(weights, _start(x, j, width, k + 3 * EIGHT))
        store8(out, k, a)
        store8(out, k + EIGHT, b)
        store8(out, k + 2 * EIGHT, c)
        store8(out, k + 3 * EIGHT, d)
        k += 4 * EIGHT
    while k + EIGHT <= width:
        a = b = c = d = full8(0.0)
        j = start
        while j + 4 <= end:
            a = a + full8(entry_value(x, t, j)) * load8(weights, _start(x, j, width, k))
            b = b + full8(entry_value(x, t, j + 1)) * load8(weights, _start(x, j + 1, width, k))
            c = c + full8(entry_value(x, t, j + 2)) * load8(weights, _start(x, j + 2, width, k))
            d = d + full8(entry_value(x, t, j + 3)) * load8(weights, _start(x, j + 3, width, k))
            j += 4
        while j < end:
            a = a + full8(entry_value(x, t, j)) * load8(weights, _start(x, j, width, k))
            j += 1
        store8(out, k, (a + b) + (c + d))
        k += EIGHT
    while k + 2 <= width:
        first, second = 0.0, 0.0
        for j in range(start, end):
            first += entry_value(x, t, j) * weights[_place(x, j, width, k)]
            second += entry_value(x, t, j) * weights[_place(x, j, width, k + 1)]
        out[k], out[k + 1] = first, second
        k += 2
    if k < width:
        total = 0.0
        for j in range(start, end):
            total += entry_value(x, t, j) * weights[_place(x, j, width, k)]
        out[k] = total


@row_scatter.register(*ROWS)
def _(x, t, row, c, width, weights):
    (start, end), k = entry_span(x, t), 0
    while k + EIGHT <= width:
        change = full8(c) * load8(row, k)
        if any8(change):
            for j in range(start, end):
                place = _start(x, j, width, k)
                store8(weights, place, load8(weights, place) + full8(entry_value(x, t, j)) * change)
        k += EIGHT
    while k + 2 <= width:
        first, second = c * row[k], c * row[k + 1]
        if first != 0.0 or second != 0.0:
            for j in range(start, end):
                weights[_place(x, j, width, k)] += entry_value(x, t, j) * first
                weights[_place(x, j, width, k + 1)] += entry_value(x, t, j) * second
        k += 2
    if k < width and c * row[k] != 0.0:
        row_scatter_label(x, t, k, c * row[k], width, weights)


@row_scatter_label.register(DenseFeatures)
def _(x, t, label, c, width, weights):
    for f in range(x.values.shape[1]):
        weights[f * width + label] += c * x.values[t, f]


@row_scatter_label.register(SparseFeatures, BinaryFeatures)
def _(x, t, label, c, width, weights):
    start, end = entry_span(x, t)
    for j in range(start, end):
        weights[_place(x, j, width, label)] += c * entry_value(x, t, j)


@row_product.register(*ROWS)
def _(x, t, w):
    start, end = entry_span(x, t)
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    j = start
    while j + 4 <= end:
        s0 += entry_value(x, t, j) * w[entry_column(x, j)]
        s1 += entry_value(x, t, j + 1) * w[entry_column(x, j + 1)]
        s2 += entry_value(x, t, j + 2) * w[entry_column(x, j + 2)]
        s3 += entry_value(x, t, j + 3) * w[entry_column(x, j + 3)]
        j += 4
    while j < end:
        s0 += entry_value(x, t, j) * w[entry_column(x, j)]
        j += 1
    return (s0 + s1) + (s2 + s3)


@row_dot.register(DenseFeatures)
def _(x, t, z, u):
    a, b = x.values[t], z.values[u]
    total = 0.0
    for f in range(len(a)):
        total += a[f] * b[f]
    return total


@row_dot.register(SparseFeatures, BinaryFeatures)
def _(x, t, z, u):
    total = 0.0
    j, k = x.indptr[t], z.indptr[u]
    while j < x.indptr[t + 1] and k < z.indptr[u + 1]:  # indices are sorted
        a, b = x.indices[j], z.indices[k]
        if a == b:
            total += entry_value(x, t, j) * entry_value(z, u, k)
        if a <= b:
            j += 1
        if b <= a:
            k += 1
    return total


@njit(fastmath=True)
def packed_gram(x, ptr, gram_ptr, out):
    """Fill ``out`` with <x_t, x_u>, u <= t, for the tokens of every example with room in it: a packed lower triangle each."""
    for i in range(ptr.shape[0] - 1):
        position = gram_ptr[i]
        if position == gram_ptr[i + 1]:
            continue
        for t in range(ptr[i], ptr[i + 1]):
            for u in range(ptr[i], t + 1):
                out[position] = row_dot(x, t, x, u)
                position += 1


@njit(fastmath=True)
def row_norms_sq(x, rows):
    """Return ||x_t||^2 of all rows."""
    out = np.empty(rows)
    for t in range(rows):
        out[t] = row_dot(x, t, x, t)
    return out


renumbered.register(DenseFeatures)(lambda x, spans, num_features: (x, np.full(len(spans), num_features, dtype=np.int64)))
row_sum.register(DenseFeatures)(lambda x, start, end, c, num_features: c @ x.values[start:end])
product_bound.register(DenseFeatures)(lambda x, start, end: float((np.abs(x.values[start:end]).sum(axis=0) ** 2).sum()))


@renumbered.register(SparseFeatures, BinaryFeatures)
def _(x, spans, num_features):
    indices, counts = np.zeros_like(x.indices), np.zeros(len(spans), dtype=np.int64)
    for k, (start, end) in enumerate(spans):
        entries = slice(x.indptr[start], x.indptr[end])
        columns, indices[entries] = np.unique(x.indices[entries], return_inverse=True)
        counts[k] = len(columns)
    return x._replace(indices=indices), counts


@row_sum.register(SparseFeatures, BinaryFeatures)
def _(x, start, end, c, num_features):
    entries, counts = slice(x.indptr[start], x.indptr[end]), np.diff(x.indptr[start : end + 1])
    values = 1.0 if isinstance(x, BinaryFeatures) else x.values[entries]
    return np.bincount(x.indices[entries], np.repeat(c, counts) * values, minlength=num_features)


# Of features, ||sum_t |x_t| ||^2 is such a bound: what it adds are products of the same feature, without their signs.


@product_bound.register(SparseFeatures, BinaryFeatures)
def _(x, start, end):
    entries = slice(x.indptr[start], x.indptr[end])
    columns = np.unique(x.indices[entries], return_inverse=True)[1]
    values = None if isinstance(x, BinaryFeatures) else np.abs(x.values[entries])
    return float((np.bincount(columns, values) ** 2.0).sum())


@dispatched(fastmath=False, default=())
def prefetch_rows(x, start, end):
    """Prefetch the rows start .. end."""


@prefetch_rows.register(DenseFeatures)
def _(x, start, end):
    p = x.values.shape[1]
    if x.values.size > CACHED:
        prefetch(x.values.reshape(-1), start * p, end * p)


@prefetch_rows.register(BinaryFeatures)
def _(x, start, end):
    prefetch(x.indptr, start, end + 1)
    prefetch(x.indices, x.indptr[start], x.indptr[end])


@prefetch_rows.register(SparseFeatures)
def _(x, start, end):
    prefetch(x.indptr, start, end + 1)
    prefetch(x.indices, x.indptr[start], x.indptr[end])
    prefetch(x.values, x.indptr[start], x.indptr[end])
