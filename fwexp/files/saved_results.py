"""Files of results, of estimators and of stored runs: their format, and what is checked when one is read.

A file is numpy's npz: ``w``, the columns of the trace as ``trace_0``, ..., and ``header``, a JSON text with the rest. If most
weights are 0, ``w`` holds the others, and ``places`` are the bits that say where these are. That of an estimator has in its header
what it is besides; that of a stored run has no trace, which is a file next to it. What is read may come from anywhere, so nothing
in it is trusted: members unpack to a bounded size, none is executed, and any deviation from this format is one error.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.files.npz import arrays_in
from fwexp.files.user_paths import check_path
from fwexp.options import is_integer

FORMAT = "fwexp result 1"
TEXTS = ("status", "reason", "iterate", "solver", "objective")
NUMBERS = ("primal", "dual", "gap", "lam", "temperature")
COUNTED = ("errors", "lost")  # numbers by name
HEADER = ("format", *TEXTS, *NUMBERS, *COUNTED, "options", "seed", "structure", "columns", "versions")
WEIGHTS, INPUTS = "weights", "training inputs"  # an entry of the structure of weights that refer to inputs, not to features


LARGEST = 2**30  # bytes that packed files unpack to, at most, since a few kB can claim far more; larger models are not packed


def of_inputs(structure: Mapping) -> bool:
    """Return whether weights of this structure refer to training inputs, without which they are of no use."""
    return structure.get(WEIGHTS) == INPUTS


def packed(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return arrays of a result with the weights that are not 0 alone, if these are few."""
    used = arrays["w"] != 0.0
    if arrays["w"].nbytes > LARGEST or 2 * np.count_nonzero(used) > len(used):
        return arrays
    return arrays | {"w": arrays["w"][used], "places": np.packbits(used)}


def _unpacked(w: np.ndarray, places: np.ndarray, d: Any) -> np.ndarray:
    """Return all weights from those that are not 0 and their places."""
    if places.dtype != np.uint8 or not is_integer(d) or places.shape != ((d + 7) // 8,) or 8 * d > LARGEST:
        raise ValueError(f"the places of its weights are {places.dtype} of shape {places.shape}")
    used = np.unpackbits(places, count=d).view(bool)
    if w.shape != (np.count_nonzero(used),):
        raise ValueError(f"its weights are {len(w)}, not {np.count_nonzero(used)}")
    found = np.zeros(d, dtype=w.dtype)
    found[used] = w
    return found


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


def checked(arrays: dict[str, np.ndarray]) -> tuple[dict, np.ndarray, dict | None]:
    """Return the header of a file, its weights, and what it says of an estimator."""
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
    if "places" in arrays:
        w = _unpacked(w, arrays["places"], given.get("d"))
    if w.dtype != np.float64 or w.shape != (given.get("d"),):
        raise ValueError(f"its weights are {w.dtype} of shape {w.shape}, not d = {given.get('d')} numbers")
    return header, w, estimator or None
