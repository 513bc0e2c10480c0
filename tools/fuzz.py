"""Coverage-guided fuzzing of everything that reads files: ``python -m tools.fuzz TARGET [-max_total_time=600]``.

Needs the package ``atheris``. For a file of any content, a reader gives an answer or one of our errors on one line, soon.
"""

import contextlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["fwexp"]):
    import fwexp
    from fwexp import store
    from fwexp.data import conll2000, hansards, ocr, own
    from fwexp.driver.checkpoint import Checkpoint
    from fwexp.errors import UserError
    from fwexp.run.config import canonical

import numpy as np

FOLDER = Path(tempfile.mkdtemp())
FILE = FOLDER / "file"


def letters(data: bytes) -> None:
    FILE.write_bytes(data)
    ocr.read_letters(FILE)


def columns(data: bytes) -> None:
    FILE.write_bytes(data)
    text = conll2000.read_text(FILE)
    conll2000.parse(text, text)


def sentences(data: bytes) -> None:
    FILE.write_bytes(data)
    hansards.read_pairs(FILE, FILE)


def own_columns(data: bytes) -> None:
    FILE.write_bytes(data)
    own.from_columns(FILE)


def own_svmlight(data: bytes) -> None:
    FILE.write_bytes(data)
    own.from_svmlight(FILE)


def own_npz(data: bytes) -> None:
    FILE.write_bytes(data)
    own.from_npz(FILE)


def result(data: bytes) -> None:
    FILE.write_bytes(data)
    fwexp.load(FILE)


def checkpoint(data: bytes) -> None:
    FILE.write_bytes(data)
    Checkpoint(FILE, {}).load()


def record(data: bytes) -> None:
    path = FOLDER / "runs" / "digits" / "bcfw" / ("0" * 64) / "run.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    store.find_runs(FOLDER, include={"damaged"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fwexp.load_results(FOLDER)


def config(data: bytes) -> None:
    with contextlib.suppress(ValueError, RecursionError):
        given = json.loads(data)
        if isinstance(given, dict):
            canonical(given)


def examples(target: str) -> list[bytes]:
    """Return files that are right, to begin with."""
    problem = fwexp.multiclass_problem(np.eye(3), [0, 1, 2])
    texts = {
        "letters": [b"\t".join([b"1", b"o", b"2", b"3", b"0", b"0"] + [b"0", b"1"] * 64) + b"\n"],
        "columns": [b"the DT B-NP\ndog NN I-NP\n\nruns VBZ B-VP\n"],
        "sentences": [b"a b c\nd e\n"],
        "own_columns": [b"the DT B\ndog NN I\n\nruns VBZ O\n"],
        "own_svmlight": [b"1 1:0.5 3:2 # text\n-1 2:1e-3\n"],
        "config": [json.dumps({"dataset": {"name": "digits"}, "solver": {"name": "bcfw", "cache": True}, "lam": 0.1}).encode()],
    }
    if target in texts:
        return texts[target]
    if target == "own_npz":
        np.savez(FILE.with_suffix(".npz"), X=np.eye(3), y=np.arange(3))
        return [FILE.with_suffix(".npz").read_bytes()]
    if target == "result":
        return [fwexp.solve(problem, "ssg", lam=0.1, max_passes=1).save(FILE).read_bytes()]
    if target == "checkpoint":
        Checkpoint(FILE, {}).save({"a": np.arange(3), "b": (1.0, None, "x")})
        return [FILE.read_bytes()]
    settings = canonical({"dataset": {"name": "digits"}, "solver": {"name": "ssg"}, "lam": 0.1})
    saved = store.save(fwexp.solve(problem, "ssg", lam=0.1, max_passes=1), settings, FOLDER / "other")
    return [(saved / "run.json").read_bytes()]


def main(target: str, arguments: list[str]) -> None:
    """Fuzz one reader."""
    read = globals()[target]

    def test(data: bytes) -> None:
        try:
            read(data)
        except UserError as error:
            if "\n" in str(error):
                raise AssertionError(str(error)) from error

    corpus = Path(tempfile.mkdtemp())
    for number, example in enumerate(examples(target)):
        test(example)
        (corpus / str(number)).write_bytes(example)
    atheris.Setup(["fuzz", "-timeout=20", "-max_len=4096", *arguments, str(corpus)], test)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
