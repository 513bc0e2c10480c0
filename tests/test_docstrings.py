"""Docstrings: all examples run and print what they say, and what is public says what it takes, returns and raises."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import fwexp
import fwexp.convex
import fwexp.estimators
import fwexp.testing
from fwexp.driver.iteration import Budget, Iteration, Objective, Point, Stop, Terms, Value
from fwexp.driver.log import Log
from fwexp.driver.loop import Bounds, drive
from fwexp.problems import protocol, tiers
from fwexp.solvers import Solver

PACKAGE = Path(fwexp.__file__).parent
ROOTS = {"fwexp": PACKAGE, "fwexp.experiments": PACKAGE.parent / "experiments", "fwexp.plots": PACKAGE.parent / "plots"}


def examples():
    """Every docstring with an example, of modules whose source shows a prompt."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for root, folder in ROOTS.items():
        for path in sorted(folder.rglob("*.py")):
            if ">>> " in path.read_text():
                parts = (part for part in path.relative_to(folder).with_suffix("").parts if part != "__init__")
                name = ".".join([root, *parts])
                yield from (test for test in finder.find(importlib.import_module(name), name) if test.examples)


EXAMPLES = list(examples())
COMPILE_MUCH = {
    f"fwexp.{name}"
    for name in (
        "problems.weighted.weighted_problem",
        "problems.pose.pose_problem",
        "distributed.shards.shard",
        *(f"estimators.{name}SVM" for name in ("graph.Graph", "matching.Matching", "multilabel.MultiLabel")),
        "estimators.chain_cv.ChainSVMCV",
    )
}


def marks(example):
    return [pytest.mark.slow] * (example.name in COMPILE_MUCH)


@pytest.mark.portable
@pytest.mark.parametrize("example", [pytest.param(test, id=test.name, marks=marks(test)) for test in EXAMPLES])
def test_examples_print_what_they_say(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    report = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(verbose=False, optionflags=flags).run(example, out=report.append)
    assert not report, "".join(report)


def test_no_example_is_left_out():
    """Each is run, and so is one of everything that people call first."""
    assert [test.name for test in EXAMPLES if any(doctest.SKIP in line.options for line in test.examples)] == []
    names = {test.name.rpartition(".")[2] for test in EXAMPLES}
    assert names >= {"solve", "predict", "load", "load_dataset", "load_results", "chain_problem", "matching_problem"}
    assert names >= {"minimize", "saddle_point", "svm_game", *fwexp.estimators.__all__}
    assert names >= {"regularization_path", "check_problem", "check_solver", "Iteration", "CallbackProblem"}
    assert names >= {name for name in PUBLIC if inspect.isfunction(PUBLIC[name])} - {"grid_search"}


# -- sections

PUBLIC = {name: getattr(fwexp, name) for name in fwexp.__all__ if name != "__version__"}
CHECKS = {name: getattr(fwexp.testing, name) for name in fwexp.testing.__all__}
DRIVER = (Iteration, Objective, Terms, Budget, Stop, Point, Value, Solver, Bounds, Log)
EXTENDED = {cls.__name__: cls for cls in DRIVER} | {"drive": drive}
ESTIMATORS = {f"estimators.{name}": getattr(fwexp.estimators, name) for name in fwexp.estimators.__all__}
OURS = dict.fromkeys(cls for estimator in ESTIMATORS.values() for cls in estimator.__mro__ if cls.__module__.startswith("fwexp."))
METHODS = {
    f"{cls.__name__}.{name}": getattr(cls, name)
    for cls in (fwexp.CallbackProblem, Iteration, Objective, Solver, Log, *OURS)
    for name, value in vars(cls).items()
    if inspect.isfunction(inspect.unwrap(getattr(value, "__func__", value))) and (name == "__call__" or not name.startswith("_"))
}
CONVEX = {f"convex.{name}": value for name, value in vars(fwexp.convex).items() if name in fwexp.convex.__all__ and callable(value)}
DOCUMENTED = PUBLIC | CHECKS | CONVEX | ESTIMATORS | EXTENDED | METHODS

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "Examples")


def sections(obj) -> dict[str, str]:
    """Return the text below each heading of a docstring."""
    parts = re.split(rf"^({'|'.join(SECTIONS)})\n-+$", inspect.cleandoc(obj.__doc__ or ""), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented_names(text: str) -> list[str]:
    """Return the names that stand before the colons of a section, without stars."""
    heads = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .+)?$", text, flags=re.MULTILINE)
    return [name.lstrip("*") for head in heads for name in head.split(", ")]


def parameters(obj) -> list[str]:
    """Return what people pass; of a dataclass, the fields that its text shows."""
    hidden = {name for name, field in getattr(obj, "__dataclass_fields__", {}).items() if not field.repr}
    return [name for name in inspect.signature(obj).parameters if name not in {"self", *hidden}]


def returns_something(function) -> bool:
    """Whether a function returns a value: it says so in its signature, in its first line or by a statement."""
    annotation = inspect.signature(function).return_annotation
    if annotation is not inspect.Signature.empty:
        return annotation not in (None, "None")
    code = inspect.getsource(function)
    return bool(re.search(r"^ +return \S", code, re.MULTILINE)) or (function.__doc__ or "").startswith(("Return", "Whether"))


def faults(obj) -> list[str]:
    """Return what the docstring of a class or function lacks."""
    if inspect.isclass(obj) and issubclass(obj, Exception):
        return [] if obj.__doc__ else ["text"]
    found = sections(obj)
    known = documented_names(found.get("Parameters", "") + found.get("Attributes", "") * inspect.isclass(obj))
    lacking = [name for name in parameters(obj) if name not in known]
    extra = [name for name in documented_names(found.get("Parameters", "")) if name not in inspect.signature(obj).parameters]
    if not inspect.isclass(obj) and returns_something(obj) and "Returns" not in found:
        lacking.append("Returns")
    return lacking + [f"{name}, which it does not take" for name in extra]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_what_is_public_says_what_it_takes_and_returns(name):
    assert faults(DOCUMENTED[name]) == []


@pytest.mark.parametrize("name", tiers.functions())
def test_functions_of_the_protocol_name_what_is_not_in_its_list_of_parameters(name):
    function = getattr(protocol, name)
    said_once = documented_names(sections(protocol)["Parameters"])
    others = [other for other in inspect.signature(function).parameters if other not in said_once]
    assert [other for other in others if not re.search(rf"\b{other}\b", function.__doc__)] == []


def test_a_missing_section_is_found():
    def told(first, *others):
        """Return nothing.

        Parameters
        ----------
        first : int
        *others
            More.

        Returns
        -------
        int
        """
        return first

    def untold(first, second):
        """Return the first.

        Parameters
        ----------
        first, third : int
        """
        return first

    assert faults(told) == []
    assert faults(untold) == ["second", "Returns", "third, which it does not take"]
