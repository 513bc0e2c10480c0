"""Linear scores of several templates at every cell of an image."""

from fwexp.jit.compilation import array_kernel


@array_kernel("none(f8[:, ::1], f8[::1], i8, f8[::1])")
def score_maps(x, templates, count, maps):
    """Set maps[j * cells + cell] = <template j, x[cell]> for ``count`` templates, one after the other."""
    cells, p = x.shape
    for cell in range(cells):
        row = x[cell]
        j = 0
        while j + 2 <= count:  # two at a time share the loads of the features
            one, two = templates[j * p : (j + 1) * p], templates[(j + 1) * p : (j + 2) * p]
            a = b = 0.0
            for f in range(p):
                a += row[f] * one[f]
                b += row[f] * two[f]
            maps[j * cells + cell] = a
            maps[(j + 1) * cells + cell] = b
            j += 2
        if j < count:
            last = templates[j * p : (j + 1) * p]
            a = 0.0
            for f in range(p):
                a += row[f] * last[f]
            maps[j * cells + cell] = a
