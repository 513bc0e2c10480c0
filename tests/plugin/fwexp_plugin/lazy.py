"""``lazy_fw``: Frank-Wolfe on convex sets with shorter steps."""

from dataclasses import dataclass

from fwexp.convex.frank_wolfe import LinearMinimisation
from fwexp.convex.method import OpenLoopOptions
from fwexp.options import check_number, option


@dataclass(frozen=True)
class Options(OpenLoopOptions):
    """Options of ``lazy_fw``: its steps are ``share`` of 2/(t + 2)."""

    share: float = option(0.5, check_number, "a number > 0 and <= 1", above=0.0, most=1.0)


class LazyFrankWolfe(LinearMinimisation):
    """Frank-Wolfe with shorter steps; ``step`` is that of its base class, and stays ``auto``."""

    name, title = "lazy_fw", "Frank-Wolfe with shorter steps"
    Options = Options

    def _take_step(self, view):
        self._mix(view.atom, self.f.image_of(view.atom), self.options.share * 2.0 / (self.state.step + 2.0))
