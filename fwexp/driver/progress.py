"""Progress of a run on standard error: a bar on a terminal, one line per logged pass in a file or pipe."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from fwexp.driver.clock import noticing
from fwexp.driver.trace import ERRORS, TRACE_COLUMNS, ending, is_known

ERASE = "\r\x1b[K"
FAR, FAR_PASSES = 50.0, 1e6  # estimates beyond: of a logarithm, which would overflow, and of passes, which are not shown
PROGRESS = 30.0  # seconds between two lines of progress, if they are not on a terminal
_kept_below = False  # whether the next line replaces the latest one


def print_line(text: str, *, keep_below: bool = False) -> None:
    """Write a line to standard error if it is open; the next line replaces one that is kept below."""
    global _kept_below
    with contextlib.suppress(OSError):
        print((ERASE if _kept_below else "") + text, end="" if keep_below else "\n", file=sys.stderr, flush=True)  # noqa: T201
    _kept_below = keep_below


Item = TypeVar("Item")


def counted(items: Sequence[Item], what: str) -> Iterator[Item]:
    """Yield items, and print how many are done: on a terminal in one line, which is erased at the end, else now and then."""
    on_terminal, when = sys.stderr.isatty(), -math.inf
    for number, item in enumerate(items):
        if on_terminal or time.monotonic() - when > PROGRESS:
            when = time.monotonic()
            print_line(f"{number} of {len(items)} {what}", keep_below=on_terminal)
        yield item
    if on_terminal:
        print_line("", keep_below=True)


def telling_of_compilation(enabled: bool) -> contextlib.AbstractContextManager:
    """Announce in this context that kernels are compiled, if enabled."""
    return noticing((lambda: print_line(f"compiling, for some 10 to 30 s; {_kept()}")) if enabled else None)


def _kept() -> str:
    """Return how long compiled kernels last."""
    from fwexp.jit import disk_cache

    folder, trouble = disk_cache.base()
    return "problems of this kind find it done from then on" if folder else f"in every process, as nothing can be kept: {trouble}"


_summaries = True


@contextlib.contextmanager
def without_summaries() -> Iterator[None]:
    """Leave out the last line of runs in this context, because the caller prints its own."""
    global _summaries
    _summaries = False
    try:
        yield
    finally:
        _summaries = True


def _in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, which shows widgets instead of a terminal."""
    kernel = sys.modules.get("ipykernel")
    return kernel is not None and "IPKernelApp" in getattr(sys.modules["IPython"].get_ipython(), "config", ())


def passes_left(rows: Sequence[tuple[float, float]], wanted: float) -> tuple[float, float]:
    """Return estimates of the passes until a gap, from the passes and gaps of the rows so far; infinite without progress."""
    # Gaps fall at a geometric rate (the first estimate) or as a power of the passes (the second), or between the two.
    (passes, gap), (before, former) = rows[-1], next((row for row in reversed(rows) if row[0] <= 0.5 * rows[-1][0]), rows[0])
    if not (0.0 < before < passes and 0.0 < gap < former):
        return math.inf, math.inf
    share = math.log(gap / wanted) / math.log(former / gap)  # of the fall since then that is left
    return (passes - before) * share, passes * math.expm1(min(math.log(passes / before) * share, FAR))


class Progress:
    """Display of a run on standard error: a bar of ``max_passes`` on a terminal, or lines, also where that is None."""

    # With ``wanted_gap``, a function of the dual objective, it shows how far the run is from the gap at which it ends.

    def __init__(
        self,
        max_passes: float | None,
        enabled: bool,
        label: str = "",
        wanted_gap: Callable[[float], float] | None = None,
    ) -> None:
        self._enabled, self._wanted_gap, self._rows = enabled, wanted_gap, []
        self._left = ""
        self._prefix = f"{label}: " if label else ""
        self._last = (0.0, None, 0.0)
        self._bar = None
        if enabled and max_passes is not None and (sys.stderr.isatty() or _in_notebook()):
            with contextlib.suppress(ImportError):  # Without tqdm, or without ipywidgets in a notebook, lines are printed.
                if _in_notebook():
                    from tqdm.notebook import tqdm
                else:
                    from tqdm import tqdm

                self._bar = tqdm(
                    total=max_passes,
                    desc=label or None,
                    leave=False,
                    bar_format="{desc} {percentage:3.0f}%|{bar}| pass {n:.1f} of {total:g}{postfix}, {remaining} left",
                )

    def go_on(self, passes: float) -> None:
        """Show that the run continues from so many passes."""
        self._last = (passes, None, 0.0)
        if self._bar is not None:
            self._bar.update(passes - self._bar.n)
        elif self._enabled:
            print_line(self._prefix + f"goes on from pass {passes:g}")

    def update(self, passes: float, gap: float | None, seconds: float) -> None:
        """Show how far the run is. A call is cheap."""
        self._last = (passes, gap, seconds)
        if self._bar is not None:
            if is_known(gap):
                self._bar.set_postfix_str(f"gap {gap:.2e}{self._left}", refresh=False)
            self._bar.update(passes - self._bar.n)

    def row(self, row: dict) -> None:
        """Show a logged row of the last iterate."""
        self._last = (row["passes"], row["gap"], row["time"])
        self._left = self._outlook(row)
        if self._enabled and self._bar is None:
            names = ["primal", "dual", "gap", *ERRORS, *(name for name in row if name not in TRACE_COLUMNS)]
            values = "".join(f"  {name.replace('_', ' ')} {row[name]:.4g}" for name in names if is_known(row.get(name)))
            seconds = f"  time {row['time']:.2f} s" if is_known(row["time"]) else ""
            print_line(self._prefix + f"pass {row['passes']:g}{values}{seconds}{self._left}")

    def _outlook(self, row: dict) -> str:
        """Return what is left of a run after a row: the gap that is wanted, and estimates of the passes and seconds until then."""
        if self._wanted_gap is None or not is_known(row["gap"]):
            return ""
        passes, wanted = row["passes"], self._wanted_gap(row["dual"])
        self._rows.append((passes, row["gap"]))
        if not 0.0 < wanted < row["gap"]:
            return ""
        low, high = passes_left(self._rows, wanted)
        if not high < FAR_PASSES:
            return f"  wanted {wanted:.2g}"
        seconds = f" ({low / passes * row['time']:.2g} to {high / passes * row['time']:.2g} s)" if is_known(row["time"]) else ""
        return f"  wanted {wanted:.2g}: about {low:.2g} to {high:.2g} more passes{seconds}"

    def close(self, status: str) -> None:
        """Remove the bar and print how the run ended."""
        if self._bar is not None:
            self._bar.close()
        if self._enabled and _summaries:
            passes, gap, seconds = self._last
            print_line(self._prefix + ending(status, passes, gap, seconds))
