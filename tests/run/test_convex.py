"""Methods on convex sets, run, stored and read as solvers are."""

import numpy as np
import pytest

import fwexp
from fwexp import store
from fwexp.convex import minimize
from fwexp.convex.instances import INSTANCES
from fwexp.errors import OptionError, ParameterError
from fwexp.run import runner, sweep
from fwexp.run.config import canonical, run_key
from fwexp.tasks.convex import Convex

LASSO = {"task": {"name": "convex"}, "dataset": {"name": "lasso", "n": 30, "d": 10}, "solver": {"name": "away"}, "max_passes": 50}


def test_a_sweep_is_stored_and_read_like_any_other(tmp_path):
    choices = ["task=convex", "dataset=lasso", "dataset.n=30", "dataset.d=10", "solver=away,pairwise", "max_passes=50"]
    configs = sweep.expand(choices)
    assert len(configs) == 2
    sweep.execute(configs, results_dir=tmp_path)
    results = fwexp.load_results(tmp_path, dataset="lasso", solver=["away", "pairwise"])
    assert set(results["solver"]) == {"away", "pairwise"}
    assert set(results["dataset.d"]) == {10}
    assert set(results["task"]) == {"convex"}
    problem, _ = INSTANCES["lasso"].load(INSTANCES["lasso"].check_options({"n": 30, "d": 10}))
    alone = minimize(problem.f, problem.set, method="away", max_iter=50)
    stored = results[results["solver"] == "away"]["primal"]
    assert stored.to_list() == alone.trace["primal"].to_list()
    assert all(store.is_stored(tmp_path, config) for config in configs)


def test_the_key_knows_what_changes_numbers():
    key = run_key(LASSO)
    assert run_key(canonical(LASSO)) == key
    assert run_key(LASSO | {"seed": 3}) == key  # no random choice
    random = LASSO | {"solver": {"name": "random_away"}}
    assert run_key(random | {"seed": 3}) != run_key(random)
    for changes in ({"dataset": {"name": "lasso", "n": 30, "d": 11}}, {"max_passes": 51}, {"solver": {"name": "pairwise"}}):
        assert run_key(LASSO | changes) != key


@pytest.mark.parametrize("name", INSTANCES)
def test_every_instance_can_be_solved(name):
    instance = INSTANCES[name]
    problem, test = instance.load(instance.check_options({"d": 4} if "d" in instance.Options.__dataclass_fields__ else {}))
    assert test is None
    for method in Convex.methods:
        saddle, blocks = hasattr(problem, "X"), hasattr(getattr(problem, "set", None), "factors")
        if saddle != (method in ("dual_extragradient", "sp_fw", "sp_away")):
            continue
        if (method.startswith("block") and not blocks) or (method == "random_away" and problem.set.inspected is None):
            continue
        # Polytopes of parts have entropic projections alone.
        options = {"geometry": "entropic"} if name == "chain_game" and method == "dual_extragradient" else {}
        result = Convex(None, {"seed": 0, "max_passes": 5, "gap_tol": 0.0}).run(problem, method, options)
        assert np.isfinite(result.gap)
        assert result.gap >= -1e-9


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"dataset": {"name": "digits"}}, ParameterError, r"dataset digits is for task=grid, .*; accepted .*: ball_game, "),
        ({"solver": {"name": "bcfw"}}, ParameterError, r"solver bcfw is for task=grid, .*; accepted for task=convex: away, "),
        ({"solver": {"name": "auto"}}, ParameterError, r"solver auto is for task=grid, .*; accepted for task=convex: away, "),
        ({"solver": {"name": "away", "eta": 1}}, OptionError, r"solver away: unknown option 'eta'; accepted: step"),
        ({"dataset": {"name": "lasso", "d": 0}}, ParameterError, r"d must be an integer >= 1, got 0"),
        ({"lam": 0.1}, OptionError, r"unknown key of task convex 'lam'"),
        ({"task": {"name": "train"}}, ParameterError, r"dataset lasso is for task=convex with solver=frank_wolfe, away, "),
    ],
)
def test_what_does_not_fit_is_one_line(changes, error, message):
    with pytest.raises(error, match=f"^({message})"):
        canonical(LASSO | changes)


def test_a_method_of_another_kind_is_refused(tmp_path):
    with pytest.raises(OptionError, match=r"^solver sp_fw cannot do with a function on a set; accepted: frank_wolfe, "):
        runner.run(canonical(LASSO | {"solver": {"name": "sp_fw"}}), tmp_path, verbose=False)


@pytest.mark.parametrize(("dataset", "solver"), [("lasso", "sp_fw"), ("ball_game", "away"), ("lasso", "block")])
def test_a_sweep_does_not_start_with_a_method_of_another_kind(tmp_path, dataset, solver):
    one = canonical(LASSO | {"dataset": {"name": dataset}, "solver": {"name": solver}})
    with pytest.raises((OptionError, ParameterError), match=f"{solver} (cannot do with|needs a)"):
        sweep.execute([canonical(LASSO), one], results_dir=tmp_path)
    assert not list(tmp_path.iterdir())
