import numpy as np
import pandas as pd
import pytest

import fwexp
from fwexp import store
from fwexp.errors import DataError, OptionError, ParameterError
from fwexp.run.config import canonical
from fwexp.store import archive
from tests.small_problems import chain
from tools.archive_runs import write

LAM = 0.5


@pytest.fixture(scope="module")
def problem():
    return chain("dense", 0)[1]


@pytest.fixture(scope="module")
def result(problem):
    return fwexp.solve(problem, "fw", lam=LAM, max_passes=3)


def settings(**more):
    return canonical({"dataset": {"name": "digits"}, "solver": {"name": "fw"}, "lam": LAM, "max_passes": 3} | more)


def test_a_stored_run_predicts_like_its_result(problem, result, tmp_path):
    folder = store.save(result, settings(), tmp_path)
    run = fwexp.load_run(folder.name[:8], results_dir=tmp_path)
    new = [np.eye(2)[[0, 1]] * 2 - 1, np.ones((1, 2))] if problem.num_features == 2 else [np.ones((3, problem.num_features))]
    assert [list(y) for y in run.predict(new)] == [list(y) for y in result.predict(new)]
    assert fwexp.evaluate(problem, run) == fwexp.evaluate(problem, result)
    for name in ("primal", "dual", "gap", "status", "reason", "iterate", "solver", "options", "lam", "seed", "structure"):
        assert getattr(run, name) == getattr(result, name), name
    pd.testing.assert_frame_equal(run.trace, result.trace, check_dtype=False)
    loaded = fwexp.load(folder / "model.npz")  # the same format, without the trace
    np.testing.assert_array_equal(loaded.w, run.w)
    assert loaded.status in repr(loaded)
    assert fwexp.load(loaded.save(tmp_path / "copy.npz")).gap == run.gap


def test_filters_choose_and_must_leave_one(result, tmp_path):
    folders = [store.save(result, settings(max_passes=passes), tmp_path) for passes in (3, 4)]
    assert fwexp.load_run(max_passes=4, results_dir=tmp_path).lam == LAM
    with pytest.raises(ParameterError, match=r"key and filters must leave one run, got 2 with solver='fw': \w+ \(digits, fw\), "):
        fwexp.load_run(solver="fw", results_dir=tmp_path)
    with pytest.raises(ParameterError, match="results_dir must hold a run with key='zzz', got none in"):
        fwexp.load_run("zzz", results_dir=tmp_path)
    with pytest.raises(ParameterError, match="key must be a text or None, got 3"):
        fwexp.load_run(3, results_dir=tmp_path)
    with pytest.raises(OptionError, match="unknown filter 'colour'"):
        fwexp.load_run(colour="red", results_dir=tmp_path)
    (folders[0] / "model.npz").write_bytes(bytes((folders[0] / "model.npz").stat().st_size))
    with pytest.raises(DataError, match=r"is damaged: model\.npz is not as it was stored"):
        fwexp.load_run(max_passes=3, results_dir=tmp_path)


def test_a_run_that_is_stored_again_meanwhile_is_read_as_it_is_then(problem, result, tmp_path, monkeypatch):
    store.save(result, settings(), tmp_path)
    (before,) = store.find_runs(tmp_path)
    new = fwexp.solve(problem, "fw", lam=LAM, max_passes=4)
    monkeypatch.setattr("fwexp.store.models.find_runs", lambda *_, **__: [before])
    store.save(new, settings(), tmp_path)
    np.testing.assert_array_equal(before.weights(), new.w)
    run = fwexp.load_run(results_dir=tmp_path)
    np.testing.assert_array_equal(run.w, new.w)
    assert len(run.trace) == len(new.trace)
    write([before], tmp_path / "runs.tar.xz", {before.key})
    assert archive.restore(tmp_path / "runs.tar.xz", tmp_path / "restored") == [before.key]
    (restored,) = store.find_runs(tmp_path / "restored")
    np.testing.assert_array_equal(restored.weights(), new.w)
