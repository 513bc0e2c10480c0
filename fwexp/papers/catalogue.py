"""The catalogue of figures: which runs each needs, and how they become a picture.

A new figure is a preset ``conf/experiment/<name>.yaml``, which says what is run, and in a module below ``experiments/`` a variable

    FIG1 = Figure("<paper>/fig1", title="...", data=function, draw=function)

The names are read from the sources: a module is imported when one of its figures is asked for, so that knowing the names
costs nothing. Another package offers a figure by an entry point of the group ``fwexp.figures``, whose name is that of the
figure, and has the preset in its own ``conf/experiment/<name>.yaml``.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from fwexp import plugins
from fwexp.errors import ParameterError
from fwexp.papers.files import PICTURE

NAME = re.compile(r"[A-Za-z][\w-]*(/[A-Za-z][\w-]*)*")


@dataclass(frozen=True)
class Figure:
    """A figure, or a table, of the catalogue.

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
    claims : tuple of str
        The ids of the claims that it shows, as in `fwexp.papers.claims`.
    timed : bool
        Whether it shows seconds: then its runs take turns.
    suffixes : tuple of str
        `PICTURE` or `TABLE`.
    shows : callable, optional
        From the finished runs (`StoredRun`) and the folder of the data to what is shown beside numbers, such as images and what
        the stored weights predict for them; ``data`` and ``draw`` then take it as second argument.
    places : tuple of str
        Its data sets, as parts of claims name them, where claims look at those of other figures, too.
    note : str
        What its readers must know of how it departs from what it repeats; stands on it.
    """

    name: str
    title: str
    data: Callable
    draw: Callable
    claims: tuple[str, ...] = ()
    timed: bool = False
    suffixes: tuple[str, ...] = PICTURE
    shows: Callable | None = None
    places: tuple[str, ...] = ()
    note: str = ""

    @property
    def preset(self) -> str:
        """The experiment preset that defines the figure's runs."""
        return self.name

    @property
    def has_curves(self) -> bool:
        """Whether its numbers are curves, with the columns of `fwexp.plots.curves`: not of a table, nor beside images."""
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


def _own() -> Iterator[tuple[str, plugins.Definition]]:
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


def _check(figure) -> None:
    if not isinstance(figure, Figure):
        raise ParameterError("it is no fwexp.experiments.Figure")


FIGURES = plugins.Catalogue("figure", _own, _check, lazy=True, pattern=NAME)
