"""``fwexp solvers`` and ``fwexp options``."""

import dataclasses

import pytest

from fwexp.blocks.acceleration import AccelerateOptions
from fwexp.commands.option_help import GROUPS, meanings, offered
from fwexp.methods import ALIASES, methods
from fwexp.run.catalogues import catalogue
from fwexp.solvers.bcfw_options import CacheOptions


def test_every_option_has_a_meaning():
    classes = {found.Options for group in GROUPS for found in catalogue(group).values()} | {CacheOptions, AccelerateOptions}
    for options in classes:
        said = meanings(options)
        assert {name for name, meaning in said.items() if meaning} == {field.name for field in dataclasses.fields(options)}, options


def test_all_names_are_listed_with_a_line_on_each(fwexp):
    code, out, err = fwexp("solvers")
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert (code, err) == (0, "")
    found = dict(line for line in lines if line[0].startswith("solver="))
    assert sorted(found) == sorted(f"solver={name}" for name in {*methods(), *ALIASES})
    heads = [line for line in out.splitlines() if not line.startswith(" ")]
    kinds = [f"solvers for {kind}:" for kind in ("structured SVMs", "convex problems", "saddle points")]
    assert heads == [*kinds, "settings that only figures use:"]
    assert {"solver=bcfw_gap_5", "solver=cache_rare"} <= set(out.partition(heads[3])[2].split())
    assert found["solver=bcpfw_gap"] == "Pairwise steps and gap sampling (ICML 2016, sections 3.1 and 3.2)"
    everything = fwexp("options")[1]
    assert everything.startswith(out)
    assert {"dataset=ocr", "task=path"} <= set(everything.split())


def test_a_method_is_described_with_its_paper_and_its_options(fwexp):
    code, out, _ = fwexp("solvers", "cache_global")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "solver=cache_global: A cache whose global criterion decides"
    assert lines[2] == "It is bcfw with sampling=gap, cache={F:0.01,nu:1}."
    assert "Block-coordinate Frank-Wolfe for structural SVMs: Algorithm 4 of Lacoste-Julien" in out
    place = lines.index("  solver.sampling=gap  (uniform, perm, cyclic, gap, gap_perm, max_gap, max_gain, lipschitz, shrinking)")
    assert lines[place + 1].startswith("      Which example is next: drawn uniform, ")
    assert "  solver.cache.F=0.01  (a number)" in lines  # as the method states it
    assert "  solver.cache.size=50  (an integer)" in lines
    assert "  solver.refresh=null  (a number, null)" in lines
    assert fwexp("options", "cache_global")[1] == out


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ocr", ["dataset=ocr: ", "For structured SVMs.", "  dataset.split=ocr2  (ocr2, ocr)"]),
        ("digits", ["dataset=digits: ", "  dataset.validation=0  (a number)\n      Share of the training examples"]),
        ("excessive_gap", ["solver=excessive_gap: ", "It has no options."]),
        ("path", ["task=path: ", "ICML\n2016", "Settings: seed=0, ", "  task.exact=true  (true, false)"]),
        ("away", ["solver=away: ", "For convex problems.", "Algorithm 2: towards s", "  solver.step=auto  (auto, line_search, "]),
        ("auto", ["  solver.cache=null  (true, false, a mapping of F, nu, size, null)\n      Whether stored labelings "]),
    ],
)
def test_data_sets_tasks_and_solvers_are_described(fwexp, name, expected):
    code, out, _ = fwexp("options", name)
    assert code == 0
    assert [text for text in expected if text not in out] == []


@pytest.mark.parametrize(
    ("group", "chosen", "path", "values"),
    [
        ("solver", "bcfw_gap", "step", ["fw", "pairwise", "away", "corrective", "exact"]),
        ("solver", "auto", "line_search", ["true", "false", "null"]),
        ("solver", "bcfw", "accelerate.refresh", ["true", "false"]),
        ("solver", "bcfw", "accelerate.nothing", []),
        ("solver", "nothing", "step", []),
        ("dataset", "ocr", "split", ["ocr2", "ocr"]),
    ],
)
def test_values_are_offered(group, chosen, path, values):
    assert offered(group, chosen, path) == values
