"""Callbacks and exports against local stores of MLflow and TensorBoard: `make test-trackers` installs both elsewhere."""

import mlflow
import pytest
from mlflow.tracking import MlflowClient
from tensorboardX import SummaryWriter
from tensorboardX.proto.event_pb2 import Event

import fwexp
from fwexp.cli import main
from fwexp.trackers import EXPERIMENT, log_to_mlflow, log_to_tensorboard


@pytest.fixture
def train():
    return fwexp.load_dataset("digits")[0]


def events(path):
    """Yield the events of a file: length, its checksum, the event, its checksum."""
    content = path.read_bytes()
    while content:
        length = int.from_bytes(content[:8], "little")
        yield Event.FromString(content[12 : 12 + length])
        content = content[16 + length :]


def test_a_run_is_logged_to_tensorboard(train, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        how = {"max_passes": 2, "iterates": ("last", "wavg"), "callback": log_to_tensorboard(writer)}
        trace = fwexp.solve(train, "bcfw", lam=0.1, **how).trace
    (file,) = tmp_path.iterdir()
    found = [(value.tag, event.step, value.simple_value) for event in events(file) for value in event.summary.value]
    for iterate, tag in (("last", "primal"), ("wavg", "wavg/primal")):
        rows = trace[trace["iterate"] == iterate]
        steps, values = zip(*((step, value) for name, step, value in found if name == tag), strict=True)
        assert list(steps) == rows["step"].tolist()
        assert list(values) == pytest.approx(rows["primal"].tolist(), rel=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:sqlalchemy", "ignore::DeprecationWarning:mlflow")  # of its queries
def test_a_run_is_logged_to_mlflow_and_stored_runs_are_exported_once(train, tmp_path, capsys):
    uri = f"sqlite:///{tmp_path}/tracked/mlflow.db"
    (tmp_path / "tracked").mkdir()
    mlflow.set_tracking_uri(uri)
    with mlflow.start_run() as active:
        trace = fwexp.solve(train, "ssg", lam=0.1, max_passes=2, iterates=("last",), callback=log_to_mlflow()).trace
    client = MlflowClient(uri)
    history = client.get_metric_history(active.info.run_id, "primal")
    assert [point.step for point in history] == trace["step"].tolist()
    assert [point.value for point in history] == pytest.approx(trace["primal"].tolist())
    assert client.get_metric_history(active.info.run_id, "gap") == []  # ssg has none: NaN is not logged

    where = f"results_dir={tmp_path}/results"
    assert main(["run", "-m", "solver=bcfw,ssg", "dataset=digits", "lam=0.1", "max_passes=1", where]) == 0
    command = ["export", "--mlflow", str(tmp_path / "tracked"), where]
    capsys.readouterr()
    for count in (2, 0):  # the second time all are there
        assert main(command) == 0
        assert capsys.readouterr().out.startswith(f"{count} of 2 runs written to {tmp_path / 'tracked' / 'mlflow.db'}")
    found = client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id])
    results = fwexp.load_results(tmp_path / "results")
    assert {run.data.tags["fwexp.key"] for run in found} == set(results["key"])
    for run in found:
        rows = results[results["key"] == run.data.tags["fwexp.key"]]
        assert run.data.params["solver"] == rows["solver"].iloc[0]
        last = rows[rows["iterate"] == "last"]
        history = client.get_metric_history(run.info.run_id, "primal")
        assert [point.value for point in history] == pytest.approx(last["primal"].tolist())
