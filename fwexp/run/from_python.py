"""`sweep`: ``fwexp run -m`` from Python."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from fwexp import plugin_files
from fwexp.errors import OptionError, ParameterError, RunsFailed, needing, shown, warn
from fwexp.options import plain

if TYPE_CHECKING:
    import pandas as pd

    from fwexp.types import AnyPath

Grid = Mapping[str, Any]
SHOWN, ERRORS = ("primal", "dual", "gap"), ("train_error", "validation_error", "test_error")


def sweep(
    grid: Grid | Sequence[Grid] | None = None,
    /,
    *,
    launcher: str = "basic",
    launcher_options: Mapping[str, Any] | None = None,
    results_dir: "AnyPath" = "results",
    plugin: "AnyPath | Sequence[AnyPath]" = (),
    **values: Any,
) -> "pd.DataFrame":
    """Run all combinations of values, as ``fwexp run -m`` does, and return one row per run.

    Stored runs are not repeated, so an interrupted sweep continues.

    Parameters
    ----------
    grid : dict, or list of dict, optional
        Values by key, for keys that are no names in Python, such as ``"solver.sampling"``. A list of grids runs each of them, as
        in `sklearn.model_selection.ParameterGrid`.
    launcher : {"basic", "joblib", "dask", "submitit_local", "submitit_slurm"}, default "basic"
        Program that starts the runs: ``basic`` runs them here, one after the other; the others start workers.
    launcher_options : dict, optional
        Settings of the launcher, such as ``{"n_jobs": 4}`` for joblib.
    results_dir : path, default "results"
        The store.
    plugin : path or list of path, optional
        Your plugin files, as for ``fwexp run --plugin FILE``.
    **values
        The keys of ``fwexp run``: ``dataset``, ``solver``, ``lam``, ``seed``, ``max_passes``, ``gap_tol``, ``data_dir``, ``force``,
        ``skip_invalid``, ``fail_fast``, ``experiment``, ... A list, tuple, range or array holds values that are tried in turn; a
        list in it is one value, such as ``iterates=[["last"]]``. All else is one value. A key of ``grid`` must not be repeated,
        nor set what a parameter above sets.

    Returns
    -------
    DataFrame
        One row per run, without duplicates, in the order of the grids: the keys that have several values, ``status``, the numbers
        of the weights that the run returned (``primal``, ``dual``, ``gap``, errors, ``passes``, ``time``, ...), its ``key`` in the
        store, its folder ``path``, and the ``error`` of a run that failed.

    Raises
    ------
    ValueError
        If a key does not accept its value.
    TypeError
        If a key does not exist.
    fwexp.errors.RunsFailed
        If a run failed and ``fail_fast=True``. Otherwise failed runs are rows with status ``"failed"``, and a warning counts them.

    See Also
    --------
    load_results : The traces of stored runs.

    Examples
    --------
    >>> import fwexp
    >>> frame = fwexp.sweep(solver=["bcfw", "fw"], lam=[1.0, 0.1], max_passes=1)
    >>> frame[["solver", "lam", "status"]]
      solver  lam      status
    0   bcfw  1.0  max_passes
    1   bcfw  0.1  max_passes
    2     fw  1.0  max_passes
    3     fw  0.1  max_passes
    """
    with needing("fwexp.sweep needs"):
        import pandas as pd

        from fwexp.run.composition import ALONE, composing
        from fwexp.run.sweep import Sweep

    grids = [grid or {}] if grid is None or isinstance(grid, Mapping) else grid
    if not isinstance(grids, Sequence) or not grids or not all(isinstance(each, Mapping) for each in grids):
        raise ParameterError(f"grid must be a dict or a list of dicts, got {shown(grid)}")
    given: dict[str, Any] = {"hydra/launcher": launcher, "results_dir": results_dir}
    # A list of one value, because the values of any other list would be swept.
    given |= {f"hydra.launcher.{key}": [value] for key, value in (launcher_options or {}).items()}
    files = [plugin] if isinstance(plugin, str | os.PathLike) else plugin
    with ALONE, plugin_files.using(files), composing() as composition:
        points = _points(composition, [_overrides(each, values, given) for each in grids])
        configs = {key: config for each in points for key, config in each.configs.items()}
        misfits = [error for each in points for error in each.misfits]
        where = points[0].execution
        (error,) = Sweep(points[0].executor, where, misfits=misfits).run([list(configs.values())])
        if isinstance(error, RunsFailed) and not where["fail_fast"]:
            warn(str(error))
        elif error is not None:
            raise error
        overrides = {key: texts for each in reversed(points) for key, texts in each.overrides.items()}
        rows = [_row(composition, overrides[key], config, where) for key, config in configs.items()]
    frame = pd.DataFrame([row.given | row.found for row in rows if row])
    given = dict.fromkeys(name for row in rows if row for name in row.given)
    own = [name for name in frame if name not in given and (name in SHOWN or not frame[name].isna().all())]
    return frame[[*given, *own]]


class _Row(NamedTuple):
    """A row: the given values of a run, and its results."""

    given: dict[str, Any]
    found: dict[str, Any]


def _points(composition, overrides: Sequence[Sequence[str]]) -> list:
    """Return the points of each grid."""
    from fwexp.run.grids import expand

    points = [expand(composition, texts) for texts in overrides]
    if any(each.execution != points[0].execution for each in points):
        raise OptionError("grids must not differ in where runs are stored and how they are run")
    for each in points:
        if each.execution["objective_value"] is not None:
            raise OptionError("objective_value is for `fwexp run -m hydra/sweeper=optuna`, got it in fwexp.sweep")
    return points


def _overrides(grid: Grid, values: Grid, given: Grid) -> list[str]:
    """Return Hydra's overrides for values by key: of a grid, of arguments of any name, and ``given`` by parameters of their own."""
    if both := sorted(grid.keys() & values.keys()):
        raise OptionError(f"{both[0]} must be given once, got it in the grid and as an argument")
    if both := sorted(given.keys() & {**grid, **values}.keys()):
        own = "results_dir, launcher or launcher_options"
        raise OptionError(f"{both[0]} must be set by a parameter of fwexp.sweep ({own}), got it among the keys of the sweep")
    return [_override(key, value) for key, value in {**grid, **values, **given}.items()]


def _override(key: str, value) -> str:
    from fwexp.run.config import quote
    from fwexp.store.keys import GROUPS

    is_choice = key in (*GROUPS, "experiment", "engine", "hydra/launcher")
    several = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | PurePath) else [value]
    if not several:
        raise ParameterError(f"{key} must have one value at least, got {shown(value)}")
    texts = [each if is_choice and isinstance(each, str) else quote(_plain(each)) for each in several]
    return f"{'+' * (key == 'experiment')}{key}={','.join(texts)}"


def _plain(value):
    """Return a value as configurations hold it."""
    match value:
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case PurePath():
            return str(value)
        case str() | None:
            return value
        case Iterable():
            return [_plain(each) for each in value]
    return plain(value)


def _row(composition, overrides: Sequence[str], config: Mapping, where: Mapping) -> _Row | None:
    """Return the row of a run; None if the run was left out."""
    from fwexp import store
    from fwexp.run import runner
    from fwexp.run.config import EXECUTION_KEYS
    from fwexp.store.results import measures

    parsed = map(composition.parse, overrides)
    given = {each.key_or_group: each.value() for each in parsed if each.key_or_group not in (*EXECUTION_KEYS, "experiment")}
    results_dir = Path(where["results_dir"])
    failure, run = store.failure(results_dir, config), runner.stored(config, results_dir, where["data_dir"])
    if failure is not None and failure.status == "failed":
        error = failure.record["error"]
        return _Row(given, {"status": "failed", "key": failure.key, "path": str(failure.path), "error": error})
    if run is None:
        return None
    numbers = measures(run)
    first = {name: numbers.pop(name) for name in (*SHOWN, *ERRORS) if name in numbers}
    return _Row(given, {"status": run.status} | first | numbers | {"key": run.key, "path": str(run.path)})
