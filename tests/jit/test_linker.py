"""Linked code does what the functions do that it is made of: a referee runs its texts as plain Python, and compares all bits."""

import linecache
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import fwexp
from fwexp.blocks import block_loop, events, shared_steps
from fwexp.blocks.orders import ByOwnGap
from fwexp.errors import OptionError, ParameterError
from fwexp.jit.compilation import dispatched, njit
from fwexp.problems import protocol, tiers
from fwexp.solvers import get_solver
from tests.jit.plain_python import outcomes
from tests.test_every_solver import FAMILIES, SOLVER_OPTIONS

# --- the language -----------------------------------------------------------------------------------------------------

STEP = 2.0


class Pair(NamedTuple):
    first: Any
    second: float = 3.0
    compiled = ("first",)

    @property
    def total(self):
        return self.first + self.second


class Other(NamedTuple):
    first: Any
    flag: bool
    pair: Any = None


@dispatched
def value_of(thing, x):
    """Return a number that depends on the class."""


@value_of.register(Pair)
def _(thing, x):
    return thing.total * x


@value_of.register(Other)
def _(thing, x):
    if thing.flag:
        return x
    return -x


def change(a):
    """Change an array; return its first entry."""
    a[0] += 10.0
    return a[0]


def sign(x):
    if x < 0.0:
        return -1.0
    elif x == 0.0:
        return 0.0
    x = x * 0.5
    return 1.0 + x


def both(x, y):
    if x > y:
        return y, x
    return x, y


def maybe(a, x):
    if x < 0.0:
        return
    a[1] = x


def find(a, x):
    for j in range(len(a)):
        if a[j] == x:
            return j
    return -1


def spread(scale, *others):
    total = scale * len(others)
    for x in (others[0],):
        total += x
    return total


def keywords(x, y=5.0, *, z=0.0):
    return x + y + z


def shifted(x, by=1.0, factor=STEP):
    x = factor * x + by
    return x


def reads_then_calls(a, x):
    return a[0] + change(a), x * change(a) + a[0], a[0] - (change(a) - a[0]) * change(a)


def reads_names_then_calls(a, x):
    y = x
    x = change(a) + y
    z = x + shifted(x)
    x += change(a)
    return x, y, z


def changes_in_place(a, x):
    a[0] += change(a)
    a[1:] *= change(a)
    a[int(x)] -= a[0] + change(a)
    return a.sum()


def decides(a, x):
    b = x > 0.0 and change(a) > 0.0
    c = x > 0.0 or change(a) > 25.0 or change(a) > 0.0
    d = x == 0.0 and (a[0] > 5.0 or change(a) > 0.0) and change(a) > 0.0
    return b, c, d, not b, a[0]


def chooses(a, x):
    y = change(a) if x > 0.0 else sign(x)
    z = 1.0 if x > 0.0 else 2.0
    return y, z, a[0] if change(a) > 15.0 else a[1]


def loops_while(a, x):
    turns = 0
    while change(a) < 50.0 and turns < 7:
        turns += 1
        if turns == 2:
            continue
        if x > 0.0 and a[0] > 40.0:
            break
        a[1] += turns
    while turns < 20:
        turns += 3
    return turns


def returns_in_branches(a, x):
    maybe(a, x)
    low, high = both(x, a[0])
    low, high = high, low
    y = sign(x) + sign(-x) + sign(0.0)
    return low, high, y


def returns_from_loops(a, x):
    found = find(a, x)
    if found >= 0:
        return found + find(a, a[1])
    return -5 - find(a, a[2])


def passes_tuples(a, x):
    pair = x, change(a)
    x = 7.0
    first, (second, third) = pair[0], (pair[1], a[0])
    rest = (x, *pair)
    return spread(x, *pair), spread(1.0, *rest, x), len(rest), first, second, third


def passes_keywords(a, x):
    y = shifted(x, factor=change(a), by=a[0])
    return y, shifted(x), shifted(by=x, x=y), shifted(factor=1.0, x=2.0)


def makes_tuples(a, x):
    pair = Pair(x)
    other = Other(pair=Pair(change(a), second=a[0]), first=a, flag=False)
    x = 100.0
    a[0] = -1.0
    again = Pair(other.pair.total, pair.second)
    return pair.total, value_of(other.pair, x), value_of(again, 2.0), value_of(other, 1.0), other.first[0]


def folds_constants(a, x):
    if STEP == 2.0 and not STEP > 3 and -STEP < 0 and 2**3 - 7 > 0:
        x += STEP**2 // 3 % 2
    elif unknown:  # noqa: F821
        return 0.0
    nothing = None
    if nothing is None or a is None:
        x -= float(3) / int(2.5)
    return x * math.exp(-0.5) + np.inf - (np.pi if a is not None else 0.0)


def keeps_names_apart(a, x):
    j, total, y = 3, 1.0, shifted(x)
    for x in range(2):
        total += shifted(y, x) + j
        y = sign(y)
    for j, low in ((1, x), (2, y)):
        total *= j + low
    return total, x, y, j


def remembers_turns(a, x):
    total = 0.0
    for j in range(len(a)):
        value = shifted(a[j])
        if j > 0:
            total += value * former  # noqa: F821
        if j == 1:
            kept, place = value, j
        former = value  # noqa: F841
    for item in a:
        last = item
    return total, kept, place, last, j


def assigns_once_in_branches(a, x):
    if x > 0.0:
        y = change(a)
        z = y
    else:
        z = 2.0
    w = z
    z += 1.0
    first = second = change(a)
    a[:] = first
    a[1:], a[0] = x, w
    return w, z, second


def makes_closure(scale, function):
    def closure(a, x):
        return scale * function(a) + x

    return closure


CASES = [
    reads_then_calls, reads_names_then_calls, changes_in_place, decides, chooses, loops_while, returns_in_branches, passes_tuples,
    returns_from_loops, passes_keywords, makes_tuples, keeps_names_apart, remembers_turns, assigns_once_in_branches,
    makes_closure(3.0, change),
]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
@pytest.mark.parametrize("x", [-1.5, 0.0, 2.0])
def test_linked_code_does_what_python_does(function, x):
    kernel = njit(function)
    expected, found, functions = outcomes(lambda: kernel(np.array([1.0, 2.0, 3.0, 4.0]), x))
    assert found == expected
    assert len(found) == 1
    assert function in functions


def test_a_function_without_a_source_is_named():
    scope = {}
    exec("def typed(a, x): return x", scope)
    with pytest.raises(
        ParameterError, match=r"^typed of \S+ has no source that can be read, so it cannot be compiled: define it in"
    ):
        njit(scope["typed"])(np.zeros(1), 1.0)


def text_of(kernel, *args):
    """Return the one text that was linked for a kernel."""
    kernel.forget()
    kernel(*args)
    (linked,) = [linked for linked in kernel._linked.values() if linked]
    return linked.text


def test_what_is_known_is_folded():
    """A branch that nothing can run is not even read."""
    kernel, a = njit(folds_constants), np.array([1.0, 2.0])
    text = text_of(kernel, a, 1.0)
    assert kernel(a, 1.0) == kernel.py_func(a, 1.0)
    assert "if" not in text.source
    assert "unknown" not in text.source


# --- methods and families ---------------------------------------------------------------------------------------------

DEFAULTS = {"lam": 0.1, "max_passes": 3, "schedule": []}


def solve(family, name, options):
    """Solve a problem of a family; say whether the solver takes it."""
    objective = {"objective": get_solver(name).objectives[0]}
    try:
        fwexp.solve(FAMILIES[family](), name, **DEFAULTS | objective | options)
    except OptionError:
        return False
    return True


def linked_in(run):
    """Return all functions that are linked while something runs, after the comparison with plain Python."""
    expected, found, functions = outcomes(run)
    assert [name for name, *_ in found] == [name for name, *_ in expected]
    different = next((one[0] for one, other in zip(found, expected, strict=True) if one != other), None)
    assert different is None
    return functions


SAME_TEXTS = "fw", "ssg", "one_slack", "n_slack", "lbfgs", "entropic_turns", "kernel_bcfw", "kernel_fw"  # with all options
METHODS = {
    **{
        f"{name} {k}": ("chain", name, options)
        for name, rows in SOLVER_OPTIONS.items()
        for k, options in enumerate(rows[:1] if name in SAME_TEXTS else rows)
    },
    "averages": ("chain", "bcfw", {"iterates": ["avg", "wavg", "tavg"]}),
    "shrinking": ("dense classes", "auto", {}),
    "distributions": ("dense classes", "block_entropic", {"sampling": "shrinking"}),
    "exact": ("dense classes", "bcfw", {"step": "exact"}),
    "nonnegative": ("forests", "bcfw", {}),
    "nonnegative pairs": ("forests", "bcfw", {"sampling": "max_gain", "step": "away"}),
}
LINKED = [name for name in FAMILIES if "functions" not in name]  # these run in plain Python
FOR_FAMILIES = [
    ("auto", {}),
    ("bcfw", SOLVER_OPTIONS["bcfw"][2]),
    ("bcfw", {"step": "corrective", "iterates": ["wavg"]}),
    ("block_entropic", {"accelerate": True}),
    ("one_slack", {}),
]


def paths():
    """Move blocks towards the truth and to corners, as lam changes."""
    for options in ({"step": "fw"}, {"step": "pairwise"}, {"objective": "log"}):
        fwexp.grid_search(FAMILIES["chain"](), lams=[1.0, 0.5], max_passes=4, **options)
        fwexp.regularization_path(FAMILIES["chain"](), lam_min=0.3, max_passes=6, **options)


@pytest.mark.slow
def test_every_order_corner_and_step():
    """In all methods that the solvers are made of; what none of them runs would be missing in the end."""
    functions = linked_in(paths)
    for family, name, options in METHODS.values():
        functions |= linked_in(lambda arguments=(family, name, options): solve(*arguments))
    seldom = block_loop.block_has_room, events.block_gap, events.jump_to_best
    every_step = block_loop.next_block, block_loop.note_step, block_loop.has_ended, block_loop.find_corner, block_loop.take_step
    ahead = block_loop.following_block, block_loop.prefetch_block
    for function in (
        *every_step,
        *ahead,
        block_loop.change_weights,
        *seldom,
        events.shrink_block_towards_truth,
    ):
        for cls, implementation in function.implementations.items():
            of_threads = cls is ByOwnGap or implementation.__module__ == shared_steps.__name__  # whose steps have no fixed order
            if implementation.__module__.startswith("fwexp.") and not of_threads:  # others stand in tests
                assert implementation in functions, (function.__name__, cls.__name__)


@pytest.mark.parametrize("family", LINKED)
def test_every_family(family):
    for name, options in FOR_FAMILIES:
        linked_in(lambda arguments=(family, name, options): solve(*arguments))


FUNCTIONS = [name for name in tiers.functions() if getattr(protocol, name).signature]


def kernel_of(function):
    """Return a kernel that calls one function of the protocol, as methods do."""
    names, name = ", ".join(function.signature.names), f"<{function.__name__}>"
    text = f"def kernel({names}):\n    return function({names})\n"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    scope = {"function": function}
    exec(compile(text, name, "exec"), scope)
    return njit(scope["kernel"])


def arguments_for(problem, i):
    """Return a value for every parameter that functions of the protocol have."""
    rng = np.random.default_rng(i)
    work, w = protocol.workspace(problem), rng.normal(size=problem.num_weights)
    protocol.scores(problem, i, w, work.theta)
    protocol.decode(problem, i, work.theta, work.y, work.scratch)
    blocks = protocol.copy_blocks(problem, protocol.new_blocks(problem))
    protocol.set_direction(problem, i, work.y, blocks, work.direction)
    protocol.add_to_block(problem, i, work.direction, 0.3, blocks)
    blocks = protocol.copy_blocks(problem, blocks)
    ptr = protocol.labeling_ptr(problem)
    size = int(ptr[i + 1] - ptr[i])
    storage = protocol.new_storage(problem, 3 * size)
    storage[:size] = storage[2 * size :] = work.y[:size]
    protocol.true_labeling(problem, i, storage[size : 2 * size])
    given = dict(work._asdict()) | {"problem": problem, "i": i, "w": w, "work": work, "blocks": blocks, "storage": storage}
    given |= {"c": 0.7, "cost": 1.0, "factor": -0.4, "mean_loss": 0.1, "u": 0, "t": 0, "start": size, "places": np.arange(3) * size}
    given |= {"weights": np.array([0.2, 0.0, 0.8]), "out": np.zeros(3), "labelings": protocol.new_labelings(problem)}
    given |= {
        "total": protocol.new_sums(problem, 1)[0],
        "values": rng.normal(size=work.theta.size),
        "mean": np.zeros(work.theta.size),
        "means": np.zeros(problem.part_ptr[-1]),
        "temperature": 0.8,
    }
    given["potentials"] = np.zeros(work.theta.size)
    if tiers.has(problem, "expectations"):
        given["scratch"] = np.zeros(max(work.scratch.size, protocol.expectation_scratch(problem).size))
        protocol.loss_augmented_scores(problem, i, work.theta, 0.7, 1.0, given["potentials"])
    return given


@pytest.mark.parametrize("family", [*LINKED, "weighted chain", "weighted dense matchings", "weighted dense graphs"])
def test_every_function_of_the_protocol(family):
    problem = FAMILIES[family.removeprefix("weighted ")]()
    if family not in FAMILIES:
        problem = fwexp.weighted_problem(problem, np.linspace(0.5, 2.0, problem.n))
    kernels = {name: kernel_of(getattr(protocol, name)) for name in FUNCTIONS if is_available(problem, name)}

    def run():
        for name, kernel in kernels.items():
            for i in range(2):
                given = arguments_for(problem, i)
                if name in ("add_psi", "add_labelings"):
                    protocol.clear(problem, i, given["direction"])
                kernel(*(given[parameter] for parameter in getattr(protocol, name).signature.names))

    functions = linked_in(run)
    assert len(kernels) > 30
    assert {getattr(protocol, name).find(type(problem)) for name in kernels} <= functions


def is_available(problem, name):
    tier = getattr(protocol, name).tier
    if tier == "exact" or name == "maximise_block":
        return tiers.has(problem, "exact") and bool(protocol.has_best_block(problem))
    return getattr(protocol, name).find(type(problem)) is not None and (tier != "expectations" or tiers.has(problem, tier))
