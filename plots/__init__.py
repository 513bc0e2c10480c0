"""Figures drawn from stored runs.

Every figure has two steps: ``data`` turns results into a tidy frame and ``draw`` turns that frame into a picture, so
that one frame feeds the picture, the table next to it and anything else that uses the same numbers. Nothing here trains.
`draw_results` draws stored runs without a declared figure.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fwexp.plots.stored import draw_results

__all__ = ["draw_results"]


def __getattr__(name: str) -> object:
    if name == "draw_results":  # imported when it is used, since other modules need parts of this package only
        from fwexp.plots.stored import draw_results

        return draw_results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
