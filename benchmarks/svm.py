"""Speed: ``make bench``; ``make bench ARGS="start passes gaps"`` chooses sections, ``ARGS=--record`` keeps the numbers.

Machines are noisy, so everything is pinned to one core, processor time is measured in turns, and ratios to the unit
(``benchmarks.yardstick``) are formed round by round; medians and quartiles are printed. What has got slower since the last
record on such a processor, by more than the spread, is printed at the end (``benchmarks.history``).
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import fwexp
from benchmarks import history
from benchmarks.callbacks import overhead
from benchmarks.roofline import beside_rooflines, oracle_seconds
from benchmarks.yardstick import Measured, arguments, best, in_turns, new_solver, pin, seconds, show, summary, unit_of
from fwexp.driver.iteration import Budget
from fwexp.errors import DataError, exit_code

TO_GAP_ROUNDS = 3
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
PATHS = {"OCR-small": ("ocr", {"split": "ocr"}), "OCR-large": ("ocr", {}), "CoNLL-2000": ("conll2000", {})}
VALUES = 31  # of lam in a grid
TEST_ERROR = 0.0429  # on CoNLL-2000, of the tokens
ORDERED = {"sampling": "perm", "cache": False}  # what auto is without gap sampling and cache
NEWCOMER = (
    "import numpy as np, fwexp; rng = np.random.default_rng(0);"
    "X = [rng.normal(size=(5, 3)) for _ in range(20)]; problem = fwexp.chain_problem(X, [x.argmax(axis=1) for x in X], 3);"
    "fwexp.solve(problem, lam=0.01)"
)
MEMORY = (
    "import fwexp, resource, sys; train, test = fwexp.load_dataset('ocr');"
    "fwexp.solve(train, 'bcfw', lam=0.01, max_passes=20, test=test);"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == 'darwin' else 10)))"
)


# --- start ------------------------------------------------------------------------------------------------------------


def child(*command: str, **environment: str) -> float:
    """Return the processor seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, env=os.environ | environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start() -> list[Measured]:
    """Measure what passes until a newcomer's first result, with nothing compiled and later, and until ``fwexp --help``."""
    python, fwexp_command = (sys.executable, "-c", NEWCOMER), (str(Path(sys.executable).with_name("fwexp")), "--help")
    with tempfile.TemporaryDirectory() as empty:
        cold = child(*python, XDG_CACHE_HOME=empty)
        warm = [child(*python, XDG_CACHE_HOME=empty) for _ in range(5)]
    return [
        summary("first result, nothing compiled", "s", [cold]),
        summary("first result, later", "s", warm),
        summary("fwexp --help", "s", [child(*fwexp_command) for _ in range(5)]),
    ]


def memory() -> list[Measured]:
    """Measure the peak memory of a run on OCR, Python included."""
    output = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True).stdout
    return [summary("peak memory, bcfw on ocr2, 20 passes", "MB", [float(output)])]


# --- passes -----------------------------------------------------------------------------------------------------------


def solver_pass(train, name: str, lam: float, warm=20, passes=5, **options) -> Callable[[], float]:
    """Return what measures a pass of oracle calls of a solver, after ``warm`` passes (the steady state)."""
    solver = new_solver(train, name, lam, **options)
    solver.advance(Budget(warm * train.n, sys.maxsize))
    return lambda: best(lambda: solver.advance(Budget(solver.oracle_calls + train.n, sys.maxsize)), passes)


def solver_steps(train, lam: float, warm=20, passes=5, **options) -> Callable[[], float]:
    """Return what measures n steps of bcfw, cache hits included, after ``warm`` times as many; gaps are not refreshed."""
    solver = new_solver(train, "bcfw", lam, **{"refresh": 0, **options})

    def take(steps: int) -> None:
        end = solver.step + steps
        while solver.step < end:
            solver.advance(Budget(sys.maxsize, end))

    take(warm * train.n)
    return lambda: best(lambda: take(train.n), passes)


def measures_of(train) -> dict[str, Callable[[], float]]:
    """Return what is measured of solvers on OCR: passes and steps, in seconds."""
    return {
        "oracle pass, ocr2": lambda: oracle_seconds(train),
        "bcfw pass, ocr2": solver_pass(train, "bcfw", 0.01),
        "bcfw pass, ocr2, lam 1/n": solver_pass(train, "bcfw", 1 / train.n),
        "bcfw pass, ocr2, perm": solver_pass(train, "bcfw", 0.01, sampling="perm"),
        "auto pass, ocr2": solver_pass(train, "auto", 0.01),
        "ssg pass, ocr2": solver_pass(train, "ssg", 0.01),
        "fw pass, ocr2": solver_pass(train, "fw", 0.01, warm=3),
        "n steps, ocr2, gap sampling": solver_steps(train, 0.01, sampling="gap"),
        "n steps, ocr2, uniform, cache": solver_steps(train, 0.01, cache=True),
        "n steps, ocr2, gap sampling, cache": solver_steps(train, 0.01, sampling="gap", cache=True),
        "n steps, ocr2, pairwise": solver_steps(train, 0.01, step="pairwise"),
        "n steps, ocr2, corrective": solver_steps(train, 0.01, step="corrective"),
    }


# --- gaps -------------------------------------------------------------------------------------------------------------


def in_units(unit: str, floor: Callable[[], float], run: Callable[[], float], quantity: str, rounds: int) -> Measured:
    """Return the seconds that a run says it took, in units measured before and after."""
    ratios, before = [], statistics.median(floor() for _ in range(3))
    for _ in range(rounds):
        took, after = run(), statistics.median(floor() for _ in range(3))
        ratios.append(2.0 * took / (before + after))
        before = after
    return summary(quantity, unit, ratios)


def to_gaps(unit: str, floor: Callable[[], float]) -> list[Measured]:
    """Measure what ``auto`` needs to gaps, the same in a random order and without its cache, and ``one_slack`` to 0.1 %."""
    found = []
    for dataset, options, lam, gap_tol in TO_GAP:
        try:
            train = fwexp.load_dataset(dataset, **options)[0]
        except DataError as error:
            print(error)
            continue
        for name, setting in (("auto", {}), ("auto in order, no cache", ORDERED)):
            fwexp.solve(train, lam=lam, max_passes=1, **setting)

            def run(train=train, lam=lam, gap_tol=gap_tol, setting=setting) -> float:
                trace = fwexp.solve(train, lam=lam, gap_tol=gap_tol, max_passes=2000, schedule=1, **setting).trace
                return trace["time"].iloc[-1]

            quantity = f"{name}, {dataset}, n {train.n}, lam {lam}, to {gap_tol:g}"
            found.append(in_units(unit, floor, run, quantity, TO_GAP_ROUNDS))
            show(found[-1:])
    train = fwexp.load_dataset("ocr", split="ocr")[0]
    for lam in (0.01, 0.001):
        optimum = fwexp.solve(train, lam=lam, gap_tol=1e-6, max_passes=5000, schedule=10).dual

        def cut(lam=lam, optimum=optimum) -> float:
            trace = fwexp.solve(train, "one_slack", lam=lam, gap_tol=5e-4 * optimum, max_passes=20_000, schedule=1).trace
            return trace[trace["primal"] <= 1.001 * optimum]["time"].iloc[0]

        cut()
        found.append(in_units(unit, floor, cut, f"one_slack, ocr, n {train.n}, lam {lam}, to 0.1 %", TO_GAP_ROUNDS))
        show(found[-1:])
    return found


def paths(rounds: int = TO_GAP_ROUNDS) -> list[Measured]:
    """Measure paths from lam_inf to 1/n next to grids of `VALUES` values between, to the same certified gap at every lam."""
    found = []
    for name, (dataset, options) in PATHS.items():
        try:
            train = fwexp.load_dataset(dataset, **options)[0]
        except DataError as error:
            print(error)
            continue
        path = partial(fwexp.regularization_path, train, lam_min=1.0 / train.n)
        grid = partial(fwexp.grid_search, train, lams=np.geomspace(path().lam[0], 1.0 / train.n, VALUES))
        runs = {f"path, {name}": path, f"warm grid, {name}": grid, f"cold grid, {name}": partial(grid, warm=False)}
        passes = {label: getattr(result := run(), "frame", result)["passes"] for label, run in runs.items()}
        found += [summary(f"{label}, {len(at)} values", "passes", [at.max()]) for label, at in passes.items()]
        found += in_turns({label: partial(seconds, run) for label, run in runs.items()}, f"path, {name}", rounds)
        show(found[-2 * len(runs) :])
    return found


def to_test_error() -> list[Measured]:
    """Measure how long ``auto`` takes on CoNLL-2000 until no more than `TEST_ERROR` of the test set is wrong."""
    try:
        train, test = fwexp.load_dataset("conll2000")
    except DataError as error:
        print(error)
        return []

    def run() -> float:
        trace = fwexp.solve(train, lam=0.01, gap_tol=0.0, max_passes=5, schedule=1, test=test).trace
        return trace[trace["test_error"] <= TEST_ERROR]["time"].iloc[0]

    run()
    return [summary(f"auto, conll2000, lam 0.01, to test error {TEST_ERROR}", "s", [run() for _ in range(TO_GAP_ROUNDS)])]


def main() -> int:
    """Measure and print."""
    sections = ("start", "passes", "roofline", "gaps", "paths", "test_error", "callbacks")
    given = arguments("Measure speed.", "section", sections, record=f"append what was measured to {history.FILE}")
    if given.record:
        history.check()
    chosen = given.names or sections
    pin()
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        unit, floor = unit_of(Path(folder))
        has_ocr = unit == "F"
        if "start" in chosen:  # while this process is small: what a child process reports is at least the size of its parent
            measured += start() + (memory() if has_ocr else [])
            show(measured)
        if "passes" in chosen and has_ocr:
            measured += in_turns({unit: floor} | measures_of(fwexp.load_dataset("ocr")[0]), unit)
            show(measured)
        if "roofline" in chosen:
            measured += beside_rooflines(unit, floor)
        if "gaps" in chosen and has_ocr:
            measured += to_gaps(unit, floor)
        if "paths" in chosen:
            measured += paths()
        if "test_error" in chosen:
            show(found := to_test_error())
            measured += found
    if "callbacks" in chosen:
        measured += overhead()
    slower = history.compare(measured)
    print(f"\nslower than the last record on {history.cpu()}:", *slower or ["nothing"], sep="\n  ")
    if given.record:
        history.record(measured)
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("svm", main))
