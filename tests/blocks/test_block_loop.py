"""The loop of block methods: the file is the first paper alone, and values of other packages run in it."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fwexp
from fwexp.blocks.averaging import averaged, new_averages
from fwexp.blocks.block_loop import (
    BLOCKS_FULL,
    STEPS_TAKEN,
    FrankWolfe,
    InOrder,
    Oracle,
    Parts,
    Unconstrained,
    new_iterate,
    run_steps,
)
from fwexp.driver.iteration import Budget
from fwexp.files import code_digest
from fwexp.jit.compilation import specialise
from fwexp.problems.protocol import copy_blocks, new_blocks, to_public, workspace
from tests.small_problems import chain, run_in_plain_python

PACKAGE = Path(fwexp.__file__).parent
LAM = 0.05


def first_paper(problem, lam, examples, line_search=True, iterates=()):
    """Run Algorithm 4 from w = 0, with one oracle call for each of ``examples``; return the last iterate and the averages."""
    iterate, averages = new_iterate(problem, Parts(new_blocks(problem)), Unconstrained()), new_averages(problem, iterates)
    corner, step, last, ended = Oracle(), FrankWolfe(line_search), len(examples), BLOCKS_FULL
    while ended == BLOCKS_FULL:
        iterate = iterate._replace(dual=Parts(copy_blocks(problem, iterate.dual.blocks)))  # with room for a step of every example
        values = iterate, InOrder(examples[iterate.counts[STEPS_TAKEN] :]), corner, step, averages
        ended = specialise(run_steps, problem, *values)(problem, *values, workspace(problem), lam, last, last, last)
    return iterate, averages


@pytest.mark.parametrize("line_search", [True, False])
@pytest.mark.parametrize("form", ["dense", "csr", "functions"])
def test_the_first_paper_alone_is_bcfw(form, line_search):
    """Bit for bit, averages included."""
    _, problem = chain(form, 3, n=6)
    order, iterates = np.random.default_rng(0).integers(problem.n, size=40), ("last", "wavg", "tavg", "avg")
    last, averages = first_paper(problem, LAM, order, line_search, iterates)
    options = {"lam": LAM, "order": order, "max_passes": len(order) / problem.n, "gap_tol": 0.0}
    result = fwexp.solve(problem, "bcfw", iterates=iterates, line_search=line_search, **options)
    solver = result.state
    assert solver.step == len(order)
    for name in iterates:
        w = last.w if name == "last" else averaged(problem, averages, name, last.w, last.ell[0], len(order))[0]
        np.testing.assert_array_equal(to_public(problem, w), to_public(problem, solver.point(name).w))
    np.testing.assert_array_equal(last.losses, solver.state.iterate.losses)
    assert last.ell[0] == solver.state.iterate.ell[0]


@pytest.mark.slow
def test_blocks_of_the_first_paper_grow():
    """Vectors of parts that are mostly zeros have room for a few labelings at first."""
    rng = np.random.default_rng(0)
    lengths, K = (40, 3, 3), 20
    problem = fwexp.chain_problem([rng.normal(size=(T, 2)) for T in lengths], [rng.integers(K, size=T) for T in lengths], K)
    order = np.arange(300) % problem.n
    last, _ = first_paper(problem, 1e-3, order)
    solver = fwexp.solve(problem, "bcfw", lam=1e-3, order=order, max_passes=100, gap_tol=0.0).state
    np.testing.assert_array_equal(last.w, solver.state.iterate.w)


def test_the_file_of_the_first_paper_imports_no_later_method():
    """Of this package, only the averages."""
    blocks = {name for name in code_digest.imports("fwexp.blocks.block_loop", True) if name.startswith("fwexp.blocks")}
    assert blocks == {"fwexp.blocks.averaging"}
    assert not any("solvers" in name for name in code_digest.closure(["fwexp.blocks.block_loop"]))


# --- values of other packages -----------------------------------------------------------------------------------------

OUTSIDE = {
    "step": """
from typing import NamedTuple
from fwexp.blocks.block_loop import change_weights, take_step
from fwexp.problems.protocol import add_to_block, dot, loss, set_direction
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.bcfw_options import PlainOptions

class ShortStep(NamedTuple):
    "A step of a fixed share of the way to the corner."
    share: float
    extends_search: bool = False

@take_step.register(ShortStep)
def _(step, problem, i, slot, lam_n, iterate, work):
    set_direction(problem, i, work.y, iterate.dual.blocks, work.direction)
    change = loss(problem, i, work.y) - iterate.losses[i]
    gap = change - dot(problem, i, work.direction, work.theta)
    add_to_block(problem, i, work.direction, step.share, iterate.dual.blocks)
    gamma, change = change_weights(
        iterate.constraint, step, problem, i, step.share, step.share * change, 0.0, lam_n, iterate, work
    )
    return gap, gamma / lam_n, change

class Mine(BCFW):
    name = "short_bcfw"
    title = "block-coordinate Frank-Wolfe with short steps"
    Options = PlainOptions

    def step_rule(self):
        return ShortStep(0.1)
""",
    "order": """
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
from fwexp.blocks.block_loop import next_block
from fwexp.blocks.block_loop import STEPS_TAKEN
from fwexp.blocks.orders import Order
from fwexp.blocks.sampling import order_draws
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.bcfw_options import PlainOptions

class Lazy(NamedTuple):
    "Examples in turn, each of them again while its gap stays large."
    latest: np.ndarray
    factor: float

@next_block.register(Lazy)
def _(order, iterate):
    i = order.latest[0]
    if i < 0 or iterate.gaps[i] <= order.factor * np.mean(iterate.gaps):
        i = (i + 1) % len(iterate.gaps)
    order.latest[0] = i
    return i

@dataclass
class LazyOrder(Order):
    latest: np.ndarray

    def kernel_order(self, run, draws, target_gap):
        return Lazy(self.latest, 1.5)

class Mine(BCFW):
    name = "lazy_bcfw"
    title = "block-coordinate Frank-Wolfe in a lazy order"
    Options = PlainOptions

    def new_order(self, seed, given):
        return LazyOrder(order_draws("cyclic", self.problem.n, seed), np.full(1, -1))
""",
}


@pytest.mark.compiled
@pytest.mark.parametrize("kind", OUTSIDE)
def test_a_step_or_order_of_another_package_takes_one_file(tmp_path, monkeypatch, kind):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"my_{kind}.py").write_text(OUTSIDE[kind])
    mine = importlib.import_module(f"my_{kind}")
    _, problem = chain("dense", 3, n=6)
    solvers = []
    for plain in (False, True):
        if plain:
            run_in_plain_python(monkeypatch)
        solver = mine.Mine(problem, LAM, mine.PlainOptions("cyclic"))
        solver.advance(Budget(10**6, 60))
        solvers.append(solver)
    compiled, by_python = solvers
    assert compiled.exact_dual() == pytest.approx(compiled.point("last").dual, abs=1e-12)
    np.testing.assert_allclose(compiled.state.iterate.w, by_python.state.iterate.w, atol=1e-12)
    assert 0.0 < compiled.exact_gap() < 1.0


RUN = """
import numpy as np
import fwexp
assert fwexp.__file__.startswith({folder!r}), fwexp.__file__
rng = np.random.default_rng(0)
problem = fwexp.multiclass_problem(rng.normal(size=(8, 3)), rng.integers(4, size=8))
solver = fwexp.solve(problem, "bcfw", lam=0.05, step="corrective", max_passes=3, gap_tol=0).state
print(solver.state.iterate.w.tobytes().hex())
"""


@pytest.mark.slow
def test_an_edited_step_runs_as_it_is_now(tmp_path):
    """Although the file with the loop, whose kernel calls the step, does not import the file of the step."""
    folder = tmp_path / "fwexp"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__", "conf"))
    edited = folder / "blocks" / "block_steps.py"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}

    def run():
        code = RUN.format(folder=str(tmp_path))
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout

    before = run()
    text = edited.read_text()
    assert text.count("CORRECTIONS = 5") == text.count("for _ in range(step.corrections):") == 1
    edited.write_text(text.replace("for _ in range(step.corrections):", "for _ in range(1):"))
    after = run()
    assert after != before
    edited.write_text(text)
    assert run() == before
