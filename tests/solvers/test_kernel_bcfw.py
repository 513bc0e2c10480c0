"""kernel_bcfw and kernel_fw: the linear kernel is the plain method, other kernels equal the literal transcription."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.blocks import active_set
from fwexp.driver.iteration import Budget
from fwexp.problems.evaluation import Evaluator
from fwexp.solvers import kernel_bcfw
from tests import reference as ref
from tests.reference.examples import multiclass, order_of
from tests.small_problems import ARRAYS, as_form, at_start, chain, inputs

BIG = 10**9
LAM = 0.1
ITERATES = ("last", "wavg", "tavg", "avg")
start = partial(at_start, "kernel_bcfw", lam=LAM)
KERNELS = {
    "linear": ({"kernel": "linear"}, np.dot),
    "poly": ({"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}, lambda a, b: (0.5 * a @ b + 1.0) ** 2),
    "rbf": ({"kernel": "rbf", "gamma": 0.7}, lambda a, b: np.exp(-0.7 * (a - b) @ (a - b))),
}


def explicit(X, k):
    """Return inputs whose inner products are the kernel values of those in X."""
    rows = np.vstack(X)
    values, vectors = np.linalg.eigh([[k(a, b) for b in rows] for a in rows])
    return np.split(vectors * np.sqrt(np.maximum(values, 0.0)), np.cumsum([len(x) for x in X])[:-1])


def chains(k):
    X, y = inputs("dense", 0)
    return ref.tiny_chain(explicit(X, k), y, 3), as_form("dense", X, y, 3)


def classes(k):
    X, y = multiclass(0)
    return ref.tiny_multiclass(explicit([X], k)[0], y, 3), fwexp.multiclass_problem(X, y, 3)


STRUCTURES = [chains, classes, pytest.param(chains, id="chains, compiled", marks=[pytest.mark.slow, pytest.mark.compiled])]


def objectives(tp, a):
    """Return P, D and the number of support vectors of dual variables; true labelings are none."""
    A, b, blocks = ref.dual_matrices(tp, LAM)
    w, truth = A @ a, [block[j] for block, j in zip(blocks, tp.truth, strict=True)]
    return ref.primal(tp, w, LAM), ref.dual_value(w, b @ a, LAM), np.count_nonzero(np.delete(a, truth))


@pytest.mark.parametrize("line_search", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_steps_equal_the_transcription(structure, kernel, line_search):
    options, k = KERNELS[kernel]
    tp, problem = structure(k)
    order = order_of(tp, 4)
    last = ref.dual_points(tp, LAM, order[:, None], line_search)
    paths = {"last": last, "wavg": ref.wavg(last)}
    solver = start(problem, order=order, iterates=tuple(paths), line_search=line_search, **options)
    evaluate = Evaluator(solver.problem)
    for step in range(len(order) + 1):
        solver.advance(Budget(BIG, step))
        assert solver.step == solver.oracle_calls == step
        for name, path in paths.items():
            point = solver.point(name)
            value = evaluate(point.w)
            assert (LAM / 2 * value.norm_sq + value.hinge, point.dual) == pytest.approx(objectives(tp, path[step])[:2], abs=1e-10)
            assert point.norm_sq == pytest.approx(value.norm_sq, abs=1e-10)
        assert solver.extras()["atoms"] == objectives(tp, last[step])[2] <= step
    assert solver.exact_dual() == pytest.approx(objectives(tp, last[-1])[1], abs=1e-10)


@pytest.mark.parametrize("line_search", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_batch_steps_equal_the_transcription(structure, kernel, line_search):
    options, k = KERNELS[kernel]
    tp, problem = structure(k)
    points = ref.dual_points(tp, LAM, [range(tp.n)] * 15, line_search)
    how = {"lam": LAM, "max_passes": 15, "gap_tol": 0, "schedule": 1, "line_search": line_search}
    trace = fwexp.solve(problem, "kernel_fw", **how, **options).trace
    np.testing.assert_allclose(trace[["primal", "dual", "atoms"]], [objectives(tp, a) for a in points], atol=1e-10)
    assert trace["oracle_calls"].iloc[-1] == 15 * tp.n


@pytest.mark.parametrize("line_search", [True, False])
@pytest.mark.parametrize("form", ["dense", "multiclass"])
def test_the_linear_kernel_is_the_plain_method(form, line_search):
    if form == "multiclass":
        X, y = multiclass(2, n=20, K=4, p=3)
        costs = np.random.default_rng(0).random((4, 4)) * (1.0 - np.eye(4))
        train, test = (fwexp.multiclass_problem(X[part], y[part], 4, costs=costs) for part in (slice(10), slice(10, 20)))
    else:
        train, test = chain(form, 2, n=8)[1], chain(form, 3, n=6)[1]
    arguments = {"lam": LAM, "max_passes": 25, "gap_tol": 0, "seed": 1, "iterates": ITERATES, "test": test, "train_error": True}
    plain, kernelised = (fwexp.solve(train, name, line_search=line_search, **arguments) for name in ("bcfw", "kernel_bcfw"))
    for column in ("step", "oracle_calls", "primal", "dual", "gap", "train_error", "test_error"):
        np.testing.assert_allclose(kernelised.trace[column], plain.trace[column], atol=1e-10)
    for name in ("primal", "dual", "gap"):
        assert getattr(kernelised, name) == pytest.approx(getattr(plain, name), abs=1e-10)
    for problem in (train, test):
        for got, wanted in zip(kernelised.predict(problem), plain.predict(problem), strict=True):
            np.testing.assert_array_equal(got, wanted)


def kernel_predictions(solver, X, K, k):
    """Labels of the sequences in X by trying all: scores are sums of kernel values over the support, written out."""
    sets, train = solver.sets, solver.user_problem
    Z = [train.x.values[a:b] for a, b in zip(train.label_ptr[:-1], train.label_ptr[1:], strict=True)]
    support = []  # (coefficient, inputs, labels) of phi(x_i, y_i) - phi(x_i, y)
    for i, z in enumerate(Z):
        truth = train.labels[train.label_ptr[i] : train.label_ptr[i + 1]]
        for a in range(sets.count[i]):
            weight = sets.weight[sets.first[i] + a]
            support += [(weight, z, truth), (-weight, z, active_set.labeling_at(sets, i, a))]

    def score(x, y):
        total = 0.0
        for c, z, labels in support:
            value = sum(k(x[s], z[t]) for s in range(len(x)) for t in range(len(z)) if y[s] == labels[t])
            transitions = list(pairwise(labels))
            value += int(y[0] == labels[0]) + int(y[-1] == labels[-1])
            value += sum(transitions.count(pair) for pair in pairwise(y))
            total += c * value
        return total

    return [max(ref.chain_labelings(len(x), K), key=lambda y, x=x: score(x, y)) for x in X]


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_predictions_and_errors_on_new_inputs(kernel):
    options, k = KERNELS[kernel]
    X, y = inputs("dense", 4, n=6)
    new_X, new_y = inputs("dense", 5, n=5)
    train, test = as_form("dense", X, y, 3), as_form("dense", new_X, new_y, 3)
    result = fwexp.solve(train, "kernel_bcfw", lam=LAM, max_passes=10, gap_tol=0, test=test, iterate="last", **options)
    wanted = kernel_predictions(result.state, new_X, 3, k)
    for got, labels in zip(result.predict(test), wanted, strict=True):
        np.testing.assert_array_equal(got, labels)
    errors = [np.mean(np.array(labels) != truth) for labels, truth in zip(wanted, new_y, strict=True)]
    last = result.trace[result.trace.iterate == "last"]
    assert last["test_error"].iloc[-1] == pytest.approx(np.mean(errors))
    # in sparse form the test inputs are the same
    sparse = as_form("csr", new_X, new_y, 3)
    for got, labels in zip(result.predict(sparse), wanted, strict=True):
        np.testing.assert_array_equal(got, labels)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", ARRAYS)
def test_inputs_may_be_kept_in_any_way(form, kernel):
    # many columns of zeros make sparse rows stay sparse
    X, y = inputs(form, 6)
    wide = [np.hstack([x, np.zeros((len(x), 40))]) for x in X]
    options = KERNELS[kernel][0]
    dense, sparse = as_form("dense", X, y, 3), fwexp.chain_problem([sp.csr_array(x) for x in wide], y, 3)
    solvers = [start(problem, order=order_of(ref.tiny_chain(X, y, 3), 4), **options) for problem in (dense, sparse)]
    for solver in solvers:
        solver.advance(Budget(BIG, BIG))
    assert {type(solver.problem.x.x).__name__ for solver in solvers} == {"DenseFeatures", "SparseFeatures"}
    one, other = (solver.point("last") for solver in solvers)
    np.testing.assert_allclose(other.w, one.w, atol=1e-10)
    assert other.dual == pytest.approx(one.dual, abs=1e-10)


def test_gamma_is_one_over_the_number_of_features_by_default():
    problem = fwexp.multiclass_problem(np.eye(4), [0, 1, 2, 0])
    default, given = (start(problem, kernel="rbf", **options) for options in ({}, {"gamma": 0.25}))
    assert default.problem.x.kernel == given.problem.x.kernel


def test_memory_is_as_stated():
    rng = np.random.default_rng(7)
    X = [rng.normal(size=(length, 3)) for length in (3, 5, 4, 6, 2)]
    problem = fwexp.chain_problem(X, [rng.integers(8, size=len(x)) for x in X], 8)
    solver = start(problem, iterates=("last", "wavg"), kernel="rbf", lam=1e-3)
    solver.advance(Budget(BIG, 200))
    N, K, sets = len(problem.labels), 8, solver.sets
    extra = (2 + K) * K * 8  # the parts without inputs
    assert solver.state.iterate.w.nbytes == 8 * N * K + extra
    assert solver.state.averages.sums.nbytes == 8 * N * K + K * K * 8
    lengths, room = np.diff(problem.label_ptr), np.diff(sets.first)
    stated = (room * (16 + 4 * lengths + 4 * (room + 1))).sum()
    assert sum(array.nbytes for array in (sets.weight, sets.loss, sets.storage, sets.gram)) == stated
    assert room.max() > kernel_bcfw.FIRST_ROOM
    assert (room <= np.maximum(2 * sets.count, kernel_bcfw.FIRST_ROOM)).all()


def test_warm_start_keeps_the_dual_variables_under_another_lam_and_kernel():
    problem = chain("dense", 8)[1]
    first = start(problem, kernel="poly", degree=2)
    first.advance(Budget(BIG, 60))
    for options in ({"kernel": "poly", "degree": 2}, {"kernel": "rbf"}):
        again = start(problem, lam=0.5 * LAM, warm_start=first, **options)
        assert again.state.iterate.ell[0] == pytest.approx(first.state.iterate.ell[0], abs=1e-12)
        assert again.extras() == first.extras()
        assert again.point("last").dual == pytest.approx(again.exact_dual(), abs=1e-12)
        again.advance(Budget(BIG, 60))
        assert again.exact_dual() == pytest.approx(again.point("last").dual, abs=1e-10)
    same = start(problem, lam=0.5 * LAM, warm_start=first, kernel="poly", degree=2)
    assert same.state.iterate.w_sq[0] == pytest.approx(4.0 * first.state.iterate.w_sq[0], rel=1e-10)
