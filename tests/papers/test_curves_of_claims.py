"""Tests of the functions that criteria call on curves: orderings, signs, rates and levels."""

import numpy as np
import pandas as pd
import pytest

from fwexp.papers.claims.runs import Curves, Runs, below, interval, is_linear, passes_by_decade, sign
from fwexp.papers.claims.verdict import Undecided


def curve(*rows, x=(1.0, 2.0, 4.0), name="c"):
    return Curves(name, [np.array(x)] * len(rows), [np.array(row) for row in rows], [np.nan] * len(rows))


def test_an_ordering_is_decided_by_an_interval_over_the_seeds():
    lower, upper = (
        curve([1.0, 1.0, 1.0], [1.1, 1.0, 1.0], [1.0, 1.1, 1.0]),
        curve([3.0, 1.0, 3.0], [3.1, 1.0, 3.0], [3.0, 1.1, 3.1]),
    )
    found = below(lower, upper, 1.0, 4.0)
    assert (found.lower, found.always, found.somewhere) == (True, None, True)  # at the second point they do not differ
    assert found.share == pytest.approx(2 / 3)
    assert (found.least, found.most, found.points) == pytest.approx((1, 3.1, 3))
    other = below(upper, lower, 1.0, 4.0)
    assert (other.lower, other.always, other.somewhere) == (False, False, False)
    assert below(lower, lower, 1.0, 4.0).lower is None
    one = below(lower, curve([0.5, 0.5, 0.5]), 1.0, 4.0)  # a method without seeds
    assert (one.lower, one.always) == (False, False)
    assert below(curve([0.5, 0.5, 0.5]), lower, 1.0, 4.0).always
    with pytest.raises(Undecided, match="c has 3 seeds, c has 2"):
        below(lower, curve([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]), 1.0, 4.0)


@pytest.mark.parametrize(
    ("values", "told"),
    [([1.0], True), ([-1.0], False), ([0.0], None), ([1.0, 1.1, 0.9], True), ([-1.0, -0.1], None), ([1.0, np.inf], None)],
)
def test_a_sign_needs_more_than_chance(values, told):
    assert sign(values) is told


def test_a_local_rate_stays_where_convergence_is_linear():
    x = np.arange(1.0, 200.0)
    assert passes_by_decade(x, np.exp(-x / 10)) == pytest.approx([10 * np.log(10)] * 2, rel=0.01)
    slow = passes_by_decade(x, 1 / x)
    assert slow[1] == pytest.approx(10 * slow[0], rel=0.01)
    assert passes_by_decade(x, 1 / np.sqrt(x)) is None


def test_a_rate_is_fitted_with_an_interval():
    x = np.geomspace(1.0, 100.0, 20)
    exact = Curves("c", [x] * 3, [factor * x**-1.5 for factor in (1, 2, 3)], [np.nan] * 3).rate(1.0, 100.0)
    assert exact == pytest.approx((-1.5, -1.5, -1.5))
    wide = interval([0.0, 1.0, 2.0])
    assert wide.low == pytest.approx(1 - 4.3027 / np.sqrt(3), abs=1e-4)


def test_a_linear_rate_is_told_from_a_power_law():
    x = np.arange(1.0, 50.0)
    assert is_linear(x, np.exp(-x / 5))
    assert not is_linear(x, 1 / x)
    assert not is_linear(x, np.exp(x / 5))  # it rises
    with pytest.raises(Undecided, match="5 logged points, a rate needs 6"):
        is_linear(x[:5], np.exp(-x[:5]))


def test_a_range_has_to_be_covered():
    with pytest.raises(Undecided, match="c is logged until 4, the criterion looks at 1 to 10"):
        curve([1.0, 1.0, 1.0]).logged(1.0, 10.0)


def test_levels_are_reached_by_a_power_law():
    assert curve([8.0, 4.0, 1.0], [8.0, 7.0, 6.0]).until(2.0).tolist() == pytest.approx([2 * 2**0.5, np.inf])


def test_a_diverged_run_goes_on_at_infinity():
    found = Curves("c", [np.array([1.0, 2.0]), np.array([1.0, 2.0, 4.0])], [np.ones(2), np.ones(3)], [np.inf, np.nan])
    assert found.in_range(1.0, 4.0).tolist() == [[1, 1, np.inf], [1, 1, 1]]


def test_a_modelled_time_has_the_calls_at_a_given_cost():
    place = {"dataset": "ocr", "solver": "bcfw", "lam": 0.1, "task": "train", "seed": 0, "key": "k"}
    place |= {"iterate": "last", "status": "stopped"}
    counted = {"primal": [2.0, 1.5], "dual": [0.0, 1.0], "gap": [2.0, 0.5], "passes": [0.0, 3.0]}
    counted |= {"oracle_calls": [0, 30], "time": [0.25, 1.0]}
    runs = Runs(pd.DataFrame(counted).assign(**place))
    assert runs.curves("bcfw", "gap", "time", call=0.1).x[0].tolist() == [0.25, 4.0]
    assert runs.curves("bcfw", "gap", "time").x[0].tolist() == [0.25, 1.0]
    assert runs.curves("bcfw", "gap", "oracle_calls", call=1.0).x[0].tolist() == [0.0, 60.0]
