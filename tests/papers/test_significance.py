import numpy as np
import pytest
from scipy import stats

from fwexp.papers.significance import LEAST, holm, mean_ranks, median_interval, signed_ranks

CENSORED = stats.norm.ppf(0.6)


def costs(kind, rng, shape):
    """Costs whose distribution has a known median, which is returned with them."""
    normal = rng.normal(size=shape)
    match kind:
        case "normal":
            return 10 + normal, 10.0
        case "lognormal":
            return np.exp(2 * normal), 1.0
        case "censored":  # four of ten seeds never get there
            return np.where(normal > CENSORED, np.inf, np.exp(normal)), 1.0
        case "two modes":
            return np.where(normal < CENSORED, 1.0, 5.0) + rng.uniform(size=shape), 1 + 0.5 / 0.6


@pytest.mark.parametrize("seeds", [6, 7, 10, 20])
@pytest.mark.parametrize("kind", ["normal", "lognormal", "censored", "two modes"])
def test_nominal_intervals_cover_the_median(kind, seeds):
    samples, median = costs(kind, np.random.default_rng(0), (2000, seeds))
    low, high = np.transpose([median_interval(sample) for sample in samples])
    assert 0.92 < np.mean((low <= median) & (median <= high)) < 0.985


def test_intervals_are_interpolated_order_statistics():
    """The example of Hettmansperger and Sheather's method by hand: 10 values, 97.9 % between the second ones, 89.1 % the third."""
    share = (0.978515625 - 0.95) / (0.978515625 - 0.890625)
    inward = 8 * share / (2 + 6 * share)
    assert median_interval(np.arange(10.0)) == pytest.approx((1 + inward, 8 - inward))
    assert median_interval(np.arange(10.0), 0.978515625) == (1, 8)
    assert np.isnan(median_interval(np.arange(LEAST - 1))).all()
    assert np.isfinite(median_interval(np.arange(LEAST))).all()
    assert median_interval([1.0] * 10) == (1, 1)
    assert median_interval([np.inf] * 10) == (np.inf, np.inf)
    low, high = median_interval([1, 2, 3, 4, 5, 6, 7, 8, np.inf, np.inf])
    assert (2 < low < 3, high) == (True, np.inf)


def test_signed_ranks_are_those_of_wilcoxon():
    rng = np.random.default_rng(1)
    one, other = np.exp(rng.normal(size=(2, 12)))
    found = signed_ranks(one, other)
    assert found.p == pytest.approx(stats.wilcoxon(np.log(one) - np.log(other)).pvalue)
    assert (found.pairs, found.ratio) == (12, pytest.approx(np.median(one / other), rel=0.05))
    assert signed_ranks(other, one).p == pytest.approx(found.p)
    assert signed_ranks(np.arange(1, 7), 2 * np.arange(1, 7))[1:] == pytest.approx((0.5, 2 / 2**6))


def test_costs_may_be_infinite_or_zero():
    never = signed_ranks([1, 2, 3, 4, 5, 6], [np.inf] * 6)
    assert never == (6, 0.0, 2 / 2**6)
    assert signed_ranks([np.inf] * 6, [1, 2, 3, 4, 5, 6]) == (6, np.inf, 2 / 2**6)
    assert signed_ranks([np.inf, 0, 1], [np.inf, 0, 1]) == (3, 1.0, 1.0)
    assert signed_ranks([0] * 6, [1] * 6).ratio == 0
    assert signed_ranks([0, 1], [1, 0]).p == 1  # as often one as the other
    for one, other in (([0, 1], [1, 0]), ([1, np.inf], [np.inf, 1])):  # neither side is ahead
        assert np.isnan([signed_ranks(one, other).ratio, signed_ranks(other, one).ratio]).all()
    assert (signed_ranks([0, 1, 2], [1, 0, 1]).ratio, signed_ranks([0, 2], [1, 1]).ratio) == (2.0, 0.0)
    # An extreme ratio has the largest rank: the sum of the others' ranks is 10 of 15, in favour of the first.
    assert signed_ranks([1, 1, 1, 1, 9], [2, 3, 4, 5, np.inf]).p == pytest.approx(2 / 2**5)


def test_holm_steps_down():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.02]) == pytest.approx([0.02])
    assert holm([]).shape == (0,)


def test_ranks_are_those_of_friedman_and_nemenyi():
    costs = np.random.default_rng(0).random((12, 4))
    costs[3, 1] = costs[3, 2]
    found = mean_ranks(costs)
    assert found.means.sum() == pytest.approx(10)
    assert found.p == pytest.approx(stats.friedmanchisquare(*costs.T).pvalue)
    # Table 5 of Demsar (2006), for 2, 3, 4, 5 and 10 methods; critical differences are these times sqrt(k (k + 1) / 6 N).
    for methods, quantile in ((2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)):
        difference = mean_ranks(np.arange(8.0 * methods).reshape(8, methods)).difference
        assert difference == pytest.approx(quantile * np.sqrt(methods * (methods + 1) / 48), abs=1e-3)
    assert mean_ranks(np.ones((6, 3)))[:3] == (pytest.approx([2, 2, 2]), 6, 1.0)
    assert mean_ranks(np.array([[1, np.inf, np.inf]] * 6)).means == pytest.approx([1, 2.5, 2.5])
