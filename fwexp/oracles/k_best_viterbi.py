"""The labelings of highest score on a chain, in order (list Viterbi)."""

import numpy as np

from fwexp.jit.compilation import array_kernel


@array_kernel("none(f8[::1], f8[::1], i8, i8, i4[:, ::1], f8[::1])", fastmath=False)
def k_best_viterbi(unary, transitions, num_labels, width, labelings, values):
    """Find the m labelings of highest score, the best one first: that of `viterbi`, whose arguments these are."""
    # Each position keeps, for every label, the scores of the best beginnings that end there, in order; those of the next position
    # are merged from them (Seshadri and Sundberg, "List Viterbi decoding algorithms with applications", 1994, parallel form). A
    # score of -inf excludes labelings; where there are no more, ``values`` are -inf.
    several, length = labelings.shape
    size = num_labels * width
    stride = size if len(transitions) > size else 0
    scores = np.full((length, num_labels, several), -np.inf)
    origins = np.zeros((length, num_labels, several), dtype=np.int32)  # label * several + rank at the position before
    for k in range(num_labels):
        scores[0, k, 0] = unary[k]
    ranks = np.empty(num_labels, dtype=np.int64)
    for t in range(1, length):
        o = (t - 1) * stride
        for k in range(num_labels):
            ranks[:] = 0
            for r in range(several):
                best, origin = -np.inf, -1
                for label in range(num_labels):
                    if ranks[label] < several:
                        value = (scores[t - 1, label, ranks[label]] + transitions[o + label * width + k]) + unary[t * width + k]
                        if value > best:
                            best, origin = value, label
                if origin < 0:
                    break
                scores[t, k, r], origins[t, k, r] = best, origin * several + ranks[origin]
                ranks[origin] += 1
    ranks[:] = 0
    for r in range(several):
        best, label = -np.inf, 0
        for k in range(num_labels):
            if ranks[k] < several and scores[length - 1, k, ranks[k]] > best:
                best, label = scores[length - 1, k, ranks[k]], k
        values[r] = best
        rank = ranks[label]
        ranks[label] += 1
        for t in range(length - 1, -1, -1):
            labelings[r, t] = label
            label, rank = divmod(origins[t, label, rank], several)
