"""What others want to hear of compilation, without the compiler itself, which takes long to import."""

from collections.abc import Callable
from contextvars import ContextVar

on_compilation: ContextVar[Callable[[bool], None] | None] = ContextVar("on_compilation", default=None)
"""Called with True before something is linked, compiled or loaded, and with False afterwards."""
on_news: ContextVar[Callable[[], None] | None] = ContextVar("on_news", default=None)
"""Called before something is compiled that the cache does not have."""
