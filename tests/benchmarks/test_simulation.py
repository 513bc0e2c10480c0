"""The simulation of clusters, where what comes out is known by other ways."""

import dataclasses

import pytest

from benchmarks.simulation import Costs, Load, Machine, simulate

LONG = Costs(call=0.01, step=3e-4, message=4e-3, latency=1e-3)
ORACLES = Load("oracles", n=1000, sent=800, returned=800)
LOCAL = Load("local", n=10_000, sent=8e6, returned=4e6)


def test_workers_are_what_is_waited_for_until_the_main_process_is_full():
    rates = {workers: simulate(LONG, ORACLES, workers) for workers in (1, 8, 100)}
    assert rates[1].calls_per_second == pytest.approx(100, rel=0.01)
    assert rates[8].calls_per_second == pytest.approx(800, rel=0.02)
    full = 1 / (LONG.step + LONG.message / ORACLES.tau)
    assert rates[100].calls_per_second == pytest.approx(full, rel=0.02)
    assert [found.bottleneck for found in rates.values()] == ["workers", "workers", "messages"]


def test_bytes_and_steps_fill_the_main_process():
    large = dataclasses.replace(ORACLES, sent=8e6)
    found = simulate(dataclasses.replace(LONG, byte=5e-9), large, 100)
    assert found.bottleneck == "bytes"
    assert found.calls_per_second == pytest.approx(10 / (4e-3 + 0.04 + 3e-3), rel=0.03)
    assert simulate(dataclasses.replace(LONG, step=2e-3), ORACLES, 100).bottleneck == "steps"


@pytest.mark.parametrize("workers", [1, 4, 64])
def test_a_round_takes_the_sum_of_what_follows_one_another(workers):
    """All messages to workers one by one, the last worker's steps, and sums by eights."""
    costs = Costs(work=1e-3, message=1e-3, exchange=2e-3, latency=5e-3, byte=1e-9)
    found = simulate(costs, LOCAL, workers)
    merged = -(-workers // 8) * (workers > 8)
    seconds = workers * (1e-3 + 8e-3) + 5e-3 + 5.0 / workers + merged * 1e-3 + 5e-3 * (workers > 8)
    seconds += min(workers, 8) * 4e-3 + 2e-3
    assert 5000 / found.calls_per_second == pytest.approx(seconds, rel=0.01)


def test_cores_are_shared():
    costs = Costs(work=1e-3)
    alone = simulate(costs, LOCAL, 4).calls_per_second
    shared = simulate(costs, LOCAL, 4, Machine(2)).calls_per_second
    assert (alone, shared) == pytest.approx((4000, 2000), rel=0.01)
    assert simulate(costs, LOCAL, 4, Machine(2, turns=1.25)).calls_per_second == pytest.approx(1600, rel=0.01)
    assert simulate(costs, LOCAL, 2, Machine(2, crowded=1.25)).calls_per_second == pytest.approx(1600, rel=0.01)
    assert simulate(costs, LOCAL, 1, Machine(2, alone=1.25)).calls_per_second == pytest.approx(800, rel=0.01)
    assert simulate(costs, LOCAL, 2, Machine(2, idle=0.5)).calls_per_second == pytest.approx(1500, rel=0.05)
    assert simulate(LONG, ORACLES, 8, Machine(2)).calls_per_second == pytest.approx(800, rel=0.05)  # they sleep


def test_copies_of_all_blocks_come_to_one_place():
    found = simulate(Costs(work=1e-5, copy=1e-4), LOCAL, 1000)
    assert found.bottleneck == "copies"
    rate = simulate(Costs(work=1e-5, copy=1e-4), dataclasses.replace(LOCAL, snapshot=1e9), 1000).calls_per_second
    assert rate > 10 * found.calls_per_second


def test_nothing_that_is_full_is_waiting():
    assert simulate(Costs(work=1e-6, message=1e-4, latency=0.1), LOCAL, 8).bottleneck == "rounds"
