"""Problems from people's own files."""

import gzip
import io
import re
import zipfile

import numpy as np
import pytest

import fwexp
from fwexp.data import (
    as_pharaoh,
    read_attributes,
    read_columns,
    read_conllu,
    read_crfsuite,
    read_csv,
    read_pharaoh,
    read_svmlight,
    read_template,
)
from fwexp.data.readers.conllu import NAMES
from fwexp.data.readers.file_problems import from_columns, from_npz, from_svmlight
from fwexp.errors import DataError, ParameterError
from fwexp.templates import default_template

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
    """Return the joint features of a labeling."""
    return fwexp.joint_feature(problem, i, y).toarray()[0]


def test_columns(tmp_path):
    paths = write(tmp_path, train=TRAIN.encode(), test=TEST)
    own = from_columns(
        *paths, features=lambda tokens: [(word, "later" if t else "first", word) for t, (word,) in enumerate(tokens)]
    )
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
    found = {name for tokens in read_columns(path)[0] for names in default_template(2)(tokens) for name in names}
    assert own.train.num_features == len(found)
    assert {"U002:x", "U002:y", "U102:a", "U005:x/y", "U109:_B-2/_B-1/a", "U111:b/_B+1/_B+2"} <= found
    named = [["constant", word, "x" + word] for word in "abb"]  # A token alone is a string.
    assert from_columns(path, min_count=2, features=lambda tokens: named[: len(tokens)]).train.num_features == 3
    assert from_columns(path, features=lambda tokens: ["word"] * len(tokens)).train.num_features == 1
    assert from_columns(path, label=0).labels == ("x", "y")


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


def test_what_was_read_can_be_trained_on(tmp_path):
    train, test, labels = from_columns(*write(tmp_path, train=TRAIN, test=TEST))
    result = fwexp.solve(train, "fw", lam=0.01, max_passes=20, test=test)
    assert [[labels[k] for k in y] for y in fwexp.predict(train, result)] == [["D", "N", "V"], ["D", "N"]]


# Characters at which `str.split` or `str.splitlines` splits and no format does.
WHOLE = ["a\u3000b", "a\u00a0b", "a\u2028b", "a\x0bb", "a\x0cb", "a\x1cb", "a\x85b", "a\rb", "#", "\ufeff", "\u3000", "-DOCSTART"]


def test_tokens_are_split_at_spaces_and_tabs_only(tmp_path):
    lines = [sign.join((word, "x", "L")) for word in WHOLE for sign in (" ", "\t", " \t  ")]
    path = tmp_path / "text.txt"
    path.write_bytes("".join(f" {line}\t \n" for line in lines).encode())
    X, y = read_columns(path)
    assert [[(word, "x") for word in WHOLE for _ in range(3)]] == X
    assert y == [["L"] * len(lines)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"\n", b"\n\n \t\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ends_of_lines_and_of_files(tmp_path, end, last, mark):
    path = tmp_path / "text.txt"
    text = b"-DOCSTART- O\n\na D\nb N\n \t\n\nc D\n-DOCSTART- O\nd N" + last
    path.write_bytes(mark + text.replace(b"\n", end))
    assert read_columns(path) == ([[("a",), ("b",)], [("c",)], [("d",)]], [["D", "N"], ["D"], ["N"]])


def test_columns_with_comments_and_without_labels(tmp_path):
    (path,) = write(tmp_path, train="# x\na b\n# c\n#d e\n\n# f\n")
    assert read_columns(path, comment="# ") == ([[("a",), ("#d",)]], [["b", "e"]])
    assert read_columns(path, label=None, comment="#") == ([[("a", "b")]], None)
    assert read_columns(path, label=-2)[0] == [[("x",), ("b",), ("c",), ("e",)], [("f",)]]


def test_a_separator_keeps_blanks_and_empty_columns(tmp_path):
    (path,) = write(tmp_path, train=" New York \t\tL\n\t \t\n-DOCSTART-\tx\tO\na\tb\tM\n")
    assert read_columns(path, sep="\t") == ([[(" New York ", "")], [("a", "b")]], [["L"], ["M"]])
    assert read_columns(path, label=None, sep="\t")[0][0] == [(" New York ", "", "L")]
    (path,) = write(tmp_path, train="a,b\n\n c ,\u3000\n")
    assert read_columns(path, sep=",") == ([[("a",)], [(" c ",)]], [["b"], ["\u3000"]])


TABLE = """\
no,word,"pos, fine",tag
1,the,D,B
,"a ""b"",
c",N,I
1,d,N,O
2,it,,B

2,1,P,B
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv(tmp_path, end):
    (path,) = write(tmp_path, train="\ufeff" + TABLE.replace("\n", end))
    X = [[("the", "D"), ('a "b",\nc', "N"), ("d", "N")], [("it", "")], [("1", "P")]]
    assert read_csv(path, "tag", sequence="no") == (X, [["B", "I", "O"], ["B"], ["B"]])
    assert read_csv(path, "tag", columns=["word"])[0] == [[("the",), ('a "b",\nc',), ("d",), ("it",)], [("1",)]]
    assert read_csv(path, None, columns=["tag"]) == ([[("B",), ("I",), ("O",), ("B",)], [("B",)]], None)
    (path,) = write(tmp_path, train='\n\nword\ttag\n"\tQ\n\t\n\n"a"\tR\n')
    assert read_csv(path, "tag", sep="\t") == ([[('"',)], [('"a"',)]], [["Q"], ["R"]])


CONLLU = """\
# sent_id = 1
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tV\tMood=Imp\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\tCase=Acc\t1\tobj\t_\t_
2.1\tal\t_\t_\t_\t_\t_\t_\t1:x\t_

# a comment alone

1\tin spite\t#\tADP\tIN\t_\t0\troot\t_\tSpaceAfter=No
"""


def test_conllu(tmp_path):
    path = tmp_path / "text.conllu"
    path.write_bytes(CONLLU.encode())
    assert read_conllu(path) == ([[("vamos",), ("nos",)], [("in spite",)]], [["VERB", "PRON"], ["ADP"]])
    X, y = read_conllu(path, "FEATS", columns=["UPOS", "FORM", "MISC"])
    assert X == [[("VERB", "vamos", "_"), ("PRON", "nos", "_")], [("ADP", "in spite", "SpaceAfter=No")]]
    assert y == [["Mood=Imp", "Case=Acc"], ["_"]]
    assert read_conllu(path, None)[1] is None


@pytest.mark.parametrize("label", ["UPOS", "XPOS", "HEAD", "DEPREL"])
def test_words_without_a_label_in_conllu_are_named(tmp_path, label):
    path, columns = tmp_path / "text.conllu", ["1", "a", "a", "DET", "DT", "_", "2", "det", "_", "_"]
    rows = ["\t".join(columns), "", "# b", "\t".join("_" if text == columns[NAMES.index(label)] else text for text in columns)]
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(DataError, match=f"text.conllu, line 4: expected a label in the column {label}, got '_'"):
        read_conllu(path, label)
    assert read_conllu(path, "FEATS")[1] == [["_"], ["_"]]
    assert read_conllu(path, label, ignore_label="_")[1][1] == ["_"]


def test_attributes_of_crfsuite(tmp_path):
    r"""A colon and a backslash in names have escapes; another backslash is one."""
    rows = r"""
B;w[0]=10\:30;x:0.5;b\\:2;c\d
a\:b;x:1;x:2;;y:

\\@;#;x
I
"""
    (path,) = write(tmp_path, train=rows.replace(";", "\t"))
    X, y = read_attributes(path)
    assert X == [[{"w[0]=10:30": 1.0, "x": 0.5, "b\\": 2.0, "c\\d": 1.0}, {"x": 3.0, "y": 1.0}], [["#", "x"], []]]
    assert y == [["B", "a:b"], ["\\@", "I"]]


def test_attributes_and_weights_of_crfsuite_fit_together(tmp_path):
    """A model that CRFsuite trains on the attributes of a file predicts the same labels here."""
    crfsuite = pytest.importorskip("pycrfsuite")
    from fwexp.estimators import ChainCRF

    rng = np.random.default_rng(0)
    rows = [[f"{k % 3}\tw={k}\tt\\:{t}\tx:{rng.normal():.3f}" for t, k in enumerate(rng.integers(9, size=5))] for _ in range(9)]
    (path,) = write(tmp_path, train="\n\n".join("\n".join(of_one) for of_one in rows))
    X, y = read_attributes(path)
    trainer = crfsuite.Trainer(verbose=False)
    for x, labels in zip(X, y):
        trainer.append(x, labels)
    trainer.train(str(tmp_path / "model"))
    tagger = crfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    tagger.dump(str(tmp_path / "dump"))
    assert ChainCRF.from_weights(**read_crfsuite(tmp_path / "dump")).predict(X) == [tagger.tag(x) for x in X]


def test_alignments_of_pharaoh(tmp_path):
    (path,) = write(tmp_path, links="0-0 1-12\r\n\n 2-1\t0-0 \n")
    found = read_pharaoh(path)
    assert [links.tolist() for links in found] == [[[0, 0], [1, 12]], [], [[2, 1], [0, 0]]]
    assert {links.dtype for links in found} == {np.dtype(np.int64)}
    assert [links.shape[1] for links in found] == [2, 2, 2]
    assert [as_pharaoh(links) for links in found] == ["0-0 1-12", "", "2-1 0-0"]
    x = np.eye(2)[:, :, np.newaxis]
    a, b = (fwexp.matching_problem([x], [links]) for links in ("0-1 1-0", [(0, 1), (1, 0)]))
    np.testing.assert_array_equal(a.labels, b.labels)
    with pytest.raises(
        ParameterError, match=re.escape("y[0] must be links ROW-COLUMN from 0 between spaces, as in '0-0 1-2', got")
    ):
        fwexp.matching_problem([x], ["0,1"])


def test_svmhmm_as_sequences_for_estimators(tmp_path):
    """The last row has an index twice, whose values are added, and one row has no features."""
    train = "NN qid:7 2:1 4:0.5 # the\n# qid:8\n# qid:7 1:1\n\nVB qid:7\nNN qid:x 1:-1e3 1:1\n"
    (path,) = write(tmp_path, train=train)
    X, y = read_svmlight(path)
    assert [x.toarray().tolist() for x in X] == [[[0, 0, 1, 0, 0.5], [0, 0, 0, 0, 0]], [[0, -999, 0, 0, 0]]]
    assert y == [["NN", "VB"], ["NN"]]
    assert [x.toarray().tolist() for x in read_svmlight(path, num_features=3)[0]] == [[[0, 0, 1], [0, 0, 0]], [[0, -999, 0]]]
    numbers = write(tmp_path, train="3 qid:1 1:1\n1.5 qid:1 1:1\n-1 qid:2 1:1\n")[0]
    assert read_svmlight(numbers)[1] == [[3, 1.5], [-1]]
    mixed = write(tmp_path, train="3 qid:1 1:1\n, qid:1 1:1\n")[0]
    assert read_svmlight(mixed)[1] == [["3", ","]]


def conllu(path, label="UPOS"):
    return read_conllu(path, label)


def table_of(path, **options):
    return read_csv(path, "tag", **options)


def table(path):
    return read_csv(path, "tag", columns=["word"], sequence="no")


def tabs(path):
    return read_columns(path, sep="\t")


WRONG_TEXTS = [
    (from_columns, "", "no sequences"),
    (from_columns, "-DOCSTART- O\n\n", "no sequences"),
    (from_columns, "a b\nc\n", "line 2: 1 column, expected 2"),
    (from_columns, "a b\n\na b c\n", "line 3: 3 columns, expected 2"),
    (from_columns, "\n\na\n", "line 3: 1 column, expected at least 2, a token and its label"),
    (lambda path: from_columns(path, label=2), "a b\n", "line 1: 2 columns, expected more, as label is 2"),
    (lambda path: from_columns(path, label=-3), "a b\n", "line 1: 2 columns, expected more, as label is -3"),
    (from_columns, "a b\nü b\n".encode("latin-1"), "line 2: not UTF-8"),
    (lambda path: from_columns(path.with_name("absent")), "", "cannot be read"),
    (from_svmlight, "", "no rows"),
    (from_svmlight, "1\n2\n", "no features"),
    *((from_svmlight, f"1 1:1\n{row}\n", "line 2: expected label") for row in ("a 1:1", "1 x:1", "1 1:x", "nan 1:1", "1 -1:1")),
    *((from_svmlight, f"1 1:1\n{row}\n", "line 2: expected label") for row in ("1 1:1_0", "1 qid: 1:1")),
    (from_svmlight, "1 1:nan\n2 1:1\n", "line 1: expected finite values, got '1:nan'"),
    (from_svmlight, "1 1:1\n1 qid:1 1:1\n", "line 2: some rows have a qid and some have none"),
    (from_svmlight, "1 qid:1 1:1\n1 1:1\n", "line 2: some rows have a qid and some have none"),
    (from_svmlight, "1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n", "line 3: 'qid:1' again, expected its rows one after another"),
    (from_svmlight, "1 1:1\n1 2147483648:1\n", "line 2: index 2147483648, expected at most 2147483647"),
    (read_svmlight, "3 1:1\n", "line 1: expected qid:number after the label"),
    (read_svmlight, "# nothing\n", "no rows"),
    (conllu, "", "no sequences"),
    (conllu, CONLLU.replace("2\tnos\t", "2\tnos "), "line 4: 9 columns between tabs, expected the 10 of CoNLL-U"),
    (conllu, CONLLU.replace("2\tnos", "3\tnos"), "line 4: expected the ID 2, or one such as 1-2 or 1.1, got '3'"),
    (conllu, CONLLU.replace("1-2", "1-x"), "line 2: expected the ID 1, or one such as 1-2 or 1.1, got '1-x'"),
    (conllu, CONLLU.replace("\n\n# a comment alone\n\n", "\n# a comment alone\n"), "line 7: expected the ID 3"),
    (read_template, "U00:%x[0,0]\nX\n", "template line 2 must be U or B and macros"),
    (tabs, "a b\tc\nd\t\n", "line 2: expected a label, got an empty column"),
    (tabs, "a b\tc\nd e\n", "line 2: 1 column, expected 2"),
    (table, "no,word,tag\n", "no sequences"),
    (table, "no,word,tags\n1,a,b\n", "text: unknown column 'tag' (did you mean 'tags'?); accepted: no, tags, word"),
    (table, "no,words,tag\n1,a,b\n", "line 1: unknown column 'word' (did you mean 'words'?); accepted: no, tag, words"),
    (table, "word,tag\na,b\n", "line 1: unknown column 'no'"),
    (table, "no,word,tag,tag\n", "line 1: expected names of columns, got ['no', 'word', 'tag', 'tag'] with one name twice"),
    (table, 'no,word,tag\n1,"a\nb",c\n2,d\n', "line 4: 2 columns, expected 3: no, word, tag"),
    (table, 'no,word,tag\n1,"a\nb",c\n,d,\n', "line 4: expected a label, got an empty column"),
    (table, 'no,word,tag\n1,"a,b\n', "line 2: not a row of columns between ',': unexpected end of data"),
    *(
        (read_attributes, f"a\tb\nc\t{field}\n", "line 2: expected NAME or NAME:VALUE")
        for field in ("x:y", "x:nan", ":1", "x:1_0:")
    ),
    (read_attributes, "a\tw=10:30:1\n", "got 'w=10:30:1'; write a colon in a name as \\:"),
    (read_attributes, "@weight:2\na\tb\n", "line 1: expected a label, got the declaration '@weight:2'"),
    (read_attributes, "a\tb\n\tb\n", "line 2: expected a label, got an empty column"),
    (read_attributes, "\n\n", "no sequences"),
    (
        read_pharaoh,
        "0-0\n0-0 1-2-3\n",
        "line 2: links must be links ROW-COLUMN from 0 between spaces, as in '0-0 1-2', got '1-2-3'",
    ),
]


@pytest.mark.parametrize(("read", "text", "message"), WRONG_TEXTS, ids=[message[:40] for _, _, message in WRONG_TEXTS])
def test_a_text_of_another_form_is_named(tmp_path, read, text, message):
    path = tmp_path / "text"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=re.escape(message)) as error:
        read(path)
    assert str(error.value).startswith(str(tmp_path))


TWO = {"X": [[1.0], [2.0]], "y": [1, 2]}
WRONG_ARRAYS = [
    ({"X": [[1.0]]}, "expected arrays X, y and perhaps ptr, got X"),
    ({"X": [1.0], "y": [1]}, "X must have shape (N, p) and y (N,), got (1,) and (1,)"),
    ({"X": [[1.0]], "y": [1, 2]}, "X must have shape (N, p) and y (N,)"),
    ({"X": [[1.0]], "y": [np.nan]}, "y must hold finite numbers or text"),
    ({"X": [[np.inf]], "y": [1]}, "X"),
    ({"X": [["a"]], "y": [1]}, "X"),
    *((TWO | {"ptr": ptr}, "ptr must hold increasing whole numbers from 0 to 2") for ptr in ([0, 0, 2], [0, 1], [0.0, 2.0])),
    ({"X": np.array([[None]]), "y": [1]}, "cannot be read as npz: Object arrays cannot be loaded"),
]


@pytest.mark.parametrize(("arrays", "message"), WRONG_ARRAYS)
def test_arrays_of_another_form_are_named(tmp_path, arrays, message):
    np.savez(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(DataError, match=re.escape(message)):
        from_npz(tmp_path / "wrong.npz")


def test_what_is_no_npz(tmp_path):
    """numpy hands some headers to Python's tokenizer, and zipfile does not read encrypted or patched members."""
    path, header = tmp_path / "wrong.npz", io.BytesIO()
    np.savez(path, X=np.eye(2), y=[0, 1])
    whole = path.read_bytes()
    at = whole.index(b"PK\1\2") + 8
    np.save(header, np.eye(2))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", header.getvalue().replace(b"'fortran_order': False", b"'fortran_order': ((((("))
    others = [whole[:at] + bytes([whole[at] | flag]) + whole[at + 1 :] for flag in (1, 32)]
    for content in (path.read_bytes(), b"", b"PK\x03\x04", b"text", *others):
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot be read as npz"):
            from_npz(path)
    np.save(tmp_path / "single.npy", [1.0])
    with pytest.raises(DataError, match="cannot be read as npz: a single array"):
        from_npz(tmp_path / "single.npy")


@pytest.mark.parametrize(
    ("read", "options", "message"),
    [
        (from_columns, {"min_count": 9}, "features must return a string that at least min_count=9 tokens have; lower min_count"),
        (from_columns, {"features": lambda tokens: [""]}, "features must return a collection of strings per token, got 1 for 2"),
        *(
            (from_columns, {"label": label}, f"label must be the number of a column, got {label!r}")
            for label in ("last", True, 1.0)
        ),
        *((read_columns, {"comment": text}, "comment must be a text with which lines begin") for text in ("", 1)),
        *((read, {"sep": text}, "sep must be one character") for read in (read_columns, table_of) for text in ("", "ab", "\n", 1)),
        (table_of, {"columns": []}, "columns must be names of columns, such as ['word'], got ()"),
        (table_of, {"columns": "word"}, "columns must be names of columns, such as ['word'], got 'word'"),
        (table_of, {"columns": ["tag"]}, "label must be another column than the others, got 'tag' for two of them"),
        (table_of, {"sequence": 1}, "sequence must be the name of a column, got 1"),
        (read_conllu, {"ignore_label": "O"}, "ignore_label must be '_' or None for CoNLL-U, got 'O'"),
        (read_svmlight, {"num_features": 0}, "num_features must be an integer >= 1"),
        (read_conllu, {"label": "POS"}, "unknown column of CoNLL-U 'POS' (did you mean 'XPOS'?); accepted: "),
        (read_conllu, {"columns": ["FORM", "WORD"]}, "unknown column of CoNLL-U 'WORD'"),
        (read_conllu, {"columns": "FORM"}, "columns must be names of columns, such as FORM, got 'FORM'"),
        (read_conllu, {"columns": ["UPOS"]}, "columns must be others than the label, got UPOS for both"),
    ],
)
def test_arguments_of_readers_are_named(tmp_path, read, options, message):
    (path,) = write(tmp_path, train="x a L0\ny b L1\n")
    with pytest.raises(ParameterError, match="^" + re.escape(message)):
        read(path, **options)


def test_templates_from_files(tmp_path):
    path = tmp_path / "template"
    path.write_bytes(b"\xef\xbb\xbf# Unigram\r\nU00:%x[0,0]\r\n\r\nB\r\n")
    assert list(read_template(path)(["a"])) == [("U00:a",)]
