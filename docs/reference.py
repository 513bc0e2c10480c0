"""Pages of reference: one for every public object, solver, method, data set and task, and one for every group of them."""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from fwexp.commands.option_help import described, titles_of
from fwexp.methods import ALIASES, methods
from fwexp.options import CONVEX, KINDS, SADDLE, STRUCTURED
from fwexp.run.catalogues import catalogue, kinds

# What a group of the API is for. Its members are those of ``__all__``, unless EXTENDED lists them.
API = {
    "fwexp": "Train, certify, predict, and read stored results.",
    "fwexp.estimators": "Train on your own data by scikit-learn's conventions.",
    "fwexp.predictor": "Predict with numpy alone.",
    "fwexp.data": "Load data sets, read files of other tools, and declare a data set.",
    "fwexp.data.metrics": "Score predictions as each field does: chunks, entities, alignments, segmentations, poses.",
    "fwexp.data.readers.file_problems": "Read a file as a problem.",
    "fwexp.convex": "Minimise over any convex set with linear minimisation.",
    "fwexp.distributed": "Spread one training over the workers of a Dask cluster.",
    "fwexp.testing": "Check an oracle or a solver of your own.",
    "fwexp.solvers": "Write a solver.",
    "fwexp.options": "Declare and check options.",
    "fwexp.problems.protocol": "Write a new family of problems.",
    "fwexp.problems": "Write the walk of a family, from which most functions of the protocol follow.",
    "fwexp.blocks": "Write an order, a corner or a step of block methods.",
    "fwexp.errors": "Catch errors.",
    "fwexp.types": "Annotate your own code.",
    "fwexp.experiments": "Declare papers and figures.",
    "fwexp.papers.claims": "Declare and check claims.",
    "fwexp.papers.claims.runs": "Ask the runs of a claim which method is lower, from where on, and how fast a measure falls.",
    "fwexp.plots": "Draw curves.",
}
EXTENDED = {
    "fwexp.data.metrics": [
        *["alignment_error_rate", "alignment_scores", "chunk_f1", "chunk_scores", "class_iou", "entity_report", "label_confusion"],
        *["least_sure", "pose_scores", "segmentation_scores", "token_accuracy"],
    ],
    "fwexp.problems": ["walk"],
    "fwexp.types": ["Problem", "SetOfExamples"],
    "fwexp.blocks": ["block_loop", "orders.Order"],
    "fwexp.errors": [
        *["UserError", "ParameterError", "OptionError", "WarmStartError", "DataError", "CertificateError", "MissingPackage"],
        *["RunsFailed", "WorkersLost"],
    ],
    "fwexp.data.readers.file_problems": ["from_columns", "from_npz", "from_svmlight"],
    "fwexp.solvers": [
        *["Solver", "get_solver", "base.Budget", "base.NO_BUDGET", "base.Point", "base.Reason", "base.Stop", "base.Terms"],
        *["fw.BatchOracle", "bcfw.BCFW"],
    ],
    "fwexp.options": [
        *["choice", "option", "make_options", "check_choice", "check_flag", "check_fraction", "check_integer", "check_number"],
        *["check_positive", "NoOptions"],
    ],
    "fwexp.problems.protocol": [
        *["declared", "labelings", "derived", "weights"],
    ],
    "fwexp.papers.claims.runs": [
        *["Curves", "Ordering", "Rate", "Runs", "below", "interval", "is_linear", "measured", "passes_by_decade", "reached"],
        *["sign"],
    ],
    "fwexp.plots": ["draw_results", "curves.Chart", "curves.Panel"],
}
HEADS = {
    "solver": ("Solvers and methods", {STRUCTURED: "Structured SVMs", CONVEX: "Convex sets", SADDLE: "Saddle points"}),
    "dataset": ("Data sets and their options", {STRUCTURED: "Structured SVMs", CONVEX: "Convex sets", SADDLE: "Saddle points"}),
    "task": ("Tasks", {"": "All tasks"}),
}
ABOUT = {
    "solver": "A *method* is a solver with certain options, under a name of its own.",
    "dataset": "A data set gives a training and a test problem. Options choose its split, size or features.",
    "task": "A task is what a run does with a problem, a solver and `lam`. The default, `train`, trains once and logs the trace;\n"
    "`fwexp run task=NAME` chooses another one.",
}
CLASS = ".. autoclass:: {}\n   :members:\n   :inherited-members: BaseEstimator, tuple, str, Exception, Enum\n"
# Pages of single objects are reached from the table of their group. The navigation does not list them: it would grow
# tenfold on every page.
LEAF = "---\norphan: true\n---\n\n"
TABLE = "| name | summary |\n| --- | --- |"


def pages(source: Path, folder: Path) -> None:
    """Write all pages of reference below ``folder``; those on objects name the pages of ``source`` that use them."""
    found = guides(source)
    for name in API:
        _write(folder / "api", _api(name, found))
    rows = [f"| [`{name}`]({name}.md) | {text} |" for name, text in API.items()]
    lines = ["# Python API\n\n| module | what it is for |\n| --- | --- |", *rows, "\n```{toctree}\n:hidden:\n", *API, "```\n"]
    (folder / "api" / "index.md").write_text("\n".join(lines), encoding="utf-8")
    for group in HEADS:
        _write(folder / group, _choices(group))


def _write(folder: Path, written: Iterator[tuple[str, str]]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in written:
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def members(name: str) -> dict[str, object]:
    """Return the documented objects of a group of the API by their names, as in ``base.Point``."""
    module = importlib.import_module(name)
    names = sorted(EXTENDED.get(name, module.__all__ if name not in EXTENDED else ()), key=lambda path: path.split(".")[-1].lower())
    if name == "fwexp.problems.protocol":
        names = EXTENDED[name]  # from the functions that every family has to those that few have
    return {path: _member(name, path) for path in names if not path.startswith("__")}


def _member(name: str, path: str) -> object:
    parent, _, last = f"{name}.{path}".rpartition(".")
    module = importlib.import_module(parent)
    return getattr(module, last) if hasattr(module, last) else importlib.import_module(f"{parent}.{last}")


def guides(source: Path) -> dict[Path, str]:
    """Return the texts of the pages that are guides, by their paths below ``source``."""
    paths = [path.relative_to(source) for folder in (".", "tutorials", "theory") for path in sorted((source / folder).glob("*.md"))]
    return {path: (source / path).read_text(encoding="utf-8") for path in paths if path.stem not in {"index", "changelog"}}


def see_also(name: re.Pattern, guides: dict[Path, str]) -> str:
    """Return links to the pages that have a name most often, at most four."""
    counts = {path: len(name.findall(text)) for path, text in guides.items()}
    best = sorted((path for path in counts if counts[path]), key=lambda path: -counts[path])[:4]
    links = ", ".join(f"[{guides[path].partition(chr(10))[0].lstrip('# ')}](../../{path})" for path in best)
    return f"\n```{{seealso}}\n{links}\n```\n" if links else ""


def _uses(last: str) -> re.Pattern:
    """Return the pattern of a public name in the text of a guide."""
    return re.compile(rf"\b{last}\b" if last[0].isupper() else rf"\bfwexp(?:\.\w+)*\.{last}\b|(?<![\w.]){last}\(")


def _api(name: str, guides: dict[Path, str]) -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of the pages on a module: its table, and one for every object."""
    found = members(name)
    rows = [f"| [`{path.rpartition('.')[2]}`]({page_name(name, path)}.md) | {summary(value)} |" for path, value in found.items()]
    about = f"```{{automodule}} {name}\n```\n\n" if name == "fwexp.problems.protocol" else _aliases(name)
    head = f"# {name}\n\n{API[name]}\n\n" + "\n".join([TABLE, *rows])
    yield name, f"{head}\n\n{about}"
    for path, value in found.items():
        last = path.rpartition(".")[2]
        text = f"{LEAF}# {last}\n\nIn [`{name}`]({name}.md): {API[name]}\n\n```{{eval-rst}}\n{_directives(name, path, value)}```\n"
        yield page_name(name, path), text + ("" if inspect.ismodule(value) else see_also(_uses(last), guides))


def _aliases(name: str) -> str:
    """Return a table of the type aliases of a module."""
    nodes = ast.parse(inspect.getsource(importlib.import_module(name))).body
    aliases = [node for node in nodes if isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)]
    types = {ast.unparse(node.target): ast.unparse(node.value).replace("|", r"\|") for node in aliases}
    rows = [f"| `{alias}` | `{value}` |" for alias, value in types.items()]
    return "\n".join(["\n\n| alias | type |\n| --- | --- |", *rows, ""]) if rows else ""


def _directives(name: str, path: str, value: object) -> str:
    """Return the directives that print the docstrings of an object, or of all functions of a module."""
    parent, _, last = f"{name}.{path}".rpartition(".")
    if inspect.ismodule(value):
        held = {key: other for key, other in vars(value).items() if callable(other) and not key.startswith("_")}
        own = [key for key, other in held.items() if other.__module__ == value.__name__]
        tiers = {key: getattr(held[key], "tier", None) for key in own}
        heads = {tier: f".. rubric:: {tier}\n\n" * (tier is not None) for tier in tiers.values()}
        kinds = {key: "autoclass" if inspect.isclass(held[key]) else "autofunction" for key in own}
        entries = (heads.pop(tiers[key], "") + f".. {kinds[key]}:: {key}\n" for key in own)
        if name == "fwexp.problems.protocol":  # functions are documented under the name that families register them by
            return f".. currentmodule:: {name}\n\n" + "".join(entries)
        return f".. automodule:: {value.__name__}\n\n.. currentmodule:: {value.__name__}\n\n" + "".join(entries)
    directive = CLASS if inspect.isclass(value) else ".. autofunction:: {}\n" if callable(value) else ".. autodata:: {}\n"
    return f".. currentmodule:: {parent}\n\n" + directive.format(last)


def page_name(name: str, path: str) -> str:
    """Return the name of the page on an object, which differs from all others also where the case of letters is ignored."""
    alike = [other for other in members(name) if other.lower() == path.lower()]
    return f"{name}.{path}" + "-class" * (len(alike) > 1 and path != path.lower())


def summary(value: object) -> str:
    """Return the first line of a docstring in Markdown."""
    text = inspect.getdoc(value) if inspect.ismodule(value) or callable(value) else None
    return plain((text or "A constant.").split("\n\n")[0])


def _choices(group: str) -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of the pages on a group of what ``fwexp options`` describes."""
    head, sections = HEADS[group]
    titles, known = titles_of(group), catalogue(group)
    lines = [f"# {head}\n\n{ABOUT[group]} `fwexp options NAME` prints the options on the command line.\n"]
    for kind, section in sections.items():
        chosen = [name for name in titles if not kind or kind in kinds(group, own_name(group, name))]
        modules = {}
        for name in chosen:
            modules.setdefault(known.module(own_name(group, name)), []).append(name)
        shared = [module for module, names in modules.items() if len({own_name(group, name) for name in names}) > 2]
        lines += [f"## {section}\n", *(f"{_about(sys.modules[module])}\n" for module in shared), TABLE]
        lines += [f"| [`{name}`]({name}.md) | {plain(titles[name])} |" for name in chosen] + [""]
    if group == "solver":  # the navigation has one entry for the choices of a run
        lines += ["```{toctree}\n:hidden:\n", *(f"../{other}/index" for other in HEADS if other != group), "```\n"]
    yield "index", "\n".join(lines)
    for name in titles:
        yield name, "\n".join(_choice(group, name))


def own_name(group: str, name: str) -> str:
    """Return the solver that a method is made of, and any other name as it is."""
    if group != "solver" or name in catalogue(group):
        return name
    name = ALIASES.get(name, name)
    return methods()[name].solver if name in methods() else name


def _choice(group: str, name: str) -> Iterator[str]:
    """Yield the lines of the page on a solver, a method, a data set or a task."""
    about, own = described(group, name), own_name(group, name)
    yield f"{LEAF}({group}-{name})=\n# {name}\n\n**{plain(about.title)}**\n"
    if own != name:
        change = f"{plain(about.paragraphs[0])} " * (name not in ALIASES)
        yield f"{change}See [`{own}`]({own}.md) for the method.\n"
    else:
        yield f"{_about(sys.modules[catalogue(group).module(own)])}\n"
    group_page = f"[{HEADS[group][0].lower()}](index.md)"
    problems = " and ".join(KINDS[kind] for kind in kinds(group, own))
    yield f"One of the {group_page}, for {problems}. On the command line: `{group}={name}`.\n"
    for option in about.options:
        accepted = f" ({plain(option.accepted)})" * bool(option.accepted)
        yield f"`{option.name}={option.value}`{accepted}\n: {plain(option.meaning)}\n"
    if not about.options:
        yield "It has no options.\n"


def _about(module: ModuleType) -> str:
    return plain(inspect.getdoc(module).partition("\n\n")[0])


def plain(text: str) -> str:
    """Return Markdown that shows a text of docstrings, in one line; what stands in backticks is code."""
    parts = re.split(r"(`+[^`]+`+)", " ".join(text.split()))
    return "".join(part if k % 2 else re.sub(r"[\\*_\[\]<>|$]", r"\\\g<0>", part) for k, part in enumerate(parts))
