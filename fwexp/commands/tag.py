"""``fwexp tag``."""

# ruff: noqa: T201

import contextlib
import dataclasses
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

from fwexp.commands.arguments import Arguments, command
from fwexp.data.readers import FORMATS, read_template
from fwexp.data.readers.lines import Source, StandardInput, naming
from fwexp.errors import DataError, OptionError, ParameterError, shown
from fwexp.files import folders
from fwexp.files.user_paths import check_path
from fwexp.options import OBJECTIVES, check_integer
from fwexp.templates import Template, default_template

USAGE = """\
usage: fwexp tag TRAIN [--test FILE] [--template FILE] [--save MODEL] [KEY=VALUE ...]
       fwexp tag --model MODEL [--test FILE] [--n-best K] [--probabilities] < WORDS

Train a tagger on labelled sentences, and label new ones. The first form trains a tagger to a certified gap and evaluates it on
the test file. The second form reads sentences without labels from standard input and writes them with the predicted labels.

  --test FILE      evaluate on these labelled sentences: token accuracy, and precision, recall and F1 of chunks by kind if labels
                   are of IOB1, BIO or BIOES, or of the scheme of constraints=BILOU or BMES
  --template FILE  features in the language of CRF++ (default: the first column at and around the token, pairs of neighbours,
                   and for each other column pairs and triples as well)
  --objective NAME hinge trains a ChainSVM (default); log and softmax_margin train a ChainCRF, with probabilities
  --save MODEL     write the tagger to this file; an existing file is replaced
  --model MODEL    use the tagger in this file
  --n-best K       write the K best labelings of each sentence, best first, each after a line "# RANK PROBABILITY", like
                   crf_test -n; for a ChainSVM "# RANK SCORE" (with --model, columns only)
  --probabilities  write labels as LABEL/PROBABILITY after a line "# PROBABILITY" of the sentence, like crf_test -v1; needs a
                   ChainCRF (with --model, columns only)
  --format NAME    columns, csv, conllu, crfsuite or svmhmm (default: by the end of the name, .csv, .conllu, .crfsuite, .svmhmm,
                   .svmlight or .svm, otherwise columns; with --model as in training)
  --label COLUMN   the column of the labels: a number from 0, negative from the end (default: -1), or a name in csv (default:
                   label) and conllu (default: UPOS)
  --columns NAMES  the columns that the template numbers from 0, with commas (csv, default: all others; conllu, default: FORM)
  --sequence NAME  the column whose value changes where a sentence begins (csv only; default: an empty row ends a sentence)
  --sep CHARACTER  what separates columns, \\t for a tab (columns, default: spaces and tabs; csv, default: a comma)
  --comment TEXT   skip lines that begin with this text (columns only; default: none)
  KEY=VALUE        a parameter of the tagger, such as lam=0.001, tol=0.001, max_passes=100, min_count=2 or constraints=BIO

Files are UTF-8 text, optionally gzip-compressed (.gz). Format columns: a token per line, columns between spaces or tabs, an empty
line after each sentence; labels are written as a new last column. Format csv: the first row names the columns; labels replace their
column, or are a new last one. Format conllu: labels replace their column; ignore_label=_ leaves words without a label out. Format
crfsuite: lines TAG<tab>NAME[:VALUE]<tab>... with escapes \\: and \\\\; labels replace TAG. Format svmhmm: rows TAG qid:NUMBER
INDEX:VALUE ... # COMMENT; labels replace TAG. Every sentence is written as soon as it is complete.

example: fwexp tag train.txt --test test.txt --save tagger.npz && cut -f 1 new.txt | fwexp tag --model tagger.npz
"""
SUFFIXES = {f".{name}": name for name in ("csv", "conllu", "crfsuite", "svmhmm")} | {".svmlight": "svmhmm", ".svm": "svmhmm"}
SETTINGS = {f"--{name}": name for name in ("label", "columns", "sequence", "sep", "comment")}  # of formats
PROBABILITIES = "--probabilities"
FLAGS = {
    "--test": (),
    "--template": (),
    "--save": (),
    "--model": (),
    "--n-best": (),
    "--format": tuple(FORMATS),
    "--objective": OBJECTIVES,
} | dict.fromkeys(SETTINGS, ())
PARAMETERS = (
    "lam",
    "C",
    "loss",
    "solver",
    "tol",
    "max_passes",
    "iterate",
    "min_count",
    "class_weight",
    "constraints",
    "ignore_label",
    "early_stopping",
    "validation_fraction",
    "n_jobs",
    "random_state",
    "verbose",
)


@command("fwexp tag", USAGE, words=1, switches=[PROBABILITIES], flags=FLAGS, keys=PARAMETERS, in_words="/.", folder_keys=())
def main(given: Arguments) -> int:
    """Run ``fwexp tag`` with the arguments after ``tag``, and return the exit code."""
    words, flags, keys = given
    parameters = {name: _value(text) for name, text in keys.items()}
    if "--model" not in flags:
        if not words:
            raise OptionError("fwexp tag takes a file to train on or --model MODEL, got neither; fwexp tag --help explains both")
        _train(check_path("TRAIN", words[0]), flags, parameters)
        return 0
    for what, got in (
        ("files to tag", words),
        ("parameters", [*parameters]),
        ("files to write", flags.keys() & {"--save"}),
        ("objective", flags.keys() & {"--objective"}),
    ):
        if got:
            cure = "; use < FILE" if got is words else ""
            raise OptionError(f"fwexp tag --model takes no {what}, got {', '.join(got)}{cure}")
    if "--template" in flags:
        raise OptionError("fwexp tag --model takes no --template, because the model has its own")
    _use(check_path("--model", flags["--model"]), flags)
    return 0


def _train(train: Path, flags: dict, parameters: dict) -> None:
    """Train, evaluate, save and report."""
    from fwexp.estimators import ChainCRF, ChainSVM

    for flag in flags.keys() & {"--n-best", PROBABILITIES}:
        raise OptionError(f"{flag} needs --model MODEL, because it is about the labels of new sentences")
    if not flags.keys() & {"--test", "--save"}:
        raise OptionError("fwexp tag needs --save MODEL to keep the tagger or --test FILE to evaluate it, got neither")
    paths = {flag: check_path(flag, flags[flag]) for flag in ("--test", "--template", "--save") if flag in flags}
    if "--save" in paths:
        _check_target(paths["--save"], [train, *(path for flag, path in paths.items() if flag != "--save")])
    objective = flags.get("--objective", "hinge")
    model = ChainSVM() if objective == "hinge" else ChainCRF(objective=objective)
    unknown = [key for key in parameters if key not in model.get_params()]
    if unknown:
        raise OptionError(f"{unknown[0]} does not belong to --objective {objective}")
    form = _form(flags, SUFFIXES.get(Path(train.name.removesuffix(".gz")).suffix, "columns"), {})
    if form.name == "conllu":
        form = dataclasses.replace(form, ignore_label=parameters.get("ignore_label"))
    if form.name == "csv":
        form = form.with_columns_of(train)
    template = read_template(paths["--template"]) if "--template" in paths else None
    X, y = form.read(train)
    if form.name == "svmhmm":
        form = dataclasses.replace(form, num_features=X[0].shape[1], numeric=not isinstance(y[0][0], str))
    if form.has_features:
        if template is not None:
            raise OptionError(f"--template needs tokens in columns, got features ({form.name})")
    else:
        width = len(X[0][0])
        template = template or default_template(width)
        if template.width > width:
            raise ParameterError(f"--template must use columns < {width}, as {train} has them, got {template.width - 1}")
        model.set_params(features=template)
    test = form.read(paths["--test"]) if "--test" in paths else None
    if test and template and len(test[0][0][0]) != width:
        raise DataError(f"{paths['--test']}: {len(test[0][0][0])} columns next to the label, expected {width} as in {train}")
    start = time.perf_counter()
    with _naming_lines(form, train):
        model.set_params(**{"verbose": int(sys.stderr.isatty())} | parameters).fit(X, y)
    seconds = time.perf_counter() - start
    sizes = f"{_sizes(X, y)}, {len(model.classes_)} labels, {model.n_features_in_} features"
    print(f"train           {sizes}")
    print(f"training        {model.status_} after {model.n_passes_:.4g} passes in {seconds:.1f} seconds")
    print(f"certified gap   {model.dual_gap_:.2g}")
    if test:
        _evaluate(model, *test)
    if "--save" in paths:
        from fwexp.tasks import result_files

        reading = {"format": form.name} | dataclasses.asdict(form)
        untimed = model.result_.trace.assign(time=math.nan)  # else files of equal models differ
        result = dataclasses.replace(model.result_, trace=untimed)
        result_files.save(result, paths["--save"], model._record() | {"reading": reading})
        print(f"model           {paths['--save']}")


@contextlib.contextmanager
def _naming_lines(form, path: Path) -> Iterator[None]:
    """Raise an error about y[i] or y[i][t] as one about the sentence and the line of a file."""
    try:
        yield
    except ParameterError as error:
        place = re.match(r"y\[(\d+)\](?:\[(\d+)\])?", str(error))
        if place is None:
            raise
        number = int(place[1])
        found = next(islice((found for found in form.sentences(path) if found.tokens), number, None))
        line = found.line_of(int(place[2] or 0))
        raise DataError(f"{path}, line {line} (sentence {number + 1}): the label{str(error)[place.end() :]}") from error


def _use(path: Path, flags: dict) -> None:
    """Evaluate a stored tagger, or label standard input."""
    model, reading = _load(path)
    form = _form(flags, reading.pop("format", None), reading)
    if form.name == "svmhmm":
        form = dataclasses.replace(form, num_features=model.n_features_in_, numeric=not isinstance(model.classes_[0], str))
    if form.has_features:
        if isinstance(model.features, Template):
            raise OptionError(f"--format must be columns, csv or conllu, as {path} has a template, got {form.name}")
    elif not isinstance(model.features, Template):
        raise ParameterError(f"--model must be a tagger whose features are a fwexp.data.Template, got {path} without one")
    answers = _answers(model, form, path, flags)
    if "--test" in flags:
        if answers is not _best:
            raise OptionError("--test takes no --n-best and no --probabilities; use < FILE")
        test = check_path("--test", flags["--test"])
        with naming(test):
            _evaluate(model, *form.read(test))
        return
    if form.name == "columns":
        form = dataclasses.replace(form, label=None)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")
    _label(model, form, answers, StandardInput())


def _label(model, form, answers: Callable, source: Source) -> None:
    """Write all lines of a source with labels, sentence by sentence."""
    for found in form.sentences(source):
        lines = found.lines
        if found.tokens:
            with naming(f"{source}, line {found.line_of(0)}"):
                of_answers = [[*heads, *form.tagged(found, labels)] for heads, labels in answers(model, form.inputs(found))]
            if len(of_answers) > 1 and found.rows[-1] == len(lines) - 1:
                of_answers = [[*of_one, ""] for of_one in of_answers[:-1]] + of_answers[-1:]
            lines = chain.from_iterable(of_answers)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()  # The next sentence may come much later.


def _answers(model, form, path: Path, flags: dict) -> Callable:
    """Return the function of a tagger and a sentence that returns pairs (lines before the sentence, labels), as flags choose."""
    for flag in flags.keys() & {"--n-best", PROBABILITIES}:
        if form.name != "columns":
            raise OptionError(f"{flag} does not belong to the format {form.name}")
    with_probabilities = hasattr(model, "predict_proba")
    if PROBABILITIES in flags and not with_probabilities:
        raise OptionError(f"--probabilities needs a model of --objective log or softmax_margin, got {path} with a ChainSVM")
    if "--n-best" in flags:
        several = check_integer("--n-best", _value(flags["--n-best"]), 1)
        return partial(_several, several=several, numbered=True, marked=PROBABILITIES in flags)
    return partial(_several, several=1, numbered=False, marked=True) if PROBABILITIES in flags else _best


def _best(model, tokens) -> list[tuple[list, list]]:
    """Return the labels alone."""
    return [([], model.predict_one(tokens))]


def _several(model, tokens, several: int, numbered: bool, marked: bool) -> list[tuple[list, list]]:
    """Return the best labelings, after a line with the probability (or score), with probabilities of labels if ``marked``."""
    labelings, values = zip(*model.predict([tokens], n_best=several)[0])
    if hasattr(model, "predict_proba"):
        values = np.exp(model.log_proba([tokens] * len(labelings), labelings))
    heads = [f"# {rank} {value:.6f}" if numbered else f"# {value:.6f}" for rank, value in enumerate(values)]
    if marked:
        of_labels = model.predict_marginals([tokens])[0]
        labelings = [[f"{k}/{of_one[k]:.6f}" for k, of_one in zip(labels, of_labels)] for labels in labelings]
    return [([head], labels) for head, labels in zip(heads, labelings)]


def _load(path: Path) -> tuple:
    """Return the estimator in a file, and how its training file was read."""
    from fwexp import estimators
    from fwexp.estimators.chain_model import ChainModel
    from fwexp.tasks import result_files

    _, found = result_files.read(path, "ChainSVM")
    kind = getattr(estimators, str((found or {}).get("name")), None)
    if not (isinstance(kind, type) and issubclass(kind, ChainModel)):
        raise ParameterError(f"--model must be a file that fwexp tag --save wrote, got {shown(str(path))}")
    reading = found.get("reading", {})
    return kind.load(path), dict(reading) if isinstance(reading, dict) else {}


def _evaluate(model, X, y) -> None:
    """Print the quality of predictions."""
    from fwexp.data.metrics import entity_report
    from fwexp.estimators.tag_schemes import converted

    predicted, y = model.predict(X), converted(model.constraints, y)
    pairs = zip(chain.from_iterable(y), chain.from_iterable(predicted))
    right = [a == b for a, b in pairs if model.ignore_label is None or a != model.ignore_label]
    print(f"test            {_sizes(X, y)}")
    print(f"token accuracy  {sum(right) / max(len(right), 1):.4f}")
    try:
        scheme = model.constraints if model.constraints in ("BILOU", "BMES") else None
        report = entity_report(y, predicted, scheme)
    except ParameterError:  # The labels do not mark chunks.
        return
    print(f"chunk F1        {report.loc['micro avg', 'f1']:.4f}")
    print(f"{'chunks':15} precision  recall  f1      support")
    for kind, precision, recall, f1, support in report.itertuples():
        print(f"{kind:15} {precision:<9.4f}  {recall:.4f}  {f1:.4f}  {support}")


def _form(flags: dict, name: object, before: dict):
    """Return the format that flags choose, or else the one called ``name`` with the settings ``before``."""
    if flags.get("--format", name) != name:
        name, before = flags["--format"], {}
    kind = FORMATS.get(name or "columns") if isinstance(name, str | None) else None
    accepted = {field.name for field in dataclasses.fields(kind)} if kind else set()
    if kind is None or not before.keys() <= accepted:
        raise ParameterError("--model must be a file that fwexp tag --save wrote, got one that is damaged")
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in before.items()}  # JSON has no tuples.
    for flag, key in SETTINGS.items():
        if flag in flags:
            if key not in accepted:
                raise OptionError(f"{flag} does not belong to the format {kind.name}")
            text = flags[flag]
            if key == "columns":
                settings[key] = tuple(text.split(","))
            elif key == "label" and kind.name == "columns":
                settings[key] = _value(text)
            else:
                settings[key] = "\t" if (key, text) == ("sep", r"\t") else text
    return kind(**settings)


def _check_target(target: Path, sources: list[Path]) -> None:
    """Reject a file that cannot be written after training, or that is read before."""
    folder = target.resolve().parent
    if folders.is_folder(target) or not folders.is_folder(folder):
        raise ParameterError(f"--save must be a file in a folder that exists, got {shown(str(target))}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(f"--save must be a file in a folder that can be written, got {shown(str(target))}")
    if any(folders.exists(target) and folders.exists(source) and target.samefile(source) for source in sources):
        raise ParameterError(f"--save must be another file than those that are read, got {shown(str(target))}")


def _value(text: str):
    """Return a value of the command line: a number, true, false, null, or the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _sizes(X, y) -> str:
    return f"{len(X)} sentences, {sum(map(len, y))} tokens"
