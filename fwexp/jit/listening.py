"""Context variables for those who listen to compilation, without the compiler itself, which takes long to import."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

on_compilation: ContextVar[Callable[[bool], None] | None] = ContextVar("on_compilation", default=None)
"""Called with True before something is linked, compiled or loaded, and with False afterwards."""
on_news: ContextVar[Callable[[], None] | None] = ContextVar("on_news", default=None)
"""Called before something is compiled that the cache does not have."""


@contextmanager
def during(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a variable in a ``with`` block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
