"""The catalogues of papers and of figures, and the registry that the modules of ``experiments/`` fill when they are imported.

A paper is a folder ``experiments/<paper>/`` that declares a `Paper` in its ``__init__.py``. A figure is a preset
``conf/experiment/<name>.yaml``, which defines its runs, and in a module below ``experiments/`` a declaration

    FIG1 = Figure.declared("<paper>/fig1", title="...", chart=Chart([Panel(...), ...]))

Another package offers a paper or a figure by an entry point of the groups ``fwexp.papers`` and ``fwexp.figures``, under the name
of the paper or figure. Such a package has its presets in its own ``conf/experiment/``.
"""

import functools
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

from fwexp import plugin_files, plugins
from fwexp.errors import ParameterError
from fwexp.papers.figure_files import PICTURE, TABLE, with_pages

NAME = re.compile(r"[A-Za-z][\w-]*(/[A-Za-z][\w-]*)*")
EXPERIMENTS = "fwexp.experiments"
STAND_IN = "stand-in: "


class Kind(StrEnum):
    """The role of a figure in its paper, which decides how its claims' verdicts are reported."""

    REPRODUCED = "reproduced"
    """The paper shows it."""
    ANNOUNCED = "announced"
    """The paper describes the experiment and shows no picture."""
    OURS = "ours"
    """No paper has it."""


_DECLARED: dict[type, dict[str, object]] = {}
"""Papers and figures of this package by name, as the modules below ``experiments/`` declare them."""


class Declared:
    """Kind of thing that the modules below ``experiments/`` declare."""

    @classmethod
    def declared(cls, *given, **settings) -> Self:
        """Return a declaration that is registered as one of this package; it takes the arguments of the class."""
        value, others = cls(*given, **settings), _DECLARED.setdefault(cls, {})
        if value.name in others:
            raise ParameterError(f"{cls.__name__.lower()} {value.name!r} must be declared once, got a second declaration")
        return others.setdefault(value.name, value)


@dataclass(frozen=True)
class Paper(Declared):
    """A paper with figures or claims.

    Attributes
    ----------
    id : str
        Beginning of the ids of its claims: ``B13``.
    name : str
        Beginning of the names of its figures, and name of its folder: ``icml2013``.
    title, authors, url : str
    year : int
        0 where it has none.
    budget : str
        Seeds, passes and time that the paper states for its experiments, with the place of each.
    data : mapping
        For each data set of its figures, by name, how it relates to the paper's; `STAND_IN` begins what is said of a stand-in.
    choices : tuple of str
        What the paper leaves open, and what is done here instead; a sentence each.
    """

    id: str
    name: str
    title: str
    authors: str = ""
    year: int = 0
    url: str = ""
    budget: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Need:
    """Runs of an experiment preset, which a claim reads; the reference run, which bounds the optimum, is always among them."""

    preset: str  # of a figure, or one whose runs only claims read
    methods: tuple[str, ...] = ()  # by their names, as in ``conf/solver``; all where it is empty
    split_by: tuple[str, ...] = ()  # options in which methods differ there, as in `fwexp.methods.method_of`
    where: Mapping = ()  # values of the configuration: ``{"dataset": "ocr", "lam": 0.01}``; a tuple is one of several values


@dataclass(frozen=True)
class Preset:
    """An experiment preset ``conf/experiment/<name>.yaml``, by its name; claims read its runs."""

    name: str

    def runs(self, *methods: str, split_by: tuple[str, ...] = (), **where: Any) -> Need:
        """Return the need for the runs of some methods, or all, that have some values, as in `Need`."""
        return Need(self.name, methods, split_by, where)


@dataclass(frozen=True)
class Figure(Preset, Declared):
    """A figure, or a table, of the catalogue: either a `chart`, or `data` and `draw` of its own.

    Attributes
    ----------
    name : str
        ``<paper>/<figure>``; also the name of its preset in ``conf/experiment`` and of its files below ``figures/``.
    title, caption, note : str
        One line that describes it, its content, and departures from the published figure, which stand below it.
    data, draw : callable
        From results, as ``load_results`` gives them, to the tidy frame that is drawn, and from that to a matplotlib Figure, a list
        of these, one per page, or, of a table, Markdown.
    chart : Chart, optional
        Its panels and what they show, as in `fwexp.plots.curves`; then ``data`` and ``draw`` are those of the chart.
    kind : Kind, optional
        By default ours, or reproduced if `paper` describes it.
    paper : str, optional
        Content of the paper's figure, or the announcement in the paper; None without either.
    timed : bool, optional
        Whether it shows seconds: then its runs take turns. By default whether a panel of its chart does.
    suffixes : tuple of str
        `PICTURE` or `TABLE`; of a chart, those of its pages.
    shows : callable, optional
        Called with the finished runs (`StoredRun`) and the folder of the data; returns what the figure shows in addition to
        numbers, such as images or predictions. ``data`` and ``draw`` then take the result as their second argument.
    places : tuple of str
        Its data sets, as parts of claims name them, where claims look at those of other figures, too.
    has_runs : bool
        Whether it is drawn from runs; else ``data`` takes what ``shows`` returns for none, and there is no preset.
    seconds : float
        Estimate of the time of one of its full runs, if no stored run shows it.
    experiment : mapping, optional
        Its runs, in a plugin file, which has no preset: values by key, and ``grids`` and ``smoke`` as ``hydra.sweeper`` has them
        in ``conf/experiment``.
    """

    title: str
    data: Callable | None = None
    draw: Callable | None = None
    chart: object = None
    kind: Kind | None = None
    caption: str = ""
    paper: str | None = None
    timed: bool | None = None
    suffixes: tuple[str, ...] = PICTURE
    shows: Callable | None = None
    places: tuple[str, ...] = ()
    has_runs: bool = True
    note: str = ""
    seconds: float = 60.0
    experiment: Mapping | None = None

    def __post_init__(self):
        given, of_chart = (self.data, self.draw), self.chart and (self.chart.data, self.chart.draw_pages)
        if None in given if self.chart is None else given not in ((None, None), of_chart):
            raise ParameterError(f"figure {self.name} takes either a chart or both data and draw")
        settled = dict(zip(("data", "draw"), of_chart or given, strict=True))
        if self.kind is None:
            settled["kind"] = Kind.OURS if self.paper is None else Kind.REPRODUCED
        if self.timed is None:
            settled["timed"] = any("time" in (panel.axis, panel.measure) for panel in (self.chart.panels if self.chart else ()))
        if self.chart is not None:
            settled["suffixes"] = with_pages(PICTURE, len(self.chart.pages))
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    def preset(self) -> str:
        """The experiment preset that defines the figure's runs."""
        return self.name

    @property
    def is_table(self) -> bool:
        """True if the figure is a table."""
        return self.suffixes == TABLE

    @property
    def has_curves(self) -> bool:
        """True if the figure's numbers are curves, with the columns of `fwexp.plots.frames`."""
        return not self.is_table and self.shows is None

    def launcher(self, preset: str) -> str:
        """Return Hydra's launcher for the figure's runs, as `launcher_of` does."""
        return launcher_of(self.timed and preset != "smoke")


def launcher_of(timed: bool) -> str:
    """Return Hydra's launcher for runs: parallel, if that is installed and their seconds are not shown."""
    return "joblib" if find_spec("joblib") and not timed else "basic"


@functools.cache
def import_experiments() -> None:
    """Import all modules below ``experiments/``, which declare papers, figures and claims."""
    path = import_module(EXPERIMENTS).__path__
    names = [info.name for info in pkgutil.walk_packages(path, f"{EXPERIMENTS}.", onerror=lambda name: None)]
    # Figures come first, because claims import figures of other papers, and lists have the order of declarations.
    for name in sorted(names, key=lambda name: name.count(".") > EXPERIMENTS.count(".") + 1 and not name.endswith(".figures")):
        plugins.imported(name)


def _declarations(kind: type) -> Iterator[tuple[str, plugins.Definition]]:
    import_experiments()
    in_files = {id(value) for module in plugin_files.modules() for value in plugins.instances(module, kind)}
    for name, value in _DECLARED.get(kind, {}).items():
        if id(value) not in in_files:
            yield name, plugins.Definition(EXPERIMENTS, EXPERIMENTS, lambda value=value: value)


def is_ours(module: str) -> bool:
    """Return whether a paper or a figure belongs to this package, given the module that makes it."""
    return module.partition(".")[0] == "fwexp"


def _catalogue(kind: type, **how) -> plugins.Catalogue:
    def check(value) -> None:
        if not isinstance(value, kind):
            raise ParameterError(f"it is no fwexp.experiments.{kind.__name__}")

    objects = functools.partial(plugins.instances, base=kind)
    return plugins.Catalogue(kind.__name__.lower(), lambda: _declarations(kind), check, objects=objects, **how)


PAPERS, FIGURES = _catalogue(Paper), _catalogue(Figure, lazy=True, pattern=NAME)


def papers_by_id() -> dict[str, Paper]:
    """Return the papers, ours first, by the beginning of the ids of their claims.

    Raises
    ------
    ParameterError
        If a plugin file declares one whose id another paper has; of packages, such a paper has no claims.
    """
    papers: dict[str, Paper] = {}
    for paper in PAPERS.values():
        first = papers.setdefault(paper.id, paper)
        if first is not paper and PAPERS.module(paper.name).startswith(plugin_files.PREFIX):
            raise ParameterError(f"the id of a paper must be new, got {paper.id!r}, which {first.name!r} has")
    return papers
