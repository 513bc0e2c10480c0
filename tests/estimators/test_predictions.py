"""Predictions change nothing, so that threads can share an estimator; and they follow what training used."""

import copy
import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fwexp.estimators import (
    ChainCRF,
    ChainSVM,
    ChainSVMCV,
    GraphSVM,
    MatchingSVM,
    MulticlassSVM,
    MultiLabelSVM,
    StructuredSVM,
    decoding,
)
from fwexp.estimators.estimator import NOT_KEPT
from tests.estimators.cases import EVERY, answers, data_of, held, learned, new
from tests.estimators.models import Signs
from tests.small_problems import run_in_plain_python

THREADS = 8
BY_NAME = {cls for cls in EVERY if isinstance(data_of(cls, n=2)[0][0], list | dict)}


@pytest.fixture(scope="module", params=EVERY, ids=lambda cls: cls.__name__)
def trained(request):
    """Return (a fitted estimator, its data); where features have names, there are so many that tables of them take time."""
    cls = request.param
    X, y = data_of(cls, n=12)
    if cls in BY_NAME:
        many = {f"word={k}": True for k in range(3_000)} | {f"key{k}": f"v{k}" for k in range(900)}
        X, y = [*X, [many] if isinstance(X[0], list) else many], [*y, ["a"] if isinstance(X[0], list) else y[0]]
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", ConvergenceWarning)
        run_in_plain_python(patch)  # only to train: threads compile what predicts
        model = new(cls, max_passes=1, **{"cv": [([0, 12], [*range(1, 12)])]} if cls is ChainSVMCV else {}).fit(X, y)
    assert model.result_.w.any()
    return model, X[:12]


def state(model) -> dict:
    """Return the attributes of an estimator and its encoding, tables included, but those that the first prediction makes."""
    known = {name: value for name, value in vars(model).items() if name not in NOT_KEPT}
    known |= {f"encoding {name}": value for name, value in vars(model.encoding_).items()}
    tables = [dict(one._tables) for one in vars(model).values() if hasattr(one, "_tables")]
    tables += [dict(one._tables.vectors) for one in vars(model).values() if hasattr(one, "_tables")]
    return {name: id(value) for name, value in known.items()} | {"tables": tables}


@pytest.mark.compiled
def test_threads_predict_right_from_the_first_call_on(trained, tmp_path):
    model, X = trained
    expected, path = answers(model, X), model.save(tmp_path / "model.npz")
    given = {"model": model.model} if isinstance(model, StructuredSVM) else {}
    for _ in range(3):
        fresh, barrier, found = type(model).load(path, **given), threading.Barrier(THREADS), []
        before = state(fresh)

        def predict(fresh=fresh, barrier=barrier, found=found):
            barrier.wait()
            try:
                found.append(answers(fresh, X))
            except Exception as error:
                found.append(error)

        threads = [threading.Thread(target=predict) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [expected] * THREADS
        assert state(fresh) == before
        decoders = fresh._decoder, fresh.encoding_.decoder(fresh.result_.w)
        used, new_one = ([dict(one._tables) for one in decoder or () if hasattr(one, "_tables")] for decoder in decoders)
        assert used == new_one


# Parameters that say how a labeling is scored or inputs are read, and other values of them.
LATER = [
    (ChainSVM, {"transition_features": ["word"]}, {"transition_features": None}),
    (ChainCRF, {"transition_features": ["word"]}, {"transition_features": ["shape"]}),
    (ChainSVM, {"constraints": [("a", "b")]}, {"constraints": [("a", "c"), ("b", "a")]}),
    (ChainCRF, {"constraints": [("a", "b")]}, {"constraints": None}),
    (ChainSVM, {}, {"features": lambda x: x[::-1], "loss": "share", "ignore_label": "a", "costs": 2 - 2 * np.eye(3)}),
    (ChainSVMCV, {}, {"features": lambda x: x[::-1], "loss": "share", "constraints": [("a", "b")]}),
    (GraphSVM, {"connectivity": 8}, {"connectivity": 4}),
    (GraphSVM, {"contrast": True}, {"contrast": False, "loss": "share", "ignore_label": "back"}),
    (GraphSVM, {"pairwise": "full"}, {"pairwise": "potts"}),
    (GraphSVM, {"pairwise": "potts"}, {"pairwise": "full"}),
    (MultiLabelSVM, {"pairwise": "full", "edges": [(0, 1)]}, {"pairwise": "potts", "edges": None, "loss": "share"}),
    (MultiLabelSVM, {"pairwise": "potts", "fit_intercept": False}, {"pairwise": "full", "fit_intercept": True}),
    (MulticlassSVM, {"fit_intercept": False}, {"fit_intercept": True, "min_count": 9}),
    (MulticlassSVM, {"fit_intercept": True}, {"fit_intercept": False}),
    (MatchingSVM, {"recall_cost": 2.0}, {"recall_cost": 5.0, "precision_cost": 3.0}),
    (StructuredSVM, {}, {"model": type("Other", (Signs,), {"inference": lambda self, x, w: 7})()}),
]


@pytest.mark.parametrize(("cls", "of_training", "later"), LATER)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parameters_are_about_the_next_training(cls, of_training, later, tmp_path):
    X, y = data_of(cls, n=8)
    model = new(cls, max_passes=10, tol=1e-3, **of_training).fit(X, y)

    def known(model):
        problem = model.to_problem(X, y)
        of_problem = problem.loss(0, y[0]) if cls is StructuredSVM else problem.d
        return answers(model, X), learned(model), model.score(X, y), of_problem

    before = known(model)
    model.set_params(**later)
    assert known(model) == before
    assert known(copy.deepcopy(model)) == before
    path = model.save(tmp_path / "model.npz")
    assert known(cls.load(path, **held(cls))) == before
    if "pairwise" in later:  # of which scores know no more than the encoding does
        kind = {name: later[name] for name in ("pairwise", "fit_intercept") if name in later}
        assert known(cls.load(path, **kind)) == before
    if "constraints" in of_training:
        model = new(cls, **of_training).fit(X, y)
        before = known(model)
        model.get_params()["constraints"].append(("c", "a"))  # Lists may change in place.
        assert known(model) == before


@pytest.mark.parametrize("block", [1, 3, 7, 100])
def test_weights_are_padded_in_blocks_of_rows(monkeypatch, block):
    monkeypatch.setattr(decoding, "AT_ONCE", block)
    rng = np.random.default_rng(0)
    rows, used = rng.normal(size=(7 + 2 + 3, 3)), np.array([True, False, True, True, False, False, True, *[True] * 5])
    found = decoding.padded_weights(rows, used=used).reshape(-1, 4)
    np.testing.assert_array_equal(found[:, :3], np.vstack([np.zeros((1, 3)), rows[used]]))
    assert not found[:, 3].any()
    np.testing.assert_array_equal(decoding.padded_weights(rows).reshape(-1, 4)[:, :3], rows)


def test_single_sentences_have_the_labels_of_many():
    X, y = [[{"word": word} for word in "abca"], [{"word": "b"}], [{"word": "c"}, {"word": "z"}]], [list("xyzx"), ["y"], ["z", "y"]]
    model = ChainSVM(lam=0.1).fit(X, y)
    expected, (*_, decoder) = model.predict(X), model._decoder
    assert expected[0] == list("xyzx")
    assert [decoder.labels_of(x) for x in X] == [model.predict_one(x) for x in X] == expected
    assert model.predict_one([]) == []
    assert model.predict([x[:1] for x in X], partial=[["z"], ["x"], ["y"]]) == [["z"], ["x"], ["y"]]  # although they are read fast
    assert decoder.labels_of([{"word": 2.0}]) is None
    assert model.predict_one([{"word": 2.0}]) == model.predict([[{"word": 2.0}]])[0]
