"""What a solver is: options, a start, steps, and iterates. It reads no clock, prints nothing and never stops by itself."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fwexp._jit import register_jitable
from fwexp.checks import check_names, plain
from fwexp.errors import OptionError, ParameterError, shown
from fwexp.problems import protocol


class Point(NamedTuple):
    """An iterate: internal weights and the dual objective that goes with them (NaN where there is none)."""

    w: np.ndarray
    dual: float
    norm_sq: float | None = None  # ||w||^2, where the solver knows it


@dataclass(frozen=True)
class NoOptions:
    """The options of a solver that has none."""


class Solver(ABC):
    """Base class of the solvers; a subclass is one file that reads like its algorithm.

    Parameters
    ----------
    problem : problem
        Any family that has what ``needs`` names.
    lam : float
        Regularisation.
    options : Options
        The solver's own options.
    seed : int
        Seed of the random choices.
    iterates : tuple of str
        The iterates that will be asked for, out of the class's ``iterates``.
    order : int array, optional
        Block indices, one per step, instead of a sampling rule.
    warm_start : Solver, optional
        A solver of the same class on the same problem, whose dual variables are the start.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    Options: ClassVar[type] = NoOptions
    needs: ClassVar[tuple[str, ...]]  # functions of the protocol beyond vectors of parts
    iterates: ClassVar[tuple[str, ...]] = ("last",)
    stochastic: ClassVar[bool] = False  # whether the seed matters
    has_dual: ClassVar[bool] = True
    takes_order: ClassVar[bool] = False
    constraints: ClassVar[bool] = False  # whether it keeps weights nonnegative that a problem says must be

    has_cache: bool = False  # whether there may be steps that need no oracle call
    cache_hits: int = 0  # such steps so far
    refers_to_inputs: ClassVar[bool] = False  # whether weights are of training inputs, not of features
    calls_per_step: int = 1  # the fewest oracle calls by which the solver can advance
    pauses: bool = False  # whether ``advance`` is to return wherever its own oracle calls have shown ``known_hinge``

    state: Any = None  # all that the solver changes: a record (`fwexp.record`)

    def __init__(self, problem, lam, options, seed=0, iterates=("last",), order=None, warm_start=None) -> None:
        self.given, self.lam, self.options = problem, lam, options
        self.problem = self.view(problem)
        self.prepare()
        self.start(seed, iterates, order, warm_start)

    def prepare(self) -> None:  # noqa: B027 - a solver may have no need of it
        """Set up what is no state: buffers, and what can be computed from problem and options."""

    def view(self, problem):
        """Return a training or test problem as this solver sees it; its weights are for that problem."""
        return problem

    @classmethod
    def available_iterates(cls, options) -> tuple[str, ...]:
        """Return the iterates that exist with these options."""
        return cls.iterates

    @abstractmethod
    def start(self, seed, iterates, order, warm_start) -> None:
        """Set ``state`` to that of step 0."""

    @property
    def step(self) -> int:
        """Steps so far."""
        return self.state.step

    @property
    def oracle_calls(self) -> int:
        """Oracle calls so far."""
        return self.state.oracle_calls

    def restore(self, state) -> None:
        """Go on from a state that a solver of the same class, problem and options had."""
        self.state = state

    def check_warm_start(self, other: "Solver") -> None:
        """Refuse to start from the dual variables of another kind of solver."""
        if type(other) is not type(self):
            raise OptionError(f"solver {self.name} cannot start from the dual variables of {other.name}; accepted: {self.name}")

    @abstractmethod
    def advance(self, calls: int, max_steps: int) -> None:
        """Take steps while neither ``oracle_calls > calls`` nor ``step > max_steps`` would result; 0, 0 only compiles."""

    @abstractmethod
    def point(self, iterate: str) -> Point:
        """Return an iterate."""

    @property
    def known_hinge(self) -> float | None:
        """1/n sum_i H_i(w) at the last iterate if the solver's own oracle calls have shown it, else None."""
        return None

    def exact_dual(self) -> float:
        """Return the dual objective of the last iterate, recomputed from the dual variables where they are kept."""
        return self.point("last").dual

    def extras(self) -> dict[str, float]:
        """Return the solver's own columns of the trace: ``gap_estimate``, ``cache_hits``, ``atoms``."""
        return {}


def check_options(cls: type[Solver], given, others: Collection[str] = ()) -> object:
    """Return ``cls.Options`` made from a mapping.

    Parameters
    ----------
    cls : type
        The solver.
    given : mapping
    others : collection of str
        Further names that the same call takes; suggested for misspelt ones.

    Raises
    ------
    OptionError
        An option that the solver does not have.
    ParameterError
        A value that the option does not accept.
    """
    return cls.Options(**check_fields(f"solver {cls.name}", cls.Options, given, defaults=False, others=others))


def check_fields(owner: str, options: type, given, *, defaults: bool = True, others: Collection[str] = ()) -> dict:
    """Return a mapping of the fields of an options dataclass, with every value checked; numpy's scalars become Python's.

    A field's metadata may list the accepted values (``choices``) or hold a function that returns the checked value
    (``check``).
    """
    known = {field.name: field for field in fields(options)}
    checked = {name: field.default for name, field in known.items()} if defaults else {}
    check_names(owner, given, known, others)
    for key, value in given.items():
        value = plain(value)
        choices, check = known[key].metadata.get("choices"), known[key].metadata.get("check")
        if choices is not None and (type(value) is not type(choices[0]) or value not in choices):
            allowed = ", ".join(str(c).lower() if isinstance(c, bool) else str(c) for c in choices)
            raise ParameterError(f"{owner}: {key} must be one of {allowed}; got {shown(value)}")
        checked[key] = check(value) if check is not None else value
    return checked


def check_needs(cls: type[Solver], problem) -> None:
    """Refuse, before anything is compiled, a problem that lacks what the solver needs."""
    missing = [name for name in cls.needs if not protocol.registers(problem, getattr(protocol, name))]
    if missing:
        family = type(protocol.original(problem)).__name__
        raise OptionError(f"solver {cls.name} needs {', '.join(missing)}, which {family} does not have")
    if len(getattr(problem, "nonnegative", ())) and not cls.constraints:
        raise OptionError(f"solver {cls.name} cannot keep weights nonnegative; accepted: {', '.join(_constrained())}")


def _constrained() -> list[str]:
    """Return the names of the solvers that keep weights nonnegative."""
    found, classes = set(), [Solver]
    while classes:
        cls = classes.pop()
        classes += cls.__subclasses__()
        if cls.constraints and cls.__module__.startswith("fwexp."):
            found.add(cls.name)
    return sorted(found)


@register_jitable
def clipped_step(gap, curvature):
    """Return the exact line-search step gap / curvature, clipped to [0, 1] (1 where the dual is linear and rises)."""
    if gap <= 0.0:
        return 0.0
    return 1.0 if gap >= curvature else gap / curvature
