"""The time of every oracle next to its roofline, the least time on one core: ``make bench ARGS=roofline``.

The roofline is the time for the counted operations or for the counted bytes (``families``), whichever is longer, at rates that are
measured in the same turns. Data of examples move at the rate of arrays as large as the data of all examples. Weights and scores
move at the rate of the first cache even if they are larger, so that the roofline is a lower bound.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.families import FAMILIES, LOG_LOSS, Work, problems
from benchmarks.yardstick import Measured, best, bytes_per_second, operations_per_second, summary
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.loss_terms import HINGE, Softmax
from fwexp.problems.protocol import UNCONSTRAINED, from_public

TIMES = 5


class Peaks(NamedTuple):
    """Rates of one core, per second."""

    operations: float
    cached: float  # bytes of the first cache
    streamed: float  # bytes of the examples


def roofline(work: Work, peaks: Peaks) -> tuple[float, str]:
    """Return the least seconds of some work, and which of its counts they follow from."""
    limits = {"operations": work.operations / peaks.operations, "bytes": work.weights / peaks.cached + work.data / peaks.streamed}
    bound = max(limits, key=limits.get)
    return limits[bound], bound


def oracles() -> Iterator[tuple]:
    """Yield names, problems and loss terms, the work of an oracle call, and why it takes longer than its roofline."""
    for name, problem, work, why in problems():
        yield name, problem, HINGE, work, why
        if name == "chain":
            yield "chain, log-loss", problem, Softmax(0.0, 1.0), LOG_LOSS.work(**FAMILIES[name].sizes), LOG_LOSS.why


def beside_rooflines(unit: str, floor: Callable[[], float]) -> list[Measured]:
    """Print the time of every oracle, its roofline, the factor between them and why it remains; return the times."""
    heads = ("us", "roofline us", "factor", "kop", "kB", "kB data", "Gop/s", "GB/s", "GB/s data", "bound by")
    print(f"\n{'an oracle call':18}" + "".join(f"{head:>12}" for head in heads) + "  why the factor remains")
    measured = []
    for name, problem, objective, work, why in oracles():
        base, size = floor(), problem.n * work.data
        # In turns, because a busy neighbour on the same core slows all of them down.
        rounds = [
            (oracle_seconds(problem, objective), operations_per_second(), bytes_per_second(0), bytes_per_second(size))
            for _ in range(TIMES)
        ]
        times, *rates = zip(*rounds, strict=True)
        measured.append(summary(f"oracle pass, {name}", unit, [time / base for time in times]))
        peaks, call = Peaks(*map(max, rates)), min(times) / problem.n
        least, bound = roofline(work, peaks)
        counts = "".join(f"{count / 1e3:12.2f}" for count in (work.operations, work.weights, work.data))
        speeds = "".join(f"{rate / 1e9:12.0f}" for rate in peaks)
        print(f"{name:18}{call * 1e6:12.3f}{least * 1e6:12.3f}{call / least:12.1f}{counts}{speeds}{bound:>12}  {why}", flush=True)
    return measured


def oracle_seconds(problem, objective=HINGE) -> float:
    """Return the seconds of one call of the oracle for every example at random weights, scores included."""
    evaluate = Evaluator(problem, objective)
    w = from_public(problem, np.random.default_rng(0).normal(size=problem.d) / np.sqrt(problem.d))
    nonnegative = getattr(problem, "nonnegative", UNCONSTRAINED)
    w[nonnegative] = abs(w[nonnegative])
    evaluate.oracles(w)
    return best(lambda: evaluate.oracles(w), 5)
