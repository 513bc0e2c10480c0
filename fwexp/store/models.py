"""Stored runs as results that predict."""

from typing import TYPE_CHECKING, Any

from fwexp.errors import DataError, ParameterError, shown
from fwexp.files.user_paths import check_path
from fwexp.store.commit import MODEL
from fwexp.store.records import Damaged
from fwexp.store.results import find_runs
from fwexp.store.stored_run import StoredRun, of_latest, table, verified_trace

if TYPE_CHECKING:
    from fwexp.tasks.result import Result
    from fwexp.types import AnyPath


def load_run(key: str | None = None, *, results_dir: "AnyPath" = "results", **filters: Any) -> "Result":
    """Return a stored run as a result, to predict with.

    Parameters
    ----------
    key : str, optional
        Key of the run, or its first characters, as ``fwexp ls`` shows it.
    results_dir : path, default "results"
        The store.
    **filters
        The same as for `fwexp.load_results`: ``dataset``, ``solver``, ``method``, ``lam``, ``seed``, ... They must leave one run.

    Returns
    -------
    Result
        The same as from `fwexp.load`. Results of kernel solvers cannot predict, because their weights belong to training inputs.

    Raises
    ------
    ValueError
        If no run or several runs match, or the run is damaged.
    TypeError
        If a filter is no column.

    See Also
    --------
    load : Read the file of a result.
    load_results : The traces of stored runs.

    Examples
    --------
    >>> import fwexp
    >>> fwexp.load_run(dataset="ocr", solver="bcfw")
    Traceback (most recent call last):
        ...
    fwexp.errors.ParameterError: results_dir must hold a run with dataset='ocr', solver='bcfw', got none in 'results'
    """
    results_dir = check_path("results_dir", results_dir)
    if key is not None and not isinstance(key, str):
        raise ParameterError(f"key must be a text or None, got {shown(key)}")
    runs = [run for run in find_runs(results_dir, **filters) if run.key.startswith(key or "")]
    wanted = {"key": key} | filters if key is not None else filters
    said = ", ".join(f"{name}={shown(value)}" for name, value in wanted.items()) or "any settings"
    if not runs:
        raise ParameterError(f"results_dir must hold a run with {said}, got none in {shown(str(results_dir))}")
    if len(runs) > 1:
        first = ", ".join(f"{run.key[:12]} ({run.path.parent.parent.name}, {run.method})" for run in runs[:3])
        raise ParameterError(f"key and filters must leave one run, got {len(runs)} with {said}: {first}{', ...' * (len(runs) > 3)}")
    try:
        return of_latest(runs[0], _result)[1]
    except Damaged as error:
        raise DataError(f"{runs[0].path} is damaged: {error}") from error


def _result(run: StoredRun):
    from fwexp.tasks.result import Result
    from fwexp.tasks.result_files import fields_of

    arrays, trace = run.model(), table(verified_trace(run)).to_pandas()
    try:
        fields, _ = fields_of(arrays)
    except Exception as error:  # A damaged or foreign file can raise anything here.
        raise Damaged(f"{MODEL} is no model") from error
    return Result(**fields | {"trace": trace})
