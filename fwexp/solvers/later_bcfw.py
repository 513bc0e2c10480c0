"""Block-coordinate Frank-Wolfe with steps and orders of papers after 2016, to compare them: not methods to choose.

Steps (`fwexp.blocks.later_steps`): ``fw`` towards the corner; ``pairwise`` and ``away`` as short step chains, which need one
oracle call for several steps of a block (Bomze, Rinaldi and Zeffiro 2024); ``wss2``, pairwise with the away corner of the best
improvement (Franc 2014). With ``blocks`` > 1, so many random blocks find their corners at one w and take one joint step (Zhang
et al. 2017, Wang et al. 2016); a run that ends within such a group has made the calls of it, and no step.

With ``skip`` = K > 1 a pass leaves out examples with more labels than the mean, whose oracles cost more, except one part of K
of them that changes from pass to pass: every block has its turn at least once in K passes (Braun, Pokutta and Woodstock,
"Flexible block-iterative analysis for the Frank-Wolfe algorithm", 2024). The column ``cost`` of the trace counts calls in
proportion to the number of labels of the example, in passes: calls of all examples cost 1.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fwexp.blocks.block_loop import DRAWS_USED, next_block, note_step
from fwexp.blocks.later_steps import BEST_IMPROVEMENT, CHAIN_AWAY, CHAIN_PAIRWISE, JointStep, LaterStep
from fwexp.blocks.orders import Order
from fwexp.blocks.sampling import Draws, order_draws
from fwexp.errors import OptionError
from fwexp.options import check_integer, choice, option
from fwexp.problems.protocol import new_weights, original
from fwexp.solvers.base import PlainOrder
from fwexp.solvers.bcfw import BCFW, State
from fwexp.solvers.bcfw_options import Setting

STEPS = {"fw": 0, "pairwise": CHAIN_PAIRWISE, "away": CHAIN_AWAY, "wss2": BEST_IMPROVEMENT}


@dataclass(frozen=True)
class Options(PlainOrder):
    """Options of ``later_bcfw``.

    Attributes
    ----------
    step : str
        ``fw``; ``pairwise`` or ``away``, in short step chains; ``wss2``, pairwise with the away corner of the best improvement.
    blocks : int
        Random blocks that take a joint step.
    skip : int
        Passes within which each costly example has a turn.
    """

    step: str = choice(*STEPS)
    blocks: int = option(1, check_integer, 1, needs={"step": ("fw",), "sampling": ("uniform",)})
    skip: int = option(1, check_integer, 1, needs={"sampling": ("uniform",)})

    def __post_init__(self) -> None:
        if self.blocks > 1 and self.skip > 1:
            raise OptionError(f"solver later_bcfw: blocks must be 1 with skip > 1, got {self.blocks}")

    def setting(self) -> Setting:
        """Return the setting that these options choose."""
        step, joint = "fw" if self.step == "fw" else "pairwise", self.blocks > 1
        return Setting(sampling=self.sampling, step=step, keeps_labelings=joint, extends_search=False)


@dataclass
class GroupDraws(Draws):
    """Groups of different examples (rule ``groups``), or passes that skip costly ones (``skipping``)."""

    size: int = 1  # examples per group, or passes in which each costly example has its turn
    costly: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    turns: int = 0  # passes so far

    def _more(self, count):
        portions = [np.empty(0, dtype=np.int64)]
        while sum(map(len, portions)) < count:
            if self.rule == "groups":
                portions.append(self.rng.permutation(self.n)[: self.size])
                continue
            if self.turns % self.size == 0:
                self.rng.shuffle(self.costly)
            cheap = np.setdiff1d(np.arange(self.n), self.costly)
            portions.append(self.rng.permutation(np.concatenate((cheap, self.costly[self.turns % self.size :: self.size]))))
            self.turns += 1
        return np.concatenate(portions)


class Visits(NamedTuple):
    """Examples in an order that was drawn before, with the cost of their calls."""

    examples: np.ndarray  # int64, one per step
    costs: np.ndarray  # float64 (n,), of a call, in passes
    total: np.ndarray  # float64 (1,), of all calls so far


@next_block.register(Visits)
def _(order, iterate):
    return order.examples[iterate.counts[DRAWS_USED]]


@note_step.register(Visits)
def _(order, i, gap, hit, iterate):
    order.total[0] += order.costs[i]


@dataclass
class CostedOrder(Order):
    """The order of a run, with the cost of its calls."""

    costs: np.ndarray
    total: np.ndarray

    def kernel_order(self, run, draws, target_gap):
        return Visits(draws, self.costs, self.total)


@dataclass
class LaterState(State):
    """All that a run changes."""

    group: JointStep


class LaterBCFW(BCFW):
    """Block-coordinate Frank-Wolfe with chains, joint steps, or skipped oracles."""

    name = "later_bcfw"
    title = "block-coordinate Frank-Wolfe, steps and orders of papers after 2016"
    Options = Options
    iterates = ("last",)
    takes_order = constraints = takes_warm_start = False

    def prepare(self):
        if self.options.blocks > self.problem.n:
            raise OptionError(f"solver.blocks must be at most the number of examples, {self.problem.n}, got {self.options.blocks}")
        super().prepare()

    def start(self, seed, iterates, order, warm_start):
        super().start(seed, iterates, order, warm_start)
        numbers, count = np.zeros((2, self.options.blocks)), np.zeros((2, self.options.blocks), dtype=np.int64)
        group = JointStep(*count, np.zeros(1, dtype=np.int64), *numbers, new_weights(self.problem))
        self.state = LaterState(**vars(self.state), group=group)

    def new_order(self, seed, given):
        n, options = self.problem.n, self.options
        lengths = np.diff(getattr(original(self.problem), "label_ptr", np.arange(n + 1)))
        rng = np.random.default_rng(seed)
        if options.blocks > 1:
            draws = GroupDraws("groups", n, rng, size=options.blocks)
        elif options.skip > 1:
            draws = GroupDraws("skipping", n, rng, size=options.skip, costly=np.flatnonzero(lengths > lengths.mean()))
        else:
            draws = order_draws(options.sampling, n, seed)
        return CostedOrder(draws, lengths / lengths.sum(), np.zeros(1))

    def step_rule(self):
        if self.options.step != "fw":
            return LaterStep(STEPS[self.options.step])
        return self.state.group if self.options.blocks > 1 else super().step_rule()

    def extras(self):
        return super().extras() | {"cost": float(self.state.order.total[0])}
