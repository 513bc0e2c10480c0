"""What calls of the oracle cost at the weights of stored runs, for table 1 of the ICML 2016 paper."""

from collections.abc import Iterable
from time import thread_time

import numpy as np

from fwexp.plots.icml2016_table import REPEATS, SAMPLED


def costs(runs: Iterable, data_dir):
    """Return a frame with ``key``, ``n``, ``d`` and the seconds of a call: ``least``, ``mean`` and ``most``; a row per run."""
    import pandas as pd

    from fwexp.api import with_weights
    from fwexp.problems import protocol
    from fwexp.run.runner import load

    rows = []
    for run in runs:
        train, *_ = load(run.config["dataset"], data_dir)
        problem, w = with_weights(protocol.original(train), run.weights())
        rows.append({"key": run.key, "n": train.n, "d": train.d, **seconds_per_call(problem, w)})
    return pd.DataFrame(rows, columns=["key", "n", "d", "least", "mean", "most"])


def seconds_per_call(problem, w: np.ndarray) -> dict[str, float]:
    """Return the seconds of a call of the max-oracle at internal weights w, scores and loss included: CPU time of this thread.

    Least, mean and most are of the same calls, of examples spread evenly. Calls may take less than it takes to start one: the
    shortest of some repetitions counts, less the shortest of none.
    """
    from fwexp.problems.evaluation import Evaluator

    evaluator = Evaluator(problem)
    evaluator.oracle(0, w)  # compiles
    hinges, losses = np.empty(problem.n), np.empty(problem.n)

    def seconds(start: int, end: int) -> float:
        before = thread_time()
        evaluator.oracles_in_range(start, end, w, hinges, losses)
        return thread_time() - before

    nothing = min(seconds(0, 0) for _ in range(20 * REPEATS))
    chosen = np.linspace(0, problem.n - 1, min(SAMPLED, problem.n)).astype(int)
    calls = [max(min(seconds(i, i + 1) for _ in range(REPEATS)) - nothing, 0.0) for i in chosen]
    return {"least": min(calls), "mean": float(np.mean(calls)), "most": max(calls)}
