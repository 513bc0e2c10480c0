"""``make bench ARGS=roofline``: counts by hand, and that every oracle has a line; how long it takes is no matter for tests."""

import pytest

from benchmarks import roofline
from benchmarks.families import FAMILIES, LOG_LOSS, Work, chain_work, problem_of
from benchmarks.roofline import Peaks
from fwexp.problems.loss_terms import HINGE
from tests import small_problems

BY_HAND = {
    # 2 x 3 scores of 4 products and 4 sums, 6 losses, 9 pairs of labels with a sum and a maximum each
    "chain": ({"T": 2, "K": 3, "p": 4}, Work(48 + 6 + 18, 8 * 8, 8 * (24 + 24 + 9))),
    "multiclass": ({"K": 3, "p": 4}, Work(24 + 3 + 3, 8 * 4, 8 * 12)),
    "matching": ({"T": 2, "p": 3}, Work(24 + 4, 8 * 12, 8 * (12 + 16))),
    "segmentation": ({"T": 3, "p": 2}, Work(24 + 3, 8 * 6, 8 * (12 + 18 + 18))),
    "multilabel": ({"T": 3, "K": 2, "p": 2}, Work(24 + 6, 8 * 6, 8 * (12 + 2 * (18 + 18)))),
    # 8 scores of 3 features and 8 losses; one message over 4 cells in two directions, and its sum
    "pose": ({"T": 2, "K": 2, "p": 3}, Work(48 + 8 + 4 * (14 + 14 + 1), 8 * 12, 8 * (24 + 32 + 4 * (3 + 3 + 3)))),
    "callback": ({"K": 3, "p": 4}, Work(24 + 3 + 3, 8 * 4, 8 * 12)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_counts_are_those_by_hand(name):
    sizes, expected = BY_HAND[name]
    assert FAMILIES[name].work(n=5, **sizes) == expected


def test_ones_are_added_only_and_have_no_values():
    assert chain_work(2, 3, 4, 1, 4) == Work(24 + 6 + 18, 4 * 8, 8 * (24 + 24 + 9))
    assert chain_work(1, 3, 4) == Work(24 + 3, 8 * 4, 8 * (12 + 12))  # no pairs of labels
    assert FAMILIES["chain, sparse"].work(n=5, T=2, K=3, p=100) == chain_work(2, 3, 10, 1, 4)


def test_a_distribution_has_messages_both_ways_pairs_and_exponentials():
    assert LOG_LOSS.work(n=5, T=2, K=3, p=4) == Work(48 + 3 * 18 + 30 * (6 + 9), 8 * 8, 8 * (24 + 48 + 2 * 9))


@pytest.mark.parametrize("name", [name for name in BY_HAND if name != "callback"])
def test_data_are_the_bytes_of_the_inputs(name):
    sizes = {"n": 5, **BY_HAND[name][0]}
    x = problem_of(name, **sizes).x
    arrays = x if isinstance(x, tuple) else (x,)
    assert sum(array.nbytes for array in arrays) == 5 * FAMILIES[name].work(**sizes).data


def test_the_roofline_is_the_longer_of_both_times():
    peaks = Peaks(operations=10.0, cached=5.0, streamed=2.0)
    assert roofline.roofline(Work(100.0, 10.0, 20.0), peaks) == (10.0, "operations")
    assert roofline.roofline(Work(100.0, 14.0, 20.0), peaks) == (11.0, "bytes")


def test_every_oracle_has_a_line_with_its_factor_and_the_reason(monkeypatch, capsys):
    _, problem = small_problems.chain("functions", 0, n=4)
    monkeypatch.setattr(roofline, "oracles", lambda: [("one", problem, HINGE, Work(2000.0, 8.0, 8.0), "it waits")])
    monkeypatch.setattr(roofline, "oracle_seconds", lambda problem, objective: 4 * 6e-6)
    monkeypatch.setattr(roofline, "operations_per_second", lambda: 1e9)
    monkeypatch.setattr(roofline, "bytes_per_second", lambda size: 1e9)
    (row,) = roofline.beside_rooflines("U", lambda: 12e-6)
    assert (row.quantity, row.median) == ("oracle pass, one", pytest.approx(2.0))
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.split()[:4] == ["one", "6.000", "2.000", "3.0"]
    assert line.endswith("operations  it waits")


def test_every_family_has_a_reason():
    assert all(family.why for family in (*FAMILIES.values(), LOG_LOSS))
