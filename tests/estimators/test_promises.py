"""Promises of every estimator: copies and files are the same estimator, and inputs come in any form of sequence."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, GraphSVM, MatchingSVM, MulticlassSVM, MultiLabelSVM, StructuredSVM
from tests.estimators.cases import CHAINS, CLASSES, EVERY, SEARCHES, answers, data_of, held, learned, new

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
COSTS = 3 - 3 * np.eye(3)
KINDS = [(cls, {}) for cls in EVERY]
KINDS += [(ChainSVM, {"transition_features": ["word"], "constraints": [("b", "b")], "costs": {("a", "b"): 2.0}})]
KINDS += [(ChainSVM, {"nonnegative": slice(0, 6), "class_weight": "balanced"}), (ChainSVM, {"nonnegative": [0, 3]})]
KINDS += [(MulticlassSVM, {"costs": COSTS, "rescaling": "slack", "class_weight": {"b": 2.0}, "nonnegative": np.arange(3)})]
KINDS += [(ChainCRF, {"objective": "softmax_margin", "costs": COSTS}), (GraphSVM, {"connectivity": 8, "contrast": True})]
KINDS += [(MulticlassSVM, {"fit_intercept": False}), (GraphSVM, {"pairwise": "full"}), (MultiLabelSVM, {"pairwise": "full"})]
KINDS += [(MultiLabelSVM, {"pairwise": "full", "edges": [(0, 1)], "class_weight": "balanced"})]

# The learned values in files, which other versions of the package read; those after the bar may be missing in older files.
LEARNED = {
    **dict.fromkeys(CHAINS, "classes names num_features | class_weight"),
    **dict.fromkeys(SEARCHES, "classes names num_features columns values | class_weight"),
    **dict.fromkeys(CLASSES, "classes has_constant names num_features | columns"),
    MultiLabelSVM: "classes has_constant names num_features edges class_weight pairwise | columns",
    GraphSVM: "classes num_features pairwise | class_weight",
    MatchingSVM: "num_features |",
    StructuredSVM: "|",
}


def weights(model) -> dict:
    """Return all arrays of weights that a model shows: read-only, because the certificate and predictions are about them."""
    names = ("w", "coef_", "intercept_", "start_", "end_", "transitions_", "edge_weights_")
    return {"result_.w": model.result_.w} | {name: getattr(model, name) for name in names if hasattr(model, name)}


def known(model, X) -> str:
    """Return all that an estimator shows, but the log of training."""
    shown = {name: value for name, value in model.get_params().items() if name != "model"}
    return repr((shown, learned(model), model._record(), answers(model, X)))


@pytest.mark.parametrize(("cls", "given"), KINDS, ids=lambda value: getattr(value, "__name__", None))
def test_copies_and_files_are_the_same_estimator(cls, given, tmp_path):
    X, y = data_of(cls, 9)
    model = new(cls, **given).fit(X, y)
    expected, path = known(model, X), model.save(tmp_path / "model.npz")
    for other in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model), cls.load(path, **held(cls))):
        assert known(other, X) == expected
        for name, array in weights(other).items():
            assert array.size, name
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0
            if name != "result_.w":
                with pytest.raises(AttributeError):
                    setattr(other, name, array)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), cls.load(path, **held(cls))):
        np.testing.assert_array_equal(other.result_.w, model.result_.w)
        np.testing.assert_array_equal(other.trace_["primal"], model.trace_["primal"])
        assert other.result_.state is None
    np.testing.assert_array_equal(fwexp.load(path).w, model.result_.w)
    assert dataclasses.asdict(model).keys() == model.get_params().keys()
    again = clone(model)
    assert repr({**again.get_params(), "model": 0}) == repr({**model.get_params(), "model": 0})
    for function in (again.predict, again.predict_one, again.save, lambda X: again.score(X, y)):
        with pytest.raises(NotFittedError):
            function(X)


@pytest.mark.parametrize("cls", EVERY)
def test_files_hold_values_of_known_names(cls, tmp_path):
    """And files that lack what older versions did not write are read."""
    X, y = data_of(cls, 9)
    model = new(cls).fit(X, y)
    record, (needed, optional) = model._record(), (names.split() for names in LEARNED[cls].split("|"))
    assert {*record["learned"]} == {*needed, *optional}
    assert {*record["params"]} == {*model.get_params()}
    learned = {name: value for name, value in record["learned"].items() if name in needed}
    fwexp.tasks.result_files.save(model.result_, tmp_path / "model.npz", record | {"learned": learned})
    older = cls.load(tmp_path / "model.npz", **held(cls))
    assert answers(older, X) == answers(model, X)


@pytest.mark.parametrize("cls", [*CHAINS, GraphSVM, MatchingSVM, StructuredSVM])
def test_examples_may_come_from_generators_and_be_none_or_one(cls):
    X, y = data_of(cls, 9)
    model, other = new(cls).fit(X, y), new(cls).fit(iter(X), iter(y))
    np.testing.assert_array_equal(other.result_.w, model.result_.w)
    assert answers(other, iter(X))[0] == answers(model, X)[0]
    assert other.score(iter(X), iter(y)) == model.score(X, y)
    assert model.predict([]) == []
    with pytest.raises(ParameterError, match=r"^X (must hold|and y must have the same length n >= 1).*, got (none|n = 0|0 and 0)$"):
        model.score([], [])
    if cls not in SEARCHES:
        alone = new(cls).fit(X[:1], y[:1])
        assert np.asarray(alone.predict_one(X[0])).tolist() == np.asarray(alone.predict(X[:1])[0]).tolist()
