"""From how many long examples on block methods are faster than batch methods: ``make bench-few``, the rule of ``auto`` for both.

Sequences are generated: n from 1 to 200 of them, of 10 to 100,000 positions, with lam from 1 to 0.1/n. Every problem is solved by
the block method and by the batch method that `fwexp.solvers.auto` chooses between, for the log-loss and the hinge, to gaps of 1 %
and 0.1 % of the objective. Printed are the seconds of each to a gap, and of ``auto`` over the faster of both. Problems with even
seeds are those that the rule is fitted on; nothing may be chosen by the others.
"""

import sys
from typing import NamedTuple

import numpy as np

import fwexp
from benchmarks.yardstick import half_of_seeds, pin
from fwexp.problems.loss_terms import HINGE, make_objective
from fwexp.solvers import auto

GAPS = (1e-2, 1e-3)
POSITIONS = (2_000, 100_000)  # of all sequences of a problem
LONGEST = 8.0  # seconds of a run
NEVER = 2.0 * LONGEST  # what a run that does not reach a gap counts


class Case(NamedTuple):
    """A generated problem."""

    n: int
    length: int
    K: int
    p: int
    c: float  # lam; with ``loss="errors"`` the objective counts positions


def case(seed: int) -> Case:
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    n = round(200 ** rng.random())
    low, high = max(10, POSITIONS[0] // n), max(20, POSITIONS[1] // n)
    length = round(low * (high / low) ** rng.random())
    lam = (0.1 / n) ** rng.random()
    return Case(n, length, int(rng.choice([2, 5, 10, 26])), int(rng.choice([5, 20, 50])), lam)


def problem_of(case: Case, seed: int):
    """Return sequences of a Markov chain of labels with noisy inputs."""
    rng = np.random.default_rng(seed)
    follow, means = rng.dirichlet(np.full(case.K, 0.3), size=case.K), rng.normal(size=(case.K, case.p))
    labels = np.zeros((case.n, case.length), dtype=np.int64)
    for t in range(1, case.length):
        above = follow[labels[:, t - 1]].cumsum(axis=1) < rng.random((case.n, 1))
        labels[:, t] = np.minimum(above.sum(axis=1), case.K - 1)
    noise = 0.4 * np.sqrt(case.p) * rng.normal(size=(case.n, case.length, case.p))
    return fwexp.chain_problem(list(means[labels] + noise), list(labels), case.K, loss="errors")


def seconds_to(problem, lam: float, objective: str, solver: str, options: dict) -> list[float]:
    """Return the seconds of a run to every gap."""
    rows: list = []

    def is_close(row) -> bool:
        rows.append((row["time"], row["gap"] / abs(row["primal"])))
        return rows[-1][1] <= GAPS[-1]

    how = {"schedule": 1.0, "max_passes": 1e5, "gap_tol": 0.0, "time_limit": LONGEST}
    fwexp.solve(problem, solver, lam=lam, objective=objective, callback=is_close, **how, **options)
    times, gaps = np.array(rows).T
    gaps = np.minimum.accumulate(gaps)
    return [float(times[np.argmax(gaps <= gap)]) if gaps[-1] <= gap else NEVER for gap in GAPS]


def methods(problem, lam: float, objective: str) -> dict[str, tuple[str, dict]]:
    """Return the solver and the options of both kinds of methods."""
    term = make_objective(objective)
    block, options = auto.block_method(problem, lam, None, term)
    batch = ("one_slack", auto.PLANE_OPTIONS) if term == HINGE else ("lbfgs", {})
    return {"block": (block.name, options), "batch": batch}


def measure(seed: int, objective: str) -> dict:
    """Return a row of the table."""
    of_seed = case(seed)
    problem, lam = problem_of(of_seed, seed), of_seed.c
    found = {kind: seconds_to(problem, lam, objective, *how) for kind, how in methods(problem, lam, objective).items()}
    chosen, _ = auto.choose(problem, lam, None, make_objective(objective))
    ours = "batch" if chosen.name in ("lbfgs", "one_slack") else "block"
    ratios = [found[ours][k] / min(one[k] for one in found.values()) for k in range(len(GAPS))]
    return of_seed._asdict() | found | {"auto": ours, "over best": ratios}


def main() -> int:
    """Measure and print."""
    half, seeds = half_of_seeds(__doc__.partition("\n")[0], 48)
    pin()
    for objective in ("log", "hinge"):
        print(f"\n{objective}, {half}: seconds to {GAPS} by blocks and by batches, and what auto takes over the faster")
        rows = []
        for seed in seeds:
            rows.append(measure(seed, objective))
            row = rows[-1]
            times = "  ".join(f"{kind} {row[kind][0]:7.3f} {row[kind][1]:7.3f}" for kind in ("block", "batch"))
            size = f"n={row['n']:<4}T={row['length']:<7}K={row['K']:<3}p={row['p']:<3}lam={row['c']:<8.2g}"
            print(f"{size} {times}  {row['auto']}  " + " ".join(f"{r:5.2f}" for r in row["over best"]), flush=True)
        for k, gap in enumerate(GAPS):
            ratios = np.array([row["over best"][k] for row in rows])
            print(f"to {gap:g}: geometric mean {np.exp(np.log(ratios).mean()):.2f}, worst {ratios.max():.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
