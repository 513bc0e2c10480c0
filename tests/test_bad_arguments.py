"""Any value in any argument of every public function: an error of ours on one short line, or an answer; never anything else."""

import datetime
import inspect
import math

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import DataError, OptionError, ParameterError
from fwexp.solvers import SOLVERS, check_options
from tests.plain_python import all_in_plain_python  # noqa: F401 (a fixture)

VALUES = [
    None,
    True,
    0,
    -1,
    10**400,
    0.5,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    1j,
    "",
    "abc",
    "a\nb",
    b"abc",
    "x" * 10_000,
    [],
    (),
    {},
    {1: 2},
    {"a": None},
    set(),
    [None],
    [[1.0], [1.0, 2.0]],
    ["a", ["b"]],
    object(),
    len,
    range(3),
    np.array([]),
    np.array(0.5),
    np.array(["a"]),
    np.array([None, 1], dtype=object),
    np.ones((2, 2, 2, 2)),
    np.full((2, 2), np.nan),
    np.ma.masked_array(np.ones(2), [True, False]),
    np.float64(-2.0),
    np.datetime64("2020-01-01"),
    datetime.date(2020, 1, 1),
    sp.csr_array(np.ones((2, 2))),
    sp.coo_array(np.ones(3)),
]

X, Y = np.array([[1.0, 0.0], [0.0, 1.0]]), [0, 1]
PROBLEM = fwexp.multiclass_problem(X, Y)
W = np.zeros(PROBLEM.d)
PSI, LOSSES = [np.array([[0.0], [1.0]])], [[0.0, 1.0]]

# Valid arguments of each function; tests replace one at a time.
GOOD = {
    "chain_problem": {"X": [X], "y": [Y], "num_states": 2},
    "multiclass_problem": {"X": X, "y": Y, "num_classes": 2, "costs": 1 - np.eye(2), "rescaling": "slack"},
    "matching_problem": {
        "X": [np.ones((2, 1))],
        "y": [[(0, 0)]],
        "shapes": [(1, 2)],
        "possible": [[(0, 1)]],
        "precision_cost": 1.0,
        "recall_cost": 2.0,
        "column_links": 2,
    },
    "segmentation_problem": {
        "X": [np.ones((2, 1))],
        "edges": [[(0, 1)]],
        "Z": [np.ones((1, 1))],
        "y": [[0, 1]],
        "node_weight": [[1.0, 2.0]],
        "num_labels": 2,
        "loss": "share",
        "foreground_only": True,
    },
    "enumerated_problem": {"psi": PSI, "losses": LOSSES, "rescaling": "margin"},
    "pose_problem": {
        "X": [np.ones((1, 2, 1))],
        "y": [[(0, 0), (0, 1)]],
        "parents": [-1, 0],
        "offsets": np.ones((2, 2)),
        "features": [[0], [0]],
        "reach": 1.0,
        "unit": 1.0,
    },
    "weighted_problem": {"problem": PROBLEM, "weights": np.ones(PROBLEM.n)},
    "joint_feature": {"problem": PROBLEM, "i": 0, "y": 1},
    "loss": {"problem": PROBLEM, "i": 0, "y": 1},
    "max_oracle": {"problem": PROBLEM, "i": 0, "w": W},
    "decode_chain": {"unary": X, "transitions": np.eye(2), "start": [0.0, 1.0], "end": [1.0, 0.0], "n_best": 1},
    "chain_marginals": {"unary": X, "transitions": np.eye(2), "start": [0.0, 1.0], "end": [1.0, 0.0]},
    "predict": {"problem": PROBLEM, "w": W},
    "evaluate": {"problem": PROBLEM, "w": W},
    "load": {"path": "no such file"},
    "load_dataset": {"name": "digits", "data_dir": None},
    "load_run": {"key": "no such key", "results_dir": "no such folder"},
    "load_results": {"results_dir": "no such folder", "partial": False},
    "solve": {"problem": PROBLEM, "solver": "bcfw", "lam": 1.0, "max_passes": 1},
    "regularization_path": {"problem": PROBLEM, "eps": 0.5, "lam_min": 1.0, "max_passes": 1},
    "grid_search": {"problem": PROBLEM, "eps": 0.5, "lams": [1.0], "max_passes": 1},
}
NO_FUNCTIONS = {"__version__", "Result", "CallbackProblem", "sweep"}  # tests/run/test_sweep.py has mistakes in sweeps


def check(call, *arguments, **keywords):
    """Call a function that may answer, or refuse in one short line."""
    refusal = None
    try:
        call(*arguments, **keywords)
    except (ParameterError, OptionError, DataError) as error:
        refusal = str(error)
    if refusal is not None:
        assert 10 < len(refusal) < 600, refusal[:600]


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """Look for results where none are."""
    monkeypatch.chdir(tmp_path)


def test_every_public_function_is_tried():
    assert set(GOOD) | NO_FUNCTIONS == set(fwexp.__all__)
    for name, arguments in GOOD.items():
        assert set(arguments) <= set(inspect.signature(getattr(fwexp, name)).parameters)


@pytest.mark.parametrize("name", GOOD)
def test_any_value_in_any_argument(name):
    function = getattr(fwexp, name)
    parameters = inspect.signature(function).parameters
    for parameter in parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            for value in VALUES:
                check(function, **GOOD[name] | {parameter.name: value})
        else:
            with pytest.raises((OptionError, TypeError)) as error:
                function(**GOOD[name], no_such_option=1)
            assert "no_such_option" in str(error.value)


@pytest.mark.parametrize("name", ["chain_problem", "matching_problem", "segmentation_problem", "enumerated_problem"])
def test_any_value_in_lists(name):
    function = getattr(fwexp, name)
    for parameter, good in GOOD[name].items():
        if isinstance(good, list):
            for value in VALUES:
                check(function, **GOOD[name] | {parameter: [value]})
                check(function, **GOOD[name] | {parameter: [*good, value]})


@pytest.mark.parametrize("solver", SOLVERS)
def test_any_value_in_options_of_solvers(solver):
    for option in inspect.signature(SOLVERS[solver].Options).parameters:
        for value in VALUES:
            check(check_options, SOLVERS[solver], {option: value})
            for key in ("F", "nu", "size", "kap", "period"):
                check(check_options, SOLVERS[solver], {option: {key: value}})


def test_any_value_for_results(tmp_path):
    result = fwexp.solve(PROBLEM, "bcfw", lam=1.0, max_passes=1)
    path = fwexp.regularization_path(PROBLEM, 0.5, lam_min=1.0, max_passes=10)
    for value in VALUES:
        check(result.predict, value)
        check(fwexp.predict, value, result)
        check(fwexp.evaluate, value, result)
        if not isinstance(value, str) or value == "":
            check(result.save, value)
        check(path.w_at, value)
        check(path.gap_at, value)


def test_any_value_in_options_of_data_sets():
    for value in VALUES:
        check(fwexp.load_dataset, "ocr", split=value)
        check(fwexp.load_dataset, "ocr", n=value, data_dir="nowhere")
    with pytest.raises(OptionError, match=r"dataset digits: unknown option 'datadir'.*\(did you mean 'data_dir'\?\)"):
        fwexp.load_dataset("digits", datadir="x")


def test_grids_of_lam():
    for lams in (0.1, [], "abc", None, {}):
        with pytest.raises(ParameterError, match="lams must be a list of positive finite numbers, at least one, got "):
            fwexp.grid_search(PROBLEM, lams=lams)
    with pytest.raises(ParameterError, match=r"lams\[1\] must be a positive finite number, got -1"):
        fwexp.grid_search(PROBLEM, lams=[1.0, -1])
    assert len(fwexp.grid_search(PROBLEM, lams=np.array([1.0, 2.0]), eps=0.9)) == 2
