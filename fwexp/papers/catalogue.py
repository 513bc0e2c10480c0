"""The catalogues of papers and of figures: what there is, and all that each says of itself.

A paper is a folder ``experiments/<paper>/`` with a `Paper` called ``PAPER`` in its ``__init__.py``. A figure is a preset
``conf/experiment/<name>.yaml``, which says what is run, and in a module below ``experiments/`` a variable

    FIG1 = Figure("<paper>/fig1", title="...", chart=Chart([Panel(...), ...]))

The names are read from the sources: a module is imported when one of its figures is asked for, so that knowing the names
costs nothing. Another package offers the same by entry points of the groups ``fwexp.papers`` and ``fwexp.figures``, whose names
are those of the paper and the figure, and has presets in its own ``conf/experiment/``.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from fwexp import plugins
from fwexp.errors import ParameterError
from fwexp.papers.files import PICTURE

NAME = re.compile(r"[A-Za-z][\w-]*(/[A-Za-z][\w-]*)*")


class Kind(StrEnum):
    """What a figure is to its paper, which decides what its claims' verdicts say of it."""

    REPRODUCED = "reproduced"
    """The paper shows it."""
    ANNOUNCED = "announced"
    """The paper describes the experiment and shows no picture."""
    OURS = "ours"
    """No paper has it."""


@dataclass(frozen=True)
class Advance:
    """What a paper is read for, as stored runs measure it: its method gets to a gap at less cost than an earlier one.

    Attributes
    ----------
    method, over : str
        The two methods, by their names in ``conf/solver``.
    cost : {"passes", "time"}
        What counts: oracle calls / n, or solver seconds.
    figure : str
        The figure that shows both.
    """

    method: str
    over: str
    cost: str
    figure: str


@dataclass(frozen=True)
class Paper:
    """A paper with figures or claims.

    Attributes
    ----------
    id : str
        What the ids of its claims begin with: ``B13``.
    name : str
        What the names of its figures begin with, and that of its folder: ``icml2013``.
    title, authors, url : str
    year : int
        0 where it has none.
    advance : Advance, optional
        Stands first in the report, with what was measured.
    """

    id: str
    name: str
    title: str
    authors: str = ""
    year: int = 0
    url: str = ""
    advance: Advance | None = None


@dataclass(frozen=True)
class Figure:
    """A figure, or a table, of the catalogue: either a `chart`, or `data` and `draw` of its own.

    Attributes
    ----------
    name : str
        ``<paper>/<figure>``; also the name of its preset in ``conf/experiment`` and of its files below ``figures/``.
    title : str
        One line that says what it shows.
    data : callable
        From results, as ``load_results`` gives them, to the tidy frame that is drawn.
    draw : callable
        From that frame to a matplotlib Figure; of a table, to Markdown.
    chart : Chart, optional
        Its panels and what they show, as in `fwexp.plots.curves`; then ``data`` and ``draw`` are those of the chart.
    kind : Kind, optional
        By default ours, or reproduced where `paper` says what that shows.
    caption : str
        What it shows here.
    paper : str, optional
        What the paper's figure showed, or what the paper announces; None where it has none.
    claims : tuple of str
        The ids of the claims that it shows, as in `fwexp.papers.claims`.
    timed : bool, optional
        Whether it shows seconds: then its runs take turns. By default whether a panel of its chart does.
    suffixes : tuple of str
        `PICTURE` or `TABLE`.
    shows : callable, optional
        From the finished runs (`StoredRun`) and the folder of the data to what is shown beside numbers, such as images and what
        the stored weights predict for them; ``data`` and ``draw`` then take it as second argument.
    places : tuple of str
        Its data sets, as parts of claims name them, where claims look at those of other figures, too.
    has_runs : bool
        Whether it is drawn from runs; else ``data`` takes what ``shows`` returns for none, and there is no preset.
    note : str
        What its readers must know of how it departs from what it repeats; stands on it.
    seconds : float
        What one of its full runs is taken to last where no stored run tells.
    """

    name: str
    title: str
    data: Callable | None = None
    draw: Callable | None = None
    chart: object = None
    kind: Kind | None = None
    caption: str = ""
    paper: str | None = None
    claims: tuple[str, ...] = ()
    timed: bool | None = None
    suffixes: tuple[str, ...] = PICTURE
    shows: Callable | None = None
    places: tuple[str, ...] = ()
    has_runs: bool = True
    note: str = ""
    seconds: float = 60.0

    def __post_init__(self):
        given, of_chart = (self.data, self.draw), self.chart and (self.chart.data, self.chart.draw)
        if None in given if self.chart is None else given not in ((None, None), of_chart):
            raise ParameterError(f"figure {self.name} takes either a chart or both data and draw")
        settled = dict(zip(("data", "draw"), of_chart or given, strict=True))
        if self.kind is None:
            settled["kind"] = Kind.OURS if self.paper is None else Kind.REPRODUCED
        if self.timed is None:
            settled["timed"] = any("time" in (panel.axis, panel.measure) for panel in (self.chart.panels if self.chart else ()))
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    def preset(self) -> str:
        """The experiment preset that defines the figure's runs."""
        return self.name

    @property
    def has_curves(self) -> bool:
        """Whether its numbers are curves, with the columns of `fwexp.plots.frames`: not of a table, nor beside images."""
        return self.suffixes == PICTURE and self.shows is None

    def launcher(self, preset: str) -> str:
        """Hydra's launcher for the figure's runs: side by side, where that is installed and disturbs no clock that counts."""
        parallel = find_spec("hydra_plugins.hydra_joblib_launcher") if find_spec("hydra_plugins") else None
        return "joblib" if parallel and (preset == "smoke" or not self.timed) else "basic"


def modules_of_experiments() -> Iterator[tuple[str, Path]]:
    """Yield the modules below ``experiments/``, which declare figures and claims, and their files; none is imported."""
    (folder,) = find_spec("fwexp.experiments").submodule_search_locations
    for path in sorted(Path(folder).rglob("*.py")):
        names = path.relative_to(folder).with_suffix("").parts
        yield ".".join(["fwexp.experiments", *(name for name in names if name != "__init__")]), path


def _papers() -> Iterator[tuple[str, plugins.Definition]]:
    for module, path in modules_of_experiments():
        name = module.removeprefix("fwexp.experiments.")
        if path.name == "__init__.py" and name != module:
            yield name, plugins.Definition(module, module, lambda module=module: import_module(module).PAPER)


def _figures() -> Iterator[tuple[str, plugins.Definition]]:
    for module, path in modules_of_experiments():
        for variable, name in figures_of(path.read_text(encoding="utf-8")):
            load = lambda module=module, variable=variable: getattr(import_module(module), variable)  # noqa: E731
            yield name, plugins.Definition(module, module, load)


def figures_of(source: str) -> Iterator[tuple[str, str]]:
    """Yield (variable, name) of every ``variable = Figure("name", ...)`` at the top level of a module's source."""
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        plugins.warn_left_out("a module of fwexp.experiments", error)
        return
    for statement in statements:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=variable)], value=ast.Call(func=ast.Name(id="Figure")) as call)
                | ast.AnnAssign(target=ast.Name(id=variable), value=ast.Call(func=ast.Name(id="Figure")) as call)
            ):
                named = {keyword.arg: keyword.value for keyword in call.keywords}
                match [*call.args, named.get("name")]:
                    case [ast.Constant(value=str(name)), *_]:
                        yield variable, name


def _check(kind: type) -> Callable[[object], None]:
    def check(value) -> None:
        if not isinstance(value, kind):
            raise ParameterError(f"it is no fwexp.experiments.{kind.__name__}")

    return check


def is_ours(module: str) -> bool:
    """Whether a paper or a figure is of this package, by the module that makes it."""
    return module.partition(".")[0] == "fwexp"


PAPERS = plugins.Catalogue("paper", _papers, _check(Paper))
FIGURES = plugins.Catalogue("figure", _figures, _check(Figure), lazy=True, pattern=NAME)


def papers_by_id() -> dict[str, Paper]:
    """Return the papers, ours first, by what the ids of their claims begin with."""
    papers: dict[str, Paper] = {}
    for paper in PAPERS.values():
        papers.setdefault(paper.id, paper)
    return papers
