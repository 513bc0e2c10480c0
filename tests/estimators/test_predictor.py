"""Predictors answer as the estimators do, with numpy alone."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fwexp import predictor
from fwexp.data import Template
from fwexp.errors import OptionError, ParameterError
from fwexp.estimators import (
    ChainCRF,
    ChainSVM,
    ChainSVMCV,
    GraphSVM,
    MatchingSVM,
    MulticlassSVM,
    MultiLabelSVM,
    StructuredSVM,
)
from fwexp.files.packed_weights import PackedWeights
from fwexp.tasks.result import stored_weights
from tests.estimators.cases import CHAINS, CLASSES, EVERY, data_of, new

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KINDS = (*CHAINS, *CLASSES, MultiLabelSVM)
ALONE = """
import json, sys
for name in ("numba", "llvmlite", "scipy", "pandas", "sklearn", "hydra", "yaml", "matplotlib"):
    sys.modules[name] = None
import fwexp.predictor
for path, X in json.load(open(sys.argv[1])):
    model = fwexp.predictor.load(path)
    found = [model.predict(X), model.predict_one(X[0])]
    if "CRF" in path or "Logistic" in path:
        found.append(model.predict_proba(X))
    if "Chain" in path:
        found.append(model.predict(X, n_best=2))
    print(json.dumps(found, default=lambda array: array.tolist()))
"""


def rounded(value):
    """Return answers as JSON has them, rounded."""
    return json.loads(json.dumps(value, default=lambda array: array.tolist()), parse_float=lambda text: round(float(text), 9))


def asked(model, X) -> list:
    """Return all answers of an estimator or a predictor."""
    found = [model.predict(X), model.predict_one(X[0])]
    if getattr(model, "_name", type(model).__name__) in ("ChainCRF", "ChainCRFCV", "MulticlassLogistic"):
        found.append(model.predict_proba(X))
    if isinstance(model, (*CHAINS, predictor.ChainPredictor)):
        found += [model.predict(X, n_best=2), [[score for _, score in of_one] for of_one in model.predict(X, n_best=50)]]
    return found


def check(model, path, X, **functions):
    """Compare the answers of a predictor with those of the estimator in the file."""
    model.save(path)
    found, wanted = rounded(asked(predictor.load(path, **functions), X)), rounded(asked(model, X))
    assert found == wanted


def test_numpy_is_enough(tmp_path):
    models = {cls.__name__: (new(cls).fit(*data_of(cls)), data_of(cls)[0]) for cls in KINDS}
    given = [(str(tmp_path / f"{name}.npz"), X) for name, (_, X) in models.items()]
    for (model, _), (path, _) in zip(models.values(), given):
        model.save(path)
    (tmp_path / "given.json").write_text(json.dumps(given))
    done = subprocess.run([sys.executable, "-c", ALONE, tmp_path / "given.json"], capture_output=True, text=True, check=True)
    for line, (name, (model, X)) in zip(done.stdout.splitlines(), models.items(), strict=True):
        wanted = asked(model, X)
        assert rounded(json.loads(line)) == rounded(wanted[:-1] if "Chain" in name else wanted), name


@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF])
@pytest.mark.parametrize(
    "parameters",
    [
        {"constraints": [("a", "b"), (None, "c"), ("b", None)]},
        {"transition_features": ["word", "size"]},
        {"features": Template("U00:%x[0,0]\nU01:%x[-1,0]\nB01:%x[0,0]\n")},
    ],
    ids=["constraints", "transition_features", "template"],
)
def test_chains_answer_as_their_estimators(cls, parameters, tmp_path):
    X, y = data_of(cls)
    if "features" in parameters:
        X = [[position["word"] for position in x] for x in X]
    if "constraints" in parameters:
        y = [list("acbca"[: len(x) - 1] + "a") for x in X]
    model = new(cls, **parameters).fit(X, y)
    check(model, tmp_path / "model.npz", [*X, X[0][:1], X[0] * 3])
    check(model, tmp_path / "model.npz", [X[0], []])
    found, partial = predictor.load(tmp_path / "model.npz"), [[{"a", "b"}, *[None] * (len(x) - 2), "c"] for x in X]
    assert found.predict(X, partial=partial) == model.predict(X, partial=partial) != model.predict(X)
    if cls is ChainCRF:
        for one, other in zip(found.predict_proba(X, partial=partial), model.predict_proba(X, partial=partial), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_features_may_be_given_as_the_function_returns_them(tmp_path):
    words = [["the", "dog"], ["a", "cat", "sleeps"]]
    model = new(ChainSVM, features=lambda x: [{"w": word} for word in x]).fit(words, [["D", "N"], ["D", "N", "V"]])
    found = predictor.load(model.save(tmp_path / "model.npz"), features="auto")
    assert found.predict([[{"w": word} for word in x] for x in words]) == model.predict(words)


@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF])
@pytest.mark.parametrize("transition_features", [None, ["tag"]])
def test_weights_that_are_mostly_0_stay_packed(cls, transition_features, tmp_path):
    rng = np.random.default_rng(0)
    X = [[{"word": f"é{rng.integers(99)}", "tag": "x"} for _ in range(6)] for _ in range(30)]
    y = [["abcd"[int(position["word"][1:]) % 4] for position in x] for x in X]
    model = new(cls, possible_states=False, transition_features=transition_features).fit(X, y)
    X += [[{"word": f"é{k}", "tag": 2.0} for k in range(80, 120)], [{"word": "é1", "other": "é1"}, {}], []]
    check(model, tmp_path / "model.npz", X)
    with np.load(tmp_path / "model.npz") as arrays:
        assert "places" in arrays
    loaded = cls.load(tmp_path / "model.npz")
    for other in (pickle.loads(pickle.dumps(loaded)), loaded):
        assert isinstance(stored_weights(other.result_), PackedWeights)
        assert rounded(asked(other, X)) == rounded(asked(model, X))
        assert other.result_.w.tobytes() == model.result_.w.tobytes()
        assert not other.result_.w.flags.writeable
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


@pytest.mark.parametrize("transition_features", [None, ["word"]])
def test_positions_that_estimators_skip_are_skipped(transition_features, tmp_path):
    X, y = data_of(ChainCRF)
    y = [[-100 if t % 3 == 1 else label for t, label in enumerate(labels)] for labels in y]
    marks = [[-100 if label == -100 else None for label in labels] for labels in y]
    model = new(ChainCRF, ignore_label=-100, skip_ignored=True, transition_features=transition_features).fit(X, y)
    found = predictor.load(model.save(tmp_path / "model.npz"))
    assert found.predict(X, partial=marks) == model.predict(X, partial=marks)
    assert rounded(found.predict(X, partial=marks, n_best=2)) == rounded(model.predict(X, partial=marks, n_best=2))
    np.testing.assert_allclose(
        np.concatenate(found.predict_proba(X, partial=marks)), np.concatenate(model.predict_proba(X, partial=marks)), atol=1e-12
    )


def test_numbers_and_functions_answer_as_their_estimators(tmp_path):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(int(rng.integers(1, 5)), 3)) for _ in range(12)]
    y = [[int(row[0] > 0) for row in x] for x in X]
    check(new(ChainSVM).fit(X, y), tmp_path / "model.npz", [*X, sp.csr_array(X[0]), pd.DataFrame(X[1])])
    check(new(ChainSVM, transition_features=[0, 2]).fit(X, y), tmp_path / "model.npz", X)
    functions = {"features": lambda x: x[:, :2], "transition_features": lambda x: x[:, 2:]}
    model = new(ChainCRF, **functions).fit(X, y)
    check(model, tmp_path / "model.npz", X, **functions)
    with pytest.raises(OptionError, match=r"^features was <lambda>, which files do not hold: pass it, load\(path, features=...\)$"):
        predictor.load(tmp_path / "model.npz")
    with pytest.raises(
        OptionError, match=r'^lam must be features \(a function or "auto"\) or transition_features \(a function\), got 3$'
    ):
        predictor.load(tmp_path / "model.npz", **functions, lam=3)


@pytest.mark.parametrize("kinds", [2, 3])
@pytest.mark.parametrize("cls", CLASSES)
def test_classes_of_frames_and_matrices(cls, kinds, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=["r", "s", "t"])
    y = np.array(["a", "b", "c"])[(X["r"] > 0).astype(int) + (X["s"] > 0.5).astype(int) * (kinds == 3)]
    model = new(cls).fit(X, y)
    model.save(tmp_path / "model.npz")
    found = predictor.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    with pytest.raises(ParameterError, match=r"^X must have the columns \['r', 's', 't'\], as in fit, got \['s', 'r', 't'\]$"):
        found.predict(X[["s", "r", "t"]])
    model = new(cls, fit_intercept=False).fit(X.to_numpy(), y)
    check(model, tmp_path / "model.npz", X.to_numpy())
    check(model, tmp_path / "model.npz", sp.csr_array(X.to_numpy()))
    with pytest.raises(ParameterError, match=r"^X must have 3 features per position, as in fit, got 2$"):
        predictor.load(tmp_path / "model.npz").predict(X.to_numpy()[:, :2])


@pytest.mark.parametrize("parameters", [{}, {"pairwise": "full"}, {"edges": None}, {"edges": None, "pairwise": "full"}])
def test_sets_of_labels(parameters, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(40, 1)) > 0).astype(int)
    model = new(MultiLabelSVM, lam=1e-3, max_passes=10).set_params(**parameters).fit(X, y)
    assert len(np.unique(model.predict(X), axis=0)) > 4
    check(model, tmp_path / "model.npz", X)


@pytest.mark.parametrize("cls", EVERY)
def test_others_are_refused_in_a_line(cls, tmp_path):
    if cls in (GraphSVM, MatchingSVM, StructuredSVM):
        new(cls).fit(*data_of(cls, n=4)).save(tmp_path / "model.npz")
        only = "which predicts with fwexp.estimators only; see docs/tasks/without-numba.md$"
        wanted = f"got '.*' of an estimator of kind '{cls.__name__}', {only}"
        with pytest.raises(ParameterError, match=wanted):
            predictor.load(tmp_path / "model.npz")
    elif cls in (ChainSVM, ChainSVMCV, MulticlassSVM):
        X, y = data_of(cls)
        new(cls).fit(X, y).save(tmp_path / "model.npz")
        with pytest.raises(ParameterError, match=f"^predict_proba needs a file of ChainCRF or .*, got that of {cls.__name__}$"):
            predictor.load(tmp_path / "model.npz").predict_proba(X)


def test_many_labels_with_edges_and_damaged_files_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 2)), rng.integers(2, size=(8, 13))
    new(MultiLabelSVM).fit(X, y).save(tmp_path / "model.npz")
    with pytest.raises(ParameterError, match=r"^path must be a file of MultiLabelSVM with edges .* 12 labels, got 13 labels$"):
        predictor.load(tmp_path / "model.npz")
    model = new(ChainSVMCV).fit(*data_of(ChainSVMCV))
    record = model._record()
    record["learned"]["num_features"] = 3
    from fwexp.tasks import result_files

    result_files.save(model.result_, tmp_path / "model.npz", record)
    with pytest.raises(ParameterError, match=r"which is damaged \(.* names are those of 3 .*\)$"):
        predictor.load(tmp_path / "model.npz")
    model.result_.save(tmp_path / "model.npz")
    with pytest.raises(ParameterError, match=r"^path must be a file of ChainSVM, .* of a Result; see docs/tasks/without-numba.md$"):
        predictor.load(tmp_path / "model.npz")
