"""Speed of `fwexp.convex` compared with copt, in one run: ``python -m benchmarks.convex``, a part of ``make bench``.

Both minimise the same function over the same set from a vertex, with their default steps: once `ITERATIONS` steps, which gives
the time per step, and once until each has certified the same gap, the largest that any of them was left with. They take turns,
pinned to one core. copt is no dependency: without it there is nothing to compare with.

``python -m benchmarks.convex stochastic`` compares the stochastic methods alone (`stochastic_beside_copt`).
"""

import argparse
import contextlib
import io
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import scipy.special

from benchmarks.yardstick import pin
from fwexp.convex import L1Ball, LeastSquares, LinearSum, Logistic, Simplex, minimize

ROUNDS = 3
DIMENSION = 100_000
ITERATIONS = 30
LIMIT = 20.0  # seconds of one stochastic run: a step of svrf may be a pass
LONGEST = 10  # times as many steps may be made: a step of theirs in pairs has a gap of its own kind


def matrices(rng) -> dict:
    """Return a dense and a sparse matrix with `DIMENSION` columns."""
    sparse = scipy.sparse.random_array((2000, DIMENSION), density=1e-3, format="csr", rng=rng, data_sampler=rng.standard_normal)
    return {"dense": rng.standard_normal((100, DIMENSION)), "sparse": sparse}


def functions(A, rng) -> dict:
    """Return ours and theirs, by name."""
    x = np.zeros(A.shape[1])
    x[rng.choice(len(x), 50, replace=False)] = rng.standard_normal(50)
    b = A @ x + 0.1 * rng.standard_normal(A.shape[0])
    y = np.where(b > 0.0, 1.0, -1.0)

    def squares(x):
        r = A @ x - b
        return 0.5 * float(r @ r), A.T @ r

    def logistic(x):
        margins = y * (A @ x)
        return float(np.logaddexp(0.0, -margins).mean()), A.T @ (-y / (1.0 + np.exp(margins))) / len(y)

    return {"least squares": (LeastSquares(A, b), squares), "logistic": (Logistic(A, y), logistic)}


def sets(copt) -> dict:
    """Return our set, their linear minimisations by method, and the start with its name for them."""
    ball, simplex = copt.constraint.L1Ball(10.0), copt.constraint.SimplexConstraint(1.0)
    vertices = {"vanilla": ball.lmo, "pairwise": ball.lmo_pairwise}
    return {
        "l1 ball": (L1Ball(DIMENSION, 10.0), vertices, (10.0, (1.0, 0))),
        "simplex": (Simplex(DIMENSION), {"vanilla": lambda u, x, _: simplex.lmo(u, x)}, (1.0, None)),
    }


class Stop(NamedTuple):
    """Where a program ended."""

    x: np.ndarray
    iterations: int


def race(name: str, gap: Callable[[np.ndarray], float], contenders: dict[str, Callable[..., Stop]]) -> None:
    """Time our solver and the other one in turn: print seconds per step and per run to one gap, and ratios."""
    level = max(gap(run(0.0, ITERATIONS).x) for run in contenders.values())
    per_step, whole, steps = ({who: [] for who in contenders} for _ in range(3))
    for _ in range(ROUNDS):
        for who, run in contenders.items():
            per_step[who].append(_seconds(run, 0.0, ITERATIONS)[0] / ITERATIONS)
            seconds, stop = _seconds(run, level, LONGEST * ITERATIONS)
            whole[who].append(seconds)
            steps[who] = stop.iterations
    *ours, copt = contenders
    for who in ours:
        mine, other = (
            f"{min(per_step[one]) * 1e3:6.3f} ms a step, {steps[one]:3d} in {min(whole[one]) * 1e3:5.0f} ms" for one in (who, copt)
        )
        ratios = (statistics.median(a / b for a, b in zip(each[who], each[copt], strict=True)) for each in (per_step, whole))
        ratio = " and ".join(f"{ratio:4.2f}" for ratio in ratios)
        print(f"{f'{name}, {who}':44}gap {level:7.1e}: {mine};  {copt} {other};  ratios {ratio}", flush=True)


def _seconds(run, *given) -> tuple[float, Stop]:
    start = time.perf_counter()
    stop = run(*given)
    return time.perf_counter() - start, stop


def beside_copt() -> None:
    """Print the race of every function on every set."""
    try:
        import copt
    except ImportError:
        print("copt is not installed: no comparison of methods on convex sets")
        return
    rng = np.random.default_rng(0)
    for kind, A in matrices(rng).items():
        for what, (f, fun) in functions(A, rng).items():
            for where, (ours, theirs, (radius, representation)) in sets(copt).items():
                x0 = np.zeros(DIMENSION)
                x0[0] = radius

                def gap(x, f=f, ours=ours):
                    g = f.gradient(x, f.image(x))
                    return float(g @ x) - ours.atom(g).dot(g)

                def mine(method, f=f, ours=ours):
                    def run(tol, longest):
                        found = minimize(f, ours, method=method, gap_tol=tol, max_iter=longest, schedule=longest)
                        return Stop(found.x, int(found.trace["step"].iloc[-1]))

                    return run

                def other(variant, fun=fun, lmos=theirs, x0=x0, start=representation):
                    named = {"x0_rep": start, "variant": variant, "jac": True}

                    def run(tol, longest):
                        with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
                            found = copt.minimize_frank_wolfe(fun, x0, lmos[variant], tol=tol, max_iter=longest, **named)
                        return Stop(found.x, found.nit + 1)  # they count from 0

                    return run

                for variant in theirs:
                    methods = ("frank_wolfe",) if variant == "vanilla" else ("pairwise", "away")
                    contenders = {method: mine(method) for method in methods} | {f"copt {variant}": other(variant)}
                    race(f"{kind}, {what}, {where}", gap, contenders)


class Sum(NamedTuple):
    """A mean of logistic losses over the l1 ball, with labels from 0 to 1."""

    A: Any
    labels: np.ndarray
    radius: float
    batch: int

    @property
    def ours(self) -> LinearSum:
        """The function as ours."""

        def terms(z, i):
            labels = self.labels[i]
            return np.logaddexp(0.0, z) - labels * z, scipy.special.expit(z) - labels

        return LinearSum(self.A, terms)


def sums() -> dict[str, Sum]:
    """Return the problems of copt's examples; the real data are replaced by generated ones of the same shape."""
    rng = np.random.default_rng(0)
    wide = scipy.sparse.random_array((20_242, 47_236), density=1.6e-3, format="csr", rng=rng, data_sampler=rng.standard_normal)
    wide /= np.sqrt(wide.multiply(wide).sum(axis=1))[:, None]
    problems = {"gaussian": Sum(rng.standard_normal((500, 200)), rng.random(500), 1.0, 50)}
    for name, A, radius in (("madelon", rng.standard_normal((2000, 500)), 20.0), ("rcv1", wide.tocsr(), 100.0)):
        x = np.where(rng.random(A.shape[1]) < 50 / A.shape[1], rng.standard_normal(A.shape[1]), 0.0)
        margins = A @ x
        noise = margins.std() * rng.standard_normal(len(margins))
        problems[name] = Sum(A, (margins + noise > 0.0).astype(float), radius, len(margins) // 100)
    return problems


def stochastic_beside_copt(problems: dict[str, Sum], steps: int = 1000) -> None:
    """Print the errors of stochastic methods after the same number of steps, and after as many as copt's SAG leaves time for.

    The ``max_iter`` of copt counts passes over the terms. Here a step is one batch and one linear minimisation in both programs.
    """
    try:
        import copt
    except ImportError:
        print("copt is not installed: no comparison of stochastic methods")
        return
    seconds = 0.0
    for title, problem in problems.items():
        n, d = problem.A.shape
        f, ball = problem.ours, L1Ball(d, problem.radius)
        best = minimize(f, ball, method="pairwise", gap_tol=1e-8, max_iter=20_000, time_limit=60.0)
        print(f"{title}, {n} x {d}, batches of {problem.batch}; minimum {best.value:.6g}, known up to {best.gap:.1e}")
        slopes = copt.loss.LogLoss(problem.A, problem.labels).partial_deriv  # compiled anew whenever it is read
        contenders = {f"copt {name}": partial(_theirs, copt, problem, slopes, name) for name in ("SAG", "SAGA", "MHK", "LF")}
        for variant in ("sag", "saga", "mhk", "lf", "svrf"):
            options = {"method": "variance_reduced", "variant": variant} | ({} if variant == "svrf" else {"batch": problem.batch})
            contenders[f"variance_reduced {variant}"] = partial(_ours, f, ball, options)
        contenders["stochastic"] = partial(_ours, f, ball, {"method": "stochastic", "batch": problem.batch})
        for who, run in contenders.items():
            run(2, LIMIT)  # compiles
            runs = [run(steps, LIMIT) for _ in range(ROUNDS)]
            stop, took = runs[0][0], min(time for _, time in runs)
            seconds = took if who == "copt SAG" else seconds
            # Other programs slow single runs down, so the fastest run shows how many steps fit.
            later, _ = run(max(round(stop.iterations * seconds / took), 1), LIMIT)
            first, second = (f.value(x, f.image(x)) - best.value + best.gap for x in (stop.x, later.x))
            print(f"  {who:24}{first:8.1e} after {stop.iterations} steps ({took * 1e3:6.0f} ms), ", end="")
            print(f"{second:8.1e} after {seconds * 1e3:.0f} ms ({later.iterations} steps)", flush=True)


def _ours(f: LinearSum, ball: L1Ball, options: dict, most: int, seconds: float) -> tuple[Stop, float]:
    """Return where our method ends after some steps or seconds, and the seconds."""
    result = minimize(f, ball, max_iter=most, time_limit=seconds, gap_tol=0.0, schedule=most, **options)
    last = result.trace.iloc[-1]
    return Stop(result.x, int(last["step"])), float(last["time"])


def _theirs(copt, problem: Sum, slopes, variant: str, most: int, seconds: float) -> tuple[Stop, float]:
    """Return the same for copt."""
    calls, start = [], time.perf_counter()
    named = {"batch_size": problem.batch, "tol": 0, "max_iter": most, "variant": variant}

    def end_when_over(local):
        calls.append(None)  # the first call is at the start
        if len(calls) > most or time.perf_counter() > start + seconds:
            raise _Over(local["x"].copy())

    x0, lmo = np.zeros(problem.A.shape[1]), copt.constraint.L1Ball(problem.radius).lmo
    try:
        x = copt.minimize_sfw(slopes, problem.A, problem.labels, x0, lmo, callback=end_when_over, **named).x
    except _Over as over:
        x = over.args[0]
    return Stop(x, len(calls) - 1), time.perf_counter() - start


class _Over(Exception):
    """The end of a run of copt, with its point."""


def main(args: list[str] | None = None) -> int:
    """Measure and print everything, or the comparison of stochastic methods alone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.convex", description=main.__doc__)
    parser.add_argument("what", nargs="?", default="all", choices=("all", "stochastic"), help="comparisons to run (default: all)")
    what = parser.parse_args(args).what
    pin()
    if what == "all":
        beside_copt()
    stochastic_beside_copt(sums())
    return 0


if __name__ == "__main__":
    sys.exit(main())
