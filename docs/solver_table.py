"""Which solver runs on which family: a table for the documentation, from what solvers declare and families have."""

from collections.abc import Iterable, Iterator
from dataclasses import fields

from fwexp.errors import UserError
from fwexp.options import STRUCTURED
from fwexp.problems.tiers import families, tiers_of
from fwexp.solvers import Solver, check_options, of_kind


def table(solvers: Iterable[type[Solver]] | None = None, classes: Iterable[type] | None = None) -> str:
    """Return the table of solvers and families as Markdown: a row per solver, and per option value that needs other tiers."""
    classes = families() if classes is None else list(classes)
    rows = [["solver", *(cls.__name__.removesuffix("Problem") for cls in classes), "tiers it needs"], ["---"] * (2 + len(classes))]
    for solver in of_kind(STRUCTURED).values() if solvers is None else solvers:
        for needs, settings in _by_needs(solver).items():
            options = f" with {', '.join(f'`{setting}`' for setting in settings)}" if settings else ""
            runs = ["✓" if _runs(solver, needs, cls) else "–" for cls in classes]
            rows.append([f"`{solver.name}`{options}", *runs, ", ".join(needs)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _runs(solver: type[Solver], needs: Iterable[str], family: type) -> bool:
    """Return whether a solver runs on a family: the family has the tiers, and the solver keeps weights nonnegative if it must."""
    always = "nonnegative" in set(getattr(family, "_fields", ())) - set(getattr(family, "_field_defaults", ()))
    return set(needs) <= set(tiers_of(family)) and (solver.constraints or not always)


def _by_needs(solver: type[Solver]) -> dict[tuple[str, ...], list[str]]:
    """Return for the needed tiers the settings of single options that need them; the defaults first."""
    by_needs = {solver.needs(solver.Options()): []}
    usual = next(iter(by_needs))
    for name, value in _settings(solver):
        try:
            needs = solver.needs(check_options(solver, {name: value}))
        except UserError:  # it does not go with the other defaults
            continue
        if needs != usual:
            by_needs.setdefault(needs, []).append(f"{name}={str(value).lower()}")
    return by_needs


def _settings(solver: type[Solver]) -> Iterator[tuple[str, object]]:
    """Yield values to try of every option: all choices, or what switches it on or off."""
    for option in fields(solver.Options):
        for value in option.metadata.get("choices", (True, False, 0, 1)):
            if value is not option.default:
                yield option.name, value
