"""later_bcfw: chains, joint steps and skipped oracles do what the papers after 2016 say."""

import numpy as np
import pytest

import fwexp
from fwexp.driver.iteration import Budget
from fwexp.errors import UserError
from fwexp.experiments.theory import chains, small
from fwexp.solvers.later_bcfw import GroupDraws
from tests.small_problems import at_start

MANY = 2**40
LAM = 0.1


def start(outputs, seed=0, **options):
    return at_start("later_bcfw", small.as_problem(outputs), LAM, seed=seed, **options)


def points(outputs, steps, **options):
    """Return w after 0, 1, ... steps."""
    return small.iterates(outputs, "later_bcfw", LAM, steps, **options)[0]


def image(outputs, a):
    return np.einsum("im,imd->d", a, outputs.psi) / (LAM * outputs.n)


def best_pair(outputs, a, i):
    """Take a pairwise step of block i from the away corner of the best improvement, tried one by one."""
    n, m, _ = outputs.psi.shape
    g = small.augmented(outputs, image(outputs, a))[i] / n
    s, tried = g.argmax(), [(0.0, a[i])]
    for v in np.flatnonzero(a[i] > 0):
        d = np.eye(m)[s] - np.eye(m)[v]
        length = ((d @ outputs.psi[i]) ** 2).sum() / (LAM * n * n)
        t = min(g @ d / length, a[i, v]) if length > 0 else 0.0
        tried.append((t * (g @ d) - t * t * length / 2, a[i] + t * d))
    return max(tried, key=lambda one: one[0])[1]


def transcribed(outputs, step, a, i):
    return best_pair(outputs, a, i) if step == "wss2" else chains.chain(outputs, LAM, a, i, step)[0]


@pytest.mark.parametrize("step", ["pairwise", "away", "wss2"])
@pytest.mark.parametrize("seed", range(3))
def test_steps_equal_the_transcription(step, seed):
    outputs = small.some_outputs(seed, n=3, m=6, d=3)
    n, m, _ = outputs.psi.shape
    a, ws, dropped = np.tile(np.eye(m)[0], (n, 1)), points(outputs, 60, step=step, sampling="cyclic"), 0
    for k, w in enumerate(ws):
        np.testing.assert_allclose(w, image(outputs, a), atol=1e-9)
        before = np.count_nonzero(a[k % n])
        a[k % n] = transcribed(outputs, step, a, k % n)
        dropped += np.count_nonzero(a[k % n]) < before
    assert dropped


def test_a_chain_goes_on_where_a_single_step_drops_a_labeling():
    outputs = small.some_outputs(1, n=3, m=6, d=3)
    best = small.minimum(outputs, LAM, 1e-12).value
    single, chained = (chains.walk(outputs, LAM, best, "pairwise", 0, chained) for chained in (False, True))
    assert np.nanmin(single.shares) < 0.9 < 1 - 1e-9 <= np.nanmin(chained.shares)
    assert start(outputs, step="pairwise").step_rule() != start(outputs, step="wss2").step_rule()


def test_a_joint_step_of_all_blocks_is_batch_frank_wolfe():
    outputs = small.some_outputs(0, n=4)
    groups = points(outputs, 40, blocks=4)
    batch, _ = small.iterates(outputs, "fw", LAM, 10)
    np.testing.assert_allclose(groups[::4], batch, atol=1e-10)
    assert (groups[1] == groups[0]).all()  # within a group nothing moves


@pytest.mark.parametrize("options", [{"blocks": 3}, {"skip": 3}, {"step": "pairwise"}, {"step": "away"}, {"step": "wss2"}])
def test_the_dual_never_falls_and_reaches_the_optimum(options):
    outputs = small.some_outputs(2, n=5)
    ws, ells = small.iterates(outputs, "later_bcfw", LAM, 1500, **options)
    values = small.dual(ws, ells, LAM)
    assert np.diff(values).min() > -1e-12
    assert values[-1] == pytest.approx(small.optimum(outputs, LAM), abs=1e-2 if "step" not in options else 1e-7)


def test_costly_examples_have_one_turn_in_every_cycle_and_others_in_every_pass():
    draws, costly = GroupDraws("skipping", 7, np.random.default_rng(0), size=3, costly=np.array([1, 4, 5, 6])), {1, 4, 5, 6}
    for _ in range(4):
        cycle = [draws.take(3 + size).tolist() for size in (2, 1, 1)]
        assert all(set(part) >= {0, 2, 3} for part in cycle)
        assert sorted(i for part in cycle for i in part if i in costly) == sorted(costly)


def test_groups_are_of_different_examples_and_portions_change_nothing():
    once, often = (GroupDraws("groups", 5, np.random.default_rng(1), size=3) for _ in range(2))
    drawn = once.take(30)
    assert all(len(set(group)) == 3 for group in drawn.reshape(-1, 3).tolist())
    np.testing.assert_array_equal(drawn, np.concatenate([often.take(k) for k in (1, 2, 4, 8, 15)]))


def test_costs_are_by_labels_and_a_pass_costs_1():
    problem = fwexp.chain_problem(
        [np.ones((length, 1)) for length in (1, 2, 6)], [np.zeros(k, int) for k in (1, 2, 6)], num_states=2
    )
    for options, calls, cost in (({"sampling": "perm"}, 3, 1.0), ({"skip": 2}, 5, 4 / 3)):  # the last passes have 3 and 2 calls
        running = at_start("later_bcfw", problem, LAM, **options)
        running.advance(Budget(calls, MANY))
        assert running.extras()["cost"] == pytest.approx(cost)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blocks": 5}, "solver.blocks must be at most the number of examples, 4, got 5"),
        ({"blocks": 2, "skip": 2}, "blocks must be 1 with skip > 1, got 2"),
        ({"blocks": 2, "step": "away"}, "blocks goes with step=fw only, got step='away'"),
        ({"skip": 2, "sampling": "perm"}, "skip goes with sampling=uniform only, got sampling='perm'"),
        ({"skip": 0}, "skip must be an integer >= 1, got 0"),
    ],
)
def test_mistakes_are_told(options, words):
    with pytest.raises(UserError, match=words):
        start(small.some_outputs(0), **options)
