"""Subsets, slices and masks of problems are what the constructors make of these examples."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems.full_pairs import FullPairsProblem


def arrays_of(problem):
    """All fields of a problem, features and weighted problems taken apart."""
    for name, value in zip(problem._fields, tuple(problem), strict=True):
        if isinstance(value, tuple):
            yield from ((f"{name}.{inner}", array) for inner, array in arrays_of(value))
        else:
            yield name, value


RNG = np.random.default_rng(0)
SIZES = range(1, 6)
FAMILIES = {  # constructors, what each example has of an argument, and the other arguments; others: tests/problems/test_wrappers.py
    "sparse chain": (
        fwexp.chain_problem,
        {
            "X": [sp.csr_array(RNG.random((size, 30)) * (RNG.random((size, 30)) < 0.2)) for size in SIZES],
            "y": [np.arange(size) % 3 for size in SIZES],
        },
        {"num_states": 3},
    ),
    "sparse classes": (
        fwexp.multiclass_problem,
        {"X": RNG.normal(size=(5, 3)) * (RNG.random((5, 3)) < 0.5), "y": [0, 2, 1, 1, 0]},
        {"num_classes": 3, "costs": np.arange(3) * (1 - np.eye(3))},
    ),
    "poses with a reach of their own": (
        fwexp.pose_problem,
        {
            "X": [RNG.normal(size=(2 + i % 2, 3, 4)) for i in range(5)],
            "y": [RNG.integers(2, size=(2, 2)) for _ in SIZES],
            "reach": np.arange(1.0, 6.0),
        },
        {"parents": [-1, 0], "offsets": np.zeros((2, 2))},
    ),
}


def made_of(family, which):
    """Return the problem of some examples, by its constructor."""
    constructor, examples, others = FAMILIES[family]
    return constructor(**{name: [values[i] for i in which] for name, values in examples.items()}, **others)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_subset_is_the_problem_of_these_examples(family):
    whole = made_of(family, range(5))
    for given, which in [([3, 1, 1], [3, 1, 1]), (slice(-3, None), [2, 3, 4]), (np.arange(5) % 2 == 0, [0, 2, 4]), (-1, [4])]:
        part, wanted = whole[given], made_of(family, which)
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
        with pytest.raises(ParameterError, match=message):
            problem.subset(indices)
