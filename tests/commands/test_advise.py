"""``fwexp advise`` on data sets of a plugin file."""

import math
import signal

import numpy as np
import pandas as pd
import pytest

from fwexp.cli import main
from fwexp.commands import advise as command
from fwexp.tasks import advice
from tests.pages import ROOT, blocks

PLUGIN = '''
import numpy as np
import fwexp
from fwexp.data import Dataset
from fwexp.options import choice
from dataclasses import dataclass

@dataclass(frozen=True)
class Options:
    """Options.

    Attributes
    ----------
    kind : str
        Of problem.
    """

    kind: str = choice("classes", "python")

def read(options, data_dir):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = np.eye(3)[y] + 0.3 * rng.standard_normal((300, 3))
    if options.kind == "classes":
        return fwexp.multiclass_problem(X, y), None

    def features(i, label):
        phi = np.zeros(9)
        phi[3 * label : 3 * label + 3] = X[i]
        return phi

    def scores(w, i):
        return w.reshape(3, 3) @ X[i]

    return fwexp.CallbackProblem(
        list(map(int, y[:40])), features=features, loss=lambda i, label: float(label != y[i]),
        max_oracle=lambda i, w: int((scores(w, i) + (np.arange(3) != y[i])).argmax()),
    ), None

MINE = Dataset("mine", "points in three classes", "n 300", (), read, Options)
'''
QUICK = ["lam=0.1", "gap_tol=0.01", "seconds=2"]


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Go to an empty folder next to a plugin file, and return the arguments that name the file."""
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    return ["--plugin", "../mine.py", "dataset=mine", *QUICK]


def rows_of(out: str) -> dict[str, list[str]]:
    """Return the rows of the printed table, by method."""
    head, *rows = out.split("\n\n")[0].splitlines()
    assert tuple(head.split()) == command.HEAD
    return {row.split()[0]: row.split() for row in rows}


def said(out: str) -> str:
    """Return what was printed on one line."""
    return " ".join(out.split())


def test_methods_are_ranked_and_the_first_is_advised(plugin, capsys, tmp_path):
    assert main(["advise", *plugin, "solver=auto,bcfw,one_slack"]) == 0
    out, err = capsys.readouterr()
    assert set(rows_of(out)) == {"auto", "bcfw", "one_slack"}
    assert not any("~" in word for word in next(iter(rows_of(out).values())))
    (line,) = [line for line in out.splitlines() if line.startswith("fwexp run ")]
    first = [name for name in rows_of(out) if f"solver={name}" in line]
    assert first in (list(rows_of(out))[:1], ["auto"])
    assert "lam n = 30" in out
    assert "300 of 300 examples" in err
    assert list((tmp_path / "empty").iterdir()) == []
    assert main(["run", *line.split()[2:], "results_dir=../results"]) == 0  # the printed command works


def test_a_method_that_auto_chooses_is_tried_once(plugin, capsys):
    assert main(["advise", *plugin, "solver=auto,bcfw,bcfw_exact_shrinking"]) == 0
    out = capsys.readouterr().out
    assert set(rows_of(out)) == {"auto", "bcfw"}
    assert "auto (bcfw_exact_shrinking)" in out


def test_oracles_in_python_are_tried(plugin, capsys):
    assert main(["advise", *plugin, "dataset.kind=python", "solver=auto,bcfw"]) == 0
    out = capsys.readouterr().out
    assert "auto (like n_slack)" in out
    assert "A call of the oracle, a Python function, with its step costs " in said(out)


def test_what_does_not_fit_is_named(plugin, capsys):
    assert main(["advise", *plugin, "solver=bcfw,ssg,lbfgs"]) == 0
    out = capsys.readouterr().out
    assert list(rows_of(out)) == ["bcfw"]
    assert "- Skipped ssg: solver ssg has no dual, so no gap shows when it is done" in said(out)
    assert "- Skipped lbfgs: solver lbfgs does not minimise the objective hinge" in said(out)
    assert main(["advise", *plugin, "solver=ssg"]) == 2
    assert "solver must fit the data set, got ssg: solver ssg has no dual" in capsys.readouterr().err


@pytest.mark.parametrize("dataset", ["triangle", "ball_game"])
def test_problems_without_examples_are_tried_as_they_are(capsys, dataset, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["advise", f"dataset={dataset}", "gap_tol=0.1", "seconds=5"]) == 0
    out = capsys.readouterr().out
    assert len(rows_of(out)) > 2
    assert f"dataset={dataset}" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["seconds=0"], "seconds must be a positive number, got 0"),
        (["seconds=soon"], "seconds must be a positive number, got 'soon'"),
        (["lam=1,2"], "fwexp advise takes one value for every key except solver, got 2 combinations"),
        (["gap_tol=0"], "gap_tol must be a positive number"),
        (["lam=-1"], "lam must be a positive finite number"),
        (["solver=auto,bcwf"], "did you mean 'bcfw'?"),
        (["task=grid"], "fwexp advise takes task=train only, got grid"),
        (["dataset=nothing"], "nothing"),
        (["--config-dir", "nowhere"], "--config-dir must be a folder, got 'nowhere'"),
        (["-m"], "unknown flag of fwexp advise '-m'"),
    ],
)
def test_a_mistake_is_one_line(capsys, arguments, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = [] if arguments[0].startswith("dataset") else ["dataset=digits"]
    assert main(["advise", *given, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_ends_with_what_is_known(plugin, capsys, monkeypatch, tmp_path):
    def tell(*_):
        return lambda *_: signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(command, "_tell", tell)
    assert main(["advise", *plugin, "solver=bcfw,auto,one_slack"]) == 130
    out, err = capsys.readouterr()
    (row,) = rows_of(out).values()
    assert row[0] == "bcfw"
    assert row[1].startswith("~")  # of 300 examples, 128 were tried
    assert row[-2] == "128"
    assert "solver=bcfw" in out
    assert err.splitlines()[-1] == "fwexp: interrupted"
    assert list((tmp_path / "empty").iterdir()) == []


def test_data_sets_of_a_folder_are_found(plugin, capsys, tmp_path):
    folder = tmp_path / "conf" / "dataset"
    folder.mkdir(parents=True)
    (folder / "theirs.yaml").write_text("name: mine\nkind: python\n")
    arguments = [word for word in plugin if word != "dataset=mine"]
    assert main(["advise", *arguments, "dataset=theirs", "solver=auto", "--config-dir", "../conf"]) == 0
    out = capsys.readouterr().out
    assert "--config-dir ../conf" in out
    assert "auto (like n_slack)" in out
    assert "no other method was tried" in said(out)


def test_approximate_oracles_have_no_gap_to_compare_by(plugin, capsys, monkeypatch):
    monkeypatch.setattr("fwexp.problems.protocol.exact_oracle", lambda problem: False)
    assert main(["advise", *plugin]) == 0
    assert capsys.readouterr().out.startswith("fwexp run --plugin ../mine.py solver=bcfw")


def test_a_gap_that_is_small_enough_at_the_start_is_named(plugin, capsys):
    assert main(["advise", *plugin, "gap_tol=2", "solver=bcfw,bcfw_gap"]) == 0
    out = capsys.readouterr().out
    assert set(rows_of(out)) == {"bcfw", "bcfw_gap"}
    assert "- The gap is at most 2 before the first step: choose a smaller gap_tol." in said(out)


@pytest.mark.slow
def test_the_command_of_the_page_prints_such_a_table(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    page = list(blocks(ROOT / "docs" / "choose.md"))
    (place,) = [k for k, block in enumerate(page) if block.text.startswith("fwexp advise")]
    arguments, shown = page[place].text.split()[1:], rows_of(page[place + 1].text)
    assert main([*arguments, "seconds=5"]) == 0
    found = rows_of(capsys.readouterr().out)
    assert set(found) == set(shown)


# --- predictions


class Result:
    def __init__(self, gaps, passes):
        self.trace = pd.DataFrame(
            {"primal": 1.0 + np.asarray(gaps), "dual": 1.0, "passes": passes, "time": np.asarray(passes) / 10}
        )
        self.trace["oracle_calls"] = self.trace["passes"] * 100


def test_a_gap_that_was_reached_is_measured():
    trial = advice.as_trial(Result([1.0, 0.5, 0.01, 0.2], [0, 1, 2, 3]), 100, 0.1)
    assert (trial.passes, trial.seconds, trial.is_measured) == (2.0, 0.2, True)
    assert trial.per_call == pytest.approx(0.001)


def test_a_gap_that_was_not_reached_is_extrapolated():
    passes = np.arange(1, 41)
    trial = advice.as_trial(Result(0.9**passes, passes), 100, 0.9**100)
    assert (trial.passes, trial.seconds) == pytest.approx((100.0, 10.0))
    assert not trial.is_measured
    assert advice.as_trial(Result(np.ones(40), passes), 100, 0.01).seconds == math.inf
    assert advice.as_trial(Result([np.inf], [0.0]), 100, 0.01).seconds == math.inf


def test_methods_are_left_out_only_if_they_are_slow():
    """One whose gaps do not show yet where they go stays, unless its trial took too long already."""
    of = advice.Candidate("bcfw", "bcfw", {})
    unknown = advice.Trial(100, math.inf, math.inf, 0.5, 10.0, 2.0, 1e-5)
    assert advice.predict(of, [unknown], 400).seconds == math.inf
    assert advice.predict(of, [unknown], 400).least_seconds == pytest.approx(4.0)


def test_passes_change_with_the_number_of_examples_as_trials_show():
    def trial(size, passes, ended=math.inf):
        return advice.Trial(size, passes, passes * size / 1000, 0.0, ended, passes, 1e-5)

    of = advice.Candidate("bcfw", "bcfw", {})
    measured = [trial(100, 40.0), trial(400, 20.0)]
    assert advice.predict(of, measured, 6400)[3:] == pytest.approx((5.0, 32.0))
    assert advice.predict(of, [trial(100, 20.0), trial(400, 21.0)], 6400).passes == 21.0  # they never grow
    assert advice.predict(of, [trial(100, 1e3), trial(400, 1.0)], 6400).passes == 1.0  # and are not below one
    assert advice.predict(of, [trial(400, 20.0, ended=5.0)], 1600).passes == pytest.approx(10.0)
    start = trial(100, 0.0), trial(400, 0.0)  # where the gap is small enough
    assert advice.predict(of, start[:1], 6400)[3:] == advice.predict(of, start, 6400)[3:] == (0.0, 0.0)
    assert advice.predict(of, [start[0], measured[1]], 6400).passes == pytest.approx(5.0)
