"""From the options of a solver to one that runs: checks before anything is compiled, the choice of a class, and the start."""

from collections.abc import Collection
from typing import Any

from fwexp.errors import OptionError, listed
from fwexp.options import STRUCTURED, make_options
from fwexp.problems import tiers
from fwexp.problems.loss_terms import HINGE
from fwexp.problems.protocol import original
from fwexp.solvers.base import Solver


class Choice(Solver):
    """Name of a solver whose ``choose`` returns the solver that runs; it takes no steps itself."""

    chooses = True

    @classmethod
    def block_method(cls, problem, lam, iterates, objective) -> tuple[type[Solver], Any]:
        """Return the best block method for an objective, and its options: such methods can start from any weights."""
        raise NotImplementedError


def start(
    cls: type[Solver],
    problem,
    lam: float,
    options,
    seed: int = 0,
    iterates=("last",),
    order=None,
    warm_start=None,
    objective=HINGE,
) -> Solver:
    """Return a solver of the class that ``cls`` chooses, at its start, with the name of ``cls``; see `Solver`."""
    chosen, options = cls.choose(options, problem, lam, iterates, order, objective)
    solver = chosen(problem, lam, options, seed, iterates, order, warm_start, objective)
    solver.name, solver.title = cls.name, cls.title
    return solver


def check_options(cls: type[Solver], given, others: Collection[str] = ()) -> object:
    """Return ``cls.Options`` made from a mapping; ``others`` that the same call accepts are suggested for misspelt names."""
    return make_options(f"solver {cls.name}", cls.Options, given, others)


def check_needs(cls: type[Solver], problem, options, name: str | None = None, objective=HINGE) -> None:
    """Check, before anything is compiled, that a solver with these options can minimise an objective on a problem."""
    check_objective(cls, problem, name or cls.name, objective)
    for tier in (tiers.REQUIRED, *cls.needs(options)):
        if not tiers.has(problem, tier):
            always = tier in (tiers.REQUIRED, *cls.needs(cls.Options()))
            needs = f"solver {name or cls.name}{'' if always else ' with these options'} needs the tier {tier}"
            family = type(original(problem)).__name__
            if lacking := tiers.lacking(problem, tier):
                raise OptionError(f"{needs} ({', '.join(lacking)}), which {family} does not have")
            if tier in tiers.stated(problem):
                raise OptionError(f"{needs}, which {family} has for graphs without cycles only")
            raise OptionError(f"{needs}, which {family} does not state in its attribute tiers")
    if len(getattr(problem, "nonnegative", ())) and not cls.constraints:
        raise OptionError(
            f"solver {name or cls.name} cannot keep weights nonnegative; accepted: {listed(_constrained(), 'solver')}"
        )


def check_objective(cls: type[Solver], problem, name: str, objective) -> None:
    """Check that the problem and the solver have the objective."""
    check_probabilities(problem, objective)
    if objective.name not in cls.objectives:
        from fwexp.solvers import of_kind  # which loads them all

        accepted = sorted(name for name, cls in of_kind(STRUCTURED).items() if objective.name in cls.objectives)
        raise OptionError(f"solver {name} does not minimise the objective {objective.name}; accepted: {listed(accepted, 'solver')}")


def check_probabilities(problem, objective) -> None:
    """Check that the problem has probabilities of labelings if the objective needs them."""
    if objective != HINGE and not tiers.has(problem, "expectations"):
        family = type(original(problem)).__name__
        needs = f"objective {objective.name} needs probabilities of labelings (the tier expectations)"
        lacks = "has for graphs without cycles only" if "expectations" in tiers.stated(problem) else "does not have"
        raise OptionError(f"{needs}, which {family} {lacks}; accepted here: hinge")


def _constrained() -> list[str]:
    """Return the names of the solvers that keep weights nonnegative."""
    from fwexp.solvers import of_kind  # which loads them all

    return sorted(name for name, cls in of_kind(STRUCTURED).items() if cls.constraints)
