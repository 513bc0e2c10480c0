"""Taggers of fwexp and CRFsuite on texts: the same features, and lam chosen by validation alike."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.peers import generated_texts, tagger_comparison, tools
from benchmarks.peers.tagger import main
from benchmarks.peers.validated import MOST, RATIO, choose
from fwexp.data import read_columns
from fwexp.errors import UserError

TEXT = "the x B-NP\ndog x I-NP\nbarks y B-VP\n\na x B-NP\ncat x I-NP\n\n1984 z O\n"


def test_words_have_features():
    (found,) = tagger_comparison.features(["1984"])
    assert found | {"-1": "", "digit": True, "capital": False} == found


def test_a_second_column_has_features_of_what_is_around():
    first, last = tagger_comparison.features_of_tokens([("the", "x"), ("dog", "y")])
    assert first["tag 0 0"] == "x"
    assert (first["tag 0 1"], last["tag -1 0"], last["tag -1 1"]) == ("x y", "x y", "x y ")
    assert sum(name.startswith("tag ") for name in first) == 12


def test_crfsuite_gets_the_same_features(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(f"{TEXT}\n" * 4)
    train, test = tagger_comparison.encoded(tagger_comparison.text_in_columns("text", path, path))
    for rows in train.X:
        assert (rows.data == 1.0).all()
        items = tools.attributes(rows)
        assert [[name for name in names if name not in ("first", "last")] for names in items] == [
            [str(column) for column in np.flatnonzero(row)] for row in rows.toarray()
        ]
        assert "first" in items[0]
        assert "last" in items[-1]
    assert (train.words, len(test)) == (24, 12)


@pytest.mark.parametrize(("best", "tried"), [(0, 3), (2, 5), (-3, 6)])
def test_the_grid_grows_while_its_end_is_the_best(best, tried):
    asked = []

    def error_at(lam):
        asked.append(lam)
        return abs(np.log(lam / RATIO**best))

    assert choose(error_at, 1.0)[0] == pytest.approx(RATIO**best)
    assert len(asked) == len(set(asked)) == tried


def test_the_grid_ends_and_equal_errors_take_the_largest_lam():
    asked = []
    lam, error = choose(lambda lam: asked.append(lam) or lam, 1.0)
    assert len(asked) == MOST
    assert (lam, error) == (min(asked), min(asked))
    assert choose(lambda lam: 0.5 if lam < 2 else 1.0, 1.0) == (1.0, 0.5)


def test_generated_texts_are_the_same_each_time_and_have_what_they_promise(tmp_path):
    (tmp_path / "again").mkdir()
    written = [
        [*generated_texts.write_names(folder, (60, 20)), *generated_texts.write_morphology(folder, (60, 20))]
        for folder in (tmp_path, tmp_path / "again")
    ]
    assert [path.read_bytes() for path in written[0]] == [path.read_bytes() for path in written[1]]
    names, _, morphology, _ = written[0]
    X, y = read_columns(names)
    assert (len(X), len(X[0][0])) == (60, 2)
    found = Counter(label for labels in y for label in labels)
    assert {"O", "B-PER", "I-PER", "B-ORG", "B-LOC", "B-MISC"} <= set(found)
    for labels in y:
        assert all(label[0] != "I" or before[1:] == label[1:] for before, label in zip(["O", *labels], labels, strict=False))
    text = tagger_comparison.Text("text", *2 * [tagger_comparison.read_morphology(morphology)])
    assert "NOUN|Case=Acc|Number=Sing" in {label for labels in text.train[1] for label in labels}
    assert len(text.train[0]) == 60
    assert {len(token) for token in text.train[0][0]} == {1}


@pytest.mark.slow
@pytest.mark.compiled
def test_one_table(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("os.sched_setaffinity", lambda *_: None, raising=False)
    path = tmp_path / "text.txt"
    path.write_text(f"{TEXT}\n" * 4)
    assert main([str(path), str(path)]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| text | tool | lam | c2 | validation error | error | chunk F1 | seconds |"
    names = ["softmax-margin", "CRF", "SVM", "CRF: CRFsuite", "CRF: CRFsuite, with its defaults"]
    assert [row.split(" | ")[1].split(" (")[0] for row in rows] == names
    assert all(" | 0.0000 | 1.0000 | " in row for row in rows)
    with pytest.raises(UserError, match="TRAIN and TEST must both be given, got one"):
        main(["one"])
