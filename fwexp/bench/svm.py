"""Speed, as ratios measured in one run: ``make bench``.

The unit F is one floor pass: a hand-written C++ program that does nothing but the n oracle calls of one pass over OCR.
Machines are noisy, so everything is pinned to one core, the programs take turns, and ratios are formed round by round.
The source of the floor program is looked for at ``FWEXP_FLOOR``, else in ``bench/ocr_floor.cpp`` beside the data folder;
without it (or without a C++ compiler) the unit is this package's own oracle pass.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fwexp
from fwexp.bench.convex import beside_copt
from fwexp.data import DATASETS, resolve_data_dir
from fwexp.errors import DataError, UserError
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.protocol import from_public
from fwexp.solvers import SOLVERS, check_options

ROUNDS = 7
# data set, options, lam, gap
TO_GAP = (
    ("ocr", {"split": "ocr"}, 0.01, 1e-3),
    ("ocr", {"split": "ocr"}, 0.001, 1e-3),
    ("ocr", {}, 0.01, 1e-3),
    ("ocr", {}, 0.001, 1e-3),
    ("ocr", {}, "1/n", 1e-2),
    ("ocr", {}, "1/n", 1e-3),
    ("conll2000", {}, "1/n", 1e-3),
)
ORDERED = {"sampling": "perm", "cache": False}  # what auto is without gap sampling and cache


def floor_program(folder: Path) -> Callable[[], float] | None:
    """Compile the floor program; return a function that runs it and returns F in seconds, or None."""
    data = resolve_data_dir(None)
    source = Path(os.environ.get("FWEXP_FLOOR", data.parent / "bench" / "ocr_floor.cpp"))
    if not source.is_file():
        return None
    program, letters = folder / "floor", folder / "letter.data"
    try:
        subprocess.run(["g++", "-O3", "-march=native", "-ffast-math", "-o", program, source], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    import gzip

    letters.write_bytes(gzip.decompress((data / "ocr" / "letter.data.gz").read_bytes()))

    def run() -> float:
        with letters.open() as lines:
            output = subprocess.run([program], stdin=lines, capture_output=True, text=True, check=True).stdout
        return float(output.split()[0]) / 1e3

    return run


def seconds(function: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def oracle_pass(train) -> Callable[[], float]:
    """One max-oracle call per example at fixed random weights, and nothing else."""
    evaluate = Evaluator(train)
    w = from_public(train, np.random.default_rng(0).normal(size=train.d))
    return lambda: min(seconds(lambda: evaluate.oracles(w)) for _ in range(9))


def solver_pass(train, name: str, lam: float, iterates=("last", "wavg"), warm=20, passes=5, **options):
    """Seconds of one pass of a solver, after ``warm`` passes (the steady state)."""
    cls = SOLVERS[name]
    solver = cls(train, lam, cls.Options(**options), 0, iterates)
    solver.advance(warm * train.n, sys.maxsize)

    def run() -> float:
        return min(seconds(lambda: solver.advance(solver.oracle_calls + train.n, sys.maxsize)) for _ in range(passes))

    return run


def solver_steps(train, lam: float, warm=20, passes=5, order=None, **options):
    """Seconds of n steps of bcfw, cache hits included, after ``warm`` times as many; gaps are not refreshed."""
    solver = after_steps(train, lam, warm, order, **options)
    return lambda: min(seconds(lambda: take_steps(solver, train.n)) for _ in range(passes))


def after_steps(train, lam: float, passes: int, order=None, **options):
    """Return bcfw after ``passes`` times n steps."""
    cls = SOLVERS["bcfw"]
    solver = cls(train, lam, check_options(cls, {"refresh": 0, **options}), 0, ("last",), order)
    take_steps(solver, passes * train.n)
    return solver


def take_steps(solver, steps: int) -> None:
    """Take steps, cache hits included."""
    end = solver.step + steps
    while solver.step < end:
        solver.advance(sys.maxsize, end)


def drawn_by_gap(train, lam: float, warm=20, passes=5) -> np.ndarray:
    """Return examples as gap sampling draws them, to be visited without it: larger ones, whose steps cost more."""
    gaps = after_steps(train, lam, warm, sampling="gap").state.iterate.gaps
    return np.random.default_rng(0).choice(train.n, size=(warm + passes * ROUNDS) * train.n, p=gaps / gaps.sum())


def measures_of(train) -> dict[str, Callable[[], float]]:
    """Return what is measured of solvers on OCR: passes and steps, in seconds."""
    return {
        "oracle pass, ocr2": oracle_pass(train),
        "bcfw pass, ocr2, last": solver_pass(train, "bcfw", 0.01, ("last",)),
        "bcfw pass, ocr2, last + wavg": solver_pass(train, "bcfw", 0.01),
        "bcfw pass, ocr2, lam 1/n, last + wavg": solver_pass(train, "bcfw", 1 / train.n),
        "bcfw pass, ocr2, perm, last + wavg": solver_pass(train, "bcfw", 0.01, sampling="perm"),
        "ssg pass, ocr2, last + wavg": solver_pass(train, "ssg", 0.01),
        "fw pass, ocr2": solver_pass(train, "fw", 0.01, warm=3),
        "n steps, ocr2, uniform": solver_steps(train, 0.01),
        "n steps, ocr2, gap sampling": solver_steps(train, 0.01, sampling="gap"),
        "n steps, ocr2, the same words, given": solver_steps(train, 0.01, order=drawn_by_gap(train, 0.01)),
        "n steps, ocr2, uniform, cache": solver_steps(train, 0.01, cache=True),
        "n steps, ocr2, gap sampling, cache": solver_steps(train, 0.01, sampling="gap", cache=True),
        "n steps, ocr2, pairwise": solver_steps(train, 0.01, step="pairwise"),
        "n steps, ocr2, corrective": solver_steps(train, 0.01, step="corrective"),
    }


def rounds(measures: dict[str, Callable[[], float]], unit: str) -> None:
    """Run all measures in turn, several times, and print each as a multiple of ``unit``."""
    samples = {name: [] for name in measures}
    for _ in range(ROUNDS):
        for name, measure in measures.items():
            samples[name].append(measure())
    print(f"{'':44}{'ms (best)':>10}{'ratio to ' + unit + ': min':>26}{'median':>9}{'max':>9}")
    for name, values in samples.items():
        ratios = [value / base for value, base in zip(values, samples[unit], strict=True)]
        print(f"{name:44}{min(values) * 1e3:10.2f}{min(ratios):26.2f}{statistics.median(ratios):9.2f}{max(ratios):9.2f}")


def time_to_gap(floor: Callable[[], float], unit: str) -> None:
    """Print what ``auto`` needs to gaps: passes, seconds, and multiples of the unit, measured before and after.

    Beside it, in a random order and without its cache.
    """
    for dataset, options, lam, gap_tol in TO_GAP:
        try:
            train, _ = fwexp.load_dataset(dataset, **options)
        except DataError as error:
            print(error)
            continue
        for name, setting in (("auto", {}), ("  in order, no cache", ORDERED)):
            fwexp.solve(train, lam=lam, max_passes=1, **setting)
            before = statistics.median(floor() for _ in range(ROUNDS))
            trace = fwexp.solve(train, lam=lam, gap_tol=gap_tol, max_passes=2000, schedule=1, **setting).trace
            after = statistics.median(floor() for _ in range(ROUNDS))
            label, end = f"{name}, {dataset}, n {train.n}, lam {lam}, to {gap_tol:g}", trace.iloc[-1]
            print(f"{label:53}{end['passes']:5.0f} passes {end['time']:6.2f} s {2 * end['time'] / (before + after):6.0f} {unit}")


def cutting_plane(floor: Callable[[], float], unit: str) -> None:
    """Print what ``one_slack`` needs until its primal is within 0.1 % of the optimum."""
    train, _ = fwexp.load_dataset("ocr", split="ocr")
    for lam in (0.01, 0.001):
        optimum = fwexp.solve(train, lam=lam, gap_tol=1e-6, max_passes=5000, schedule=10).dual
        fwexp.solve(train, "one_slack", lam=lam, max_passes=3)
        before = statistics.median(floor() for _ in range(ROUNDS))
        trace = fwexp.solve(train, "one_slack", lam=lam, gap_tol=0.0005 * optimum, max_passes=20_000, schedule=1).trace
        after = statistics.median(floor() for _ in range(ROUNDS))
        there = trace[trace["primal"] <= 1.001 * optimum].iloc[0]
        name = f"one_slack, n = {train.n}, lam = {lam}, to 0.1 %"
        print(f"{name:44}{there['passes']:7.0f} passes {there['time']:8.2f} s {2 * there['time'] / (before + after):8.0f} {unit}")


def child(code: str) -> str:
    """Run Python code in a fresh interpreter and return what it prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def startup() -> None:
    """Print the time from interpreter start to the first step with a warm cache, and of ``fwexp --help``."""
    first = "import fwexp; t, _ = fwexp.load_dataset('digits'); fwexp.solve(t, 'bcfw', lam=0.01, max_passes=0.001)"
    child(first)
    print(f"{'start to first step, digits, warm cache':44}{min(seconds(lambda: child(first)) for _ in range(3)):10.2f} s")
    command = [str(Path(sys.executable).with_name("fwexp")), "--help"]
    helps = min(seconds(lambda: subprocess.run(command, capture_output=True, check=True)) for _ in range(3))
    print(f"{'fwexp --help':44}{helps:10.2f} s")


def memory() -> None:
    """Print the peak memory of a whole BCFW run on OCR, Python included."""
    code = (
        "import fwexp, resource; train, test = fwexp.load_dataset('ocr');"
        "fwexp.solve(train, 'bcfw', lam=0.01, max_passes=20, test=test);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    print(f"{'peak memory, bcfw on ocr2, 20 passes':44}{float(child(code)):10.0f} MB")


def main() -> int:
    """Measure and print everything."""
    try:
        DATASETS["ocr"].locate(resolve_data_dir(None))
    except UserError as error:
        print(f"fwexp: {error}", file=sys.stderr)
        return 2
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    memory()  # while this process is small: what a child process reports is at least the size of its parent
    startup()
    train, _ = fwexp.load_dataset("ocr")
    with tempfile.TemporaryDirectory() as folder:
        floor = floor_program(Path(folder))
        unit = "F" if floor else "oracle pass, ocr2"
        measures = {"F": floor} if floor else {}
        measures |= measures_of(train)
        rounds(measures, unit)
        floor = floor or measures[unit]
        time_to_gap(floor, unit)
        cutting_plane(floor, unit)
    beside_copt()
    return 0


if __name__ == "__main__":
    sys.exit(main())
