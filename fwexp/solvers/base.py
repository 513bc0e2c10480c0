"""Base class of solvers: options, a start, steps and iterates. A solver reads no clock and prints nothing."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from fwexp.driver.iteration import NO_BUDGET, Budget, Iteration, Point, Reason, Stop, Terms
from fwexp.errors import ParameterError, WarmStartError
from fwexp.jit.compilation import warn_if_interpreted
from fwexp.options import STRUCTURED, NoOptions, choice
from fwexp.problems import tiers
from fwexp.problems.loss_terms import HINGE, ROUNDING, Hinge, Softmax
from fwexp.problems.protocol import costly_oracle, exact_oracle, forget, original, radii_sq
from fwexp.types import FloatArray, IntArray, Problem, SolverProblem

__all__ = ["NO_BUDGET", "Budget", "Point", "Reason", "Solver", "Stop", "Terms"]


@dataclass(frozen=True)
class PlainOrder:
    """Options of methods that go through the examples in a plain order.

    Attributes
    ----------
    sampling : str
        The order of the examples: drawn ``uniform`` at random, a random permutation (``perm``) in every pass, or ``cyclic``.
    """

    sampling: str = choice("uniform", "perm", "cyclic")


class Counted:
    """Base class of states whose ``iterate`` counts: steps first, and then oracle calls."""

    step = property(lambda self: int(self.iterate.counts[0]))
    oracle_calls = property(lambda self: int(self.iterate.counts[1]))


class Solver(Iteration):
    """Base class of the solvers; a subclass is one file that reads like its algorithm.

    A subclass has a ``name``, a ``title``, ``Options``, and the methods ``start``, ``advance`` and ``point``. By default ``step``
    and ``oracle_calls`` are counted in its ``state``. ``fwexp.testing.check_solver`` checks a subclass.

    Parameters
    ----------
    problem : problem
        Problem of a family with the tiers that ``needs`` names. ``user_problem`` is the problem itself, ``problem`` its ``view``.
    lam : float
        Strength of the regularisation.
    options : Options
        The solver's own options.
    seed : int
        Seed of the random choices.
    iterates : tuple of str
        The iterates that the run logs, out of the class's ``iterates``.
    order : int array, optional
        Block indices, one per step, instead of a sampling rule.
    warm_start : Solver, optional
        Solver of the same class on the same problem, whose dual variables are the start, if the class ``takes_warm_start``.
    objective : Hinge or Softmax
        Loss term H_i(w) of the objective.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = (STRUCTURED,)  # of problem, see `fwexp.options.KINDS`
    objectives: ClassVar[tuple[str, ...]] = ("hinge",)  # those that it minimises, see `fwexp.problems.loss_terms`
    Options: ClassVar[type] = NoOptions
    iterates: ClassVar[tuple[str, ...]] = ("last",)
    has_dual: ClassVar[bool] = True  # whether points have a dual objective
    stochastic: ClassVar[bool] = False  # whether the seed matters
    takes_order: ClassVar[bool] = False
    takes_warm_start: ClassVar[bool] = False
    constraints: ClassVar[bool] = False  # whether it keeps weights nonnegative if a problem requires that
    chooses: ClassVar[bool] = False  # whether `choose` returns another class or other options, which define the iterates

    refers_to_inputs: ClassVar[bool] = False  # whether weights are of training inputs, not of features
    lost: Mapping[str, int] = MappingProxyType({})  # work lost with workers, which changed the result: amounts by kind

    problem: SolverProblem
    user_problem: Problem
    lam: float
    options: Any
    objective: Hinge | Softmax

    def __init__(
        self,
        problem: Any,
        lam: float,
        options: Any,
        seed: int = 0,
        iterates: tuple[str, ...] = ("last",),
        order: IntArray | None = None,
        warm_start: "Solver | None" = None,
        objective: Hinge | Softmax = HINGE,
    ) -> None:
        if warm_start is not None and not self.takes_warm_start:
            raise WarmStartError(f"solver {self.name} takes no warm_start")
        warn_if_interpreted()
        forget(problem)
        self.user_problem, self.lam, self.options, self.objective = problem, lam, options, objective
        self.problem = self.view(problem)
        self.prepare()
        self.start(seed, iterates, order, warm_start)

    @cached_property
    def terms(self) -> Terms:
        """Facts that do not change during a run; a subclass that has a cache, for example, replaces some."""
        problem = self.user_problem
        certifies = self.has_dual and exact_oracle(problem)
        return Terms(problem.n, has_dual=self.has_dual, certifies=certifies, costly_oracle=costly_oracle(problem))

    def prepare(self) -> None:
        """Set up buffers and everything that follows from problem and options, but is no state."""

    def view(self, problem: Any) -> Any:
        """Return a training or test problem of the caller in the form that the solver's weights fit."""
        return problem

    @classmethod
    def choose(
        cls,
        options: Any,
        problem: Any,
        lam: float,
        iterates: Sequence[str] | None = None,
        order: IntArray | None = None,
        objective: Hinge | Softmax = HINGE,
    ) -> tuple[type["Solver"], Any]:
        """Return the class and the options of a run on a problem, which a solver such as ``auto`` chooses at the start.

        ``iterates`` is None if the caller names none.
        """
        return cls, options

    @classmethod
    def needs(cls, options: Any) -> tuple[str, ...]:
        """Return the tiers (`fwexp.problems.tiers.TIERS`), beyond the required one, that runs with these options need."""
        return ()

    @classmethod
    def available_iterates(cls, options: Any) -> tuple[str, ...]:
        """Return the iterates that exist with these options: of ``last``, ``wavg``, ``tavg`` and ``avg``."""
        return cls.iterates

    @classmethod
    def steps_within(cls, options: Any, n: int, calls: int) -> int:
        """Return how many steps ``calls`` of the oracle suffice for with n examples, without a cache."""
        return calls

    @classmethod
    def memory(cls, problem: Any, options: Any, iterates: tuple[str, ...]) -> int:
        """Return how many bytes a run takes at least, in addition to its problem and to memory in use."""
        labels = int(problem.label_ptr[-1]) if hasattr(problem, "label_ptr") else problem.n
        # Weights of the solver and of the log; of every example a loss, a value and the labeling that the oracle found.
        return 8 * (3 * problem.num_weights + 3 * problem.n) + 4 * labels

    @abstractmethod
    def start(self, seed: int, iterates: tuple[str, ...], order: IntArray | None, warm_start: Any) -> None:
        """Set ``state`` to the state at step 0; ``order`` is None or int64 indices from 0, one per step."""

    def check_warm_start(self, other: "Solver") -> None:
        """Raise a `WarmStartError` if this solver cannot start from the dual variables of the solver ``other``."""
        if type(other) is not type(self):
            raise WarmStartError(f"solver {self.name} cannot start from the dual variables of {other.name}; accepted: {self.name}")

    def check_same_objective(self, other: "Solver") -> None:
        """Raise a `WarmStartError` if the dual variables of the solver ``other`` are those of another objective."""
        if other.objective != self.objective:
            wanted, got = (f"{one.name} at temperature {one.temperature:g}" for one in (self.objective, other.objective))
            raise WarmStartError(f"warm_start must have the objective {wanted}, got {got}")

    def dual_value(self, ell: float, norm_sq: float) -> float:
        """Return D = ell - lam/2 ||A a||^2 (``norm_sq``), rounded down if ``ell`` includes an entropy."""
        return ell - 0.5 * self.lam * norm_sq - (self.rounding(ell, norm_sq) if self.objective != HINGE else 0.0)

    def rounding(self, total: float, norm_sq: float) -> float:
        """Return a bound of the rounding error of P or D, of which ``total`` is the mean of the H_i or of their dual terms.

        Scores of examples are sums of terms as large as ||w|| (``norm_sq`` is ||w||^2) times the norm of their features.
        """
        regularisation = 0.5 * self.lam * norm_sq * math.sqrt(self.problem.num_weights)  # a sum of so many squares
        return ROUNDING * (abs(total) + regularisation + self._radius * math.sqrt(max(norm_sq, 0.0)))

    @cached_property
    def _radius(self) -> float:
        """Mean bound on the sums over positions of the norms that make up ||psi_i(y)||; 0 where the problem has none."""
        problem = self.problem
        if not tiers.has(problem, "bounds"):
            return 0.0
        lengths = np.diff(getattr(original(problem), "label_ptr", np.arange(problem.n + 1)))
        return float(np.sqrt(lengths * radii_sq(problem)).mean())

    def start_near(self, w: FloatArray) -> None:
        """Start from dual variables that belong to given internal weights ``w``, as far as they can; called before the first step.

        Raises `WarmStartError` if the solver cannot do that.
        """
        raise WarmStartError(f"solver {self.name} cannot start from weights")

    @property
    def origin(self) -> FloatArray | None:
        """The internal weights w_0 if the objective has lam/2 ||w - w_0||^2 instead of lam/2 ||w||^2, otherwise None."""
        return None

    @origin.setter
    def origin(self, w: FloatArray) -> None:
        raise ParameterError(f"solver {self.name} cannot regularise the distance to weights; accepted: auto, bcfw, block_entropic")

    @property
    def known_hinge(self) -> float | None:
        """1/n sum_i H_i(w) at the last iterate if the solver's own oracle calls have shown it, otherwise None."""
        return None
