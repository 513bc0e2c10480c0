import numpy as np
import pytest

import fwexp
from fwexp.data import hansards, load_dataset
from fwexp.data.metrics import alignment_error_rate, alignment_scores
from fwexp.errors import DataError
from fwexp.problems import protocol
from fwexp.problems.matching import MatchingProblem
from tests.data.synthetic_pairs import synthetic_pairs, true_links


def write_lines(path, sentences):
    path.write_text("".join(" ".join(words) + " \n" for words in sentences), encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a data folder with 150 training and 104 test pairs, and an empty cache next to it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "data" / "hansards"
    home.mkdir(parents=True)
    train, test = synthetic_pairs(150, 0), synthetic_pairs(104, 1)
    for side, letter in enumerate("ef"):
        write_lines(home / f"train.25000.{letter}", [pair[side] for pair in train])
        write_lines(home / f"test.{letter}", [pair[side] for pair in test])
    lines = []
    for s, pair in enumerate(test, 1):
        links = true_links(pair)
        lines += [f"{s:04} {i + 1} {j + 1} {'P' if i == 0 else 'S'}\n" for i, j in links]
    (home / "test.wa").write_text("".join(lines))
    return tmp_path / "data"


# --- reading -----------------------------------------------------------------------------------------------------------


def test_problems(folder):
    train, test = load_dataset("hansards", data_dir=folder)
    assert isinstance(train, MatchingProblem)
    assert test.n == 4
    assert 50 < train.n < 150  # without repeated pairs and those of the test set
    assert train.d == test.d == len(hansards.feature_names()) == len(set(hansards.feature_names()))
    pairs = synthetic_pairs(104, 1)[100:]
    assert np.diff(test.label_ptr).tolist() == [len(e) for e, _ in pairs]
    assert test.columns.tolist() == [len(f) for _, f in pairs]
    # the first word's link is possible, the others are sure
    for i, pair in enumerate(pairs):
        links = true_links(pair)
        assert fwexp.loss(test, i, links) == 0.0
        assert fwexp.loss(test, i, links[1:]) == 0.0
        assert fwexp.loss(test, i, links[:-1]) > 0.0


def test_training_links_are_translations(folder):
    train, _ = load_dataset("hansards", data_dir=folder)
    test = set(map(str, synthetic_pairs(104, 1)))
    pairs = {str(pair): pair for pair in synthetic_pairs(150, 0) if str(pair) not in test}
    right = found = possible = 0
    for i, pair in enumerate(pairs.values()):
        links = protocol.public_labeling(train, i, train.labels[train.label_ptr[i] : train.label_ptr[i + 1]])
        right += len(set(map(tuple, links.tolist())) & set(true_links(pair)))
        found += len(links)
        possible += len(pair[0])
    assert i + 1 == train.n
    assert right > 0.9 * found
    assert right > 0.8 * possible


@pytest.mark.slow
@pytest.mark.compiled
def test_learning_on_synthetic_pairs(folder):
    train, test = load_dataset("hansards", data_dir=folder)
    result = fwexp.solve(train, lam=0.01, max_passes=20, test=test)
    metrics = hansards.scorer(folder)(result.predict(test))
    assert metrics["aer"] == pytest.approx(fwexp.evaluate(test, result.w).error, abs=1e-12)
    assert metrics["aer"] < 0.05
    assert result.trace["test_error"].iloc[0] == 1.0


def test_repeated_overlong_and_test_pairs_are_left_out():
    pairs = [(["A", "b"], ["c"]), (["a", "B"], ["C"]), (["x"] * 61, ["y"]), (["x"], ["y"] * 61), (["x"] * 60, ["y"] * 60)]
    assert hansards._distinct(pairs) == [(("a", "b"), ("c",)), (("x",) * 60, ("y",) * 60)]


@pytest.mark.parametrize(
    ("name", "line", "text", "message"),
    [
        ("test.wa", 1, b"0001 1 1", ", line 1: '0001 1 1', expected 'SENTENCE E F S' or 'SENTENCE E F P', as in '0001 1 1 S'"),
        ("test.wa", 2, b"0001 1 1 X", ", line 2: '0001 1 1 X', expected"),
        ("test.wa", 2, b"0001 1 -1 S", ", line 2: '0001 1 -1 S', expected"),
        ("test.wa", 3, b"0105 1 1 S", ", line 3: sentence is 105, expected 1 .. 104"),
        ("test.wa", 3, b"0000 1 1 S", ", line 3: sentence is 0, expected 1 .. 104"),
        ("test.wa", 4, b"0001 9 1 S", ", line 4: English position is 9, sentence 1 has 1 .. "),
        ("test.wa", 4, b"0001 1 0 P", ", line 4: French position is 0, sentence 1 has 1 .. "),
        ("test.e", 5, b"", ", line 5: an empty line, expected a sentence"),
        ("train.25000.f", 7, b"le \xff", ", line 7: byte 4 is not UTF-8"),
        ("test.f", 104, None, " must have the same number of lines, got 104 and 103"),
        ("train.25000.e", 150, None, " must have the same number of lines, got 149 and 150"),
    ],
)
def test_bad_files(folder, name, line, text, message):
    path = folder / "hansards" / name
    lines = path.read_bytes().splitlines()
    lines[line - 1 : line] = [] if text is None else [text]
    path.write_bytes(b"".join(part + b"\n" for part in lines))
    with pytest.raises(DataError) as caught:
        load_dataset("hansards", data_dir=folder)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


TRAIN, SURE = ("train.25000.e", "train.25000.f"), "0001 1 1 S\n"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (dict.fromkeys(("test.e", "test.f"), "a \n" * 100) | {"test.wa": SURE}, "100 sentences, expected more than the 100"),
        (dict.fromkeys(TRAIN, ""), r"train\.25000\.e: the file is empty"),
        (dict.fromkeys(TRAIN, 3 * ("a " * 200 + "\n")), r"\.e and .*train\.25000\.f: no pair of sentences with at most 60 words"),
        ({"test.wa": SURE}, r"test\.wa: no sure link"),
        ({"test.wa": "0104 1 1 P\n"}, r"test\.wa: no sure link"),
    ],
)
def test_texts_with_nothing_to_learn_from(folder, texts, message):
    for name, text in texts.items():
        (folder / "hansards" / name).write_text(text)
    with pytest.raises(DataError, match=message):
        load_dataset("hansards", data_dir=folder)


def test_eflomal_is_not_installed(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="needs the program eflomal-align, which is not on the PATH"):
        load_dataset("hansards", data_dir=folder, aligner="eflomal")


# --- the alignment error rate ------------------------------------------------------------------------------------------


def test_alignment_error_rate_by_hand():
    sure, possible = [[(0, 0), (1, 1)], [(0, 0)]], [[(1, 2)], []]
    predicted = [np.array([(0, 0), (1, 2), (2, 2)]), []]
    scores = alignment_scores(sure, possible, predicted)
    assert scores.aer == pytest.approx(1 - (1 + 2) / (3 + 3))
    assert scores.precision == pytest.approx(2 / 3)
    assert scores.recall == pytest.approx(1 / 3)
    assert alignment_error_rate(sure, possible, [[], []]) == 1.0
    assert alignment_error_rate(sure, possible, sure) == 0.0


# --- real data ---------------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_real_gold(real_data):
    gold = hansards.read_gold(hansards.resolve_data_dir(real_data))
    assert len(gold.pairs) == 447
    assert sum(map(len, gold.sure)) == 4038
    assert sum(map(len, gold.possible)) == 17438
    assert sum(map(len, gold.sure[hansards.SET_ASIDE :])) == 3089


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.data
def test_real_pairs_are_learned(real_data):
    # a tenth of the text, and fewer training pairs than the data set has
    data_dir = hansards.resolve_data_dir(real_data)
    pairs = hansards.read_pairs(*(data_dir / "hansards" / f"train.25000.{letter}.gz" for letter in "ef"))
    assert len(pairs) == 25000
    assert len(hansards._distinct(pairs)) == 19434
    gold = hansards.read_gold(data_dir)
    short = [pair for pair in pairs[:4000] if max(map(len, pair)) <= 25]
    arrays = hansards.prepare(hansards.Options(), short, gold)
    train, test = hansards.problems(arrays)
    assert (train.d, test.n) == (95, 347)
    result = fwexp.solve(train, lam=0.01, max_passes=10, test=test)
    assert fwexp.evaluate(test, result.w).error < 0.3
