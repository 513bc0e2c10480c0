"""Taggers of fwexp and CRFsuite in training and in service."""

import pytest

from benchmarks.peers import serving
from fwexp.errors import UserError


def test_sentences_are_those_of_their_seed():
    X, y = serving.sentences(20, 1)
    assert (X, y) == serving.sentences(20, 1)
    assert (X, y) != serving.sentences(20, 2)
    assert [*map(len, X)] == [*map(len, y)]
    assert all(10 <= len(words) <= 30 for words in X)


def test_features_describe_the_words_around():
    first, last = serving.features(["the", "dog"])
    assert (first["w"], first["+1"], last["-1 0"], last["s2"], last["-2"]) == ("the", "dog", "he dog", "og", "")
    assert serving.few_features(["the", "dog"]) == [["w=the", "s3=the", "-1=", "+1=dog"], ["w=dog", "s3=dog", "-1=the", "+1="]]
    assert all(len(rows[0]) == int(text.split()[0]) for text, of in serving.FEATURES.items() for rows in [of(["the"])])


def test_a_process_reports_its_seconds_and_its_memory():
    seconds, small = serving.in_process("")
    _, large = serving.in_process("x = bytearray(100_000_000)")
    assert seconds > 0.0
    assert 90 < large - small < 110


@pytest.mark.slow
@pytest.mark.parametrize("text", serving.FEATURES)
def test_all_tools_are_measured(text, tmp_path):
    pytest.importorskip("pycrfsuite")
    rows = serving.measure(text, 30, tmp_path)
    assert [row["tool"] for row in rows] == [*serving.TAGGERS, serving.CRFSUITE]
    assert all(row.keys() == set(serving.HEAD) for row in rows)
    assert len(serving.table(rows).splitlines()) == 2 + len(rows)


@pytest.mark.parametrize("wrong", ["0", "many"])
def test_other_numbers_are_refused(wrong):
    with pytest.raises(UserError, match=f"SENTENCES must be an integer >= 1, got '{wrong}'"):
        serving.main([wrong])
