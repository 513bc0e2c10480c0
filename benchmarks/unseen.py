"""Unseen multiclass problems next to LIBLINEAR: ``make bench-multiclass``.

Problems are generated: 1,000 to 50,000 rows, 50 to 100,000 columns (dense inputs at most `WIDEST`), 2 to 200 classes, lam from 0.01
to 0.1/n, each drawn by its logarithm. If a problem would exceed `MOST` products of entries and classes, it has fewer rows. Printed
are the seconds until the objective is within 1 % and 0.1 % of its minimum, and their ratio round by round. The seconds of fwexp
include its certificate; LIBLINEAR has the loosest tolerance that reaches the target (`benchmarks.peers.contests`), and for two
classes its binary solver, which minimises the same function.

The solvers may be tuned on even seeds (``--half fit``). Odd seeds (``--half test``) are for one report at the end.
"""

import sys
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import contests, tools
from benchmarks.yardstick import half_of_seeds, pin
from fwexp.errors import exit_code

KINDS = ("dense", "texts", "indicators")
ROWS, COLUMNS, CLASSES = (1_000, 50_000), (50, 100_000), (2, 200)
WIDEST = 1_000
MOST = 5e7
ENTRIES = {"texts": 90, "indicators": 20}  # entries per row, about
TARGETS = (1e-2, 1e-3)
ROUNDS = 3


class Case(NamedTuple):
    """A generated problem."""

    kind: str
    n: int
    p: int
    K: int
    lam: float


def case(seed: int) -> Case:
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed // 2 % len(KINDS)]

    def between(low: float, high: float) -> int:
        return round(low * (high / low) ** rng.random())

    p, K, n = between(COLUMNS[0], WIDEST if kind == "dense" else COLUMNS[1]), between(*CLASSES), between(*ROWS)
    n = max(ROWS[0], min(n, int(MOST / (min(p, ENTRIES.get(kind, p)) * K))))
    return Case(kind, n, p, K, 0.01 * (10.0 / n) ** rng.random())


def data_of(case: Case, seed: int) -> tuple[np.ndarray | sp.csr_array, np.ndarray]:
    """Return the inputs and classes of a case; classes overlap by a degree that is drawn, too."""
    rng = np.random.default_rng((1, seed))
    if case.kind == "texts":
        return tools.bags_of_words(case.n, case.p, case.K, seed)
    y, clarity = rng.integers(case.K, size=case.n), rng.uniform(0.5, 2.0)
    if case.kind == "dense":
        means = rng.normal(size=(case.K, case.p)) * clarity * 3.0 / np.sqrt(case.p)
        return means[y] + rng.normal(size=(case.n, case.p)), y
    fields = min(ENTRIES["indicators"], case.p // 2)  # each a group of columns, of which every row has one
    size, typical = case.p // fields, rng.integers(case.p // fields, size=(case.K, fields))
    drawn = (size * rng.random((case.n, fields)) ** 2).astype(np.int64)
    values = np.where(rng.random((case.n, fields)) < 0.2 * clarity, typical[y], drawn)
    columns = (values + size * np.arange(fields)).astype(np.int32)
    pointers = (fields * np.arange(case.n + 1)).astype(np.int32)
    return sp.csr_array((np.ones(columns.size), columns.ravel(), pointers), shape=(case.n, case.p)), y


def contest(case: Case, seed: int) -> contests.SameObjective:
    """Return the comparison on the problem of a case."""
    X, y = data_of(case, seed)
    y = np.unique(y, return_inverse=True)[1]  # In few rows, some of many classes do not occur.
    fit = tools.liblinear_binary if case.K == 2 else tools.liblinear
    return contests.linear(str(case), X, y, case.lam, "LIBLINEAR", fit, targets=TARGETS)


def measure(case: Case, seed: int, rounds: int = ROUNDS) -> list[dict]:
    """Return for every target the seconds of both tools and the ratio of ours to LIBLINEAR's."""
    compared = contest(case, seed)
    bound, found = compared.lower_bound(), []
    for target in compared.targets:
        trainings = {}
        for contender in compared.contenders:
            if chosen := compared.choose(contender, target, bound):
                trainings[contender.tool] = partial(contender.train, chosen[0])
        times = {tool: np.array([one.seconds for one in runs]) for tool, runs in contests.in_turns(trainings, rounds).items()}
        ours, theirs = (times.get(contender.tool, np.full(rounds, np.inf)) for contender in compared.contenders)
        found.append({"target": target, "ours": np.median(ours), "theirs": np.median(theirs), "ratio": np.median(ours / theirs)})
    return found


def main() -> int:
    """Measure and print."""
    _, seeds = half_of_seeds(__doc__.partition("\n")[0], 24)
    pin()
    rows: list[dict] = []
    for seed in seeds:
        of_seed = case(seed)
        rows += (here := measure(of_seed, seed))
        size = f"{of_seed.kind:11}n={of_seed.n:<6}p={of_seed.p:<7}K={of_seed.K:<4}lam n={of_seed.lam * of_seed.n:<8.3g}"
        cells = "   ".join(f"{row['ours']:7.4f} s {row['theirs']:7.4f} s {row['ratio']:6.2f}" for row in here)
        print(f"{seed:3} {size}{cells}", flush=True)
    for target in TARGETS:
        ratios = np.array([row["ratio"] for row in rows if row["target"] == target])
        mean = np.exp(np.log(ratios).mean())
        print(f"ours over LIBLINEAR, to {target:g}: geometric mean {mean:.2f}, {ratios.min():.2f} to {ratios.max():.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("unseen", main))
