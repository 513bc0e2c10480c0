"""Files of results, of estimators and of stored runs: their format, and what is checked when one is read.

A file is numpy's npz: ``w``, the columns of the trace as ``trace_0``, ..., and ``header``, a JSON text with the rest. If most
weights are 0, ``w`` holds the others, and ``places`` are the bits that say where these are. That of an estimator has in its header
what it is besides, and the names of its features as ``names``, UTF-8, with their ``names_lengths``; that of a stored run has no
trace, which is a file next to it. What is read may come from anywhere, so nothing in it is trusted: members unpack to a bounded
size, none is executed, and any deviation from this format is one error.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.files.npz import arrays_in
from fwexp.files.packed_weights import LARGEST, PackedWeights
from fwexp.files.text_table import TextTable
from fwexp.files.user_paths import check_path
from fwexp.options import is_integer

FORMAT = "fwexp result 1"
TEXTS = ("status", "reason", "iterate", "solver", "objective")
NUMBERS = ("primal", "dual", "gap", "lam", "temperature")
COUNTED = ("errors", "lost")  # numbers by name
HEADER = ("format", *TEXTS, *NUMBERS, *COUNTED, "options", "seed", "structure", "columns", "versions")
WEIGHTS, INPUTS = "weights", "training inputs"  # an entry of the structure of weights that refer to inputs, not to features
TABLES = ("names", "edge_names")  # texts that estimators have learned: arrays of their own, as they may be many


def of_inputs(structure: Mapping) -> bool:
    """Return whether weights of this structure refer to training inputs, without which they are of no use."""
    return structure.get(WEIGHTS) == INPUTS


def packed(w: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays of weights: those that are not 0 alone, if these are few."""
    found = PackedWeights.of(w)
    return {"w": w} if found is None else {"w": found.values, "places": found.places}


def with_tables(estimator: dict) -> tuple[dict, dict[str, np.ndarray]]:
    """Return what is known of an estimator without names of features, and these as arrays."""
    learned, arrays = dict(estimator["learned"]), {}
    for name in TABLES:
        if isinstance(learned.get(name), list):
            arrays[name], arrays[f"{name}_lengths"] = TextTable.of(learned.pop(name)).arrays()
    return estimator | {"learned": learned}, arrays


def read(path, kind: str, use: Callable[[dict[str, np.ndarray]], Any]) -> Any:
    """Return what ``use`` makes of the arrays of a file; any error is one line, which names the ``save`` of a ``kind``."""
    path = check_path("path", path)
    wrong = f"path must be a file of {kind}.save, got {shown(str(path))}"
    try:
        with path.open("rb") as file:
            arrays = arrays_in(file, LARGEST)
        if set(arrays) != {"w"}:
            return use(arrays)
    except OSError as error:
        raise ParameterError(f"{wrong}: {error.strerror or error}") from error
    except Exception as error:  # damaged and foreign files fail anywhere
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ParameterError(f"{wrong}, which is damaged or none ({why})") from error
    raise ParameterError(
        f"{wrong}, which has the weights w of a stored run alone: "
        "numpy.load(path)['w'] returns them, and fwexp.predict(problem, w) takes them"
    )


def checked(arrays: dict[str, np.ndarray]) -> tuple[dict, np.ndarray | PackedWeights, dict | None]:
    """Return the header of a file, its weights as it has them, and what it says of an estimator."""
    header = json.loads(arrays["header"].item())
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    estimator = header.pop("estimator", {})
    wrong = set(header) ^ set(HEADER) | (set() if isinstance(estimator, dict) else {"estimator"})
    wrong |= {name for name in TEXTS if not isinstance(header[name], str)}
    wrong |= {name for name in NUMBERS if not isinstance(header[name], float)}
    wrong |= {name for name in (*COUNTED, "options", "structure", "versions") if not isinstance(header[name], dict)}
    wrong |= {name for name in COUNTED if not all(isinstance(value, int | float) for value in header[name].values())}
    wrong |= set() if is_integer(header["seed"]) else {"seed"}
    if wrong:
        raise ValueError(f"what it says of {sorted(wrong)[0]} is missing or wrong")
    given, w = header["structure"], arrays["w"]
    if not isinstance(given.get("family"), str) or not all(is_integer(size) for name, size in given.items() if name != "family"):
        raise ValueError(f"its structure is {shown(given)}")
    if w.dtype != np.float64 or w.ndim != 1 or ("places" not in arrays and w.shape != (given.get("d"),)):
        raise ValueError(f"its weights are {w.dtype} of shape {w.shape}, not d = {given.get('d')} numbers")
    if "places" in arrays:
        w = PackedWeights(w, arrays["places"], given.get("d"))
    for name in TABLES if estimator else ():
        if name in arrays:
            estimator["learned"][name] = TextTable.checked(arrays[name], arrays[f"{name}_lengths"])
    return header, w, estimator or None
