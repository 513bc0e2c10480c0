"""Problems given by Python functions, with dense and sparse features."""

import itertools
from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import CertificateError, ParameterError
from fwexp.problems import known_labelings
from fwexp.problems.python_labelings import equal_labelings, key_of, snapshot
from fwexp.problems.sparse_vector import SparseVector, difference
from fwexp.testing import CheckFailed, check_problem


def test_labelings_may_be_any_objects():
    """Strings here, and arrays in tests of chains; nothing looks into them."""
    phi = {"cat": [1.0, 0.0], "dog": [0.0, 1.0]}
    problem = fwexp.CallbackProblem(
        ["cat", "dog"],
        features=lambda i, y: np.array(phi[y]) * (1 + i),
        loss=lambda i, y: float(y != ("cat", "dog")[i]),
        max_oracle=lambda i, w: max(phi, key=lambda y: (y != ("cat", "dog")[i]) + (1 + i) * np.dot(phi[y], w)),
    )
    result = fwexp.solve(problem, "bcfw", lam=0.1, max_passes=50, gap_tol=1e-6)
    assert result.status == "converged"
    assert repr(problem) == "CallbackProblem(n=2, d=2)"
    assert np.isnan(result.trace.train_error).all()
    with pytest.raises(ParameterError, match="predictions need a decode function"):
        result.predict(problem)


def test_features_may_be_lists_rows_and_empty_sparse_rows():
    """A sparse row without entries is 0, not an error."""
    forms = [lambda v: v, lambda v: np.array(v), lambda v: np.array([v]), lambda v: sp.csr_array([v]), lambda v: sp.coo_matrix([v])]
    results = []
    for form in forms:
        problem = fwexp.CallbackProblem(
            [1, 1],
            features=lambda i, y, form=form: form([0, 0, 0] if y else [1, 0, 2 + i]),
            loss=lambda i, y: float(y != 1),
            max_oracle=lambda i, w: int(1.0 + w @ [1, 0, 2 + i] < 0),
        )
        assert problem.d == 3
        results.append(fwexp.solve(problem, "bcfw", lam=0.5, max_passes=3, seed=1))
        assert fwexp.joint_feature(problem, 0, 0).toarray().tolist() == [[1, 0, 2]]
    for result in results[1:]:
        np.testing.assert_allclose(result.w, results[0].w, atol=1e-14)


def test_sparse_features_of_the_caller_are_not_touched():
    row = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 3))
    vector = SparseVector.from_row(row)
    assert (vector.indices.tolist(), vector.values.tolist()) == ([0, 1], [4.0, 3.0])
    assert (row.data.tolist(), row.indices.tolist()) == ([1.0, 2.0, 4.0], [1, 1, 0])


@pytest.mark.parametrize("length", [1, 7, 8, 9, 40, 43])
@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e150])
def test_differences_of_any_length_have_all_entries(length, scale):
    rng = np.random.default_rng(length)
    a = scale * rng.normal(size=length)
    places = np.arange(length)
    for changed in (places < 0, places == 0, places == length - 1, rng.random(length) < 0.2, places >= 0):
        b = np.where(changed, 2.0 * a, a)
        found, size_sq = difference(a, b)
        assert isinstance(found, SparseVector) == (4 * np.count_nonzero(a != b) < length)
        np.testing.assert_array_equal(found.dense(length) if isinstance(found, SparseVector) else found, a - b)
        assert size_sq == pytest.approx(b @ b, rel=1e-14)


def test_sparse_vectors_do_the_arithmetic_of_dense_ones():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=6) * (rng.random(6) < 0.5) for _ in range(2))
    u, v = (SparseVector.from_row(sp.csr_array(x[None])) for x in (a, b))
    identity = np.eye(6)
    for got, wanted in ((u + v, a + b), (u - v, a - b), (-2.0 * u, -2.0 * a)):
        np.testing.assert_allclose([got @ row for row in identity], wanted, atol=1e-15)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda i, y: 1.0, r"features\(0, y\) must be a vector \(d,\) or a sparse row \(1, d\), got shape \(\)"),
        (lambda i, y: np.ones((2, 2)), r"got shape \(2, 2\)"),
        (lambda i, y: [], r"got shape \(0,\)"),
        (lambda i, y: np.ones(2 + y), r"features\(0, y\) must have length d = 2, got shape \(3,\)"),
        (lambda i, y: np.full(2, np.nan * y if y else 0.0), r"features\(0, y\) must be finite"),
        (lambda i, y: sp.csr_array([[1.0, np.inf if y else 0.0]]), r"features\(0, y\) must be finite"),
    ],
)
def test_bad_features_are_named_on_one_line(features, message):
    def use():
        problem = fwexp.CallbackProblem([0], features=features, loss=lambda i, y: float(y), max_oracle=lambda i, w: 1)
        fwexp.max_oracle(problem, 0, np.zeros(2))

    with pytest.raises(ParameterError, match=message):
        use()


@pytest.mark.parametrize("nbytes", [0, 100, 1 << 20])
def test_features_are_computed_once_and_what_is_kept_is_bounded(nbytes, monkeypatch):
    monkeypatch.setattr(known_labelings, "NBYTES", nbytes)
    calls = []

    def features(plain, i, y):
        calls.append(i)
        return scale * plain(i, y)

    def problem():
        return three_way(features=features, max_oracle=lambda plain, i, w: plain(i, scale * w))

    scale, settings = 1.0, {"lam": 0.01, "max_passes": 30, "gap_tol": 0, "step": "pairwise", "cache": {"size": 3}}
    asked = problem()
    result = fwexp.solve(asked, "bcfw", **settings)
    np.testing.assert_array_equal(result.w, fwexp.solve(three_way(), "bcfw", **settings).w)
    assert (len(calls) < 1000) == (nbytes > 100)
    scale = 2.0  # another run sees that
    np.testing.assert_array_equal(fwexp.solve(asked, "bcfw", **settings).w, fwexp.solve(problem(), "bcfw", **settings).w)


def test_no_examples_are_refused():
    with pytest.raises(ParameterError, match="n = 0"):
        fwexp.CallbackProblem([], features=None, loss=None, max_oracle=None)


# --- careless functions ---------------------------------------------------------------------------------------------


def three_way(n=6, seed=0, **changes):
    """Labels 0, 1, 2 as arrays of one number, with functions that may be replaced; these get the plain ones first."""
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(n, 2)), rng.integers(3, size=n)
    plain = {
        "features": lambda i, y: np.kron(np.eye(3)[y[0]], X[i]),
        "loss": lambda i, y: float(y[0] != truth[i]),
        "max_oracle": lambda i, w: np.array([np.argmax(w.reshape(3, 2) @ X[i] + (np.arange(3) != truth[i]))]),
        "decode": lambda i, w: np.array([np.argmax(w.reshape(3, 2) @ X[i])]),
    }
    functions = {name: partial(changes[name], function) if name in changes else function for name, function in plain.items()}
    return fwexp.CallbackProblem([np.array([label]) for label in truth], **functions)


def reusing(make):
    """Return a function that writes its answers into one buffer."""
    buffers = {}

    def careless(plain, i, argument):
        answer = plain(i, argument)
        if "buffer" not in buffers:
            buffers["buffer"] = make(answer)
        buffer = buffers["buffer"]
        if isinstance(buffer, list):
            buffer[:] = answer.tolist()
        elif sp.issparse(buffer):
            buffer.data[:] = answer
        else:
            buffer[:] = answer
        return buffer

    return careless


def full_row(answer):
    return sp.csr_array((answer.copy(), np.arange(len(answer)), [0, len(answer)]), shape=(1, len(answer)))


REUSED = {
    "labelings": {"max_oracle": reusing(np.copy), "decode": reusing(np.copy)},
    "lists": {"max_oracle": reusing(np.ndarray.tolist), "decode": reusing(np.ndarray.tolist)},
    "features": {"features": reusing(np.copy)},
    "sparse features": {"features": reusing(full_row)},
}


@pytest.mark.parametrize("name", REUSED)
@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("bcfw", {}),
        ("bcfw", {"sampling": "gap", "step": "pairwise", "cache": True}),
        ("fw", {}),
        ("n_slack", {}),
        ("n_slack", {"certify": True}),
    ],
)
def test_functions_may_use_their_buffers_again(name, solver, options):
    common = {"lam": 0.1, "max_passes": 8, "gap_tol": 0, "train_error": True, **options}
    wanted, got = (fwexp.solve(three_way(**changes), solver, **common) for changes in ({}, REUSED[name]))
    np.testing.assert_allclose(got.w, wanted.w, atol=1e-12)
    np.testing.assert_allclose(got.trace[["primal", "train_error"]], wanted.trace[["primal", "train_error"]], atol=1e-12)
    assert got.gap > -1e-12
    predictions = [fwexp.predict(three_way(**changes), wanted.w) for changes in ({}, REUSED[name])]
    assert [list(y) for y in predictions[1]] == [list(y) for y in predictions[0]]
    assert len({int(y[0]) for y in predictions[0]}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", REUSED)
def test_reused_buffers_are_found_by_the_checks(name):
    check_problem(three_way())
    function = next(iter(REUSED[name]))
    with pytest.raises(CheckFailed, match=rf"functions_return_new_objects: {function}\(\d, ...\) must return a new object"):
        check_problem(three_way(**REUSED[name]))


def test_truth_may_change_after_the_problem_was_made():
    y = [np.array([0]), [1, [2]]]
    problem = fwexp.CallbackProblem(y, features=lambda i, y: np.ones(1), loss=lambda i, y: 0.0, max_oracle=lambda i, w: y[i])
    y[0][0], y[1][1][0] = 7, 7
    assert (problem.y[0].tolist(), problem.y[1]) == ([0], [1, [2]])


def test_functions_cannot_change_labelings_that_are_kept():
    def spoil(plain, i, y):
        answer = plain(i, y)
        y[0] = 99
        return answer

    results = [
        fwexp.solve(three_way(**changes), "bcfw", lam=0.1, step="pairwise") for changes in ({}, {"features": spoil, "loss": spoil})
    ]
    assert results[0].w.tobytes() == results[1].w.tobytes()


@dataclass
class Tree:
    nodes: np.ndarray


@pytest.mark.parametrize(
    ("y", "same", "other"),
    [
        (np.array([1, 2]), np.array([1, 2]), np.array([1, 3])),
        ([[1], [2, 3]], [[1], [2, 3]], [[1], [2, 4]]),
        ((np.array([1]), [np.array([2, 3])]), (np.array([1]), [np.array([2, 3])]), (np.array([1]), [np.array([2, 4])])),
        ("cat", "cat", "dog"),
        ((1, ("a", 2)), (1, ("a", 2)), (1, ("a", 3))),
        (np.array([1, 2]), (1, 2), (1, 2, 3)),
        (np.array([1, 2]), np.array([1, 2], dtype=np.int8), np.array([[1, 2]])),
    ],
)
def test_labelings_are_compared_by_their_content(y, same, other):
    assert equal_labelings(y, same)
    assert not equal_labelings(y, other)
    assert equal_labelings(snapshot(y), y)
    assert key_of(y) == key_of(snapshot(y)) != key_of(other)


FORMS = {  # of a labeling of two nodes, how to read it, and its key
    "list": (list, np.array, key_of),
    "sparse": (lambda y: sp.csr_array(np.eye(2)[list(y)]), lambda y: y.toarray().argmax(axis=1), lambda y: y.indices.tobytes()),
    "dataclass": (lambda y: Tree(np.array(y)), lambda tree: tree.nodes, lambda tree: tuple(tree.nodes)),
    "nested": (lambda y: (np.array(y), [np.array(y)]), lambda y: y[1][0], key_of),
    "objects": (lambda y: np.array([*y, None], dtype=object), lambda y: y[:2].astype(int), lambda y: tuple(y)),
}


def of_form(make, read, key=key_of):
    """Two nodes with two labels each, whose oracle tries them all."""
    X = np.random.default_rng(0).normal(size=(4, 2, 2))
    truth, labelings = (X[:, :, 0] > 0).astype(int), list(itertools.product((0, 1), repeat=2))

    def features(i, form):
        return (np.eye(2)[read(form)].T @ X[i]).ravel()

    def loss(i, form):
        return float(np.mean(read(form) != truth[i]))

    def oracle(i, w):
        return max(map(make, labelings), key=lambda form: loss(i, form) + w @ features(i, form))

    def decode(i, w):
        return max(map(make, labelings), key=lambda form: w @ features(i, form))

    given = {"features": features, "loss": loss, "max_oracle": oracle, "decode": decode}
    return fwexp.CallbackProblem([make(y) for y in truth], key=key, **given)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("solver", "options"), [("auto", {}), ("n_slack", {}), ("bcfw", {"step": "away", "cache": True})], ids=str)
def test_labelings_of_any_form_are_trained_on_alike(solver, options, form):
    arrays, other = (of_form(*each) for each in ((np.array, np.asarray), FORMS[form]))
    wanted, found = (fwexp.solve(problem, solver, lam=0.1, max_passes=5, check=True, **options) for problem in (arrays, other))
    assert found.w.tobytes() == wanted.w.tobytes()
    assert [FORMS[form][1](y).tolist() for y in found.predict(other)] == [y.tolist() for y in wanted.predict(arrays)]
    if solver == "auto":
        assert check_problem(other) == ("required", "sets")


def test_labelings_that_cannot_be_compared_are_one_line():
    for key, message in (
        (key_of, r"labelings must be hashable, arrays .*, got Tree; key= of CallbackProblem, or a method key\(y\) of a model, "),
        (lambda tree: tree, r"key\(y\[0\]\) must be hashable, got Tree"),
        (None, r"key must be a function, got None"),
    ):
        with pytest.raises(ParameterError, match=message):
            of_form(lambda y: Tree(np.array(y)), lambda tree: tree.nodes, key)
    with pytest.raises(ParameterError, match="max_oracle must be a function, got None"):
        fwexp.CallbackProblem([0], features=lambda i, y: [1.0], loss=lambda i, y: 0.0, max_oracle=None)
    asked = itertools.count()
    problem = of_form(np.array, np.asarray, lambda y: tuple(y) if next(asked) < 10 else list(y))
    with pytest.raises(ParameterError, match="key must return a hashable value for every labeling, got "):
        fwexp.solve(problem, lam=0.1)


def test_weights_of_examples_keep_the_key():
    make, nodes, key = FORMS["dataclass"]
    check_problem(fwexp.weighted_problem(of_form(make, nodes, key), np.ones(4)))


def test_what_may_change_is_copied_and_what_is_compared_by_identity_is_not():
    node = object()
    for y in (1, "a", (1, "a"), node, (node, 1), frozenset({1})):
        assert snapshot(y) is y
    for y in ([1], np.array([1]), ([1],), {"a": [1]}, bytearray(b"a")):
        assert snapshot(y) is not y


def writes(plain, i, w):
    w *= 0.5
    return plain(i, w)


COUNT = itertools.count()


LIES = {
    "negative loss": ({"loss": lambda plain, i, y: -plain(i, y)}, r"loss\(\d, y\) must be a finite number >= 0, got -1.0"),
    "no loss": ({"loss": lambda plain, i, y: None}, r"loss\(\d, y\) must be a finite number >= 0, got None"),
    "nan loss": ({"loss": lambda plain, i, y: np.nan if plain(i, y) else 0}, r"loss\(\d, y\) must be .*, got nan"),
    "loss array": ({"loss": lambda plain, i, y: np.ones(2) * plain(i, y)}, r"loss\(\d, y\) must be .*, got array"),
    "loss at the truth": ({"loss": lambda plain, i, y: 1.0 + plain(i, y)}, r"loss\(\d, y\) must be 0 at the truth y\[\d\], got 1"),
    "no labeling": ({"max_oracle": lambda plain, i, w: None}, r"max_oracle\(\d, w\) must return a labeling, got None"),
    "iterator": ({"max_oracle": lambda plain, i, w: iter(plain(i, w))}, r"max_oracle\(\d, w\) must return a labeling, got <"),
    "writes": ({"max_oracle": writes}, r"max_oracle\(\d, w\) must not write to w"),
    "minimises": (
        {"max_oracle": lambda plain, i, w: plain(i, -5 * w)},
        r"max_oracle\(\d, w\) must maximise .* less than the 0 of the truth",
    ),
    "features change": (
        {"features": lambda plain, i, y: plain(i, y) + next(COUNT)},
        r"features\(\d, y\) must be the same when called again",
    ),
}


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize("solver", ["bcfw", "ssg", "one_slack"])
def test_answers_that_cannot_be_right_end_a_run(name, solver):
    changes, message = LIES[name]
    with pytest.raises(ParameterError, match=message):
        fwexp.solve(three_way(**changes), solver, lam=0.01, max_passes=20)
    with pytest.raises(CheckFailed):
        check_problem(three_way(**changes))


@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e8])
def test_lies_show_at_any_scale(scale):
    """And what is right is not mistaken for a lie."""
    for factor, message in ((1.0, None), (-5.0, "less than the 0 of the truth")):
        problem = three_way(
            loss=lambda plain, i, y: scale * plain(i, y), max_oracle=lambda plain, i, w, factor=factor: plain(i, factor / scale * w)
        )
        if message is None:
            assert fwexp.solve(problem, "bcfw", lam=0.01 / scale, gap_tol=1e-9 * scale, max_passes=300).gap >= -1e-12 * scale
        else:
            with pytest.raises(ParameterError, match=message):
                fwexp.solve(problem, "bcfw", lam=0.01 / scale, gap_tol=0)


def test_decode_must_return_a_labeling():
    with pytest.raises(ParameterError, match=r"decode\(0, w\) must return a labeling, got None"):
        fwexp.predict(three_way(decode=lambda plain, i, w: None), np.zeros(6))
    with pytest.raises(ParameterError, match=r"y must hold labelings, got y\[1\] = None"):
        fwexp.CallbackProblem([0, None], features=min, loss=min, max_oracle=min)


@pytest.mark.parametrize("error", [KeyError("a"), ValueError("this volume is read-only"), ZeroDivisionError(), StopIteration(3)])
def test_errors_of_functions_pass_unchanged(error):
    def fail(plain, i, w):
        raise error

    with pytest.raises(type(error)) as caught:
        fwexp.solve(three_way(max_oracle=fail), "bcfw", lam=0.1)
    assert caught.value is error


# --- oracles that say nothing -----------------------------------------------------------------------------------------

SILENT = {
    "returns the truth": lambda truth, w: truth,
    "forgets the loss, and lets ties go to the truth": lambda truth, w: max((truth, 0, 1, 2), key=lambda label: w[label]),
}


def silent(max_oracle, y, **changes):
    """Three labels without inputs, and an oracle that gets the truth."""
    plain = {"features": lambda i, label: np.eye(3)[label], "loss": lambda i, label: abs(label - y[i])}
    return fwexp.CallbackProblem(y, max_oracle=lambda i, w: max_oracle(y[i], w), **plain | changes)


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("solver", ["auto", "bcfw", "fw", "ssg", "one_slack", "n_slack", "fcfw"])
def test_an_oracle_that_knows_less_than_other_examples_is_refused_before_the_first_step(name, check, solver):
    rows, message = [], r"max_oracle\(\d, w\) must .* loss 0, and y\[\d\] has loss\(\d, y\[\d\]\) = [12]; if y\[\d\] is no labeling"
    with pytest.raises(ParameterError, match=message):
        fwexp.solve(silent(SILENT[name], [0, 1, 2]), solver, lam=0.1, check=check, callback=rows.append)
    assert not rows
    with pytest.raises(ParameterError, match="at w = 0"):
        fwexp.regularization_path(silent(SILENT[name], [0, 1, 2]), lam_min=0.1)


def refuse(*_):
    raise LookupError


def test_every_answer_without_a_loss_is_compared():
    """Here the only one there is: the loss is forgotten, and ties go to the first label."""
    truths = [2, 1] * 20
    truths[17] = 0
    with pytest.raises(ParameterError, match=r"max_oracle\(17, w\) must .* at w = 0"):
        fwexp.solve(silent(lambda truth, w: int(np.argmax(w)), truths), "bcfw", lam=0.1)


FOREIGN = {  # reasons why labelings of others are none of this example
    "loss raises": ([0, 1, 2], {"loss": lambda i, label: 0.0 if label == i else refuse()}),
    "loss is negative": ([0, 1, 2], {"loss": lambda i, label: -float(label != i)}),
    "loss is NaN": ([0, 1, 2], {"loss": lambda i, label: 0.0 if label == i else np.nan}),
    "features raise": ([0, 1, 2], {"features": lambda i, label: np.ones(3) if label == i else refuse()}),
    "features are longer": ([0, 1, 2], {"features": lambda i, label: np.ones(3 + (label != i))}),
    "features are not finite": ([0, 1, 2], {"features": lambda i, label: np.full(3, 1.0 if label == i else np.inf)}),
    "another length": (["a", "ab", "abc"], {}),
    "another shape": ([np.zeros((1, 2)), np.zeros((2, 1)), np.zeros(2)], {}),
    "other lengths inside": ([([0],), ([0, 0],), ([0, 0, 0],)], {}),
    "another type": ([0, 1.0, "2"], {}),
    "no type of numpy's": ([frozenset({1}), frozenset({2, 3}), range(4)], {}),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("check", [False, True])
def test_labelings_that_are_none_of_an_example_prove_nothing(name, check):
    y, changes = FOREIGN[name]
    common = {"features": lambda i, label: np.ones(3), "loss": lambda i, label: float(label is not y[i] and label != y[i])}
    if isinstance(y[0], np.ndarray):
        common["loss"] = lambda i, label: float(label.shape != y[i].shape)
    result = fwexp.solve(silent(SILENT["returns the truth"], y, **common | changes), "fw", lam=0.1, max_passes=2, check=check)
    assert np.isnan(result.gap)


def test_to_compare_takes_some_losses_and_nothing_else():
    counts = []
    for compares in (True, False):
        asked = Counter()

        def counted(name, asked=asked):
            return lambda plain, *arguments: asked.update([name]) or plain(*arguments)

        problem = three_way(n=100, **{name: counted(name) for name in ("features", "loss", "max_oracle", "decode")})
        if not compares:
            problem._compared[:] = True
        fwexp.solve(problem, "fw", lam=0.1, max_passes=2)
        counts.append(asked)
    assert counts[0] - counts[1] == {"loss": 5 * 5}


@pytest.mark.parametrize("solver", ["auto", "bcfw", "fw", "ssg", "one_slack", "n_slack", "fcfw"])
@pytest.mark.parametrize("name", SILENT)
def test_without_a_labeling_that_has_a_loss_nothing_is_certified(name, solver):
    """Where all examples have one label, nothing else is known that could be compared."""
    result = fwexp.solve(silent(SILENT[name], [1, 1, 1]), solver, lam=0.1, max_passes=3)
    assert (result.primal, result.w.any()) == (0.0, False)
    assert np.isnan(result.gap)
    assert result.trace.gap.isna().all()
    assert "nothing is certified, since max_oracle found labelings without a loss only" in result.reason
    right = fwexp.solve(silent(lambda _, w: max((0, 1, 2), key=lambda y: abs(y - 1) + w[y]), [1, 1, 1]), solver, lam=0.1)
    assert "nothing" not in right.reason


def test_nor_is_a_path_or_a_grid():
    problem = silent(SILENT["returns the truth"], [1, 1, 1])
    path = fwexp.regularization_path(problem, lam_min=0.1)
    assert not path.certified
    assert not path.frame.certified.any()
    assert not fwexp.grid_search(problem, 0.1, lams=[1.0]).certified.any()


def test_what_is_compiled_is_trusted():
    """Where there is nothing to choose from, the gap is 0."""
    result = fwexp.solve(fwexp.multiclass_problem(np.eye(2), [0, 0], num_classes=1), "bcfw", lam=0.1)
    assert (result.gap, result.status) == (0.0, "converged")


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.longdouble])
@pytest.mark.parametrize("form", ["coo", "csr"])
def test_features_are_taken_in_float64_before_they_are_added_up(dtype, form):
    """In their own type two entries at one place would overflow, or be rounded."""
    large, small = (200, 100) if dtype in (np.uint8, np.int32) else (1.0, 2.0**-30)
    values, place = np.array([large, small], dtype), np.zeros(2, int)
    row = {"coo": sp.coo_array((values, (place, place)), shape=(1, 2)), "csr": sp.csr_array((values, place, [0, 2]), shape=(1, 2))}
    problem = fwexp.CallbackProblem(
        [0], features=lambda i, y: row[form] if y else [0, 0], loss=lambda i, y: float(y), max_oracle=lambda i, w: 1
    )
    assert fwexp.joint_feature(problem, 0, 1).toarray().tolist() == [[large + small, 0.0]]
    assert row[form].nnz == 2  # that of the caller is as it was


def almost_useless(max_oracle):
    """Three examples with two labels; features hardly help, so every wrong labeling has a value of about 1 at all small w."""
    return fwexp.CallbackProblem(
        [0] * 3, features=lambda i, y: np.array([1e-3 * y]), loss=lambda i, y: float(y), max_oracle=lambda i, w: max_oracle(i, w)
    )


@pytest.mark.parametrize("solver", ["bcfw", "fw", "fcfw"])
def test_a_dual_above_the_primal_is_an_error_that_names_the_example(solver):
    """No single answer is a lie: the truth has H = 0. But the dual variables know a better one."""
    common = {"lam": 1.0} | ({"order": np.tile([2, 0, 1], 50)} if solver == "bcfw" else {})
    assert fwexp.solve(almost_useless(lambda i, w: 1), solver, **common, schedule=1).status == "converged"
    blind = almost_useless(lambda i, w: int(i != 2 or not w.any()))
    message = "which cannot be: max_oracle of example 2 returned a labeling of value 0, but knows one of (1|0.999)"
    for schedule in (1, "default"):
        with pytest.raises(CertificateError, match=message):
            fwexp.solve(blind, solver, **common, schedule=schedule)
    calls = [0, 0, 0]

    def tires(i, w):
        calls[i] += 1
        return int(i != 2 or calls[i] <= 2)

    with pytest.raises(CertificateError, match="max_oracle does not maximise, or losses or features change between calls"):
        fwexp.solve(almost_useless(tires), solver, **common, schedule=1)
