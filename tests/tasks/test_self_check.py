"""Every run ends with a recomputation of what it logged; a solver that logged something else has diverged."""

import re

import pytest

import fwexp
from fwexp.problems.evaluation import Evaluator
from fwexp.solvers import get_solver
from tests.small_problems import chain

PROBLEM = chain("dense", 0)[1]


def lying(monkeypatch, **lies):
    """Let bcfw say something else of its last iterate than is true."""
    cls = get_solver("bcfw")
    point = cls.point

    def lie(self, iterate):
        true = point(self, iterate)
        return true._replace(**{name: change(getattr(true, name)) for name, change in lies.items()})

    monkeypatch.setattr(cls, "point", lie)


def solve(**options):
    return fwexp.solve(PROBLEM, "bcfw", lam=0.1, max_passes=3, gap_tol=0, iterates=["last"], iterate="last", **options)


def numbers(reason):
    return [float(number) for number in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", reason)]


def test_an_honest_run_passes():
    result = solve()
    assert (result.status, result.reason) == ("max_passes", "max_passes was reached")


@pytest.mark.parametrize(
    ("lies", "name", "by"),
    [({"dual": lambda dual: dual - 1e-3}, "dual", 1e-3), ({"norm_sq": lambda _: 1e3}, "primal", None)],
    ids=["dual", "norm"],
)
def test_a_lie_about_the_last_iterate(monkeypatch, lies, name, by):
    lying(monkeypatch, **lies)
    result = solve()
    assert result.status == "diverged"
    assert f"{name} objective was logged as" in result.reason
    logged, exact = numbers(result.reason)
    assert getattr(result, name) == pytest.approx(exact)
    assert by is None or exact == pytest.approx(logged + by)


def test_a_loss_term_that_is_none(monkeypatch):
    evaluate = Evaluator.__call__
    first = []

    def lie(self, *arguments, **options):
        first.append(self)
        value = evaluate(self, *arguments, **options)
        return value._replace(hinge=value.hinge + 1e-3) if self is first[0] else value

    monkeypatch.setattr(Evaluator, "__call__", lie)
    result = solve()
    assert result.status == "diverged"
    assert "primal objective was logged as" in result.reason
    logged, exact = numbers(result.reason)
    assert exact == pytest.approx(logged - 1e-3)


def test_rounding_is_no_lie(monkeypatch):
    lying(monkeypatch, dual=lambda dual: dual - 1e-10)
    assert solve().status == "max_passes"


def test_it_takes_one_evaluation_and_none_of_an_oracle_in_python(monkeypatch):
    made = []
    init = Evaluator.__init__
    monkeypatch.setattr(Evaluator, "__init__", lambda self, *args: (made.append(self), init(self, *args))[1])
    solve()
    assert [evaluator.calls for evaluator in made[1:]] == [PROBLEM.n]
