"""``fwexp tag``: from files to a tagger, and from standard input to labels."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fwexp
from fwexp.cli import main
from fwexp.commands.tag import PARAMETERS
from fwexp.data import Template, conll2000, read_columns, read_conllu, read_svmlight
from fwexp.data.metrics import chunk_scores
from fwexp.estimators import ChainCRF, ChainSVM
from tests.small_problems import run_in_plain_python

TRAIN = "the D B-NP\ndog N I-NP\nbarks V B-VP\n\na D B-NP\ncat N I-NP\n# # O\n\n-DOCSTART- X O\n\nit P B-NP\n"
TEMPLATE = "U00:%x[0,0]\nU01:%x[0,1]\nU02:%x[-1,1]\nB\n"
CONLLU = "# text = a\n1-2\tac\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\tx\tD\t_\t_\t_\t_\t_\tM\n2\tc c\tx\tN\t_\t_\t_\t_\t_\tM\n\n"
ROWS = "4 qid:1 1:1 # a\n7 qid:1 2:1.5 # b\n\n7 qid:2 2:1 # b\n4 qid:2 1:1 # a\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.txt").write_text(TRAIN)
    Path("template").write_text(TEMPLATE)
    Path("train.conllu").write_text(CONLLU * 2)
    Path("rows.svmhmm").write_text(ROWS)
    return tmp_path


@pytest.fixture
def tag(folder, monkeypatch, capsys, request):
    """Run the command with a text or bytes as standard input; return the exit code, standard output and standard error."""
    if not request.node.get_closest_marker("data"):  # which are too many for plain Python
        run_in_plain_python(monkeypatch)

    def run(*arguments, given=""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given if isinstance(given, bytes) else given.encode())))
        code = main(["tag", *arguments])
        return code, *capsys.readouterr()

    return run


def labelled(tag, *arguments, given):
    code, out, err = tag("--model", "m.npz", *arguments, given=given)
    assert (code, err) == (0, "")
    return out


def test_train_and_label_columns(tag):
    code, out, err = tag("train.txt", "--test", "train.txt", "--template", "template", "--save", "m.npz", "lam=0.1", "tol=2e-3")
    assert (code, err) == (0, "")
    model, (X, y) = ChainSVM.load("m.npz"), read_columns("train.txt")
    assert (model.lam, model.tol, model.features) == (0.1, 2e-3, Template(TEMPLATE))
    assert model.predict(X) == y
    assert tag("train.txt", "--template", "template", "--save", "again.npz", "lam=0.1", "tol=2e-3")[0] == 0
    assert Path("again.npz").read_bytes() == Path("m.npz").read_bytes()
    lines = dict(re.split(r"  +", line, maxsplit=1) for line in out.splitlines())
    assert lines["train"] == f"3 sentences, 7 tokens, 4 labels, {model.n_features_in_} features"
    assert re.fullmatch(rf"converged after {model.n_passes_:.4g} passes in \d+\.\d seconds", lines["training"])
    assert lines["certified gap"] == f"{model.dual_gap_:.2g}"
    assert (lines["test"], lines["token accuracy"]) == ("3 sentences, 7 tokens", "1.0000")
    assert (lines["chunk F1"], lines["model"]) == ("1.0000", "m.npz")
    table = out[out.index("chunks ") : out.index("model ")].splitlines()
    assert [line.split()[-1] for line in table] == ["support", "3", "1", "4", "4", "4"]
    assert table[1] == "NP              1.0000     1.0000  1.0000  3"
    assert tag("--model", "m.npz", "--test", "train.txt")[1] == out[out.index("test  ") : out.index("model ")]
    # Lines without tokens and separators are as they were; further columns are kept.
    given = "\ufeffthe D\r\ndog\tN\t \n\n \t\n# #\n-DOCSTART- X\na D gold\n"
    assert labelled(tag, given=given.rpartition("a D")[0]) == "the D B-NP\ndog\tN\tI-NP\n\n \t\n# # O\n-DOCSTART- X\n"
    assert labelled(tag, given="a D gold\n") == "a D gold B-NP\n"
    assert labelled(tag, "--comment", "# ", given="# #\na D") == "# #\na D B-NP\n"
    assert labelled(tag, given="") == ""
    assert labelled(tag, given="\n") == "\n"


def test_chunks_of_iob1_are_scored_as_bio(tag):
    Path("iob1.txt").write_text(TRAIN.replace("B-", "I-"))
    code, out, _ = tag("iob1.txt", "--test", "iob1.txt", "--template", "template", "constraints=IOB1", "lam=0.1", "tol=2e-3")
    assert code == 0
    assert "\ntoken accuracy  1.0000\nchunk F1        1.0000\n" in out


def test_objectives_train_taggers_of_their_kinds(tag):
    for objective in ("log", "softmax_margin"):
        code, _, err = tag("train.txt", "--objective", objective, "--save", "m.npz", "constraints=BIO")
        assert (code, err) == (0, "")
        assert (ChainCRF.load("m.npz").objective, ChainCRF.load("m.npz").constraints) == (objective, "BIO")
        assert labelled(tag, given="the D\ndog N\n").splitlines()[0] == "the D B-NP"
    for arguments, message in (
        (("train.txt", "--save", "m.npz", "--objective", "log", "loss=share"), "loss does not belong to --objective log"),
        (("train.txt", "--save", "m.npz", "--objective", "max"), "accepted: hinge, log, softmax_margin"),
        (("--model", "m.npz", "--objective", "log"), "takes no objective, got --objective"),
    ):
        code, _, err = tag(*arguments)
        assert code == 2
        assert message in err


GIVEN = {
    "lam": ("0.3", 0.3),
    "C": ("3", 3),
    "loss": ("share", "share"),
    "solver": ("fw", "fw"),
    "tol": ("0.5", 0.5),
    "max_passes": ("1", 1),
    "iterate": ("last", "last"),
    "min_count": ("4", 4),
    "class_weight": ("balanced", "balanced"),
    "constraints": ("BIO", "BIO"),
    "ignore_label": ("O", "O"),
    "early_stopping": ("true", True),
    "validation_fraction": ("0.4", 0.4),
    "n_jobs": ("1", 1),
    "random_state": ("5", 5),
    "verbose": ("1", 1),
}
"""Texts of parameters, and their values; tests/estimators/test_parameters.py shows what these do."""


class Fitted(BaseException):
    """Ends a command at its call of ``fit``."""


@pytest.mark.parametrize(("objective", "cls"), [("hinge", ChainSVM), ("log", ChainCRF)])
def test_parameters_are_those_of_the_estimators(tag, monkeypatch, objective, cls):
    def fit(model, *_):
        raise Fitted(model.get_params())

    assert set(GIVEN) == set(PARAMETERS)
    monkeypatch.setattr(cls, "fit", fit)
    for name in set(GIVEN) - ({"loss"} if objective == "log" else set()):
        text, value = GIVEN[name]
        with pytest.raises(Fitted) as ended:
            tag("train.txt", "--objective", objective, "--save", "m.npz", f"{name}={text}")
        assert ended.value.args[0][name] == value


def test_templates_may_have_rules_of_transitions(tag):
    Path("template").write_text(TEMPLATE + "B01:%x[0,0]\n")
    for objective in ("hinge", "log"):
        arguments = ("train.txt", "--template", "template", "--objective", objective, "--test", "train.txt", "--save", "m.npz")
        code, out, err = tag(*arguments, "lam=0.1")
        assert (code, err) == (0, "")
        assert "token accuracy  1.0000" in out
        model = (ChainSVM if objective == "hinge" else ChainCRF).load("m.npz")
        assert {name for name, _, _ in model.feature_transitions_} <= {"B01:dog", "B01:barks", "B01:cat", "B01:#"}
        assert len(model.feature_transitions_)
        assert labelled(tag, given="the D\ndog N\n") == "the D B-NP\ndog N I-NP\n"


def test_n_best_and_probabilities_are_written_like_those_of_crf_test(tag):
    arguments = ("train.txt", "--template", "template", "--save", "m.npz")
    assert tag(*arguments, "--objective", "log")[0] == 0
    model, X = ChainCRF.load("m.npz"), [[("the", "D"), ("cat", "N")]]
    given, labels = "the D\ncat N\n", model.predict(X)[0]
    of_labels, whole = model.predict_marginals(X)[0], np.exp(model.log_proba(X, [labels]))[0]
    marked = [f"{k}/{of_one[k]:.6f}" for k, of_one in zip(labels, of_labels)]
    expected = f"# {whole:.6f}\nthe D {marked[0]}\ncat N {marked[1]}\n"
    assert labelled(tag, "--probabilities", given=given) == expected
    assert labelled(tag, "--probabilities", given=f"\n{given}\n-DOCSTART- X\n{given}") == f"\n{expected}\n-DOCSTART- X\n{expected}"

    # All 16 labelings, best first; blocks end with the empty line of the sentence, which the last one may lack.
    for flags in ((), ("--probabilities",)):
        out = labelled(tag, "--n-best", "20", *flags, given=given)
        blocks = [block.splitlines() for block in out.split("\n\n")]
        heads = [block[0].split() for block in blocks]
        probabilities = [float(value) for *_, value in heads]
        assert [head[:2] for head in heads] == [["#", str(rank)] for rank in range(16)]
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) == pytest.approx(1.0, abs=1e-5)
        assert blocks[0][1:] == ([f"the D {marked[0]}", f"cat N {marked[1]}"] if flags else ["the D B-NP", "cat N I-NP"])
        assert len({tuple(block[1:]) for block in blocks}) == 16
        assert labelled(tag, "--n-best", "20", *flags, given=given + "\n") == out + "\n"
    assert labelled(tag, "--n-best", "2", given=f"{given}\n").count("\n\n") == 2

    # A ChainSVM has scores.
    assert tag(*arguments)[0] == 0
    model = ChainSVM.load("m.npz")
    scores = [score for _, score in model.predict(X, n_best=2)[0]]
    lines = labelled(tag, "--n-best", "2", given=given).splitlines()
    assert [lines[0], lines[4]] == [f"# {rank} {score:.6f}" for rank, score in enumerate(scores)]
    assert tag("train.conllu", "--objective", "log", "--save", "c.npz")[0] == 0
    for arguments, message in (
        (("--model", "m.npz", "--probabilities"), "--probabilities needs a model of --objective log or softmax_margin"),
        (("--model", "m.npz", "--n-best", "0"), "--n-best must be an integer >= 1, got 0"),
        (("--model", "m.npz", "--n-best", "x"), "--n-best must be an integer >= 1, got 'x'"),
        (("--model", "m.npz", "--n-best", "2", "--test", "train.txt"), "--test takes no --n-best and no --probabilities"),
        (("--model", "c.npz", "--probabilities"), "--probabilities does not belong to the format conllu"),
        (("train.txt", "--save", "m.npz", "--n-best", "2"), "--n-best needs --model MODEL"),
    ):
        code, _, err = tag(*arguments)
        assert code == 2
        assert message in err


def test_labels_in_another_column(tag):
    assert tag("train.txt", "--label", "1", "--save", "m.npz")[0] == 0
    assert labelled(tag, given="the B-NP\ndog I-NP\n") == "the B-NP D\ndog I-NP N\n"
    assert tag("--model", "m.npz", "--test", "train.txt")[1].splitlines()[1:] == ["token accuracy  1.0000"]  # no chunks
    assert tag("train.txt", "--label", "-3", "--save", "m.npz")[0] == 0
    assert ChainSVM.load("m.npz").classes_.tolist() == sorted(
        {line.split()[0] for line in TRAIN.split("\n") if line} - {"-DOCSTART-"}
    )


def test_conllu(tag):
    assert tag("train.conllu", "--test", "train.conllu", "--save", "m.npz")[0] == 0
    assert labelled(tag, given=CONLLU.replace("\tD\t", "\t_\t").replace("\tN\t", "\tX\t")) == CONLLU
    assert tag("--model", "m.npz", "--test", "train.conllu")[1].endswith("token accuracy  1.0000\n")
    assert tag("train.conllu", "--label", "MISC", "--columns", "FORM,UPOS", "--save", "m.npz")[0] == 0
    assert "U100:_B-2" in ChainSVM.load("m.npz").feature_names_in_
    assert labelled(tag, given=CONLLU.replace("M\n", "_\n")) == CONLLU
    Path("template").write_text("U:%x[0,0]")
    Path("other.txt").write_text(CONLLU)
    assert tag("other.txt", "--format", "conllu", "--template", "template", "--save", "m.npz")[0] == 0
    assert labelled(tag, "--format", "columns", given="a\nc\n") == "a D\nc N\n"


def test_words_of_conllu_without_a_label_are_left_out(tag):
    Path("some.conllu").write_text(CONLLU.replace("\tN\t", "\t_\t") + CONLLU)
    code, _, err = tag("some.conllu", "--save", "m.npz")
    assert (code, err.count("pass ignore_label=")) == (2, 1)
    code, out, _ = tag("some.conllu", "--test", "some.conllu", "--save", "m.npz", "ignore_label=_")
    assert code == 0
    assert "token accuracy  1.0000" in out
    assert ChainSVM.load("m.npz").classes_.tolist() == ["D", "N"]
    assert tag("--model", "m.npz", "--test", "some.conllu")[1].endswith("token accuracy  1.0000\n")


def test_columns_between_separators(tag):
    Path("words.txt").write_text("New York\tx\tB-X\nis\t\tO\n\nYork\tx\tO\n")
    assert tag("words.txt", "--sep", r"\t", "--test", "words.txt", *SAVE)[0] == 0
    assert labelled(tag, given="New York\tx\nis\t\n") == "New York\tx\tB-X\nis\t\tO\n"


def test_csv(tag):
    """The columns of the training file are found by name, and the label is replaced, or added with its name."""
    table = 'no,word,pos,tag\n1,"a, b",D,B-X\n,"c\n",N,I-X\n2,it,P,O\n'
    Path("words.csv").write_text(table)
    code, out, err = tag("words.csv", "--test", "words.csv", "--label", "tag", "--sequence", "no", *SAVE)
    assert (code, err) == (0, "")
    assert out.startswith("train           2 sentences, 3 tokens, 3 labels")
    assert labelled(tag, given=table.replace(",B-X", ",?").replace(",O", ",?")) == table
    given = '\npos,word,no\nD,"a, b",1\nN,"c\n",\n\nP,it,2\n'
    assert labelled(tag, given=given) == '\npos,word,no,tag\nD,"a, b",1,B-X\nN,"c\n",,I-X\n\nP,it,2,O\n'
    code, _, err = tag("--model", "m.npz", given="word,no\nit,1\n")
    assert (code, err) == (2, "fwexp: standard input, line 1: unknown column 'pos'; accepted: no, word\n")
    code, _, err = tag("words.csv", "--sequence", "no", *SAVE)
    assert (code, err) == (2, "fwexp: words.csv: unknown column 'label'; accepted: no, pos, tag, word; see docs/tagging.md\n")


def test_attributes_of_crfsuite(tag):
    text = "D\tw=the\tx:2\nN\tw=10\\:30\n\nN\tw=10\\:30\nD\\:x\tx:3\n"
    Path("train.crfsuite").write_text(text)
    assert tag("train.crfsuite", "--test", "train.crfsuite", *SAVE, "lam=0.01")[0] == 0
    assert labelled(tag, given=re.sub("(?m)^[^\t\n]+", "?", text)) == text
    code, _, err = tag("--model", "m.npz", "--format", "columns", given="a b\n")
    assert (code, err.count("must be a tagger whose features are a fwexp.data.Template")) == (2, 1)


def test_svmhmm(tag):
    assert tag("rows.svmhmm", "--test", "rows.svmhmm", "--save", "m.npz")[0] == 0
    given = ROWS.replace("4 qid", "0 qid").replace("7 qid", "0  qid").replace("2:1.5", "2:1.5 99:3")
    assert labelled(tag, given=given) == given.replace("0 qid", "4 qid").replace("0  qid", "7  qid")
    Path("rows.svmhmm").write_text(ROWS.replace("4 ", r"\1 "))
    assert tag("rows.svmhmm", "--save", "m.npz")[0] == 0
    assert labelled(tag, given="? qid:q 1:1\n") == "\\1 qid:q 1:1\n"


def test_tags_of_svmhmm_are_of_the_kind_of_the_training_set(tag):
    mixed = ROWS + "X qid:3 3:1\n"
    for train, test, accuracy in ((mixed, ROWS, 1.0), (ROWS, mixed, 0.8)):
        Path("train.svmhmm").write_text(train)
        Path("test.svmhmm").write_text(test)
        shown = f"token accuracy  {accuracy:.4f}\n"
        assert shown in tag("train.svmhmm", "--test", "test.svmhmm", *SAVE)[1]
        assert shown in tag("--model", "m.npz", "--test", "test.svmhmm")[1]


def test_taggers_of_estimators_are_models(tag):
    X, y = read_columns("train.txt")
    ChainSVM(features=Template(TEMPLATE)).fit(X, y).save("m.npz")
    assert labelled(tag, given="the D\ndog N\n") == "the D B-NP\ndog N I-NP\n"
    rows = read_svmlight("rows.svmhmm")
    ChainSVM().fit(*rows).save("m.npz")
    assert labelled(tag, "--format", "svmhmm", given="0 qid:1 1:1\n") == "4 qid:1 1:1\n"
    words = read_conllu("train.conllu")
    ChainSVM(features=Template("U:%x[0,0]")).fit(*words).save("m.npz")
    assert labelled(tag, "--format", "conllu", given=CONLLU.replace("\tN\t", "\t_\t")) == CONLLU


SAVE = ("--save", "m.npz")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "fwexp tag takes a file to train on or --model MODEL, got neither"),
        (("train.txt",), "fwexp tag needs --save MODEL to keep the tagger or --test FILE to evaluate it, got neither"),
        (("train.txt", "--columns", "FORM", *SAVE), "--columns does not belong to the format columns"),
        (("train.conllu", "--comment", "#", *SAVE), "--comment does not belong to the format conllu"),
        (("rows.svmhmm", "--template", "template", *SAVE), "--template needs tokens in columns, got features (svmhmm)"),
        (("train.txt", "--label", "-2", "--test", "two.txt"), "two.txt: 1 columns next to the label, expected 2 as in train.txt"),
        (("two.txt", "--template", "template", *SAVE), "--template must use columns < 1, as two.txt has them, got 1"),
        (("empty.txt", *SAVE), "empty.txt: no sequences"),
        (("train.txt", *SAVE, "verbose=False"), "verbose must be an integer, true or false, got 'False'"),
        (("train.txt", *SAVE, "objective=log"), "unknown key of fwexp tag 'objective' (here it is --objective); accepted: "),
        (("train.txt", *SAVE, "seed=3"), "unknown key of fwexp tag 'seed' (here it is random_state); accepted: "),
        (("train.txt", *SAVE, "--lam", "3"), "unknown flag of fwexp tag '--lam' (here it is lam); accepted: "),
        (
            ("iob1.txt", *SAVE, "constraints=BIO"),
            "iob1.txt, line 6 (sentence 2): the label must be allowed by constraints='BIO', got 'I-X'",
        ),
        (("train.txt", "--save", "train.txt"), "--save must be another file than those that are read, got 'train.txt'"),
        (("train.txt", "--template", "template", "--save", "./template"), "--save must be another file than those"),
        (("train.txt", "--save", "none/m.npz"), "--save must be a file in a folder that exists, got 'none/m.npz'"),
        (("--model", "m.npz"), "path must be a file of ChainSVM.save, got 'm.npz': No such file"),
        (("--model", "m.npz", "words.txt"), "fwexp tag --model takes no files to tag, got words.txt; use < FILE"),
        (("--model", "m.npz", "lam=1"), "fwexp tag --model takes no parameters, got lam"),
        (("--model", "m.npz", "--template", "template"), "fwexp tag --model takes no --template"),
    ],
)
def test_mistakes_are_one_line(tag, arguments, message):
    Path("two.txt").write_text("a b\n")
    Path("empty.txt").write_text("\n \n")
    Path("iob1.txt").write_text("a B-X\nb I-X\n\n\na O\nb I-X\n")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    code, out, err = tag(*arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(f"fwexp: {message}")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_mistakes_in_models_and_words_are_one_line(tag):
    def fails(message, *arguments, given=""):
        code, out, err = tag("--model", "m.npz", *arguments, given=given)
        assert (code, len(err.splitlines())) == (2, 1)
        assert err.startswith(f"fwexp: {message}")
        return out

    assert tag("train.txt", *SAVE)[0] == 0
    # What came before the mistake is written.
    assert fails("standard input, line 4: 1 column, expected 2", given="the D\ndog N\n\ncat\n") == "the D B-NP\ndog N I-NP\n\n"
    assert fails("standard input, line 2: not UTF-8", given=b"\n\xff\n") == "\n"
    assert fails("standard input, line 2: tokens must have at least 2 columns", given="\nthe\n") == "\n"
    assert fails("--format must be columns, csv or conllu, as m.npz has a template, got svmhmm", "--format", "svmhmm") == ""
    X, y = [["a"], ["b"]], [["x"], ["y"]]
    ChainSVM().fit(X, y).save("m.npz")
    fails("--model must be a tagger whose features are a fwexp.data.Template, got m.npz without one")
    ChainSVM().fit(X, y).result_.save("m.npz")
    fails("--model must be a file that fwexp tag --save wrote, got 'm.npz'")
    from fwexp.tasks import result_files

    model = ChainSVM(features=Template("U:%x[0,0]")).fit(X, y)
    for reading in ({"format": "columns", "none": 1}, {"format": "none"}, {"format": ["x"]}):
        result_files.save(model.result_, "m.npz", model._record() | {"reading": reading})
        fails("--model must be a file that fwexp tag --save wrote, got one that is damaged")


def test_a_sentence_is_written_when_it_is_complete(tag):
    assert tag("train.txt", *SAVE)[0] == 0
    command = [str(Path(sys.executable).with_name("fwexp")), "tag", "--model", "m.npz"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for given, expected in (
            (b"the D\ndog N\n\n", [b"the D B-NP\n", b"dog N I-NP\n", b"\n"]),
            (b"a D\n\n", [b"a D B-NP\n", b"\n"]),
        ):
            process.stdin.write(given)
            process.stdin.flush()
            assert [process.stdout.readline() for _ in expected] == expected
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.slow
def test_readers_that_leave_and_streams_that_are_closed(tag):
    assert tag("train.txt", *SAVE)[0] == 0
    Path("words").write_text("the D\n\n" * 8_000)  # answers are more than a pipe holds
    use = "fwexp tag --model m.npz"
    script = f"set -o pipefail; {use} < words | head -n 1; {use} <&-; {use} < words >&-"
    places = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, env=os.environ | places, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the D B-NP\n", "")


@pytest.mark.data
@pytest.mark.slow
def test_conll2000(tag, capsys):
    """As good as the data set's own features, which are those of this template with words in lower case."""
    paths = [str(path) for path in conll2000.DATASET.locate(fwexp.data.resolve_data_dir()).values()]
    code, out, _ = tag(paths[0], "--test", paths[1], *SAVE)
    assert code == 0
    lines = dict(re.split(r"  +", line, maxsplit=1) for line in out.splitlines())
    assert lines["train"].startswith("8936 sentences, 211727 tokens, 22 labels")
    assert float(lines["certified gap"]) <= 0.01
    assert float(lines["token accuracy"]) > 0.955
    assert float(lines["chunk F1"]) > 0.93
    X, y = read_columns(paths[1])
    found = labelled(tag, given="\n\n".join("\n".join(map(" ".join, tokens)) for tokens in X))
    Path("found.txt").write_text(found)
    same, predicted = read_columns("found.txt")
    assert same == X
    assert f"{chunk_scores(y, predicted).f1:.4f}" == lines["chunk F1"]
