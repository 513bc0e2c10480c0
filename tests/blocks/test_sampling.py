"""Random choices: a stream that does not depend on the portions in which it is drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.blocks.sampling import fixed_order_draws, order_draws, uniform_draws
from fwexp.errors import ParameterError
from fwexp.tasks.training_settings import check_order
from tests import small_problems

WEIGHTS = np.array([1.0, 0.0, 3.0, 2.0, 0.5])
RULES = ["uniform", "perm", "cyclic", "lipschitz"]


def stream(rule, n=5, seed=0):
    return uniform_draws(seed) if rule == "numbers" else order_draws(rule, n, seed, WEIGHTS)


@given(st.sampled_from([*RULES, "numbers"]), st.lists(st.integers(0, 13), max_size=8), st.integers(0, 5))
def test_portions_equal_the_whole(rule, portions, seed):
    whole = stream(rule, seed=seed).take(sum(portions))
    draws = stream(rule, seed=seed)
    parts = []
    for count in portions:
        draws.peek(count + 3)  # looking ahead uses nothing up
        parts.append(draws.take(count))
        assert len(parts[-1]) == count
    np.testing.assert_array_equal(np.concatenate([*parts, whole[:0]]), whole)


def test_passes_visit_every_example_once():
    for rule in ("perm", "cyclic"):
        passes = stream(rule).take(500).reshape(100, 5)
        np.testing.assert_array_equal(np.sort(passes, axis=1), np.tile(np.arange(5), (100, 1)))
    assert len({tuple(row) for row in stream("perm").take(500).reshape(100, 5)}) > 50


@pytest.mark.parametrize(("rule", "expected"), [("uniform", np.full(5, 0.2)), ("lipschitz", WEIGHTS / WEIGHTS.sum())])
def test_frequencies_are_the_probabilities(rule, expected):
    draws = 20_000
    counts = np.bincount(stream(rule).take(draws), minlength=5)
    # Within 4.5 standard deviations, for this seed.
    assert (np.abs(counts - draws * expected) <= 4.5 * np.sqrt(draws * expected * (1 - expected))).all()


def test_given_order_ends():
    draws = fixed_order_draws(np.array([4, 2, 0]))
    np.testing.assert_array_equal(draws.peek(2), [4, 2])
    draws.drop(1)
    np.testing.assert_array_equal(draws.take(10), [2, 0])
    assert len(draws.peek(5)) == 0


def test_order_is_taken_as_int64():
    for order in ([0, 1, 2], (0, 1, 2), np.arange(3, dtype=np.uint8), range(3)):
        checked = check_order(order, 3, 3)
        assert checked.dtype == np.int64
        np.testing.assert_array_equal(checked, [0, 1, 2])


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 1], "order must hold an index for each of 3 steps, got 2"),
        ([], "an index for each of 3 steps, got 0"),
        ([0, 1, 5], "order must hold indices 0 .. 4, got 5"),
        ([0, -1, 1], "order must hold indices 0 .. 4, got -1"),
        ([0.0, 1.0, 2.0], "order must be a vector of integers, got float64"),
        ([[0, 1, 2]], "got shape \\(1, 3\\)"),
        ([True, False, True], "vector of integers"),
        (3, "vector of integers"),
    ],
)
def test_other_orders_are_refused_on_one_line(order, message):
    with pytest.raises(ParameterError, match=message):
        check_order(order, 5, 3)


@pytest.mark.parametrize(("refresh", "steps"), [(0.0, 12), (1.0, 6), (2.0, 9), (3.0, 9)])
def test_an_order_holds_an_index_for_each_step(refresh, steps):
    """A refresh pass takes oracle calls, but no step."""
    _, problem = small_problems.chain("dense", 0, n=3)
    settings = {"lam": 0.1, "max_passes": 4, "gap_tol": 0, "refresh": refresh, "iterates": ["last"]}
    result = fwexp.solve(problem, "bcfw", order=np.arange(steps) % 3, **settings)
    assert result.trace["step"].iloc[-1] == steps
    with pytest.raises(ParameterError, match=f"an index for each of {steps} steps"):
        fwexp.solve(problem, "bcfw", order=np.arange(steps - 1) % 3, **settings)
