"""Labels of any kind: missing ones are rejected with their place, and the others come back as they were."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from fwexp.errors import ParameterError
from fwexp.estimators import ChainSVM, ChainSVMCV, GraphSVM, MulticlassSVM, MultiLabelSVM

X = [["the", "dog"], ["a", "cat"], ["the", "cat"]]
IMAGE = np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
NANS = [float("nan"), np.float32("nan"), np.longdouble("nan"), Decimal("nan")]
MISSING = [None, "", pd.NA, pd.NaT, np.datetime64("NaT", "D"), np.ma.masked, *NANS]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@pytest.mark.parametrize("label", ["D", 1])
def test_missing_labels_are_rejected(missing, label):
    """Otherwise they would become a class."""
    what = r"must be a label, got .*; label it, or leave this"
    y = [[label, "N"], [label, missing], [label, "N"]]
    for cls in (ChainSVM, ChainSVMCV):
        with pytest.raises(ParameterError, match=rf"^y\[1\]\[1\] {what} sequence out$"):
            cls().fit(X, y)
    tagger = ChainSVM(lam=0.1).fit(X, [["D", "N"]] * 3)
    for asks in (tagger.score, tagger.to_problem):
        with pytest.raises(ParameterError, match=rf"^y\[1\]\[1\] {what} sequence out$"):
            asks(X, y)
    with pytest.raises(ParameterError, match=rf"^y\[1\] {what} example out$"):
        MulticlassSVM().fit(np.eye(3), [label, missing, "a"])
    if missing is not np.ma.masked:
        with pytest.raises(ParameterError, match=rf"^y\[0\]\[1, 2\] {what} example out$"):
            GraphSVM().fit([IMAGE], [[[label, "a", "a"], ["a", label, missing]]])


def test_masked_entries_are_rejected():
    with pytest.raises(ParameterError, match=r"^y\[2\]\[0\] must be a label, got masked"):
        ChainSVM().fit(X, [[0, 1], [0, 1], np.ma.array([0, 1], mask=[True, False])])
    with pytest.raises(ParameterError, match=r"^y\[1\] must be a label, got masked"):
        MulticlassSVM().fit(np.eye(3), np.ma.array([0, 1, 2], mask=[False, True, False]))
    with pytest.raises(ParameterError, match=r"^y\[0\]\[0, 1\] must be a label, got masked"):
        GraphSVM().fit([IMAGE], [np.ma.array(IMAGE > 0, mask=[[0, 1, 0], [0, 0, 0]])])
    with pytest.raises(ParameterError, match=r"^y must have no masked entries"):
        MultiLabelSVM().fit(np.eye(2), np.ma.array(np.eye(2), mask=np.eye(2)))
    unmasked = np.ma.array([0, 1])
    assert ChainSVM(lam=0.1).fit(X, [unmasked] * 3).predict(X) == [[0, 1]] * 3
    assert MulticlassSVM().fit(np.eye(2), unmasked).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("series", [["a", None, "b"], pd.array([1, None, 2], dtype="Int64"), pd.Categorical(["a", None, "b"])])
def test_missing_entries_of_pandas_are_rejected(series):
    with pytest.raises(ParameterError, match=r"^y\[1\] must be a label, got"):
        MulticlassSVM().fit(np.eye(3), pd.Series(series))


@pytest.mark.parametrize(
    ("labels", "void"),
    [([0, 1, -1], -1), ([0, 1, -100], -100), ([0, 1, 2, -1], -1), ([0, 1, 255], 255), ([0.0, 1.0, -1.0], -1)],
)
def test_codes_of_missing_labels_are_rejected_where_labels_count_from_0(labels, void):
    wanted = rf"^labels in y must be known, got {void}(\.0)?, which marks missing labels where labels are 0, 1, \.\.\."
    with pytest.raises(ParameterError, match=wanted):
        GraphSVM().fit([IMAGE], [np.resize(labels, IMAGE.shape)])
    if void != 255:
        with pytest.raises(ParameterError, match=wanted):
            ChainSVM().fit([["a"] * len(labels)], [labels])


@pytest.mark.parametrize("labels", [[-1, 1], [0, 255], [0, 128, 255], [-1, 0], [-2, -1, 5]])
def test_the_same_numbers_are_labels_elsewhere(labels):
    """Signs, and masks of 0 and 255, are as usual as codes."""
    assert ChainSVM(lam=0.1).fit([["a"] * len(labels)], [labels]).classes_.tolist() == labels
    if len(labels) == 2:
        assert GraphSVM(lam=0.1).fit([IMAGE], [np.resize(labels, IMAGE.shape)]).classes_.tolist() == labels
    assert MulticlassSVM().fit(np.eye(3), [-1, 0, 1]).classes_.tolist() == [-1, 0, 1]


DAYS = [np.datetime64("2020-01-01"), np.datetime64("2020-01-02")]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "a\0"],
        [-1, 2**63 + 1],
        DAYS,
        [day.astype("M8[ns]") for day in DAYS],
        [np.timedelta64(1, "s"), np.timedelta64(2, "s")],
        [DAYS[0], DAYS[1].astype("M8[s]")],
        [np.longdouble(1), np.longdouble(2)],
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
        [False, True],
        [np.int8(3), np.int8(5)],
        ["b", ("a", 1)],
        [(0, "n"), (1,)],
        [True, "V"],
        [("x",), 3.5],
    ],
    ids=repr,
)
def test_labels_come_back_as_they_were(labels, tmp_path):
    tagger = ChainSVM(lam=0.1, class_weight={labels[0]: 2.0}).fit(X, [labels] * 3)
    assert tagger.predict(X) == [labels] * 3
    assert tagger.score(X, [labels] * 3) == 1.0
    if len({*map(type, labels)}) == 1 and not isinstance(labels[0], tuple):
        model = MulticlassSVM(lam=0.1).fit(np.eye(2), labels)
        assert model.predict(np.eye(2)).tolist() == model.classes_.tolist()
        assert [*model.predict(np.eye(2))] == labels
        np.testing.assert_array_equal(model.to_problem(np.eye(2), labels[::-1]).labels, [1, 0])
    try:
        path = tagger.save(tmp_path / "tagger.npz")
    except ParameterError as error:
        assert "must be made of numbers and text to be saved, got" in str(error)  # noqa: PT017
    else:
        again = ChainSVM.load(path, class_weight=None).predict(X)
        assert again == [labels] * 3
        assert [*map(type, again[0])] == [*map(type, tagger.predict(X)[0])]
