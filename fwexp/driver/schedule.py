"""The schedule of the log, in oracle calls, and how often a run is saved."""

import math
from collections.abc import Iterator

CHECKPOINT_SECONDS = 30.0  # default time between two savings of a run


def log_points(schedule, n: int, max_calls: int) -> Iterator[int]:
    """Yield the increasing numbers of oracle calls (> 0) at which a run is logged; the last is ``max_calls``.

    ``"default"`` has 2^-7 .. 2^-1 of a pass, every whole pass to 50, then pass counts that grow by 1.1. A number is a period in
    passes. A sequence has the pass counts themselves. ``"steps"`` has none: rows follow numbers of steps.
    """
    before = 0
    for passes in _pass_counts(schedule, n):
        calls = math.ceil(min(passes * n - 1e-9, max_calls))
        if calls > before:
            yield calls
            before = calls
        if calls == max_calls:
            return
    if before < max_calls:
        yield max_calls


def _pass_counts(schedule, n: int) -> Iterator[float]:
    if schedule == "steps":
        return
    if isinstance(schedule, tuple):
        yield from schedule
        return
    if schedule != "default":
        count = 0
        while True:
            count += 1
            yield count * max(schedule, 1.0 / n)
    for exponent in range(-7, 0):
        yield 2.0**exponent
    passes = 1
    while True:
        yield passes
        passes = passes + 1 if passes < 50 else -(-11 * passes // 10)
