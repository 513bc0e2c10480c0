"""Max-sum dynamic programming on a chain (Viterbi)."""

from fwexp.jit.kernels import array_kernel


@array_kernel("(f8[::1], f8[::1], i8, i8, i4[::1], f8[::1])")
def viterbi(unary, transitions, num_labels, width, y, messages):
    """Find the labeling y that maximises sum_t unary[t, y_t] + sum_t transitions[y_{t-1}, y_t].

    Parameters
    ----------
    unary : float64 array (T * width,)
        Rows of scores, one per position; numbers past ``num_labels`` in a row are ignored.
    transitions : float64 array (num_labels * width,)
        Rows ``[from]`` of scores ``[to]``.
    num_labels, width : int
        K, and the length of a row.
    y : int array (T,)
        Overwritten with the labeling. Ties go to the smallest label, from the last position backwards, as in the
        published code.
    messages : float64 array (>= T * width,)
        Overwritten.

    Returns
    -------
    float
        The score of the labeling.
    """
    length = y.shape[0]
    for k in range(width):
        messages[k] = unary[k]
    for t in range(1, length):
        before = messages[(t - 1) * width : t * width]
        best = messages[t * width : (t + 1) * width]
        # No argmax is kept: the maximum alone runs at full vector width, and the path needs only T of the argmaxes.
        m0 = before[0]
        for k in range(width):
            best[k] = m0 + transitions[k]
        r = 1
        while r + 4 <= num_labels:
            m0, m1, m2, m3 = before[r], before[r + 1], before[r + 2], before[r + 3]
            t0 = transitions[r * width : (r + 1) * width]
            t1 = transitions[(r + 1) * width : (r + 2) * width]
            t2 = transitions[(r + 2) * width : (r + 3) * width]
            t3 = transitions[(r + 3) * width : (r + 4) * width]
            for k in range(width):
                best[k] = max(best[k], max(max(m0 + t0[k], m1 + t1[k]), max(m2 + t2[k], m3 + t3[k])))
            r += 4
        while r < num_labels:
            m0 = before[r]
            t0 = transitions[r * width : (r + 1) * width]
            for k in range(width):
                best[k] = max(best[k], m0 + t0[k])
            r += 1
        here = unary[t * width : (t + 1) * width]
        for k in range(width):
            best[k] += here[k]

    last = messages[(length - 1) * width : length * width]
    label = 0
    for k in range(1, num_labels):
        if last[k] > last[label]:
            label = k
    value = last[label]
    y[length - 1] = label
    for t in range(length - 1, 0, -1):
        before = messages[(t - 1) * width : t * width]
        label_before = 0
        score = before[0] + transitions[label]
        for r in range(1, num_labels):
            candidate = before[r] + transitions[r * width + label]
            if candidate > score:
                score, label_before = candidate, r
        label = label_before
        y[t - 1] = label
    return value
