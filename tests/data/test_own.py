"""Problems from people's own files."""

import gzip
import io
import zipfile

import numpy as np
import pytest

import fwexp
from fwexp.data.own import from_columns, from_npz, from_svmlight
from fwexp.errors import DataError, ParameterError

TRAIN = "the D\ncat N\nsleeps V\n\n\na D\ndog N\n"
TEST = "dog N\nsings X\n"


def write(folder, **texts):
    paths = []
    for name, text in texts.items():
        path = folder / (name + (".gz" if isinstance(text, bytes) else ".txt"))
        path.write_bytes(gzip.compress(text) if isinstance(text, bytes) else text.encode("utf-8"))
        paths.append(path)
    return paths


def phi(problem, i, y):
    """The joint features of a labeling."""
    return fwexp.joint_feature(problem, i, y).toarray()[0]


def test_columns(tmp_path):
    paths = write(tmp_path, train=TRAIN.encode(), test=TEST)
    own = from_columns(*paths, features=lambda tokens, t: [tokens[t][0], "first" if t == 0 else "later", tokens[t][0]])
    train, test = own.problems
    assert own.labels == ("D", "N", "V")
    assert (train.n, test.n) == (2, 1)
    assert train.labels.tolist() == [0, 1, 2, 0, 1]
    assert test.labels.tolist() == [1, -1]
    names = ["the", "first", "cat", "later", "sleeps", "a", "dog"]
    assert train.num_features == test.num_features == len(names)
    # The row of feature f, label k is w[f * K + k]: what the truth of the second sentence switches on.
    counts = phi(train, 1, [0, 1])[: 3 * len(names)].reshape(len(names), 3)
    expected = np.zeros((len(names), 3))
    for name, k in (("a", 0), ("first", 0), ("dog", 1), ("later", 1)):
        expected[names.index(name), k] = 1.0
    np.testing.assert_array_equal(counts, expected)
    counts = phi(test, 0, [2, 2])[: 3 * len(names)].reshape(len(names), 3)  # "sings" is unknown
    assert [names[f] for f in np.flatnonzero(counts[:, 2])] == ["first", "later", "dog"]


def test_columns_by_default_and_rare_features(tmp_path):
    (path,) = write(tmp_path, train="x a L0\ny b L1\n\nx b L1")  # no newline at the end
    own = from_columns(path)
    assert own.test is None
    assert own.labels == ("L0", "L1")
    # A constant; x, y, a, b at the token itself; what comes before (x, a) and after (y, b).
    assert own.train.num_features == 1 + 4 + 2 + 2
    assert from_columns(path, min_count=2).train.num_features == 3  # the constant, x, b
    assert from_columns(path, label=0).labels == ("x", "y")
    with pytest.raises(ParameterError, match=r"at least 9 times \(min_count\), got nothing"):
        from_columns(path, min_count=9)
    with pytest.raises(ParameterError, match="label must be the number of a column, got 'last'"):
        from_columns(path, label="last")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "no sequences"),
        ("\n\n", {}, "no sequences"),
        ("a b\nc\n", {}, "line 2: 1 columns, expected 2"),
        ("a b\n", {"label": 2}, "line 1: 2 columns, expected more, as label is 2"),
        ("a b\n", {"label": -3}, "line 1: 2 columns, expected more, as label is -3"),
    ],
)
def test_columns_that_are_wrong(tmp_path, text, options, message):
    (path,) = write(tmp_path, train=text)
    with pytest.raises(DataError) as error:
        from_columns(path, **options)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_columns_in_another_encoding(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("a b\nü b\n".encode("latin-1"))
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        from_columns(path)
    with pytest.raises(DataError, match="cannot be read"):
        from_columns(tmp_path / "absent.txt")


@pytest.mark.parametrize("labels", [[5, 7, 5, 9], ["b", "c", "b", "d"], [0.5, 1.5, 0.5, 2.0]])
def test_npz(tmp_path, labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 2))
    np.savez(tmp_path / "classes.npz", X=X, y=labels)
    np.savez(tmp_path / "chains.npz", X=X, y=labels, ptr=[0, 1, 4])
    np.savez(tmp_path / "test.npz", X=X[:2], y=[labels[3], type(labels[0])(8)])
    own = from_npz(tmp_path / "classes.npz", tmp_path / "test.npz")
    assert own.labels == tuple(sorted(set(labels)))
    expected = fwexp.multiclass_problem(X, [0, 1, 0, 2])
    for i in range(4):
        np.testing.assert_array_equal(phi(own.train, i, i % 3), phi(expected, i, i % 3))
    assert own.train.labels.tolist() == [0, 1, 0, 2]
    assert own.test.labels.tolist() == [2, -1]
    chains = from_npz(tmp_path / "chains.npz").train
    expected = fwexp.chain_problem([X[:1], X[1:]], [[0], [1, 0, 2]])
    np.testing.assert_array_equal(phi(chains, 1, [2, 1, 0]), phi(expected, 1, [2, 1, 0]))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": [[1.0]]}, "expected arrays X, y and perhaps ptr, got X"),
        ({"X": [1.0], "y": [1]}, r"X must have shape \(N, p\) and y \(N,\), got \(1,\) and \(1,\)"),
        ({"X": [[1.0]], "y": [1, 2]}, r"X must have shape \(N, p\) and y \(N,\)"),
        ({"X": [[1.0]], "y": [np.nan]}, "y must hold finite numbers or text"),
        ({"X": [[np.inf]], "y": [1]}, "X"),
        ({"X": [["a"]], "y": [1]}, "X"),
        ({"X": [[1.0], [2.0]], "y": [1, 2], "ptr": [0, 0, 2]}, "ptr must hold increasing whole numbers from 0 to 2"),
        ({"X": [[1.0], [2.0]], "y": [1, 2], "ptr": [0, 1]}, "ptr must hold increasing whole numbers from 0 to 2"),
        ({"X": [[1.0], [2.0]], "y": [1, 2], "ptr": [0.0, 2.0]}, "ptr must hold increasing whole numbers from 0 to 2"),
        ({"X": np.array([[None]]), "y": [1]}, "cannot be read as npz"),
    ],
)
def test_npz_that_is_wrong(tmp_path, arrays, message):
    np.savez(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(DataError, match=message):
        from_npz(tmp_path / "wrong.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text"])
def test_what_is_no_npz(tmp_path, content):
    (tmp_path / "wrong.npz").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as npz"):
        from_npz(tmp_path / "wrong.npz")
    np.save(tmp_path / "single.npy", [1.0])
    with pytest.raises(DataError, match="cannot be read as npz: a single array"):
        from_npz(tmp_path / "single.npy")


def test_an_archive_with_a_damaged_header(tmp_path):
    """numpy hands some headers to Python's tokenizer."""
    header = io.BytesIO()
    np.save(header, np.eye(2))
    with zipfile.ZipFile(tmp_path / "wrong.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue().replace(b"'fortran_order': False", b"'fortran_order': ((((("))
    with pytest.raises(DataError, match="cannot be read as npz"):
        from_npz(tmp_path / "wrong.npz")


@pytest.mark.parametrize("flag", [1, 32], ids=["encrypted", "patched"])
def test_an_archive_of_a_kind_that_zipfile_does_not_read(tmp_path, flag):
    np.savez(tmp_path / "wrong.npz", X=np.eye(2), y=[0, 1])
    content = bytearray((tmp_path / "wrong.npz").read_bytes())
    content[content.index(b"PK\1\2") + 8] |= flag
    (tmp_path / "wrong.npz").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as npz"):
        from_npz(tmp_path / "wrong.npz")


@pytest.mark.parametrize("first", [0, 1])
def test_svmlight(tmp_path, first):
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    X = np.array([[1.5, 0.0, 2.0], [0.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.25, 0.0, 3.0]])
    y = [1, -1, -1, 2]
    path, other = str(tmp_path / "train"), str(tmp_path / "test")
    dump_svmlight_file(X, y, path, zero_based=first == 0, comment="made up")
    dump_svmlight_file(np.column_stack([X[:2, 1:], [7.0, 7.0], [1.0, 1.0]]), [2, 3], other, zero_based=first == 0)
    own = from_svmlight(path, other)
    assert own.labels == (-1, 1, 2)
    expected = fwexp.multiclass_problem(load_svmlight_file(path)[0], [1, 0, 0, 2])
    for i in range(4):
        np.testing.assert_array_equal(phi(own.train, i, 2), phi(expected, i, 2))
    assert own.test.labels.tolist() == [2, -1]
    np.testing.assert_array_equal(phi(own.test, 0, 1).reshape(3, 3)[:, 1], [0.0, 2.0, 7.0])  # the fourth is not known


def test_svmlight_with_sequences(tmp_path):
    train, test = write(tmp_path, train="1 qid:3 1:1\n2 qid:3 2:1 # a comment\n# another\n\n1 qid:1 1:2\n", test="9 qid:1 1:1\n")
    own = from_svmlight(train, test)
    assert (own.train.n, own.train.num_states, own.train.num_features) == (2, 2, 2)
    assert own.train.labels.tolist() == [0, 1, 0]
    assert np.diff(own.train.label_ptr).tolist() == [2, 1]
    assert own.test.labels.tolist() == [-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"),
        ("1\n2\n", "no features"),
        ("1 1:1\na 1:1\n", "line 2: expected label"),
        ("1 1:1\n1 x:1\n", "line 2: expected label"),
        ("1 1:1\n1 1:x\n", "line 2: expected label"),
        ("1 1:1\nnan 1:1\n", "line 2: expected label"),
        ("1 1:1\n1 -1:1\n", "line 2: expected label"),
        ("1 1:nan\n2 1:1\n", "X"),
        ("1 1:1\n1 2147483648:1\n", "line 2: index 2147483648, expected at most 2147483647"),
        (f"1 {'1' * 100}:1\n", "line 1: index 1+"),
        ("1 qid:1 1:1\n1 1:1\n", "some rows have a qid and some have none"),
    ],
)
def test_svmlight_that_is_wrong(tmp_path, text, message):
    (path,) = write(tmp_path, train=text)
    with pytest.raises(DataError, match=message):
        from_svmlight(path)


def test_what_was_read_can_be_trained_on(tmp_path):
    train, test, labels = from_columns(*write(tmp_path, train=TRAIN, test=TEST))
    result = fwexp.solve(train, "fw", lam=0.01, max_passes=20, test=test)
    assert [[labels[k] for k in y] for y in fwexp.predict(train, result)] == [["D", "N", "V"], ["D", "N"]]
