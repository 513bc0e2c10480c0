"""The first predictions of a process: with numpy alone, and with numba as soon as that is worth its import."""

import json
import subprocess
import sys

import pytest

from fwexp.estimators import ChainCRF, ChainSVM
from fwexp.estimators.chain_model import FEW
from tests.estimators.cases import data_of, new

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FIRST = """
import json, sys
cls, path, given = sys.argv[1:]
X, partial = json.loads(given)
import fwexp.estimators
tagger = getattr(fwexp.estimators, cls).load(path)
found = [tagger.predict(X), tagger.predict_one(X[0]), tagger.predict(X, partial=partial), tagger.predict([])]
heavy = {"numba", "scipy", "pandas", "sklearn", "matplotlib", "hydra", "psutil", "importlib.metadata"} & set(sys.modules)
print(json.dumps([found, sorted(heavy)]))
"""
LATER = """
import sys
from fwexp.estimators import ChainSVM
from fwexp.estimators.chain_model import FEW
tagger = ChainSVM.load(sys.argv[1])
x = [{"word": "w1"}] * (FEW // 2)
first = tagger.predict([x])
assert "numba" not in sys.modules
assert tagger.predict([x]) == first
assert "numba" in sys.modules
"""
ASKED = """
import sys
from fwexp.estimators import ChainSVM

class Mine(ChainSVM):
    def set_params(self, **params):
        return super().set_params(**params)

tagger = Mine()
assert not hasattr(tagger, "transform") and "sklearn" not in sys.modules
tagger.set_params(lam=0.5)
from sklearn.base import BaseEstimator, clone
assert isinstance(tagger, BaseEstimator) and isinstance(ChainSVM(), BaseEstimator)
assert clone(tagger).get_params()["lam"] == 0.5
assert repr(ChainSVM(lam=0.5)) == "ChainSVM(lam=0.5)"
assert hasattr(tagger, "set_fit_request") and hasattr(ChainSVM, "set_fit_request")
"""
MADE = """
from fwexp.estimators import ChainSVM
tagger = ChainSVM()
from sklearn.base import BaseEstimator, clone
later = ChainSVM(lam=0.5)
assert isinstance(later, BaseEstimator) and isinstance(tagger, BaseEstimator)
assert clone(later).lam == 0.5
"""

TRAINED = """
import sys
from fwexp.estimators import ChainSVM
ChainSVM(lam=0.1).fit([["a", "b"], ["b", "a"]], [["x", "y"], ["y", "x"]])
assert not {"sklearn", "pandas", "pyarrow"} & set(sys.modules)
"""


def run(code: str, *arguments) -> str:
    """Return what a new process prints."""
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [(ChainSVM, {"constraints": [("a", "b"), (None, "c")]}), (ChainCRF, {"transition_features": ["word"]})],
)
def test_loading_and_predicting_import_numpy_alone(cls, parameters, tmp_path):
    X, y = data_of(cls)
    if "constraints" in parameters:
        y = [list("acbca"[: len(x) - 1] + "a") for x in X]
    model = new(cls, **parameters).fit(X, y)
    partial = [[None] * (len(x) - 1) + ["a"] for x in X]
    path = model.save(tmp_path / "model.npz")
    found, imported = json.loads(run(FIRST, cls.__name__, path, json.dumps([X, partial])))
    assert not imported
    assert found == [model.predict(X), model.predict_one(X[0]), model.predict(X, partial=partial), []]


@pytest.mark.slow
def test_training_imports_what_it_needs_alone():
    run(TRAINED)


@pytest.mark.slow
def test_later_predictions_are_compiled(tmp_path):
    assert FEW > 1000
    run(LATER, new(ChainSVM).fit(*data_of(ChainSVM)).save(tmp_path / "model.npz"))


def test_estimators_are_those_of_scikit_learn_once_it_asks():
    run(ASKED)


def test_estimators_made_after_the_import_of_scikit_learn_are_its_own():
    run(MADE)
