"""Max-sum dynamic programming on a chain (Viterbi)."""

from fwexp.jit.compilation import array_kernel
from fwexp.jit.vectors import EIGHT, full8, larger8, load8, store8


@array_kernel("f8(f8[::1], f8[::1], i8, i8, i4[::1], f8[::1])", fastmath=False)
def viterbi(unary, transitions, num_labels, width, y, messages):
    """Find the labeling y that maximises sum_t unary[t, y_t] + sum_t transitions[y_{t-1}, y_t], and return its score."""
    # Arrays have rows of ``width``, of which ``num_labels`` count; ``transitions`` has one matrix, or one for every position after
    # the first. Ties go to the smallest label, from the last position backwards, as in the published code.
    length, size = y.shape[0], num_labels * width
    stride = size if len(transitions) > size else 0
    for k in range(width):
        messages[k] = unary[k]
    # No argmax is kept: the path needs only T of them, and a second look finds these.
    for t in range(1, length):
        before, here, o, k = (t - 1) * width, t * width, (t - 1) * stride, 0
        while k + 4 * EIGHT <= width:
            m = full8(messages[before])
            a, b = m + load8(transitions, o + k), m + load8(transitions, o + k + EIGHT)
            c, d = m + load8(transitions, o + k + 2 * EIGHT), m + load8(transitions, o + k + 3 * EIGHT)
            for r in range(1, num_labels):
                m, row = full8(messages[before + r]), o + r * width + k
                a = larger8(a, m + load8(transitions, row))
                b = larger8(b, m + load8(transitions, row + EIGHT))
                c = larger8(c, m + load8(transitions, row + 2 * EIGHT))
                d = larger8(d, m + load8(transitions, row + 3 * EIGHT))
            store8(messages, here + k, a + load8(unary, here + k))
            store8(messages, here + k + EIGHT, b + load8(unary, here + k + EIGHT))
            store8(messages, here + k + 2 * EIGHT, c + load8(unary, here + k + 2 * EIGHT))
            store8(messages, here + k + 3 * EIGHT, d + load8(unary, here + k + 3 * EIGHT))
            k += 4 * EIGHT
        while k + EIGHT <= width:
            a = full8(messages[before]) + load8(transitions, o + k)
            for r in range(1, num_labels):
                a = larger8(a, full8(messages[before + r]) + load8(transitions, o + r * width + k))
            store8(messages, here + k, a + load8(unary, here + k))
            k += EIGHT
        while k < width:
            best = messages[before] + transitions[o + k]
            for r in range(1, num_labels):
                best = max(best, messages[before + r] + transitions[o + r * width + k])
            messages[here + k] = best + unary[here + k]
            k += 1

    last = messages[(length - 1) * width : length * width]
    label = 0
    for k in range(1, num_labels):
        if last[k] > last[label]:
            label = k
    value = last[label]
    y[length - 1] = label
    for t in range(length - 1, 0, -1):
        before = messages[(t - 1) * width : t * width]
        reached, here, o = messages[t * width + label], unary[t * width + label], (t - 1) * stride
        r = 0  # the first that led here; the last one does if no other
        while r < num_labels - 1 and (before[r] + transitions[o + r * width + label]) + here != reached:
            r += 1
        label = r
        y[t - 1] = label
    return value
