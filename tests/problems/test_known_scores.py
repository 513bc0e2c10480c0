"""Chains whose scores are known, against enumeration."""

from itertools import pairwise, product

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError


def test_answers_are_those_of_enumeration():
    rng = np.random.default_rng(0)
    for trial in range(500):
        T, K = rng.integers(1, 5), rng.integers(1, 4)
        unary = rng.normal(size=(T, K)) * rng.choice([1.0, 300.0])
        tables = rng.normal(size=(K, K) if trial % 2 or T == 2 else (T - 1, K, K))
        tables[rng.random(tables.shape) < 0.2] = -np.inf
        ends = [rng.normal(size=K) if rng.random() < 0.7 else None for _ in range(2)]
        every = {}
        for y in product(range(K), repeat=T):
            moves = [(tables if tables.ndim == 2 else tables[t])[pair] for t, pair in enumerate(pairwise(y))]
            of_ends = [scores[k] for scores, k in zip(ends, (y[0], y[-1])) if scores is not None]
            if (score := unary[range(T), y].sum() + sum(moves) + sum(of_ends)) > -np.inf:
                every[y] = score
        if not every:
            for function in (fwexp.decode_chain, fwexp.chain_marginals):
                with pytest.raises(ParameterError, match="must leave a labeling, got -inf for all of them"):
                    function(unary, tables, *ends)
            continue
        best = sorted(every, key=every.get, reverse=True)
        assert tuple(fwexp.decode_chain(unary, tables, *ends)) == best[0]
        several = fwexp.decode_chain(unary, tables, *ends, n_best=5)
        assert [tuple(labels) for labels, _ in several] == best[:5]
        np.testing.assert_allclose([score for _, score in several], [every[y] for y in best[:5]], rtol=1e-12, atol=1e-10)
        found, log_z = fwexp.chain_marginals(unary, tables, *ends)
        assert log_z == pytest.approx(np.logaddexp.reduce([*every.values()]), abs=1e-10)
        wanted = np.zeros((T, K))
        for y, score in every.items():
            wanted[range(T), y] += np.exp(score - log_z)
        np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_empty_sequences_have_one_labeling():
    unary = np.zeros((0, 2))
    assert fwexp.decode_chain(unary, np.eye(2)).tolist() == []
    assert [(labels.tolist(), score) for labels, score in fwexp.decode_chain(unary, np.eye(2), n_best=3)] == [([], 0.0)]
    assert fwexp.chain_marginals(unary, np.eye(2))[1] == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3), np.eye(3)), r"unary must have shape \(T, K\), got \(3,\)"),
        ((np.ones((2, 3)), np.eye(2)), r"transitions must have shape \(K, K\) = \(3, 3\) or \(T - 1, K, K\), got \(2, 2\)"),
        ((np.ones((2, 3)), np.eye(3), [1.0]), r"start must have shape \(K,\) = \(3,\), got \(1,\)"),
        (([[np.nan]], [[0.0]]), "unary must hold finite numbers or -inf, got NaN or inf"),
        (([[0.0]], [[0.0]], None, None, 0), "n_best must be an integer >= 1, got 0"),
    ],
)
def test_wrong_scores_are_one_line(arguments, message):
    with pytest.raises(ParameterError, match=f"^{message}$"):
        fwexp.decode_chain(*arguments)
