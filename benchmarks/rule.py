"""The time of ``auto`` over that of the best fixed setting: ``python -m benchmarks.rule``, on many data sets, to three gaps.

Each setting runs once with the gap evaluated at fixed numbers of passes, and, where that is brief, again for the time alone; of
each stretch between two evaluations the least processor time counts. When a gap is reached is interpolated, linearly in time and
log gap. A setting in which ``auto`` does what a fixed one does is run once for both. Printed is, per problem and gap, the time of
``auto`` over that of the fastest fixed setting; all times and passes are kept in ``results/bench/rule.csv``.

A change of the rule of ``auto`` (`fwexp.solvers.auto`) may be fitted on half of the data sets, every other one in the order of
their names, with all of their lam; the other half tests it, and nothing may be chosen by it. `START` is chosen so; the rest of the
rule is older.
"""

import itertools
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

import fwexp
from benchmarks import history
from benchmarks.families import problem_of
from benchmarks.history import FILE
from benchmarks.yardstick import arguments, new_solver, pin, seconds
from fwexp.driver.iteration import Budget
from fwexp.errors import UserError, exit_code
from fwexp.files import owned
from fwexp.problems.evaluation import Evaluator
from fwexp.solvers import auto

GAPS = (0.1, 1e-2, 1e-3)
BRIEF = 0.5  # seconds of a run that is done again, for its time alone
LONGEST = 1.5  # seconds of a run
PLENTY = 2.0  # times what the fastest setting took to the next gap, after which a run is given up
LEAST = 0.02  # seconds of a run that is not given up
TABLE = FILE.with_name("rule.csv")

_OBSERVED = {"kap": "observed", "period": None}
_CORRECTIVE = {"sampling": "perm", "step": "corrective"}
_GAPS = {"sampling": "gap_perm", "step": "corrective", "cache": {"F": 0.4, "nu": 0.01, "size": 8}}
SETTINGS = {  # the first is fast as a rule, which shortens the others
    "gaps, accelerated": _GAPS | {"accelerate": _OBSERVED | {"start": auto.START, "refresh": False}},
    "corrective, accelerated": _CORRECTIVE | {"accelerate": _OBSERVED | {"start": auto.START}},
    "gaps": _GAPS,
    "corrective": _CORRECTIVE,
    "plain, accelerated": {"sampling": "perm", "step": "fw", "accelerate": {"kap": None, "period": None}},
    "plain": {"sampling": "perm", "step": "fw"},
}


class Case(NamedTuple):
    """A data set and the lam that it is solved at."""

    dataset: str
    options: dict
    lam: tuple[float | str, ...]


CASES = {
    "conll2000": Case("conll2000", {}, (0.1, 0.01, 0.001, "1/n")),
    "digits": Case("digits", {}, (0.1, 0.01, 0.001)),
    "hansards": Case("hansards", {}, (0.1, 0.01, 0.001, "1/n")),
    "horses": Case("horses", {}, (1.0, 0.1, 0.01)),
    "lsp": Case("lsp", {}, (0.1, 0.01, 0.001)),
    "multilabel": Case("", {"n": 500}, (0.1, 0.01, 0.001)),
    "ocr": Case("ocr", {"split": "ocr"}, (0.1, 0.01, 0.001)),
    "ocr2": Case("ocr", {}, (0.1, 0.01, 0.001, "1/n")),
    "synthetic_horseseg large": Case("synthetic_horseseg", {"size": "large", "n": 8000}, (10.0, 1.0, 0.1)),
    "synthetic_horseseg medium": Case("synthetic_horseseg", {"size": "medium", "n": 2000}, (10.0, 1.0, 0.1)),
    "synthetic_horseseg small": Case("synthetic_horseseg", {"size": "small"}, (10.0, 1.0, 0.1, 0.01)),
    "synthetic_lsp": Case("synthetic_lsp", {}, (1.0, 0.1, 0.01)),
}
HALVES = {"to fit on": tuple(sorted(CASES))[::2], "held out": tuple(sorted(CASES))[1::2]}


def problem_named(name: str):
    """Return the training problem of a case; the family ``multilabel`` stands for itself."""
    case = CASES[name]
    return fwexp.load_dataset(case.dataset, **case.options)[0] if case.dataset else problem_of(name, **case.options)


def looks() -> Iterator[float]:
    """Yield the passes after which the gap is evaluated: every quarter, later 1.1 times the last."""
    passes = 0.25
    while True:
        yield passes
        passes = max(passes + 0.25, round(4.4 * passes) / 4)


class Run(NamedTuple):
    """What a run was at the start and at each look."""

    steps: list[int]
    passes: list[float]
    gaps: list[float]  # best primal minus best dual so far
    seconds: list[float]  # since the look before


def solver_of(problem, lam: float, setting: str):
    """Return a solver in a fixed setting, or ``auto``, at its start."""
    return new_solver(problem, "bcfw" if setting in SETTINGS else setting, lam, **SETTINGS.get(setting, {}))


def run(problem, lam: float, setting: str, fastest: dict[float, float]) -> Run:
    """Return a run to the last gap, unless it falls too far behind the fastest one so far, whose seconds to the gaps are given."""
    evaluate, solver = Evaluator(problem), solver_of(problem, lam, setting)
    solver.compile()
    primal, dual, found = np.inf, -np.inf, Run([], [], [], [])
    for passes in itertools.chain([0.0], looks()):
        took = seconds(lambda passes=passes: solver.advance(Budget(round(passes * problem.n), sys.maxsize)))
        if solver.step not in found.steps[-1:]:
            point = solver.point("last")
            value = evaluate(point.w, error=False)
            primal, dual = min(primal, 0.5 * lam * value.norm_sq + value.hinge), max(dual, point.dual)
        for column, value in zip(found, (solver.step, passes, primal - dual, took), strict=True):
            column.append(value)
        ahead = next((fastest[gap] for gap in GAPS if gap < primal - dual), 0.0)
        if primal - dual <= GAPS[-1] or sum(found.seconds) > min(max(PLENTY * ahead, LEAST), LONGEST):
            return found


def again(problem, lam: float, setting: str, found: Run) -> None:
    """Repeat a run without evaluations, and keep the shorter times."""
    solver = solver_of(problem, lam, setting)
    solver.compile()
    for k, passes in enumerate(found.passes):
        took = seconds(lambda passes=passes: solver.advance(Budget(round(passes * problem.n), sys.maxsize)))
        found.seconds[k] = min(found.seconds[k], took)


def share_times(runs: dict[str, Run]) -> None:
    """Merge the runs of ``auto`` and of a fixed setting that takes the same steps: the longer one, with the shorter times."""
    for setting, found in runs.items():
        looks = min(len(found.gaps), len(runs["auto"].gaps))
        if setting == "auto" or any(mine[:looks] != its[:looks] for mine, its in zip(runs["auto"][:3], found[:3], strict=True)):
            continue
        times = np.minimum(found.seconds[:looks], runs["auto"].seconds[:looks]).tolist()
        longer = max(found, runs["auto"], key=lambda run: len(run.gaps))
        runs[setting] = runs["auto"] = longer._replace(seconds=times + longer.seconds[looks:])
        return


def reached(found: Run, gap: float) -> tuple[float, float]:
    """Return the seconds and passes after which a gap is reached, infinite if it is not."""
    gaps, times = np.array(found.gaps), np.cumsum(found.seconds)
    if gaps[-1] > gap:
        return np.inf, np.inf
    k = max(int(np.argmax(gaps <= gap)), 1)
    share = np.clip(np.log(gaps[k - 1] / gap) / np.log(gaps[k - 1] / max(gaps[k], 1e-12)), 0.0, 1.0)
    return tuple(float(values[k - 1] + share * (values[k] - values[k - 1])) for values in (times, found.passes))


def measure(name: str, problem, lam: float | str) -> list[dict]:
    """Return rows of the table: seconds and passes of each setting, and of ``auto``, to each gap."""
    value = 1.0 / problem.n if lam == "1/n" else lam
    chosen = {setting: solver_of(problem, value, setting).options for setting in (*SETTINGS, "auto")}
    same = next((setting for setting in chosen if chosen[setting] == chosen["auto"]), "auto")
    runs, fastest = {}, dict.fromkeys(GAPS, LONGEST)
    for setting in chosen if same == "auto" else SETTINGS:
        runs[setting] = run(problem, value, setting, fastest)
        fastest = {gap: min(least, reached(runs[setting], gap)[0]) for gap, least in fastest.items()}
    for setting, found in runs.items():
        if sum(found.seconds) < BRIEF:
            again(problem, value, setting, found)
    runs["auto"] = runs[same]
    share_times(runs)
    rows = []
    for gap in GAPS:
        times = {setting: reached(found, gap) for setting, found in runs.items()}
        best = min(times[setting][0] for setting in SETTINGS)
        for setting, (took, passes) in times.items():
            found = {"seconds": took, "passes": passes, "over best": took / best if np.isfinite(best) else np.nan}
            rows.append({"problem": name, "n": problem.n, "lam": lam, "gap": gap, "setting": setting} | found)
    return rows


def show(rows: list[dict]) -> None:
    """Print how far ``auto`` is from the fastest setting, and which that is, for the gaps of one problem and lam."""
    table, cells = pd.DataFrame(rows), []
    for _, times in table.groupby("gap", sort=False):
        times = times.set_index("setting")
        auto, fixed = times.loc["auto"], times.drop("auto").sort_values("seconds").iloc[0]
        cells.append(f"{auto['over best']:6.2f} {auto['seconds']:8.3f} s  {fixed.name:24}")
    print(f"{table['problem'].iloc[0]:26}{table['lam'].iloc[0]!s:>6} ", *cells, flush=True)


def keep(half: str, rows: list[dict]) -> None:
    """Put the times and passes of one problem in the table, in the place of those that were there."""
    wide = pd.DataFrame(rows).assign(half=half).astype({"lam": str})
    wide = wide.pivot(index=["half", "problem", "n", "lam", "gap"], columns="setting", values=["seconds", "passes"])
    wide.columns = [f"{setting}: {what}" for what, setting in wide.columns]
    before = pd.read_csv(TABLE, dtype={"lam": str}) if TABLE.exists() else pd.DataFrame(columns=["half", "problem"])
    table = pd.concat([before[before["problem"] != rows[0]["problem"]], wide.reset_index()])
    table = table.sort_values(["half", "problem", "lam", "gap"], ascending=[True, True, False, False])
    history.write({TABLE: table})


def main() -> int:
    """Measure, print, and write the table."""
    words = arguments("Measure auto compared with fixed settings.", "case", [*CASES, *HALVES]).names or CASES
    given = [name for word in words for name in HALVES.get(word, (word,))]
    owned.check([TABLE], history.KIND)
    pin()
    for half, names in HALVES.items():
        print(f"\n{half}: time of auto over the best fixed setting, seconds, and that setting; to gaps {', '.join(map(str, GAPS))}")
        for name in (name for name in names if name in given):
            try:
                problem = problem_named(name)
            except UserError as error:
                print(error)
                continue
            rows = []
            for lam in CASES[name].lam:
                rows += measure(name, problem, lam)
                show(rows[-len(GAPS) * (len(SETTINGS) + 1) :])
            keep(half, rows)
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("rule", main))
