"""Results as files: weights, the arrays that predictions need, settings, certificate and trace; no data, no pickle.

The format is described in `fwexp.files.saved_results`.
"""

import json
import platform
from pathlib import Path
from types import MappingProxyType

import numpy as np

from fwexp import __version__
from fwexp.driver.trace import Status
from fwexp.errors import ParameterError, shown
from fwexp.files import atomic, npz, saved_results
from fwexp.files.saved_results import COUNTED, FORMAT, HEADER, NUMBERS, TEXTS, of_inputs
from fwexp.files.user_paths import check_path


def save(result, path, estimator: dict | None = None) -> Path:
    """Write a result, and what an estimator is besides, to a file, completely or not at all; see `Result.save`."""
    path = check_path("path", path)
    if of_inputs(result.structure):
        raise ParameterError(f"results of {result.solver} predict with the training inputs, which files do not have")
    trace = result.trace
    more, tables = {}, {}
    if estimator is not None:
        more["estimator"], tables = saved_results.with_tables(estimator)
    arrays = arrays_of(result, list(trace.columns), more) | tables
    arrays |= saved_results.packed(arrays["w"])
    arrays |= {f"trace_{k}": _column(trace.iloc[:, k]) for k in range(trace.shape[1])}
    path = path.resolve()  # the target of a link
    try:
        atomic.write({path: lambda file: npz.write(file, arrays, saved_results.LARGEST)})
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
    versions = {"fwexp": __version__, "numpy": np.__version__, "python": platform.python_version()}
    header |= {"format": FORMAT, "columns": list(columns), "versions": versions, **more}
    return {"header": np.array(json.dumps(header, default=str)), "w": np.asarray(result.w, np.float64)}


def read(path, kind: str = "Result") -> tuple[dict, dict | None]:
    """Return the fields of a result that `save` wrote, and what it wrote of an estimator; ``kind`` has the ``save`` to name."""
    return saved_results.read(path, kind, fields_of)


def fields_of(arrays) -> tuple[dict, dict | None]:
    """Return what `read` does, from the arrays of a file."""
    header, w, estimator = saved_results.checked(arrays)
    names = header["columns"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"its trace has the columns {shown(names)}")
    columns = [arrays[f"trace_{k}"] for k in range(len(names))]
    without = not columns and "trace_0" not in arrays  # a stored run
    if not without and (not columns or not len(columns[0]) or any(column.shape != columns[0].shape[:1] for column in columns)):
        raise ValueError("the columns of its trace do not fit together")
    fields = dict(
        w=w,
        trace=dict(zip(names, columns, strict=True)),
        status=str(Status(header["status"])),
        **{name: header[name] for name in (*TEXTS[1:], *NUMBERS, *COUNTED, "options", "seed", "structure")},
    )
    return fields, estimator


def _column(series) -> np.ndarray:
    """Return a column of a trace as numbers or as text."""
    values = series.to_numpy()
    return values if values.dtype.kind in "fiub" else np.array([str(value) for value in series])
