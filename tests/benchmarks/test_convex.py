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


def test_without_copt_there_is_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "copt", None)
    convex.beside_copt()
    assert capsys.readouterr().out == "copt is not installed: no comparison of methods on convex sets\n"
