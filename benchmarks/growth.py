"""Growth of time and memory with a problem: ``python -m benchmarks.growth``, for every family and each of its sizes.

One size at a time goes over up to three decades; the others stay. Measured are the time of a pass of ``auto`` and the bytes of
problem and state; fitted is the exponent, on the upper half of the range, where what does not grow no longer counts. Next to it
stands that of the term that grows fastest. The table, ``results/bench/growth.csv``, is kept, with the rows of families that are not
measured now.
"""

import sys

import numpy as np
import pandas as pd

from benchmarks import history
from benchmarks.families import FAMILIES, problem_of
from benchmarks.history import FILE
from benchmarks.yardstick import advance, arguments, best, new_solver
from fwexp.errors import exit_code
from fwexp.files import owned
from fwexp.memory import nbytes

TABLE = FILE.with_name("growth.csv")
SMALL = {"n": 20, "T": 5, "K": 4, "p": 12}
FACTORS = (1, 3, 10, 30, 100, 300, 1000)
LONGEST = 1.5  # seconds of a pass, or of making a problem, after which a size does not grow further
# Exponents of time and memory where they are not 1: of the pairs of labels of a chain, of rows by columns, of cells.
EXPECTED = {
    ("chain", "K"): (2, 2),
    ("chain, sparse", "K"): (2, 2),
    ("chain, sparse", "p"): (0, 1),
    ("matching", "T"): (3, 2),
    ("pose", "T"): (2, 2),
}


def measure(family: str, size: str, factor: int) -> dict:
    """Return a row of the table: the time of a pass, and the bytes of problem and state."""
    sizes = {name: SMALL[name] for name in FAMILIES[family].sizes}
    sizes[size] *= factor
    problem = None

    def make() -> None:
        nonlocal problem
        problem = problem_of(family, **sizes)

    making = best(make, 1)
    solver = new_solver(problem, "auto", 0.1)
    advance(solver, 2)
    seconds = best(lambda: advance(solver, 1), 3)
    size_of = nbytes(problem) if isinstance(problem, tuple) else 8 * problem.n * SMALL["p"]
    state = nbytes(tuple(value for value in vars(solver.state).values() if isinstance(value, tuple | np.ndarray)))
    return {"family": family, "size": size, "value": sizes[size], "seconds": seconds, "bytes": size_of + state, "making": making}


def grown(family: str) -> list[dict]:
    """Return the rows of a family."""
    rows = []
    for size in FAMILIES[family].sizes:
        for factor in FACTORS:
            row = measure(family, size, factor)
            rows.append(row)
            if max(row["seconds"], row.pop("making")) > LONGEST:
                break
    return rows


def exponents(table: pd.DataFrame) -> pd.DataFrame:
    """Return the slopes of time and memory over each size on the upper half of logarithmic scales, with the expected ones."""
    found = []
    for (family, size), rows in table.groupby(["family", "size"], sort=False):
        upper = rows.iloc[len(rows) // 2 :] if len(rows) > 2 else rows
        slopes = [np.polyfit(np.log(upper["value"]), np.log(upper[what]), 1)[0] for what in ("seconds", "bytes")]
        expected = EXPECTED.get((family, size), (1, 1))
        span = f"{rows['value'].iloc[0]} .. {rows['value'].iloc[-1]}"
        found.append((family, size, span, slopes[0], expected[0], slopes[1], expected[1]))
    return pd.DataFrame(found, columns=["family", "size", "range", "time", "time expected", "memory", "memory expected"])


def main() -> int:
    """Measure, print, and write the table."""
    given = arguments("Measure growth.", "family", FAMILIES).names or list(FAMILIES)
    owned.check([TABLE], history.KIND)
    table = pd.read_csv(TABLE) if TABLE.exists() else pd.DataFrame()
    for family in given:
        rows = pd.DataFrame(grown(family))
        table = history.replaced(table, rows, "family")
        print(exponents(rows).round(2).to_string(index=False, header=family == given[0]), flush=True)
    history.write({TABLE: table})
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("growth", main))
