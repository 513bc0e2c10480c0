"""What calls of oracles in Python cost beyond the functions of their owner."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import callbacks
from tests.small_problems import chain


def test_the_time_of_functions_is_not_ours(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(process_time=lambda: now[0]))
    problem = chain("functions", 0, n=6)[1]
    names, calls = ("features", "loss", "max_oracle"), []

    def slow(name, function):
        def call(*arguments):
            now[0] += 1.0
            calls.append(name)
            return function(*arguments)

        return call

    for name in names:
        setattr(problem, name, slow(name, getattr(problem, name)))
    cost = callbacks.cost(problem, 0.1, 1e-2)
    assert cost.calls == calls.count("max_oracle") > 0
    assert cost.theirs * cost.calls == pytest.approx(len(calls))
    assert abs(cost.ours) < 1e-9


def test_chains_of_the_model_are_those_of_highest_score():
    rng = np.random.default_rng(0)
    model, x, y = callbacks.Chains(3, 2), rng.normal(size=(4, 2)), np.array([0, 2, 1, 1])
    w = rng.normal(size=model.size_joint_feature)
    labelings = np.stack(np.meshgrid(*[range(3)] * 4), axis=-1).reshape(-1, 4)
    scores = np.array([w @ model.joint_feature(x, other) for other in labelings])
    losses = np.array([model.loss(y, other) for other in labelings])
    assert model.inference(x, w).tolist() == labelings[scores.argmax()].tolist()
    assert model.loss_augmented_inference(x, y, w).tolist() == labelings[(scores + losses).argmax()].tolist()
