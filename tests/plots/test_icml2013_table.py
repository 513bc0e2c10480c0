import numpy as np
import pandas as pd
import pytest

from fwexp.papers.figure_files import save_figure
from fwexp.plots import icml2013_table as table

N = 1000


def make_run(solver, gap, *, n=N, seed=0, dual=True, sample=None):
    """Return a run with P = 0.2 + gap(calls) and D = 0.2, logged at 100, 200, 400 ... calls."""
    calls = 100.0 * 2.0 ** np.arange(12)
    primal = 0.2 + gap(calls)
    frame = pd.DataFrame({"iterate": "last", "oracle_calls": calls, "passes": calls / n, "primal": primal})
    frame["dual"] = 0.2 if dual else np.nan
    facts = {"solver": solver, "lam": 0.01, "seed": seed, "key": f"{solver}/{n}/{seed}", "dataset.n": sample, "dataset": "ocr"}
    return frame.assign(**facts)


def rows(*runs):
    return table.data(pd.concat(runs, ignore_index=True)).set_index("method")


def test_calls_are_those_at_which_the_gap_is_reached():
    found = rows(make_run("bcfw", lambda calls: 100 / calls), make_run("fw", lambda calls: 0 * calls + 0.05))
    assert found.loc["bcfw", "calls 0.1"] == pytest.approx(1000)
    assert found.loc["bcfw", "calls 0.01"] == pytest.approx(10000)
    assert found.loc["fw", "calls 0.1"] == 100  # the first that was logged
    assert np.isinf(found.loc["fw", "calls 0.01"])
    assert np.isnan(found.loc["bmrm", "calls 0.1"])


def test_the_gap_is_that_of_the_best_primal_so_far():
    def wavy(calls):
        return np.where(calls == 1600, 0.05, 0.5)

    assert 800 < rows(make_run("bcfw", wavy)).loc["bcfw", "calls 0.1"] < 1600


def test_a_method_without_dual_is_held_against_the_highest_dual_of_the_same_words():
    ssg = make_run("ssg", lambda calls: 100 / calls, dual=False)
    low = make_run("bcfw", lambda calls: 100 / calls, n=100, sample=100.0).assign(dual=-1.0)
    found = rows(ssg, make_run("bcfw", lambda calls: 100 / calls), low)
    assert found.loc["ssg", "calls 0.1"] == pytest.approx(1000)


def test_growth_is_the_exponent_of_n_and_needs_three_sizes():
    sizes = [125, 250, 500]
    samples = [make_run("fw", lambda calls, n=n: 0.1 * n / calls, n=n, sample=float(n)) for n in sizes]
    average = samples[0].assign(iterate="wavg", primal=0.2)  # logged by some runs only
    found = rows(make_run("fw", lambda calls: 1e-3 * N / calls), *samples, average)
    assert set(found.loc["fw", "keys"].split()) == {f"fw/{n}/0" for n in [N, *sizes]}
    assert found.loc["fw", "growth 0.1"] == pytest.approx(1.0, abs=0.05)
    assert found.loc["fw", "calls 0.1"] == 100  # of the largest, which is no sample
    few = rows(make_run("fw", lambda calls: 0.1 * N / calls), samples[0])
    assert np.isnan(few.loc["fw", "growth 0.1"])


def test_the_median_of_the_seeds_counts():
    runs = [make_run("bcfw", lambda calls, c=c: c / calls, seed=seed) for seed, c in enumerate((50, 100, 400))]
    found = rows(*runs)
    assert found.loc["bcfw", "calls 0.1"] == pytest.approx(1000)
    assert found.loc["bcfw", "runs"] == 3


def test_markdown_has_a_row_per_method_and_says_what_was_not_reached(tmp_path):
    frame = table.data(make_run("fw", lambda calls: 0 * calls + 0.05))
    text = table.draw(frame)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(table.METHODS)
    assert {line.count("|") for line in lines if "log" not in line} == {11}
    assert sum(r"log\|Y\|" in line for line in lines) == 3
    (fw,) = [line for line in lines if "batch Frank-Wolfe" in line]
    assert fw.split("|")[7:9] == [" 100 (0.1) ", " > 204,800 (205) "]
    paths = save_figure(text, frame, tmp_path / "table1", note="smoke preset")
    assert [path.name for path in paths] == ["table1.md", "table1.csv", "table1.json"]
    assert paths[0].read_text().endswith("**smoke preset**\n")
    pd.testing.assert_frame_equal(pd.read_csv(paths[1]), frame, check_dtype=False)


def test_the_row_of_another_quantity_is_marked():
    frame = rows(make_run("ssg", lambda calls: 100 / calls, dual=False), make_run("bcfw", lambda calls: 100 / calls)).reset_index()
    lines = {line.split(" | ")[0].strip("| "): line for line in table.draw(frame).splitlines() if line.startswith("| ")}
    assert lines["stochastic subgradient"].count("†") == 2  # too few sizes for growth
    assert "†" not in lines["block-coordinate Frank-Wolfe"]
    assert "†: the stochastic subgradient method has no dual." in table.draw(frame)
