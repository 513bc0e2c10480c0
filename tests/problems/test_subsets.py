"""Subsets, slices and masks of problems are what the constructors make of these examples."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems.full_pairs import FullPairsProblem
from tests.problems.test_weighted import FAMILIES


def arrays_of(problem):
    """All fields of a problem, features and weighted problems taken apart."""
    for name, value in zip(problem._fields, tuple(problem), strict=True):
        if isinstance(value, tuple):
            yield from ((f"{name}.{inner}", array) for inner, array in arrays_of(value))
        else:
            yield name, value


def graphs(which, num_labels):
    """Stars of different sizes."""
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(v, 2)) for v in range(1, 6)], [np.arange(v) % num_labels for v in range(1, 6)]
    edges = [np.array([[0, k] for k in range(1, v)], dtype=int).reshape(-1, 2) for v in range(1, 6)]
    Z = [np.ones((v - 1, 1)) * v for v in range(1, 6)]
    lists = [[values[i] for i in which] for values in (X, edges, Z, y)]
    return fwexp.segmentation_problem(*lists, num_labels=num_labels)


def poses(which):
    rng = np.random.default_rng(1)
    X, y = [rng.normal(size=(2 + i % 2, 3, 2)) for i in range(5)], [rng.integers(2, size=(2, 2)) for _ in range(5)]
    options = {"offsets": np.zeros((2, 2)), "reach": np.arange(1.0, 6.0)[list(which)]}
    return fwexp.pose_problem([X[i] for i in which], [y[i] for i in which], [-1, 0], **options)


def sparse_chains(which):
    rng = np.random.default_rng(2)
    X = [sp.random_array((2 + i, 30), density=0.2, rng=rng, format="csr") for i in range(5)]
    return fwexp.chain_problem([X[i] for i in which], [np.arange(2 + i) % 3 for i in which], 3)


ALL = {name: build for name, build in FAMILIES.items() if name != "functions"} | {
    "pose": poses,
    "sparse chains": sparse_chains,
    "segmentation": lambda which: graphs(which, 2),
    "multi-label": lambda which: graphs(which, 3),
}


@pytest.mark.parametrize("family", ALL)
def test_a_subset_is_the_problem_of_these_examples(family):
    whole = ALL[family](range(5))
    for given, which in [([3, 1, 1], [3, 1, 1]), (slice(-3, None), [2, 3, 4]), (np.arange(5) % 2 == 0, [0, 2, 4]), (-1, [4])]:
        part, wanted = whole[given], ALL[family](which)
        assert len(part) == part.n == len(which)
        for (name, got), (_, value) in zip(arrays_of(part), arrays_of(wanted), strict=True):
            np.testing.assert_array_equal(got, value, err_msg=name)
    assert len(pickle.loads(pickle.dumps(whole))) == len(copy.deepcopy(whole)) == len(whole._replace(d=whole.d)) == 5
    weighted = fwexp.weighted_problem(whole, [1, 2, 3, 4, 0])[[1, 3]]
    np.testing.assert_allclose(weighted.c, [2 / 3, 4 / 3])
    assert weighted.unweighted.n == len(weighted) == 2


def problem_of_functions():
    return fwexp.CallbackProblem(
        list("abcd"),
        features=lambda i, y: np.array([float(i), y == "z"]),
        loss=lambda i, y: float(y != "abcd"[i]),
        max_oracle=lambda i, w: "z",
        decode=lambda i, w: "abcd"[i],
        nonnegative=[1],
    )


def test_functions_keep_the_numbers_of_the_examples():
    part = problem_of_functions()[1:][[-1, 0]]
    assert (part.y, len(part), part.nonnegative.tolist()) == (["d", "b"], 2, [1])
    assert fwexp.joint_feature(part, 0, "z").toarray().tolist() == [[3.0, 1.0]]
    assert fwexp.predict(part, np.zeros(2)) == ["d", "b"]
    assert fwexp.evaluate(part, np.zeros(2)).hinge == 1.0
    assert len(fwexp.weighted_problem(part, [1, 2])[:1]) == 1


def test_some_examples_are_certified_no_more_than_all():
    """What is said of the class of a problem, such as that its oracle is not exact, is said of the class of its parts."""
    V = 17  # nodes on a cycle, which have more labelings than are tried
    edges = [np.column_stack([np.arange(V), np.arange(1, V + 1) % V])] * 3
    whole = FullPairsProblem([np.eye(V, 2)] * 3, edges, [np.ones((V, 1))] * 3, [np.arange(V) % 2] * 3, 2)
    for part in (whole[:2], fwexp.weighted_problem(whole, [1, 2, 1])[1:]):
        assert np.isnan(fwexp.solve(part, "bcfw", lam=0.1, max_passes=2).gap)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([], "indices must choose one example at least, got none"),
        (slice(4, 4), "indices must choose one example at least, got none"),
        ([4], r"indices must be a slice, a mask of length n = 4, or integers -4 .. 3, got 4"),
        ([-5], "got -5"),
        ([True], r"got bool of shape \(1,\)"),
        ([0.5], "indices must be a slice, .* got"),
        (slice("a", None), "indices must be a slice, .* got"),
    ],
)
def test_what_chooses_nothing_is_one_line(indices, message):
    for problem in (problem_of_functions(), fwexp.multiclass_problem(np.eye(4), [0, 1, 0, 1])):
        with pytest.raises(ParameterError, match=message) as error:
            problem.subset(indices)
        assert "\n" not in str(error.value)
