"""Entropic projection onto the polytope of bipartite matchings in which rows and columns may stay alone."""

import math

from fwexp.jit.compilation import array_kernel


@array_kernel("i8(f8[::1], i8, i8, f8[::1], i8, f8)")
def scale_to_matching(theta, rows, columns, z, max_sweeps, tol):
    """Find the z >= 0 with row and column sums <= 1 that maximises <theta, z> - sum (z log z - z); return the number of sweeps."""
    # That is exp(theta) with rows and columns scaled down: z = exp(theta + u + v), u_r <= 0 and v_c <= 0, where 0 unless the
    # sum is 1. The scales, which follow z in its array, are found by alternating maximisation of the dual, in logarithms, so that
    # theta may have any size. ``tol`` bounds the last change of v, relative to its largest entry plus 1.
    size = rows * columns
    u, v = z[size : size + rows], z[size + rows : size + rows + columns]
    u[:] = 0.0
    v[:] = 0.0
    sweeps = 0
    while sweeps < max_sweeps:
        sweeps += 1
        for r in range(rows):
            top = theta[r * columns] + v[0]
            for c in range(1, columns):
                top = max(top, theta[r * columns + c] + v[c])
            total = 0.0
            for c in range(columns):
                total += math.exp(theta[r * columns + c] + v[c] - top)
            u[r] = min(0.0, -top - math.log(total))
        change, largest = 0.0, 1.0
        for c in range(columns):
            top = theta[c] + u[0]
            for r in range(1, rows):
                top = max(top, theta[r * columns + c] + u[r])
            total = 0.0
            for r in range(rows):
                total += math.exp(theta[r * columns + c] + u[r] - top)
            new = min(0.0, -top - math.log(total))
            change = max(change, abs(new - v[c]))
            largest = max(largest, 1.0 + abs(new))
            v[c] = new
        if change <= tol * largest:
            break
    for r in range(rows):
        for c in range(columns):
            z[r * columns + c] = math.exp(theta[r * columns + c] + u[r] + v[c])
    return sweeps
