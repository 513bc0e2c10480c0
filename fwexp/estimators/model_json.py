"""Estimators as JSON, whose weights have names, and estimators from named weights alone."""

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from fwexp.conversion import as_floats
from fwexp.errors import ParameterError, shown
from fwexp.estimators.encoding import Names
from fwexp.estimators.json_values import from_json, to_json
from fwexp.tasks import result_files
from fwexp.tasks.result import Result

Weight = tuple[Any, Any, float]  # of a row and a column of `Names`


def as_text(result: Result, record: dict, names: Names | None) -> str:
    """Return an estimator as JSON: what its file holds, with weights by name that are not 0, where they have names."""
    header = json.loads(result_files.arrays_of(result, list(result.trace.columns), {"estimator": record})["header"].item())
    found = {"header": header, "trace": {name: column.tolist() for name, column in result.trace.items()}}
    if names is None:
        return json.dumps(_without_nan(found | {"w": result.w.tolist()}), allow_nan=False)
    rows, columns = ([to_json("names", name) for name in axis] for axis in names)
    places = np.flatnonzero(result.w)
    r, c = (place.tolist() for place in np.divmod(places, len(columns)))
    weights = [[rows[j], columns[k], weight] for j, k, weight in zip(r, c, result.w[places].tolist())]
    return json.dumps(_without_nan(found) | {"weights": weights}, allow_nan=False)


def fields_of(text: str) -> tuple[dict, dict | None, list[Weight] | None]:
    """Return the fields of a result, what is said of an estimator, and weights by name, if they have names; any error of damage."""
    found = json.loads(text)
    header, trace, weights = found["header"], found["trace"], found.get("weights")
    header |= {name: math.nan for name in result_files.NUMBERS if header[name] is None}
    w = np.zeros(header["structure"]["d"]) if weights is not None else np.array(found["w"], dtype=np.float64)
    columns = (np.array([math.nan if value is None else value for value in column]) for column in trace.values())
    arrays = {"header": np.array(json.dumps(header)), "w": w} | {f"trace_{k}": column for k, column in enumerate(columns)}
    named = None if weights is None else [(from_json(row), from_json(column), weight) for row, column, weight in weights]
    return *result_files.fields_of(arrays), named


def fill(w: np.ndarray, names: Names, weights: Iterable[Weight]) -> None:
    """Write weights by name to their places."""
    rows, columns = ({name: k for k, name in enumerate(axis)} for axis in names)
    table, given = w.reshape(len(rows), len(columns)), list(weights)
    values = as_floats("weights", [weight for _, _, weight in given], "be numbers")
    for (row, column, _), value in zip(given, values.tolist()):
        if row not in rows or column not in columns:
            raise ParameterError(f"weights must be of known features and labels, got {shown(row)} and {shown(column)}")
        table[rows[row], columns[column]] = value


def untrained(w: np.ndarray, objective: str, lam: Any, structure: dict) -> Result:
    """Return a result with given weights, which nothing certifies."""
    unknown = {"primal": math.nan, "dual": math.nan, "gap": math.nan}
    row = {"iterate": "last", "step": 0, "oracle_calls": 0, "passes": 0.0, "evaluation_calls": 0, "time": 0.0} | unknown
    return Result(
        w=w,
        **unknown,
        status="max_passes",
        reason="the weights were given, not trained",
        trace=[row],
        iterate="last",
        solver="none",
        options={},
        lam=lam if isinstance(lam, float) else math.nan,
        seed=0,
        objective=objective,
        structure=structure,
    )


def _without_nan(value: Any) -> Any:
    """Return a value for JSON, with None for NaN and infinity, which JSON lacks."""
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
