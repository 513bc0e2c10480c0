"""Types of the public API, for annotations in fwexp and in your code."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import NDArray

    AnyArray: TypeAlias = NDArray[Any]
    FloatArray: TypeAlias = NDArray[np.float64]
    IntArray: TypeAlias = NDArray[np.int64]
else:

    class ArrayLike:
        """A stand-in for numpy's union, whose members are private, so that signatures show its name."""

        __module__ = "numpy.typing"

    AnyArray = FloatArray = IntArray = np.ndarray  # as signatures and pages show them


AnyPath: TypeAlias = str | PathLike[str]
Lam: TypeAlias = float | str
"""A number, or a rule such as ``"1/n"`` or ``"8/n"``."""
Schedule: TypeAlias = Literal["default", "steps"] | float | Sequence[float]
Iterate: TypeAlias = Literal["last", "wavg", "tavg", "avg"]
ObjectiveName: TypeAlias = Literal["hinge", "log", "softmax_margin"]
Loss: TypeAlias = Literal["share", "errors"]
Rescaling: TypeAlias = Literal["margin", "slack"]
Weights: TypeAlias = slice | Sequence[int] | AnyArray
"""Some of the weights: a slice, indices or a mask."""
Row: TypeAlias = dict[str, Any]
"""A row of the trace, by column."""
Callback: TypeAlias = Callable[[Row], object]
Metrics: TypeAlias = Callable[[Sequence[Any]], Mapping[str, float]]


class Problem(Protocol):
    """A set of examples to train or evaluate on.

    Attributes
    ----------
    n : int
        Number of examples.
    d : int
        Length of w.
    """

    @property
    def n(self) -> int: ...

    @property
    def d(self) -> int: ...


class SolverProblem(Problem, Protocol):
    """A problem as solvers have it; families add arrays of their own.

    Attributes
    ----------
    num_weights : int
        Length of the internal w.
    """

    @property
    def num_weights(self) -> int: ...


class SetOfExamples(Problem, Protocol):
    """A problem as constructors such as `fwexp.chain_problem` return it: subsets of its examples are problems, too."""

    def __len__(self) -> int: ...

    def __getitem__(self, indices: int | Weights, /) -> "SetOfExamples": ...

    def subset(self, indices: Weights) -> "SetOfExamples":
        """Return the problem of some of the examples, with the same weights."""
