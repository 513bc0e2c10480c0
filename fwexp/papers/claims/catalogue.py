"""The catalogue of claims: what is claimed, which runs decide it, and by which criterion.

A claim is a function in the module of its paper, under the decorator `claim`; its docstring is its criterion, which says what
the sentence of the paper says and how that is measured; it was written from the text, before the runs were looked at. It gets
the `Runs` that it needs and returns a `Finding`, or raises `Undecided`. A claim that needs no runs gets nothing: it computes
what decides it, in a few seconds at most, mostly on `small` problems.

Where the sentence names no number and the criterion needs one, that threshold is ours: a keyword of the function, with the
values in ``vary`` for which the verdict is told as well. The docstring names it in braces, as in ``{factor:g}``.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from fwexp.errors import ParameterError, unknown
from fwexp.papers.catalogue import modules_of_experiments
from fwexp.papers.claims.verdict import Finding

PAPERS = {
    "B13": ("icml2013", "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs (ICML 2013)"),
    "G16": ("icml2016", "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs (ICML 2016)"),
    "L": ("lecture", "Lecture note on Frank-Wolfe methods and structural SVMs"),
    "R": ("review", "Review of Frank-Wolfe variants"),
}
"""By the first part of their claims' ids: the name that figures have, and the title."""

DECLARES = "\n@claim("  # in a module that has claims: others are not imported for them


@dataclass(frozen=True)
class Need:
    """Runs of an experiment preset.

    Attributes
    ----------
    preset : str
        A name in ``conf/experiment``, mostly that of a figure.
    methods : tuple of str
        Names of methods, as in ``conf/solver``; all where it is empty. The reference run of the preset, which bounds the
        optimum, is always among them.
    split_by : tuple of str
        Options in which methods differ there, as in `fwexp.methods.method_of`.
    where : mapping
        Values that the configuration has: ``{"dataset": "ocr", "lam": 0.01}``; a tuple is one of several values.
    """

    preset: str
    methods: tuple[str, ...] = ()
    split_by: tuple[str, ...] = ()
    where: Mapping = ()


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Attributes
    ----------
    id : str
        As in the list of claims: ``B13-1``.
    statement : str
        What is claimed, in our words.
    quote : str
        Where the paper says it, with some of its words.
    figure : str
        The figure of the catalogue that shows it; empty where none does.
    needs : tuple of Need
        Its runs; nothing where a computation decides it.
    vary : mapping
        Values for each keyword of ``decide``, a threshold that is ours; the default is one of them.
    decide : callable
        From `Runs`, or from nothing, to a `Finding`.
    """

    id: str
    statement: str
    quote: str
    figure: str
    needs: tuple[Need, ...]
    vary: Mapping[str, Sequence[float]]
    decide: Callable[..., Finding]

    @property
    def paper(self) -> str:
        """The first part of the id."""
        return self.id.rpartition("-")[0]

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


_REGISTERED: dict[str, Claim] = {}


def claim(id: str, statement: str, *needs: Need, quote: str, figure: str = "", vary: Mapping = MappingProxyType({})) -> Callable:
    """Register the function below as the criterion of a claim."""

    def register(decide: Callable) -> Callable:
        _REGISTERED[id] = Claim(id, statement, quote, figure, needs, vary, decide)
        return decide

    return register


def all_claims() -> dict[str, Claim]:
    """Return all claims by id, in the order of the papers."""
    for module, path in modules_of_experiments():
        if DECLARES in path.read_text(encoding="utf-8"):
            import_module(module)
    papers = list(PAPERS)
    return dict(sorted(_REGISTERED.items(), key=lambda item: (papers.index(item[1].paper), int(item[0].rpartition("-")[2]))))


def of_paper(name: str = "") -> dict[str, Claim]:
    """Return the claims of one paper, by the first part of its ids or the name that its figures have, or one claim by its id.

    Raises
    ------
    ParameterError
        Nothing has that name.
    """
    found = all_claims()
    if not name:
        return found
    papers = {alias: paper for paper, (folder, _) in PAPERS.items() for alias in (paper, folder)}
    if name in found:
        return {name: found[name]}
    if name not in papers:
        raise ParameterError(unknown("paper or claim", name, papers, found))
    return {id: claim for id, claim in found.items() if claim.paper == papers[name]}
