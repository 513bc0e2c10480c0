"""Experiment trackers: callbacks that log a run live to MLflow or TensorBoard, and the export of stored runs to MLflow.

fwexp depends on neither tracker. Install ``mlflow`` (or ``mlflow-skinny``, ``sqlalchemy`` and ``alembic``) or ``tensorboardX``.
"""

import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fwexp.errors import MissingPackage

EXPERIMENT = "fwexp"
KEY = "fwexp.key"
"""The tag of a run of MLflow that holds the key of the stored run."""
BATCH = 1000  # metrics that MLflow accepts at once


def log_to_tensorboard(writer: Any) -> Callable[[Mapping], None]:
    """Return a callback that writes every logged row to TensorBoard.

    Parameters
    ----------
    writer : SummaryWriter
        Writer of ``tensorboardX`` or ``torch.utils.tensorboard``; close it after the run.

    Returns
    -------
    callable
        Argument ``callback`` of `fwexp.solve` and `fwexp.convex.minimize`. The steps of the curves are those of the solver.
        Averages of the iterates have their name before that of the column, as in ``wavg/gap``.

    Examples
    --------
    Any object with a method ``add_scalar(name, value, step)`` is a writer, such as ``SummaryWriter`` of tensorboardX or PyTorch:

    >>> import fwexp
    >>> from fwexp.trackers import log_to_tensorboard
    >>> class Writer:
    ...     def add_scalar(self, name, value, step):
    ...         if name == "gap":
    ...             print(step, round(value, 1))
    >>> problem = fwexp.multiclass_problem([[1.0], [-1.0]], [0, 1])
    >>> callback = log_to_tensorboard(Writer())
    >>> result = fwexp.solve(problem, "fw", lam=1.0, callback=callback)
    0 1.0
    1 0.0
    """

    def log(row: Mapping) -> None:
        for name, value in metrics_of(row).items():
            writer.add_scalar(name, value, int(row["step"]))

    return log


def log_to_mlflow(run_id: str | None = None) -> Callable[[Mapping], None]:
    """Return a callback that logs every logged row to MLflow.

    Parameters
    ----------
    run_id : str, optional
        Run of MLflow; by default the active one.

    Returns
    -------
    callable
        As `log_to_tensorboard` returns it.

    Raises
    ------
    MissingPackage
        If MLflow is not installed.

    Examples
    --------
    MLflow is no package of fwexp's extras, so this example is not run::

        mlflow.set_tracking_uri("sqlite:///mlflow.db")
        with mlflow.start_run():
            fwexp.solve(train, "bcfw", lam=0.01, callback=log_to_mlflow())
    """
    mlflow = _mlflow("log_to_mlflow")

    def log(row: Mapping) -> None:
        mlflow.log_metrics(metrics_of(row), step=int(row["step"]), run_id=run_id)

    return log


def metrics_of(row: Mapping) -> dict[str, float]:
    """Return the finite numbers of a row of a trace by the names that trackers show."""
    prefix = "" if row.get("iterate", "last") == "last" else f"{row['iterate']}/"
    numbers = {name: value for name, value in row.items() if isinstance(value, int | float) and name != "step"}
    return {prefix + name: float(value) for name, value in numbers.items() if math.isfinite(value)}


def export_to_mlflow(runs: Iterable, folder: Path) -> int:
    """Write stored runs to a local store of MLflow, each once, and return how many were new.

    Parameters
    ----------
    runs : iterable of StoredRun
        Finished runs.
    folder : Path
        Folder of the store; the runs are in its ``mlflow.db``, in the experiment `EXPERIMENT`.
    """
    from fwexp.store.run_store import read_results

    _mlflow("fwexp export --mlflow")
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.tracking import MlflowClient

    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    client, count = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}"), 0
    known = client.get_experiment_by_name(EXPERIMENT)
    place = known.experiment_id if known else client.create_experiment(EXPERIMENT, (folder / "artifacts").as_uri())
    for run in runs:
        trace = read_results([run], None)
        if trace.empty or client.search_runs(
            [place], f"tags.`{KEY}` = '{run.key}' and attributes.status = 'FINISHED'", max_results=1
        ):
            continue
        facts = {name: value for name, value in run.columns().items() if value is not None and value == value}
        start = int(datetime.datetime.fromisoformat(facts["created"]).timestamp() * 1000) if "created" in facts else 0
        made = client.create_run(place, start_time=start, tags={KEY: run.key}, run_name=f"{run.method} {facts['dataset']}")
        metrics = []
        for row in trace.to_dict("records"):
            own = {name: row[name] for name in trace if name not in facts or name in ("time", "passes")}
            own = {name: value for name, value in own.items() if not name.startswith(("solver.", "dataset.", "task."))}
            when = start + int(1000 * row["time"]) if math.isfinite(row["time"]) else start
            metrics += [Metric(name, value, when, int(row["step"])) for name, value in metrics_of(own).items()]
        for first in range(0, len(metrics), BATCH):
            client.log_batch(made.info.run_id, metrics[first : first + BATCH])
        params = [Param(name, str(value)) for name, value in facts.items() if name not in ("key", "status")]
        client.log_batch(made.info.run_id, params=params, tags=[RunTag("fwexp.status", run.status)])
        client.set_terminated(made.info.run_id, "FINISHED")
        count += 1
    return count


def _mlflow(what: str) -> Any:
    try:
        import mlflow
        import sqlalchemy  # noqa: F401  of local stores
    except ModuleNotFoundError as error:
        raise MissingPackage(f"{what} needs {error.name}: pip install mlflow") from None
    return mlflow
