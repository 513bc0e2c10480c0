"""Time of ``ChainSVM.fit`` compared with `fwexp.solve`: on OCR as matrices, on CoNLL-2000 as dicts of a tagger."""

from collections.abc import Callable

import numpy as np

import fwexp
from benchmarks.peers import tagger_comparison
from benchmarks.yardstick import Measured, in_turns, seconds, show
from fwexp.data import conll2000, ocr, read_columns
from fwexp.data.data_files import resolve_data_dir
from fwexp.errors import DataError
from fwexp.estimators import ChainSVM

ROUNDS = 5
LAM, GAP, MAX_PASSES = 0.01, 1e-2, 50


def beside_solve() -> list[Measured]:
    """Measure, and print, the time of the processor that training takes, in that of ``to_problem`` and ``solve``."""
    found = []
    for name, read in (("ocr", _letters), ("conll2000", _sentences)):
        try:
            data = read()
        except DataError as error:
            print(error)
            continue
        found += in_turns(measures_of(name, *data), "to_problem + solve", ROUNDS)[1:]
        show(found[-1:])
    return found


def measures_of(name: str, X, y) -> dict[str, Callable[[], float]]:
    """Return what measures both ways to train, once each has been gone: kernels are there, and names of features known."""
    model = ChainSVM(lam=LAM, loss="share", iterate="best", tol=GAP, max_passes=MAX_PASSES)

    def solve() -> None:
        fwexp.solve(model.to_problem(X, y), lam=LAM, gap_tol=GAP, max_passes=MAX_PASSES)

    model.fit(X, y)
    solve()
    return {f"ChainSVM.fit, {name}": lambda: seconds(lambda: model.fit(X, y)), "to_problem + solve": lambda: seconds(solve)}


def _letters() -> tuple[list[np.ndarray], list[np.ndarray]]:
    (path,) = ocr.DATASET.locate(resolve_data_dir(None)).values()
    letters = ocr.read_letters(path)
    pixels = np.pad(letters.pixels, ((0, 0), (0, 1)), constant_values=1).astype(float)
    return np.split(pixels, letters.ptr[1:-1]), np.split(letters.labels, letters.ptr[1:-1])


def _sentences() -> tuple[list[list[dict]], list[list[str]]]:
    path, _ = conll2000.DATASET.locate(resolve_data_dir(None)).values()
    X, labels = read_columns(path)
    return [tagger_comparison.features([token[0] for token in tokens]) for tokens in X], labels
