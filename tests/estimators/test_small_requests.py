"""Inputs of other forms, and requests at their edges."""

import numpy as np
import pytest
import scipy.sparse as sp

from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, MulticlassLogistic, MulticlassSVM, MultiLabelSVM
from tests.estimators.cases import data_of, new

pytestmark = [
    pytest.mark.usefixtures("plain_python"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def test_n_best_is_at_most_the_number_of_labelings():
    X, y = data_of(ChainSVM, n=6)
    tagger = new(ChainSVM).fit(X, y)
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
