"""Maximum-weight bipartite matching in which rows and columns may stay alone (Jonker and Volgenant 1987).

Shortest augmenting paths with dual potentials: the rows enter one after the other, and each looks for the cheapest way to
be placed, moving rows that are there already. Staying alone is a column of its own for every row, at cost 0, so a matching
never holds an edge of negative score and needs neither square nor padded matrices.
"""

import numpy as np

from fwexp.jit.compilation import array_kernel, inlined


def scratch_size(rows: int, columns: int) -> int:
    """Return how many float64 numbers of scratch `max_matching` needs."""
    return rows + 5 * columns


@array_kernel("f8(f8[::1], i8, i4[::1], f8[::1])")
def max_matching(score, columns, match, scratch):
    """Find the matching of highest total score, where edge (r, c) has ``score[r * columns + c]``, and return that."""
    # ``match`` gets 1 + the column of every row, 0 for a row without an edge; an edge whose score is 0 is not taken unless it is on
    # the path of another row. ``scratch`` has room for rows + 5 * columns.
    rows = match.shape[0]
    # Costs are -score. u[r] + v[c] <= cost[r, c] with equality on matched edges, u[r] <= 0 with equality for rows that
    # are alone, v[c] <= 0 with equality for columns that are alone: the conditions of an optimum.
    u, v = scratch[:rows], scratch[rows : rows + columns]
    distance = scratch[rows + columns : rows + 2 * columns]
    integers = scratch[rows + 2 * columns : rows + 5 * columns].view(np.int64)
    row_of, before, done = integers[:columns], integers[columns : 2 * columns], integers[2 * columns :]
    v[:] = 0.0
    row_of[:] = -1

    # Rows whose best column is free take it.
    for r in range(rows):
        best, column = 0.0, -1
        for c in range(columns):
            if score[r * columns + c] > best:
                best, column = score[r * columns + c], c
        u[r] = -best
        match[r] = 0
        if column >= 0:
            if row_of[column] < 0:
                row_of[column] = r
                match[r] = column + 1
            else:
                match[r] = -1  # waits for its turn below

    for start in range(rows):
        if match[start] >= 0:
            continue
        nearest, alone, length = _shortest_path(start, score, columns, u, v, row_of, distance, before, done)
        u[start] += length
        for c in range(columns):
            if done[c] == 1:
                u[row_of[c]] += length - distance[c]
                v[c] -= length - distance[c]

        # Along the path every row moves on to the next column.
        match[start] = 0
        if nearest < 0:
            nearest = match[alone] - 1
            match[alone] = 0
        while nearest >= 0:
            row = before[nearest]
            next_nearest = match[row] - 1
            match[row] = nearest + 1
            row_of[nearest] = row
            nearest = next_nearest

    total = 0.0
    for r in range(rows):
        if match[r] > 0:
            total += score[r * columns + match[r] - 1]
    return total


@inlined
def _shortest_path(start, score, columns, u, v, row_of, distance, before, done):
    """Find the cheapest way to place a row, by Dijkstra's algorithm over columns and reduced costs."""
    # Returns its free column, -1 if a row is left alone; the cheapest row to leave alone; and the length of the path.
    alone, alone_length = start, -u[start]  # the cheapest row to leave alone so far
    for c in range(columns):
        distance[c] = -score[start * columns + c] - u[start] - v[c]
        before[c] = start
        done[c] = 0
    while True:
        nearest = -1
        for c in range(columns):
            if done[c] == 0 and (nearest < 0 or distance[c] < distance[nearest]):
                nearest = c
        if nearest < 0 or alone_length <= distance[nearest]:
            return -1, alone, alone_length
        length = distance[nearest]
        if row_of[nearest] < 0:
            return nearest, alone, length
        done[nearest] = 1
        row = row_of[nearest]
        if length - u[row] < alone_length:
            alone, alone_length = row, length - u[row]
        offset = length - u[row]
        for c in range(columns):
            reach = offset - score[row * columns + c] - v[c]
            if done[c] == 0 and reach < distance[c]:
                distance[c] = reach
                before[c] = row
