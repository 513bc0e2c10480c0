"""The tasks of runs, by name: each class with a ``name`` in a module of this folder, and those of other packages.

Another package offers a task by an entry point of the group ``fwexp.tasks``, with the name of the task.
"""

import inspect
from typing import TYPE_CHECKING

from fwexp import plugins
from fwexp.driver.settings import CHECKS
from fwexp.errors import ParameterError, unknown
from fwexp.options import KINDS

if TYPE_CHECKING:
    from fwexp.tasks.task import Task

__all__ = ["TASKS", "Task"]


def __getattr__(name: str):
    if name != "Task":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fwexp.tasks.task import Task  # here, because saved results need no solver

    return Task


def _check(cls) -> None:
    from fwexp.tasks.task import Task

    if not (inspect.isclass(cls) and issubclass(cls, Task)):
        raise ParameterError("it is no subclass of fwexp.tasks.Task")
    if inspect.isabstract(cls):
        raise ParameterError(f"it does not define {', '.join(sorted(cls.__abstractmethods__))}")
    for attribute in ("name", "title", "reads"):
        if not hasattr(cls, attribute):
            raise ParameterError(f"it has no {attribute}")
    for kind in cls.kinds:
        if kind not in KINDS:
            raise ParameterError(unknown("kind of problem", kind, KINDS))
    for name in cls.reads:
        if name not in CHECKS:
            raise ParameterError(f"it reads {name!r}, which is no setting; there are: {', '.join(CHECKS)}")
    plugins.check_options_class(cls.Options)


def _classes(module) -> "list[type[Task]]":
    from fwexp.tasks.task import Task

    return plugins.defined_classes(module, Task)


TASKS = plugins.Catalogue(
    "task",
    lambda: plugins.of_modules(__name__, _classes),
    _check,
    objects=_classes,
)
