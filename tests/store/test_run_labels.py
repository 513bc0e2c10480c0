from fwexp.run.config import canonical
from fwexp.store.run_labels import differing, labels


def configured(solver="bcfw", options=None, **more):
    return canonical({"dataset": {"name": "digits"}, "solver": {"name": solver, **(options or {})}, "lam": 0.01, **more})


def test_equal_options_are_not_named():
    configs = [configured(seed=1), configured(seed=2), configured("fw", max_passes=7)]  # the only one of its solver
    assert differing(configs) == ["", "", ""]
    assert labels(configs) == ["digits bcfw lam=0.01 seed=1", "digits bcfw lam=0.01 seed=2", "digits fw lam=0.01 seed=0"]
    assert differing([]) == []


def test_options_that_differ_are_named_as_on_the_command_line():
    configs = [
        configured(options={"sampling": "perm"}, max_passes=2),
        configured(options={"sampling": "gap"}, max_passes=0.5),
        configured("ssg", max_passes=3),
    ]
    assert differing(configs) == ["solver.sampling=perm max_passes=2", "solver.sampling=gap max_passes=0.5", ""]
    configs = [configured(options={"cache": cache}) for cache in (False, {"F": 0.5, "nu": 0.01, "size": 8})]
    assert differing(configs) == ["solver.cache=false", "solver.cache={F:0.5,nu:0.01,size:8}"]


def test_a_named_method_is_called_by_its_name_alone():
    accelerated = {"sampling": "perm", "step": "corrective", "accelerate": True}
    schedule = [0.01 * k for k in range(1, 29)]
    configs = [configured(options=accelerated, iterates=["last"]), configured(schedule=schedule), configured("ssg")]
    assert labels(configs) == [f"digits {name} lam=0.01 seed=0" for name in ("bccfw_accelerated", "bcfw", "ssg")]
    configs = [configured(options={"sampling": "gap", "refresh": passes}) for passes in (10, 5)]
    assert len(set(labels(configs))) == 2


PATH = canonical({"task": {"name": "path", "lam_min": 1.0}, "dataset": {"name": "digits"}, "solver": {"name": "bcfw"}})


def test_an_option_that_some_runs_do_not_have_is_named_in_the_others():
    assert differing([configured(), PATH]) == ["", "task=path"]
    assert labels([PATH]) == ["digits bcfw seed=0 task=path"]
    assert differing([{}, configured()]) == ["", ""]  # a damaged run
