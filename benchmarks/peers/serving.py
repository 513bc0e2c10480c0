"""``python -m benchmarks.peers.serving``: what taggers of fwexp and CRFsuite cost in training and in service, side by side.

Sentences are generated: chains of 30 labels, words by Zipf's law that several labels share, and indicators of words and affixes.
Each training and each first prediction has a process of its own, whose seconds and peak of memory are measured.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from fwexp.commands.arguments import Arguments, command
from fwexp.errors import ParameterError, exit_code, shown

USAGE = """\
usage: python -m benchmarks.peers.serving [SENTENCES]

Train taggers of fwexp and CRFsuite, of the extra peers, on generated sentences, by default 20000, with identical features and
default parameters. Prints a table for words of 4 features, and one for words of 11: seconds of a process that trains, its peak of
memory and the size of the model; those of a process that loads it and predicts one sentence; microseconds for one sentence of 1, 10
and 50 words; and words per second for many. CRFsuite is left out for more than 50000 sentences.
"""
LABELS, WORDS, LENGTH = 30, 25_000, 20
MOST = 50_000  # sentences for CRFsuite, which takes hours for more
HEAD = ("tool", "training s", "peak MB", "file MB", "error", "first s", "first MB", "1 word us", "10 us", "50 us", "M words/s")
TAGGERS = {
    "ChainSVM": ("ChainSVM", {}),
    "ChainSVM, pairs that occur": ("ChainSVM", {"possible_states": False}),
    "ChainCRF": ("ChainCRF", {}),
    "ChainCRF, pairs that occur": ("ChainCRF", {"possible_states": False}),
}
CRFSUITE = "CRFsuite"
FIRST = {
    "fwexp": "from fwexp.estimators import {name}\n{name}.load({path!r}, features='auto').predict_one({x!r})",
    CRFSUITE: "import pycrfsuite\ntagger = pycrfsuite.Tagger()\ntagger.open({path!r})\ntagger.tag({x!r})",
}
ROOT = Path(__file__).parents[2]
SIZES = (1, 10, 50)  # words of a sentence
TURNS, CALLS = 9, 300


def sentences(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Return sentences and labels: a chain of labels, each with words of its own and some that all share."""
    rng = np.random.default_rng(0)
    follow = rng.dirichlet(np.full(LABELS, 0.25), size=LABELS).cumsum(axis=1)
    onsets = ["".join(letters) for letters in rng.choice(list("bcdfghklmnprstvwz"), size=(WORDS, 6))]
    words = [f"{onset}{'aeiou'[k % 5]}{k % 7}" for k, onset in enumerate(onsets)]
    rank = (1.0 / (np.arange(WORDS) + 10.0)).cumsum()
    rng = np.random.default_rng(seed + 1)
    lengths = rng.integers(LENGTH // 2, LENGTH * 3 // 2 + 1, size=n)
    size, own, label, labels = int(lengths.sum()), WORDS // (LABELS + 6), 0, []
    for u in rng.random(size):
        label = min(int(np.searchsorted(follow[label], u)), LABELS - 1)
        labels.append(label)
    ranks = np.searchsorted(rank / rank[-1], rng.random(size))
    is_shared = rng.random(size) < 0.25
    shared = LABELS * own + ranks % (WORDS - LABELS * own)
    places = np.where(is_shared, shared, np.array(labels) * own + ranks % own).tolist()
    ends = np.cumsum(lengths).tolist()
    spans = [slice(end - length, end) for end, length in zip(ends, lengths.tolist())]
    tags = [f"L{label:02d}" for label in range(LABELS)]
    return [[words[k] for k in places[span]] for span in spans], [[tags[k] for k in labels[span]] for span in spans]


def features(words: Sequence[str]) -> list[dict]:
    """Return the features of every word: words around it, and affixes."""
    padded = ["", "", *words, "", ""]
    around = zip(*(padded[t : t + len(words)] for t in range(5)))
    return [
        {"-2": before, "-1": last, "w": word, "+1": following, "+2": after, "-1 0": f"{last[-2:]} {word}", "bias": True}
        | {"s3": word[-3:], "s2": word[-2:], "p3": word[:3], "p2": word[:2]}
        for before, last, word, following, after in around
    ]


def few_features(words: Sequence[str]) -> list[list[str]]:
    """Return the word, its last letters and the words next to it: as many features as CRFsuite takes about a microsecond for."""
    around = zip(["", *words], words, [*words[1:], ""])
    return [[f"w={word}", f"s3={word[-3:]}", f"-1={last}", f"+1={following}"] for last, word, following in around]


FEATURES = {"4 features": few_features, "11 features": features}


def train(tool: str, text: str, n: int, path: str) -> None:
    """Train and save a tagger."""
    X, y = sentences(n, 0)
    features = FEATURES[text]
    if tool == CRFSUITE:
        import pycrfsuite

        trainer = pycrfsuite.Trainer(verbose=False, params={"c2": 0.5, "max_iterations": 100})
        for words, labels in zip(X, y):
            trainer.append(features(words), labels)
        trainer.train(path)
    else:
        from fwexp import estimators

        name, params = TAGGERS[tool]
        getattr(estimators, name)(features=features, **params).fit(X, y).save(path)


def tagger(tool: str, path: str) -> tuple[Callable, Callable]:
    """Return the functions that label one sentence of features, and many."""
    if tool == CRFSUITE:
        import pycrfsuite

        model = pycrfsuite.Tagger()
        model.open(path)
        return model.tag, lambda X: [model.tag(x) for x in X]
    from fwexp import estimators

    model = getattr(estimators, TAGGERS[tool][0]).load(path, features="auto")
    return model.predict_one, model.predict


def speeds(paths: dict[str, str], text: str) -> list[dict]:
    """Return the errors of the taggers, and their times: the least of several turns in which all take part."""
    X, y = sentences(2000, 1)
    X, true = [FEATURES[text](words) for words in X], [*chain.from_iterable(y)]
    stream, rows, calls = [*chain.from_iterable(X)], [], []
    for tool, path in paths.items():
        one, many = tagger(tool, path)
        rows.append({"error": float(np.mean([a != b for a, b in zip(true, chain.from_iterable(many(X)))]))})
        several = [partial(repeated, one, stream[:length], CALLS) for length in SIZES]
        calls.append(dict(zip(HEAD[-4:], [*several, partial(repeated, many, X, 1)])))
    for _ in range(TURNS):
        for row, of_tool in zip(rows, calls):
            for name, call in of_tool.items():
                row[name] = min(row.get(name, np.inf), call())
    return [row | {HEAD[-1]: len(true) / row[HEAD[-1]]} for row in rows]


def repeated(function: Callable, X: list, calls: int) -> float:
    """Return the microseconds of the processor that a call takes."""
    start = time.process_time()
    for _ in range(calls):
        function(X)
    return (time.process_time() - start) / calls * 1e6


def in_process(code: str) -> tuple[float, float]:
    """Run code in a process of its own; return the seconds of the processor, and the peak of memory in MB."""
    code = f"{code}\nimport time\nprint(time.process_time(), open('/proc/self/status').read())"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True)
    seconds, _, status = done.stdout.partition(" ")
    return float(seconds), int(status.partition("VmHWM:")[2].split()[0]) / 1024.0


def measure(text: str, n: int, folder: Path, say: Callable[[str], object] = lambda line: None) -> list[dict]:
    """Return a row per tool, with the cells of `HEAD`."""
    tools = [*TAGGERS, *([CRFSUITE] if n <= MOST else [])]
    paths, rows = {tool: str(folder / f"{k}.npz") for k, tool in enumerate(tools)}, []
    for tool, path in paths.items():
        seconds, peak = in_process(f"from benchmarks.peers import serving; serving.train({tool!r}, {text!r}, {n}, {path!r})")
        row = {"training s": seconds, "peak MB": peak, "file MB": Path(path).stat().st_size / 1e6}
        name, x = TAGGERS.get(tool, (tool, None))[0], FEATURES[text](["a", "b", "c"])
        row["first s"], row["first MB"] = in_process(FIRST.get(tool, FIRST["fwexp"]).format(name=name, path=path, x=x))
        say(f"{text}, {tool}: {row}")
        rows.append({"tool": tool} | row)
    return [row | more for row, more in zip(rows, speeds(paths, text), strict=True)]


def table(rows: Sequence[dict]) -> str:
    """Return the rows of `measure` as Markdown."""
    from benchmarks.peers.peer_table import in_columns  # which imports pandas, which would count in trainings

    formats = ("", ".1f", ".0f", ".1f", ".4f", ".2f", ".0f", ".1f", ".1f", ".1f", ".2f")
    return in_columns(HEAD, [[format(row[name], form) for name, form in zip(HEAD, formats)] for row in rows])


@command("python -m benchmarks.peers.serving", USAGE, words=1)
def main(given: Arguments) -> int:
    """Measure, and print the table; return the exit code."""
    from benchmarks.peers import tools
    from fwexp.driver.progress import print_line

    tools.module("pycrfsuite")
    (text,) = given[0] or ["20000"]
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError(f"SENTENCES must be an integer >= 1, got {shown(text)}")
    n = int(text)
    for text in FEATURES:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{text} per word:\n\n{table(measure(text, n, Path(folder), print_line))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("fwexp", lambda: main(sys.argv[1:])))
