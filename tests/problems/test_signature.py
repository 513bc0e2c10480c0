"""Weights of one signature are refused for another, and inputs without labels are enough to predict."""

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.problems.signature import signature
from tests.small_problems import chain

RNG = np.random.default_rng(0)


def classes(p, K, n=4):
    return fwexp.multiclass_problem(RNG.normal(size=(n, p)), np.arange(n) % K, K)


def chains(p, K):
    return fwexp.chain_problem([RNG.normal(size=(3, p)), RNG.normal(size=(2, p))], [np.arange(3) % K, np.arange(2) % K], K)


def matchings(p):
    return fwexp.matching_problem([RNG.normal(size=(2, 3, p)), RNG.normal(size=(1, 2, p))], [[(0, 1)], [(0, 0)]])


def outputs(d):
    return fwexp.enumerated_problem([np.eye(2, d) - np.eye(1, d)[[0, 0]] * [[1.0], [0.0]]], [[0.0, 1.0]])


def functions(d):
    return fwexp.CallbackProblem(
        [0],
        features=lambda i, y: np.full(d, float(y)),
        loss=lambda i, y: float(y),
        max_oracle=lambda i, w: int(1 + w.sum() > 0),
        decode=lambda i, w: int(w.sum() > 0),
    )


# Pairs of the same d. A chain with K labels and p features has K (p + 2 + K) weights, classes K p.
SAME_D = [
    (classes(4, 3), classes(6, 2), "num_classes = 3 like {}, got 2"),
    (classes(6, 3), chains(1, 3), "family = MulticlassProblem like {}, got ChainProblem"),
    (chains(1, 3), classes(9, 2), "family = ChainProblem like {}, got MulticlassProblem"),
    (chains(8, 2), chains(3, 3), "num_states = 2 like {}, got 3"),
    (matchings(24), chains(8, 2), "family = MatchingProblem like {}, got ChainProblem"),
    (matchings(4), outputs(4), "family = MatchingProblem like {}, got EnumeratedProblem"),
    (classes(2, 2), functions(4), "family = MulticlassProblem like {}, got CallbackProblem"),
    (functions(4), outputs(4), "family = CallbackProblem like {}, got EnumeratedProblem"),
]


@pytest.mark.parametrize(("train", "other", "message"), SAME_D)
def test_other_signatures_of_the_same_d_are_refused(train, other, message):
    assert train.d == other.d
    result = fwexp.solve(train, "bcfw", lam=1.0, max_passes=1)
    refusals = [
        ("test", "problem", lambda: fwexp.solve(train, "bcfw", lam=1.0, max_passes=1, test=other)),
        ("test", "problem", lambda: fwexp.solve(train, "bcfw", lam=1.0, max_passes=1, test=other, metrics=lambda y: {})),
        ("problem", "the one trained on", lambda: result.predict(other)),
        ("problem", "the one trained on", lambda: fwexp.predict(other, result)),
        ("problem", "the one trained on", lambda: fwexp.evaluate(other, result)),
        ("problem", "the one trained on", lambda: fwexp.max_oracle(other, 0, result)),
        ("warm_start", "problem", lambda: fwexp.solve(other, "bcfw", lam=1.0, warm_start=result)),
    ]
    for name, owner, call in refusals:
        with pytest.raises(ParameterError, match=f"^{name} must have ") as error:
            call()
        text = str(error.value)
        assert type(train).__name__ in text
        assert type(other).__name__ in text
        if name != "warm_start":
            assert message.format(owner) in text
    assert len(fwexp.predict(other, result.w)) == other.n  # bare weights are the caller's responsibility


def test_the_same_signature_is_accepted():
    for train, other in [
        (classes(4, 3), classes(4, 3, n=7)),
        (chains(2, 3), chains(2, 3)),
        (matchings(3), matchings(3)),
        (outputs(3), outputs(3)),
        (functions(3), functions(3)),
        (classes(2, 3), fwexp.multiclass_problem(sp.csr_array(np.eye(2)), [-1, 0], 3)),
    ]:
        result = fwexp.solve(train, "fw", lam=1.0, max_passes=2, test=other)
        assert result.structure == signature(train) == signature(other)
        assert len(result.predict(other)) == other.n
        assert fwexp.evaluate(other, result)[1:] == fwexp.evaluate(other, result.w)[1:]


def equal(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b))


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("K", [1, 3, 4])
def test_inputs_alone_are_enough(form, K):
    wrap = sp.csr_array if form == "csr" else np.asarray
    X, y = [RNG.normal(size=(T, 2)) for T in (3, 1, 4)], [RNG.integers(K, size=T) for T in (3, 1, 4)]
    result = fwexp.solve(fwexp.chain_problem(X, y, K), "bcfw", lam=0.1, max_passes=20)
    new = [RNG.normal(size=(T, 2)) for T in (2, 1, 5)]
    wanted = fwexp.predict(fwexp.chain_problem(new, [[0] * len(x) for x in new], K), result.w)
    assert equal(result.predict([wrap(x) for x in new]), wanted)
    assert equal(fwexp.predict([wrap(x) for x in new], result), wanted)
    X, y = RNG.normal(size=(9, 3)), np.arange(9) % K
    result = fwexp.solve(fwexp.multiclass_problem(X, y, K), "bcfw", lam=0.1, max_passes=20)
    new = RNG.normal(size=(5, 3))
    assert result.predict(wrap(new)) == fwexp.predict(fwexp.multiclass_problem(new, [0] * 5, K), result.w)
    assert result.predict(new[:1].tolist()) == result.predict(new)[:1]


def test_grids_alone_are_enough():
    result = fwexp.solve(matchings(3), "fw", lam=0.1, max_passes=20)
    result.w = np.array([1.0, 2.0, -1.0])
    grids = [RNG.normal(size=(2, 3, 3)) + np.eye(3)[0], RNG.normal(size=(1, 1, 3))]
    wanted = fwexp.predict(fwexp.matching_problem(grids, [[], []]), result.w)
    assert any(len(links) for links in wanted)
    assert equal(result.predict(grids), wanted)
    flat = [sp.csr_array(grid.reshape(-1, 3)) for grid in grids]
    assert equal(fwexp.predict(flat, result, shapes=[(2, 3), (1, 1)]), wanted)


def test_the_number_of_labels_is_that_of_training():
    """Not that of the labels seen when predicting; labels that occur only in num_states are predicted like others."""
    result = fwexp.solve(chains(2, 5), "bcfw", lam=0.1, max_passes=2)
    assert result.structure["num_states"] == 5
    w = np.zeros(result.w.size)
    w[2 * 5 + 4] = 1.0  # the first label
    result.w = w
    assert result.predict([np.zeros((1, 2))])[0].tolist() == [4]


@pytest.mark.parametrize(
    ("train", "X", "inputs", "error", "message"),
    [
        (chains(2, 3), [np.ones((2, 3))], {}, ParameterError, r"X must have d = 21 .* got 24 .*num_features=3.*num_features=2"),
        (classes(2, 3), np.ones((2, 4)), {}, ParameterError, "X must have d = 6 like the one trained on, got 12"),
        (chains(2, 3), [], {}, ParameterError, "X must hold at least one sequence, got n = 0"),
        (classes(2, 3), np.ones((0, 2)), {}, ParameterError, "X must hold at least one example, got n = 0"),
        (classes(2, 3), [], {}, ParameterError, "X must have shape"),
        (matchings(2), [], {}, ParameterError, "n >= 1"),
        (chains(2, 3), [np.ones((0, 2))], {}, ParameterError, r"X\[0\] .* T >= 1, got 0"),
        (chains(2, 3), np.ones((2, 2)), {}, ParameterError, r"X\[0\] must have shape \(T, p\)"),
        (chains(2, 3), None, {}, ParameterError, "X must be a list of"),
        (chains(2, 3), ["text"], {}, ParameterError, r"X\[0\] must hold numbers"),
        (classes(2, 3), 3, {}, ParameterError, "X must have shape"),
        (matchings(2), None, {}, ParameterError, "X must be a list of"),
        (chains(2, 3), [np.ones((2, 2))], {"shapes": [1]}, OptionError, "inputs of ChainProblem: unknown argument 'shapes'"),
        (
            matchings(2),
            [np.ones((2, 2))],
            {"shape": [(1, 2)]},
            OptionError,
            r"'shape' \(did you mean 'shapes'\?\); accepted: shapes",
        ),
        (
            outputs(2),
            [np.ones((2, 2))],
            {},
            ParameterError,
            "problem must come from the constructor of EnumeratedProblem, got list",
        ),
        (functions(2), [1], {}, ParameterError, "problem must come from the constructor of CallbackProblem, got list"),
    ],
)
def test_inputs_that_do_not_serve_are_refused(train, X, inputs, error, message):
    result = fwexp.solve(train, "bcfw", lam=1.0, max_passes=1)
    for call in (lambda: result.predict(X, **inputs), lambda: fwexp.predict(X, result, **inputs)):
        with pytest.raises(error, match=message):
            call()


def test_problems_take_no_arguments_of_inputs():
    problem = matchings(2)
    with pytest.raises(OptionError, match="predict takes shapes only with raw inputs X, got a problem"):
        fwexp.predict(problem, np.zeros(2), shapes=[(1, 1)])


def test_kernel_results_predict_and_evaluate_with_the_training_inputs():
    X, y = RNG.normal(size=(12, 2)), np.arange(12) % 3
    train = fwexp.multiclass_problem(X, y)
    result = fwexp.solve(train, "kernel_bcfw", kernel="rbf", lam=0.01, max_passes=30, train_error=True)
    assert result.predict(X) == result.predict(train)
    error = fwexp.evaluate(train, result).error
    assert error == np.mean(np.array(result.predict(X)) != y)
    value = fwexp.evaluate(train, result)
    assert value.hinge + 0.005 * value.norm_sq == pytest.approx(result.primal, rel=1e-12)
    # twelve inputs and twelve weights of another signature
    with pytest.raises(ParameterError, match="X must have d = 6 like the one trained on, got 36"):
        result.predict(np.ones((1, 12)))


def test_signature_of_chains_in_any_form():
    tp, problem = chain("binary", 0)
    assert signature(problem) == {"family": "ChainProblem", "d": tp.d, "num_states": 3, "num_features": 2}
