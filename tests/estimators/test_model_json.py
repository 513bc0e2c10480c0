"""Estimators as JSON and back, and taggers from weights by name: those of CRFsuite predict as CRFsuite does."""

import json

import numpy as np
import pytest

from fwexp import predictor
from fwexp.data import read_crfsuite
from fwexp.errors import DataError, OptionError, ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, MulticlassSVM
from tests.estimators.cases import EVERY, answers, data_of, held, new

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def no_number(text):
    raise AssertionError(f"{text} is no JSON")


@pytest.mark.parametrize("cls", EVERY)
def test_json_restores_every_bit(cls):
    X, y = data_of(cls, 9)
    model = new(cls).fit(X, y)
    text = model.to_json()
    found = json.loads(text, parse_constant=no_number)
    assert len(found["weights"]) == np.count_nonzero(model.result_.w) if "weights" in found else len(found["w"])
    again = cls.from_json(text, **held(cls))
    np.testing.assert_array_equal(again.result_.w, model.result_.w)
    np.testing.assert_array_equal(again.trace_["primal"], model.trace_["primal"])
    assert again.dual_gap_ == pytest.approx(model.dual_gap_, rel=0, nan_ok=True)
    assert answers(again, X) == answers(model, X)
    assert json.loads(again.to_json())["header"]["estimator"] == found["header"]["estimator"]


def test_other_json_is_refused():
    model = new(MulticlassSVM).fit(*data_of(MulticlassSVM, 9))
    found = json.loads(model.to_json())
    with pytest.raises(
        ParameterError, match=r"^text must be JSON of ChainSVM\.to_json, got that of 'MulticlassSVM'; use MulticlassSVM\.l"
    ):
        ChainSVM.from_json(json.dumps(found))
    for text in ("", "[]", "{", json.dumps({"header": found["header"]}), json.dumps(found | {"trace": {}, "header": {}})):
        with pytest.raises(ParameterError, match=r"^text must be JSON of MulticlassSVM\.to_json, got '"):
            MulticlassSVM.from_json(text)
    for weights in ([["word=w1", "d", 1.0]], [["none", "a", 1.0]], [["word=w1", "a", "text"]]):
        with pytest.raises(
            ParameterError, match=r"^text must be JSON of MulticlassSVM\.to_json, got one that is damaged \(weights must be"
        ):
            MulticlassSVM.from_json(json.dumps(found | {"weights": weights}))


def test_functions_are_passed_again():
    model = new(ChainSVM, features=lambda x: [[word[0]] for word in x]).fit([["the", "dog"]], [["D", "N"]])
    text = model.to_json()
    with pytest.raises(OptionError, match=r"^features was <lambda>, which files do not hold"):
        ChainSVM.from_json(text)
    assert ChainSVM.from_json(text, features=model.features).predict([["toe", "day"]]) == [["D", "N"]]


def test_weights_by_name_make_a_tagger(tmp_path):
    weights = {("the", "D"): 2.0, ("dog", "N"): 1.0}, {("D", "N"): 0.5}
    tagger = ChainCRF.from_weights(*weights, start={"V": 0.1}, end={"N": 0.25}, classes=["N", "D", "V"], lam=0.5)
    assert dict(tagger.state_features_) == weights[0]
    assert dict(tagger.transition_features_) == weights[1]
    assert tagger.start_.tolist() == [0.1 * (name == "V") for name in tagger.classes_]
    assert tagger.end_.tolist() == [0.25 * (name == "N") for name in tagger.classes_]
    X = [["the", "dog"], ["unknown"]]
    assert tagger.predict(X, n_best=1) == [[(["D", "N"], 3.75)], [(["N"], 0.25)]]
    assert (tagger.status_, tagger.n_passes_) == ("max_passes", 0.0)
    assert np.isnan(tagger.dual_gap_)
    for other in (predictor.load(tagger.save(tmp_path / "model.npz")), ChainCRF.load(tmp_path / "model.npz")):
        assert other.predict(X) == tagger.predict(X)
    tagger.partial_fit([["unknown", "dog"]], [["V", "N"]])
    assert tagger.state_features_["the", "D"] == pytest.approx(2.0)
    with pytest.raises(ParameterError, match=r"^weights must be of known features and labels, got 'dog' and 'N'$"):
        ChainSVM.from_weights(*weights, classes=["D", "V"])
    with pytest.raises(ParameterError, match=r"^state_features must be weights of pairs \(feature, label\) whose features are"):
        ChainSVM.from_weights({(1, "D"): 2.0})


def test_models_of_crfsuite_predict_as_crfsuite_does(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    rng = np.random.default_rng(0)
    names = ["w=the", "a --> N", "b: 3.0", "c --> D: 1"]
    X = [[[names[k] for k in rng.integers(4, size=2)] for _ in range(rng.integers(1, 6))] for _ in range(30)]
    y = [[("D", "N", "N --> D", "V")[names.index(position[0])] for position in x] for x in X]
    trainer, tagger = pycrfsuite.Trainer(verbose=False), pycrfsuite.Tagger()
    for of_one in zip(X, y):
        trainer.append(*of_one)
    trainer.set_params({"max_iterations": 5, "c2": 1.0})
    trainer.train(str(tmp_path / "model.crfsuite"))
    tagger.open(str(tmp_path / "model.crfsuite"))
    tagger.dump(str(tmp_path / "model.txt"))
    model = ChainCRF.from_weights(**read_crfsuite(tmp_path / "model.txt"))
    assert model.predict(X) == [tagger.tag(x) for x in X]
    for x, found in zip(X, model.predict_marginals(X)):
        tagger.set(x)
        wanted = [{label: tagger.marginal(label, t) for label in tagger.labels()} for t in range(len(x))]
        for one, other in zip(found, wanted, strict=True):
            assert one == pytest.approx(other, abs=1e-5)


LINES = ["LABELS = {", "  0: D", "}", "TRANSITIONS = {", "  (1) D --> D: -1e-05", "}"]
LINES += ["ATTRIBUTES = {", "  0: w:a:b", "}", "STATE_FEATURES = {", "  (0) w:a:b --> D: 2", "}"]


def test_dumps_are_read_or_refused_by_line(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("\n".join(LINES))
    found = read_crfsuite(path, separator=":")
    assert found == {"state_features": {("w=a:b", "D"): 2.0}, "transitions": {("D", "D"): -1e-5}, "classes": ["D"]}
    for line, bad, message in (
        (4, "  (1) D --> N: 1.0", "line 5: must be a weight of names of the model, got "),
        (10, "  (0) w:a", "line 11: must be a line of a dump of CRFsuite, got "),
        (0, "LABEL = {", "line 1: must be a line of a dump"),
    ):
        path.write_text("\n".join([*LINES[:line], bad, *LINES[line + 1 :]]))
        with pytest.raises(DataError, match=message):
            read_crfsuite(path)
    path.write_text("")
    with pytest.raises(DataError, match=r"must be a dump of CRFsuite, got one without labels$"):
        read_crfsuite(path)
