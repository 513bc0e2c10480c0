from itertools import repeat
from pathlib import Path

import numpy as np
import pytest
import scipy.io

import fwexp
from fwexp.data import DATASETS, conll2000, load_dataset, resolve_data_dir
from fwexp.data.metrics import token_accuracy
from fwexp.errors import DataError, ParameterError

# Imported before a test sets XDG_CACHE_HOME, which also says where compiled kernels are kept.
from fwexp.problems.chain import ChainProblem
from fwexp.problems.features import BinaryFeatures
from fwexp.run import runner
from fwexp.run.config import canonical

PARAGRAPH = """\
The DT B-NP
Big NNP I-NP
cat NN I-NP
sleeps VBZ B-VP
. . O

big JJ B-NP
Cats NNS I-NP
run VBP B-VP

"""
TRAIN = 3 * PARAGRAPH  # what occurs in it is kept
TEST = """\
a DT B-NP
big JJ I-LST
cat NN I-NP

Runs VBZ B-VP

"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a data folder with the texts above, and an empty cache next to it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    write(folder)
    return folder


def write(folder, train=TRAIN, test=TEST):
    (folder / "conll2000").mkdir(parents=True, exist_ok=True)
    (folder / "conll2000" / "train.txt").write_text(train)
    (folder / "conll2000" / "test.txt").write_text(test)


# Reading


@pytest.mark.parametrize(
    "pack",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.removesuffix(b"\n"),  # no empty line at the end
        lambda text: text.rstrip(b"\n"),  # no line feed at the end either
    ],
)
def test_line_ends_do_not_matter(pack, folder):
    path = folder / "conll2000" / "train.txt"
    expected = conll2000.read_text(path)
    assert expected.words[:9] == [b"the", b"big", b"cat", b"sleeps", b".", b"big", b"cats", b"run", b"the"]
    assert expected.pos[:5] == [b"DT", b"NNP", b"NN", b"VBZ", b"."]
    assert expected.tags[:5] == [b"B-NP", b"I-NP", b"I-NP", b"B-VP", b"O"]
    assert expected.ptr.tolist() == [0, 5, 8, 13, 16, 21, 24]
    path.write_bytes(pack(path.read_bytes()))
    text = conll2000.read_text(path)
    np.testing.assert_array_equal(text.ptr, expected.ptr)
    assert text[:3] == expected[:3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a DT\n", ", line 1: 'a DT', expected 'word POS chunk' with one space between"),
        (b"a DT B-NP\nB-NP\n", ", line 2: 'B-NP', expected 'word POS chunk' with one space between"),
        (b"a  DT B-NP\n", ", line 1: 'a  DT B-NP', expected 'word POS chunk' with one space between"),
        (b"x" * 50 + b"\n", ", line 1: '" + "x" * 40 + "'..., expected 'word POS chunk' with one space between"),
        (b"a\tDT\tB-NP\n", ", line 1: byte '\\t' at column 2, expected printable ASCII"),
        (b"a DT B-NP\n\nna\xc3\xafve JJ O\n", ", line 3: byte '\\xc3' at column 3, expected printable ASCII"),
        (b"a DT NP\n", ", line 1: chunk tag is 'NP', expected O, B-TYPE or I-TYPE"),
        (b"a DT B-\n", ", line 1: chunk tag is 'B-', expected O, B-TYPE or I-TYPE"),
        (b"\na DT B-NP\n", ", line 1: an empty sentence (an empty line at the start of the file), expected a token"),
        (b"a DT O\n\n\na DT O\n", ", line 3: an empty sentence (an empty line after an empty line), expected a token"),
        (b"", ": the file is empty, expected one token per line"),
    ],
)
def test_malformed(text, message, folder):
    path = folder / "conll2000" / "test.txt"
    path.write_bytes(text)
    with pytest.raises(DataError) as caught:
        load_dataset("conll2000", data_dir=folder)
    assert str(caught.value) == f"{path}{message}"


# Features


def test_problems(folder):
    train, test = load_dataset("conll2000", data_dir=folder)
    arrays = conll2000.parse(*(conll2000.read_text(folder / "conll2000" / f"{part}.txt") for part in ("train", "test")))
    # By rows of the template: numbers in the order of the training text, 0 for what it does not have three times.
    assert arrays["test_columns"].T.tolist() == [
        *([1, 1, 0, 1], [1, 0, 3, 1], [0, 2, 3, 0], [1, 2, 5, 5], [1, 4, 4, 4], [0, 0, 3, 0], [0, 2, 0, 0]),  # words, pairs
        *([1, 1, 2, 1], [1, 2, 6, 1], [1, 6, 3, 4], [0, 2, 5, 5], [1, 4, 4, 4]),  # POS tags
        *([1, 2, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 5, 5]),  # pairs of them
        *([1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]),  # and triples
    ]
    p = 1 + arrays["sizes"].sum()
    assert (train.n, test.n) == (6, 2)
    assert train.num_states == test.num_states == 4
    assert train.d == test.d == 4 * p + 4 + 4 + 16
    assert type(train) is ChainProblem
    assert type(train.x) is type(test.x) is BinaryFeatures
    assert train.x.indices.dtype == np.int32
    np.testing.assert_array_equal(train.x.indices[train.x.indptr[:-1]], 0)  # the constant is the first feature of all
    assert train.labels[:8].tolist() == [0, 1, 1, 2, 3, 0, 1, 2]
    assert conll2000.label_names(folder) == ("B-NP", "I-NP", "B-VP", "O")
    write(folder, train=2 * "a DT O\n\n")
    assert load_dataset("conll2000", data_dir=folder)[0].d == 1 + 1 + 1 + 1  # nothing that occurs twice only


def test_only_the_training_sentences_are_sampled(folder):
    train, test = load_dataset("conll2000", data_dir=folder)
    in_all = list(map(_sentence, repeat(train), range(train.n)))
    for n in (1, 3, 6):
        part, same_test = load_dataset("conll2000", data_dir=folder, n=n)
        assert (part.n, part.d) == (n, train.d)
        assert same_test.labels.tolist() == test.labels.tolist()
        left = iter(in_all)  # in the order of the text
        assert all(_sentence(part, i) in left for i in range(n))
    with pytest.raises(ParameterError, match=r"^dataset conll2000: n must be at most 6, .* training sentences, got 7$"):
        load_dataset("conll2000", data_dir=folder, n=7)
    assert canonical({"dataset": {"name": "conll2000"}, "solver": {"name": "fw"}, "lam": 1.0})["dataset"] == {"name": "conll2000"}


def _sentence(problem, i):
    """Return the labels of an example, and the features of its tokens."""
    start, end = problem.label_ptr[i : i + 2]
    features = np.split(problem.x.indices, problem.x.indptr)[start + 1 : end + 1]
    return problem.labels[start:end].tolist(), [row.tolist() for row in features]


def test_a_tag_that_only_the_test_text_has(folder):
    train, test = load_dataset("conll2000", data_dir=folder)
    assert test.labels.tolist() == [0, -1, 1, 2]
    assert conll2000.true_tags(folder) == [["B-NP", "I-LST", "I-NP"], ["B-VP"]]
    assert train.labels.min() == 0
    predictions = fwexp.predict(test, np.random.default_rng(0).normal(size=test.d))
    assert 0 <= min(map(min, predictions)) <= max(map(max, predictions)) < 4
    perfect = [np.array([0, 1, 1]), np.array([2])]
    assert token_accuracy(test, perfect) == 3 / 4
    # The true chunks are B-NP, I-LST, I-NP and B-VP; predicted are one of three tokens and B-VP.
    assert conll2000.scorer(folder)(perfect) == {
        "token_accuracy": 3 / 4,
        "chunk_precision": 1 / 2,
        "chunk_recall": 1 / 4,
        "chunk_f1": 1 / 3,
    }
    for labels in ([4], [-1]):
        with pytest.raises(ParameterError, match=rf"^labels in predictions must be in 0 \.\. 3, got \[{labels[0]}\]$"):
            conll2000.scorer(folder)([[0, 1, 1], labels])


def test_runs_report_tokens_and_chunks(folder, tmp_path):
    config = canonical({"dataset": {"name": "conll2000"}, "solver": {"name": "ssg"}, "lam": 0.1, "max_passes": 3})
    outcome = runner.run(config, tmp_path / "results", folder, verbose=False)
    assert outcome.status == "max_passes", outcome.message
    trace = fwexp.load_results(tmp_path / "results", dataset="conll2000")
    _, test = load_dataset("conll2000", data_dir=folder)
    w = np.load(outcome.path / "model.npz")["w"]
    scores = conll2000.scorer(folder)(fwexp.predict(test, w))
    best = trace.loc[trace["primal"].idxmin()]
    assert {name: best[name] for name in scores} == scores
    assert trace["token_accuracy"].nunique() > 1


# The cache


def cached_files(folder):
    cache = folder.parent / "cache"
    return sorted(path.relative_to(cache).as_posix() for path in cache.rglob("*") if path.is_file() and "numba" not in path.parts)


def test_a_text_is_parsed_once(folder, monkeypatch):
    train, _ = load_dataset("conll2000", data_dir=folder)
    (name,) = cached_files(folder)
    assert name.startswith("fwexp/parsed/conll2000-")
    assert sorted(path.name for path in folder.rglob("*")) == ["conll2000", "test.txt", "train.txt"]
    monkeypatch.setattr(conll2000, "parse", None)
    np.testing.assert_array_equal(load_dataset("conll2000", data_dir=folder)[0].x.indices, train.x.indices)
    assert conll2000.true_tags(folder)[1] == ["B-VP"]


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_changed_text_is_parsed_anew(part, folder):
    load_dataset("conll2000", data_dir=folder)
    write(folder, **{part: TRAIN + "new NN O\n"})
    problem = load_dataset("conll2000", data_dir=folder)[part == "test"]
    assert len(problem.labels) == 25
    assert len(cached_files(folder)) == 2


# The real texts


@pytest.fixture(scope="module")
def parsed():
    """Return the parsed real texts."""
    return conll2000.parse(*map(conll2000.read_text, DATASETS["conll2000"].locate(resolve_data_dir()).values()))


@pytest.mark.data
def test_real_columns_equal_the_published_matrix(parsed, real_data):
    path = Path(real_data) / "conll2000" / "reference" / "coNLL_test.mat"
    if not path.is_file():
        pytest.skip("needs conll2000/reference/coNLL_test.mat, the published features of the test set")
    matrix = scipy.io.loadmat(path)
    columns, labels = matrix["X"], matrix["y"].ravel()
    tokens = labels > 0  # after each sentence comes a row of zeros
    assert np.count_nonzero(columns[tokens] != parsed["test_columns"]) == 0
    assert np.count_nonzero(labels[tokens] != parsed["test_labels"] + 1) == 0
    np.testing.assert_array_equal(np.flatnonzero(~tokens) - np.arange(2012), parsed["test_ptr"][1:])


@pytest.mark.data
def test_real_counts(parsed):
    sizes = [6046, 6324, 6325, 6163, 5986, 12432, 12055, 45, 45, 44, 44, 44, 901, 911, 888, 878, 5241, 5246, 5040]
    assert parsed["sizes"].tolist() == sizes
    assert parsed["num_labels"] == 22
    assert parsed["tags"].tolist()[:3] == ["B-NP", "B-PP", "I-NP"]
    assert parsed["tags"].tolist()[21:] == ["I-UCP", "I-LST"]
    active = {part: round(1 + np.count_nonzero(parsed[f"{part}_columns"], axis=1).mean(), 2) for part in ("train", "test")}
    assert active == {"train": 18.63, "test": 18.18}


@pytest.mark.data
@pytest.mark.compiled  # of 211,727 words
def test_real_problems(real_data, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    train, test = load_dataset("conll2000", data_dir=real_data)
    assert (train.n, test.n, train.d, test.d) == (8936, 2012, 1643026, 1643026)
    assert (train.num_states, len(train.labels), len(test.labels)) == (22, 211727, 47377)
    assert np.diff(train.label_ptr).max() == 78
    assert np.count_nonzero(test.labels < 0) == 2
    tags = conll2000.true_tags(real_data)
    assert sum(tag == "I-LST" for sentence in tags for tag in sentence) == 2
    # A perfect prediction, except for the tag that cannot be predicted.
    names = conll2000.label_names(real_data)
    perfect = [[names.index(tag) if tag in names else 0 for tag in sentence] for sentence in tags]
    metrics = conll2000.scorer(real_data)(perfect)
    assert metrics["token_accuracy"] == token_accuracy(test, perfect) == 47375 / 47377
    assert 0.999 < metrics["chunk_f1"] < 1
