"""Speed of `fwexp.convex` beside copt, in one run: ``python -m fwexp.experiments.bench_convex``, a part of ``make bench``.

Both take as many steps on the same function over the same set from a vertex, with their default steps; the programs take turns,
pinned to one core. Beside the time stands the Frank-Wolfe gap that each has then. copt is no dependency: without it there is
nothing to compare with.
"""

import contextlib
import io
import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse

from fwexp.convex import L1Ball, LeastSquares, Logistic, Simplex, minimize

ROUNDS = 3
DIMENSION = 100_000
ITERATIONS = 30


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


def race(name: str, gap: Callable[[np.ndarray], float], contenders: dict[str, Callable[[], np.ndarray]]) -> None:
    """Let ours and theirs, the last one, run in turn; print milliseconds per iteration and the gap of the points they return."""
    samples, gaps = {who: [] for who in contenders}, {who: gap(run()) for who, run in contenders.items()}
    for _ in range(ROUNDS):
        for who, run in contenders.items():
            start = time.perf_counter()
            run()
            samples[who].append((time.perf_counter() - start) * 1e3 / ITERATIONS)
    *ours, copt = samples
    for who in ours:
        ratio = statistics.median(mine / other for mine, other in zip(samples[who], samples[copt], strict=True))
        mine, other = (f"{min(samples[each]):7.3f} ms, gap {gaps[each]:8.2e}" for each in (who, copt))
        print(f"{name + ', ' + who:44}{mine};  {copt} {other};  ratio {ratio:5.2f}", flush=True)


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
                    run = {"gap_tol": 0.0, "max_iter": ITERATIONS, "schedule": ITERATIONS}
                    return lambda: minimize(f, ours, method=method, **run).x

                def other(variant, fun=fun, lmos=theirs, x0=x0, start=representation):
                    named = {"x0_rep": start, "variant": variant, "jac": True, "tol": 0.0, "max_iter": ITERATIONS}

                    def run():
                        with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
                            return copt.minimize_frank_wolfe(fun, x0, lmos[variant], **named).x

                    return run

                for variant in theirs:
                    methods = ("frank_wolfe",) if variant == "vanilla" else ("pairwise", "away")
                    contenders = {method: mine(method) for method in methods} | {f"copt {variant}": other(variant)}
                    race(f"{kind}, {what}, {where}", gap, contenders)


def main() -> int:
    """Measure and print everything."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    beside_copt()
    return 0


if __name__ == "__main__":
    sys.exit(main())
