"""The catalogue of figures: which runs each needs, and how they become a picture.

``FIGURES["icml2013/fig1"]`` is loaded when it is asked for, so that knowing the names costs nothing. A new figure is a preset
``conf/experiment/<paper>/<figure>.yaml``, which names its runs, two functions in ``plots/<paper>.py``, and an entry in
``experiments/<paper>.py`` and below.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module

from fwexp.errors import ParameterError, unknown
from fwexp.experiments.figure import Figure, make_figure

__all__ = ["FIGURES", "Figure", "make_figure"]


class _Catalogue(Mapping):
    """Figures by name; each module lists its figures in ``FIGURES``."""

    def __init__(self, modules: dict[str, tuple[str, ...]]):
        self._modules = {name: module for module, names in modules.items() for name in names}

    def __getitem__(self, name: str) -> Figure:
        if name not in self._modules:
            raise KeyError(name)
        return import_module(f"fwexp.experiments.{self._modules[name]}").FIGURES[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def find(self, name: str) -> Figure:
        """The figure of that name; raises `ParameterError`, naming all figures, if there is none."""
        if name not in self._modules:
            raise ParameterError(unknown("figure", name, list(self)))
        return self[name]


FIGURES = _Catalogue(
    {
        "quickstart": ("quickstart",),
        "icml2013": (*(f"icml2013/fig{k}" for k in range(1, 6)), "icml2013/table1"),
        "icml2016": tuple(f"icml2016/fig{k}" for k in (1, 2, 3, 5, 8)),
    }
)
