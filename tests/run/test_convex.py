"""Methods on convex sets and for saddle points are solvers, what they are run on are data sets; kinds say what fits together."""

import dataclasses

import numpy as np
import pytest

import fwexp
from fwexp import store
from fwexp.convex import minimize
from fwexp.data import DATASETS
from fwexp.errors import ParameterError
from fwexp.options import CONVEX, KINDS, SADDLE
from fwexp.run import from_arguments, runner
from fwexp.run.config import canonical, run_key
from fwexp.solvers import of_kind
from fwexp.tasks import TASKS
from fwexp.tasks.convex_training import Convex

LASSO = {"task": {"name": "convex"}, "dataset": {"name": "lasso", "n": 30, "d": 10}, "solver": {"name": "away"}, "max_passes": 50}


def test_a_sweep_is_stored_and_read_like_any_other(tmp_path):
    choices = ["dataset=lasso", "dataset.n=30", "dataset.d=10", "solver=away,pairwise", "max_passes=50"]
    configs = from_arguments.expand(choices)
    assert len(configs) == 2
    from_arguments.execute(configs, results_dir=tmp_path)
    results = fwexp.load_results(tmp_path, dataset="lasso", solver=["away", "pairwise"])
    assert set(results["solver"]) == {"away", "pairwise"}
    assert set(results["dataset.d"]) == {10}
    assert set(results["task"]) == {"convex"}
    problem, _ = fwexp.load_dataset("lasso", n=30, d=10)
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


@pytest.mark.parametrize("name", DATASETS.where(lambda dataset: dataset.kind in Convex.kinds))
def test_every_problem_can_be_solved(name):
    problem, test = fwexp.load_dataset(name, **({"d": 4} if "d" in DATASETS[name].Options.__dataclass_fields__ else {}))
    assert test is None
    blocks = hasattr(getattr(problem, "set", None), "factors")
    for method in of_kind(DATASETS[name].kind):
        if (method in ("block", "block_descent") and not blocks) or (method == "random_away" and problem.set.inspected is None):
            continue
        if method in ("stochastic", "variance_reduced") and problem.f.terms is None:
            continue
        # Polytopes of parts have entropic projections alone.
        options = {"geometry": "entropic"} if name == "chain_game" and method == "dual_extragradient" else {}
        result = Convex(None, {"seed": 0, "max_passes": 5, "gap_tol": 0.0}).run(problem, method, options)
        assert np.isfinite(result.gap)
        assert result.gap >= -1e-9


def test_all_there_is_has_a_kind_and_something_for_every_kind():
    assert {dataset.kind for dataset in DATASETS.values()} == {kind for task in TASKS.values() for kind in task.kinds} == set(KINDS)
    assert all(task.kinds[kind] in of_kind(kind) for task in TASKS.values() for kind in task.kinds)
    assert set(of_kind(SADDLE)) == {"dual_extragradient", "sp_away", "sp_fw"}


@pytest.mark.parametrize(("dataset", "solver"), [("norm", "pairwise"), ("matrix_game", "dual_extragradient")])
def test_a_dataset_brings_task_and_solver(dataset, solver):
    plain, chosen = (
        from_arguments.expand([f"dataset={dataset}"]),
        from_arguments.expand([f"dataset={dataset}", "task=convex", f"solver={solver}"]),
    )
    assert plain == chosen == [canonical({"dataset": {"name": dataset}, "solver": {"name": solver}})]


def test_functions_for_one_kind_refuse_solvers_for_another():
    problem, _ = fwexp.load_dataset("lasso", n=3, d=2)
    with pytest.raises(ParameterError, match=r"^unknown method 'bcfw'; accepted: "):
        minimize(problem.f, problem.set, method="bcfw")
    with pytest.raises(ParameterError, match=r"^unknown solver 'away'.*; accepted: .*bcfw"):
        fwexp.solve(fwexp.load_dataset("digits")[0], "away", lam=1.0)


def test_a_sweep_does_not_start_with_a_method_that_cannot_do_with_the_problem(tmp_path):
    one = canonical(LASSO | {"solver": {"name": "block"}})
    with pytest.raises(ParameterError, match="block needs a"):
        from_arguments.execute([canonical(LASSO), one], results_dir=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [CONVEX, SADDLE])
def test_a_dataset_that_gives_another_kind_than_it_says_is_named(monkeypatch, tmp_path, kind):
    false = dataclasses.replace(DATASETS["digits"], kind=kind)
    monkeypatch.setitem(DATASETS.loaded, "digits", false)
    config = canonical({"dataset": {"name": "digits"}, "solver": {"name": Convex.kinds[kind]}})
    with pytest.raises(ParameterError, match=r"^task convex needs a Minimisation or Bilinear of fwexp\.convex, got ChainProblem$"):
        runner.run(config, tmp_path, verbose=False)
