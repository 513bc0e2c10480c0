"""Problems whose oracles are Python functions, and how these are asked: one example at a time, several at once, or by processes."""

import reprlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import get_ident
from typing import Any

import numpy as np

from fwexp.errors import OptionError, ParameterError, not_installed
from fwexp.problems.arrays import as_list
from fwexp.problems.python_labelings import can_be_kept, snapshot
from fwexp.problems.subsets import Examples

NOT_ASKED = object()
CHUNKS = 16  # into which examples are dealt to processes at most

# Messages of numpy, and of packages on its buffers, about a function that writes to w.
_READ_ONLY = ("assignment destination", "output array", "sort array", "array", "buffer source array")
_WRITES = {f"{what} is read-only" for what in _READ_ONLY}


class PythonProblem(Examples):
    """The base of problems whose labelings have no parts, and whose oracles Python calls.

    A class states its ``tiers``, has the fields of all problems, ``y`` (the true labelings), ``label_ptr`` (`arange(n + 1)`: a
    labeling is one object) and ``begins_single`` (whether single precision holds the features of the truth). Its methods are
    ``known(i, y)``, which returns a labeling with ``loss`` and ``psi``, ``augmented(i, w)``, ``predicted(i, w)`` and ``phi(i, y)``.
    """

    def psi(self, i: int, y: Any) -> Any:
        """Return psi_i(y)."""
        return self.known(i, y).psi

    def task_loss(self, i: int, y: Any) -> float:
        """Return L_i(y)."""
        return self.known(i, y).loss

    def forget(self) -> None:
        """Ask anew from here on."""


class Oracles:
    """The functions ``max_oracle``, ``decode`` and ``max_oracle_batch``, asked by ``n_jobs`` workers."""

    max_oracle: Callable
    decode: Callable | None
    max_oracle_batch: Callable | None
    n_jobs: int | None
    call: Callable[[str, Any], str]  # how messages write a call

    def __init__(self) -> None:
        self._ahead: dict[tuple[int, str, int], Any] = {}  # answers that wait, by thread

    @property
    def asks_several(self) -> bool:
        """True if one call for several examples saves time."""
        return self.max_oracle_batch is not None or self.n_jobs not in (None, 1)

    def ask_ahead(self, name: str, start: int, end: int, w: np.ndarray) -> None:
        """Ask the function called ``name`` of the examples start .. end at w at once, if that was wanted; the answers wait."""
        function, w = getattr(self, name), read_only(w)
        if name == "max_oracle" and self.max_oracle_batch is not None:
            answers = self._batch(start, end, w)
        elif self.n_jobs not in (None, 1) and function is not None:
            parallel, bounds = _workers(self.n_jobs), np.linspace(start, end, num=min(CHUNKS, end - start) + 1, dtype=int)
            parts = parallel((_answers, (function, range(*pair), w), {}) for pair in pairwise(bounds.tolist()))
            answers = [y for part in parts for y in part]
        else:
            return
        self._ahead.update({(get_ident(), name, i): y for i, y in zip(range(start, end), answers, strict=True)})

    def _batch(self, start: int, end: int, w: np.ndarray) -> Sequence:
        answers = self._asked("max_oracle_batch", "indices", self.max_oracle_batch, np.arange(start, end), w)
        call = self.call("max_oracle_batch", "indices")
        returned = f"what {call.partition('(')[0]} returns"
        answers = answers if isinstance(answers, np.ndarray) else as_list(returned, answers, "labelings")
        if len(answers) != end - start:
            got = f"{len(answers)} for indices {start} .. {end - 1}"
            raise ParameterError(f"{call} must return a labeling per index, got {got}")
        return answers

    def _answer(self, name: str, i: int, w: np.ndarray) -> Any:
        """Return the answer of the function called ``name`` at w, which may change afterwards."""
        y = self._ahead.pop((get_ident(), name, i), NOT_ASKED) if self._ahead else NOT_ASKED
        if y is NOT_ASKED:
            function, w = getattr(self, name), read_only(w)
            y = self._batch(i, i + 1, w)[0] if function is None else self._asked(name, i, function, i, w)
        if not can_be_kept(y):
            raise ParameterError(f"{self.call(name, i)} must return a labeling, got {short(y)}")
        return y

    def _asked(self, name: str, what, function: Callable, *arguments) -> Any:
        try:
            return function(*arguments)
        except ValueError as error:
            if str(error) not in _WRITES:
                raise
            raise ParameterError(f"{self.call(name, what)} must not write to w, which is read-only: {error}") from error


def read_only(w: np.ndarray) -> np.ndarray:
    """Return weights for users' functions, which get an error if they write to them."""
    w = w.view()
    w.flags.writeable = False
    return w


def _answers(function: Callable, examples: Sequence[int], w: np.ndarray) -> list:
    """Return the answers of a function for several examples; it may reuse its answers, so they are copied."""
    return [snapshot(function(i, w)) for i in examples]


def _workers(n_jobs: int):
    try:
        from joblib import Parallel
    except ImportError as error:
        raise OptionError(not_installed("n_jobs needs", "joblib", "parallel")) from error
    return Parallel(n_jobs=n_jobs)


def short(value: Any) -> str:
    return " ".join(reprlib.repr(value).split())
