"""Message of a part to its parent that tries every pair of cells, in quadratic time.

What it computes is what `fwexp.oracles.distance_transform` finds in linear time for quadratic deformations; other deformations
have no faster way. Experiments use it where an oracle has to be expensive.
"""

import numpy as np

from fwexp.jit.compilation import array_kernel


@array_kernel("none(f8[::1], i8, i8, f8, f8, f8, f8, f8, f8, f8[::1], f8[::1], f8[::1])")
def exhaustive_message(source, rows, columns, down, right, square_down, line_down, square_right, line_right, message, best, costs):
    """Set message[p] = max_q source[q] - the deformation from p to q over all cells, and best[p] to that q, for every cell p."""
    # The deformation is square_down r^2 + line_down r + square_right s^2 + line_right s, of the distances r and s from the cell
    # that is ``down`` and ``right`` of the parent's. ``costs`` has room for 2 * columns.
    for r in range(rows):
        for c in range(columns):
            for k in range(columns):
                s = k - c - right
                costs[k] = (square_right * s + line_right) * s
            most, place = -np.inf, 0
            for row in range(rows):
                s = row - r - down
                cost, start = (square_down * s + line_down) * s, row * columns
                highest = -np.inf
                for k in range(columns):
                    highest = max(highest, source[start + k] - costs[k])
                if highest - cost > most:
                    most, place = highest - cost, row
            start, column = place * columns, 0
            for k in range(1, columns):
                if source[start + k] - costs[k] > source[start + column] - costs[column]:
                    column = k
            message[r * columns + c] = most
            best[r * columns + c] = start + column
