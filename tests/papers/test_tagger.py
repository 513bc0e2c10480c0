"""The tagger beside CRFsuite's, on a text of a few sentences."""

import pytest

from fwexp.commands.tagger import main
from fwexp.errors import UserError
from fwexp.papers.peers import tagger_comparison

TEXT = "the x B-NP\ndog x I-NP\nbarks x B-VP\n\na x B-NP\ncat x I-NP\n\n1984 x O\n"


def test_the_first_column_has_words_and_the_last_one_labels(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    words, labels = tagger_comparison.read(tmp_path / "text.txt")
    assert words == [["the", "dog", "barks"], ["a", "cat"], ["1984"]]
    assert labels == [["B-NP", "I-NP", "B-VP"], ["B-NP", "I-NP"], ["O"]]
    (found,) = tagger_comparison.features(["1984"])
    assert found | {"-1": "", "digit": True, "capital": False} == found


@pytest.mark.slow
def test_one_table(tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text(f"{TEXT}\n" * 2)
    assert main([str(path), str(path)]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| tool | setting | CPU seconds | token accuracy | chunk F1 |"
    assert [row.split(" | ")[0] for row in rows][:2] == ["| ChainSVM", "| ChainSVMCV"]
    assert len(rows) == 4
    assert rows[0].endswith(" | 1.0000 | 1.0000 |")
    with pytest.raises(UserError, match="TRAIN and TEST must both be given, got one"):
        main(["one"])
