"""Wrong arguments of benchmarks: what is wrong is named before anything is measured."""

import pytest

from benchmarks import few, rule, scale, svm, unseen
from benchmarks.peers import calls

REFUSED = [
    (calls, ["--seeds", "1"], "--seeds must be at least 2, got 1\n"),
    (few, ["--seeds", "1", "--half", "test"], "--seeds must be at least 2, got 1\n"),
    (rule, ["letters"], "got letters"),
    (scale, ["cheap"], "regime must be one of costly, small d; costly, large d; cheap, small d; cheap, large d, got cheap"),
    (svm, ["speed"], "got speed"),
    (unseen, ["--seeds", "1", "--half", "test"], "--seeds must be at least 2, got 1\n"),
]


@pytest.mark.parametrize(("module", "words", "message"), REFUSED)
def test_what_is_wrong_is_named(module, words, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", [module.__name__, *words])
    with pytest.raises(SystemExit, match="2"):
        module.main()
    assert message in capsys.readouterr().err
