"""What times are measured by: processor time, in turns, in units of a pass that is measured in the same turns.

The unit F is one floor pass: a hand-written C++ program that does nothing but the n oracle calls of one pass over OCR. It is no
part of the repository: its source is looked for at ``FWEXP_FLOOR``, else in ``bench/ocr_floor.cpp`` next to the data folder.
Without it, OCR or a C++ compiler the unit is one pass over arrays by a kernel of ours, `unit_pass`.
"""

import argparse
import gzip
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fwexp.data import resolve_data_dir
from fwexp.driver.iteration import Budget
from fwexp.jit.compilation import njit
from fwexp.solvers import SOLVERS, check_options
from fwexp.solvers.choosing import check_needs

ROUNDS = 7
DEGREE, BLOCK = 32, 1024  # of a polynomial, and at how many places it is evaluated at once, within the smallest cache
UNITS = 2000  # of these evaluations in a unit: about as long as F
LINE = 8  # numbers in a line of the cache
STREAMED = 1 << 27  # bytes, at least, in a measurement of their rate


class Measured(NamedTuple):
    """A quantity in some unit: the median of several rounds, and the quartiles."""

    quantity: str
    unit: str
    median: float
    low: float
    high: float


def seconds(function: Callable[[], object]) -> float:
    """Return how much time of the processor a call takes."""
    start = time.process_time()
    function()
    return time.process_time() - start


def half_of_seeds(description: str, end: int, *others: str) -> tuple[str, range]:
    """Return the half of problems that the command line names, and its seeds: even ones to fit on, odd ones to test."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--half", choices=["fit", "test", *others], default="fit", help="even seeds to tune on, or the odd ones")
    parser.add_argument("--seeds", type=int, default=end, help="end of the seeds")
    given = parser.parse_args()
    if given.seeds < 2:
        parser.error(f"--seeds must be at least 2, got {given.seeds}")
    return given.half, range(given.half == "test", given.seeds, 2)


def arguments(description: str, kind: str, known: Collection[str], **flags: str) -> argparse.Namespace:
    """Return the ``names`` on the command line and flags, given with their help; end the program if a name is not known."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", metavar=kind, help=f"of {'; '.join(known)}; by default all")
    for flag, text in flags.items():
        parser.add_argument(f"--{flag}", action="store_true", help=text)
    given = parser.parse_args()
    if unknown := set(given.names) - set(known):
        parser.error(f"{kind} must be one of {'; '.join(known)}, got {'; '.join(sorted(unknown))}")
    return given


def pin() -> None:
    """Pin this process to one core, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def new_solver(problem, name: str, lam: float, **options):
    """Return a solver of the last iterate at its start."""
    cls = SOLVERS[name]
    chosen, settled = cls.choose(check_options(cls, options), problem, lam, ("last",))
    check_needs(chosen, problem, settled)
    return chosen(problem, lam, settled, 0, ("last",))


def advance(solver, passes: float) -> None:
    """Advance a solver by so many passes of oracle calls."""
    solver.advance(Budget(solver.oracle_calls + int(passes * solver.problem.n), sys.maxsize))


def best(function: Callable[[], object], times: int) -> float:
    """Return the least time of several calls."""
    return min(seconds(function) for _ in range(times))


def summary(quantity: str, unit: str, values) -> Measured:
    """Return the median of some values and their quartiles."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * [values[0]]
    return Measured(quantity, unit, median, low, high)


def in_turns(measures: dict[str, Callable[[], float]], unit: str, rounds: int = ROUNDS) -> list[Measured]:
    """Run all measures in turn, several times; return each as a multiple of that named ``unit``, formed round by round."""
    samples = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            samples[name].append(measure())
    ratios = {name: [a / b for a, b in zip(values, samples[unit], strict=True)] for name, values in samples.items()}
    found = [summary(name, unit, values) for name, values in ratios.items() if name != unit]
    return [summary(f"{unit}, in ms", "ms", [value * 1e3 for value in samples[unit]]), *found]


def show(measured: list[Measured]) -> None:
    """Print a table."""
    for row in measured:
        print(f"{row.quantity:58}{row.median:10.3f} {row.unit:6}{row.low:10.3f} .. {row.high:.3f}", flush=True)


def unit_of(folder: Path) -> tuple[str, Callable[[], float]]:
    """Return the unit that there is, and what measures it in seconds."""
    data = resolve_data_dir(None)
    source = Path(os.environ.get("FWEXP_FLOOR", data.parent / "bench" / "ocr_floor.cpp"))
    letters, program, text = data / "ocr" / "letter.data.gz", folder / "floor", folder / "letter.data"
    try:
        content = gzip.decompress(letters.read_bytes())
        subprocess.run(["g++", "-O3", "-march=native", "-ffast-math", "-o", program, source], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("there is no floor program, OCR or C++ compiler: the unit U is a kernel of ours")
        return "U", unit_pass()
    text.write_bytes(content)

    def run() -> float:
        with text.open() as lines:
            output = subprocess.run([program], stdin=lines, capture_output=True, text=True, check=True).stdout
        return float(output.split()[0]) / 1e3

    return "F", run


@njit(fastmath=True)
def _polynomials(x, coefficients, times):
    """Replace the entries of x by values of a polynomial, again and again: nothing but products and sums in registers."""
    for _ in range(times):
        for j in range(len(x)):
            value = x[j]
            for k in range(DEGREE):
                value = value * x[j] + coefficients[k]
            x[j] = 0.5 * value


@njit(fastmath=True)
def _stream(a, b, c, times):
    """Set a to b + 0.5 c, again and again."""
    for _ in range(times):
        for j in range(len(a)):
            a[j] = b[j] + 0.5 * c[j]


def unit_pass() -> Callable[[], float]:
    """Return what measures the unit of this package's own."""
    x, coefficients = np.full(BLOCK, 0.1), np.full(DEGREE, 0.1)
    _polynomials(x, coefficients, 1)
    return lambda: best(lambda: _polynomials(x, coefficients, UNITS), 9)


def operations_per_second() -> float:
    """Return how many additions and multiplications this core does in a second."""
    return UNITS * BLOCK * (2 * DEGREE + 1) / unit_pass()()


def bytes_per_second(size: float) -> float:
    """Return how many bytes this core reads and writes in a second, of arrays of so many bytes in all."""
    entries = max(BLOCK // 2, int(size) // 24)
    row = entries - entries % LINE + 9 * LINE  # lines of the arrays do not differ by whole pages, which slows some processors down
    buffer, times = np.ones(3 * row + LINE), 1 + STREAMED // (24 * entries)
    first = -(buffer.ctypes.data // 8) % LINE
    a, b, c = (buffer[first + k * row : first + k * row + entries] for k in range(3))
    _stream(a, b, c, 1)
    return 24.0 * entries * times / best(lambda: _stream(a, b, c, times), 9)
