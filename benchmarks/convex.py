"""Speed of `fwexp.convex` compared with copt, in one run: ``make bench ARGS=convex``.

Both minimise the same function over the same set from a vertex, with their default steps: once `ITERATIONS` steps, which gives
the time per step, and once until each has certified the same gap, the largest that any of them was left with. They take turns,
pinned to one core. copt is no dependency: without it there is nothing to compare with.
"""

import contextlib
import io
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse

from fwexp.convex import L1Ball, LeastSquares, Logistic, Simplex, minimize

ROUNDS = 3
DIMENSION = 100_000
ITERATIONS = 30
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
