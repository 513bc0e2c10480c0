"""Other tools compared with ours: they minimise the stated objectives, on problems of a few examples, and the table is right."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

import fwexp
from benchmarks.peers import contests, tools
from benchmarks.peers.compare import main
from benchmarks.peers.contests import Contender, SameObjective
from benchmarks.peers.peer_table import frame, losses, markdown
from benchmarks.peers.tools import Trained
from fwexp.errors import MissingPackage

rng = np.random.default_rng(0)
K, P, N, LAM = 3, 4, 30, 0.1
Y = rng.integers(K, size=N)
X = np.eye(K, P)[Y] + rng.normal(0, 0.5, (N, P))


def primal(W):
    """Return the objective of Crammer and Singer at classes x features, written out."""
    slacks = []
    for x, y in zip(X, Y):
        scores = W @ x
        slacks.append(max(scores[k] + (k != y) for k in range(len(W))) - scores[y])
    return LAM / 2 * (W**2).sum() + np.mean(slacks)


@pytest.fixture(scope="module")
def optimum():
    result = fwexp.solve(fwexp.multiclass_problem(X, Y), lam=LAM, gap_tol=1e-7, max_passes=10_000)
    assert result.status == "converged"
    return result.primal


@pytest.mark.parametrize("tool", ["ours", "liblinear", "ours_in_python", "dlib"])
def test_tools_minimise_the_same_function(tool, optimum):
    problem, oracle = fwexp.multiclass_problem(X, Y), tools.PythonOracle(X, Y, K)
    trained = {
        "ours": lambda: tools.ours(problem, LAM, 1e-5),
        "liblinear": lambda: tools.liblinear(X, Y, LAM, 1e-6),
        "ours_in_python": lambda: tools.ours_in_python(oracle, LAM, 1e-5),
        "dlib": lambda: tools.dlib(oracle, LAM, 1e-6),
    }[tool]()
    found = primal(trained.w.reshape(P, K).T)
    assert found == pytest.approx(optimum, rel=1e-4)
    value = fwexp.evaluate(problem, trained.w)
    assert 0.5 * LAM * value.norm_sq + value.hinge == pytest.approx(found, rel=1e-9)
    assert trained.seconds > 0
    assert (trained.calls == oracle.calls > N) if tool in ("ours_in_python", "dlib") else np.isnan(trained.calls)


def test_two_classes_are_the_binary_svm():
    y = (Y == 0).astype(int)
    trained = tools.liblinear_binary(X, y, LAM, 1e-7)
    problem = fwexp.multiclass_problem(X, y)
    value = fwexp.evaluate(problem, trained.w)
    best = fwexp.solve(problem, lam=LAM, gap_tol=1e-6, max_passes=10_000).primal
    assert 0.5 * LAM * value.norm_sq + value.hinge == pytest.approx(best, rel=1e-4)
    w = trained.w.reshape(P, 2)
    literal = LAM / 4 * ((w[:, 1] - w[:, 0]) ** 2).sum() + np.maximum(0, 1 - (2 * y - 1) * (X @ (w[:, 1] - w[:, 0]))).mean()
    assert literal == pytest.approx(best, rel=1e-4)


def test_made_up_texts_are_the_same_each_time_and_of_unit_length():
    (X, topics), (again, _) = tools.bags_of_words(50, 300, 3), tools.bags_of_words(50, 300, 3)
    assert X.shape == (50, 300)
    assert X.has_canonical_format
    assert set(topics) == {0, 1, 2}
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(X.toarray(), again.toarray())


def sequences(dense):
    X, y = [np.eye(3)[[0, 1]], np.eye(3)[[2]]], [[0, 1], [2]]
    return fwexp.chain_problem([2 * x if dense else x for x in X], y, 3)


def test_features_and_errors_are_ours():
    plain, dense = tools.Sequences.of(sequences(False)), tools.Sequences.of(sequences(True))
    assert plain.items == [[["0", "first"], ["1", "last"]], [["2", "first", "last"]]]
    assert dense.items[0] == [{"0": 2.0, "first": 1.0}, {"1": 2.0, "last": 1.0}]
    assert [labels.tolist() for labels in plain.labels] == [[0, 1], [2]]
    assert plain.error([[0, 0], [2]]) == 0.25
    w = np.zeros(sequences(False).d)
    assert fwexp.evaluate(sequences(False), w).error == plain.error(fwexp.predict(sequences(False), w))


@pytest.mark.parametrize(("algorithm", "parameters"), [("lbfgs", {"c2": 0.1}), ("ap", {})])
def test_crfsuite_learns_our_sequences(algorithm, parameters):
    data = tools.Sequences.of(sequences(False))
    trained = tools.crfsuite(data, data, algorithm, parameters)
    assert trained.test_error == 0.0
    assert trained.seconds > 0


# -- comparing


def made_up(problem, factor, exact, settings=(), tool="other"):
    """Return a tool that takes ``factor`` seconds per digit, and from the setting ``exact`` on returns the optimum."""
    best = fwexp.solve(problem, lam=LAM, gap_tol=1e-7, max_passes=10_000).w

    def train(setting):
        return Trained(factor / setting, best if setting <= exact else np.zeros_like(best), 7.0)

    return Contender(tool, train, settings, "tol")


def test_the_loosest_setting_that_suffices_is_measured():
    problem = fwexp.multiclass_problem(X, Y)
    ours = made_up(problem, 1e-3, 1.0, tool="ours")
    theirs = made_up(problem, 1e-6, 1e-2, (1.0, 1e-1, 1e-2, 1e-3))
    hopeless = made_up(problem, 1.0, 0.0, (1.0, 1e-1), tool="hopeless")
    rows = SameObjective("p", problem, LAM, (ours, theirs, hopeless), targets=(1e-2,)).measure(rounds=3)
    found = {row["tool"]: row for row in rows}
    assert found["other"]["setting"] == "tol=0.01"
    assert found["other"]["seconds"] == pytest.approx(1e-4)
    assert found["other"]["times"] == pytest.approx(found["other"]["seconds"] / found["ours"]["seconds"])
    assert 0 <= found["other"]["suboptimality"] <= 1e-2
    assert found["hopeless"]["setting"] == "none reaches it"
    assert [row["ours"] for row in rows] == [True, False, False]
    text = markdown(frame(rows))
    assert "| p | 0.01 | ours | tol=" in text
    assert "|  | 0.01 | hopeless | none reaches it | - | - | - |" in text
    assert "Where fwexp loses: p, to 0.01: " in text


def test_everything_takes_its_turn():
    heard = []
    trainings = {key: lambda key=key: heard.append(key) or Trained(float(len(heard))) for key in "ab"}
    found = contests.in_turns(trainings, 2)
    assert heard == ["a", "b", "a", "b"]
    assert contests.spread(found["b"], found["a"]) == {
        "seconds": 3.0,
        "seconds_least": 2.0,
        "seconds_most": 4.0,
        "times": pytest.approx((2 + 4 / 3) / 2),
        "times_least": pytest.approx(4 / 3),
        "times_most": 2.0,
    }


def row(kind, tool, seconds, **values):
    facts = {"kind": kind, "problem": "p", "tool": tool, "setting": "s", "ours": tool == "fwexp", "rounds": 2}
    return facts | {"seconds": seconds, "seconds_least": seconds, "seconds_most": seconds} | values


def test_the_table_says_where_we_lose():
    objective = [
        row("same objective", "fwexp", 2.0, target=0.01, times=1.0),
        row("same objective", "x", 1.0, target=0.01, times=0.5),
    ]
    task = [row("same task", "fwexp", 1.0, test_error=0.2), row("same task", "x", 2.0, test_error=0.1)]
    assert losses(frame(objective)) == "Where fwexp loses: p, to 0.01: 2 times slower."
    assert losses(frame(task)) == "Where fwexp loses: p: test error 0.2000 against 0.1000."
    assert losses(frame([task[0], task[1] | {"seconds": 0.5, "test_error": 0.3}])) == "Where fwexp loses: p: 1 s against 0.5 s."
    assert losses(frame([objective[0], objective[1] | {"times": 3.0}])) == "fwexp loses nowhere here."


# -- the command


def test_the_command_writes_a_table_and_its_numbers(tmp_path, monkeypatch, capsys):
    oracle = contests.python_oracle("made up", X, Y, LAM, "dlib", targets=(1e-1,))
    train = sequences(False)[[0, 1] * 5]
    labelling = contests.labelling("sequences", train, train, iterations=5)
    monkeypatch.setattr(contests, "CONTESTS", {"dlib": (lambda _: [oracle, labelling], ("dlib",))})
    monkeypatch.setattr("os.sched_setaffinity", lambda *_: None, raising=False)
    assert main(["--rounds", "2", f"results_dir={tmp_path}"]) == 0
    files = {suffix: tmp_path / f"peers/dlib.{suffix}" for suffix in ("md", "csv", "json")}
    assert capsys.readouterr().out.endswith("".join(f"{path}\n" for path in files.values()))
    found = pd.read_csv(files["csv"])
    assert found["kind"].value_counts().to_dict() == {"same objective": 2, "same task": 5}
    assert (found["rounds"] == 2).all()
    assert (found["seconds_least"] <= found["seconds"]).all()
    assert "## The same objective" in files["md"].read_text()
    assert json.loads(files["json"].read_text())["figure"] == "peers/dlib"


@pytest.mark.parametrize("name", ["sklearn", "dlib", "pycrfsuite"])
def test_a_tool_that_is_not_there_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=rf"needs {tools.PACKAGES[name]}, which is not installed: `pip install '\.\[peers\]'"):
        tools.module(name)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--only", "crf"], "unknown only 'crf' .did you mean 'crfsuite'..; accepted: crfsuite, dlib, liblinear"),
        (["--rounds", "0"], "--rounds must be an integer >= 1, got '0'"),
        (
            ["dlib"],
            "unknown argument of python -m benchmarks.peers.compare 'dlib'; accepted: --only, --rounds",
        ),
        (["seed=1"], "unknown key of python -m benchmarks.peers.compare 'seed'"),
    ],
)
def test_what_is_wrong_is_one_line(args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fwexp.errors.UserError, match=message):
        main(args)
    assert list(tmp_path.iterdir()) == []
