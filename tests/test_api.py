"""The functions that people call: results, warm starts, orders, and one line about everything that can be wrong."""

import numpy as np
import pytest

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.problems.protocol import to_public
from fwexp.tasks.result import Result
from tests.plain_python import all_in_plain_python  # noqa: F401 (a fixture)
from tests.small_problems import chain, counting

LAM = 0.2


@pytest.fixture(scope="module")
def problem():
    return chain("dense", 0, n=6)[1]


@pytest.fixture(scope="module")
def result(problem):
    return fwexp.solve(problem, "bcfw", lam=LAM, max_passes=10, gap_tol=0, seed=5)


# --- results --------------------------------------------------------------------------------------------------------


def test_lam_of_1_n_is_its_value(problem):
    spec, number = (fwexp.solve(problem, "fw", lam=lam, max_passes=3) for lam in ("1/n", 1.0 / problem.n))
    assert spec.lam == 1.0 / problem.n
    assert spec.w.tobytes() == number.w.tobytes()


def test_result_says_what_it_is(problem, result):
    text = repr(result)
    assert 0.0 < result.seconds == result.trace["time"].iloc[-1] < result.wall_seconds
    assert text.startswith("Result(bcfw, lam=0.2: primal=")
    assert f"gap={result.gap:.3g}, stopped at 10 passes in " in text
    assert (result.solver, result.lam, result.seed, result.status) == ("bcfw", LAM, 5, "max_passes")
    assert result.reason == "max_passes was reached"
    assert result.options["sampling"] == "uniform"
    assert result.w.dtype == np.float64
    assert result.w.shape == (problem.d,)
    assert result.trace.iterate.unique().tolist() == ["last", "wavg"]


@pytest.mark.parametrize("iterate", ["best", "last", "wavg", "tavg", "avg"])
def test_iterate_is_the_one_asked_for(problem, iterate):
    iterates = ("last", "wavg", "tavg", "avg")
    result = fwexp.solve(problem, "bcfw", lam=LAM, max_passes=4, gap_tol=0, iterates=iterates, iterate=iterate)
    final = result.trace[result.trace.step == 4 * problem.n].set_index("iterate").primal
    if iterate == "best":
        assert result.primal == pytest.approx(result.trace.primal.min(), rel=1e-14)
        assert iterate != result.iterate in iterates
    else:
        assert result.iterate == iterate
        assert result.primal == pytest.approx(final[iterate], rel=1e-14)
        np.testing.assert_array_equal(result.w, to_public(problem, result.state.point(iterate).w))


def test_iterate_asked_for_is_logged():
    _, problem = chain("functions", 0)
    assert fwexp.solve(problem, "ssg", lam=1, max_passes=1, iterate="avg").trace.iterate.unique().tolist() == [
        "last",
        "wavg",
        "avg",
    ]


# --- order ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_auto_calls_few_oracles():
    """Against every example once per pass: fewer calls to the same gap, of oracles that count them and of compiled ones."""
    for form in ("dense", "functions"):
        passes = []
        for options in ({}, {"sampling": "perm", "cache": False, "refresh": 0, "accelerate": False}):
            problem, calls = counting(seed=3) if form == "functions" else (chain(form, 3, n=40)[1], None)
            result = fwexp.solve(problem, lam=0.01, max_passes=300, gap_tol=1e-2, schedule=0.5, iterates=["last"], **options)
            assert result.status == "converged"
            if form == "functions":
                assert calls["max_oracle"] == result.trace.oracle_calls.iloc[-1] + result.trace.evaluation_calls.iloc[-1]
            passes.append(result.trace.oracle_calls.iloc[-1] / problem.n)
        assert passes[0] < passes[1]


def test_averages_go_with_a_random_order(problem):
    assert fwexp.solve(problem, lam=0.01, max_passes=2, iterates=("last", "wavg")).options["sampling"] == "perm"


def test_order_covers_what_is_run():
    """0.29 passes of 100 are 29 calls, although 0.29 * 100 < 29."""
    problem = fwexp.CallbackProblem(
        [0] * 100, features=lambda i, y: np.full(1, y), loss=lambda i, y: float(y), max_oracle=lambda i, w: int(w[0] > -1)
    )
    with pytest.raises(ParameterError, match="order must hold an index for each of 29 steps, got 28"):
        fwexp.solve(problem, "ssg", lam=1.0, max_passes=0.29, order=np.arange(28))
    assert fwexp.solve(problem, "ssg", lam=1.0, max_passes=0.29, order=np.arange(29)).trace.step.max() == 29


# --- warm starts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "start", "error", "message"),
    [
        ("bcfw", lambda p: np.zeros(p.d), ParameterError, "warm_start must be a Result on the same problem"),
        ("bcfw", lambda p: fwexp.solve(chain("dense", 0)[1], "bcfw", lam=1, max_passes=1), ParameterError, "the same problem"),
        ("fw", lambda p: fwexp.solve(p, "bcfw", lam=1, max_passes=1), OptionError, "fw cannot start from .* bcfw; accepted: fw"),
        ("bcfw", lambda p: fwexp.solve(p, "fw", lam=1, max_passes=1), OptionError, "bcfw cannot start from .* fw; accepted: bcfw"),
        ("approx_bcfw", lambda p: fwexp.solve(p, "bcfw", lam=1, max_passes=1), OptionError, "from the dual variables of bcfw"),
        ("ssg", lambda p: fwexp.solve(p, "ssg", lam=1, max_passes=1), OptionError, "solver ssg takes no warm_start"),
    ],
)
def test_other_warm_starts_are_refused(problem, solver, start, error, message):
    warm_start = start(problem)
    with pytest.raises(error, match=message):
        fwexp.solve(problem, solver, lam=LAM, warm_start=warm_start)


def test_metrics_are_logged_of_every_iterate(problem):
    def metrics(predictions):
        losses = [fwexp.loss(problem, i, y) for i, y in enumerate(predictions)]
        return {"loss": np.mean(losses), "worst": max(losses)}

    result = fwexp.solve(problem, "bcfw", lam=LAM, max_passes=5, test=problem, metrics=metrics)
    assert list(result.trace.columns[-2:]) == ["loss", "worst"]
    np.testing.assert_allclose(result.trace["loss"], result.trace["test_error"], rtol=1e-12)
    last = result.trace[result.trace["iterate"] == result.iterate].iloc[-1]
    assert metrics(result.predict(problem))["worst"] in result.trace["worst"].to_list()
    assert last["worst"] >= last["loss"]
    plain = fwexp.solve(problem, "bcfw", lam=LAM, max_passes=5, test=problem)
    np.testing.assert_array_equal(plain.w, result.w)


# --- what can be wrong ----------------------------------------------------------------------------------------------


def test_a_message_about_a_mistake_is_one_line():
    """Also where it quotes several; tests of refusals look at the words alone."""
    assert str(ParameterError("got 'a\n  b'\r\n")) == "got 'a b'"


BAD_ARGUMENTS = [
    (
        {"solver": "bcwf"},
        ParameterError,
        r"unknown solver 'bcwf' \(did you mean 'bcfw'\?\); accepted: .*bcfw, .*, \.\.\. \(`fwexp solvers` lists all\)$",
    ),
    # Of each setting, one value: others are in tests/driver/test_settings.py, and of options in tests/test_options.py.
    ({"lam": "abc"}, ParameterError, r"lam must be a positive finite number or \"c/n\", such as \"1/n\", got"),
    ({"seed": -1}, ParameterError, "seed must be an integer >= 0, got"),
    ({"max_passes": np.nan}, ParameterError, "max_passes must be"),
    ({"gap_tol": -1e-3}, ParameterError, "gap_tol must be a finite number >= 0, got -0.001"),
    ({"time_limit": 0}, ParameterError, "time_limit must be a positive number"),
    ({"schedule": "often"}, ParameterError, "schedule must be"),
    ({"iterates": ["lst"]}, ParameterError, r"unknown iterate 'lst' \(did you mean 'last'\?\); accepted: avg, last, tavg, wavg"),
    ({"iterate": "lst"}, ParameterError, r"unknown iterate 'lst' \(did you mean 'last'\?\); accepted: best, last, wavg"),
    ({"iterates": ["last"], "iterate": "wavg"}, ParameterError, "unknown iterate 'wavg'; accepted: best, last"),
    ({"linesearch": True}, OptionError, r"solver bcfw: unknown option 'linesearch'.*\(did you mean 'line_search'\?\)"),
    ({"sampling": "unifrom"}, ParameterError, "solver bcfw: sampling must be one of uniform, perm, .*; got 'unifrom'"),
    ({"accelerate": True, "iterates": ["last", "wavg"]}, ParameterError, "solver bcfw has no iterate 'wavg' here; accepted: last"),
    ({"solver": "ssg", "line_search": True}, OptionError, "solver ssg: unknown option 'line_search'; accepted: sampling"),
    ({"order": [0], "sampling": "perm"}, OptionError, "order excludes sampling"),
    ({"order": [0], "solver": "fw"}, OptionError, "order excludes solver fw"),
    ({"order": [0]}, ParameterError, "order must hold an index for each of 300 steps, got 1"),
    ({"order": [0], "refresh": 2}, ParameterError, "order must hold an index for each of 204 steps, got 1"),
    ({"order": [6] * 300}, ParameterError, "order must hold indices 0 .. 5, got 6"),
    ({"metrics": len}, ParameterError, "metrics are computed of a test set: test must be given, got None"),
    ({"test": "test"}, ParameterError, "test must come from a constructor such as fwexp.chain_problem, got str"),
    ({"test": fwexp.enumerated_problem([np.zeros((1, 2))], [[0.0]])}, ParameterError, "test must have d = 21 like problem, got 2"),
    ({"max_pases": 3}, OptionError, r"solver bcfw: unknown option 'max_pases'.*\(did you mean 'max_passes'\?\)"),
    *(
        ({theirs: 1}, OptionError, rf"solver bcfw: unknown option '{theirs}' \(here it is {ours}\); accepted: accelerate, ")
        for theirs, ours in [
            ("tol", "gap_tol"),
            ("max_iter", "max_passes"),
            ("random_state", "seed"),
            ("num_threads", "n_jobs"),
            ("C", r"lam = 1/\(C n\)"),
        ]
    ),
    ({"solver": "auto", "tol": 1}, OptionError, r"solver auto: unknown option 'tol'.* \(here it is gap_tol\)"),
    ({"lam": None, "C": 1}, OptionError, r"unknown option 'C'.*here it is lam = 1/\(C n\)"),
    ({"lam": None}, OptionError, 'solve needs lam, a positive finite number or "c/n", such as "1/n"'),
    ({"verbose": 2}, ParameterError, "verbose must be true or false, got 2"),
    *(({"n_jobs": n}, ParameterError, "n_jobs must be an integer other than 0, or None, got") for n in (0, 1.5, "all", True)),
    ({"train_error": "yes"}, ParameterError, "train_error must be true or false, got 'yes'"),
    ({"callback": 3}, ParameterError, "callback must be a function or None, got 3"),
    ({"metrics": 3}, ParameterError, "metrics must be a function or None, got 3"),
    ({"solver": None}, ParameterError, "unknown solver 'None'; accepted: "),
    ({"iterates": 3}, ParameterError, "iterates must be a list of last, .*, got 3"),
    ({"cache": {"F": 10**400}}, ParameterError, "solver bcfw: cache.F must be a number >= 0, got 1000"),
    ({"warm_start": np.zeros(21)}, ParameterError, r"on the same problem, got ndarray \(bare weights are not dual feasible\)"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD_ARGUMENTS)
def test_bad_arguments_are_named_on_one_line(problem, arguments, error, message, monkeypatch):
    """Before anything is compiled or run."""
    monkeypatch.setattr("fwexp.tasks.train.run_solver", None)
    arguments = {"solver": "bcfw", "lam": LAM} | arguments
    with pytest.raises(error, match=message) as raised:
        fwexp.solve(problem, **arguments)
    assert isinstance(raised.value, TypeError if error is OptionError else ValueError)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (0.5, "metrics must return a dict of names and numbers, got 0.5"),
        (None, "metrics must return a dict of names and numbers, got None"),
        ({"F1": "high"}, "metrics must return a dict of names and numbers, got F1 = 'high'"),
        ({1: 0.5}, "metrics must have names that are no column of the trace, got 1"),
        ({"gap": 0.0}, "metrics must have names that are no column of the trace, got 'gap'"),
    ],
)
def test_metrics_that_are_no_numbers_are_refused(problem, returned, message):
    with pytest.raises(ParameterError, match=message):
        fwexp.solve(problem, "bcfw", lam=LAM, test=problem, metrics=lambda predictions: returned)


def test_numpy_scalars_are_taken_wherever_python_ones_are(problem):
    def plain_and_numpy(solver, common, options, **numpy):
        plain = {name: value.item() for name, value in numpy.items()}
        one, other = (fwexp.solve(problem, solver, **common, **(options | given)) for given in (plain, numpy))
        assert one.w.tobytes() == other.w.tobytes()
        assert one.options == other.options
        assert {name: type(value) for name, value in one.options.items()} == {n: type(v) for n, v in other.options.items()}

    common = {"lam": np.float32(0.25), "max_passes": np.int64(2), "gap_tol": np.float32(0), "seed": np.uint8(3)}
    common |= {"train_error": np.True_, "verbose": np.False_, "time_limit": np.int64(100), "schedule": np.float32(0.5)}
    plain_and_numpy("bcfw", common, {"sampling": "gap"}, line_search=np.True_, refresh=np.float32(2), cache=np.False_)
    cache = {"F": np.float32(0.5), "size": np.int64(5)}
    plain_and_numpy("bcfw", common | {"schedule": np.array([1, 2])}, {"cache": cache}, step=np.str_("pairwise"))
    plain_and_numpy("bcfw", common, {"accelerate": {"kap": np.int32(2), "period": np.float32(1)}}, refresh=np.int64(0))
    plain_and_numpy("one_slack", common, {}, removal=np.int16(3), cache=np.int64(2), pull=np.float32(0.5))


def test_weights_may_be_a_result(problem, result):
    assert fwexp.evaluate(problem, result) == fwexp.evaluate(problem, result.w)
    assert [list(y) for y in fwexp.predict(problem, result)] == [list(y) for y in result.predict(problem)]
    assert fwexp.max_oracle(problem, 1, result)[1] == fwexp.max_oracle(problem, 1, result.w)[1]


def test_what_is_no_problem_is_refused():
    for call in (
        lambda: fwexp.solve([1, 2], lam=LAM),
        lambda: fwexp.evaluate(None, [0.0]),
        lambda: fwexp.predict("ocr", [0.0]),
        lambda: fwexp.loss((1, 2), 0, [0]),
    ):
        with pytest.raises(ParameterError, match="problem must come from a constructor such as "):
            call()


def test_bad_weights_indices_and_labelings_are_named_on_one_line():
    _, problem = chain("dense", 0, n=2, lengths=(2,))
    w = np.zeros(problem.d)
    calls = [
        (lambda: fwexp.evaluate(problem, "abc"), r"w must be a Result or hold numbers, shape \(21,\), got str 'abc'$"),
        (lambda: fwexp.evaluate(problem, w[1:]), r"w must have shape \(21,\), got \(20,\)"),
        (lambda: fwexp.predict(problem, w[None]), r"w must have shape \(21,\), got \(1, 21\)"),
        (lambda: fwexp.max_oracle(problem, 0, w + np.nan), "w must be finite, got NaN or infinity"),
        (lambda: fwexp.max_oracle(problem, 2, w), "i must be an integer in 0 .. 1, got 2"),
        (lambda: fwexp.loss(problem, -1, [0, 0]), "i must be an integer in 0 .. 1, got -1"),
        (lambda: fwexp.joint_feature(problem, 0.0, [0, 0]), "i must be an integer in 0 .. 1, got 0.0"),
        (lambda: fwexp.loss(problem, 0, [0]), r"y must hold 2 integers for example 0, got shape \(1,\)"),
        (lambda: fwexp.loss(problem, 0, [0.0, 1.0]), "y must hold 2 integers for example 0"),
        (lambda: fwexp.joint_feature(problem, 0, [0, 3]), r"labels in y must be in 0 .. 2, got \[0, 3\]"),
        (lambda: fwexp.loss(problem, 0, None), "y must hold 2 integers for example 0, got None"),
        (lambda: fwexp.loss(problem, 0, [[0], [0, 1]]), "y must hold 2 integers for example 0, got rows of different lengths"),
        (lambda: fwexp.joint_feature(problem, 0, [-1, 0]), r"labels in y must be in 0 .. 2, got \[-1, 0\]"),
    ]
    for call, message in calls:
        with pytest.raises(ParameterError, match=message):
            call()


# --- the package ----------------------------------------------------------------------------------------------------


def test_public_names_are_found_where_they_live():
    for name in fwexp.__all__:
        assert getattr(fwexp, name) is not None
    assert dir(fwexp) == sorted([*fwexp.__all__, *fwexp._MODULES])
    assert all(getattr(fwexp, name).__name__ == f"fwexp.{name}" for name in fwexp._MODULES if name != "distributed")
    assert fwexp.Result is Result
    with pytest.raises(AttributeError, match="module 'fwexp' has no attribute 'slove'"):
        fwexp.slove  # noqa: B018
