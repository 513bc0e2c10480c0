"""Settings of training runs: one object that checks every argument, and the scale of the objective."""

import inspect
from dataclasses import fields

import numpy as np
import pytest

import fwexp
from fwexp.tasks.train import train
from fwexp.tasks.training import Train
from fwexp.tasks.training_settings import ARGUMENTS, Settings
from tests.small_problems import chain

pytestmark = pytest.mark.portable


@pytest.fixture(scope="module")
def problem():
    return chain("dense", 0)[1]


@pytest.mark.parametrize(("solver", "options"), [("bcfw", {"sampling": "gap"}), ("auto", {}), ("fw", {})])
@pytest.mark.parametrize("scale", [4.0, 2.0**-20])
def test_a_scale_divides_lam_the_tolerance_and_all_values(problem, solver, options, scale):
    """With a power of 2 nothing is rounded, so that the numbers agree to the bit."""
    run = {"problem": problem, "solver": solver, "options": options, "max_passes": 400}
    plain = train(Settings(lam=0.1, gap_tol=0.05, **run))
    scaled = train(Settings(lam=0.1 / scale, gap_tol=0.05 / scale, objective_scale=scale, **run))
    assert plain.w.tobytes() == scaled.w.tobytes()
    assert (plain.status, plain.reason) == (scaled.status, scaled.reason) == ("converged", "the certified gap reached gap_tol")
    for name in ("lam", "primal", "dual", "gap"):
        assert getattr(plain, name) == scale * getattr(scaled, name)
    for name in ("primal", "dual", "gap", "gap_estimate"):
        np.testing.assert_array_equal(plain.trace[name], scale * scaled.trace[name])
    same = ["iterate", "step", "oracle_calls", "evaluation_calls"]
    assert plain.trace[same].equals(scaled.trace[same])


def test_solve_is_where_its_arguments_are_documented():
    """`fwexp.solve` and the task have the arguments of the settings, with their defaults."""
    assert fwexp.solve.__module__ == "fwexp.api"
    parameters = inspect.signature(fwexp.solve).parameters
    assert set(parameters) == ARGUMENTS | {"problem", "options"}
    defaults = {field.name: field.default for field in fields(Settings)}
    for name in ARGUMENTS:
        assert parameters[name].default == defaults[name]
    for name, default in Train.reads.items():
        assert parameters[name].default == default
