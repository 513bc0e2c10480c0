"""Kernelised block-coordinate Frank-Wolfe (Lacoste-Julien et al., ICML 2013, Appendix B.5, Algorithm B.1).

At step k, for the drawn i,

    y* = argmax_y H_i(y; A a),   s_i = e_{y*},
    gamma = 2n/(k + 2n), or by line search,
    a_i <- (1 - gamma) a_i + gamma s_i,

where a is kept as the labelings that have weight, and w = A a implicitly: <w, psi_i(y)> is a sum of kernel values between
the inputs of example i and those of the support (``problems.kernel_features``). ``atoms`` counts the support vectors, the
pairs (i, y) with a_i(y) > 0; true labelings, whose psi is 0, are none. The averages are those of a.

With N input vectors in all and K classes, padded, memory is 8 N K bytes for the coefficients (as much again for each
average), and 20 + 4 T + 4 m bytes for each of the m labelings of length T that an example has room for. A step costs
T N_s (p + K), where N_s <= N inputs belong to support vectors.
"""

from dataclasses import dataclass

import numpy as np

from fwexp.blocks import active_set
from fwexp.blocks.active_set import UNLIMITED
from fwexp.blocks.averaging import averaged
from fwexp.options import check_integer, check_number, choice, option
from fwexp.problems.kernel_features import KINDS, Kernel, kernelised
from fwexp.problems.protocol import inner, original
from fwexp.solvers.base import Point
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.bcfw_options import PlainOptions

FIRST_ROOM = 4  # labelings that an active set has room for at first


@dataclass(frozen=True)
class KernelOptions:
    """Options of methods with kernels.

    Attributes
    ----------
    kernel : str
        ``linear`` <x, z>, ``poly`` (gamma <x, z> + coef0)^degree, or ``rbf`` exp(-gamma ||x - z||^2).
    degree : int
        Of ``poly``.
    gamma : float, optional
        Of ``poly`` and ``rbf``; by default 1 over the number of features.
    coef0 : float
        Of ``poly``.
    line_search : bool
        Whether steps are as long as is best; else predefined ones.
    """

    kernel: str = choice(*KINDS)
    degree: int = option(3, check_integer, 1, needs={"kernel": ("poly",)})
    gamma: float | None = option(
        None,
        check_number,
        "a positive number or null (1/number of features)",
        above=0.0,
        optional=True,
        needs={"kernel": ("poly", "rbf")},
    )
    # less would not always be a kernel
    coef0: float = option(0.0, check_number, "a number >= 0", least=0.0, needs={"kernel": ("poly",)})
    line_search: bool = choice(True, False)


@dataclass(frozen=True)
class Options(PlainOptions, KernelOptions):
    """Options of ``kernel_bcfw``."""

    def setting(self):
        """Return the setting that these options choose: blocks are labelings, all of which are kept."""
        return super().setting()._replace(keeps_labelings=True, stored=UNLIMITED)


class Kernelised:
    """Makes a solver see problems through the kernel of its options."""

    refers_to_inputs = True

    @classmethod
    def needs(cls, options):
        return ("kernels", "sets")

    def view(self, problem):
        """Return the problem with kernelised inputs, on coefficients of the training inputs."""
        options, train = self.options, self.user_problem
        gamma = options.gamma if options.gamma is not None else 1.0 / max(original(train).num_features, 1)
        return kernelised(problem, train, Kernel(KINDS.index(options.kernel), options.degree, gamma, options.coef0))

    def new_sets(self):
        """Return active sets that grow when they have to."""
        return active_set.new_active_sets(self.problem, np.full(self.problem.n, FIRST_ROOM))

    def extras(self):
        """Count the support vectors."""
        sets = self.sets
        return {"atoms": float(np.count_nonzero(sets.weight) - np.count_nonzero(sets.weight[sets.first[:-1]]))}


class KernelBCFW(Kernelised, BCFW):
    """Kernelised block-coordinate Frank-Wolfe."""

    name = "kernel_bcfw"
    title = "kernelised block-coordinate Frank-Wolfe"
    Options = Options
    constraints = False  # there are no weights of features

    def point(self, iterate):
        last = self.state.iterate
        if iterate == "last":
            return Point(last.w, last.ell[0] - 0.5 * self.lam * last.w_sq[0], last.w_sq[0])
        w, ell = averaged(self.problem, self.state.averages, iterate, last.w, last.ell[0], self.step)
        w_sq = inner(self.problem, w, w)
        return Point(w, ell - 0.5 * self.lam * w_sq, w_sq)

    def dual_objective(self, ell, w):
        return ell - 0.5 * self.lam * inner(self.problem, w, w)
