"""The catalogue of claims: their statements, the runs that decide them, and their criteria.

A claim is a function in a module below ``experiments/``, or in the module of a paper or figure of another package, under the
decorator `claim`. Its docstring is its criterion: the content of the paper's sentence, and how it is measured. Criteria were
written from the text, before the runs were looked at. The function gets the `Runs` that it needs and returns a `Finding`, or
raises `Undecided`. A claim without runs gets no argument: it computes its finding within seconds, mostly on the small problems
of ``experiments/theory``.

If the sentence names no number and the criterion needs one, we choose a threshold: a keyword of the function, with other values
in ``vary``, for which the verdict is reported as well. The docstring names it in braces, as in ``{factor:g}``.
"""

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, TypeVar

from fwexp import plugins
from fwexp.errors import ParameterError, unknown
from fwexp.files.checksums import sha256
from fwexp.papers.claims.verdict import Finding
from fwexp.papers.declarations import EXPERIMENTS, FIGURES, PAPERS, Figure, Need, import_experiments, papers_by_id

F = TypeVar("F", bound=Callable[..., Finding])


class Kind(StrEnum):
    """The kind of sentence that a claim is about, and what decides it."""

    DATA = "empirical, on the papers' data"
    STAND_IN = "empirical, on a stand-in"
    THEOREM = "theorem or identity"
    MISPRINT = "misprint"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, as `claim` registers it."""

    id: str
    statement: str
    place: str
    needs: tuple[Need, ...]
    vary: Mapping[str, Sequence[float]]  # values for each keyword of ``decide``, a threshold that is ours
    decide: Callable[..., Finding]
    shown_by: Figure | None = None
    changed: str = ""
    kind: Kind = Kind.DATA

    @property
    def paper(self) -> str:
        """The first part of the id."""
        return self.id.rpartition("-")[0]

    @property
    def figure(self) -> str:
        """The name of the figure that shows it, by default the first whose runs it needs; empty where none does."""
        if self.shown_by is not None:
            return self.shown_by.name
        return next((need.preset for need in self.needs if need.preset in FIGURES), "")

    @property
    def chosen(self) -> dict[str, float]:
        """The thresholds that are ours, as they are unless varied."""
        return dict(self.decide.__kwdefaults__ or {})

    @property
    def criterion(self) -> str:
        """When it holds."""
        return " ".join(inspect.getdoc(self.decide).format(**self.chosen).split())

    @property
    def split_by(self) -> tuple[str, ...]:
        """The options in which the methods of its runs differ."""
        return tuple(dict.fromkeys(option for need in self.needs for option in need.split_by))

    @property
    def digest(self) -> str:
        """A checksum of all that decides it: needs, thresholds, and the source of its function and of those that this one names."""
        return sha256("\n".join([repr(self.needs), repr(self.chosen), *_sources(self.decide, {})]).encode())

    @property
    def is_frozen(self) -> bool:
        """True if its criterion is the one in `FROZEN`."""
        return frozen().get(self.id) == self.digest


FROZEN = "criteria.json"
"""The file below ``experiments/`` with the digest of each criterion, which ``python -m tools.freeze`` writes before runs."""


@functools.cache
def frozen() -> dict[str, str]:
    """Return the frozen digests, by the ids of claims."""
    return json.loads(resources.files(EXPERIMENTS).joinpath(FROZEN).read_text(encoding="utf-8"))


def _sources(function: FunctionType, seen: dict[str, str]) -> list[str]:
    """Return the sources of a function, and of the functions and constants of criteria that it names."""
    function = inspect.unwrap(function)
    seen[_name(function)] = " ".join(inspect.getsource(function).split())
    for name in sorted(_names_in(function.__code__)):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            if _name(value) not in seen and value.__module__.startswith((EXPERIMENTS, __package__)):
                _sources(value, seen)
        elif isinstance(value, bool | int | float | str | tuple):
            seen.setdefault(name, repr(value))
    return [f"{name} = {text}" for name, text in sorted(seen.items())]


def _names_in(code: CodeType) -> set[str]:
    """Return the names in a function and in those inside of it, which comprehensions are until Python 3.11."""
    return set(code.co_names).union(*(_names_in(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


_REGISTERED: dict[tuple[str, str], Claim] = {}
"""By their package and id."""


def _package(module: str) -> str:
    return module.partition(".")[0]


def _name(function: Callable) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def claim(
    id: str,
    statement: str,
    *needs: Need,
    place: str,
    vary: Mapping[str, Any] = MappingProxyType({}),
    shown_by: Figure | None = None,
    changed: str = "",
    kind: Kind | None = None,
) -> Callable[[F], F]:
    """Register the function below as the criterion of a claim, whose id is a paper of the same package and a number.

    Parameters
    ----------
    id : str
        As in the list of claims: ``B13-1``; `ParameterError` if another function of the package has it.
    statement, place : str
        The statement, in our words, and its place in the paper: section and paragraph, caption or equation.
    *needs : Need
        Its runs, from `Figure.runs`; nothing where a computation decides it.
    vary : mapping
        Values for each keyword of the function, a threshold that is ours; the default is one of them.
    shown_by : Figure, optional
        The figure that shows it, if that is not the first whose runs it needs.
    changed : str
        What of the criterion was changed after its result was seen, and why.
    kind : Kind, optional
        By default an empirical one on the papers' data if it needs runs, otherwise a theorem or identity.
    """
    kind = kind or (Kind.DATA if needs else Kind.THEOREM)

    def register(decide: F) -> F:
        package = _package(decide.__module__)
        given = _REGISTERED.get((package, id))
        if given and _name(given.decide) != _name(decide):  # a module may be imported twice
            raise ParameterError(f"the id of a claim must be new, got {id!r}, which {_name(given.decide)} has")
        _REGISTERED[package, id] = Claim(id, statement, place, needs, vary, decide, shown_by, changed, kind)
        return decide

    return register


def all_claims() -> dict[str, Claim]:
    """Return all claims by id, in the order of the papers."""
    import_experiments()
    PAPERS.load_all()
    FIGURES.load_all()
    papers = papers_by_id()
    for (package, id), one in list(_REGISTERED.items()):
        if not (
            one.paper in papers
            and _package(PAPERS.module(papers[one.paper].name)) == package
            and id[len(one.paper) + 1 :].isdecimal()
        ):
            plugins.warn_left_out(
                f"claim {id!r} of {package}",
                ParameterError(
                    "its id must be that of a paper which the same package declares, followed by - and a number, as in B13-1; "
                    "modules below experiments/ declare one by Paper.declared(...)"
                ),
            )
            del _REGISTERED[package, id]
    order = list(papers)
    claims = sorted(_REGISTERED.values(), key=lambda one: (order.index(one.paper), int(one.id.rpartition("-")[2])))
    return {one.id: one for one in claims}


def shown_by(figure: str) -> tuple[str, ...]:
    """Return the ids of the claims that a figure shows, by its name."""
    return tuple(id for id, one in all_claims().items() if one.figure == figure)


def of_paper(name: str = "") -> dict[str, Claim]:
    """Return the claims of one paper, by the first part of its ids or the name of its figures, or one claim by its id."""
    claims = all_claims()
    if not name:
        return claims
    papers = {alias: paper.id for paper in PAPERS.values() for alias in (paper.id, paper.name)}
    if name in claims:
        return {name: claims[name]}
    if name not in papers:
        raise ParameterError(unknown("paper or claim", name, papers, claims))
    if not (found := {id: claim for id, claim in claims.items() if claim.paper == papers[name]}):
        raise ParameterError(f"paper {name!r} must have claims, got none with an id such as {papers[name]}-1")
    return found
