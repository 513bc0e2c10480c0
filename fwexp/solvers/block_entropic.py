"""Block-coordinate ascent with entropic duals, for the log-loss (CRFs) and the softmax-margin; with a duality gap at every step.

The loop is `run_steps` of `fwexp.blocks.block_loop`, and the step, with its sources, is in `fwexp.blocks.duals`:

    1  w = 0, every a_i at the truth, ell_i = 0
    2  for k = 0, 1, ...
    3      pick i (`sampling`)
    4      p_i = the distribution at w: one call of the expectation oracle (on chains, one forward-backward)
    5      gamma from the gap, the curvature and the bound on the entropy
    6      move a_i, ell_i and w by gamma towards p_i

On classes, step 6 goes to about the best distribution of the block (`fwexp.oracles.softmax`), with gamma as where it begins.

At w = A a the gap is 1/n sum_i tau KL(a_i || p_i(w)). Each example costs 8 bytes per part score, 4 with ``precision="single"``: on
chains 8 (T + K) K with K padded.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fwexp.blocks.acceleration import AccelerateOptions, check_effects
from fwexp.blocks.block_steps import ExactStep, NoCorner
from fwexp.blocks.duals import MarginalStep, new_distributions
from fwexp.options import check_number, check_switch, choice, option
from fwexp.problems.loss_terms import soft_workspace
from fwexp.problems.protocol import has_distributions
from fwexp.solvers.base import Solver
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.bcfw_options import Setting, switched

FIRST_TARGET = 10.0  # of `Terms`, for steps that leave a tenth of the gaps that they find, about
PRECISIONS = {"double": np.float64, "single": np.float32}


@dataclass(frozen=True)
class Options:
    """Options of ``block_entropic``.

    Attributes
    ----------
    sampling : str
        Which example is next: by the last known block gaps, after a pass through all in random order (``gap_perm``) or in the order
        of the data (``gap``); the largest (``max_gap``); drawn ``uniform``, a random permutation (``perm``) in every pass,
        ``cyclic``, or in random order through those with a gap (``shrinking``).
    refresh : float
        Passes after which all block gaps are computed exactly, 0 for never.
    accelerate : bool or AccelerateOptions
        Whether the method runs inside an outer acceleration, and which.
    precision : str
        Precision of the stored blocks: ``single`` takes half of the memory, and certifies to about 1e-6 of the objective. All sums
        are ``double``.
    """

    sampling: str = choice("gap_perm", "gap", "max_gap", "uniform", "perm", "cyclic", "shrinking")
    refresh: float = option(0.0, check_number, "a number of passes >= 0 (0 = never)", least=0.0)
    accelerate: bool | AccelerateOptions = option(False, check_switch, AccelerateOptions)
    precision: str = choice("double", "single")

    def __post_init__(self) -> None:
        check_effects("solver block_entropic", self)

    def setting(self) -> Setting:
        """Return the setting that these options choose."""
        accelerate = switched(self.accelerate, AccelerateOptions)
        return Setting(sampling=self.sampling, refresh=self.refresh, accelerate=accelerate, extends_search=False)


class BlockEntropic(BCFW):
    """Block-coordinate ascent with entropic duals."""

    name = "block_entropic"
    title = "block-coordinate ascent with entropic duals"
    objectives = ("log", "softmax_margin")
    Options = Options

    @classmethod
    def needs(cls, options):
        accelerate = options.setting().accelerate
        return ("expectations",) + ("bounds",) * (accelerate is not None and accelerate.kap is None)

    @classmethod
    def memory(cls, problem, options, iterates):
        size = PRECISIONS[options.precision]().nbytes
        return Solver.memory.__func__(cls, problem, options, iterates) + size * int(problem.part_ptr[-1])

    @staticmethod
    def new_work(problem):
        return soft_workspace(problem)

    def new_dual(self):
        return new_distributions(self.problem, self.objective, PRECISIONS[self.options.precision])

    @cached_property
    def terms(self):
        terms = super().terms._replace(estimates_gap=self.setting.needs_gaps)
        return terms._replace(first_target=FIRST_TARGET) if self._moves_distributions else terms

    @cached_property
    def _moves_distributions(self) -> bool:
        return self.options.precision == "double" and has_distributions(self.problem)

    def check_warm_start(self, other):
        Solver.check_warm_start(self, other)
        self.check_same_objective(other)

    def corner(self):
        return NoCorner()

    def step_rule(self):
        return ExactStep() if self._moves_distributions else MarginalStep()
