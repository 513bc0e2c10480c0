"""Log-loss next to CRFsuite and scikit-learn, with equal features and objectives: ``make bench-crf``, a table.

Times are processor times on one core, to a relative suboptimality of 1 % and of 0.1 %, a run each. Ours end with its certificate,
whose evaluations count; those of other tools, which have none, are taken with hindsight, from our bound on the optimum:
CRFsuite's at the iteration that comes so close, scikit-learn's with the loosest tolerance that suffices. Compilation and the time
to hand over the data do not count. CRFsuite has all features of our model ("possible states and transitions").
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import fwexp
from benchmarks.peers import tools
from benchmarks.peers.peer_table import in_columns
from benchmarks.yardstick import arguments, pin
from fwexp.errors import exit_code

GAPS = (1e-2, 1e-3)
TOLERANCES = 10.0 ** np.arange(0.0, -8.0, -0.5)
# CRFsuite drops features whose values add up to less than minfreq, which is 0 by default.
SAME = {"feature.possible_states": True, "feature.possible_transitions": True, "feature.minfreq": -1e30}
HEAD = ("problem", "tool", *(f"CPU s to {100 * gap:g} %" for gap in GAPS), "at the end", "test error")


def cells(problem: str, tool: str, times, end: str = "", error: float = np.nan) -> tuple:
    """Return a row of the table."""
    shown = ["-" if not np.isfinite(seconds) else f"{seconds:.3g}" for seconds in times]
    return problem, tool, *shown, end, "-" if np.isnan(error) else f"{error:.4f}"


def reached(seconds: list[float], values: list[float]) -> list[float]:
    """Return when a falling value first was at most each of `GAPS`, infinity if it never was."""
    return [next((s for s, value in zip(seconds, values) if value <= gap), np.inf) for gap in GAPS]


def ours(problem, lam: float, test=None) -> tuple[list[float], object, float]:
    """Train until each of `GAPS` is certified; return the seconds, the last result, and the test error."""
    solve, seconds = partial(fwexp.solve, problem, lam=lam, objective="log"), []
    bound = solve(max_passes=2, gap_tol=0).dual  # compiles
    bound = solve(max_passes=1e5, gap_tol=GAPS[0] * bound).dual
    for gap in GAPS:
        gc.collect()  # of all that was made before takes longer than short runs
        taken, result = tools.timed(partial(solve, max_passes=1e5, gap_tol=gap * bound))
        seconds.append(taken)
    error = np.nan if test is None else fwexp.evaluate(test, result.w).error
    return seconds, result, error


def sequences(name: str, train, test, c2: float, iterations: int) -> Iterator[tuple]:
    """Yield the rows of a problem on chains: ours, and that of CRFsuite's L-BFGS with so many iterations at most."""
    times, result, error = ours(train, 2.0 * c2 / train.n, test)
    yield cells(name, "fwexp auto", times, f"certified {result.gap / result.primal:.1e}", error)
    said: list[tuple[float, str]] = []
    items, parameters = (tools.Sequences.of(train), tools.Sequences.of(test)), SAME | {"c2": c2, "max_iterations": iterations}
    trained = tools.crfsuite(*items, "lbfgs", parameters, lambda text: said.append((time.process_time(), text)))
    start, losses = said[0][0], [(when, float(text[6:])) for when, text in said if text.startswith("Loss: ")]
    seconds, above = [when - start for when, _ in losses], [loss / train.n / result.dual - 1.0 for _, loss in losses]
    end = f"{above[-1]:.1e} above after {trained.seconds:.3g} s"
    yield cells(name, f"CRFsuite, {len(above)} iterations", reached(seconds, above), end, trained.test_error)


def of_dataset(dataset: str, name: str, c2: float, iterations: int) -> Iterator[tuple]:
    """Yield the rows of a data set."""
    yield from sequences(name, *fwexp.load_dataset(dataset), c2, iterations)


def long_sequence(length: int = 1000, K: int = 300, p: int = 500) -> Iterator[tuple]:
    """Yield the rows of one sequence with many labels and dense features."""
    rng = np.random.default_rng(0)
    follow, means, parts = rng.dirichlet(np.full(K, 0.02), size=K), rng.normal(size=(K, p)), []
    for _ in range(2):
        y = np.zeros(length, dtype=np.int64)
        for t in range(1, length):
            y[t] = rng.choice(K, p=follow[y[t - 1]])
        y[:K] = rng.permutation(K)  # CRFsuite knows only labels that occur in training.
        parts.append(fwexp.chain_problem([means[y] + 3.0 * rng.normal(size=(length, p))], [y], K, loss="errors"))
    yield from sequences(f"one sequence: T={length}, K={K}, p={p}", *parts, 1.0, 100)


def classes() -> Iterator[tuple]:
    """Yield the rows of multinomial and of binary logistic regression."""
    X, y = tools.module("sklearn.datasets").load_digits(return_X_y=True)
    letters, _ = fwexp.load_dataset("ocr")
    words = tools.bags_of_words(5_000, 20_000)
    problems = (
        ("digits", X / 16.0, y, 1.0 / len(y)),
        ("letters of OCR", tools.inputs(letters), letters.labels, 1e-3),
        ("bags of words", *words, 1.0 / len(words[1])),
        ("bags of words, two kinds", words[0], words[1] % 2, 1.0 / len(words[1])),
    )
    for name, inputs, labels, lam in problems:
        problem, binary = fwexp.multiclass_problem(inputs, labels), int(np.max(labels)) == 1
        name = f"{name}: n={problem.n}, d={problem.d}, lam={lam:.2g}"
        times, result, _ = ours(problem, lam)
        yield cells(name, "fwexp auto", times, f"certified {result.gap / result.primal:.1e}")
        # u = w_1 - w_0, where ours are w_1 = -w_0 = u/2: ||w||^2 = ||u||^2/2.
        C = (2.0 if binary else 1.0) / (lam * problem.n)
        for solver in ("lbfgs", *["liblinear"] * binary):
            times, tol = scikit_learn(problem, lam, inputs, labels, C, solver, result.dual)
            yield cells(name, f"LogisticRegression, {solver}", times, f"tol={tol:.0e}")


def scikit_learn(problem, lam: float, X, y, C: float, solver: str, bound: float) -> tuple[list[float], float]:
    """Return the seconds to each of `GAPS`, each with the loosest tolerance that reaches it, and the last tolerance."""
    seconds, gaps = [], []
    for tol in TOLERANCES:
        model = tools.module("sklearn.linear_model").LogisticRegression(
            C=C, fit_intercept=False, tol=tol, solver=solver, max_iter=10_000
        )
        with tools.module("threadpoolctl").threadpool_limits(1):
            seconds.append(tools.timed(lambda model=model: model.fit(X, y))[0])
        coef = np.vstack([-model.coef_, model.coef_]) / 2.0 if len(model.coef_) == 1 else model.coef_
        value = fwexp.evaluate(problem, np.ascontiguousarray(coef.T).ravel(), objective="log")
        gaps.append((0.5 * lam * value.norm_sq + value.hinge) / bound - 1.0)
        if gaps[-1] <= GAPS[-1]:
            break
    return reached(seconds, gaps), tol


PROBLEMS: dict[str, Callable] = {
    "conll": partial(of_dataset, "conll2000", "CoNLL-2000, lam = 2/n", 1.0, 100),
    "ocr": partial(of_dataset, "ocr", "OCR, lam = 1/n", 0.5, 400),
    "long": long_sequence,
    "classes": classes,
}


def main() -> int:
    """Measure and print."""
    given = arguments("Compare the log-loss with CRFsuite and scikit-learn.", "problem", PROBLEMS).names or list(PROBLEMS)
    pin()
    rows = []
    for name in given:
        for row in PROBLEMS[name]():
            print(*row, sep=" | ", file=sys.stderr, flush=True)
            rows.append(row)
    print(in_columns(HEAD, rows))
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("crf", main))
