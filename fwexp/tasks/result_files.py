"""Results as files: weights, the arrays that predictions need, settings, certificate and trace; no data, no pickle.

A file is numpy's npz: ``w``, the columns of the trace as ``trace_0``, ..., and ``header``, a JSON text with the rest. That of an
estimator has in its header what it is besides; that of a stored run has no trace, which is a file next to it. What is
read may come from anywhere, so nothing in it is trusted: members are stored as they are and together no larger than the
file, none is executed, and any deviation from this format is one error.
"""

import json
import platform
from pathlib import Path
from types import MappingProxyType

import numpy as np

from fwexp.driver.trace import Status
from fwexp.errors import ParameterError, shown
from fwexp.files import atomic
from fwexp.files.npz import arrays_in
from fwexp.files.user_paths import check_path
from fwexp.options import is_integer
from fwexp.problems.signature import of_inputs

FORMAT = "fwexp result 1"
TEXTS = ("status", "reason", "iterate", "solver", "objective")
NUMBERS = ("primal", "dual", "gap", "lam", "temperature")
COUNTED = ("errors", "lost")  # numbers by name
HEADER = ("format", *TEXTS, *NUMBERS, *COUNTED, "options", "seed", "structure", "columns", "versions")


def save(result, path, estimator: dict | None = None) -> Path:
    """Write a result, and what an estimator is besides, to a file, completely or not at all; see `Result.save`."""
    path = check_path("path", path)
    if of_inputs(result.structure):
        raise ParameterError(f"results of {result.solver} predict with the training inputs, which files do not have")
    trace = result.trace
    arrays = arrays_of(result, list(trace.columns), {} if estimator is None else {"estimator": estimator})
    arrays |= {f"trace_{k}": _column(trace.iloc[:, k]) for k in range(trace.shape[1])}
    path = path.resolve()  # the target of a link
    try:
        atomic.write({path: lambda file: np.savez(file, **arrays)})
    except OSError as error:
        raise ParameterError(
            f"path must be a file that can be written, got {shown(str(path))}: {error.strerror or error}"
        ) from error
    return path


def model_of(result) -> dict[str, np.ndarray]:
    """Return the arrays that the store keeps: the weights alone where these do not predict by themselves."""
    if not result.structure or of_inputs(result.structure):
        return {"w": result.w}
    return arrays_of(result)


def arrays_of(result, columns=(), more=MappingProxyType({})) -> dict[str, np.ndarray]:
    """Return all of a result but its trace, whose ``columns`` are said, as arrays."""
    header = {name: getattr(result, name) for name in HEADER if hasattr(result, name)}
    header |= {"format": FORMAT, "columns": list(columns), "versions": _versions(), **more}
    return {"header": np.array(json.dumps(header, default=str)), "w": np.asarray(result.w, np.float64)}


def read(path, kind: str = "Result") -> tuple[dict, dict | None]:
    """Return the fields of a result that `save` wrote, and what it wrote of an estimator; ``kind`` has the ``save`` to name."""
    path = check_path("path", path)
    wrong = f"path must be a file of {kind}.save, got {shown(str(path))}"
    try:
        with path.open("rb") as file:
            arrays = arrays_in(file)
        if set(arrays) != {"w"}:
            return fields_of(arrays)
    except OSError as error:
        raise ParameterError(f"{wrong}: {error.strerror or error}") from error
    except Exception as error:  # damaged and foreign files fail anywhere
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ParameterError(f"{wrong}, which is damaged or none ({why})") from error
    raise ParameterError(
        f"{wrong}, which has the weights w of a stored run alone: "
        "numpy.load(path)['w'] returns them, and fwexp.predict(problem, w) takes them"
    )


def fields_of(arrays) -> tuple[dict, dict | None]:
    """Return what `read` does, from the arrays of a file."""
    import pandas as pd

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
    if w.dtype != np.float64 or w.shape != (given.get("d"),):
        raise ValueError(f"its weights are {w.dtype} of shape {w.shape}, not d = {given.get('d')} numbers")
    names = header["columns"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"its trace has the columns {shown(names)}")
    columns = [arrays[f"trace_{k}"] for k in range(len(names))]
    without = not columns and "trace_0" not in arrays  # a stored run
    if not without and (not columns or not len(columns[0]) or any(column.shape != columns[0].shape[:1] for column in columns)):
        raise ValueError("the columns of its trace do not fit together")
    fields = dict(
        w=w,
        trace=pd.DataFrame(dict(zip(names, columns, strict=True))),
        status=str(Status(header["status"])),
        **{name: header[name] for name in (*TEXTS[1:], *NUMBERS, *COUNTED, "options", "seed", "structure")},
    )
    return fields, estimator or None


def _column(series) -> np.ndarray:
    """Return a column of a trace as numbers or as text."""
    values = series.to_numpy()
    return values if values.dtype.kind in "fiub" else np.array([str(value) for value in series])


def _versions() -> dict[str, str]:
    from fwexp import __version__

    return {"fwexp": __version__, "numpy": np.__version__, "python": platform.python_version()}
