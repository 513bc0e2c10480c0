"""The comparison with copt: it prints a line per race, and one line where copt is missing."""

import re
import sys
from types import SimpleNamespace

import numpy as np

from benchmarks import convex


def frank_wolfe(fun, x0, lmo, x0_rep, variant, jac, tol, max_iter):
    """Return what copt does without its line search; other variants are ignored."""
    x = x0.copy()
    for k in range(max_iter):
        gradient = fun(x)[1]
        direction = lmo(-gradient, x, None)[0]
        if -gradient @ direction <= tol:
            break
        x += 2.0 / (k + 2.0) * direction
    return SimpleNamespace(x=x, nit=k)


class Vertices:
    def __init__(self, size):
        self.size = size

    def lmo(self, u, x, active=None):
        s = np.zeros(len(x))
        s[np.argmax(u)] = self.size
        return s - x, None, None, 1.0

    lmo_pairwise = lmo


def test_every_race_is_a_line(monkeypatch, capsys):
    constraint = SimpleNamespace(L1Ball=Vertices, SimplexConstraint=Vertices)
    monkeypatch.setitem(sys.modules, "copt", SimpleNamespace(constraint=constraint, minimize_frank_wolfe=frank_wolfe))
    for name, value in {"DIMENSION": 60, "ROUNDS": 1, "ITERATIONS": 3}.items():
        monkeypatch.setattr(convex, name, value)
    convex.beside_copt()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * 2 * (3 + 1)
    side = r"+[.\d]+ ms a step, +(\d+) in +\d+ ms"
    race = re.compile(rf".*gap +[-+.e\d]+: {side};  copt \w+ {side};  ratios +[.\d]+ and +[.\d]+$")
    steps = [tuple(map(int, race.match(line).groups())) for line in lines]
    assert all(1 <= each <= convex.LONGEST * 3 for pair in steps for each in pair)
    assert len(set(steps)) > 1  # each ends where it gets to the gap


def stochastic_frank_wolfe(f_deriv, A, b, x0, lmo, batch_size, tol, max_iter, variant, callback):
    """Return what copt does with the gradient of all terms; it goes on until the callback ends it."""
    x = x0.copy()
    callback(locals())
    for k in range(10**6):
        x += 2.0 / (k + 2.0) * lmo(-(A.T @ f_deriv(A @ x, b)), x)[0]
        callback(locals())


def test_every_stochastic_method_is_a_line(monkeypatch, capsys):
    loss = SimpleNamespace(LogLoss=lambda A, b: SimpleNamespace(partial_deriv=lambda z, b: 1.0 / (1.0 + np.exp(-z)) - b))
    constraint = SimpleNamespace(L1Ball=Vertices)
    fake = SimpleNamespace(loss=loss, constraint=constraint, minimize_sfw=stochastic_frank_wolfe)
    monkeypatch.setitem(sys.modules, "copt", fake)
    rng = np.random.default_rng(0)
    convex.stochastic_beside_copt({"tiny": convex.Sum(rng.standard_normal((20, 5)), rng.random(20), 1.0, 4)}, steps=30)
    title, *lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"tiny, 20 x 5, batches of 4; minimum [.\d]+, known up to [-.e\d]+", title)
    error = r"[-+.e\d]+"
    row = re.compile(rf"  (copt \w+|\w+( \w+)?) +{error} after 30 steps \( *\d+ ms\), +{error} after \d+ ms \(\d+ steps\)")
    assert [bool(row.fullmatch(line)) for line in lines] == [True] * 10


def test_without_copt_there_is_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "copt", None)
    convex.beside_copt()
    convex.stochastic_beside_copt({})
    assert capsys.readouterr().out == (
        "copt is not installed: no comparison of methods on convex sets\n"
        "copt is not installed: no comparison of stochastic methods\n"
    )
