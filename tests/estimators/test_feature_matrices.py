import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction import DictVectorizer

from fwexp.errors import ParameterError
from fwexp.estimators import named_features
from fwexp.estimators.feature_matrices import Vectorizer
from fwexp.estimators.named_features import MOST_TABLES
from fwexp.problems.features import BinaryFeatures

DICTS = [[{"word": "the", "cap": True, "len": 3}, {"word": "dog", "cap": False}], [{"word": "the", "tags": ["a", "b"]}, {}]]


def test_dicts_become_what_dictvectorizer_makes_of_them():
    vectorizer = Vectorizer()
    rows, ptr = vectorizer.fit_transform(DICTS)
    theirs = DictVectorizer()
    wanted = theirs.fit_transform([position for x in DICTS for position in x]).toarray()
    names = theirs.get_feature_names_out().tolist()
    assert sorted(vectorizer.names) == names
    np.testing.assert_array_equal(rows.toarray()[:, [vectorizer.names.index(name) for name in names]], wanted)
    assert ptr.tolist() == [0, 2, 4]


def test_strings_and_lists_of_strings_are_names():
    vectorizer = Vectorizer()
    rows, _ = vectorizer.fit_transform([["a", ["a", "b", "b"]], [("c",), set()]])
    assert [*vectorizer.names] == ["a", "b", "c"]
    assert rows.toarray().tolist() == [[1, 0, 0], [1, 2, 0], [0, 0, 1], [0, 0, 0]]


def test_bytes_are_text_in_utf8():
    """In names, values, lists and alone, when they are learned and when they are known, as in CRFsuite."""
    sun = "солнце"
    texts = [[{sun: "да", "n": 2.0, "l": ["x", sun]}, sun, ["a", sun], {}], [sun]]
    raw = [[{sun.encode(): "да".encode(), b"n": 2.0, "l": [b"x", sun.encode()]}, sun.encode(), [b"a", sun], {}], [sun.encode()]]
    expected, vectorizer = Vectorizer(), Vectorizer()
    rows, _ = expected.fit_transform(texts)
    np.testing.assert_array_equal(vectorizer.fit_transform(raw)[0].toarray(), rows.toarray())
    assert [*vectorizer.names] == [*expected.names]
    np.testing.assert_array_equal(vectorizer.transform(raw)[0].toarray(), rows.toarray())
    for wrong in ({"w": b"\xff"}, {b"\xff": 1}, b"\xff", ["a", b"\xff"]):
        with pytest.raises(ParameterError, match=r"^bytes in X must be text in UTF-8, got .*; decode them first$"):
            vectorizer.transform([[wrong]])


def test_features_of_few_positions_are_left_out():
    vectorizer = Vectorizer(min_count=2)
    rows, _ = vectorizer.fit_transform([[["b", "b"], ["a"]], [["a", "c"], ["d"]]])
    assert [*vectorizer.names] == ["a"]
    assert rows.toarray().tolist() == [[0], [1], [1], [0]]
    with pytest.raises(ParameterError, match="min_count=3 removes every feature of X; lower min_count"):
        Vectorizer(min_count=3).fit_transform([["a", "a"]])


@pytest.mark.parametrize("X", [DICTS, [[["a"], ["b", "c"]]], [np.eye(3), np.ones((1, 3))], [sp.csr_array(np.eye(3) * 2)]])
def test_what_is_transformed_is_what_was_learned(X):
    vectorizer = Vectorizer()
    rows, ptr = vectorizer.fit_transform(X)
    again, ptr_again = vectorizer.transform(X)
    dense = [matrix.toarray() if sp.issparse(matrix) else matrix for matrix in (rows, again)]
    np.testing.assert_array_equal(*dense)
    np.testing.assert_array_equal(ptr, ptr_again)


def test_unknown_names_are_left_out():
    vectorizer = Vectorizer()
    vectorizer.fit_transform([["a", "b"]])
    rows, ptr = vectorizer.transform([["z", ["b", "z"]], [{"a": 2.0, "z": 1}]])
    assert rows.toarray().tolist() == [[0, 0], [0, 1], [2, 0]]
    assert ptr.tolist() == [0, 2, 3]


def test_positions_are_read_alike_whatever_stands_beside_them():
    positions = [{"a": "x", "n": 2.0}, "a=x", ["n", "a=x"], {"a": ["x", "y"], "n": 1}, {"n": np.True_, 3: "z"}, {"a": "y"}, {}]
    alone, together = Vectorizer(), Vectorizer()
    apart, _ = alone.fit_transform([[position] for position in positions])
    rows, _ = together.fit_transform([positions])
    assert [*together.names] == [*alone.names] == ["a=x", "n", "a=y", "3=z"]
    assert rows.toarray().tolist() == apart.toarray().tolist()
    assert rows.toarray().tolist() == [[1, 2, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0] * 4]
    again, _ = together.transform([positions])
    assert again.toarray().tolist() == rows.toarray().tolist()


def test_names_as_keys_may_be_many():
    X = [[{f"w{k}": value} for k in range(2000)] for value in (1, True, 2.0)]
    vectorizer = Vectorizer(min_count=3)
    for rows, _ in (vectorizer.fit_transform(X), vectorizer.transform(X)):
        assert (rows != sp.vstack([sp.eye_array(2000) * value for value in (1, 1, 2)])).nnz == 0
    assert len(vectorizer.names) == 2000


def test_values_without_a_column_are_kept_up_to_a_number(monkeypatch):
    monkeypatch.setattr(named_features, "MOST_UNKNOWN", 3)
    vectorizer = Vectorizer()
    vectorizer.fit_transform([[{"w": "a"}, "b", {"w": "c"}]])
    for k in range(10):
        assert vectorizer.transform([[{"w": f"z{k}"}, {"w": "c"}], [f"z{k}", "b"]])[0].nnz == 2
    assert vectorizer.tables["w"].keys() == {"z0", "c", "z1"}


def test_zeros_are_no_features_and_ones_need_no_values():
    vectorizer = Vectorizer()
    rows, _ = vectorizer.fit_transform([[{"a": True, "b": False}, {"a": 0.0, "c": 1}]])
    assert ([*vectorizer.names], rows.nnz) == (["a", "c"], 2)
    assert isinstance(vectorizer.encode([[{"a": 1, "z": 0.5}]])[0], BinaryFeatures)


def test_a_vector_is_as_many_features_as_it_has_numbers():
    rng = np.random.default_rng(0)
    vectors, vectorizer = rng.normal(size=(3, 4)), Vectorizer()
    vectors[1, 2] = 0.0
    one_by_one = [{"w": word, "s": 0.5} | {f"v[{j}]": v for j, v in enumerate(vector)} for word, vector in zip("abc", vectors)]
    expected, ptr = vectorizer.fit_transform([one_by_one[:2], one_by_one[2:]])
    names = [*vectorizer.names]

    as_vectors = [{"w": word, "s": 0.5, "v": vector} for word, vector in zip("abc", [vectors[0], vectors[1], vectors[2].tolist()])]
    rows, again = vectorizer.fit_transform([as_vectors[:2], as_vectors[2:]])
    assert ([*vectorizer.names], again.tolist()) == (names, ptr.tolist())
    assert (rows.toarray() == expected.toarray()).all()
    assert (vectorizer.transform([as_vectors])[0].toarray() == expected.toarray()).all()
    unknown, _ = vectorizer.transform([[{"other": np.ones(7), "v": np.ones(4)}]])
    assert (unknown.toarray()[0, [names.index(f"v[{j}]") for j in range(4)]] == 1.0).all()
    assert unknown.nnz == 4
    with pytest.raises(ParameterError, match="feature 'v' in X must be a vector of 4 numbers, as in others, got 5"):
        vectorizer.transform([[{"v": np.ones(5)}]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (None, "X must be a list of sequences: .*, got None"),
        ([["a"], []], r"X\[1\] must have at least one position, got none"),
        (["abc"], r"X\[0\] must be a list of positions, each a dict, .*, got str 'abc'"),
        ([["a", 3]], "a position in X must be a dict, a string or a list of strings, got int 3"),
        ([[["a", 3]]], "a position in X must be a dict, a string or a list of strings, got list"),
        (
            [[{"a": None}]],
            "feature 'a' in X must be a number, a string, a list of strings or a vector of numbers, got NoneType None",
        ),
        ([[{"a": [1.0, "b"]}]], "feature 'a' in X must be a number, a string, a list of strings or a vector of numbers, got"),
        ([[{"a": np.eye(2)}]], r"feature 'a' in X must be .* a vector of numbers, got an array of shape \(2, 2\)"),
        ([[{"a": np.ones(0)}]], r"feature 'a' in X must be .*, got an array of shape \(0,\)"),
        ([[{"a": np.ones(2)}, {"a": np.ones(3)}]], "feature 'a' in X must be a vector of 2 numbers, as in others, got 3"),
        ([[{"a": [1.0, np.inf]}]], "feature 'a' in X must be finite, got NaN or infinity"),
        ([[{3: np.ones(2)}]], "feature 3 in X must be a number, a string, a list of strings or a vector of numbers, got ndarray"),
        ([[{"a": "x"}, {"a": np.nan}]], "feature 'a' in X must be finite, got nan"),
        ([[{3: 1.0}]], "names of features in X must be strings, got int 3"),
        ([np.eye(2), np.eye(3)], r"X\[1\] must have shape \(T, 2\), got \(3, 3\)"),
        ([np.zeros((0, 2))], r"X\[0\] must have at least one position, got none"),
        ([np.ones(2)], r"X\[0\] must have shape \(T, p\), got \(2,\)"),
    ],
)
def test_what_is_none_is_refused_on_one_line(X, message):
    with pytest.raises(ParameterError, match=message):
        Vectorizer().fit_transform(X)


@pytest.mark.parametrize(("learned", "X"), [([["a"]], [np.eye(1)]), ([np.eye(2)], [["a"]]), ([np.eye(2)], [np.eye(3)])])
def test_features_of_another_form_are_refused(learned, X):
    vectorizer = Vectorizer()
    vectorizer.fit_transform(learned)
    with pytest.raises(ParameterError, match=r"X|position"):
        vectorizer.encode(X)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_numbers_that_are_none_are_refused_among_what_is_known(value):
    vectorizer = Vectorizer()
    vectorizer.fit_transform([[{"a": 1, "b": "x"}]])
    with pytest.raises(ParameterError, match="feature 'a' in X must be finite, got"):
        vectorizer.encode([[{"a": value, "b": "x"}]])


def test_more_keys_than_there_are_tables():
    """Their values are looked up one by one, and none is lost."""
    X = [[{f"k{i}": "ab"[i % 2], "w": "x"}] for i in range(MOST_TABLES + 5)]
    vectorizer = Vectorizer()
    learned, _ = vectorizer.fit_transform(X)
    again, _ = vectorizer.transform(X)
    assert learned.nnz == 2 * len(X)
    assert (learned != again).nnz == 0
