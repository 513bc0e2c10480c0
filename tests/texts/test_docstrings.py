"""Docstrings: what is public says what it takes, returns and raises."""

import inspect
import re

import pytest

import fwexp
import fwexp.convex
import fwexp.estimators
import fwexp.testing
from fwexp.driver.iteration import Budget, Iteration, Point, Stop, Terms
from fwexp.driver.log import Log
from fwexp.driver.loop import Bounds, drive
from fwexp.driver.values import Objective, Value
from fwexp.problems import protocol, tiers
from fwexp.solvers import Solver

PUBLIC = {name: getattr(fwexp, name) for name in fwexp.__all__ if name != "__version__"}
CHECKS = {name: getattr(fwexp.testing, name) for name in fwexp.testing.__all__}
DRIVER = (Iteration, Objective, Terms, Budget, Stop, Point, Value, Solver, Bounds, Log)
EXTENDED = {cls.__name__: cls for cls in DRIVER} | {"drive": drive}
ESTIMATORS = {f"estimators.{name}": getattr(fwexp.estimators, name) for name in fwexp.estimators.__all__}
OURS = dict.fromkeys(cls for estimator in ESTIMATORS.values() for cls in estimator.__mro__ if cls.__module__.startswith("fwexp."))


def methods(*classes: type) -> dict:
    """Return the public methods that classes define, by name."""
    return {
        f"{cls.__name__}.{name}": getattr(cls, name)
        for cls in classes
        for name, value in vars(cls).items()
        if inspect.isfunction(inspect.unwrap(getattr(value, "__func__", value)))
        and (name == "__call__" or not name.startswith("_"))
    }


METHODS = methods(*OURS)
BY_AUTHORS = {name: (Solver, method) for name, method in methods(Iteration, Objective, Solver).items()}  # told what others name
BY_AUTHORS |= {f"protocol.{name}": (protocol, getattr(protocol, name)) for name in tiers.functions()}
CONVEX = {f"convex.{name}": value for name, value in vars(fwexp.convex).items() if name in fwexp.convex.__all__ and callable(value)}
DOCUMENTED = PUBLIC | CHECKS | CONVEX | ESTIMATORS | EXTENDED | METHODS

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "Examples")


def sections(obj) -> dict[str, str]:
    """Return the text below each heading of a docstring."""
    text = obj.__doc__ if inspect.isclass(obj) else inspect.getdoc(obj)  # that of the base class for a method without its own
    parts = re.split(rf"^({'|'.join(SECTIONS)})\n-+$", inspect.cleandoc(text or ""), flags=re.MULTILINE)
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


@pytest.mark.parametrize("name", BY_AUTHORS)
def test_what_authors_define_names_what_is_not_in_the_list_of_parameters(name):
    owner, function = BY_AUTHORS[name]
    said_once = {"self", *documented_names(sections(owner)["Parameters"])}
    others = [other for other in inspect.signature(function).parameters if other not in said_once]
    assert [other for other in others if not re.search(rf"\b{other}\b", function.__doc__)] == []


def test_a_missing_section_is_found():
    def untold(first, second):
        """Return the first.

        Parameters
        ----------
        first, third : int
        """
        return first

    assert faults(untold) == ["second", "Returns", "third, which it does not take"]
