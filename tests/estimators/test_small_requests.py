"""Inputs of other forms, and requests at their edges."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, MulticlassLogistic, MulticlassSVM, MultiLabelSVM
from tests.estimators.cases import data_of, new

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


X, Y = data_of(ChainSVM, n=6)


@pytest.fixture(scope="module")
def tagger():
    return new(ChainSVM, max_passes=50, tol=1e-2).fit(X, Y)


def test_n_best_is_at_most_the_number_of_labelings(tagger):
    short = [x[:2] for x in X]
    assert tagger.predict(short, n_best=10**9) == tagger.predict(short, n_best=9)
    assert {len(found) for found in tagger.predict([short[0], short[0][:1], []], n_best=10**9)} == {9, 3, 1}


@pytest.mark.parametrize("cls", [MulticlassSVM, MulticlassLogistic, MultiLabelSVM])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.coo_array])
def test_a_sparse_row_is_one_example(cls, form):
    X = np.random.default_rng(0).normal(size=(12, 3)) * [1.0, 0.0, 1.0]
    y = [[1, 0], [0, 1], [1, 1]] * 4 if cls is MultiLabelSVM else ["a", "b", "c"] * 4
    model = new(cls).fit(sp.csr_array(X), y)
    assert np.array_equal(model.predict_one(form(X[:1])), model.predict_one(X[0]))


def test_sets_of_labels_may_be_objects():
    X, y = data_of(MultiLabelSVM)
    model = new(MultiLabelSVM, max_passes=10).fit(X, y.astype(object))
    assert model.score(X, y.astype(object)) == model.score(X, y)


def test_the_largest_weights_of_a_label():
    X, y = data_of(ChainCRF)
    found = new(ChainCRF).fit(X, y).state_features_
    top = found.top(3, label="b")
    assert set(top["label"]) == {"b"}
    assert abs(top["weight"].iloc[0]) == max(abs(weight) for (_, label), weight in found.items() if label == "b")
    assert len(found.top(1000, feature="word=w1", label="b")) == 1
    with pytest.raises(ParameterError, match=r"^label must be a name of these weights, got 'x'$"):
        found.top(label="x")
    with pytest.raises(ParameterError, match=r"^unknown title 'tag'; .*accepted: feature, label$"):
        found.top(tag="b")


def test_sequences_without_positions_have_one_labeling(tagger):
    assert tagger.predict([], n_best=2) == []
    assert tagger.predict([[], X[0]], n_best=1)[0] == [([], 0.0)]
    assert tagger.predict([[]], partial=[[]]) == [[]]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"n_best": 0}, "n_best must be an integer >= 1, got 0"),
        ({"n_best": "all"}, "n_best must be an integer >= 1, got 'all'"),
        ({"partial": [["a"]]}, r"partial must have one entry per position of X, got lengths \[1\]"),
        (
            {"partial": [[None] * len(X[0]), ["D"] * len(X[1])]},
            "partial must hold labels in classes_, sets .*, got 'D'",
        ),
        ({"partial": 3}, "partial must be a list of lists of labels, sets of labels and None, got"),
        ({"partial": [3]}, r"partial\[0\] must be a list of labels, sets of labels and None, got int"),
    ],
)
def test_bad_requests_are_one_line(tagger, more, message):
    with pytest.raises(ParameterError, match=message):
        tagger.predict(X[:2], **more)


class Renamed(ChainCRF):
    """A tagger with the constructor of another tool, as adapters have it."""

    def __init__(self, algorithm="lbfgs", c2=0.1):
        super().__init__(lam=c2, tol=1e-3)
        self.algorithm, self.c2 = algorithm, c2


def test_a_subclass_may_have_a_constructor_of_its_own():
    """Also with what tools such as sklearn-crfsuite take: positions without features, and bytes."""
    X = [[{"walk": 1, "shop": 0.5}, {}, {"clean": 1, "солнце": "да".encode()}]] * 4
    y = [["sunny", "sunny", "rainy"]] * 4
    model = clone(Renamed("pa", c2=0.01)).fit(X, y)
    assert (model.algorithm, model.lam, model.get_params()) == ("pa", 0.01, {"algorithm": "pa", "c2": 0.01})
    assert model.predict(X) == y
    marginals = model.predict_marginals(X)[0]
    assert [set(of_one) for of_one in marginals] == [{"sunny", "rainy"}] * 3
    assert [sum(of_one.values()) for of_one in marginals] == pytest.approx([1.0] * 3)
    assert cross_val_score(Renamed(), X, y, cv=2).tolist() == [1.0, 1.0]
