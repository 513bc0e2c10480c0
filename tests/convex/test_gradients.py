"""A user's function at its minimum to rounding, which ends a run; and one whose gradient is another's, which is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwexp.convex import (
    Birkhoff,
    Box,
    Hull,
    KSparse,
    L1Ball,
    L2Ball,
    LInfBall,
    NuclearBall,
    Oracle,
    Product,
    Simplex,
    Spectrahedron,
    minimize,
)
from fwexp.convex.structured import ChainPolytope, MatchingPolytope
from fwexp.errors import CertificateError

D = 9
POINTS = np.random.default_rng(0).standard_normal((12, D))
SETS = {
    "simplex": Simplex(D),
    "l1": L1Ball(D, 2.0),
    "l2": L2Ball(D, 3.0),
    "linf": LInfBall(D, 3.0),
    "box": Box(-np.ones(D), np.arange(D) + 0.5),
    "k-sparse": KSparse(D, 2, 2.0),
    "hull": Hull(POINTS),
    "oracle": Oracle(Hull(POINTS).lmo, D),
    "birkhoff": Birkhoff(3),
    "matching": MatchingPolytope(3, 3),
    "spectrahedron": Spectrahedron(3, 2.0),
    "nuclear": NuclearBall(3, 3, 2.0),
    "chain": ChainPolytope(2, 3),
    "product": Product([Simplex(3), L1Ball(2), Simplex(4)]),
    "tiny": L2Ball(D, 1e-6),
    "large": L1Ball(D, 1e4),
}
WHOLE = (
    "frank_wolfe",
    "away",
    "pairwise",
    "corrective",
    "blended_pairwise",
    "lazy",
)  # methods that go by the gradient on the whole set


def functions(rng, dim):
    """Smooth convex functions whose minimum lies in most of the sets, of all sizes."""
    A, B = rng.standard_normal((2, dim)) / 3, rng.standard_normal((dim, dim)) / 2
    b = A @ rng.standard_normal(dim)

    def log_cosh(x):
        t = A @ x - 1.0
        return float((np.logaddexp(t, -t) - np.log(2.0)).sum()), A.T @ np.tanh(t)

    def squares(x):
        r = A @ x - b
        return 0.5 * float(r @ r), A.T @ r

    def fourth(x):
        r = A @ x - b
        return float((r**4).sum()), 4.0 * A.T @ r**3

    def log_sum_exp(x):
        t = B @ x
        e = np.exp(t - t.max())
        return float(t.max() + np.log(e.sum())), B.T @ (e / e.sum())

    def of(f, scale, offset=0.0):
        return lambda x: (scale * f(x)[0] + offset, scale * f(x)[1])

    def single(x):
        value, g = squares(x)
        return value, g.astype(np.float32)

    return {
        "log cosh": log_cosh,
        "squares": squares,
        "fourth powers": fourth,
        "log-sum-exp": log_sum_exp,
        "large": of(log_cosh, 1e12),
        "small": of(log_cosh, 1e-12),
        "far from 0": of(squares, 1.0, 1e5),
        "a gradient in single precision": single,
        "constant": lambda x: (3.0, np.zeros(dim)),
    }


FUNCTIONS = tuple(functions(np.random.default_rng(0), 1))


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=6)
@given(data=st.data())
def test_no_right_gradient_is_refused(name, data):
    convex_set, rng = SETS[name], np.random.default_rng(data.draw(st.integers(0, 10**6)))
    fun = functions(rng, convex_set.dim)[data.draw(st.sampled_from(FUNCTIONS))]
    parts = {"block"} if name == "product" else set()
    numbered = {"random_away"} if name in ("simplex", "l1", "hull", "large", "product") else set()
    method = data.draw(st.sampled_from(sorted({*WHOLE, *parts, *numbered})))
    result = minimize(fun, convex_set, method=method, gap_tol=data.draw(st.sampled_from([0.0, 1e-12, 1e-6])), max_iter=40)
    assert result.status in ("converged", "stalled", "max_passes")
    assert convex_set.contains(result.x)


@pytest.mark.parametrize("method", WHOLE)
def test_a_run_ends_with_its_gap_where_all_that_is_left_is_rounding(method):
    A = np.random.default_rng(1).standard_normal((1, 3))

    def fun(x):
        return float(np.log(np.cosh(A @ x - 1.0)).sum()), A.T @ np.tanh(A @ x - 1.0)

    result = minimize(fun, LInfBall(3, 3.0), method=method, gap_tol=1e-17)
    assert (result.status, result.reason) == ("stalled", "no step gains more than rounding errors")
    assert result.value == 0.0
    assert 1e-17 < result.gap < 1e-13  # slopes tell more than values, which are 0 from 1e-8 on
    assert result.trace["oracle_calls"].iloc[-1] < 200
    assert minimize(fun, LInfBall(3, 3.0), method=method, gap_tol=1e-12).status == "converged"
    product = Product([LInfBall(2, 3.0), LInfBall(1, 3.0)])
    assert minimize(fun, product, method="block", gap_tol=1e-17, max_iter=100).status == "max_passes"


@pytest.mark.parametrize("exp", [np.exp, np.vectorize(math.exp)])
def test_where_a_function_is_too_large_for_a_float_nothing_is_tested(exp):
    """Around the minimum, 0, the gradient is not 0 to rounding for steps that are short compared to the set."""

    def fun(x):
        return float((exp(x) + exp(-x)).sum()), exp(x) - exp(-x)

    result = minimize(fun, L2Ball(3, 1e5), x0=[0.5, 0.1, -0.1], gap_tol=0.0, max_iter=50)
    assert result.value == pytest.approx(6.0, rel=0.1)


def component(g):
    return np.where(np.arange(len(g)) == np.argmax(np.abs(g)), -g, g)


WRONG = {
    "sign": lambda x, v, g: (v, -g),
    "twice": lambda x, v, g: (v, 2.0 * g),
    "half": lambda x, v, g: (v, 0.5 * g),
    "one component": lambda x, v, g: (v, component(g)),
    "a term less": lambda x, v, g: (v + 5.0 * float(x @ np.cos(np.arange(len(x)))), g),
    "no value": lambda x, v, g: (0.0, g),
}


@pytest.mark.parametrize("how", WRONG)
@pytest.mark.parametrize(
    ("name", "function", "method"),
    [
        *((name, *pair) for name in ("simplex", "l1", "hull", "product", "chain") for pair in zip(FUNCTIONS, WHOLE[:3])),
        ("product", "squares", "corrective"),  # whose inner problems are solved to the end: slow on the others
    ],
)
def test_a_gradient_that_is_not_that_of_the_value_is_refused(how, name, function, method):
    convex_set, rng = SETS[name], np.random.default_rng(0)
    tilt = 3.0 * rng.standard_normal(convex_set.dim)  # to the edge: at a minimum inside any multiple of a gradient is 0
    right = functions(rng, convex_set.dim)[function]

    def fun(x):
        value, g = right(x)
        return WRONG[how](x, value + float(tilt @ x), g + tilt)

    with pytest.raises(CertificateError, match=r"(the|a) gradient (that )?is not that of (the|its) value") as error:
        minimize(fun, convex_set, method=method, gap_tol=1e-9, max_iter=20)
    assert "\n" not in str(error.value)
